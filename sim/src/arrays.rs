//! Values out of the arrays that a read gives.

use engine::{Array, Numbers};

/// Reals, `None` where an entry has none.
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
