//! Explains what each line of a text means in a position, for designers who wonder why an action is or is not possible.

use super::game::TextGame;
use super::mask::Mask;
use super::rules::{ANY_LINE, Rules};
use super::state::State;
use super::{Sized, with_game};
use crate::error::Result;
use crate::game::{Action, Game, outcome_text};

/// A line of a text and what it means in a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The line of the text, from 1.
    pub line: usize,
    /// What the line says.
    pub words: String,
    /// What the line means in this position, in a few words.
    pub says: String,
    /// The squares of the set, or the squares that the line's actions lead to: `row * width + column` from the bottom
    /// left.
    pub squares: Vec<usize>,
    /// The actions that the line allows.
    pub actions: Vec<String>,
}

impl Sized {
    /// Explains the sets, actions, and ends of the text, in the order of the text, for a position (by default, the
    /// initial position).
    ///
    /// # Errors
    /// If the position is not one of this game.
    pub fn explained(&self, position: Option<&str>) -> Result<Vec<Explained>> {
        with_game!(self, game => game.explained(position))
    }
}

impl<M: Mask> TextGame<M> {
    fn explained(&self, position: Option<&str>) -> Result<Vec<Explained>> {
        let state = position.map_or_else(|| Ok(self.initial()), |text| self.parse_state(text))?;
        let mut lines = [self.sets(&state), self.actions(&state), self.ends(&state)].concat();
        lines.sort_by_key(|explained| explained.line);
        Ok(lines)
    }

    fn said(&self, line: usize) -> String {
        let said = self.0.text.statements.iter().find(|(at, _)| *at == line);
        said.map(|(_, words)| words.clone()).unwrap_or_default()
    }

    fn sets(&self, state: &State<M>) -> Vec<Explained> {
        let [own, enemy] = self.rules(state.to_move);
        let of = |rules: &Rules<M>, index: usize| rules.sight(&state.things, &state.clock).kept(index);
        let sets = self.0.text.sets.iter().enumerate();
        let explained = sets.map(|(index, set)| {
            let (squares, others) = (of(own, index), of(enemy, index));
            let players = self.about().player_names();
            let [mover, other] = [players[own.player], players[enemy.player]];
            let says = if squares == others {
                counted(squares.count(), "square")
            } else {
                format!("{} for {mover}, {} for {other}", counted(squares.count(), "square"), others.count())
            };
            let squares = squares.squares().collect();
            Explained { line: set.line, words: self.said(set.line), says, squares, actions: Vec::new() }
        });
        explained.collect()
    }

    fn actions(&self, state: &State<M>) -> Vec<Explained> {
        let own = self.rules(state.to_move)[0];
        let mut found: Vec<(M, Vec<Action>)> = vec![(M::NONE, Vec::new()); own.lines.len()];
        if state.result.is_none() {
            for action in self.legal(state) {
                let (index, plane, square) = self.decoded(state, action);
                let trip = own.trip(&own.lines[index], plane, square, &state.things);
                found[index].0 |= if trip.to.any() { trip.to } else { trip.over };
                found[index].1.push(action);
            }
        }
        let lines = self.0.text.actions.iter().zip(found).enumerate();
        let explained = lines.map(|(index, (line, (squares, actions)))| {
            let phase = &self.0.text.phases[line.phase];
            let says = match () {
                () if !actions.is_empty() => counted(actions.len(), "action"),
                () if state.result.is_some() => "nothing: the game is over".into(),
                () if line.phase != state.clock.phase as usize => {
                    format!("nothing: the line applies only in the phase {phase}")
                }
                () if state.clock.line != ANY_LINE => "nothing: a piece must continue by another line".into(),
                () if self.is_superseded(state, index) => {
                    "nothing: a line above already allows an action".into()
                }
                () => "nothing".into(),
            };
            let actions = actions.iter().map(|action| self.action_text(state, *action)).collect();
            Explained {
                line: line.line,
                words: self.said(line.line),
                says,
                squares: squares.squares().collect(),
                actions,
            }
        });
        explained.collect()
    }

    /// Returns whether lines of an earlier group allow an action, in which case this line is ignored.
    fn is_superseded(&self, state: &State<M>, index: usize) -> bool {
        let own = self.rules(state.to_move)[0];
        let mut is_earlier = false;
        own.each(&own.sight(&state.things, &state.clock), &state.clock, &mut |line, _, _| {
            is_earlier |= own.lines[line].group < own.lines[index].group;
            true
        });
        is_earlier
    }

    fn ends(&self, state: &State<M>) -> Vec<Explained> {
        let hold = self.ask(state, |own, sight, stuck| {
            own.ends.iter().map(|(condition, _)| sight.holds(condition, stuck)).collect::<Vec<bool>>()
        });
        let ends = &self.0.text.ends;
        let by = state.result.map(|(_, why)| why as usize);
        let explained = ends.iter().zip(hold).enumerate().map(|(index, (end, holds))| {
            let says = match (by, holds) {
                _ if by == Some(index) => {
                    let outcome = state.result.map(|(outcome, _)| outcome_text(self, outcome));
                    format!("holds: {}", outcome.unwrap_or_default())
                }
                (_, false) => "does not hold".into(),
                (Some(first), true) if first < index => {
                    format!("holds, but line {} comes first", ends[first].line)
                }
                (_, true) => "holds, but nobody has acted yet".into(),
            };
            let (squares, actions) = (Vec::new(), Vec::new());
            Explained { line: end.line, words: self.said(end.line), says, squares, actions }
        });
        explained.collect()
    }
}

fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
