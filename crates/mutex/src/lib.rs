//! Locks for programs that fork while other threads work.
//!
//! The child of a fork has the parent's memory and one of its threads: whatever another thread held
//! locked stays locked there for good. So the state of a process that outlives its engine is made
//! anew in each child ([`PerProcess`]) or needs no lock ([`Appended`]), and locks keep nothing
//! outside of themselves: threads that wait for one of `parking_lot` are listed in a table that all
//! locks of a process share, and that a fork may find locked.
//!
//! A panic poisons nothing here: the next holder of the lock finds the value as it was left.

mod appended;
mod per_process;

use std::sync::{self, PoisonError, TryLockError};

pub use appended::Appended;
pub use per_process::PerProcess;
pub use sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// A value that one thread has at a time.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Unlocked.
    pub const fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until no other thread has the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, unless a thread has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value, of which the caller is the only user.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that several threads read, or one changes.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Unlocked.
    pub const fn new(value: T) -> Self {
        RwLock(sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no thread changes the value.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread has the value.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_panic_leaves_the_value() {
        let mut value = Mutex::new(1);
        let broken = catch_unwind(AssertUnwindSafe(|| {
            let mut held = value.lock();
            *held = 2;
            panic!("meant: a test of panics");
        }));
        assert!(broken.is_err());
        assert_eq!(*value.lock(), 2);
        assert_eq!(value.try_lock().map(|held| *held), Some(2));
        assert_eq!((*value.get_mut(), value.into_inner()), (2, 2));
    }

    #[test]
    fn a_value_that_is_held_is_not_had_twice() {
        let value = Mutex::new(1);
        let held = value.lock();
        assert!(value.try_lock().is_none());
        drop(held);
        assert!(value.try_lock().is_some());
        let several = RwLock::new(1);
        let one = several.read();
        let other = several.read();
        assert_eq!(*one, *other);
        drop((one, other));
        *several.write() = 2;
        assert_eq!(*several.read(), 2);
    }
}
