//! A game with the maximum number of actions, all of them legal at once, for testing that limit.
//!
//! Each game lasts two actions. The first may be any action; the second is one of the first 16 or of the last 16. The
//! player who begins wins if the second action is below the middle. Planes: the number of actions played.

use petteia::board::Symmetry;
use petteia::encode::{MAX_ACTIONS, Planes};
use petteia::error::{Error, Result};
use petteia::game::{About, Action, BoardView, Game, GameOptions, Outcome, Player, Shape, Variants};

const HEIGHT: usize = 8;
const WIDTH: usize = 16;
const CELLS: usize = HEIGHT * WIDTH;

#[derive(Clone)]
pub struct Wide {
    pub actions: usize,
}

/// The actions played, and whether the last one was below the middle.
pub type State = (u8, bool);

static ABOUT: About = About::new(Wide::NAME, ["One", "Two"]).title("Wide").author("tests").drawless();

impl Variants for Wide {
    const NAME: &'static str = "wide";

    fn new(_options: &GameOptions) -> Result<Self> {
        Ok(Wide { actions: MAX_ACTIONS })
    }
}

impl Game for Wide {
    type State = State;

    fn about(&self) -> &About {
        &ABOUT
    }

    fn shape(&self) -> Shape {
        Shape { planes: 1, height: HEIGHT, width: WIDTH, actions: self.actions }
    }
    fn max_plies(&self) -> usize {
        2
    }
    fn initial(&self) -> State {
        (0, false)
    }
    fn to_move(&self, (plies, _): &State) -> Player {
        [Player::First, Player::Second][usize::from(plies % 2)]
    }
    fn legal_actions(&self, (plies, _): &State, out: &mut Vec<Action>) {
        out.clear();
        match plies {
            0 => out.extend(Action::all(self.shape())),
            1 => {
                let ends = [0..WIDTH, self.actions - WIDTH..self.actions];
                out.extend(ends.into_iter().flatten().map(|index| Action(index as u16)));
            }
            _ => {}
        }
    }
    fn play(&self, state: &mut State, action: Action) {
        *state = (state.0 + 1, action.index() < self.actions / 2);
    }
    fn outcome(&self, (plies, below): &State) -> Option<Outcome> {
        let winner = if *below { Player::First } else { Player::Second };
        (*plies == 2).then_some(Outcome::Win(winner))
    }
    fn encode(&self, (plies, _): &State, planes: &mut Planes) {
        planes.fill(0, f32::from(*plies));
    }
    fn key(&self, (plies, below): &State) -> u64 {
        // only the final result depends on where the last action was
        u64::from(*plies) << 1 | u64::from(*plies == 2 && *below)
    }
    fn action_text(&self, _state: &State, action: Action) -> String {
        action.0.to_string()
    }
    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        let action = Action(text.parse().ok().filter(|number: &u16| number.to_string() == text)?);
        self.try_play(&mut state.clone(), action).ok().map(|()| action)
    }
    fn state_text(&self, (plies, below): &State) -> String {
        format!("{plies} {}", if *below { "below" } else { "above" })
    }
    fn parse_state(&self, text: &str) -> Result<State> {
        let known = (0..=2).flat_map(|plies| [(plies, false), (plies, true)]);
        let state = known.into_iter().find(|state| self.state_text(state) == text && *state != (0, true));
        state.ok_or_else(|| Error::position(&ABOUT.title, text, "unknown", "write it like `1 above`"))
    }
    fn view(&self, state: &State) -> BoardView {
        let cell = |_| ".".to_string();
        BoardView::of_squares(HEIGHT, WIDTH, ["", ""], cell, self.state_text(state))
    }
    fn touched(&self, _before: &State, _action: Action) -> Vec<(usize, usize)> {
        Vec::new()
    }
    fn symmetries(&self, _state: &State) -> &[Symmetry] {
        &Symmetry::COLUMN_MIRROR
    }
    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        let (plane, square) = (action.index() / CELLS, action.index() % CELLS);
        Action((plane * CELLS + symmetry.square(square, HEIGHT, WIDTH)) as u16)
    }
    // the default implementation would list all actions for each one of them
    fn try_play(&self, state: &mut State, action: Action) -> Result<()> {
        let index = action.index();
        let legal = match state.0 {
            0 => index < self.actions,
            1 => index < WIDTH || (self.actions - WIDTH..self.actions).contains(&index),
            _ => false,
        };
        if !legal {
            return Err(Error::Illegal("no such action".into()));
        }
        self.play(state, action);
        Ok(())
    }
}
