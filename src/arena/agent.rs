//! Agents: whoever chooses an action. `random`, `perfect`, `rollout:SIMS`, `uniform:SIMS`, a trained
//! `RUN-OR-CHECKPOINT[:SIMS][:f32|:bf16]`, or another program, `ugi:COMMAND`.
//!
//! An [`AgentSpec`] is what the user wrote, a [`Contestant`] is loaded once and makes an [`Agent`] for each game. Those of
//! one's own enter a match as [`Contestant::searching`], by an evaluator, or [`Contestant::own`].

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::RngExt;

use super::external::{self, External, Program};
use super::perfect::{Perfect, Solver};
use crate::checkpoint::Checkpoint;
use crate::config::limits::MAX_SIMULATIONS;
use crate::config::{EvaluatorKind, Precision, SearchConfig};
use crate::error::{Error, Result, quoted};
use crate::game::{Action, Game, Rules};
use crate::net::cpu::CpuNet;
use crate::net::evaluator::SharedNet;
use crate::net::model;
use crate::random::{Random, choose};
use crate::search::Search;
use crate::search::cache::Cached;
use crate::search::evaluator::{Evaluator, Rollout, Uniform};

/// Simulations of a trained agent when the user names none; see [`Search`] for what counts as one.
pub const DEFAULT_SIMULATIONS: usize = 100;
/// Mebibytes of a trained agent's memory of what its network said: positions come back within a search and from
/// one to the next, and are not computed again.
const CACHE: usize = 4;

/// Chooses actions in one game.
pub trait Agent<G: Game>: Send {
    /// The action to play in `state`, which is not the end of the game. [`Error::Fault`] forfeits the game.
    fn choose(&mut self, state: &G::State) -> Result<Action>;
    /// Hears of every action of the game, its own included.
    fn played(&mut self, _before: &G::State, _action: Action) {}
}

/// An agent as the user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentSpec {
    /// Uniformly random actions.
    Random,
    /// Never errs; small games only.
    Perfect,
    /// Tree search with random playouts.
    Rollout(usize),
    /// Tree search without any knowledge.
    Uniform(usize),
    /// Tree search with a trained network, in its own precision or another.
    Trained(PathBuf, usize, Option<Precision>),
    /// A program with its arguments, for `petteia arena` alone.
    External(String),
}

impl AgentSpec {
    /// Parses `text`; a trained agent must exist. Its path need not be UTF-8.
    pub fn parse(text: impl AsRef<OsStr>) -> Result<AgentSpec> {
        match text.as_ref().to_str() {
            Some(text) => AgentSpec::parse_text(text),
            None => AgentSpec::parse_path(text.as_ref()),
        }
    }

    /// An agent whose name is not UTF-8, so it is trained: a path, which nothing follows unless it exists without that.
    fn parse_path(text: &OsStr) -> Result<AgentSpec> {
        let (mut path, mut simulations, mut precision) = (text, None, None);
        while !Path::new(path).exists()
            && let Some((rest, part)) = split_suffix(path)
        {
            match (part, precision, simulations) {
                ("f32", None, None) => precision = Some(Precision::F32),
                ("bf16", None, None) => precision = Some(Precision::Bf16),
                (number, _, None) => {
                    simulations = Some(parse_simulations(&text.to_string_lossy(), number)?);
                }
                _ => break,
            }
            path = rest;
        }
        AgentSpec::trained(path, simulations, precision, &text.to_string_lossy())
    }

    /// A trained agent, written `whole`.
    fn trained(
        path: impl AsRef<Path>,
        simulations: Option<usize>,
        precision: Option<Precision>,
        whole: &str,
    ) -> Result<AgentSpec> {
        let path = path.as_ref();
        if !path.exists() {
            let found = Checkpoint::find(path).err().map(|e| format!(": {e}")).unwrap_or_default();
            return Err(Error::Missing(format!(
                "unknown agent {}{found}\n  agents: random, perfect, rollout:SIMS, uniform:SIMS, RUN-OR-CHECKPOINT[:SIMS][:f32|:bf16], in an arena ugi:COMMAND",
                quoted(whole)
            )));
        }
        if precision == Some(Precision::Bf16) && !CpuNet::has(Precision::Bf16) {
            return Err(Error::Config(format!(
                "agent {}: this CPU lacks AVX-512 BF16 instructions, leave out `:bf16`",
                quoted(whole)
            )));
        }
        Ok(AgentSpec::Trained(path.into(), simulations.unwrap_or(DEFAULT_SIMULATIONS), precision))
    }

    fn parse_text(text: &str) -> Result<AgentSpec> {
        if let Some(command) = text.strip_prefix("ugi:") {
            return external::split(command).map(|_| AgentSpec::External(command.into()));
        }
        let whole = text;
        let (text, precision) = match text.rsplit_once(':') {
            Some((agent, "f32")) if !Path::new(text).exists() => (agent, Some(Precision::F32)),
            Some((agent, "bf16")) if !Path::new(text).exists() => (agent, Some(Precision::Bf16)),
            _ => (text, None),
        };
        let (name, simulations) = match text.rsplit_once(':') {
            Some((name, number)) if !Path::new(text).exists() => {
                (name, Some(parse_simulations(text, number)?))
            }
            _ => (text, None),
        };
        let needed = || {
            simulations
                .ok_or_else(|| Error::Config(format!("agent `{text}` needs simulations: `{text}:400`")))
        };
        match name {
            "random" | "perfect" | "rollout" | "uniform" if precision.is_some() => {
                Err(Error::Config(format!("agent `{whole}`: {name} has no network, write just `{text}`")))
            }
            "random" | "perfect" if simulations.is_some() => {
                Err(Error::Config(format!("agent `{text}`: {name} does not search, write just `{name}`")))
            }
            "random" => Ok(AgentSpec::Random),
            "perfect" => Ok(AgentSpec::Perfect),
            "rollout" => Ok(AgentSpec::Rollout(needed()?)),
            "uniform" => Ok(AgentSpec::Uniform(needed()?)),
            // an agent that does not exist may have been meant for one of those above
            _ => AgentSpec::trained(name, simulations, precision, whole),
        }
    }
}

/// What stands before and behind the last colon, where that is text.
#[cfg(unix)]
fn split_suffix(text: &OsStr) -> Option<(&OsStr, &str)> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = text.as_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b':')?;
    Some((OsStr::from_bytes(&bytes[..at]), std::str::from_utf8(&bytes[at + 1..]).ok()?))
}

/// Elsewhere such a name is taken as it is.
#[cfg(not(unix))]
fn split_suffix(_text: &OsStr) -> Option<(&OsStr, &str)> {
    None
}

impl fmt::Display for AgentSpec {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            AgentSpec::External(command) => write!(out, "ugi:{command}"),
            AgentSpec::Random => out.write_str("random"),
            AgentSpec::Perfect => out.write_str("perfect"),
            AgentSpec::Rollout(simulations) => write!(out, "rollout:{simulations}"),
            AgentSpec::Uniform(simulations) => write!(out, "uniform:{simulations}"),
            AgentSpec::Trained(path, simulations, precision) => {
                write!(out, "{}:{simulations}", path.display())?;
                match precision {
                    None => Ok(()),
                    Some(Precision::F32) => out.write_str(":f32"),
                    Some(Precision::Bf16) => out.write_str(":bf16"),
                }
            }
        }
    }
}

fn parse_simulations(text: &str, number: &str) -> Result<usize> {
    match number.parse() {
        Ok(simulations) if (1..=MAX_SIMULATIONS).contains(&simulations) => Ok(simulations),
        _ => {
            let precision = match text.starts_with("rollout:") || text.starts_with("uniform:") {
                true => "",
                false => " and no precision (f32, bf16)",
            };
            Err(Error::Config(format!(
                "agent {}: {} is no number of simulations (1 to {MAX_SIMULATIONS}){precision}",
                quoted(text),
                quoted(number)
            )))
        }
    }
}

/// An agent that is loaded and can enter many games at once.
pub struct Contestant<G: Game> {
    identity: String,
    kind: Kind<G>,
}

type MakeEvaluator<G> = Box<dyn Fn() -> Box<dyn Evaluator<G>> + Send + Sync>;
type MakeAgent<G> = Box<dyn Fn(Random) -> Box<dyn Agent<G>> + Send + Sync>;

enum Kind<G: Game> {
    Perfect(G),
    Searching { game: G, search: SearchConfig, simulations: usize, evaluator: MakeEvaluator<G> },
    Other(MakeAgent<G>),
}

debug_fields!(Contestant<G: Game>, identity);

impl<G: Game> Contestant<G> {
    /// Loads what the agent needs; a checkpoint must be of the same game.
    pub fn new(rules: &Rules<G>, spec: &AgentSpec) -> Result<Contestant<G>> {
        let Rules { game, identity } = rules;
        let (name, search) = (spec.to_string(), SearchConfig::default());
        match spec {
            AgentSpec::External(_) => Err(Error::Config(format!(
                "agent `{spec}`: other programs play in `petteia arena` only; the settings of a run decide its \
                 result, so it cannot depend on one"
            ))),
            AgentSpec::Random => {
                let game = game.clone();
                let agent = move |random| Box::new(RandomAgent { game: game.clone(), random }) as Box<_>;
                Ok(Contestant { identity: name, kind: Kind::Other(Box::new(agent)) })
            }
            AgentSpec::Perfect => {
                Solver::new(game.clone()).solve(&game.initial())?;
                Ok(Contestant { identity: name, kind: Kind::Perfect(game.clone()) })
            }
            AgentSpec::Rollout(simulations) => {
                let rules = game.clone();
                Ok(Contestant::searching(game, name, &search, *simulations, move || {
                    Rollout::new(rules.clone())
                }))
            }
            AgentSpec::Uniform(simulations) => {
                Ok(Contestant::searching(game, name, &search, *simulations, || Uniform))
            }
            AgentSpec::Trained(path, simulations, precision) => {
                let checkpoint = Checkpoint::find(path)?;
                checkpoint.manifest.game.expect(identity, &path.display().to_string())?;
                let search = checkpoint.reading()?.config.search;
                let network = checkpoint.network(&model::device())?;
                let mut config = checkpoint.manifest.net.clone();
                if *precision == Some(Precision::Bf16) && config.evaluator == EvaluatorKind::Burn {
                    return Err(Error::Config(format!(
                        "agent `{}:bf16`: this run has net.evaluator = \"burn\", which computes in f32",
                        path.display()
                    )));
                }
                config.precision = precision.unwrap_or(config.precision);
                let net = SharedNet::new(&network, identity.shape, &config);
                let mut contestant = Contestant::trained(game, &search, net, *simulations);
                // a run that was trained further is another agent
                contestant.identity = format!("{name}, SHA-256 {}", checkpoint.tensors_sha256());
                Ok(contestant)
            }
        }
    }

    /// What the user wrote, and of a trained agent the SHA-256 of its weights.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// A contestant with this network, for evaluation during training.
    pub fn trained(game: &G, search: &SearchConfig, net: SharedNet, simulations: usize) -> Contestant<G> {
        let rules = game.clone();
        let evaluator = move || Cached::new(rules.clone(), net.evaluator(&rules), CACHE);
        Contestant::searching(game, "a network in memory", search, simulations, evaluator)
    }

    /// A contestant that searches so many [simulations](Search) an action by an evaluator of one's own, which is made for
    /// each game. A journal knows it by its name.
    pub fn searching<E: Evaluator<G> + 'static>(
        game: &G,
        name: impl Into<String>,
        search: &SearchConfig,
        simulations: usize,
        evaluator: impl Fn() -> E + Send + Sync + 'static,
    ) -> Contestant<G> {
        let evaluator: MakeEvaluator<G> = Box::new(move || Box::new(evaluator()));
        let kind = Kind::Searching { game: game.clone(), search: search.clone(), simulations, evaluator };
        Contestant { identity: name.into(), kind }
    }

    /// A contestant of one's own: `agent` makes it for each game, from a seed. A journal knows it by its name.
    pub fn own(
        name: impl Into<String>,
        agent: impl Fn(u64) -> Box<dyn Agent<G>> + Send + Sync + 'static,
    ) -> Contestant<G> {
        let agent = move |mut random: Random| agent(random.random());
        Contestant { identity: name.into(), kind: Kind::Other(Box::new(agent)) }
    }

    /// A contestant that is another program.
    pub fn external(game: &G, program: Program) -> Contestant<G> {
        let (identity, game, program) = (program.identity(), game.clone(), Arc::new(program));
        let agent = move |_: Random| Box::new(External::new(&game, &program)) as Box<_>;
        Contestant { identity, kind: Kind::Other(Box::new(agent)) }
    }

    /// An agent for one game.
    pub fn agent(&self, random: Random) -> Box<dyn Agent<G>> {
        match &self.kind {
            Kind::Perfect(game) => Box::new(Perfect { solver: Solver::new(game.clone()), random }),
            Kind::Searching { game, search, simulations, evaluator } => {
                Box::new(SearchAgent::new(game.clone(), search.clone(), *simulations, evaluator(), random))
            }
            Kind::Other(agent) => agent(random),
        }
    }

    /// What knows the truth of a position; `None` for agents that do not.
    pub fn solver(&self) -> Option<Solver<G>> {
        match &self.kind {
            Kind::Perfect(game) => Some(Solver::new(game.clone())),
            _ => None,
        }
    }

    /// The agent for one game, if it is one that searches.
    pub fn search_agent(&self, random: Random) -> Option<SearchAgent<G>> {
        match &self.kind {
            Kind::Searching { game, search, simulations, evaluator } => {
                Some(SearchAgent::new(game.clone(), search.clone(), *simulations, evaluator(), random))
            }
            _ => None,
        }
    }
}

struct RandomAgent<G> {
    game: G,
    random: Random,
}

impl<G: Game> Agent<G> for RandomAgent<G> {
    fn choose(&mut self, state: &G::State) -> Result<Action> {
        Ok(choose(&mut self.random, &self.game.legal(state)))
    }
}

/// Chooses by tree search, and keeps its tree between actions.
pub struct SearchAgent<G: Game> {
    game: G,
    config: SearchConfig,
    simulations: usize,
    evaluator: Box<dyn Evaluator<G>>,
    random: Random,
    search: Option<Search<G>>,
}

debug_fields!(SearchAgent<G: Game>, simulations, config, search);

/// What a search says of a position.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The action to play.
    pub action: Action,
    /// For the player to move, -1..1.
    pub value: f32,
    /// Visits of every legal action, ascending by action.
    pub visits: Vec<(Action, u32)>,
    /// The evaluator's probability of every legal action, likewise.
    pub priors: Vec<(Action, f32)>,
    /// The expected continuation, `action` first.
    pub principal_variation: Vec<Action>,
    /// [Simulations](Search) that it took.
    pub simulations: usize,
}

impl<G: Game> SearchAgent<G> {
    /// An agent that searches so many [simulations](Search) an action. `random` is where rollouts get their seeds.
    pub fn new(
        game: G,
        config: SearchConfig,
        simulations: usize,
        evaluator: impl Evaluator<G> + 'static,
        random: Random,
    ) -> SearchAgent<G> {
        SearchAgent { game, config, simulations, evaluator: Box::new(evaluator), random, search: None }
    }

    /// Searches `state`, which is not the end of the game, with the agent's simulations, on top of what it kept from the
    /// position before. Fails when its evaluator does.
    pub fn analyze(&mut self, state: &G::State) -> Result<Analysis> {
        self.search(state, Some(self.simulations), |_| true)
    }

    /// Searches `state` on top of what was kept: `planned` simulations, or without end, as long as `more` says so. The
    /// root is evaluated in any case. A search without a plan has a PUCT root.
    pub fn search(
        &mut self,
        state: &G::State,
        planned: Option<usize>,
        more: impl FnMut(&Search<G>) -> bool,
    ) -> Result<Analysis> {
        let kept = self.search.take().filter(|search| search.tree().root() == state);
        let anew = || Search::new(self.game.clone(), self.config.clone(), state.clone());
        let mut search = kept.unwrap_or_else(anew);
        search.begin(planned, false);
        search.run_while(self.evaluator.as_mut(), &mut self.random, more)?;
        let analysis = Analysis::of(&search);
        self.search = Some(search);
        Ok(analysis)
    }

    /// The simulations that the agent searches when nobody says how many.
    pub fn simulations(&self) -> usize {
        self.simulations
    }

    /// Forgets the positions of the game; the search that it had of them.
    pub fn forget(&mut self) -> Option<Search<G>> {
        self.search.take()
    }
}

impl Analysis {
    /// What the search says so far.
    ///
    /// # Panics
    ///
    /// When its root was not evaluated.
    pub fn of<G: Game>(search: &Search<G>) -> Analysis {
        let tree = search.tree();
        Analysis {
            action: tree.best_action().expect("the root was evaluated"),
            value: tree.root_wdl().value(),
            visits: tree.root_edges().map(|edge| (edge.action, edge.visits)).collect(),
            priors: tree.root_edges().map(|edge| (edge.action, edge.prior)).collect(),
            principal_variation: tree.principal_variation(),
            simulations: search.simulations(),
        }
    }
}

impl<G: Game> Agent<G> for SearchAgent<G> {
    fn choose(&mut self, state: &G::State) -> Result<Action> {
        Ok(self.analyze(state)?.action)
    }

    fn played(&mut self, before: &G::State, action: Action) {
        match &mut self.search {
            Some(search) if search.tree().root() == before => search.advance(action),
            _ => self.search = None,
        }
    }
}
