//! Decides how long to think: turns a game's clock into the budget for one action.
//!
//! The share of an action is the time left divided by the number of actions that the player still expects to take, plus
//! most of the increment. A search whose result is in doubt may take a multiple of its share, but never more than a
//! fixed fraction of the time left, so the clock shrinks but does not run out, however long the game is.

use std::time::Duration;

/// The fraction of the increment that is spent at once; the rest refills the clock.
const INCREMENT_SPENT: f64 = 0.8;
/// The largest number of shares that a search whose result is in doubt may take.
const DOUBT: f64 = 2.5;
/// The largest fractions of the time left that one action may take: first for any action, then for the last action of a
/// period.
const MOST_OF_LEFT: f64 = 0.3;
const MOST_OF_LAST: f64 = 0.9;
/// The reserve for delays on a busy machine, at most half of the time left. With less time left than this, actions
/// are played at once.
const SAFETY: Duration = Duration::from_millis(50);
/// The fraction of the time left that is always shared out, regardless of the number of actions ahead.
const LEAST_FREE: f64 = 0.1;
/// The smallest number of further actions that is assumed, because games can last longer than expected.
const FEWEST_AHEAD: f64 = 6.0;

/// The clock of the player who is to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// The time left.
    pub left: Duration,
    /// The time added after each action.
    pub increment: Duration,
    /// The number of actions until the clock is refilled, if it ever is.
    pub to_go: Option<usize>,
    /// The time lost outside the search for each action: pipes, scheduling, and the match runner itself.
    pub overhead: Duration,
}

/// The time for one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeBudget {
    /// The time to spend normally.
    pub share: Duration,
    /// The time to spend if the result is in doubt.
    pub most: Duration,
}

impl Clock {
    /// Returns the budget of an action if the player expects `ahead` more actions, including this one. The budget is
    /// zero if the clock has no time to spare; in this case, the first action found is played.
    pub fn budget(&self, ahead: f64) -> TimeBudget {
        let usable =
            self.left.saturating_sub(self.overhead.saturating_add(SAFETY.min(self.left / 2))).as_secs_f64();
        let (increment, overhead) = (self.increment.as_secs_f64(), self.overhead.as_secs_f64());
        // set aside the part of each future action's overhead that its increment does not cover, and share out the rest
        let (gain, cost) = ((increment - overhead).max(0.0), (overhead - increment).max(0.0));
        let ahead = ahead.max(FEWEST_AHEAD);
        let (ahead, free) = match self.to_go {
            Some(to_go) => {
                let to_go = to_go.max(1) as f64;
                (ahead.min(to_go), usable - cost * (to_go - 1.0))
            }
            None => (ahead, usable - cost * (ahead - 1.0)),
        };
        let free = free.max(usable * LEAST_FREE);
        let most_of_left = match self.to_go {
            Some(0 | 1) => usable * MOST_OF_LAST,
            _ => free.min(usable * MOST_OF_LEFT),
        };
        let share = (free / ahead + gain * INCREMENT_SPENT).min(most_of_left);
        TimeBudget {
            share: Duration::from_secs_f64(share),
            most: Duration::from_secs_f64((share * DOUBT).min(most_of_left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    proptest! {
        /// With every clock, no action takes all of the time left, even if every action spends the maximum.
        #[test]
        fn the_clock_never_runs_out(left in 1u64..600_000, increment in 0u64..5_000, ahead in 1.0f64..200.0) {
            let overhead = ms(10);
            let mut clock = Clock { left: ms(left), increment: ms(increment), to_go: None, overhead };
            for _ in 0..500 {
                let budget = clock.budget(ahead);
                prop_assert!(budget.share <= budget.most && budget.most < clock.left);
                clock.left = clock.left - budget.most + clock.increment;
            }
        }

        /// The time lost outside the search does not use up the clock, either: never if the increment covers this time,
        /// and otherwise not within the expected number of actions.
        #[test]
        fn the_overhead_is_paid_for(left in 1_000u64..600_000, increment in 0u64..5_000, ahead in 1u64..200) {
            let overhead = ms(10);
            prop_assume!(left > 3 * 10 * ahead);
            let mut clock = Clock { left: ms(left), increment: ms(increment), to_go: None, overhead };
            for _ in 0..if increment >= 10 { 500 } else { ahead } {
                let spent = clock.budget(ahead as f64).share + overhead;
                prop_assert!(spent < clock.left, "{clock:?}");
                clock.left = clock.left - spent + clock.increment;
            }
        }

        /// The clock lasts for a period of `to_go` actions, including the overhead.
        #[test]
        fn a_period_is_enough(left in 1_000u64..600_000, to_go in 1usize..60, ahead in 1.0f64..200.0) {
            let overhead = ms(1);
            let mut clock = Clock { left: ms(left), increment: ms(0), to_go: Some(to_go), overhead };
            for to_go in (1..=to_go).rev() {
                clock.to_go = Some(to_go);
                let spent = clock.budget(ahead).share + overhead;
                prop_assert!(spent < clock.left, "{clock:?}");
                clock.left -= spent;
            }
        }
    }

    proptest! {
        /// Every clock, even a huge, tiny, or strange one, gets a budget within its time.
        #[test]
        fn any_clock_has_a_budget(
            times in [duration(), duration(), duration()],
            to_go in proptest::option::of(any::<usize>()),
            ahead in any::<f64>(),
        ) {
            let [left, increment, overhead] = times;
            let budget = Clock { left, increment, to_go, overhead }.budget(ahead);
            prop_assert!(budget.share <= budget.most && budget.most <= left);
        }
    }

    fn duration() -> impl Strategy<Value = Duration> {
        prop_oneof![
            Just(Duration::MAX),
            Just(Duration::ZERO),
            Just(Duration::from_nanos(1)),
            any::<u64>().prop_map(Duration::from_millis),
            any::<u64>().prop_map(Duration::from_secs),
        ]
    }

    /// A game as long as expected spends most of its clock.
    #[test]
    fn the_clock_is_spent() {
        for actions in [10, 25, 60] {
            let mut clock = Clock { left: ms(60_000), increment: ms(0), to_go: None, overhead: ms(10) };
            for played in 0..actions {
                clock.left -= clock.budget((actions - played) as f64).share;
            }
            assert!(clock.left < ms(60_000 / 3), "{actions} actions left {:?}", clock.left);
        }
    }

    #[test]
    fn an_increment_is_used() {
        let clock = Clock { left: ms(1_000), increment: ms(500), to_go: None, overhead: ms(10) };
        assert!(clock.budget(40.0).share > ms(200));
        let empty = Clock { left: ms(0), increment: ms(500), to_go: None, overhead: ms(10) };
        assert_eq!(empty.budget(40.0).most, ms(0));
    }
}
