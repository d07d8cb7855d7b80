//! The content of baskets and pages of slow codecs, kept when it has been decompressed.

/// The content of a basket or a page that was compressed with a slow codec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// Offset of the basket or page in its file.
    pub at: u64,
    /// The key of a basket.
    pub(crate) key: Vec<u8>,
    pub(crate) content: Vec<u8>,
    /// Bytes that the blocks with the content took.
    pub(crate) stored: usize,
    /// Whether the checksum of a page ends it.
    pub(crate) has_checksum: bool,
}

/// The contents that a decoder has kept.
#[derive(Debug, Default)]
pub(crate) struct UnpackedItems {
    room: usize,
    items: Vec<Unpacked>,
}

impl Unpacked {
    /// Bytes of memory that it takes.
    pub fn nbytes(&self) -> usize {
        self.key.len() + self.content.len()
    }
}

impl UnpackedItems {
    /// Keeps contents from now on, up to so many bytes in all.
    pub fn begin(&mut self, bytes_max: usize) {
        self.items.clear();
        self.room = bytes_max;
    }

    /// What has been kept; nothing more is.
    pub fn take(&mut self) -> Vec<Unpacked> {
        self.room = 0;
        std::mem::take(&mut self.items)
    }

    /// Keeps a content of so many bytes, unless there is no room for it.
    pub fn add(&mut self, nbytes: usize, unpacked: impl FnOnce() -> Unpacked) {
        if nbytes <= self.room {
            self.room -= nbytes;
            self.items.push(unpacked());
        }
    }
}
