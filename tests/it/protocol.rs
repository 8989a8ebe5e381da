//! The protocols as state machines: they give the right answers and order the right searches, and no input breaks them.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use petteia::any::AnyGame;
use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::game::{Game, GameOptions, Rules, Variants};
use petteia::games::Games;
use petteia::games::cage::Cage;
use petteia::games::caissa::Caissa;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::protocol::codecup::Codecup;
use petteia::protocol::gtp::Gtp;
use petteia::protocol::thinker::{Limits, Report, Task, Thinker};
use petteia::protocol::ugi::Ugi;
use petteia::protocol::{Order, Protocol, Urgency};
use petteia::random::{Purpose, stream};
use petteia::registry::Registry;

mod any_input;
mod gtp;

fn game<G: Variants>(variant: &str) -> AnyGame {
    AnyGame::of(G::new(&GameOptions { variant: variant.into(), ..GameOptions::default() }).unwrap())
}

fn thinker(game: &AnyGame) -> Thinker {
    let rules = Rules::of(game.clone(), &GameOptions::default()).unwrap();
    let contestant = Contestant::new(&rules, &AgentSpec::Rollout(50)).unwrap();
    Thinker::new(rules.game, contestant.search_agent(stream(1, Purpose::Agent, &[])).unwrap())
}

/// The simulations of a search that has another kind of limit, and the maximum for all searches.
const SOME: usize = 100;
const MANY: usize = 2000;

/// A protocol, with a thinker that answers at once.
struct Talk<P> {
    protocol: P,
    thinker: Thinker,
    searches: Vec<Task>,
}

impl<P: Protocol> Talk<P> {
    fn new(game: &AnyGame, protocol: P) -> Talk<P> {
        Talk { protocol, thinker: thinker(game), searches: Vec::new() }
    }

    /// Returns everything that the protocol says before it awaits the next line.
    fn say(&mut self, line: &str) -> Vec<String> {
        let mut reply = self.protocol.line(line);
        let mut said = std::mem::take(&mut reply.lines);
        while let Order::Search(mut task) = reply.order {
            self.searches.push(task.clone());
            // nothing would stop the search here, and with a clock it would take a while
            task.limits.infinite = false;
            task.limits.simulations = Some(task.limits.simulations.unwrap_or(SOME).min(MANY));
            let report =
                self.thinker.search(&task, Instant::now(), &AtomicBool::new(false), &mut |_| {}).unwrap();
            reply = self.protocol.found(&report);
            said.append(&mut reply.lines);
        }
        said
    }

    fn all(&mut self, lines: &[&str]) -> Vec<String> {
        lines.iter().flat_map(|line| self.say(line)).collect()
    }

    fn limits(&mut self, line: &str) -> Limits {
        self.say(line);
        self.searches.last().unwrap().limits.clone()
    }
}

fn ugi(game: &AnyGame) -> Talk<Ugi> {
    Talk::new(game, Ugi::new(game.clone(), "test"))
}

#[test]
fn ugi_introduces_itself_and_answers_queries() {
    let game = game::<TicTacToe>("");
    let mut talk = ugi(&game);
    let said = talk.say("ugi");
    assert_eq!((said[0].as_str(), said.last().unwrap().as_str()), ("id name test", "ugiok"));
    assert!(said[1].starts_with("id author "));
    assert!(said[2..said.len() - 1].iter().all(|line| line.starts_with("option name ")), "{said:?}");
    assert_eq!(talk.say("isready"), ["readyok"]);
    assert_eq!(talk.say("query moves"), ["response a1 b1 c1 a2 b2 c2 a3 b3 c3"]);
    let queries = ["query p1turn", "query gameover", "query result"];
    assert_eq!(talk.all(&queries), ["response true", "response false", "response none"]);
    talk.say("position startpos moves b2");
    assert_eq!(talk.all(&queries), ["response false", "response false", "response none"]);
    talk.say("position startpos moves a1 b1 a2 b2 a3");
    assert_eq!(talk.all(&queries), ["response false", "response true", "response p1win"]);
    talk.say("position startpos moves a1 b1 a2 b2 c3 b3");
    assert_eq!(talk.all(&queries), ["response true", "response true", "response p2win"]);
    talk.say("position startpos moves a1 b1 c1 b2 a2 a3 c3 c2 b3");
    assert_eq!(talk.say("query result"), ["response draw"]);
    assert_eq!(talk.say("go nodes 10"), ["bestmove none"]);
    talk.say("uginewgame");
    assert_eq!(talk.say("query p1turn"), ["response true"]);
}

#[test]
fn ugi_finds_the_winning_action_from_a_position_text() {
    let game = game::<TicTacToe>("");
    let mut talk = ugi(&game);
    let text = {
        let mut state = game.initial();
        for action in ["a1", "b1", "a2", "b2"] {
            let action = game.parse_action(&state, action).unwrap();
            game.play(&mut state, action);
        }
        game.state_text(&state)
    };
    let said = talk.all(&[&format!("position fen {text}"), "go nodes 200"]);
    assert_eq!(said.last().unwrap(), "bestmove a3");
    let info = &said[said.len() - 2];
    assert!(info.starts_with("info depth 1 nodes ") && info.ends_with("score cp 100 pv a3"), "{info}");
    // the value is given for the player to move, whichever player that is
    let said = talk.all(&["position startpos moves a1 b1 a2 b2 c3", "go nodes 200"]);
    assert_eq!(said.last().unwrap(), "bestmove b3");
    assert!(said[said.len() - 2].contains("score cp 100 "), "{said:?}");
}

#[test]
fn ugi_hears_every_limit() {
    let game = game::<TicTacToe>("");
    let mut talk = ugi(&game);
    let ms = Duration::from_millis;
    assert_eq!(talk.limits("go nodes 7").simulations, Some(7));
    assert_eq!(talk.limits("go depth 3").depth, Some(3));
    assert_eq!(talk.limits("go movetime 5").time, Some(ms(5)));
    assert!(talk.limits("go infinite").infinite);
    assert_eq!(talk.limits("go"), Limits::default());
    let clock = talk.limits("go p1time 900 p2time 800 p1inc 7 p2inc 6").clock.unwrap();
    assert_eq!((clock.left, clock.increment, clock.to_go), (ms(900), ms(7), None));
    talk.say("position startpos moves a1");
    let clock = talk.limits("go wtime 90 btime -5 winc 7 binc 6 movestogo 4").clock.unwrap();
    assert_eq!((clock.left, clock.increment, clock.to_go), (ms(0), ms(6), Some(4)));
    talk.all(&["setoption name Simulations value 33", "setoption name hash value 2"]);
    assert_eq!(talk.limits("go").simulations, Some(33));
    assert_eq!(talk.searches.last().unwrap().memory, 2 << 20);
    talk.say("setoption name Ponder value true");
    talk.say("go nodes 1");
    assert!(talk.searches.last().unwrap().ponder);
}

#[test]
fn ugi_says_what_it_does_not_understand_and_goes_on() {
    let game = game::<TicTacToe>("");
    let mut talk = ugi(&game);
    talk.say("position startpos moves a1");
    for (line, part) in [
        ("foo", "unknown command `foo`"),
        ("query nothing", "unknown query `nothing`"),
        ("setoption name Nothing value 1", "unknown option `Nothing`"),
        ("setoption name Hash value x", "option Hash: `x` is not a number from 1 to"),
        ("setoption name Ponder value 1", "neither true nor false"),
        ("setoption", "usage: setoption"),
        ("\u{0}\u{1b}[31m", "unknown command `\\u{0}"),
        (&"x".repeat(100_000), "xxx...xxx"),
    ] {
        let said = talk.say(line);
        assert!(said.len() == 1 && said[0].starts_with("info string "), "{said:?}");
        assert!(said[0].contains(part) && said[0].len() < 300, "{said:?}");
        // nothing has changed
        assert_eq!(talk.say("query p1turn"), ["response false"]);
    }
    for line in ["go nodes many", "go nodes", "go sideways nodes 5"] {
        let said = talk.say(line);
        assert!(said[0].starts_with("info string go: ") && said.last().unwrap().starts_with("bestmove "));
    }
}

/// A runner that does not know the rules believes every answer, so answers about an earlier position would be taken
/// for answers about this one.
#[test]
fn after_a_refused_position_ugi_has_none() {
    let game = game::<TicTacToe>("");
    let mut talk = ugi(&game);
    let reason = "info string there is no position until one is accepted or a new game begins";
    for (line, part) in [
        ("position", "usage: position"),
        ("position fen nonsense", "invalid position"),
        ("position startpos moves b1 b1", "move 2 (`b1`) is not legal; there is no position"),
        ("position startpos b1", "usage: position"),
    ] {
        for good in ["position startpos moves a1", "uginewgame"] {
            talk.say(good);
            let said = talk.say(line);
            assert!(
                said.len() == 1 && said[0].starts_with("info string ") && said[0].contains(part),
                "{said:?}"
            );
            for question in ["query p1turn", "query result", "query moves"] {
                assert_eq!(talk.say(question), [reason, "response none"], "{line}, {question}");
            }
            // if the answer were that the game is not over, a runner would continue it forever
            assert_eq!(talk.say("query gameover"), [reason, "response true"], "{line}");
            let searches = talk.searches.len();
            for go in ["go", "go nodes 5", "go infinite"] {
                assert_eq!(talk.say(go), [reason, "bestmove none"], "{line}, {go}");
            }
            assert_eq!(talk.searches.len(), searches, "nothing is searched");
            // commands that do not concern the position still work
            assert_eq!(talk.say("isready"), ["readyok"]);
            assert!(talk.say("query nothing")[0].contains("unknown query"));
            talk.say(good);
            assert_eq!(talk.say("query gameover"), ["response false"]);
            assert!(talk.say("go nodes 1").last().unwrap().starts_with("bestmove "));
        }
    }
    // a line that could not be read may have contained a position
    assert!(
        talk.protocol.refuse("too long").lines[0].starts_with("info string too long; there is no position")
    );
    assert_eq!(talk.say("go nodes 1"), [reason, "bestmove none"]);
}

/// Each jump of a chain is a move, and so is a pass; the runner asks which player is to move.
#[test]
fn ugi_plays_whole_games_of_every_id() {
    let whole_game = |game: &AnyGame| {
        let mut talk = ugi(game);
        let (mut state, mut moves, mut repeated) = (game.initial(), String::new(), 0);
        let mut last = None;
        while game.outcome(&state).is_none() {
            talk.say(&format!("position startpos{}{moves}", if moves.is_empty() { "" } else { " moves" }));
            let mover = game.to_move(&state);
            repeated += (last.replace(mover) == Some(mover)) as usize;
            assert_eq!(talk.say("query p1turn"), [format!("response {}", mover.index() == 0)]);
            let said = talk.say("go nodes 1");
            let best = said.last().unwrap().strip_prefix("bestmove ").unwrap();
            let action = game.parse_action(&state, best).unwrap();
            game.try_play(&mut state, action).unwrap();
            moves += &format!(" {best}");
        }
        talk.say(&format!("position startpos moves{moves}"));
        assert_eq!(talk.say("query gameover"), ["response true"]);
        assert_eq!(talk.say("go nodes 1"), ["bestmove none"]);
        repeated
    };
    let mut repeated = 0;
    for id in Games::ids() {
        repeated += whole_game(&Games::open(&id, &Default::default()).unwrap().game);
    }
    assert!(repeated > 0, "no player was ever to move twice");
}

/// The tree of one position is reused for the next one of the same game, but not for another game.
#[test]
fn the_tree_is_kept_within_a_game() {
    let game = game::<Caissa>("");
    let mut thinker = thinker(&game);
    let mut task = |actions: &[petteia::game::Action], fresh: bool| {
        let limits = Limits { simulations: Some(400), ..Limits::default() };
        let task = Task {
            start: game.initial(),
            actions: actions.to_vec(),
            limits,
            memory: 1 << 30,
            ponder: false,
            fresh,
            threads: None,
            analysis: None,
            game: None,
        };
        thinker.search(&task, Instant::now(), &AtomicBool::new(false), &mut |_| {}).unwrap()
    };
    let line = |report: &Report| -> Vec<petteia::game::Action> {
        let mut state = game.initial();
        let play = |text: &String| {
            let action = game.parse_action(&state, text).unwrap();
            game.play(&mut state, action);
            action
        };
        report.line.iter().take(2).map(play).collect()
    };
    let first = task(&[], true);
    let kept = task(&line(&first), false);
    let anew = task(&line(&first), true);
    assert_eq!((kept.simulations, anew.simulations), (400, 400));
    assert!(kept.value != anew.value, "more simulations change the value: {} {}", kept.value, anew.value);
}

#[test]
fn a_stopped_search_and_one_without_time_have_an_action() {
    let game = game::<Cage>("");
    let mut thinker = thinker(&game);
    let clock = petteia::protocol::clock::Clock {
        left: Duration::ZERO,
        increment: Duration::ZERO,
        to_go: None,
        overhead: Duration::ZERO,
    };
    let endless = Limits { infinite: true, ..Limits::default() };
    let broke = Limits { clock: Some(clock), ..Limits::default() };
    for (limits, stopped) in [(endless, true), (broke, false)] {
        let task = Task {
            start: game.initial(),
            actions: Vec::new(),
            limits,
            memory: 1,
            ponder: false,
            fresh: true,
            threads: None,
            analysis: None,
            game: None,
        };
        let report = thinker.search(&task, Instant::now(), &AtomicBool::new(stopped), &mut |_| {}).unwrap();
        assert!(game.legal(&game.initial()).contains(&report.action));
        // the simulation that evaluates the root
        assert_eq!(report.simulations, 1);
    }
}

#[test]
fn depth_and_memory_end_a_search() {
    let game = game::<Caissa>("");
    let mut thinker = thinker(&game);
    let mut search = |limits: Limits, memory: usize| {
        let task = Task {
            start: game.initial(),
            actions: Vec::new(),
            limits,
            memory,
            ponder: false,
            fresh: true,
            threads: None,
            analysis: None,
            game: None,
        };
        thinker.search(&task, Instant::now(), &AtomicBool::new(false), &mut |_| {}).unwrap()
    };
    let deep = search(Limits { depth: Some(3), ..Limits::default() }, 1 << 30);
    assert!(deep.line.len() >= 3 || deep.simulations == 3_000, "{deep:?}");
    let small = search(Limits { simulations: Some(100_000), ..Limits::default() }, 100_000);
    assert!((100..5_000).contains(&small.simulations), "{small:?}");
}

#[test]
fn the_jury_hears_one_action_a_line() {
    let game = game::<Caissa>("");
    let mut white = Talk::new(&game, Codecup::new(game.clone(), None));
    let mut black = Talk::new(&game, Codecup::new(game.clone(), Some(Duration::from_millis(300))));
    let (mut state, mut line) = (game.initial(), "start".to_string());
    while game.outcome(&state).is_none() {
        let said = if state == game.initial() || game.to_move(&state) == petteia::game::Player::First {
            white.say(&line)
        } else {
            black.say(&line)
        };
        assert_eq!(said.len(), 1, "{said:?}");
        let action = game.parse_action(&state, &said[0]).unwrap();
        game.try_play(&mut state, action).unwrap();
        line.clone_from(&said[0]);
    }
    // later juries send capital letters, and "quit"
    for (start, end) in [("Start", "Quit"), ("START", "End"), ("start\r", "quit\r")] {
        let mut loud = Talk::new(&game, Codecup::new(game.clone(), None));
        assert_eq!(loud.say(start).len(), 1, "{start}");
        assert!(matches!(loud.protocol.line(end).order, Order::Quit(_)), "{end}");
        assert_eq!(loud.protocol.urgency(end), Urgency::Now);
    }
    let mut other = Talk::new(&game, Codecup::new(game.clone(), None));
    assert!(other.say("nonsense").is_empty() && other.say("\u{0}").is_empty());
    assert_eq!(other.say("c3-c6\r").len(), 1);
    assert!(matches!(other.protocol.line("end").order, Order::Quit(_)));
}

#[test]
fn gtp_plays_and_keeps_to_its_form() {
    let game = game::<Caissa>("");
    let mut talk = Talk::new(&game, Gtp::new(game.clone(), "test"));
    assert_eq!(talk.say("1 protocol_version"), ["=1 2", ""]);
    assert_eq!(talk.say("name # a comment"), ["= test", ""]);
    assert_eq!(talk.say("known_command genmove"), ["= true", ""]);
    assert_eq!(talk.say("known_command fly"), ["= false", ""]);
    let commands = talk.say("list_commands");
    for command in ["boardsize", "clear_board", "komi", "play", "genmove", "quit", "undo", "showboard"] {
        assert!(commands.iter().any(|line| line.trim_start_matches("= ") == command), "{command}");
    }
    assert_eq!(talk.say("boardsize 7"), ["=", ""]);
    assert_eq!(talk.say("boardsize 19"), ["? unacceptable size", ""]);
    assert_eq!(talk.say("boardsize 7 7"), ["=", ""]);
    assert_eq!(talk.say("boardsize 7 6"), ["? unacceptable size", ""]);
    assert_eq!(talk.say("boardsize 7 x"), ["? syntax error", ""]);
    assert_eq!(talk.say("play white C3-C6"), ["=", ""]);
    assert_eq!(talk.say("7 play white d6-c7"), ["?7 it is Black's turn", ""]);
    assert_eq!(talk.say("play w b2-a4"), ["? it is Black's turn", ""]);
    let generated = talk.say("8 genmove b");
    let text = generated[0].strip_prefix("=8 ").unwrap();
    let mut state = game.initial();
    for text in ["c3-c6", text] {
        let action = game.parse_action(&state, text).unwrap();
        game.try_play(&mut state, action).unwrap();
    }
    assert_eq!(talk.all(&["undo", "undo", "undo"]), ["=", "", "=", "", "? cannot undo", ""]);
    assert!(talk.say("showboard").len() > 8);
    assert_eq!(talk.say("final_score"), ["? cannot score: the game is not over", ""]);
    assert_eq!(talk.say("play white z9"), ["? illegal move", ""]);
    assert_eq!(talk.say("play green b2-a4"), ["? unknown color `green`: use White or Black", ""]);
    assert_eq!(talk.say("play white"), ["? syntax error", ""]);
    assert_eq!(talk.say("fly"), ["? unknown command", ""]);
    assert!(talk.say("").is_empty() && talk.say("# only a comment").is_empty());
    assert!(matches!(talk.protocol.line("quit").order, Order::Quit(_)));
}

/// A match runner asks both colors for moves until two in a row pass or one resigns, and then asks for the score.
#[test]
fn gtp_ends_games_as_in_go() {
    let game = game::<TicTacToe>("");
    let over = |actions: &str| {
        let mut talk = Talk::new(&game, Gtp::new(game.clone(), "test"));
        for (ply, action) in actions.split(' ').enumerate() {
            assert_eq!(talk.say(&format!("play {} {action}", ["b", "w"][ply % 2])), ["=", ""]);
        }
        talk
    };
    for (actions, black, white, score) in [
        ("a1 b1 a2 b2 a3", "= pass", "= resign", "= B+1"),
        ("a1 b1 a2 b2 c3 b3", "= resign", "= pass", "= W+1"),
        ("a1 b1 c1 b2 a2 a3 c3 c2 b3", "= pass", "= pass", "= 0"),
    ] {
        let mut talk = over(actions);
        assert_eq!(talk.say("genmove w"), [white, ""], "{actions}");
        assert_eq!(talk.say("genmove b"), [black, ""], "{actions}");
        assert_eq!(talk.say("7 genmove X"), [&black.replace('=', "=7"), ""], "{actions}");
        assert_eq!(talk.say("final_score"), [score, ""]);
        assert_eq!(talk.say("genmove green")[0], "? unknown color `green`: use X or O");
        assert!(talk.searches.is_empty());
    }
    // the other program's answer is played, and can be taken back like any move
    let mut talk = over("a1 b1 c1 b2 a2 a3 c3 c2 b3");
    assert_eq!(
        talk.all(&["play w pass", "play b PASS", "play w a1"]),
        ["=", "", "=", "", "? the game is over", ""]
    );
    assert_eq!(talk.all(&["undo", "undo", "undo", "genmove b"]).len(), 8);
    assert_eq!(talk.searches.len(), 1, "the last action was taken back, and then it is black's turn");
    assert_eq!(talk.all(&["genmove w", "undo", "undo"]), ["= pass", "", "=", "", "=", ""]);
    talk.say("clear_board");
    assert_eq!(talk.say("play b pass"), ["? illegal move", ""]);
    assert_eq!(talk.say("undo"), ["? cannot undo", ""]);
}

#[test]
fn every_protocol_searches_in_its_memory() {
    let game = game::<TicTacToe>("");
    let memory = |searches: &[Task]| searches.last().unwrap().memory;
    let mut gtp = Talk::new(&game, Gtp::new(game.clone(), "test").with_hash(3));
    gtp.say("genmove b");
    let mut codecup = Talk::new(&game, Codecup::new(game.clone(), None).with_hash(4));
    codecup.say("start");
    let mut ugi = Talk::new(&game, Ugi::new(game.clone(), "test").with_hash(5));
    assert!(ugi.say("ugi").contains(&"option name Hash type spin default 5 min 1 max 32768".to_string()));
    ugi.say("go nodes 1");
    let found = [memory(&gtp.searches), memory(&codecup.searches), memory(&ugi.searches)];
    assert_eq!(found, [3 << 20, 4 << 20, 5 << 20]);
}

#[test]
fn gtp_keeps_a_clock() {
    let game = game::<TicTacToe>("");
    let mut talk = Talk::new(&game, Gtp::new(game.clone(), "test"));
    // the first player is black if no player has that name
    assert!(talk.limits("genmove black").clock.is_none());
    talk.all(&["clear_board", "time_settings 60 0 0"]);
    assert_eq!(talk.limits("genmove x").clock.unwrap().left, Duration::from_secs(60));
    talk.say("time_left o 30 5");
    let clock = talk.limits("genmove o").clock.unwrap();
    assert_eq!((clock.left, clock.to_go), (Duration::from_secs(30), Some(5)));
    talk.all(&["clear_board", "time_settings 0 10 4"]);
    for to_go in [4, 3] {
        let clock = talk.limits("genmove x").clock.unwrap();
        assert_eq!(clock.to_go, Some(to_go));
        talk.say("genmove o");
    }
    // periods follow the main time, so the rest of the main time is not all the time that is left
    talk.all(&["clear_board", "time_settings 10 6 2"]);
    let clock = talk.limits("genmove x").clock.unwrap();
    assert_eq!((clock.left, clock.increment), (Duration::from_secs(10), Duration::from_secs(3)));
    talk.say("time_left o 0.5 0");
    let clock = talk.limits("genmove o").clock.unwrap();
    assert_eq!((clock.left, clock.to_go), (Duration::from_millis(6_500), Some(2)));
    talk.all(&["clear_board", "time_settings 0 1 0"]);
    assert!(talk.limits("genmove x").clock.is_none(), "no limit, as GTP says it");
}

/// Every protocol understands a move in the notations of other programs and rule sheets.
#[test]
fn protocols_read_other_notations() {
    let game = game::<Caissa>("");
    for text in ["C3-C6", "c3c6", "c3:c6", "c3xc6", "C3-C6x", "c3\u{2013}c6", "c3-c6+"] {
        let mut ugi = ugi(&game);
        assert!(ugi.say(&format!("position startpos moves {text}")).is_empty(), "{text}");
        let mut gtp = Talk::new(&game, Gtp::new(game.clone(), "test"));
        assert_eq!(gtp.say(&format!("play w {text}")), ["=", ""], "{text}");
        let mut codecup = Talk::new(&game, Codecup::new(game.clone(), None));
        assert_eq!(codecup.say(text).len(), 1, "{text}");
    }
    for text in ["c3", "x", "-", "c6c3", "c33c6", ""] {
        assert!(!ugi(&game).say(&format!("position startpos moves a {text}")).is_empty(), "{text}");
    }
}
