//! Checks wrong texts: texts of actions that are legal in other positions, and damaged texts.
//!
//! A parser may refuse or accept a wrong text, but it must not panic. An action that a parser returns must be legal,
//! and a position that a parser returns must be one that can be printed and played.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::game::{Action, Game};

use super::{Checked, Checker, ExaminedPosition, caught, require};

/// The number of damaged texts of each kind per position.
const DAMAGED: usize = 3;
/// The number of texts of actions from earlier in the game that are tried per position.
const ELSEWHERE: usize = 8;
/// Characters that are rare in the texts of games.
const ODD: &str = "0179 -/x.+ABWab\u{e9}\u{664}\t";

/// The texts of one game, and random numbers for damaging them.
pub(super) struct Fuzz {
    random: Xoshiro256PlusPlus,
    positions: Vec<String>,
    actions: Vec<String>,
}

impl Fuzz {
    /// Uses separate random numbers so that the games do not depend on how texts are damaged.
    pub(super) fn new(seed: u64) -> Fuzz {
        let random = Xoshiro256PlusPlus::seed_from_u64(!seed);
        Fuzz { random, positions: Vec::new(), actions: Vec::new() }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    fn action_elsewhere(&mut self) -> String {
        let at = self.below(self.actions.len());
        self.actions[at].clone()
    }

    /// Returns `text` with one of its words replaced by the word of another position.
    fn mixed(&mut self, text: &str) -> String {
        let at = self.below(self.positions.len());
        let mut words: Vec<&str> = text.split(' ').collect();
        let place = self.random.random_range(0..words.len());
        if let Some(word) = self.positions[at].split(' ').nth(place) {
            words[place] = word;
        }
        words.join(" ")
    }

    /// Returns `text` with one or two of its characters changed.
    fn damaged(&mut self, text: &str) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(2) {
            let at = self.below(letters.len() + 1);
            let known = text.chars().nth(self.below(text.chars().count().max(1)));
            let odd = ODD.chars().nth(self.below(ODD.chars().count()));
            let letter = if self.below(2) == 0 { known } else { odd }.unwrap_or('-');
            match self.below(5) {
                0 => letters.insert(at, letter),
                1 if at < letters.len() => drop(letters.remove(at)),
                2 if at + 1 < letters.len() => letters.swap(at, at + 1),
                3 => letters.truncate(at),
                _ if at < letters.len() => letters[at] = letter,
                _ => letters.push(letter),
            }
        }
        letters.into_iter().collect()
    }
}

impl<G: Game> Checker<'_, G> {
    pub(super) fn damaged_texts(
        &mut self,
        position: &ExaminedPosition<G::State>,
        fuzz: &mut Fuzz,
    ) -> Checked {
        fuzz.positions.push(position.text.clone());
        fuzz.actions.extend_from_slice(&position.actions);
        for _ in 0..ELSEWHERE.min(fuzz.actions.len()) {
            self.action_text_found(position, &fuzz.action_elsewhere())?;
        }
        for _ in 0..DAMAGED {
            if !fuzz.actions.is_empty() {
                let text = fuzz.action_elsewhere();
                self.action_text_found(position, &fuzz.damaged(&text))?;
            }
            let text = fuzz.mixed(&position.text);
            self.state_text_found(&text, fuzz)?;
            self.state_text_found(&fuzz.damaged(&text), fuzz)?;
        }
        Ok(())
    }

    fn action_text_found(&self, position: &ExaminedPosition<G::State>, text: &str) -> Checked {
        let found =
            caught(|| format!("parse_action of `{text}`"), || self.game.parse_action(&position.state, text))?;
        require(found.is_none_or(|action| position.legal.contains(&action)), || {
            let found = found.map_or(Action(0), |action| action).0;
            format!("parse_action reads `{text}` as action {found}, which is not legal here")
        })
    }

    fn state_text_found(&mut self, text: &str, fuzz: &mut Fuzz) -> Checked {
        let game = self.game;
        let Ok(found) = caught(|| format!("parse_state of `{text}`"), || game.parse_state(text))? else {
            return Ok(());
        };
        let mut checks = || {
            let printed = game.state_text(&found);
            require(printed == text, || format!("it is printed as `{printed}`"))?;
            let legal = self.legal_actions(&found)?;
            let encoded = self.encoded(&found)?;
            self.same_key(&found, text, &legal, &encoded)?;
            self.same_planes(&found, text, &legal, &encoded)?;
            if !legal.is_empty() {
                self.legal_actions(&self.after(&found, legal[fuzz.below(legal.len())]))?;
            }
            Ok(())
        };
        let result = caught(|| "a function of the rules".into(), &mut checks).flatten();
        result.map_err(|rule: String| format!("parse_state accepts the text `{text}`: {rule}"))
    }
}
