//! Baskets and pages that are compressed anew, and small baskets that are joined.
//!
//! Entries stay the bytes that they are. Where a basket says where its entries begin, these
//! offsets are counted from its key: they are the only thing that changes.

use std::ops::Range;

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::PageContent;
use super::basket::{KeyNumbers, OFFSET_AT, is_long, move_record};
use crate::block;
use crate::codec::Codecs;
use crate::error::{Error, Result};
use crate::tree::basket::BasketKey;
use crate::write::compression::{Compression, Encoders};
use crate::write::table::RecordPlace;

/// The fields of a key whose record has no offset yet.
const NOWHERE: RecordPlace = RecordPlace { offset: 0, directory: 0, datime: 0 };
/// Upper bits of the offset of an entry, which are not part of it.
const OFFSET_MASK: u32 = 0x00ff_ffff;
/// Bytes of a branch's first basket that decide its level: half of those that a new tree tries. A
/// skim tries all branches while bytes arrive; work that its threads have not done by then delays
/// its end.
const SAMPLE_LEN: usize = 32 << 10;
/// Bytes of the checksum that follows a page.
pub(super) const CHECKSUM_LEN: usize = 8;

/// How baskets are made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remake {
    /// How all are compressed; `None` leaves those alone that are whole and are not joined.
    pub compression: Option<Compression>,
    /// How those are compressed that have to be; `None` is as their branch says.
    pub joined: Option<Compression>,
    /// Baskets are joined up to so many bytes before compression; 0 joins none.
    pub basket_bytes: u64,
    /// Those of at least so many bytes that are whole stay alone.
    pub alone_bytes: u64,
}

/// Compresses and joins the baskets of a branch again, one after the other.
#[derive(Debug)]
pub struct BranchRemake {
    remake: Remake,
    /// Whether entries mean the same in another place.
    may_join: bool,
    compression: Compression,
    /// The basket that the next one may be joined to.
    open: Option<Open>,
    /// Baskets made since the last cut.
    made: Vec<HeldBasket>,
}

/// A basket of a branch: an input's, or one made of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBasket {
    /// Counted in the output's tree.
    pub first_entry: u64,
    /// Number of entries, from its key.
    pub entries: u32,
    /// Its key has the offset 0 until it is placed. With `taken`, the key alone.
    pub record: Bytes,
    /// Bytes before compression, with those of the key.
    pub content_len: usize,
    /// Entries taken out of another basket, which are not compressed yet.
    pub(super) taken: Option<Entries>,
}

/// Entries that were taken out of a basket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entries {
    shape: BasketKey,
    data: Vec<u8>,
    /// Where entries begin in the data.
    offsets: Option<Vec<u32>>,
}

/// A basket that others are joined to.
#[derive(Debug)]
struct Open {
    first: HeldBasket,
    entries: Entries,
    /// It is a single, whole basket of an input.
    is_whole: bool,
}

impl HeldBasket {
    /// A basket of these entries, counted in the output's tree, whose record was at `from` of an
    /// input's file; its key says no place any more. Numbers of processes in it (`TRef`) are
    /// greater by `processes` in the output.
    ///
    /// # Errors
    /// `Corrupt` where its key has another number of entries; as [`move_record`].
    pub fn new(
        numbers: Range<u64>,
        mut record: Vec<u8>,
        from: u64,
        processes: u16,
    ) -> Result<HeldBasket> {
        move_record(&mut record, from, NOWHERE, KeyNumbers { cycle: 0, processes })?;
        let record = Bytes::from(record);
        let BasketKey { key_len, content_len, entries, .. } = BasketKey::read(&record)?;
        if record.len() < key_len {
            return Err(Error::corrupt("a basket that is cut").at(from));
        }
        if u64::from(entries) != numbers.end - numbers.start {
            let planned = numbers.end - numbers.start;
            let message = format!("a basket of {entries} entries, where its tree has {planned}");
            return Err(Error::corrupt(message).at(from));
        }
        let first_entry = numbers.start;
        let content_len = key_len + content_len;
        Ok(HeldBasket { first_entry, entries, record, content_len, taken: None })
    }

    /// Some entries of it as a basket of their own, which is not compressed yet.
    ///
    /// # Errors
    /// `Unsupported` where entries cannot be told apart; `Corrupt` for a record that is cut short.
    pub fn take(self, kept: &[Range<u32>], codecs: &mut Codecs) -> Result<HeldBasket> {
        let shape = BasketKey::read(&self.record)?;
        let mut scratch = std::mem::take(&mut codecs.scratch);
        let len = shape.content_len;
        let stored = &self.record[shape.key_len..];
        let content = block::decompress_into(codecs, stored, len, &mut scratch);
        let taken = content.and_then(|content| Entries::of(kept, content, &shape));
        codecs.scratch = scratch;
        let taken = taken?;
        let record = Bytes::copy_from_slice(&self.record[..shape.key_len]);
        let content_len = shape.key_len + taken.shape.content_len;
        let entries = taken.shape.entries;
        Ok(HeldBasket { entries, record, content_len, taken: Some(taken), ..self })
    }

    fn shape(&self) -> Result<BasketKey> {
        self.taken.as_ref().map_or_else(|| BasketKey::read(&self.record), |taken| Ok(taken.shape))
    }

    /// Its entries, decoded unless they are in `taken`; `None` for a basket of an unusual form.
    fn entries(&mut self, shape: &BasketKey, codecs: &mut Codecs) -> Result<Option<Entries>> {
        if let Some(taken) = self.taken.take() {
            return Ok(Some(taken));
        }
        let mut data = self.content(shape, codecs)?;
        let offsets = offsets_of(&data, shape);
        data.truncate(shape.data_len);
        Ok(offsets.map(|offsets| Entries { shape: *shape, data, offsets }))
    }

    fn content(&self, shape: &BasketKey, codecs: &mut Codecs) -> Result<Vec<u8>> {
        block::decompress(codecs, &self.record[shape.key_len..], shape.content_len)
    }
}

impl Entries {
    /// Some entries out of the content of a basket of that shape.
    ///
    /// # Errors
    /// As [`HeldBasket::take`].
    fn of(kept: &[Range<u32>], content: &[u8], shape: &BasketKey) -> Result<Entries> {
        let unclear = || {
            let message = "a basket whose entries cannot be told apart: write an RNTuple instead";
            Error::unsupported(message)
        };
        let offsets = match shape.is_usual {
            true => offsets_of(content, shape).ok_or_else(unclear)?,
            false => return Err(unclear()),
        };
        let disordered = || Error::corrupt("entries out of order");
        if offsets.as_ref().is_some_and(|offsets| !offsets.is_sorted()) {
            return Err(disordered());
        }
        let entries = shape.entries as usize;
        let data_len = shape.data_len;
        let each = data_len.checked_div(entries).unwrap_or(0);
        if offsets.is_none() && each * entries != data_len {
            return Err(unclear());
        }
        let start = |entry: u32| match &offsets {
            Some(offsets) => offsets.get(entry as usize).map_or(data_len, |at| *at as usize),
            None => each * entry as usize,
        };
        let count: u32 = kept.iter().map(|run| run.end - run.start).sum();
        let bytes: usize = kept.iter().map(|run| start(run.end) - start(run.start)).sum();
        let mut data = Vec::with_capacity(bytes);
        let mut starts = offsets.as_ref().map(|_| Vec::with_capacity(count as usize));
        for run in kept {
            if let Some(starts) = &mut starts {
                let moved = |entry| (data.len() + start(entry) - start(run.start)) as u32;
                starts.extend(run.clone().map(moved));
            }
            let bytes = content.get(start(run.start)..start(run.end));
            data.extend_from_slice(bytes.ok_or_else(disordered)?);
        }
        Ok(Entries::new(*shape, count, data, starts))
    }

    /// `count` entries taken out of a basket of that shape.
    fn new(shape: BasketKey, count: u32, data: Vec<u8>, offsets: Option<Vec<u32>>) -> Entries {
        let mut entries = Entries { shape, data, offsets };
        entries.shape.entries = count;
        entries.shape.data_len = entries.data.len();
        entries.shape.content_len = entries.data.len() + entries.offsets_len();
        entries
    }

    /// Bytes of the offsets in a basket: their number, each of them, and a last one.
    fn offsets_len(&self) -> usize {
        self.offsets.as_ref().map_or(0, |offsets| 4 * offsets.len() + 8)
    }

    fn add(&mut self, more: &Entries) {
        let begin = self.data.len() as u32;
        if let (Some(mine), Some(more)) = (&mut self.offsets, &more.offsets) {
            mine.extend(more.iter().map(|offset| begin + offset));
        }
        self.data.extend_from_slice(&more.data);
        self.shape.entries += more.shape.entries;
    }

    /// Appends the offsets, counted from the start of a key of `key_len` bytes; returns the bytes
    /// of the entries alone.
    fn write_offsets(&mut self, key_len: usize) -> usize {
        let data_len = self.data.len();
        if let Some(offsets) = self.offsets.take() {
            self.data.reserve(4 * offsets.len() + 8);
            self.data.extend_from_slice(&(offsets.len() as u32 + 1).to_be_bytes());
            let offsets = offsets.iter().map(|offset| (offset + key_len as u32).to_be_bytes());
            self.data.extend(offsets.flatten());
            self.data.extend_from_slice(&[0; 4]);
        }
        data_len
    }
}

impl BranchRemake {
    /// `usual` is the branch's own compression. Where a lower level may do
    /// ([`Compression::is_class`]), the first compressed basket decides the level for all.
    pub fn new(remake: Remake, may_join: bool, usual: Compression) -> BranchRemake {
        let compression = remake.compression.or(remake.joined).unwrap_or(usual);
        BranchRemake { remake, may_join, compression, open: None, made: Vec::new() }
    }

    /// Adds the branch's next basket.
    ///
    /// # Errors
    /// `Corrupt` and `Checksum` for baskets that cannot be decompressed; as
    /// [`Encoders::compress`].
    pub fn add(
        &mut self,
        mut basket: HeldBasket,
        codecs: &mut Codecs,
        encoders: &mut Encoders,
    ) -> Result<()> {
        let Remake { basket_bytes, alone_bytes, .. } = self.remake;
        let shape = basket.shape()?;
        let is_taken = basket.taken.is_some();
        let most = if is_taken { basket_bytes } else { alone_bytes };
        let is_small = self.may_join && shape.is_usual && (shape.content_len as u64) < most;
        let entries = match is_taken || is_small {
            true => basket.entries(&shape, codecs)?,
            false => None,
        };
        if let (true, Some(open), Some(entries)) = (is_small, &mut self.open, &entries)
            && open.takes(&basket, entries, basket_bytes)
        {
            open.entries.add(entries);
            open.is_whole = false;
            return Ok(());
        }
        self.close(encoders)?;
        match entries {
            Some(entries) => {
                self.open = Some(Open { first: basket, entries, is_whole: !is_taken });
            }
            None => {
                let made = self.alone(basket, &shape, codecs, encoders)?;
                self.made.push(made);
            }
        }
        Ok(())
    }

    /// All baskets made since the last cut; baskets that are added later are not joined to these.
    ///
    /// # Errors
    /// As [`BranchRemake::add`].
    pub fn cut(&mut self, encoders: &mut Encoders) -> Result<Vec<HeldBasket>> {
        self.close(encoders)?;
        Ok(std::mem::take(&mut self.made))
    }

    /// Makes the basket that others were joined to.
    fn close(&mut self, encoders: &mut Encoders) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let made = match open.is_whole && self.remake.compression.is_none() {
            true => open.first,
            false => open.made(|content, record| self.compress(content, record, encoders))?,
        };
        self.made.push(made);
        Ok(())
    }

    /// A basket that is joined to no other one.
    fn alone(
        &mut self,
        basket: HeldBasket,
        shape: &BasketKey,
        codecs: &mut Codecs,
        encoders: &mut Encoders,
    ) -> Result<HeldBasket> {
        if self.remake.compression.is_none() {
            return Ok(basket);
        }
        let content = basket.content(shape, codecs)?;
        let mut record = basket.record[..shape.key_len].to_vec();
        self.compress(&content, &mut record, encoders)?;
        Ok(HeldBasket { record: record.into(), ..basket })
    }

    /// Appends the payload to a key, which then says how long the record is.
    fn compress(
        &mut self,
        content: &[u8],
        record: &mut Vec<u8>,
        encoders: &mut Encoders,
    ) -> Result<()> {
        if self.compression.is_class() {
            let sample = &content[..content.len().min(SAMPLE_LEN)];
            self.compression = encoders.lowest_level(self.compression, sample, sample.len())?.0;
        }
        encoders.compress(self.compression, content, record)?;
        let len = u32::try_from(record.len()).map_err(|_| Error::limit("a basket of 4 GB"))?;
        record[..4].copy_from_slice(&len.to_be_bytes());
        Ok(())
    }
}

impl Remake {
    /// Compresses a page anew.
    ///
    /// # Errors
    /// As [`BranchRemake::add`].
    pub fn page(
        &self,
        page: &[u8],
        content: PageContent,
        codecs: &mut Codecs,
        encoders: &mut Encoders,
    ) -> Result<Vec<u8>> {
        let Some(compression) = self.compression else { return Ok(page.to_vec()) };
        let PageContent { len, has_checksum } = content;
        let stored = page.len().saturating_sub(if has_checksum { CHECKSUM_LEN } else { 0 });
        let content = block::decompress(codecs, &page[..stored], len)?;
        let mut made = Vec::new();
        encoders.compress(compression, &content, &mut made)?;
        if has_checksum {
            made.extend_from_slice(&XxHash3_64::oneshot(&made).to_le_bytes());
        }
        Ok(made)
    }
}

impl Open {
    /// Whether another basket can be joined to it: of the same form, with references to objects of
    /// the same processes.
    fn takes(&self, other: &HeldBasket, entries: &Entries, most: u64) -> bool {
        let process = |basket: &HeldBasket| {
            let is_long = is_long(&basket.record).ok()?;
            let place = OFFSET_AT + if is_long { 8 } else { 4 };
            Some((is_long, basket.record.get(place..place + 2)?.to_vec()))
        };
        let mine = &self.entries;
        let len = mine.data.len() + mine.offsets_len() + entries.shape.content_len;
        let is_like = mine.offsets.is_some() == entries.offsets.is_some()
            && mine.shape.entries.checked_add(entries.shape.entries).is_some();
        is_like && len as u64 <= most && process(&self.first) == process(other)
    }

    /// One basket of all the entries, whose payload is appended by `store`.
    fn made(self, store: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<()>) -> Result<HeldBasket> {
        let Open { first, mut entries, .. } = self;
        let has_offsets = entries.offsets.is_some();
        let key_len = entries.shape.key_len;
        let data_len = entries.write_offsets(key_len);
        let Entries { shape, data, .. } = entries;
        let mut record = first.record[..key_len].to_vec();
        let mut set = |at: usize, number: usize| {
            record[at..at + 4].copy_from_slice(&(number as u32).to_be_bytes());
        };
        let content_len = key_len + data.len();
        set(6, data.len()); // fObjlen
        set(key_len - 17, content_len); // fBufferSize
        if has_offsets {
            set(key_len - 13, shape.entries as usize + 1); // fNevBufSize
        }
        set(key_len - 9, shape.entries as usize); // fNevBuf
        set(key_len - 5, key_len + data_len); // fLast
        store(&data, &mut record)?;
        let first_entry = first.first_entry;
        let entries = shape.entries;
        Ok(HeldBasket { first_entry, entries, record: record.into(), content_len, taken: None })
    }
}

/// Where entries begin in a basket's data: `None` for a basket of an unusual form, `Some(None)`
/// where it does not say.
fn offsets_of(content: &[u8], shape: &BasketKey) -> Option<Option<Vec<u32>>> {
    let rest = &content[shape.data_len..];
    let Some((count, offsets)) = rest.split_first_chunk::<4>() else {
        return rest.is_empty().then_some(None);
    };
    let (offsets, []) = offsets.as_chunks::<4>() else { return None };
    let count = u32::from_be_bytes(*count) as usize;
    let entries = shape.entries as usize;
    if count != offsets.len() || count != entries + 1 {
        return None;
    }
    let offset = |bytes: &[u8; 4]| {
        let from_key = u32::from_be_bytes(*bytes);
        let is_plain = from_key & !OFFSET_MASK == 0 || shape.content_len > OFFSET_MASK as usize;
        let within = from_key.checked_sub(shape.key_len as u32).filter(|_| is_plain)?;
        (within as usize <= shape.data_len).then_some(within)
    };
    offsets[..entries].iter().map(offset).collect::<Option<Vec<u32>>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::write::basket_key::{self, BasketFields};
    use crate::write::{CompressionAlgorithm, RecordPlace};

    const PLACE: RecordPlace = RecordPlace { offset: 5000, directory: 100, datime: 0 };

    fn basket(first_entry: u64, data: &[&[u8]], has_offsets: bool) -> HeldBasket {
        let head = basket_key::head("b", "t", 0, PLACE);
        let key_len = head.len(PLACE.offset);
        let mut content = Vec::new();
        let mut offsets = Vec::new();
        for entry in data {
            offsets.push((key_len + content.len()) as u32);
            content.extend_from_slice(entry);
        }
        let data_len = content.len();
        if has_offsets {
            content.extend_from_slice(&(data.len() as u32 + 1).to_be_bytes());
            offsets.push(0);
            offsets.iter().for_each(|offset| content.extend_from_slice(&offset.to_be_bytes()));
        }
        let entries = data.len() as u64;
        let content_len = content.len();
        let fields = BasketFields { entries, data_len, content_len, has_offsets };
        let mut record = basket_key::key(&head, PLACE, content_len, fields).unwrap().into_vec();
        record.extend_from_slice(&content);
        HeldBasket::new(first_entry..first_entry + entries, record, PLACE.offset, 0).unwrap()
    }

    const JOINING: Remake =
        Remake { compression: None, joined: None, basket_bytes: 1 << 10, alone_bytes: 1 << 10 };

    fn remade(remake: Remake, baskets: Vec<HeldBasket>) -> Vec<HeldBasket> {
        try_remade(remake, baskets).unwrap()
    }

    fn try_remade(remake: Remake, baskets: Vec<HeldBasket>) -> Result<Vec<HeldBasket>> {
        let mut how = BranchRemake::new(remake, true, Compression::NONE);
        let mut codecs = Codecs::new();
        let mut encoders = Encoders::default();
        baskets.into_iter().try_for_each(|one| how.add(one, &mut codecs, &mut encoders))?;
        how.cut(&mut encoders)
    }

    #[test]
    fn entries_are_taken_out_of_baskets() {
        for has_offsets in [false, true] {
            let all = basket(7, &[b"ab", b"cd", b"ef", b"gh"], has_offsets);
            let taken = all.take(&[0..1, 2..4], &mut Codecs::new()).unwrap();
            assert!(taken.taken.is_some());
            assert_eq!(
                remade(JOINING, vec![taken]),
                [basket(7, &[b"ab", b"ef", b"gh"], has_offsets)]
            );
        }
        let other = basket(0, &[b"a", b"bc"], false);
        assert!(other.take(&[0..1], &mut Codecs::new()).is_err());
    }

    #[test]
    fn joined_baskets_are_one_of_all_their_entries() {
        for has_offsets in [false, true] {
            let one = basket(7, &[b"ab", b"cd"], has_offsets);
            let two = basket(9, &[b"ef"], has_offsets);
            let all = basket(7, &[b"ab", b"cd", b"ef"], has_offsets);
            assert_eq!(remade(JOINING, vec![one, two]), [all]);
        }
    }

    #[test]
    fn large_baskets_and_those_of_other_forms_stay_alone() {
        let remake = Remake { basket_bytes: 20, alone_bytes: 20, ..JOINING };
        let all = [
            basket(0, &[&[1; 15]], false),
            basket(1, &[&[2; 15]], false),
            basket(2, &[&[3; 40]], false),
            basket(3, &[b"x"], true),
            basket(4, &[b"y"], false),
        ];
        assert_eq!(remade(remake, all.to_vec()), all);
    }

    #[test]
    fn compressed_anew_they_hold_the_same() {
        let compression = Compression::new(CompressionAlgorithm::Zstd, 5);
        let compression = Some(compression);
        let remake = Remake { compression, basket_bytes: 0, alone_bytes: 0, ..JOINING };
        let before = basket(3, &[&[7; 3000]], true);
        let small = remade(remake, vec![before.clone()]);
        assert!(small[0].record.len() < 200);
        let plain = Remake { compression: Some(Compression::NONE), ..remake };
        assert_eq!(remade(plain, small), [before]);
        let page = vec![9; 500];
        let codecs = &mut Codecs::new();
        let encoders = &mut Encoders::default();
        let content = PageContent { len: 500, has_checksum: false };
        let small = remake.page(&page, content, codecs, encoders).unwrap();
        assert!(small.len() < 100);
        let plain = plain.page(&small, content, codecs, encoders).unwrap();
        assert_eq!(plain, page);
    }

    /// A basket as ROOT up to 6.10 writes it.
    fn old(first_entry: u64, data: &[&[u8]], has_offsets: bool) -> HeldBasket {
        let basket = basket(first_entry, data, has_offsets);
        let version_at = BasketKey::read(&basket.record).unwrap().key_len - 19;
        let mut record = basket.record.to_vec();
        record[version_at..version_at + 2].copy_from_slice(&2u16.to_be_bytes());
        HeldBasket { record: record.into(), ..basket }
    }

    /// Regression: entries were taken out of baskets, and baskets joined, of ROOT 6.12 and later
    /// only.
    #[test]
    fn baskets_of_version_2_are_as_those_of_version_3() {
        for has_offsets in [false, true] {
            let three = || old(7, &[b"ab", b"cd", b"ef"], has_offsets);
            let taken = three().take(&[1..3], &mut Codecs::new()).unwrap();
            assert_eq!(remade(JOINING, vec![taken]), [old(7, &[b"cd", b"ef"], has_offsets)]);
            let both = vec![three(), old(10, &[b"gh"], has_offsets)];
            let all = old(7, &[b"ab", b"cd", b"ef", b"gh"], has_offsets);
            assert_eq!(remade(JOINING, both), [all]);
        }
    }

    #[test]
    fn cut_baskets_are_refused() {
        let record = basket(0, &[b"ab", b"cd"], true).record.to_vec();
        for len in 0..record.len() - 20 {
            let held = HeldBasket::new(0..2, record[..len].to_vec(), 0, 0);
            assert!(held.and_then(|one| try_remade(JOINING, vec![one])).is_err());
        }
    }

    /// Regression: such a basket left the baskets of its branch out of order.
    #[test]
    fn a_basket_with_another_number_of_entries_than_planned_is_refused() {
        let record = basket(0, &[b"ab", b"cd"], true).record.to_vec();
        for entries in [5..6, 5..8] {
            let error = HeldBasket::new(entries, record.clone(), 0, 0).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Corrupt(_)), "{error:?}");
        }
        assert_eq!(HeldBasket::new(5..7, record, 0, 0).unwrap().first_entry, 5);
    }
}
