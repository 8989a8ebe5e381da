//! The format of `metrics.jsonl`: one JSON object per line.
//!
//! Every line has a `kind`, a `generation`, and, once written, a `time`. Lines of other versions may have more or fewer
//! keys, or a kind that this version does not know. CPU seconds are `None` in lines of versions before 0.3, and where
//! the process did other work at the same time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::health::Health;
use crate::arena::MatchResult;
use crate::arena::sprt::Pentanomial;
use crate::config::limits::MAX_GENERATIONS;

/// The file of metrics in the run's folder.
pub const METRICS: &str = "metrics.jsonl";
/// The longest line that is read, in bytes; a usual line has a few thousand bytes.
pub(in crate::run) const LONGEST_LINE: usize = 1 << 18;
/// The largest possible count in a line, small enough that sums of many counts do not overflow.
const LARGEST_COUNT: usize = if usize::BITS > 40 { 1 << 40 } else { 1 << 24 };
/// The largest possible number of opponents of a generation.
const MOST_MATCHES: usize = 64;
/// The longest possible time, in seconds.
const LONGEST_TIME: f64 = 1e12;

/// A line. The result of a match is a [`MatchResult`] when the line is written, and a [`Scored`] when it is read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Line<R> {
    /// The self-play games of a generation.
    Selfplay(SelfplayLine),
    /// Some training steps.
    Train(TrainLine),
    /// Measurements of what a generation has learned.
    Health(Box<HealthLine>),
    /// Games against the opponent of the evaluation.
    Evaluation(EvaluationLine<R>),
    /// Games against earlier generations.
    Ladder(LadderLine),
}

/// The self-play games of a generation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SelfplayLine {
    /// The generation.
    pub generation: usize,
    /// Number of games.
    pub games: usize,
    /// Positions that are trained on.
    pub positions: usize,
    /// Actions.
    pub plies: usize,
    /// Games won by the first player.
    pub first: usize,
    /// Games won by the second player.
    pub second: usize,
    /// Games drawn.
    pub draw: usize,
    /// The number of games by kind of ending, if the rules name the kinds.
    pub endings: BTreeMap<String, usize>,
    /// Positions in the window.
    pub window: usize,
    /// Whether no network played.
    pub bootstrap: bool,
    /// The time that playing took; `None` if it is no longer known.
    pub seconds: Option<f64>,
    /// The CPU seconds of all processes that played.
    pub cpu_seconds: Option<f64>,
    /// The time that reading the games back took.
    pub window_seconds: f64,
    /// The time that reading the games back took, in CPU seconds.
    pub window_cpu_seconds: Option<f64>,
}

/// Some training steps of a generation: those since the previous line, up to `step`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainLine {
    /// The generation.
    pub generation: usize,
    /// The optimizer step.
    pub step: usize,
    /// The learning rate of that step.
    pub learning_rate: f64,
    /// The mean loss of the policy since the previous line, in nats.
    pub policy_loss: Option<f64>,
    /// The mean entropy of the policy's targets, in nats.
    pub policy_floor: Option<f64>,
    /// The mean loss of the value, in nats.
    pub value_loss: Option<f64>,
    /// The time that the steps of the generation took so far.
    pub seconds: f64,
    /// The CPU seconds that the steps of the generation took so far.
    pub cpu_seconds: Option<f64>,
    /// The mean losses of auxiliary heads, with the key `NAME_loss`; written, but not read.
    #[serde(flatten, skip_deserializing)]
    pub heads: BTreeMap<String, f64>,
}

/// Measurements of what a generation has learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HealthLine {
    /// The measurements.
    #[serde(flatten)]
    pub health: Health,
    /// Sentences about anything that looks wrong.
    pub signs: Vec<String>,
    /// The time that measuring took.
    pub seconds: f64,
    /// The time that measuring took, in CPU seconds.
    pub cpu_seconds: Option<f64>,
}

/// The games of a generation against the opponent of the evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EvaluationLine<R> {
    /// The generation.
    pub generation: usize,
    /// The generation whose network played. In some runs by versions with a gate, this is an earlier generation.
    #[serde(default)]
    pub player: usize,
    /// The opponent.
    pub opponent: String,
    /// Simulations per action.
    #[serde(default)]
    pub simulations: usize,
    /// The result of the games.
    pub result: R,
    /// The time that the games took.
    #[serde(default)]
    pub seconds: f64,
    /// The CPU seconds of the games.
    #[serde(default)]
    pub cpu_seconds: Option<f64>,
}

/// The games of a generation against earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LadderLine {
    /// The generation.
    pub generation: usize,
    /// Simulations per action.
    pub simulations: usize,
    /// The games, one entry for each opponent.
    pub matches: Vec<Against>,
    /// The time that the games took.
    pub seconds: f64,
    /// The CPU seconds of the games.
    pub cpu_seconds: Option<f64>,
}

/// The games against one earlier generation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Against {
    /// The earlier generation.
    pub generation: usize,
    /// Games won.
    pub wins: usize,
    /// Games drawn.
    pub draws: usize,
    /// Games lost.
    pub losses: usize,
    /// The number of pairs by score.
    pub pairs: Pentanomial,
    /// The number of distinct games that would carry as much information as the played ones.
    pub effective_games: Option<f64>,
    /// Whether these are the games of the last generation against the first.
    #[serde(rename = "final", skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
}

/// The part of a [`MatchResult`] that ratings and charts need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Scored {
    /// Drawn games.
    pub draws: usize,
    /// The number of pairs by the first agent's score.
    pub pairs: Pentanomial,
    /// The number of distinct games that would carry as much information as the played ones.
    pub effective_games: Option<f64>,
    /// The difference in Elo.
    pub elo: Option<f64>,
    /// The lower 95% bound of the difference.
    pub elo_low: Option<f64>,
    /// The upper 95% bound of the difference.
    pub elo_high: Option<f64>,
}

impl SelfplayLine {
    /// Returns positions per second, if `seconds` gives a time.
    pub fn speed(&self, seconds: impl Fn(&SelfplayLine) -> Option<f64>) -> Option<f64> {
        seconds(self).filter(|seconds| *seconds > 0.0).map(|seconds| self.positions as f64 / seconds)
    }

    /// Returns the counts of the games.
    pub fn played(&self) -> Played {
        let SelfplayLine { games, positions, plies, first, second, draw, .. } = *self;
        Played { games, positions, plies, first, second, draw }
    }
}

/// The self-play games of one or more generations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// Number of games.
    pub games: usize,
    /// Positions that are trained on.
    pub positions: usize,
    /// Actions, including those that are not trained on.
    pub plies: usize,
    /// Games won by the first player.
    pub first: usize,
    /// Games won by the second player.
    pub second: usize,
    /// Games drawn.
    pub draw: usize,
}

impl Played {
    /// Returns the first player's mean score: a win counts 1, a draw ½.
    pub fn first_score(&self) -> f64 {
        (self.first as f64 + self.draw as f64 / 2.0) / self.games.max(1) as f64
    }

    /// Returns the share of drawn games.
    pub fn draws(&self) -> f64 {
        self.draw as f64 / self.games.max(1) as f64
    }
}

impl EvaluationLine<MatchResult> {
    /// Returns the line as [`Line::read`] would return it after writing, which omits numbers that are not finite.
    pub(in crate::run) fn scored(&self) -> EvaluationLine<Scored> {
        let MatchResult { draws, pairs, effective_games, elo, elo_low, elo_high, .. } = self.result;
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        EvaluationLine {
            generation: self.generation,
            player: self.player,
            opponent: self.opponent.clone(),
            simulations: self.simulations,
            result: Scored {
                draws,
                pairs,
                effective_games: finite(effective_games),
                elo: finite(Some(elo)),
                elo_low: finite(elo_low),
                elo_high: finite(elo_high),
            },
            seconds: self.seconds,
            cpu_seconds: self.cpu_seconds,
        }
    }
}

/// The keys that every line has.
#[derive(Deserialize)]
struct LineKeys<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    generation: u64,
}

/// Returns the generation of a line of any kind, or an error if the line has none.
pub(in crate::run) fn generation_of(text: &[u8]) -> Result<usize, String> {
    head_of(text).map(|(_, generation)| generation)
}

fn head_of(text: &[u8]) -> Result<(Cow<'_, str>, usize), String> {
    let LineKeys { kind, generation } = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    // generation 0 stands for the weights that a run started with
    match usize::try_from(generation).ok().filter(|generation| *generation <= MAX_GENERATIONS) {
        Some(generation) => Ok((kind, generation)),
        None => Err(format!("there is no generation {generation}")),
    }
}

impl Line<Scored> {
    /// Reads a line; `None` if it is of a kind that this version does not know.
    ///
    /// # Errors
    /// If the line is not valid, or has numbers that no run writes. The error is text.
    pub(crate) fn read(text: &[u8]) -> Result<Option<Line<Scored>>, String> {
        let (kind, _) = head_of(text)?;
        let line = match &*kind {
            "selfplay" => serde_json::from_slice(text).map(Line::Selfplay),
            "train" => serde_json::from_slice(text).map(Line::Train),
            "health" => serde_json::from_slice(text).map(Line::Health),
            "evaluation" => serde_json::from_slice(text).map(Line::Evaluation),
            "ladder" => serde_json::from_slice(text).map(Line::Ladder),
            _ => return Ok(None),
        };
        let line = line.map_err(|error| error.to_string())?;
        if line.is_possible() { Ok(Some(line)) } else { Err("it has numbers that no run writes".into()) }
    }

    /// Returns the line's generation.
    pub(crate) fn generation(&self) -> usize {
        match self {
            Line::Selfplay(line) => line.generation,
            Line::Train(line) => line.generation,
            Line::Health(line) => line.health.generation,
            Line::Evaluation(line) => line.generation,
            Line::Ladder(line) => line.generation,
        }
    }

    /// Returns whether the line's counts and times are small enough that sums of them cannot overflow.
    fn is_possible(&self) -> bool {
        let counts = |counts: &[usize]| counts.iter().all(|count| *count <= LARGEST_COUNT);
        let time = |seconds: f64| (0.0..=LONGEST_TIME).contains(&seconds);
        let known = |seconds: Option<f64>| seconds.is_none_or(time);
        match self {
            Line::Selfplay(line) => {
                let Played { games, positions, plies, first, second, draw } = line.played();
                counts(&[games, positions, plies, first, second, draw, line.window])
                    && line.endings.values().all(|count| *count <= LARGEST_COUNT)
                    && [line.seconds, line.cpu_seconds, line.window_cpu_seconds].into_iter().all(known)
                    && time(line.window_seconds)
            }
            Line::Train(line) => counts(&[line.step]) && time(line.seconds) && known(line.cpu_seconds),
            Line::Health(line) => {
                line.health.endings.values().all(|count| *count <= LARGEST_COUNT)
                    && time(line.seconds)
                    && known(line.cpu_seconds)
            }
            Line::Evaluation(line) => {
                counts(&line.result.pairs)
                    && counts(&[line.simulations])
                    && time(line.seconds)
                    && known(line.cpu_seconds)
            }
            Line::Ladder(line) => {
                let is_possible = |game: &Against| {
                    counts(&game.pairs) && counts(&[game.generation, game.wins, game.draws, game.losses])
                };
                line.matches.len() <= MOST_MATCHES
                    && line.matches.iter().all(is_possible)
                    && time(line.seconds)
                    && known(line.cpu_seconds)
            }
        }
    }
}

/// Returns the full result of a line about an evaluation, if it has one.
pub(in crate::run) fn result_of(text: &[u8]) -> Option<MatchResult> {
    #[derive(Deserialize)]
    struct WithResult {
        result: MatchResult,
    }
    let result = serde_json::from_slice::<WithResult>(text).ok()?.result;
    let MatchResult { games, distinct_games, wins, draws, losses, cut_short, .. } = result;
    let counts = [games, distinct_games, wins, draws, losses, cut_short];
    counts.iter().chain(&result.pairs).all(|count| *count <= LARGEST_COUNT).then_some(result)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(line: Value) -> Result<Option<Line<Scored>>, String> {
        Line::read(line.to_string().as_bytes())
    }

    #[test]
    fn what_is_written_is_read() {
        let endings = BTreeMap::from([("four in a row".to_string(), 3)]);
        let games = SelfplayLine { generation: 2, games: 8, first: 5, endings, ..SelfplayLine::default() };
        let heads = BTreeMap::from([("reply_loss".to_string(), 0.5)]);
        let steps =
            TrainLine { generation: 2, step: 9, policy_loss: Some(1.5), heads, ..TrainLine::default() };
        let health = Health { generation: 2, surprise: Some(0.25), ..Health::default() };
        let health =
            HealthLine { health, signs: vec!["a sign".into()], seconds: 0.5, cpu_seconds: Some(0.75) };
        let met = Against { generation: 1, pairs: [0, 1, 2, 3, 4], is_final: true, ..Against::default() };
        let rated = LadderLine { generation: 2, matches: vec![met], ..LadderLine::default() };
        let lines: [Line<Scored>; 4] = [
            Line::Selfplay(games),
            Line::Train(steps.clone()),
            Line::Health(Box::new(health)),
            Line::Ladder(rated),
        ];
        let json: Vec<Value> = lines.iter().map(|line| serde_json::to_value(line).unwrap()).collect();
        assert_eq!(json[1]["reply_loss"], 0.5);
        assert_eq!(json[2]["surprise"], 0.25);
        assert!(json[3]["matches"][0]["final"] == true && json[3]["kind"] == "ladder");
        for (line, mut json) in lines.into_iter().zip(json) {
            json["time"] = "2026-11-25T05:00:00.000Z".into();
            let expected = match line {
                Line::Train(line) => Line::Train(TrainLine { heads: BTreeMap::new(), ..line }),
                line => line,
            };
            assert_eq!(read(json).unwrap(), Some(expected));
        }
    }

    #[test]
    fn a_scored_evaluation_is_the_one_that_is_read() {
        let result = json!({"games": 20, "distinct_games": 18, "effective_games": 17.5, "wins": 10, "draws": 4,
            "losses": 6,
            "pairs": [1, 2, 3, 2, 2], "elo": 70.5, "elo_low": -20.0, "elo_high": null});
        let result: MatchResult = serde_json::from_value(result).unwrap();
        let line = EvaluationLine {
            generation: 3,
            player: 3,
            opponent: "random".into(),
            simulations: 8,
            result,
            seconds: 1.5,
            cpu_seconds: None,
        };
        let sweep = MatchResult { elo: f64::INFINITY, elo_high: Some(f64::INFINITY), ..line.result.clone() };
        let sweep = EvaluationLine { result: sweep, ..line.clone() };
        assert_eq!((line.scored().result.elo, sweep.scored().result.elo), (Some(70.5), None));
        for line in [line, sweep] {
            let written = serde_json::to_value(Line::Evaluation(line.clone())).unwrap();
            assert_eq!(read(written), Ok(Some(Line::Evaluation(line.scored()))));
        }
    }

    #[test]
    fn lines_of_other_versions_are_read() {
        let first = json!({"draw":4,"first":4,"games":8,"generation":1,"kind":"selfplay","plies":60,"positions":52,
            "second":0,"seconds":0.0,"window":52});
        assert!(
            matches!(read(first), Ok(Some(Line::Selfplay(line))) if line.games == 8 && line.cpu_seconds.is_none())
        );
        let gate = json!({"champion":null,"generation":1,"kind":"gate","promoted":true,"result":null});
        assert_eq!(read(gate), Ok(None));
        let sweep = json!({"kind":"evaluation","generation":1,"opponent":"random","player":1,
            "result":{"elo":null,"elo_low":12.5,"pairs":[0,0,0,0,2]}});
        assert!(matches!(read(sweep), Ok(Some(Line::Evaluation(line))) if line.result.elo_low == Some(12.5)));
        assert_eq!(read(json!({"kind": "news", "generation": 1, "of": "a later version"})), Ok(None));
    }

    #[test]
    fn what_no_run_writes_is_refused() {
        for line in [
            json!({}),
            json!({"kind": 5}),
            json!({"kind": "train"}),
            json!({"kind": "ladder", "generation": u64::MAX, "matches": []}),
            json!({"kind": "train", "generation": -1}),
            json!({"kind": "train", "generation": 1, "step": "two"}),
            json!({"kind": "selfplay", "generation": 1, "games": u64::MAX}),
            json!({"kind": "selfplay", "generation": 1, "seconds": 1e308}),
            json!({"kind": "selfplay", "generation": 1, "seconds": -1}),
            json!({"kind": "train", "generation": 1, "cpu_seconds": -1}),
            json!({"kind": "ladder", "generation": 2, "matches": [{"generation": 1, "pairs": [u64::MAX, 1, 0, 0, 0]}]}),
            json!({"kind": "ladder", "generation": 2, "matches": {}}),
            json!({"kind": "evaluation", "generation": 2}),
        ] {
            assert!(read(line.clone()).is_err(), "{line}");
        }
        assert!(Line::read(b"{\"kind\":\"train\",\"generation\":1,\"policy_loss\":1e999}").is_err());
        assert!(Line::read(b"{\"kind\":\"trai").is_err() && Line::read(b"").is_err());
    }
}
