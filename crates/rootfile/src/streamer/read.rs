//! Streamer infos from the objects that a file's list of them holds.

use crate::error::{Error, Result};
use crate::object::{ObjectRef, Objects, Value};

use super::{ElementRest, StreamerElement, StreamerInfo, Streamers};
use crate::array::Numbers;
use crate::types::code;

/// Bit of an element whose title has a range (`TStreamerElement::kHasRange`).
const HAS_RANGE: u32 = 1 << 6;

impl Streamers {
    /// Understands the list of streamer infos of a file, read by [`crate::object::read_object`]
    /// with the builtin ones. Other items of the list (rules for reading old versions) are left.
    ///
    /// # Errors
    /// `Corrupt` where a streamer info lacks members that it must have.
    pub fn of_list(list: &Objects) -> Result<Streamers> {
        let root = list.root();
        let Some(Value::List(items)) = root.member("items") else {
            return Err(Error::corrupt(format!("a {} of streamer infos", root.class())));
        };
        let mut infos = Vec::new();
        for item in items {
            let Value::Object(id) = item else { continue };
            let object = list.get(*id);
            if object.class() == "TStreamerInfo" && object.unread().is_none() {
                infos.push(info(object)?);
            }
        }
        Ok(Streamers::new(infos))
    }
}

fn info(object: ObjectRef<'_>) -> Result<StreamerInfo> {
    let class = object.string("fName")?;
    let elements = object.objects("fElements")?.into_iter().flatten().map(element);
    let elements = elements.collect::<Result<Vec<StreamerElement>>>();
    Ok(StreamerInfo {
        version: object.int("fClassVersion")? as i32,
        checksum: object.int("fCheckSum")? as u32,
        elements: elements.map_err(|error| error.within(&class))?,
        class,
    })
}

fn element(object: ObjectRef<'_>) -> Result<StreamerElement> {
    let class = object.class().to_owned();
    let is_base = class == "TStreamerBase";
    let counted = matches!(class.as_str(), "TStreamerBasicPointer" | "TStreamerLoop");
    let text_if = |there: bool, name| if there { object.string(name) } else { Ok(String::new()) };
    let type_code = object.int("fType")? as i32;
    let array_len = u32::try_from(object.int("fArrayLength")?)
        .map_err(|_| Error::corrupt("an array of negative length").within(&class))?;
    let used = usize::try_from(object.int("fArrayDim")?).unwrap_or(0);
    let dimensions = match object.member("fMaxIndex") {
        Some(Value::Numbers(Numbers::I32(all))) => {
            all.iter().take(used).map(|n| (*n).max(0) as u32).collect()
        }
        _ => Vec::new(),
    };
    let has_version = object.member("fBaseVersion").is_some();
    Ok(StreamerElement {
        name: object.string("fName")?,
        title: object.string("fTitle")?,
        // The list of rules for conversion calls the elements that it adds artificial.
        type_code: if class == "TStreamerArtificial" { code::ARTIFICIAL } else { type_code },
        array_len,
        dimensions,
        type_name: object.string("fTypeName")?,
        base_version: if is_base && has_version { object.int("fBaseVersion")? as i32 } else { 0 },
        count_name: text_if(counted, "fCountName")?,
        count_class: text_if(counted, "fCountClass")?,
        item_code: object.int("fCtype").unwrap_or(0) as i32,
        rest: rest(object, is_base),
        class,
    })
}

/// Fields that an element may lack: older versions of its class have fewer.
fn rest(object: ObjectRef<'_>, is_base: bool) -> ElementRest {
    let int = |name| object.int(name).unwrap_or(0);
    // Version 3 of the class has a factor in place of the bit of later versions.
    let range = match object.member("fFactor") {
        Some(Value::Float(factor)) if *factor > 0.0 => HAS_RANGE,
        _ => 0,
    };
    let base_checksum = match object.member("fMaxIndex") {
        Some(Value::Numbers(Numbers::I32(all))) if is_base => all.get(1).copied().unwrap_or(0),
        _ => 0,
    };
    ElementRest {
        bits: int("fBits") as u32 | range,
        size: int("fSize") as i32,
        base_checksum: base_checksum as u32,
        count_version: int("fCountVersion") as i32,
        collection: int("fSTLtype") as i32,
    }
}
