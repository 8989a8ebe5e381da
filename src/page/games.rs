//! Reads recorded games for the page: saved games, records of self-play, and files of matches.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::arena::journal::JournalLine;
use crate::error::{Error, Result};
use crate::game::{Outcome, Player};
use crate::options::Settings;
use crate::replay::ended::Ended;
use crate::replay::record::Record;
use crate::session::saved::Saved;
use crate::storage::text::unmarked_text;

/// The maximum number of games of a file that are shown.
const MOST: usize = 2000;
/// The maximum length of an agent's name that is shown, in characters.
const LONGEST_NAME: usize = 200;

/// What the first line of a file says about its kind.
#[derive(Deserialize)]
struct First {
    agents: Option<IgnoredAny>,
    visits: Option<IgnoredAny>,
}

/// The first line of the file of a match or ladder.
#[derive(Deserialize)]
struct FileHead {
    game: GameFile,
    agents: Vec<String>,
}

#[derive(Deserialize)]
struct GameFile {
    id: String,
    options: Settings,
}

/// A game that was read but not yet checked against its rules.
pub(crate) struct Loaded {
    pub(crate) name: String,
    /// Whether the game is from self-play; its result is then added to its name.
    pub(crate) of_selfplay: bool,
    pub(crate) game: String,
    pub(crate) options: Settings,
    /// The start position; `None` for the usual one.
    pub(crate) start: Option<String>,
    pub(crate) actions: Vec<String>,
    /// How the game ended after these actions, with its outcome, if it did not end by the rules.
    pub(crate) ended: Option<(Ended, Outcome)>,
    /// The search's value for the player to move at each ply; `None` for plies without a search. The list may be empty.
    pub(crate) values: Vec<Option<f32>>,
}

impl Loaded {
    /// Returns a game of self-play.
    pub(crate) fn of_record(record: Record) -> Loaded {
        let values = record.values().collect();
        let ended = record.ended.zip(Outcome::from_id(&record.outcome));
        let Record { game, options, start, actions, index, .. } = record;
        let name = format!("game {index}");
        Loaded { name, of_selfplay: true, game, options, start: Some(start), actions, ended, values }
    }

    /// Returns the player who resigned, if one did.
    pub(crate) fn resigned(&self) -> Option<Player> {
        match self.ended {
            Some((Ended::Resigned, Outcome::Win(winner))) => Some(winner.other()),
            _ => None,
        }
    }
}

/// Returns the games of a text: a saved game, one record, or the file of a match or ladder.
pub(crate) fn read(text: &str) -> Result<Vec<Loaded>> {
    let text = unmarked_text(text).map_err(|why| Error::Data(format!("the file: {why}")))?;
    let first = text.lines().next().unwrap_or_default();
    if let Ok(kind) = serde_json::from_str::<First>(first) {
        if kind.agents.is_some() {
            return of_match(first, text);
        }
        if kind.visits.is_some() {
            return Ok(vec![Loaded::of_record(Record::parse(first)?)]);
        }
    }
    let Saved { game, options, start, actions, resigned, .. } =
        Saved::parse(text, "the file").map_err(|error| {
            let kinds = "it is neither a saved game, nor a game of self-play, nor the file of a match";
            error.reworded(kinds.into())
        })?;
    let name = format!("a game of {} actions", actions.len());
    let start = Some(start);
    let ended = resigned.map(|loser| (Ended::Resigned, Outcome::Win(loser.other())));
    Ok(vec![Loaded { name, of_selfplay: false, game, options, start, actions, ended, values: Vec::new() }])
}

fn of_match(first: &str, text: &str) -> Result<Vec<Loaded>> {
    let wrong = |line: usize| Error::Data(format!("line {line} of the file is not a line of a match"));
    let FileHead { game, agents } = serde_json::from_str(first).map_err(|_| wrong(1))?;
    // an agent's identity continues with the hash of its weights
    let name = |agent: &String| {
        let name = agent.split(", SHA-256").next().unwrap_or_default();
        name.chars().take(LONGEST_NAME).collect::<String>()
    };
    let agents: Vec<String> = agents.iter().map(name).collect();
    let mut games = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let line: JournalLine = match serde_json::from_str(line) {
            Ok(line) => line,
            // the last line of a match in progress may lack its end
            Err(error) if error.is_eof() => break,
            Err(_) => return Err(wrong(number + 1)),
        };
        let pair = line.agents.unwrap_or([0, 1]).map(|agent| agents.get(agent));
        let [Some(one), Some(other)] = pair else { return Err(wrong(number + 1)) };
        let sides = [[one, other], [other, one]];
        for (index, (played, [first, second])) in line.games.into_iter().zip(sides).enumerate() {
            let score = played.score;
            let [a, b] = if index == 0 { [score, 1.0 - score] } else { [1.0 - score, score] };
            let fault = played.fault.map_or(String::new(), |fault| format!(" ({fault})"));
            games.push(Loaded {
                name: format!("{first} against {second}: {} to {}{fault}", points(a), points(b)),
                of_selfplay: false,
                game: game.id.clone(),
                options: game.options.clone(),
                start: played.start,
                actions: played.actions,
                ended: None,
                values: Vec::new(),
            });
        }
        if games.len() >= MOST {
            break;
        }
    }
    Ok(games)
}

/// Returns a score in the usual notation.
fn points(score: f64) -> &'static str {
    match score {
        score if score > 0.75 => "1",
        score if score < 0.25 => "0",
        _ => "½",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_games_of_a_match_are_told_by_who_began() {
        let text = concat!(
            r#"{"format":1,"game":{"id":"tic-tac-toe","options":{},"encoding":1},"agents":["A, SHA-256 00","B"],"seed":1}"#,
            "\n",
            r#"{"pair":0,"games":[{"actions":["b2"],"score":1.0},{"actions":["a1","b2"],"score":0.5}]}"#,
            "\n",
            r#"{"pair":1,"games":[{"actions":["b2"],"sco"#,
        );
        let games = read(text).unwrap();
        let names: Vec<&str> = games.iter().map(|game| game.name.as_str()).collect();
        assert_eq!(names, ["A against B: 1 to 0", "B against A: ½ to ½"]);
        assert_eq!(games[1].actions, ["a1", "b2"]);
        assert!(read("{}").is_err() && read("").is_err() && read("{\"agents\":[]}").is_err());
    }

    #[test]
    fn a_line_has_two_games_and_a_file_no_more_than_are_shown() {
        let header = |name: &str| {
            format!(
                r#"{{"game":{{"id":"tic-tac-toe","options":{{}},"encoding":1}},"agents":["{name}","B"],"seed":1}}"#
            )
        };
        let game = r#"{"actions":["b2"],"score":1.0}"#;
        let many = vec![game; 150_000].join(",");
        let error = read(&format!("{}\n{{\"pair\":0,\"games\":[{many}]}}\n", header("A"))).err().unwrap();
        assert_eq!(error.to_string(), "line 2 of the file is not a line of a match");
        let pairs: String =
            (0..MOST).map(|pair| format!("{{\"pair\":{pair},\"games\":[{game},{game}]}}\n")).collect();
        let long = "A".repeat(4000);
        let games = read(&format!("{}\n{pairs}", header(&long))).unwrap();
        assert_eq!(games.len(), MOST);
        assert!(games.iter().all(|game| game.name.len() < LONGEST_NAME + 50));
    }
}
