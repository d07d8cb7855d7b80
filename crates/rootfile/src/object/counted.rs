//! Arrays that another member counts.

use super::Value;
use super::reader::ObjectReader;
use crate::array::Number;
use crate::cursor::Cursor;
use crate::error::Result;
use crate::streamer::{ClassId, ClassLayout, Count, MemberKind};

impl ObjectReader<'_> {
    /// How many numbers there are in an array; `None` for a null pointer.
    pub(super) fn count(
        &self,
        count: &Count,
        before: &[Value],
        layout: &ClassLayout,
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<usize>> {
        match count {
            Count::Fixed(count) => Ok(Some(*count)),
            Count::PrefixedIfThere if cursor.remaining() == 0 => Ok(Some(0)),
            Count::Prefixed | Count::PrefixedIfThere => cursor.count(1).map(Some),
            Count::Product(factors) => {
                let mut numbers = factors.iter().map(|factor| match factor {
                    Count::Fixed(count) => Some(*count),
                    member => self.member_count(member, before, layout),
                });
                let product = numbers.try_fold(1usize, |all, one| all.checked_mul(one?));
                let product = product.filter(|count| *count <= cursor.remaining());
                product.map(Some).ok_or_else(|| cursor.corrupt("an array longer than its object"))
            }
            Count::Member(name, _) => {
                let there = cursor.u8()? != 0;
                match self.member_count(count, before, layout) {
                    // An array of no numbers and a null pointer are the same to the caller.
                    Some(count) => Ok((there || count == 0).then_some(count)),
                    None if !there => Ok(None),
                    None => Err(cursor.corrupt(format!("{name} does not count an array"))),
                }
            }
        }
    }

    /// The count in the member that counts; `None` where none does.
    pub(super) fn member_count(
        &self,
        count: &Count,
        before: &[Value],
        layout: &ClassLayout,
    ) -> Option<usize> {
        let Count::Member(name, position) = count else { return None };
        let value = match position {
            Some(position) => before.get(*position).cloned(),
            None => self.in_bases(name, before, layout),
        };
        match value {
            Some(Value::Int(count)) => usize::try_from(count).ok(),
            Some(Value::Uint(count)) => usize::try_from(count).ok(),
            Some(Value::Numbers(numbers)) => Some(numbers.len()),
            _ => None,
        }
    }

    /// An array of objects, or of pointers to objects, that another member counts.
    pub(super) fn counted_objects(
        &mut self,
        class: ClassId,
        pointers: bool,
        count: Option<usize>,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        let header = self.header(cursor)?;
        let (Some(count), Some(len)) = (count, header.len) else {
            return Err(cursor.unsupported("an array of objects of unknown length"));
        };
        let mut content = cursor.split(len)?;
        if count > content.remaining() {
            return Err(content.corrupt(format!("{count} objects in {len} bytes")));
        }
        self.many(count, &mut content, |to, at| match pointers {
            true => to.pointer(at),
            false => to.object(class, at),
        })
    }

    fn in_bases(&self, name: &str, before: &[Value], layout: &ClassLayout) -> Option<Value> {
        let members = layout.members.iter().zip(before);
        members.filter(|(member, _)| matches!(member.kind, MemberKind::Base(..))).find_map(
            |(_, value)| {
                let Value::Object(base) = value else { return None };
                let base = &self.objects[base.0 as usize];
                let own = base.layout.members.iter().position(|member| *member.name == *name);
                match own {
                    Some(position) => base.values.get(position).cloned(),
                    None => self.in_bases(name, &base.values, &base.layout),
                }
            },
        )
    }

    pub(super) fn basket_seeks(
        &mut self,
        count: &Count,
        before: &[Value],
        layout: &ClassLayout,
        cursor: &mut Cursor<'_>,
    ) -> Result<Value> {
        const EIGHT_BYTES: u8 = 2;
        let long = cursor.clone().u8()? == EIGHT_BYTES;
        let Some(count) = self.count(count, before, layout, cursor)? else {
            return Ok(Value::Null);
        };
        let basic = if long { Number::I64 } else { Number::I32 };
        Ok(Value::Numbers(cursor.numbers(basic, count)?))
    }
}
