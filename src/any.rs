//! A game without type parameters, for code that must not be generic: a web page, another language, a tool.
//!
//! [`open`] turns an id into a [`Position`]: a game in progress with its rules behind a trait object. Actions and
//! positions are strings, the board is a [`BoardView`], the planes are numbers. Every call is checked, so no user
//! input reaches unchecked rules. The hot loop stays generic; this is a few times slower.

use crate::encode::{Planes, Shape};
use crate::error::Result;
use crate::game::{Action, BoardView, Game, Outcome, Player, Rules};
use crate::options::Settings;
use crate::registry::{Job, Registry};
use crate::session::Session;

/// A game in progress: its start and the actions since.
pub trait Position: Send {
    /// The registry id of the game.
    fn id(&self) -> &str;
    /// Planes, height, width and actions.
    fn shape(&self) -> Shape;
    /// The names of the two players.
    fn players(&self) -> [&'static str; 2];
    /// Whose turn it is.
    fn to_move(&self) -> Player;
    /// The result if the game is over.
    fn outcome(&self) -> Option<Outcome>;
    /// The legal actions as texts, in the order of their indices; empty if the game is over.
    fn legal_actions(&self) -> Vec<String>;
    /// The legal actions as indices of the policy, in the same order.
    fn legal_indices(&self) -> Vec<u16>;
    /// Plays an action.
    ///
    /// # Errors
    /// If the text is not a legal action here; the position is then unchanged.
    fn play(&mut self, action: &str) -> Result<()>;
    /// Plays an action by its index in the policy.
    ///
    /// # Errors
    /// If it is not legal here; the position is then unchanged.
    fn play_index(&mut self, action: u16) -> Result<()>;
    /// Takes back the last action; false if there is none.
    fn undo(&mut self) -> bool;
    /// The actions played, as texts.
    fn actions(&self) -> Vec<String>;
    /// The position as text.
    fn state_text(&self) -> String;
    /// Starts again at a position.
    ///
    /// # Errors
    /// If the text is not a position of the game; nothing changes then.
    fn restart(&mut self, state: &str) -> Result<()>;
    /// The board, for display.
    fn view(&self) -> BoardView;
    /// The squares (row, column) of [`Position::view`] that the last action touched.
    fn touched(&self) -> Vec<(usize, usize)>;
    /// The network's input, `[planes, height, width]`, from the point of view of the player to move.
    fn planes(&self) -> Vec<f32>;
    /// An independent copy.
    fn boxed_clone(&self) -> Box<dyn Position>;
}

/// The start position of a game that `R` knows.
///
/// ```
/// use petteia::any::open;
/// use petteia::games::Games;
///
/// let mut position = open::<Games>("tic-tac-toe", &Default::default())?;
/// position.play("b2")?;
/// assert_eq!(position.state_text(), ".../.X./... O");
/// assert_eq!(position.legal_actions().len(), 8);
/// assert!(position.play("b2").is_err());
/// assert!(position.undo() && !position.undo());
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// If no game has this id, or the game rejects an option.
pub fn open<R: Registry>(id: &str, settings: &Settings) -> Result<Box<dyn Position>> {
    struct Open;
    impl Job for Open {
        type Output = Box<dyn Position>;
        fn run<G: Game>(self, rules: Rules<G>) -> Box<dyn Position> {
            Box::new(InProgress { id: rules.identity.id, session: Session::new(rules.game) })
        }
    }
    R::with_game(id, settings, Open)
}

#[derive(Clone)]
struct InProgress<G: Game> {
    id: String,
    session: Session<G>,
}

impl<G: Game> InProgress<G> {
    fn legal(&self) -> Vec<Action> {
        self.session.game().legal(self.session.state())
    }
}

impl<G: Game> Position for InProgress<G> {
    fn id(&self) -> &str {
        &self.id
    }

    fn shape(&self) -> Shape {
        self.session.game().shape()
    }

    fn players(&self) -> [&'static str; 2] {
        self.session.game().players()
    }

    fn to_move(&self) -> Player {
        self.session.game().to_move(self.session.state())
    }

    fn outcome(&self) -> Option<Outcome> {
        self.session.game().outcome(self.session.state())
    }

    fn legal_actions(&self) -> Vec<String> {
        let text = |action| self.session.game().action_text(self.session.state(), action);
        self.legal().into_iter().map(text).collect()
    }

    fn legal_indices(&self) -> Vec<u16> {
        self.legal().into_iter().map(|action| action.0).collect()
    }

    fn play(&mut self, action: &str) -> Result<()> {
        self.session.play_text(action).map(|_| ())
    }

    fn play_index(&mut self, action: u16) -> Result<()> {
        self.session.try_play(Action(action))
    }

    fn undo(&mut self) -> bool {
        self.session.undo()
    }

    fn actions(&self) -> Vec<String> {
        self.session.texts()
    }

    fn state_text(&self) -> String {
        self.session.game().state_text(self.session.state())
    }

    fn restart(&mut self, state: &str) -> Result<()> {
        let start = self.session.game().parse_state(state)?;
        self.session.restart(start);
        Ok(())
    }

    fn view(&self) -> BoardView {
        self.session.game().view(self.session.state())
    }

    fn touched(&self) -> Vec<(usize, usize)> {
        self.session.touched()
    }

    fn planes(&self) -> Vec<f32> {
        let mut planes = Planes::new(self.shape());
        self.session.game().encode(self.session.state(), &mut planes);
        let mut numbers = vec![0.0; self.shape().input_len()];
        planes.expand(&mut numbers);
        numbers
    }

    fn boxed_clone(&self) -> Box<dyn Position> {
        Box::new(self.clone())
    }
}
