//! Ladders: the games do not depend on threads and interruptions, the ratings agree with the games, and the command
//! prints what it should.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use petteia::arena::contestant::Contestant;
use petteia::arena::journal::Journal;
use petteia::arena::ladder::{Ladder, LadderResult, play_ladder};
use petteia::arena::pairing::Pairing;
use petteia::error::Result;
use petteia::game::{GameOptions, Rules};
use petteia::games::connect_four::ConnectFour;
use serde_json::Value;

use crate::support::batches;
use crate::support::command::{err, fails, json_lines, out, petteia, succeeds};
use crate::support::runs::{self, Finished, without_times};

const NEVER: usize = usize::MAX;
const AGENTS: [&str; 4] = ["random", "rollout:2", "rollout:6", "rollout:20"];
/// Agents whose games are played together.
const TOGETHER: [&str; 4] = ["batches:1", "batches:2", "batches:6", "batches:20"];

fn rules() -> Rules<ConnectFour> {
    Rules::new(&GameOptions::default()).unwrap()
}

fn plan(games: usize, pairing: Pairing) -> Ladder {
    Ladder { games, seed: 5, opening_plies: 2, book: None, pairing }
}

/// Plays on `threads` threads, saving to a file if one is given; stops when this many games are finished.
fn play(
    plan: &Ladder,
    agents: &[&str],
    file: Option<&Path>,
    threads: usize,
    stop: usize,
) -> Result<(LadderResult, bool)> {
    let rules = rules();
    let loaded: Vec<Contestant<ConnectFour>> =
        agents.iter().map(|text| batches::contestant(&rules, text)).collect();
    let agents: Vec<&Contestant<ConnectFour>> = loaded.iter().collect();
    let journal = file.map(|path| Journal::open_ladder(path, &rules, plan, &agents)).transpose()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| play_ladder(&rules.game, plan, &agents, journal, &|standing| standing.games < stop))
}

/// The ratings relative to the first agent, exact to the last bit.
fn ratings(result: &LadderResult) -> Vec<String> {
    (0..result.ratings.len()).map(|agent| format!("{:?}", result.ratings.difference(agent, 0))).collect()
}

#[test]
fn threads_and_interruptions_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (pairing, agents) in [
        (Pairing::Adaptive, AGENTS),
        (Pairing::RoundRobin, AGENTS),
        (Pairing::Gauntlet(1), AGENTS),
        (Pairing::Adaptive, TOGETHER),
    ] {
        let file = |name: &str| folder.path().join(format!("{pairing:?}-{}-{name}", agents[0]));
        let (whole, together, cut) = (file("whole"), file("together"), file("cut"));
        let plan = plan(160, pairing);
        let (expected, complete) = play(&plan, &agents, Some(&whole), 1, NEVER).unwrap();
        assert!(complete);
        let (same, _) = play(&plan, &agents, Some(&together), 4, NEVER).unwrap();
        let bytes = fs::read(&whole).unwrap();
        assert!(bytes == fs::read(&together).unwrap(), "{pairing:?}: the bytes differ");
        assert_eq!((&same.met, ratings(&same)), (&expected.met, ratings(&expected)));
        for (stop, threads) in [(1, 1), (4, 2), (50, 3), (41, 1), (30, 2)] {
            let (_, complete) = play(&plan, &agents, Some(&cut), threads, stop).unwrap();
            assert!(!complete, "{pairing:?} at {stop}");
            assert!(
                bytes.starts_with(&fs::read(&cut).unwrap()),
                "{pairing:?} at {stop}: a part of the same file"
            );
        }
        let (resumed, complete) = play(&plan, &agents, Some(&cut), 2, NEVER).unwrap();
        assert!(complete && bytes == fs::read(&cut).unwrap());
        assert_eq!((&resumed.met, ratings(&resumed)), (&expected.met, ratings(&expected)));
        // a torn line is dropped, and a longer ladder begins with the games of the shorter one
        fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
        let longer = Ladder { games: 200, ..plan.clone() };
        play(&longer, &agents, Some(&cut), 2, NEVER).unwrap();
        let alone = play(&longer, &agents, None, 2, NEVER).unwrap().0;
        assert_eq!(alone.games, 200);
        assert!(fs::read(&cut).unwrap().starts_with(&bytes));
    }
}

#[test]
fn stronger_agents_are_rated_higher() {
    let (result, _) = play(&plan(400, Pairing::Adaptive), &AGENTS, None, 2, NEVER).unwrap();
    assert_eq!(result.ratings.ranking(0), [3, 2, 1, 0]);
    let games: usize = result.met.iter().map(|met| met.wins + met.draws + met.losses).sum();
    assert_eq!((games, result.games), (400, 400));
    for met in &result.met {
        assert_eq!(met.pairs.iter().sum::<usize>() * 2, met.wins + met.draws + met.losses);
        assert!(met.effective_games <= (2 * met.pairs.iter().sum::<usize>()) as f64);
    }
    let top = result.ratings.difference(3, 0).unwrap();
    assert!(top.low.unwrap() > 0.0 && top.elo > top.low.unwrap(), "{top:?}");
    // neighbors on the ladder are compared more closely than distant agents
    let games = |a: usize, b: usize| {
        let met = result.met.iter().find(|met| met.agents == [a, b]);
        met.map_or(0, |met| met.wins + met.draws + met.losses)
    };
    assert!(games(2, 3) > games(0, 3), "{:?}", result.met);
}

#[test]
fn an_early_end_says_who_is_not_connected() {
    // a single thread stops after three of the four pairs that connect five agents
    let agents = ["random", "rollout:2", "rollout:6", "rollout:9", "rollout:20"];
    let (result, complete) = play(&plan(40, Pairing::RoundRobin), &agents, None, 1, 6).unwrap();
    assert!(!complete);
    assert_eq!(result.ratings.ranking(4), [4]);
    assert!(result.ratings.difference(4, 0).is_none() && result.ratings.difference(3, 0).is_some());
}

#[test]
fn plans_that_cannot_be_are_refused() {
    let refused = |plan: &Ladder, agents: &[&str], part: &str| {
        let error = play(plan, agents, None, 1, NEVER).unwrap_err().to_string();
        assert!(error.contains(part), "no `{part}` in: {error}");
    };
    refused(&plan(4, Pairing::Adaptive), &AGENTS, "4 games do not connect 4 agents: at least 6");
    refused(&plan(7, Pairing::Adaptive), &AGENTS, "an even number");
    refused(&plan(8, Pairing::Adaptive), &["random"], "2 to 300 agents, not 1");
    refused(&Ladder { opening_plies: 50, ..plan(8, Pairing::Adaptive) }, &AGENTS, "longer than 42");
}

#[test]
fn files_that_are_not_this_ladder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ladder.jsonl");
    let path = Some(file.as_path());
    play(&plan(12, Pairing::RoundRobin), &AGENTS, path, 1, NEVER).unwrap();
    let before = fs::read_to_string(&file).unwrap();
    let refused = |plan: &Ladder, agents: &[&str], parts: &[&str]| {
        let error = play(plan, agents, path, 1, NEVER).unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(error.contains(part), "no `{part}` in: {error}"));
    };
    refused(&plan(12, Pairing::Adaptive), &AGENTS, &["pairing: \"round-robin\" / \"adaptive\""]);
    refused(&plan(12, Pairing::RoundRobin), &AGENTS[..3], &["agents: [\"random\""]);
    let line = before.lines().nth(2).unwrap();
    let wrong = line.replacen("\"agents\":[", "\"agents\":[9", 1);
    fs::write(&file, before.replace(line, &wrong)).unwrap();
    refused(&plan(12, Pairing::RoundRobin), &AGENTS, &["line 3: agents", "do not exist"]);
    // a match file is not a ladder file, nor vice versa
    fs::write(&file, &before).unwrap();
    let text = file.to_str().unwrap();
    let arena = ["arena", "connect-four", "random", "rollout:2", "--opening-plies", "2", "--seed", "5"];
    fails(
        &[&arena[..], &["--save", text]].concat(),
        2,
        &["another match", "pairing: \"round-robin\" / missing"],
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn the_checkpoints_of_a_run_are_rated() {
    let run = Finished::new(&[]);
    let (path, file) = (run.run(), run.run().with_file_name("ladder.jsonl"));
    let (folder, save) = (runs::text(&path), runs::text(&file));
    let few =
        ["--anchors", "rollout:8,random", "--simulations", "4", "--games", "60", "--opening-plies", "2"];
    let ladder = [&["ladder", folder, "--save", save][..], &few].concat();
    let json =
        |more: &[&str]| json_lines(&succeeds(&[&ladder[..], &["--json"], more].concat(), "")).remove(0);
    let first = json(&["--threads", "1"]);
    assert_eq!(first["game"], "tic-tac-toe");
    assert_eq!((&first["zero"], &first["games"]), (&Value::from("rollout:8"), &Value::from(60)));
    let names: Vec<&str> =
        first["agents"].as_array().unwrap().iter().map(|agent| agent["agent"].as_str().unwrap()).collect();
    assert_eq!(names, ["rollout:8", "random", "generation 1", "generation 2", "generation 3"]);
    for agent in first["agents"].as_array().unwrap() {
        assert!(agent["rating"]["elo"].is_f64() && agent["rating"]["error"].is_f64(), "{agent}");
        assert!(agent["games"].as_u64().unwrap() >= 2);
    }
    assert_eq!(first["agents"][0]["rating"]["elo"], 0.0);
    // the games come from the file; another zero point only shifts the ratings
    assert_eq!(json(&["--threads", "2"]), first);
    let moved = json(&["--zero", "generation 2"]);
    let elo = |ladder: &Value, agent: usize| ladder["agents"][agent]["rating"]["elo"].as_f64().unwrap();
    for agent in 0..5 {
        assert!((elo(&moved, agent) - (elo(&first, agent) - elo(&first, 3))).abs() < 1e-6);
    }
    let text = out(&succeeds(&ladder, "")).to_string();
    assert!(text.starts_with("agent ") && text.contains("above the next"), "{text}");
    assert!(text.contains("5 agents, 60 games; rollout:8 is rated 0; bounds are 95 %"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("generation")).count(), 3, "{text}");
    let inspected = out(&succeeds(&["inspect", save], "")).to_string();
    assert!(inspected.contains("adaptive") && !inspected.contains("first agent"), "{inspected}");
    // a ladder of some generations
    let some = ["ladder", folder, "--every", "2", "--anchors", "none", "--simulations", "4", "--games", "8"];
    let text = out(&succeeds(&[&some[..], &["--opening-plies", "2"]].concat(), "")).to_string();
    assert!(text.contains("generation 2 ") && text.contains("generation 3 "), "{text}");
    assert!(!text.contains("generation 1 ") && !text.contains("rollout"), "{text}");
}

/// The lines of a run's own ladder, without times.
fn own_lines(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    without_times(&text).into_iter().filter(|line| line["kind"] == "ladder").collect()
}

#[test]
fn a_run_rates_its_generations() {
    let run = Finished::new(&["arena.ladder_games=8"]);
    let lines = own_lines(&run.run());
    let games = |line: &Value| {
        let count =
            |of: &Value| ["wins", "draws", "losses"].map(|key| of[key].as_u64().unwrap()).iter().sum::<u64>();
        line["matches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| (of["generation"].as_u64().unwrap(), count(of)))
            .collect()
    };
    let played: Vec<Vec<(u64, u64)>> = lines.iter().map(games).collect();
    assert_eq!(played[..2], [vec![], vec![(1, 8)]]);
    let mut last = played[2].clone();
    last.sort_unstable();
    // the last ladder also plays the games of the final evaluation against the first generation
    assert_eq!(last, [(1, 4), (1, 4), (2, 4)]);
    let finals = |line: &Value| {
        let games = line["matches"].as_array().unwrap().iter().filter(|game| game["final"] == true);
        games.map(|game| game["generation"].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!([finals(&lines[1]), finals(&lines[2])], [vec![], vec![1]]);
    // a finished run repeats its rating
    let said = run.train(&run.run(), &[]);
    let text = out(&said).to_string();
    // every command and page shows the same figure against the first generation
    let listed =
        json_lines(&succeeds(&["runs", run.run().parent().unwrap().to_str().unwrap(), "--json"], ""));
    for (key, other) in [("strength", "generation 1"), ("opponent", "random")] {
        let figure = match listed[0][key]["elo"].as_f64().unwrap().round() {
            0.0 => format!("level with {other}, 95 % "),
            elo => format!("{elo:+} Elo against {other}, 95 % "),
        };
        assert!(text.contains("rating: generation 3 is ") && text.contains(&figure), "{figure}: {text}");
    }
    assert!(text.contains("Elo against random") && text.contains("; 20 rating games took "), "{text}");
    // an interrupted run plays the same games
    let (_folder, cut) = run.copy(2);
    let said = run.train(&cut, &[]);
    assert!(said.status.success(), "{}", err(&said));
    assert!(err(&said).contains(" generation 1, 95 % "), "{}", err(&said));
    // the games of the evaluations are part of the ladder, except for the last
    assert_eq!(err(&said).matches("against random: ").count(), 1, "{}", err(&said));
    assert_eq!(own_lines(&cut), lines);
    // and training does not depend on the ladder
    let without = Finished::new(&["arena.ladder_games=0"]);
    assert!(own_lines(&without.run()).is_empty());
    let weights = |run: &Path| fs::read(runs::checkpoint(run, 3).join("weights.safetensors")).unwrap();
    let tensors = |run: &Path| {
        let bytes = weights(run);
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        bytes[8 + header..].to_vec()
    };
    assert!(tensors(&run.run()) == tensors(&without.run()));
    let text = out(&without.train(&without.run(), &[])).to_string();
    assert!(!text.contains("rating: "), "{text}");
}

#[test]
fn wrong_commands_are_explained() {
    fails(&["ladder"], 2, &["give a run folder, or agents with --agents"]);
    fails(&["ladder", "--agents", "random", "rollout:5"], 2, &["with --game ID"]);
    fails(&["ladder", "configs"], 1, &["configs has no checkpoints"]);
    let two = ["ladder", "--game", "tic-tac-toe", "--agents", "random", "rollout:5"];
    fails(&[&two[..], &["random"]].concat(), 2, &["`random` is given twice"]);
    fails(&[&two[..], &["--zero", "rollout:6"]].concat(), 2, &["the agents are random, rollout:5"]);
    fails(&[&two[..], &["--games", "3"]].concat(), 2, &["even number"]);
    fails(&["ladder", "--game", "tic-tac-toe", "--agents", "random"], 2, &["2 to 300 agents, not 1"]);
    let output = petteia(&[&two[..], &["--games", "4", "--opening-plies", "0"]].concat(), "");
    assert!(output.status.success(), "{}", err(&output));
    let game_first =
        ["ladder", "tic-tac-toe", "--agents", "random", "rollout:5", "--games", "4", "--opening-plies", "0"];
    let again = petteia(&game_first, "");
    assert!(again.status.success() && out(&again) == out(&output), "{}", err(&again));
}

/// The first actions of the pairs of every two agents, in order.
fn openings_of_meetings(file: &Path) -> BTreeMap<String, Vec<String>> {
    let mut met: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in fs::read_to_string(file).unwrap().lines().skip(1) {
        let line: Value = serde_json::from_str(line).unwrap();
        let opening = line["games"][0]["actions"][0].as_str().unwrap().to_string();
        met.entry(line["agents"].to_string()).or_default().push(opening);
    }
    met
}

/// There are as many openings as pairings in a round. With a single counter for both, each pair of agents would always
/// meet in the same opening.
#[test]
fn each_two_agents_meet_in_the_whole_book() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book.txt");
    fs::write(&book, "b2\na1\nb1\n").unwrap();
    let common =
        ["ladder", "--game", "tic-tac-toe", "--anchors", "none", "--openings", book.to_str().unwrap()];
    let agents = ["--agents", "random", "rollout:2", "rollout:5", "rollout:9"];
    for pairing in ["round-robin", "gauntlet", "adaptive"] {
        let (whole, cut) = (folder.path().join(pairing), folder.path().join(format!("{pairing}-cut")));
        let save = |file: &Path, games: &str| {
            let file = file.to_str().unwrap();
            let how = ["--pairing", pairing, "--save", file, "--games", games];
            succeeds(&[&common[..], &agents, &how].concat(), "");
        };
        save(&whole, "90");
        for (agents, openings) in openings_of_meetings(&whole) {
            let expected: Vec<&str> = ["b2", "a1", "b1"].into_iter().cycle().take(openings.len()).collect();
            assert_eq!(openings, expected, "{pairing} {agents}");
        }
        save(&cut, "26");
        save(&cut, "90");
        assert_eq!(fs::read(&cut).unwrap(), fs::read(&whole).unwrap(), "{pairing}");
    }
    // a file with the earlier order cannot be continued
    let file = folder.path().join("round-robin");
    let older = fs::read_to_string(&file).unwrap().replacen("\"format\":2", "\"format\":1", 1);
    fs::write(&file, older).unwrap();
    let how = ["--pairing", "round-robin", "--save", file.to_str().unwrap(), "--games", "90"];
    fails(&[&common[..], &agents, &how].concat(), 2, &["saved by another version", "format: 1 / 2"]);
}
