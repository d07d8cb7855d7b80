//! The file that a copy writes: a new one or, for a merge that appends, the existing one.

use remote::sink::CreateOptions;
use remote::{Error, ErrorKind, Result, address};
use rootfile::write::{FileOptions, FileWriter};

use super::choice::CopyOptions;
use super::options::MergeOptions;
use super::uploader::Uploader;
use super::whole;
use crate::located::Located;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::write::output::reopened;
use crate::write::stamp::Stamp;

/// The output, before anything is written.
pub struct BegunOutput {
    pub writer: FileWriter,
    pub uploader: Uploader,
    /// The existing file to which the inputs are appended.
    pub existing: Option<ExistingOutput>,
    pub notes: Vec<String>,
}

/// The output as it was.
pub struct ExistingOutput {
    pub file: File,
    /// Whether it grows in place; otherwise the new file begins with a copy of it.
    pub grows: bool,
}

impl BegunOutput {
    /// Begins with the file at an address.
    ///
    /// # Errors
    /// Where the file cannot be written or, if it is to grow, cannot be read.
    pub async fn begin(session: &Session, output: &str, options: &CopyOptions) -> Result<Self> {
        let mut notes = Vec::new();
        // All that is there has to be written anew then.
        if options.merge.append && options.remake().is_none() {
            match grown(session, output, &options.merge).await {
                Ok((writer, uploader, file)) => {
                    let existing = Some(ExistingOutput { file, grows: true });
                    return Ok(BegunOutput { writer, uploader, existing, notes });
                }
                Err(why) if why.kind() == ErrorKind::NotFound => {}
                Err(why) if why.kind() == ErrorKind::Unsupported => {
                    notes.push(format!("the output is copied, as it cannot grow in place: {why}"));
                }
                Err(why) => return Err(why),
            }
        }
        let file = match options.merge.append {
            true => existing(session, output).await?,
            false => None,
        };
        if let Some(file) = &file {
            check_existing(file, notes.first()).await?;
        }
        let overwrite = options.merge.overwrite || file.is_some();
        let create = CreateOptions { overwrite, ..CreateOptions::default() };
        let writer = new_file(output, &options.merge)?;
        let uploader = Uploader::start(session.remote().create(output, create).await?, false);
        let existing = file.map(|file| ExistingOutput { file, grows: false });
        Ok(BegunOutput { writer, uploader, existing, notes })
    }
}

/// Goes on with the existing file.
async fn grown(
    session: &Session,
    output: &str,
    options: &MergeOptions,
) -> Result<(FileWriter, Uploader, File)> {
    // First, as from then on no other writer changes the file.
    let upload = session.remote().append_to(output).await?;
    let len = upload.len();
    let reopen = async {
        let file = session.open_to_grow(output).await?;
        if file.is_recovered() {
            return Err(Error::new(ErrorKind::Unsupported, "the file was never closed"));
        }
        let writer = reopened(&file, len, options.reproducible).await?;
        Ok((writer, file))
    };
    match reopen.await {
        Ok((writer, file)) => Ok((writer, Uploader::start(upload, true), file)),
        Err(error) => {
            upload.abandon().await;
            Err(error)
        }
    }
}

/// The output as it is, if it is there.
async fn existing(session: &Session, output: &str) -> Result<Option<File>> {
    match session.open_to_copy(output).await {
        Ok(file) => Ok(Some(file)),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

/// That a copy of the output, as which the new file begins, has all of it. `why` is the reason for
/// which it does not grow in place, where options do not forbid that.
async fn check_existing(file: &File, why: Option<&String>) -> Result<()> {
    let directories = file.reading(|format, known| format.directories(known)).await?;
    let checked = directories.readable.iter().try_for_each(whole::check_cycles);
    checked.map_err(|error| error.with_url(file.url())).map_err(|error| match why {
        Some(why) => error.with_advice(format!("{why}. Merge it with the inputs to another file")),
        None => error.with_advice_for(
            "let the output grow in place, without --recompress and --basket-size",
            "let the output grow in place, without recompress and basket_size",
        ),
    })
}

fn new_file(output: &str, options: &MergeOptions) -> Result<FileWriter> {
    let url = address::parse(output)?.swap_remove(0);
    let Stamp { uuid, datime } = Stamp::new(options.reproducible)?;
    let options = FileOptions {
        name: url.file_name().to_string_lossy().into_owned(),
        title: String::new(),
        compression: options.compression,
        uuid,
        datime,
    };
    FileWriter::new(options).located(output)
}

/// Checks that the output replaces none of the inputs, however their addresses are written.
///
/// # Errors
/// `InvalidArgument` where it does.
pub(crate) fn check_output<'a>(
    output: &'a str,
    inputs: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    match address::is_among(output, inputs) {
        true => {
            let error = Error::new(ErrorKind::InvalidArgument, "the output is one of the inputs");
            Err(error.with_url(output).with_advice("name another output"))
        }
        false => Ok(()),
    }
}
