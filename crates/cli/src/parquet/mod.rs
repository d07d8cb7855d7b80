//! Which library writes the files of `farroot cat --parquet` and of skims to `.parquet`: the caller
//! of [`crate::run`] decides.

#[cfg(feature = "parquet")]
mod arrow_rs;
mod target;

use std::path::Path;

use engine::Batch;
pub(crate) use target::Target;

/// Creates Parquet files.
pub trait ParquetLibrary: Sync {
    /// Creates the file, or replaces one of that name.
    ///
    /// # Errors
    /// Why the library cannot be used, or the file cannot be created, for the person at the shell.
    fn create(&self, path: &Path) -> Result<Box<dyn ParquetWriter>, String>;
}

/// A Parquet file that is being written.
pub trait ParquetWriter {
    /// Writes one batch of a read. The first one, which may have no entries, decides the types.
    ///
    /// # Errors
    /// Why it cannot be written, or that it has other types than the first.
    fn write(&mut self, batch: Batch) -> Result<(), String>;

    /// Writes the footer.
    ///
    /// # Errors
    /// Why it cannot be written.
    fn finish(self: Box<Self>) -> Result<(), String>;
}

/// The library that is compiled in: arrow-rs with the feature `parquet`, none without.
pub fn compiled_in() -> &'static dyn ParquetLibrary {
    #[cfg(feature = "parquet")]
    return &arrow_rs::ArrowRs;
    #[cfg(not(feature = "parquet"))]
    &NotCompiled
}

#[cfg(not(feature = "parquet"))]
struct NotCompiled;

#[cfg(not(feature = "parquet"))]
impl ParquetLibrary for NotCompiled {
    fn create(&self, _: &Path) -> Result<Box<dyn ParquetWriter>, String> {
        Err("this farroot was built without Parquet: build it with `cargo build --release -p \
             farroot-cli --features parquet`, or use the farroot of the Python package, which \
             writes Parquet with pyarrow (`pip install 'farroot[arrow]'`)"
            .into())
    }
}
