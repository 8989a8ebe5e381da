//! The rules of Caïssa, ruling by ruling, and a slow, obvious implementation of them compared with the fast one.

use std::collections::{BTreeSet, HashMap};

use petteia::conformance::check;
use petteia::game::{Game, GameOptions, Outcome, Player, Settings, Variants};
use petteia::games::caissa::{Caissa, State};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const INITIAL: &str = "7/3bqn1/4r2/7/2R4/1NQB3/7 w - 0";

fn rules(settings: &[(&str, bool)]) -> Caissa {
    let settings: Settings =
        settings.iter().map(|(name, value)| (name.to_string(), toml::Value::Boolean(*value))).collect();
    Caissa::new(&GameOptions { variant: String::new(), settings }).unwrap()
}

fn game() -> Caissa {
    rules(&[])
}

fn actions(game: &Caissa, state: &State) -> BTreeSet<String> {
    game.legal(state).into_iter().map(|action| game.action_text(state, action)).collect()
}

/// The squares to which the piece on `from` may go, in alphabetical order.
fn targets_by(game: &Caissa, text: &str, from: &str) -> String {
    let start = format!("{from}-");
    let actions = actions(game, &game.parse_state(text).unwrap());
    actions.iter().filter_map(|action| action.strip_prefix(&start)).collect::<Vec<_>>().join(" ")
}

fn targets(text: &str, from: &str) -> String {
    targets_by(&game(), text, from)
}

fn after_by(game: &Caissa, text: &str, actions: &[&str]) -> String {
    let mut state = game.parse_state(text).unwrap();
    for action in actions {
        let action =
            game.parse_action(&state, action).unwrap_or_else(|| panic!("{text}: {action} is refused"));
        game.play(&mut state, action);
    }
    game.state_text(&state)
}

fn after(text: &str, actions: &[&str]) -> String {
    after_by(&game(), text, actions)
}

fn outcome(text: &str) -> Option<Outcome> {
    game().outcome(&game().parse_state(text).unwrap())
}

/// "Two players, White first, 7x7 squares a1..g7 [...]. At the start every square carries a tile. Each side has a
/// queen, a rook, a bishop and a knight." "White Nb2 Qc2 Bd2 Rc3, Black Bd6 Qe6 Nf6 Re5 (180° symmetric)."
#[test]
fn initial_position() {
    let state = game().initial();
    assert_eq!(game().state_text(&state), INITIAL);
    assert_eq!(game().to_move(&state), Player::First);
    assert_eq!(game().about().player_names(), ["White", "Black"]);
    let view = game().view(&state);
    let on = |square: &str| {
        let [file, rank] = square.as_bytes() else { panic!("{square}") };
        view.cells[(b'7' - rank) as usize][(file - b'a') as usize].as_str()
    };
    assert_eq!(["b2", "c2", "d2", "c3", "d6", "e6", "f6", "e5"].map(on).concat(), "NQBRbqnr");
}

/// "R1 Lines. Q, R, B, N move along the lines of the chess pieces."
#[test]
fn r1_lines() {
    let with = |piece: &str| format!("7/6q/7/3{piece}3/7/7/Q6 w - 0");
    assert_eq!(targets(&with("R"), "d4"), "a4 b4 c4 d1 d2 d3 d5 d6 d7 e4 f4 g4");
    assert_eq!(targets(&with("B"), "d4"), "a7 b2 b6 c3 c5 e3 e5 f2 f6 g1 g7");
    assert_eq!(targets(&with("N"), "d4"), "b3 b5 c2 c6 e2 e6 f3 f5");
    // not where the queen on g6 would see her: on rank 6, on file g, and on the diagonal through c2
    assert_eq!(targets("7/6q/7/7/7/7/Q6 w - 0", "a1"), "a2 a3 a4 a5 a7 b2 c1 c3 d1 d4 e1 e5 f1");
}

/// "Only *pieces* block a line; holes (squares without a tile) never do."
#[test]
fn r1_holes_do_not_block() {
    assert_eq!(targets("7/6q/7/3R*2/7/7/Q6 w - 0", "d4"), "a4 b4 c4 d1 d2 d3 d5 d6 d7 e4 f4 g4");
}

/// "A slider may land on the first piece it meets (as R3 allows), never beyond it."
#[test]
fn r1_first_piece() {
    assert_eq!(targets("7/6q/7/3R1n1/7/7/Q6 w - 0", "d4"), "a4 b4 c4 d1 d2 d3 d5 d6 d7 e4 f4");
    assert_eq!(targets("7/6q/3B3/3R3/7/7/Q6 w - 0", "d4"), "a4 b4 c4 d1 d2 d3 d5 e4 f4 g4");
}

/// "R2 Queen. Her target needs a tile and no piece of her own colour; an enemy R, B or N there is captured
/// (removed for good). The tile that she leaves is removed from the board (the Atlantis effect)."
#[test]
fn r2_queen() {
    // a hole on a4, the player's own knight on a5, an unprotected enemy rook on d1
    let text = "7/6q/N6/*6/7/7/Q2r3 w - 0";
    assert_eq!(targets("7/6q/N6/*6/7/7/Q6 w - 0", "a1"), "a2 a3 b2 c1 c3 d1 d4 e1 e5 f1");
    assert_eq!(after("7/6q/N6/*6/7/7/Q2b3 w - 0", &["a1-d1"]), "7/6q/N6/*6/7/7/*2Q3 b - 1");
    // in check by that rook, she may not go that far
    assert!(!targets(text, "a1").contains("d1"));
}

/// "While she is in check she may only go to one of the 8 adjacent squares."
#[test]
fn r2_queen_in_check() {
    assert_eq!(targets("7/6q/7/7/7/7/Q2r3 w - 0", "a1"), "a2 b2");
}

/// "R3 Rook, bishop, knight, from F to T. T is a hole: the piece takes its tile along, F becomes a hole. T is an
/// empty tile: a plain move, no tile changes."
#[test]
fn r3_carrying_and_plain_moves() {
    let text = "7/6q/7/3R*2/7/7/Q6 w - 0";
    assert_eq!(after(text, &["d4-e4"]), "7/6q/7/3*R2/7/7/Q6 b - 1");
    assert_eq!(after(text, &["d4-f4"]), "7/6q/7/4*R1/7/7/Q6 b - 1");
}

/// "T holds an R, B or N of *either* colour: the two pieces change places."
#[test]
fn r3_exchanges() {
    assert_eq!(after("7/6q/7/N2R3/7/7/Q6 w - 0", &["d4-a4"]), "7/6q/7/R2N3/7/7/Q6 b - 1");
    // the bishop on d4 cannot move back along the rank, so no move is banned
    assert_eq!(after("7/6q/7/b2R3/7/7/2Q4 w - 0", &["d4-a4"]), "7/6q/7/R2b3/7/7/2Q4 b - 1");
}

/// "T holds a queen: not allowed." "R9 The own queen may not be exchanged (switch `queen_exchange`, off by
/// default [...])."
#[test]
fn r3_r9_queens_are_no_targets() {
    let text = "7/6q/7/Q2R2n/7/7/7 w - 0";
    assert!(!targets(text, "d4").contains("a4"));
    let free = rules(&[("queen_exchange", true)]);
    assert!(targets_by(&free, text, "d4").contains("a4"));
    assert_eq!(after_by(&free, text, &["d4-a4"]), "7/6q/7/R2Q2n/7/7/7 b - 1");
    // the enemy's queen is never within reach: the player who has just moved is not in check (R5)
    assert!(game().parse_state("7/6q/7/7/7/7/Q5R w - 0").is_err());
}

/// "R4 Connection. After every move all tiles form one group (8 neighbours per square)."
#[test]
fn r4_connection() {
    // only the tile on b2 connects a1 with the rest; carried to b1 it still does, and a plain move leaves it on b2
    let text = "7/6q/2*4/**5/**5/*R*4/Q*5 w - 0";
    assert_eq!(targets(text, "b2"), "b1 b5 b6 b7 d2 e2 f2 g2");
    // the queen's own tile is removed wherever she goes
    assert_eq!(targets("7/6q/7/7/**5/*Q5/1*5 w - 0", "b2"), "");
    assert!(targets("7/6q/7/7/**5/*Q5/7 w - 0", "b2").contains("a1"));
}

/// "R5 After every move the mover's queen is not in check,"
#[test]
fn r5_pins_and_answers_to_check() {
    // the bishop shields the queen and is pinned; the rook may move along the line
    assert_eq!(targets("7/6q/7/7/7/7/Q1B3r w - 0", "c1"), "");
    assert_eq!(targets("7/6q/7/7/7/7/Q1R3r w - 0", "c1"), "b1 d1 e1 f1");
    // in check: block the line, or exchange pieces so that the check ends
    assert_eq!(targets("7/6q/7/7/7/3R3/Q5r w - 0", "d2"), "d1");
    // an exchange puts the enemy's piece on the square of the player's own: a rook on d1 would give check
    assert!(!targets("7/6q/7/3r3/7/7/Q2R3 w - 0", "d1").contains("d4"));
}

/// "and the two queens do not see each other: same rank, file or diagonal with no piece in between. Holes do not
/// hide them."
#[test]
fn r5_queens_do_not_see_each_other() {
    assert_eq!(targets("q6/7/7/7/N6/7/Q6 w - 0", "a3"), "");
    assert!(!targets("7/6q/7/7/7/5*1/Q6 w - 0", "a1").contains("g1"));
    assert!(game().parse_state("q6/7/7/*6/7/7/Q6 w - 0").is_err());
}

/// "R6 Check: an enemy R, B or N has the queen's square among its targets by R1 (pins do not matter)."
#[test]
fn r6_check() {
    let in_check = |text: &str| game().view(&game().parse_state(text).unwrap()).note.contains("check");
    assert!(in_check("7/6q/7/3b3/7/7/Q6 w - 0"));
    assert!(!in_check("7/6q/7/7/7/2n4/3Q3 w - 0"));
    assert!(in_check("7/6q/7/7/2n4/7/3Q3 w - 0"));
    assert!(!in_check("7/6q/7/3b3/2R4/7/Q6 w - 0"));
    // the rook on d6 shields its own queen and still gives check
    assert!(in_check("3R3/Q2r3/3q3/7/7/7/7 w - 0"));
}

/// "R7 No undo. An exchange F-T of two pieces of different colours may not be answered by the very next move F-T
/// that undoes it (switch `exchange_ban`, on by default [...])."
#[test]
fn r7_no_undo() {
    let text = "7/6q/7/r2R3/7/7/2Q4 w - 0";
    assert_eq!(after(text, &["d4-a4"]), "7/6q/7/R2r3/7/7/2Q4 b d4-a4 1");
    assert!(!targets("7/6q/7/R2r3/7/7/2Q4 b d4-a4 1", "d4").contains("a4"));
    assert!(targets("7/6q/7/R2r3/7/7/2Q4 b - 1", "d4").contains("a4"));
    // one move later, the exchange is allowed
    assert_eq!(after(text, &["d4-a4", "g6-g7", "c1-c2"]), "6q/6*/7/R2r3/7/2Q4/2*4 b - 3");
    let free = rules(&[("exchange_ban", false)]);
    assert_eq!(after_by(&free, text, &["d4-a4", "d4-a4"]), "7/6q/7/r2R3/7/7/2Q4 w - 2");
    // a ban in a position's text has no effect then
    let state = free.parse_state("7/6q/7/R2r3/7/7/2Q4 b d4-a4 1").unwrap();
    assert_eq!(free.state_text(&state), "7/6q/7/R2r3/7/7/2Q4 b - 1");
}

/// "R8 End. The side to move has no legal move: in check it has lost (checkmate), otherwise the game is a draw
/// (stalemate)."
#[test]
fn r8_mate_and_stalemate() {
    assert_eq!(outcome("7/7/7/2N3Q/7/1q**3/1*1*3 b - 41"), Some(Outcome::Win(Player::First)));
    let text = "*****1*/*Q1***1/1*R*b1*/***3*/**1****/***2q*/******1 b - 43";
    assert_eq!(outcome(&after(text, &["e5-b2"])), Some(Outcome::Draw));
    assert_eq!(outcome(&after(text, &["e5-c7"])), Some(Outcome::Win(Player::Second)));
}

/// "Otherwise, after 100 moves by each player (200 plies) a draw; mate or stalemate on ply 200 comes first. No
/// repetition rule, no passing."
#[test]
fn r8_limit() {
    let limit = INITIAL.replace(" 0", " 200");
    assert_eq!(outcome(&limit), Some(Outcome::Draw));
    assert!(targets(&limit, "c3").is_empty());
    assert_eq!(outcome(&INITIAL.replace(" 0", " 198")), None);
    assert_eq!(outcome("7/3bqn1/7/7/2R4/1N*B3/3Qr2 w - 200"), Some(Outcome::Win(Player::Second)));
    assert_eq!(game().parse_action(&game().parse_state(&limit).unwrap(), "c3-c4"), None);
}

/// "Geometric from-to pairs: 1,192."
#[test]
fn geometric_pairs() {
    let near = |a: (i32, i32), b: (i32, i32)| {
        let (dx, dy) = ((a.0 - b.0).abs(), (a.1 - b.1).abs());
        a != b && (dx == 0 || dy == 0 || dx == dy || dx + dy == 3)
    };
    let squares = || (0..49).map(|s| (s % 7, s / 7));
    assert_eq!(squares().map(|a| squares().filter(|b| near(a, *b)).count()).sum::<usize>(), 1192);
}

/// A second implementation of the rulings on plain arrays: it makes every action and then looks at the result.
#[derive(Clone)]
struct Slow {
    tile: [[bool; 7]; 7],
    piece: [[char; 7]; 7],
    white: bool,
    ban: String,
}

type Square = (usize, usize);

impl Slow {
    fn parse(text: &str) -> Slow {
        let fields: Vec<&str> = text.split(' ').collect();
        let mut slow = Slow {
            tile: [[true; 7]; 7],
            piece: [[' '; 7]; 7],
            white: fields[1] == "w",
            ban: fields[2].to_string(),
        };
        for (rank, y) in fields[0].split('/').zip((0..7).rev()) {
            let mut x = 0;
            for letter in rank.chars() {
                match letter.to_digit(10) {
                    Some(run) => x += run as usize,
                    None => {
                        if letter == '*' {
                            slow.tile[y][x] = false
                        } else {
                            slow.piece[y][x] = letter
                        }
                        x += 1;
                    }
                }
            }
        }
        slow
    }

    fn squares() -> impl Iterator<Item = Square> {
        (0..49).map(|square| (square % 7, square / 7))
    }

    fn own(&self, piece: char, white: bool) -> bool {
        piece != ' ' && piece.is_uppercase() == white
    }

    /// The lines of R1.
    fn lines(&self, (x, y): Square) -> Vec<Square> {
        let straight = [(1, 0), (0, 1), (-1, 0), (0, -1)];
        let diagonal = [(1, 1), (-1, 1), (1, -1), (-1, -1)];
        let (steps, far): (Vec<(i32, i32)>, i32) = match self.piece[y][x].to_ascii_uppercase() {
            'Q' => ([straight, diagonal].concat(), 7),
            'R' => (straight.to_vec(), 7),
            'B' => (diagonal.to_vec(), 7),
            _ => {
                let near = |d: &(i32, i32)| d.0.abs() + d.1.abs() == 3 && d.0 * d.1 != 0;
                ((0..25).map(|i| (i % 5 - 2, i / 5 - 2)).filter(near).collect(), 1)
            }
        };
        let mut squares = Vec::new();
        for (dx, dy) in steps {
            for n in 1..=far {
                let (to_x, to_y) = (x as i32 + n * dx, y as i32 + n * dy);
                if !(0..7).contains(&to_x) || !(0..7).contains(&to_y) {
                    break;
                }
                squares.push((to_x as usize, to_y as usize));
                if self.piece[to_y as usize][to_x as usize] != ' ' {
                    break;
                }
            }
        }
        squares
    }

    fn queen(&self, white: bool) -> Square {
        let queen = if white { 'Q' } else { 'q' };
        Slow::squares().find(|(x, y)| self.piece[*y][*x] == queen).unwrap()
    }

    fn in_check(&self, white: bool) -> bool {
        let queen = self.queen(white);
        let enemy =
            |(x, y): &Square| self.own(self.piece[*y][*x], !white) && !"Qq".contains(self.piece[*y][*x]);
        Slow::squares().filter(enemy).any(|square| self.lines(square).contains(&queen))
    }

    fn connected(&self) -> bool {
        let tiles: Vec<Square> = Slow::squares().filter(|(x, y)| self.tile[*y][*x]).collect();
        let mut found = vec![tiles[0]];
        let mut at = 0;
        while at < found.len() {
            let (x, y) = found[at];
            for &(a, b) in &tiles {
                if a.abs_diff(x) <= 1 && b.abs_diff(y) <= 1 && !found.contains(&(a, b)) {
                    found.push((a, b));
                }
            }
            at += 1;
        }
        found.len() == tiles.len()
    }

    /// The position after a move, if R2, R3 and R9 allow it.
    fn moved(&self, from: Square, to: Square) -> Option<Slow> {
        let mut next = self.clone();
        let (mover, target) = (self.piece[from.1][from.0], self.piece[to.1][to.0]);
        if "Qq".contains(target) {
            return None;
        }
        if "Qq".contains(mover) {
            let near = from.0.abs_diff(to.0) <= 1 && from.1.abs_diff(to.1) <= 1;
            if !self.tile[to.1][to.0] || self.own(target, self.white) || self.in_check(self.white) && !near {
                return None;
            }
            next.tile[from.1][from.0] = false;
            next.piece[from.1][from.0] = ' ';
        } else {
            next.piece[from.1][from.0] = target;
            if !self.tile[to.1][to.0] {
                (next.tile[from.1][from.0], next.tile[to.1][to.0]) = (false, true);
            }
        }
        next.piece[to.1][to.0] = mover;
        Some(next)
    }

    fn legal(&self) -> BTreeSet<String> {
        let mut legal = BTreeSet::new();
        for from in Slow::squares().filter(|(x, y)| self.own(self.piece[*y][*x], self.white)) {
            for to in self.lines(from) {
                let Some(next) = self.moved(from, to) else { continue };
                let seen = next.lines(next.queen(true)).contains(&next.queen(false));
                let name = |(x, y): Square| format!("{}{}", (b'a' + x as u8) as char, y + 1);
                let text = format!("{}-{}", name(from), name(to));
                if next.connected() && !next.in_check(self.white) && !seen && text != self.ban {
                    legal.insert(text);
                }
            }
        }
        legal
    }
}

/// Asserts that the fast and the slow rules agree on a position.
fn agree(game: &Caissa, state: &State, ply: usize) {
    let text = game.state_text(state);
    let slow = Slow::parse(&text);
    let legal = slow.legal();
    assert_eq!(game.view(state).note.contains("check"), slow.in_check(slow.white), "{text}");
    let expected = match (legal.is_empty(), slow.in_check(slow.white)) {
        (true, true) => Some(Outcome::Win(if slow.white { Player::Second } else { Player::First })),
        (true, false) => Some(Outcome::Draw),
        (false, _) => (ply == 200).then_some(Outcome::Draw),
    };
    assert_eq!(game.outcome(state), expected, "{text}");
    if ply < 200 {
        assert_eq!(actions(game, state), legal, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// Random games with some preference for queen moves and for exchanges.
    #[test]
    fn fast_and_slow_rules_agree(seed in any::<u64>(), taste in 0..3) {
        let game = game();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut state = game.initial();
        for ply in 0.. {
            agree(&game, &state, ply);
            let mut legal = game.legal(&state);
            if legal.is_empty() {
                break;
            }
            let queens: Vec<_> = legal.iter().copied().filter(|action| action.index() < 49).collect();
            if taste == 1 && !queens.is_empty() && random.random_bool(0.3) {
                legal = queens;
            } else if taste == 2 && random.random_bool(0.9) {
                legal.retain(|action| action.index() >= 49);
            }
            if legal.is_empty() {
                legal = game.legal(&state);
            }
            game.play(&mut state, legal[random.random_range(0..legal.len())]);
        }
    }
}

#[test]
fn the_contract_holds_with_every_switch() {
    for exchange_ban in [false, true] {
        for queen_exchange in [false, true] {
            let game = rules(&[("exchange_ban", exchange_ban), ("queen_exchange", queen_exchange)]);
            let report = check(&game, 20, 3).unwrap_or_else(|violation| panic!("{game:?}: {violation}"));
            assert!(report.longest <= 200 && report.mean_branching() > 10.0, "{report}");
        }
    }
}

/// Positions with the same key have the same future: the key contains the ban, the plies and the side to move, but
/// not the order of moves.
#[test]
fn keys() {
    let key = |text: &str| game().key(&game().parse_state(text).unwrap());
    let ban = "7/6q/7/R2r3/7/7/2Q4 b d4-a4 1";
    assert_ne!(key(ban), key(&ban.replace("d4-a4", "-")));
    assert_ne!(key(ban), key(&ban.replace(" 1", " 3")));
    let side = "7/6q/7/R6/7/7/2Q4 w - 0";
    assert_ne!(key(side), key("7/6q/7/R6/7/7/2Q4 b - 1"));
    let order = |actions: &[&str]| key(&after(INITIAL, actions));
    assert_eq!(order(&["c3-c4", "e5-e4", "b2-a4", "f6-g4"]), order(&["b2-a4", "f6-g4", "c3-c4", "e5-e4"]));
    // in many games, positions with the same key have the same text
    let (game, mut random) = (game(), Xoshiro256PlusPlus::seed_from_u64(5));
    let mut texts: HashMap<u64, String> = HashMap::new();
    for _ in 0..300 {
        let mut state = game.initial();
        loop {
            let text = game.state_text(&state);
            assert_eq!(*texts.entry(game.key(&state)).or_insert(text.clone()), text);
            let legal = game.legal(&state);
            if legal.is_empty() {
                break;
            }
            game.play(&mut state, legal[random.random_range(0..legal.len())]);
        }
    }
}

#[test]
fn wrong_settings_are_refused_with_the_reason() {
    let refusal = |name: &str, value: toml::Value| {
        let settings = Settings::from([(name.to_string(), value)]);
        Caissa::new(&GameOptions { variant: String::new(), settings }).unwrap_err().to_string()
    };
    let text = refusal("exchange_ban", toml::Value::Integer(1));
    assert!(text.contains("game.exchange_ban = 1 is not permitted: use true or false"), "{text}");
    let text = refusal("ban", toml::Value::Boolean(true));
    assert!(text.contains("`game.ban`: caissa knows exchange_ban, queen_exchange"), "{text}");
}

#[test]
fn wrong_positions_are_refused_with_the_reason() {
    let cases = [
        ("", "four fields"),
        ("7/3bqn1/4r2/7/2R4/1NQB3/7 W - 0", "`w` or `b`, not `W`"),
        ("7/3bqn1/4r2/7/2R4/1NQB3/7 w - 201", "a number up to 200, not `201`"),
        ("7/3bqn1/4r2/7/2R4/1NQB3/7 w - 00", "a number up to 200"),
        ("7/3bqn1/4r2/7/2R4/1NQB3/7 w - 1", "after 1 plies `w` cannot be to move"),
        ("7/3bqn1/4r2/7/2R4/1NQB3 w - 0", "6 ranks, not 7"),
        ("7/3bqn1/4r2/7/2R4/1NQB3/6 w - 0", "rank 1: it has 6 squares"),
        ("7/3bqn1/4r2/7/2R4/1NQB3/6x w - 0", "rank 1: `x` is not a square"),
        ("7/3bqn1/4r2/7/2R4/1NQB3/6R w - 0", "more than one `R`"),
        ("7/3b1n1/4r2/7/2R4/1NQB3/7 w - 0", "there is no `q`"),
        ("5*1/3bq**/4r**/7/2R4/1NQB3/7 w - 0", "the tiles are not connected"),
        ("7/6q/7/7/7/6R/Q6 w - 0", "the player who is not to move is in check"),
        ("q6/7/7/7/7/7/Q6 w - 0", "the queens see each other"),
        ("7/6q/7/R2r3/7/7/2Q4 b d4 1", "like `b2-c4` or `-`, not `d4`"),
        ("7/6q/7/R2r3/7/7/2Q4 b d4-b4 1", "`d4-b4` would not undo an exchange"),
        ("7/6q/7/R2r3/7/7/2Q4 b a4-d4 1", "`a4-d4` would not undo an exchange"),
        ("7/3bqn1/7/7/r4R1/1NQB3/7 w f3-a3 0", "`f3-a3` would not undo an exchange"),
        ("7/3bq2/4n2/7/4R2/1NQB3/7 w e3-e5 2", "`e3-e5` would not undo an exchange"),
    ];
    for (text, expected) in cases {
        let error = game().parse_state(text).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(INITIAL), "{text}: {error}");
    }
}
