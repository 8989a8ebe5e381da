//! The written form of positions and actions.

use super::game::TextGame;
use super::mask::Mask;
use super::rules::{ANY_LINE, Clock, Move, NOWHERE};
use super::state::{Past, State};
use super::text::Next;
use crate::board::{parse_count, parse_square, push_square, square_text};
use crate::game::{Action, Game, Player};

impl<M: Mask> TextGame<M> {
    /// Replaces `text` by the words of an action, which other actions may share.
    fn write_words(&self, state: &State<M>, action: Action, text: &mut String) {
        let (line, plane, square) = self.decoded(state, action);
        let rules = &self.0.rules[state.to_move.index()];
        let line = &rules.lines[line];
        let trip = rules.trip(line, plane, square, &state.things);
        let push = |text: &mut String, squares: M| push_square(text, squares.lowest(), self.0.shape.width);
        text.clear();
        match &line.moves {
            Move::Pass if state.clock.line != ANY_LINE => text.push_str("stop"),
            Move::Pass => text.push_str("pass"),
            Move::Swap => text.push_str("swap"),
            Move::Drop => text.push((b'a' + (square % self.0.shape.width) as u8) as char),
            Move::Place => {
                let kind = line.piece.map(|piece| piece % rules.kinds).filter(|_| self.0.words.names_kind);
                if let Some(kind) = kind {
                    text.extend([self.0.text.kinds[kind].letters[state.to_move.index()], '@']);
                }
                push(text, trip.to);
            }
            Move::From(_) if trip.to.is_none() => {
                push(text, trip.from);
                text.push_str("xoff(");
                push(text, trip.over);
                text.push(')');
            }
            Move::From(_) | Move::To(_) | Move::Ray(_) => {
                let takes = line.captures && {
                    let sight = rules.sight(&state.things, &state.clock);
                    (sight.enemy & (trip.to | trip.over)).any()
                };
                push(text, trip.from);
                text.push(if takes { 'x' } else { '-' });
                push(text, trip.to);
            }
        }
    }

    /// Writes a legal action such that no other legal action has the same text: actions with the same words are
    /// numbered.
    pub(super) fn text_of_action(&self, state: &State<M>, action: Action) -> String {
        let mut words = String::new();
        self.write_words(state, action, &mut words);
        if self.0.may_be_ambiguous {
            let mut other = String::new();
            let is_same = |earlier: &Action| {
                self.write_words(state, *earlier, &mut other);
                other == words
            };
            let same =
                self.legal(state).into_iter().take_while(|other| *other != action).filter(is_same).count();
            if same > 0 {
                return format!("{words}/{}", same + 1);
            }
        }
        words
    }

    /// Returns the legal action that [`TextGame::text_of_action`] writes like this.
    pub(super) fn action_of(&self, state: &State<M>, text: &str) -> Option<Action> {
        let numbered = text.rsplit_once('/').and_then(|(words, number)| {
            let number = parse_count(number, usize::MAX).filter(|number| *number > 1)?;
            Some((words, number))
        });
        let (mut words, mut same) = (String::new(), 0);
        self.legal(state).into_iter().find(|action| {
            self.write_words(state, *action, &mut words);
            words == text
                || numbered.is_some_and(|(numbered, number)| {
                    same += usize::from(words == numbered);
                    words == numbered && same == number
                })
        })
    }

    /// Returns the letter for a square in texts and drawings.
    pub(super) fn cell(&self, state: &State<M>, square: usize, with_states: bool) -> Option<char> {
        let text = &self.0.text;
        for (kind, known) in text.kinds.iter().enumerate() {
            for player in 0..2 {
                if state.things.sets[player * text.kinds.len() + kind].has(square) {
                    return Some(known.letters[player]);
                }
            }
        }
        let states = &state.things.sets[2 * text.kinds.len()..][..text.states.len()];
        let state = states.iter().position(|set| set.has(square)).filter(|_| with_states)?;
        Some(text.states[state].1)
    }

    /// Writes a position.
    pub(super) fn position_text(&self, state: &State<M>) -> String {
        let text = &self.0.text;
        let (height, width) = (text.board.height, text.board.width);
        let mut words =
            vec![crate::board::ranks_text(height, width, |square| self.cell(state, square, true))];
        words.push(self.0.words.sides[state.to_move.index()].clone());
        let kinds = text.kinds.len();
        let pieces = state.things.sets[..2 * kinds].iter().fold(M::NONE, |set, more| set | *more);
        let mut shown = pieces;
        for (index, (name, letter)) in text.states.iter().enumerate() {
            let set = state.things.sets[2 * kinds + index];
            // write the part that the board does not show
            if (set & shown).any() {
                let ranks =
                    crate::board::ranks_text(height, width, |square| set.has(square).then_some(*letter));
                words.push(format!("{name}={ranks}"));
            }
            shown |= set;
        }
        for (index, counter) in text.counters.iter().enumerate() {
            let of = |player: usize| {
                let numbers = &state.things.counters[text.numbers_of(index, player)];
                numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
            };
            words.push(format!("{}={}/{}", counter.name, of(0), of(1)));
        }
        let clock = &state.clock;
        if clock.phase != 0 {
            words.push(format!("phase={}", text.phases[clock.phase as usize]));
        }
        if clock.goes_on {
            let square = match clock.moved {
                NOWHERE => "none".into(),
                square => square_text(square as usize, width),
            };
            words.push(format!("on={square}"));
        }
        if clock.line != ANY_LINE && self.0.words.names_line {
            words.push(format!("by={}", clock.line));
        }
        if clock.quiet != 0 {
            words.push(format!("quiet={}", clock.quiet));
        }
        if clock.passes != 0 && self.0.has_pass {
            words.push(format!("passes={}", clock.passes));
        }
        words.push(clock.ply.to_string());
        words.join(" ")
    }

    /// Reads what [`TextGame::position_text`] writes.
    pub(super) fn position_of(&self, position: &str) -> Result<State<M>, String> {
        let text = &self.0.text;
        let (height, width, kinds) = (text.board.height, text.board.width, text.kinds.len());
        let words: Vec<&str> = position.split(' ').collect();
        let [ranks, side, fields @ .., ply] = &words[..] else {
            return Err("a board, a side and a number of actions are expected".into());
        };
        let pieces: String = text.kinds.iter().flat_map(|kind| kind.letters).collect();
        let states: String = text.states.iter().map(|state| state.1).collect();
        let cells = crate::board::parse_ranks(ranks, height, width, &format!("{pieces}{states}"))?;
        let mut state = self.0.start.clone();
        state.things.sets = [M::NONE; _];
        for (square, letter) in cells.iter().enumerate() {
            let Some(letter) = letter else { continue };
            if !text.board.squares.has(square) {
                return Err(format!("{} is not a square of the board", square_text(square, width)));
            }
            let index = match text.states.iter().position(|known| known.1 == *letter) {
                Some(index) => 2 * kinds + index,
                None => {
                    let is_of = |player: usize, kind: usize| text.kinds[kind].letters[player] == *letter;
                    (0..2 * kinds)
                        .find(|index| is_of(index / kinds, index % kinds))
                        .expect("it is a known letter")
                }
            };
            state.things.sets[index] |= M::of(square);
        }
        if let Some(index) =
            (0..2 * kinds).find(|i| self.0.words.single[i % kinds] && state.things.sets[*i].count() > 1)
        {
            return Err(format!("a player can have only one {}", text.kinds[index % kinds].name));
        }
        let sides = &self.0.words.sides;
        state.to_move = match sides.iter().position(|known| known == side) {
            Some(0) => Player::First,
            Some(_) => Player::Second,
            None => return Err(format!("the side is `{}` or `{}`", sides[0], sides[1])),
        };
        let mut clock = Clock { goes_on: false, ..self.0.start.clock };
        for field in fields {
            let (name, value) =
                field.split_once('=').ok_or_else(|| format!("`{field}` is not NAME=VALUE"))?;
            self.field(name, value, &mut state, &mut clock)?;
        }
        clock.ply =
            parse_count(ply, text.limit.0).ok_or("the last word is the number of actions so far")? as u16;
        if clock.goes_on {
            let own = &self.0.rules[state.to_move.index()];
            let mut lines =
                own.lines.iter().enumerate().filter(|(_, line)| matches!(line.next, Next::Again { .. }));
            let sight = own.sight(&state.things, &clock);
            let is_then = own.lines.iter().any(|line| line.next == Next::Then(clock.phase as usize));
            if clock.line == ANY_LINE
                && !is_then
                && let Some((line, _)) = lines.find(|(_, line)| line.phase == clock.phase as usize)
            {
                clock.line = line as u8;
            }
            let is_own = clock.moved != NOWHERE && sight.own.has(clock.moved as usize);
            let may_go_on = if clock.line == ANY_LINE { is_then } else { is_own };
            if !may_go_on {
                return Err("the player to move has no piece there that can continue".into());
            }
            if clock.line != ANY_LINE && !own.can_act(&sight, &clock) {
                return Err("the piece that must continue has no action".into());
            }
        }
        state.clock = clock;
        state.past = Past::default();
        self.judge(&mut state);
        let again = self.position_text(&state);
        if again == position { Ok(state) } else { Err(format!("this position must be written `{again}`")) }
    }

    fn field(&self, name: &str, value: &str, state: &mut State<M>, clock: &mut Clock) -> Result<(), String> {
        let text = &self.0.text;
        let (height, width, kinds) = (text.board.height, text.board.width, text.kinds.len());
        let number =
            |most: usize| parse_count(value, most).ok_or_else(|| format!("{name}: a number up to {most}"));
        if let Some(index) = text.states.iter().position(|(known, _)| known == name) {
            let cells = crate::board::parse_ranks(value, height, width, &text.states[index].1.to_string())?;
            let squares = (0..cells.len()).filter(|square| cells[*square].is_some());
            let squares = squares.fold(M::NONE, |set, square| set | M::of(square));
            if (squares & !M::from_wide(text.board.squares)).any() {
                return Err(format!("{name}: there is no such square"));
            }
            state.things.sets[2 * kinds + index] = squares;
            return Ok(());
        }
        if let Some(counter) = text.counters.iter().position(|counter| counter.name == name) {
            let each = text.numbers_of(counter, 0).len();
            let wrong = || format!("{name}: {each} numbers for each player, as in {name}=1/1");
            let (first, second) = value.split_once('/').ok_or_else(wrong)?;
            for (player, numbers) in [first, second].into_iter().enumerate() {
                let numbers: Vec<&str> = numbers.split(',').collect();
                if numbers.len() != each {
                    return Err(wrong());
                }
                for (at, number) in text.numbers_of(counter, player).zip(numbers) {
                    state.things.counters[at] =
                        parse_count(number, u16::MAX as usize).ok_or_else(wrong)? as u16;
                }
            }
            return Ok(());
        }
        match name {
            "phase" => {
                let phase = text.phases.iter().position(|known| known == value);
                clock.phase = phase.ok_or_else(|| format!("there is no phase `{value}`"))? as u8;
            }
            "on" => {
                clock.goes_on = true;
                clock.moved = match value {
                    "none" => NOWHERE,
                    value => {
                        let square = parse_square(value, height, width);
                        let square = square.filter(|square| text.board.squares.has(*square));
                        square.ok_or_else(|| format!("on: `{value}` is not a square"))? as u16
                    }
                };
            }
            "by" => {
                let line = number(text.actions.len() - 1)?;
                if !matches!(text.actions[line].next, Next::Again { .. }) {
                    return Err(format!("by: no piece continues by line {line}"));
                }
                clock.line = line as u8;
            }
            "quiet" => clock.quiet = number(text.limit.0)? as u16,
            "passes" => clock.passes = number(u8::MAX.into())? as u8,
            _ => return Err(format!("`{name}` is not a part of a position")),
        }
        Ok(())
    }
}
