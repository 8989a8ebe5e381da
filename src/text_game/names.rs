//! What a text calls things, as texts that live as long as the program, and how positions and actions are written.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use super::game::TextGame;
use super::mask::Mask;
use super::rules::{ANY_LINE, Clock, Move, NOWHERE};
use super::state::{Past, State};
use super::syntax::{Next, Number, Text, Way};
use super::tree::speaks_of;
use crate::board::{Symmetry, parse_count, parse_square, square_text};
use crate::game::{Action, Game, Player};

/// Texts that games name by reference. Each is kept once, however often a text is read.
static KEPT: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
/// The bytes of all that is kept, and the most: a program that reads text after text, as the page's editor does, says so
/// then.
static BYTES: AtomicUsize = AtomicUsize::new(0);
const MOST_BYTES: usize = 32 << 20;
static SYMMETRIES: LazyLock<Mutex<Vec<&'static [Symmetry]>>> = LazyLock::new(Mutex::default);

/// The text for as long as the program runs.
pub fn kept(text: &str) -> &'static str {
    let mut kept = KEPT.lock().expect("no panic while a text is kept");
    if let Some(known) = kept.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.into());
    kept.insert(text);
    BYTES.fetch_add(text.len() + ENTRY, Ordering::Relaxed);
    text
}

/// About what the place of a text in a set takes, in bytes.
const ENTRY: usize = 48;

/// Whether the names of a text can be kept. Those of a text that was read before always can.
pub fn has_room_for(text: &Text) -> bool {
    fits_into(MOST_BYTES, text)
}

fn fits_into(most: usize, text: &Text) -> bool {
    let about = text.about.join(" ");
    let kept = KEPT.lock().expect("no panic while a text is kept");
    let reasons = text.ends.iter().map(|end| &end.reason);
    let kinds = text.kinds.iter().map(|kind| &kind.name);
    let all =
        [&text.title, &text.author, &about].into_iter().chain(&text.players).chain(reasons).chain(kinds);
    let new: usize =
        all.filter(|name| !kept.contains(name.as_str())).map(|name| 2 * name.len() + 4 * ENTRY).sum();
    new == 0 || BYTES.load(Ordering::Relaxed) + new + OTHERS * (1 + text.options.len()) <= most
}

/// At most what an option takes, and the letters of the pieces.
const OTHERS: usize = 512;

/// The symmetries for as long as the program runs; there are few different lists.
pub fn kept_symmetries(symmetries: &[Symmetry]) -> &'static [Symmetry] {
    let mut kept = SYMMETRIES.lock().expect("no panic while symmetries are kept");
    if let Some(known) = kept.iter().find(|known| **known == symmetries) {
        return known;
    }
    let symmetries: &'static [Symmetry] = Box::leak(symmetries.into());
    BYTES.fetch_add(size_of_val(symmetries) + ENTRY, Ordering::Relaxed);
    kept.push(symmetries);
    symmetries
}

/// The names that a text gives.
#[derive(Debug)]
pub struct Names {
    /// The id, from the title.
    pub id: &'static str,
    pub title: &'static str,
    pub author: &'static str,
    pub about: &'static str,
    pub players: [&'static str; 2],
    pub letters: [&'static str; 2],
    pub sides: [&'static str; 2],
    /// Why games end: for each end, then without an action, by repetition, quiet, and the limit.
    pub reasons: Vec<&'static str>,
    pub options: &'static [(&'static str, &'static str)],
    /// Whether the number of plies matters from the start.
    pub counts_plies: bool,
    /// Whether actions in a row without a change of the number of pieces are counted.
    pub counts_quiet: bool,
    /// Whether a piece that goes on must say by which line.
    pub names_line: bool,
    /// Whether there are several kinds to place.
    pub names_kind: bool,
    /// Kinds of which a player has at most one.
    pub single: Vec<bool>,
}

impl Names {
    pub fn new(text: &Text) -> Names {
        let letters = |player: usize| {
            let letters: String = text.kinds.iter().map(|kind| kind.letters[player]).collect();
            kept(&letters)
        };
        let initial = |name: &String| name.chars().next().map(|letter| letter.to_lowercase().to_string());
        let initials = [0, 1].map(|player| initial(&text.players[player]).unwrap_or_default());
        let is_plain = initials.iter().all(|initial| initial.bytes().all(|byte| byte.is_ascii_lowercase()));
        let sides = if initials[0] != initials[1] && is_plain {
            [kept(&initials[0]), kept(&initials[1])]
        } else {
            ["1", "2"]
        };
        let mut reasons: Vec<&'static str> = text.ends.iter().map(|end| kept(&end.reason)).collect();
        reasons.extend(["no action left", "a repeated position", "no progress", "the limit of actions"]);
        let options: Vec<(&'static str, &'static str)> = text
            .options
            .iter()
            .map(|option| {
                (kept(&option.name), kept(&format!("a number of the text, by default {}", option.usual)))
            })
            .collect();
        let again = text.actions.iter().filter(|line| matches!(line.next, Next::Again { .. })).count();
        // what drawings call them
        text.kinds.iter().for_each(|kind| _ = kept(&kind.name));
        let placed: HashSet<Option<usize>> = text
            .actions
            .iter()
            .filter(|line| matches!(line.way, Way::Place | Way::Drop))
            .map(|line| line.piece)
            .collect();
        Names {
            id: kept(&id_of_title(&text.title)),
            title: kept(&text.title),
            author: kept(&text.author),
            about: kept(&text.about.join(" ")),
            players: [kept(&text.players[0]), kept(&text.players[1])],
            letters: [letters(0), letters(1)],
            sides,
            reasons,
            options: kept_options(&options),
            counts_plies: speaks_of(text, &Number::Ply),
            counts_quiet: text.quiet.is_some() || speaks_of(text, &Number::Quiet),
            names_line: again > 1,
            names_kind: placed.len() > 1,
            single: super::compile::single_kinds(text),
        }
    }
}

/// Options with what they do.
type Options = &'static [(&'static str, &'static str)];
static OPTIONS: LazyLock<Mutex<Vec<Options>>> = LazyLock::new(Mutex::default);

fn kept_options(options: &[(&'static str, &'static str)]) -> Options {
    let mut kept = OPTIONS.lock().expect("no panic while options are kept");
    if let Some(known) = kept.iter().find(|known| **known == options) {
        return known;
    }
    let options: Options = Box::leak(options.into());
    BYTES.fetch_add(size_of_val(options) + ENTRY, Ordering::Relaxed);
    kept.push(options);
    options
}

/// The title as an id: lower case, with hyphens.
pub fn id_of_title(title: &str) -> String {
    let plain = title.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

impl<M: Mask> TextGame<M> {
    fn square_name(&self, squares: M) -> String {
        square_text(squares.lowest(), self.0.shape.width)
    }

    /// An action as text.
    pub(super) fn text_of_action(&self, state: &State<M>, action: Action) -> String {
        let (line, plane, square) = self.decoded(state, action);
        let rules = &self.0.rules[state.to_move.index()];
        let line = &rules.lines[line];
        let trip = rules.trip(line, plane, square, &state.things);
        let name = |squares: M| self.square_name(squares);
        match &line.moves {
            Move::Pass if state.clock.line != ANY_LINE => "stop".into(),
            Move::Pass => "pass".into(),
            Move::Swap => "swap".into(),
            Move::Drop => square_text(square % self.0.shape.width, self.0.shape.width)
                .trim_end_matches(|letter: char| letter.is_ascii_digit())
                .into(),
            Move::Place => {
                let kind = line.piece.map(|piece| piece % rules.kinds).filter(|_| self.0.words.names_kind);
                let letter =
                    kind.map(|kind| format!("{}@", self.0.text.kinds[kind].letters[state.to_move.index()]));
                format!("{}{}", letter.unwrap_or_default(), name(trip.to))
            }
            Move::From(_) if trip.to.is_none() => {
                format!("{}xoff({})", name(trip.from), name(trip.over))
            }
            Move::From(_) | Move::To(_) | Move::Ray(_) => {
                let sight = rules.sight(&state.things, &state.clock);
                let takes = (sight.enemy & (trip.to | trip.over)).any() && line.captures;
                format!("{}{}{}", name(trip.from), if takes { "x" } else { "-" }, name(trip.to))
            }
        }
    }

    /// The text of a legal action, which no other one here has: a number tells those with the same words apart.
    pub(super) fn unique_text(&self, state: &State<M>, action: Action) -> String {
        let base = self.text_of_action(state, action);
        if !self.0.may_be_ambiguous {
            return base;
        }
        let mut same = 0;
        for other in self.legal(state) {
            if other == action {
                break;
            }
            same += usize::from(self.text_of_action(state, other) == base);
        }
        if same == 0 { base } else { format!("{base}/{}", same + 1) }
    }

    /// The letter of a square in texts and drawings.
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

    /// A position as text.
    pub(super) fn position_text(&self, state: &State<M>) -> String {
        let text = &self.0.text;
        let (height, width) = (text.board.height, text.board.width);
        let mut words =
            vec![crate::board::ranks_text(height, width, |square| self.cell(state, square, true))];
        words.push(self.0.words.sides[state.to_move.index()].into());
        let kinds = text.kinds.len();
        let pieces = state.things.sets[..2 * kinds].iter().fold(M::NONE, |set, more| set | *more);
        let mut shown = pieces;
        for (index, (name, letter)) in text.states.iter().enumerate() {
            let set = state.things.sets[2 * kinds + index];
            // what the board does not show of it
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

    /// The inverse of [`TextGame::position_text`].
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
            return Err(format!("there can be only one {} of a player", text.kinds[index % kinds].name));
        }
        let sides = self.0.words.sides;
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
                return Err("no piece of the player to move can go on there".into());
            }
            if clock.line != ANY_LINE && !own.can_act(&sight, &clock) {
                return Err("the piece that must go on cannot".into());
            }
        }
        state.clock = clock;
        state.past = Past::default();
        self.judge(&mut state);
        let again = self.position_text(&state);
        if again == position { Ok(state) } else { Err(format!("this position is written `{again}`")) }
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
                    return Err(format!("by: nothing goes on by line {line}"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Settings;

    #[test]
    fn names_are_kept_as_long_as_there_is_room() {
        let text = "game Nobody Else Has This by me\nboard 3 x 3\npiece man W B\naction place man to empty\nstuck: draw\nlimit 9: draw\n";
        let parsed = super::super::parse::parse(text, &Settings::new()).unwrap();
        assert!(!fits_into(0, &parsed) && has_room_for(&parsed));
        super::super::read(text, &Settings::new()).unwrap();
        assert!(fits_into(0, &parsed));
    }
}
