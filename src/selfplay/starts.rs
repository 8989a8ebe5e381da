//! Starts of games: positions from the previous generation's games, where games begin instead of at the usual position.
//!
//! Input: records that were read back. Output: for each game of a generation, a position as text, or none. The position
//! depends only on the seed, the generation, and the records. There are two kinds of starts, both meant to show
//! positions that self-play alone would never reach again:
//!
//! - a *restart* begins where the search was most wrong about the result (regret-guided search control, ICLR 2026,
//!   arXiv:2602.20809; Go-Exploit, arXiv:2302.12359);
//! - a *fork* begins after an action other than the one that was played at some ply of a game (KataGo's side
//!   positions).

use rand::RngExt;

use crate::config::{Config, ReplayConfig};
use crate::error::{Error, Result};
use crate::game::{Game, Outcome, Rules};
use crate::random::{Purpose, Random, choose, stream};
use crate::replay::record::Record;
use crate::replay::sample::Replayed;
use crate::replay::store::Shard;

/// The number of attempts at a fork. An attempt fails if the action ends the game or if no other action is legal.
const ATTEMPTS: usize = 8;

/// The position where each game of a generation begins; `None` for the usual position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Starts(Vec<Option<String>>);

impl Starts {
    /// Returns the position where a game begins, or `None` for the usual position.
    pub fn of(&self, game: usize) -> Option<&str> {
        self.0.get(game)?.as_deref()
    }

    /// Samples where each of the `games` games of generation `number` begins: at a position taken from the earlier
    /// games in `shards`, or at the usual position.
    ///
    /// # Errors
    /// As for [`Record::replay`], or if the rules do not accept their own text of a position.
    pub fn draw<G: Game>(
        rules: &Rules<G>,
        config: &Config,
        (seed, number, games): (u64, usize, usize),
        shards: &[Shard<Replayed>],
    ) -> Result<Starts> {
        let source = Beginning::new(rules, &config.replay, shards);
        let (restarts, forks) = (config.selfplay.restart_share, config.selfplay.fork_share);
        let start = |game: usize| {
            let mut random = stream(seed, Purpose::Start, &[number as u64, game as u64]);
            let kind: f32 = random.random();
            if kind < restarts {
                source.restart(&mut random)
            } else if kind < restarts + forks {
                source.fork(&mut random)
            } else {
                Ok(None)
            }
        };
        (0..games).map(start).collect::<Result<_>>().map(Starts)
    }
}

/// The games to draw from.
struct Beginning<'a, G: Game> {
    rules: &'a Rules<G>,
    records: Vec<&'a Record>,
    /// The game and ply of every position that was trained on.
    plies: Vec<(usize, usize)>,
    /// The cumulative sums of the plies' regrets: the distance between the search's expected score and the result.
    sums: Vec<f64>,
}

impl<'a, G: Game> Beginning<'a, G> {
    fn new(rules: &'a Rules<G>, settings: &ReplayConfig, shards: &'a [Shard<Replayed>]) -> Beginning<'a, G> {
        let (mut records, mut plies, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        let mut sum = 0.0;
        for (record, replayed) in shards.iter().flat_map(|shard| shard.records.iter().zip(&shard.found)) {
            let searched_plies = record.visits.iter().enumerate().filter(|(_, visits)| !visits.is_empty());
            // with `replay.blunder`, the result after a blunder does not count, so use the value target instead
            let targets = match Outcome::from_id(&record.outcome) {
                Some(outcome) if settings.blunder > 0.0 => replayed.value_targets(record, outcome, settings),
                _ => replayed.samples.iter().map(|sample| sample.outcome).collect(),
            };
            for (((ply, _), sample), target) in searched_plies.zip(&replayed.samples).zip(targets) {
                sum += f64::from((target.value() - sample.search.value()).abs());
                plies.push((records.len(), ply));
                sums.push(sum);
            }
            records.push(record);
        }
        Beginning { rules, records, plies, sums }
    }

    fn restart(&self, random: &mut Random) -> Result<Option<String>> {
        let place = random.random::<f64>() * self.sums.last().copied().unwrap_or(0.0);
        let index = self.sums.partition_point(|sum| *sum <= place);
        let Some(&(game, ply)) = self.plies.get(index) else { return Ok(None) };
        self.position(game, ply)?.map(|state| self.text(&state)).transpose()
    }

    fn fork(&self, random: &mut Random) -> Result<Option<String>> {
        if self.plies.is_empty() {
            return Ok(None);
        }
        let game = &self.rules.game;
        for _ in 0..ATTEMPTS {
            let (record, ply) = choose(random, &self.plies);
            let Some(mut state) = self.position(record, ply)? else { continue };
            let own_action = game.parse_action(&state, &self.records[record].actions[ply]);
            let mut others = game.legal(&state);
            others.retain(|action| Some(*action) != own_action);
            if others.is_empty() {
                continue;
            }
            game.play(&mut state, choose(random, &others));
            if game.outcome(&state).is_none() {
                return self.text(&state).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the position as a text that a game can begin from.
    fn text(&self, state: &G::State) -> Result<String> {
        let text = self.rules.game.state_text(state);
        match self.rules.game.parse_state(&text) {
            Ok(_) => Ok(text),
            Err(error) => {
                Err(Error::Position(format!("the rules cannot read their own text of a position: {error}")))
            }
        }
    }

    /// Returns the position of a game before a ply.
    fn position(&self, game: usize, ply: usize) -> Result<Option<G::State>> {
        let (mut state, mut number) = (None, 0);
        self.records[game].replay(self.rules, |step| {
            if number == ply {
                state = Some(step.state.clone());
            }
            number += 1;
        })?;
        Ok(state)
    }
}
