//! Ctrl-C and termination: the client ends first, then the lab is taken down.

use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

use farroot_lab::linux::{Error, Result};

/// How long a client may take to end before it is killed.
const CLIENT_STOP: Duration = Duration::from_secs(3);

/// Signals are caught from here on, so that nothing leaves the lab standing.
pub struct Signals {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    caught: Option<i32>,
    client: Option<Pid>,
}

impl Signals {
    pub fn catch() -> Result<Signals> {
        let caught = iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]);
        let mut caught =
            caught.map_err(|error| Error::other("catching signals", error.to_string()))?;
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for signal in caught.forever() {
                on_signal(&shared, signal);
            }
        });
        Ok(Signals { state })
    }

    /// An error once a signal has come: the builder of the lab stops and drops it.
    pub fn check(&self) -> Result<()> {
        match self.state().caught {
            None => Ok(()),
            Some(signal) => Err(Error::other("interrupted", format!("signal {signal}"))),
        }
    }

    /// From now on signals are the client's.
    pub fn forward_to(&self, client: &Child) {
        let mut state = self.state();
        state.client = Some(Pid::from_child(client));
        if state.caught.is_some() {
            end_client(&mut state, Signal::TERM);
        }
    }

    pub fn child_is_gone(&self) {
        self.state().client = None;
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn on_signal(shared: &Arc<Mutex<State>>, signal: i32) {
    let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let again = state.caught.replace(signal).is_some();
    // A terminal has sent Ctrl-C to the client as well; the first one is left to it alone.
    if signal != SIGINT || again {
        end_client(&mut state, Signal::TERM);
    }
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        for signal in [Signal::TERM, Signal::KILL] {
            thread::sleep(CLIENT_STOP);
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            end_client(&mut state, signal);
        }
    });
}

fn end_client(state: &mut State, signal: Signal) {
    if let Some(client) = state.client {
        let _ = kill_process(client, signal);
    }
}
