//! One engine a process: made when first needed, made anew after a fork, waited for so that
//! Ctrl-C ends the wait.

use std::mem::ManuallyDrop;
use std::time::Duration;

use engine::{Checksums, Config, Engine, Error, ErrorKind};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::error::exception;

/// How often a wait looks for signals: Ctrl-C ends it within a blink.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// Locked only while attached to the interpreter and for moments, so that a fork, which another
/// attached thread calls, never finds it locked.
static STATE: Mutex<State> = Mutex::new(State { config: None, running: None });

struct State {
    config: Option<Config>,
    running: Option<Owned<Engine>>,
}

/// A value with threads or connections behind it, which only the process that made it may use or
/// drop: after a fork the child has the memory, but none of the threads.
pub struct Owned<T> {
    pid: u32,
    value: ManuallyDrop<T>,
}

impl<T> Owned<T> {
    pub fn new(value: T) -> Self {
        Owned { pid: std::process::id(), value: ManuallyDrop::new(value) }
    }

    pub fn get(&self) -> Option<&T> {
        (self.pid == std::process::id()).then_some(&*self.value)
    }

    /// The value, or an exception that says why there is none.
    pub fn here(&self, py: Python<'_>) -> PyResult<&T> {
        self.get().ok_or_else(|| {
            let error = Error::new(ErrorKind::InvalidArgument, "opened before a fork")
                .with_advice("open it again in this process");
            exception(py, &error)
        })
    }
}

impl<T> Drop for Owned<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            // SAFETY: dropped once, here, and never used after.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}

/// This process's engine.
pub fn engine(py: Python<'_>) -> PyResult<Engine> {
    let mut state = STATE.lock();
    if let Some(engine) = state.running.as_ref().and_then(Owned::get) {
        return Ok(engine.clone());
    }
    let engine = state.config().and_then(Engine::start).map_err(|error| exception(py, &error))?;
    state.running = Some(Owned::new(engine.clone()));
    Ok(engine)
}

impl State {
    fn config(&self) -> engine::Result<Config> {
        self.config.clone().map_or_else(Config::from_env, Ok)
    }
}

/// Waits for a future with the interpreter released; Ctrl-C drops it.
pub fn wait<T: Send>(
    py: Python<'_>,
    engine: &Engine,
    future: impl Future<Output = T> + Send,
) -> PyResult<T> {
    let mut interrupt = None;
    let output = py.detach(|| {
        engine.block_on_until(future, SIGNALS_EVERY, || {
            interrupt = Python::attach(|py| py.check_signals()).err();
            interrupt.is_some()
        })
    });
    match (output, interrupt) {
        (Some(output), None) => Ok(output),
        (_, Some(interrupt)) => Err(interrupt),
        (None, None) => unreachable!("a wait is given up only for a signal"),
    }
}

/// Changes settings before the engine starts; all settings as they are then.
#[pyfunction]
#[pyo3(signature = (**settings))]
pub fn configure<'py>(
    py: Python<'py>,
    settings: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut state = STATE.lock();
    let mut config = state.config().map_err(|error| exception(py, &error))?;
    if let Some(settings) = settings.filter(|settings| !settings.is_empty()) {
        if state.running.as_ref().and_then(Owned::get).is_some() {
            return Err(invalid(py, "settings are made before the first file is opened"));
        }
        for (name, value) in settings {
            set(&mut config, name.cast::<PyString>()?.to_str()?, &value)?;
        }
        state.config = Some(config.clone());
    }
    shown(py, &config)
}

fn set(config: &mut Config, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    match name {
        "memory" => config.memory_bytes_max = value.extract()?,
        "decode_threads" => config.decode_threads = value.extract()?,
        "connections" => config.connections_initial = value.extract()?,
        "connections_max" => config.connections_max = value.extract()?,
        "opens_max" => config.opens_max = value.extract()?,
        "store" => config.store_bytes_max = value.extract()?,
        "store_folder" => config.store_folder = Some(value.extract()?),
        "connect_timeout" => config.connect_timeout = seconds(value)?,
        "silence_timeout" => config.silence_timeout = seconds(value)?,
        "patience" => config.patience = seconds(value)?,
        "outage_timeout" => config.outage_timeout = seconds(value)?,
        "sources" => config.sources_active = value.extract::<u32>()?.max(1),
        "checksums" => {
            let name: String = value.extract()?;
            config.checksums = Checksums::named(&name)
                .ok_or_else(|| invalid(py, "checksums are auto, always or never"))?;
        }
        "user" => config.user = value.extract()?,
        _ => return Err(invalid(py, &format!("there is no setting {name:?}"))),
    }
    if config.connections_initial == 0 || config.connections_max == 0 || config.opens_max == 0 {
        return Err(invalid(py, "without connections and opens nothing can be read"));
    }
    config.connections_initial = config.connections_initial.min(config.connections_max);
    Ok(())
}

fn seconds(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value.extract()?)
        .map_err(|error| invalid(value.py(), &format!("seconds: {error}")))
}

fn shown<'py>(py: Python<'py>, config: &Config) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    shown.set_item("memory", config.memory_bytes_max)?;
    shown.set_item("decode_threads", config.decode_threads)?;
    shown.set_item("connections", config.connections_initial)?;
    shown.set_item("connections_max", config.connections_max)?;
    shown.set_item("opens_max", config.opens_max)?;
    shown.set_item("store", config.store_bytes_max)?;
    shown.set_item("store_folder", config.store_folder.as_deref())?;
    shown.set_item("connect_timeout", config.connect_timeout.as_secs_f64())?;
    shown.set_item("silence_timeout", config.silence_timeout.as_secs_f64())?;
    shown.set_item("patience", config.patience.as_secs_f64())?;
    shown.set_item("outage_timeout", config.outage_timeout.as_secs_f64())?;
    shown.set_item("sources", config.sources_active)?;
    shown.set_item("checksums", config.checksums.name())?;
    shown.set_item("user", &config.user)?;
    Ok(shown)
}

/// `100 MB`, `1 GiB` or `4096` as bytes.
#[pyfunction]
pub fn parse_bytes(py: Python<'_>, text: &str) -> PyResult<u64> {
    engine::config::parse_bytes(text).map_err(|error| exception(py, &error))
}

/// An `InvalidArgumentError`.
pub fn invalid(py: Python<'_>, message: &str) -> PyErr {
    exception(py, &Error::new(ErrorKind::InvalidArgument, message))
}
