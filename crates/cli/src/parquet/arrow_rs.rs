//! Parquet files by Apache's arrow-rs.

use std::fs::File;
use std::path::Path;

use arrow_schema::SchemaRef;
use engine::{Batch, Reader};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::{ParquetLibrary, ParquetWriter};

/// Encoded bytes of a row group: the writer holds so much in memory, readers skip by it.
const GROUP_BYTES: usize = 64 << 20;

pub struct ArrowRs;

impl ParquetLibrary for ArrowRs {
    fn create(&self, path: &Path) -> Result<Box<dyn ParquetWriter>, String> {
        let file = File::create(path).map_err(|error| error.to_string())?;
        Ok(Box::new(Writer::Created(file)))
    }
}

/// A file, and its writer once the first batch has decided the types.
enum Writer {
    Created(File),
    Begun(SchemaRef, Box<ArrowWriter<File>>),
}

impl ParquetWriter for Writer {
    fn write(&mut self, batch: Batch) -> Result<(), String> {
        match self {
            Writer::Created(file) => {
                let record = batch.into_arrow().map_err(|error| of_engine(&error))?;
                let schema = record.schema();
                let file = file.try_clone().map_err(|error| error.to_string())?;
                let mut writer =
                    ArrowWriter::try_new(file, schema.clone(), Some(properties())).map_err(text)?;
                writer.write(&record).map_err(text)?;
                *self = Writer::Begun(schema, Box::new(writer));
                Ok(())
            }
            Writer::Begun(schema, writer) => {
                let record = batch.into_arrow_as(schema).map_err(|error| of_engine(&error))?;
                writer.write(&record).map_err(text)
            }
        }
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        match *self {
            Writer::Created(_) => Ok(()),
            Writer::Begun(_, writer) => writer.close().map(drop).map_err(text),
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

fn of_engine(error: &engine::Error) -> String {
    error.said_to(Reader::Shell)
}

fn text(error: ParquetError) -> String {
    error.to_string()
}
