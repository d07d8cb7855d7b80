//! The peak of a thread's memory: an allocator that counts.

#![allow(
    unsafe_code,
    reason = "an allocator is unsafe by nature; all it does is pass on and count"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The global allocator of a program that measures.
pub struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing, since
// the counters are plain numbers that need no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count(bytes: isize) {
    let live = LIVE.get() + bytes;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

/// The most memory that `work` allocated beyond the amount before it, bytes; 0 where another
/// allocator is in use. Only this thread is counted.
pub fn peak_of(work: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    work();
    usize::try_from(PEAK.get() - before).unwrap_or(0)
}
