//! One random game of every id as text: boards, actions in words, planes drawn; of a long game the middle in
//! one line a ply. A change must be looked at: `PETTEIA_BLESS=1` rewrites the files in `data/playthrough`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use petteia::encode::Planes;
use petteia::game::{Action, Game, GameOptions, Outcome, Settings, id_of};
use petteia::games::{Job, ids, with_game};
use rand::{RngExt, SeedableRng};

const SEED: u64 = 7;
/// Plies between two drawings of the planes.
const PLANES_EVERY: usize = 11;
/// Plies at the start and at the end of a game that are shown in full.
const FIRST: usize = 50;
const LAST: usize = 10;

struct Playthrough;

impl Job for Playthrough {
    type Output = String;

    fn run<G: Game>(self, game: G, options: GameOptions) -> String {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(SEED);
        let mut out =
            format!("{}: {} by {}, seed {SEED}\n", id_of::<G>(&options.variant), G::TITLE, G::AUTHOR);
        writeln!(out, "{:?}, at most {} plies", game.shape(), game.max_plies()).unwrap();
        let mut states = vec![game.initial()];
        let mut actions = Vec::new();
        while let Some(state) = states.last().filter(|state| game.outcome(state).is_none()) {
            let legal = game.legal(state);
            let mut next = state.clone();
            actions.push(legal[random.random_range(0..legal.len())]);
            game.play(&mut next, actions[actions.len() - 1]);
            states.push(next);
        }
        for (ply, state) in states.iter().enumerate() {
            let action = actions.get(ply);
            if let Some(action) = action.filter(|_| ply >= FIRST && ply + LAST < actions.len()) {
                let legal = game.legal(state).len();
                let text = game.action_text(state, *action);
                writeln!(out, "ply {ply}: {text}, one of {legal}, in {}", game.state_text(state)).unwrap();
                continue;
            }
            writeln!(out, "\n== ply {ply}: {}", game.state_text(state)).unwrap();
            out += &board(&game, state);
            if ply % PLANES_EVERY == 0 || action.is_none() {
                out += &planes(&game, state);
            }
            if let Some(action) = action {
                out += &choice(&game, state, &game.legal(state), *action);
            }
        }
        let end = match game.outcome(states.last().unwrap()).unwrap() {
            Outcome::Win(player) => format!("{} wins", game.players()[player.index()]),
            Outcome::Draw => "draw".to_string(),
        };
        out + &format!("\n{end}\n")
    }
}

fn board<G: Game>(game: &G, state: &G::State) -> String {
    let view = game.view(state);
    let mut out = String::new();
    for (label, cells) in view.rows.iter().zip(&view.cells) {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>2}")).collect();
        writeln!(out, "{label:>3} {}", cells.concat()).unwrap();
    }
    let columns: Vec<String> = view.columns.iter().map(|label| format!("{label:>2}")).collect();
    writeln!(out, "    {}", columns.concat()).unwrap();
    if !view.note.is_empty() {
        writeln!(out, "    {}", view.note).unwrap();
    }
    out
}

fn choice<G: Game>(game: &G, state: &G::State, legal: &[Action], action: Action) -> String {
    let player = game.players()[game.to_move(state).index()];
    let texts: Vec<String> = legal.iter().map(|action| game.action_text(state, *action)).collect();
    let text = game.action_text(state, action);
    let (legal, touched) = (texts.join(" "), game.touched(state, action));
    format!("legal: {legal}\n{player} plays {text} (action {}, touches {touched:?})\n", action.0)
}

/// Planes side by side, the top row first: `#` 1, `.` 0; those with one number everywhere in words.
fn planes<G: Game>(game: &G, state: &G::State) -> String {
    let shape = game.shape();
    let mut encoded = Planes::new(shape);
    game.encode(state, &mut encoded);
    let mut numbers = vec![f32::NAN; shape.input_len()];
    encoded.expand(&mut numbers);
    let (mut out, mut drawn) = (String::new(), Vec::new());
    for (index, plane) in numbers.chunks(shape.cells()).enumerate() {
        match plane.iter().all(|number| *number == plane[0]) {
            true => writeln!(out, "plane {index}: {:.3} everywhere", plane[0]).unwrap(),
            false => drawn.push((index, plane)),
        }
    }
    for band in drawn.chunks(8) {
        let titles: String =
            band.iter().map(|(index, _)| format!("{index:<w$}  ", w = shape.width)).collect();
        writeln!(out, "planes  {}", titles.trim_end()).unwrap();
        for row in (0..shape.height).rev() {
            let draw = |number: &f32| if *number == 1.0 { '#' } else { '.' };
            let row = row * shape.width..(row + 1) * shape.width;
            let rows: Vec<String> =
                band.iter().map(|(_, plane)| plane[row.clone()].iter().map(draw).collect()).collect();
            writeln!(out, "        {}", rows.join("  ")).unwrap();
        }
    }
    out
}

#[test]
fn playthroughs_are_as_they_were_looked_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/playthrough");
    let bless = std::env::var_os("PETTEIA_BLESS").is_some();
    fs::create_dir_all(&folder).unwrap();
    for id in ids() {
        let now = with_game(&id, &Settings::new(), Playthrough).unwrap();
        let path = folder.join(format!("{id}.txt"));
        if bless {
            fs::write(&path, &now).unwrap();
        }
        let then = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        if let Some(line) = (0..).zip(now.lines().zip(then.lines())).find(|(_, (a, b))| a != b) {
            panic!(
                "{id} differs in line {}; PETTEIA_BLESS=1 accepts it:\n{}\n{}",
                line.0 + 1,
                line.1.0,
                line.1.1
            );
        }
        assert_eq!(now, then, "{id}: another length; PETTEIA_BLESS=1 accepts it");
    }
}
