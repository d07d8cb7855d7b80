//! The map from columns of an input to those of the output, and the zeros for fields it lacks.
//!
//! The number follows from the metadata: fields at the top need a zero for each entry, those in a
//! collection as many as another column in it has elements.

use super::layout::UnionSchema;
use super::part::{ClusterPart, NTuplePart};
use crate::error::{Error, Result};
use crate::ntuple::{Field, Role, Schema};
use crate::write::copy::Missing;

/// Bytes of a page of zeros.
const PAGE_BYTES: u64 = 1 << 20;
/// Pages of zeros of an input at most: they share their bytes, but each is listed in a page list.
const PAGES_MAX: u64 = 1 << 22;

/// Columns of inputs of one schema, and zeros, for the fields of the output.
#[derive(Debug)]
pub struct Bridge {
    /// By field of the output.
    fields: Vec<Bridged>,
}

/// Columns of inputs of one schema, or zeros, for a field of the output.
#[derive(Debug, Default)]
struct Bridged {
    /// Number of each representation in the output, and its columns in the input.
    stored: Vec<(usize, Vec<u32>)>,
    /// Elements that a cluster must have, and the representation of zeros; `None` if not needed.
    zeros: Option<(Level, usize)>,
    /// Why zeros cannot be written for this field.
    refused: Option<&'static str>,
}

/// The number of elements that a field must have in a cluster.
#[derive(Debug, Clone, PartialEq)]
enum Level {
    /// This number for each entry.
    Entries(u64),
    /// The elements of these columns, times the first number, divided by the second.
    Like(Vec<u32>, u64, u64),
    None,
}

/// Columns of a cluster of an input, and zeros before their elements, for a field of the output.
#[derive(Debug, Clone, Copy)]
pub struct FieldPages<'a> {
    pub representation: usize,
    /// Columns of the input; none where it lacks the field.
    pub columns: &'a [u32],
    /// Zeros in front of the elements of the first column.
    pub zeros: u64,
}

impl Bridge {
    /// The bridge for inputs of `schema`; `fields` are the numbers of its fields in the output.
    ///
    /// # Errors
    /// `Unsupported` for a field that the input must have, and where no column tells the number of
    /// items.
    pub fn new(
        layout: &UnionSchema,
        schema: &Schema,
        fields: &[Option<u32>],
        missing: Missing,
    ) -> Result<Bridge> {
        let mut theirs = vec![None; layout.fields.len()];
        for (id, place) in (0..).zip(fields) {
            if let Some(place) = place {
                theirs[*place as usize] = Some(id);
            }
        }
        let levels = Levels { layout, schema, theirs: &theirs, missing };
        let bridged = (0..layout.fields.len())
            .map(|place| levels.bridged(place).map_err(|error| error.within(&layout.path(place))));
        Ok(Bridge { fields: bridged.collect::<Result<_>>()? })
    }

    /// Checks that zeros can be written for all that an input lacks.
    ///
    /// # Errors
    /// `Unsupported` for fields that cannot be zeros; `Corrupt` for more entries than the input can
    /// hold; `Limit` for too many pages of zeros.
    pub fn check(&self, layout: &UnionSchema, part: &NTuplePart) -> Result<()> {
        let mut pages = 0u64;
        for cluster in &part.clusters {
            for (place, bridged) in self.fields.iter().enumerate() {
                let zeros = bridged.stored(cluster)?.zeros;
                if zeros == 0 {
                    continue;
                }
                if let Some(why) = bridged.refused {
                    return Err(Error::unsupported(why).within(&layout.path(place)));
                }
                if part.entries > part.entries_max {
                    let message =
                        format!("{} entries, for which no field has the bytes", part.entries);
                    return Err(Error::corrupt(message).within(&layout.path(place)));
                }
                pages = pages.saturating_add(zeros / (PAGE_BYTES / 16) + 1);
            }
        }
        match pages {
            ..=PAGES_MAX => Ok(()),
            _ => Err(Error::limit("too many entries that lack a field")),
        }
    }

    /// The columns and zeros of a cluster for a field.
    ///
    /// # Errors
    /// `Corrupt` for columns that do not fit together.
    pub fn stored(&self, place: usize, cluster: &ClusterPart) -> Result<FieldPages<'_>> {
        self.fields[place].stored(cluster)
    }
}

/// Pages for `elements` zeros of `bits` bits: the number of elements and the bytes of each page.
pub fn zero_pages(elements: u64, bits: u16) -> impl Iterator<Item = (i32, usize)> {
    let each = PAGE_BYTES * 8 / u64::from(bits.max(1));
    let pages = (0..elements).step_by(each as usize).map(move |at| (elements - at).min(each));
    pages.map(move |count| (count as i32, (count * u64::from(bits)).div_ceil(8) as usize))
}

impl Bridged {
    fn stored(&self, cluster: &ClusterPart) -> Result<FieldPages<'_>> {
        let here = self.stored.iter().find(|(_, columns)| cluster.has(columns));
        let here = here.or(self.stored.first());
        let (mut representation, mut columns) =
            here.map_or((0, &[][..]), |(at, columns)| (*at, &columns[..]));
        let mut zeros = 0;
        if let Some((level, of_zeros)) = &self.zeros {
            let there = columns.first().map_or(0, |first| cluster.elements(&[*first]));
            zeros = level.elements(cluster)?.checked_sub(there).ok_or_else(|| {
                Error::corrupt(format!("{there} elements of a column, more than it has entries"))
            })?;
            if there == 0 {
                (representation, columns) = (*of_zeros, &[]);
            }
        }
        Ok(FieldPages { representation, columns, zeros })
    }
}

/// The schemas from which numbers of elements follow.
struct Levels<'a> {
    layout: &'a UnionSchema,
    schema: &'a Schema,
    /// For each field of the output the number of the input's field; `None` where it lacks it.
    theirs: &'a [Option<u32>],
    missing: Missing,
}

impl Levels<'_> {
    fn bridged(&self, place: usize) -> Result<Bridged> {
        let field = &self.layout.fields[place];
        let representations = match self.theirs[place] {
            Some(id) if field.field.source.is_none() => self.schema.representations(id),
            _ => Vec::new(),
        };
        let at = |columns: &Vec<u32>| self.layout.representation(place, self.schema, columns);
        let stored: Vec<(usize, Vec<u32>)> =
            representations.into_iter().filter_map(|all| Some((at(&all)?, all))).collect();
        let deferred = |id: &u32| self.schema.columns[*id as usize].deferred;
        let is_late = stored.iter().any(|(_, columns)| columns.iter().any(deferred));
        let is_lacking = self.theirs[place].is_none();
        if is_lacking {
            self.check_lacking(place)?;
        }
        if field.representations.is_empty() || !(is_lacking || is_late) {
            return Ok(Bridged { stored, ..Bridged::default() });
        }
        let level = self.level(place)?.times(field.field.array_size.unwrap_or(1))?;
        let refused = match field.field.role {
            Role::Streamer | Role::Unknown(_) => Some("objects of a class that has no zeros"),
            _ if is_late && !field.has_zeros_only() => {
                Some("quantised reals that were added while the file was written")
            }
            _ => None,
        };
        let zeros = Some((level, field.zeros().unwrap_or(0)));
        Ok(Bridged { stored, zeros, refused })
    }

    /// Checks that a field may be lacking: at the top, in a lacking field or in an untyped record.
    fn check_lacking(&self, place: usize) -> Result<()> {
        if self.missing != Missing::Union {
            return Err(Error::unsupported("a field of the first input that this one lacks"));
        }
        let may_lack = self.layout.fields[place].field.parent.is_none_or(|parent| {
            let above = &self.layout.fields[parent as usize];
            self.theirs[parent as usize].is_none() || above.is_open()
        });
        match may_lack {
            true => Ok(()),
            false => Err(Error::unsupported(
                "a part of an object of other inputs that this one lacks in it",
            )),
        }
    }

    /// The number of values of a field in a cluster.
    fn level(&self, place: usize) -> Result<Level> {
        let Some(parent) = self.layout.fields[place].field.parent else {
            return Ok(Level::Entries(1));
        };
        let above = &self.layout.fields[parent as usize].field;
        match (above.role, self.theirs[parent as usize]) {
            (Role::Record | Role::Leaf, _) => {
                self.level(parent as usize)?.times(above.array_size.unwrap_or(1))
            }
            (_, None) => Ok(Level::None),
            (Role::Collection, Some(id)) => {
                let mut items = self.schema.fields[id as usize].children.iter();
                let like = items.find_map(|child| self.like(*child, 1));
                like.ok_or_else(|| {
                    let message = "a field of a collection whose items have no other";
                    Error::unsupported(message)
                })
            }
            _ => Err(Error::unsupported("a field that was added to an object")),
        }
    }

    /// A collection's items from columns in its field `id`, `by` elements each; `None` if unknown.
    fn like(&self, id: u32, by: u64) -> Option<Level> {
        let Field { columns, source: None, role, array_size, children, .. } =
            &self.schema.fields[id as usize]
        else {
            return None;
        };
        let by = by.checked_mul(array_size.unwrap_or(1)).filter(|by| *by > 0)?;
        if columns.is_empty() {
            let is_within = matches!(role, Role::Record | Role::Leaf);
            return children.iter().filter(|_| is_within).find_map(|child| self.like(*child, by));
        }
        let all = self.schema.representations(id);
        let first: Vec<u32> = all.iter().filter_map(|columns| columns.first().copied()).collect();
        let is_late = first.iter().any(|column| self.schema.columns[*column as usize].deferred);
        (!is_late).then_some(Level::Like(first, 1, by))
    }
}

impl Level {
    fn times(self, count: u64) -> Result<Level> {
        let many = |of: u64| {
            of.checked_mul(count).ok_or_else(|| Error::corrupt("arrays of too many items"))
        };
        Ok(match self {
            Level::Entries(each) => Level::Entries(many(each)?),
            Level::Like(columns, times, by) => Level::Like(columns, many(times)?, by),
            Level::None => Level::None,
        })
    }

    fn elements(&self, cluster: &ClusterPart) -> Result<u64> {
        let count = match self {
            Level::Entries(each) => cluster.stored_entries.checked_mul(*each),
            Level::Like(columns, times, by) => (cluster.elements(columns) / by).checked_mul(*times),
            Level::None => Some(0),
        };
        count.ok_or_else(|| Error::corrupt("a cluster of too many elements"))
    }
}
