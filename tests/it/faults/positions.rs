//! Mutated position texts for every game: they are refused with an error, or they are positions that print as the
//! same text and that the rules play to an end, reachable or not.

use std::panic::{AssertUnwindSafe, catch_unwind};

use petteia::any::Opened;
use petteia::encode::Planes;
use petteia::game::{Game, Settings};
use petteia::games::Games;
use petteia::random::{Random, choose};
use petteia::registry::Registry;

use super::mutation::mutate;
use super::scene::{Petteia, Tally, random, times};

/// Tries this many mutated texts; returns how many were accepted.
struct Mutated<'a> {
    id: &'a str,
    chance: Random,
    tally: &'a mut Tally,
}

impl Mutated<'_> {
    fn on(mut self, rules: Opened) -> usize {
        let game = &rules.game;
        let texts = some_positions(game, &mut self.chance);
        let mut accepted = 0;
        for number in 0..times(2_000, 10_000) {
            let text = mutate(&texts[number % texts.len()], &mut self.chance);
            self.tally.check(|| {
                let tried = catch_unwind(AssertUnwindSafe(|| try_text(game, &text, &mut self.chance)));
                accepted +=
                    tried.unwrap_or_else(|_| panic!("{}: `{text}`: a panic, see above", self.id)) as usize;
            });
        }
        accepted
    }
}

/// The texts of all positions of some random games.
fn some_positions<G: Game>(game: &G, chance: &mut Random) -> Vec<String> {
    let mut texts = Vec::new();
    for _ in 0..8 {
        let mut state = game.initial();
        while game.outcome(&state).is_none() {
            texts.push(game.state_text(&state));
            let action = choose(chance, &game.legal(&state));
            game.play(&mut state, action);
        }
        texts.push(game.state_text(&state));
    }
    texts
}

/// Whether the text is accepted.
fn try_text<G: Game>(game: &G, text: &str, chance: &mut Random) -> bool {
    let mut state = match game.parse_state(text) {
        Ok(state) => state,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let printed = game.state_text(&state);
    let again = game.parse_state(&printed).unwrap_or_else(|e| panic!("`{text}` prints as `{printed}`: {e}"));
    assert_eq!(game.state_text(&again), printed, "of `{text}`");
    assert!(again == game.without_history(&state), "`{text}` is another position than `{printed}`");
    let mut planes = Planes::new(game.shape());
    let mut plies = 0;
    while game.outcome(&state).is_none() {
        let legal = game.legal(&state);
        assert!(!legal.is_empty() && legal.is_sorted(), "`{text}`: {legal:?} after {plies} actions");
        game.encode(&state, &mut planes);
        game.key(&state);
        let action = choose(chance, &legal);
        let said = game.action_text(&state, action);
        assert_eq!(game.parse_action(&state, &said), Some(action), "`{text}`: `{said}`");
        game.play(&mut state, action);
        plies += 1;
        assert!(plies <= game.max_plies(), "`{text}` never ends");
    }
    assert!(game.legal(&state).is_empty(), "`{text}`: actions after the end");
    true
}

#[test]
fn mutated_positions_are_refused_or_playable() {
    for (number, id) in Games::ids().into_iter().enumerate() {
        let mut tally = Tally::default();
        let job = Mutated { id: &id, chance: random(200 + number as u64), tally: &mut tally };
        let accepted = Games::open(&id, &Settings::default()).map(|rules| job.on(rules)).unwrap();
        assert!(accepted > 0, "{id}: nothing was accepted");
        tally.report(&format!("positions of {id}, {accepted} accepted"));
    }
}

/// Tests mutated positions through the program, whose answers are lines of JSON or an error message.
#[test]
fn the_program_takes_mutated_positions() {
    let (mut tally, mut chance) = (Tally::default(), random(220));
    let start = ["X.X/.O./... O", ".../.../... X"];
    for number in 0..times(40, 2_000) {
        let text = mutate(start[number % 2], &mut chance);
        for command in [&["analyze", "tic-tac-toe", "--agent", "uniform:4"][..], &["replay", "tic-tac-toe"]] {
            let program = Petteia::new(command).hearing(text.as_bytes());
            tally.check(|| program.run().expect_words(&text));
        }
    }
    tally.report("positions through the program");
}
