//! A list that only grows, and that all threads read and lengthen without a lock.

use std::iter::successors;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Values that stay for as long as the process.
pub struct Appended<T: 'static> {
    newest: AtomicPtr<Node<T>>,
}

struct Node<T: 'static> {
    value: T,
    older: Option<&'static Node<T>>,
}

impl<T: Send + Sync + 'static> Appended<T> {
    /// Empty.
    pub const fn new() -> Self {
        Appended { newest: AtomicPtr::new(null_mut()) }
    }

    /// The values, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = &'static T> + use<T> {
        successors(self.newest(), |node| node.older).map(|node| &node.value)
    }

    /// Adds a value.
    pub fn push(&self, value: T) {
        let node = Box::leak(Box::new(Node { value, older: None }));
        loop {
            node.older = self.newest();
            let before = node.older.map_or(null_mut(), |older| ptr::from_ref(older).cast_mut());
            let success = Ordering::AcqRel;
            let failure = Ordering::Acquire;
            if self.newest.compare_exchange(before, node, success, failure).is_ok() {
                return;
            }
        }
    }

    #[allow(unsafe_code)]
    fn newest(&self) -> Option<&'static Node<T>> {
        // SAFETY: null, or a node that was leaked when it was made, and is not changed any more.
        unsafe { self.newest.load(Ordering::Acquire).as_ref() }
    }
}

impl<T: Send + Sync + 'static> Default for Appended<T> {
    fn default() -> Self {
        Appended::new()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn all_that_threads_add_is_there() {
        static LIST: Appended<usize> = Appended::new();
        assert_eq!(LIST.iter().next(), None);
        thread::scope(|scope| {
            for begin in [0, 1000, 2000] {
                scope.spawn(move || (begin..begin + 1000).for_each(|value| LIST.push(value)));
            }
        });
        let mut values: Vec<usize> = LIST.iter().copied().collect();
        let of_first = values.iter().filter(|value| **value < 1000).copied();
        assert!(of_first.eq((0..1000).rev()), "in the order in which a thread has added them");
        values.sort_unstable();
        assert!(values.into_iter().eq(0..3000));
    }
}
