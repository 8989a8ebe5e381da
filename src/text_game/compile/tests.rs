//! Compares compiled rules with the trees that they are compiled from.

use crate::encode::Planes;
use crate::game::{Action, Game};
use crate::options::Settings;
use crate::random::{Purpose, choose, stream};
use crate::text_game::mask::Mask;
use crate::text_game::state::State;
use crate::text_game::tests::all_texts;
use crate::text_game::{TextGame, encode, read, with_game};

/// Plays random games of at most 300 actions, and compares the actions, their number, the planes, and the position
/// after an action. Returns the number of positions, or `None` if the rules are too long to compile.
pub(in crate::text_game) fn compare<M: Mask>(game: &TextGame<M>, games: u64) -> Option<usize> {
    let facts = &*game.0;
    if let Some(failure) = facts.program.failure(facts) {
        assert_eq!(failure, super::TOO_LONG);
        return None;
    }
    let [mut compiled_planes, mut tree_planes] = [0, 1].map(|_| Planes::new(facts.shape));
    let (mut positions, mut listed) = (0, Vec::new());
    for number in 0..games {
        let mut random = stream(1, Purpose::Start, &[number]);
        let mut state = game.initial();
        for _ in 0..300 {
            positions += 1;
            let place = || format!("{} at {}", facts.text.title, game.state_text(&state));
            let by_trees = actions(game, &state);
            game.legal_actions(&state, &mut listed);
            assert_eq!(listed, by_trees, "{}", place());
            assert_eq!(game.count_legal_actions(&state, &mut Vec::new()), by_trees.len(), "{}", place());
            game.encode(&state, &mut compiled_planes);
            game.encode(&state, &mut tree_planes);
            encode::write_by_trees(game, &state, &mut tree_planes);
            assert_eq!(compiled_planes, tree_planes, "{}", place());
            if listed.is_empty() {
                break;
            }
            let action = choose(&mut random, &listed);
            let (mut compiled, mut by_trees) = (state.clone(), state.clone());
            game.play(&mut compiled, action);
            game.play_legal(&mut by_trees, action);
            assert_eq!(compiled, by_trees, "{}, {}", place(), game.action_text(&state, action));
            state = compiled;
        }
    }
    Some(positions)
}

/// Returns the legal actions as the trees find them.
fn actions<M: Mask>(game: &TextGame<M>, state: &State<M>) -> Vec<Action> {
    let mut actions = Vec::new();
    game.each_legal(state, &mut |first, squares: M| {
        squares.each_square(|square| actions.push(Action((first + square) as u16)));
    });
    actions.sort_unstable();
    actions
}

#[test]
fn compiled_rules_play_as_their_trees_do() {
    let games = std::env::var("PETTEIA_GAMES").ok().and_then(|games| games.parse().ok()).unwrap_or(8);
    for (name, text) in all_texts() {
        let game = read(&text, &Settings::new()).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let positions = with_game!(&game, game => compare(game, games));
        assert!(positions.is_some_and(|positions| positions as u64 > games), "{name} is compiled");
    }
}

/// Boards of all sizes of words, and with all ways in which the second player sees them.
#[test]
fn options_of_texts_are_compiled() {
    let sizes = [("cage", vec![4, 6, 8]), ("hex", vec![3, 8, 9, 14, 19]), ("gomoku", vec![8, 9, 12, 19])];
    for (name, sizes) in sizes {
        let (_, text) = all_texts().into_iter().find(|(known, _)| known == name).expect("a text");
        for size in sizes {
            let settings = [("size".to_string(), toml::Value::Integer(size))].into();
            let game = read(&text, &settings).unwrap_or_else(|problem| panic!("{name} {size}: {problem}"));
            let positions = with_game!(&game, game => compare(game, 2));
            assert!(positions.is_some_and(|positions| positions > 4), "{name} {size} is compiled");
        }
    }
}

#[test]
fn a_phase_may_have_no_actions() {
    let text = "game Two by me\nboard 4 x 4\npiece man W w\nstart man: a1 | d4\n\
        phase one\naction step man any direction to empty, phase two\n\
        phase three\naction step man any direction to empty, phase one\n\
        phase two\nstuck: draw\nlimit 9: draw\n";
    let game = read(text, &Settings::new()).unwrap_or_else(|problem| panic!("{problem}"));
    with_game!(&game, game => assert_eq!(compare(game, 2), Some(4)));
}

#[test]
fn long_rules_are_not_compiled() {
    let line = "action leap man 1 2 to not own, if to next to (enemy enclosed by own) or to next to (own enclosed by \
        enemy) or to next to (enemy enclosed by empty), require groups of own = 1 and no (own enclosed by enemy)";
    let lines: String = (0..40).map(|_| format!("{line}\n")).collect();
    let text = format!(
        "game Long by me\nboard 20 x 20\npiece man W B\nstart man: a1 | c3\n{lines}stuck: draw\nlimit 9: draw\n"
    );
    let game = read(&text, &Settings::new()).unwrap_or_else(|problem| panic!("{problem}"));
    with_game!(&game, game => {
        assert_eq!(compare(game, 1), None);
        let mut state = game.initial();
        let action = game.legal(&state)[0];
        game.play(&mut state, action);
        assert_eq!(game.legal(&state), actions(game, &state));
    });
}

/// A batch keeps a list of legal actions for each of its games.
#[test]
fn a_list_has_no_room_for_actions_that_are_not_legal() {
    let (_, text) = all_texts().into_iter().find(|(name, _)| name == "amazons").expect("a text");
    let game = read(&text, &Settings::new()).unwrap_or_else(|problem| panic!("{problem}"));
    with_game!(&game, game => {
        let legal = game.legal(&game.initial());
        assert_eq!(legal.len(), 80);
        assert!(legal.capacity() < 200 && game.0.shape.actions > 5000, "{}", legal.capacity());
    });
}
