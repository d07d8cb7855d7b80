//! Values of the arrays that a read returns.

use engine::{Array, Numbers};

/// The values of an array of doubles; `None` for entries without one.
///
/// # Panics
/// For arrays of any other type.
pub fn doubles(array: &Array) -> Vec<Option<f64>> {
    match array {
        Array::Numbers { numbers: Numbers::F64(all), .. } => {
            all.iter().copied().map(Some).collect()
        }
        Array::Option { index, content } => {
            let all = doubles(content);
            index.iter().map(|at| usize::try_from(*at).ok().and_then(|at| all[at])).collect()
        }
        other => panic!("{other:?}"),
    }
}
