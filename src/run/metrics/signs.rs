//! Signs that a run learns badly, or only seems to: sentences for people, based on the numbers of [`Health`].
//!
//! Each sign looks at the series of generations so far. Most signs must hold for two generations in a row, so that
//! chance alone rarely triggers one. A sign is reported when it appears, and not repeated while it lasts.

use std::collections::VecDeque;

use super::health::Health;
use crate::selfplay::Bulk;
use crate::train::quality::Quality;

/// Returns the sentence of a sign if the series of generations shows it.
type Sign = fn(&[Health]) -> Option<String>;

/// All signs.
const SIGNS: [Sign; 10] = [
    value_is_no_use,
    policy_is_no_use,
    learned_by_heart,
    badly_calibrated,
    value_loss_rises,
    games_repeat,
    one_side_wins,
    search_is_sure,
    search_adds_nothing,
    channels_die,
];

/// The first generation that is judged; earlier networks know too little.
const EARLY: usize = 3;
/// The factor by which a value loss must exceed that of a constant answer; with 2,048 positions, chance does not reach
/// this factor.
const WORSE: f64 = 1.05;
/// The factor by which the value loss of new games must exceed that of trained positions.
const BY_HEART: f64 = 1.5;
/// The mean error of values, in points of a game's score, above which they mislead the search.
const OFF: f64 = 0.1;
/// The smallest change of the calibration that is not attributed to chance.
const OFF_BY_CHANCE: f64 = 0.025;
/// The factor by which the value loss must have risen for the rise to be explained.
const RISEN: f64 = 1.15;
/// The factor by which games must have become longer for their length to explain a rise.
const LONGER: f64 = 1.05;
/// The share of duplicates that is reported, and the factor by which it must have grown since the second generation.
/// In a small game the share is large from the start.
const REPEATED: (f64, f64) = (0.5, 1.5);
/// The score above which one side counts as winning nearly always.
const ONE_SIDED: f64 = 0.97;
/// The entropy of the search's policy, in nats, below which the search hardly explores.
const SURE: f64 = 0.05;
/// The divergence of the search's policy from the network's, in nats, below which the search teaches nothing.
const NOTHING: f64 = 0.01;
/// The share of dead channels above which a network is reported.
const DEAD: f64 = 0.1;
/// The threshold for "mostly": of the GPU's idle time, and of the fill of its batches.
const HALF: f64 = 0.5;

/// The number of newest generations that are kept: a sign looks at three generations, and is evaluated for the newest
/// generation and for the one before it.
const NEWEST: usize = 4;

/// The generations that signs need, in bounded memory: the newest ones, the first one with which others can be
/// compared, and the one with the best values.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct Learning {
    first: Option<Health>,
    best: Option<Health>,
    newest: VecDeque<Health>,
}

impl Learning {
    /// Adds the next generation.
    pub(in crate::run) fn add(&mut self, health: Health) {
        self.newest.push_back(health);
        while self.newest.len() > NEWEST
            && let Some(old) = self.newest.pop_front()
        {
            self.outlast(old);
        }
    }

    /// Keeps a generation that is no longer among the newest, if signs still need it.
    fn outlast(&mut self, old: Health) {
        let loss = |health: &Health| health.fresh.map(|fresh| fresh.value_loss);
        if self.first.is_none() && old.generation >= 2 {
            self.first = Some(old.clone());
        }
        if let Some(new) = loss(&old).filter(|_| old.generation >= EARLY)
            && self.best.as_ref().and_then(loss).is_none_or(|least| new.total_cmp(&least).is_lt())
        {
            self.best = Some(old);
        }
    }

    /// Returns the series that ends in `health`, without the generations that no sign looks at.
    pub(in crate::run) fn with(&self, health: Health) -> Vec<Health> {
        let mut all = self.clone();
        all.add(health);
        let best = all.best.filter(|best| all.first.as_ref().is_none_or(|first| first != best));
        all.first.into_iter().chain(best).chain(all.newest).collect()
    }
}

/// Returns the signs that the last generation of the series shows and the one before did not.
pub(in crate::run) fn new_ones(series: &[Health]) -> Vec<String> {
    let before = &series[..series.len().saturating_sub(1)];
    SIGNS.iter().filter(|sign| sign(before).is_none()).filter_map(|sign| sign(series)).collect()
}

/// Returns a sign if self-play uses a GPU badly: its batches were mostly empty, or it mostly waited for the CPU cores.
/// Empty batches explain idle time, so they are checked first.
pub(in crate::run) fn badly_fed(bulk: &Bulk) -> Option<String> {
    let fill = bulk.fill()?;
    if fill < HALF {
        return Some(format!(
            "the batches of self-play were {:.0} % full on average ({} of {} positions), so the GPU mostly computes \
             nothing: more selfplay.games would fill the batches",
            100.0 * fill,
            bulk.positions / bulk.batches,
            bulk.wanted
        ));
    }
    (bulk.idle() > HALF).then(|| {
        format!(
            "the GPU was idle for {:.0} % of self-play: it waits for the CPU cores that search; a larger network would \
             cost little time, and more threads would save time if there are cores for them",
            100.0 * bulk.idle()
        )
    })
}

/// Returns the last two generations, each with its [`Health::fresh`], if both are late enough to be judged and their
/// games were measured.
fn last_two(series: &[Health]) -> Option<[(&Health, Quality); 2]> {
    let [.., before, last] = series else { return None };
    (before.generation >= EARLY).then_some(())?;
    Some([(before, before.fresh?), (last, last.fresh?)])
}

/// Returns the last generation if `holds` is true for it and for the one before.
fn lasting(series: &[Health], holds: impl Fn(&Health, &Quality) -> bool) -> Option<(&Health, Quality)> {
    let two = last_two(series)?;
    two.iter().all(|(health, fresh)| holds(health, fresh)).then(|| two[1])
}

fn value_is_no_use(series: &[Health]) -> Option<String> {
    let (_, fresh) = lasting(series, |_, fresh| fresh.value_loss > WORSE * fresh.value_constant)?;
    Some(format!(
        "in new games the network's values are worse than always answering the mean result (value loss {:.3} against \
         {:.3}): it has not learned who wins; check train.learning_rate and replay.window and, if the game is your \
         own, its outcome and planes (check-game)",
        fresh.value_loss, fresh.value_constant
    ))
}

fn policy_is_no_use(series: &[Health]) -> Option<String> {
    let (_, fresh) = lasting(series, |_, fresh| fresh.policy_loss > fresh.policy_uniform)?;
    Some(format!(
        "in new games the network's policy is worse than an equal chance for every legal action (policy loss {:.3} \
         against {:.3}): it misleads the search",
        fresh.policy_loss, fresh.policy_uniform
    ))
}

fn learned_by_heart(series: &[Health]) -> Option<String> {
    let [.., earlier, before, last] = series else { return None };
    let pairs = [(earlier, before), (before, last)];
    let gap = |(trained, new): &(&Health, &Health)| {
        let fresh = new.fresh.filter(|_| trained.generation >= EARLY)?.value_loss;
        (fresh > BY_HEART * trained.seen.value_loss).then_some([trained.seen.value_loss, fresh])
    };
    let [_, [seen, fresh]] = [gap(&pairs[0])?, gap(&pairs[1])?];
    Some(format!(
        "the network knows the positions that it trained on much better than new ones (value loss {seen:.3} against \
         {fresh:.3}): it learns games by heart; fewer train.samples_per_position or more selfplay.games help"
    ))
}

fn badly_calibrated(series: &[Health]) -> Option<String> {
    let (_, fresh) = lasting(series, |_, fresh| fresh.calibration > OFF)?;
    Some(format!(
        "in new games the network's values are off by {:.2} points of a game's score on average: the search relies on \
         wrong expectations",
        fresh.calibration
    ))
}

/// Explains a rising value loss. The loss rises in most good runs, because games between better players are harder to
/// predict; the calibration shows whether that is the reason.
fn value_loss_rises(series: &[Health]) -> Option<String> {
    let [(before, _), (last, fresh)] = last_two(series)?;
    let known =
        series.iter().filter(|health| health.generation >= EARLY && health.generation < before.generation);
    let known = known.filter_map(|health| Some((health, health.fresh?)));
    let (best, least) = known.min_by(|a, b| a.1.value_loss.total_cmp(&b.1.value_loss))?;
    if before.fresh?.value_loss.min(fresh.value_loss) < RISEN * least.value_loss {
        return None;
    }
    let rise = format!(
        "the value loss on new games rises ({:.3} in generation {}, {:.3} in generation {})",
        least.value_loss, best.generation, fresh.value_loss, last.generation
    );
    let calibrations =
        format!("{:.2} then, {:.2} now, in points of a game's score", least.calibration, fresh.calibration);
    if fresh.calibration > least.calibration + OFF_BY_CHANCE {
        return Some(format!(
            "{rise}, and the network's values get less reliable (they are off by {calibrations}): watch the rating"
        ));
    }
    let longer = (last.length > LONGER * best.length)
        .then(|| format!("longer ({:.0} actions, {:.0} then)", last.length, best.length));
    let closer = (fresh.value_constant > least.value_constant).then(|| "closer".to_string());
    let reasons: Vec<String> = longer.into_iter().chain(closer).collect();
    let why = if reasons.is_empty() {
        String::new()
    } else {
        format!(" because the games get {}", reasons.join(" and "))
    };
    Some(format!("{rise}{why}; calibration is unchanged (off by {calibrations}), so nothing is wrong"))
}

fn games_repeat(series: &[Health]) -> Option<String> {
    let first = series.iter().find(|health| health.generation >= 2)?;
    let last = series.last().filter(|last| last.generation > first.generation)?;
    let repeats = last.duplicates > REPEATED.0 && last.duplicates > REPEATED.1 * first.duplicates;
    repeats.then(|| {
        format!(
            "{:.0} % of the positions in the window are repetitions ({:.0} % in generation {}): the games are too much \
             alike; more selfplay.random_plies or selfplay.temperature_plies make them differ",
            100.0 * last.duplicates,
            100.0 * first.duplicates,
            first.generation
        )
    })
}

fn one_side_wins(series: &[Health]) -> Option<String> {
    let (last, _) =
        lasting(series, |health, _| health.first_score > ONE_SIDED || health.first_score < 1.0 - ONE_SIDED)?;
    let (who, score) =
        if last.first_score > 0.5 { ("first", last.first_score) } else { ("second", 1.0 - last.first_score) };
    Some(format!(
        "the {who} player scores {:.1} % in self-play: one-sided results teach little; selfplay.random_plies make \
         games more even, if the rules allow even games",
        100.0 * score
    ))
}

fn search_is_sure(series: &[Health]) -> Option<String> {
    let (_, fresh) = lasting(series, |_, fresh| fresh.policy_floor < SURE)?;
    Some(format!(
        "the search gives nearly all visits to one action (entropy {:.3}): it explores little; search.noise_fraction \
         and selfplay.temperature control exploration",
        fresh.policy_floor
    ))
}

fn search_adds_nothing(series: &[Health]) -> Option<String> {
    let (_, fresh) = lasting(series, |_, fresh| fresh.surprise() < NOTHING)?;
    Some(format!(
        "the search hardly changes the network's policy (divergence {:.4}): its targets teach nothing new; with more \
         search.simulations, they may",
        fresh.surprise()
    ))
}

fn channels_die(series: &[Health]) -> Option<String> {
    let [.., before, last] = series else { return None };
    (before.dead_channels.min(last.dead_channels) > DEAD).then(|| {
        format!(
            "{:.0} % of the network's channels are dead: weight decay has shrunk them to nothing, so the network that \
             still learns is smaller; less train.weight_decay keeps channels alive",
            100.0 * last.dead_channels
        )
    })
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::random::{Purpose, stream};

    /// Makes eight generations of a run in which nothing looks wrong, each changed by `change`.
    fn series(change: impl Fn(usize, &mut Health)) -> Vec<Health> {
        let healthy = |generation: usize| {
            let quality = Quality {
                positions: 2048,
                policy_loss: 1.1,
                policy_floor: 0.9,
                policy_entropy: 1.0,
                policy_uniform: 1.9,
                value_loss: 0.6,
                value_constant: 0.75,
                brier: 0.15,
                calibration: 0.03,
            };
            let fresh = (generation > 1).then_some(quality);
            let seen = Quality { value_loss: 0.55, ..quality };
            let (length, first_score, duplicates) = (30.0, 0.55, 0.2);
            Health { generation, fresh, seen, length, first_score, duplicates, ..Health::default() }
        };
        let changed = |generation| {
            let mut health = healthy(generation);
            change(generation, &mut health);
            health
        };
        (1..=8).map(changed).collect()
    }

    /// Makes the healthy series with changed measurements of its new games.
    fn fresh(change: impl Fn(usize, &mut Quality)) -> Vec<Health> {
        series(|generation, health| health.fresh.iter_mut().for_each(|fresh| change(generation, fresh)))
    }

    /// Returns the signs that appear after each generation.
    fn appearing(series: &[Health]) -> Vec<(usize, String)> {
        (1..=series.len())
            .flat_map(|end| new_ones(&series[..end]).into_iter().map(move |sign| (end, sign)))
            .collect()
    }

    /// Asserts that exactly one sign appears, after this generation, and returns it.
    fn one(series: &[Health], after: usize) -> String {
        let signs = appearing(series);
        assert_eq!(signs.iter().map(|(generation, _)| *generation).collect::<Vec<_>>(), [after], "{signs:?}");
        signs[0].1.clone()
    }

    /// Signs are the same without the generations that a long run drops.
    #[test]
    fn a_long_run_needs_few_generations() {
        let mut random = stream(5, Purpose::Sampling, &[]);
        let mut noise = |low: f64, high: f64| random.random_range(low..high);
        let (mut all, mut learning, mut signs) = (Vec::new(), Learning::default(), 0);
        let healthy = series(|_, _| ()).remove(1);
        for generation in 1..=400 {
            let mut health = Health { generation, ..healthy.clone() };
            health.length = noise(20.0, 60.0);
            health.duplicates = noise(0.3, 0.9);
            health.seen.value_loss = noise(0.2, 0.6);
            if let Some(fresh) = &mut health.fresh {
                fresh.value_loss = noise(0.3, 1.2);
                fresh.calibration = noise(0.0, 0.2);
                fresh.value_constant = noise(0.5, 1.0);
            }
            all.push(health.clone());
            let expected = new_ones(&all);
            assert_eq!(
                new_ones(&learning.with(health.clone())),
                expected,
                "generation {}",
                health.generation
            );
            signs += expected.len();
            learning.add(health);
        }
        assert!(signs > 50 && learning.with(Health::default()).len() <= NEWEST + 2, "{signs}");
    }

    #[test]
    fn a_gpu_that_is_badly_fed() {
        let seconds = std::time::Duration::from_secs;
        let used = Bulk { batches: 10, positions: 900, wanted: 100, busy: seconds(9), elapsed: seconds(10) };
        assert_eq!(badly_fed(&used), None);
        assert_eq!(badly_fed(&Bulk::default()), None, "it was not asked");
        let sign = badly_fed(&Bulk { positions: 124, ..used }).expect("mostly empty");
        assert!(sign.contains("12 % full on average (12 of 100 positions)"), "{sign}");
        let sign = badly_fed(&Bulk { busy: seconds(2), ..used }).expect("mostly idle");
        assert!(sign.contains("idle for 80 %"), "{sign}");
    }

    #[test]
    fn nothing_is_said_of_a_healthy_run() {
        assert_eq!(appearing(&series(|_, _| ())), []);
        assert_eq!(new_ones(&[]), Vec::<String>::new());
        // nothing is said about a single bad generation, or about the first ones
        let bad = |generation: usize, health: &mut Health| {
            if [2, 5].contains(&generation) {
                health.first_score = 1.0;
                health.fresh.iter_mut().for_each(|fresh| {
                    (fresh.value_loss, fresh.policy_loss, fresh.calibration) = (2.0, 5.0, 0.4);
                });
            }
        };
        assert_eq!(appearing(&series(bad)), []);
    }

    #[test]
    fn a_value_of_no_use() {
        // as if the values had the wrong sign
        let wrong = series(|_, health| {
            health.seen.value_loss = 1.3;
            health.fresh.iter_mut().for_each(|fresh| fresh.value_loss = 1.4);
        });
        let sign = one(&wrong, 4);
        assert!(sign.contains("(value loss 1.400 against 0.750)") && sign.contains("check-game"), "{sign}");
    }

    #[test]
    fn a_policy_of_no_use() {
        let sign = one(&fresh(|_, fresh| fresh.policy_loss = 2.5), 4);
        assert!(sign.contains("(policy loss 2.500 against 1.900)"), "{sign}");
    }

    #[test]
    fn games_learned_by_heart() {
        let sign = one(&series(|_, health| health.seen.value_loss = 0.3), 5);
        assert!(sign.contains("(value loss 0.300 against 0.600): it learns games by heart"), "{sign}");
    }

    #[test]
    fn values_that_do_not_come_true() {
        let sign =
            one(&fresh(|generation, fresh| fresh.calibration = if generation < 6 { 0.05 } else { 0.16 }), 7);
        assert!(sign.contains("off by 0.16 points"), "{sign}");
    }

    #[test]
    fn a_value_loss_that_rises_is_explained_by_the_calibration() {
        let rising = |generation: usize| 0.5 + 0.03 * generation as f64;
        let harmless = series(|generation, health| {
            health.length = 28.0 + generation as f64;
            health.fresh.iter_mut().for_each(|fresh| {
                fresh.value_loss = rising(generation);
                fresh.value_constant = 0.7 + 0.04 * generation as f64;
            });
        });
        let sign = one(&harmless, 7);
        assert_eq!(
            sign,
            "the value loss on new games rises (0.590 in generation 3, 0.710 in generation 7) because the games get \
             longer (35 actions, 31 then) and closer; calibration is unchanged (off by 0.03 then, 0.03 now, in points \
             of a game's score), so nothing is wrong"
        );
        let harmful = fresh(|generation, fresh| {
            (fresh.value_loss, fresh.calibration) = (rising(generation), 0.012 * generation as f64);
            fresh.value_constant = 0.9;
        });
        let sign = one(&harmful, 7);
        assert!(
            sign.ends_with(
                "get less reliable (they are off by 0.04 then, 0.08 now, in points of a game's score): \
            watch the rating"
            ),
            "{sign}"
        );
    }

    #[test]
    fn games_that_repeat() {
        let sign = one(&series(|generation, health| health.duplicates = 0.1 * generation as f64), 6);
        assert!(
            sign.starts_with("60 % of the positions in the window are repetitions (20 % in generation 2)"),
            "{sign}"
        );
        // a small game has few positions from the start
        assert!(new_ones(&series(|_, health| health.duplicates = 0.9)).is_empty());
    }

    #[test]
    fn one_side_that_wins() {
        let sign = one(&series(|_, health| health.first_score = 0.99), 4);
        assert!(sign.starts_with("the first player scores 99.0 %"), "{sign}");
        let sign = one(&series(|_, health| health.first_score = 0.0), 4);
        assert!(sign.starts_with("the second player scores 100.0 %"), "{sign}");
    }

    #[test]
    fn searches_that_explore_or_teach_nothing() {
        let sign = one(&fresh(|_, fresh| fresh.policy_floor = 0.02), 4);
        assert!(sign.contains("(entropy 0.020)"), "{sign}");
        let sign = one(&fresh(|_, fresh| fresh.policy_loss = fresh.policy_floor + 0.004), 4);
        assert!(sign.contains("(divergence 0.0040)"), "{sign}");
    }

    #[test]
    fn channels_that_die() {
        let dying = |generation: usize, health: &mut Health| health.dead_channels = 0.024 * generation as f64;
        let sign = one(&series(dying), 6);
        assert!(
            sign.starts_with("14 % of the network's channels are dead") && sign.contains("weight_decay"),
            "{sign}"
        );
    }
}
