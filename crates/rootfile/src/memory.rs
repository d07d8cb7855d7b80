//! Memory that a file asks for: an error where there is none, instead of the end of the process.
//!
//! A file of two kilobytes may hold, or say that it holds, gigabytes. Whatever grows with a number
//! in a file is allocated here.

use crate::error::{Error, Result};

/// Room for so many more.
///
/// # Errors
/// `Limit` where there is not as much memory.
#[inline]
pub fn room<T>(vec: &mut Vec<T>, additional: usize) -> Result<()> {
    vec.try_reserve(additional).map_err(|_| lacks::<T>(additional))
}

/// An empty vector with room for exactly so many.
///
/// # Errors
/// As [`room`].
pub fn with_room<T>(count: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).map_err(|_| lacks::<T>(count))?;
    Ok(vec)
}

/// So many times the same.
///
/// # Errors
/// As [`room`].
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut vec = with_room(count)?;
    vec.resize(count, value);
    Ok(vec)
}

/// Checks that so much memory is there, for a caller that takes it in small pieces afterwards.
///
/// # Errors
/// As [`room`].
pub fn check(bytes: usize) -> Result<()> {
    with_room::<u8>(bytes).map(drop)
}

#[cold]
fn lacks<T>(count: usize) -> Error {
    let bytes = count.saturating_mul(size_of::<T>());
    Error::limit(format!("there is no memory for {bytes} bytes more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_an_error() {
        let mut numbers = vec![1u64];
        assert!(room(&mut numbers, usize::MAX / 8).unwrap_err().to_string().contains("no memory"));
        assert!(with_room::<u8>(usize::MAX).is_err());
        assert!(filled(0u64, usize::MAX).is_err());
        assert!(check(usize::MAX).is_err());
        room(&mut numbers, 100).unwrap();
        assert_eq!((numbers.len(), filled(7, 2).unwrap()), (1, vec![7, 7]));
    }
}
