//! The legal actions that compiled functions find, and how their numbers are read out.
//!
//! A function marks the actions of each plane in words, as squares in the view of the player to move. The words are in
//! the order of the numbers of the actions. It is faster to read many words out in one loop than to write the numbers
//! of each plane where they are found: that code is long, and its branches are hard to predict.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Range;

use crate::game::Action;
use crate::text_game::mask::Mask;
use crate::text_game::rules::{Line, Rules};

/// The most words that are kept on the stack.
const FEW_WORDS: usize = 8;

thread_local! {
    /// Words without actions.
    static WORDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The words of all actions of a player.
#[derive(Debug)]
pub(super) struct Layout {
    /// For each word, the action of its lowest bit.
    firsts: Vec<u16>,
    /// For each phase, the words of its lines.
    phases: Vec<Range<usize>>,
    reader: Reader,
}

/// Functions that may be called only on machines with the instructions that they use.
#[derive(Debug)]
struct Reader {
    /// Counts actions.
    count: unsafe fn(&[u64]) -> usize,
    /// Appends actions to a list; the second argument has the action of the lowest bit of each word.
    append: unsafe fn(&[u64], &[u16], &mut Vec<Action>),
}

impl Layout {
    pub(super) fn new<M: Mask>(rules: &Rules<M>, cells: usize) -> Layout {
        let words = cells.div_ceil(64);
        let of_planes =
            (0..rules.planes).flat_map(|plane| (0..words).map(move |word| plane * cells + 64 * word));
        let mut others: Vec<&Line<M>> =
            rules.lines.iter().filter(|line| !line.moves.is_on_squares()).collect();
        others.sort_by_key(|line| line.first);
        let of_others = others.iter().flat_map(|line| (0..words).map(|word| line.first + 64 * word));
        let firsts = of_planes.chain(of_others).map(|first| first as u16).collect();
        let reader = readers().next().expect("every machine can run the plain functions");
        let phase = |phase: usize| {
            let ranges = rules.lines.iter().filter(|line| line.phase == phase).map(|line| {
                let first = first_word(rules, line, words);
                first..first + words * if line.moves.is_on_squares() { line.moves.width(0) } else { 1 }
            });
            let all = ranges.reduce(|all, more| all.start.min(more.start)..all.end.max(more.end));
            all.unwrap_or(0..0)
        };
        Layout { firsts, phases: (0..rules.passes.len()).map(phase).collect(), reader }
    }

    /// Calls `find` with empty words, and `then` with those of a phase.
    #[inline]
    fn found<R>(&self, phase: u8, find: impl FnOnce(*mut u64), then: impl FnOnce(&[u64], &[u16]) -> R) -> R {
        let range = self.phases[usize::from(phase)].clone();
        let firsts = &self.firsts[range.clone()];
        if self.firsts.len() <= FEW_WORDS {
            let mut words = [0; FEW_WORDS];
            find(words.as_mut_ptr());
            return then(&words[range], firsts);
        }
        WORDS.with_borrow_mut(|words| {
            if words.len() < self.firsts.len() {
                words.resize(self.firsts.len(), 0);
            }
            find(words.as_mut_ptr());
            let words = &mut words[range];
            let result = then(words, firsts);
            words.fill(0);
            result
        })
    }

    /// Counts the actions that `find` marks.
    #[inline]
    #[expect(unsafe_code, reason = "see `Reader`")]
    pub(super) fn count(&self, phase: u8, find: impl FnOnce(*mut u64)) -> usize {
        // SAFETY: this machine has the instructions
        self.found(phase, find, |words, _| unsafe { (self.reader.count)(words) })
    }

    /// Replaces the contents of `out` with the actions that `find` marks.
    #[inline]
    #[expect(unsafe_code, reason = "see `Reader`")]
    pub(super) fn list(&self, phase: u8, find: impl FnOnce(*mut u64), out: &mut Vec<Action>) {
        out.clear();
        // SAFETY: this machine has the instructions
        self.found(phase, find, |words, firsts| unsafe { (self.reader.append)(words, firsts, out) });
    }
}

/// Returns the first word of a line's actions; a set has this number of words.
pub(super) fn first_word<M: Mask>(rules: &Rules<M>, line: &Line<M>, words: usize) -> usize {
    if line.moves.is_on_squares() {
        return line.first * words;
    }
    let is_before = |other: &&Line<M>| !other.moves.is_on_squares() && other.first < line.first;
    (rules.planes + rules.lines.iter().filter(is_before).count()) * words
}

/// Returns the functions that this machine can run, fastest first.
fn readers() -> impl Iterator<Item = Reader> {
    #[cfg(target_arch = "x86_64")]
    let fast = {
        let has_bits = is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1");
        let is_wide =
            has_bits && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2");
        let wide = Reader { count: x86::count, append: x86::append_wide };
        let bits = Reader { count: x86::count, append: x86::append };
        [is_wide.then_some(wide), has_bits.then_some(bits)].into_iter().flatten()
    };
    #[cfg(not(target_arch = "x86_64"))]
    let fast = std::iter::empty();
    fast.chain([Reader { count, append }])
}

#[inline(always)]
fn count(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

#[inline(always)]
fn append(words: &[u64], firsts: &[u16], out: &mut Vec<Action>) {
    // a loop with a fixed number of steps, most of which write an action, is faster than one for each action
    const AT_ONCE: usize = 4;
    append_with(words, firsts, out, |bits, count, first, to| {
        let mut bits = bits;
        for slots in to.chunks_exact_mut(AT_ONCE).take(count.div_ceil(AT_ONCE)) {
            for slot in slots {
                slot.write(Action(first.wrapping_add(bits.trailing_zeros() as u16)));
                bits &= bits.wrapping_sub(1);
            }
        }
    });
}

/// The actions of a word, and the room that [`append_with`] gives for them.
const ROOM: usize = 64;

/// Appends the actions of each word, which `write` writes: it gets the bits of a word, how many there are, the action
/// of the lowest bit, and the room for the actions. It may write anything behind the actions.
#[inline(always)]
#[expect(unsafe_code, reason = "actions are written into the room behind a list")]
fn append_with(
    words: &[u64],
    firsts: &[u16],
    out: &mut Vec<Action>,
    write: impl Fn(u64, usize, u16, &mut [MaybeUninit<Action>; ROOM]),
) {
    let count: usize = words.iter().map(|word| word.count_ones() as usize).sum();
    out.reserve(count + ROOM);
    let mut end = out.len();
    let start = out.as_mut_ptr();
    let mut put = |bits: u64, first: u16| {
        let count = bits.count_ones() as usize;
        // SAFETY: there is room for all actions and, behind them, for as many as a word has
        let room = unsafe { &mut *start.add(end).cast::<[MaybeUninit<Action>; ROOM]>() };
        write(bits, count, first, room);
        end += count;
    };
    if words.len() <= FEW_WORDS {
        words.iter().zip(firsts).for_each(|(bits, first)| put(*bits, *first));
    } else {
        for (words, firsts) in words.chunks(64).zip(firsts.chunks(64)) {
            // most of many words are empty
            let marks = words.iter().zip(0..).map(|(word, index)| u64::from(*word != 0) << index);
            let filled = marks.fold(0, |all, mark| all | mark);
            filled.each_square(|index| put(words[index], firsts[index]));
        }
    }
    // SAFETY: all actions up to here are written
    unsafe { out.set_len(end) };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512i, _mm256_add_epi16, _mm256_cvtepu8_epi16, _mm256_set1_epi16, _mm256_storeu_si256,
        _mm512_add_epi16, _mm512_castsi512_si128, _mm512_castsi512_si256, _mm512_cvtepu8_epi16,
        _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_set1_epi16,
        _mm512_storeu_si512,
    };

    use super::Action;

    #[target_feature(enable = "popcnt,bmi1")]
    pub(super) fn count(words: &[u64]) -> usize {
        super::count(words)
    }

    #[target_feature(enable = "popcnt,bmi1")]
    pub(super) fn append(words: &[u64], firsts: &[u16], out: &mut Vec<Action>) {
        super::append(words, firsts, out);
    }

    const NUMBERS: [u8; 64] = {
        let mut numbers = [0; 64];
        let mut number = 0;
        while number < 64 {
            numbers[number] = number as u8;
            number += 1;
        }
        numbers
    };

    /// Gathers the squares of a word with one instruction.
    #[target_feature(enable = "avx512bw,avx512vbmi2,popcnt,bmi1")]
    #[expect(unsafe_code, reason = "vectors are loaded from memory and stored to it")]
    pub(super) fn append_wide(words: &[u64], firsts: &[u16], out: &mut Vec<Action>) {
        // SAFETY: the array is as long as the vector
        let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
        super::append_with(words, firsts, out, |bits, count, first, to| {
            let squares = _mm512_maskz_compress_epi8(bits, numbers);
            let to = to.as_mut_ptr();
            if count <= 16 {
                let few = _mm256_cvtepu8_epi16(_mm512_castsi512_si128(squares));
                let few = _mm256_add_epi16(few, _mm256_set1_epi16(first as i16));
                // SAFETY: there is room for 64 numbers
                return unsafe { _mm256_storeu_si256(to.cast(), few) };
            }
            let first = _mm512_set1_epi16(first as i16);
            let halves = [_mm512_castsi512_si256(squares), _mm512_extracti64x4_epi64(squares, 1)];
            for (half, place) in halves.into_iter().zip([0, 32]) {
                let half = _mm512_add_epi16(_mm512_cvtepu8_epi16(half), first);
                // SAFETY: there is room for 64 numbers
                unsafe { _mm512_storeu_si512(to.add(place).cast::<__m512i>(), half) };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    #[test]
    #[expect(unsafe_code, reason = "see `Reader`")]
    fn every_reader_finds_the_same_actions() {
        let mut random = stream(1, Purpose::Start, &[]);
        for len in [1, 2, 8, 9, 64, 65, 200] {
            let mut word = |_| match random.random_range(0..4) {
                0 => random.random::<u64>(),
                1 => u64::MAX,
                2 => 0,
                _ => 1 << random.random_range(0..64),
            };
            let words: Vec<u64> = (0..len).map(&mut word).collect();
            let firsts: Vec<u16> = (0..len).map(|word| 64 * word as u16).collect();
            let bits = |bits: u64| (0..64_u16).filter(move |bit| bits >> bit & 1 == 1);
            let expected: Vec<Action> = words
                .iter()
                .zip(&firsts)
                .flat_map(|(word, first)| bits(*word).map(move |bit| Action(first + bit)))
                .collect();
            for reader in readers() {
                let mut found = Vec::new();
                // SAFETY: this machine has the instructions of its readers
                let count = unsafe {
                    (reader.append)(&words, &firsts, &mut found);
                    (reader.count)(&words)
                };
                assert_eq!((&found, count), (&expected, expected.len()), "{len} words");
            }
        }
    }
}
