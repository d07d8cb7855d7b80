//! RNTuples put together byte by byte: forms that the format allows and no program writes yet.

use std::ops::Range;

use bytes::Bytes;
use farroot_rootfile::ntuple::{Anchor, EnvelopeLink, RNTuple};
use farroot_rootfile::tree::ClassTable;
use farroot_rootfile::{Known, Result};
use twox_hash::XxHash3_64;

use super::feed;
use super::ntuple::Opened;

/// Roles of fields, as in the file.
pub const LEAF: u16 = 0;
pub const COLLECTION: u16 = 1;
pub const RECORD: u16 = 2;
pub const VARIANT: u16 = 3;

/// Content of an RNTuple's envelopes, and the bytes of its pages.
#[derive(Default, Clone)]
pub struct Forged {
    /// Words of feature flags of the header and of the footer; none is one word without any.
    pub flags: [Vec<u64>; 2],
    /// Of the header, and of the extension in the footer.
    pub schemas: [Description; 2],
    pub groups: Vec<Group>,
    /// Records of attribute sets; `None` is a footer from before there were any.
    pub sets: Option<Vec<Vec<u8>>>,
    /// Unknown bytes at the end of each record, list and envelope.
    pub behind: Vec<u8>,
    /// The beginning of the file.
    pub pages: Vec<u8>,
}

/// Records of fields and columns, without their frames.
#[derive(Default, Clone)]
pub struct Description {
    pub fields: Vec<Vec<u8>>,
    pub columns: Vec<Vec<u8>>,
    pub aliases: Vec<Vec<u8>>,
    pub types: Vec<Vec<u8>>,
}

#[derive(Default, Clone)]
pub struct Group {
    pub entries: Range<u64>,
    pub clusters: Vec<ForgedCluster>,
}

#[derive(Default, Clone)]
pub struct ForgedCluster {
    pub entries: Range<u64>,
    pub flags: u8,
    /// By column: descriptions of pages, and the number of its first element, below zero where it
    /// is suppressed.
    pub columns: Vec<(Vec<Vec<u8>>, i64)>,
}

/// A field's record; the bytes that follow depend on the flags.
pub fn field(parent: u32, role: u16, name: &str, typename: &str) -> Vec<u8> {
    flagged_field(parent, role, name, typename, 0, &[])
}

pub fn flagged_field(
    parent: u32,
    role: u16,
    name: &str,
    typename: &str,
    flags: u16,
    more: &[u8],
) -> Vec<u8> {
    let mut record = [0u32.to_le_bytes(), 0u32.to_le_bytes(), parent.to_le_bytes()].concat();
    record.extend([role.to_le_bytes(), flags.to_le_bytes()].concat());
    for text in [name, typename, "", ""] {
        record.extend(string(text));
    }
    record.extend(more);
    record
}

pub fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

/// A column's record: of the first representation, without flags.
pub fn column(kind: u16, bits: u16, field: u32) -> Vec<u8> {
    flagged_column(kind, bits, field, 0, 0, &[])
}

pub fn flagged_column(
    kind: u16,
    bits: u16,
    field: u32,
    representation: u16,
    flags: u16,
    more: &[u8],
) -> Vec<u8> {
    let mut record = [kind.to_le_bytes(), bits.to_le_bytes()].concat();
    record.extend(field.to_le_bytes());
    record.extend([flags.to_le_bytes(), representation.to_le_bytes()].concat());
    record.extend(more);
    record
}

impl Forged {
    /// One group of one cluster of some entries.
    pub fn of(entries: u64) -> Forged {
        let cluster = ForgedCluster { entries: 0..entries, ..ForgedCluster::default() };
        let group = Group { entries: 0..entries, clusters: vec![cluster] };
        Forged { groups: vec![group], sets: Some(Vec::new()), ..Forged::default() }
    }

    /// Adds a field, in another or (`None`) at the top; gives its number.
    pub fn field(&mut self, parent: Option<u32>, role: u16, name: &str, typename: &str) -> u32 {
        let number = self.schemas[0].fields.len() as u32;
        self.schemas[0].fields.push(field(parent.unwrap_or(number), role, name, typename));
        number
    }

    /// Adds a column, in the cluster that there is with one page.
    pub fn column(&mut self, kind: u16, bits: u16, field: u32, elements: i32, page: &[u8]) {
        self.schemas[0].columns.push(column(kind, bits, field));
        let page = self.page(elements, page);
        self.groups[0].clusters[0].columns.push((vec![page], 0));
    }

    /// Puts a page into the file; returns its entry in a page list. Negative numbers of elements
    /// are those of pages with a checksum.
    pub fn page(&mut self, elements: i32, content: &[u8]) -> Vec<u8> {
        let at = self.pages.len() as u64;
        self.pages.extend(content);
        if elements < 0 {
            self.pages.extend(XxHash3_64::oneshot(content).to_le_bytes());
        }
        [&elements.to_le_bytes()[..], &locator(at..at + content.len() as u64)].concat()
    }

    /// The file, and where its header and footer are.
    pub fn file(&self) -> (Bytes, Anchor) {
        let mut file = self.pages.clone();
        let mut put = |envelope: &[u8]| {
            let at = file.len() as u64;
            file.extend(envelope);
            EnvelopeLink { range: at..at + envelope.len() as u64, length: envelope.len() as u64 }
        };
        let behind = &self.behind;
        let mut content = flags(&self.flags[0]);
        for text in ["forged", "", "nobody"] {
            content.extend(string(text));
        }
        content.extend(self.description(&self.schemas[0]));
        let (header, checksum) = sealed(1, &[&content, &behind[..]].concat());
        let header = put(&header);
        let mut groups = Vec::new();
        for group in &self.groups {
            let page_list = put(&sealed(3, &self.page_list(group, checksum)).0);
            let entries = group.entries.end - group.entries.start;
            let mut record = [group.entries.start.to_le_bytes(), entries.to_le_bytes()].concat();
            record.extend((group.clusters.len() as u32).to_le_bytes());
            record.extend(page_list.length.to_le_bytes());
            record.extend(locator(page_list.range));
            groups.push(record);
        }
        let mut content = flags(&self.flags[1]);
        content.extend(checksum.to_le_bytes());
        content.extend(self.record(&self.description(&self.schemas[1])));
        content.extend(self.list(&groups));
        if let Some(sets) = &self.sets {
            content.extend([&self.list(sets)[..], behind].concat());
        }
        let footer = put(&sealed(2, &content).0);
        (file.into(), Anchor { version: [1, 0, 9, 9], header, footer, max_key_size: 0 })
    }

    /// Opens it, with its page lists.
    pub fn open(&self) -> Result<Opened> {
        let (file, anchor) = self.file();
        let mut known = Known::new(Some(file.len() as u64));
        let ntuple =
            feed::until_ready(&file, &mut known, |known| RNTuple::read(known, anchor.clone()))?;
        Opened::of(&file, known, ntuple, ClassTable::default())
    }

    fn description(&self, all: &Description) -> Vec<u8> {
        let lists = [&all.fields, &all.columns, &all.aliases, &all.types];
        lists.map(|records| self.list(records)).concat()
    }

    fn page_list(&self, group: &Group, checksum: u64) -> Vec<u8> {
        let mut summaries = Vec::new();
        let mut clusters = Vec::new();
        for cluster in &group.clusters {
            let entries = cluster.entries.end - cluster.entries.start;
            let word = entries | u64::from(cluster.flags) << 56;
            summaries.push([cluster.entries.start.to_le_bytes(), word.to_le_bytes()].concat());
            let columns = cluster.columns.iter().map(|(pages, first)| {
                let mut behind = first.to_le_bytes().to_vec();
                if *first >= 0 {
                    behind.extend(0u32.to_le_bytes());
                }
                behind.extend(&self.behind);
                list(pages.len(), &pages.concat(), &behind)
            });
            let columns: Vec<Vec<u8>> = columns.collect();
            clusters.push(list(columns.len(), &columns.concat(), &self.behind));
        }
        let clusters = list(clusters.len(), &clusters.concat(), &self.behind);
        [&checksum.to_le_bytes()[..], &self.list(&summaries), &clusters, &self.behind].concat()
    }

    fn record(&self, content: &[u8]) -> Vec<u8> {
        let length = 8 + content.len() as i64 + self.behind.len() as i64;
        [&length.to_le_bytes(), content, &self.behind].concat()
    }

    /// A list of records.
    fn list(&self, records: &[Vec<u8>]) -> Vec<u8> {
        let framed: Vec<Vec<u8>> = records.iter().map(|record| self.record(record)).collect();
        list(records.len(), &framed.concat(), &self.behind)
    }
}

fn list(count: usize, items: &[u8], behind: &[u8]) -> Vec<u8> {
    let length = -(12 + (items.len() + behind.len()) as i64);
    [&length.to_le_bytes()[..], &(count as u32).to_le_bytes(), items, behind].concat()
}

pub fn locator(range: Range<u64>) -> Vec<u8> {
    [&((range.end - range.start) as u32).to_le_bytes()[..], &range.start.to_le_bytes()].concat()
}

fn flags(words: &[u64]) -> Vec<u8> {
    let words = if words.is_empty() { &[0] } else { words };
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An envelope around some content, and its checksum.
pub fn sealed(kind: u64, content: &[u8]) -> (Vec<u8>, u64) {
    let length = content.len() as u64 + 16;
    let mut bytes = [&(kind | length << 16).to_le_bytes(), content].concat();
    let checksum = XxHash3_64::oneshot(&bytes);
    bytes.extend(checksum.to_le_bytes());
    (bytes, checksum)
}
