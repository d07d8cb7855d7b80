//! Buffers for pieces of files that serve again and again.
//!
//! Bytes read from a disk are decoded soon after. A buffer that was just decoded is still in the
//! processor's cache when the kernel copies into it; fresh memory it has to clear first, page by
//! page, which takes longer than the copy.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use mutex::Mutex;

/// Length of a buffer: longer than nearly all requests. A longer request gets memory of its own.
const BUFFER_BYTES: usize = 5 << 18;
/// Shorter pieces get memory of their own, or small ones would hold large buffers.
const PIECE_BYTES_MIN: usize = BUFFER_BYTES / 4;
/// Buffers that are kept: about as many as are prefetched before decoding.
const KEPT_MAX: usize = 16;

/// Buffers not in use.
#[derive(Debug, Default)]
pub struct Buffers {
    free: Mutex<Vec<Vec<u8>>>,
}

/// A buffer that returns to the pool when its last part is dropped.
struct Lent {
    buffer: Vec<u8>,
    len: usize,
    home: Arc<Buffers>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut free = self.home.free.lock();
        if free.len() < KEPT_MAX {
            free.push(std::mem::take(&mut self.buffer));
        }
    }
}

impl Buffers {
    /// The bytes of `range` that the file has; fewer at its end.
    pub fn read(self: &Arc<Self>, file: &File, range: Range<u64>) -> io::Result<Bytes> {
        let wanted = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        if !(PIECE_BYTES_MIN..=BUFFER_BYTES).contains(&wanted) {
            return read_piece(file, range);
        }
        let free = self.free.lock().pop();
        let buffer = free.unwrap_or_else(|| vec![0; BUFFER_BYTES]);
        let mut lent = Lent { buffer, len: 0, home: self.clone() };
        while lent.len < wanted {
            let at = range.start + lent.len as u64;
            match rustix::io::pread(file, &mut lent.buffer[lent.len..wanted], at) {
                Ok(0) => break,
                Ok(read) => lent.len += read,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Bytes::from_owner(lent))
    }
}

/// The bytes of `range` that the file has, into a buffer that is not cleared first; fewer at its
/// end.
pub(super) fn read_piece(file: &File, range: Range<u64>) -> io::Result<Bytes> {
    let wanted = usize::try_from(range.end.saturating_sub(range.start))
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(wanted)?;
    while buffer.len() < wanted {
        let at = range.start + buffer.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut buffer), at) {
            Ok(0) => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The allocator may have given more room than requested.
    buffer.truncate(wanted);
    Ok(Bytes::from(buffer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_where_the_file_ends() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, b"0123456789").unwrap();
        assert_eq!(read_piece(&file, 2..5).unwrap(), &b"234"[..]);
        assert_eq!(read_piece(&file, 8..100).unwrap(), &b"89"[..]);
        assert_eq!(read_piece(&file, 10..11).unwrap(), &b""[..]);
    }

    #[test]
    fn a_buffer_serves_again_when_the_last_of_it_is_gone() {
        let mut file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..BUFFER_BYTES + 10).map(|at| (at / 1000) as u8).collect();
        io::Write::write_all(&mut file, &content).unwrap();
        let buffers = Arc::new(Buffers::default());
        let first = buffers.read(&file, 0..BUFFER_BYTES as u64).unwrap();
        assert_eq!(first, content[..BUFFER_BYTES]);
        let part = first.slice(5..10);
        drop(first);
        assert_eq!(buffers.free.lock().len(), 0, "a part of it is in use");
        assert_eq!(part, content[5..10]);
        drop(part);
        assert_eq!(buffers.free.lock().len(), 1);
        let from = (BUFFER_BYTES - PIECE_BYTES_MIN) as u64;
        let second = buffers.read(&file, from..from + BUFFER_BYTES as u64).unwrap();
        assert_eq!(second, content[from as usize..], "as much as the file has, nothing left over");
        assert_eq!(buffers.free.lock().len(), 0);
    }

    #[test]
    fn small_pieces_hold_no_large_buffers() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let buffers = Arc::new(Buffers::default());
        drop(buffers.read(&file, 0..1000).unwrap());
        assert_eq!(buffers.free.lock().len(), 0);
        let many: Vec<Bytes> = (0..20).map(|_| buffers.read(&file, 0..1 << 20).unwrap()).collect();
        drop(many);
        assert_eq!(buffers.free.lock().len(), KEPT_MAX, "no more are kept than serve a read");
    }
}
