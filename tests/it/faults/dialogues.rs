//! Faulty input for an engine: random, mutated and binary lines, NULs, lines of megabytes, floods, and the end of
//! input in the middle of a search.
//!
//! Whatever the engine hears, it answers as required (each `go` with a `bestmove`, each GTP command with a reply), the
//! next command works, and it exits with 0 when the input ends.

use std::io::{Read, Write};

use petteia::random::Random;
use rand::RngExt;

use super::mutation::{mutate, mutate_bytes};
use super::scene::{Folder, Petteia, RUN, Tally, deep, random, times};
use super::shim;

/// The program does not read longer lines than this.
const LONGEST: usize = 1 << 20;

const UGI: &[&str] = &[
    "ugi",
    "isready",
    "uginewgame",
    "position startpos",
    "position startpos moves b2 a1",
    "position fen X.X/.O./... O",
    "position fen X.X/.O./... O moves a1",
    "query p1turn",
    "query gameover",
    "query moves",
    "query result",
    "go",
    "go nodes 20",
    "go depth 2",
    "go movetime 2",
    "go p1time 20 p2time 20 p1inc 1 p2inc 1 movestogo 5",
    "go infinite",
    "stop",
    "setoption name Hash value 2",
    "setoption name MoveOverhead value 0",
    "setoption name Simulations value 20",
    "setoption name Ponder value true",
    "setoption name Ponder value false",
    "debug on",
];
const GTP: &[&str] = &[
    "protocol_version",
    "7 name",
    "version",
    "known_command play",
    "list_commands",
    "boardsize 3",
    "clear_board",
    "komi 6.5",
    "play X b2",
    "play O a1",
    "genmove X",
    "genmove O",
    "undo",
    "showboard",
    "final_score",
    "time_settings 1 1 1",
    "time_left X 1 0",
    "# a comment",
    "time_settings 0 1 0",
];
const CODECUP: &[&str] = &["start", "b2", "a1", "c3", "a3", "b1", "start b2", "pass"];

/// The lines of one conversation.
struct Conversation {
    lines: Vec<Vec<u8>>,
}

impl Conversation {
    /// Makes `len` lines from `valid` ones: unchanged, mutated, of random bytes, and rarely very long.
    fn new(valid: &[&str], len: usize, ends: &[&str], chance: &mut Random) -> Conversation {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        while lines.len() < len {
            let text = valid[chance.random_range(0..valid.len())];
            let line = match chance.random_range(0..100) {
                0..30 => text.as_bytes().to_vec(),
                30..75 => mutate(text, chance).into_bytes(),
                75..90 => mutate_bytes(text.as_bytes(), chance),
                90..99 => (0..chance.random_range(0..200)).map(|_| chance.random()).collect(),
                // slightly longer than permitted, or near the limit
                _ => [text.as_bytes(), b" ", &vec![b'9'; LONGEST - chance.random_range(0..2) * 100]].concat(),
            };
            // a mutation may have split a line into several
            let parts = line.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
            let ending = |line: &Vec<u8>| words(line).iter().any(|word| ends.contains(&word.as_str()));
            let parts: Vec<_> = parts.filter(|line| !ending(line)).collect();
            for line in parts {
                let searches = first_word(&line) == "go";
                lines.push(line);
                // a mutated limit may permit a very long search, so stop it
                if searches {
                    lines.push(b"stop".to_vec());
                }
            }
        }
        Conversation { lines }
    }

    fn input(&self, end: &str) -> Vec<u8> {
        let mut input = self.lines.join(&b'\n');
        input.extend_from_slice(format!("\n{end}").as_bytes());
        input
    }

    /// The number of lines that are heard and satisfy `is`.
    fn heard(&self, is: impl Fn(&str) -> bool) -> usize {
        let heard = self.lines.iter().filter(|line| line.len() <= LONGEST);
        heard.filter(|line| is(&String::from_utf8_lossy(line))).count()
    }
}

fn words(line: &[u8]) -> Vec<String> {
    let text: String =
        String::from_utf8_lossy(line).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split_whitespace().map(String::from).collect()
}

fn first_word(line: &[u8]) -> String {
    String::from_utf8_lossy(line).split_whitespace().next().unwrap_or_default().to_string()
}

const AGENTS: [&str; 2] = ["uniform:20", "rollout:10"];

fn engine(game: &str, agent: &str, protocol: &str) -> Petteia {
    Petteia::new(&["engine", game, "--agent", agent, "--protocol", protocol])
}

/// Runs a conversation with an agent, and with the bot of the tiny run if it is the bot's game.
fn said(number: usize, protocol: &str, input: Vec<u8>, tally: &mut Tally, check: impl Fn(&str)) {
    let game = ["tic-tac-toe", "caissa", "cage-4"][number % 3];
    let run = RUN.path.display().to_string();
    let agent = if number.is_multiple_of(6) { run.as_str() } else { AGENTS[number / 3 % 2] };
    tally.check(|| {
        let (ended, peak) = shim::peak(engine(game, agent, protocol).hearing(input));
        let what = format!("{protocol} conversation {number} of {game} with {agent}");
        ended.in_words(&what);
        assert_eq!(ended.code, Some(0), "{what}: {}", ended.err);
        assert!(peak.is_none_or(|peak| peak < 160 << 10), "{what}: {peak:?} kB");
        check(&ended.out);
    });
}

#[test]
fn ugi_hears_anything() {
    let (mut tally, mut chance) = (Tally::default(), random(300));
    for number in 0..times(60, 240) {
        let talk = Conversation::new(UGI, times(60, 250), &["quit"], &mut chance);
        let searches = talk.heard(|line| first_word(line.as_bytes()) == "go");
        // the last search is still running when the input ends
        let end =
            "setoption name Ponder value false\nposition startpos\nisready\nquery gameover\ngo infinite\n";
        said(number, "ugi", talk.input(end), &mut tally, |out| {
            let answers = out.lines().filter(|line| line.starts_with("bestmove ")).count();
            assert_eq!(answers, searches + 1, "conversation {number}: each `go` has its `bestmove`");
            assert!(out.lines().any(|line| line == "response false"));
            assert!(out.lines().last().unwrap().starts_with("bestmove "), "conversation {number}");
        });
    }
    tally.report("UGI");
}

/// Whether GTP finds something in the line: a command, or just a number.
fn is_gtp_command(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default().replace('\t', " ");
    line.chars().filter(|c| !c.is_control()).any(|c| !c.is_whitespace())
}

#[test]
fn gtp_hears_anything() {
    let (mut tally, mut chance) = (Tally::default(), random(301));
    for number in 0..times(60, 240) {
        let mut talk = Conversation::new(GTP, times(60, 250), &["quit"], &mut chance);
        // drop clock commands: with a clock of years, the test would wait for the engine
        talk.lines.retain(|line| !String::from_utf8_lossy(line).contains("time_"));
        let commands = talk.heard(is_gtp_command) + talk.lines.iter().filter(|l| l.len() > LONGEST).count();
        said(number, "gtp", talk.input("99 known_command play\n"), &mut tally, |out| {
            let answers = out.split("\n\n").filter(|reply| !reply.trim().is_empty()).count();
            assert_eq!(answers, commands + 1, "conversation {number}: each command has its reply");
            assert!(out.ends_with("=99 true\n\n"), "conversation {number}: {out}");
        });
    }
    tally.report("GTP");
}

#[test]
fn codecup_hears_anything() {
    let (mut tally, mut chance) = (Tally::default(), random(302));
    for number in 0..times(60, 240) {
        let talk = Conversation::new(CODECUP, times(60, 150), &["end"], &mut chance);
        said(number, "codecup", talk.input("a1"), &mut tally, |_| {});
    }
    tally.report("CodeCup");
}

/// Every number of every command that takes one, at its minimum and maximum and beyond.
#[test]
fn clocks_and_limits_of_any_size_are_answered() {
    let mut tally = Tally::default();
    let every = if deep() { 1 } else { 3 };
    for number in super::mutation::EXTREMES.iter().step_by(every) {
        // few squares are left, so that a search without a limit ends by itself
        let gtp = format!(
            "play X a1\nplay O b2\nplay X c3\nplay O a3\ntime_settings {number} {number} {number}\ngenmove X\n\
             time_left O {number} {number}\ngenmove O\ntime_settings {number} {number} 1\ngenmove X\n\
             time_settings 0 {number} 1\ngenmove O\ntime_settings {number} 0 0\ngenmove X\n1 name\n"
        );
        let ugi: String =
            ["nodes", "depth", "movetime", "movestogo", "wtime", "p1time 5 p1inc", "p1time 5 movestogo"]
                .map(|limit| format!("go {limit} {number}\nstop\n"))
                .concat();
        let options = ["Hash", "MoveOverhead", "Simulations"].map(|name| {
            // memory is allocated only as it is used
            format!("setoption name {name} value {number}\nposition startpos\ngo p1time 9 p2time 9\nstop\n")
        });
        let ugi = format!("{ugi}{}isready\n", options.concat());
        tally.check(|| {
            let ended = engine("tic-tac-toe", "uniform:20", "gtp").hearing(gtp).run();
            ended.in_words(number).succeeds();
            assert_eq!(ended.out.matches("\n\n").count(), 15, "{number}: {}", ended.out);
        });
        tally.check(|| {
            let ended = engine("tic-tac-toe", "uniform:20", "ugi").hearing(ugi).run();
            ended.in_words(number).succeeds();
            assert_eq!(ended.out.matches("bestmove ").count(), 10, "{number}: {}", ended.out);
        });
        tally.check(|| {
            let input = "start\nb2\na1\n";
            let program = engine("tic-tac-toe", "uniform:20", "codecup");
            let time = [&program.arguments[..], &["--time".into(), number.to_string()]].concat();
            Petteia { arguments: time, ..program }.hearing(input).run().in_words(number);
        });
    }
    tally.report("numbers in protocols");
}

/// Many searches that are stopped at once, and many questions whose answers are not read for a while.
#[test]
fn floods_are_answered() {
    let many = times(300, 2_000);
    let ended = engine("tic-tac-toe", "uniform:20", "ugi").hearing("go infinite\nstop\n".repeat(many)).run();
    assert_eq!(ended.succeeds().out.matches("bestmove ").count(), many);
    let questions = times(3_000, 17_000);
    let mut child = engine("tic-tac-toe", "uniform:20", "ugi").command().spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || to.write_all("isready\n".repeat(questions).as_bytes()));
    let mut out = String::new();
    // the writer may have to wait for us, but we never wait for it
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    writer.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success() && out.matches("readyok").count() == questions);
    // a position of megabytes, sent during a search
    let moves = " b2".repeat(300_000);
    let talk = format!("go infinite\nposition startpos moves{moves}\nstop\nisready\n");
    let ended = engine("tic-tac-toe", "uniform:20", "ugi").hearing(talk).run();
    assert_eq!(ended.succeeds().out.matches("bestmove ").count(), 1);
    assert!(ended.out.contains("readyok") && ended.out.len() < 100_000);
}

/// A bot survives faulty input as well.
#[test]
fn a_bot_hears_anything() {
    let folder = Folder::new();
    let (run, file) = (RUN.path.display().to_string(), folder.at("bot"));
    Petteia::new(&["export", &run, "--format", "bot", "--out", &file]).run().succeeds();
    let mut chance = random(303);
    for (protocol, valid) in [(None, UGI), (Some("--gtp"), GTP), (Some("--codecup"), CODECUP)] {
        let mut talk = Conversation::new(valid, times(200, 5_000), &["quit", "end"], &mut chance);
        talk.lines.retain(|line| !String::from_utf8_lossy(line).contains("time_"));
        let searches = talk.heard(|line| first_word(line.as_bytes()) == "go");
        let ended = Petteia::of(&file, protocol.as_slice()).hearing(talk.input("")).run();
        ended.in_words("a bot").succeeds();
        if protocol.is_none() {
            assert_eq!(ended.out.lines().filter(|line| line.starts_with("bestmove ")).count(), searches);
        }
    }
}
