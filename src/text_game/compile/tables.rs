//! Tables that compiled functions read.

use crate::text_game::mask::Mask;
use crate::text_game::ops::Ahead;

/// Tables at fixed addresses. They must live as long as the functions that read them.
#[derive(Debug, Default)]
pub(super) struct Tables<M> {
    numbers: Vec<Box<[i64]>>,
    sets: Vec<Box<[M]>>,
    /// For each step, the address of the rays from every square.
    rays: Vec<(Ahead<M>, i64)>,
    /// For each list of steps, the address of the squares near every square.
    near: Vec<(Vec<Ahead<M>>, i64)>,
}

impl<M: Mask> Tables<M> {
    /// Adds a table of numbers and returns its address.
    pub(super) fn numbers(&mut self, numbers: impl Iterator<Item = i64>) -> i64 {
        let table: Box<[i64]> = numbers.collect();
        let address = table.as_ptr() as i64;
        self.numbers.push(table);
        address
    }

    /// Adds a table of sets and returns its address.
    pub(super) fn sets(&mut self, sets: impl Iterator<Item = M>) -> i64 {
        let table: Box<[M]> = sets.collect();
        let address = table.as_ptr() as i64;
        self.sets.push(table);
        address
    }

    /// Returns the address of the rays in a direction, from each square of the board on. Behind them are empty sets,
    /// for the number that an empty set has as its lowest square.
    pub(super) fn rays(&mut self, ahead: &Ahead<M>, cells: usize) -> i64 {
        if let Some((_, address)) = self.rays.iter().find(|(known, _)| known == ahead) {
            return *address;
        }
        let from = |square: usize| if square < cells { ahead.ray(square) } else { M::NONE };
        let address = self.sets((0..=M::SQUARES).map(from));
        self.rays.push((*ahead, address));
        address
    }

    /// Returns the address of the squares that some steps lead to from each square of the board. Behind them are empty
    /// sets, as behind the rays.
    pub(super) fn near(&mut self, steps: &[Ahead<M>], cells: usize, near: impl Fn(usize) -> M) -> i64 {
        if let Some((_, address)) = self.near.iter().find(|(known, _)| known == steps) {
            return *address;
        }
        let address =
            self.sets((0..=M::SQUARES).map(|square| if square < cells { near(square) } else { M::NONE }));
        self.near.push((steps.to_vec(), address));
        address
    }
}
