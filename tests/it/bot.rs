//! Exported bots, driven as a match runner would: one file, no arguments, lines in and lines out.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use petteia::any::Opened;
use petteia::checkpoint::{self, TrainingData};
use petteia::config::{Config, game_settings};
use petteia::game::{Game, Player, Variants};
use petteia::games::Games;
use petteia::games::caissa::Caissa;
use petteia::net::network::Network;
use petteia::random::{Purpose, choose, stream};
use petteia::registry::Registry;
use petteia::session::Session;
use petteia::storage::attachment;
use petteia::train::Trainer;

use crate::support::command;

/// Makes a bot for the game with a small untrained network.
struct Make<'a> {
    id: &'a str,
    folder: &'a Path,
    /// More flags of the export.
    flags: &'a [&'a str],
}

impl Make<'_> {
    fn on(self, rules: Opened) -> PathBuf {
        let game = &rules.game;
        let mut config = Config::new(self.id);
        config.game.options = rules.identity.options.clone();
        (config.net.filters, config.net.blocks, config.net.value_hidden) = (8, 1, 8);
        let network = Network::new(&config.net, game.shape(), 1);
        let trainer = Trainer::new(&config.train, &network);
        let run = self.folder.join(format!("run-{}", self.id));
        fs::create_dir(&run).unwrap();
        checkpoint::save(&run, &config, &rules.identity, 1, &trainer, TrainingData::default()).unwrap();
        let bot = self.folder.join(format!("{} bot", self.id));
        let exported = Command::new(env!("CARGO_BIN_EXE_petteia"))
            .args(["export".as_ref(), run.as_os_str()])
            .args(["--format".as_ref(), "bot".as_ref(), "--out".as_ref(), bot.as_os_str()])
            .args(self.flags)
            .output()
            .unwrap();
        assert!(exported.status.success(), "{}", command::err(&exported));
        // the export says how to use it, in words that a shell accepts
        let said = String::from_utf8_lossy(&exported.stdout).into_owned();
        let quoted = format!("'{}'", bot.display());
        assert!(said.contains(&format!("run it:           {quoted}")), "{said}");
        assert!(said.contains(&format!(" play {quoted}\n")), "{said}");
        bot
    }
}

fn make(id: &str, folder: &Path) -> PathBuf {
    make_with(id, folder, &[])
}

fn make_with(id: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    Games::open(id, &Default::default()).map(|rules| Make { id, folder, flags }.on(rules)).unwrap()
}

/// A running bot.
struct Bot {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bot {
    fn start(file: &Path, arguments: &[&str]) -> Bot {
        let mut child = command::start(file, arguments);
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Bot { child, input, output: BufReader::new(output) }
    }

    fn tell(&mut self, line: impl AsRef<[u8]>) {
        self.input.write_all(line.as_ref()).unwrap();
        self.input.write_all(b"\n").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the bot has ended");
        line.trim_end_matches('\n').to_string()
    }

    /// Reads the lines up to one that begins with `first`.
    fn until(&mut self, first: &str) -> Vec<String> {
        let mut lines = vec![self.line()];
        while !lines.last().unwrap().starts_with(first) {
            lines.push(self.line());
        }
        lines
    }

    fn ask(&mut self, question: &str, first: &str) -> String {
        self.tell(question);
        let mut lines = self.until(first);
        let last = lines.pop().unwrap();
        assert!(lines.iter().all(|line| line.starts_with("info ")), "{question}: {lines:?}");
        last[first.len()..].trim().to_string()
    }

    /// Closes the input, and returns the remaining output; the bot must exit successfully, with nothing on standard
    /// error.
    fn end(self) -> Vec<String> {
        let (answers, complaint) = self.end_with_complaint();
        assert_eq!(complaint, "");
        answers
    }

    /// Closes the input, and returns the remaining lines of the output, and standard error.
    fn end_with_complaint(mut self) -> (Vec<String>, String) {
        drop(self.input);
        let answers = self.output.lines().map(|line| line.unwrap()).collect();
        let complaint = std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap();
        assert!(self.child.wait().unwrap().success());
        (answers, complaint)
    }
}

/// Plays a game checked by the rules: the bot plays both colors, and gets the position alternately as text and as
/// actions.
struct Match {
    file: PathBuf,
}

impl Match {
    fn on(self, rules: Opened) {
        let game = &rules.game;
        let mut bot = Bot::start(&self.file, &[]);
        bot.tell("ugi");
        let hello = bot.until("ugiok");
        assert!(hello[0].starts_with("id name Petteia ") && hello[1].starts_with("id author "), "{hello:?}");
        assert_eq!(bot.ask("isready", "readyok"), "");
        bot.tell("uginewgame");
        assert_eq!(bot.ask("isready", "readyok"), "");
        let (mut state, mut start, mut moves) = (game.initial(), "startpos".to_string(), Vec::new());
        let mut random = stream(5, Purpose::Agent, &[]);
        while game.outcome(&state).is_none() {
            let list = if moves.is_empty() { String::new() } else { format!(" moves {}", moves.join(" ")) };
            bot.tell(format!("position {start}{list}"));
            let first = game.to_move(&state) == Player::First;
            assert_eq!(bot.ask("query p1turn", "response"), first.to_string());
            assert_eq!(bot.ask("query gameover", "response"), "false");
            assert_eq!(bot.ask("query result", "response"), "none");
            let go = [
                "go nodes 4",
                "go depth 1",
                "go movetime 1",
                "go p1time 20 p2time 20 p1inc 1 p2inc 1",
                "go wtime 1 btime 1",
                "go infinite\nstop",
            ];
            let best = bot.ask(choose(&mut random, &go), "bestmove");
            let action = game.parse_action(&state, &best).unwrap_or_else(|| panic!("{best} is no action"));
            game.try_play(&mut state, action).unwrap();
            moves.push(best);
            // a position given as text has lost its history, which matters if a rule depends on the history
            if moves.len() == 7 {
                start = format!("fen {}", game.state_text(&state));
                state = game.parse_state(&game.state_text(&state)).unwrap();
                moves.clear();
            }
        }
        bot.tell(format!("position {start} moves {}", moves.join(" ")));
        assert_eq!(bot.ask("query gameover", "response"), "true");
        let result = match game.outcome(&state).unwrap().id() {
            "first" => "p1win",
            "second" => "p2win",
            other => other,
        };
        assert_eq!(bot.ask("query result", "response"), result);
        assert_eq!(bot.ask("go movetime 10", "bestmove"), "none");
        bot.tell("quit");
        assert!(bot.end().is_empty());
    }
}

#[test]
fn a_bot_of_every_id_plays_for_a_match_runner() {
    let folder = tempfile::tempdir().unwrap();
    for id in Games::ids() {
        let file = make(&id, folder.path());
        Games::open(&id, &Default::default()).map(|rules| Match { file: file.clone() }.on(rules)).unwrap();
        // remove the bot, which has 20 MB
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_bot_survives_what_it_hears() {
    let folder = tempfile::tempdir().unwrap();
    let file = make("connect-four", folder.path());
    let mut bot = Bot::start(&file, &[]);
    bot.tell("ugi\r");
    bot.until("ugiok");
    let long = vec![b'x'; 1 << 20];
    let longer = vec![b'x'; (1 << 20) + 1];
    for bad in [b"\0\0".as_slice(), b"\xff\xfe go", &long, &longer, b"go\0", b"position startpos moves \xff"]
    {
        bot.tell(bad);
        assert!(bot.line().starts_with("info string "));
        assert_eq!(bot.ask("isready\r", "readyok"), "");
    }
    // the refused line may have been a position, so the bot has no position now
    bot.tell("go nodes 5");
    assert!(bot.line().starts_with("info string there is no position"));
    assert_eq!(bot.line(), "bestmove none");
    bot.tell("position startpos");
    // commands during a search
    bot.tell("go infinite");
    for line in [b"isready".as_slice(), b"query p1turn", b"nonsense", &longer, b"isready", b"stop"] {
        bot.tell(line);
    }
    let said: Vec<String> =
        bot.until("bestmove").into_iter().filter(|line| !line.starts_with("info depth")).collect();
    assert_eq!(said[0], "readyok");
    assert_eq!(said[1], "response true");
    assert!(said[2].starts_with("info string unknown") && said[3].starts_with("info string a line of over"));
    assert_eq!((said[4].as_str(), said.len()), ("readyok", 6));
    // an endless search ends when a command requires it to
    bot.tell("go infinite\nposition startpos moves 1 1 1 1 1 1\ngo nodes 5\nposition startpos moves 1 1");
    bot.until("bestmove");
    let best = bot.until("bestmove").pop().unwrap();
    assert_ne!(best, "bestmove 1", "the column is full");
    // many lines at once are all handled, in order
    bot.tell("go nodes 2000");
    for column in 1..=7 {
        for _ in 0..100 {
            bot.tell(format!("position startpos moves {column}"));
        }
    }
    bot.tell("query moves\nquery p1turn\ngo nodes 5");
    bot.until("bestmove");
    assert_eq!(bot.line(), "response 1 2 3 4 5 6 7");
    assert_eq!(bot.line(), "response false");
    bot.until("bestmove");
    let pages = "go nodes 10\n".repeat(400);
    bot.tell(pages.trim_end());
    for _ in 0..400 {
        bot.until("bestmove");
    }
    // a nonsense line does not produce many lines of answers
    bot.tell(format!("go nodes 1 {}", "z ".repeat(1_000)));
    assert!(bot.until("bestmove").len() < 10);
    bot.tell(format!("position fen {}", "y".repeat(10_000)));
    assert!(bot.line().len() < 500);
    // pondering ends when the bot is told to stop
    bot.tell("setoption name Ponder value true\nposition startpos\ngo nodes 50");
    bot.until("bestmove");
    bot.tell("stop\nisready");
    bot.until("readyok");
    bot.tell("go nodes 50");
    bot.until("bestmove");
    bot.tell("setoption name Ponder value false\nposition startpos moves 4\nisready");
    bot.until("readyok");
    // if the input ends during a search, the search is finished
    bot.tell("go nodes 2000");
    assert!(bot.end().last().unwrap().starts_with("bestmove "));
    let mut endless = Bot::start(&file, &[]);
    endless.tell("go infinite");
    assert!(endless.end().last().unwrap().starts_with("bestmove "));
}

/// Behaves like a GUI: it shows lines of an analysis as they arrive, and ends the analysis with the next command.
#[test]
fn an_analysis_goes_on_until_the_next_line() {
    let petteia = Path::new(env!("CARGO_BIN_EXE_petteia"));
    let mut gtp = Bot::start(petteia, &["engine", "hex", "--agent", "rollout:100", "--protocol", "gtp"]);
    let words = "info move ";
    for analyze in ["lz-analyze", "kata-analyze"] {
        gtp.tell(format!("7 {analyze} b interval 1 maxmoves 3"));
        assert_eq!(gtp.line(), "=7");
        let visits = |line: String| {
            assert!(line.starts_with(words) && line.matches(words).count() <= 3, "{line}");
            line.split_whitespace().nth(4).unwrap().parse::<u32>().unwrap()
        };
        let (first, second) = (visits(gtp.line()), visits(gtp.line()));
        assert!((1..=second).contains(&first), "{first}, {second}");
        gtp.tell("8 name");
        // more lines may arrive before the analysis ends
        let rest = gtp.until("=8");
        assert!(rest[..rest.len() - 2].iter().all(|line| line.starts_with(words)), "{rest:?}");
        let [empty, answer] = [2, 1].map(|back| &rest[rest.len() - back]);
        assert!(empty.is_empty() && answer.starts_with("=8 Petteia"), "{rest:?}");
        assert_eq!(gtp.line(), "");
    }
    gtp.tell("genmove_analyze b interval 1\nquit");
    let said = gtp.end();
    assert!(said[0] == "=" && said.iter().any(|line| line.starts_with("play ")), "{said:?}");
}

#[test]
fn a_bot_speaks_to_juries_and_in_gtp() {
    let folder = tempfile::tempdir().unwrap();
    let file = make("caissa", folder.path());
    let mut white = Bot::start(&file, &["--codecup", "--simulations", "4"]);
    let mut black = Bot::start(&file, &["--codecup", "--time", "1"]);
    let mut gtp = Bot::start(&file, &["--gtp", "--simulations", "1"]);
    // with a clock, the actions differ from run to run, and a game may be short
    let mut session = Session::new(Caissa::new(&Default::default()).unwrap());
    white.tell("start");
    for ply in 0..9 {
        let (actor, other, color) = match ply % 2 {
            0 => (&mut white, &mut black, "white"),
            _ => (&mut black, &mut white, "black"),
        };
        let action = actor.line();
        session.play_text(&action).unwrap();
        other.tell(&action);
        gtp.tell(format!("play {color} {action}"));
        assert_eq!((gtp.line(), gtp.line()), ("=".into(), String::new()));
        if session.is_over() {
            break;
        }
    }
    if !session.is_over() {
        black.line();
    }
    white.tell("end");
    assert!(white.end().is_empty());
    black.tell("end");
    assert!(black.end().is_empty());
    gtp.tell("1 genmove black\n2 quit");
    let said = gtp.end();
    assert!(said[0].starts_with("=1 ") && said[2] == "=2", "{said:?}");
}

/// Match runners do not read standard error, but people do.
#[test]
fn a_jurys_nonsense_is_complained_about_and_nothing_is_said_after_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = make("caissa", folder.path());
    let run = |input: &str| {
        let mut bot = Bot::start(&file, &["--codecup", "--time", "60"]);
        bot.tell(input);
        bot.end_with_complaint()
    };
    let (said, complaint) = run("nonsense\nend");
    assert!(
        said.is_empty() && complaint.contains("`nonsense` is not a legal action"),
        "{said:?} {complaint}"
    );
    let (said, _) = run("start\nend");
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn an_engine_of_another_game_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = make("tic-tac-toe", folder.path());
    let output = Command::new(env!("CARGO_BIN_EXE_petteia"))
        .args(["engine".as_ref(), "caissa".as_ref(), "--agent".as_ref(), file.as_os_str()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(command::err(&output).contains("has game tic-tac-toe instead of caissa"));
}

#[test]
fn the_programs_own_commands_work_in_a_bot() {
    let folder = tempfile::tempdir().unwrap();
    let file = make("tic-tac-toe", folder.path());
    let run = |arguments: &[&str], input: &str| {
        let output = command::run(&file, arguments, input);
        assert!(output.status.success(), "{arguments:?}: {}", command::err(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let about = run(&["--about"], "");
    for part in ["tic-tac-toe", "SHA-256 ", "encoding:    version 1", "1 generation, 0 steps", "filters = 8"]
    {
        assert!(about.contains(part), "{part}: {about}");
    }
    assert!(run(&["play", "--side", "second"], "quit\n").contains("X plays"));
    assert!(run(&["analyze"], ".../.../... X\n").contains("\"action\":"));
    let against = run(&["arena", "random", "--games", "2", "--json"], "");
    assert!(against.contains("\"games\":2"), "{against}");
    let text = run(&["arena", "random", "--games", "2"], "");
    assert!(text.contains("bot against random: "), "the bot's own results are counted: {text}");
    let both = run(&["arena", "random", "rollout:5", "--games", "2"], "");
    assert!(both.contains("random against rollout:5: "), "{both}");
    // the bot's file is an agent like any file that the program writes, and `inspect` accepts it
    let file = file.display().to_string();
    let inspect = Command::new(env!("CARGO_BIN_EXE_petteia")).args(["inspect", &file]).output().unwrap();
    let said = String::from_utf8_lossy(&inspect.stdout);
    assert!(inspect.status.success() && said.contains("bot") && said.contains("model SHA-256"), "{said}");
    let arena = Command::new(env!("CARGO_BIN_EXE_petteia"))
        .args(["arena", "tic-tac-toe", &file, &format!("{file}:5"), "--games", "2"])
        .output()
        .unwrap();
    assert!(arena.status.success());
}

#[test]
fn options_of_the_game_travel_with_a_bot() {
    let folder = tempfile::tempdir().unwrap();
    let settings = game_settings(&["game.queen_exchange=true".into()]).unwrap();
    let make = Make { id: "caissa", folder: folder.path(), flags: &[] };
    let file = Games::open("caissa", &settings).map(|rules| make.on(rules)).unwrap();
    let about = Command::new(&file).arg("--about").output().unwrap();
    assert!(String::from_utf8_lossy(&about.stdout).contains("options:     queen_exchange = true"));
    let mut bot = Bot::start(&file, &[]);
    assert!(!bot.ask("go nodes 2", "bestmove").is_empty());
    bot.end();
}

#[test]
fn a_damaged_bot_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let file = make("tic-tac-toe", folder.path());
    let whole = fs::read(&file).unwrap();
    let model = attachment::find(&file).unwrap().unwrap().read(u64::MAX).unwrap();
    let begin = whole.len() - model.len() - 56;
    assert_eq!(whole[begin..begin + model.len()], model);
    let damaged = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        bytes
    };
    for (what, bytes) in [
        ("changed", damaged(begin + model.len() / 2)),
        ("its length", damaged(whole.len() - 50)),
        ("its checksum", damaged(whole.len() - 1)),
        ("cut", whole[..whole.len() - 100].to_vec()),
        ("cut off", whole[..begin].to_vec()),
        ("longer", [&whole[..], b"\n"].concat()),
    ] {
        let copy = folder.path().join("damaged");
        // a file that was executed cannot be overwritten, but it can be removed
        let _ = fs::remove_file(&copy);
        fs::copy(&file, &copy).unwrap();
        fs::write(&copy, &bytes).unwrap();
        let output = loop {
            match Command::new(&copy).arg("--about").output() {
                // a child process that another test is just starting may also have the copy open
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                output => break output.unwrap(),
            }
        };
        let error = command::err(&output);
        assert_eq!(output.status.code(), Some(1), "{what}: {error}");
        assert!(error.contains("checksum of the model") && error.contains("not match"), "{what}: {error}");
        assert!(output.stdout.is_empty());
    }
}

fn said(output: &std::process::Output) -> String {
    command::out(output) + &command::err(output)
}

/// A contest starts programs without arguments.
#[test]
fn what_a_bot_does_without_arguments_is_set_by_its_export() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--codecup", "--time", "30", "--hash", "5", "--threads", "2", "--simulations", "7"];
    let file = make_with("caissa", folder.path(), &flags);
    let about = said(&command::run(&file, &["--about"], ""));
    let speaks = "speaks:      the CodeCup protocol, 30 s for a game, 5 MiB for the tree, 2 threads";
    assert!(about.contains(speaks), "{about}");
    let help = said(&command::run(&file, &["--help"], "")).replace('\n', " ");
    assert!(help.contains("Without arguments, it speaks the CodeCup protocol."), "{help}");
    let mut bot = Bot::start(&file, &[]);
    bot.tell("Start");
    assert_eq!(bot.line().len(), 5);
    bot.tell("Quit");
    assert!(bot.end().is_empty());
    // flags override the defaults, and a time for another protocol is ignored
    let mut gtp = Bot::start(&file, &["--gtp"]);
    gtp.tell("genmove white\nquit");
    assert!(gtp.end()[0].starts_with("= "));
    let mut ugi = Bot::start(&file, &["--protocol", "ugi", "--hash", "6"]);
    ugi.tell("ugi");
    let hello = ugi.until("ugiok");
    for option in ["Hash type spin default 6 ", "Threads type spin default 2 "] {
        assert!(hello.iter().any(|line| line.starts_with(&format!("option name {option}"))), "{hello:?}");
    }
    ugi.tell("go");
    let last = ugi.until("bestmove");
    assert!(last[last.len() - 2].contains(" nodes 7 "), "{last:?}");
    ugi.end();
    // the network is the same as without these defaults
    let plain = make_with("tic-tac-toe", folder.path(), &[]);
    let about = said(&command::run(&plain, &["--about"], ""));
    assert!(about.contains("speaks:      UGI, 100 simulations, 256 MiB for the tree, 1 thread"), "{about}");
}

#[test]
fn flags_of_engines_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bot = make("tic-tac-toe", folder.path());
    let bot = bot.to_str().unwrap();
    let out = folder.path().join("out").display().to_string();
    let petteia = command::PETTEIA;
    let engine = ["engine", "tic-tac-toe", "--agent", "rollout:5"];
    let export = ["export", bot, "--out", &out, "--format", "bot"];
    for (program, start) in [(bot, &[][..]), (petteia, &engine), (petteia, &export)] {
        for (flags, part) in [
            (&["--gtp", "--codecup"][..], "cannot be used with"),
            (&["--protocol", "ugi", "--gtp"], "cannot be used with"),
            (&["--time", "3"], "--time applies only to --protocol codecup"),
            (&["--time", "3", "--gtp"], "--time applies only to --protocol codecup"),
            (&["--time=-3", "--codecup"], "--time: "),
            (&["--hash", "0"], "invalid value '0' for '--hash <MIB>'"),
            (&["--hash", "32769"], "invalid value"),
            (&["--threads", "0"], "invalid value"),
            (&["--simulations", "0"], "invalid value"),
            (&["--protocol", "uci"], "invalid value"),
        ] {
            let output = command::run(program, &[start, flags].concat(), "");
            assert_eq!(output.status.code(), Some(2), "{flags:?}: {}", said(&output));
            assert!(said(&output).contains(part), "{flags:?}: {}", said(&output));
        }
    }
    let output = command::run(petteia, &["export", bot, "--out", &out, "--format", "onnx", "--gtp"], "");
    assert!(said(&output).contains("they apply only to --format bot"), "{}", said(&output));
    assert!(!folder.path().join("out").exists());
}

/// In the jails of juries there is only the program: `/proc` is hidden, as if it were not mounted.
#[cfg(target_os = "linux")]
#[test]
fn a_bot_runs_without_proc() {
    let folder = tempfile::tempdir().unwrap();
    let file = make("tic-tac-toe", folder.path());
    let name = file.file_name().unwrap().to_str().unwrap();
    let jailed = |how: &str| {
        let script = format!(
            "mount -t tmpfs none /proc && test ! -e /proc/self && cd '{}' && {how}",
            folder.path().display()
        );
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).env("PATH", path);
        unshare.stdin(Stdio::null()).output()
    };
    let possible = jailed("echo hidden");
    if !possible.is_ok_and(|output| output.stdout == b"hidden\n") {
        let what = "SKIPPED a_bot_runs_without_proc: /proc cannot be hidden here (unshare)\n";
        std::io::stderr().write_all(what.as_bytes()).unwrap();
        return;
    }
    for how in [
        format!("'./{name}'"),
        format!("'{}'", file.display()),
        format!("'{name}'"),
        format!("cd / && '{name}'"),
    ] {
        let output = jailed(&format!("printf 'go nodes 3\\nquit\\n' | {{ {how}; }}")).unwrap();
        let answer = said(&output);
        assert!(answer.lines().last().unwrap_or_default().starts_with("bestmove "), "{how}: {answer}");
    }
}

#[test]
fn a_bot_has_the_licenses_and_not_the_paths_of_its_builder() {
    let folder = tempfile::tempdir().unwrap();
    let file = make("tic-tac-toe", folder.path());
    let [of_bot, of_program] = [(file.to_str().unwrap(), "--licenses"), (command::PETTEIA, "licenses")]
        .map(|(program, argument)| command::run(program, &[argument], ""));
    assert!(of_bot.status.success(), "{}", said(&of_bot));
    assert_eq!(of_bot.stdout, of_program.stdout);
    let text = String::from_utf8(of_bot.stdout).unwrap();
    let lock: toml::Table = fs::read_to_string("Cargo.lock").unwrap().parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let locked = |name: &str| {
        let found = packages.iter().find(|package| package["name"].as_str() == Some(name));
        found.unwrap_or_else(|| panic!("{name} is not in Cargo.lock"))["version"].as_str().unwrap()
    };
    for name in ["burn", "clap", "serde", "zstd-sys", "rayon", "axum", "colored"] {
        assert!(
            text.contains(&format!("\n  {name} {}: ", locked(name))),
            "{name}: run scripts/release/licenses.py"
        );
    }
    for part in [
        "may be used under the MIT license or the Apache License 2.0",
        "Petteia contributors",
        "Rust's standard library",
        "Meta Platforms, Inc.",
        "the source form of which the Mozilla Public License 2.0 speaks",
        "https://crates.io/crates/NAME/VERSION",
    ] {
        assert!(text.contains(part), "{part}");
    }
    // the names of Cargo's folders remain, and the folders that contain them are gone
    let bytes = fs::read(&file).unwrap();
    let kept = b"/registry/src/";
    let places: Vec<usize> =
        bytes.windows(kept.len()).enumerate().filter(|(_, at)| at == kept).map(|(at, _)| at).collect();
    let personal = |at: &&usize| bytes[**at - 1] != b'~' && bytes[**at - 1].is_ascii_graphic();
    assert!(places.len() > 10);
    assert!(places.iter().filter(personal).count() <= 1, "only the name that the export itself searches for");
}
