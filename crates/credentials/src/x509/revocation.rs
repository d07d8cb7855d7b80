//! Lists of certificates that their authority has taken back (RFC 5280, section 5), as grid
//! directories have them: `HASH.r0`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_parser::prelude::{CertificateRevocationList, FromDer};

use super::{hashes, pem};

/// A file with more bytes is no list.
const BYTES_MAX: u64 = 32 << 20;
/// Authorities of one name in a directory, at the most.
const NUMBERS_MAX: usize = 10;

/// The revocation lists of an authority, whose name is given as DER: those in these directories
/// that are not out of date, as DER. Their signatures are not verified. Reads files.
pub fn revocations(directories: &[PathBuf], issuer: &[u8], now: SystemTime) -> Vec<Vec<u8>> {
    let (new, old) = hashes(issuer);
    let mut found = Vec::new();
    for directory in directories {
        for hash in [&new, &old] {
            let files = (0..NUMBERS_MAX).map(|number| directory.join(format!("{hash}.r{number}")));
            let is_list = |path: &PathBuf| {
                std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= BYTES_MAX)
            };
            for path in files.take_while(is_list) {
                let text = std::fs::read(path).unwrap_or_default();
                found.extend(revocation_lists(&text, issuer, now));
            }
        }
    }
    // Mostly both hashes lead to one file.
    found.sort();
    found.dedup();
    found
}

/// The lists of a file that are of this authority, whose name is given as DER, and not out of date.
pub fn revocation_lists(text: &[u8], issuer: &[u8], now: SystemTime) -> Vec<Vec<u8>> {
    let all = match text.first() {
        Some(0x30) => vec![text.to_vec()],
        _ => pem::revocation_lists(text),
    };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs().cast_signed();
    let counts = |der: &Vec<u8>| {
        CertificateRevocationList::from_der(der).is_ok_and(|(_, list)| {
            let is_over = list.next_update().is_some_and(|until| until.timestamp() <= now);
            list.issuer().as_raw() == issuer && !is_over
        })
    };
    all.into_iter().filter(counts).collect()
}
