//! Searches many positions of a game at once and evaluates their leaves together.
//!
//! Input: positions, the settings of the searches, and a source of evaluators. Output: the result of each search. A
//! search does not depend on the other searches.

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
    /// The number of [simulations](crate::search::Search) of each search.
    pub simulations: usize,
    /// The seed of the rollouts.
    pub seed: u64,
}

/// Searches each of `states` from an empty tree; `None` for a position in which the game is over. `tick` receives the
/// number of finished searches and returns whether to continue.
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
/// let analyses = analyze(&ConnectFour, &states, &plan, &Source::Rollout, &|_finished| true)?;
/// assert!(analyses.iter().all(|analysis| analysis.as_ref().is_some_and(|analysis| analysis.simulations == 100)));
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// If an evaluator fails; [`Error::Interrupted`](crate::error::Error::Interrupted) if `tick` returns false.
pub fn analyze<G: Game>(
    game: &G,
    states: &[G::State],
    plan: &Plan,
    source: &Source,
    tick: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Vec<Option<Analysis>>> {
    // there is nothing to search in a game that is over
    let open: Vec<usize> =
        (0..states.len()).filter(|index| game.outcome(&states[*index]).is_none()).collect();
    let in_flight = InFlight::of(open.len(), plan.simulations, source.batch());
    let begin = |number: usize| {
        let random = stream(plan.seed, Purpose::Agent, &[open[number] as u64]);
        let mut searcher = Searcher::new(game.clone(), plan.search.clone(), plan.simulations, random);
        searcher.begin(&states[open[number]], Some(plan.simulations));
        Ok(searcher)
    };
    let end = |searcher: Searcher<G>| Analysis::of(searcher.search());
    let analyses = map(open.len(), in_flight, begin, end, |_| source.evaluator(game, 0), tick)?;
    let mut all: Vec<Option<Analysis>> = states.iter().map(|_| None).collect();
    open.into_iter().zip(analyses).for_each(|(index, analysis)| all[index] = Some(analysis));
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
        let analyses = analyze(&ConnectFour, &states, &plan, &Source::Uniform, &|_| true).unwrap();
        assert!(analyses[2].is_none(), "the game is over");
        for (index, analysis) in analyses.iter().enumerate().filter(|(index, _)| *index != 2) {
            let mut alone = Search::new(ConnectFour, plan.search.clone(), states[index]);
            alone.run(&mut Uniform, 80, &mut stream(1, Purpose::Agent, &[index as u64])).unwrap();
            assert_eq!(analysis.as_ref().unwrap().visits, Analysis::of(&alone).visits);
        }
        assert!(analyze(&ConnectFour, &states, &plan, &Source::Uniform, &|_| false).is_err());
    }
}
