//! Matches: the test that ends them, the file that stores them, and equal results whatever the number of threads and
//! interruptions.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use petteia::arena::contestant::Contestant;
use petteia::arena::journal::Journal;
use petteia::arena::sprt::{Sprt, Verdict};
use petteia::arena::{Match, MatchResult, Standing, play_match};
use petteia::config::SearchConfig;
use petteia::error::{Error, Result};
use petteia::game::{Game, GameOptions, Player, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::random::{Purpose, stream};
use petteia::search::evaluator::{Evaluations, Evaluator, Request, Rollout};

use crate::support::batches;
use crate::support::command::{err, out, petteia};

fn rules() -> Rules<ConnectFour> {
    Rules::new(&GameOptions::default()).unwrap()
}

fn contestant(text: &str) -> Contestant<ConnectFour> {
    batches::contestant(&rules(), text)
}

fn plan(games: usize) -> Match {
    Match { games, seed: 3, opening_plies: 4, book: None, sprt: None }
}

/// Plays on `threads` threads, saving to a file if one is given; stops when this many games are finished.
fn play(
    plan: &Match,
    agents: [&str; 2],
    file: Option<&Path>,
    threads: usize,
    stop: usize,
) -> Result<MatchResult> {
    let rules = rules();
    let agents = agents.map(contestant);
    let agents = [&agents[0], &agents[1]];
    let journal = file.map(|path| Journal::open(path, &rules, plan, agents)).transpose()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| play_match(&rules.game, plan, agents, journal, |standing| standing.games < stop))
}

const NEVER: usize = usize::MAX;
const UNEVEN: [&str; 2] = ["rollout:8", "random"];

fn sprt(elo0: f64, elo1: f64) -> Option<Sprt> {
    Some(Sprt::new(elo0, elo1, 0.05, 0.05).unwrap())
}

#[test]
fn a_test_ends_the_match_at_the_same_pair_whatever_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (agents, elos, verdict)) in [
        (UNEVEN, (0.0, 100.0), Verdict::H1),
        (["random", "rollout:8"], (0.0, 100.0), Verdict::H0),
        (["random", "random"], (-5.0, 5.0), Verdict::Undecided),
        (["batches:24", "batches:1"], (0.0, 100.0), Verdict::H1),
    ]
    .into_iter()
    .enumerate()
    {
        let plan = Match { sprt: sprt(elos.0, elos.1), ..plan(200) };
        let files = [1, 4].map(|threads| folder.path().join(format!("{number}-{threads}")));
        let alone = play(&plan, agents, Some(&files[0]), 1, NEVER).unwrap();
        let together = play(&plan, agents, Some(&files[1]), 4, NEVER).unwrap();
        assert_eq!(alone, together);
        assert!(fs::read(&files[0]).unwrap() == fs::read(&files[1]).unwrap(), "the files differ");
        let test = alone.sprt.unwrap();
        assert_eq!(test.verdict, verdict);
        assert_eq!(alone.games < 200, verdict != Verdict::Undecided, "{} games", alone.games);
        assert_eq!(alone.pairs.iter().sum::<usize>() * 2, alone.games);
        // the match ended as soon as the test allowed
        let lines = fs::read_to_string(&files[0]).unwrap().lines().count();
        assert_eq!(lines, 1 + alone.games / 2);
        if verdict != Verdict::Undecided {
            let shorter = Match { games: alone.games - 2, ..plan };
            let before = play(&shorter, agents, Some(&files[0]), 1, NEVER).unwrap();
            assert_eq!(before.sprt.unwrap().verdict, Verdict::Undecided);
        }
    }
}

#[test]
fn an_interrupted_match_goes_on_to_the_same_end() {
    // if games are played at the same time, the first ones may be the last to end
    for (agents, expected_pairs) in [(UNEVEN, 2..=4), (["batches:8", "batches:4"], 0..=9)] {
        let folder = tempfile::tempdir().unwrap();
        let (whole, cut) = (folder.path().join("whole"), folder.path().join("cut"));
        let plan = plan(20);
        let expected = play(&plan, agents, Some(&whole), 1, NEVER).unwrap();
        assert_eq!(play(&plan, agents, None, 2, NEVER).unwrap(), expected, "saving changes nothing");
        for stop in [1, 5, 7] {
            let stopped = play(&plan, agents, Some(&cut), 2, stop);
            assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
        }
        let pairs = fs::read_to_string(&cut).unwrap().lines().count() - 1;
        assert!(expected_pairs.contains(&pairs), "{pairs} pairs after 7 games");
        assert_eq!(play(&plan, agents, Some(&cut), 2, NEVER).unwrap(), expected);
        assert!(fs::read(&cut).unwrap() == fs::read(&whole).unwrap());
        // a finished match is not played again
        assert_eq!(play(&plan, agents, Some(&cut), 1, 1).unwrap(), expected);
        // a longer match begins with the games that were already played
        let longer = Match { games: 30, ..plan };
        let more = play(&longer, agents, Some(&cut), 2, NEVER).unwrap();
        assert_eq!(more, play(&longer, agents, None, 1, NEVER).unwrap());
    }
}

/// With 7 openings and agents without randomness, all games from the 8th pair on are repetitions, which must not decide
/// anything.
#[test]
fn repeated_games_count_as_what_they_are_worth() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("match.jsonl");
    let agents = ["uniform:60", "uniform:2"];
    let plan = |games| Match { opening_plies: 1, book: None, sprt: sprt(0.0, 100.0), ..plan(games) };
    let once = play(&plan(14), agents, None, 1, NEVER).unwrap();
    assert_eq!((once.distinct_games, once.effective_games), (14, Some(14.0)));
    let often = play(&plan(400), agents, None, 2, NEVER).unwrap();
    assert_eq!((often.games, often.distinct_games), (400, 14), "repetitions of games do not end the test");
    assert!((13.0..=14.0).contains(&often.effective_games.unwrap()), "{often:?}");
    let test = often.sprt.unwrap();
    assert_eq!(test.verdict, Verdict::Undecided);
    assert!((test.llr - once.sprt.unwrap().llr).abs() < 0.5, "{test:?}");
    let counted_as_new = test.sprt.result(&often.pairs, 1.0);
    assert_eq!(counted_as_new.verdict, Verdict::H1, "as new games, they would end it: {counted_as_new:?}");
    // with a file, the result is the same, even if it is played in parts
    assert!(play(&plan(400), agents, Some(&file), 2, 99).is_err());
    assert_eq!(play(&plan(400), agents, Some(&file), 1, NEVER).unwrap(), often);
    assert_eq!(play(&plan(400), agents, Some(&file), 1, 0).unwrap(), often);
}

#[test]
fn a_torn_line_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("match.jsonl");
    let expected = play(&plan(8), UNEVEN, Some(&file), 1, NEVER).unwrap();
    let whole = fs::read(&file).unwrap();
    for kept in [whole.len() - 1, whole.len() - 20, 10, 0] {
        fs::write(&file, &whole[..kept]).unwrap();
        assert_eq!(play(&plan(8), UNEVEN, Some(&file), 1, NEVER).unwrap(), expected);
        assert!(fs::read(&file).unwrap() == whole);
    }
}

#[test]
fn files_that_are_not_this_match_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("match.jsonl");
    play(&plan(4), UNEVEN, Some(&file), 1, NEVER).unwrap();
    let before = fs::read_to_string(&file).unwrap();
    let refused = |plan: &Match, agents, parts: &[&str]| {
        let error = play(plan, agents, Some(&file), 1, NEVER).unwrap_err();
        for part in parts {
            assert!(error.to_string().contains(part), "no `{part}` in: {error}");
        }
        error.exit_code()
    };
    let other = Match { seed: 4, opening_plies: 2, ..plan(4) };
    let code =
        refused(&other, UNEVEN, &["another match", "seed: 3 / 4", "opening_plies: 4 / 2", "another file"]);
    assert_eq!(code, 2);
    refused(&plan(4), ["rollout:9", "random"], &["agents: [\"rollout:8\",\"random\"] / [\"rollout:9\""]);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    // a line that contradicts the rules
    let lines: Vec<&str> = before.lines().collect();
    let score = if lines[2].contains("\"score\":1.0") { "\"score\":1.0" } else { "\"score\":0.0" };
    let lie = lines[2].replacen(score, "\"score\":0.5", 1);
    fs::write(&file, format!("{}\n{}\n{lie}\n", lines[0], lines[1])).unwrap();
    refused(&plan(4), UNEVEN, &["match.jsonl: line 3: the score is", "remove this line"]);
    fs::write(&file, format!("{}\n{}\n", lines[0], lines[2])).unwrap();
    refused(&plan(4), UNEVEN, &["line 2: found pair 1 in place of pair 0"]);
    // a file that the program did not write is left unchanged
    fs::write(&file, "dear diary").unwrap();
    assert_eq!(refused(&plan(4), UNEVEN, &["is not a saved match"]), 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), "dear diary");
}

#[test]
fn two_matches_do_not_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("match.jsonl");
    let rules = rules();
    let agents = UNEVEN.map(contestant);
    let agents = [&agents[0], &agents[1]];
    let _open = Journal::open(&file, &rules, &plan(4), agents).unwrap();
    let error = Journal::open(&file, &rules, &plan(4), agents).err().unwrap();
    assert!(error.to_string().contains("in use"), "{error}");
}

/// `metrics.jsonl` of runs from before statistical tests and forfeits were recorded.
#[test]
fn older_results_are_still_read() {
    let line = r#"{"games":2,"distinct_games":2,"wins":1,"draws":0,"losses":1,"cut_short":0,"elo":0.0,"elo_low":-300.0,"elo_high":300.0}"#;
    let result: MatchResult = serde_json::from_str(line).unwrap();
    assert!(result.sprt.is_none() && result.faults[0].total() == 0 && result.pairs == [0; 5]);
    assert_eq!((result.effective_games, result.elo_low, result.elo_high), (None, Some(-300.0), Some(300.0)));
    // an open bound is null
    let line = line.replace("-300.0", "null");
    let open: MatchResult = serde_json::from_str(&line).unwrap();
    assert_eq!((open.elo_low, open.elo_high), (None, Some(300.0)));
    assert!(serde_json::to_string(&open).unwrap().contains(r#""elo_low":null,"elo_high":300.0"#));
}

/// Rollouts that record the largest batch.
struct Measured {
    rollouts: Rollout<ConnectFour>,
    largest: Arc<AtomicUsize>,
}

impl Evaluator<ConnectFour> for Measured {
    fn evaluate(&mut self, requests: &[Request<ConnectFour>], out: &mut Evaluations) -> Result<()> {
        self.largest.fetch_max(requests.len(), Ordering::Relaxed);
        self.rollouts.evaluate(requests, out)
    }
}

/// Progress counts games in flight and their actions. If a statistical test may end the match, few games are in flight,
/// because they do not count if the test ends the match.
#[test]
fn games_on_their_way_are_known() {
    let rules = rules();
    let agents = [&contestant("batches:4"), &contestant("batches:3")];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    let most = |sprt: Option<Sprt>| {
        let (most, last) = (AtomicUsize::new(0), Mutex::new(Standing::default()));
        let plan = Match { games: 200, sprt, ..plan(200) };
        pool.install(|| {
            play_match(&rules.game, &plan, agents, None, |standing| {
                let Standing { games, kept, playing, actions, unfinished, .. } = *standing;
                assert!(games + playing <= 200 && unfinished <= actions && kept == 0, "{standing:?}");
                most.fetch_max(playing, Ordering::Relaxed);
                *last.lock().unwrap() = *standing;
                true
            })
        })
        .unwrap();
        let last = last.into_inner().unwrap();
        assert_eq!((last.games, last.playing, last.unfinished), (200, 0, 0));
        let chosen = last.actions / 200;
        assert!((5..38).contains(&chosen), "{chosen} actions of a game without its opening");
        most.into_inner()
    };
    most(None);
    // 200 games are too few to decide this test
    let most = most(sprt(0.0, 0.1));
    assert!(most <= 64, "{most} games at once");
}

/// Games whose leaves are evaluated together are the games that each agent would play alone, for any number of
/// threads.
#[test]
fn games_that_share_batches_are_those_played_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (rules, plan) = (rules(), plan(24));
    let largest = Arc::new(AtomicUsize::new(0));
    let config = |leaves| {
        let mut config = SearchConfig::default();
        config.leaves = leaves;
        config
    };
    let searching = |name: &str, leaves: usize, simulations: usize| {
        let (game, largest) = (rules.game.clone(), largest.clone());
        Contestant::searching(&rules.game, name, &config(leaves), simulations, move || Measured {
            rollouts: Rollout::new(game.clone()),
            largest: largest.clone(),
        })
    };
    let agents = [&searching("one by one", 1, 30), &searching("in rounds", 4, 20)];
    let play = |name: &str, threads: usize, agents: [&Contestant<ConnectFour>; 2]| {
        let path = folder.path().join(name);
        let journal = Journal::open(&path, &rules, &plan, agents).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| play_match(&rules.game, &plan, agents, Some(journal), |_| true)).unwrap();
        fs::read_to_string(path).unwrap()
    };
    let one = play("1", 1, agents);
    assert!(largest.swap(0, Ordering::Relaxed) > 4, "no batch had the leaves of several games");
    assert_eq!(one, play("3", 3, agents));
    let mut games = 0;
    for (pair, line) in one.lines().skip(1).enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for first_agent in [0, 1] {
            let number = 2 * pair as u64 + first_agent as u64;
            let mut players = [0, 1]
                .map(|agent| agents[agent].agent(stream(plan.seed, Purpose::Agent, &[number, agent as u64])));
            let played: Vec<&str> = line["games"][first_agent]["actions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|a| a.as_str().unwrap())
                .collect();
            let mut state = rules.game.initial();
            for (ply, text) in played.iter().enumerate() {
                let agent = usize::from(rules.game.to_move(&state) == Player::Second) ^ first_agent;
                let action = rules.game.parse_action(&state, text).unwrap();
                if ply >= plan.opening_plies {
                    assert_eq!(players[agent].choose(&state).unwrap(), action, "game {number}, ply {ply}");
                }
                players.iter_mut().for_each(|player| player.played(&state, action));
                rules.game.play(&mut state, action);
            }
            assert!(rules.game.outcome(&state).is_some());
            games += 1;
        }
    }
    assert_eq!(games, plan.games);
    // a random opponent does not prevent the other agent's games from being evaluated together
    largest.store(0, Ordering::Relaxed);
    let random = contestant("random");
    let one = play("random", 1, [agents[0], &random]);
    assert!(largest.load(Ordering::Relaxed) > 4);
    assert_eq!(one, play("random on 3", 3, [agents[0], &random]));
}

/// Openings from a file: pairs play them in order, the file of a match stores them, and errors in them are reported.
#[test]
fn openings_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("openings.txt");
    let file = path.to_str().unwrap();
    std::fs::write(&path, "# three openings\nb2 a1\na1\tb2 c3 # the longest\n\nb1\n").unwrap();
    let saved = folder.path().join("match.jsonl");
    let saved = saved.to_str().unwrap();
    let common = ["arena", "tic-tac-toe", "rollout:20", "random", "--save", saved, "--openings", file];
    let played = petteia(&[&common[..], &["--games", "8"]].concat(), "");
    assert!(played.status.success(), "{}", err(&played));
    let text = std::fs::read_to_string(saved).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["openings"].is_string(), "{}", lines[0]);
    let expected = [&["b2", "a1"][..], &["a1", "b2", "c3"], &["b1"], &["b2", "a1"]];
    for (pair, opening) in lines[1..].iter().zip(expected) {
        for game in pair["games"].as_array().unwrap() {
            let actions = game["actions"].as_array().unwrap();
            assert!(actions.iter().zip(opening).all(|(action, expected)| action == expected), "{pair}");
        }
    }
    // the same command continues, but only with the same openings
    let more = petteia(&[&common[..], &["--games", "10"]].concat(), "");
    assert!(out(&more).contains("in 10 games"), "{}", err(&more));
    for (text, says) in [
        ("b1\n", "another match"),
        ("b2\nb2 b2\n", "line 2: `b2` is not a legal action in"),
        ("a1 a2 b1 b2 c1\n", "line 1: the game is over after `c1`"),
        ("# none\n", "it contains no opening"),
    ] {
        std::fs::write(&path, text).unwrap();
        let refused = petteia(&[&common[..], &["--games", "12"]].concat(), "");
        assert!(!refused.status.success() && err(&refused).contains(says), "{text}: {}", err(&refused));
    }
    std::fs::write(&path, "b2\nb1\n").unwrap();
    let ladder = [
        "ladder",
        "--game",
        "tic-tac-toe",
        "--agents",
        "random",
        "rollout:8",
        "--games",
        "4",
        "--openings",
        file,
    ];
    assert!(petteia(&ladder, "").status.success());
}

#[test]
fn openings_may_be_positions() {
    let folder = tempfile::tempdir().unwrap();
    let (path, saved) = (folder.path().join("openings.txt"), folder.path().join("match.jsonl"));
    let (file, saved) = (path.to_str().unwrap(), saved.to_str().unwrap());
    let common = ["arena", "tic-tac-toe", "rollout:20", "random", "--openings", file, "--games", "8"];
    std::fs::write(&path, ".../.X./... O\n.../.X./... O moves A1 c1 # two more\nb2a1\nstartpos moves b1\n")
        .unwrap();
    let with_file = [&common[..], &["--save", saved]].concat();
    let played = petteia(&with_file, "");
    assert!(played.status.success(), "{}", err(&played));
    let lines: Vec<serde_json::Value> = std::fs::read_to_string(saved)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let begins = |line: &serde_json::Value, actions: usize| {
        let game = &line["games"][0];
        let texts: Vec<&str> = game["actions"]
            .as_array()
            .unwrap()
            .iter()
            .take(actions)
            .map(|text| text.as_str().unwrap())
            .collect();
        (game["start"].as_str().unwrap_or("-").to_string(), texts.join(" "))
    };
    let center = || ".../.X./... O".to_string();
    assert_eq!(begins(&lines[1], 0), (center(), String::new()));
    assert_eq!(begins(&lines[2], 2), (center(), "a1 c1".into()));
    assert_eq!(begins(&lines[3], 2), ("-".into(), "b2 a1".into()));
    assert_eq!(begins(&lines[4], 1), ("-".into(), "b1".into()));
    // the file of the match is read again, and the rules check it
    let again = petteia(&[&with_file[..], &["--json"]].concat(), "");
    assert!(out(&again).contains("\"games\":8"), "{}{}", out(&again), err(&again));
    for (text, says) in [
        ("XXX/OO./... O\n", "line 1: the game is over after"),
        (".../.X./... X moves a1\n", "line 1: "),
        ("nothing moves a1\n", "line 1: "),
        (".../.X./... O moves b2\n", "line 1: `b2` is not a legal action in"),
    ] {
        std::fs::write(&path, text).unwrap();
        let refused = petteia(&common, "");
        assert!(!refused.status.success() && err(&refused).contains(says), "{text}: {}", err(&refused));
    }
}
