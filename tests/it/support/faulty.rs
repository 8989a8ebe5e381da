//! A game with one wrong function, for testing what the conformance test finds.

use std::marker::PhantomData;

use petteia::board::Symmetry;
use petteia::encode::{Planes, Shape};
use petteia::error::Result;
use petteia::game::{About, Action, BoardView, Game, Outcome, Player};

macro_rules! faulty {
    ($($method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// The wrong functions. Each receives the correct game; all other functions are those of the correct game.
        pub struct Wrong<G: Game> {
            $(pub $method: Option<fn(&G, $($type),*) -> $result>,)*
            pub game: PhantomData<G>,
        }

        impl<G: Game> Clone for Wrong<G> {
            fn clone(&self) -> Self {
                Wrong { $($method: self.$method,)* game: PhantomData }
            }
        }

        impl<G: Game> Default for Wrong<G> {
            fn default() -> Self {
                Wrong { $($method: None,)* game: PhantomData }
            }
        }

        impl<G: Game> Game for Faulty<G> {
            type State = G::State;

            fn about(&self) -> &About {
                self.wrong.about.map_or_else(|| self.game.about(), |wrong| wrong(&self.game))
            }
            fn ending(&self, state: &G::State) -> &str {
                self.wrong.ending.map_or_else(|| self.game.ending(state), |wrong| wrong(&self.game, state))
            }
            fn symmetries(&self, state: &G::State) -> &[Symmetry] {
                let wrong = self.wrong.symmetries;
                wrong.map_or_else(|| self.game.symmetries(state), |wrong| wrong(&self.game, state))
            }
            fn count_legal_actions(&self, state: &G::State, scratch: &mut Vec<Action>) -> usize {
                if let Some(wrong) = self.wrong.count_legal_actions {
                    return wrong(&self.game, state, scratch);
                }
                self.legal_actions(state, scratch);
                scratch.len()
            }
            fn parse_action(&self, state: &G::State, text: &str) -> Option<Action> {
                if let Some(wrong) = self.wrong.parse_action {
                    return wrong(&self.game, state, text);
                }
                match self.wrong.legal_actions {
                    None => self.game.parse_action(state, text),
                    Some(_) => self.legal(state).into_iter().find(|action| self.action_text(state, *action) == text),
                }
            }
            fn try_play(&self, state: &mut G::State, action: Action) -> Result<()> {
                if let Some(wrong) = self.wrong.try_play {
                    return wrong(&self.game, state, action);
                }
                if !self.legal(state).contains(&action) {
                    return self.game.try_play(state, Action(u16::MAX));
                }
                self.play(state, action);
                Ok(())
            }
            $(faulty!(method $method($($argument: $type),*) -> $result);)*
        }
    };
    (method about $($rest:tt)*) => {};
    (method ending $($rest:tt)*) => {};
    (method symmetries $($rest:tt)*) => {};
    (method count_legal_actions $($rest:tt)*) => {};
    (method parse_action $($rest:tt)*) => {};
    (method try_play $($rest:tt)*) => {};
    (method $method:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        fn $method(&self, $($argument: $type),*) -> $result {
            match self.wrong.$method {
                Some(wrong) => wrong(&self.game, $($argument),*),
                None => self.game.$method($($argument),*),
            }
        }
    };
}

/// A correct game, and the wrong functions that replace some of its own.
#[derive(Clone)]
pub struct Faulty<G: Game> {
    pub game: G,
    pub wrong: Wrong<G>,
}

faulty! {
    about() -> &'static About;
    shape() -> Shape;
    max_plies() -> usize;
    initial() -> G::State;
    to_move(state: &G::State) -> Player;
    legal_actions(state: &G::State, out: &mut Vec<Action>) -> ();
    count_legal_actions(state: &G::State, scratch: &mut Vec<Action>) -> usize;
    play(state: &mut G::State, action: Action) -> ();
    outcome(state: &G::State) -> Option<Outcome>;
    ending(state: &G::State) -> &'static str;
    encode(state: &G::State, planes: &mut Planes) -> ();
    key(state: &G::State) -> u64;
    action_text(state: &G::State, action: Action) -> String;
    parse_action(state: &G::State, text: &str) -> Option<Action>;
    state_text(state: &G::State) -> String;
    parse_state(text: &str) -> Result<G::State>;
    without_history(state: &G::State) -> G::State;
    view(state: &G::State) -> BoardView;
    touched(before: &G::State, action: Action) -> Vec<(usize, usize)>;
    symmetries(state: &G::State) -> &'static [Symmetry];
    map_action(symmetry: Symmetry, action: Action) -> Action;
    turning() -> Symmetry;
    map_state(symmetry: Symmetry, state: &G::State) -> G::State;
    exchanged(state: &G::State) -> Option<G::State>;
    try_play(state: &mut G::State, action: Action) -> Result<()>;
}
