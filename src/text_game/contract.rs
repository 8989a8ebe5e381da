//! Implements [`Game`] for rules as text.

use super::game::TextGame;
use super::mask::Mask;
use super::state::{Past, State};
use super::text::Way;
use crate::board::Symmetry;
use crate::encode::{Planes, Shape};
use crate::error::{Error, Result};
use crate::game::{About, Action, BoardView, Game, GameOption, Look, Outcome, PieceShape, Player};

impl<M: Mask> Game for TextGame<M> {
    type State = State<M>;

    fn about(&self) -> &About {
        &self.0.words.about
    }

    fn options(&self) -> Vec<GameOption> {
        let options = self.0.text.options.iter().map(|option| {
            let effect = format!("a number in the rules, by default {}", option.usual);
            GameOption::integer(option.name.clone(), effect, option.usual, option.range.clone())
        });
        options.collect()
    }

    fn has_offer(&self) -> bool {
        self.0.text.actions.iter().any(|line| line.way == Way::Swap)
    }

    fn manual(&self) -> String {
        let text = &self.0.text;
        let said: String = text.statements.iter().map(|(_, words)| format!("- {words}\n")).collect();
        let about = text.about.join("\n\n");
        format!(
            "{about}\n\nposition: start\nThe position at the start.\n\n# The rules as they are written\n\n{said}"
        )
    }

    fn brief(&self) -> String {
        self.0.text.about.join("\n")
    }

    fn shape(&self) -> Shape {
        self.0.shape
    }

    fn max_plies(&self) -> usize {
        self.0.text.limit.0
    }

    fn initial(&self) -> State<M> {
        self.0.start.clone()
    }

    fn to_move(&self, state: &State<M>) -> Player {
        state.to_move
    }

    fn legal_actions(&self, state: &State<M>, out: &mut Vec<Action>) {
        out.clear();
        if state.result.is_some() {
            return;
        }
        let facts = &*self.0;
        let position = (&state.things, &state.clock);
        if facts.program.list(facts, state.to_move.index(), position, out) {
            return;
        }
        self.each_legal(state, &mut |first, squares: M| {
            squares.each_square(|square| out.push(Action((first + square) as u16)));
        });
        if !self.0.is_ascending {
            out.sort_unstable();
        }
    }

    fn count_legal_actions(&self, state: &State<M>, _scratch: &mut Vec<Action>) -> usize {
        let facts = &*self.0;
        if state.result.is_some() {
            return 0;
        }
        if let Some(count) = facts.program.count(facts, state.to_move.index(), &state.things, &state.clock) {
            return count;
        }
        let mut count = 0;
        self.each_legal(state, &mut |_, squares: M| count += squares.count());
        count
    }

    fn play(&self, state: &mut State<M>, action: Action) {
        let facts = &*self.0;
        if !facts.program.can_play(facts) {
            return self.play_legal(state, action);
        }
        let player = state.to_move;
        let remembers = facts.rules[0].repetition.is_some();
        let past = remembers.then(|| state.past.with(self.occurrence(state), state));
        let position = (&mut state.things, &mut state.clock);
        let Some(report) = facts.program.play(facts, player.index(), position, action) else {
            return self.play_legal(state, action);
        };
        if report.is_turn() {
            state.to_move = player.other();
        }
        state.result = report.result();
        if let Some(past) = past {
            let is_new = report.has_changed() && !facts.can_come_back;
            state.past = if is_new { Past::default() } else { past };
            // the first ends come before a repetition
            let rules = &facts.rules[player.index()];
            let ends = rules.ends.len() as u16;
            if state.result.is_none_or(|(_, reason)| reason > ends)
                && let Some((times, verdict)) = &rules.repetition
                && state.past.count(self.occurrence(state)) + 1 >= usize::from(*times)
            {
                state.result = Some((self.result_of(state, verdict, player), ends + 1));
            }
        }
    }

    fn outcome(&self, state: &State<M>) -> Option<Outcome> {
        state.result.map(|(outcome, _)| outcome)
    }

    fn ending(&self, state: &State<M>) -> &str {
        state.result.map_or("", |(_, why)| &self.0.words.reasons[why as usize])
    }

    fn encode(&self, state: &State<M>, planes: &mut Planes) {
        super::encode::write(self, state, planes);
    }

    fn key(&self, state: &State<M>) -> u64 {
        self.key_of(state)
    }

    fn action_text(&self, state: &State<M>, action: Action) -> String {
        self.text_of_action(state, action)
    }

    fn parse_action(&self, state: &State<M>, text: &str) -> Option<Action> {
        self.action_of(state, text)
    }

    fn state_text(&self, state: &State<M>) -> String {
        self.position_text(state)
    }

    fn parse_state(&self, text: &str) -> Result<State<M>> {
        self.position_of(text).map_err(|what| {
            let start = self.position_text(&self.0.start);
            Error::position(
                &self.0.words.about.title,
                text,
                &what,
                &format!("the initial position is `{start}`"),
            )
        })
    }

    fn without_history(&self, state: &State<M>) -> State<M> {
        let mut plain = State { past: Past::default(), ..state.clone() };
        if self.0.rules[0].repetition.is_some() {
            self.judge(&mut plain);
        }
        plain
    }

    fn view(&self, state: &State<M>) -> BoardView {
        let board = &self.0.text.board;
        let cell = |square: usize| {
            if board.squares.has(square) {
                self.cell(state, square, true).map_or(".".into(), String::from)
            } else {
                " ".into()
            }
        };
        let note = self.note(state);
        BoardView::of_squares(
            board.height,
            board.width,
            self.0.words.letters.each_ref().map(String::as_str),
            cell,
            note,
        )
    }

    fn look(&self, _view: &BoardView, text: &str) -> Look {
        let letter = text.chars().next().unwrap_or(' ');
        let kinds = &self.0.text.kinds;
        match text {
            " " => Look::Hole,
            "" | "." => Look::Empty,
            _ if self.0.text.states.iter().any(|state| state.1 == letter) => Look::Closed,
            _ => {
                let kind = kinds.iter().find(|kind| kind.letters.contains(&letter));
                let shape = kind.and_then(|kind| shape_of(&kind.name));
                Look::Piece(shape.unwrap_or(if kinds.len() > 1 {
                    PieceShape::Letter
                } else {
                    PieceShape::Disc
                }))
            }
        }
    }

    fn piece_name(&self, text: &str) -> Option<&str> {
        let letter = text.chars().next()?;
        let kind = self.0.text.kinds.iter().find(|kind| kind.letters.contains(&letter))?;
        Some(&kind.name)
    }

    fn touched(&self, before: &State<M>, action: Action) -> Vec<(usize, usize)> {
        let (line, plane, square) = self.decoded(before, action);
        let rules = &self.0.rules[before.to_move.index()];
        let trip = rules.trip(&rules.lines[line], plane, square, &before.things);
        let Shape { height, width, .. } = self.0.shape;
        // a player clicks the squares in this order
        let [over, to] = [trip.over & !trip.from & !trip.to, trip.to & !trip.from];
        let squares = [trip.from, over, to].into_iter().flat_map(|squares| squares.squares());
        squares.map(|square| BoardView::place(square, height, width)).collect()
    }

    fn symmetries(&self, _state: &State<M>) -> &[Symmetry] {
        &self.0.symmetries
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        self.mapped_action(symmetry, action)
    }

    fn turning(&self) -> Symmetry {
        self.0.turning
    }

    fn map_state(&self, symmetry: Symmetry, state: &State<M>) -> State<M> {
        self.mapped_state(symmetry, state)
    }

    fn exchanged(&self, state: &State<M>) -> Option<State<M>> {
        self.exchanged_state(state)
    }
}

impl<M: Mask> TextGame<M> {
    /// Describes the part of a position that the board does not show.
    fn note(&self, state: &State<M>) -> String {
        let words = &self.0.words;
        let [first, second] = &words.letters;
        let mut note = format!("{first} {}, {second} {}", words.about.players[0], words.about.players[1]);
        let text = self.position_text(state);
        let fields = text.split(' ').filter(|word| word.contains('='));
        for field in fields {
            note += ", ";
            note += &field.replacen('=', " ", 1);
        }
        note
    }
}

/// Returns the shape that a piece with this name is drawn as.
fn shape_of(name: &str) -> Option<PieceShape> {
    Some(match name {
        "checker" | "man" | "draughtsman" => PieceShape::Checker,
        "disc" | "stone" => PieceShape::Disc,
        "circle" => PieceShape::Circle,
        "square" => PieceShape::Square,
        "triangle" => PieceShape::Triangle,
        "diamond" => PieceShape::Diamond,
        "cross" => PieceShape::Cross,
        "nought" => PieceShape::Nought,
        "queen" | "amazon" => PieceShape::Queen,
        "rook" => PieceShape::Rook,
        "bishop" => PieceShape::Bishop,
        "knight" => PieceShape::Knight,
        _ => return None,
    })
}
