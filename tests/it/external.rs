//! Other programs as agents: they receive the right lines, and a failure costs the program a game and has no other
//! effect.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use petteia::arena::contestant::Contestant;
use petteia::arena::external::{ExternalProgram, Terms};
use petteia::arena::journal::Journal;
use petteia::arena::spec::AgentSpec;
use petteia::arena::{Faults, Match, MatchResult, play_match, play_while};
use petteia::game::{Game, GameOptions, Rules};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::random::{Purpose, stream};

/// Timeouts in seconds: the first is never reached; the second is for a program that hangs.
const PATIENT: f64 = 60.0;
const HASTY: f64 = 2.0;

/// The shell commands of a program that plays the first free square.
const FIRST_FREE: &str = r#"for square in a1 a2 a3 b1 b2 b3 c1 c2 c3; do
    case "$position " in *" $square "*) ;; *) echo "info depth 1"; echo "bestmove $square ponder c3"; break ;; esac
done"#;

/// A folder with programs. The programs write everything that they read, and their process ids, to files in it.
struct Programs {
    folder: tempfile::TempDir,
}

impl Programs {
    fn new() -> Programs {
        Programs { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a program that runs `go` when it is asked for an action; returns it as an agent.
    fn write(&self, name: &str, go: &str) -> String {
        let folder = self.folder.path().display();
        let text = format!(
            "cd '{folder}'\necho $$ >> pids\nwhile read -r word rest; do\necho \"$word${{rest:+ $rest}}\" >> heard\n\
            case \"$word\" in\nugi) echo 'id name {name}'; echo ugiok ;;\nisready) echo readyok ;;\n\
            position) position=$rest ;;\ngo) {go}\n;;\nquit) exit 0 ;;\nesac\ndone\n"
        );
        fs::write(self.path(name), text).unwrap();
        format!("sh '{}'", self.path(name).display())
    }

    fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.path(name)).unwrap().lines().map(str::to_string).collect()
    }

    /// Waits until every process whose id a program has written is gone.
    fn expect_none_alive(&self) {
        for pid in self.lines("pids") {
            let alive = || match fs::read_to_string(Path::new("/proc").join(&pid).join("stat")) {
                // an orphan may be a zombie until the process that adopted it reaps it
                Ok(about) => !about.rsplit(')').next().unwrap().trim_start().starts_with('Z'),
                Err(_) => false,
            };
            // a killed process does not disappear at once
            (0..1000).take_while(|_| alive()).for_each(|_| sleep(Duration::from_millis(10)));
            assert!(!alive(), "process {pid} is left");
        }
    }
}

fn rules() -> Rules<TicTacToe> {
    Rules::new(&GameOptions::default()).unwrap()
}

fn external(command: &str, timeout: f64) -> Contestant<TicTacToe> {
    let terms = Arc::new(Terms::new("movetime 10", timeout, None).unwrap());
    Contestant::external(&rules().game, ExternalProgram::start(command, &terms).unwrap())
}

fn random() -> Contestant<TicTacToe> {
    let rules = rules();
    Contestant::new(&rules, &AgentSpec::Random).unwrap()
}

fn play(agents: [&Contestant<TicTacToe>; 2], games: usize, threads: usize) -> MatchResult {
    // two random plies and a ply of the opponent cannot end the game, so each program is asked at least once
    let plan = Match { games, seed: 1, opening_plies: 2, book: None, sprt: None };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| play_match(&rules().game, &plan, agents, None, |_| true)).unwrap()
}

#[test]
fn a_program_plays_and_is_kept_between_games() {
    let programs = Programs::new();
    let agent = external(&programs.write("good", FIRST_FREE), PATIENT);
    let result = play([&agent, &random()], 10, 1);
    assert_eq!((result.games, result.faults), (10, [Faults::default(); 2]));
    assert!(result.wins > 0, "it plays sensibly enough to win once against chance: {result:?}");
    assert_eq!(programs.lines("pids").len(), 1);
    drop(agent);
    assert_eq!(programs.lines("heard").last().unwrap(), "quit");
    programs.expect_none_alive();
    // both sides, and several processes at once
    let agents = [external(&programs.write("good", FIRST_FREE), PATIENT), random()];
    let same = play([&agents[0], &agents[1]], 10, 4);
    assert_eq!((same.wins, same.draws, same.losses), (result.wins, result.draws, result.losses));
    let swapped = play([&agents[1], &agents[0]], 10, 2);
    assert_eq!(swapped.faults, [Faults::default(); 2]);
    drop(agents);
    programs.expect_none_alive();
}

#[test]
fn it_is_told_what_the_protocol_says() {
    let programs = Programs::new();
    let command = programs.write("good", FIRST_FREE);
    let terms = Arc::new(Terms::new("nodes  5 movetime 7", PATIENT, None).unwrap());
    let game = rules().game;
    let agent = Contestant::external(&game, ExternalProgram::start(&command, &terms).unwrap());
    let start = game.initial();
    let mut player = agent.agent(stream(1, Purpose::Agent, &[]));
    let first = game.parse_action(&start, "b2").unwrap();
    player.played(&start, first);
    let mut state = start;
    game.play(&mut state, first);
    assert_eq!(game.action_text(&state, player.choose(&state).unwrap()), "a1");
    drop(player);
    let later = game.parse_state("X.X/.O./... O").unwrap();
    agent.agent(stream(1, Purpose::Agent, &[])).choose(&later).unwrap();
    let expected = [
        "ugi",
        "uginewgame",
        "isready",
        "position startpos moves b2",
        "isready",
        "go nodes 5 movetime 7",
        "uginewgame",
        "isready",
        "position fen X.X/.O./... O",
        "isready",
        "go nodes 5 movetime 7",
    ];
    assert_eq!(programs.lines("heard"), expected);
}

#[test]
fn every_fault_loses_its_game_and_is_counted() {
    let sleeper = "sleep 1000 & echo $! >> pids; wait";
    let none = Faults::default();
    let cases = [
        ("exit 3", PATIENT, Faults { crashed: 4, ..none }),
        ("exec >&-; sleep 1000", PATIENT, Faults { crashed: 4, ..none }),
        (sleeper, HASTY, Faults { slow: 4, ..none }),
        ("echo bestmove z9", PATIENT, Faults { illegal: 4, ..none }),
        ("echo bestmove none", PATIENT, Faults { illegal: 4, ..none }),
        ("echo bestmove", PATIENT, Faults { illegal: 4, ..none }),
        ("while :; do echo info string more; done", PATIENT, Faults { flooded: 4, ..none }),
        ("printf '%070000d' 0; sleep 1000", PATIENT, Faults { flooded: 4, ..none }),
    ];
    for (number, (go, timeout, expected)) in cases.into_iter().enumerate() {
        let programs = Programs::new();
        let agents = [external(&programs.write("bad", go), timeout), random()];
        // whichever side the program plays
        let (mine, other) = (number % 2, 1 - number % 2);
        let mut order = [&agents[0], &agents[1]];
        order.rotate_left(mine);
        let result = play(order, 4, 2);
        let lost = if mine == 0 { result.losses } else { result.wins };
        assert_eq!((result.games, lost), (4, 4), "{go}: {result:?}");
        assert_eq!((result.faults[mine], result.faults[other]), (expected, none), "{go}: {result:?}");
        // a program that has failed is not used again
        assert_eq!(programs.lines("heard").iter().filter(|line| *line == "ugi").count(), 4);
        drop(agents);
        programs.expect_none_alive();
    }
}

#[test]
fn a_program_that_fails_once_plays_on() {
    let programs = Programs::new();
    let go = format!("[ -e failed ] || {{ touch failed; exit 1; }}; {FIRST_FREE}");
    let agents = [external(&programs.write("once", &go), PATIENT), random()];
    let agents = [&agents[0], &agents[1]];
    let rules = rules();
    let plan = Match { games: 6, seed: 1, opening_plies: 2, book: None, sprt: None };
    let file = programs.path("match.jsonl");
    let journal = || Some(Journal::open(&file, &rules, &plan, agents).unwrap());
    // with several threads, more processes could fail before the first failure is recorded
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let result = pool.install(|| play_match(&rules.game, &plan, agents, journal(), |_| true)).unwrap();
    assert_eq!((result.games, result.faults[0].crashed, result.faults[0].total()), (6, 1, 1));
    assert!(result.losses >= 1);
    // the file contains the fault
    assert_eq!(play_match(&rules.game, &plan, agents, journal(), |_| false).unwrap(), result);
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let programs = Programs::new();
    let command = programs.write("stubborn", FIRST_FREE);
    let text = fs::read_to_string(programs.path("stubborn")).unwrap();
    let stays = "quit) trap '' HUP INT TERM; sleep 1000 & echo $! >> pids; sleep 1000 ;;";
    fs::write(programs.path("stubborn"), text.replace("quit) exit 0 ;;", stays)).unwrap();
    let agents = [external(&command, PATIENT), random()];
    let result = play([&agents[0], &agents[1]], 4, 2);
    assert_eq!((result.games, result.faults), (4, [Faults::default(); 2]));
    drop(agents);
    assert!(programs.lines("pids").len() > 1, "it was told to end");
    programs.expect_none_alive();
}

#[test]
fn nobody_waits_for_an_answer_once_the_match_is_stopped() {
    let programs = Programs::new();
    let stop = Arc::new(AtomicBool::new(false));
    let terms = Terms::new("movetime 10", 86_400.0, None).unwrap().until(stop.clone());
    let game = rules().game;
    let command = programs.write("hanging", "sleep 1000");
    let agent = Contestant::external(&game, ExternalProgram::start(&command, &Arc::new(terms)).unwrap());
    let plan = Match { games: 4, seed: 1, opening_plies: 2, book: None, sprt: None };
    let asked = || programs.lines("heard").iter().any(|line| line.starts_with("go"));
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !asked() {
                sleep(Duration::from_millis(10));
            }
            stop.store(true, Ordering::Relaxed);
        });
        play_while(&game, &plan, [&agent, &random()], None, &|_| true)
    });
    let (result, complete) = result.unwrap();
    assert_eq!((result.games, result.faults, complete), (0, [Faults::default(); 2], false));
    drop(agent);
    programs.expect_none_alive();
}

#[test]
fn a_program_that_does_not_listen_is_too_slow() {
    let programs = Programs::new();
    let command = programs.write("deaf", FIRST_FREE);
    let text = fs::read_to_string(programs.path("deaf")).unwrap();
    fs::write(programs.path("deaf"), text.replace("echo ugiok", "echo ugiok; sleep 1000")).unwrap();
    let agents = [external(&command, HASTY), random()];
    let result = play([&agents[0], &agents[1]], 2, 2);
    assert_eq!((result.losses, result.faults[0].slow), (2, 2));
    drop(agents);
    programs.expect_none_alive();
}

#[test]
fn what_is_no_engine_is_refused_before_the_match() {
    let refused = |command: &str, part: &str| {
        let timeout = if part.contains("slow") { 0.5 } else { PATIENT };
        let terms = Arc::new(Terms::new("depth 1", timeout, None).unwrap());
        let error = ExternalProgram::start(command, &terms).err().unwrap();
        assert!(error.exit_code() == 2 && error.to_string().contains(part), "{error}");
        assert!(error.to_string().contains(&format!("agent `ugi:{command}`")), "{error}");
    };
    refused("/no/such/program --fast", "`/no/such/program` cannot be started: No such file");
    refused("true", "it crashed instead of answering `ugi` with `ugiok`");
    refused("cat", "it was too slow instead");
    refused("yes", "it wrote too much instead");
    refused("sh 'open", "close all quotation marks");
    refused("", "write a program");
    for (go, timeout, part) in [
        ("", 1.0, "the limit is empty"),
        ("infinite", 1.0, "`infinite` is not a limit"),
        ("movetime 0", 1.0, "`movetime 0` is not a limit"),
        ("depth 3 nodes", 1.0, "`nodes` is not a limit"),
        ("depth 3", 0.0, "0: must be more than 0"),
        ("depth 3", f64::NAN, "NaN: must be"),
    ] {
        let error = Terms::new(go, timeout, None).unwrap_err();
        assert!(error.exit_code() == 2 && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn the_command_says_what_happened() {
    use std::process::Command;
    let programs = Programs::new();
    let (good, bad) = (programs.write("good", FIRST_FREE), programs.write("bad", "echo oh >&2; exit 1"));
    let petteia = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_petteia")).args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (good, bad) = (format!("ugi:{good}"), format!("ugi:{bad}"));
    let log = programs.path("log").display().to_string();
    let arena =
        ["arena", "tic-tac-toe", &good, &bad, "--games", "4", "--go", "depth 1", "--engine-log", &log];
    let (code, out, err) = petteia(&arena);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("4 wins, 0 draws, 0 losses"), "{out}");
    assert!(out.contains(&format!("{bad} lost 4 games by its own fault: 4 crashed")), "{out}");
    assert_eq!(fs::read_to_string(&log).unwrap(), "oh\n".repeat(4));
    let (_, out, _) = petteia(&[&arena[..], &["--json"]].concat());
    let result: MatchResult = serde_json::from_str(&out).unwrap();
    assert_eq!((result.faults[1].crashed, result.faults[0].total()), (4, 0));
    programs.expect_none_alive();
    let config = format!("arena.opponent={good}");
    let run = programs.path("run").display().to_string();
    for refused in [
        &["play", "tic-tac-toe", "--opponent", &good][..],
        &["train", "configs/tic-tac-toe.toml", "--run", &run, "--set", &config],
    ] {
        let (code, _, err) = petteia(refused);
        assert!(code == Some(2) && err.contains("other programs play in `petteia arena` only"), "{err}");
    }
}
