//! Named random streams. Every stream is a function of the run's seed and a list of numbers (purpose, generation, game,
//! and so on), and never depends on threads or time.

use rand::{RngExt, SeedableRng};

/// The generator of all streams (xoshiro256++, Blackman and Vigna 2019).
pub type Random = rand_xoshiro::Xoshiro256PlusPlus;

/// The purpose of a stream, which is part of its name.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// A self-play game; numbers: generation and game index.
    Selfplay = 1,
    /// Sampling for one training step; number: the step.
    Sampling = 2,
    /// The network's initial weights.
    Weights = 3,
    /// Openings of an arena match; number: the pair.
    Opening = 4,
    /// An agent in an arena game; numbers: game and side.
    Agent = 5,
    /// The random game that leads to a solved position; number: the candidate.
    Endgame = 6,
    /// Whether a game is held out of training; numbers: generation and game index.
    HeldOut = 7,
    /// The start of a self-play game; numbers: generation and game index.
    Start = 8,
    /// Random actions in games that are stepped together; numbers: the draw and the block of games.
    Stepping = 9,
}

/// Returns the stream for this purpose and these numbers.
///
/// ```
/// use petteia::random::{Purpose, choose, stream};
///
/// let letters = |game: u64| {
///     let mut random = stream(7, Purpose::Agent, &[game, 0]);
///     (0..20).map(|_| choose(&mut random, &['a', 'b', 'c'])).collect::<String>()
/// };
/// assert_eq!(letters(1), letters(1));
/// assert_ne!(letters(1), letters(2));
/// ```
pub fn stream(seed: u64, purpose: Purpose, numbers: &[u64]) -> Random {
    let mut state = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
    state = mix(state.wrapping_add(purpose as u64));
    for &number in numbers {
        state = mix(state.rotate_left(17).wrapping_add(number).wrapping_mul(0xff51_afd7_ed55_8ccd));
    }
    Random::seed_from_u64(state)
}

/// Returns `x` mixed by the finalizer of SplitMix64, a bijection that mixes all bits. Position hashes use it, too.
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns one of `items`, chosen uniformly.
pub fn choose<T: Copy>(random: &mut Random, items: &[T]) -> T {
    items[random.random_range(0..items.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_every_part_of_their_name() {
        let first = |seed, purpose, numbers: &[u64]| stream(seed, purpose, numbers).random::<u64>();
        let mut seen = vec![
            first(1, Purpose::Selfplay, &[1, 2]),
            first(2, Purpose::Selfplay, &[1, 2]),
            first(1, Purpose::Opening, &[1, 2]),
            first(1, Purpose::Selfplay, &[2, 1]),
            first(1, Purpose::Selfplay, &[1]),
            first(1, Purpose::Selfplay, &[1, 2, 0]),
        ];
        assert_eq!(seen[0], first(1, Purpose::Selfplay, &[1, 2]));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 6);
    }
}
