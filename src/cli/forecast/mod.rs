//! Estimates the remaining time of a run. Input: the settings of the run, the [`Costs`] of work on this machine, and
//! the events of the run with their times. Output: seconds. The module reads no clock.
//!
//! A generation has up to five kinds of work. The settings determine how many units of each kind it has. Each kind has
//! a pace, in seconds per unit, which comes first from the costs and later from the finished work.

#[cfg(test)]
mod tests;

use crate::arena::Standing;
use crate::config::Config;
use crate::replay::place::{games_of, is_bootstrap};
use crate::run::Event;
use crate::selfplay::Progress;

/// The weight of the pace known before a phase against the observed pace: seconds of work, and a share of the phase.
/// The share of the phase is needed because the middle of a game takes less time than its beginning.
const TRUST: (f64, f64) = (2.0, 0.1);
/// The weight of the expected length of games, as a number of games.
const TRUSTED_GAMES: f64 = 4.0;

/// One number for each kind of work, in the order of a generation.
type ByWork = [f64; 5];
const BOOTSTRAP: usize = 0;
const SELFPLAY: usize = 1;
const TRAINING: usize = 2;
const EVALUATION: usize = 3;
const RATING: usize = 4;

/// The costs of work on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Costs {
    /// Wall-clock seconds while all threads work, in the order of a generation: for one simulation at each action of a
    /// bootstrap game, for one simulation at each action of a game by the network, for one optimizer step for each
    /// action of a game, for a game against the opponent, and for a game between generations.
    pub paces: [f64; 5],
    /// Searched actions per game.
    pub plies: f64,
    /// Bytes of a searched position in the records, and bytes of a checkpoint.
    pub position_bytes: f64,
    pub checkpoint_bytes: f64,
}

impl Costs {
    /// Returns the costs if games have this many searched actions.
    pub(super) fn with_plies(self, plies: f64) -> Costs {
        let paces = self.paces.map(|pace| pace * plies / self.plies.max(f64::MIN_POSITIVE));
        Costs { paces, plies, ..self }
    }
}

/// Returns the work of a generation.
fn amounts(config: &Config, threads: usize, generation: usize) -> ByWork {
    let Config { selfplay, arena, train, .. } = config;
    let (games, simulations) = games_of(config, generation);
    let (is_last, is_bootstrap) = (generation == train.generations, is_bootstrap(config, generation));
    // only positions with a full search are trained on
    let is_full = is_bootstrap || selfplay.fast_simulations == 0;
    let full = if is_full { 1.0 } else { f64::from(selfplay.full_share) };
    let searched = full * simulations as f64 + (1.0 - full) * selfplay.fast_simulations as f64;
    let steps = full * f64::from(train.samples_per_position) / train.batch as f64;
    let [bootstrap, network] = if is_bootstrap { [searched, 0.0] } else { [0.0, searched] };
    let evaluated = config.evaluation_games(generation);
    let rated = match config.rating_games(generation) {
        games if generation == 1 || games == 0 => 0,
        games => games + if is_last { arena.final_games } else { 0 },
    };
    // each thread plays whole games of a match
    let [evaluated, rated] = [evaluated, rated].map(|games| games.next_multiple_of(threads) as f64);
    let games = games as f64;
    [games * bootstrap, games * network, games * steps, evaluated, rated]
}

/// The estimate of the remaining time of a run.
pub(super) struct Forecast {
    /// For each generation from 0 on, the work of all later generations.
    ahead: Vec<ByWork>,
    costs: Costs,
    /// The current estimate of searched actions per game.
    plies: f64,
    /// The observed paces of finished work.
    seen: [Option<f64>; 5],
    generation: usize,
    phase: Option<ForecastPhase>,
    /// The time of the last event.
    last_event: f64,
}

/// The current work.
struct ForecastPhase {
    work: usize,
    began: f64,
    /// The units of work that earlier sessions left, and the part of these units that is done.
    units: f64,
    part: f64,
    /// The number of self-play games, and the expected number of searched actions in each.
    games: usize,
    plies: f64,
}

impl Forecast {
    /// Returns a forecast for the rest of a run after `done` generations.
    pub(super) fn new(config: &Config, threads: usize, costs: Costs, done: usize) -> Forecast {
        let mut ahead = vec![ByWork::default()];
        for generation in (1..=config.train.generations).rev() {
            let (later, own) = (ahead[ahead.len() - 1], amounts(config, threads, generation));
            ahead.push(std::array::from_fn(|work| later[work] + own[work]));
        }
        ahead.reverse();
        let plies = costs.plies;
        Forecast { ahead, costs, plies, seen: [None; 5], generation: done, phase: None, last_event: 0.0 }
    }

    /// Records an event at time `now`, in seconds since a fixed moment before the run.
    pub(super) fn observe(&mut self, now: f64, event: &Event) {
        match event {
            Event::Resumed { done, .. } => self.generation = *done,
            Event::Generation { number, games, .. } => {
                self.close(now);
                self.generation = *number;
                self.begin(now, if self.units(BOOTSTRAP) > 0.0 { BOOTSTRAP } else { SELFPLAY }, *games);
            }
            Event::Selfplay(progress) => {
                if let Some(ForecastPhase { work: work @ (BOOTSTRAP | SELFPLAY), games, plies, .. }) =
                    self.phase
                {
                    let Progress { games: done, kept, in_flight, positions, unfinished, .. } = *progress;
                    let begun = BegunGames::new(done - kept, in_flight, positions, unfinished);
                    self.plies = begun.length(plies);
                    self.advance(now, work, begun.worth(self.plies), (games, kept));
                }
            }
            Event::Step { done, steps } => self.advance(now, TRAINING, *done as f64, (*steps, 0)),
            Event::Evaluating { standing, games } => self.advance_match(now, EVALUATION, standing, *games),
            Event::Rating { standing, games } => self.advance_match(now, RATING, standing, *games),
            _ => {}
        }
        self.last_event = now;
    }

    /// Returns the estimated remaining seconds of the run at time `now`.
    pub(super) fn left(&self, now: f64) -> f64 {
        let ahead = self.ahead.get(self.generation).copied().unwrap_or_default();
        let later: f64 = (0..5).map(|work| self.pace(work) * ahead[work]).sum();
        let Some(phase) = &self.phase else { return later };
        let current = self.pace(phase.work) * phase.units * (1.0 - phase.part);
        let next: f64 = (phase.work + 1..5).map(|work| self.pace(work) * self.units(work)).sum();
        (current - (now - self.last_event)).max(0.0) + next + later
    }

    /// Returns the completed part of the current work, from 0 to 1.
    pub(super) fn part(&self) -> f64 {
        self.phase.as_ref().map_or(1.0, |phase| phase.part)
    }

    /// Returns the units of work of the current generation.
    fn units(&self, work: usize) -> f64 {
        let of = |generation: usize| self.ahead.get(generation).map_or(0.0, |ahead| ahead[work]);
        self.generation.checked_sub(1).map_or(0.0, |before| of(before) - of(self.generation))
    }

    /// Returns the seconds per unit.
    fn pace(&self, work: usize) -> f64 {
        let known = self.seen[work].unwrap_or_else(|| self.costs.with_plies(self.plies).paces[work]);
        match &self.phase {
            Some(phase) if phase.work == work && phase.units * phase.part > 0.0 => {
                let (seconds, done) = (self.last_event - phase.began, phase.units * phase.part);
                let weight = if known > 0.0 { TRUST.0 / known + TRUST.1 * phase.units } else { 0.0 };
                (known * weight + seconds) / (weight + done)
            }
            _ => known,
        }
    }

    fn begin(&mut self, now: f64, work: usize, games: usize) {
        let (units, plies) = (self.units(work), self.plies);
        self.phase = Some(ForecastPhase { work, began: now, units, part: 0.0, games, plies });
    }

    /// Ends the current work and includes its pace in the observed pace; newer work has more weight.
    fn close(&mut self, now: f64) {
        let Some(ForecastPhase { work, began, units, part, .. }) = self.phase.take() else { return };
        if units * part > 0.0 {
            let pace = (now - began) / (units * part);
            self.seen[work] = Some(self.seen[work].map_or(pace, |earlier| (earlier + pace) / 2.0));
        }
    }

    /// Records that `done` units of `work` are done; `work` begins now if it is not the current work. Of `all` units,
    /// `kept` were done in an earlier session.
    fn advance(&mut self, now: f64, work: usize, done: f64, (all, kept): (usize, usize)) {
        if self.phase.as_ref().is_none_or(|phase| phase.work != work) {
            self.close(now);
            self.begin(now, work, 0);
        }
        let (fresh, units) = (all.saturating_sub(kept) as f64, self.units(work));
        if let Some(phase) = &mut self.phase {
            (phase.units, phase.part) = (units * fresh / all.max(1) as f64, (done / fresh.max(1.0)).min(1.0));
        }
    }

    fn advance_match(&mut self, now: f64, work: usize, standing: &Standing, all: usize) {
        let begun = BegunGames::of_match(standing);
        self.advance(now, work, begun.worth(begun.length(self.plies)), (all, standing.kept));
    }
}

/// Games that have begun, including finished ones.
pub(super) struct BegunGames {
    over: f64,
    flying: f64,
    /// The mean number of actions in games that are over, and in games in flight.
    actions: f64,
    played: f64,
}

impl BegunGames {
    fn new(over: usize, flying: usize, actions: usize, unfinished: usize) -> BegunGames {
        let played = unfinished as f64 / flying.max(1) as f64;
        BegunGames {
            over: over as f64,
            flying: flying as f64,
            actions: (actions - unfinished) as f64,
            played,
        }
    }

    /// Returns the games of a match, except those kept from an earlier session.
    pub(super) fn of_match(standing: &Standing) -> BegunGames {
        let Standing { games, kept, playing, actions, unfinished, .. } = *standing;
        BegunGames::new(games - kept, playing, actions, unfinished)
    }

    /// Returns the mean length of games that were expected to have `expected` actions. Games in flight are assumed to
    /// go on for a while.
    pub(super) fn length(&self, expected: f64) -> f64 {
        let mean = (TRUSTED_GAMES * expected + self.actions) / (TRUSTED_GAMES + self.over);
        mean.max(1.1 * self.played)
    }

    /// Returns the number of whole games of this length that would have taken as much time as the begun games so far.
    pub(super) fn worth(&self, length: f64) -> f64 {
        self.over + self.flying * self.played / length.max(1.0)
    }
}
