//! Writes a game as text; see [`playthrough`].

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::encode::Planes;
use crate::game::{Action, Game, Outcome, Rules};

/// The planes are drawn at every `PLANES_EVERY`th ply.
const PLANES_EVERY: usize = 11;
/// The number of plies at the start and at the end of a game that are shown in full.
const FIRST: usize = 50;
const LAST: usize = 10;

/// Plays a random game that depends only on the rules and `seed`, and returns the positions, from the initial one on,
/// and the actions between them. Play stops when the game is over, but no later than after [`Game::max_plies`].
pub fn random_game<G: Game>(game: &G, seed: u64) -> (Vec<G::State>, Vec<Action>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut states, mut actions) = (Vec::new(), Vec::new());
    let mut state = game.initial();
    loop {
        states.push(state.clone());
        let legal = game.legal(&state);
        if game.outcome(&state).is_some() || legal.is_empty() || actions.len() >= game.max_plies() {
            return (states, actions);
        }
        let action = legal[random.random_range(0..legal.len())];
        game.play(&mut state, action);
        actions.push(action);
    }
}

/// Returns positions of random games in the order of play, without the final ones. The positions depend only on the
/// rules and `seed`.
pub fn random_positions<G: Game>(game: &G, count: usize, seed: u64) -> Vec<G::State> {
    let mut positions = Vec::new();
    for seed in seed.. {
        if positions.len() >= count {
            break;
        }
        let (states, _) = random_game(game, seed);
        positions.extend(states.into_iter().filter(|state| game.outcome(state).is_none()));
    }
    positions.truncate(count);
    positions
}

/// Returns one random game as text for people to read: boards, legal actions in words, drawn planes, and the outcome.
///
/// The text reveals mistakes that no program can detect, such as an outcome with the wrong sign. In a long game, the
/// plies in the middle have one line each. The text depends only on the rules and `seed`, so a test can keep it as a
/// golden file.
///
/// # Panics
/// If a game ends without an outcome, a mistake that [`check`](super::check) reports.
pub fn playthrough<G: Game>(rules: &Rules<G>, seed: u64) -> String {
    let game = &rules.game;
    let about = game.about();
    let mut out = format!("{}: {}, {}, seed {seed}\n", rules.identity.id, about.title, about.byline());
    out += &format!("{:?}, at most {} plies\n", game.shape(), game.max_plies());
    let (states, actions) = random_game(game, seed);
    for (ply, state) in states.iter().enumerate() {
        let action = actions.get(ply);
        if let Some(action) = action.filter(|_| ply >= FIRST && ply + LAST < actions.len()) {
            let legal = game.legal(state).len();
            let text = game.action_text(state, *action);
            out += &format!("ply {ply}: {text}, one of {legal}, in {}\n", game.state_text(state));
            continue;
        }
        out += &format!("\n== ply {ply}: {}\n", game.state_text(state));
        out += &board(game, state);
        if ply % PLANES_EVERY == 0 || action.is_none() {
            out += &planes(game, state);
        }
        if let Some(action) = action {
            out += &choice(game, state, &game.legal(state), *action);
        }
    }
    let end = match game.outcome(states.last().expect("a finished game")).expect("a finished game") {
        Outcome::Win(player) => format!("{} wins", game.about().player(player)),
        Outcome::Draw => "draw".to_string(),
    };
    out + &format!("\n{end}\n")
}

fn board<G: Game>(game: &G, state: &G::State) -> String {
    let view = game.view(state);
    let mut out = String::new();
    for (label, cells) in view.rows.iter().zip(&view.cells) {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>2}")).collect();
        out += &format!("{label:>3} {}\n", cells.concat());
    }
    let columns: Vec<String> = view.columns.iter().map(|label| format!("{label:>2}")).collect();
    out += &format!("    {}\n", columns.concat());
    if !view.note.is_empty() {
        out += &format!("    {}\n", view.note);
    }
    out
}

fn choice<G: Game>(game: &G, state: &G::State, legal: &[Action], action: Action) -> String {
    let player = game.about().player(game.to_move(state));
    let texts: Vec<String> = legal.iter().map(|action| game.action_text(state, *action)).collect();
    let text = game.action_text(state, action);
    let (legal, touched) = (texts.join(" "), game.touched(state, action));
    format!("legal: {legal}\n{player} plays {text} (action {}, touches {touched:?})\n", action.0)
}

/// Draws planes side by side, the top row first: `#` is 1, `.` is 0. Uniform planes are described in words.
fn planes<G: Game>(game: &G, state: &G::State) -> String {
    let shape = game.shape();
    let mut encoded = Planes::new(shape);
    game.encode(state, &mut encoded);
    let mut numbers = vec![f32::NAN; shape.input_len()];
    encoded.expand(&mut numbers);
    let (mut out, mut drawn) = (String::new(), Vec::new());
    for (index, plane) in numbers.chunks(shape.cells()).enumerate() {
        if plane.iter().all(|number| *number == plane[0]) {
            out += &format!("plane {index}: {:.3} everywhere\n", plane[0])
        } else {
            drawn.push((index, plane))
        }
    }
    for band in drawn.chunks(8) {
        let titles: String =
            band.iter().map(|(index, _)| format!("{index:<w$}  ", w = shape.width)).collect();
        out += &format!("planes  {}\n", titles.trim_end());
        for row in (0..shape.height).rev() {
            let draw = |number: &f32| if *number == 1.0 { '#' } else { '.' };
            let row = row * shape.width..(row + 1) * shape.width;
            let rows: Vec<String> =
                band.iter().map(|(_, plane)| plane[row.clone()].iter().map(draw).collect()).collect();
            out += &format!("        {}\n", rows.join("  "));
        }
    }
    out
}
