//! Checks positions with exchanged players ([`Game::exchanged`]): the player to move must see the same planes, and the
//! winner must change.

use crate::board::Symmetry;
use crate::game::{BoardView, Game, Player};

use super::{Checked, Checker, Encoded, ExaminedPosition, Pair, require};

/// Every legal action is played at each of the first `ALL_PLIES` plies of a game, and later at one ply in `SOME_PLIES`.
const ALL_PLIES: usize = 16;
const SOME_PLIES: usize = 5;

/// For each plane that only shows who is to move, the numbers that fill it for the first and for the second player.
/// The numbers are determined from the first position.
#[derive(Default)]
pub(super) struct MoverPlanes(Option<Vec<Option<[f32; 2]>>>);

impl MoverPlanes {
    /// Returns the first plane that differs between a position and the exchanged one, ignoring planes that only show
    /// who is to move.
    fn differing(&mut self, planes: Vec<Option<[f32; 2]>>, same: impl Fn(usize) -> bool) -> Option<usize> {
        let known = self.0.get_or_insert_with(|| planes.clone());
        (0..planes.len())
            .find(|&plane| planes[plane] != known[plane] || planes[plane].is_none() && !same(plane))
    }
}

impl<G: Game> Checker<'_, G> {
    pub(super) fn exchange(&mut self, position: &ExaminedPosition<G::State>, ply: usize) -> Checked {
        let Some(other) = self.game.exchanged(&position.state) else { return Ok(()) };
        let what = format!("after the players are exchanged (`{}`)", self.game.state_text(&other));
        self.exchanged_position(position, &other).map_err(|rule| format!("{what}, {rule}"))?;
        // the checks below cost as much as all other checks together
        if ply >= ALL_PLIES && !ply.is_multiple_of(SOME_PLIES) {
            return Ok(());
        }
        self.exchanged_play(position, &other, ply)?;
        self.exchanged_squares(position, &other)
    }

    fn exchanged_position(&mut self, position: &ExaminedPosition<G::State>, other: &G::State) -> Checked {
        let (game, state) = (self.game, &position.state);
        require(game.to_move(other) != game.to_move(state), || "the same player is to move".into())?;
        require(game.exchanged(other).as_ref() == Some(state), || {
            "exchanging them again does not restore the position: look at exchanged".into()
        })?;
        let legal = self.legal_actions(other)?;
        let encoded = self.encoded(other)?;
        let plane = self.exchanged_planes(position, &encoded);
        if legal != position.legal {
            let difference = self.difference(other, &legal, &position.legal);
            let advice = match plane {
                None => {
                    "the planes are right: look at legal_actions, which must number actions as the player to move \
                     sees them"
                }
                Some(_) => {
                    "the planes differ, too: look at exchanged, and check that actions and planes are turned alike"
                }
            };
            return Err(format!("the legal actions are different: {difference}; {advice}"));
        }
        if let Some(plane) = plane {
            return Err(format!(
                "the planes differ (plane {plane}), but the legal actions do not: look at encode, which must write \
                 the position from the point of view of the player to move"
            ));
        }
        let (expected, outcome) =
            (game.outcome(state).map(|outcome| outcome.opposite()), game.outcome(other));
        require(outcome == expected, || {
            format!("the outcome is {outcome:?}, not {expected:?}: look at outcome")
        })?;
        let is_different = game.key(other) != game.key(state);
        require(is_different, || "the key is the same: the player to move must be part of it".into())?;
        let text = game.state_text(other);
        self.same_key(other, &text, &legal, &encoded)
    }

    /// Returns the first plane that should be the same but is not.
    fn exchanged_planes(&mut self, position: &ExaminedPosition<G::State>, other: &Encoded) -> Option<usize> {
        let cells = self.shape.cells();
        let both = |plane: usize| [&position.encoded, other].map(|of| &of.numbers[plane * cells..][..cells]);
        let uniform = |numbers: &[f32]| numbers.iter().all(|number| *number == numbers[0]);
        let first = self.game.to_move(&position.state) == Player::First;
        let pair = |plane: usize| {
            let [one, two] = both(plane);
            let differ = uniform(one) && uniform(two) && one[0] != two[0];
            differ.then(|| if first { [one[0], two[0]] } else { [two[0], one[0]] })
        };
        let pairs = (0..self.shape.planes).map(pair).collect();
        let same = |plane: usize| {
            let [one, two] = both(plane);
            one == two
        };
        self.mover_planes.differing(pairs, same)
    }

    /// Checks that playing an action and then exchanging the players gives the same position as exchanging them first.
    fn exchanged_play(&self, position: &ExaminedPosition<G::State>, other: &G::State, ply: usize) -> Checked {
        let pair = Pair::new(self.game, [&position.state, other], ply, position.legal.len());
        for (index, &action) in position.legal.iter().enumerate() {
            let [state, other] = pair.at(index);
            let after = self.after(state, action);
            let same = self.game.exchanged(&after).is_none_or(|after| after == self.after(other, action));
            require(same, || {
                let (action, text) = (self.named(&position.state, action), self.game.state_text(other));
                format!(
                    "{action} has another effect after the players are exchanged (`{text}`): look at play and \
                     exchanged"
                )
            })?;
        }
        Ok(())
    }

    /// Checks the squares of actions. The squares that an action touches, and those that its text names, must be the
    /// squares that its player sees, turned by [`Game::turning`] for the second player.
    fn exchanged_squares(&self, position: &ExaminedPosition<G::State>, other: &G::State) -> Checked {
        let (game, state) = (self.game, &position.state);
        let turning = Turning { by: game.turning(), view: &position.view };
        if !turning.fits(self.shape.height, self.shape.width) {
            return Ok(());
        }
        let found = || format!("`{}`", game.state_text(other));
        for (&action, text) in position.legal.iter().zip(&position.actions) {
            let (before, after) = (game.touched(state, action), game.touched(other, action));
            require(turning.maps(&before, &after, true), || {
                let [before, after] = [before, after].map(|squares| turning.names(&squares));
                format!(
                    "action {} touches {before}, but after the players are exchanged ({}) it touches {after}, not \
                     those squares turned by `{}`: look at touched and turning",
                    action.0,
                    found(),
                    turning.by
                )
            })?;
            let text_after = game.action_text(other, action);
            let [before, after] = [text.as_str(), &text_after].map(|text| turning.named(text));
            require(turning.maps(&before, &after, false), || {
                format!(
                    "action {} is written `{text}`, but after the players are exchanged ({}) it is written \
                     `{text_after}`, whose squares are not those turned by `{}`: look at action_text and parse_action",
                    action.0,
                    found(),
                    turning.by
                )
            })?;
        }
        Ok(())
    }
}

/// The squares of a view as the second player sees them.
struct Turning<'a> {
    by: Symmetry,
    view: &'a BoardView,
}

impl Turning<'_> {
    /// Returns whether the view has exactly the squares of the board.
    fn fits(&self, height: usize, width: usize) -> bool {
        (self.view.rows.len(), self.view.columns.len()) == (height, width)
            && (!self.by.transpose || height == width)
    }

    /// Returns whether the squares `after` are the squares `before`, turned, and in the same order unless
    /// `any_order`. The first rank may be at the bottom or at the top of the view.
    fn maps(&self, before: &[(usize, usize)], after: &[(usize, usize)], any_order: bool) -> bool {
        let (height, width) = (self.view.rows.len(), self.view.columns.len());
        [true, false].into_iter().any(|is_bottom| {
            let rank = |row: usize| if is_bottom { height - 1 - row } else { row };
            let turned = |&(row, column): &(usize, usize)| {
                let square = self.by.square(rank(row) * width + column, height, width);
                (rank(square / width), square % width)
            };
            let mut turned: Vec<(usize, usize)> = before.iter().map(turned).collect();
            let mut after = after.to_vec();
            if any_order {
                turned.sort_unstable();
                after.sort_unstable();
            }
            turned == after
        })
    }

    fn names(&self, squares: &[(usize, usize)]) -> String {
        let name =
            |&(row, column): &(usize, usize)| format!("{}{}", self.view.columns[column], self.view.rows[row]);
        match squares {
            [] => "nothing".into(),
            _ => squares.iter().map(name).collect::<Vec<_>>().join(" "),
        }
    }

    /// Returns the squares that a text names by the labels of the view, from left to right. Returns none if a label
    /// could be misread.
    fn named(&self, text: &str) -> Vec<(usize, usize)> {
        let BoardView { columns, rows, .. } = self.view;
        let is_word = |label: &String| !label.is_empty() && label.bytes().all(|c| c.is_ascii_lowercase());
        let is_number = |label: &String| !label.is_empty() && label.bytes().all(|c| c.is_ascii_digit());
        if !(columns.iter().all(is_word) && rows.iter().all(is_number)) {
            return Vec::new();
        }
        let longest = |labels: &[String], text: &str| {
            let fits = (0..labels.len()).filter(|label| text.starts_with(&labels[*label]));
            fits.max_by_key(|label| labels[*label].len())
        };
        let mut squares = Vec::new();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let column = longest(columns, rest);
            let row = column.and_then(|column| longest(rows, &rest[columns[column].len()..]));
            let length = match (column, row) {
                (Some(column), Some(row)) => {
                    squares.push((row, column));
                    columns[column].len() + rows[row].len()
                }
                _ => letter.len_utf8(),
            };
            rest = &rest[length..];
        }
        squares
    }
}
