//! A slow, obvious implementation of the rules of Custodial Trap, compared with the fast one.

use std::collections::BTreeSet;

use petteia::board::Symmetry;
use petteia::game::{Action, Game, Outcome, Player, Variants};
use petteia::games::custodial_trap::{CustodialTrap, State};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{actions, game};

/// A second implementation of the rules, on a board of letters, one man and one step at a time.
#[derive(Clone)]
struct Slow {
    variant: &'static str,
    /// `[rank][file]`: `w`, `b` or `.`.
    board: [[char; 8]; 8],
    /// `w` or `b` in play, otherwise `A` or `B`.
    turn: char,
    reserve: [usize; 2],
    clock: usize,
    ply: usize,
    /// The phase as in the text, without the square.
    phase: &'static str,
    last: Option<(i32, i32)>,
    first: char,
    a: char,
    /// All positions of phase play: board, reserves, side to move.
    history: Vec<String>,
    diagonal_capture: bool,
    repetition: usize,
    no_progress: usize,
}

fn other(color: char) -> char {
    if color == 'w' { 'b' } else { 'w' }
}

fn name(x: i32, y: i32) -> String {
    format!("{}{}", (b'a' + x as u8) as char, y + 1)
}

fn square(name: &str) -> (i32, i32) {
    let [file, rank] = name.as_bytes() else { panic!("{name}") };
    ((file - b'a') as i32, (rank - b'1') as i32)
}

fn inner() -> impl Iterator<Item = (i32, i32)> {
    (1..7).flat_map(|y| (1..7).map(move |x| (x, y)))
}

const AROUND: [(i32, i32); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

impl Slow {
    fn initial(variant: &'static str) -> Slow {
        let ranks = match variant {
            "intro" => ["", "wwwwww", "wwwwww", "wwwwww", "bbbbbb", "bbbbbb", "bbbbbb", ""],
            "intermediate" => ["", ".wwbb.", "wwwbbb", "wwwbbb", "bbbwww", "bbbwww", ".bbww.", ""],
            _ => [""; 8],
        };
        let mut board = [['.'; 8]; 8];
        for (rank, row) in ranks.iter().zip(&mut board) {
            rank.chars().zip(&mut row[1..]).for_each(|(letter, cell)| *cell = letter);
        }
        let (turn, reserve, phase) = match variant {
            "intro" => ('w', 0, "play"),
            "intermediate" => ('w', 2, "play"),
            _ => ('A', 18, "place:"),
        };
        let mut slow = Slow {
            variant,
            board,
            turn,
            reserve: [reserve; 2],
            clock: 0,
            ply: 0,
            phase,
            last: None,
            first: '-',
            a: '-',
            history: Vec::new(),
            diagonal_capture: true,
            repetition: 3,
            no_progress: 100,
        };
        slow.history.push(slow.repeatable());
        slow
    }

    fn at(&self, x: i32, y: i32) -> char {
        if (0..8).contains(&x) && (0..8).contains(&y) { self.board[y as usize][x as usize] } else { '#' }
    }

    fn men(&self, color: char) -> Vec<(i32, i32)> {
        (0..64).map(|s| (s % 8, s / 8)).filter(|(x, y)| self.at(*x, *y) == color).collect()
    }

    fn reserve(&self, color: char) -> usize {
        self.reserve[(color == 'b') as usize]
    }

    /// The content of the square behind the run of `color` that begins on a square.
    fn behind(&self, (mut x, mut y): (i32, i32), (dx, dy): (i32, i32), color: char) -> char {
        while self.at(x, y) == color {
            (x, y) = (x + dx, y + dy);
        }
        self.at(x, y)
    }

    fn trapped(&self, x: i32, y: i32) -> bool {
        let color = self.at(x, y);
        AROUND[..4].iter().any(|&(dx, dy)| {
            let ends = [(dx, dy), (-dx, -dy)].map(|step| self.behind((x, y), step, color));
            ends == [other(color); 2]
        })
    }

    fn actions(&self) -> BTreeSet<String> {
        if self.phase == "play" { self.moves() } else { self.set_up() }
    }

    fn moves(&self) -> BTreeSet<String> {
        let (own, enemy) = (self.turn, other(self.turn));
        let mut actions = BTreeSet::new();
        for (x, y) in self.men(own).into_iter().filter(|(x, y)| !self.trapped(*x, *y)) {
            for (dx, dy) in AROUND {
                let (mut tx, mut ty) = (x + dx, y + dy);
                let straight = dx == 0 || dy == 0;
                if self.at(tx, ty) == enemy
                    && (straight || self.diagonal_capture)
                    && self.behind((tx, ty), (dx, dy), enemy) == own
                {
                    actions.insert(format!("{}x{}", name(x, y), name(tx, ty)));
                }
                while self.at(tx, ty) == '.' {
                    actions.insert(format!("{}-{}", name(x, y), name(tx, ty)));
                    (tx, ty) = (tx + dx, ty + dy);
                }
            }
        }
        if self.reserve(own) > 0 {
            let empty = inner().filter(|(x, y)| self.at(*x, *y) == '.');
            actions.extend(empty.map(|(x, y)| format!("@{}", name(x, y))));
        }
        actions
    }

    fn set_up(&self) -> BTreeSet<String> {
        let on_board = 64 - self.men('.').len();
        let texts: &[&str] = match self.phase {
            "pick" => &["pick:w", "pick:b"],
            "choose" if on_board == 36 => &["pick:w", "pick:b", "re:w", "re:b", "re:s", "re:n"],
            "choose" => &["pick:w", "pick:b", "re:w", "re:b"],
            _ if on_board == 0 => &[],
            "place:" => &["first:w", "first:b"],
            _ => &["done"],
        };
        let mut actions: BTreeSet<String> = texts.iter().map(|text| text.to_string()).collect();
        let colors = match self.phase {
            "choose" | "pick" => "",
            "re-w:" => "w",
            "re-b:" => "b",
            _ => "wb",
        };
        for color in colors.chars().filter(|color| self.reserve(*color) > 0) {
            for (x, y) in inner().filter(|(x, y)| self.at(*x, *y) == '.') {
                if self.last.is_none_or(|(last_x, last_y)| (y, x) > (last_y, last_x)) {
                    actions.insert(format!("{}@{}", color.to_ascii_uppercase(), name(x, y)));
                }
            }
        }
        actions
    }

    fn put(&mut self, color: char, (x, y): (i32, i32)) {
        self.board[y as usize][x as usize] = color;
        self.reserve[(color == 'b') as usize] -= 1;
    }

    fn play(&mut self, action: &str) {
        self.ply += 1;
        if self.phase == "play" {
            self.play_move(action)
        } else {
            self.play_set_up(action)
        }
        if self.phase == "play" {
            self.history.push(self.repeatable());
        }
    }

    fn play_move(&mut self, action: &str) {
        let own = self.turn;
        self.clock += 1;
        self.turn = other(own);
        if let Some(drop) = action.strip_prefix('@') {
            self.put(own, square(drop));
            self.clock = 0;
            return;
        }
        let (from, to) = action.split_once(['-', 'x']).unwrap();
        let ((from_x, from_y), (to_x, to_y)) = (square(from), square(to));
        self.board[from_y as usize][from_x as usize] = '.';
        self.board[to_y as usize][to_x as usize] = own;
        if action.contains('x') {
            self.clock = 0;
        }
    }

    fn play_set_up(&mut self, action: &str) {
        if let Some((color, place)) = action.split_once('@') {
            self.put(color.to_lowercase().chars().next().unwrap(), square(place));
            self.last = Some(square(place));
            return;
        }
        self.last = None;
        let (word, what) = action.split_once(':').unwrap_or((action, "-"));
        let what = what.chars().next().unwrap();
        match word {
            "first" => (self.first, self.turn, self.phase) = (what, 'B', "choose"),
            "done" => (self.turn, self.phase) = ('A', "pick"),
            "pick" => {
                self.a = if self.turn == 'A' { what } else { other(what) };
                (self.turn, self.phase) = (self.first, "play");
                self.history.clear();
            }
            _ => {
                self.phase = match what {
                    'w' => "re-w:",
                    'b' => "re-b:",
                    's' => "re-s:",
                    _ => "re-n:",
                };
                for (x, y) in inner() {
                    let color = self.at(x, y);
                    let half = if y < 4 { 's' } else { 'n' };
                    if color != '.' && (what == color || what == half) {
                        self.board[y as usize][x as usize] = '.';
                        self.reserve[(color == 'b') as usize] += 1;
                    }
                }
            }
        }
    }

    fn one_group(&self, color: char) -> bool {
        let men = self.men(color);
        let mut group = vec![men[0]];
        let mut looked_at = 0;
        while looked_at < group.len() {
            let (x, y) = group[looked_at];
            for beside in [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)] {
                if self.at(beside.0, beside.1) == color && !group.contains(&beside) {
                    group.push(beside);
                }
            }
            looked_at += 1;
        }
        group.len() == men.len()
    }

    /// `w`, `b`: that color has won, `=` draw.
    fn outcome(&self) -> Option<char> {
        if self.phase != "play" {
            return None;
        }
        let (o, m) = (self.turn, other(self.turn));
        let grouped = |color| self.variant != "intro" && self.reserve(color) == 0 && self.one_group(color);
        if self.men(o).len() + self.reserve(o) < 7 || grouped(m) || self.moves().is_empty() {
            return Some(m);
        }
        if grouped(o) {
            return Some(o);
        }
        let now = self.repeatable();
        let occurrences = self.history.iter().filter(|earlier| **earlier == now).count();
        let repeated = self.repetition > 0 && occurrences >= self.repetition;
        (repeated || self.clock >= self.no_progress).then_some('=')
    }

    /// Board, reserves and side to move.
    fn repeatable(&self) -> String {
        let ranks: Vec<String> = self.board.iter().rev().map(|rank| rank.iter().collect()).collect();
        let mut board = ranks.join("/");
        for run in (1..=8).rev() {
            board = board.replace(&".".repeat(run), &run.to_string());
        }
        format!("{board} {} {}/{}", self.turn, self.reserve[0], self.reserve[1])
    }

    fn text(&self) -> String {
        let mut phase = self.phase.to_string();
        if phase.ends_with(':') {
            phase += &self.last.map_or("-".into(), |(x, y)| name(x, y));
        }
        let Slow { variant, clock, ply, first, a, .. } = self;
        format!("{variant} {} {clock} {ply} {phase} {first} {a}", self.repeatable())
    }
}

/// The number of games in the comparison.
const CASES: u32 = if cfg!(debug_assertions) { 10 } else { 40 };

/// The way in which a game of the comparison is played.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Uniform,
    Captures,
    Drops,
    Shuttle,
}

/// Plays one game with both implementations and compares everything that can be observed.
fn compare(fast: &CustodialTrap, mut slow: Slow, policy: Policy, seed: u64) -> Result<(), TestCaseError> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut state = fast.initial();
    let mut played = Vec::new();
    loop {
        prop_assert_eq!(fast.state_text(&state), slow.text());
        let expected = slow.outcome();
        let outcome = fast.outcome(&state).map(|outcome| match outcome {
            Outcome::Win(player) if (player == Player::First) == (slow.a != 'b') => 'w',
            Outcome::Win(_) => 'b',
            Outcome::Draw => '=',
        });
        prop_assert_eq!(outcome, expected, "{}", slow.text());
        if expected.is_some() {
            prop_assert_eq!(fast.legal(&state), []);
            return Ok(());
        }
        let texts = actions(fast, &state);
        prop_assert_eq!(&texts, &slow.actions(), "{}", slow.text());
        prop_assert_eq!(fast.count_legal_actions(&state, &mut Vec::new()), texts.len());
        let preferred = match policy {
            Policy::Captures => 'x',
            Policy::Drops => '@',
            _ => '?',
        };
        let mut choice: Vec<String> = texts.iter().filter(|text| text.contains(preferred)).cloned().collect();
        if choice.is_empty() || random.random_range(0..4) == 0 {
            choice = texts.into_iter().collect();
        }
        let mut text = choice[random.random_range(0..choice.len())].clone();
        if policy == Policy::Shuttle && slow.phase == "play" {
            text = fast.action_text(&state, shuttle(fast, &state, &played, &mut random));
        }
        let action = fast.parse_action(&state, &text).unwrap();
        fast.play(&mut state, action);
        slow.play(&text);
        played.push(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn fast_and_slow_rules_agree(
        seed: u64,
        variant in 0usize..3,
        policy in prop_oneof![
            Just(Policy::Uniform), Just(Policy::Captures), Just(Policy::Drops), Just(Policy::Shuttle),
        ],
        diagonal_capture in proptest::bool::weighted(0.7),
        repetition in prop_oneof![4 => Just(3usize), 1 => Just(2), 1 => Just(5), 1 => Just(0)],
        no_progress in prop_oneof![3 => Just(100usize), 1 => 2usize..100],
    ) {
        let variant = CustodialTrap::VARIANTS[variant];
        let switches = format!(
            "diagonal_capture = {diagonal_capture}\nrepetition = {repetition}\nno_progress = {no_progress}"
        );
        let slow = Slow { diagonal_capture, repetition, no_progress, ..Slow::initial(variant) };
        compare(&game(variant, &switches), slow, policy, seed)?;
    }
}

/// Random games hardly repeat positions, so here nearly every action takes back the last but one.
#[test]
fn shuttles_keep_the_contract_of_keys_and_lists() {
    for (variant, switches) in
        [("intro", ""), ("intro", "repetition = 4"), ("intermediate", "repetition = 2")]
    {
        let game = game(variant, switches);
        let mut drawn = 0;
        for seed in 0..20 {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut played: Vec<String> = Vec::new();
            let mut state = game.initial();
            while game.outcome(&state).is_none() {
                for symmetry in Symmetry::SQUARE {
                    let mapped = game.map_state(symmetry, &state);
                    assert_eq!(game.outcome(&mapped), None);
                    let written = game.without_history(&mapped);
                    assert_eq!(game.key(&mapped) == game.key(&written), {
                        game.key(&state) == game.key(&game.without_history(&state))
                    });
                }
                let action = shuttle(&game, &state, &played, &mut random);
                played.push(game.action_text(&state, action));
                game.play(&mut state, action);
                let parsed = game.parse_state(&game.state_text(&state)).unwrap();
                assert_eq!(parsed, game.without_history(&state));
            }
            drawn += (game.outcome(&state) == Some(Outcome::Draw)) as u32;
        }
        assert!(drawn > 10, "{variant} {switches}: {drawn} draws");
    }
}

/// Usually takes back the player's own last slide, if that is possible.
fn shuttle(
    game: &CustodialTrap,
    state: &State,
    played: &[String],
    random: &mut Xoshiro256PlusPlus,
) -> Action {
    let back = played.iter().rev().nth(1).and_then(|slide| {
        let (from, to) = slide.split_once('-')?;
        game.parse_action(state, &format!("{to}-{from}"))
    });
    let legal = game.legal(state);
    back.filter(|_| random.random_range(0..8) > 0).unwrap_or(legal[random.random_range(0..legal.len())])
}
