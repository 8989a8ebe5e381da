//! The lines of a text file, one at a time, none longer than the kind of file permits.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::door;
use crate::error::{Error, Result};

/// The lines of a text file, including their line ends. Only one line is in memory at a time, however large the file
/// is.
#[derive(Debug)]
pub struct Lines<R> {
    place: PathBuf,
    text: BufReader<R>,
    longest: usize,
    number: usize,
}

/// Opens a text file whose lines have at most `longest` bytes.
///
/// # Errors
/// If there is no such file, or it is not a regular file.
pub fn lines(path: &Path, longest: usize) -> Result<Lines<std::fs::File>> {
    Ok(lines_of(door::open(path)?, path, longest))
}

/// Returns the lines of the text that `text` reads; errors name `place`.
pub fn lines_of<R: Read>(text: R, place: &Path, longest: usize) -> Lines<R> {
    Lines { place: place.to_path_buf(), text: BufReader::new(text), longest, number: 0 }
}

impl<R: Read> Lines<R> {
    fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut part = self.text.by_ref().take(self.longest as u64 + 1);
        part.read_until(b'\n', &mut line).map_err(Error::io(&self.place))?;
        self.number += 1;
        if line.len() > self.longest {
            Err(Error::Data(format!(
                "{}: line {} is longer than {} bytes, the maximum",
                self.place.display(),
                self.number,
                self.longest
            )))
        } else {
            Ok((!line.is_empty()).then_some(line))
        }
    }
}

impl<R: Read> Iterator for Lines<R> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        self.next_line().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends_and_long_ones_are_refused() {
        let read = |text: &'static [u8]| {
            let lines = lines_of(text, Path::new("test"), 4);
            lines
                .map(|line| line.map_err(|error| error.to_string()))
                .collect::<std::result::Result<Vec<_>, _>>()
        };
        assert_eq!(read(b"").unwrap(), Vec::<Vec<u8>>::new());
        assert_eq!(read(b"one\n\ntwo").unwrap(), [&b"one\n"[..], b"\n", b"two"]);
        assert_eq!(
            read(b"one\nthree\nfour").unwrap_err(),
            "test: line 2 is longer than 4 bytes, the maximum"
        );
    }
}
