//! Searches of many positions of a game at once, whose leaves are evaluated together.
//!
//! Input: positions, the settings of the searches, and a source of evaluators. Output: what each search found. A search does
//! not depend on those beside it.

use super::searching::{Analysis, Searcher};
use crate::config::SearchConfig;
use crate::error::Result;
use crate::game::Game;
use crate::net::source::Source;
use crate::random::{Purpose, stream};
use crate::search::together::{InFlight, Task, map};

/// The plan of the searches.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The settings of each search.
    pub search: SearchConfig,
    /// [Simulations](crate::search::Search) of each.
    pub simulations: usize,
    /// Rollouts follow from it.
    pub seed: u64,
}

/// Searches each of `states` from an empty tree; `None` where the game is over. `tick` gets the number of finished searches
/// and says whether to go on.
///
/// ```
/// use petteia::arena::positions::{Plan, analyze};
/// use petteia::config::SearchConfig;
/// use petteia::game::Game;
/// use petteia::games::connect_four::ConnectFour;
/// use petteia::net::source::Source;
///
/// let states = ["-", "4", "44"].map(|text| ConnectFour.parse_state(text)).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let plan = Plan { search: SearchConfig::default(), simulations: 100, seed: 1 };
/// let found = analyze(&ConnectFour, &states, &plan, &Source::Rollout, &|_finished| true)?;
/// assert!(found.iter().all(|analysis| analysis.as_ref().is_some_and(|analysis| analysis.simulations == 100)));
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// An evaluator fails; [`Error::Interrupted`](crate::error::Error::Interrupted) if `tick` says so.
pub fn analyze<G: Game>(
    game: &G,
    states: &[G::State],
    plan: &Plan,
    source: &Source,
    tick: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Vec<Option<Analysis>>> {
    // a game that is over has nothing to search
    let going: Vec<usize> =
        (0..states.len()).filter(|index| game.outcome(&states[*index]).is_none()).collect();
    let in_flight = InFlight::of(going.len(), plan.simulations, source.batch());
    let begin = |number: usize| {
        let random = stream(plan.seed, Purpose::Agent, &[going[number] as u64]);
        let mut searcher = Searcher::new(game.clone(), plan.search.clone(), plan.simulations, random);
        searcher.begin(&states[going[number]], Some(plan.simulations));
        Ok(searcher)
    };
    let end = |searcher: Searcher<G>| Analysis::of(searcher.search());
    let found = map(going.len(), in_flight, begin, end, |_| source.evaluator(game, 0), tick)?;
    let mut all: Vec<Option<Analysis>> = states.iter().map(|_| None).collect();
    going.into_iter().zip(found).for_each(|(index, analysis)| all[index] = Some(analysis));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::connect_four::ConnectFour;
    use crate::search::Search;
    use crate::search::evaluator::Uniform;

    #[test]
    fn a_search_is_the_same_alone() {
        let states = ["-", "4", "1212121", "44"].map(|text| ConnectFour.parse_state(text).unwrap());
        let search = SearchConfig::default().one_by_one();
        let plan = Plan { search, simulations: 80, seed: 1 };
        let found = analyze(&ConnectFour, &states, &plan, &Source::Uniform, &|_| true).unwrap();
        assert!(found[2].is_none(), "the game is over");
        for (index, found) in found.iter().enumerate().filter(|(index, _)| *index != 2) {
            let mut alone = Search::new(ConnectFour, plan.search.clone(), states[index]);
            alone.run(&mut Uniform, 80, &mut stream(1, Purpose::Agent, &[index as u64])).unwrap();
            assert_eq!(found.as_ref().unwrap().visits, Analysis::of(&alone).visits);
        }
        assert!(analyze(&ConnectFour, &states, &plan, &Source::Uniform, &|_| false).is_err());
    }
}
