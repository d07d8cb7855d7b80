//! Big-endian reading that knows where it is, and never reads past its end.
//!
//! Everything in a ROOT file outside of RNTuple is big-endian. A cursor walks over one buffer: a
//! record as stored, or its content after decompression; of large records, over one block after the
//! other ([`Content`]). (Source: ROOT I/O, `Bytes.h`.)

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use crate::array::{Number, Numbers};
use crate::content::Content;
use crate::error::{Error, Result};
use crate::memory;

/// A place in a buffer, and how far reading may go.
#[derive(Clone)]
pub struct Cursor<'a> {
    buffer: &'a Bytes,
    position: usize,
    end: usize,
    /// Absolute offset in the file of the first byte of all.
    base: u64,
    /// Where content goes on whose buffer is one of several blocks.
    further: Option<Further<'a>>,
}

/// Content behind a buffer.
#[derive(Clone, Copy)]
struct Further<'a> {
    content: &'a Content<'a>,
    /// Where in the content the buffer begins.
    origin: usize,
    /// How many bytes behind the buffer may be read.
    len: usize,
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position();
        let remaining = self.remaining();
        f.debug_struct("Cursor")
            .field("position", &position)
            .field("remaining", &remaining)
            .finish()
    }
}

macro_rules! numbers {
    ($($name:ident $kind:ty),*) => {$(
        /// The next big-endian number.
        ///
        /// # Errors
        /// `Corrupt` where it would end behind the cursor's end.
        #[inline]
        pub fn $name(&mut self) -> Result<$kind> {
            Ok(<$kind>::from_be_bytes(self.chunk()?))
        }
    )*};
}

macro_rules! many {
    ($($name:ident $kind:ty),*) => {$(
        /// The next `count` big-endian numbers.
        ///
        /// # Errors
        /// `Corrupt` where they would end behind the cursor's end; no memory is taken then.
        pub fn $name(&mut self, count: usize) -> Result<Vec<$kind>> {
            let size = size_of::<$kind>();
            let raw = self.raw(self.bytes_of(count, size)?)?;
            let (chunks, _) = raw.as_chunks();
            let mut numbers = memory::with_room(chunks.len())?;
            numbers.extend(chunks.iter().map(|chunk| <$kind>::from_be_bytes(*chunk)));
            Ok(numbers)
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of `buffer`, whose first byte is at `base` in the file.
    pub fn new(buffer: &'a Bytes, base: u64) -> Self {
        Cursor { buffer, position: 0, end: buffer.len(), base, further: None }
    }

    /// Starts at the beginning of `content`, whose first byte is at `base` in the file.
    pub fn over(content: &'a Content<'a>, base: u64) -> Self {
        let further = Some(Further { content, origin: 0, len: content.len() });
        Cursor { buffer: &content.nothing, position: 0, end: 0, base, further }
    }

    numbers!(u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64, f32 f32, f64 f64);
    many!(u8s u8, i8s i8, u16s u16, i16s i16, u32s u32, i32s i32, u64s u64, i64s i64, f32s f32, f64s f64);

    /// Bytes from the start.
    #[inline]
    pub fn position(&self) -> usize {
        self.further.map_or(0, |further| further.origin) + self.position
    }

    /// A cursor at another place of the same content, up to the end of all.
    ///
    /// # Errors
    /// `Corrupt` where the content ends before.
    pub fn at(&self, position: usize) -> Result<Cursor<'a>> {
        let mut start = match self.further {
            Some(further) => Cursor::over(further.content, self.base),
            None => Cursor { position: 0, end: self.buffer.len(), ..self.clone() },
        };
        start.skip(position)?;
        Ok(start)
    }

    /// Bytes from the start of the file. Behind a compressed record's header this counts
    /// decompressed bytes.
    pub fn offset(&self) -> u64 {
        self.base.saturating_add(self.position() as u64)
    }

    #[inline]
    pub fn remaining(&self) -> usize {
        self.end - self.position + self.further.map_or(0, |further| further.len)
    }

    /// An error at this place.
    pub fn corrupt(&self, message: impl Into<String>) -> Error {
        Error::corrupt(message).at(self.offset())
    }

    /// An error at this place.
    pub fn unsupported(&self, message: impl Into<String>) -> Error {
        Error::unsupported(message).at(self.offset())
    }

    /// Reads the next number of four bytes without moving.
    ///
    /// # Errors
    /// `Corrupt` where fewer are left.
    pub fn peek_u32(&self) -> Result<u32> {
        self.clone().u32()
    }

    /// Moves on by `count` bytes.
    ///
    /// # Errors
    /// `Corrupt` where that is behind the end.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        let here = self.end - self.position;
        let Some(beyond) = count.checked_sub(here).filter(|beyond| *beyond > 0) else {
            self.position += count;
            return Ok(());
        };
        match &mut self.further {
            Some(further) if beyond <= further.len => {
                further.origin += self.end + beyond;
                further.len -= beyond;
                (self.buffer, self.position, self.end) = (&further.content.nothing, 0, 0);
                Ok(())
            }
            _ => Err(self.short(count)),
        }
    }

    /// The next `count` bytes, shared with the buffer.
    ///
    /// # Errors
    /// `Corrupt` where fewer are left.
    pub fn take(&mut self, count: usize) -> Result<Bytes> {
        let start = self.position;
        if count > self.end - start && self.further.is_some() {
            return self.gathered(count).map(Bytes::from);
        }
        self.skip(count)?;
        Ok(self.buffer.slice(start..start + count))
    }

    /// A cursor over the next `count` bytes, which this one moves over. It counts positions and
    /// offsets as this one does.
    ///
    /// # Errors
    /// `Corrupt` where fewer are left.
    pub fn split(&mut self, count: usize) -> Result<Cursor<'a>> {
        let mut part = self.clone();
        self.skip(count)?;
        let here = part.end - part.position;
        part.end = part.position + count.min(here);
        if let Some(further) = &mut part.further {
            further.len = count.saturating_sub(here);
        }
        Ok(part)
    }

    /// A string with its length in front: one byte, or 255 and four bytes (ROOT: `TString`).
    ///
    /// # Errors
    /// `Corrupt` where it would end behind the end.
    pub fn text(&mut self) -> Result<Bytes> {
        let len = self.text_len()?;
        self.take(len)
    }

    fn text_len(&mut self) -> Result<usize> {
        let short = self.u8()?;
        Ok(if short == 255 { self.u32()? as usize } else { usize::from(short) })
    }

    /// Skips a string.
    ///
    /// # Errors
    /// As [`Cursor::text`].
    pub fn skip_text(&mut self) -> Result<()> {
        let len = self.text_len()?;
        self.skip(len)
    }

    /// As [`Cursor::text`]; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// As [`Cursor::text`].
    pub fn string(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.text()?).into_owned())
    }

    /// A string ended by a zero byte, of at most `len_max` bytes.
    ///
    /// # Errors
    /// `Corrupt` where there is no zero byte among the next `len_max + 1`.
    pub fn c_string(&mut self, len_max: usize) -> Result<String> {
        let most = self.remaining().min(len_max.saturating_add(1));
        let rest = self.clone().raw(most)?;
        let Some(len) = rest.iter().position(|byte| *byte == 0) else {
            return Err(self.corrupt(format!("no end of a name within {len_max} bytes")));
        };
        let name = String::from_utf8_lossy(&rest[..len]).into_owned();
        self.skip(len + 1)?;
        Ok(name)
    }

    /// A count of things that take at least `bytes_each` bytes, so that memory for them can be
    /// taken without trust.
    ///
    /// # Errors
    /// `Corrupt` where the count is negative or that many things can't be there.
    pub fn count(&mut self, bytes_each: usize) -> Result<usize> {
        let at = self.offset();
        let count = self.i32()?;
        match usize::try_from(count) {
            Ok(n) if n.saturating_mul(bytes_each) <= self.remaining() => Ok(n),
            _ => Err(Error::corrupt(format!(
                "a count of {count} with {} bytes left",
                self.remaining()
            ))
            .at(at)),
        }
    }

    /// The next `count` numbers of a type.
    ///
    /// # Errors
    /// `Corrupt` where they would end behind the cursor's end; no memory is taken then.
    pub fn numbers(&mut self, number: Number, count: usize) -> Result<Numbers> {
        let len = self.bytes_of(count, number.size())?;
        let mut numbers = number.empty();
        match self.further {
            Some(Further { content, .. }) if len > self.end - self.position => {
                let at = self.position();
                self.skip(len)?;
                let read = content.numbers(at, number, count);
                numbers = read.map_err(|error| error.at(self.base))?;
            }
            _ => numbers.extend_big_endian(self.slice(len)?)?,
        }
        Ok(numbers)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.buffer[self.position..self.end].first_chunk::<N>() {
            Some(chunk) => {
                self.position += N;
                Ok(*chunk)
            }
            None => self.chunk_of_several(),
        }
    }

    #[cold]
    fn chunk_of_several<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut chunk = [0; N];
        match self.further {
            Some(_) => self.gather(&mut chunk).map(|()| chunk),
            None => Err(self.short(N)),
        }
    }

    /// Bytes of the buffer.
    #[inline]
    fn slice(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.end - self.position {
            return Err(self.short(count));
        }
        let start = self.position;
        self.position += count;
        Ok(&self.buffer[start..self.position])
    }

    /// Bytes of one buffer or several.
    fn raw(&mut self, count: usize) -> Result<Cow<'a, [u8]>> {
        if count > self.end - self.position && self.further.is_some() {
            return self.gathered(count).map(Cow::Owned);
        }
        self.slice(count).map(Cow::Borrowed)
    }

    #[cold]
    fn gathered(&mut self, count: usize) -> Result<Vec<u8>> {
        if count > self.remaining() {
            return Err(self.short(count));
        }
        let mut bytes = memory::filled(0, count)?;
        self.gather(&mut bytes)?;
        Ok(bytes)
    }

    /// Copies from this buffer and those that follow; after an error it has not moved.
    fn gather(&mut self, mut to: &mut [u8]) -> Result<()> {
        if to.len() > self.remaining() {
            return Err(self.short(to.len()));
        }
        let mut at = self.clone();
        while !to.is_empty() {
            if at.position == at.end {
                at.next_buffer()?;
            }
            let count = to.len().min(at.end - at.position);
            let (here, rest) = to.split_at_mut(count);
            here.copy_from_slice(at.slice(count)?);
            to = rest;
        }
        *self = at;
        Ok(())
    }

    /// Goes on to where there are further bytes, which there have to be.
    fn next_buffer(&mut self) -> Result<()> {
        let Some(further) = &mut self.further else { return Err(self.short(1)) };
        let at = further.origin + self.end;
        let (start, buffer) = further.content.at(at).map_err(|error| error.at(self.base))?;
        self.position = at - start;
        self.end = buffer.len().min(self.position + further.len);
        self.buffer = buffer;
        further.origin = start;
        further.len -= self.end - self.position;
        Ok(())
    }

    fn bytes_of(&self, count: usize, size: usize) -> Result<usize> {
        count.checked_mul(size).ok_or_else(|| self.short(usize::MAX))
    }

    #[cold]
    fn short(&self, wanted: usize) -> Error {
        self.corrupt(format!("{wanted} bytes wanted, {} left", self.remaining()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_stops_at_the_end_and_says_where() {
        let buffer = Bytes::from_static(&[0, 0, 1, 2, 3, b'a', b'b', b'c', 9]);
        let mut cursor = Cursor::new(&buffer, 1000);
        assert_eq!(cursor.u32().unwrap(), 0x102);
        assert_eq!(cursor.string().unwrap(), "abc");
        assert_eq!(cursor.remaining(), 1);
        let error = cursor.u16().unwrap_err();
        assert_eq!(error.offset, Some(1008));
        assert_eq!(cursor.u8().unwrap(), 9, "a failed read does not move");
    }

    #[test]
    fn a_part_ends_where_it_was_told_to() {
        let buffer = Bytes::from_static(&[1, 2, 3, 4, 5, 6]);
        let mut whole = Cursor::new(&buffer, 0);
        let mut part = whole.split(4).unwrap();
        assert_eq!(whole.u16().unwrap(), 0x506);
        assert_eq!(part.u16s(2).unwrap(), [0x102, 0x304]);
        assert!(part.u8().is_err());
        assert!(Cursor::new(&buffer, 0).split(7).is_err());
    }

    #[test]
    fn counts_that_cannot_be_are_refused_before_memory_is_taken() {
        let buffer = Bytes::from_static(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 2, 1, 2]);
        let mut cursor = Cursor::new(&buffer, 0);
        assert!(cursor.count(1).is_err());
        assert_eq!(cursor.count(1).unwrap(), 2);
        assert!(cursor.f64s(usize::MAX).is_err());
    }

    #[test]
    fn a_long_string_has_a_long_length() {
        let mut raw = vec![255, 0, 0, 1, 44];
        raw.extend([b'x'; 300]);
        raw.push(7);
        let buffer = Bytes::from(raw);
        let mut cursor = Cursor::new(&buffer, 0);
        assert_eq!(cursor.text().unwrap().len(), 300);
        assert_eq!(cursor.u8().unwrap(), 7);
    }

    #[test]
    fn a_name_needs_its_zero_byte() {
        let buffer = Bytes::from_static(b"TLeaf\0TBranch");
        let mut cursor = Cursor::new(&buffer, 0);
        assert_eq!(cursor.c_string(80).unwrap(), "TLeaf");
        assert!(cursor.c_string(80).is_err());
    }
}
