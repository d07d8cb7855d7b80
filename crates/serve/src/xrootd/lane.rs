//! Work of one kind that waits, of which only so much runs at the same time.

use std::collections::VecDeque;

/// A queue with a count of the items that have been taken out of it and are not done.
#[derive(Debug)]
pub struct Lane<T> {
    waiting: VecDeque<T>,
    running: usize,
    running_max: usize,
}

impl<T> Lane<T> {
    pub fn new(running_max: usize) -> Self {
        Lane { waiting: VecDeque::new(), running: 0, running_max }
    }

    pub fn push(&mut self, work: T) {
        self.waiting.push_back(work);
    }

    /// Work that is to go on before all that waits.
    pub fn push_first(&mut self, work: T) {
        self.waiting.push_front(work);
    }

    /// The next work, if it may run now beside so many others.
    pub fn next(&mut self, may_run: impl Fn(&T, usize) -> bool) -> Option<T> {
        let next = self.waiting.front()?;
        if self.running == self.running_max || !may_run(next, self.running) {
            return None;
        }
        self.running += 1;
        self.waiting.pop_front()
    }

    /// Some of it is done.
    pub fn done(&mut self) {
        self.running -= 1;
    }
}
