//! The tutorial: every command in it is run, in the same order, in a folder where nothing of the repository is found.
//! The run and the matches are smaller than in the tutorial; what a reader types into a game is typed here, too.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::command::{PETTEIA, err, out};
use crate::support::runs::{PLAIN, text};

const TUTORIAL: &str = include_str!("../../docs/tutorial.md");

/// A config with the name that the tutorial trains: a file takes precedence over what the program carries.
const NAME: &str = "connect-four-16x2";
/// A config with the same number of generations that is otherwise minimal.
const SMALL: &str = "
game.id = 'connect-four'
net = { filters = 8, blocks = 1, value_hidden = 16 }
search.simulations = 8
selfplay = { games = 8, batch = 8, bootstrap_games = 8, bootstrap_simulations = 8 }
train = { generations = 12, batch = 16, warmup_steps = 5, samples_per_position = 1 }
arena = { opponent = 'random', games = 2, final_games = 4, ladder_games = 2, simulations = 8 }
";

/// Commands that would take long, and shorter ones that replace them.
const SHORTER: [(&str, &str); 4] = [
    ("--games 200", "--games 2"),
    ("--games 600", "--games 28"),
    ("--games 60", "--games 2"),
    ("petteia serve", "petteia serve --port 0"),
];

/// The beginnings of commands that only build or install the program.
const OTHERS: [&str; 2] = ["cargo ", "export PATH="];

/// A command, and the lines that are typed while it runs.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    typed: String,
}

/// The commands of the code blocks: in `sh` all lines, in `console` the lines after `$`; lines after `>` are typed
/// input.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in text.split("```").skip(1).step_by(2) {
        let (language, lines) = block.split_once('\n').unwrap();
        for line in lines.lines() {
            let command = match language {
                "sh" => Some(line),
                _ => line.strip_prefix("$ "),
            };
            if let Some(command) = command.filter(|command| !command.is_empty()) {
                steps.push(Step { command: command.to_string(), typed: String::new() });
            } else if let Some(typed) = line.strip_prefix("> ").filter(|_| language == "console") {
                steps.last_mut().unwrap().typed += &format!("{typed}\n");
            }
        }
    }
    steps.retain(|step| !OTHERS.iter().any(|other| step.command.starts_with(other)));
    steps
}

/// Starts a command in a shell that finds the program by its name.
fn start(folder: &Path, command: &str) -> Child {
    let own = Path::new(PETTEIA).parent().unwrap().display();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap());
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-c", command]).current_dir(folder).env("PATH", path);
    shell.stdin(input).stdout(output).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts a server and interrupts it: it has started when it has printed its address.
fn serves(folder: &Path, command: &str) {
    let mut server = start(folder, &format!("exec {command}"));
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(line.starts_with("http://127.0.0.1:"), "{command}: {line}");
}

#[test]
fn every_command_of_the_tutorial_runs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(NAME), SMALL).unwrap();
    for (long, _) in SHORTER {
        assert!(TUTORIAL.contains(long), "{long} is not in the tutorial");
    }
    let mut trained = false;
    for Step { command, typed } in steps(TUTORIAL) {
        let command = SHORTER.iter().fold(command, |command, (long, short)| command.replace(long, short));
        if command.starts_with("petteia serve") {
            serves(folder.path(), command.split('#').next().unwrap());
            continue;
        }
        let mut child = start(folder.path(), &command);
        // the command may end without reading all of it
        let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{command}\n{}{}", out(&ended), err(&ended));
        trained |= command.starts_with(&format!("petteia train {NAME}"));
    }
    assert!(trained && folder.path().join(format!("runs/{NAME}/metrics.jsonl")).exists());
}

/// The commands in the first column of the table.
fn listed() -> Vec<&'static str> {
    let table = TUTORIAL.split("## The commands").nth(1).unwrap();
    table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

/// Uses a small run in place of `runs/phage`, and fewer games and searches.
#[test]
fn every_command_of_the_table_runs() {
    let (run, folder) = (PLAIN.run(), tempfile::tempdir().unwrap());
    // commands that write into the run
    let (_kept, copy) = PLAIN.copy(3);
    std::fs::write(folder.path().join("games.txt"), "F5D6C3 first\n").unwrap();
    let sets = format!("{}/sets/", env!("CARGO_MANIFEST_DIR"));
    let mut ran = 0;
    for command in listed() {
        let more = match command.split(' ').nth(1).unwrap() {
            // this command needs the weights of another program; tests/it/import.rs makes some
            "import" => continue,
            "arena" => " --games 2",
            "balance" => " --games 2 --most-games 2 --solver 0",
            "ladder" => " --games 28",
            "runs" => " runs/phage/..",
            "accuracy" => " --simulations 0",
            "train" => " --dry-run",
            "serve" => {
                serves(folder.path(), &format!("{command} --port 0"));
                continue;
            }
            _ => "",
        };
        let is_at_work = command.starts_with("petteia learn") || command.starts_with("petteia worker");
        let command = format!("{command}{more}")
            .replace("runs/phage", text(if is_at_work { &copy } else { &run }))
            .replace("sets/", &sets)
            .replace("NAME", "nine-stones")
            .replace("DIR", "pages");
        let mut child = start(folder.path(), &command);
        // a game and an engine continue until a line ends them; other commands read positions or nothing
        let is_told = command.starts_with("petteia play") || command.starts_with("petteia engine");
        let _ = child.stdin.take().unwrap().write_all(if is_told { b"quit\n" } else { b"" });
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{command}\n{}{}", out(&ended), err(&ended));
        ran += 1;
    }
    assert_eq!(ran, listed().len() - 2);
}

#[test]
fn steps_are_commands_and_what_is_typed() {
    let text = "a\n```sh\ncargo build\npetteia games\n```\n```console\n$ petteia play x\nasks\n> \
        b2\nplays\n```\n```toml\n$\n```";
    let step = |command: &str, typed: &str| Step { command: command.into(), typed: typed.into() };
    assert_eq!(steps(text), [step("petteia games", ""), step("petteia play x", "b2\n")]);
}
