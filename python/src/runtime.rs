//! One engine a process: made when first needed, made anew after a fork, waited for so that
//! Ctrl-C ends the wait.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::{Config, Engine, Error, ErrorKind};
use mutex::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use remote::cache::Cache;
use remote::settings::{self, Kind, SETTINGS, Setting, Value};

use crate::ending::detached;
use crate::error::exception;
use crate::process::pid;
use crate::{log, progress};

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
        Owned { pid: pid(), value: ManuallyDrop::new(value) }
    }

    pub fn get(&self) -> Option<&T> {
        (self.pid == pid()).then_some(&*self.value)
    }

    pub fn get_mut(&mut self) -> Option<&mut T> {
        (self.pid == pid()).then_some(&mut *self.value)
    }

    /// The value itself; none in another process, where it is neither used nor dropped.
    #[allow(unsafe_code)]
    pub fn into_inner(self) -> Option<T> {
        let mut held = ManuallyDrop::new(self);
        // SAFETY: `held` is never used again, and not dropped.
        (held.pid == pid()).then(|| unsafe { ManuallyDrop::take(&mut held.value) })
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
        if self.pid == pid() {
            // SAFETY: dropped once, here, and never used after.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}

/// This process's engine.
pub fn engine(py: Python<'_>) -> PyResult<Engine> {
    if let Some(engine) = STATE.lock().running.as_ref().and_then(Owned::get) {
        return Ok(engine.clone());
    }
    // With the first engine; without the lock, since warnings run Python.
    warn_of_misspelt(py)?;
    let mut state = STATE.lock();
    if let Some(engine) = state.running.as_ref().and_then(Owned::get) {
        return Ok(engine.clone());
    }
    let engine = state.config().and_then(Engine::start).map_err(|error| exception(py, &error))?;
    state.running = Some(Owned::new(engine.clone()));
    Ok(engine)
}

/// Once a process: variables that begin as settings do and are none.
fn warn_of_misspelt(py: Python<'_>) -> PyResult<()> {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if IS_DONE.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let warnings = settings::misspelt(std::env::vars_os().map(|(name, _)| name));
    warn(py, "SettingWarning", warnings)
}

/// Python's warnings, of this category of `farroot.errors`.
fn warn(
    py: Python<'_>,
    category: &str,
    warnings: impl IntoIterator<Item = impl AsRef<str>>,
) -> PyResult<()> {
    let errors = py.import("farroot.errors")?;
    let category = errors.getattr(category)?;
    for warning in warnings {
        errors.call_method1("warn", (warning.as_ref(), &category))?;
    }
    Ok(())
}

/// Those of an upload, see `remote::Written::warnings`.
pub fn warn_of_upload(py: Python<'_>, warnings: &[String]) -> PyResult<()> {
    if warnings.is_empty() { Ok(()) } else { warn(py, "UploadWarning", warnings) }
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
    let mut future = pin!(future);
    log::choose_level(py);
    let output = loop {
        let part = future.as_mut();
        if let Some(output) = detached(py, || engine.block_on_for(part, SIGNALS_EVERY)) {
            break Ok(output);
        }
        if let Err(interrupt) = while_waiting(py) {
            break Err(interrupt);
        }
    };
    log::deliver(py);
    output
}

/// The work of the waiting thread every now and then: any of it may end the wait.
fn while_waiting(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    log::deliver(py);
    progress::tick(py)
}

/// Changes settings; all settings as they are then.
#[pyfunction]
#[pyo3(signature = (**settings))]
pub fn configure<'py>(
    py: Python<'py>,
    settings: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    // Before the lock is taken: extracting values may run Python.
    let mut changes = Vec::new();
    for (name, value) in settings.into_iter().flatten() {
        let setting = Setting::named(name.cast::<PyString>()?.to_str()?);
        let setting = setting.map_err(|error| exception(py, &error))?;
        changes.push((setting, given(setting, &value)));
    }
    let mut state = STATE.lock();
    let changed = state.change(changes).map_err(|error| exception(py, &error))?;
    drop(state);
    shown(py, &changed)
}

/// Waits until all bytes that were read are in the cache on the disk, where there is one.
#[pyfunction]
pub fn flush_cache(py: Python<'_>) {
    let engine = STATE.lock().running.as_ref().and_then(Owned::get).cloned();
    let cache = engine.and_then(|engine| engine.remote().cache());
    py.detach(|| cache.iter().for_each(Cache::flush));
}

/// A value as Python gives it; text is read as in a `FARROOT_*` variable.
enum Given {
    Value(Value),
    Text(String),
    /// Of no type that the setting takes.
    Other(String),
}

fn given(setting: &Setting, value: &Bound<'_, PyAny>) -> Given {
    let kind = setting.kind();
    if kind == Kind::Folder
        && let Ok(path) = value.extract::<PathBuf>()
    {
        return Given::Value(Value::Folder(Some(path)));
    }
    if let Ok(text) = value.extract::<String>() {
        return match kind {
            Kind::Text => Given::Value(Value::Text(text)),
            _ => Given::Text(text),
        };
    }
    let read = match kind {
        Kind::Bytes | Kind::Count => value.extract().ok().map(Value::Number),
        Kind::Seconds => value.extract().ok().map(Value::Seconds),
        Kind::Switch => value.is_truthy().ok().map(Value::Switch),
        Kind::Text | Kind::Folder => None,
    };
    read.map_or_else(|| Given::Other(value.to_string()), Given::Value)
}

impl State {
    fn change(&mut self, changes: Vec<(&Setting, Given)>) -> engine::Result<Config> {
        let mut config = self.config()?;
        if changes.is_empty() {
            return Ok(config);
        }
        for (setting, given) in changes {
            match given {
                Given::Value(value) => setting.set(&mut config, value)?,
                Given::Text(text) => setting.set_text(&mut config, &text)?,
                Given::Other(shown) => return Err(setting.wrong(&shown)),
            }
        }
        if let Some(engine) = self.running.as_ref().and_then(Owned::get) {
            engine.configure(config.clone())?;
        }
        self.config = Some(config.clone());
        Ok(config)
    }
}

fn shown<'py>(py: Python<'py>, config: &Config) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    for setting in &SETTINGS {
        match setting.get(config) {
            Value::Number(number) => shown.set_item(setting.name, number)?,
            Value::Seconds(seconds) => shown.set_item(setting.name, seconds)?,
            Value::Switch(is_on) => shown.set_item(setting.name, is_on)?,
            Value::Text(text) => shown.set_item(setting.name, text)?,
            Value::Folder(path) => shown.set_item(setting.name, path.as_deref())?,
        }
    }
    Ok(shown)
}

/// An `InvalidArgumentError`.
pub fn invalid(py: Python<'_>, message: &str) -> PyErr {
    exception(py, &Error::new(ErrorKind::InvalidArgument, message))
}
