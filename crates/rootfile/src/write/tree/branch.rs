//! A branch that is being written: its work, and the baskets that it has.

use std::sync::Arc;

use bytes::Bytes;

use super::content::{ContentFacts, write_content};
use super::plan::PlannedBranch;
use crate::error::{Error, Result};
use crate::write::basket_key::{self, BasketFields};
use crate::write::compression::{Compression, Encoders};
use crate::write::key::KeyHead;
use crate::write::rows::ColumnRun;
use crate::write::table::{Encode, Encoded, RecordPlace};

/// A branch, and where its baskets are.
#[derive(Debug, Clone)]
pub(super) struct OpenBranch {
    pub plan: Arc<PlannedBranch>,
    /// The name of the branch that counts it; empty where there is none.
    pub counter_name: String,
    pub compression: Compression,
    pub baskets: Vec<WrittenBasket>,
    pub entries: u64,
    /// Of all baskets with their keys, before and after compression.
    pub total_bytes: u64,
    pub stored_bytes: u64,
    /// Of the largest basket, before compression.
    pub basket_size: usize,
    /// The greatest count, or the longest text.
    pub longest: u64,
}

/// A basket that has a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrittenBasket {
    pub first_entry: u64,
    pub offset: u64,
    pub record_len: u32,
}

/// The work of one basket.
#[derive(Debug)]
pub(super) struct EncodeBasket {
    pub branch: Arc<PlannedBranch>,
    pub number: usize,
    pub run: ColumnRun,
    pub key_len: usize,
    /// Approximate bytes before compression.
    pub content_len: usize,
    pub compression: Compression,
}

/// Capacity beyond `content_len`, which writing vectors and offsets needs.
const ROOM: usize = 64;

/// Facts about a basket that the tree keeps.
#[derive(Debug)]
pub(super) struct BasketFacts {
    /// Of its branch.
    pub number: usize,
    pub content: ContentFacts,
}

impl Encode for EncodeBasket {
    fn encode(self: Box<Self>, encoders: &mut Encoders) -> Result<Encoded> {
        let within = |error: Error| error.within(&self.branch.name);
        let write = |content: &mut Vec<u8>| {
            write_content(&self.branch, &self.run, self.key_len, content).map_err(within)
        };
        let (bytes, content_len, facts) = if self.compression.level == 0 {
            // The content is stored as it is, so it is not copied.
            let mut content = Vec::with_capacity(self.content_len + ROOM);
            let facts = write(&mut content)?;
            let content_len = content.len();
            (content, content_len, facts)
        } else {
            let mut content = std::mem::take(&mut encoders.scratch);
            content.clear();
            let facts = write(&mut content)?;
            let mut bytes = Vec::new();
            encoders.compress(self.compression, &content, &mut bytes).map_err(within)?;
            let content_len = content.len();
            encoders.scratch = content;
            (bytes, content_len, facts)
        };
        let facts = Box::new(BasketFacts { number: self.number, content: facts });
        Ok(Encoded { bytes, content_len, facts })
    }
}

impl OpenBranch {
    pub fn new(plan: PlannedBranch, counter_name: String, compression: Compression) -> Self {
        OpenBranch {
            plan: Arc::new(plan),
            counter_name,
            compression,
            baskets: Vec::new(),
            entries: 0,
            total_bytes: 0,
            stored_bytes: 0,
            basket_size: 0,
            longest: 0,
        }
    }

    /// The key of its next basket.
    pub fn key(&self, tree: &str, place: RecordPlace) -> KeyHead {
        basket_key::head(&self.plan.name, tree, self.baskets.len(), place)
    }

    /// Bytes of each of its keys.
    pub fn key_len(&self, tree: &str) -> usize {
        self.key(tree, RecordPlace { offset: 0, directory: 0, datime: 0 }).len(0)
    }

    /// The record of its next basket.
    pub fn place(
        &mut self,
        tree: &str,
        encoded: Encoded,
        facts: &ContentFacts,
        place: RecordPlace,
    ) -> Result<Vec<Bytes>> {
        let head = self.key(tree, place);
        let key_len = head.len(place.offset);
        let stored = encoded.bytes.len();
        let content = encoded.content_len;
        let fields = BasketFields {
            entries: facts.entries,
            data_len: facts.data_len,
            content_len: content,
            has_offsets: self.plan.kind.has_offsets(),
        };
        let key = basket_key::key(&head, place, stored, fields);
        let key = key.map_err(|error| error.within(&self.plan.name))?;
        let record_len = (key_len + stored) as u32;
        let first_entry = self.entries;
        self.baskets.push(WrittenBasket { first_entry, offset: place.offset, record_len });
        self.entries += facts.entries;
        self.total_bytes += (key_len + content) as u64;
        self.stored_bytes += u64::from(record_len);
        self.basket_size = self.basket_size.max(key_len + content);
        self.longest = self.longest.max(facts.longest);
        Ok(vec![key.into_vec().into(), encoded.bytes.into()])
    }
}
