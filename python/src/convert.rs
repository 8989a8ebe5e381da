//! Conversion of errors, numbers, and settings between Rust and Python.

use std::io::ErrorKind;

use petteia::error::Error;
use petteia::options::Settings;
use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyOverflowError, PyPermissionError,
    PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

/// Converts an error about a name, number, action, or file to the Python exception of that kind.
pub fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Missing(_) => PyFileNotFoundError::new_err(text),
        Error::Io { source, .. } => match source.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
            _ => PyOSError::new_err(text),
        },
        Error::Fault(_) => PyRuntimeError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        Error::About { error, .. } => raised(*error),
        _ => PyValueError::new_err(text),
    }
}

/// Returns the error for a value that another thread is changing.
pub fn in_use(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("another thread uses this {what}: give each thread its own"))
}

/// A whole number from Python. A bool, which is also an integer in Python, is refused.
pub struct Whole<T>(pub T);

impl<'py, T: TryFrom<u64>> FromPyObject<'_, 'py> for Whole<T> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Whole<T>> {
        whole(&given).map(Whole)
    }
}

fn whole<T: TryFrom<u64>>(given: &Bound<PyAny>) -> PyResult<T> {
    refuse_bool(given)?;
    let number = given.extract::<u64>();
    let largest =
        || PyValueError::new_err(format!("{given}: a whole number from 0 to 2^64 - 1 was expected"));
    match number {
        Ok(number) => T::try_from(number).map_err(|_| largest()),
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => Err(largest()),
        Err(error) => Err(error),
    }
}

/// Refuses a bool where a number is expected.
pub fn refuse_bool(given: &Bound<PyAny>) -> PyResult<()> {
    if given.is_instance_of::<PyBool>() {
        Err(PyTypeError::new_err(format!("a whole number was expected, not {given}")))
    } else {
        Ok(())
    }
}

/// Refuses a number outside the range from `least` to `most`; the error names the number.
pub fn expect_within(name: &str, number: usize, (least, most): (usize, usize)) -> PyResult<()> {
    if (least..=most).contains(&number) {
        Ok(())
    } else {
        Err(PyValueError::new_err(format!("{name}={number}: a number from {least} to {most} was expected")))
    }
}

/// Returns a value from a dict of arguments; errors name the argument.
pub fn argument<'a, 'py, T: FromPyObject<'a, 'py>>(
    given: &'a Option<Bound<'py, PyAny>>,
    name: &str,
) -> PyResult<Option<T>> {
    let Some(value) = given.as_ref().filter(|value| !value.is_none()) else { return Ok(None) };
    let named = |error: T::Error| {
        let (error, py) = (error.into(), value.py());
        let text = format!("argument '{name}': {}", error.value(py));
        PyErr::from_type(error.get_type(py), text)
    };
    value.extract().map(Some).map_err(named)
}

/// Returns `len` zeros. The memory is reserved first, because a failed allocation would end the process.
pub fn zeros<T: Clone + Default>(len: usize) -> PyResult<Vec<T>> {
    let mut room = Vec::<T>::new();
    room.try_reserve_exact(len)
        .map_err(|_| PyMemoryError::new_err(format!("an array of {len} numbers does not fit into memory")))?;
    drop(room);
    // the system provides this memory as pages that are already zero
    Ok(vec![T::default(); len])
}

/// Returns the settings in a dict: switches, numbers, and words.
pub fn settings(given: Option<&Bound<PyDict>>) -> PyResult<Settings> {
    let Some(given) = given else { return Ok(Settings::new()) };
    given.iter().map(|(name, value)| Ok((name.extract()?, setting(&name, &value)?))).collect()
}

fn setting(name: &Bound<PyAny>, value: &Bound<PyAny>) -> PyResult<toml::Value> {
    if value.is_instance_of::<PyString>() {
        return Ok(value.extract::<String>()?.into());
    }
    // a bool is also an int, and so are numpy's integers; numpy's floats are floats
    if let Ok(value) = value.extract::<bool>() {
        return Ok(value.into());
    }
    if let Ok(value) = value.extract::<i64>() {
        return Ok(value.into());
    }
    if let Ok(value) = value.extract::<f64>() {
        return Ok(value.into());
    }
    Err(PyTypeError::new_err(format!(
        "{name}: a switch, number, or word was expected, not {}",
        value.get_type()
    )))
}

/// Returns settings as a dict.
pub fn dict<'py>(py: Python<'py>, settings: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in settings {
        match value {
            toml::Value::Boolean(value) => dict.set_item(name, value)?,
            toml::Value::Integer(value) => dict.set_item(name, value)?,
            toml::Value::Float(value) => dict.set_item(name, value)?,
            toml::Value::String(value) => dict.set_item(name, value)?,
            other => dict.set_item(name, other.to_string())?,
        }
    }
    Ok(dict)
}
