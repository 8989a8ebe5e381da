//! What a training run says while it runs: at its start, for each generation, when it resumes, at its end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use petteia::config::Config;
use petteia::game::{Game, GameOptions, identity};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::pipeline::{Event, Observer, train};

#[path = "support/command.rs"]
mod command;

use command::{err, out, succeeds};

const SMOKE: &str = "configs/smoke.toml";

/// Columns where there is no terminal.
const WIDTH: usize = 80;

struct Silent;

impl Observer for Silent {
    fn event(&self, _event: Event) {}
}

/// All files below a folder that are the same whenever a run is repeated.
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
        "  generation 1: 32 games by random playouts, 16 simulations an action\n",
        "  generations 2 to 3: 32 games each by the network, 16 simulations an action\n",
        "  evaluation: 10 games against random after a generation, 20 at the end\n",
        "  about ",
        " of disk; Ctrl-C is safe: the same command resumes\n",
        "\npolicy loss: falls towards its floor",
        "\nvalue loss: may rise without harm",
        "\ngen   games positions  steps policy loss floor value loss        time\n  1      32 ",
        "    against random: ",
    ] {
        assert!(screen.contains(part), "no `{part}` in:\n{screen}");
    }
    assert_eq!(screen.matches("policy loss floor").count(), 1, "one head for all rows:\n{screen}");
    assert_eq!(screen.matches("falls towards").count(), 1, "explained once:\n{screen}");
    // a path has no place to break it
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
    assert!(screen.contains(" more and ") && screen.contains("\n  3      32 "), "{screen}");
    assert!(!screen.contains("generation 1: "), "{screen}");
}

/// What is measured for the forecast leaves no trace: the library, which measures nothing, writes the same bytes.
#[test]
fn a_forecast_changes_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (told, silent) = (folder.path().join("told"), folder.path().join("silent"));
    let sets = ["selfplay.fast_simulations=8", "selfplay.surprise_weight=0.5", "search.simulations=24"];
    let flags = sets.iter().flat_map(|set| ["--set", *set]);
    let arguments = ["train", SMOKE, "--run", told.to_str().unwrap(), "--threads", "2"];
    succeeds(&arguments.into_iter().chain(flags).collect::<Vec<_>>(), "");
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(SMOKE)).unwrap();
    let config = Config::parse(SMOKE, &text, &sets.map(String::from)).unwrap();
    let game = TicTacToe::new(&GameOptions::default()).unwrap();
    let identity = identity(&game, &GameOptions::default());
    train(&game, &identity, &config, &silent, &Silent).unwrap();
    let (told, silent) = (files(&told), files(&silent));
    assert!(told.len() >= 10 && told == silent, "{:?}", told.keys().collect::<Vec<_>>());
}

/// Costs are measured before the run: what an absurd number of games takes is known at once.
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
