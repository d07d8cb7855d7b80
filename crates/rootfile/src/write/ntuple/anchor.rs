//! The object that the directory lists (ROOT: `ROOT::RNTuple`; read in [`crate::ntuple::anchor`]).

use twox_hash::XxHash3_64;

use crate::ntuple::anchor::{Anchor, CLASS, EnvelopeLink};
use crate::write::buffer::Buffer;
use crate::write::table::WritableObject;

/// The version of the class.
const CLASS_VERSION: u16 = 2;

impl WritableObject for Anchor {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn title(&self) -> &'static str {
        ""
    }

    fn classes(&self) -> Vec<&str> {
        vec![CLASS]
    }

    fn write(&self, to: &mut Buffer) {
        let mut fields = Buffer::default();
        self.version.into_iter().for_each(|part| fields.u16(part));
        for EnvelopeLink { range, length } in [&self.header, &self.footer] {
            fields.u64(range.start);
            fields.u64(range.end - range.start);
            fields.u64(*length);
        }
        fields.u64(self.max_key_size);
        let fields = fields.into_vec();
        let count = to.begin(CLASS_VERSION);
        to.bytes(&fields);
        to.end(count);
        // The byte count does not cover it.
        to.u64(XxHash3_64::oneshot(&fields));
    }

    fn is_compressible(&self) -> bool {
        false
    }
}

/// An anchor whose key has a title.
pub(in crate::write) struct TitledAnchor {
    pub anchor: Anchor,
    pub title: String,
}

impl WritableObject for TitledAnchor {
    fn class(&self) -> &str {
        self.anchor.class()
    }

    fn title(&self) -> &str {
        &self.title
    }

    fn classes(&self) -> Vec<&str> {
        self.anchor.classes()
    }

    fn write(&self, to: &mut Buffer) {
        self.anchor.write(to);
    }

    fn is_compressible(&self) -> bool {
        self.anchor.is_compressible()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let header = EnvelopeLink { range: 100..110, length: 20 };
        let footer = EnvelopeLink { range: 5 << 32..(5 << 32) + 7, length: 7 };
        let anchor = Anchor { version: [1, 0, 0, 1], header, footer, max_key_size: 1 << 30 };
        let mut content = Buffer::default();
        anchor.write(&mut content);
        assert_eq!(content.len(), 78);
        assert_eq!(Anchor::read(CLASS, &content.into_vec().into(), 0).unwrap(), anchor);
    }
}
