//! The contract between the rules of a game and everything else.
//!
//! A [`Game`] is the rules of one variant as a value; its `State` is a position. Rules know nothing about search,
//! networks, or files. Players need not alternate: ask [`Game::to_move`]. An [`Action`] is its own policy index.
//! Actions and planes are from the point of view of the player to move, so the network's output needs no translation.
//! Text is used only for input and output.

mod identity;
mod perft;
mod view;

use std::fmt::Debug;

pub use self::identity::{About, GameIdentity, Rules, id_of, ids_of, option_differences};
pub(crate) use self::identity::{is_id, short_text_name, text_name};
pub use self::perft::{perft, perft_played};
pub use self::view::{BoardStyle, BoardView, Look, PieceShape};
use crate::board::Symmetry;
pub use crate::encode::Shape;
use crate::encode::{MAX_ACTIONS, Planes};
use crate::error::{Error, Result};
pub use crate::options::{GameOption, GameOptions, Settings};

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Player {
    /// The player who acts first from the initial position.
    First,
    /// The other player.
    Second,
}

impl Player {
    /// Returns the opponent.
    pub fn other(self) -> Player {
        match self {
            Player::First => Player::Second,
            Player::Second => Player::First,
        }
    }

    /// Returns 0 for the first player and 1 for the second.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns `"first"` or `"second"`, as in records and JSON output.
    pub fn id(self) -> &'static str {
        ["first", "second"][self.index()]
    }
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// This player won.
    Win(Player),
    /// Nobody won.
    Draw,
}

impl Outcome {
    /// Returns 1 if `player` won, -1 if the opponent did, and 0 for a draw.
    pub fn value_for(self, player: Player) -> f32 {
        match self {
            Outcome::Win(winner) if winner == player => 1.0,
            Outcome::Win(_) => -1.0,
            Outcome::Draw => 0.0,
        }
    }

    /// Returns the points of `player`: 1 for a win, ½ for a draw, and 0 for a loss.
    pub fn score_for(self, player: Player) -> f32 {
        (self.value_for(player) + 1.0) / 2.0
    }

    /// Returns the outcome with the players exchanged.
    pub fn opposite(self) -> Outcome {
        match self {
            Outcome::Win(player) => Outcome::Win(player.other()),
            Outcome::Draw => Outcome::Draw,
        }
    }

    /// Returns `"first"`, `"second"`, or `"draw"`, as in records and JSON output.
    pub fn id(self) -> &'static str {
        match self {
            Outcome::Win(player) => player.id(),
            Outcome::Draw => "draw",
        }
    }

    /// Returns the outcome with this [`Outcome::id`].
    pub fn from_id(text: &str) -> Option<Outcome> {
        [Outcome::Win(Player::First), Outcome::Win(Player::Second), Outcome::Draw]
            .into_iter()
            .find(|outcome| outcome.id() == text)
    }
}

/// An action: the index of its policy logit, `0..shape.actions`, from the point of view of the player to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Action(pub u16);

impl Action {
    /// Returns the policy index of the action.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns all actions for which a network of this shape has a policy logit, in ascending order. There may be up to
    /// [`MAX_ACTIONS`] of them; that number itself is not an action.
    pub fn all(shape: Shape) -> impl Iterator<Item = Action> {
        (0..shape.actions.min(MAX_ACTIONS)).map(|index| Action(index as u16))
    }
}

/// The rules of one variant of a game, as a value.
///
/// Code that works with any game takes the rules and a position:
///
/// ```
/// use petteia::game::{Game, Outcome};
/// use petteia::games::{connect_four::ConnectFour, tic_tac_toe::TicTacToe};
///
/// /// Whether the player to move wins with a single action.
/// fn wins_at_once<G: Game>(game: &G, state: &G::State) -> bool {
///     let won = Some(Outcome::Win(game.to_move(state)));
///     game.legal(state).into_iter().any(|action| {
///         let mut next = state.clone();
///         game.play(&mut next, action);
///         game.outcome(&next) == won
///     })
/// }
///
/// assert!(wins_at_once(&TicTacToe, &TicTacToe.parse_state("XX./OO./... X")?));
/// assert!(!wins_at_once(&ConnectFour, &ConnectFour.parse_state("4455")?));
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub trait Game: Clone + Send + Sync + 'static {
    /// A position: small, cheap to clone, without heap allocations.
    type State: Clone + Eq + Debug + Send + Sync;

    /// Returns what the game is called and what its board looks like. It is the same in every position of this variant.
    fn about(&self) -> &About;
    /// Returns the numbers of planes, rows, columns, and actions.
    fn shape(&self) -> Shape;
    /// Returns the maximum number of actions in a game.
    fn max_plies(&self) -> usize;
    /// Returns the start position.
    fn initial(&self) -> Self::State;
    /// Returns the player to move; this may be the same player after an action.
    fn to_move(&self, state: &Self::State) -> Player;
    /// Replaces the contents of `out` with the legal actions in ascending order. The list is empty if and only if the
    /// game is over.
    fn legal_actions(&self, state: &Self::State, out: &mut Vec<Action>);
    /// Returns how many actions [`Game::legal_actions`] would list. Games that can count faster override this.
    fn count_legal_actions(&self, state: &Self::State, scratch: &mut Vec<Action>) -> usize {
        self.legal_actions(state, scratch);
        scratch.len()
    }
    /// Plays a legal action (unchecked in release builds).
    fn play(&self, state: &mut Self::State, action: Action);
    /// Returns the outcome if the game is over.
    fn outcome(&self, state: &Self::State) -> Option<Outcome>;
    /// Returns the reason why the game is over in this final position, in a few words that fit after "games ended by":
    /// "four in a row", "a full board". Metrics count the games by reason. Returns "" if the rules do not distinguish
    /// reasons.
    fn ending(&self, _state: &Self::State) -> &str {
        ""
    }
    /// Writes every plane, from the point of view of the player to move. States with the same planes have the same
    /// legal actions, unless one of them is final: everything that determines the actions must be on a plane.
    fn encode(&self, state: &Self::State, planes: &mut Planes);
    /// Returns a hash of everything that future play depends on, for evaluation caches and transpositions.
    ///
    /// Equal states have equal keys. States with the same key have the same player to move, planes, legal actions, and
    /// outcome. The same is true of the states that the same actions lead to, except for what the key leaves out as
    /// described below. Limits and repetitions would separate positions that are otherwise the same, so each game
    /// states which of these rules it follows:
    ///
    /// - A counter whose limit ends real games (plies since a capture, plies of the game) is part of the key. Lines
    ///   that transpose have the same length, so nothing is lost, and no cycle can arise.
    /// - The counter of a limit that is only a safety net is part of the key only when the limit is near.
    /// - A list of earlier positions is not part of the key as a whole, because it differs whenever the order of the
    ///   actions differed. The key has only what can matter in the next few plies: how often this position occurred,
    ///   and the positions that end the game if they occur once more.
    fn key(&self, state: &Self::State) -> u64;

    /// Plays an action if it is legal; otherwise leaves the state unchanged.
    ///
    /// # Errors
    /// If the action is not legal.
    fn try_play(&self, state: &mut Self::State, action: Action) -> Result<()> {
        let mut legal = Vec::new();
        self.legal_actions(state, &mut legal);
        if legal.binary_search(&action).is_err() {
            return Err(Error::Illegal(format!("action {} is not legal here", action.0)));
        }
        self.play(state, action);
        Ok(())
    }

    /// Returns the legal actions in a new list.
    fn legal(&self, state: &Self::State) -> Vec<Action> {
        let mut legal = Vec::new();
        self.legal_actions(state, &mut legal);
        legal
    }

    // Text: what people and programs write and read.

    /// Returns whether the rules themselves let the players settle who plays which side, by a swap rule or an offer. If
    /// so, programs need not propose a swap.
    fn has_offer(&self) -> bool {
        false
    }
    /// Returns the options of this variant, in the order in which forms show them. Values that a form does not offer
    /// can still be typed.
    fn options(&self) -> Vec<GameOption> {
        Vec::new()
    }
    /// Returns the rules of this variant for the people who play it, with examples; [`crate::manual`] describes the
    /// format.
    fn manual(&self) -> String {
        self.about().summary.to_string()
    }
    /// Returns the rules of this variant in three lines, for people who want to begin at once; [`crate::manual::brief`]
    /// says what each line is for.
    fn brief(&self) -> String {
        self.about().summary.to_string()
    }
    /// Returns the action as text, in the board's own coordinates. The text has at least one character and no spaces,
    /// because protocols and commands separate actions by spaces.
    fn action_text(&self, state: &Self::State, action: Action) -> String;
    /// Returns a legal action in words, as on a button ("White begins"), if its text is a code that only people who
    /// have read the rules understand. For an action on one square, the words end with " on " and the name of the
    /// square.
    fn action_words(&self, _state: &Self::State, _action: Action) -> Option<String> {
        None
    }
    /// Returns the action with this [`Game::action_text`]; `None` if the text is not a legal action here.
    ///
    /// ```
    /// use petteia::game::Game;
    /// use petteia::games::tic_tac_toe::TicTacToe;
    ///
    /// let state = TicTacToe.parse_state(".../.X./... O")?;
    /// let action = TicTacToe.parse_action(&state, "a1").expect("an empty square");
    /// assert_eq!(TicTacToe.action_text(&state, action), "a1");
    /// assert_eq!(TicTacToe.parse_action(&state, "b2"), None);
    /// assert_eq!(TicTacToe.why_illegal(&state, "b2").as_deref(), Some("b2 is taken"));
    /// # Ok::<(), petteia::error::Error>(())
    /// ```
    fn parse_action(&self, state: &Self::State, text: &str) -> Option<Action>;
    /// Returns the reason why `text` is not a legal action here, for people: a few words without a final period.
    /// Returns `None` if the rules can only say that the action is not legal.
    fn why_illegal(&self, _state: &Self::State, _text: &str) -> Option<String> {
        None
    }
    /// Returns the position as text: one line of at least one word, with single spaces between words.
    fn state_text(&self, state: &Self::State) -> String;
    /// Returns the position with this [`Game::state_text`], without history, as [`Game::without_history`] returns it.
    ///
    /// # Errors
    /// If `text` is not a position; the error says what is wrong and where.
    fn parse_state(&self, text: &str) -> Result<Self::State>;
    /// Returns the position as its text describes it: without the earlier positions that a repetition rule remembers.
    fn without_history(&self, state: &Self::State) -> Self::State {
        state.clone()
    }

    // Drawing.

    /// Returns the position for display.
    fn view(&self, state: &Self::State) -> BoardView;
    /// Returns how a text of [`Game::view`] looks in a drawing. By default, `.` is an empty square and the letters of a
    /// player are discs; if a player has several letters, the discs show them.
    fn look(&self, view: &BoardView, text: &str) -> Look {
        match view.pieces.iter().find(|letters| !text.is_empty() && letters.contains(text)) {
            Some(letters) if letters.chars().count() > 1 => Look::Piece(PieceShape::Letter),
            Some(_) => Look::Piece(PieceShape::Disc),
            None if ["", "."].contains(&text) => Look::Empty,
            None => Look::Text,
        }
    }
    /// Returns the common name of a piece with this text of [`Game::view`], without its owner: "man". By default, a
    /// piece is named after its shape in a drawing.
    fn piece_name(&self, _text: &str) -> Option<&str> {
        None
    }
    /// Returns the squares `(row, column)` of [`Game::view`] with pieces that may not act in this position, such as
    /// trapped ones; a drawing marks them.
    fn stuck(&self, _state: &Self::State) -> Vec<(usize, usize)> {
        Vec::new()
    }
    /// Returns the squares `(row, column)` of [`Game::view`] that `action`, legal in `before`, touches, such as where a
    /// piece came from and where it went. Most of them look different afterward.
    fn touched(&self, before: &Self::State, action: Action) -> Vec<(usize, usize)>;

    // Symmetries.

    /// Returns the symmetries of the rules at this position, the identity first.
    fn symmetries(&self, _state: &Self::State) -> &[Symmetry] {
        &[Symmetry::IDENTITY]
    }
    /// Maps an action by a symmetry (both from the point of view of the player to move).
    fn map_action(&self, _symmetry: Symmetry, action: Action) -> Action {
        action
    }
    /// Returns the symmetry that [`Game::encode`] and actions apply to the board for the second player, relative to the
    /// first. The symmetry is its own inverse, and it is the identity if both players see the same board.
    /// [`Game::map_action`] must accept it, even if it is not among the symmetries of the rules. `turning` is used by
    /// `net.reply_policy`, which shows a player the other player's actions, and by [`crate::conformance::check`], which
    /// compares the squares and texts of both players' actions.
    fn turning(&self) -> Symmetry {
        Symmetry::IDENTITY
    }
    /// Maps a position by a symmetry.
    fn map_state(&self, _symmetry: Symmetry, state: &Self::State) -> Self::State {
        state.clone()
    }

    /// Returns the position with the two players exchanged, for [`crate::conformance::check`]. Returns `None` if the
    /// rules treat the players differently here, or if no state can express the exchange (for example, if the number
    /// of stones determines who is to move).
    ///
    /// Every piece, reserve, and counter of one player becomes the other's, and the other player is to move. If the
    /// planes and actions of the second player are turned, the board is turned in the same way. Everything else stays,
    /// including counts of plies. The player to move then sees what the opponent saw before the exchange:
    ///
    /// - the legal actions have the same numbers, and playing one of them leads to the exchanged form of the position
    ///   that it led to before;
    /// - the planes are the same, except for planes that only say who is to move (filled with one number for the first
    ///   player and with another for the second);
    /// - the squares that an action touches and those that its text names are the same squares on the board turned by
    ///   [`Game::turning`];
    /// - the outcome is the opposite, and the key is different;
    /// - exchanging the players again gives the original position.
    ///
    /// The result need not be a position of a real game or one whose text can be parsed.
    fn exchanged(&self, _state: &Self::State) -> Option<Self::State> {
        None
    }
}

/// The variants of a game written in Rust, and how its rules are made from an id and options. [`games!`](crate::games!)
/// uses this trait to register games. A game that is made in another way, such as from a [text](crate::text_game), does
/// not need it.
pub trait Variants: Game {
    /// The id of the plain game, lowercase with hyphens, as in [`About::name`].
    const NAME: &'static str;
    /// The variants, the default first. The id is `NAME` for the variant `""` and `NAME-variant` for the others.
    const VARIANTS: &'static [&'static str] = &[""];

    /// Returns the rules for these options.
    ///
    /// # Errors
    /// If a variant, an option or a value is unknown; the message lists the known ones.
    fn new(options: &GameOptions) -> Result<Self>;
}

/// Returns the outcome as text: who won, or that it is a draw.
pub fn outcome_text<G: Game>(game: &G, outcome: Outcome) -> String {
    match outcome {
        Outcome::Win(winner) => format!("{} wins", game.about().player(winner)),
        Outcome::Draw => "a draw".into(),
    }
}

/// Returns a sequence of actions as text.
pub fn line_text<G: Game>(game: &G, state: &G::State, line: &[Action]) -> Vec<String> {
    let mut state = state.clone();
    line.iter()
        .map(|&action| {
            let text = game.action_text(&state, action);
            game.play(&mut state, action);
            text
        })
        .collect()
}
