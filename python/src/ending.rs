//! The interpreter's end, while other threads still read.
//!
//! A daemon thread that comes back from a wait then is ended by Python at once, in the middle of
//! this code, and one that requests the interpreter where there is none left panics. So a thread
//! that comes back late stays where it is until the process is gone, and those of the engine that
//! call a function of Python's are waited for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use mutex::Mutex;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Calls of Python's functions that are under way at the end get so long.
const CALLS_END: Duration = Duration::from_secs(2);
const LOOKED_AFTER: Duration = Duration::from_millis(1);

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// Threads of the engine that have or want the interpreter.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// The thread that ends it.
static ENDING: Mutex<Option<ThreadId>> = Mutex::new(None);

/// State of the process belongs to its main interpreter: locks and exceptions of one are not for
/// another.
#[allow(unsafe_code)]
pub fn only_in_main_interpreter() -> PyResult<()> {
    // SAFETY: this thread is attached to an interpreter.
    let number =
        unsafe { pyo3::ffi::PyInterpreterState_GetID(pyo3::ffi::PyInterpreterState_Get()) };
    match number {
        0 => Ok(()),
        _ => Err(PyImportError::new_err("farroot._core cannot be loaded in a subinterpreter")),
    }
}

/// The interpreter is about to end, on this thread; registered with `atexit`.
#[pyfunction]
pub fn begin_ending(py: Python<'_>) {
    *ENDING.lock() = Some(thread::current().id());
    HAS_BEGUN.store(true, Ordering::SeqCst);
    py.detach(|| {
        let begin = Instant::now();
        while CALLS.load(Ordering::SeqCst) > 0 && begin.elapsed() < CALLS_END {
            thread::sleep(LOOKED_AFTER);
        }
    });
}

/// Calls Python from a thread of the engine; `None` where the interpreter ends.
pub fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    CALLS.fetch_add(1, Ordering::SeqCst);
    let done = match HAS_BEGUN.load(Ordering::SeqCst) {
        true => None,
        false => Python::try_attach(work),
    };
    CALLS.fetch_sub(1, Ordering::SeqCst);
    done
}

/// Does not return where a thread has lost its interpreter during `work`, for which it is detached.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        let done = work();
        if HAS_BEGUN.load(Ordering::SeqCst) && has_ended() && !is_the_ending_thread() {
            loop {
                thread::park();
            }
        }
        done
    })
}

fn is_the_ending_thread() -> bool {
    *ENDING.lock() == Some(thread::current().id())
}

#[allow(unsafe_code)]
fn has_ended() -> bool {
    // SAFETY: it may be called at any time.
    unsafe { pyo3::ffi::Py_IsInitialized() == 0 }
}
