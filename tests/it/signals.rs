//! Signals that end programs: finished work is saved, one line says how to resume it, and no program that an arena
//! started is left, however the arena ends.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::command::{PETTEIA, err, fails, out, petteia, run, start, succeeds};

const ENDING: [&str; 3] = ["INT", "TERM", "HUP"];

/// Checks again and again, for minutes, until `what` is true.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
}

/// Waits for the child to exit, which must happen before its input ends.
fn end_of(mut child: Child) -> Output {
    let input = child.stdin.take();
    until("the program ends", || child.try_wait().unwrap().is_some());
    drop(input);
    child.wait_with_output().unwrap()
}

/// A shell that runs `before` and then becomes the program.
fn under(before: &str, arguments: &[&str]) -> Child {
    let words: Vec<&str> = [PETTEIA].iter().chain(arguments).copied().collect();
    start("sh", &["-c", &format!("{before} {}", shlex::try_join(words).unwrap())])
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_string).collect()
    }
}

fn training(run: &str) -> Vec<&str> {
    let sets = ["selfplay.games=64", "train.samples_per_position=20", "arena.games=0", "arena.final_games=0"];
    let sets = sets.into_iter().flat_map(|set| ["--set", set]);
    ["train", "configs/smoke.toml", "--run", run].into_iter().chain(sets).collect()
}

/// All files that a resumed run must reproduce.
fn products(run: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders = vec![run.to_path_buf()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.to_string_lossy().into_owned();
            assert!(!name.contains(".tmp-"), "{name} is left");
            match path.is_dir() {
                true => folders.push(path),
                false if name.contains("shard-") || name.ends_with("weights.safetensors") => {
                    files.push((path.strip_prefix(run).unwrap().to_path_buf(), fs::read(&path).unwrap()));
                }
                false => {}
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_run_ends_at_each_signal_and_is_resumed_to_the_same_bytes() {
    let folder = Folder::new();
    let (whole, cut) = (folder.text("whole"), folder.text("with space"));
    succeeds(&training(&whole), "");
    let marks = ["config.toml", "checkpoints/generation-0001", "checkpoints/generation-0002"];
    let mut command = shlex::try_join([PETTEIA].into_iter().chain(training(&cut))).unwrap();
    for (signal, mark) in ENDING.iter().zip(marks) {
        // the command that the previous run printed
        let child = start("sh", &["-c", &format!("exec {command}")]);
        until(mark, || Path::new(&cut).join(mark).exists());
        send(signal, &child);
        let output = end_of(child);
        assert_eq!(output.status.code(), Some(0), "{signal}: {}", err(&output));
        let said = out(&output);
        let (about, resumes) = said.trim_end().split_once("; this command resumes it: ").unwrap();
        assert_eq!(about, format!("interrupted; {cut} is saved"));
        assert_eq!(resumes, format!("{PETTEIA} train --run '{cut}'"), "the folder has its settings");
        command = resumes.to_string();
    }
    assert!(!Path::new(&cut).join("checkpoints/generation-0003").exists(), "a signal came too late");
    let output = run("sh", &["-c", &command], "");
    assert!(output.status.success(), "{}", err(&output));
    assert!(products(Path::new(&whole)) == products(Path::new(&cut)), "other bytes than the unbroken run");
}

#[test]
fn an_arena_ends_at_each_signal_and_is_resumed_to_the_same_bytes() {
    let folder = Folder::new();
    let (file, whole) = (folder.text("match.jsonl"), folder.text("whole.jsonl"));
    let arena = ["arena", "connect-four", "rollout:20", "rollout:10", "--games"];
    let endless = [&arena[..], &["1000000", "--save", &file]].concat();
    for (number, signal) in ENDING.into_iter().enumerate() {
        let child = start(PETTEIA, &endless);
        until("it plays", || thinks(&child));
        until("pairs are saved", || folder.lines("match.jsonl").len() > 3 * (number + 1));
        send(signal, &child);
        let output = end_of(child);
        assert_eq!(output.status.code(), Some(0), "{signal}: {}", err(&output));
        let words = shlex::try_join([PETTEIA].iter().chain(&endless).copied()).unwrap();
        let line =
            format!("interrupted; the finished pairs are in {file}; this command resumes the match: {words}");
        assert_eq!(out(&output).lines().last().unwrap(), line);
    }
    let games = (2 * (folder.lines("match.jsonl").len() + 5)).to_string();
    let resumed = succeeds(&[&arena[..], &[&games, "--json", "--save", &file]].concat(), "");
    let unbroken = succeeds(&[&arena[..], &[&games, "--json", "--save", &whole]].concat(), "");
    assert_eq!(out(&resumed), out(&unbroken));
    assert!(fs::read(&file).unwrap() == fs::read(&whole).unwrap(), "the files differ");
    // if the games are not saved, or a program would read the output, the exit code reports the interruption
    for more in [&[][..], &["--save", &file, "--json"]] {
        for signal in ENDING {
            let child = start(PETTEIA, &[&arena[..], &["1000000"], more].concat());
            until("it plays", || thinks(&child));
            send(signal, &child);
            let output = end_of(child);
            assert_eq!(output.status.code(), Some(1), "{signal}: {}", err(&output));
            assert!(err(&output).contains("interrupted"), "{}", err(&output));
        }
    }
}

/// Whether a program has begun to compute, which takes more processor time than anything else that it does.
fn thinks(child: &Child) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let of_user = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11));
    // in hundredths of a second
    of_user.is_some_and(|ticks| ticks.parse::<u64>().unwrap() >= 50)
}

/// An engine that has received these lines, after the last line of its output that begins with `sign`.
fn engine(arguments: &[&str], lines: &str, sign: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let all = [&["engine", "connect-four", "--agent", "rollout:1000000"], arguments].concat();
    let mut child = start(PETTEIA, &all);
    child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with(sign) {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "it ended before `{sign}`");
    }
    (child, output)
}

#[test]
fn an_engine_answers_and_ends() {
    for signal in ENDING {
        for (arguments, lines, sign, answer) in [
            (&[][..], "position startpos\ngo infinite\n", "info depth", Some("bestmove ")),
            (&[], "position startpos\ngo movetime 100000000\n", "info depth", Some("bestmove ")),
            (&[], "ugi\n", "ugiok", None),
            (&["--protocol", "gtp"], "name\ngenmove red\n", "= Petteia", Some("= ")),
        ] {
            let ending = || {
                let (child, output) = engine(arguments, lines, sign);
                send(signal, &child);
                let rest: Vec<String> =
                    output.lines().map(Result::unwrap).filter(|line| !line.is_empty()).collect();
                let ended = end_of(child);
                assert_eq!(ended.status.code(), Some(0), "{signal}, {lines}: {}", err(&ended));
                rest
            };
            // GTP does not say that a search has begun: the signal may come before it
            let tries = if sign.starts_with('=') { 21 } else { 1 };
            let rest = (0..tries).map(|_| ending()).find(|rest| !rest.is_empty()).unwrap_or_default();
            match answer {
                Some(answer) => assert!(rest.last().unwrap().starts_with(answer), "{signal}: {rest:?}"),
                None => assert_eq!(rest, [""; 0]),
            }
        }
    }
}

#[test]
fn what_was_ignored_stays_ignored() {
    let folder = Folder::new();
    for (before, ignored) in
        [("exec nohup", "HUP"), ("trap '' INT; exec", "INT"), ("trap '' TERM; exec", "TERM")]
    {
        let run = folder.text(ignored);
        let child = under(before, &training(&run));
        until("it begins", || Path::new(&run).join("config.toml").exists());
        send(ignored, &child);
        until("it trains on", || Path::new(&run).join("checkpoints/generation-0001").exists());
        let other = ENDING.into_iter().find(|signal| *signal != ignored).unwrap();
        send(other, &child);
        let output = end_of(child);
        assert_eq!(output.status.code(), Some(0), "{ignored}: {}", err(&output));
        assert!(out(&output).starts_with("interrupted; "), "{ignored}: {}", out(&output));
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    // sixteen positions, each of which takes seconds before it is given up as unsolved
    let folder = Folder::new();
    let begin = |name: &str| {
        let (run, nodes) = (folder.text(name), "selfplay.solve_nodes=10000000");
        let words = ["train", "configs/smoke.toml", "--run", &run, "--set", "game.id=connect-four"];
        let child =
            start(PETTEIA, &[&words[..], &["--set", "search.solve_nodes=10000000", "--set", nodes]].concat());
        until("it thinks", || thinks(&child));
        child
    };
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut child = begin(signal);
        until("it ends", || {
            send(signal, &child);
            sleep(Duration::from_millis(50));
            child.try_wait().unwrap().is_some()
        });
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
    // a terminal that is closed sends several signals
    let mut child = begin("HUP");
    for _ in 0..20 {
        send("HUP", &child);
        sleep(Duration::from_millis(10));
        assert!(child.try_wait().unwrap().is_none(), "a second SIGHUP must not end it at once");
    }
    send("TERM", &child);
    assert_eq!(end_of(child).status.code(), Some(143));
}

/// `ulimit -f`: the signal for a file that grows too large is caught, and the write fails with an error message.
#[test]
fn files_that_may_not_grow_are_an_error_with_a_name() {
    let folder = Folder::new();
    let (whole, cut) = (folder.text("whole"), folder.text("cut"));
    succeeds(&training(&whole), "");
    let output = end_of(under("ulimit -f 6; exec", &training(&cut)));
    assert_eq!(output.status.code(), Some(1), "{:?} {}", output.status, err(&output));
    assert!(err(&output).contains(&format!("error: {cut}")), "{}", err(&output));
    assert!(err(&output).contains("File too large"), "{}", err(&output));
    succeeds(&training(&cut), "");
    assert!(products(Path::new(&whole)) == products(Path::new(&cut)), "other bytes than the unbroken run");

    let (file, other) = (folder.text("match.jsonl"), folder.text("other.jsonl"));
    let arena = |file| ["arena", "connect-four", "rollout:9", "random", "--games", "40", "--save", file];
    let output = end_of(under("ulimit -f 4; exec", &arena(&file)));
    assert_eq!(output.status.code(), Some(1), "{:?} {}", output.status, err(&output));
    assert!(err(&output).contains(&format!("error: {file}: File too large")), "{}", err(&output));
    assert_eq!(out(&succeeds(&arena(&file), "")), out(&succeeds(&arena(&other), "")));
    assert!(fs::read(&file).unwrap() == fs::read(&other).unwrap(), "the files differ");
}

/// A match can be saved only in a file that can be read again.
#[test]
fn devices_and_pipes_keep_no_match() {
    let folder = Folder::new();
    let pipe = folder.text("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in ["/dev/full", "/dev/null", "/dev/zero", &pipe, "src"] {
        let arena = ["arena", "tic-tac-toe", "random", "random", "--games", "2", "--save", path];
        fails(&arena, 2, &[&format!("{path} is not a regular file"), "another file with --save FILE"]);
    }
}

/// An arena against a program whose processes write their ids to `pids`, and a line to `asked` when they are asked
/// for an action.
struct Match {
    folder: Folder,
    script: String,
}

/// The shell commands of a program that is asked for an action.
const EVIL: [(&str, &str); 5] = [
    ("hangs", "sleep 1000"),
    ("is deaf to everything", "trap '' HUP INT TERM; while :; do sleep 1; done"),
    ("stops its whole group", "kill -s STOP 0"),
    ("forks", "for i in 1 2 3 4 5 6 7 8 9; do sh -c 'echo $$ >> pids; sleep 1000' & done; wait"),
    ("leaves children", "(trap '' HUP INT TERM; exec sleep 1000) & echo $! >> pids; sleep 1000"),
];

impl Match {
    fn new(go: &str) -> Match {
        let folder = Folder::new();
        let text = format!(
            "cd '{}'\necho $$ >> pids\nwhile read -r word rest; do case \"$word\" in\nugi) echo ugiok ;;\n\
             isready) echo readyok ;;\nuginewgame) echo game >> games ;;\ngo) echo go >> asked; {go}\n;;\nquit) exit \
             ;;\n\
             esac; done\n",
            folder.0.path().display()
        );
        fs::write(folder.path("engine"), text).unwrap();
        let script = folder.text("engine");
        Match { folder, script }
    }

    /// The arguments of an arena whose program waits for its answer behind two shells.
    fn arguments(&self, opponent: &str) -> Vec<String> {
        let engine = format!("ugi:sh -c 'sh {}; true'", self.script);
        let save = self.folder.text("match.jsonl");
        let words = ["arena", "connect-four", &engine, opponent, "--opening-plies", "0", "--save", &save];
        let patience = ["--engine-timeout", "86400", "--go", "movetime 10", "--games", "4"];
        words.into_iter().chain(patience).map(str::to_string).collect()
    }

    /// Starts a match, and waits until the program has been asked.
    fn begin(&self, opponent: &str, threads: &str) -> Child {
        let words = self.arguments(opponent);
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["--threads", threads]).collect();
        let child = start(PETTEIA, &words);
        until("it is asked", || !self.folder.lines("asked").is_empty());
        child
    }

    /// The process groups of everything that runs for the match.
    fn groups(&self) -> BTreeSet<String> {
        let of = |pid: String| about(&pid).map(|(_, group)| group);
        let groups: BTreeSet<String> = self.folder.lines("pids").into_iter().filter_map(of).collect();
        assert!(!groups.is_empty(), "its processes run");
        groups
    }

    /// Waits until no process that the match started and no process of these groups is alive.
    fn expect_none_alive(&self, groups: &BTreeSet<String>, about_it: &str) {
        until(&format!("the programs are gone after {about_it}"), || {
            let pids = self.folder.lines("pids");
            fs::read_dir("/proc").unwrap().flatten().all(|entry| {
                let pid = entry.file_name().to_string_lossy().into_owned();
                match about(&pid) {
                    Some((state, group)) => state == "Z" || !(groups.contains(&group) || pids.contains(&pid)),
                    None => true,
                }
            })
        });
    }
}

/// The state and the group of a process, if it exists.
fn about(pid: &str) -> Option<(String, String)> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).ok()?;
    let mut words = stat.rsplit(')').next()?.split_whitespace();
    Some((words.next()?.to_string(), words.nth(1)?.to_string()))
}

#[test]
fn no_program_outlives_its_arena() {
    for (name, go) in EVIL {
        for signal in ["INT", "TERM", "HUP", "KILL"] {
            let played = Match::new(go);
            let child = played.begin("random", "2");
            let groups = played.groups();
            send(signal, &child);
            let output = end_of(child);
            let about = format!("one that {name} and SIG{signal}");
            match signal {
                "KILL" => assert_eq!(output.status.signal(), Some(9), "{about}"),
                _ => assert_eq!(output.status.code(), Some(0), "{about}: {}", err(&output)),
            }
            played.expect_none_alive(&groups, &about);
        }
    }
}

/// A second signal while the other agent thinks, and errors before the first game.
#[test]
fn no_program_outlives_an_arena_that_ends_otherwise() {
    let played = Match::new("echo bestmove 4; trap '' HUP INT TERM; sleep 1000");
    let mut child = played.begin("rollout:1000000", "1");
    let groups = played.groups();
    until("it ends", || {
        send("TERM", &child);
        sleep(Duration::from_millis(50));
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(143));
    played.expect_none_alive(&groups, "two signals");

    for opponent in ["ugi:/no/such/program", "random"] {
        let played = Match::new("exit");
        // a match cannot be saved there
        fs::create_dir(played.folder.path("match.jsonl")).unwrap();
        let words = played.arguments(opponent);
        let output = petteia(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert_eq!(played.folder.lines("pids").len(), 1, "it was started");
        played.expect_none_alive(&BTreeSet::new(), opponent);
    }
}

/// A program hangs in the second pair of games, until it is repaired.
#[test]
fn the_pairs_before_a_game_that_hangs_are_kept() {
    let go = "if [ $(wc -l < games) -gt 2 ] && [ ! -e mended ]; then sleep 1000; else echo bestmove none; fi";
    let (played, unbroken) = (Match::new(go), Match::new(go));
    fs::write(unbroken.folder.path("mended"), "").unwrap();
    let child = played.begin("random", "1");
    until("it hangs", || played.folder.lines("asked").len() > 2);
    let groups = played.groups();
    send("TERM", &child);
    let output = end_of(child);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains(" in 2 games "), "{}", out(&output));
    played.expect_none_alive(&groups, "a game that hangs");
    assert_eq!(played.folder.lines("match.jsonl").len(), 2, "a header and a pair");
    fs::write(played.folder.path("mended"), "").unwrap();
    for match_ in [&played, &unbroken] {
        let words = match_.arguments("random");
        succeeds(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
    }
    let pairs = |of: &Match| of.folder.lines("match.jsonl").split_off(1);
    assert_eq!(pairs(&played), pairs(&unbroken));
    assert_eq!(pairs(&played).len(), 2);
}
