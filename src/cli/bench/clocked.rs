//! A game that measures the time spent in its rules: calls that the search makes while it runs are timed, all others
//! are passed through.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::board::Symmetry;
use crate::encode::Planes;
use crate::error::Result;
use crate::game::{Action, BoardView, Game, GameOptions, Outcome, Player, Shape};

thread_local! {
    /// This thread's time in the rules, including the clock's own time, and the number of timed calls.
    static SPENT: Cell<(Duration, u32)> = const { Cell::new((Duration::ZERO, 0)) };
}

/// A game whose rules are timed; see the module.
#[derive(Clone)]
pub struct Clocked<G>(G);

/// Seconds of the current thread.
#[derive(Clone, Copy)]
pub struct Clock {
    /// Time in the rules.
    pub rules: f64,
    /// Time spent reading the clock.
    pub reading: f64,
}

impl Clock {
    /// The seconds since `earlier`.
    pub fn since(self, earlier: Clock) -> Clock {
        Clock { rules: self.rules - earlier.rules, reading: self.reading - earlier.reading }
    }
}

impl<G: Game> Clocked<G> {
    /// A game with a clock.
    pub fn new(game: G) -> Clocked<G> {
        Clocked(game)
    }

    /// The time that this thread has spent so far.
    pub fn read() -> Clock {
        // the time of two readings of the clock, about half of which lies between them
        const TIMES: u32 = 10_000;
        let start = Instant::now();
        (0..TIMES).for_each(|_| {
            std::hint::black_box(Instant::now().elapsed());
        });
        let pair = start.elapsed().as_secs_f64() / f64::from(TIMES);
        let (spent, calls) = SPENT.get();
        let reading = pair * f64::from(calls);
        Clock { rules: (spent.as_secs_f64() - reading / 2.0).max(0.0), reading }
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    let (spent, calls) = SPENT.get();
    SPENT.set((spent + start.elapsed(), calls + 1));
    done
}

impl<G: Game> Game for Clocked<G> {
    type State = G::State;

    const NAME: &'static str = G::NAME;
    const TITLE: &'static str = G::TITLE;
    const AUTHOR: &'static str = G::AUTHOR;
    const PLAYERS: [&'static str; 2] = G::PLAYERS;
    const OPTIONS: &'static [(&'static str, &'static str)] = G::OPTIONS;
    const DRAWLESS: bool = G::DRAWLESS;
    const VARIANTS: &'static [&'static str] = G::VARIANTS;
    const ENCODING: u32 = G::ENCODING;

    fn new(options: &GameOptions) -> Result<Self> {
        G::new(options).map(Clocked)
    }

    fn players(&self) -> [&'static str; 2] {
        self.0.players()
    }

    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn max_plies(&self) -> usize {
        self.0.max_plies()
    }

    fn initial(&self) -> G::State {
        self.0.initial()
    }

    fn to_move(&self, state: &G::State) -> Player {
        self.0.to_move(state)
    }

    fn legal_actions(&self, state: &G::State, out: &mut Vec<Action>) {
        timed(|| self.0.legal_actions(state, out));
    }

    fn play(&self, state: &mut G::State, action: Action) {
        timed(|| self.0.play(state, action));
    }

    fn outcome(&self, state: &G::State) -> Option<Outcome> {
        timed(|| self.0.outcome(state))
    }

    fn encode(&self, state: &G::State, planes: &mut Planes) {
        self.0.encode(state, planes);
    }

    fn key(&self, state: &G::State) -> u64 {
        self.0.key(state)
    }

    fn action_text(&self, state: &G::State, action: Action) -> String {
        self.0.action_text(state, action)
    }

    fn parse_action(&self, state: &G::State, text: &str) -> Option<Action> {
        self.0.parse_action(state, text)
    }

    fn state_text(&self, state: &G::State) -> String {
        self.0.state_text(state)
    }

    fn parse_state(&self, text: &str) -> Result<G::State> {
        self.0.parse_state(text)
    }

    fn view(&self, state: &G::State) -> BoardView {
        self.0.view(state)
    }

    fn touched(&self, before: &G::State, action: Action) -> Vec<(usize, usize)> {
        self.0.touched(before, action)
    }

    fn symmetries(&self, state: &G::State) -> &'static [Symmetry] {
        self.0.symmetries(state)
    }

    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        self.0.map_action(symmetry, action)
    }

    fn map_state(&self, symmetry: Symmetry, state: &G::State) -> G::State {
        self.0.map_state(symmetry, state)
    }
}
