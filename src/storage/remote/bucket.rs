//! The objects of a bucket, through the crate `object_store`.
//!
//! Credentials and endpoints come only from the environment, under the names that each provider's own tools use
//! (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME` ...). The
//! crate retries requests, and [`store`](super::store) waits for them.

use std::collections::HashMap;
use std::fs::File;
use std::future::Future;
use std::io::{Error as IoError, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use object_store::path::Path as Key;
use object_store::{
    ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult, UpdateVersion,
};

use super::store::{Failure, Store, plain};
use crate::error::{Error, Result};
use crate::storage::FileAbout;

/// Minimum time between uploads of an object that is being appended to; `sync` uploads at once.
const BETWEEN_WRITES: Duration = Duration::from_secs(10);
/// The number of attempts to create an object that could not be created although it does not exist.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// One store for each bucket.
static STORES: LazyLock<Mutex<HashMap<String, Arc<Store>>>> = LazyLock::new(Mutex::default);
/// Objects that this process appends to, by their paths.
static GROWING: LazyLock<Mutex<HashMap<PathBuf, Growing>>> = LazyLock::new(Mutex::default);

/// The contents of an object that this process appends to.
struct Growing {
    bytes: Vec<u8>,
    /// The version of the object that this process wrote or read, which differs from that of any object written by
    /// another process.
    version: Option<UpdateVersion>,
    is_written: bool,
    written: Instant,
}

/// What a path names: an object, or all objects below it.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    path: PathBuf,
    store: Arc<Store>,
    key: Key,
}

impl Object {
    pub(crate) fn new(path: &Path, (scheme, bucket, below): (&str, &str, &str)) -> Result<Object> {
        let place = path.display();
        let mut stores = STORES.lock().expect("no panic while a bucket is opened");
        let url = format!("{scheme}://{bucket}");
        let store = match stores.get(&url) {
            Some(store) => store.clone(),
            None => {
                let result = Store::open(scheme, bucket);
                let store =
                    Arc::new(result.map_err(|error| Error::Config(format!("{place}: {}", plain(&error))))?);
                stores.insert(url, store.clone());
                store
            }
        };
        let key = Key::parse(below).map_err(|error| Error::Config(format!("{place}: {error}")))?;
        Ok(Object { path: path.to_path_buf(), store, key })
    }

    /// Returns the contents if they are at most `limit` bytes, the maximum for `what`.
    pub(crate) fn read(&self, limit: u64, what: &str) -> Result<Vec<u8>> {
        if let Some(bytes) = self.growing() {
            return Ok(bytes);
        }
        let bytes = self.wait(|| {
            let (store, key) = self.parts();
            async move {
                let answer = store.get(&key).await?;
                if answer.meta.size <= limit { answer.bytes().await.map(Some) } else { Ok(None) }
            }
        })?;
        match bytes {
            Some(bytes) => Ok(bytes.to_vec()),
            None => Err(Error::Data(format!(
                "{}: it has more than {limit} bytes, the maximum for {what}, so it is something else",
                self.path.display()
            ))),
        }
    }

    /// Returns the contents in a file without a name.
    pub(crate) fn open(&self) -> Result<File> {
        let here = || Error::io(std::env::temp_dir());
        let mut file = tempfile::tempfile().map_err(here())?;
        if let Some(bytes) = self.growing() {
            file.write_all(&bytes).map_err(here())?;
        } else {
            let copy = Arc::new(file.try_clone().map_err(here())?);
            self.wait(|| {
                let ((store, key), copy) = (self.parts(), copy.clone());
                async move {
                    let failure = |error: IoError| object_store::Error::Generic {
                        store: "a copy",
                        source: error.into(),
                    };
                    // an earlier attempt may have written a part
                    copy.set_len(0).and_then(|()| (&*copy).seek(SeekFrom::Start(0))).map_err(failure)?;
                    let mut parts = store.get(&key).await?.into_stream();
                    while let Some(part) = parts.try_next().await? {
                        (&*copy).write_all(&part).map_err(failure)?;
                    }
                    Ok(())
                }
            })?;
        }
        file.seek(SeekFrom::Start(0)).map_err(here())?;
        Ok(file)
    }

    pub(crate) fn write(&self, bytes: Vec<u8>) -> Result<()> {
        GROWING.lock().expect("no panic while appending").remove(&self.path);
        self.put(bytes)
    }

    fn parts(&self) -> (Arc<dyn ObjectStore>, Key) {
        (self.store.objects.clone(), self.key.clone())
    }

    fn put_as(&self, bytes: &[u8], mode: PutMode) -> Result<PutResult, Failure> {
        let bytes = PutPayload::from(bytes.to_vec());
        self.store.try_for(&self.path, || {
            let ((store, key), bytes) = (self.parts(), bytes.clone());
            let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
            async move { store.put_opts(&key, bytes, options).await }
        })
    }

    fn put(&self, bytes: Vec<u8>) -> Result<()> {
        let bytes = PutPayload::from(bytes);
        self.wait(|| {
            let ((store, key), bytes) = (self.parts(), bytes.clone());
            async move { store.put(&key, bytes).await.map(|_| ()) }
        })
    }

    /// Does the work of [`create_whole`](super::super::create_whole). A store may report that an object exists
    /// although nothing was written (S3's 409), or although this very call wrote it (the answer was lost), so the
    /// object is read.
    pub(crate) fn create(&self, bytes: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let mut pause = FIRST_PAUSE;
        for _ in 0..ATTEMPTS {
            match self.put_as(&bytes, PutMode::Create) {
                Ok(_) => return Ok(None),
                Err(failure) if failure.is_there() => {}
                Err(failure) => return Err(self.failed(failure)),
            }
            match self.read(u64::MAX, "an object") {
                Ok(contents) => return Ok((contents != bytes).then_some(contents)),
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            thread::sleep(pause);
            pause *= 2;
        }
        let what = "the store reports both that the object exists and that it does not";
        Err(Error::io(&self.path)(IoError::other(what)))
    }

    /// Adds bytes at the end. Added bytes are uploaded from time to time, and by [`Object::sync`].
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<()> {
        let is_known = GROWING.lock().expect("no panic while appending").contains_key(&self.path);
        let contents = if is_known { None } else { Some(self.with_version()?) };
        let mut growing = GROWING.lock().expect("no panic while appending");
        let entry = growing.entry(self.path.clone()).or_insert_with(|| {
            let (bytes, version) = contents.unwrap_or_default();
            Growing { bytes, version, is_written: true, written: Instant::now() }
        });
        entry.bytes.extend(bytes);
        entry.is_written = false;
        let is_due = entry.written.elapsed() >= BETWEEN_WRITES;
        drop(growing);
        if is_due { self.sync() } else { Ok(()) }
    }

    /// Returns the contents and their version; no bytes and no version if the object does not exist.
    fn with_version(&self) -> Result<(Vec<u8>, Option<UpdateVersion>)> {
        let contents = self.store.try_for(&self.path, || {
            let (store, key) = self.parts();
            async move {
                let answer = store.get(&key).await?;
                let (e_tag, version) = (answer.meta.e_tag.clone(), answer.meta.version.clone());
                Ok((answer.bytes().await?.to_vec(), Some(UpdateVersion { e_tag, version })))
            }
        });
        match contents {
            Err(failure) if failure.is_missing() => Ok((Vec::new(), None)),
            contents => contents.map_err(|failure| self.failed(failure)),
        }
    }

    /// Uploads what was appended, unless another process has written the object since.
    pub(crate) fn sync(&self) -> Result<()> {
        let (bytes, version) = {
            let mut growing = GROWING.lock().expect("no panic while appending");
            let Some(entry) = growing.get_mut(&self.path).filter(|entry| !entry.is_written) else {
                return Ok(());
            };
            (entry.is_written, entry.written) = (true, Instant::now());
            (entry.bytes.clone(), entry.version.clone())
        };
        let result = self.replace(bytes, version);
        if let Some(entry) = GROWING.lock().expect("no panic while appending").get_mut(&self.path) {
            match &result {
                Ok(version) => entry.version = version.clone(),
                Err(_) => entry.is_written = false,
            }
        }
        result.map(|_| ())
    }

    /// Writes the object if it still has this version, and returns the new version.
    fn replace(&self, bytes: Vec<u8>, version: Option<UpdateVersion>) -> Result<Option<UpdateVersion>> {
        match self.put_as(&bytes, version.map_or(PutMode::Create, PutMode::Update)) {
            Ok(put) => Ok(Some(UpdateVersion { e_tag: put.e_tag, version: put.version })),
            Err(failure) if failure.is_there() => {
                // the answer to an earlier attempt may have been lost
                let (contents, version) = self.with_version()?;
                if contents == bytes {
                    Ok(version)
                } else {
                    Err(Error::Config(format!(
                        "{}: another process has written it since, so this process must not write it",
                        self.path.display()
                    )))
                }
            }
            Err(failure) => Err(self.failed(failure)),
        }
    }

    fn growing(&self) -> Option<Vec<u8>> {
        GROWING.lock().expect("no panic while appending").get(&self.path).map(|entry| entry.bytes.clone())
    }

    /// Returns the objects and folders directly below this path, sorted.
    pub(crate) fn list(&self) -> Result<Vec<PathBuf>> {
        let answer = self.wait(|| {
            let (store, key) = self.parts();
            async move { store.list_with_delimiter(Some(&key)).await }
        })?;
        let keys = answer.objects.into_iter().map(|object| object.location).chain(answer.common_prefixes);
        let mut paths: Vec<PathBuf> =
            keys.filter_map(|key| key.filename().map(|name| self.path.join(name))).collect();
        paths.sort();
        Ok(paths)
    }

    /// Returns all objects below this path, with their lengths.
    pub(crate) fn files_below(&self) -> Result<Vec<(PathBuf, u64)>> {
        let objects: Vec<ObjectMeta> = self.wait(|| {
            let (store, key) = self.parts();
            async move { store.list(Some(&key)).try_collect().await }
        })?;
        let below = |object: ObjectMeta| {
            let parts = object.location.prefix_match(&self.key)?.map(|part| part.as_ref().to_string());
            Some((self.path.join(parts.collect::<PathBuf>()), object.size))
        };
        let mut files: Vec<(PathBuf, u64)> = objects.into_iter().filter_map(below).collect();
        files.sort();
        Ok(files)
    }

    /// Returns the folders directly below this path that have an object of this name.
    pub(crate) fn folders_with(&self, name: &str) -> Result<Vec<PathBuf>> {
        let files = self.files_below()?.into_iter().map(|(path, _)| path);
        let folders = files.filter(|path| path.file_name().is_some_and(|file| file == name));
        let folders = folders.filter_map(|path| path.parent().map(Path::to_path_buf));
        Ok(folders.filter(|folder| folder.parent() == Some(&self.path)).collect())
    }

    /// Examines what exists at this path; a folder exists if anything is below it.
    pub(crate) fn about(&self) -> Result<Option<FileAbout>> {
        if let Some(bytes) = self.growing() {
            return Ok(Some(FileAbout {
                is_file: true,
                is_folder: false,
                length: bytes.len() as u64,
                modified: None,
            }));
        }
        // a folder must not be requested as an object, because some stores answer that with an error
        if self.is_folder()? {
            return Ok(Some(FileAbout { is_file: false, is_folder: true, length: 0, modified: None }));
        }
        if self.key.as_ref().is_empty() {
            return Ok(None);
        }
        let head = || {
            let (store, key) = self.parts();
            async move { store.head(&key).await }
        };
        match self.store.try_for(&self.path, head) {
            Ok(object) => {
                let modified = Some(object.last_modified.into());
                Ok(Some(FileAbout { is_file: true, is_folder: false, length: object.size, modified }))
            }
            Err(failure) if failure.is_missing() => Ok(None),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    /// Returns whether anything is below this path.
    pub(crate) fn is_folder(&self) -> Result<bool> {
        let first = self.wait(|| {
            let (store, key) = self.parts();
            async move { store.list(Some(&key)).try_next().await }
        })?;
        Ok(first.is_some())
    }

    /// Removes an object, if it exists.
    pub(crate) fn remove(&self) -> Result<()> {
        GROWING.lock().expect("no panic while appending").remove(&self.path);
        let delete = || {
            let (store, key) = self.parts();
            async move { store.delete(&key).await }
        };
        match self.store.try_for(&self.path, delete) {
            Err(failure) if failure.is_missing() => Ok(()),
            result => result.map_err(|failure| self.failed(failure)),
        }
    }

    /// Copies an object, or all objects below a folder, to a new name, and then removes the originals. The new name
    /// must be in the same store.
    pub(crate) fn rename(&self, to: &Path) -> Result<()> {
        let Some(target) = super::object(to)? else {
            return Err(Error::io(to)(IoError::other("it is not in the same store")));
        };
        if self.is_folder()? {
            return self.list()?.iter().try_for_each(|path| {
                let name = path.file_name().expect("everything in a folder has a name");
                crate::storage::rename(path, &to.join(name))
            });
        }
        self.wait(|| {
            let ((store, key), target) = (self.parts(), target.key.clone());
            async move { store.copy(&key, &target).await }
        })?;
        self.remove()
    }

    fn wait<T: Send + 'static, F: Future<Output = object_store::Result<T>> + Send + 'static>(
        &self,
        request: impl Fn() -> F,
    ) -> Result<T> {
        self.store.try_for(&self.path, request).map_err(|failure| self.failed(failure))
    }

    fn failed(&self, failure: Failure) -> Error {
        self.store.error(&self.path, failure)
    }
}

#[cfg(test)]
mod tests {
    use crate::storage;
    use std::path::{Path, PathBuf};

    fn at(name: &str) -> PathBuf {
        Path::new("memory://tests").join(name)
    }

    #[test]
    fn a_store_is_a_folder() {
        let folder = at("folder");
        assert!(!storage::exists(&folder).unwrap() && storage::list(&folder).unwrap().is_empty());
        storage::write_whole(&folder.join("b/one"), b"1").unwrap();
        storage::write_whole(&folder.join("b/two"), b"22").unwrap();
        storage::write_whole(&folder.join("a"), b"text").unwrap();
        assert_eq!(storage::list(&folder).unwrap(), [folder.join("a"), folder.join("b")]);
        assert!(
            storage::is_folder(&folder.join("b")).unwrap() && storage::is_file(&folder.join("a")).unwrap()
        );
        assert!(!storage::exists(&folder.join("c")).unwrap());
        assert_eq!(storage::read(&folder.join("a")).unwrap(), b"text");
        assert_eq!(storage::sha256_of(&folder.join("a")).unwrap(), storage::sha256(b"text"));
        let error = storage::read_at_most(&folder.join("a"), 3, "a test").unwrap_err();
        assert!(error.to_string().contains("more than 3 bytes"), "{error}");
        let missing = storage::open(&folder.join("c")).unwrap_err();
        assert!(missing.to_string().starts_with("memory://tests/folder/c: "), "{missing}");
        storage::rename(&folder.join("a"), &folder.join("d")).unwrap();
        storage::remove(&folder.join("b/one")).unwrap();
        storage::remove(&folder.join("b/one")).unwrap();
        assert_eq!(storage::list(&folder).unwrap(), [folder.join("b"), folder.join("d")]);
        storage::rename(&folder.join("b"), &folder.join("e")).unwrap();
        assert_eq!(storage::list(&folder).unwrap(), [folder.join("d"), folder.join("e")]);
        assert_eq!(storage::read(&folder.join("e/two")).unwrap(), b"22");
    }

    #[test]
    fn an_object_is_created_once() {
        let path = at("created");
        assert_eq!(storage::create_whole(&path, b"mine").unwrap(), None);
        assert_eq!(storage::create_whole(&path, b"mine").unwrap(), None);
        assert_eq!(storage::create_whole(&path, b"another's").unwrap().as_deref(), Some(&b"mine"[..]));
    }

    #[test]
    fn what_was_appended_is_read_here_and_written_in_time() {
        let path = at("appended");
        storage::write_whole(&path, b"one\n").unwrap();
        storage::append(&path, b"two\n").unwrap();
        assert_eq!(storage::read(&path).unwrap(), b"one\ntwo\n");
        storage::sync(&path).unwrap();
        storage::append_to(&path, b"three\n").unwrap();
        storage::sync(&path).unwrap();
        assert_eq!(storage::about(&path).unwrap().unwrap().length, 14);
        // another process
        let object = super::super::object(&path).unwrap().unwrap();
        object.put(b"other\n".to_vec()).unwrap();
        storage::append(&path, b"four\n").unwrap();
        let error = storage::sync(&path).unwrap_err();
        assert!(error.to_string().contains("another process has written it"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn a_folder_is_there_with_its_last_file() {
        let (folder, whole) = (at("whole"), at("whole/one"));
        storage::write_whole(&folder.join("half/a"), b"").unwrap();
        storage::write_folder_whole(&whole, "last", |inside| {
            storage::write_whole(&inside.join("last"), b"1")?;
            storage::write_whole(&inside.join("a"), b"2")
        })
        .unwrap();
        assert_eq!(storage::list_whole(&folder, "last").unwrap(), [whole.clone()]);
        assert_eq!(storage::list(&whole).unwrap(), [whole.join("a"), whole.join("last")]);
        let files = [folder.join("half/a"), whole.join("a"), whole.join("last")];
        let lengths: Vec<(PathBuf, u64)> = files.into_iter().zip([0, 1, 1]).collect();
        assert_eq!(storage::files_below(&folder).unwrap(), lengths);
        let again = storage::write_folder_whole(&whole, "last", |inside| {
            storage::write_whole(&inside.join("last"), b"3")
        });
        assert!(again.unwrap_err().to_string().contains("already exists"));
    }
}
