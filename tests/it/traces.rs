//! Whole games of independent slow generators: at each ply the number and a hash of the legal actions, every ten
//! plies the position, and at the end the result.

use std::collections::BTreeMap;

use petteia::game::{Game, GameOptions, Outcome, Player, Variants};
use petteia::games::phage::Phage;
use sha2::{Digest, Sha256};

#[derive(serde::Deserialize)]
struct Data {
    games: Vec<Trace>,
}

/// One game; `n` and `h` have an entry for each ply and one for the final position.
#[derive(serde::Deserialize)]
struct Trace {
    seed: u64,
    actions: Vec<String>,
    n: Vec<usize>,
    h: Vec<String>,
    fen: BTreeMap<usize, String>,
    result: String,
}

/// The hash of the sorted texts, joined by line ends.
fn digest(mut texts: Vec<String>) -> String {
    texts.sort_unstable();
    Sha256::digest(texts.join("\n")).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The result as data files name it: the player's name in lower case or `draw`.
fn result<G: Game>(game: &G, outcome: Outcome) -> String {
    match outcome {
        Outcome::Win(player) => game.about().player(player).to_lowercase(),
        Outcome::Draw => "draw".to_string(),
    }
}

fn replay<G: Variants>(json: &str) {
    let game = G::new(&GameOptions::default()).unwrap();
    let data: Data = serde_json::from_str(json).unwrap();
    assert!(!data.games.is_empty());
    for trace in data.games {
        let name = format!("{} game {}", G::NAME, trace.seed);
        assert_eq!((trace.n.len(), trace.h.len()), (trace.actions.len() + 1, trace.actions.len() + 1));
        let mut state = game.parse_state(&trace.fen[&0]).unwrap();
        for ply in 0..trace.n.len() {
            let texts: Vec<String> =
                game.legal(&state).into_iter().map(|action| game.action_text(&state, action)).collect();
            assert_eq!(texts.len(), trace.n[ply], "{name} ply {ply}");
            assert_eq!(digest(texts), trace.h[ply], "{name} ply {ply}");
            if let Some(fen) = trace.fen.get(&ply) {
                assert_eq!(&game.state_text(&state), fen, "{name} ply {ply}");
                assert_eq!(game.parse_state(fen).unwrap(), state, "{name} ply {ply}");
            }
            if let Some(text) = trace.actions.get(ply) {
                assert_eq!(game.outcome(&state), None, "{name} ply {ply}");
                let action = game.parse_action(&state, text);
                let action = action.unwrap_or_else(|| panic!("{name} ply {ply}: {text} is refused"));
                game.play(&mut state, action);
            }
        }
        let outcome = game.outcome(&state).unwrap_or_else(|| panic!("{name} is not over"));
        assert_eq!(result(&game, outcome), trace.result, "{name}");
    }
}

#[test]
fn phage() {
    replay::<Phage>(include_str!("../data/phage.json"));
}

#[test]
fn results_are_named_after_the_players() {
    assert_eq!(result(&Phage, Outcome::Win(Player::Second)), "black");
}
