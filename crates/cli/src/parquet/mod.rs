//! The library that writes the files of `farroot cat --parquet` and of skims to `.parquet`: the
//! caller of [`crate::run`] decides.

#[cfg(feature = "parquet")]
mod arrow_rs;

#[cfg(any(test, not(feature = "parquet")))]
use std::path::Path;

use engine::ParquetLibrary;

/// The library that is compiled in: arrow-rs with the feature `parquet`, none without.
pub fn compiled_in() -> &'static dyn ParquetLibrary {
    #[cfg(feature = "parquet")]
    return &arrow_rs::ArrowRs;
    #[cfg(not(feature = "parquet"))]
    &NotCompiled
}

#[cfg(any(test, not(feature = "parquet")))]
struct NotCompiled;

#[cfg(any(test, not(feature = "parquet")))]
impl ParquetLibrary for NotCompiled {
    fn create(&self, _: &Path) -> engine::Result<Box<dyn engine::ParquetWriter>> {
        let message = "this farroot was built without Parquet";
        let error = engine::Error::new(engine::ErrorKind::Unsupported, message);
        Err(error.with_advice(
            "build it with `cargo build --release -p farroot-cli --features parquet`, or use the \
             farroot of the Python package, which writes Parquet with pyarrow (`pip install \
             'farroot[arrow]'`)",
        ))
    }
}

#[test]
fn a_build_without_parquet_says_how_to_have_it() {
    let error = NotCompiled.create(Path::new("t.parquet")).err().expect("an error").to_string();
    assert!(error.contains("--features parquet") && error.contains("farroot[arrow]"), "{error}");
}
