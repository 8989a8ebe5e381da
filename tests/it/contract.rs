//! Every game of the registry keeps the contract; a game that breaks it is found out; parsers never panic.

use petteia::board::Symmetry;
use petteia::conformance::{Statistics, Violation, check};
use petteia::encode::Planes;
use petteia::error::{Error, Result};
use petteia::game::{Action, BoardView, Game, GameOptions, Outcome, Player, Rules, Settings, Shape};
use petteia::games::Games;
use petteia::games::tic_tac_toe::{State, TicTacToe};
use petteia::registry::{Job, Registry};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

const GAMES: usize = 200;
const SEED: u64 = 1;

struct Conformance;

impl Job for Conformance {
    type Output = Result<Statistics, Violation>;

    fn run<G: Game>(self, rules: Rules<G>) -> Self::Output {
        let game = &rules.game;
        check(game, GAMES, SEED)
    }
}

#[test]
fn every_game_keeps_the_contract() {
    Games::ids().par_iter().for_each(|id| {
        let report = Games::with_game(id, &Settings::new(), Conformance).unwrap();
        let report = report.unwrap_or_else(|violation| panic!("{id}: {violation}"));
        assert_eq!((report.games, report.outcomes.iter().sum()), (GAMES, GAMES), "{id}");
        assert!(report.shortest > 0 && report.mean_branching() > 1.0, "{id}: {report}");
    });
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let run = || Games::with_game("tic-tac-toe", &Settings::new(), Conformance).unwrap().unwrap();
    assert_eq!(run(), run());
    assert!(run().to_string().starts_with("200 games, "), "{}", run());
}

#[test]
fn unknown_options_are_refused_by_every_game() {
    let settings = Settings::from([("no-such-option".to_string(), toml::Value::Integer(1))]);
    for id in Games::ids() {
        let refusal = Games::with_game(&id, &settings, Conformance).expect_err(&id);
        assert!(refusal.to_string().contains("no-such-option"), "{id}: {refusal}");
    }
}

/// What [`Faulty`] does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    UnsortedActions,
    RepeatedAction,
    ActionOutOfRange,
    StaleList,
    PlaysOn,
    Miscounts,
    HistoryStays,
    TooLong,
    ForgottenPlane,
    InfinitePlane,
    SideBlindPlanes,
    NoIdentity,
    UnmappedActions,
    UnmappedState,
    KeyIgnoresNoughts,
    SharedActionText,
    ActionTextNotParsed,
    ForgetfulPositionText,
    TwoLineText,
    PlaysIllegal,
    ChangesWhenRefusing,
    MissingLabel,
    TouchesNowhere,
}

/// Tic-tac-toe with one fault.
#[derive(Clone)]
struct Faulty(Fault);

const INNER: TicTacToe = TicTacToe;

impl Game for Faulty {
    type State = State;

    const NAME: &'static str = TicTacToe::NAME;
    const TITLE: &'static str = TicTacToe::TITLE;
    const AUTHOR: &'static str = TicTacToe::AUTHOR;
    const PLAYERS: [&'static str; 2] = TicTacToe::PLAYERS;
    const VARIANTS: &'static [&'static str] = TicTacToe::VARIANTS;
    const ENCODING: u32 = TicTacToe::ENCODING;

    fn new(_options: &GameOptions) -> Result<Self> {
        Ok(Faulty(Fault::None))
    }
    fn shape(&self) -> Shape {
        let inner = INNER.shape();
        Shape { actions: if self.0 == Fault::ActionOutOfRange { 8 } else { 9 }, ..inner }
    }
    fn max_plies(&self) -> usize {
        if self.0 == Fault::TooLong { 6 } else { 9 }
    }
    fn initial(&self) -> State {
        INNER.initial()
    }
    fn to_move(&self, state: &State) -> Player {
        INNER.to_move(state)
    }
    fn legal_actions(&self, state: &State, out: &mut Vec<Action>) {
        let mut legal = INNER.legal(state);
        match self.0 {
            Fault::UnsortedActions => legal.reverse(),
            Fault::RepeatedAction => legal.extend(legal.last().copied()),
            Fault::PlaysOn if legal.is_empty() => legal.push(Action(0)),
            _ => {}
        }
        if self.0 != Fault::StaleList {
            out.clear();
        }
        out.extend(legal);
    }
    fn count_legal_actions(&self, state: &State, scratch: &mut Vec<Action>) -> usize {
        self.legal_actions(state, scratch);
        scratch.len() + (self.0 == Fault::Miscounts && scratch.len() == 3) as usize
    }
    fn without_history(&self, state: &State) -> State {
        if self.0 == Fault::HistoryStays { INNER.initial() } else { *state }
    }
    fn play(&self, state: &mut State, action: Action) {
        INNER.play(state, action);
    }
    fn outcome(&self, state: &State) -> Option<Outcome> {
        INNER.outcome(state)
    }
    fn encode(&self, state: &State, planes: &mut Planes) {
        let mut whole = Planes::new(INNER.shape());
        INNER.encode(state, &mut whole);
        match self.0 {
            Fault::ForgottenPlane => planes.set_bits(0, 1),
            Fault::InfinitePlane => {
                planes.set_bits(0, 1);
                planes.fill(1, f32::INFINITY);
            }
            Fault::SideBlindPlanes => {
                planes.set_bits(0, 0b1);
                planes.set_bits(1, 0b10);
            }
            _ => *planes = whole,
        }
    }
    fn key(&self, state: &State) -> u64 {
        match self.0 {
            Fault::KeyIgnoresNoughts => {
                INNER.state_text(state).bytes().fold(0, |key, c| key << 1 | (c == b'X') as u64)
            }
            _ => INNER.key(state),
        }
    }
    fn action_text(&self, state: &State, action: Action) -> String {
        match self.0 {
            Fault::SharedActionText => "a1".into(),
            _ => INNER.action_text(state, action),
        }
    }
    fn parse_action(&self, state: &State, text: &str) -> Option<Action> {
        match self.0 {
            Fault::ActionTextNotParsed => None,
            Fault::SharedActionText => INNER.legal(state).first().copied(),
            _ => INNER.parse_action(state, text),
        }
    }
    fn state_text(&self, state: &State) -> String {
        let text = INNER.state_text(state);
        if self.0 == Fault::TwoLineText { text.replace(' ', "\n") } else { text }
    }
    fn parse_state(&self, text: &str) -> Result<State> {
        match self.0 {
            Fault::ForgetfulPositionText => Ok(INNER.initial()),
            _ => INNER.parse_state(text),
        }
    }
    fn view(&self, state: &State) -> BoardView {
        let mut view = INNER.view(state);
        if self.0 == Fault::MissingLabel {
            view.columns.pop();
        }
        view
    }
    fn touched(&self, before: &State, action: Action) -> Vec<(usize, usize)> {
        if self.0 == Fault::TouchesNowhere { vec![(3, 0)] } else { INNER.touched(before, action) }
    }
    fn symmetries(&self, state: &State) -> &'static [Symmetry] {
        let all = INNER.symmetries(state);
        if self.0 == Fault::NoIdentity { &all[1..] } else { all }
    }
    fn map_action(&self, symmetry: Symmetry, action: Action) -> Action {
        if self.0 == Fault::UnmappedActions { action } else { INNER.map_action(symmetry, action) }
    }
    fn map_state(&self, symmetry: Symmetry, state: &State) -> State {
        if self.0 == Fault::UnmappedState { *state } else { INNER.map_state(symmetry, state) }
    }
    fn try_play(&self, state: &mut State, action: Action) -> Result<()> {
        let refused = INNER.try_play(state, action);
        let Some(first) = INNER.legal(state).first().copied().filter(|_| refused.is_err()) else {
            return refused;
        };
        match self.0 {
            Fault::PlaysIllegal => Ok(()),
            Fault::ChangesWhenRefusing => {
                INNER.play(state, first);
                Err(Error::Illegal("changed all the same".into()))
            }
            _ => refused,
        }
    }
}

#[test]
fn every_fault_is_found_and_named() {
    assert!(check(&Faulty(Fault::None), GAMES, SEED).is_ok());
    let faults = [
        (Fault::UnsortedActions, "the legal actions are not ascending: [8, 7, 6"),
        (Fault::RepeatedAction, "the legal actions are not ascending: [0, 1, 2"),
        (Fault::ActionOutOfRange, "a legal action is not below shape.actions = 8"),
        (Fault::StaleList, "the legal actions are not ascending: [65535"),
        (Fault::PlaysOn, "there are 1 legal actions, but the outcome is Some("),
        (Fault::Miscounts, "count_legal_actions says 4, but there are 3 legal actions"),
        (Fault::HistoryStays, "the position parsed from its own text is different"),
        (Fault::TooLong, "the game is not over after max_plies = 6 actions"),
        (Fault::ForgottenPlane, "encode leaves plane 1 unwritten or not finite"),
        (Fault::InfinitePlane, "encode leaves plane 1 unwritten or not finite"),
        (Fault::SideBlindPlanes, "symmetry 1: the mapped position's planes are not the mapped planes"),
        (Fault::NoIdentity, "the identity is not the first of the symmetries"),
        (Fault::UnmappedActions, "symmetry 1: "),
        (Fault::UnmappedState, "symmetry 1: "),
        (Fault::KeyIgnoresNoughts, "has the same key"),
        (Fault::SharedActionText, "the text `a1` of action 1 is parsed as Some(Action(0))"),
        (Fault::ActionTextNotParsed, "the text `a1` of action 0 is parsed as None"),
        (Fault::ForgetfulPositionText, "the position parsed from its own text is different"),
        (Fault::TwoLineText, "the position's text has more than one line"),
        (Fault::PlaysIllegal, "try_play plays the illegal action"),
        (Fault::ChangesWhenRefusing, "changes the position"),
        (Fault::MissingLabel, "the view has 3 row labels and 2 column labels"),
        (Fault::TouchesNowhere, "action 0 touches row 3, column 0, which is not on the view"),
    ];
    for (fault, expected) in faults {
        let violation = check(&Faulty(fault), GAMES, SEED).expect_err(&format!("{fault:?} is not found"));
        assert!(violation.rule.contains(expected), "{fault:?}: {violation}");
        // the seed shows the fault again, unless it lies between two games
        if fault != Fault::KeyIgnoresNoughts {
            assert_eq!(check(&Faulty(fault), 1, violation.seed), Err(violation));
        }
    }
}

/// Gives a text to every parser of a game; an accepted one must be printed as it was.
struct Parse<'a> {
    text: &'a str,
    /// Where a character of `text` replaces one of a valid position, and after how many plies.
    graft: (usize, usize),
}

impl Job for Parse<'_> {
    type Output = ();

    fn run<G: Game>(self, rules: Rules<G>) {
        let game = &rules.game;
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(self.graft.0 as u64);
        let mut state = game.initial();
        for _ in 0..self.graft.1 {
            let legal = game.legal(&state);
            if legal.is_empty() {
                break;
            }
            game.play(&mut state, legal[random.random_range(0..legal.len())]);
        }
        let text = game.state_text(&state);
        let at = self.graft.0 % (text.len() + 1);
        let behind = text.get(at + 1..).unwrap_or_default();
        for text in [self.text.to_string(), format!("{}{}{behind}", &text[..at], self.text)] {
            if let Ok(parsed) = game.parse_state(&text) {
                assert_eq!(game.state_text(&parsed), text);
                assert_eq!(game.legal(&parsed).is_empty(), game.outcome(&parsed).is_some(), "{text}");
                game.encode(&parsed, &mut Planes::new(game.shape()));
            }
        }
        if let Some(action) = game.parse_action(&state, self.text) {
            assert_eq!(game.action_text(&state, action), self.text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn no_text_makes_a_parser_panic(text in ".{0,12}|[1-8xXOcstdCSTDwb./ -]{0,3}|[a-h0-9-]{0,5}",
                                    graft in (0usize..200, 0usize..60)) {
        for id in Games::ids() {
            Games::with_game(&id, &Settings::new(), Parse { text: &text, graft }).unwrap();
        }
        let known = Games::ids().contains(&text);
        prop_assert_eq!(Games::with_game(&text, &Settings::new(), Parse { text: "", graft }).is_ok(), known);
    }
}
