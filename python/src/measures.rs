//! Measurements: exact values, ladders, accuracy in solved positions, and balance. Results are JSON of the program's
//! own types.

use std::path::PathBuf;

use petteia::arena::ladder::Ladder;
use petteia::arena::pairing::Pairing;
use petteia::balance::{Level, Plan, measure as measure_balance};
use petteia::config::SearchConfig;
use petteia::config::limits::{MAX_MATCH_GAMES, MAX_OPENING_PLIES};
use petteia::conformance::{Violation, check, random_game};
use petteia::error::Error;
use petteia::game::Game as _;
use petteia::solve::{Limits, Solver};
use petteia::truth::accuracy::{Budget, Tally, measure as measure_accuracy};
use petteia::truth::set;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::agents::{Asking, agents, contestant, search_config};
use crate::convert::{Whole, expect_within};
use crate::game::{Game, Position};
use crate::serve::{serve, work};
use crate::written::WrittenGame;

/// Looks for the exact value of a position: (outcome or None, {action: outcome or None}, nodes).
#[pyfunction]
#[pyo3(name = "_solve")]
#[allow(clippy::type_complexity)]
pub fn solve(
    py: Python,
    position: &Position,
    nodes: Whole<u64>,
    table: Whole<usize>,
) -> PyResult<(Option<&'static str>, Vec<(u16, Option<&'static str>)>, u64)> {
    let (game, state, nodes, table) = (position.game.any().clone(), position.state()?, nodes.0, table.0);
    let solved = work(py, position.game.written.as_ref(), |running| {
        let mut solver = Solver::new(game, Limits { nodes, table });
        let solved = solver.solve(&state, |_, _| running.goes_on());
        if running.goes_on() { Ok(solved) } else { Err(Error::Interrupted) }
    })?;
    let actions = solved
        .actions
        .iter()
        .map(|(action, bounds)| (action.0, bounds.outcome().map(|outcome| outcome.id())));
    Ok((solved.bounds.outcome().map(|outcome| outcome.id()), actions.collect(), solved.nodes))
}

/// Plays a ladder and returns the ratings relative to the first agent, as JSON.
#[pyfunction]
#[pyo3(name = "_ladder")]
pub fn ladder(
    py: Python,
    game: &Game,
    values: Vec<Bound<PyAny>>,
    games: Whole<usize>,
    opening_plies: Whole<usize>,
    asking: Asking,
) -> PyResult<String> {
    let (games, opening_plies) = (games.0, opening_plies.0);
    expect_within("opening_plies", opening_plies, (0, MAX_OPENING_PLIES))?;
    let (callables, agents) = agents(&values.iter().collect::<Vec<_>>(), game.rules.identity.shape, &asking)?;
    let Asking { simulations, seed, settings, .. } = asking;
    let search = search_config(game, settings.as_ref())?;
    let plan = Ladder { games, seed, opening_plies, book: None, pairing: Pairing::Adaptive };
    let result = serve(py, game.written.as_ref(), &callables, |running| {
        plan.check(game.any(), agents.len())?;
        let loaded =
            agents.iter().map(|agent| contestant(game, agent, simulations, &search, (running, &callables)));
        let loaded: Vec<_> = loaded.collect::<petteia::error::Result<_>>()?;
        let (result, is_complete) =
            game.any()
                .play_ladder(&plan, &loaded.iter().collect::<Vec<_>>(), None, &|_| running.goes_on())?;
        if is_complete { Ok(result) } else { Err(Error::Interrupted) }
    })?;
    let ratings = (0..agents.len()).map(|agent| match result.ratings.difference(agent, 0) {
        Some(difference) => json!({"elo": difference.elo, "low": difference.low, "high": difference.high}),
        None => json!(null),
    });
    let met = result
        .met
        .iter()
        .map(|met| json!({"agents": met.agents, "wins": met.wins, "draws": met.draws, "losses": met.losses}));
    Ok(json!({
        "games": result.games, "ratings": ratings.collect::<Vec<_>>(), "met": met.collect::<Vec<_>>(),
    })
    .to_string())
}

/// Returns the accuracy of an agent in the solved positions of a file, as JSON.
#[pyfunction]
#[pyo3(name = "_accuracy")]
pub fn accuracy(
    py: Python,
    game: &Game,
    agent: &Bound<PyAny>,
    path: PathBuf,
    asking: Asking,
) -> PyResult<String> {
    let (callables, agents) = agents(&[agent], game.rules.identity.shape, &asking)?;
    let Asking { simulations, seed, .. } = asking;
    let accuracy = serve(py, game.written.as_ref(), &callables, |running| {
        let set = set::read(&path, &game.rules)?;
        let search = SearchConfig::default().one_by_one();
        let agent = contestant(game, &agents[0], simulations, &search, (running, &callables))?;
        let budget = simulations.map_or(Budget::Own, Budget::Simulations);
        measure_accuracy(game.any(), &set, &agent, budget, seed, &|_| running.goes_on())
    })?;
    let figures = |tally: &Tally| {
        json!({
            "positions": tally.positions, "errors": tally.errors, "error_rate": tally.error_rate(),
            "slow_rate": tally.slow_rate(), "agreement": tally.agreement(), "brier": tally.brier(), "more": tally,
        })
    };
    let classes: Map<String, Value> =
        accuracy.classes.iter().map(|(name, tally)| (name.clone(), figures(tally))).collect();
    let mut all = figures(&accuracy.all);
    all["classes"] = classes.into();
    all["more"] = json!(accuracy);
    Ok(all.to_string())
}

/// Measures which player has the advantage when agents of equal strength play each other, and returns JSON. `levels`
/// lists the agents, weakest first.
#[pyfunction]
#[pyo3(name = "_balance")]
#[allow(clippy::too_many_arguments)]
pub fn balance(
    py: Python,
    game: &Game,
    levels: Vec<Bound<PyAny>>,
    experts: Whole<usize>,
    games: Whole<usize>,
    most_games: Whole<usize>,
    within: f64,
    solver: Whole<u64>,
    asking: Asking,
) -> PyResult<String> {
    let (experts, games, most_games, solver) = (experts.0, games.0, most_games.0, solver.0);
    expect_within("experts", experts, (0, levels.len()))?;
    expect_within("games", games, (1, MAX_MATCH_GAMES))?;
    expect_within("most_games", most_games, (1, MAX_MATCH_GAMES))?;
    let (callables, agents) = agents(&levels.iter().collect::<Vec<_>>(), game.rules.identity.shape, &asking)?;
    let Asking { simulations, seed, .. } = asking;
    let plan = Plan { games, most: most_games, within, varied_plies: None, solver, seed };
    let figures = serve(py, game.written.as_ref(), &callables, |running| {
        let search = SearchConfig::default().one_by_one();
        let mut loaded = Vec::new();
        for (index, agent) in agents.iter().enumerate() {
            let contestant = contestant(game, agent, simulations, &search, (running, &callables))?;
            let is_expert = index + experts >= agents.len();
            loaded.push(Level { name: contestant.identity().to_string(), is_expert, contestant });
        }
        measure_balance(&game.rules, &loaded, &plan, &|_| running.goes_on())
    })?;
    Ok(serde_json::to_string(&figures).expect("plain data"))
}

/// Plays random games and checks that the rules keep the contract that everything else relies on. Returns what the
/// games were like, as JSON.
#[pyfunction]
#[pyo3(name = "_check_game")]
pub fn check_game(py: Python, game: &Game, games: Whole<usize>, seed: Whole<u64>) -> PyResult<String> {
    let (games, seed) = (games.0, seed.0);
    let checked = work(py, game.written.as_ref(), |_| {
        let summary = match &game.written {
            // checked as a `WrittenGame`, so that the error can name the exception that caused it
            Some(written) => check(written, games, seed)
                .and_then(|summary| unchanged(written, games, seed).map(|()| summary)),
            None => check(game.any(), games, seed),
        };
        Ok(summary)
    })?;
    match checked {
        Ok(summary) => Ok(json!({
            "games": summary.games, "positions": summary.positions, "actions": summary.actions,
            "legal_actions": summary.legal_actions, "shortest": summary.shortest, "longest": summary.longest,
            "outcomes": summary.outcomes,
        })
        .to_string()),
        Err(violation) => {
            let error = PyValueError::new_err(violation.to_string());
            error.set_cause(py, game.written.as_ref().and_then(WrittenGame::raised));
            Err(error)
        }
    }
}

/// Checks that further actions leave earlier positions unchanged.
fn unchanged(game: &WrittenGame, games: usize, seed: u64) -> Result<(), Violation> {
    for seed in seed..seed.saturating_add(games as u64) {
        let (states, actions) = random_game(game, seed);
        for (ply, (state, action)) in states.iter().zip(actions).enumerate() {
            let position = game.state_text(state);
            game.play(&mut state.clone(), action);
            if game.state_text(state) != position {
                let rule =
                    format!("play changes the position that it is given, to `{}`", game.state_text(state));
                return Err(Violation { seed, ply, position, rule });
            }
        }
    }
    Ok(())
}
