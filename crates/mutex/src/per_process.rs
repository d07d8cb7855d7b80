//! State of a process that its forked children do not share.

use std::process;

use crate::{Appended, Mutex, MutexGuard};

/// A value for as long as the process; each child of a fork begins with a new one, since a thread
/// that it does not have may hold the parent's.
pub struct PerProcess<T: 'static> {
    values: Appended<OfProcess<T>>,
}

struct OfProcess<T> {
    pid: u32,
    value: Mutex<T>,
}

impl<T: Default + Send + 'static> PerProcess<T> {
    /// It has no value in any process yet.
    pub const fn new() -> Self {
        PerProcess { values: Appended::new() }
    }

    /// Waits until no other thread of this process has the value.
    pub fn lock(&self) -> MutexGuard<'static, T> {
        self.of(process::id()).lock()
    }

    fn of(&self, pid: u32) -> &'static Mutex<T> {
        loop {
            // Of several that threads have added at the same time, the first one.
            if let Some(known) = self.values.iter().filter(|one| one.pid == pid).last() {
                return &known.value;
            }
            self.values.push(OfProcess { pid, value: Mutex::default() });
        }
    }
}

impl<T: Default + Send + 'static> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_a_value_of_its_own() {
        static STATE: PerProcess<Vec<u8>> = PerProcess::new();
        let mut held = STATE.lock();
        held.push(1);
        let of_child = STATE.of(0);
        assert_eq!(*of_child.lock(), []);
        of_child.lock().push(2);
        drop(held);
        assert_eq!((STATE.lock().clone(), STATE.of(0).lock().clone()), (vec![1], vec![2]));
    }
}
