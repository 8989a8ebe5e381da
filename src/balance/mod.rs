//! Measures whether a game is balanced for players who know how to play it, for `petteia balance`.
//!
//! Input: the rules and a list of levels, which are players of growing strength. Output: a [`Balance`]: what can be
//! proved, who has the advantage, what games between equal players of each level look like, how far each level beats
//! the level below, and how the strongest level judges every first action. Games are played until the advantage is
//! known. Each game begins with an opening that costs neither player anything; the seed alone determines which openings
//! are played. `proof` runs the solver, `openings` prepares the openings, `game` plays, `verdict` determines who has
//! the advantage, `metrics` describes the character of games, `page` presents the results, `drawn` makes the page's
//! pictures, and `known` compares the results with those of games that designers know.

mod drawn;
mod figures;
mod game;
mod known;
mod metrics;
mod openings;
pub mod page;
pub mod proof;
mod samples;
mod stages;
#[cfg(test)]
mod tests;
mod swap;
pub mod verdict;
pub mod words;

use std::collections::BTreeMap;

use serde::Serialize;

use self::game::{BalanceTable, Line, Observed, Seats};
pub use self::metrics::Character;
use self::openings::Book;
pub use self::openings::BookFacts;
use self::proof::{Proof, proof};
pub use self::samples::SampleGame;
use self::samples::samples;
use self::stages::developed;
pub use self::stages::{STAGES, Squares, Stages};
pub use self::swap::Swap;
use self::verdict::{Verdict, looks, repeats, score, score_of_pairs};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::elo::Z;
use crate::error::Result;
use crate::game::{Game, Outcome};

/// How balance is measured.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The number of games of each level against itself, and against the level below.
    pub games: usize,
    /// The maximum number of games of a level against itself. Levels that know the game play on until the advantage is
    /// known; the results are checked after certain numbers of games.
    pub most: usize,
    /// Half the width of the range that counts as fair, as a share of the points.
    pub within: f64,
    /// The number of plies at the start of a game whose actions are drawn from the search's visits; `None` to begin
    /// games with openings that cost nothing.
    pub varied_plies: Option<usize>,
    /// The number of legal actions that the solver examines before games are played; 0 to skip the solver.
    pub solver: u64,
    /// The seed that determines all games.
    pub seed: u64,
}

/// A named player. Lists of levels begin with the weakest.
#[derive(Debug)]
pub struct Level {
    /// The level's name.
    pub name: String,
    /// Whether the level knows the game well enough to judge it.
    pub is_expert: bool,
    /// The player.
    pub contestant: Contestant<AnyGame>,
}

/// The measurements of a game.
#[derive(Clone, Debug, Serialize)]
pub struct Balance {
    /// The game's id.
    pub game: String,
    /// The names of the players.
    pub players: [String; 2],
    /// The plan of the measurement.
    pub plan: Plan,
    /// The solver's findings; `None` if the solver was not used.
    pub proof: Option<Proof>,
    /// The number, from 0, of the level whose games and opinions are shown: the strongest level that searches, or the
    /// strongest of all if none does.
    pub shown: usize,
    /// Facts about the openings of the games; `None` if the first actions were drawn from the search's visits.
    pub book: Option<BookFacts>,
    /// The verdict on who has the advantage; `None` if no games were played.
    pub verdict: Option<Verdict>,
    /// The games of each level against itself, the weakest level first.
    pub levels: Vec<Equals>,
    /// The games of each level against the one below.
    pub steps: Vec<LevelStep>,
    /// The number of levels that score at least two thirds of the points against the level below, even by the lower
    /// bound.
    pub skill_chain: usize,
    /// The number of levels that may score at least two thirds of the points against the level below, by the upper
    /// bound.
    pub possible_links: usize,
    /// Every first action, from the best to the worst for the first player.
    pub openings: Vec<Opening>,
    /// What a swap rule on the first action would do; `None` if the game is not known to be unfair, if its rules
    /// already let the players settle who plays which side, or if every first action is proven to win or lose.
    pub swap: Option<Swap>,
    /// How games of the level [`Balance::shown`] develop.
    pub stages: Stages,
    /// How often the actions of the level [`Balance::shown`] touch each square, and how well the players who touch it
    /// score.
    pub squares: Squares,
    /// Sample games of the level [`Balance::shown`].
    pub samples: Vec<SampleGame>,
}

/// The results of games between two players of one level.
#[derive(Clone, Debug, Serialize)]
pub struct Equals {
    /// The level's name.
    pub name: String,
    /// Whether the level knows the game well enough to judge it.
    pub is_expert: bool,
    /// The number of games.
    pub games: usize,
    /// The number of distinct games.
    pub distinct: usize,
    /// The first player's mean score and its 95 % bounds. Repeated games have less weight.
    pub first_score: [f64; 3],
    /// The share of draws.
    pub draws: f64,
    /// The share of games that ended for each reason.
    pub endings: BTreeMap<String, f64>,
    /// The number of games of each length.
    pub lengths: BTreeMap<usize, usize>,
    /// The ply by which the search has proven the result in half of the games; `None` if fewer results are proven.
    pub proven_from: Option<usize>,
    /// The character of the games, on average.
    pub character: Character,
}

/// The results of a level against the level below.
#[derive(Clone, Debug, Serialize)]
pub struct LevelStep {
    /// The name of the level, which should be the stronger one.
    pub name: String,
    /// The name of the level below.
    pub below: String,
    /// The number of games.
    pub games: usize,
    /// The mean score of the level and its 95 % bounds.
    pub score: [f64; 3],
}

/// A first action and its value.
#[derive(Clone, Debug, Serialize)]
pub struct Opening {
    /// The action.
    pub action: String,
    /// The first player's expected score after the action.
    pub expected: f64,
    /// Whether the expected score is proved; if not, it comes from a search by the level [`Balance::shown`].
    pub is_proven: bool,
    /// The number of games of the strongest level that began with this action.
    pub games: usize,
    /// The first player's mean score in the games that began with this action.
    pub score: Option<f64>,
}

/// The progress of a measurement, in games or in positions of openings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceProgress {
    /// What is being done.
    pub what: &'static str,
    /// The number done in the current step.
    pub done: usize,
    /// The total number in the current step.
    pub all: usize,
}

/// The number of trial games that estimate the length of a game before openings exist.
const TRIALS: usize = 16;
/// The number of plies at the start of a trial game whose actions are drawn from the search's visits.
const TRIAL_PLIES: usize = 8;
/// Openings shorter than this share of a game of the strongest level are lengthened until there are as many openings as
/// the largest number of games ([`Plan::most`]).
const LONG_OPENING: f64 = 0.25;
/// Openings shorter than this share of a game are lengthened while there are fewer openings than the initial number of
/// games ([`Plan::games`]), which happens if few actions cost nothing.
const LONGEST_OPENING: f64 = 0.5;

/// Plays the games of `plan` and returns the measurements. `tick` receives the progress and returns whether to
/// continue.
///
/// # Errors
/// If an agent fails, if the measurement is interrupted, or if a level neither searches nor plays perfectly.
pub fn measure(
    rules: &Opened,
    levels: &[Level],
    plan: &Plan,
    tick: &(dyn Fn(BalanceProgress) -> bool + Sync),
) -> Result<Balance> {
    let game = &rules.game;
    let proof = proof(game, plan.solver, &|| tick(BalanceProgress { what: "the solver", done: 0, all: 1 }))?;
    let table = BalanceTable { game, levels, plan };
    let book = match plan.varied_plies {
        Some(_) => None,
        None => Some(table.book(tick)?),
    };
    let opening = |seats: Seats| {
        let Seats { levels: [first, second], number } = seats;
        // two different levels play each opening twice, once on each side
        let number = if first == second { number } else { number / 2 };
        book.as_ref().map(|book| &book.lines[number % book.lines.len()])
    };
    let play = |games: &[Seats]| {
        let all = games.len();
        table.play(games, opening, &|done| tick(BalanceProgress { what: "games", done, all }))
    };
    // all games before the first look are played together, so that no core is idle when a level has few games left
    let mut seats = Vec::new();
    (0..levels.len()).for_each(|level| seats.extend(against_itself(level, 0..plan.games)));
    (1..levels.len()).for_each(|level| seats.extend(against_below(level, plan.games)));
    let mut played = play(&seats)?.into_iter();
    let mut equals: Vec<Vec<Observed>> =
        levels.iter().map(|_| played.by_ref().take(plan.games).collect()).collect();
    let steps: Vec<LevelStep> = (1..levels.len())
        .map(|level| {
            let games: Vec<Observed> = played.by_ref().take(plan.games).collect();
            LevelStep {
                name: levels[level].name.clone(),
                below: levels[level - 1].name.clone(),
                games: games.len(),
                score: score_of_pairs(&games),
            }
        })
        .collect();
    let verdict = if levels.is_empty() { None } else { Some(judged(&table, &mut equals, &play)?) };
    let shown = table.strongest();
    let games = equals.get(shown).map(Vec::as_slice).unwrap_or_default();
    let openings = table.openings(proof.as_ref(), games)?;
    let is_unfair = |verdict: &Verdict| verdict.favors.is_some() && !verdict.is_fair;
    let may_swap = plan.varied_plies.is_none() && !game.has_offer();
    let swap =
        if verdict.as_ref().is_some_and(is_unfair) && may_swap { table.swap(&openings, tick)? } else { None };
    let (stages, squares) = developed(game, games);
    Ok(Balance {
        game: rules.identity.id.clone(),
        players: game.about().player_names().map(String::from),
        plan: plan.clone(),
        proof,
        shown,
        book: book.as_ref().map(|book| book.about),
        verdict,
        skill_chain: steps.iter().filter(|step| step.score[1] >= LINK).count(),
        possible_links: steps.iter().filter(|step| step.score[2] >= LINK).count(),
        levels: levels.iter().zip(&equals).map(|(level, games)| of_equals(level, games)).collect(),
        steps,
        openings,
        swap,
        stages,
        squares,
        samples: samples(game, shown + 1, games),
    })
}

/// The minimum score against the level below for a link of the skill chain.
const LINK: f64 = 2.0 / 3.0;

fn against_itself(level: usize, numbers: std::ops::Range<usize>) -> impl Iterator<Item = Seats> {
    numbers.map(move |number| Seats { levels: [level, level], number })
}

/// Returns games of a level against the level below, with alternating sides.
fn against_below(level: usize, games: usize) -> impl Iterator<Item = Seats> {
    (0..games).map(move |number| Seats {
        levels: if number % 2 == 0 { [level, level - 1] } else { [level - 1, level] },
        number,
    })
}

/// Judges which side has the advantage in games between experts. The experts play until the advantage is known, until
/// they have played the maximum number of games, or until most of their games repeat others.
fn judged(
    table: &BalanceTable,
    equals: &mut [Vec<Observed>],
    play: &dyn Fn(&[Seats]) -> Result<Vec<Observed>>,
) -> Result<Verdict> {
    let BalanceTable { levels, plan, .. } = table;
    let experts: Vec<usize> = (0..levels.len()).filter(|&level| levels[level].is_expert).collect();
    let experts = if experts.is_empty() { vec![table.strongest()] } else { experts };
    // the games of the first look have already been played
    let mut looks = looks(plan.games, plan.most).into_iter().skip(1);
    loop {
        let games: Vec<(usize, &[Observed])> =
            experts.iter().map(|&level| (level, &*equals[level])).collect();
        let mut verdict = Verdict::of(&games, plan.within);
        let strongest = games.last().expect("there is an expert").1;
        let count = strongest.len();
        if repeats(strongest).distinct() * 2 < count {
            // further games would only be repetitions
            verdict.needed = None;
            return Ok(verdict);
        }
        let Some(next) = looks.next().filter(|_| !verdict.is_known()) else { return Ok(verdict) };
        let more = next - count;
        let of = |level: usize| equals[level].len()..equals[level].len() + more;
        let seats: Vec<Seats> =
            verdict.levels.iter().flat_map(|&level| against_itself(level, of(level))).collect();
        let mut played = play(&seats)?.into_iter();
        for level in verdict.levels {
            equals[level].extend(played.by_ref().take(more));
        }
    }
}

impl<'a> BalanceTable<'a> {
    /// Returns openings for the games of this plan.
    fn book(&self, tick: &(dyn Fn(BalanceProgress) -> bool + Sync)) -> Result<Book> {
        let plan = Plan { varied_plies: Some(TRIAL_PLIES), ..self.plan.clone() };
        let trials = BalanceTable { plan: &plan, ..*self };
        let seats: Vec<Seats> = against_itself(self.strongest(), 0..TRIALS).collect();
        let report =
            |what: &'static str| move |done: usize, all: usize| tick(BalanceProgress { what, done, all });
        let games = trials.play(&seats, |_| None, &|done| report("trial games")(done, TRIALS))?;
        let plies: usize = games.iter().map(|game| game.actions.len()).sum();
        let length = plies as f64 / games.len().max(1) as f64;
        let Plan { games, most, .. } = *self.plan;
        let wanted = |plies: usize| match plies as f64 / length {
            share if share < LONG_OPENING => games.max(most),
            share if share < LONGEST_OPENING => games,
            _ => 0,
        };
        Book::of(self, Line::default(), &wanted, &|done| report("openings")(done, wanted(0)))
    }
}

fn of_equals(level: &Level, games: &[Observed]) -> Equals {
    let mut endings = BTreeMap::new();
    for game in games {
        *endings.entry(game.ending.clone()).or_insert(0.0) += 1.0 / games.len() as f64;
    }
    let draws = games.iter().filter(|game| game.outcome == Outcome::Draw).count();
    let mut proven: Vec<usize> = games.iter().map(|game| game.proven_from.unwrap_or(usize::MAX)).collect();
    proven.sort_unstable();
    Equals {
        name: level.name.clone(),
        is_expert: level.is_expert,
        games: games.len(),
        distinct: repeats(games).distinct(),
        first_score: score(&games.iter().collect::<Vec<_>>(), Z),
        draws: draws as f64 / games.len().max(1) as f64,
        endings,
        lengths: games.iter().fold(BTreeMap::new(), |mut counts, game| {
            *counts.entry(game.actions.len()).or_default() += 1;
            counts
        }),
        proven_from: proven.get(games.len() / 2).copied().filter(|ply| *ply < usize::MAX),
        character: Character::of(games),
    }
}
