//! A payload appended to a program in the same file, with checks that detect damage.
//!
//! `program | payload | length (8 bytes, little endian) | magic (16 bytes) | SHA-256 of the payload (32 bytes)`. The
//! program itself contains a seal: in a file with a payload, the seal repeats the length and SHA-256, so that a
//! program whose payload was cut off knows that it had one. Invariant: [`find`] returns what [`attach`] was given.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::own_file::{self, own_file};
use crate::error::{Error, Result};
use crate::storage;

const MAGIC: &[u8; 16] = b"petteia payload\n";
const SUM: usize = 32;
/// Length, magic, and SHA-256.
const TRAILER: usize = 8 + MAGIC.len() + SUM;
const LABEL: usize = 24;
/// Number of bytes of a file that are searched at a time.
const PART: u64 = 1 << 18;
/// The first bytes of programs on Linux, macOS, and Windows.
const PROGRAMS: [[u8; 4]; 3] = [*b"\x7fELF", *b"\xcf\xfa\xed\xfe", *b"MZ\x90\0"];

/// The seal of a payload, filled in when the payload is attached: a label that marks the place, the payload's length,
/// and the payload's SHA-256.
#[repr(C)]
struct Seal {
    label: [u8; LABEL],
    length: [u8; 8],
    sum: [u8; SUM],
}

/// The seal of this program. Read only through `seal()`, because the compiler must not assume that it is constant.
static SEAL: Seal = Seal { label: *b"petteia: payload's seal:", length: [0; 8], sum: [0; SUM] };

fn seal() -> &'static Seal {
    std::hint::black_box(&SEAL)
}

/// Returns the file of a program with a payload. `program` is the content of this program's own file.
pub fn attach(program: &[u8], payload: &[u8]) -> Result<Vec<u8>> {
    let mut file = program.to_vec();
    let place = match seals(&file).as_slice() {
        [place] => *place,
        found => {
            return Err(Error::Data(format!(
                "the program's file has {} places for a payload's seal instead of one: rebuild the program",
                found.len()
            )));
        }
    };
    let length = (payload.len() as u64).to_le_bytes();
    let sum: [u8; SUM] = Sha256::digest(payload).into();
    file[place..place + 8].copy_from_slice(&length);
    file[place + 8..place + 8 + SUM].copy_from_slice(&sum);
    for part in [payload, &length, MAGIC, &sum] {
        file.extend_from_slice(part);
    }
    Ok(file)
}

/// A payload in a program's file, already checked against the seal.
#[derive(Debug)]
pub struct Attached {
    /// The program's file.
    pub path: PathBuf,
    start: u64,
    /// The length of the payload in bytes.
    pub length: u64,
}

impl Attached {
    /// Opens the program's file at the first byte of the payload; the trailer follows the payload's last byte.
    pub fn open(&self) -> Result<File> {
        let mut file = storage::open(&self.path)?;
        file.seek(SeekFrom::Start(self.start)).map_err(Error::io(&self.path))?;
        Ok(file)
    }

    /// Reads the payload, of at most `limit` bytes.
    pub fn read(&self, limit: u64) -> Result<Vec<u8>> {
        if self.length > limit {
            return Err(Error::Data(format!(
                "{}: the model in it has {} bytes, and the maximum is {limit}",
                self.path.display(),
                self.length
            )));
        }
        let mut payload = Vec::with_capacity(self.length as usize);
        self.open()?.take(self.length).read_to_end(&mut payload).map_err(Error::io(&self.path))?;
        Ok(payload)
    }
}

/// Returns the payload of a program's file, or `None` if it has none or is not a program. A damaged payload is an
/// error.
pub fn find(path: &Path) -> Result<Option<Attached>> {
    let mut file = storage::open(path)?;
    let mut first = [0; 4];
    if file.read_exact(&mut first).is_err() || !PROGRAMS.contains(&first) {
        return Ok(None);
    }
    let mut trailer = [0; TRAILER];
    let at_end = file.seek(SeekFrom::End(-(TRAILER as i64))).and_then(|_| file.read_exact(&mut trailer));
    let (length, rest) = trailer.split_at(8);
    let (magic, sum) = rest.split_at(MAGIC.len());
    if at_end.is_ok() && magic == MAGIC {
        return check_sealed(path, number(length), sum).map(Some);
    }
    // without a trailer, only the seal shows whether there was a payload
    file.seek(SeekFrom::Start(0)).map_err(Error::io(path))?;
    match find_seal(&mut file).map_err(Error::io(path))? {
        Some((length, sum)) => check_sealed(path, length, &sum).map(Some),
        None => Ok(None),
    }
}

/// Returns the first payload seal in a program's file, which is read in parts.
fn find_seal(file: &mut File) -> std::io::Result<Option<(u64, [u8; SUM])>> {
    let mut bytes = Vec::new();
    loop {
        let read = file.by_ref().take(PART).read_to_end(&mut bytes)?;
        for place in seals(&bytes) {
            let (length, rest) = bytes[place..].split_at(8);
            if number(length) > 0 {
                return Ok(Some((number(length), *rest.first_chunk().expect("seals are whole"))));
            }
        }
        if read == 0 {
            return Ok(None);
        }
        // the next seal may have begun in this part
        bytes.drain(..bytes.len().saturating_sub(LABEL + 8 + SUM - 1));
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

/// Returns the payload of the running program, or `None` if it has none. A damaged payload is an error.
pub fn own() -> Result<Option<Attached>> {
    let length = number(&seal().length);
    if length == 0 {
        return Ok(None);
    }
    // one of these files may be the one that started the program, such as a loader
    let checks = own_file::places().iter().map(|path| check_sealed(path, length, &seal().sum));
    let mut first = None;
    for payload in checks {
        match payload {
            Ok(attached) => return Ok(Some(attached)),
            Err(error) => first = first.or(Some(error)),
        }
    }
    // if there was no file to try, `own_file` explains why
    first.map_or_else(|| own_file().map(|_| None), Err)
}

/// Checks the payload at the end of a file against the seal.
fn check_sealed(path: &Path, length: u64, sum: &[u8]) -> Result<Attached> {
    let damaged = || {
        Error::Data(format!(
            "{}: the checksum of the model in it does not match: the file was changed or truncated; copy or export it \
             again",
            path.display()
        ))
    };
    let mut file = storage::open(path)?;
    let whole = file.metadata().map_err(Error::io(path))?.len();
    let start =
        whole.checked_sub(TRAILER as u64).and_then(|end| end.checked_sub(length)).ok_or_else(damaged)?;
    file.seek(SeekFrom::Start(start)).map_err(Error::io(path))?;
    let (mut digest, mut rest) = (Sha256::new(), length);
    let mut part = vec![0; PART as usize];
    while rest > 0 {
        let step = rest.min(PART) as usize;
        file.read_exact(&mut part[..step]).map_err(Error::io(path))?;
        digest.update(&part[..step]);
        rest -= step as u64;
    }
    let mut trailer = Vec::new();
    file.take(TRAILER as u64 + 1).read_to_end(&mut trailer).map_err(Error::io(path))?;
    let expected: Vec<u8> = [&length.to_le_bytes(), &MAGIC[..], sum].concat();
    if trailer == expected && digest.finalize().as_slice() == sum {
        Ok(Attached { path: path.to_path_buf(), start, length })
    } else {
        Err(damaged())
    }
}

/// Returns the positions of each seal's length field in a program's file.
fn seals(bytes: &[u8]) -> Vec<usize> {
    let label = &seal().label;
    let whole = LABEL + 8 + SUM;
    let labels = memchr::memmem::find_iter(bytes, label).filter(|at| bytes.len() >= at + whole);
    labels.map(|at| at + LABEL).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a mock program: code, the seal as the compiler wrote it, more code.
    fn program() -> Vec<u8> {
        let seal = seal();
        [b"\x7fELF code".as_slice(), &seal.label, &seal.length, &seal.sum, b"more code"].concat()
    }

    fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn what_was_attached_is_found() {
        let extract = |path: &Path| find(path).map(|found| found.map(|found| found.read(9).unwrap()));
        let file = attach(&program(), b"the model").unwrap();
        assert_eq!(extract(written(&file).path()).unwrap().unwrap(), b"the model");
        assert!(extract(written(&program()).path()).unwrap().is_none());
        assert!(extract(written(b"").path()).unwrap().is_none());
        assert!(find(written(&file).path()).unwrap().unwrap().read(8).is_err());
        // the seal may begin in one of the parts that `find_seal` reads and end in the next
        for before in PART as usize - 100..PART as usize {
            let program = [b"\x7fELF", &vec![0; before][..], &program()].concat();
            let file = attach(&program, b"the model").unwrap();
            assert!(find(written(&file[..program.len()]).path()).is_err(), "{before}");
        }
        assert!(own().unwrap().is_none());
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let program = program();
        let file = attach(&program, b"the model").unwrap();
        for at in program.len()..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(find(written(&changed).path()).is_err(), "byte {at}");
            assert!(find(written(&file[..at]).path()).is_err(), "cut at {at}");
        }
        let longer = [&file[..], b"x"].concat();
        assert!(find(written(&longer).path()).is_err());
    }

    #[test]
    fn a_program_has_one_seal() {
        assert!(attach(b"not a Petteia program", b"x").is_err());
        assert!(attach(&[program(), program()].concat(), b"x").is_err());
    }
}
