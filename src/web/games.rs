//! Recorded games as the page reads them: saved games, records of self-play, files of matches.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::game::Player;
use crate::options::Settings;
use crate::replay::record::Record;
use crate::session::saved::Saved;
use crate::storage::text::unmarked_text;

/// Games of a file that are shown.
const MOST: usize = 2000;

/// A game that was read and not yet checked by its rules.
pub(super) struct Loaded {
    pub(super) name: String,
    /// Whether it is a game of self-play, whose name goes on with its result.
    pub(super) of_selfplay: bool,
    pub(super) game: String,
    pub(super) options: Settings,
    /// Where it started; the usual position if `None`.
    pub(super) start: Option<String>,
    pub(super) actions: Vec<String>,
    /// Who resigned after them.
    pub(super) resigned: Option<Player>,
    /// The search's value for the player to move at each ply, where one was asked; may be empty.
    pub(super) values: Vec<Option<f32>>,
}

impl Loaded {
    /// A game of self-play.
    pub(super) fn of_record(record: Record) -> Loaded {
        let values = record.values().collect();
        let Record { game, options, start, actions, index, .. } = record;
        let name = format!("game {index}");
        Loaded { name, of_selfplay: true, game, options, start: Some(start), actions, resigned: None, values }
    }
}

/// The games of a text: a saved game, one record, or the file of a match or ladder.
pub(super) fn read(text: &str) -> Result<Vec<Loaded>> {
    let text = unmarked_text(text).map_err(|why| Error::Data(format!("the file: {why}")))?;
    let first = text.lines().next().unwrap_or_default();
    if let Ok(header) = serde_json::from_str::<Value>(first) {
        if header.get("agents").is_some() {
            return of_match(&header, text);
        }
        if header.get("visits").is_some() {
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
    Ok(vec![Loaded { name, of_selfplay: false, game, options, start, actions, resigned, values: Vec::new() }])
}

fn of_match(header: &Value, text: &str) -> Result<Vec<Loaded>> {
    let wrong = |line: usize| Error::Data(format!("line {line} of the file is not one of a match"));
    let game = header["game"]["id"].as_str().ok_or_else(|| wrong(1))?;
    let options: Settings =
        serde_json::from_value(header["game"]["options"].clone()).map_err(|_| wrong(1))?;
    // an agent's identity goes on with the hash of its weights
    let name = |agent: &Value| {
        agent.as_str().map(|name| name.split(", SHA-256").next().unwrap_or_default().to_string())
    };
    let agents: Option<Vec<String>> =
        header["agents"].as_array().and_then(|all| all.iter().map(name).collect());
    let agents = agents.ok_or_else(|| wrong(1))?;
    let mut games = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        // the last line of a match in progress may lack its end
        let Ok(line) = serde_json::from_str::<Value>(line) else { break };
        let pair = (|| {
            let number_of = |at: usize| match line.get("agents") {
                Some(agents) => agents[at].as_u64().map(|agent| agent as usize),
                None => Some(at),
            };
            let names = [agents.get(number_of(0)?)?, agents.get(number_of(1)?)?];
            let mut pair = Vec::new();
            for (index, played) in line["games"].as_array()?.iter().enumerate() {
                let text = |action: &Value| action.as_str().map(String::from);
                let actions: Option<Vec<String>> = played["actions"].as_array()?.iter().map(text).collect();
                let score = played["score"].as_f64()?;
                let [first, second] = [names[index % 2], names[(index + 1) % 2]];
                let [a, b] = if index == 0 { [score, 1.0 - score] } else { [1.0 - score, score] };
                let fault = match played["fault"].as_str() {
                    Some(fault) => format!(" ({fault})"),
                    None => String::new(),
                };
                pair.push(Loaded {
                    name: format!("{first} against {second}: {} to {}{fault}", points(a), points(b)),
                    of_selfplay: false,
                    game: game.into(),
                    options: options.clone(),
                    start: None,
                    actions: actions?,
                    resigned: None,
                    values: Vec::new(),
                });
            }
            Some(pair)
        })();
        games.extend(pair.ok_or_else(|| wrong(number + 1))?);
        if games.len() >= MOST {
            break;
        }
    }
    Ok(games)
}

/// A score as people write it.
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
}
