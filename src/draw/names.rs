//! The squares of a position in words, for people who hear a board instead of seeing it.

use crate::game::{BoardView, Game, Look, PieceShape};

/// Returns the contents of each square of [`Game::view`], as `[rows][columns]`: "white queen", "red checker", "X", or
/// "empty", followed by anything else that a [drawing](crate::draw) shows of the square, such as "white man, stuck".
pub fn names<G: Game>(game: &G, state: &G::State) -> Vec<Vec<String>> {
    let (view, stuck) = (game.view(state), game.stuck(state));
    let name = |(y, x): (usize, usize)| {
        let name = name(game, &view, (y, x));
        if stuck.contains(&(y, x)) { format!("{name}, stuck") } else { name }
    };
    let row = |y: usize| (0..view.columns.len()).map(|x| name((y, x))).collect();
    (0..view.rows.len()).map(row).collect()
}

fn name<G: Game>(game: &G, view: &BoardView, (y, x): (usize, usize)) -> String {
    let text = view.cells[y][x].as_str();
    let shape = match game.look(view, text) {
        Look::Empty => return "empty".into(),
        Look::Hole => return "no square".into(),
        Look::Closed => return "closed square".into(),
        Look::Text => return text.into(),
        Look::Piece(shape) => shape,
    };
    let owner = view.owner(y, x);
    let kind = match shape {
        // a player's mark needs no name, because the player is named after it
        PieceShape::Cross | PieceShape::Nought if owner.is_some() => "",
        _ => game.piece_name(text).unwrap_or_else(|| kind(shape, text)),
    };
    // a piece is named by its color in drawings, even if players get their colors later
    let owner = owner.map_or("", |owner| &game.about().colors[owner.index()]);
    let parts = [if kind.is_empty() { owner.into() } else { owner.to_lowercase() }, kind.into()];
    parts.into_iter().filter(|part: &String| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn kind(shape: PieceShape, text: &str) -> &str {
    match shape {
        PieceShape::Letter => text,
        PieceShape::Disc => "disc",
        PieceShape::Checker => "checker",
        PieceShape::Circle => "circle",
        PieceShape::Square => "square",
        PieceShape::Triangle => "triangle",
        PieceShape::Diamond => "diamond",
        PieceShape::Cross => "cross",
        PieceShape::Nought => "nought",
        PieceShape::Queen => "queen",
        PieceShape::Rook => "rook",
        PieceShape::Bishop => "bishop",
        PieceShape::Knight => "knight",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::any::Opened;
    use crate::conformance::random_game;
    use crate::game::{GameOptions, Rules, Variants};
    use crate::games::Games;
    use crate::games::caissa::Caissa;
    use crate::games::custodial_trap::CustodialTrap;
    use crate::games::phage::Phage;
    use crate::games::tic_tac_toe::TicTacToe;
    use crate::options::Settings;
    use crate::registry::Registry;

    struct Everything;

    impl Everything {
        /// Checks that pieces drawn alike have the same name, that other pieces do not, and that nothing else has the
        /// name of a piece.
        fn on(self, rules: Opened) {
            let game = &rules.game;
            let mut known = std::collections::BTreeMap::new();
            for state in random_game(game, 11).0 {
                let (view, names) = (game.view(&state), names(game, &state));
                for action in game.legal(&state) {
                    let Some(words) = game.action_words(&state, action) else { continue };
                    assert_ne!(words, game.action_text(&state, action));
                    if let [(y, x)] = game.touched(&state, action)[..] {
                        let square = format!(" on {}{}", view.columns[x], view.rows[y]);
                        assert!(words.ends_with(&square), "{words}");
                    }
                }
                for (y, row) in names.iter().enumerate() {
                    assert_eq!(row.len(), view.columns.len());
                    for (x, name) in row.iter().enumerate() {
                        let look = game.look(&view, &view.cells[y][x]);
                        let owner = view.owner(y, x);
                        let is_piece = matches!(look, Look::Piece(_));
                        assert_eq!(is_piece, owner.is_some(), "{}: {name}", rules.identity.id);
                        if let Some(owner) = owner {
                            let color = &*game.about().colors[owner.index()];
                            assert!(
                                name.starts_with(color) || name.starts_with(&color.to_lowercase()),
                                "{name}"
                            );
                        }
                        let name = name.trim_end_matches(", stuck").to_string();
                        let appearance = (format!("{look:?}"), owner);
                        assert_eq!(
                            *known.entry(name.clone()).or_insert_with(|| appearance.clone()),
                            appearance,
                            "{name}"
                        );
                    }
                }
            }
            assert!(known.len() > 2, "{known:?}");
        }
    }

    #[test]
    fn every_piece_of_every_game_has_a_name_of_its_own() {
        for id in Games::ids() {
            Games::open(&id, &Settings::new()).map(|rules| Everything.on(rules)).unwrap();
        }
    }

    fn of<G: Variants>(variant: &str, position: &str, square: &str) -> String {
        let options = GameOptions { variant: variant.into(), ..GameOptions::default() };
        let game = Rules::<G>::new(&options).unwrap().game;
        let state = game.parse_state(position).unwrap();
        let view = game.view(&state);
        let y = view.rows.iter().position(|label| *label == square[1..]).unwrap();
        let x = view.columns.iter().position(|label| *label == square[..1]).unwrap();
        names(&game, &state)[y][x].clone()
    }

    #[test]
    fn pieces_are_called_as_people_call_them() {
        let caissa = |square: &str| of::<Caissa>("", "7/3bqn1/4r2/7/2R4/1NQB3/5** w - 2", square);
        assert_eq!(
            ["c2", "d6", "a1", "g1"].map(caissa),
            ["white queen", "black bishop", "empty", "no square"]
        );
        let phage = |square: &str| of::<Phage>("", "7d/5t2/3s4/1c6/5Cx1/4S3/2T5/D7 b 6777/7777", square);
        assert_eq!(
            ["e3", "h8", "g4", "b4"].map(phage),
            ["white square", "black diamond", "closed square", "empty"]
        );
        let game = Rules::<TicTacToe>::new(&GameOptions::default()).unwrap().game;
        let mut state = game.initial();
        let first = game.legal(&state)[0];
        game.play(&mut state, first);
        assert_eq!(names(&game, &state)[2], ["X", "empty", "empty"]);
    }

    #[test]
    fn a_trapped_man_is_called_stuck() {
        let options = GameOptions { variant: "intro".into(), ..GameOptions::default() };
        let game = Rules::<CustodialTrap>::new(&options).unwrap().game;
        let states = random_game(&game, 3).0;
        let trapped = states.iter().find(|state| !game.stuck(state).is_empty()).expect("a trapped man");
        let (y, x) = game.stuck(trapped)[0];
        let name = &names(&game, trapped)[y][x];
        assert!(["white man, stuck", "black man, stuck"].contains(&name.as_str()), "{name}");
    }
}
