//! A series of values by generation that keeps at most [`MOST`] of them.

use std::collections::BTreeMap;

/// The largest number of values that are kept; no chart has room for more.
pub(crate) const MOST: usize = 400;

/// A value for each generation or, if there are too many, for only every second, fourth, or eighth generation, and so
/// on. The first and the newest are always kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Thinned<T> {
    kept: BTreeMap<usize, T>,
    every: usize,
}

impl<T> Default for Thinned<T> {
    fn default() -> Thinned<T> {
        Thinned { kept: BTreeMap::new(), every: 1 }
    }
}

impl<T> Thinned<T> {
    /// Adds the value of a generation, or replaces it.
    pub fn add(&mut self, generation: usize, value: T) {
        let newest = self.newest().map(|(newest, _)| newest);
        // the newest value is kept only until a newer one is added, unless its generation is one of those to keep
        match newest {
            Some(newest) if newest > generation && !self.is_kept(generation) => return,
            Some(newest) if newest < generation && !self.is_kept(newest) => drop(self.kept.remove(&newest)),
            _ => {}
        }
        self.kept.insert(generation, value);
        while self.kept.len() > MOST {
            self.every *= 2;
            let newest = self.newest().map_or(0, |(newest, _)| newest);
            let every = self.every;
            self.kept.retain(|generation, _| is_one_in(every, *generation) || *generation == newest);
        }
    }

    /// Returns the generations that are kept and their values, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &T)> {
        self.kept.iter().map(|(generation, value)| (*generation, value))
    }

    /// Returns the newest generation and its value.
    pub fn newest(&self) -> Option<(usize, &T)> {
        self.iter().next_back()
    }

    /// Returns the interval between generations that are kept.
    pub fn every(&self) -> usize {
        self.every
    }

    fn is_kept(&self, generation: usize) -> bool {
        is_one_in(self.every, generation)
    }
}

fn is_one_in(every: usize, generation: usize) -> bool {
    generation % every == 1 % every
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_many_are_kept_evenly_spread() {
        let mut thinned = Thinned::default();
        for generation in 1..=MOST {
            thinned.add(generation, generation);
        }
        assert_eq!((thinned.iter().count(), thinned.every()), (MOST, 1));
        for generation in MOST + 1..=100_000 {
            thinned.add(generation, generation);
            assert!(thinned.iter().count() <= MOST);
        }
        let kept: Vec<usize> = thinned.iter().map(|(generation, _)| generation).collect();
        assert_eq!((kept[0], kept[kept.len() - 1], thinned.every()), (1, 100_000, 256));
        assert!(kept.len() > MOST / 2 && kept[..kept.len() - 1].windows(2).all(|two| two[1] - two[0] == 256));
    }

    #[test]
    fn the_last_word_about_a_generation_counts() {
        let mut thinned = Thinned::default();
        [(1, 'a'), (2, 'b'), (2, 'c'), (1, 'd')].into_iter().for_each(|(at, value)| thinned.add(at, value));
        assert_eq!(thinned.iter().collect::<Vec<_>>(), [(1, &'d'), (2, &'c')]);
        // generations in any order, with numbers of any size
        let mut odd = Thinned::default();
        [usize::MAX, 0, 7, usize::MAX - 1].into_iter().for_each(|at| odd.add(at, ()));
        (0..10_000).for_each(|at| odd.add(at * 0x9e37_79b9, ()));
        assert!(odd.iter().count() <= MOST && odd.newest().unwrap().0 == usize::MAX);
    }
}
