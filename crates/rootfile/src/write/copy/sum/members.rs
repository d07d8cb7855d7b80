//! Members of objects, changed.

use crate::object::ObjectRef;
use crate::write::buffer::Buffer;
use crate::write::copy::record::Edits;

/// Sets a floating-point member in the edits of the first input's record.
pub fn set_real(object: ObjectRef<'_>, name: &str, value: f64, edits: &mut Edits) {
    let mut to = Buffer::default();
    to.f64(value);
    edits.set_bytes(0, object, name, to);
}
