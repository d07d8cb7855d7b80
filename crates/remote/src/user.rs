//! The user who runs this process.

use nix::unistd::{Uid, User};

/// The user's name, as XrdCl finds it: the system's name of the process's effective user. Where it
/// knows none (a container with a number for a user), `USER` or `LOGNAME`.
pub fn name() -> Option<String> {
    let known = User::from_uid(Uid::effective()).ok().flatten().map(|user| user.name);
    let said = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    known.into_iter().chain(said).find(|name| !name.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without `USER`, as in services and batch jobs, logins had the name "farroot", and servers
    /// refused users who might have read.
    #[test]
    fn the_system_knows_the_user() {
        let id = std::process::Command::new("id").arg("-un").output().unwrap();
        assert_eq!(name().unwrap(), String::from_utf8(id.stdout).unwrap().trim());
    }
}
