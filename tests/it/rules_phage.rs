//! The rule sheet of Phage, sentence by sentence, and a slow, obvious implementation of the rules compared with the
//! fast one.

use std::collections::BTreeSet;

use petteia::conformance::check;
use petteia::game::{Game, GameOptions, Outcome, Player, Variants};
use petteia::games::phage::{Phage, State};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const INITIAL: &str = "7d/5t2/3s4/1c6/6C1/4S3/2T5/D7 w 7777/7777";

fn position(text: &str) -> State {
    Phage.parse_state(text).unwrap()
}

fn actions(state: &State) -> BTreeSet<String> {
    Phage.legal(state).into_iter().map(|action| Phage.action_text(state, action)).collect()
}

/// The squares to which the piece on `from` may go, in alphabetical order.
fn targets(text: &str, from: &str) -> String {
    let start = format!("{from}-");
    let targets = actions(&position(text));
    targets.iter().filter_map(|action| action.strip_prefix(&start)).collect::<Vec<_>>().join(" ")
}

fn after(text: &str, actions: &[&str]) -> State {
    let mut state = position(text);
    for action in actions {
        let action = Phage.parse_action(&state, action).unwrap();
        Phage.play(&mut state, action);
    }
    state
}

fn outcome(text: &str) -> Option<Outcome> {
    Phage.outcome(&position(text))
}

/// "Two players, White first, 8x8 squares a1..h8. Initial position [...]: White diamond a1, triangle c2,
/// square e3, circle g4; Black the same turned by 180°: diamond h8, triangle f7, square d6, circle b5."
#[test]
fn initial_position() {
    let state = Phage.initial();
    assert_eq!(Phage.state_text(&state), INITIAL);
    assert_eq!(Phage.to_move(&state), Player::First);
    assert_eq!(Phage.about().player_names(), ["White", "Black"]);
    let view = Phage.view(&state);
    let on = |square: &str| {
        let [file, rank] = square.as_bytes() else { panic!("{square}") };
        view.cells[(b'8' - rank) as usize][(file - b'a') as usize].as_str()
    };
    let squares = ["a1", "c2", "e3", "g4", "h8", "f7", "d6", "b5"];
    assert_eq!(squares.map(on).concat(), "DTSCdtsc");
}

/// "P1 A piece slides one or more squares along one of its directions: circle all 8;"
#[test]
fn p1_circle() {
    let expected = "a1 a4 a7 b2 b4 b6 c3 c4 c5 d1 d2 d3 d5 d6 d7 e3 e4 e5 f2 f4 f6 g1 g4 g7 h4 h8";
    assert_eq!(targets("STDdcst1/8/8/8/3C4/8/8/8 w 7777/7777", "d4"), expected);
}

/// "diamond the 4 orthogonal;"
#[test]
fn p1_diamond() {
    let expected = "a4 b4 c4 d1 d2 d3 d5 d6 d7 e4 f4 g4 h4";
    assert_eq!(targets("STCdcst1/8/8/8/3D4/8/8/8 w 7777/7777", "d4"), expected);
}

/// "square the 4 diagonal;"
#[test]
fn p1_square() {
    let expected = "a1 a7 b2 b6 c3 c5 e3 e5 f2 f6 g1 g7 h8";
    assert_eq!(targets("DTCdcst1/8/8/8/3S4/8/8/8 w 7777/7777", "d4"), expected);
}

/// "triangle sideways both ways and straight ahead only (White north, Black south)."
#[test]
fn p1_triangle() {
    let white = "a4 b4 c4 d5 d6 d7 e4 f4 g4 h4";
    assert_eq!(targets("DSCdcst1/8/8/8/3T4/8/8/8 w 7777/7777", "d4"), white);
    let black = "a4 b4 c4 d1 d2 d3 e4 f4 g4 h4";
    assert_eq!(targets("DSCdcsTx/8/8/8/3t4/8/8/8 b 7767/7777", "d4"), black);
}

/// "P2 Every square passed and the square landed on is *open*: on the board, without a piece, never left by
/// a piece before."
#[test]
fn p2_open_squares() {
    let text = "1xc3st/8/8/8/d2S4/1C1x4/8/D2T4 w 6777/6777";
    // the diamond is blocked by its own triangle on d1 and the opponent's diamond on a4, the circle by a closed
    // square on d3
    assert_eq!(targets(text, "a1"), "a2 a3 b1 c1");
    assert_eq!(targets(text, "b3"), "a2 a3 b1 b2 b4 b5 b6 b7 c2 c3 c4 d5 e6 f7");
    for illegal in ["a1-d1", "a1-a4", "a1-a5", "b3-d3", "b3-e3", "b3-b8", "b3-a4", "b3-d1", "a1-a0", "a1-i1"]
    {
        assert_eq!(Phage.parse_action(&position(text), illegal), None, "{illegal}");
    }
}

/// "P3 The square that a piece leaves is closed for both players for the rest of the game."
#[test]
fn p3_left_squares_close() {
    let state = after(INITIAL, &["e3-h6"]);
    assert_eq!(Phage.state_text(&state), "7d/5t2/3s3S/1c6/6C1/4x3/2T5/D7 b 7677/7777");
    // neither White, who left it, nor Black can go there
    assert_eq!(Phage.parse_action(&after(INITIAL, &["e3-h6", "b5-b4"]), "h6-e3"), None);
    let black = after(INITIAL, &["e3-h6", "b5-b3", "g4-g5"]);
    assert!(actions(&black).contains("b3-d3"));
    assert_eq!(Phage.parse_action(&black, "b3-e3"), None);
}

/// "P4 Each piece has 7 moves; they are not transferable."
#[test]
fn p4_seven_moves_a_piece() {
    assert_eq!(
        Phage.state_text(&after(INITIAL, &["g4-g5", "h8-h7"])).split(' ').next_back(),
        Some("6777/7776")
    );
    // the circle has used up its moves and stays, although f1 and g2 next to it are open
    let text = "Dx5x/t1s2x2/1S1x3x/cxx5/xxxx2xx/xxx1xxxx/1Txx1xd1/x5C1 w 0565/4561";
    assert_eq!(targets(text, "g1"), "");
    assert_eq!(actions(&position(text)).len(), 1);
}

/// "No capture, no pass."
#[test]
fn p4_no_capture_no_pass() {
    let state = Phage.initial();
    for action in ["g4-g4", "a1-a1", "pass", "-", "", "c2-f7", "g4-h8"] {
        assert_eq!(Phage.parse_action(&state, action), None, "{action}");
    }
    for action in actions(&state) {
        let board = Phage.state_text(&after(INITIAL, &[&action]));
        let pieces: BTreeSet<char> =
            board.split(' ').next().unwrap().chars().filter(|c| "CSTDcstd".contains(*c)).collect();
        assert_eq!(pieces.len(), 8, "{action}");
    }
}

/// "P5 The game ends when the side to move has no legal move (tested on its own turn only)."
#[test]
fn p5_only_the_side_to_move_is_tested() {
    assert_eq!(outcome(INITIAL), None);
    // White is stuck (the diamond has used up its moves, the others are walled in), but Black is to move and can
    let text = "2xxTxxd/1xxxtxxC/1xxxx1xx/cxs1x2x/2xx1xx1/4x1x1/1xxD1x1S/xxxxxxxx b 3430/0137";
    assert_eq!((outcome(text), targets(text, "c5")), (None, "a3 b4".to_string()));
    // that is Black's last move, and then White is to move
    assert_eq!(Phage.outcome(&after(text, &["c5-b4"])), Some(Outcome::Draw));
}

/// "The player who made more moves wins: Black to move and stuck - White wins."
#[test]
fn p5_black_stuck() {
    let text = "3x3x/1xx2x2/2xx4/Sx1xxxxx/1xx2xxd/1Ctxxxcx/2xxTxxs/xx1xxDxx b 4341/1525";
    assert_eq!(outcome(text), Some(Outcome::Win(Player::First)));
    // even if White could not move either
    let text = "xx1sdxxx/xxx1xxxx/x1cx1x1x/DxxTxtxx/xxx1Cxxx/xxx1xxxx/x1xx1x1x/x3x1S1 b 0313/0314";
    assert_eq!(outcome(text), Some(Outcome::Win(Player::First)));
}

/// "White to move and stuck - Black wins if Black could still move,"
#[test]
fn p5_white_stuck() {
    let text = "3x3x/2x1xxtx/1x1x2cx/1xsxx1xx/1xxT1xxx/xxxxxxxx/xxxxxxxd/xxxDSxC1 w 0504/0261";
    assert_eq!(outcome(text), Some(Outcome::Win(Player::Second)));
}

/// "otherwise both made equally many moves: draw."
#[test]
fn p5_both_stuck_on_whites_turn() {
    let text = "3Cxx1x/4sxxx/3x1xxd/xxxxxx1x/cxtS2xx/Dxx1x3/xTxx4/x7 w 0465/3615";
    assert_eq!(outcome(text), Some(Outcome::Draw));
}

/// "P6 At most 56 plies; the game is acyclic."
#[test]
fn p6_every_ply_uses_up_a_move() {
    assert_eq!(Phage.max_plies(), 56);
    let left = |state: &State| -> u32 {
        let text = Phage.state_text(state);
        text.split(' ').next_back().unwrap().chars().filter_map(|digit| digit.to_digit(10)).sum()
    };
    assert_eq!(left(&Phage.initial()), 56);
    for action in actions(&Phage.initial()) {
        assert_eq!(left(&after(INITIAL, &[&action])), 55);
    }
}

/// "Symmetry: mirror of the files. (Turning by 180° with the colours exchanged keeps the moves, not the draw
/// rule.)"
#[test]
fn symmetries() {
    assert_eq!(Phage.symmetries(&Phage.initial()), petteia::board::Symmetry::COLUMN_MIRROR);
}

/// "random games have mean branching 20.7 (max 61), mean length 34.7 plies (17-48), White 47 %, Black 42 %,
/// draw 11 %."
#[test]
fn known_quantities() {
    let report = check(&Phage, 300, 1).unwrap();
    let share = report.outcomes.map(|games| games as f64 / report.games as f64);
    assert!((report.mean_branching() - 20.7).abs() < 0.7, "{report}");
    assert!((report.mean_length() - 34.7).abs() < 0.9, "{report}");
    for (share, expected) in share.into_iter().zip([0.47, 0.42, 0.11]) {
        assert!((share - expected).abs() < 0.07, "{report}");
    }
}

/// A second implementation of the rules, on a board of letters, one step at a time.
struct Slow {
    /// `[rank][file]`: a piece's letter, `x` closed, `.` open.
    board: [[char; 8]; 8],
    white_to_move: bool,
    /// The moves left, by the piece's letter.
    left: Vec<(char, u32)>,
}

impl Slow {
    fn initial() -> Slow {
        let mut board = [['.'; 8]; 8];
        for (letter, file, rank) in [('D', 0, 0), ('T', 2, 1), ('S', 4, 2), ('C', 6, 3)] {
            board[rank][file] = letter;
            board[7 - rank][7 - file] = letter.to_ascii_lowercase();
        }
        Slow { board, white_to_move: true, left: "CSTDcstd".chars().map(|letter| (letter, 7)).collect() }
    }

    fn left(&self, letter: char) -> u32 {
        self.left.iter().find(|(other, _)| *other == letter).unwrap().1
    }

    fn may_step(letter: char, dx: i32, dy: i32) -> bool {
        let diagonal = dx != 0 && dy != 0;
        let ahead = if letter == 'T' { 1 } else { -1 };
        match letter.to_ascii_uppercase() {
            'C' => true,
            'S' => diagonal,
            'D' => !diagonal,
            _ => dy == 0 || (dx == 0 && dy == ahead),
        }
    }

    fn actions(&self, white: bool) -> BTreeSet<String> {
        let mut actions = BTreeSet::new();
        for (x, y) in (0..64).map(|square| (square % 8, square / 8)) {
            let letter = self.board[y as usize][x as usize];
            if !letter.is_alphabetic()
                || letter == 'x'
                || letter.is_uppercase() != white
                || self.left(letter) == 0
            {
                continue;
            }
            for (dx, dy) in (0..9).map(|step| (step % 3 - 1, step / 3 - 1)) {
                if (dx, dy) == (0, 0) || !Slow::may_step(letter, dx, dy) {
                    continue;
                }
                let (mut tx, mut ty): (i32, i32) = (x + dx, y + dy);
                while (0..8).contains(&tx)
                    && (0..8).contains(&ty)
                    && self.board[ty as usize][tx as usize] == '.'
                {
                    let file = |x: i32| (b'a' + x as u8) as char;
                    actions.insert(format!("{}{}-{}{}", file(x), y + 1, file(tx), ty + 1));
                    (tx, ty) = (tx + dx, ty + dy);
                }
            }
        }
        actions
    }

    fn play(&mut self, action: &str) {
        let [fx, fy, _, tx, ty] = action.as_bytes() else { panic!("{action}") };
        let square = |file: &u8, rank: &u8| ((rank - b'1') as usize, (file - b'a') as usize);
        let ((from_rank, from_file), (to_rank, to_file)) = (square(fx, fy), square(tx, ty));
        let letter = std::mem::replace(&mut self.board[from_rank][from_file], 'x');
        self.board[to_rank][to_file] = letter;
        self.left.iter_mut().find(|(other, _)| *other == letter).unwrap().1 -= 1;
        self.white_to_move = !self.white_to_move;
    }

    /// `1`: White has won; `0`: Black has won; `=`: draw.
    fn outcome(&self) -> Option<char> {
        let can_move = |white| !self.actions(white).is_empty();
        match (self.white_to_move, can_move(self.white_to_move)) {
            (_, true) => None,
            (false, false) => Some('1'),
            (true, false) => Some(if can_move(false) { '0' } else { '=' }),
        }
    }

    fn text(&self) -> String {
        let ranks: Vec<String> = self.board.iter().rev().map(|rank| rank.iter().collect()).collect();
        let mut board = ranks.join("/");
        for run in (1..=8).rev() {
            board = board.replace(&".".repeat(run), &run.to_string());
        }
        let left: Vec<String> = self.left.iter().map(|(_, left)| left.to_string()).collect();
        let side = if self.white_to_move { "w" } else { "b" };
        format!("{board} {side} {}/{}", left[..4].concat(), left[4..].concat())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn fast_and_slow_rules_agree(seed: u64) {
        let game = Phage::new(&GameOptions::default()).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut fast, mut slow) = (game.initial(), Slow::initial());
        loop {
            prop_assert_eq!(game.state_text(&fast), slow.text());
            prop_assert_eq!(actions(&fast), slow.actions(slow.white_to_move));
            let outcome = game.outcome(&fast).map(|outcome| match outcome {
                Outcome::Win(Player::First) => '1',
                Outcome::Win(Player::Second) => '0',
                Outcome::Draw => '=',
            });
            prop_assert_eq!(outcome, slow.outcome());
            let legal = game.legal(&fast);
            if legal.is_empty() {
                break;
            }
            let action = legal[random.random_range(0..legal.len())];
            slow.play(&game.action_text(&fast, action));
            game.play(&mut fast, action);
        }
    }
}
