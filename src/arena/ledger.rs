//! The pairs of an ongoing match: takes finished pairs in any order and computes the result of those that count.
//!
//! Pairs are counted and saved in the order of their numbers, up to the one that decides the test or ends the match, so
//! the result and the file do not depend on the order in which threads finish.

use std::collections::BTreeMap;

use super::elo::{self, Estimate};
use super::journal::{Journal, Saved};
use super::repeats::Repeats;
use super::sprt::{Pentanomial, SprtResult, Verdict};
use super::{Faults, Match, MatchResult, Pair, Standing};
use crate::error::Result;
use crate::game::Game;

/// The pairs of a match.
pub(super) struct Ledger<'a, G: Game> {
    game: &'a G,
    plan: &'a Match,
    journal: Option<Journal>,
    /// The counted pairs, without their actions, which are in `repeats`.
    counted: Vec<Pair>,
    scores: Pentanomial,
    repeats: Repeats,
    /// The result of the test for the counted pairs.
    test: Option<SprtResult>,
    /// Pairs that finished before a pair with a lower number.
    ahead: BTreeMap<usize, Pair>,
    /// Games finished, counted or not.
    games: usize,
}

impl<'a, G: Game> Ledger<'a, G> {
    /// A ledger that counts the pairs in `journal` first.
    pub(super) fn new(game: &'a G, plan: &'a Match, mut journal: Option<Journal>) -> Self {
        let saved = journal.as_mut().map(|journal| std::mem::take(&mut journal.saved)).unwrap_or_default();
        let mut ledger = Ledger {
            game,
            plan,
            journal,
            counted: Vec::new(),
            scores: [0; 5],
            repeats: Repeats::default(),
            test: plan.sprt.map(|sprt| sprt.result(&[0; 5], 1.0)),
            ahead: BTreeMap::new(),
            games: 0,
        };
        for Saved { pair, .. } in saved {
            if ledger.is_over() {
                break;
            }
            ledger.count(pair);
        }
        ledger.games = 2 * ledger.counted.len();
        ledger
    }

    /// The number of counted pairs.
    pub(super) fn counted(&self) -> usize {
        self.counted.len()
    }

    /// Counts a finished game for the progress.
    pub(super) fn finished_game(&mut self) {
        self.games += 1;
    }

    /// Whether no further pair will be counted.
    pub(super) fn is_over(&self) -> bool {
        2 * self.counted.len() >= self.plan.games
            || self.test.is_some_and(|result| result.verdict != Verdict::Undecided)
    }

    /// The progress of the match.
    pub(super) fn standing(&self) -> Standing {
        Standing { games: self.games, sprt: self.test }
    }

    /// Adds a finished pair, and counts and saves all pairs whose turn it is.
    pub(super) fn add(&mut self, number: usize, pair: Pair) -> Result<()> {
        self.ahead.insert(number, pair);
        while !self.is_over()
            && let Some(pair) = self.ahead.remove(&self.counted.len())
        {
            if let Some(journal) = &mut self.journal {
                journal.append(self.game, self.counted.len(), None, &pair)?;
            }
            self.count(pair);
        }
        Ok(())
    }

    fn count(&mut self, mut pair: Pair) {
        self.scores[(2.0 * (pair[0].score + pair[1].score)) as usize] += 1;
        for (side, played) in pair.iter_mut().enumerate() {
            self.repeats.count(side, std::mem::take(&mut played.actions));
        }
        self.test = self.plan.sprt.map(|sprt| sprt.result(&self.scores, self.repeats.worth()));
        self.counted.push(pair);
    }

    /// The result of the counted pairs.
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
            cut_short: if G::DRAWLESS { draws } else { 0 },
            pairs: self.scores,
            elo,
            elo_low: low,
            elo_high: high,
            sprt: self.test,
            faults,
        }
    }
}
