//! One segment on disk: a file of records that only grows.
//!
//! Readers take no lock, since a record never changes. Writers lock the file, walk over the records
//! that others have appended meanwhile, and cut off a record that a killed process has left
//! unfinished.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::format::{
    ContentId, DATA_BYTES_MAX, HEADER_BYTES, Header, Index, RECORD_BYTES, Record, USE_AT, Usage,
    decode_header, decode_index, decode_record, encode_header, encode_index, encode_record,
    encode_usage, record_length,
};
use crate::disk::{self, FolderEntry};

/// A segment that is longer takes no more records.
pub const SEGMENT_BYTES: u64 = 64 << 20;
/// Read at once by a walk: more than any record has.
const WALK_BYTES: u64 = 4 * DATA_BYTES_MAX;
/// Begins the name of a file that is being written.
pub const UNFINISHED: &str = "unfinished-";

/// An open segment.
#[derive(Debug)]
pub struct Segment {
    file: File,
    path: PathBuf,
    content: ContentId,
    /// The records up to here are known.
    known: u64,
    /// Up to where the index on disk speaks.
    indexed: u64,
}

/// The result of an append.
#[derive(Debug, Default)]
pub struct Appended {
    /// Records of others that were found, and then the new ones, by position.
    pub records: Vec<Record>,
    /// From where on nothing that was known is there any more.
    pub cut: Option<u64>,
    /// How many of the given records were written.
    pub written: usize,
    /// The segment takes no more.
    pub is_full: bool,
}

impl Segment {
    /// Begins a segment. Its header is there as soon as its name is.
    ///
    /// # Errors
    /// `AlreadyExists` where another process was faster.
    pub fn begin(path: &Path, content: ContentId, now: u64) -> io::Result<Self> {
        let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
        let usage = Usage { used: now, uses: 0 };
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        file.write_all(&encode_header(&Header { content, begun: now, usage }))?;
        let file = file.persist_noclobber(path).map_err(|error| error.error)?;
        let path = path.to_owned();
        Ok(Segment { file, path, content, known: HEADER_BYTES, indexed: HEADER_BYTES })
    }

    /// Opens a segment with the records that can be read from it.
    ///
    /// # Errors
    /// `InvalidData` for a file that is no segment of this content.
    pub fn open(path: &Path, content: ContentId) -> io::Result<(Self, Vec<Record>)> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)?;
        if read_header(&file)?.content != content {
            return Err(ErrorKind::InvalidData.into());
        }
        let length = file.metadata()?.len();
        let index =
            disk::read(&index_path(path), u64::MAX).ok().and_then(|bytes| decode_index(&bytes));
        let index = index.filter(|index| index.content == content && index.covers <= length);
        let (mut records, indexed) = match index {
            Some(index) => (index.records, index.covers),
            None => (Vec::new(), HEADER_BYTES),
        };
        let path = path.to_owned();
        let mut segment = Segment { file, path, content, known: indexed, indexed };
        records.extend(segment.walk(length)?);
        Ok((segment, records))
    }

    /// A file for readers.
    pub fn reader(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Appends those of `records`, which have an offset and bytes each, that are not cached by the
    /// word of `is_missing`, given the records that others have appended.
    ///
    /// # Errors
    /// An error of writing, as of a full disk; `NotFound` where the segment has been removed. Then
    /// nothing was appended.
    pub fn append(
        &mut self,
        records: &[(u64, &[u8])],
        is_missing: impl Fn(&Record, &[Record]) -> bool,
    ) -> io::Result<Appended> {
        self.file.lock()?;
        let appended = self.append_locked(records, is_missing);
        self.file.unlock()?;
        appended
    }

    fn append_locked(
        &mut self,
        records: &[(u64, &[u8])],
        is_missing: impl Fn(&Record, &[Record]) -> bool,
    ) -> io::Result<Appended> {
        let metadata = self.file.metadata()?;
        if metadata.nlink() == 0 {
            return Err(ErrorKind::NotFound.into());
        }
        let mut appended = Appended::default();
        if metadata.len() < self.known {
            // Another process has found a bad record, and cut the file there.
            appended.cut = Some(metadata.len());
            self.known = metadata.len().max(HEADER_BYTES);
        }
        appended.records = self.walk(metadata.len())?;
        if self.known < metadata.len() {
            self.file.set_len(self.known)?;
        }
        let mut bytes = Vec::new();
        let mut new = Vec::new();
        for (offset, data) in records {
            let position = self.known + bytes.len() as u64;
            if position >= SEGMENT_BYTES {
                appended.is_full = true;
                break;
            }
            appended.written += 1;
            let record = Record { offset: *offset, length: data.len() as u32, position };
            if is_missing(&record, &appended.records) {
                encode_record(&self.content, *offset, data, &mut bytes);
                new.push(record);
            }
        }
        if let Err(error) = self.file.write_all_at(&bytes, self.known) {
            self.file.set_len(self.known)?;
            return Err(error);
        }
        self.known += bytes.len() as u64;
        appended.records.extend(new);
        appended.is_full |= self.known >= SEGMENT_BYTES;
        Ok(appended)
    }

    /// The records that others have appended since it was last looked at.
    ///
    /// # Errors
    /// An error of reading it.
    pub fn learn(&mut self) -> io::Result<Vec<Record>> {
        let length = self.file.metadata()?.len();
        self.walk(length)
    }

    /// Whether the index on disk lacks records, or has some that were given up.
    pub fn is_unindexed(&self) -> bool {
        self.indexed < self.known
    }

    /// The index on disk has records that were given up.
    pub fn outdate_index(&mut self) {
        self.indexed = HEADER_BYTES;
    }

    /// Up to which byte its records are known.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// The bytes of a record; `None` where they differ from the written ones.
    ///
    /// # Errors
    /// An error of reading it.
    pub fn read(&self, record: &Record) -> io::Result<Option<Bytes>> {
        let bytes = read_at(&self.file, record.position, record.bytes())?;
        let data = decode_record(&self.content, &bytes).map(|(_, data)| data.to_vec());
        Ok(data.map(Bytes::from))
    }

    /// Removes it from the folder, with its index; false where another process has added records
    /// that are not known here, or has removed it.
    ///
    /// # Errors
    /// An error of locking or removing it.
    pub fn remove(&self) -> io::Result<bool> {
        self.file.lock()?;
        let metadata = self.file.metadata();
        let is_as_known = metadata.is_ok_and(|file| file.nlink() > 0 && file.len() <= self.known);
        let removed = if is_as_known { fs::remove_file(&self.path) } else { Ok(()) };
        if is_as_known {
            // Without its segment it is of no use, and no harm.
            let _ = fs::remove_file(index_path(&self.path));
        }
        self.file.unlock()?;
        removed.map(|()| is_as_known)
    }

    /// Writes an index of the cached records, in place of the old one.
    ///
    /// # Errors
    /// An error of writing it.
    pub fn write_index(&mut self, records: Vec<Record>) -> io::Result<()> {
        let folder = self.path.parent().ok_or(ErrorKind::InvalidInput)?;
        let index = Index { content: self.content, covers: self.known, records };
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        file.write_all(&encode_index(&index))?;
        file.persist(index_path(&self.path)).map_err(|error| error.error)?;
        self.indexed = self.known;
        Ok(())
    }

    /// Notes that the segment was used, and whether that counts as one more use.
    ///
    /// # Errors
    /// An error of reading or writing it.
    pub fn note_use(&self, now: u64, counts: bool) -> io::Result<()> {
        let mut usage = read_header(&self.file)?.usage;
        usage.used = now;
        usage.uses = (usage.uses + u32::from(counts)).min(super::evict::USES_MAX);
        self.file.write_all_at(&encode_usage(&usage), USE_AT)
    }

    /// Walks over records behind those that are known, up to `end` or the first that is not whole.
    fn walk(&mut self, end: u64) -> io::Result<Vec<Record>> {
        let mut records = Vec::new();
        while self.known < end {
            let bytes = read_at(&self.file, self.known, (end - self.known).min(WALK_BYTES))?;
            let mut at = 0;
            while let Some((offset, data)) = decode_record(&self.content, &bytes[at..]) {
                let position = self.known + at as u64;
                records.push(Record { offset, length: data.len() as u32, position });
                at += RECORD_BYTES as usize + data.len();
            }
            self.known += at as u64;
            if at == 0 {
                break;
            }
        }
        Ok(records)
    }
}

/// Where the index of a segment is.
pub fn index_path(segment: &Path) -> PathBuf {
    segment.with_extension("idx")
}

/// The header of a segment.
///
/// # Errors
/// `InvalidData` for a file that is no segment.
pub fn read_header(file: &File) -> io::Result<Header> {
    decode_header(&read_at(file, 0, HEADER_BYTES)?).ok_or(ErrorKind::InvalidData.into())
}

/// How many records of a segment are whole, and how many bytes at its end belong to none.
///
/// # Errors
/// An error of reading it.
pub fn verify(path: &Path) -> io::Result<(u64, u64)> {
    let file = FolderEntry::at(path)?.open_regular(false)?;
    let content = read_header(&file)?.content;
    let end = file.metadata()?.len();
    let mut at = HEADER_BYTES;
    let mut whole = 0;
    while at < end {
        let bytes = read_at(&file, at, (end - at).min(RECORD_BYTES + DATA_BYTES_MAX))?;
        let Some(length) = record_length(&bytes) else { break };
        if decode_record(&content, &bytes).is_none() {
            break;
        }
        whole += 1;
        at += length;
    }
    Ok((whole, end - at))
}

fn read_at(file: &File, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut read = vec![0; bytes as usize];
    let mut length = 0;
    while length < read.len() {
        match file.read_at(&mut read[length..], at + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    read.truncate(length);
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: ContentId = [7; 16];

    fn data(at: u64) -> Vec<u8> {
        (0..10 + at % 7).map(|i| (at * 31 + i) as u8).collect()
    }

    fn append(segment: &mut Segment, offsets: &[u64]) -> Appended {
        let data: Vec<(u64, Vec<u8>)> = offsets.iter().map(|at| (*at, data(*at))).collect();
        let records: Vec<(u64, &[u8])> = data.iter().map(|(at, data)| (*at, &data[..])).collect();
        segment.append(&records, |_, _| true).unwrap()
    }

    fn offsets(records: &[Record]) -> Vec<u64> {
        records.iter().map(|record| record.offset).collect()
    }

    fn begun() -> (tempfile::TempDir, PathBuf, Segment) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("00000.far");
        let segment = Segment::begin(&path, CONTENT, 1).unwrap();
        (folder, path, segment)
    }

    #[test]
    fn records_are_found_again_with_an_index_and_without() {
        let (_folder, path, mut segment) = begun();
        let first = append(&mut segment, &[0, 100, 200]);
        assert_eq!(offsets(&first.records), [0, 100, 200]);
        segment.write_index(first.records).unwrap();
        append(&mut segment, &[300]);
        assert!(segment.is_unindexed());
        let (_, records) = Segment::open(&path, CONTENT).unwrap();
        assert_eq!(offsets(&records), [0, 100, 200, 300]);
        fs::remove_file(index_path(&path)).unwrap();
        let (_, records) = Segment::open(&path, CONTENT).unwrap();
        assert_eq!(offsets(&records), [0, 100, 200, 300]);
        assert!(Segment::open(&path, [8; 16]).is_err(), "another content");
        assert_eq!(verify(&path).unwrap(), (4, 0));
    }

    /// `kill -9` leaves, at every moment of an append, a file that ends anywhere.
    #[test]
    fn what_is_cut_anywhere_has_the_records_before_the_cut_and_takes_more() {
        let (folder, path, mut segment) = begun();
        let all: Vec<u64> = (0..40).map(|at| at * 100).collect();
        let records = append(&mut segment, &all).records;
        let whole = fs::read(&path).unwrap();
        for cut in HEADER_BYTES as usize..=whole.len() {
            let path = folder.path().join("cut.far");
            fs::write(&path, &whole[..cut]).unwrap();
            let expected = records.iter().filter(|record| record.end() <= cut as u64).count();
            let (mut again, found) = Segment::open(&path, CONTENT).unwrap();
            assert_eq!(found, records[..expected], "cut at {cut}");
            append(&mut again, &[9000]);
            let (_, found) = Segment::open(&path, CONTENT).unwrap();
            assert_eq!(found.len(), expected + 1, "cut at {cut}");
            assert_eq!(found[expected].offset, 9000);
        }
    }

    #[test]
    fn a_changed_byte_ends_a_walk_there() {
        let (folder, path, mut segment) = begun();
        let records = append(&mut segment, &[0, 100, 200]).records;
        let whole = fs::read(&path).unwrap();
        for at in HEADER_BYTES as usize..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x40;
            let path = folder.path().join("changed.far");
            fs::write(&path, &changed).unwrap();
            let (_, found) = Segment::open(&path, CONTENT).unwrap();
            let before = records.iter().filter(|record| record.end() <= at as u64).count();
            assert_eq!(found, records[..before], "changed at {at}");
        }
    }

    /// Two processes that share a folder, as two handles of one file.
    #[test]
    fn what_another_has_appended_is_learnt_before_more_is_appended() {
        let (_folder, path, mut one) = begun();
        let (mut two, _) = Segment::open(&path, CONTENT).unwrap();
        append(&mut one, &[0, 100]);
        let appended = append(&mut two, &[200]);
        assert_eq!(offsets(&appended.records), [0, 100, 200]);
        let appended = append(&mut one, &[300]);
        assert_eq!(offsets(&appended.records), [200, 300]);
        let (_, records) = Segment::open(&path, CONTENT).unwrap();
        assert_eq!(offsets(&records), [0, 100, 200, 300]);
    }

    #[test]
    fn what_another_has_cut_off_is_not_known_any_more() {
        let (_folder, path, mut one) = begun();
        let records = append(&mut one, &[0, 100, 200]).records;
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(records[1].position).unwrap();
        let appended = append(&mut one, &[300]);
        assert_eq!(appended.cut, Some(records[1].position));
        assert_eq!(offsets(&appended.records), [300]);
    }

    #[test]
    fn a_segment_that_was_removed_takes_nothing() {
        let (_folder, path, mut segment) = begun();
        fs::remove_file(&path).unwrap();
        let error = segment.append(&[(0, b"x")], |_, _| true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn uses_are_counted_in_place() {
        let (_folder, path, segment) = begun();
        for time in 2..20 {
            segment.note_use(time, time % 2 == 0).unwrap();
        }
        let (segment, records) = Segment::open(&path, CONTENT).unwrap();
        let usage = read_header(&segment.file).unwrap().usage;
        assert_eq!((usage.used, usage.uses), (19, crate::cache::evict::USES_MAX));
        assert!(records.is_empty());
    }
}
