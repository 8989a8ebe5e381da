//! The pairs of an ongoing match: takes finished pairs in any order and computes the result of the pairs that count.
//!
//! Pairs are counted and saved in the order of their numbers, up to the one that decides the test or ends the match, so
//! the result and the file do not depend on the order in which threads finish.

use std::collections::BTreeMap;

use super::elo::{self, Estimate};
use super::journal::{Journal, SavedPair};
use super::playing::{Count, Planned};
use super::repeats::Repeats;
use super::sprt::{Pentanomial, Verdict};
use super::{Faults, FinishedGame, Match, MatchResult, Pair, Standing};
use crate::error::Result;
use crate::game::Game;

/// Pairs with games that finished before their turn, by number: the two agents and the finished games.
#[derive(Default)]
pub(super) struct EarlyPairs(BTreeMap<usize, ([usize; 2], [Option<FinishedGame>; 2])>);

impl EarlyPairs {
    pub(super) fn add(&mut self, game: &Planned, played: FinishedGame) {
        let (_, games) = self.0.entry(game.pair).or_insert((game.agents, [None, None]));
        games[game.first_agent] = Some(played);
    }

    /// Removes and returns this pair, with its agents, if both of its games are finished.
    pub(super) fn take(&mut self, pair: usize) -> Option<([usize; 2], Pair)> {
        match self.0.remove(&pair)? {
            (agents, [Some(first), Some(second)]) => Some((agents, [first, second])),
            unfinished => {
                self.0.insert(pair, unfinished);
                None
            }
        }
    }
}

/// The pairs of a match.
pub(super) struct Ledger<'a, G: Game> {
    game: &'a G,
    plan: &'a Match,
    journal: Option<Journal>,
    /// The counted pairs, without their actions (the actions are in `repeats`).
    counted: Vec<Pair>,
    scores: Pentanomial,
    repeats: Repeats,
    ahead: EarlyPairs,
    /// The progress of all games, counted or not, with the test's result for the counted pairs.
    standing: Standing,
}

impl<G: Game> Count for Ledger<'_, G> {
    fn standing(&mut self) -> &mut Standing {
        &mut self.standing
    }

    /// Adds a finished game, and counts and saves all pairs whose turn it is.
    fn add(&mut self, game: &Planned, played: FinishedGame) -> Result<()> {
        self.ahead.add(game, played);
        while !self.is_over()
            && let Some((_, pair)) = self.ahead.take(self.counted.len())
        {
            if let Some(journal) = &mut self.journal {
                journal.append(self.game, self.counted.len(), None, &pair)?;
            }
            self.count(pair);
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        2 * self.counted.len() >= self.plan.games
            || self.standing.sprt.is_some_and(|result| result.verdict != Verdict::Undecided)
    }
}

impl<'a, G: Game> Ledger<'a, G> {
    /// Returns a ledger that counts the pairs in `journal` first.
    pub(super) fn new(game: &'a G, plan: &'a Match, mut journal: Option<Journal>) -> Self {
        let saved = journal.as_mut().map(|journal| std::mem::take(&mut journal.saved)).unwrap_or_default();
        let mut ledger = Ledger {
            game,
            plan,
            journal,
            counted: Vec::new(),
            scores: [0; 5],
            repeats: Repeats::default(),
            ahead: EarlyPairs::default(),
            standing: Standing {
                sprt: plan.sprt.map(|sprt| sprt.result(&[0; 5], 1.0)),
                ..Standing::default()
            },
        };
        for SavedPair { pair, .. } in saved {
            if ledger.is_over() {
                break;
            }
            ledger.count(pair);
        }
        ledger.standing.kept = 2 * ledger.counted.len();
        ledger.standing.games = ledger.standing.kept;
        ledger
    }

    /// Returns the number of counted pairs.
    pub(super) fn counted(&self) -> usize {
        self.counted.len()
    }

    fn count(&mut self, mut pair: Pair) {
        self.scores[(2.0 * (pair[0].score + pair[1].score)) as usize] += 1;
        for (side, played) in pair.iter_mut().enumerate() {
            self.repeats.count_from(played.start.take(), side, std::mem::take(&mut played.actions));
        }
        self.standing.sprt = self.plan.sprt.map(|sprt| sprt.result(&self.scores, self.repeats.worth()));
        self.counted.push(pair);
    }

    /// Returns the result of the counted pairs.
    pub(super) fn result(&self) -> MatchResult {
        let games = || self.counted.iter().flatten();
        let count = |score: f64| games().filter(|played| played.score == score).count();
        let draws = count(0.5);
        let scores: Vec<f64> =
            self.counted.iter().map(|pair| (pair[0].score + pair[1].score) / 2.0).collect();
        let Estimate { elo, low, high } = elo::estimate(&scores, self.repeats.worth());
        let mut faults = [Faults::default(); 2];
        for played in games() {
            if let Some(fault) = played.fault {
                faults[(played.score == 1.0) as usize].add(fault);
            }
        }
        MatchResult {
            games: games().count(),
            distinct_games: self.repeats.distinct(),
            effective_games: Some(self.repeats.effective()),
            wins: count(1.0),
            draws,
            losses: count(0.0),
            cut_short: if self.game.about().drawless { draws } else { 0 },
            pairs: self.scores,
            elo,
            elo_low: low,
            elo_high: high,
            sprt: self.standing.sprt,
            faults,
        }
    }
}
