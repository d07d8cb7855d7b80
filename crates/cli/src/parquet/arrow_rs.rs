//! Parquet files by Apache's arrow-rs.

use std::fs::File;
use std::path::Path;

use arrow_schema::SchemaRef;
use engine::{Batch, Error, ErrorKind, ParquetLibrary, ParquetWriter, Result};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

/// Encoded bytes of a row group: the writer holds so much in memory, readers skip by it.
const GROUP_BYTES: usize = 64 << 20;

pub struct ArrowRs;

impl ParquetLibrary for ArrowRs {
    fn create(&self, path: &Path) -> Result<Box<dyn ParquetWriter>> {
        let file = File::create(path).map_err(|error| Error::from_io(&error))?;
        Ok(Box::new(Writer::Created(file)))
    }
}

/// A file, and its writer once the first batch has decided the types.
enum Writer {
    Created(File),
    Begun(SchemaRef, Box<ArrowWriter<File>>),
}

impl ParquetWriter for Writer {
    fn write(&mut self, batch: Batch) -> Result<()> {
        match self {
            Writer::Created(file) => {
                let record = batch.into_arrow()?;
                let schema = record.schema();
                let file = file.try_clone().map_err(|error| Error::from_io(&error))?;
                let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties()))
                    .map_err(failed)?;
                writer.write(&record).map_err(failed)?;
                *self = Writer::Begun(schema, Box::new(writer));
                Ok(())
            }
            Writer::Begun(schema, writer) => {
                let record = batch.into_arrow_as(schema)?;
                writer.write(&record).map_err(failed)
            }
        }
    }

    fn finish(self: Box<Self>) -> Result<()> {
        match *self {
            Writer::Created(_) => Ok(()),
            Writer::Begun(_, writer) => writer.close().map(drop).map_err(failed),
        }
    }
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(format!("farroot {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .build()
}

fn failed(error: ParquetError) -> Error {
    Error::new(ErrorKind::Io, format!("cannot be written: {error}"))
}
