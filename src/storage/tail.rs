//! A growing text file, read line by line from where the last reading ended.

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{door, is_remote};
use crate::error::{Error, Result};

/// How many of the bytes read last are compared before reading continues.
const MARK: u64 = 64;

/// Something that the reader found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// The file was replaced or changed: the earlier findings are void, and reading starts again.
    Anew,
    /// A line, without its end.
    Line(&'a [u8]),
    /// A line that is longer than permitted.
    TooLong,
}

/// A growing text file. A line counts once its line end is written. However long the file is, only one line is in
/// memory at a time.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    longest: usize,
    /// The number of bytes read so far.
    at: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
    is_too_long: bool,
    /// The state of the file when it was last read; `None` before the first reading.
    seen: Option<Seen>,
}

/// Stands for the place of a file from an object store: each reading gets a new copy, whose place says nothing.
const ANYWHERE: (u64, u64) = (u64::MAX, u64::MAX);

/// The features that identify a file.
#[derive(Debug)]
struct Seen {
    /// Device and inode.
    place: (u64, u64),
    length: u64,
    changed: Option<SystemTime>,
    /// The last bytes that were read.
    mark: Vec<u8>,
}

impl Tail {
    /// Returns a reader that starts at the beginning of the file at `path`, which need not exist yet. The file's lines
    /// have at most `longest` bytes.
    pub fn new(path: &Path, longest: usize) -> Tail {
        Tail { path: path.to_path_buf(), longest, at: 0, rest: Vec::new(), is_too_long: false, seen: None }
    }

    /// Reads what was added, at most about `limit` bytes, and returns whether it reached the end. A missing file
    /// counts as empty.
    ///
    /// # Errors
    /// If the file is not a regular file, or cannot be read.
    pub fn read(&mut self, limit: u64, each: &mut dyn FnMut(Found)) -> Result<bool> {
        let mut file = match door::open(&self.path) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                if self.seen.is_some() {
                    *self = Tail::new(&self.path, self.longest);
                    each(Found::Anew);
                }
                return Ok(true);
            }
            file => file?,
        };
        let about = file.metadata().map_err(Error::io(&self.path))?;
        if !self.goes_on(&mut file, &about) {
            *self = Tail::new(&self.path, self.longest);
            each(Found::Anew);
        }
        let is_all = self.add(&mut file, limit, each);
        let is_copy = is_remote(&self.path);
        self.seen = Some(Seen {
            place: if is_copy { ANYWHERE } else { place_of(&about) },
            length: about.len(),
            changed: if is_copy { None } else { about.modified().ok() },
            mark: self.mark(&mut file).unwrap_or_default(),
        });
        is_all.map_err(Error::io(&self.path))
    }

    /// Returns the number of bytes read.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Returns what was read of a last line that has no line end yet; empty if the line is too long.
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }

    /// Returns whether the file, as far as it was read, ends in a line without its line end.
    pub fn is_cut(&self) -> bool {
        self.is_too_long || !self.rest.is_empty()
    }

    /// Returns whether the file is still the one that was read, except that it may have grown.
    fn goes_on(&self, file: &mut File, about: &Metadata) -> bool {
        let Some(state) = &self.seen else { return true };
        let is_copy = state.place == ANYWHERE;
        let is_touched = !is_copy && about.len() == state.length && about.modified().ok() != state.changed;
        (is_copy || state.place == place_of(about))
            && about.len() >= state.length
            && !is_touched
            && self.mark(file).is_ok_and(|mark| mark == state.mark)
    }

    /// Returns the last bytes before the position up to which the file was read.
    fn mark(&self, file: &mut File) -> std::io::Result<Vec<u8>> {
        let length = self.at.min(MARK);
        file.seek(SeekFrom::Start(self.at - length))?;
        let mut mark = Vec::new();
        file.take(length).read_to_end(&mut mark)?;
        Ok(mark)
    }

    fn add(&mut self, file: &mut File, limit: u64, each: &mut dyn FnMut(Found)) -> std::io::Result<bool> {
        file.seek(SeekFrom::Start(self.at))?;
        let mut text = BufReader::with_capacity(1 << 16, file);
        let end = self.at.saturating_add(limit);
        while self.at < end {
            let part = match text.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                part => part?,
            };
            if part.is_empty() {
                return Ok(true);
            }
            let line_end = part.iter().position(|byte| *byte == b'\n');
            let used = line_end.map_or(part.len(), |at| at + 1);
            let line = &part[..line_end.unwrap_or(used)];
            self.is_too_long |= self.rest.len() + line.len() > self.longest;
            match (self.is_too_long, line_end) {
                (true, None) => self.rest.clear(),
                (true, Some(_)) => each(Found::TooLong),
                // most lines are complete in the buffer
                (false, Some(_)) if self.rest.is_empty() => each(Found::Line(line)),
                (false, _) => self.rest.extend_from_slice(line),
            }
            if line_end.is_some() {
                if !self.rest.is_empty() && !self.is_too_long {
                    each(Found::Line(&self.rest));
                }
                self.rest.clear();
                self.is_too_long = false;
            }
            text.consume(used);
            self.at += used as u64;
        }
        Ok(false)
    }
}

#[cfg(unix)]
fn place_of(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.dev(), about.ino())
}

#[cfg(not(unix))]
fn place_of(_about: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    /// Continues reading, and returns the findings as text.
    fn found(tail: &mut Tail, most: u64) -> (Vec<String>, bool) {
        let mut all = Vec::new();
        let mut each = |found: Found| {
            all.push(match found {
                Found::Anew => "anew".into(),
                Found::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Found::TooLong => "too long".into(),
            })
        };
        let is_all = tail.read(most, &mut each).unwrap();
        (all, is_all)
    }

    fn append(path: &Path, text: &str) {
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn lines_come_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let mut tail = Tail::new(&path, 8);
        let mut all = |expected: &[&str]| assert_eq!(found(&mut tail, u64::MAX).0, expected);
        all(&[]);
        fs::write(&path, "one\n\ntwo\nthr").unwrap();
        all(&["one", "", "two"]);
        append(&path, "ee");
        all(&[]);
        append(&path, "\nexactly8\nmore than 8\n123456789");
        all(&["three", "exactly8", "too long"]);
        append(&path, "0\nlast\n");
        all(&["too long", "last"]);
        all(&[]);
        // truncated, replaced, changed in place, removed
        fs::write(&path, "new\n").unwrap();
        all(&["anew", "new"]);
        fs::write(folder.path().join("other"), "other\nnew\nand more\n").unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        all(&["anew", "other", "new", "and more"]);
        fs::remove_file(&path).unwrap();
        all(&["anew"]);
        fs::write(&path, "again\n").unwrap();
        all(&["again"]);
    }

    #[test]
    fn a_file_that_was_written_over_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "1 first\n2 first\n").unwrap();
        let mut tail = Tail::new(&path, 80);
        assert_eq!(found(&mut tail, u64::MAX).0.len(), 2);
        // the file keeps its inode, and is longer
        fs::write(&path, "1 second\n2 second\n3 second\n").unwrap();
        assert_eq!(found(&mut tail, u64::MAX).0, ["anew", "1 second", "2 second", "3 second"]);
        // one byte is changed in place
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        fs::write(&path, "9 second\n2 second\n3 second\n").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_eq!(found(&mut tail, u64::MAX).0[..2], ["anew", "9 second"]);
    }

    #[test]
    fn a_long_file_is_read_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let lines: Vec<String> = (0..50_000).map(|number| format!("line {number}")).collect();
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let mut tail = Tail::new(&path, 80);
        let mut all = Vec::new();
        loop {
            let before = tail.position();
            let (found, is_all) = found(&mut tail, 100_000);
            assert!(tail.position() - before < 200_000, "{}", tail.position() - before);
            all.extend(found);
            if is_all {
                break;
            }
        }
        assert!(all == lines);
    }
}
