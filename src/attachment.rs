//! A payload that travels behind a program in one file, and what keeps it from being damaged unnoticed.
//!
//! `program | payload | length (8 bytes, little endian) | magic (16 bytes) | SHA-256 of the payload (32 bytes)`. The
//! program itself holds a seal: in a file with a payload it repeats length and SHA-256, so that a program whose
//! payload was cut off knows that it had one. Invariant: what [`extract`] returns is what [`attach`] was given.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const MAGIC: &[u8; 16] = b"petteia payload\n";
const SUM: usize = 32;
/// Length, magic and SHA-256.
const TRAILER: usize = 8 + MAGIC.len() + SUM;
const LABEL: usize = 24;
/// How programs begin on Linux, macOS and Windows.
const PROGRAMS: [[u8; 4]; 3] = [*b"\x7fELF", *b"\xcf\xfa\xed\xfe", *b"MZ\x90\0"];

/// Filled in when a payload is attached: a label to find it by, the payload's length and its SHA-256.
#[repr(C)]
struct Seal {
    label: [u8; LABEL],
    length: [u8; 8],
    sum: [u8; SUM],
}

/// Of this program. Read only through `seal()`, since the compiler may not know that the file is changed later.
static SEAL: Seal = Seal { label: *b"petteia: payload's seal:", length: [0; 8], sum: [0; SUM] };

fn seal() -> &'static Seal {
    std::hint::black_box(&SEAL)
}

/// The file of a program with a payload. `program` is this program's own file.
pub fn attach(program: &[u8], payload: &[u8]) -> Result<Vec<u8>> {
    let mut file = program.to_vec();
    let place = match seals(&file).as_slice() {
        [place] => *place,
        found => {
            return Err(Error::Data(format!(
                "the program's file has {} places for a payload's seal instead of one: build it again",
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

/// The payload of a program's file; `None` when it has none or is no program, an error when it has one that is damaged.
pub fn extract(path: &Path) -> Result<Option<Vec<u8>>> {
    let mut file = File::open(path).map_err(Error::io(path))?;
    let mut first = [0; 4];
    if file.read_exact(&mut first).is_err() || !PROGRAMS.contains(&first) {
        return Ok(None);
    }
    let mut trailer = [0; TRAILER];
    let at_end = file.seek(SeekFrom::End(-(TRAILER as i64))).and_then(|_| file.read_exact(&mut trailer));
    let (length, rest) = trailer.split_at(8);
    let (magic, sum) = rest.split_at(MAGIC.len());
    if at_end.is_ok() && magic == MAGIC {
        return read_sealed(path, number(length), sum).map(Some);
    }
    // without a trailer only the seal knows whether there was one
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let sealed = seals(&bytes).into_iter().find(|place| number(&bytes[*place..place + 8]) > 0);
    match sealed {
        Some(place) => {
            read_sealed(path, number(&bytes[place..place + 8]), &bytes[place + 8..place + 8 + SUM]).map(Some)
        }
        None => Ok(None),
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

/// The payload of the program that runs; `None` when it has none, an error when it has one that is damaged.
pub fn own() -> Result<Option<Vec<u8>>> {
    let length = number(&seal().length);
    if length == 0 {
        return Ok(None);
    }
    let path = std::env::current_exe().map_err(Error::io("the program's own file"))?;
    read_sealed(&path, length, &seal().sum).map(Some)
}

/// Reads the payload at the end of a file and holds it against the seal.
fn read_sealed(path: &Path, length: u64, sum: &[u8]) -> Result<Vec<u8>> {
    let damaged = || {
        Error::Data(format!(
            "{}: the checksum of the model in it differs: the file was changed or cut; copy or export it again",
            path.display()
        ))
    };
    let mut file = File::open(path).map_err(Error::io(path))?;
    let whole = file.metadata().map_err(Error::io(path))?.len();
    let start =
        whole.checked_sub(TRAILER as u64).and_then(|end| end.checked_sub(length)).ok_or_else(damaged)?;
    file.seek(SeekFrom::Start(start)).map_err(Error::io(path))?;
    let mut payload = Vec::new();
    file.read_to_end(&mut payload).map_err(Error::io(path))?;
    let trailer = payload.split_off(length as usize);
    let expected: Vec<u8> = [&length.to_le_bytes(), &MAGIC[..], sum].concat();
    match trailer == expected && Sha256::digest(&payload).as_slice() == sum {
        true => Ok(payload),
        false => Err(damaged()),
    }
}

/// Where the length of each seal in a program's file stands.
fn seals(bytes: &[u8]) -> Vec<usize> {
    let label = &seal().label;
    let whole = LABEL + 8 + SUM;
    let found = memchr::memmem::find_iter(bytes, label).filter(|at| bytes.len() >= at + whole);
    found.map(|at| at + LABEL).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands for a program: something, the seal as the compiler wrote it, something.
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
    fn what_was_attached_is_extracted() {
        let file = attach(&program(), b"the model").unwrap();
        assert_eq!(extract(written(&file).path()).unwrap().unwrap(), b"the model");
        assert!(extract(written(&program()).path()).unwrap().is_none());
        assert!(extract(written(b"").path()).unwrap().is_none());
        assert!(own().unwrap().is_none());
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let program = program();
        let file = attach(&program, b"the model").unwrap();
        for at in program.len()..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(extract(written(&changed).path()).is_err(), "byte {at}");
            assert!(extract(written(&file[..at]).path()).is_err(), "cut at {at}");
        }
        let longer = [&file[..], b"x"].concat();
        assert!(extract(written(&longer).path()).is_err());
    }

    #[test]
    fn a_program_has_one_seal() {
        assert!(attach(b"no program of ours", b"x").is_err());
        assert!(attach(&[program(), program()].concat(), b"x").is_err());
    }
}
