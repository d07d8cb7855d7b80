//! Streamer infos of ROOT's own classes, of the versions that are written.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::streamer::{ElementRest, StreamerElement, StreamerInfo};

/// A paragraph a class: its name, version and checksum, and a line for each member with the kind
/// of its element, name, type code, size, type, the fields that its kind adds, and title; tabs in
/// between.
const TABLE: &str = include_str!("classes.txt");

/// The streamer info of a class.
pub(super) fn info(class: &str) -> Option<&'static Arc<StreamerInfo>> {
    static INFOS: LazyLock<BTreeMap<&str, Arc<StreamerInfo>>> = LazyLock::new(|| {
        let paragraphs = TABLE.split("\n\n").filter(|text| !text.starts_with('#'));
        let infos = paragraphs.filter_map(paragraph);
        infos.map(|(class, info)| (class, Arc::new(info))).collect()
    });
    INFOS.get(class)
}

fn paragraph(text: &'static str) -> Option<(&'static str, StreamerInfo)> {
    let mut lines = text.lines();
    let mut head = lines.next()?.split('\t');
    let class = head.next()?;
    let info = StreamerInfo {
        class: class.to_owned(),
        version: head.next()?.parse().ok()?,
        checksum: u32::from_str_radix(head.next()?, 16).ok()?,
        elements: lines.map(element).collect::<Option<_>>()?,
    };
    Some((class, info))
}

fn element(line: &str) -> Option<StreamerElement> {
    let mut fields = line.split('\t');
    let mut field = || fields.next().unwrap_or_default();
    let class = format!("TStreamer{}", field());
    let name = field();
    let type_code = field();
    let size = field();
    let type_name = field();
    let extra = field();
    let mut element = StreamerElement {
        class,
        name: name.to_owned(),
        title: field().to_owned(),
        type_code: type_code.parse().ok()?,
        type_name: type_name.to_owned(),
        rest: ElementRest { size: size.parse().ok()?, ..ElementRest::default() },
        ..StreamerElement::default()
    };
    let mut words = extra.split_whitespace();
    match &*element.class {
        "TStreamerBase" => {
            element.base_version = words.next()?.parse().ok()?;
            element.rest.base_checksum = u32::from_str_radix(words.next()?, 16).ok()?;
        }
        "TStreamerBasicPointer" | "TStreamerLoop" => {
            element.rest.count_version = words.next()?.parse().ok()?;
            element.count_class = words.next()?.to_owned();
            element.count_name = words.next()?.to_owned();
        }
        "TStreamerSTL" => {
            element.rest.collection = words.next()?.parse().ok()?;
            element.item_code = words.next()?.parse().ok()?;
        }
        _ => {
            element.dimensions = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
            let whole = element.dimensions.iter().product();
            element.array_len = if element.dimensions.is_empty() { 0 } else { whole };
        }
    }
    Some(element)
}

/// Every streamer info of the table, or none for a paragraph that is not understood.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = Option<StreamerInfo>> {
    let paragraphs = TABLE.trim_end().split("\n\n").filter(|text| !text.starts_with('#'));
    paragraphs.map(|text| paragraph(text).map(|(_, info)| info))
}
