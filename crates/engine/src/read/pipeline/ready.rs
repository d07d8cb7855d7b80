//! Fresh memory made ready before it is written to.

use std::ops::Range;

/// So much is made ready at a time: the kernel is asked once for many pages, and little is in
/// memory before it is needed.
const BYTES_TOGETHER: usize = 256 << 10;
/// Less is not worth asking for: small blocks have been used before, ends of large ones are few.
const BYTES_MIN: usize = 64 << 10;
/// Pieces end where pages do, however large these are.
const PAGE_BYTES_MAX: usize = 64 << 10;

/// How much of an array's memory is ready.
#[derive(Default)]
pub struct Ready {
    until: usize,
}

impl Ready {
    /// Makes the memory ready that the next `bytes` go to, of the addresses that are free.
    pub fn make(&mut self, free: Range<usize>, bytes: usize) {
        // A page that is asked for costs two thirds of one that is written to unasked. Where it is
        // not given, writing takes care of it.
        let needed = free.end.min(free.start.saturating_add(bytes));
        let from =
            if (free.start..free.end).contains(&self.until) { self.until } else { free.start };
        let until = needed.max(from.saturating_add(BYTES_TOGETHER));
        let until = free.end.min(until.checked_next_multiple_of(PAGE_BYTES_MAX).unwrap_or(until));
        if needed > from && until - from >= BYTES_MIN {
            #[cfg(target_os = "linux")]
            populate(from..until);
            self.until = until;
        }
    }
}

#[cfg(target_os = "linux")]
fn populate(addresses: Range<usize>) {
    use rustix::mm::{Advice, madvise};
    let page = rustix::param::page_size();
    // The first page may be in use: it is ready then.
    let from = addresses.start.next_multiple_of(page);
    let until = addresses.end / page * page;
    if from < until {
        let first = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: memory of this process that is made resident; nothing is changed.
        #[allow(unsafe_code)]
        let _ = unsafe { madvise(first, until - from, Advice::LinuxPopulateWrite) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ready_is_not_asked_for_again_and_nothing_beyond_the_end() {
        let mut ready = Ready::default();
        // An array of 4 MB, which is written from its beginning.
        let array = vec![7u8; 4 << 20];
        let (start, end) = (array.as_ptr().addr(), array.as_ptr().addr() + array.len());
        ready.make(start..end, 1000);
        let until = ready.until;
        assert!(until >= start + BYTES_TOGETHER && until <= end);
        ready.make(start + 1000..end, 1000);
        assert_eq!(ready.until, until);
        ready.make(start + 2000..end, BYTES_TOGETHER + PAGE_BYTES_MAX);
        assert!(ready.until > until);
        ready.make(start + 3000..end, usize::MAX);
        assert_eq!(ready.until, end);
        assert!(array.iter().all(|byte| *byte == 7), "nothing is changed");
        // It has moved, or is another one.
        let other = vec![0u8; BYTES_MIN + 1];
        let free = other.as_ptr().addr()..other.as_ptr().addr() + other.len();
        ready.make(free.start + 2..free.end, 5);
        assert_eq!(ready.until, end, "too little");
        ready.make(free.clone(), 5);
        assert_eq!(ready.until, free.end);
        ready.make(0..0, 5);
    }
}
