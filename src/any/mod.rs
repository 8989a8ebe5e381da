//! A game whose type is not known at compile time: it is behind a pointer, but it still implements [`Game`].
//!
//! Input: rules of any type. Output: an [`AnyGame`] with [`AnyState`]s. Code that need not be fast (commands,
//! protocols, pages, reports, the steps of a run) uses these two types and is compiled once instead of once for each
//! game. Work that must be fast, such as a generation of self-play, a match, a ladder, or a perft count, is done in one
//! call through the pointer ([`fast`]). Fast work runs with the game's own types and produces the same bytes as without
//! the pointer.

pub mod batch;
pub mod fast;

use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use crate::board::Symmetry;
use crate::encode::{Planes, Shape};
use crate::error::Result;
use crate::game::{About, Action, BoardView, Game, GameOption, Look, Outcome, Player, Rules};

/// A position of an [`AnyGame`].
pub struct AnyState(Box<dyn AnyPosition>);

/// The operations that every [`Game::State`] has behind the pointer.
trait AnyPosition: Any + Debug + Send + Sync {
    fn copied(&self) -> Box<dyn AnyPosition>;
    /// Copies `other` without a new allocation, and returns false if `other` is a state of another game.
    fn assign(&mut self, other: &dyn AnyPosition) -> bool;
    fn equals(&self, other: &dyn AnyPosition) -> bool;
}

impl<S: Any + Clone + Eq + Debug + Send + Sync> AnyPosition for S {
    fn copied(&self) -> Box<dyn AnyPosition> {
        Box::new(self.clone())
    }

    fn assign(&mut self, other: &dyn AnyPosition) -> bool {
        (other as &dyn Any).downcast_ref().is_some_and(|other| {
            self.clone_from(other);
            true
        })
    }

    fn equals(&self, other: &dyn AnyPosition) -> bool {
        (other as &dyn Any).downcast_ref().is_some_and(|other| self == other)
    }
}

impl AnyState {
    fn new<S: Any + Clone + Eq + Debug + Send + Sync>(state: S) -> AnyState {
        AnyState(Box::new(state))
    }

    /// Returns the state as its own type.
    ///
    /// # Panics
    /// If the state belongs to another game.
    pub fn state<S: Any>(&self) -> &S {
        (&*self.0 as &dyn Any).downcast_ref().expect(OTHER)
    }

    fn state_mut<S: Any>(&mut self) -> &mut S {
        (&mut *self.0 as &mut dyn Any).downcast_mut().expect(OTHER)
    }
}

const OTHER: &str = "a state belongs to the game that made it";

impl Clone for AnyState {
    fn clone(&self) -> AnyState {
        AnyState(self.0.copied())
    }

    fn clone_from(&mut self, other: &AnyState) {
        if !self.0.assign(&*other.0) {
            *self = other.clone();
        }
    }
}

impl PartialEq for AnyState {
    fn eq(&self, other: &AnyState) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Eq for AnyState {}

impl Debug for AnyState {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// A game behind a pointer. [`Rules::opened`] makes one from the rules of any game, and
/// [`Catalog::open`](crate::registry::Catalog::open) makes one from a name.
///
/// ```
/// use petteia::games::Games;
/// use petteia::registry::Catalog;
/// use petteia::session::Session;
///
/// let rules = Catalog::of::<Games>().open("tic-tac-toe", &Default::default())?;
/// let mut session = Session::new(rules.game);
/// session.play_text("b2")?;
/// assert_eq!(session.game().state_text(session.state()), ".../.X./... O");
/// assert!(session.play_text("b2").is_err());
/// assert!(session.undo() && !session.undo());
/// # use petteia::game::Game;
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// All games share this type; [`Game::about`] describes the actual game.
#[derive(Clone)]
pub struct AnyGame(Arc<dyn Door>);

/// The rules of a game behind a pointer.
pub type Opened = Rules<AnyGame>;

impl<G: Game> Rules<G> {
    /// Puts the rules behind a pointer, unless they already are.
    pub fn opened(self) -> Opened {
        let Rules { game, identity, variants, shipped } = self;
        Rules { game: AnyGame::of(game), identity, variants, shipped }
    }
}

impl AnyGame {
    /// Puts a game behind a pointer, unless it already is.
    pub fn of<G: Game>(game: G) -> AnyGame {
        match (&game as &dyn Any).downcast_ref::<AnyGame>() {
            Some(opened) => opened.clone(),
            None => AnyGame(Arc::new(Behind(game))),
        }
    }
}

impl Debug for AnyGame {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        write!(out, "AnyGame({})", self.about().name)
    }
}

/// A game of a known type behind the pointer.
struct Behind<G>(G);

/// Declares the methods of [`Game`], each with its implementation behind the pointer, where the game has its own type.
macro_rules! door {
    ($(fn $name:ident($game:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)? { $body:expr })*) => {
        trait Door: fast::Fast {
            $(fn $name(&self $(, $argument: $type)*) $(-> $result)?;)*
        }

        impl<G: Game> Door for Behind<G> {
            $(fn $name(&self $(, $argument: $type)*) $(-> $result)? {
                let $game = &self.0;
                $body
            })*
        }

        impl Game for AnyGame {
            type State = AnyState;

            $(fn $name(&self $(, $argument: $type)*) $(-> $result)? {
                self.0.$name($($argument),*)
            })*
        }
    };
}

door! {
    fn about(game) -> &About { game.about() }
    fn manual(game) -> String { game.manual() }
    fn brief(game) -> String { game.brief() }
    fn options(game) -> Vec<GameOption> { game.options() }
    fn has_offer(game) -> bool { game.has_offer() }
    fn shape(game) -> Shape { game.shape() }
    fn max_plies(game) -> usize { game.max_plies() }
    fn initial(game) -> AnyState { AnyState::new(game.initial()) }
    fn to_move(game, state: &AnyState) -> Player { game.to_move(state.state()) }
    fn legal_actions(game, state: &AnyState, out: &mut Vec<Action>) { game.legal_actions(state.state(), out) }
    fn count_legal_actions(game, state: &AnyState, scratch: &mut Vec<Action>) -> usize {
        game.count_legal_actions(state.state(), scratch) }
    fn play(game, state: &mut AnyState, action: Action) { game.play(state.state_mut(), action) }
    fn outcome(game, state: &AnyState) -> Option<Outcome> { game.outcome(state.state()) }
    fn ending(game, state: &AnyState) -> &str { game.ending(state.state()) }
    fn encode(game, state: &AnyState, planes: &mut Planes) { game.encode(state.state(), planes) }
    fn key(game, state: &AnyState) -> u64 { game.key(state.state()) }
    fn action_text(game, state: &AnyState, action: Action) -> String { game.action_text(state.state(), action) }
    fn action_words(game, state: &AnyState, action: Action) -> Option<String> { game.action_words(state.state(),
        action) }
    fn parse_action(game, state: &AnyState, text: &str) -> Option<Action> { game.parse_action(state.state(), text) }
    fn why_illegal(game, state: &AnyState, text: &str) -> Option<String> { game.why_illegal(state.state(), text) }
    fn state_text(game, state: &AnyState) -> String { game.state_text(state.state()) }
    fn parse_state(game, text: &str) -> Result<AnyState> { game.parse_state(text).map(AnyState::new) }
    fn without_history(game, state: &AnyState) -> AnyState { AnyState::new(game.without_history(state.state())) }
    fn view(game, state: &AnyState) -> BoardView { game.view(state.state()) }
    fn look(game, view: &BoardView, text: &str) -> Look { game.look(view, text) }
    fn piece_name(game, text: &str) -> Option<&str> { game.piece_name(text) }
    fn stuck(game, state: &AnyState) -> Vec<(usize, usize)> { game.stuck(state.state()) }
    fn touched(game, before: &AnyState, action: Action) -> Vec<(usize, usize)> { game.touched(before.state(), action) }
    fn symmetries(game, state: &AnyState) -> &[Symmetry] { game.symmetries(state.state()) }
    fn map_action(game, symmetry: Symmetry, action: Action) -> Action { game.map_action(symmetry, action) }
    fn turning(game) -> Symmetry { game.turning() }
    fn map_state(game, symmetry: Symmetry, state: &AnyState) -> AnyState { AnyState::new(game.map_state(symmetry,
        state.state())) }
    fn exchanged(game, state: &AnyState) -> Option<AnyState> { game.exchanged(state.state()).map(AnyState::new) }
}
