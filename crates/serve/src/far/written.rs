//! Files that clients of this proxy write at their origins: their cached facts are out of date.

use std::collections::BTreeSet;

use remote::address::Address;

/// Number of written files that the proxy remembers one by one; beyond it, the proxy takes every
/// file for a written one.
const FILES_MAX: usize = 10_000;

/// Addresses without users, queries and credentials.
#[derive(Debug, Default)]
pub struct WrittenFiles(BTreeSet<String>);

impl WrittenFiles {
    pub fn add(&mut self, address: &Address) {
        if self.0.len() < FILES_MAX {
            self.0.insert(address.anonymous().as_str().to_owned());
        }
    }

    pub fn contains(&self, address: &Address) -> bool {
        self.0.len() >= FILES_MAX
            || !self.0.is_empty() && self.0.contains(address.anonymous().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_under_any_query_and_none_is_forgotten() {
        let mut written = WrittenFiles::default();
        let address = |text: &str| Address::parse(text).unwrap();
        assert!(!written.contains(&address("root://h//f")));
        written.add(&address("root://h//f?authz=x"));
        assert!(written.contains(&address("root://h//f")));
        assert!(written.contains(&address("root://h//f?authz=y")));
        assert!(!written.contains(&address("root://h//g")));
        for number in 0..FILES_MAX {
            written.add(&address(&format!("root://h//{number}")));
        }
        assert!(written.contains(&address("root://h//another")));
    }
}
