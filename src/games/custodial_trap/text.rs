//! Positions and actions as text, and the position for display.

use crate::board::{parse_ranks, parse_square, ranks_text, square_text};
use crate::error::{Error, Result as Checked};
use crate::game::{BoardView, Game, Variants};

use super::settings::Variant;
use super::squares::{DISTANCES, HALVES, INNER, STEPS, trapped};
use super::{
    BLACK, CAPTURE, CustodialTrap, DROP, EXTRA, EXTRAS, MEN, MOST_PLIES, NEITHER, NOWHERE, PLACE, Phase,
};
use super::{LEAST, State, WHITE, target};

const COLORS: [&str; 3] = ["w", "b", "-"];
const NAMES: [&str; 2] = ["White", "Black"];
/// The meanings of [`EXTRAS`] in words.
const MEANINGS: [&str; EXTRAS.len()] = [
    "White begins",
    "Black begins",
    "take White",
    "take Black",
    "lift the white men",
    "lift the black men",
    "lift ranks 2 to 4",
    "lift ranks 5 to 7",
    "leave the rest in reserve",
];
/// The text of each [`Phase`]; texts that end in `:` are followed by a square.
const PHASES: [(Phase, &str); 8] = [
    (Phase::Play, "play"),
    (Phase::Place, "place:"),
    (Phase::Choose, "choose"),
    (Phase::White, "re-w:"),
    (Phase::Black, "re-b:"),
    (Phase::South, "re-s:"),
    (Phase::North, "re-n:"),
    (Phase::Pick, "pick"),
];

/// Returns an action as text, which does not depend on the position.
pub(super) fn action(action: usize) -> String {
    let (kind, square) = (action / 64, action % 64);
    let name = |square| square_text(square, 8);
    match kind {
        0..CAPTURE => format!("{}-{}", name(square), name(target(kind, square))),
        CAPTURE..DROP => format!("{}x{}", name(square), name(target(kind, square))),
        DROP => format!("@{}", name(square)),
        _ => match action.checked_sub(EXTRA) {
            Some(extra) => EXTRAS[extra].to_string(),
            None => format!("{}@{}", ["W", "B"][kind - PLACE], name(square)),
        },
    }
}

/// Returns the meaning of an action in words; `None` if its text says enough.
pub(super) fn words(action: usize) -> Option<String> {
    let square = square_text(action % 64, 8);
    match action / 64 {
        0..DROP => None,
        DROP => Some(format!("a man on {square}")),
        _ => Some(match action.checked_sub(EXTRA) {
            Some(extra) => MEANINGS[extra].into(),
            None => format!("a {} man on {square}", NAMES[action / 64 - PLACE].to_lowercase()),
        }),
    }
}

/// Returns the squares of an action, as places on the [`view`].
pub(super) fn touched(action: usize) -> Vec<(usize, usize)> {
    let (kind, square) = (action / 64, action % 64);
    let squares = match kind {
        0..DROP => vec![square, target(kind, square)],
        _ if action < EXTRA => vec![square],
        _ => Vec::new(),
    };
    squares.into_iter().map(|square| BoardView::place(square, 8, 8)).collect()
}

/// Parses what [`action`] writes; returns `None` for text that is never an action.
pub(super) fn parse_action(text: &str) -> Option<usize> {
    if let Some(extra) = EXTRAS.iter().position(|known| *known == text) {
        return Some(EXTRA + extra);
    }
    if let Some((what, square)) = text.split_once('@') {
        let kind = [("", DROP), ("W", PLACE), ("B", PLACE + 1)].iter().find(|known| known.0 == what)?.1;
        return Some(kind * 64 + parse_square(square, 8, 8)?);
    }
    let (from, to) = text.split_once(['-', 'x'])?;
    let (from, to) = (parse_square(from, 8, 8)?, parse_square(to, 8, 8)?);
    let dx = (to % 8) as i32 - (from % 8) as i32;
    let dy = (to / 8) as i32 - (from / 8) as i32;
    let distance = dx.abs().max(dy.abs());
    let direction = STEPS.iter().position(|step| (step.0 * distance, step.1 * distance) == (dx, dy))?;
    let kind = match text.contains('x') {
        true if distance == 1 => CAPTURE + direction,
        false if distance > 0 => direction * DISTANCES + distance as usize - 1,
        _ => return None,
    };
    Some(kind * 64 + from)
}

fn letter(state: &State, square: usize) -> Option<char> {
    let color = state.men.iter().position(|men| men >> square & 1 == 1)?;
    Some(['w', 'b'][color])
}

/// Returns the player who acts in a phase of the setup, A or B.
fn acts(phase: Phase) -> &'static str {
    if matches!(phase, Phase::Place | Phase::Pick) { "A" } else { "B" }
}

/// Returns the nine fields of a position.
pub(super) fn state(game: &CustodialTrap, state: &State) -> String {
    let variant = CustodialTrap::VARIANTS[game.variant as usize];
    let board = ranks_text(8, 8, |square| letter(state, square));
    let play = state.phase == Phase::Play;
    let turn = if play { COLORS[state.turn as usize] } else { acts(state.phase) };
    let [white, black] = state.reserve;
    let mut phase = PHASES[state.phase as usize].1.to_string();
    if phase.ends_with(':') {
        phase += &match state.pointer {
            NOWHERE => "-".to_string(),
            square => square_text(square as usize, 8),
        };
    }
    // the owners of the colors are fixed, except in the advanced game
    let color = if game.variant == Variant::Advanced { state.color } else { NEITHER };
    let (first, color) = (COLORS[state.first as usize], COLORS[color as usize]);
    let (clock, ply) = (state.clock, state.ply);
    format!("{variant} {board} {turn} {white}/{black} {clock} {ply} {phase} {first} {color}")
}

/// Returns the men of both colors on a board given as text.
pub(super) fn parse_men(board: &str) -> Result<[u64; 2], String> {
    let mut men = [0; 2];
    for (square, letter) in parse_ranks(board, 8, 8, "wb")?.into_iter().enumerate() {
        if let Some(letter) = letter {
            men[(letter == 'b') as usize] |= 1 << square;
        }
    }
    Ok(men)
}

/// Parses a number up to `most`, written exactly as it would be printed.
fn number(what: &str, text: &str, most: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number: &usize| *number <= most && number.to_string() == text);
    number.ok_or_else(|| format!("{what} a number up to {most}, not `{text}`"))
}

fn color(what: &str, text: &str, known: bool) -> Result<u8, String> {
    let color = COLORS.iter().position(|name| *name == text && (*name != "-") == known);
    let expected = if known { "`w` or `b`" } else { "`-`" };
    color.map(|color| color as u8).ok_or_else(|| format!("{what} must be {expected} here, not `{text}`"))
}

/// Parses a position like [`parse`], but with an error that is worded for people.
pub(super) fn position(game: &CustodialTrap, text: &str) -> Checked<State> {
    parse(game, text).map_err(|what| {
        let hint = format!("the initial position is `{}`", state(game, &game.initial()));
        Error::position(&super::settings::ABOUT.title, text, &what, &hint)
    })
}

/// Parses what [`state`] writes. The position remembers no earlier positions.
pub(super) fn parse(game: &CustodialTrap, text: &str) -> Result<State, String> {
    let fields: Vec<&str> = text.split(' ').collect();
    let [variant, board, turn, reserve, clock, ply, phase, first, a] = fields[..] else {
        return Err(
            "it needs nine fields: variant, board, side to move, reserves, plies without a capture or drop, all plies, \
             phase, color that goes first, color of player A"
                .into(),
        );
    };
    let expected = CustodialTrap::VARIANTS[game.variant as usize];
    if variant != expected {
        return Err(format!("the variant must be {expected}, not `{variant}`"));
    }
    let advanced = game.variant == Variant::Advanced;
    let (phase, pointer) = parse_phase(phase, advanced)?;
    let play = phase == Phase::Play;
    let turn = match turn {
        "w" | "b" if play => (turn == "b") as u8,
        _ if !play && turn == acts(phase) => WHITE as u8,
        _ if play => return Err(format!("the side to move must be `w` or `b`, not `{turn}`")),
        _ => return Err(format!("{} acts in this phase, not `{turn}`", acts(phase))),
    };
    let first = color("the color that goes first", first, advanced && phase != Phase::Place)?;
    let a = color("the color of A", a, advanced && play)?;
    let clock = number("plies without a capture or drop must be", clock, game.no_progress as usize)? as u8;
    let ply = number("plies must be", ply, MOST_PLIES as usize)? as u16;
    let color = if advanced { a } else { WHITE as u8 };
    let men = parse_men(board)?;
    let reserve = parse_reserve(game, reserve)?;
    let mut state = State { men, reserve, turn, clock, ply, phase, pointer, first, color, ..State::EMPTY };
    check_men(&state)?;
    if play {
        game.judge(&mut state);
    } else {
        check_set_up(&state)?;
    }
    Ok(state)
}

fn parse_phase(text: &str, advanced: bool) -> Result<(Phase, u8), String> {
    let (name, square) = match text.split_once(':') {
        Some((name, square)) => (format!("{name}:"), Some(square)),
        None => (text.to_string(), None),
    };
    let known = PHASES.iter().find(|known| known.1 == name && (advanced || known.0 == Phase::Play));
    let Some(&(phase, _)) = known else {
        let phases = PHASES.map(|known| known.1).join(" ");
        let phases = if advanced { &phases } else { "play" };
        return Err(format!("the phase must be one of `{phases}`, not `{text}`"));
    };
    let pointer = match square {
        None | Some("-") => NOWHERE,
        Some(square) => match parse_square(square, 8, 8) {
            Some(square) if INNER >> square & 1 == 1 => square as u8,
            _ => return Err(format!("the last square must be one of b2..g7 or `-`, not `{square}`")),
        },
    };
    Ok((phase, pointer))
}

fn parse_reserve(game: &CustodialTrap, text: &str) -> Result<[u8; 2], String> {
    let most = game.start.2 as usize;
    let Some((white, black)) = text.split_once('/') else {
        return Err(format!("the reserves must be two numbers like `{most}/{most}`, not `{text}`"));
    };
    let reserve = |text| number("a reserve must be", text, most).map(|men| men as u8);
    Ok([reserve(white)?, reserve(black)?])
}

/// Checks the number of men of each color.
fn check_men(state: &State) -> Result<(), String> {
    for (color, name) in NAMES.into_iter().enumerate() {
        let men = state.total(color);
        if men > MEN {
            return Err(format!("{name} has {men} men including the reserve, more than {MEN}"));
        }
        if state.phase != Phase::Play && men != MEN {
            return Err(format!("{name} has {men} men including the reserve, not {MEN}, during the setup"));
        }
        if state.phase == Phase::Play && state.turn as usize != color && men < LEAST {
            return Err(format!("{name} has just moved with {men} men left, but fewer than {LEAST} lose"));
        }
    }
    Ok(())
}

/// Checks that a position in the setup is reachable. Only one sequence of actions leads to each such position.
fn check_set_up(state: &State) -> Result<(), String> {
    let [white, black] = state.men;
    let men = white | black;
    if men & !INNER != 0 {
        return Err("during the setup men are on b2..g7 only".into());
    }
    if state.clock != 0 {
        return Err("during the setup plies without a capture or drop are not counted".into());
    }
    if men == 0 && matches!(state.phase, Phase::Choose | Phase::Pick) {
        return Err("the setup has no men on the board".into());
    }
    // the squares that are filled in ascending order, and those that were occupied before
    let (filled, full) = match state.phase.lifted() {
        Some(WHITE) => (white, 0),
        Some(BLACK) => (black, 0),
        Some(half) => (men & HALVES[half - 2], INNER & HALVES[3 - half]),
        None => (if state.phase == Phase::Place { men } else { 0 }, 0),
    };
    if full & !men != 0 {
        return Err("a half was lifted, but the other one is not full".into());
    }
    let last = if filled == 0 { NOWHERE } else { 63 - filled.leading_zeros() as u8 };
    if last != state.pointer {
        return Err("the last square of the phase is not the square of the last man put".into());
    }
    let (men, ply) = (men.count_ones() as i64, state.ply as i64);
    // the men that were lifted, if the plies are right
    let fits = match state.phase {
        Phase::Place => ply == men,
        Phase::Choose => ply == men + 1,
        Phase::Pick => (0..=MEN as i64).contains(&(ply - 3 - men)),
        Phase::South | Phase::North => ply == 38 + filled.count_ones() as i64,
        _ => (0..=MEN as i64).contains(&(ply - 2 - men)),
    };
    if !fits {
        return Err(format!("{men} men on the board and {ply} plies do not match the phase"));
    }
    Ok(())
}

/// Returns the position for display.
pub(super) fn view(game: &CustodialTrap, state: &State) -> BoardView {
    let cell = |square| letter(state, square).map_or(".".into(), String::from);
    let reserves = game.variant.drops().then(|| state.reserve.map(usize::from));
    let note = note(game, state);
    BoardView { reserves, ..BoardView::of_squares(8, 8, [COLORS[0], COLORS[1]], cell, note) }
}

/// Returns why a man may not do what `text` says.
pub(super) fn why_illegal(state: &State, text: &str) -> Option<String> {
    let [own, other] = [state.turn, 1 - state.turn].map(|color| state.men[color as usize]);
    let is_free = |square: usize| (own | other) >> square & 1 == 0;
    let name = NAMES[state.turn as usize];
    if let Some((what, square)) = text.split_once('@') {
        let at = parse_square(square, 8, 8)?;
        return match what {
            "" if state.phase == Phase::Play && state.reserve[state.turn as usize] == 0 => {
                Some(format!("{name} has no man in reserve"))
            }
            _ if !is_free(at) => Some(format!("there is a man on {square}")),
            "W" | "B" if INNER >> at & 1 == 0 => Some(format!("{square} is at the edge of the board")),
            "W" | "B" if state.pointer != NOWHERE && at < state.pointer as usize => {
                let last = square_text(state.pointer as usize, 8);
                Some(format!("men are put in ascending order, and the last one is on {last}"))
            }
            _ => None,
        };
    }
    let (from, to) = text.split_once(['-', 'x'])?;
    let square = parse_square(from, 8, 8).filter(|_| state.phase == Phase::Play)?;
    match (own >> square & 1, trapped(own, other) >> square & 1) {
        (0, _) => return Some(format!("{name} has no man on {from}")),
        (_, 1) => return Some(format!("the man on {from} is trapped")),
        _ => {}
    }
    let kind = parse_action(text).filter(|_| text.contains('-'))? / 64;
    let (direction, distance) = (kind / DISTANCES, kind % DISTANCES + 1);
    let between = (1..distance).map(|steps| target(direction * DISTANCES + steps - 1, square));
    match parse_square(to, 8, 8).is_some_and(is_free) {
        false => Some(format!("there is a man on {to}")),
        true if !{ between }.all(is_free) => Some(format!("there is a man between {from} and {to}")),
        true => None,
    }
}

/// Returns the squares of the trapped men (C1), as places on the [`view`].
pub(super) fn trapped_places(state: &State) -> Vec<(usize, usize)> {
    let [white, black] = state.men;
    let all = trapped(white, black) | trapped(black, white);
    (0..64).filter(|square| all >> square & 1 == 1).map(|square| BoardView::place(square, 8, 8)).collect()
}

fn note(game: &CustodialTrap, state: &State) -> String {
    let doing = match state.phase {
        Phase::Play => format!("{} to move", NAMES[state.turn as usize]),
        Phase::Place if state.pointer == NOWHERE => {
            "A puts men of both colors on inner squares, in order from b2 to g7".into()
        }
        Phase::Place => "A puts more men, or says which color begins".into(),
        Phase::Choose => "B takes a color, or lifts men to rearrange them".into(),
        Phase::White => "B puts the white men back, in order from b2 to g7".into(),
        Phase::Black => "B puts the black men back, in order from b2 to g7".into(),
        Phase::South => "B puts men back on ranks 2 to 4, in order".into(),
        Phase::North => "B puts men back on ranks 5 to 7, in order".into(),
        Phase::Pick => "A takes a color".into(),
    };
    let mut parts = vec![doing];
    if game.variant == Variant::Advanced && state.phase == Phase::Play {
        let [a, b] = [state.color, 1 - state.color].map(|color| NAMES[color as usize]);
        parts.push(format!("A has {a}, B has {b}"));
    } else if state.first != NEITHER {
        parts.push(format!("{} begins", NAMES[state.first as usize]));
    }
    if game.variant.drops() {
        parts.push(format!("in reserve: White {}, Black {}", state.reserve[WHITE], state.reserve[BLACK]));
    }
    if state.phase == Phase::Play {
        parts.push(format!("{} of {} plies without capture or drop", state.clock, game.no_progress));
    }
    if state.occurrences > 1 {
        parts.push(format!("occurrence {} of this position", state.occurrences));
    }
    parts.join("; ")
}
