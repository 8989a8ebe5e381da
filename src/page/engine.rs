//! Answers everything that a page in a single file asks, with the program in the same file.
//!
//! Input: what the file carries ([`Contents`]), then one request after another: a path of `page::api` and its body.
//! Output: the answers that a server would give. A search is answered in steps, so that the caller can do other things
//! in between: `search` may return [`Reply::Later`], and so does `go_on` until there is an answer. The engine reads no
//! files, no clock, and no environment.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Means;
use super::api::{
    ErrorAnswer, Games, LoadAsked, NamedGame, Offer, PlayedGame, PositionAsked, Question, ReviewAsked,
    SavedFile, SearchAsked,
};
use super::games::{self, Loaded};
use super::listed::{RulesOrigin, described, start_of};
use super::players::{PagePlayer, agent_of, level_of, plain, shipped, unknown};
use super::table::{Begun, GameTable, Patience, SeatedAgent, Thinking};
use crate::arena::perfect;
use crate::error::{Error, Result};
use crate::net::device::Processor;
use crate::options::Settings;
use crate::program::Program;
use crate::registry::Catalog;
use crate::shipped::{Shipped, ShippedForGame};

/// The memory for a search's tree, in bytes; a phone has less than a server.
const MEMORY: usize = 64 << 20;
/// The number of positions that are reviewed at once; other questions are answered in between.
const REVIEWED: usize = 1;

/// What a file carries besides the weights of its agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// The id of the game.
    pub game: String,
    /// The options of the game.
    pub options: Settings,
    /// The name of the agent, for people.
    pub agent: String,
    /// The text of the file of levels, if there is one.
    pub levels: Option<String>,
}

impl Contents {
    /// Reads the contents from JSON.
    ///
    /// # Errors
    /// If the text is not such JSON.
    pub fn parse(text: &[u8]) -> Result<Contents> {
        read(text)
    }
}

/// The answer to a request.
#[derive(Debug, PartialEq)]
pub enum Reply {
    /// The answer as JSON.
    Answer(String),
    /// A search has begun or is continuing: request `go_on`.
    Later,
}

/// The body of `go_on`.
#[derive(Deserialize)]
struct GoOn {
    /// The number of rounds of simulations to make; with 0, the search answers with what it has found so far.
    rounds: usize,
}

/// The program in a file, with one game.
pub struct Engine {
    table: Arc<GameTable>,
    offer: Offer,
    /// The search in progress.
    search: Option<(SeatedAgent, Thinking)>,
}

debug_fields!(Engine,);

impl Engine {
    /// Opens the game of a file, with its agent as `petteia export` wrote it, if it has one.
    ///
    /// # Errors
    /// If the game does not exist or the agent is not for it.
    pub fn new(catalog: Catalog, contents: Contents, agent: Option<Vec<u8>>) -> Result<Engine> {
        let mut rules = catalog.open(&contents.game, &contents.options)?;
        let owned = |path: &'static str, bytes: Vec<u8>| Shipped { path: path.into(), bytes: bytes.into() };
        rules.shipped = ShippedForGame {
            agent: agent.map(|bytes| owned("agent.safetensors", bytes)),
            levels: contents.levels.map(|text| owned("agent.levels", text.into_bytes())),
        };
        let means = Means { threads: 1, processor: Processor::Cpu };
        let own = shipped(&rules).map(|player| PagePlayer { name: contents.agent, ..player });
        let is_small = perfect::is_at_hand(&rules.game);
        let agents = BTreeMap::from([(contents.game, own.into_iter().chain(plain(is_small)).collect())]);
        let program = Program::current();
        let mut game = described(&rules, RulesOrigin::Program);
        // the file plays only one set of rules
        game.options.clear();
        let offer = Offer {
            program: format!("{} {}", program.title(), program.version),
            games: vec![game],
            agents,
            plain: plain(false),
        };
        Ok(Engine { table: Arc::new(GameTable::new(rules, means)), offer, search: None })
    }

    /// Answers a request.
    ///
    /// # Errors
    /// If the request cannot be answered; the reason is for people.
    pub fn ask(&mut self, path: &str, body: &[u8]) -> Result<Reply> {
        match path {
            "home" => answer(&self.offer),
            "starts" => {
                let rules = self.table.opened();
                answer(&BTreeMap::from([(&rules.identity.id, start_of(rules))]))
            }
            "rules" => self.at_table(read(body)?, |table, _| table.rules()),
            "position" => {
                let mut request: PositionAsked = read(body)?;
                self.expect(&mut request.place)?;
                answer(&self.table.position(&request)?)
            }
            "search" => self.search(read(body)?),
            "go_on" => self.go_on(&read(body)?),
            "review" => self.review(read(body)?),
            "save" => self.at_table(read(body)?, |table, place| Ok(SavedFile { text: table.saved(place)? })),
            "load" => self.load(&read(body)?),
            _ => Err(Error::Config(format!("this page cannot do that: {path}"))),
        }
    }

    /// Checks that the game is the one in the file; the game's options may be left out.
    fn expect(&self, place: &mut PlayedGame) -> Result<()> {
        let identity = &self.table.opened().identity;
        if place.game != identity.id {
            return Err(Error::Config(format!("this page plays {}, not {}", identity.id, place.game)));
        }
        if !place.options.is_empty() && place.options != identity.options {
            return Err(Error::Config(format!("this page plays {} with other options", identity.id)));
        }
        place.options.clear();
        Ok(())
    }

    fn at_table<T: Serialize>(
        &self,
        mut place: PlayedGame,
        work: impl FnOnce(&GameTable, &PlayedGame) -> Result<T>,
    ) -> Result<Reply> {
        self.expect(&mut place)?;
        answer(&work(&self.table, &place)?)
    }

    fn agent(&self, question: &mut Question) -> Result<SeatedAgent> {
        self.expect(&mut question.place)?;
        let Question { agent, simulations, level, .. } = question;
        let spec = match level {
            Some(level) => level_of(agent, *level)?,
            None => agent_of(agent, simulations.map(NonZero::get))?.ok_or_else(|| unknown(agent))?,
        };
        self.table.clone().agent(&spec)
    }

    fn search(&mut self, mut request: SearchAsked) -> Result<Reply> {
        let agent = self.agent(&mut request.question)?;
        match agent.begin(&request)? {
            Begun::Answered(choice) => answer(&choice),
            Begun::Thinks(thinking) => {
                self.search = Some((agent, *thinking));
                Ok(Reply::Later)
            }
        }
    }

    fn go_on(&mut self, request: &GoOn) -> Result<Reply> {
        let Some((agent, mut thinking)) = self.search.take() else {
            return Err(Error::Config("no search has begun".into()));
        };
        let left = AtomicUsize::new(request.rounds);
        let goes_on =
            || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        let is_over = thinking.go_on(&Patience { goes_on: &goes_on, memory: MEMORY })?;
        if is_over || request.rounds == 0 {
            return answer(&agent.choice(thinking));
        }
        self.search = Some((agent, thinking));
        Ok(Reply::Later)
    }

    fn review(&mut self, mut request: ReviewAsked) -> Result<Reply> {
        let agent = self.agent(&mut request.question)?;
        let left = AtomicUsize::new(REVIEWED);
        let wants_more =
            || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        let patience = Patience { goes_on: &|| true, memory: MEMORY };
        answer(&agent.review(&request, &patience, &wants_more)?)
    }

    fn load(&self, request: &LoadAsked) -> Result<Reply> {
        let settled = games::read(&request.text)?.into_iter().map(|loaded| {
            let resigned = loaded.resigned();
            let Loaded { name, game, options, start, actions, ended, values, .. } = loaded;
            let mut place = PlayedGame { game, options, start, actions, resigned };
            self.expect(&mut place)?;
            let (settled, _) = self.table.settled(&place, &values, ended)?;
            Ok(NamedGame { name, game: place.game, options: Settings::new(), settled })
        });
        answer(&Games { games: settled.collect::<Result<_>>()? })
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| Error::Config(error.to_string()))
}

/// Returns the answer to a request that failed, as JSON.
pub fn error_answer(error: &Error) -> String {
    serde_json::to_string(&ErrorAnswer { error: error.to_string() }).expect("plain data")
}

fn answer(content: &impl Serialize) -> Result<Reply> {
    serde_json::to_string(content).map(Reply::Answer).map_err(|error| Error::Data(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::games::Games;

    fn engine(game: &str) -> Engine {
        let agent = Catalog::of::<Games>().shipped_for(game).agent.map(|file| file.bytes.to_vec());
        let contents =
            Contents { game: game.into(), options: Settings::new(), agent: "the agent".into(), levels: None };
        Engine::new(Catalog::bare::<Games>(), contents, agent).unwrap()
    }

    fn request(engine: &mut Engine, path: &str, body: &Value) -> Result<Reply> {
        engine.ask(path, body.to_string().as_bytes())
    }

    fn answered(engine: &mut Engine, path: &str, body: &Value) -> Value {
        match request(engine, path, body).unwrap() {
            Reply::Answer(text) => serde_json::from_str(&text).unwrap(),
            Reply::Later => panic!("{path} is not answered at once"),
        }
    }

    /// Searches in steps of `rounds` rounds.
    fn searched(engine: &mut Engine, body: &Value, rounds: usize) -> Value {
        let mut reply = request(engine, "search", body).unwrap();
        while reply == Reply::Later {
            reply = request(engine, "go_on", &json!({ "rounds": rounds })).unwrap();
        }
        let Reply::Answer(text) = reply else { unreachable!() };
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_search_in_steps_is_the_same_as_at_once() {
        let mut engine = engine("phage");
        let home = answered(&mut engine, "home", &json!(null));
        assert_eq!(home["agents"]["phage"][0]["name"], "the agent");
        assert_eq!(home["agents"]["phage"][0]["levels"], true);
        let body = json!({"game": "phage", "actions": [], "agent": "shipped", "simulations": 60, "seed": 3});
        let answers = [1, 7, 10_000].map(|rounds| searched(&mut engine, &body, rounds));
        assert_eq!(answers[0]["simulations"], 60);
        assert!(answers.iter().all(|other| *other == answers[0]));
        // with 0 rounds, only the first evaluation is known
        let mut reply = request(&mut engine, "search", &body).unwrap();
        assert_eq!(reply, Reply::Later);
        reply = request(&mut engine, "go_on", &json!({"rounds": 0})).unwrap();
        assert!(matches!(&reply, Reply::Answer(text) if text.contains("\"simulations\":1,")), "{reply:?}");
        assert!(request(&mut engine, "go_on", &json!({"rounds": 1})).is_err());
    }

    #[test]
    fn a_whole_game_is_played_saved_loaded_and_reviewed() {
        let mut engine = engine("connect-four");
        let mut actions: Vec<String> = Vec::new();
        loop {
            let place = json!({"game": "connect-four", "actions": actions});
            if !answered(&mut engine, "position", &place)["over"].is_null() {
                break;
            }
            let body =
                json!({"game": "connect-four", "actions": actions, "agent": "rollout", "simulations": 10});
            actions.push(searched(&mut engine, &body, 5)["action"].as_str().unwrap().into());
        }
        let place = json!({"game": "connect-four", "actions": actions});
        let saved = answered(&mut engine, "save", &place)["text"].clone();
        let games = answered(&mut engine, "load", &json!({ "text": saved }))["games"].clone();
        assert_eq!(games[0]["actions"], json!(actions));
        let (mut from, mut plies) = (Some(0), 0);
        while let Some(at) = from {
            let body = json!({
                "game": "connect-four", "actions": actions, "agent": "shipped", "simulations": 4, "from": at,
            });
            let reviewed = answered(&mut engine, "review", &body);
            plies += reviewed["plies"].as_array().unwrap().len();
            from = reviewed["next"].as_u64();
            assert!(from.is_none_or(|next| next > at));
        }
        assert!(plies >= actions.len(), "{plies} of {}", actions.len());
        assert!(answered(&mut engine, "rules", &place)["html"].as_str().unwrap().contains("<svg"));
    }

    #[test]
    fn what_is_not_of_this_game_is_refused() {
        let mut engine = engine("tic-tac-toe");
        for (path, body) in [
            ("position", json!({"game": "phage"})),
            ("position", json!({"game": "tic-tac-toe", "options": {"x": 1}})),
            ("position", json!({"game": "tic-tac-toe", "actions": ["z9"]})),
            ("position", json!([])),
            ("search", json!({"game": "tic-tac-toe", "agent": "run-0-1"})),
            ("search", json!({"game": "tic-tac-toe", "agent": "rollout", "simulations": 1_000_001})),
            ("load", json!({"text": "{}"})),
            ("runs/0", json!(null)),
        ] {
            let error = request(&mut engine, path, &body).unwrap_err().to_string();
            assert!(!error.is_empty(), "{path} {body}");
        }
        let saved =
            json!({"format": 1, "game": "phage", "options": {}, "start": "", "actions": []}).to_string();
        let error = request(&mut engine, "load", &json!({ "text": saved })).unwrap_err().to_string();
        assert_eq!(error, "this page plays tic-tac-toe, not phage");
    }
}
