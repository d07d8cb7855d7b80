//! The number of this process, without a system call each time that it is needed.

use std::process;

/// This process's number. Few entries are written in half a microsecond, and the system call alone
/// takes a tenth of one.
#[cfg(target_os = "linux")]
pub fn pid() -> u32 {
    use std::sync::atomic::Ordering::Relaxed;

    let Some(known) = page::number() else { return process::id() };
    match known.load(Relaxed) {
        // For the first time, or after a fork.
        0 => {
            let pid = process::id();
            known.store(pid, Relaxed);
            pid
        }
        pid => pid,
    }
}

#[cfg(not(target_os = "linux"))]
pub fn pid() -> u32 {
    process::id()
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod page {
    use std::ptr::null_mut;
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicU32;

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    /// Memory for one number, which is 0 at first and in each child of a fork; `None` where the
    /// kernel does not offer that (Linux before 4.14).
    pub fn number() -> Option<&'static AtomicU32> {
        static NUMBER: OnceLock<Option<&'static AtomicU32>> = OnceLock::new();
        *NUMBER.get_or_init(|| {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let len = size_of::<AtomicU32>();
            // SAFETY: an anonymous private mapping at a place of the kernel's choosing.
            let page = unsafe { mmap_anonymous(null_mut(), len, access, MapFlags::PRIVATE) };
            let page = page.ok()?;
            // SAFETY: the mapping is ours, zero still, and nothing else uses it.
            if unsafe { madvise(page, len, Advice::LinuxWipeOnFork) }.is_err() {
                // SAFETY: as above.
                let _ = unsafe { munmap(page, len) };
                return None;
            }
            // SAFETY: mapped for good, aligned to a page, and all bytes are a valid number.
            Some(unsafe { &*page.cast::<AtomicU32>() })
        })
    }
}
