//! Levels and temperatures: weaker agents, wherever an agent is named.

use petteia::arena::contestant::Contestant;
use petteia::arena::levels::{LEVELS, agent_of_level, has_levels};
use petteia::arena::review::{analyses, verdicts};
use petteia::arena::spec::AgentSpec;
use petteia::game::{Game, Settings};
use petteia::games::Games;
use petteia::random::{Purpose, stream};
use petteia::registry::{Catalog, Registry};
use serde_json::Value;

use crate::support::command::{fails, json_lines, out, run, succeeds};

fn games() -> Catalog {
    Catalog::of::<Games>()
}

#[test]
fn every_game_has_nine_levels() {
    for id in Games::ids() {
        let rules = games().open(&id, &Settings::new()).unwrap();
        assert!(
            rules.shipped.levels.is_some(),
            "{id}: scripts/study/calibrate_levels.py has to measure its levels"
        );
        let agents: Vec<String> =
            (1..=LEVELS).map(|level| agent_of_level(&rules, level).unwrap().to_string()).collect();
        let mut different = agents.clone();
        different.dedup();
        assert_eq!(agents, different, "{id}");
        let agent = Contestant::new(&rules, &AgentSpec::parse("level:1").unwrap()).unwrap();
        assert!(agent.identity().starts_with("level:1, "), "{id}: {}", agent.identity());
    }
    for wrong in ["level", "level:", "level:0", "level:10", "level:x", "level:1:t2"] {
        let error = AgentSpec::parse(wrong).unwrap_err().to_string();
        assert!(error.contains("the levels are level:1 to level:9"), "{wrong}: {error}");
    }
    // levels are calibrated for the usual options
    let options = [("start".to_string(), "quarters".into())].into();
    assert!(!has_levels(&games().open("custodial-trap-intro", &options).unwrap()));
}

#[test]
fn an_agent_with_a_temperature_plays_what_is_plausible_and_takes_a_win() {
    for (text, shown) in [("shipped:8:t0.5", "shipped:8:t0.5"), ("rollout:20:t2", "rollout:20:t2")] {
        assert_eq!(AgentSpec::parse(text).unwrap().to_string(), shown);
    }
    let error = |text: &str| AgentSpec::parse(text).unwrap_err().to_string();
    assert!(error("random:t1").contains("random has no temperature; write just `random`"));
    assert!(error("level:3:t1").contains("the levels are"));
    assert!(error("rollout:20:t0").contains("above 0 and at most 100"));
    let rules = games().open("connect-four", &Settings::new()).unwrap();
    let chosen = |agent: &str, position: &str| -> Vec<String> {
        let contestant = Contestant::new(&rules, &AgentSpec::parse(agent).unwrap()).unwrap();
        let state = rules.game.parse_state(position).unwrap();
        let choose = |seed| contestant.agent(stream(seed, Purpose::Agent, &[])).choose(&state).unwrap();
        let mut all: Vec<String> = (0..40).map(|seed| rules.game.action_text(&state, choose(seed))).collect();
        all.sort();
        all.dedup();
        all
    };
    let initial = rules.game.state_text(&rules.game.initial());
    assert_eq!(chosen("shipped:8:t0.01", &initial), chosen("shipped:8", &initial));
    assert_eq!(chosen("shipped:1:t100", &initial).len(), 7);
    // at a temperature in between, some actions are plausible and others are not; which temperature that is
    // depends on the agent
    let counts = ["2", "3", "4", "6", "8"].map(|t| chosen(&format!("shipped:1:t{t}"), &initial).len());
    assert!(counts.iter().any(|count| (2..7).contains(count)), "{counts:?}");
    // three in a row, whatever the temperature
    let won = rules.game.parse_state(&initial).unwrap();
    let mut state = won;
    for column in ["1", "1", "2", "2", "3", "3"] {
        let action = rules.game.parse_action(&state, column).unwrap();
        rules.game.play(&mut state, action);
    }
    assert_eq!(chosen("uniform:1:t100", &rules.game.state_text(&state)), ["4"]);
}

/// In protocols, balance, and accuracy, the level plays, not the agent that it is made from.
#[test]
fn a_level_is_an_agent_everywhere() {
    let spoken = |agent: &str, more: &[&str]| {
        let arguments = [&["engine", "cage-6", "--agent", agent], more].concat();
        out(&succeeds(&arguments, "ugi\nposition startpos\ngo\nquit\n"))
    };
    assert!(spoken("level:2", &[]).contains("info depth 1 nodes 1 "), "{}", spoken("level:2", &[]));
    let more = spoken("level:2", &["--simulations", "20"]);
    assert!(more.contains(" nodes 20 "), "{more}");
    for agent in ["level:9", "level:3", "shipped:4:t1", "perfect:t1"] {
        fails(
            &["engine", "tic-tac-toe", "--agent", agent],
            2,
            &["does not search, so it cannot be an engine"],
        );
    }
    // a line begins with the action
    for line in spoken("shipped:1:t100", &[]).lines().filter(|line| line.contains(" pv ")) {
        let action = spoken("shipped:1:t100", &[]);
        let action = action.lines().find_map(|line| line.strip_prefix("bestmove ")).unwrap().to_string();
        assert!(
            line.ends_with(&format!(" pv {action}")) || line.contains(&format!(" pv {action} ")),
            "{line}"
        );
    }
    let errors = |agent: &str| {
        let measured = ["accuracy", "cage-6", "--agent", agent, "--set", "sets/cage-6.jsonl.zst", "--json"];
        json_lines(&succeeds(&measured, ""))[0]["agents"][0]["all"]["errors"].as_u64().unwrap()
    };
    assert!(errors("shipped:1:t100") > errors("shipped:1"));
    let measured = [
        "balance",
        "cage-6",
        "--levels",
        "shipped:1:t100",
        "shipped:1:t0.1",
        "--games",
        "20",
        "--most-games",
        "20",
        "--solver",
        "0",
        "--json",
    ];
    let measured: Value = serde_json::from_str(&out(&succeeds(&measured, ""))).unwrap();
    let score = measured[0]["balance"]["steps"][0]["score"][0].as_f64().unwrap();
    assert!(score > 0.75, "the less random agent scores only {score}");
}

#[test]
fn a_temperature_does_not_hide_the_game() {
    let agent = "./agents/cage-6.safetensors:4:t0.5";
    assert!(out(&succeeds(&["play", agent], "quit\n")).starts_with("Cage ("));
    let rated = out(&succeeds(&["ladder", "--agents", agent, "random", "--games", "4"], ""));
    assert!(rated.contains("2 agents, 4 games"), "{rated}");
    fails(&["play", "./agents/cage-6.safetensors:0"], 2, &["`0` is not a number of simulations"]);
    fails(&["play", "level:3"], 2, &["name one of cage,"]);
}

/// A person who plays against a weak opponent gets useful advice.
#[test]
fn hints_and_reviews_are_those_of_the_opponent_at_its_best() {
    let rules = games().open("connect-four", &Settings::new()).unwrap();
    let spec = |text: &str| AgentSpec::parse(text).unwrap();
    let best = |text: &str| spec(text).at_its_best(&rules).to_string();
    assert_eq!(
        ["level:1", "level:9", "shipped:1:t3", "rollout:40"].map(best),
        ["shipped:100", "shipped:100", "shipped:100", "rollout:40"]
    );
    let played = out(&succeeds(&["play", "connect-four", "--level", "1", "--seed", "1"], "4\nhint\nquit\n"));
    let hint = played.lines().find(|line| line.starts_with("hint: ")).unwrap();
    assert!(hint.contains("; visits: "), "{hint}");
    // perfect play needs no search
    let played = out(&succeeds(&["play", "tic-tac-toe", "--seed", "1"], "a1\nhint\nreview\nquit\n"));
    assert!(played.contains(" with perfect play"), "{played}");
    assert!(!played.contains("does not search"), "{played}");
}

#[test]
fn a_perfect_agent_reviews_a_game() {
    let rules = games().open("tic-tac-toe", &Settings::new()).unwrap();
    let game = &rules.game;
    let (mut states, mut actions) = (vec![game.initial()], Vec::new());
    // the second action loses, the third gives the win away, and later actions also lose points
    for text in ["a1", "a2", "b2", "c1", "a3", "c3"] {
        let mut state = states.last().unwrap().clone();
        let action = game.parse_action(&state, text).unwrap();
        game.play(&mut state, action);
        actions.push(action);
        states.push(state);
    }
    let agent = Contestant::new(&rules, &AgentSpec::parse("shipped").unwrap()).unwrap();
    let thoughts = analyses(game, &agent, &states, 0, &|_| true).unwrap();
    let losses: Vec<(usize, f32)> = verdicts(game, &states, &actions, &thoughts)
        .into_iter()
        .map(|(ply, verdict)| (ply, verdict.could - verdict.got))
        .collect();
    let values: Vec<f32> = thoughts.iter().flatten().map(|thought| thought.analysis.value).collect();
    // the losses come from a solver, so each is half a point or a whole one
    assert!(!losses.is_empty() && losses.iter().all(|(_, loss)| *loss == 0.5 || *loss == 1.0), "{losses:?}");
    assert!(values.iter().all(|value| [-1.0, 0.0, 1.0].contains(value)), "{values:?}");
    for (state, thought) in states.iter().zip(&thoughts) {
        let Some(thought) = thought else { continue };
        let mut next = state.clone();
        thought.analysis.principal_variation.iter().for_each(|action| game.play(&mut next, *action));
        assert_eq!(game.outcome(&next), thought.proven);
    }
}

#[test]
fn a_bot_has_no_levels() {
    let folder = tempfile::tempdir().unwrap();
    let bot = folder.path().join("bot");
    let path = bot.to_str().unwrap();
    succeeds(&["export", "cage-6", "--out", path], "");
    let help = out(&run(&bot, &["play", "--help"], ""));
    assert!(help.contains("--side") && !help.contains("--level "), "{help}");
}

mod wrong {
    use petteia::games;
    use petteia::games::tic_tac_toe::TicTacToe;
    use petteia::registry::Catalog;
    use petteia::shipped::Shipped;

    games! { pub struct Bare: TicTacToe }

    /// The error of a program that ships these levels.
    pub fn levels(bytes: &'static [u8]) -> String {
        let file = Shipped::new("agents/tic-tac-toe.levels", bytes);
        let mut rules = Catalog::of::<Bare>().open("tic-tac-toe", &Default::default()).unwrap();
        rules.shipped.levels = Some(file);
        petteia::arena::levels::agent_of_level(&rules, 5).unwrap_err().to_string()
    }
}

#[test]
fn a_file_of_levels_that_is_wrong_is_refused() {
    assert!(wrong::levels(b"random\n").contains("there must be 9 agents, one per line, not 1"));
    let nine = |first: &str| -> &'static [u8] {
        let others = "perfect:t2\n".repeat(8);
        format!("{first}\n{others}").leak().as_bytes()
    };
    assert!(wrong::levels(nine("level:2")).contains("level 1 cannot be a level itself"));
    assert!(
        wrong::levels(nine("agents/cage-6.safetensors:4"))
            .contains("is not part of the program; write `shipped`")
    );
    assert!(wrong::levels(nine("rollut:4")).contains("level 1: unknown agent"));
    assert!(agent_of_level(&games().open("cage-6", &Settings::new()).unwrap(), 0).is_err());
}
