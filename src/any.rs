//! A game without type parameters, for whoever must not be generic: a web page, another language, a tool.
//!
//! [`open`] goes from an id to a [`Position`]: a game in progress with its rules behind a trait object. Actions and
//! positions are texts, the board is a [`BoardView`], the planes are numbers. Every call is checked, so nothing that a
//! user types reaches unchecked rules. The hot loop stays generic; this is a few times slower.

use crate::encode::{Planes, Shape};
use crate::error::Result;
use crate::game::{Action, BoardView, Game, Outcome, Player, Rules};
use crate::options::Settings;
use crate::registry::{Job, Registry};
use crate::session::Session;

/// A game in progress: where it began and what was played since.
pub trait Position: Send {
    /// The registry id of the game.
    fn id(&self) -> &str;
    /// Planes, height, width and actions.
    fn shape(&self) -> Shape;
    /// What the two players are called.
    fn players(&self) -> [&'static str; 2];
    /// Whose turn it is.
    fn to_move(&self) -> Player;
    /// The result when the game is over.
    fn outcome(&self) -> Option<Outcome>;
    /// The legal actions as texts, in the order of their indices; empty when the game is over.
    fn legal_actions(&self) -> Vec<String>;
    /// The legal actions as indices of the policy, in the same order.
    fn legal_indices(&self) -> Vec<u16>;
    /// Plays an action.
    ///
    /// # Errors
    /// When the text is not a legal action here; the position stays as it was.
    fn play(&mut self, action: &str) -> Result<()>;
    /// Plays an action by its index in the policy.
    ///
    /// # Errors
    /// When it is not legal here; the position stays as it was.
    fn play_index(&mut self, action: u16) -> Result<()>;
    /// Takes the last action back; false when there is none.
    fn undo(&mut self) -> bool;
    /// What was played, as texts.
    fn actions(&self) -> Vec<String>;
    /// The position as text.
    fn state_text(&self) -> String;
    /// Begins again at a position.
    ///
    /// # Errors
    /// When the text is not a position of the game; nothing changes then.
    fn restart(&mut self, state: &str) -> Result<()>;
    /// The board, for people.
    fn view(&self) -> BoardView;
    /// The squares (row, column) of [`Position::view`] that the last action touched.
    fn touched(&self) -> Vec<(usize, usize)>;
    /// What a network sees, `[planes, height, width]`, by the player to move.
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
/// When no game has this id, or when the game refuses an option.
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
