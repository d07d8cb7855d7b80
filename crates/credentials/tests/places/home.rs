//! A user with a home, a place for temporary files, and variables.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use farroot_credentials::{Choice, CredentialStore, Environment};

/// Folders of a user who exists for one test.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        let home = Home { folder: tempfile::tempdir().unwrap() };
        for part in ["home", "tmp"] {
            fs::create_dir(home.path(part)).unwrap();
        }
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file, below the folder of the test.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        set_mode(&path, mode);
        path
    }

    pub fn environment(&self, variables: &[(&str, &str)]) -> Environment {
        let home = Some(self.path("home"));
        let mut own = Environment::new(Self::user(), home, variables.iter().copied());
        own.temporary = Some(self.path("tmp"));
        own
    }

    pub fn credential_store(&self, variables: &[(&str, &str)]) -> CredentialStore {
        CredentialStore::new(self.environment(variables), Choice::default())
    }

    /// Who runs the test.
    pub fn user() -> u32 {
        Environment::of_process().user_id
    }
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
