//! Directories of the inputs: their titles, and those without objects.

use std::collections::BTreeMap;

use rootfile::file::Directories;
use rootfile::write::FileWriter;

use super::choice::CopyOptions;
use super::inputs::path_of;

/// A directory of an input.
pub struct InputFolder {
    path: String,
    title: String,
    /// Whether it is in the output even without objects.
    is_wanted: bool,
}

/// The directories of all inputs so far, each with the title that the first input gives it.
#[derive(Default)]
pub struct Folders {
    titles: BTreeMap<String, String>,
    /// Paths of those that are made even without objects, in the order of the inputs.
    wanted: Vec<String>,
}

impl InputFolder {
    /// The directories of an input, but for the top one.
    pub fn all(directories: &Directories, options: &CopyOptions) -> Vec<InputFolder> {
        let below = directories.readable.iter().flat_map(|directory| {
            let keys = directory.keys.iter().filter(|key| key.is_directory());
            keys.map(|key| (path_of(&directory.path, &key.name), key.title.clone()))
        });
        let folder = |(path, title): (String, String)| {
            let is_wanted = options.wants(&path, false);
            InputFolder { path, title, is_wanted }
        };
        below.map(folder).collect()
    }
}

impl Folders {
    /// Adds those of the next input.
    pub fn add(&mut self, folders: Vec<InputFolder>) {
        for InputFolder { path, title, is_wanted } in folders {
            if self.titles.contains_key(&path) {
                continue;
            }
            if is_wanted {
                self.wanted.push(path.clone());
            }
            self.titles.insert(path, title);
        }
    }

    pub fn title(&self, path: &str) -> Option<&str> {
        self.titles.get(path).map(String::as_str)
    }

    /// Makes those that no object has made.
    ///
    /// # Errors
    /// As [`FileWriter::directory`].
    pub fn make(&self, writer: &mut FileWriter) -> rootfile::Result<()> {
        for path in &self.wanted {
            writer.directory_with(path, |path| self.title(path))?;
        }
        Ok(())
    }
}
