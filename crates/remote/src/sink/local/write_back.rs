//! Written bytes go from the system's memory to the disk while the next ones are written.
//!
//! Linux has `sync_file_range`, which leaves the journal of the file system alone. On ext4, 880 MB
//! in runs of 1 MiB take 0.4 to 0.5 s with it, and 0.8 to 0.9 s with `fdatasync` every 16 MB.

use std::fs::File;
use std::io;

/// Waits until the disk has the bytes that the system has of a file. They are not safe: the file's
/// length and the places of its bytes may be lost in a crash until the file is synced.
///
/// # Errors
/// Errors of the disk, of which the system reports each once.
#[cfg(target_os = "linux")]
pub fn write_back(file: &File) -> io::Result<()> {
    match sync_all_ranges(file) {
        Err(error) if is_lacking(&error) => file.sync_data(),
        done => done,
    }
}

#[cfg(not(target_os = "linux"))]
pub fn write_back(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Whether the system, or the kind of file, lacks the call: ENOSYS, EPERM, EINVAL, ESPIPE.
#[cfg(target_os = "linux")]
fn is_lacking(error: &io::Error) -> bool {
    crate::disk::is_unsupported(error) || error.kind() == io::ErrorKind::NotSeekable
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix does not know this call")]
fn sync_all_ranges(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    const WRITE_AND_WAIT: libc::c_uint = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open as long as the file is borrowed, and no memory is passed. A
    // length of 0 means up to the end of the file.
    let failed = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, WRITE_AND_WAIT) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_back_and_devices_say_that_they_cannot() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[1; 10_000]).unwrap();
        write_back(&file).unwrap();
        let device = File::options().write(true).open("/dev/null").unwrap();
        assert_eq!(write_back(&device).is_err(), device.sync_data().is_err());
    }
}
