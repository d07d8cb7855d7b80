//! Names that are relative to a directory.

/// A name relative to a directory of a server, without the dots that lead upwards: servers refuse
/// them. Nothing is above the first directory (RFC 3986, section 5.2.4).
pub(super) fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => while parts.len() > 1 && parts.pop() == Some("") {},
            part => parts.push(part),
        }
    }
    parts.join("/")
}
