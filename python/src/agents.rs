//! Searches, evaluations, matches, and self-play, by agents of the program or with evaluators written in Python.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use petteia::any::AnyGame;
use petteia::any::AnyState;
use petteia::arena::Match;
use petteia::arena::contestant::Contestant;
use petteia::arena::positions::Plan;
use petteia::arena::review::analyses;
use petteia::arena::searching::Analysis;
use petteia::arena::spec::{AgentSpec, DEFAULT_SIMULATIONS};
use petteia::config::limits::{MAX_BATCH, MAX_GAMES, MAX_MATCH_GAMES, MAX_OPENING_PLIES, MAX_SIMULATIONS};
use petteia::config::{Config, SearchConfig};
use petteia::encode::Shape;
use petteia::error::{Error, Result};
use petteia::game::{Action, Game as _};
use petteia::net::source::Source;
use petteia::replay::record::Record;
use petteia::run::suited;
use petteia::search::evaluator::{Evaluations, Request};
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Shards};
use pyo3::exceptions::{PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::convert::{Whole, argument, expect_within, raised, settings, zeros};
use crate::data::{Rows, lines};
use crate::game::{Game, Position, numbers};
use crate::serve::{Callable, Running, Says, serve};

/// An agent as Python names it: an evaluator, or a text such as the command line takes.
pub enum Agent {
    /// An agent of the program, with the number of simulations if the text has one.
    Named(AgentSpec, Option<usize>),
    /// An evaluator: the index of its function among the [`Callable`]s.
    Own(usize),
}

/// The arguments about agents that all functions share. They come in a dict whose keys are the names of these fields; a
/// function leaves out arguments that it does not have.
pub struct Asking<'py> {
    /// The number of simulations for agents that name no number themselves.
    pub simulations: Option<usize>,
    /// The number of positions that an evaluator gets in one call.
    batch: usize,
    /// Whether evaluators return logits.
    logits: bool,
    pub seed: u64,
    pub settings: Option<Bound<'py, PyDict>>,
}

impl<'py> FromPyObject<'_, 'py> for Asking<'py> {
    type Error = PyErr;

    fn extract(arguments: Borrowed<'_, 'py, PyAny>) -> PyResult<Asking<'py>> {
        let arguments = arguments.cast::<PyDict>()?;
        let simulations: Option<Whole<usize>> = argument(&arguments.get_item("simulations")?, "simulations")?;
        let batch: Option<Whole<usize>> = argument(&arguments.get_item("batch")?, "batch")?;
        let asking = Asking {
            simulations: simulations.map(|number| number.0),
            batch: batch.map_or(1, |number| number.0),
            logits: argument(&arguments.get_item("logits")?, "logits")?.unwrap_or(false),
            seed: argument(&arguments.get_item("seed")?, "seed")?.map_or(1, |seed: Whole<u64>| seed.0),
            settings: argument(&arguments.get_item("settings")?, "settings")?,
        };
        if let Some(number) = asking.simulations {
            expect_within("simulations", number, (1, MAX_SIMULATIONS))?;
        }
        expect_within("batch", asking.batch, (1, MAX_BATCH))?;
        Ok(asking)
    }
}

/// Returns the Python functions among the agents, and the list of all agents.
pub fn agents(
    values: &[&Bound<PyAny>],
    shape: Shape,
    asking: &Asking,
) -> PyResult<(Vec<Callable>, Vec<Agent>)> {
    let (batch, logits) = (asking.batch, asking.logits);
    let (mut callables, mut agents) = (Vec::new(), Vec::new());
    for value in values {
        if value.is_callable() {
            let says = if logits { Says::Logits } else { Says::Probabilities };
            agents.push(Agent::Own(callables.len()));
            callables.push(Callable { function: (*value).clone().unbind(), says, batch, shape });
        } else {
            // a path object also has a text
            let text: String = value.py().import("os")?.call_method1("fspath", (value,))?.extract()?;
            let number = text.split(':').skip(1).find_map(|part| part.parse().ok());
            // a text without a number leaves the number of simulations to the search
            let text = if ["uniform", "rollout"].contains(&&*text) {
                format!("{text}:{DEFAULT_SIMULATIONS}")
            } else {
                text
            };
            let spec = AgentSpec::parse(&text).map_err(|error| {
                if value.is_instance_of::<PyString>() {
                    raised(error)
                } else {
                    // a path object cannot be the misspelled name of an agent
                    PyFileNotFoundError::new_err(error.to_string())
                }
            });
            agents.push(Agent::Named(spec?, number));
        }
    }
    Ok((callables, agents))
}

/// Refuses settings if every agent has its own.
fn refuse_settings(settings: Option<&Bound<PyDict>>) -> PyResult<()> {
    match settings.filter(|settings| !settings.is_empty()) {
        Some(settings) => Err(PyValueError::new_err(format!(
            "{}: these settings are for evaluators; agents of the program have their own settings",
            settings.keys()
        ))),
        None => Ok(()),
    }
}

/// Returns the settings of a search, named without `search.`.
pub fn search_config(game: &Game, values: Option<&Bound<PyDict>>) -> PyResult<SearchConfig> {
    Ok(configured(game, "search.", values)?.search.one_by_one())
}

/// Returns the default config of a game, changed by the settings `values`. `prefix` precedes the names of the settings.
pub fn configured(game: &Game, prefix: &str, values: Option<&Bound<PyDict>>) -> PyResult<Config> {
    let mut config = Config::new(&game.rules.identity.id);
    config.game.options = game.rules.identity.options.clone();
    changed(config, prefix, values)
}

/// Returns `config`, changed by the settings `values`. `prefix` precedes the names of the settings.
fn changed(config: Config, prefix: &str, values: Option<&Bound<PyDict>>) -> PyResult<Config> {
    let sets: Vec<String> =
        settings(values)?.into_iter().map(|(name, value)| format!("{prefix}{name}={value}")).collect();
    if sets.is_empty() {
        return Ok(config);
    }
    let options = config.game.options.clone();
    let game = format!("[game]\nid = {:?}\n", config.game.id);
    let mut config = config.parse_over("settings", &game, &sets).map_err(raised)?;
    config.game.options = options;
    Ok(config)
}

fn states(game: &Game, positions: &[PyRef<Position>]) -> PyResult<Vec<AnyState>> {
    let state = |position: &PyRef<Position>| {
        if position.game.is_alike(game)? {
            position.state()
        } else {
            Err(PyValueError::new_err("the positions belong to different games"))
        }
    };
    positions.iter().map(state).collect()
}

fn game_of(positions: &[PyRef<Position>]) -> PyResult<Game> {
    let first = positions.first().ok_or_else(|| PyValueError::new_err("there are no positions"))?;
    Ok(first.game.clone())
}

/// Returns a contestant for a match or an analysis.
pub fn contestant(
    game: &Game,
    agent: &Agent,
    simulations: Option<usize>,
    search: &SearchConfig,
    (running, callables): (&Running, &[Callable]),
) -> Result<Contestant<AnyGame>> {
    match agent {
        Agent::Named(spec, number) => {
            let spec = match simulations.filter(|_| number.is_none()) {
                Some(simulations) => spec.clone().with_simulations(simulations),
                None => spec.clone(),
            };
            // an evaluator in Python plays its games on one thread, so this agent's search can use the other cores
            let threads = if callables.is_empty() { 1 } else { rayon::current_num_threads() };
            Ok(Contestant::new(&game.rules, &spec)?.with_threads(threads))
        }
        Agent::Own(number) => Ok(Contestant::trained(
            game.any(),
            search,
            running.net(callables, *number),
            simulations.unwrap_or(search.simulations),
        )),
    }
}

/// Returns the source of evaluations of an agent without its own settings; `None` for any other agent.
fn source_of(agent: &Agent, (running, callables): (&Running, &[Callable])) -> Option<Source> {
    match agent {
        Agent::Own(number) => Some(Source::Net(running.net(callables, *number))),
        Agent::Named(AgentSpec::Uniform(_), _) => Some(Source::Uniform),
        Agent::Named(AgentSpec::Rollout(_), _) => Some(Source::Rollout),
        Agent::Named(..) => None,
    }
}

/// Searches positions of one game and returns a dict for each position, or None if its game is over.
#[pyfunction]
#[pyo3(name = "_analyze")]
pub fn analyze<'py>(
    py: Python<'py>,
    positions: Vec<PyRef<Position>>,
    agent: &Bound<PyAny>,
    asking: Asking,
) -> PyResult<Vec<Option<Bound<'py, PyDict>>>> {
    let game = game_of(&positions)?;
    let states = states(&game, &positions)?;
    drop(positions);
    let (callables, agents) = agents(&[agent], game.rules.identity.shape, &asking)?;
    let Asking { simulations, seed, settings, .. } = asking;
    let settings = settings.as_ref();
    if let Agent::Named(spec, _) = &agents[0]
        && !matches!(spec, AgentSpec::Uniform(_) | AgentSpec::Rollout(_))
    {
        refuse_settings(settings)?;
    }
    if let Agent::Named(AgentSpec::Random, _) = &agents[0] {
        return Err(PyValueError::new_err("random: this agent does not search"));
    }
    let search = search_config(&game, settings)?;
    let analyses = serve(py, game.written.as_ref(), &callables, |running| {
        let functions = (running, &callables[..]);
        let Some(source) = source_of(&agents[0], functions) else {
            let contestant = contestant(&game, &agents[0], simulations, &search, functions)?;
            let thoughts = analyses(game.any(), &contestant, &states, 0, &|_| running.goes_on())?;
            return Ok(thoughts.into_iter().map(|thought| thought.map(|thought| thought.analysis)).collect());
        };
        let simulations = match &agents[0] {
            Agent::Named(_, Some(number)) => *number,
            Agent::Named(_, None) => simulations.unwrap_or(DEFAULT_SIMULATIONS),
            Agent::Own(_) => simulations.unwrap_or(search.simulations),
        };
        let plan = Plan { search: search.clone(), simulations, seed };
        game.any().analyze(&states, &plan, &source, &|_| running.goes_on())
    })?;
    let described = |(analysis, state): (Option<Analysis>, &AnyState)| {
        analysis.map(|analysis| described(py, &game, state, &analysis)).transpose()
    };
    analyses.into_iter().zip(&states).map(described).collect()
}

fn described<'py>(
    py: Python<'py>,
    game: &Game,
    state: &AnyState,
    analysis: &Analysis,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("action", analysis.action.0)?;
    dict.set_item("text", game.asked(|| game.any().action_text(state, analysis.action))?)?;
    dict.set_item("value", analysis.value)?;
    dict.set_item("simulations", analysis.simulations)?;
    let legal: Vec<u16> = numbers(&game.asked(|| game.any().legal(state))?);
    // a perfect agent has no visits, priors, or values
    let (mut visits, mut priors, mut values) =
        (vec![0_u32; legal.len()], vec![0.0; legal.len()], vec![f32::NAN; legal.len()]);
    analysis.visits.iter().zip(&mut visits).for_each(|((_, value), out)| *out = *value);
    analysis.priors.iter().zip(&mut priors).for_each(|((_, value), out)| *out = *value);
    analysis.values.iter().zip(&mut values).for_each(|((_, value), out)| *out = value.unwrap_or(f32::NAN));
    dict.set_item("legal", PyArray1::from_vec(py, legal))?;
    dict.set_item("visits", PyArray1::from_vec(py, visits))?;
    dict.set_item("priors", PyArray1::<f32>::from_vec(py, priors))?;
    dict.set_item("values", PyArray1::from_vec(py, values))?;
    let line = game.asked(|| petteia::game::line_text(game.any(), state, &analysis.principal_variation))?;
    dict.set_item("line", line)?;
    Ok(dict)
}

/// Returns the evaluation of positions by an agent's network, without a search: (priors, wdl), float32 [n, actions] and
/// [n, 3].
#[pyfunction]
#[pyo3(name = "_evaluate")]
#[allow(clippy::type_complexity)]
pub fn evaluate<'py>(
    py: Python<'py>,
    positions: Vec<PyRef<Position>>,
    agent: &Bound<PyAny>,
    asking: Asking,
) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>)> {
    let game = game_of(&positions)?;
    let states = states(&game, &positions)?;
    drop(positions);
    let shape = game.rules.identity.shape;
    let legal: Vec<Vec<Action>> =
        game.asked(|| states.iter().map(|state| game.any().legal(state)).collect())?;
    if let Some(over) = legal.iter().position(Vec::is_empty) {
        return Err(PyValueError::new_err(format!("in position {over} the game is over")));
    }
    let (callables, agents) = agents(&[agent], shape, &asking)?;
    let batch = asking.batch;
    let n = states.len();
    let all_priors = zeros(n.saturating_mul(shape.actions))?;
    let (priors, wdl) = serve(py, game.written.as_ref(), &callables, |running| {
        let search = SearchConfig::default();
        let contestant = contestant(&game, &agents[0], Some(1), &search, (running, &callables))?;
        let Some(mut evaluator) = contestant.evaluator() else {
            return Err(Error::Config("this agent has no evaluator: it does not search".into()));
        };
        let (mut priors, mut wdl) = (all_priors, Vec::new());
        let mut out = Evaluations::new();
        for (first, part) in states.chunks(batch).enumerate() {
            if !running.goes_on() {
                return Err(Error::Interrupted);
            }
            let first = first * batch;
            let requests: Vec<Request<AnyGame>> = part
                .iter()
                .zip(&legal[first..])
                .map(|(state, legal)| Request { state, legal, seed: 0 })
                .collect();
            petteia::search::evaluator::evaluate(&mut *evaluator, &requests, &mut out)?;
            for (row, evaluation) in out.rows().enumerate() {
                let priors = &mut priors[(first + row) * shape.actions..][..shape.actions];
                legal[first + row]
                    .iter()
                    .zip(evaluation.priors)
                    .for_each(|(action, prior)| priors[action.index()] = *prior);
                wdl.extend([evaluation.wdl.win, evaluation.wdl.draw, evaluation.wdl.loss]);
            }
        }
        Ok((priors, wdl))
    })?;
    Ok((
        PyArray1::from_vec(py, priors).reshape([n, shape.actions])?,
        PyArray1::from_vec(py, wdl).reshape([n, 3])?,
    ))
}

/// Plays a match and returns its result as JSON.
#[pyfunction]
#[pyo3(name = "_play_match")]
pub fn play_match(
    py: Python,
    game: &Game,
    first: &Bound<PyAny>,
    second: &Bound<PyAny>,
    games: Whole<usize>,
    opening_plies: Whole<usize>,
    asking: Asking,
) -> PyResult<String> {
    let (games, opening_plies) = (games.0, opening_plies.0);
    expect_within("opening_plies", opening_plies, (0, MAX_OPENING_PLIES))?;
    if !(2..=MAX_MATCH_GAMES).contains(&games) || !games.is_multiple_of(2) {
        return Err(PyValueError::new_err(format!(
            "games={games}: an even number from 2 to {MAX_MATCH_GAMES} was expected; each opening is played twice"
        )));
    }
    let (callables, agents) = agents(&[first, second], game.rules.identity.shape, &asking)?;
    let Asking { simulations, seed, settings, .. } = asking;
    let settings = settings.as_ref();
    if callables.is_empty() {
        refuse_settings(settings)?;
    }
    let search = search_config(game, settings)?;
    let plan = Match { games, seed, opening_plies, book: None, sprt: None };
    let result = serve(py, game.written.as_ref(), &callables, |running| {
        let load = |agent| contestant(game, agent, simulations, &search, (running, &callables));
        let (first, second) = (load(&agents[0])?, load(&agents[1])?);
        game.any().play_match(&plan, [&first, &second], None, |_| running.goes_on())
    })?;
    Ok(serde_json::to_string(&result).expect("plain data"))
}

/// Collects the games of self-play as a single shard.
struct Collected {
    begun: AtomicUsize,
    records: Mutex<Vec<Record>>,
}

impl Shards for Collected {
    fn next(&self) -> Result<Option<usize>> {
        Ok((self.begun.fetch_add(1, Ordering::Relaxed) == 0).then_some(0))
    }

    fn played(&self, _: usize, records: Vec<Record>) -> Result<()> {
        *self.records.lock().expect("no panic while records are kept") = records;
        Ok(())
    }

    fn kept(&self) -> usize {
        0
    }
}

/// Plays games of an evaluator against itself and returns (records, arrays): the games as lines of JSON, and their
/// positions.
#[pyfunction]
#[pyo3(name = "_selfplay")]
pub fn selfplay<'py>(
    py: Python<'py>,
    game: &Game,
    agent: &Bound<PyAny>,
    games: Whole<usize>,
    asking: Asking,
) -> PyResult<(Vec<String>, Bound<'py, PyDict>)> {
    let games = games.0;
    expect_within("games", games, (0, MAX_GAMES))?;
    let (callables, agents) = agents(&[agent], game.rules.identity.shape, &asking)?;
    let Asking { simulations, seed, settings, .. } = asking;
    let settings = settings.as_ref();
    if let Some(settings) = settings {
        let names: Vec<String> = settings.keys().extract()?;
        let refused =
            |name: &&String| name.starts_with("game.") || ["seed", "selfplay.batch"].contains(&name.as_str());
        if let Some(name) = names.iter().find(refused) {
            return Err(PyValueError::new_err(format!(
                "settings: {name} cannot be set here: the game, the seed, and the batch are arguments"
            )));
        }
    }
    // `suited` plays some games, so other Python threads can run meanwhile
    let suited = py.detach(|| game.asked(|| suited(&game.rules).0))?;
    let mut config = changed(suited, "", settings)?;
    config.seed = seed;
    config.selfplay.batch = games.max(1);
    let number = if let Agent::Named(_, number) = &agents[0] { *number } else { None };
    let simulations = number.or(simulations).unwrap_or(config.search.simulations);
    let name = match &agents[0] {
        Agent::Own(_) => "generation 1".to_string(),
        Agent::Named(AgentSpec::Uniform(_), _) => format!("uniform:{simulations}"),
        Agent::Named(AgentSpec::Rollout(_), _) => format!("rollout:{simulations}"),
        Agent::Named(..) => {
            return Err(PyValueError::new_err(
                "self-play needs an evaluator: a function, \"uniform\", or \"rollout\"; for self-play of a trained \
                    agent, use `petteia train`",
            ));
        }
    };
    let generation = Generation {
        config: &config,
        identity: &game.rules.identity,
        number: 1,
        games,
        simulations,
        evaluator: name,
        starts: Starts::default(),
    };
    let collected = Collected { begun: AtomicUsize::new(0), records: Mutex::default() };
    let (lines, rows) = serve(py, game.written.as_ref(), &callables, |running| {
        let source = source_of(&agents[0], (running, &callables)).expect("others were refused");
        game.any().play_shards(&generation, &collected, (&source, 0), &|_| running.goes_on())?;
        let records = collected.records.lock().expect("no panic while records are kept");
        Ok((lines(&records), Rows::of(&game.rules, &records)?))
    })?;
    Ok((lines, rows.dict(py, game.rules.identity.shape)?))
}
