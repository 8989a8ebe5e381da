//! The messages of a training run: at its start, for each generation, when it resumes, and at its end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use petteia::config::Config;
use petteia::error::Error;
use petteia::game::{GameOptions, Rules};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::run::{Event, Observer, Played, Summary, train};
use petteia::selfplay::Progress;

use crate::support::command::{err, fails, out, succeeds};

const SMOKE: &str = "configs/smoke.toml";

/// The number of columns without a terminal.
const WIDTH: usize = 80;

/// Records self-play, its results and training steps; stops a run after a number of games.
#[derive(Default)]
struct Listener {
    stop_after: Option<usize>,
    stopped: AtomicBool,
    progress: Mutex<Vec<Progress>>,
    played: Mutex<Vec<Played>>,
    steps: Mutex<Vec<(usize, usize)>>,
}

impl Observer for Listener {
    fn event(&self, event: Event) {
        match event {
            Event::Selfplay(progress) => {
                if self.stop_after.is_some_and(|games| progress.games >= games) {
                    self.stopped.store(true, Ordering::SeqCst);
                }
                self.progress.lock().unwrap().push(progress);
            }
            Event::Played(played) => self.played.lock().unwrap().push(played),
            Event::Step { done, steps } => self.steps.lock().unwrap().push((done, steps)),
            _ => {}
        }
    }

    fn interrupted(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

/// Trains the smoke run in this process.
fn smoke(folder: &Path, sets: &[&str], listener: &Listener) -> Result<Summary, Error> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(SMOKE)).unwrap();
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let config = Config::parse(SMOKE, &text, &sets).unwrap();
    train(&Rules::<TicTacToe>::new(&GameOptions::default()).unwrap().opened(), &config, folder, listener)
}

/// All files below a folder that are identical whenever a run is repeated.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            files.extend(
                self::files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)),
            );
        } else if name.ends_with(".zst") || name == "weights.safetensors" || name == "config.toml" {
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files
}

#[test]
fn a_run_says_what_it_does_in_lines_that_fit() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let path = run.display().to_string();
    let said = succeeds(&["train", SMOKE, "--run", &path], "");
    let (screen, summary) = (err(&said), out(&said));
    for part in [
        "tic-tac-toe: 3 generations into ",
        "network 8x1, ",
        "  generation 1: 32 games by random playouts, 16 simulations per action\n",
        "  generations 2 to 3: 32 games each by the network, 16 simulations per action\n",
        "  evaluation: 10 games against random after each generation, 20 at the end\n",
        "  about ",
        " of disk\n  Ctrl-C is safe: the same command resumes\n",
        "\npolicy loss: falls toward its floor",
        "\nvalue loss: may rise without harm",
        "\ngen  games positions  steps policy loss floor value loss        time    CPU time\n  1     32 ",
        "    against random: ",
    ] {
        assert!(screen.contains(part), "no `{part}` in:\n{screen}");
    }
    assert_eq!(screen.matches("policy loss floor").count(), 1, "one head for all rows:\n{screen}");
    assert_eq!(screen.matches("falls toward").count(), 1, "explained once:\n{screen}");
    // a path cannot be wrapped
    let long = |line: &&str| line.chars().count() > WIDTH && !line.contains(&path);
    assert_eq!(screen.lines().find(long), None);
    assert!(!screen.contains('\u{1b}') && !screen.contains('\r'), "{screen:?}");
    for part in ["self-play: 96 games, ", "; in the last generation X won ", ", O ", " draw"] {
        assert!(summary.contains(part), "no `{part}` in:\n{summary}");
    }
    let checkpoints = format!("checkpoints: {path}/checkpoints, generation-0001 to generation-0003");
    assert!(
        summary.contains(&checkpoints) && summary.contains(&format!("metrics: {path}/metrics.jsonl")),
        "{summary}"
    );
    assert!(run.join("checkpoints/generation-0001").is_dir());
}

#[test]
fn a_resumed_run_says_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let path = run.display().to_string();
    succeeds(&["train", SMOKE, "--run", &path], "");
    let complete = succeeds(&["train", SMOKE, "--run", &path], "");
    assert!(
        err(&complete).contains("already complete") && !err(&complete).contains("about"),
        "{}",
        err(&complete)
    );
    assert!(out(&complete).contains("self-play: 96 games, "), "{}", out(&complete));
    fs::remove_dir_all(run.join("checkpoints/generation-0003")).unwrap();
    let screen = err(&succeeds(&["train", SMOKE, "--run", &path], ""));
    assert!(screen.contains("tic-tac-toe: resumed after generation 2 of 3 in "), "{screen}");
    assert!(screen.contains(" more (") && screen.contains("\n  3     32 "), "{screen}");
    assert!(!screen.contains("generation 1: "), "{screen}");
}

/// Measurements for the forecast leave no trace: the library, which makes none, writes the same bytes.
#[test]
fn a_forecast_changes_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (told, silent) = (folder.path().join("told"), folder.path().join("silent"));
    let sets = ["selfplay.fast_simulations=8", "selfplay.surprise_weight=0.5", "search.simulations=24"];
    let flags = sets.iter().flat_map(|set| ["--set", *set]);
    let arguments = ["train", SMOKE, "--run", told.to_str().unwrap(), "--threads", "2"];
    succeeds(&arguments.into_iter().chain(flags).collect::<Vec<_>>(), "");
    smoke(&silent, &sets, &Listener::default()).unwrap();
    let (told, silent) = (files(&told), files(&silent));
    assert!(told.len() >= 10 && told == silent, "{:?}", told.keys().collect::<Vec<_>>());
}

#[test]
fn events_say_how_far_a_run_is() {
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::default();
    let summary = smoke(folder.path(), &[], &listener).unwrap();
    let played = listener.played.into_inner().unwrap();
    assert_eq!((played.len(), &played), (3, &summary.played));
    for played in &played {
        assert_eq!((played.games, played.first + played.second + played.draw), (32, 32), "{played:?}");
        assert!(played.positions > 32 && played.positions <= played.plies, "{played:?}");
    }
    // each generation is reported from its first step to its last
    let steps = listener.steps.into_inner().unwrap();
    let ends: Vec<usize> = steps.iter().filter(|(done, all)| done == all).map(|(_, all)| *all).collect();
    assert_eq!((ends.len(), ends.iter().sum::<usize>()), (3, summary.steps));
    assert_eq!(steps.len(), summary.steps + 3);
    assert!(steps.iter().filter(|(done, _)| *done == 0).count() == 3);
    let progress = listener.progress.into_inner().unwrap();
    let ends: Vec<_> = progress.iter().filter(|now| now.games == 32 && now.in_flight == 0).collect();
    assert!(ends.len() >= 3 && ends.iter().all(|end| end.unfinished == 0 && end.kept == 0), "{ends:?}");
    assert!(
        progress.iter().any(|now| now.in_flight > 0 && now.unfinished > 0 && now.unfinished <= now.positions)
    );
}

/// When a run resumes, the games of finished shards are counted at once, and separately from those that are played.
#[test]
fn kept_games_are_counted_apart() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["selfplay.bootstrap_games=640"];
    let stopper = Listener { stop_after: Some(100), ..Listener::default() };
    assert!(matches!(smoke(folder.path(), &sets, &stopper), Err(Error::Interrupted)));
    let listener = Listener::default();
    smoke(folder.path(), &sets, &listener).unwrap();
    let progress = listener.progress.into_inner().unwrap();
    let first = progress.iter().take_while(|now| now.kept > 0).collect::<Vec<_>>();
    let kept = first[0].kept;
    assert!(kept >= 16 && kept.is_multiple_of(16) && first.iter().all(|now| now.kept == kept), "{kept}");
    assert!(first.iter().all(|now| now.games + now.in_flight <= 640), "{:?}", first.last());
    assert!(first.iter().any(|now| now.games == 640));
}

/// Costs are measured before the run, so the time for an absurd number of games is known at once.
#[cfg(unix)]
#[test]
fn ten_million_games_are_said_to_take_long() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run").display().to_string();
    let mut child = Command::new(env!("CARGO_BIN_EXE_petteia"))
        .args(["train", SMOKE, "--run", &run, "--set", "selfplay.games=10000000"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let about = lines.into_iter().find(|line| line.starts_with("  about "));
    child.kill().unwrap();
    child.wait().unwrap();
    let about = about.expect("the start says how long it may take");
    assert!(about.contains(" h ") || about.contains(" days ") || about.contains("GB"), "{about}");
}

#[test]
fn settings_can_be_checked_without_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let checked = |set: &'static str| {
        let run = run.to_str().unwrap().to_string();
        ["train", SMOKE, "--run", &run, "--dry-run", "--set", set].map(String::from)
    };
    let right = checked("search.cpuct=2");
    let said = out(&succeeds(&right.each_ref().map(String::as_str), ""));
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.starts_with(
            "all checks passed, and nothing was created; without --dry-run, this command trains 3 generations in "
        ),
        "{said}"
    );
    for (set, why) in [("search.cpukt=2", "did you mean"), ("net.filters=0", "out of range")] {
        let wrong = checked(set);
        fails(&wrong.each_ref().map(String::as_str), 2, &[why]);
    }
    assert!(!run.exists());
}

/// Runs a command with standard error connected to a terminal of this kind; returns what it writes there.
#[cfg(unix)]
fn in_a_terminal(kind: &str, arguments: &[&str]) -> String {
    use std::io::Read;
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::process::{Command, Stdio};
    use std::ptr::null_mut;

    let (mut ours, mut theirs) = (0, 0);
    // SAFETY: both pointers are to our own variables, and the others may be null
    assert_eq!(unsafe { libc::openpty(&mut ours, &mut theirs, null_mut(), null_mut(), null_mut()) }, 0);
    // SAFETY: both were just opened, and nobody else has them
    let (mut ours, theirs) = unsafe { (fs::File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let mut child = Command::new(crate::support::command::PETTEIA)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("TERM", kind)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(theirs)
        .spawn()
        .unwrap();
    // Linux reports an error when the other end is closed
    let mut said = Vec::new();
    let mut block = [0; 4096];
    while let Ok(length @ 1..) = ours.read(&mut block) {
        said.extend_from_slice(&block[..length]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8_lossy(&said).replace("\r\n", "\n")
}

/// Emacs's shell and the consoles of some editors are terminals that cannot draw a progress bar.
#[cfg(unix)]
#[test]
fn a_terminal_that_cannot_draw_gets_the_lines_of_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let config = crate::support::runs::write_config(folder.path());
    let trained = |kind: &str| {
        let run = folder.path().join(kind);
        let arguments = ["train", config.to_str().unwrap(), "--run", run.to_str().unwrap(), "--threads", "1"];
        in_a_terminal(kind, &arguments)
    };
    let (dumb, other) = (trained("dumb"), trained("xterm"));
    assert!(other.contains('\u{1b}'), "a terminal that draws: {other}");
    assert!(!dumb.contains('\u{1b}'), "{dumb:?}");
    for said in ["tic-tac-toe", "policy loss", "gen "] {
        assert!(dumb.contains(said), "no `{said}` in {dumb}");
    }
    // a row for each generation
    let rows = dumb.lines().filter(|line| line.trim_start().starts_with(['1', '2', '3'])).count();
    assert!(rows >= 3, "{dumb}");
    assert!(in_a_terminal("dumb", &["solve", "tic-tac-toe"]).is_empty(), "nothing to draw over");
}
