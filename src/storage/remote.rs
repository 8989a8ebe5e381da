//! Object stores as folders: a path that begins with `s3://`, `gs://`, or `az://` and a bucket names an object or, as
//! in a file system, all objects below it.
//!
//! An object appears whole or not at all, so no temporary names are needed here. Folders do not need to be made, and
//! nothing can be locked or appended to. The functions of [`storage`](super) that take a path in an object store are
//! here; without the cargo feature `cloud` they return an error that says that this program was built without object
//! stores.

#[cfg(feature = "cloud")]
mod bucket;
#[cfg(feature = "cloud")]
mod heard;
pub mod silence;
#[cfg(feature = "cloud")]
mod store;

use std::path::Path;

#[cfg(feature = "cloud")]
pub(super) use self::bucket::Object;
use crate::error::{Error, Result, shown};

/// The schemes of addresses.
const SCHEMES: [&str; 3] = ["s3", "gs", "az"];

/// Returns the scheme, the bucket, and the rest of a path that names something in an object store.
fn parts(path: &Path) -> Option<(&str, &str, &str)> {
    let text = path.to_str()?;
    let (scheme, rest) = text.split_once(":/")?;
    let is_known = SCHEMES.contains(&scheme) || (cfg!(test) && scheme == "memory");
    // paths that were joined from their parts have a single slash
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let (bucket, below) = rest.split_once('/').unwrap_or((rest, ""));
    (is_known && !bucket.is_empty()).then_some((scheme, bucket, below.trim_end_matches('/')))
}

/// Rejects an address that names nothing that can be read or written here. A path of the file system may look like an
/// address, but nobody means a folder named `http:`.
fn refuse_strange(path: &Path) -> Result<()> {
    let Some((scheme, rest)) = path.to_str().and_then(|text| text.split_once("://")) else { return Ok(()) };
    let is_scheme = |text: &str| {
        let letters = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
        text.len() > 1
            && text.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && text.chars().all(letters)
    };
    if !is_scheme(scheme) || is_remote(path) {
        return Ok(());
    }
    let place = shown(&path.display().to_string());
    Err(Error::Config(match scheme.to_ascii_lowercase().as_str() {
        "file" => format!("{place}: write only the path: {}", shown(rest)),
        known if SCHEMES.contains(&known) && scheme == known => {
            format!("{place}: name a bucket: {known}://BUCKET/NAME")
        }
        known if SCHEMES.contains(&known) => format!("{place}: write {known}:// in lowercase"),
        _ => {
            format!("{place}: a run is in a folder or at an address that begins with s3://, gs://, or az://")
        }
    }))
}

/// Returns whether a path names something in an object store.
pub fn is_remote(path: &Path) -> bool {
    parts(path).is_some()
}

/// Returns the object that a path names in a store, or `None` if it is a path of the file system.
#[cfg(feature = "cloud")]
pub(super) fn object(path: &Path) -> Result<Option<Object>> {
    refuse_strange(path)?;
    parts(path).map(|parts| Object::new(path, parts)).transpose()
}

/// Returns an error for a path that names something in an object store, because this program does not support object
/// stores.
#[cfg(not(feature = "cloud"))]
pub(super) fn object(path: &Path) -> Result<Option<Object>> {
    refuse_strange(path)?;
    if is_remote(path) {
        Err(Error::Config(format!(
            "{}: this program was built without support for object stores: build it with `--features cloud`",
            path.display()
        )))
    } else {
        Ok(None)
    }
}

#[cfg(not(feature = "cloud"))]
pub(super) use self::none::Object;

/// An object, which does not exist in programs without object stores.
#[cfg(not(feature = "cloud"))]
mod none {
    use std::fs::File;
    use std::path::{Path, PathBuf};

    use super::super::FileAbout;
    use super::Result;

    #[derive(Debug)]
    pub(crate) enum Object {}

    impl Object {
        pub(crate) fn read(&self, _limit: u64, _what: &str) -> Result<Vec<u8>> {
            match *self {}
        }

        pub(crate) fn open(&self) -> Result<File> {
            match *self {}
        }

        pub(crate) fn write(&self, _bytes: Vec<u8>) -> Result<()> {
            match *self {}
        }

        pub(crate) fn create(&self, _bytes: Vec<u8>) -> Result<Option<Vec<u8>>> {
            match *self {}
        }

        pub(crate) fn append(&self, _bytes: &[u8]) -> Result<()> {
            match *self {}
        }

        pub(crate) fn sync(&self) -> Result<()> {
            match *self {}
        }

        pub(crate) fn list(&self) -> Result<Vec<PathBuf>> {
            match *self {}
        }

        pub(crate) fn files_below(&self) -> Result<Vec<(PathBuf, u64)>> {
            match *self {}
        }

        pub(crate) fn folders_with(&self, _name: &str) -> Result<Vec<PathBuf>> {
            match *self {}
        }

        pub(crate) fn about(&self) -> Result<Option<FileAbout>> {
            match *self {}
        }

        pub(crate) fn remove(&self) -> Result<()> {
            match *self {}
        }

        pub(crate) fn rename(&self, _to: &Path) -> Result<()> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        let of =
            |text: &str| parts(Path::new(text)).map(|(scheme, bucket, key)| [scheme, bucket, key].join("|"));
        assert_eq!(of("s3://bucket/runs/a").as_deref(), Some("s3|bucket|runs/a"));
        assert_eq!(of("gs://bucket").as_deref(), Some("gs|bucket|"));
        assert_eq!(of("az://bucket/a/").as_deref(), Some("az|bucket|a"));
        let joined = Path::new("s3://bucket").join("runs").join("a");
        assert_eq!(of(joined.to_str().unwrap()).as_deref(), Some("s3|bucket|runs/a"));
        let rebuilt: std::path::PathBuf = joined.components().collect();
        assert_eq!(of(rebuilt.to_str().unwrap()).as_deref(), Some("s3|bucket|runs/a"));
        for path in ["runs/a", "/s3://x", "s3:", "s3://", "http://host/a", "C:/runs", "s3"] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn strange_addresses_are_refused_everywhere() {
        for (text, message) in [
            ("http://host/run", "begins with s3://, gs://, or az://"),
            ("ftp://host/run", "begins with s3://, gs://, or az://"),
            ("file:///tmp/run", "write only the path: /tmp/run"),
            ("S3://bucket/run", "write s3:// in lowercase"),
            ("s3://", "name a bucket"),
        ] {
            let path = Path::new(text);
            for error in [
                super::super::exists(path).unwrap_err(),
                super::super::list(path).unwrap_err(),
                super::super::open(path).unwrap_err(),
                super::super::write_whole(path, b"").unwrap_err(),
                super::super::create_folder(path).unwrap_err(),
                super::super::create_folder_in(Path::new("."), path).unwrap_err(),
            ] {
                assert_eq!(error.exit_code(), 2);
                assert!(
                    error.to_string().starts_with(text) && error.to_string().contains(message),
                    "{error}"
                );
            }
        }
        for path in ["runs/a", "a/b://c", "C:/runs", "1://x", "/s3://x"] {
            refuse_strange(Path::new(path)).unwrap();
        }
    }

    #[cfg(not(feature = "cloud"))]
    #[test]
    fn a_program_without_object_stores_says_so() {
        let path = Path::new("s3://bucket/run/config.toml");
        let error = super::super::read(path).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("built without support for object stores"), "{error}");
    }
}
