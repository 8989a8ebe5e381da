//! Writes recorded positions as arrays for NumPy: a network's input and its training targets.
//!
//! An `.npz` file is a zip archive of `.npy` files, each an array in little-endian order after a text header
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>). Planes are packed to bits, and the
//! policy lists the legal actions of each position, so a position takes a few hundred bytes in the file and in memory.

use std::io::{self, Write};

use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::any::Opened;
use crate::encode::Planes;
use crate::error::Result;
use crate::game::{Game, GameIdentity, Outcome};
use crate::program::Program;
use crate::replay::record::Record;

/// Headers are padded so that the numbers begin at a multiple of this number of bytes.
const ALIGNMENT: usize = 64;
/// How many numbers are converted to bytes at once.
const TOGETHER: usize = 1 << 14;
/// The magic bytes of format version 1.0.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// The arrays for `positions` positions; the comment on each array gives its sizes and meaning.
pub(super) struct Arrays {
    identity: GameIdentity,
    positions: usize,
    /// `[positions]`: the generation, game, and ply of each position.
    generation: Vec<i32>,
    game: Vec<i32>,
    ply: Vec<i32>,
    /// `[positions, planes, bytes]`: 1 for each square where the plane is not 0, the first square in the lowest bit of
    /// the first byte.
    planes: Vec<u8>,
    /// `[positions, planes]`: the value of the plane on the squares where it is not 0.
    plane_values: Vec<f32>,
    /// `[positions + 1]`: where the actions of each position begin in the next two arrays, and where the actions of the
    /// last position end.
    policy_offsets: Vec<i64>,
    /// The policy indices of all legal actions of each position, ascending.
    policy_index: Vec<u16>,
    /// The share of each legal action in the policy target; the shares of a position sum to 1.
    policy_share: Vec<f32>,
    /// `[positions, 3]`: the probabilities of a win, a draw, and a loss for the player to move, according to the
    /// search.
    wdl: Vec<f32>,
    /// `[positions]`: 1 if the player to move won the game, 0 for a draw, -1 for a loss.
    outcome: Vec<i8>,
    /// `[positions]`: how often training samples the position, relative to 1.
    weight: Vec<f32>,
}

impl Arrays {
    /// Makes arrays for this game, without any positions.
    pub(super) fn new(identity: &GameIdentity) -> Arrays {
        Arrays {
            identity: identity.clone(),
            positions: 0,
            generation: Vec::new(),
            game: Vec::new(),
            ply: Vec::new(),
            planes: Vec::new(),
            plane_values: Vec::new(),
            policy_offsets: vec![0],
            policy_index: Vec::new(),
            policy_share: Vec::new(),
            wdl: Vec::new(),
            outcome: Vec::new(),
            weight: Vec::new(),
        }
    }

    /// Adds those positions of a game that are trained on.
    ///
    /// # Errors
    /// If the record contradicts the rules.
    pub(super) fn add(&mut self, rules: &Opened, record: &Record) -> Result<()> {
        let (game, shape) = (&rules.game, rules.identity.shape);
        let outcome = Outcome::from_id(&record.outcome);
        let (mut planes, mut numbers) = (Planes::new(shape), vec![0.0; shape.input_len()]);
        let mut number = 0..;
        record.replay(rules, |ply| {
            let number = number.next().expect("the range has no end");
            if ply.policy.is_empty() {
                return;
            }
            self.positions += 1;
            self.generation.push(record.generation as i32);
            self.game.push(record.index as i32);
            self.ply.push(number);
            game.encode(ply.state, &mut planes);
            planes.expand(&mut numbers);
            for plane in numbers.chunks_exact(shape.cells()) {
                self.plane_values.push(plane.iter().copied().find(|number| *number != 0.0).unwrap_or(0.0));
                let byte = |squares: &[f32]| {
                    squares
                        .iter()
                        .enumerate()
                        .fold(0, |byte, (bit, number)| byte | u8::from(*number != 0.0) << bit)
                };
                self.planes.extend(plane.chunks(8).map(byte));
            }
            let sum: u64 = ply.policy.iter().map(|(_, weight)| u64::from(*weight)).sum();
            for &action in ply.legal {
                let place = ply.policy.binary_search_by_key(&action, |(action, _)| *action);
                let weight = place.map_or(0, |place| ply.policy[place].1);
                self.policy_index.push(action.index() as u16);
                self.policy_share.push((f64::from(weight) / sum as f64) as f32);
            }
            self.policy_offsets.push(self.policy_index.len() as i64);
            self.wdl.extend([ply.wdl.win, ply.wdl.draw, ply.wdl.loss]);
            let player = game.to_move(ply.state);
            self.outcome.push(outcome.map_or(0.0, |outcome| outcome.value_for(player)) as i8);
            self.weight.push(ply.weight);
        })?;
        Ok(())
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (positions, shape) = (self.positions, self.identity.shape);
        let about = json!({
            "game": self.identity.id, "options": self.identity.options, "encoding": self.identity.encoding,
            "shape": shape, "written_by": Program::current().to_string(),
        });
        let mut file = File(ZipWriter::new_stream(out));
        let bytes = shape.cells().div_ceil(8);
        file.array(
            "about",
            &format!("|S{}", about.to_string().len()),
            &[],
            about.to_string().as_bytes(),
            |byte| [byte],
        )?;
        file.array("generation", "<i4", &[positions], &self.generation, i32::to_le_bytes)?;
        file.array("game", "<i4", &[positions], &self.game, i32::to_le_bytes)?;
        file.array("ply", "<i4", &[positions], &self.ply, i32::to_le_bytes)?;
        file.array("planes", "|u1", &[positions, shape.planes, bytes], &self.planes, u8::to_le_bytes)?;
        file.array("plane_values", "<f4", &[positions, shape.planes], &self.plane_values, f32::to_le_bytes)?;
        file.array("policy_offsets", "<i8", &[positions + 1], &self.policy_offsets, i64::to_le_bytes)?;
        file.array("policy_index", "<u2", &[self.policy_index.len()], &self.policy_index, u16::to_le_bytes)?;
        file.array("policy_share", "<f4", &[self.policy_share.len()], &self.policy_share, f32::to_le_bytes)?;
        file.array("wdl", "<f4", &[positions, 3], &self.wdl, f32::to_le_bytes)?;
        file.array("outcome", "|i1", &[positions], &self.outcome, i8::to_le_bytes)?;
        file.array("weight", "<f4", &[positions], &self.weight, f32::to_le_bytes)?;
        file.0.finish()?;
        Ok(())
    }
}

/// A file under construction.
struct File<W: Write>(ZipWriter<zip::write::StreamWriter<W>>);

impl<W: Write> File<W> {
    /// Adds an array of numbers whose type is `descr`, in NumPy's notation.
    fn array<T: Copy, const BYTES: usize>(
        &mut self,
        name: &str,
        descr: &str,
        sizes: &[usize],
        numbers: &[T],
        bytes: fn(T) -> [u8; BYTES],
    ) -> io::Result<()> {
        // a zip entry without the extra field for large files ends at 4 GiB
        let options = SimpleFileOptions::default().large_file(true);
        let options = options.compression_method(zip::CompressionMethod::Stored);
        self.0.start_file(format!("{name}.npy"), options)?;
        self.0.write_all(&header(descr, sizes))?;
        for part in numbers.chunks(TOGETHER) {
            let part: Vec<u8> = part.iter().flat_map(|&number| bytes(number)).collect();
            self.0.write_all(&part)?;
        }
        Ok(())
    }
}

/// Returns the header of an array.
fn header(descr: &str, sizes: &[usize]) -> Vec<u8> {
    // a tuple of one element needs a comma, too
    let sizes: String = sizes.iter().map(|size| format!("{size}, ")).collect();
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    let before = MAGIC.len() + size_of::<u16>();
    let length = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before;
    text += &" ".repeat(length - text.len() - 1);
    text.push('\n');
    [MAGIC, &(length as u16).to_le_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_numpy() {
        for (sizes, shape) in [(&[][..], "()"), (&[3], "(3,)"), (&[3, 4], "(3, 4,)")] {
            let header = header("<f4", sizes);
            assert_eq!(header.len() % ALIGNMENT, 0);
            assert_eq!(&header[..8], b"\x93NUMPY\x01\x00");
            assert_eq!(usize::from(u16::from_le_bytes([header[8], header[9]])), header.len() - 10);
            let text = String::from_utf8_lossy(&header[10..]);
            let expected = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
            assert!(text.starts_with(&expected) && text.ends_with('\n'), "{text}");
        }
    }
}
