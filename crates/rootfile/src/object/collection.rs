//! Collections of the standard library, written object by object.

use super::Value;
use super::numbers::{double32s, number};
use super::reader::ObjectReader;
use crate::cursor::Cursor;
use crate::error::Result;
use crate::streamer::{Collection, Item};
use crate::types::framing::MEMBERWISE;

impl ObjectReader<'_> {
    /// A collection as a member: it has a header of its own.
    pub(super) fn collection(
        &mut self,
        collection: &Collection,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        let header = self.header(cursor)?;
        let Some(len) = header.len else { return self.elements(collection, cursor) };
        let mut content = cursor.split(len)?;
        let value = match header.version & MEMBERWISE {
            0 => self.elements(collection, &mut content)?,
            _ => self.memberwise(collection, header.version, &mut content)?,
        };
        match content.remaining() {
            0 => Ok(value),
            left => Err(content.unsupported(format!("{left} bytes more than the elements"))),
        }
    }

    pub(super) fn elements(
        &mut self,
        collection: &Collection,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        match collection {
            Collection::Text => Ok(Value::Text(cursor.text()?)),
            Collection::Sequence(item) => {
                match **item {
                    Item::Number(basic) => {
                        let count = cursor.count(basic.size())?;
                        return Ok(Value::Numbers(cursor.numbers(basic, count)?));
                    }
                    Item::Double32 => {
                        let count = cursor.count(4)?;
                        return Ok(Value::Numbers(double32s(count, cursor)?));
                    }
                    _ => {}
                }
                let count = cursor.count(1)?;
                self.many(count, cursor, |to, at| to.item(item, at))
            }
            Collection::Map(key, mapped) | Collection::Multimap(key, mapped) => {
                let count = cursor.count(1)?;
                self.charge(count.saturating_mul(2))?;
                let pairs = (0..count)
                    .map(|_| Ok((self.item(key, cursor)?, self.item(mapped, cursor)?)))
                    .collect::<Result<Vec<_>>>()?;
                Ok(map_of(collection, pairs))
            }
        }
    }

    pub(super) fn item(&mut self, item: &Item, cursor: &mut Cursor<'_>) -> Result<Value> {
        match item {
            Item::Number(basic) => number(*basic, cursor),
            Item::Double32 => Ok(Value::Float(cursor.f32()?.into())),
            Item::Text | Item::StandardText => Ok(Value::Text(cursor.text()?)),
            Item::Object(class) => self.object(*class, cursor),
            Item::Pointer => self.pointer(cursor),
            Item::Collection(collection) => self.elements(collection, cursor),
            Item::Array(item, length) => match **item {
                Item::Number(basic) => Ok(Value::Numbers(cursor.numbers(basic, *length)?)),
                _ => self.many(*length, cursor, |to, at| to.item(item, at)),
            },
        }
    }
}

/// The value of a map, as the type of its keys allows.
pub(super) fn map_of(collection: &Collection, pairs: Vec<(Value, Value)>) -> Value {
    match collection {
        Collection::Map(key, _) => match **key {
            Item::Number(_) | Item::Text | Item::StandardText => Value::Map(pairs),
            _ => Value::Pairs(pairs),
        },
        _ => Value::Pairs(pairs),
    }
}
