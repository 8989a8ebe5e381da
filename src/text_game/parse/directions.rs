//! Reads the directions and leaps in a text.

use super::Parser;
use crate::text_game::geometry::Tiling;
use crate::text_game::lex::{Parsed, Statement};
use crate::text_game::text::Directions;
use crate::text_game::words::DIRECTIONS;

impl Parser<'_> {
    pub(super) fn every_direction(&self) -> Directions {
        self.text.board.directions()
    }

    /// Reads directions with `of`, as in `north of`, if they come next.
    pub(super) fn directions_of(&mut self, words: &mut Statement) -> Parsed<Option<Directions>> {
        let mut ahead = words.clone();
        let directions = self.directions(&mut ahead)?;
        if directions.is_empty() || !ahead.takes("of") {
            return Ok(None);
        }
        *words = ahead;
        Ok(Some(directions))
    }

    /// Reads the directions that come next, or returns all directions if none come next.
    pub(super) fn directions_or_all(&mut self, words: &mut Statement) -> Parsed<Directions> {
        let directions = self.directions(words)?;
        Ok(if directions.is_empty() { self.every_direction() } else { directions })
    }

    /// Reads at least one direction.
    pub(super) fn some_directions(&mut self, words: &mut Statement) -> Parsed<Directions> {
        let directions = self.directions(words)?;
        if directions.is_empty() {
            let known = ["any"].into_iter().chain(DIRECTIONS.iter().map(|(name, _)| *name));
            Err(words.expected("a direction", known))
        } else {
            Ok(directions)
        }
    }

    /// Reads the directions that come next, in their order, or returns none if the next word is not a direction.
    pub(super) fn directions(&mut self, words: &mut Statement) -> Parsed<Directions> {
        let mut found: Directions = Vec::new();
        loop {
            let mut ahead = words.clone();
            if !found.is_empty() {
                ahead.takes("or");
            }
            let known = DIRECTIONS.iter().find(|(name, _)| *name == ahead.peek());
            let these = if ahead.takes_all(&["any", "direction"]) {
                self.every_direction()
            } else if let Some((_, these)) = known {
                ahead.next();
                these.to_vec()
            } else {
                return Ok(found);
            };
            let is_hex = self.text.board.tiling == Tiling::Hexagons;
            if is_hex && these.iter().any(|direction| direction.compass % 4 == 1) {
                return Err(ahead.problem_before(
                    "a board of hexagons has the directions north, east, southeast, south, west and northwest",
                ));
            }
            for direction in these {
                if !found.contains(&direction) {
                    found.push(direction);
                }
            }
            *words = ahead;
        }
    }

    /// Reads leaps, as in `1 2`: one square along an axis and two along the other, in every direction.
    pub(super) fn leaps(&mut self, words: &mut Statement) -> Parsed<Vec<(i32, i32)>> {
        let mut steps: Vec<(i32, i32)> = Vec::new();
        while steps.is_empty() || self.is_whole(words.peek()) {
            let (one, other) = (self.whole(words, 0..=20)? as i32, self.whole(words, 0..=20)? as i32);
            if (one, other) == (0, 0) {
                return Err(words.problem_before("a leap of 0 0 leads nowhere"));
            }
            for (dx, dy) in [(one, other), (other, one)] {
                for step in [(dx, dy), (dx, -dy), (-dx, -dy), (-dx, dy)] {
                    if !steps.contains(&step) {
                        steps.push(step);
                    }
                }
            }
        }
        Ok(steps)
    }
}
