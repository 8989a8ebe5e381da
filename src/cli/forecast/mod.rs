//! How long a run still takes. In go its plan, what work costs on this machine, and the events of the run with their
//! times; out come seconds. No clock is read here.
//!
//! A run is a list of phases: each generation plays, trains, passes the gate and is evaluated, and each kind of
//! [`Work`] has a pace of its own, the seconds that one thread needs for a unit. The paces are those of [`Costs`]
//! first and give way to what is observed. How much there is to do depends on how long games are; those in flight
//! were begun together and will end together, so they count with the length that they may reach ([`rest`]).

mod plan;
#[cfg(test)]
mod tests;

use crate::run::Event;
use crate::selfplay::Progress;
use plan::Load;
pub use plan::Plan;

/// Seconds of work that a pace counts for which was measured before the run.
const TRUST: f64 = 2.0;
/// Games, and share of the games in flight, that the length expected before them counts for: when such games were seen,
/// and when they were not.
const TRUSTED: (f64, f64) = (8.0, 0.25);
const DOUBTED: (f64, f64) = (4.0, 0.1);
/// The scale of the lengths of games, of a mean of 1, as a logistic distribution: a standard deviation of 18 %.
const SPREAD: f64 = 0.1;
/// The share of its games that a gate needs, and of the networks that it promotes, until some were seen.
const GATE_SHARE: f64 = 0.4;
const PROMOTED_SHARE: f64 = 0.5;
/// The share of its last games that a gate needs which took longer than most.
const GATE_REST: f64 = 0.2;

/// Kinds of work in the order of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    /// Simulations of games without a network.
    Bootstrap,
    /// Simulations of games by the network.
    Selfplay,
    /// Optimizer steps.
    Training,
    /// Games against the champion.
    Gate,
    /// Games against the opponent.
    Evaluation,
    /// Nothing is left of the generation.
    Done,
}

/// What work costs on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Seconds of a thread for a simulation of a bootstrap game.
    pub bootstrap: f64,
    /// Seconds of a thread for a simulation of a game by the network.
    pub selfplay: f64,
    /// Seconds of an optimizer step.
    pub step: f64,
    /// Seconds of a thread for an action in the gate.
    pub gate: f64,
    /// Seconds of a thread for an action in the evaluation, the mean of both agents.
    pub evaluation: f64,
    /// Searched actions of a game.
    pub plies: f64,
}

/// How long a run still takes.
pub struct Forecast {
    plan: Plan,
    costs: Costs,
    /// The time that work of each kind took so far in this session: its span ([`Load::span`]) and seconds.
    seen: [(f64, f64); 5],
    /// Searched actions of a game, of the bootstrap and by the network, and simulations of an action.
    plies: [f64; 2],
    simulations: [f64; 2],
    /// Whether the network's games were seen, and not only those before it.
    knows_network: bool,
    /// Games that gates played, and might have.
    gate: (f64, f64),
    generation: usize,
    /// What the generation has not begun; work before it is done.
    next: Work,
    phase: Option<Phase>,
    /// When the last event came.
    heard: f64,
}

/// Work that is under way.
struct Phase {
    work: Work,
    began: f64,
    load: Load,
    done: f64,
    /// The games of self-play.
    play: Progress,
}

impl Forecast {
    /// For a run that begins, or resumes as its events will say.
    pub fn new(plan: Plan, costs: Costs) -> Forecast {
        let simulations = [1, 2].map(|generation| plan.games(generation).simulations);
        Forecast {
            plan,
            costs,
            seen: [(0.0, 0.0); 5],
            plies: [costs.plies; 2],
            simulations,
            knows_network: false,
            gate: (0.0, 0.0),
            generation: 0,
            next: Work::Done,
            phase: None,
            heard: 0.0,
        }
    }

    /// The run resumes behind so many generations.
    pub fn resume(&mut self, done: usize) {
        self.generation = done;
    }

    /// The network's games had so many searched actions in an earlier session.
    pub fn know_plies(&mut self, plies: f64) {
        self.plies[Work::Selfplay as usize] = plies;
        self.knows_network = true;
    }

    /// Hears of an event `now`, in seconds since any moment before the run.
    pub fn hear(&mut self, now: f64, event: &Event) {
        match event {
            Event::Resumed(done, ..) => self.resume(*done),
            Event::Generation(number, ..) => {
                self.close(now);
                self.generation = *number;
                self.begin(now, self.player(*number));
            }
            Event::Selfplay(progress) => {
                if let Some(phase) = &mut self.phase {
                    (phase.play, phase.done) = (*progress, progress.simulations as f64);
                }
            }
            Event::Step(done, all) => {
                self.advance(now, Work::Training, *done as f64, Load::alone(*all as f64))
            }
            Event::Evaluating(done, all) => self.match_goes_on(now, Work::Evaluation, *done, *all),
            Event::Gating(progress, most) => self.match_goes_on(now, Work::Gate, progress.games, *most),
            Event::Gated(_, decision) => {
                self.close(now);
                let last = self.generation == self.plan.generations;
                self.next = if decision.promoted || last { Work::Evaluation } else { Work::Done };
            }
            Event::Saved(_) | Event::Evaluated(..) => self.close(now),
            Event::Played(_) | Event::Training(..) | Event::Warning(_) => {}
        }
        self.heard = now;
    }

    /// Seconds that the run still takes, as seen `now`.
    pub fn left(&self, now: f64) -> f64 {
        let under_way = self.phase.as_ref().map_or(0.0, |phase| {
            let load = self.load(phase);
            let rest = self.pace(phase.work) * (load.whole() - load.span(phase.done));
            (rest - (now - self.heard)).max(0.0)
        });
        let generation = self.seconds(self.generation, self.next);
        let (next, last) = (self.generation + 1, self.plan.generations);
        let first = if next == 1 && last > 1 { self.seconds(1, Work::Bootstrap) } else { 0.0 };
        let alike = last.saturating_sub(next.max(2)) as f64 * self.seconds(2, Work::Bootstrap);
        let end = if next <= last { self.seconds(last, Work::Bootstrap) } else { 0.0 };
        under_way + generation + first + alike + end
    }

    /// The part of the work under way that is done, 0..1.
    pub fn part(&self) -> f64 {
        let Some(phase) = &self.phase else { return 1.0 };
        let load = self.load(phase);
        if load.whole() > 0.0 { (load.span(phase.done) / load.whole()).min(1.0) } else { 1.0 }
    }

    /// Positions of the generations that have not begun.
    pub fn positions(&self) -> f64 {
        let (next, last) = (self.generation + 1, self.plan.generations);
        let positions = |generation| self.trained(generation) / self.plan.games(generation).trained;
        let first = if next == 1 { positions(1) } else { 0.0 };
        first + (last + 1).saturating_sub(next.max(2)) as f64 * positions(2)
    }

    fn begin(&mut self, now: f64, work: Work) {
        self.next = match work {
            Work::Bootstrap | Work::Selfplay => Work::Training,
            Work::Training => Work::Gate,
            Work::Gate => Work::Evaluation,
            Work::Evaluation | Work::Done => Work::Done,
        };
        let load = Load { units: 0.0, jobs: 0, threads: 1 };
        self.phase = Some(Phase { work, began: now, load, done: 0.0, play: Progress::default() });
    }

    /// Ends the work under way: its time says how long such work takes.
    fn close(&mut self, now: f64) {
        let Some(phase) = self.phase.take() else { return };
        let load = self.load(&phase);
        if phase.work <= Work::Selfplay {
            let (length, kind) = (self.length(&phase), phase.work as usize);
            self.simulations[kind] = self.searches(&phase);
            self.plies[kind..].fill(length);
            self.knows_network |= phase.work == Work::Selfplay;
        }
        if phase.work == Work::Gate {
            self.gate = (self.gate.0 + phase.done, self.gate.1 + phase.load.units);
        }
        let span = load.span(phase.done);
        if span > 0.0 {
            // the newest time counts most
            let seen = &mut self.seen[phase.work as usize];
            *seen = (seen.0 / 2.0 + span, seen.1 / 2.0 + now - phase.began);
        }
    }

    /// Work is so far; it begins when it was not heard of before.
    fn advance(&mut self, now: f64, work: Work, done: f64, load: Load) {
        if self.phase.as_ref().is_none_or(|phase| phase.work != work) {
            self.close(now);
            self.begin(now, work);
        }
        if let Some(phase) = &mut self.phase {
            (phase.done, phase.load) = (done, load);
        }
    }

    fn match_goes_on(&mut self, now: f64, work: Work, games: usize, all: usize) {
        let load = Load { units: all as f64, jobs: all / 2, threads: self.plan.threads };
        // of the other threads' games half is played when one ends
        let others = self.plan.threads.min(load.jobs).saturating_sub(1) as f64 / 2.0;
        let done = if games == 0 { 0.0 } else { (games as f64 + others).min(all as f64) };
        self.advance(now, work, done, load);
    }
}

/// How much work there is, and how long it takes.
impl Forecast {
    /// Seconds of what a generation has to do from `next` on.
    fn seconds(&self, generation: usize, next: Work) -> f64 {
        let training = self.trained(generation) * self.plan.steps_per_position;
        let loads = [
            (self.player(generation), self.games_load(generation)),
            (Work::Training, Load::alone(training.max(1.0))),
            (Work::Gate, self.gate_load(generation)),
            (Work::Evaluation, self.evaluation_load(generation)),
        ];
        let ahead = loads.into_iter().filter(|(work, _)| *work >= next);
        ahead.map(|(work, load)| self.pace(work) * load.whole()).sum()
    }

    /// Who plays the games of a generation.
    fn player(&self, generation: usize) -> Work {
        let bootstrap = generation == 1 && self.plan.bootstrap.is_some();
        if bootstrap { Work::Bootstrap } else { Work::Selfplay }
    }

    /// Positions of a generation that are trained on.
    fn trained(&self, generation: usize) -> f64 {
        let games = self.plan.games(generation);
        games.games as f64 * self.plies(self.player(generation)) * games.trained
    }

    fn games_load(&self, generation: usize) -> Load {
        let work = self.player(generation);
        let games = self.plan.games(generation).games;
        let units = games as f64 * self.plies(work) * self.simulations[work as usize];
        Load { units, jobs: games.div_ceil(self.plan.shard), threads: self.plan.players }
    }

    fn gate_load(&self, generation: usize) -> Load {
        let share = if self.gate.1 > 0.0 { self.gate.0 / self.gate.1 } else { GATE_SHARE };
        // the first generation has nobody to beat
        let most = self.plan.gate.filter(|_| generation > 1).unwrap_or(0);
        self.match_load((most as f64 * share) as usize)
    }

    fn evaluation_load(&self, generation: usize) -> Load {
        // behind a gate only a new champion is evaluated, and whoever is champion at the end
        let share = if self.plan.gate.is_some() && generation > 1 { PROMOTED_SHARE } else { 1.0 };
        self.match_load(match generation == self.plan.generations {
            true => self.plan.final_evaluation,
            false => (self.plan.evaluation as f64 * share) as usize,
        })
    }

    /// A match is shared by pairs of games.
    fn match_load(&self, games: usize) -> Load {
        Load { units: games as f64, jobs: games.div_ceil(2), threads: self.plan.threads }
    }

    /// All of the work under way, as it looks now.
    fn load(&self, phase: &Phase) -> Load {
        match phase.work {
            Work::Bootstrap | Work::Selfplay => {}
            Work::Gate => {
                // a test may end it at any game
                let more = (phase.load.units - phase.done) * GATE_REST;
                return self.match_load(self.gate_load(2).units.max(phase.done + more) as usize);
            }
            _ => return phase.load,
        }
        let Progress { games, kept, in_flight, unfinished, .. } = phase.play;
        let fresh = self.plan.games(self.generation).games.saturating_sub(kept);
        let waiting = fresh.saturating_sub(games - kept + in_flight) as f64;
        let length = self.length(phase);
        let flying = in_flight as f64 * rest(unfinished as f64 / in_flight.max(1) as f64, length);
        let units = phase.done + (flying + waiting * length) * self.searches(phase);
        Load { units, jobs: fresh.div_ceil(self.plan.shard), threads: self.plan.players }
    }

    /// Seconds that a thread needs for a unit: those that were measured before the run, and all that were seen since.
    fn pace(&self, work: Work) -> f64 {
        let guess = self.guess(work);
        let (mut span, mut seconds) = self.seen[work as usize];
        let mut trust = TRUST;
        if let Some(phase) = self.phase.as_ref().filter(|phase| phase.work == work) {
            let load = self.load(phase);
            (span, seconds) = (span + load.span(phase.done), seconds + self.heard - phase.began);
            // playouts are long at first and then short: half of the games of a thread say little of the others
            if work == Work::Bootstrap {
                trust = TRUST.max(guess * load.units / load.jobs.max(1) as f64 / 2.0);
            }
        }
        if work >= Work::Gate {
            // their agents are not those of the measurement
            trust = 2.0 * guess;
        }
        match guess > 0.0 {
            true => (trust + seconds) / (trust / guess + span),
            // nothing was measured
            false => seconds / span.max(f64::MIN_POSITIVE),
        }
    }

    /// What a unit costs as far as was measured before the run.
    fn guess(&self, work: Work) -> f64 {
        let plies = (self.plies(Work::Selfplay) - self.plan.opening_plies as f64).max(1.0);
        match work {
            Work::Bootstrap => self.costs.bootstrap,
            Work::Selfplay => self.costs.selfplay,
            Work::Training => self.costs.step,
            Work::Gate => self.costs.gate * plies,
            Work::Evaluation | Work::Done => self.costs.evaluation * plies,
        }
    }

    /// Searched actions of a game; without better knowledge the network's are as long as those under way.
    fn plies(&self, work: Work) -> f64 {
        match &self.phase {
            Some(phase) if phase.work == work || phase.work == Work::Bootstrap => self.length(phase),
            _ => self.plies[work as usize],
        }
    }

    /// The mean length of the games under way: what was expected, games that are over, and what games in flight have
    /// played and may still play.
    fn length(&self, phase: &Phase) -> f64 {
        let Progress { games, kept, in_flight, positions, unfinished, .. } = phase.play;
        let expected = self.plies[phase.work as usize];
        let (over, flying) = ((games - kept) as f64, in_flight as f64);
        let played = unfinished as f64 / flying.max(1.0);
        let (games, share) = match phase.work == Work::Selfplay && !self.knows_network {
            true => DOUBTED,
            false => TRUSTED,
        };
        let trust = games + share * flying;
        (0..30).fold(expected, |length, _| {
            let seen = positions as f64 + flying * rest(played, length);
            (trust * expected + seen) / (trust + over + flying)
        })
    }

    /// Simulations of an action in the games under way.
    fn searches(&self, phase: &Phase) -> f64 {
        let expected = self.simulations[phase.work as usize];
        let flying = phase.play.in_flight as f64;
        let trust = TRUSTED.0 + 2.0 * flying;
        // half a search of each game in flight belongs to no action yet
        let finished = (phase.done - flying * expected / 2.0).max(0.0);
        (trust * expected + finished) / (trust + phase.play.positions as f64)
    }
}

/// Actions that a game still has after `played` ones, where games have `mean` on average: the mean residual life of
/// a logistic distribution.
fn rest(played: f64, mean: f64) -> f64 {
    let scale = SPREAD * mean;
    let left = (mean - played) / scale;
    match left {
        30.0.. => mean - played,
        // who has come so far
        ..-30.0 => scale,
        _ => scale * left.exp().ln_1p() * (1.0 + (-left).exp()),
    }
}
