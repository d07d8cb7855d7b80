//! The user and the password that an address names.

use super::{Address, Target};

impl Address {
    /// Whether it names a user or a password.
    pub fn has_user(&self) -> bool {
        self.user_info().is_some()
    }

    /// User and password as they are written; `None` where there is neither. It is a secret.
    pub(crate) fn user_info(&self) -> Option<String> {
        match &self.target {
            // The protocol has no place for a password.
            Target::Xrootd(url) => url.user.clone().filter(|user| !user.is_empty()),
            Target::Http(url) | Target::Pelican(url) => {
                let user = url.username();
                match url.password() {
                    Some(password) => Some(format!("{user}:{password}")),
                    None => Some(user.to_owned()).filter(|user| !user.is_empty()),
                }
            }
            Target::Local(_) | Target::S3(_) => None,
        }
    }
}
