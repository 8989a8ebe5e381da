//! A slow, obvious implementation of the rules of Cage, compared with the fast one.

use std::collections::{BTreeMap, BTreeSet};

use petteia::game::{Game, Outcome, Player};
use petteia::games::cage::{Cage, State};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{actions, cage, numbers};

/// A second implementation of the rules, on a board of letters, one question at a time.
#[derive(Clone)]
pub(super) struct Slow {
    size: i32,
    /// The contents of (file, rank); empty squares are left out.
    board: BTreeMap<(i32, i32), char>,
    /// `R` or `B`.
    side: char,
    jumping: Option<(i32, i32)>,
    plies: usize,
    last_mover: char,
}

const ORTHOGONAL: [(i32, i32); 4] = [(1, 0), (-1, 0), (0, 1), (0, -1)];

impl Slow {
    pub(super) fn initial(size: usize) -> Slow {
        let size = size as i32;
        let all = (0..size * size).map(|square| (square % size, square / size));
        let board = all.map(|(x, y)| ((x, y), if (x + y) % 2 == 0 { 'R' } else { 'B' })).collect();
        Slow { size, board, side: 'R', jumping: None, plies: 0, last_mover: 'B' }
    }

    /// A random position with any number of checkers.
    fn random(size: usize, random: &mut Xoshiro256PlusPlus) -> Slow {
        let mut slow = Slow::initial(size);
        let (checkers, red) = (random.random_range(0.0..1.0), random.random_range(0.0..1.0));
        slow.board.retain(|_, _| random.random_bool(checkers));
        slow.board.values_mut().for_each(|letter| *letter = if random.random_bool(red) { 'R' } else { 'B' });
        (slow.side, slow.last_mover) = if random.random_bool(0.5) { ('R', 'B') } else { ('B', 'R') };
        slow.plies = random.random_range(1..1000);
        let jumpers: Vec<_> = slow.own().into_iter().filter(|from| !slow.jumps(*from).is_empty()).collect();
        if !jumpers.is_empty() && slow.winner().is_none() && random.random_bool(0.3) {
            slow.jumping = Some(jumpers[random.random_range(0..jumpers.len())]);
        }
        slow
    }

    fn enemy(&self) -> char {
        if self.side == 'R' { 'B' } else { 'R' }
    }

    fn on_board(&self, (x, y): (i32, i32)) -> bool {
        x >= 0 && y >= 0 && x < self.size && y < self.size
    }

    fn at(&self, square: (i32, i32)) -> char {
        self.board.get(&square).copied().unwrap_or('.')
    }

    fn own(&self) -> Vec<(i32, i32)> {
        self.board.iter().filter(|(_, letter)| **letter == self.side).map(|(square, _)| *square).collect()
    }

    /// The sheet's nb(s, c); the moving checker stands on `from`.
    fn nb(&self, s: (i32, i32), c: char, from: (i32, i32)) -> usize {
        let neighbours = ORTHOGONAL.map(|(dx, dy)| (s.0 + dx, s.1 + dy));
        neighbours.into_iter().filter(|square| *square != from && self.at(*square) == c).count()
    }

    fn may_land(&self, to: (i32, i32), from: (i32, i32)) -> bool {
        self.on_board(to) && self.at(to) == '.' && self.nb(to, self.side, from) == 0
    }

    fn name(square: (i32, i32)) -> String {
        format!("{}{}", (b'a' + square.0 as u8) as char, square.1 + 1)
    }

    fn steps(&self, from: (i32, i32)) -> Vec<String> {
        let distance = |(x, y): (i32, i32)| (2 * x - self.size + 1).pow(2) + (2 * y - self.size + 1).pow(2);
        let mut steps = Vec::new();
        for (dx, dy) in (0..9).map(|step| (step % 3 - 1, step / 3 - 1)) {
            let to = (from.0 + dx, from.1 + dy);
            let contact = self.nb(from, self.enemy(), from) > 0;
            let contact_then = self.nb(to, self.enemy(), from) > 0;
            let centering = distance(to) < distance(from);
            let adjoining = !contact && contact_then;
            let leaving = contact && !contact_then;
            if to != from && self.may_land(to, from) && (centering || adjoining) && !leaving {
                steps.push(format!("{}-{}", Slow::name(from), Slow::name(to)));
            }
        }
        steps
    }

    fn jumps(&self, from: (i32, i32)) -> Vec<String> {
        let mut jumps = Vec::new();
        for (dx, dy) in ORTHOGONAL {
            let (over, to) = ((from.0 + dx, from.1 + dy), (from.0 + 2 * dx, from.1 + 2 * dy));
            if self.at(over) != self.enemy() {
                continue;
            }
            if !self.on_board(to) {
                jumps.push(format!("{}xoff({})", Slow::name(from), Slow::name(over)));
            } else if self.may_land(to, from) {
                jumps.push(format!("{}x{}", Slow::name(from), Slow::name(to)));
            }
        }
        jumps
    }

    fn actions(&self) -> BTreeSet<String> {
        if self.winner().is_some() {
            return BTreeSet::new();
        }
        if let Some(from) = self.jumping {
            return self.jumps(from).into_iter().collect();
        }
        let all = |from: (i32, i32)| self.steps(from).into_iter().chain(self.jumps(from));
        let actions: BTreeSet<String> = self.own().into_iter().flat_map(all).collect();
        if actions.is_empty() { BTreeSet::from(["pass".to_string()]) } else { actions }
    }

    fn square(text: &str) -> (i32, i32) {
        ((text.as_bytes()[0] - b'a') as i32, text[1..].parse::<i32>().unwrap() - 1)
    }

    fn play(&mut self, action: &str) {
        self.plies += 1;
        self.last_mover = self.side;
        self.jumping = None;
        if let Some((from, to)) = action.split_once('-') {
            self.board.remove(&Slow::square(from));
            self.board.insert(Slow::square(to), self.side);
        } else if let Some((from, captured)) = action.split_once("xoff(") {
            self.board.remove(&Slow::square(from));
            self.board.remove(&Slow::square(captured.trim_end_matches(')')));
        } else if let Some((from, to)) = action.split_once('x') {
            let (from, to) = (Slow::square(from), Slow::square(to));
            self.board.remove(&from);
            self.board.remove(&((from.0 + to.0) / 2, (from.1 + to.1) / 2));
            self.board.insert(to, self.side);
            if !self.jumps(to).is_empty() {
                self.jumping = Some(to);
                return;
            }
        }
        self.side = self.enemy();
    }

    /// `R`, `B` or `=`.
    fn winner(&self) -> Option<char> {
        let has = |letter: char| self.board.values().any(|other| *other == letter);
        match (has('R'), has('B')) {
            (true, true) if self.plies == 1000 => Some('='),
            (true, true) => None,
            (true, false) => Some('R'),
            (false, true) => Some('B'),
            (false, false) => Some(self.last_mover),
        }
    }

    pub(super) fn text(&self) -> String {
        let rank = |y: i32| (0..self.size).map(|x| self.at((x, y))).collect::<String>();
        let mut board = (0..self.size).rev().map(rank).collect::<Vec<_>>().join("/");
        for run in (1..=10).rev() {
            board = board.replace(&".".repeat(run), &run.to_string());
        }
        let jumping = self.jumping.map_or("-".to_string(), Slow::name);
        format!("{board} {} {jumping} {}", self.side.to_ascii_lowercase(), self.plies)
    }

    /// The planes as the module's table describes them, computed one square at a time.
    fn planes(&self) -> Vec<f32> {
        let them = Slow { side: self.enemy(), jumping: None, ..self.clone() };
        let nowhere = (-9, -9);
        let mut planes = vec![Vec::new(); 13 + self.size as usize / 2];
        for (y, x) in (0..self.size * self.size).map(|square| (square / self.size, square % self.size)) {
            let here = (x, y);
            let mut set = |plane: usize, on: bool| planes[plane].push(on as usize as f32);
            for (index, us) in [self, &them].into_iter().enumerate() {
                let own = us.at(here) == us.side;
                let jumpers: Vec<_> =
                    us.own().into_iter().filter(|s| us.jumping.is_none_or(|j| j == *s)).collect();
                // a jump over `here` comes from one neighbor and leads off the board or to the opposite neighbor
                let over = |from: &(i32, i32)| {
                    let (dx, dy) = (x - from.0, y - from.1);
                    let to = (x + dx, y + dy);
                    let beside = dx.abs() + dy.abs() == 1;
                    beside && us.at(here) == us.enemy() && (!us.on_board(to) || us.may_land(to, *from))
                };
                set(index, own);
                set(4 + index, own && us.nb(here, us.enemy(), nowhere) > 0);
                set(6 + index, us.may_land(here, nowhere));
                set(8 + index, jumpers.contains(&here) && !us.jumps(here).is_empty());
                set(11 - index, jumpers.iter().any(over));
            }
            set(2, self.at(here) == '.');
            set(3, self.jumping == Some(here));
            let far = |coordinate: i32| (2 * coordinate - self.size + 1).abs() / 2;
            (0..self.size / 2).for_each(|ring| set(13 + ring as usize, far(x).max(far(y)) == ring));
            planes[12].push((self.plies.max(500) - 500) as f32 / 500.0);
        }
        planes.concat()
    }
}

fn agree(game: &Cage, fast: &State, slow: &Slow) -> Result<(), TestCaseError> {
    prop_assert_eq!(game.state_text(fast), slow.text());
    prop_assert_eq!(&game.parse_state(&slow.text()).unwrap(), fast);
    prop_assert_eq!(actions(game, fast), slow.actions(), "{}", slow.text());
    prop_assert_eq!(game.count_legal_actions(fast, &mut Vec::new()), slow.actions().len());
    prop_assert_eq!(numbers(game, fast), slow.planes(), "{}", slow.text());
    let outcome = game.outcome(fast).map(|outcome| match outcome {
        Outcome::Win(Player::First) => 'R',
        Outcome::Win(Player::Second) => 'B',
        Outcome::Draw => '=',
    });
    prop_assert_eq!(outcome, slow.winner(), "{}", slow.text());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn fast_and_slow_rules_agree(seed: u64, half in 2usize..=5) {
        let game = cage(2 * half);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut fast, mut slow) = (game.initial(), Slow::initial(2 * half));
        loop {
            agree(&game, &fast, &slow)?;
            let legal = game.legal(&fast);
            if legal.is_empty() {
                break;
            }
            let action = legal[random.random_range(0..legal.len())];
            slow.play(&game.action_text(&fast, action));
            game.play(&mut fast, action);
        }
    }

    #[test]
    fn they_agree_on_any_placement(seed: u64, half in 2usize..=5) {
        let game = cage(2 * half);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..10 {
            let slow = Slow::random(2 * half, &mut random);
            let fast = game.parse_state(&slow.text()).unwrap();
            agree(&game, &fast, &slow)?;
            for action in game.legal(&fast) {
                let (mut fast, mut slow) = (fast, slow.clone());
                slow.play(&game.action_text(&fast, action));
                game.play(&mut fast, action);
                agree(&game, &fast, &slow)?;
            }
        }
    }
}
