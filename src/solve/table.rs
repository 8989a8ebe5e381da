//! A table of bounded size in which a solver remembers positions. When the table is full, or memory does not suffice
//! for a larger table, new entries replace those that took the least work.
//!
//! A position is identified by [`Game::key`](crate::game::Game::key) alone: among n positions, some pair has the same
//! 64 bits with a probability of about n² / 2⁶⁵ (one in 370,000 for ten million positions).

use std::hint::black_box;

use super::Bounds;
use crate::random::mix;

/// The number of entries in a bucket; a key can be in any of them.
const WAYS: usize = 4;
/// The number of buckets of a new table.
const FIRST_BUCKETS: usize = 256;

/// What is known about a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub key: u64,
    /// The proof and the disproof number for the question `threshold`.
    pub numbers: [u32; 2],
    /// The number of nodes that the search below the position visited; 0 for a free entry.
    pub work: u32,
    /// The bounds, which are valid for every question.
    pub bounds: Bounds,
    /// The question: can the first player reach this value?
    pub threshold: i8,
}

const FREE: Entry = Entry { key: 0, numbers: [1, 1], work: 0, bounds: Bounds::UNKNOWN, threshold: 1 };

/// A hash table that grows up to a limit.
#[derive(Debug)]
pub(super) struct BoundsTable {
    entries: Vec<Entry>,
    used: usize,
    most: usize,
}

impl BoundsTable {
    /// Returns an empty table of at most `bytes` bytes, but with at least one bucket.
    pub(super) fn new(bytes: usize) -> BoundsTable {
        let buckets = (bytes / size_of::<Entry>() / WAYS).max(1);
        // the largest power of two that fits
        let buckets = 1 << buckets.ilog2();
        BoundsTable { entries: vec![FREE; WAYS * buckets.min(FIRST_BUCKETS)], used: 0, most: WAYS * buckets }
    }

    /// Doubles the table, or makes its present size the limit if there is not enough memory.
    fn grow(&mut self) {
        let (mut larger, len) = (Vec::new(), 2 * self.entries.len());
        if larger.try_reserve_exact(len).is_err() {
            self.most = self.entries.len();
            return;
        }
        larger.resize(len, FREE);
        let entries = std::mem::replace(&mut self.entries, larger);
        self.used = 0;
        entries.into_iter().filter(|entry| entry.work > 0).for_each(|entry| self.insert(entry));
    }

    /// Returns the entry of a position, if there is one.
    pub(super) fn get(&self, key: u64) -> Option<&Entry> {
        self.entries[self.bucket(key)].iter().find(|entry| entry.work > 0 && entry.key == key)
    }

    /// Makes the processor load the buckets of these positions. Buckets are far apart in memory, and several loads that
    /// do not wait for each other take about as long as a single one.
    pub(super) fn load(&self, keys: impl Iterator<Item = u64>) {
        let ends = keys.fold(0, |sum: u32, key| {
            let bucket = self.bucket(key);
            sum ^ self.entries[bucket.start].work ^ self.entries[bucket.end - 1].work
        });
        black_box(ends);
    }

    /// Stores an entry, whose `work` must be at least 1.
    pub(super) fn put(&mut self, entry: Entry) {
        if self.used * 2 > self.entries.len() && self.entries.len() < self.most {
            self.grow();
        }
        self.insert(entry);
    }

    fn insert(&mut self, entry: Entry) {
        let bucket = self.bucket(entry.key);
        let entries = &mut self.entries[bucket];
        let same = entries.iter().position(|old| old.work > 0 && old.key == entry.key);
        // a free entry has the least work, 0
        let least = || (0..WAYS).min_by_key(|place| entries[*place].work).unwrap_or(0);
        let place = same.unwrap_or_else(least);
        self.used += usize::from(entries[place].work == 0);
        entries[place] = entry;
    }

    fn bucket(&self, key: u64) -> std::ops::Range<usize> {
        let first = WAYS * (mix(key) as usize & (self.entries.len() / WAYS - 1));
        first..first + WAYS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: u64, work: u32) -> Entry {
        Entry { key, work, ..FREE }
    }

    #[test]
    fn a_table_grows_up_to_its_limit() {
        let mut table = BoundsTable::new(1 << 20);
        let room = table.most as u64;
        (0..room / 8).for_each(|key| table.put(entry(key, 1)));
        assert!((0..room / 8).filter(|key| table.get(*key).is_some()).count() as u64 > room / 8 * 9 / 10);
        (0..4 * room).for_each(|key| table.put(entry(key, 1)));
        assert_eq!(table.entries.len(), table.most);
        assert!(size_of::<Entry>() * table.most <= 1 << 20);
    }

    #[test]
    fn what_took_the_most_work_stays() {
        let mut table = BoundsTable::new(0);
        assert_eq!(table.most, WAYS);
        table.put(entry(7, 1000));
        (100..200).for_each(|key| table.put(entry(key, 1 + key as u32 % 10)));
        assert_eq!(table.get(7).map(|entry| entry.work), Some(1000));
        table.put(entry(7, 2000));
        assert_eq!(table.get(7).map(|entry| entry.work), Some(2000));
    }
}
