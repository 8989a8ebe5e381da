//! Errors and settings between Rust and Python.

use petteia::error::Error;
use petteia::options::Settings;
use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// A wrong name, number, action or file as the exception that Python has for it.
pub fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Missing(_) => PyFileNotFoundError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Fault(_) => PyRuntimeError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        Error::About { error, .. } => raised(*error),
        _ => PyValueError::new_err(text),
    }
}

/// The settings in a dict: switches, numbers and words.
pub fn settings(given: Option<&Bound<PyDict>>) -> PyResult<Settings> {
    let Some(given) = given else { return Ok(Settings::new()) };
    given.iter().map(|(name, value)| Ok((name.extract()?, setting(&name, &value)?))).collect()
}

fn setting(name: &Bound<PyAny>, value: &Bound<PyAny>) -> PyResult<toml::Value> {
    if value.is_instance_of::<PyString>() {
        return Ok(value.extract::<String>()?.into());
    }
    // a bool is an int, too, and so are the integers of numpy; its floats are floats
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
        "{name}: a switch, number or word was expected, not {}",
        value.get_type()
    )))
}

/// Settings as a dict.
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
