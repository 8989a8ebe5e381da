//! Invalid settings: configs, `--set`, agents, `--sprt`, `--go`.
//!
//! Everything that is read is refused with an error or accepted reliably: a config, once resolved, is read back as
//! the same config.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use petteia::arena::external::Terms;
use petteia::arena::spec::AgentSpec;
use petteia::config::Config;
use rand::RngExt;

use super::mutation::{EXTREMES, PIECES, mutate, mutate_bytes};
use super::scene::{Folder, Petteia, RUN, TINY, Tally, random, times};

/// Whether the config is accepted.
fn parse(text: &str, sets: &[String]) -> bool {
    match Config::parse("mutated.toml", text, sets) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
        Ok(config) => {
            let resolved = config.to_toml();
            let again = Config::parse_kept("resolved.toml", &resolved, &[]).unwrap_or_else(|error| {
                panic!("accepted, but what it resolves to is refused: {error}\n{text}\n{sets:?}\n{resolved}")
            });
            assert!(config.differences(&again).is_empty(), "{text}\n{sets:?}\n{resolved}");
            true
        }
    }
}

fn shipped() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut texts: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    texts.extend([TINY.into(), fs::read_to_string(RUN.path.join("config.toml")).unwrap()]);
    texts
}

#[test]
fn mutated_configs_are_refused_or_mean_something() {
    let (texts, mut chance, mut tally) = (shipped(), random(100), Tally::default());
    let mut accepted = 0;
    for number in 0..times(2_000, 100_000) {
        let text = &texts[number % texts.len()];
        let mutated = match number % 3 {
            0 => String::from_utf8_lossy(&mutate_bytes(text.as_bytes(), &mut chance)).into_owned(),
            _ => mutate(text, &mut chance),
        };
        tally.check(|| accepted += parse(&mutated, &[]) as usize);
    }
    assert!(accepted > 0);
    tally.report("mutated configs");
}

/// All keys of a resolved config.
fn keys() -> Vec<String> {
    let resolved = fs::read_to_string(RUN.path.join("config.toml")).unwrap();
    let (mut keys, mut table) = (Vec::new(), String::new());
    for line in resolved.lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((key, _)) = line.split_once(" = ") {
            keys.push(format!("{table}{key}"));
        }
    }
    assert!(keys.len() > 40, "{keys:?}");
    keys
}

#[test]
fn every_key_meets_every_extreme_and_every_type() {
    let mut tally = Tally::default();
    let others =
        ["", "''", "[]", "[1]", "{}", "{ a = 1 }", "true", "1979-05-27", "'''", "\"", "none", "sprt"];
    for key in
        keys().iter().chain(&["game".into(), "arena".into(), "".into(), "a.b.c".into(), "seed.x".into()])
    {
        for value in EXTREMES.iter().chain(&others) {
            tally.check(|| {
                parse(TINY, &[format!("{key}={value}")]);
            });
        }
    }
    tally.report("keys and extremes");
}

#[test]
fn mutated_arguments_are_refused_or_mean_something() {
    let mut chance = random(101);
    let (mut sets, mut agents, mut limits) = (Tally::default(), Tally::default(), Tally::default());
    let keys = keys();
    for number in 0..times(1_000, 50_000) {
        let set = mutate(&format!("{}=1", keys[number % keys.len()]), &mut chance);
        sets.check(|| {
            parse(TINY, &[set]);
        });
        let valid = [
            "random",
            "rollout:400",
            "uniform:20",
            "perfect",
            "runs/phage:100:bf16",
            "a/b.c:1:f32",
            "ugi:./x -y 'z'",
        ];
        let agent = mutate(valid[number % valid.len()], &mut chance);
        agents.check(|| match AgentSpec::parse(&agent) {
            Ok(spec) => {
                // its written form means the same agent
                assert_eq!(AgentSpec::parse(spec.to_string()).ok(), Some(spec), "{agent}");
            }
            Err(error) => assert!(matches!(error.exit_code(), 1 | 2), "{agent}: {error}"),
        });
        let limit = mutate(["movetime 100", "nodes 5 depth 3", "depth 1"][number % 3], &mut chance);
        let timeout = EXTREMES[chance.random_range(0..EXTREMES.len())].parse().unwrap_or(1.0);
        limits.check(|| drop(Arc::new(Terms::new(&limit, timeout, None))));
    }
    sets.report("--set");
    agents.report("agents");
    limits.report("--go");
}

/// Tests mutated arguments through the program: whatever they are, it ends in an orderly way.
#[test]
fn the_program_takes_mutated_arguments() {
    let (mut chance, mut tally, folder) = (random(102), Tally::default(), Folder::new());
    for number in 0..times(40, 2_000) {
        let text = mutate_bytes(TINY.as_bytes(), &mut chance);
        let config = folder.write("mutated.toml", &text);
        let sprt = mutate("0,20", &mut chance).replace('\0', "");
        let part = PIECES[number % PIECES.len()].replace('\0', "");
        let numeral = EXTREMES[number % EXTREMES.len()];
        let arena = ["arena", "tic-tac-toe", "random", "random"];
        // mutated agents are left out, because they could be a command or search forever
        let commands: [&[&str]; 6] = [
            &["inspect", &config],
            &[&arena[..], &["--games", "4", "--sprt", &sprt]].concat(),
            &["arena", "tic-tac-toe", &part, "random", "--games", "2"],
            &[&arena[..], &["--games", "2", "--opening-plies", numeral]].concat(),
            &[&arena[..], &["--games", "2", "--seed", numeral, "--engine-timeout", numeral]].concat(),
            &["perft", &part, "--depth", "1"],
        ];
        for command in commands {
            tally.check(|| Petteia::new(command).run().expect_words("mutated arguments"));
        }
    }
    tally.report("commands");
}

/// A text of ten megabytes is not repeated in the error.
#[test]
fn monsters_are_refused_in_few_words() {
    let (folder, mut tally) = (Folder::new(), Tally::default());
    let huge = "x".repeat(10 << 20);
    let deep = "[".repeat(1 << 20);
    for (number, text) in [
        huge.clone(),
        format!("game.id = '{huge}'"),
        format!("game.id = 'tic-tac-toe'\n{huge} = 1"),
        format!("game.id = 'tic-tac-toe'\nsearch.simulations = {}", "9".repeat(10 << 20)),
        format!("game.id = 'tic-tac-toe'\nseed = {deep}"),
        format!("game.id = 'tic-tac-toe'\nseed = {}", "{a=".repeat(1 << 18)),
        format!("game.id = 'tic-tac-toe'\n{}", "a.".repeat(1 << 20)),
        format!("game.id = 'tic-tac-toe'\n[{}x]", "a.".repeat(1 << 20)),
        format!("game.id = 'tic-tac-toe'\n{}", "[[a]]\n".repeat(1 << 18)),
        "\0".repeat(1 << 20),
        "\n".repeat(10 << 20),
        "\u{feff}".repeat(1 << 20),
    ]
    .into_iter()
    .enumerate()
    {
        let config = folder.write("monster.toml", &text);
        let run = folder.at("run");
        tally.check(|| {
            let ended = Petteia::new(&["train", &config, "--run", &run]).run();
            let what = format!("monster {number}");
            assert!(ended.err.len() < 4_000, "{what}: {} bytes of error", ended.err.len());
            ended.in_words(&what);
            assert_eq!(ended.code, Some(2), "{what}: {ended:?}");
        });
    }
    tally.report("monsters");
}
