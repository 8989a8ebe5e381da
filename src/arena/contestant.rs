//! Agents that can play many games at once.
//!
//! Input: an [`AgentSpec`]. An agent that Petteia does not know enters a match through [`Contestant::searching`], which
//! takes an evaluator, or through [`Contestant::own`]. Output: a [`Contestant`], which is loaded once and makes an
//! [`Agent`] for each game.

use std::sync::Arc;

use rand::RngExt;

use super::agent::{Agent, MakeEvaluator, Needs};
use super::external::{External, ExternalProgram};
use super::levels::{agent_of_level, is_proved, shipped_agent};
use super::perfect::{Perfect, solver};
use super::searching::{SearchAgent, Searcher};
use super::spec::{AgentSpec, SHIPPED};
use crate::checkpoint::Checkpoint;
use crate::config::{DeviceKind, EvaluatorKind, Precision, SearchConfig};
use crate::error::{Error, Result};
use crate::game::{Action, Game, Rules};
use crate::net::device::Processor;
use crate::net::evaluator::SharedNet;
use crate::net::precision::fastest;
use crate::net::source::Source;
use crate::random::{Random, choose};
use crate::search::cache::Cached;
use crate::search::crew::Crew;
use crate::search::evaluator::Evaluator;
use crate::search::together::InFlight;
use crate::solve::Solver;

/// The number of positions that a search is assumed to evaluate together, for measuring which precision is fastest.
const TOGETHER: usize = 8;
/// The number of plies at the start of a game during which an agent varies its replies to a person.
pub(crate) const VARIED_PLIES: usize = 12;

/// A loaded agent that can play many games at once.
pub struct Contestant<G: Game> {
    identity: String,
    kind: AgentKind<G>,
    /// The number of threads that search one tree.
    threads: usize,
}

type MakeAgent<G> = Box<dyn Fn(Random) -> Box<dyn Agent<G>> + Send + Sync>;

enum AgentKind<G: Game> {
    Random(G),
    /// Perfect play, with the temperature at which actions are drawn; 0 plays the best action.
    Perfect(G, f32),
    Searching {
        game: G,
        search: SearchConfig,
        simulations: usize,
        temperature: f32,
        evaluates: Evaluates<G>,
    },
    External(G, Arc<ExternalProgram>),
    Own(MakeAgent<G>),
}

/// The evaluator of a search.
#[derive(Clone)]
enum Evaluates<G: Game> {
    Known(Source),
    Own(MakeEvaluator<G>),
}

impl<G: Game> Evaluates<G> {
    fn make(&self, game: &G) -> MakeEvaluator<G> {
        let (source, game) = match self {
            Evaluates::Own(make) => return make.clone(),
            Evaluates::Known(source) => (source.clone(), game.clone()),
        };
        Arc::new(move |needs: Needs| -> Box<dyn Evaluator<G>> {
            let crew = Crew::new(needs.threads, || source.evaluator(&game, 0));
            match &source {
                Source::Net(_) | Source::Timed(..) => {
                    Box::new(Cached::new(game.clone(), crew, needs.cache()))
                }
                Source::Rollout | Source::Uniform => Box::new(crew),
            }
        })
    }

    /// Returns whether evaluating several positions at once takes less time than evaluating them one after another.
    fn gains_by_batches(&self) -> bool {
        !matches!(self, Evaluates::Known(Source::Rollout | Source::Uniform))
    }

    /// Returns the number of positions that the evaluator [wants](Evaluator::batch) in one batch.
    fn wanted(&self) -> usize {
        match self {
            Evaluates::Known(source) => source.batch(),
            Evaluates::Own(make) => make(Needs::alone(1)).batch(),
        }
    }
}

debug_fields!(Contestant<G: Game>, identity);

impl<G: Game> Contestant<G> {
    /// Loads the agent, whose network runs on this CPU. A checkpoint must belong to the same game.
    ///
    /// # Errors
    /// If the agent cannot be loaded, is external, or belongs to another game.
    pub fn new(rules: &Rules<G>, spec: &AgentSpec) -> Result<Contestant<G>> {
        Contestant::on(rules, spec, &Processor::Cpu)
    }

    /// Does the same as [`Contestant::new`], but runs the network on `processor`, whichever device the network's run
    /// used.
    ///
    /// # Errors
    /// As for [`Contestant::new`], or if the network cannot be brought onto `processor`.
    pub fn on(rules: &Rules<G>, spec: &AgentSpec, processor: &Processor) -> Result<Contestant<G>> {
        let Rules { game, identity, .. } = rules;
        let (name, search) = (spec.to_string(), SearchConfig::default().one_by_one());
        let searching = |source, simulations: usize| AgentKind::Searching {
            game: game.clone(),
            search: search.clone(),
            simulations,
            temperature: 0.0,
            evaluates: Evaluates::Known(source),
        };
        let contestant = |identity, kind| Ok(Contestant { identity, kind, threads: 1 });
        match spec {
            AgentSpec::External(_) => Err(Error::Config(format!(
                "agent `{spec}`: other programs play in `petteia arena` only; a run must be determined by its \
                 settings, so it cannot depend on another program"
            ))),
            AgentSpec::Random => contestant(name, AgentKind::Random(game.clone())),
            AgentSpec::Perfect => {
                solver(game).and_then(|_| contestant(name, AgentKind::Perfect(game.clone(), 0.0)))
            }
            AgentSpec::Rollout(simulations) => contestant(name, searching(Source::Rollout, *simulations)),
            AgentSpec::Uniform(simulations) => contestant(name, searching(Source::Uniform, *simulations)),
            AgentSpec::Trained(path, simulations, precision) => {
                let checkpoint = Checkpoint::find(path)?;
                checkpoint.manifest.game.expect(identity, &path.display().to_string())?;
                Contestant::loaded(game, &checkpoint, spec, *simulations, *precision, processor)
            }
            AgentSpec::Shipped(..) if is_proved(rules) => {
                contestant(format!("{SHIPPED}, perfect play"), AgentKind::Perfect(game.clone(), 0.0))
            }
            AgentSpec::Drawing(agent, temperature) => {
                Ok(Contestant::on(rules, agent, processor)?.drawing(*temperature))
            }
            AgentSpec::Level(level) => {
                let agent = Contestant::on(rules, &agent_of_level(rules, *level)?, processor)?;
                Ok(Contestant { identity: format!("{name}, {}", agent.identity), ..agent })
            }
            AgentSpec::Shipped(simulations, precision) => {
                Contestant::loaded(game, &shipped_agent(rules)?, spec, *simulations, *precision, processor)
            }
        }
    }

    /// Returns the agent `spec` with the network of the checkpoint.
    fn loaded(
        game: &G,
        checkpoint: &Checkpoint,
        spec: &AgentSpec,
        simulations: usize,
        precision: Option<Precision>,
        processor: &Processor,
    ) -> Result<Contestant<G>> {
        let mut name = spec.to_string();
        let search = checkpoint.reading()?.config.search;
        let network = checkpoint.network()?;
        let mut config = checkpoint.manifest.net.clone();
        if precision == Some(Precision::Bf16) && config.evaluator == EvaluatorKind::Burn {
            return Err(Error::Config(format!(
                "agent `{spec}`: this run has net.evaluator = \"burn\", which computes in f32; omit `:bf16`"
            )));
        }
        config.precision = precision.unwrap_or(config.precision);
        let named = precision.filter(|named| *named != Precision::Auto);
        if let Some(named) = named.filter(|_| processor.kind() != DeviceKind::Cpu) {
            return Err(Error::Config(format!(
                "agent `{spec}`: a GPU has its own precision; omit `:{named}`"
            )));
        }
        if config.precision == Precision::Auto && processor.kind() == DeviceKind::Cpu {
            config.precision = fastest(game, &network, &config, TOGETHER);
            name = format!("{name} ({})", config.precision);
        }
        if processor.kind() != DeviceKind::Cpu {
            name = format!("{name} ({})", processor.kind());
        }
        let net = SharedNet::on(&network, &config, processor)?;
        let mut contestant = Contestant::trained(game, &search, net, simulations);
        // after further training, the same run is a different agent
        contestant.identity = format!("{name}, SHA-256 {}", checkpoint.tensors_sha256());
        Ok(contestant)
    }

    /// Makes the agent draw its actions at this temperature, if it searches or is perfect.
    fn drawing(self, drawn_at: f32) -> Contestant<G> {
        let identity = format!("{}, temperature {drawn_at}", self.identity);
        let kind = match self.kind {
            AgentKind::Searching { game, search, simulations, evaluates, .. } => {
                AgentKind::Searching { game, search, simulations, temperature: drawn_at, evaluates }
            }
            AgentKind::Perfect(game, _) => AgentKind::Perfect(game, drawn_at),
            other => other,
        };
        Contestant { identity, kind, ..self }
    }

    /// Returns the user's text and, for a trained agent, the SHA-256 of its weights.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns a contestant that searches with this network, for evaluation during training.
    pub fn trained(game: &G, search: &SearchConfig, net: SharedNet, simulations: usize) -> Contestant<G> {
        let evaluates = Evaluates::Known(Source::Net(net));
        Contestant::of("a network in memory".into(), game, search, simulations, evaluates)
    }

    /// Returns a contestant that searches with a custom evaluator and makes this many
    /// [simulations](crate::search::Search) per action. An evaluator is created for each thread, or for each game if
    /// games are not played together. A journal identifies the contestant by its name.
    pub fn searching<E: Evaluator<G> + 'static>(
        game: &G,
        name: impl Into<String>,
        search: &SearchConfig,
        simulations: usize,
        evaluator: impl Fn() -> E + Send + Sync + 'static,
    ) -> Contestant<G> {
        let evaluator =
            move |needs: Needs| -> Box<dyn Evaluator<G>> { Box::new(Crew::new(needs.threads, &evaluator)) };
        Contestant::of(name.into(), game, search, simulations, Evaluates::Own(Arc::new(evaluator)))
    }

    fn of(
        identity: String,
        game: &G,
        search: &SearchConfig,
        simulations: usize,
        evaluates: Evaluates<G>,
    ) -> Contestant<G> {
        let (game, search) = (game.clone(), search.clone());
        Contestant {
            identity,
            kind: AgentKind::Searching { game, search, simulations, temperature: 0.0, evaluates },
            threads: 1,
        }
    }

    /// Returns whether nothing about the agent depends on the type of its game, so that it can play a game of [another
    /// type](Contestant::of_game).
    pub fn is_known(&self) -> bool {
        !matches!(&self.kind, AgentKind::Own(_) | AgentKind::Searching { evaluates: Evaluates::Own(_), .. })
    }

    /// Returns this agent for the same rules in the form of another type. Returns `None` if the agent has a custom
    /// evaluator or a custom way to choose, because these work for one type only.
    pub fn of_game<H: Game>(&self, game: &H) -> Option<Contestant<H>> {
        let kind = match &self.kind {
            AgentKind::Random(_) => AgentKind::Random(game.clone()),
            AgentKind::Perfect(_, temperature) => AgentKind::Perfect(game.clone(), *temperature),
            AgentKind::External(_, program) => AgentKind::External(game.clone(), program.clone()),
            AgentKind::Searching {
                search,
                simulations,
                temperature,
                evaluates: Evaluates::Known(source),
                ..
            } => AgentKind::Searching {
                game: game.clone(),
                search: search.clone(),
                simulations: *simulations,
                temperature: *temperature,
                evaluates: Evaluates::Known(source.clone()),
            },
            AgentKind::Own(_) | AgentKind::Searching { evaluates: Evaluates::Own(_), .. } => return None,
        };
        Some(Contestant { identity: self.identity.clone(), kind, threads: self.threads })
    }

    /// Sets the number of threads of each search, at least 1. The agent chooses the same actions, but faster.
    pub fn with_threads(self, threads: usize) -> Contestant<G> {
        Contestant { threads, ..self }
    }

    /// Returns whether each search runs on a single thread.
    pub(super) fn is_single_threaded(&self) -> bool {
        self.threads == 1
    }

    /// Returns a custom contestant: `agent` makes the agent for each game, from a random stream. A journal identifies
    /// the contestant by its name.
    pub fn own(
        name: impl Into<String>,
        agent: impl Fn(u64) -> Box<dyn Agent<G>> + Send + Sync + 'static,
    ) -> Contestant<G> {
        let agent = move |mut random: Random| agent(random.random());
        Contestant { identity: name.into(), kind: AgentKind::Own(Box::new(agent)), threads: 1 }
    }

    /// Returns a contestant that is an external program.
    pub fn external(game: &G, program: ExternalProgram) -> Contestant<G> {
        let identity = program.identity();
        Contestant { identity, kind: AgentKind::External(game.clone(), Arc::new(program)), threads: 1 }
    }

    /// Returns whether the agent is one of this program's tree searches.
    pub fn searches(&self) -> bool {
        matches!(self.kind, AgentKind::Searching { .. })
    }

    /// Returns how many of `tasks` games or positions of these agents should be in flight. Each search makes
    /// `searching` simulations or, with `None`, the agent's own number. Agents that neither search nor choose at random
    /// may block a thread or need a process for each game.
    pub fn in_flight(agents: &[&Contestant<G>], tasks: usize, searching: Option<usize>) -> InFlight {
        let (mut most, mut wanted, mut gains) = (0, 1, false);
        for agent in agents {
            let (simulations, evaluates) = match &agent.kind {
                AgentKind::Searching { simulations, evaluates, .. } => (simulations, evaluates),
                AgentKind::Random(_) => continue,
                _ => return InFlight::OnEachThread(1),
            };
            most = most.max(searching.unwrap_or(*simulations));
            wanted = wanted.max(evaluates.wanted());
            gains |= evaluates.gains_by_batches();
        }
        if gains { InFlight::of(tasks, most, wanted) } else { InFlight::OnEachThread(1) }
    }

    /// Makes an agent for one game.
    ///
    /// ```
    /// # use petteia::arena::contestant::Contestant;
    /// # use petteia::arena::spec::AgentSpec;
    /// # use petteia::game::{Game, GameOptions, Rules};
    /// # use petteia::random::{Purpose, stream};
    /// let rules = Rules::<petteia::games::tic_tac_toe::TicTacToe>::new(&GameOptions::default())?;
    /// let perfect = Contestant::new(&rules, &AgentSpec::Perfect)?;
    /// let state = rules.game.parse_state("X../.../... O")?;
    /// let action = perfect.agent(stream(1, Purpose::Agent, &[])).choose(&state)?;
    /// assert_eq!(rules.game.action_text(&state, action), "b2");
    /// # Ok::<(), petteia::error::Error>(())
    /// ```
    #[expect(
        clippy::missing_panics_doc,
        reason = "each kind of agent is made from what this contestant holds"
    )]
    pub fn agent(&self, random: Random) -> Box<dyn Agent<G>> {
        match &self.kind {
            AgentKind::Random(game) => Box::new(RandomAgent { game: game.clone(), random }),
            AgentKind::Perfect(..) => Box::new(self.perfect(random).expect("it is perfect")),
            AgentKind::Searching { .. } => Box::new(self.search_agent(random).expect("it searches")),
            AgentKind::External(game, program) => Box::new(External::new(game, program)),
            AgentKind::Own(agent) => agent(random),
        }
    }

    /// Returns whether the agent knows the best actions of its game.
    pub fn is_perfect(&self) -> bool {
        matches!(self.kind, AgentKind::Perfect(..))
    }

    /// Returns the solver of a perfect agent; `None` for other agents. Making it solves the initial position.
    pub fn solver(&self) -> Option<Solver<G>> {
        match &self.kind {
            AgentKind::Perfect(game, _) => solver(game).ok(),
            _ => None,
        }
    }

    /// Returns the agent for one game, if it is perfect.
    pub fn perfect(&self, random: Random) -> Option<Perfect<G>> {
        match &self.kind {
            AgentKind::Perfect(game, temperature) => {
                Some(Perfect::new(game.clone(), random).at(*temperature))
            }
            _ => None,
        }
    }

    /// Returns the agent for one game, if it searches.
    pub fn search_agent(&self, random: Random) -> Option<SearchAgent<G>> {
        Some(SearchAgent::threaded(self.searcher(random)?, self.make_evaluator()?, self.threads))
    }

    /// Returns a searcher for one game, if the contestant searches. The searcher has no evaluator:
    /// [`Contestant::evaluator`] evaluates its leaves.
    pub(crate) fn searcher(&self, random: Random) -> Option<Searcher<G>> {
        match &self.kind {
            AgentKind::Searching { game, search, simulations, temperature, .. } => {
                Some(Searcher::new(game.clone(), search.clone(), *simulations, random).at(*temperature))
            }
            _ => None,
        }
    }

    /// Returns an evaluator for any number of the contestant's searches, if it searches.
    pub fn evaluator(&self) -> Option<Box<dyn Evaluator<G>>> {
        self.evaluator_among(1)
    }

    /// Does the same as [`Contestant::evaluator`] for one of `agents` agents that work at the same time and share the
    /// memory for caches.
    pub(crate) fn evaluator_among(&self, agents: usize) -> Option<Box<dyn Evaluator<G>>> {
        self.make_evaluator().map(|make| make(Needs { threads: self.threads, agents }))
    }

    fn make_evaluator(&self) -> Option<MakeEvaluator<G>> {
        match &self.kind {
            AgentKind::Searching { game, evaluates, .. } => Some(evaluates.make(game)),
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
