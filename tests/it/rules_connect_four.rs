//! The rules of Connect Four, sentence by sentence, and a slow, obvious implementation of them compared with the fast
//! one.

use petteia::game::{Action, Game, Outcome, Player, perft};
use petteia::games::connect_four::{ConnectFour, State};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn position(columns: &str) -> State {
    ConnectFour.parse_state(columns).unwrap()
}

fn outcome(columns: &str) -> Option<Outcome> {
    ConnectFour.outcome(&position(columns))
}

fn actions(columns: &str) -> String {
    let state = position(columns);
    ConnectFour.legal(&state).into_iter().map(|action| ConnectFour.action_text(&state, action)).collect()
}

/// The board from the top, rows joined by `/`.
fn board(columns: &str) -> String {
    let cells = ConnectFour.view(&position(columns)).cells;
    cells.iter().map(|row| row.concat()).collect::<Vec<_>>().join("/")
}

/// "F1 Two players, Red first, drop a man into a column in turn; it falls to the lowest empty square."
#[test]
fn f1_men_fall() {
    assert_eq!(ConnectFour.about().player_names(), ["Red", "Yellow"]);
    assert_eq!(actions("-"), "1234567");
    assert_eq!(ConnectFour.to_move(&position("-")), Player::First);
    assert_eq!(ConnectFour.to_move(&position("4")), Player::Second);
    assert_eq!(board("-"), "......./......./......./......./......./.......");
    assert_eq!(board("4471"), "......./......./......./......./...O.../O..X..X");
}

/// "F2 A full column takes no more men."
#[test]
fn f2_full_columns() {
    assert_eq!(actions("111111"), "234567");
    assert_eq!(actions("77777"), "1234567");
    assert_eq!(actions("777777"), "123456");
    assert_eq!(ConnectFour.parse_action(&position("777777"), "7"), None);
}

/// "F3 Who has four men in a row, orthogonally or diagonally, has won."
#[test]
fn f3_four_in_a_row() {
    let red = Some(Outcome::Win(Player::First));
    let yellow = Some(Outcome::Win(Player::Second));
    assert_eq!((outcome("121212"), outcome("1212121")), (None, red));
    assert_eq!((outcome("112233"), outcome("1122334")), (None, red));
    assert_eq!((outcome("7151515"), outcome("71515151")), (None, yellow));
    assert_eq!((outcome("7112233"), outcome("71122334")), (None, yellow));
    // rising diagonal: 1, 2, 3 and 4 men high; falling diagonal: the same from the right
    assert_eq!((outcome("1223433474"), outcome("12234334744")), (None, red));
    assert_eq!((outcome("7665455414"), outcome("76654554144")), (None, red));
    assert_eq!(actions("1212121"), "", "the game is over");
}

/// "F4 A full board without such a row is a draw."
#[test]
fn f4_full_board() {
    let columns = "632143673464337314154547517675716615225222";
    assert_eq!((columns.len(), outcome(columns)), (42, Some(Outcome::Draw)), "{}", board(columns));
    assert_eq!(actions(columns), "");
    assert_eq!((outcome(&columns[..41]), actions(&columns[..41])), (None, "2".to_string()));
}

/// A second implementation of the rules: columns of letters, in which all rows are searched.
#[derive(Clone, Default)]
struct Slow {
    columns: [Vec<char>; 7],
    plies: usize,
}

impl Slow {
    fn at(&self, x: i32, y: i32) -> Option<char> {
        let column = self.columns.get(usize::try_from(x).ok()?)?;
        column.get(usize::try_from(y).ok()?).copied()
    }

    fn winner(&self) -> Option<char> {
        for (x, y) in (0..42).map(|square| (square % 7, square / 7)) {
            for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
                let row = [0, 1, 2, 3].map(|step| self.at(x + step * dx, y + step * dy));
                if row[0].is_some() && row.iter().all(|man| *man == row[0]) {
                    return row[0];
                }
            }
        }
        None
    }

    fn actions(&self) -> Vec<usize> {
        match self.winner() {
            Some(_) => Vec::new(),
            None => (0..7).filter(|column| self.columns[*column].len() < 6).collect(),
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        match self.winner() {
            Some('X') => Some(Outcome::Win(Player::First)),
            Some(_) => Some(Outcome::Win(Player::Second)),
            None => (self.plies == 42).then_some(Outcome::Draw),
        }
    }

    fn play(&mut self, column: usize) {
        self.columns[column].push(if self.plies.is_multiple_of(2) { 'X' } else { 'O' });
        self.plies += 1;
    }

    fn perft(&self, depth: usize) -> u64 {
        if depth == 0 {
            return 1;
        }
        let after = |column| {
            let mut next = self.clone();
            next.play(column);
            next
        };
        self.actions().into_iter().map(|column| after(column).perft(depth - 1)).sum()
    }
}

#[test]
fn fast_and_slow_rules_count_alike() {
    let deepest = if std::env::var_os("PETTEIA_DEEP").is_some() { 9 } else { 5 };
    for depth in 0..=deepest {
        let fast = perft(&ConnectFour, &ConnectFour.initial(), depth);
        assert_eq!(Slow::default().perft(depth), fast, "depth {depth}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn fast_and_slow_rules_agree(seed: u64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut fast, mut slow) = (ConnectFour.initial(), Slow::default());
        loop {
            let legal = slow.actions();
            let fast_legal: Vec<usize> = ConnectFour.legal(&fast).iter().map(|action| action.index()).collect();
            prop_assert_eq!(&fast_legal, &legal);
            prop_assert_eq!(ConnectFour.outcome(&fast), slow.outcome());
            let view = ConnectFour.view(&fast);
            for (x, y) in (0..42).map(|square| (square % 7, square / 7)) {
                let man = slow.at(x, y).unwrap_or('.').to_string();
                prop_assert_eq!(&view.cells[5 - y as usize][x as usize], &man);
            }
            if legal.is_empty() {
                break;
            }
            let column = legal[random.random_range(0..legal.len())];
            slow.play(column);
            ConnectFour.play(&mut fast, Action(column as u16));
        }
    }
}
