//! The contract between the rules of a game and everything else.
//!
//! A [`Game`] is the rules of one variant as a value; its `State` is a position. Rules know nothing about search,
//! networks or files. Players need not alternate: ask [`Game::to_move`]. An [`Action`] is its own policy index, from
//! the point of view of the player to move (as the planes are), so the network's output needs no translation. Text
//! appears only at the edge.

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
    /// The other one.
    Second,
}

impl Player {
    /// The opponent.
    pub fn other(self) -> Player {
        match self {
            Player::First => Player::Second,
            Player::Second => Player::First,
        }
    }

    /// 0 for the first player, 1 for the second.
    pub fn index(self) -> usize {
        self as usize
    }

    /// `"first"` or `"second"`, as in records and JSON output.
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
    /// 1 if `player` won, -1 if the opponent did, 0 for a draw.
    pub fn value_for(self, player: Player) -> f32 {
        match self {
            Outcome::Win(winner) if winner == player => 1.0,
            Outcome::Win(_) => -1.0,
            Outcome::Draw => 0.0,
        }
    }

    /// The points of `player`: 1 for a win, ½ for a draw, 0 for a loss.
    pub fn score_for(self, player: Player) -> f32 {
        (self.value_for(player) + 1.0) / 2.0
    }

    /// The outcome with the players exchanged.
    pub fn opposite(self) -> Outcome {
        match self {
            Outcome::Win(player) => Outcome::Win(player.other()),
            Outcome::Draw => Outcome::Draw,
        }
    }

    /// `"first"`, `"second"` or `"draw"`, as in records and JSON output.
    pub fn id(self) -> &'static str {
        match self {
            Outcome::Win(player) => player.id(),
            Outcome::Draw => "draw",
        }
    }

    /// The inverse of [`Outcome::id`].
    pub fn from_id(text: &str) -> Option<Outcome> {
        [Outcome::Win(Player::First), Outcome::Win(Player::Second), Outcome::Draw]
            .into_iter()
            .find(|outcome| outcome.id() == text)
    }
}

/// An action: the index of its policy logit, `0..shape.actions`, from the point of view of the player to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Action(pub u16);

impl Action {
    /// The policy index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// All actions for which a network of this shape has a policy logit, ascending. There may be up to
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

    /// What the game is called and what its board looks like: the same in every position of this variant.
    fn about(&self) -> &About;
    /// Planes, height, width and actions.
    fn shape(&self) -> Shape;
    /// The maximum number of actions in a game.
    fn max_plies(&self) -> usize;
    /// The start position.
    fn initial(&self) -> Self::State;
    /// Who acts now; may stay the same after an action.
    fn to_move(&self, state: &Self::State) -> Player;
    /// Replaces the contents of `out`: ascending, empty exactly if the game is over.
    fn legal_actions(&self, state: &Self::State, out: &mut Vec<Action>);
    /// How many actions [`Game::legal_actions`] would list; games that can count faster override this.
    fn count_legal_actions(&self, state: &Self::State, scratch: &mut Vec<Action>) -> usize {
        self.legal_actions(state, scratch);
        scratch.len()
    }
    /// Plays a legal action (unchecked in release builds).
    fn play(&self, state: &mut Self::State, action: Action);
    /// The result if the game is over.
    fn outcome(&self, state: &Self::State) -> Option<Outcome>;
    /// The reason why the game is over in this final position, in a few words that fit after "games ended by": "four
    /// in a row", "a full board". Metrics count the games by reason; "" if the rules do not distinguish reasons.
    fn ending(&self, _state: &Self::State) -> &str {
        ""
    }
    /// Writes every plane, from the point of view of the player to move. States with the same planes have the same
    /// legal actions, unless one of them is final: everything that determines the actions is on a plane.
    fn encode(&self, state: &Self::State, planes: &mut Planes);
    /// A hash of everything that future play depends on, for evaluation caches and transpositions.
    ///
    /// Equal states have equal keys. States with the same key have the same player to move, planes, legal actions and
    /// outcome and, except for what is left out below, so do the states that the same actions lead to. Limits and
    /// repetitions would separate positions that do not differ otherwise, so each game says which of these it uses:
    ///
    /// - A counter that a limit will bind (plies since a capture, plies of the game) is part of the key as is. Lines
    ///   that transpose have the same length, so nothing is lost, and no cycle can arise.
    /// - A limit that is only a safety net is part of the key only from the ply where it comes near.
    /// - Of a list of earlier positions, only what the next few plies can run into is part of the key (how often this
    ///   position occurred, and the positions that end the game if they occur once more), since the whole list
    ///   differs whenever the order of the actions did.
    fn key(&self, state: &Self::State) -> u64;

    /// Plays an action if it is legal; otherwise leaves the state unchanged.
    fn try_play(&self, state: &mut Self::State, action: Action) -> Result<()> {
        let mut legal = Vec::new();
        self.legal_actions(state, &mut legal);
        if legal.binary_search(&action).is_err() {
            return Err(Error::Illegal(format!("action {} is not legal here", action.0)));
        }
        self.play(state, action);
        Ok(())
    }

    /// The legal actions in a new list.
    fn legal(&self, state: &Self::State) -> Vec<Action> {
        let mut legal = Vec::new();
        self.legal_actions(state, &mut legal);
        legal
    }

    // Words: the texts that people and programs write and read.

    /// Whether the rules let the players settle who plays which side (a swap rule, an offer), so that nobody has to
    /// propose it.
    fn has_offer(&self) -> bool {
        false
    }
    /// The options of this variant, in the order in which forms show them; a value that a form does not offer can
    /// still be typed.
    fn options(&self) -> Vec<GameOption> {
        Vec::new()
    }
    /// The rules of this variant for the people who play it, with examples; [`crate::manual`] describes the format.
    fn manual(&self) -> String {
        self.about().summary.to_string()
    }
    /// The rules of this variant in three lines, for people who want to begin at once; [`crate::manual::brief`] says what is
    /// on each.
    fn brief(&self) -> String {
        self.about().summary.to_string()
    }
    /// The action as text, in the board's own coordinates: at least one character and no spaces, because protocols and
    /// commands separate actions by them.
    fn action_text(&self, state: &Self::State, action: Action) -> String;
    /// A legal action in words, as on a button ("White begins"), if its text is a code that only readers of the rules
    /// know. For an action on one square, the words end in " on " and the name of the square.
    fn action_words(&self, _state: &Self::State, _action: Action) -> Option<String> {
        None
    }
    /// The inverse of [`Game::action_text`]; `None` for text that is not a legal action here.
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
    /// The reason why `text` is not a legal action here, for people: a few words without a final period; `None` if
    /// the rules can only say that it is not legal.
    fn why_illegal(&self, _state: &Self::State, _text: &str) -> Option<String> {
        None
    }
    /// The position as text, on one line: at least one word, with single spaces between words.
    fn state_text(&self, state: &Self::State) -> String;
    /// The inverse of [`Game::state_text`], up to [`Game::without_history`]; the error says what is wrong and where.
    fn parse_state(&self, text: &str) -> Result<Self::State>;
    /// The position as its text gives it: without the earlier positions that a repetition rule remembers.
    fn without_history(&self, state: &Self::State) -> Self::State {
        state.clone()
    }

    // Drawing.

    /// The position for display.
    fn view(&self, state: &Self::State) -> BoardView;
    /// The look of a text of [`Game::view`] in a drawing. By default `.` is an empty square, and the letters of a
    /// player are discs; if a player has several letters, the discs show them.
    fn look(&self, view: &BoardView, text: &str) -> Look {
        match view.pieces.iter().find(|letters| !text.is_empty() && letters.contains(text)) {
            Some(letters) if letters.chars().count() > 1 => Look::Piece(PieceShape::Letter),
            Some(_) => Look::Piece(PieceShape::Disc),
            None if ["", "."].contains(&text) => Look::Empty,
            None => Look::Text,
        }
    }
    /// The common name of a piece with this text of [`Game::view`], without its owner: "man". By default a piece is
    /// named after its shape in a drawing.
    fn piece_name(&self, _text: &str) -> Option<&str> {
        None
    }
    /// The squares `(row, column)` of [`Game::view`] with pieces that may not act in this situation, such as trapped
    /// ones; a drawing marks them.
    fn stuck(&self, _state: &Self::State) -> Vec<(usize, usize)> {
        Vec::new()
    }
    /// The squares `(row, column)` of [`Game::view`] that `action`, legal in `before`, touches: where a piece came
    /// from, where it went. Most of them look different afterward.
    fn touched(&self, before: &Self::State, action: Action) -> Vec<(usize, usize)>;

    // Symmetries.

    /// The symmetries of the rules at this position, the identity first.
    fn symmetries(&self, _state: &Self::State) -> &[Symmetry] {
        &[Symmetry::IDENTITY]
    }
    /// Maps an action by a symmetry (both from the point of view of the player to move).
    fn map_action(&self, _symmetry: Symmetry, action: Action) -> Action {
        action
    }
    /// The symmetry by which [`Game::encode`] and actions turn the board for the second player, compared with the
    /// first. It is its own inverse, and the identity if both see the same board. [`Game::map_action`] must accept
    /// it, even if it is not among the symmetries of the rules. It serves `net.reply_policy`, which shows a player
    /// the other one's actions, and [`crate::conformance::check`], which compares squares and texts of both players'
    /// actions.
    fn turning(&self) -> Symmetry {
        Symmetry::IDENTITY
    }
    /// Maps a position by a symmetry.
    fn map_state(&self, _symmetry: Symmetry, state: &Self::State) -> Self::State {
        state.clone()
    }

    /// The position with the two players exchanged, for [`crate::conformance::check`]. `None` if the rules treat the
    /// players differently here, or if no state can express it (where the number of stones says who is to move).
    ///
    /// Every piece, reserve and counter of one player becomes the other's, the other player is to move, and if the
    /// planes and actions of the second player are turned, the board is turned in the same way. Everything else stays,
    /// including counts of plies. The player to move then sees what the player to move saw before:
    ///
    /// - the legal actions are the same numbers, and playing one of them leads to the exchanged position of what it
    ///   led to;
    /// - the planes are the same, except those that only say who is to move (everywhere one number if it is the first
    ///   player, another if it is the second);
    /// - the squares that an action touches, and those that its text names, are those of the board turned by
    ///   [`Game::turning`];
    /// - the outcome is the opposite one, and the key is another one;
    /// - exchanged again, it is the same position as at the start.
    ///
    /// It need not be a position of a real game, nor one whose text can be parsed.
    fn exchanged(&self, _state: &Self::State) -> Option<Self::State> {
        None
    }
}

/// The variants of a game written in Rust: how an id and options become its rules. [`games!`](crate::games!) registers
/// games by it; a game that is made in another way, as from a [text](crate::text_game), does not need it.
pub trait Variants: Game {
    /// The id of the plain game, lowercase with hyphens, as in [`About::name`].
    const NAME: &'static str;
    /// The variants, default first; the id is `NAME` for `""`, otherwise `NAME-variant`.
    const VARIANTS: &'static [&'static str] = &[""];

    /// The rules for these options.
    ///
    /// # Errors
    /// If a variant, an option or a value is unknown; the message lists the known ones.
    fn new(options: &GameOptions) -> Result<Self>;
}

/// The outcome as text: who won, or that it is a draw.
pub fn outcome_text<G: Game>(game: &G, outcome: Outcome) -> String {
    match outcome {
        Outcome::Win(winner) => format!("{} wins", game.about().player(winner)),
        Outcome::Draw => "a draw".into(),
    }
}

/// A sequence of actions as text.
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
