//! Allocation of the extension's large blocks.
//!
//! Columns are some of the largest blocks of a process, and batches of them come and go, made on
//! one thread and dropped on another. The C library keeps freed blocks of such sizes where small
//! ones that live on lie between them: a process that holds 100 MB at a time grew to 1.5 GB. Giving
//! each back to the system at once costs more than decoding into it, because the kernel clears
//! every page anew. Here a large block is a mapping of its own, and a bounded stock of freed ones
//! is kept for the next batch. Smaller blocks are the C library's.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::Mutex;

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

#[global_allocator]
static ALLOCATOR: Mappings = Mappings { stock: Mutex::new(Stock::new()) };

/// Blocks from here on are mappings: where the C library begins with them as well.
const MAPPED_BYTES_MIN: usize = 128 << 10;
/// Freed blocks that are kept, bytes: a sixth of a batch of the default size.
const STOCK_BYTES_MAX: usize = 16 << 20;
/// Freed blocks that are kept, at most: of the smallest size, as many as fill the stock.
const STOCK_BLOCKS_MAX: usize = STOCK_BYTES_MAX / MAPPED_BYTES_MIN;
/// Mappings start at a page.
const ALIGN_MAX: usize = 4096;

struct Mappings {
    /// Never waited for: a process forked while it was locked would wait for ever.
    stock: Mutex<Stock>,
}

/// A mapping that is free.
#[derive(Clone, Copy)]
struct Block {
    address: usize,
    size: usize,
}

/// A ring of free blocks, the one freed last at its end.
struct Stock {
    ring: [Block; STOCK_BLOCKS_MAX],
    first: usize,
    len: usize,
    bytes: usize,
}

fn is_mapped(layout: Layout) -> bool {
    layout.size() >= MAPPED_BYTES_MIN && layout.align() <= ALIGN_MAX
}

/// The length of the mapping of a block: at most an eighth more, so that freed blocks of about the
/// same size serve one another.
fn rounded(size: usize) -> Option<usize> {
    let step = 1 << (size.ilog2() - 3);
    size.checked_next_multiple_of(step)
}

impl Stock {
    const fn new() -> Self {
        let none = Block { address: 0, size: 0 };
        Stock { ring: [none; STOCK_BLOCKS_MAX], first: 0, len: 0, bytes: 0 }
    }

    fn at(&mut self, position: usize) -> &mut Block {
        &mut self.ring[(self.first + position) % STOCK_BLOCKS_MAX]
    }

    /// A block of this size, the one freed last: its pages are the likeliest to be in a cache.
    fn take(&mut self, size: usize) -> Option<*mut u8> {
        let found = (0..self.len).rev().find(|position| self.at(*position).size == size)?;
        let block = *self.at(found);
        for position in found + 1..self.len {
            let next = *self.at(position);
            *self.at(position - 1) = next;
        }
        self.len -= 1;
        self.bytes -= size;
        Some(block.address as *mut u8)
    }

    fn is_full(&self) -> bool {
        self.len == STOCK_BLOCKS_MAX || self.bytes > STOCK_BYTES_MAX
    }

    /// The block that has been free for longest.
    fn oldest(&mut self) -> Block {
        let block = *self.at(0);
        self.first = (self.first + 1) % STOCK_BLOCKS_MAX;
        self.len -= 1;
        self.bytes -= block.size;
        block
    }

    fn put(&mut self, block: Block) {
        let end = self.len;
        *self.at(end) = block;
        self.len += 1;
        self.bytes += block.size;
    }
}

/// Fresh pages, all zero.
fn map(size: usize) -> *mut u8 {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: an anonymous private mapping at a place of the kernel's choosing.
    let block = unsafe { mmap_anonymous(null_mut(), size, access, MapFlags::PRIVATE) };
    block.map_or(null_mut(), <*mut _>::cast)
}

/// # Safety
/// A mapping of ours of this size that is free.
unsafe fn unmap(address: *mut u8, size: usize) {
    // SAFETY: as the caller promises. Pages that the kernel refuses to take back stay where they
    // are.
    let _ = unsafe { munmap(address.cast(), size) };
}

impl Mappings {
    /// A block that was used before, of the length of a mapping.
    fn reused(&self, size: usize) -> Option<*mut u8> {
        self.stock.try_lock().ok()?.take(size)
    }

    /// # Safety
    /// A mapping of ours of this size that is free.
    unsafe fn free(&self, address: *mut u8, size: usize) {
        let Ok(mut stock) = self.stock.try_lock() else {
            // SAFETY: as the caller promises.
            unsafe { unmap(address, size) };
            return;
        };
        while stock.is_full() {
            let block = stock.oldest();
            // SAFETY: each block in the stock was freed, and is in it once.
            unsafe { unmap(block.address as *mut u8, block.size) };
        }
        stock.put(Block { address: address as usize, size });
    }
}

// SAFETY: a block's layout alone says whose it is, and how long its mapping is, in all four
// functions. A block is in use or in the stock, never both. Page alignment is enough for all that
// are mapped.
unsafe impl GlobalAlloc for Mappings {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_mapped(layout) {
            // SAFETY: as the caller promises.
            return unsafe { System.alloc(layout) };
        }
        let Some(size) = rounded(layout.size()) else { return null_mut() };
        self.reused(size).unwrap_or_else(|| map(size))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_mapped(layout) {
            // SAFETY: as the caller promises.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let Some(size) = rounded(layout.size()) else { return null_mut() };
        match self.reused(size) {
            Some(block) => {
                // SAFETY: a mapping of ours of at least this size, in nobody else's use.
                unsafe { block.write_bytes(0, layout.size()) };
                block
            }
            None => map(size),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_mapped(layout) {
            // SAFETY: as the caller promises.
            unsafe { System.dealloc(block, layout) };
        } else if let Some(size) = rounded(layout.size()) {
            // SAFETY: mapped with this size, and no longer used, as the caller promises.
            unsafe { self.free(block, size) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises that it does not overflow when rounded up to the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        if is_mapped(layout) && is_mapped(new) {
            let (Some(before), Some(after)) = (rounded(layout.size()), rounded(new_size)) else {
                return null_mut();
            };
            if before == after {
                return block;
            }
            // SAFETY: a mapping of ours of this size; where it moves, its content moves along.
            let moved = unsafe { mremap(block.cast(), before, after, MremapFlags::MAYMOVE) };
            return moved.map_or(null_mut(), <*mut _>::cast);
        }
        if !is_mapped(layout) && !is_mapped(new) {
            // SAFETY: as the caller promises.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        // SAFETY: as the caller promises; both blocks are of at least the length copied, and apart.
        unsafe {
            let target = self.alloc(new);
            if !target.is_null() {
                target.copy_from_nonoverlapping(block, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            target
        }
    }
}
