//! Estimates the remaining time of a run. Input: the plan, the costs of work on this machine, and the events of the run
//! with their times. Output: seconds. No clock is read here.
//!
//! A run is a list of phases: each generation plays, trains, is evaluated and rated. Each kind of [`RunWork`] has its
//! own pace, the seconds that one thread needs for a unit. The paces come from [`Costs`] at first, and observations
//! gradually replace them. The amount of work depends on the length of games. Games in flight were started together and
//! will end together, so each counts with its expected final length ([`rest`]).

mod plan;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use crate::arena::Standing;
use crate::run::Event;
use crate::selfplay::Progress;
use plan::Load;
pub use plan::Plan;

#[cfg(test)]
thread_local! {
    /// Counts how often the length of games and the time of a generation were computed: the cost of a forecast.
    static COMPUTED: std::cell::Cell<[usize; 2]> = const { std::cell::Cell::new([0; 2]) };
}

/// The weight of a pace that was measured before the run, as seconds of observed work.
const TRUST: f64 = 2.0;
/// The weight of the expected length of games, as a number of games plus a share of the games in flight: trusted if
/// it is based on games like these, doubted if it is not.
const TRUSTED: (f64, f64) = (8.0, 0.25);
pub const DOUBTED: (f64, f64) = (4.0, 0.1);
/// The scale of the logistic distribution of game lengths with a mean of 1: a standard deviation of 18%.
const SPREAD: f64 = 0.1;

/// Kinds of work in the order of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RunWork {
    /// Simulations of games without a network.
    Bootstrap,
    /// Simulations of games by the network.
    Selfplay,
    /// Optimizer steps.
    Training,
    /// Games against the opponent.
    Evaluation,
    /// Games against earlier generations.
    Rating,
    /// The generation has nothing left to do.
    Done,
}

/// The costs of work on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Thread seconds per simulation in a bootstrap game.
    pub bootstrap: f64,
    /// Thread seconds per simulation in a game by the network.
    pub selfplay: f64,
    /// Seconds per optimizer step.
    pub step: f64,
    /// Thread seconds per action of the network in a match.
    pub agent: f64,
    /// Thread seconds per action in the evaluation, the mean of both agents.
    pub evaluation: f64,
    /// Searched actions per game.
    pub plies: f64,
    /// The share of the planned simulations that the bootstrap and games by the network take: solved positions need
    /// none.
    pub spent: [f64; 2],
}

/// The estimate of the remaining time of a run.
pub struct Forecast {
    plan: Plan,
    costs: Costs,
    /// The work of each kind in this session so far: its span ([`Load::span`]) and its seconds.
    seen: [(f64, f64); 5],
    /// Searched actions per game in the bootstrap and by the network, and the share of the planned simulations that
    /// they take: some searches end early.
    plies: [f64; 2],
    spent: [f64; 2],
    /// Whether games by the network were observed, not only those of the bootstrap.
    knows_network: bool,
    generation: usize,
    /// The next work of the generation that has not begun; all work before it is done.
    next: RunWork,
    phase: Option<Phase>,
    /// The time of the last event.
    last_event: f64,
}

/// The current work.
struct Phase {
    work: RunWork,
    began: f64,
    load: Load,
    done: f64,
    /// The games of self-play.
    play: Progress,
    /// The mean length of these games, once it was asked for: it takes long to compute.
    length: OnceCell<f64>,
}

impl Forecast {
    /// A forecast for a new run; call [`Forecast::resume`] for a resumed one.
    pub fn new(plan: Plan, costs: Costs) -> Forecast {
        Forecast {
            plan,
            costs,
            seen: [(0.0, 0.0); 5],
            plies: [costs.plies; 2],
            spent: costs.spent,
            knows_network: false,
            generation: 0,
            next: RunWork::Done,
            phase: None,
            last_event: 0.0,
        }
    }

    /// The run resumes after `done` generations.
    pub fn resume(&mut self, done: usize) {
        self.generation = done;
    }

    /// Sets the searched actions per game by the network, known from an earlier session.
    pub fn know_plies(&mut self, plies: f64) {
        self.plies[RunWork::Selfplay as usize] = plies;
        self.knows_network = true;
    }

    /// Takes note of an event at time `now`, in seconds since some moment before the run.
    pub fn observe(&mut self, now: f64, event: &Event) {
        match event {
            Event::Resumed { done, .. } => self.resume(*done),
            Event::Generation { number, .. } => {
                self.close(now);
                self.generation = *number;
                self.begin(now, self.player(*number));
            }
            Event::Selfplay(progress) => {
                if let Some(phase) = &mut self.phase {
                    (phase.play, phase.done) = (*progress, progress.simulations as f64);
                    phase.length = OnceCell::new();
                }
            }
            Event::Step { done, steps } => {
                self.advance(now, RunWork::Training, *done as f64, Load::alone(*steps as f64))
            }
            Event::Evaluating { standing, games } => {
                self.advance_match(now, RunWork::Evaluation, standing, *games)
            }
            Event::Rating { standing, games } => self.advance_match(now, RunWork::Rating, standing, *games),
            Event::Rated(_) => {
                self.close(now);
                self.next = RunWork::Done;
            }
            Event::Saved(_) | Event::Evaluated { .. } => self.close(now),
            Event::Played(_)
            | Event::Took { .. }
            | Event::Training { .. }
            | Event::Committed { .. }
            | Event::Judged { .. }
            | Event::Waiting(_)
            | Event::Sign(_)
            | Event::Warning(_) => {}
        }
        self.last_event = now;
    }

    /// The estimated remaining seconds of the run at time `now`.
    pub fn left(&self, now: f64) -> f64 {
        let under_way = self.phase.as_ref().map_or(0.0, |phase| {
            let load = self.load(phase);
            let rest = self.pace(phase.work) * (load.whole() - load.span(phase.done));
            (rest - (now - self.last_event)).max(0.0)
        });
        under_way + self.seconds(self.generation, self.next) + self.later()
    }

    /// The seconds of all generations that have not begun. The cost of computing this does not depend on how many
    /// there are: only the first and the last differ in kind, and among the others only the number of simulations, in
    /// which the time is linear.
    fn later(&self) -> f64 {
        let (next, last) = (self.generation + 1, self.plan.generations);
        let whole = |generation: usize| self.seconds(generation, RunWork::Bootstrap);
        let first = if next == 1 && last >= 1 { whole(1) } else { 0.0 };
        let end = if last >= next.max(2) { whole(last) } else { 0.0 };
        let between = next.max(2)..last;
        let like = between.start;
        let simulations = self.plan.mean_simulations(between.clone());
        let each = |simulations| self.seconds_with(like, simulations, RunWork::Bootstrap);
        first + simulations.map_or(0.0, |simulations| between.len() as f64 * each(simulations)) + end
    }

    /// The completed part of the current work, 0..1.
    pub fn part(&self) -> f64 {
        let Some(phase) = &self.phase else { return 1.0 };
        let load = self.load(phase);
        if load.whole() > 0.0 { (load.span(phase.done) / load.whole()).min(1.0) } else { 1.0 }
    }

    /// The positions of the generations that have not begun.
    pub fn positions(&self) -> f64 {
        let (next, last) = (self.generation + 1, self.plan.generations);
        let positions = |generation| self.trained(generation) / self.plan.games(generation).trained;
        let first = if next == 1 { positions(1) } else { 0.0 };
        first + (last + 1).saturating_sub(next.max(2)) as f64 * positions(2)
    }

    fn begin(&mut self, now: f64, work: RunWork) {
        self.next = match work {
            RunWork::Bootstrap | RunWork::Selfplay => RunWork::Training,
            RunWork::Training => RunWork::Evaluation,
            RunWork::Evaluation => RunWork::Rating,
            RunWork::Rating | RunWork::Done => RunWork::Done,
        };
        let load = Load { units: 0.0, jobs: 0, threads: 1 };
        let (play, length) = (Progress::default(), OnceCell::new());
        self.phase = Some(Phase { work, began: now, load, done: 0.0, play, length });
    }

    /// Ends the current work and records the time that it took.
    fn close(&mut self, now: f64) {
        let Some(phase) = self.phase.take() else { return };
        let load = self.load(&phase);
        if phase.work <= RunWork::Selfplay {
            let (length, kind) = (self.length(&phase), phase.work as usize);
            self.spent[kind] = self.searches(&phase) / self.plan.games(self.generation).simulations;
            self.plies[kind..].fill(length);
            self.knows_network |= phase.work == RunWork::Selfplay;
        }
        let span = load.span(phase.done);
        if span > 0.0 {
            // the newest time has the greatest weight
            let seen = &mut self.seen[phase.work as usize];
            *seen = (seen.0 / 2.0 + span, seen.1 / 2.0 + now - phase.began);
        }
    }

    /// Sets the progress of `work`, which begins now if it is not the current work.
    fn advance(&mut self, now: f64, work: RunWork, done: f64, load: Load) {
        if self.phase.as_ref().is_none_or(|phase| phase.work != work) {
            self.close(now);
            self.begin(now, work);
        }
        if let Some(phase) = &mut self.phase {
            (phase.done, phase.load) = (done, load);
        }
    }

    fn advance_match(&mut self, now: f64, work: RunWork, standing: &Standing, all: usize) {
        let begun = Begun::of_match(standing);
        let done = begun.worth(begun.length(self.match_plies(), TRUSTED)) + standing.kept as f64;
        self.advance(now, work, done.min(all as f64), self.match_load(all));
    }
}

/// The amount of work and its duration.
impl Forecast {
    /// The seconds of a generation's work from `next` on.
    fn seconds(&self, generation: usize, next: RunWork) -> f64 {
        self.seconds_with(generation, self.plan.games(generation).simulations, next)
    }

    /// [`Forecast::seconds`] with another number of simulations per action.
    fn seconds_with(&self, generation: usize, simulations: f64, next: RunWork) -> f64 {
        #[cfg(test)]
        COMPUTED.set([COMPUTED.get()[0], COMPUTED.get()[1] + 1]);
        let training = self.trained(generation) * self.plan.steps_per_position;
        let loads = [
            (self.player(generation), self.games_load(generation, simulations)),
            (RunWork::Training, Load::alone(training.max(1.0))),
            (RunWork::Evaluation, self.evaluation_load(generation)),
            (RunWork::Rating, self.rating_load(generation)),
        ];
        let ahead = loads.into_iter().filter(|(work, _)| *work >= next);
        ahead.map(|(work, load)| self.pace(work) * load.whole()).sum()
    }

    /// The kind of work by which the games of a generation are played.
    fn player(&self, generation: usize) -> RunWork {
        let bootstrap = generation == 1 && self.plan.bootstrap.is_some();
        if bootstrap { RunWork::Bootstrap } else { RunWork::Selfplay }
    }

    /// Positions of a generation that are trained on.
    fn trained(&self, generation: usize) -> f64 {
        let games = self.plan.games(generation);
        games.games as f64 * self.plies(self.player(generation)) * games.trained
    }

    fn games_load(&self, generation: usize, simulations: f64) -> Load {
        let work = self.player(generation);
        let games = self.plan.games(generation).games;
        let units = games as f64 * self.plies(work) * self.spent[work as usize] * simulations;
        Load { units, jobs: self.plan.jobs(games), threads: self.plan.players }
    }

    fn evaluation_load(&self, generation: usize) -> Load {
        self.match_load(if generation == self.plan.generations {
            self.plan.final_evaluation
        } else {
            self.plan.evaluation
        })
    }

    fn rating_load(&self, generation: usize) -> Load {
        // the first generation has no earlier ones
        self.match_load(self.plan.rating_games(generation))
    }

    /// A match is divided among threads by games.
    fn match_load(&self, games: usize) -> Load {
        Load { units: games as f64, jobs: games, threads: self.plan.threads }
    }

    /// Chosen actions per game of a match.
    fn match_plies(&self) -> f64 {
        (self.plies(RunWork::Selfplay) - self.plan.opening_plies as f64).max(1.0)
    }

    /// The total load of the current work, by the current estimate.
    fn load(&self, phase: &Phase) -> Load {
        if phase.work > RunWork::Selfplay {
            return phase.load;
        }
        let Progress { games, kept, in_flight, .. } = phase.play;
        let fresh = self.plan.games(self.generation).games.saturating_sub(kept);
        let waiting = fresh.saturating_sub(games - kept + in_flight) as f64;
        let length = self.length(phase);
        let flying = Begun::of_selfplay(&phase.play).rest(length);
        let units = phase.done + (flying + waiting * length) * self.searches(phase);
        Load { units, jobs: self.plan.jobs(fresh), threads: self.plan.players }
    }

    /// Thread seconds per unit, from the measurement before the run and all observations since.
    fn pace(&self, work: RunWork) -> f64 {
        let guess = self.guess(work);
        let (mut span, mut seconds) = self.seen[work as usize];
        let mut trust = TRUST;
        if let Some(phase) = self.phase.as_ref().filter(|phase| phase.work == work) {
            let load = self.load(phase);
            (span, seconds) = (span + load.span(phase.done), seconds + self.last_event - phase.began);
            // playouts get shorter during a game: the first half of a thread's work says little about the second
            if work == RunWork::Bootstrap {
                trust = TRUST.max(guess * load.units / load.jobs.max(1) as f64 / 2.0);
            }
        }
        if work >= RunWork::Evaluation {
            // the agents of a match differ from those of the measurement
            trust = 2.0 * guess;
        }
        if guess > 0.0 {
            (trust + seconds) / (trust / guess + span)
        } else {
            // there was no measurement
            seconds / span.max(f64::MIN_POSITIVE)
        }
    }

    /// The cost of a unit by the measurement before the run.
    fn guess(&self, work: RunWork) -> f64 {
        match work {
            RunWork::Bootstrap => self.costs.bootstrap,
            RunWork::Selfplay => self.costs.selfplay,
            RunWork::Training => self.costs.step,
            RunWork::Rating => self.costs.agent * self.match_plies(),
            RunWork::Evaluation | RunWork::Done => self.costs.evaluation * self.match_plies(),
        }
    }

    /// Searched actions per game; during the bootstrap, games by the network are assumed to be as long as the current
    /// ones.
    fn plies(&self, work: RunWork) -> f64 {
        match &self.phase {
            Some(phase) if phase.work == work || phase.work == RunWork::Bootstrap => self.length(phase),
            _ => self.plies[work as usize],
        }
    }

    /// The mean length of the current games, from the expected length, the finished games, and the past and expected
    /// actions of the games in flight.
    fn length(&self, phase: &Phase) -> f64 {
        *phase.length.get_or_init(|| self.length_of(phase))
    }

    fn length_of(&self, phase: &Phase) -> f64 {
        #[cfg(test)]
        COMPUTED.set([COMPUTED.get()[0] + 1, COMPUTED.get()[1]]);
        let trust = if phase.work == RunWork::Selfplay && !self.knows_network { DOUBTED } else { TRUSTED };
        Begun::of_selfplay(&phase.play).length(self.plies[phase.work as usize], trust)
    }

    /// Simulations per action in the current games.
    fn searches(&self, phase: &Phase) -> f64 {
        let expected = self.spent[phase.work as usize] * self.plan.games(self.generation).simulations;
        let trust = TRUSTED.0 + 2.0 * phase.play.in_flight as f64;
        (trust * expected + finished(&phase.play, expected)) / (trust + phase.play.positions as f64)
    }
}

/// The simulations of the actions that are already chosen, at `simulations` for each action: each game in flight is
/// on average halfway through a search whose action is not counted yet.
pub fn finished(play: &Progress, simulations: f64) -> f64 {
    (play.simulations as f64 - play.in_flight as f64 * simulations / 2.0).max(0.0)
}

/// Games of a match that have begun, some of which are over.
pub struct Begun {
    over: f64,
    flying: f64,
    /// The number of actions so far: of all these games, and of each game in flight.
    actions: f64,
    played: f64,
}

impl Begun {
    fn new(over: usize, flying: usize, actions: usize, unfinished: usize) -> Begun {
        let (over, flying, actions) = (over as f64, flying as f64, actions as f64);
        Begun { over, flying, actions, played: unfinished as f64 / flying.max(1.0) }
    }

    /// The games of a match, except those kept from an earlier session.
    pub fn of_match(standing: &Standing) -> Begun {
        let Standing { games, kept, playing, actions, unfinished, .. } = *standing;
        Begun::new(games - kept, playing, actions, unfinished)
    }

    fn of_selfplay(progress: &Progress) -> Begun {
        let Progress { games, kept, in_flight, positions, unfinished, .. } = *progress;
        Begun::new(games - kept, in_flight, positions, unfinished)
    }

    /// The mean length of these games, if `expected` has the weight of [`TRUSTED`] or [`DOUBTED`].
    pub fn length(&self, expected: f64, (games, share): (f64, f64)) -> f64 {
        let trust = games + share * self.flying;
        (0..30).fold(expected, |length, _| {
            (trust * expected + self.actions + self.rest(length)) / (trust + self.over + self.flying)
        })
    }

    /// The expected number of further actions.
    fn rest(&self, length: f64) -> f64 {
        self.flying * rest(self.played, length)
    }

    /// The number of whole games of this length that would have taken the same time so far.
    pub fn worth(&self, length: f64) -> f64 {
        let part = self.played / (self.played + rest(self.played, length));
        self.over + self.flying * part
    }
}

/// The expected number of further actions in a game after `played` ones, if games have `mean` on average: the mean
/// residual life of a logistic distribution.
fn rest(played: f64, mean: f64) -> f64 {
    let scale = SPREAD * mean;
    let left = (mean - played) / scale;
    match left {
        30.0.. => mean - played,
        // the limit for very long games
        ..-30.0 => scale,
        _ => scale * left.exp().ln_1p() * (1.0 + (-left).exp()),
    }
}
