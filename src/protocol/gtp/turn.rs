//! Sets up positions by placing stones of both colors in any order, as programs for Hex do.
//!
//! This works in games that only place stones, if the text of a position contains the side to move: the side in the
//! text is changed, and the text is read as a position. The rules check everything else.

use crate::any::{AnyGame, AnyState};
use crate::game::{Action, Game, Player};

/// Returns whether positions can be set up: the other player must also be able to begin, and every action in the
/// initial position must either touch nothing or add one stone to the board and do nothing else.
pub(super) fn can_set_up(game: &AnyGame) -> bool {
    let initial = game.initial();
    let places = || only_places(game, &initial);
    with_turn(game, &initial, game.to_move(&initial).other()).is_some() && places()
}

fn only_places(game: &AnyGame, initial: &AnyState) -> bool {
    let mut stones =
        game.legal(initial).into_iter().filter(|action| !game.touched(initial, *action).is_empty());
    let mut any = false;
    stones.all(|action| {
        any = true;
        let mut next = initial.clone();
        game.play(&mut next, action);
        adds_one(game, initial, &next)
    }) && any
}

/// Returns whether `after` is the same as `before` except for one more stone, placed by the player who was to move.
pub(super) fn adds_one(game: &AnyGame, before: &AnyState, after: &AnyState) -> bool {
    let mover = game.to_move(before);
    let (old, new) = (game.view(before), game.view(after));
    let mut added = 0;
    for (row, (was, is)) in old.cells.iter().zip(&new.cells).enumerate() {
        for column in (0..is.len()).filter(|column| was[*column] != is[*column]) {
            if old.owner(row, column).is_some() || new.owner(row, column) != Some(mover) {
                return false;
            }
            added += 1;
        }
    }
    added == 1
}

/// Returns the position with the same stones and `player` to move; `None` if the game has no such position. The
/// position counts as later than the first ply, so nobody can swap.
pub(super) fn with_turn(game: &AnyGame, state: &AnyState, player: Player) -> Option<AnyState> {
    let text = game.state_text(state);
    let mut words: Vec<&str> = text.split(' ').collect();
    let side = word_of(game, player)?;
    let [_, turn, .., ply] = &mut words[..] else { return None };
    let later = (ply.parse::<usize>().ok()? + 1).max(2).to_string();
    (*turn, *ply) = (&side, &later);
    let found = game.parse_state(&words.join(" ")).ok()?;
    let is_same = game.view(&found).cells == game.view(state).cells;
    (is_same && game.to_move(&found) == player && game.outcome(&found).is_none()).then_some(found)
}

/// Returns the word that names `player` as the side to move in the text of a position.
fn word_of(game: &AnyGame, player: Player) -> Option<String> {
    let mut state = game.initial();
    if game.to_move(&state) != player {
        let first: Action = *game.legal(&state).first()?;
        game.play(&mut state, first);
    }
    let text = game.state_text(&state);
    (game.to_move(&state) == player).then(|| text.split(' ').nth(1).map(String::from))?
}
