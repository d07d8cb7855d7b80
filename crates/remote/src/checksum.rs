//! Checksums of whole files, as servers give them and as bytes have them.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::str::FromStr;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use md5::Digest;
use simd_adler32::Adler32;

use crate::error::{Error, ErrorKind, Result};

/// Read at a time of a file on a disk.
const HASH_BYTES: usize = 1 << 20;

/// How a checksum is made of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// RFC 1950, section 8: 4 bytes.
    Adler32,
    /// Castagnoli's polynomial (RFC 3720, appendix B.4): 4 bytes.
    Crc32c,
    /// RFC 1321: 16 bytes.
    Md5,
    /// Of IEEE 802.3, as zlib and ZIP files have it: 4 bytes.
    Crc32,
    /// FIPS 180-4: 32 bytes.
    Sha256,
    /// FIPS 180-4: 20 bytes.
    Sha1,
    /// FIPS 180-4: 64 bytes.
    Sha512,
}

impl Algorithm {
    /// From the one that sites keep most often to the one that they keep most rarely.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Adler32,
        Algorithm::Crc32c,
        Algorithm::Md5,
        Algorithm::Crc32,
        Algorithm::Sha256,
        Algorithm::Sha1,
        Algorithm::Sha512,
    ];

    /// The name that XRootD servers and HTTP's `Want-Digest` know.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Adler32 => "adler32",
            Algorithm::Crc32c => "crc32c",
            Algorithm::Md5 => "md5",
            Algorithm::Crc32 => "crc32",
            Algorithm::Sha256 => "sha256",
            Algorithm::Sha1 => "sha1",
            Algorithm::Sha512 => "sha512",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Algorithm::Adler32 | Algorithm::Crc32 | Algorithm::Crc32c => 4,
            Algorithm::Md5 => 16,
            Algorithm::Sha256 => 32,
            Algorithm::Sha1 => 20,
            Algorithm::Sha512 => 64,
        }
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    /// # Errors
    /// `Unsupported` for any other name.
    fn from_str(name: &str) -> Result<Self> {
        let name = name.trim().to_ascii_lowercase();
        let known = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        // As RFC 9530 and Metalinks write them.
        let known = known.or(match &*name {
            "adler" => Some(Algorithm::Adler32),
            "sha-256" => Some(Algorithm::Sha256),
            "sha" | "sha-1" => Some(Algorithm::Sha1),
            "sha-512" => Some(Algorithm::Sha512),
            "crc-32c" => Some(Algorithm::Crc32c),
            _ => None,
        });
        known.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("checksums of kind {name:?} are not known"))
                .with_advice("adler32, crc32, crc32c, md5, sha1, sha256 and sha512 are")
        })
    }
}

/// A checksum of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    algorithm: Algorithm,
    /// Most significant byte first.
    value: Vec<u8>,
}

impl Checksum {
    /// How it is made.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Its bytes, most significant first.
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// Reads hexadecimal digits. Leading zeros may be missing, as some servers leave them out.
    ///
    /// # Errors
    /// `Corrupt` for anything else.
    pub fn from_hex(algorithm: Algorithm, digits: &str) -> Result<Self> {
        let wrong = || {
            let text = format!("{digits:?} is no {} checksum", algorithm.name());
            Error::new(ErrorKind::Corrupt, text)
        };
        let width = algorithm.bytes() * 2;
        if digits.is_empty() || digits.len() > width {
            return Err(wrong());
        }
        let all = format!("{digits:0>width$}");
        let value = HEXLOWER_PERMISSIVE.decode(all.as_bytes()).map_err(|_| wrong())?;
        Ok(Checksum { algorithm, value })
    }

    /// Reads a checksum as a user or a catalogue writes it: `adler32:5bdad19a`, every digit of it.
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn written(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            let error = Error::new(ErrorKind::InvalidArgument, format!("{text:?}: {why}"));
            error.with_advice("a checksum is KIND:HEX, as in adler32:5bdad19a")
        };
        let (kind, digits) = text.split_once(':').ok_or_else(|| wrong("no kind of checksum"))?;
        let algorithm: Algorithm = kind.parse().map_err(|error: Error| wrong(error.message()))?;
        let digits = digits.trim();
        // A digit that was lost would make the file wrong.
        if digits.len() != algorithm.bytes() * 2 {
            let digits = algorithm.bytes() * 2;
            return Err(wrong(&format!("{} has {digits} digits", algorithm.name())));
        }
        Checksum::from_hex(algorithm, digits).map_err(|error| wrong(error.message()))
    }

    /// Takes the value's bytes, most significant first.
    ///
    /// # Errors
    /// `Corrupt` where there are more or fewer than the algorithm makes.
    pub fn from_bytes(algorithm: Algorithm, value: Vec<u8>) -> Result<Self> {
        if value.len() != algorithm.bytes() {
            let text = format!("{} bytes are no {} checksum", value.len(), algorithm.name());
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        Ok(Checksum { algorithm, value })
    }
}

impl fmt::Display for Checksum {
    /// `adler32 5bdad19a`, as XRootD servers write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.algorithm.name(), HEXLOWER.encode(&self.value))
    }
}

impl FromStr for Checksum {
    type Err = Error;

    /// Reads an XRootD server's answer: a name, a blank, and hexadecimal digits.
    ///
    /// # Errors
    /// `Unsupported` for an unknown kind, `Corrupt` for a text that is no checksum.
    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.split_ascii_whitespace();
        let (Some(name), Some(digits)) = (words.next(), words.next()) else {
            return Err(Error::new(ErrorKind::Corrupt, format!("{text:?} is no checksum")));
        };
        Checksum::from_hex(name.parse()?, digits)
    }
}

/// A checksum in the making; bytes come in the file's order.
pub struct Hasher(State);

enum State {
    Adler32(Adler32),
    Crc32c(u32),
    Md5(md5::Md5),
    Crc32(u32),
    Sha256(sha2::Sha256),
    Sha1(sha1::Sha1),
    Sha512(sha2::Sha512),
}

/// For each byte, its part of a CRC-32, in the order of bits of IEEE 802.3.
const CRC32: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = (sum >> 1) ^ (0xedb8_8320 * (sum & 1));
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

fn crc32_appended(sum: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!sum, |sum, byte| (sum >> 8) ^ CRC32[(sum as u8 ^ byte) as usize])
}

impl Hasher {
    /// A checksum of no bytes yet.
    pub fn new(algorithm: Algorithm) -> Self {
        Hasher(match algorithm {
            Algorithm::Adler32 => State::Adler32(Adler32::new()),
            Algorithm::Crc32c => State::Crc32c(0),
            Algorithm::Md5 => State::Md5(md5::Md5::new()),
            Algorithm::Crc32 => State::Crc32(0),
            Algorithm::Sha256 => State::Sha256(sha2::Sha256::new()),
            Algorithm::Sha1 => State::Sha1(sha1::Sha1::new()),
            Algorithm::Sha512 => State::Sha512(sha2::Sha512::new()),
        })
    }

    /// The next bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Adler32(state) => state.write(bytes),
            State::Crc32c(state) => *state = crc32c::crc32c_append(*state, bytes),
            State::Md5(state) => state.update(bytes),
            State::Crc32(state) => *state = crc32_appended(*state, bytes),
            State::Sha256(state) => state.update(bytes),
            State::Sha1(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
        }
    }

    /// The checksum of all bytes so far.
    pub fn finish(self) -> Checksum {
        let (algorithm, value) = match self.0 {
            State::Adler32(state) => (Algorithm::Adler32, state.finish().to_be_bytes().to_vec()),
            State::Crc32c(state) => (Algorithm::Crc32c, state.to_be_bytes().to_vec()),
            State::Md5(state) => (Algorithm::Md5, state.finalize().to_vec()),
            State::Crc32(state) => (Algorithm::Crc32, state.to_be_bytes().to_vec()),
            State::Sha256(state) => (Algorithm::Sha256, state.finalize().to_vec()),
            State::Sha1(state) => (Algorithm::Sha1, state.finalize().to_vec()),
            State::Sha512(state) => (Algorithm::Sha512, state.finalize().to_vec()),
        };
        Checksum { algorithm, value }
    }
}

/// The checksum of all bytes of a file on a disk, wherever its cursor stands.
///
/// # Errors
/// An error of the file system.
pub fn of_file(file: &File, algorithm: Algorithm) -> io::Result<Checksum> {
    let mut hasher = Hasher::new(algorithm);
    let mut at = 0;
    let mut buffer = vec![0; HASH_BYTES];
    loop {
        match file.read_at(&mut buffer, at) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(algorithm: Algorithm, parts: &[&[u8]]) -> String {
        let mut hasher = Hasher::new(algorithm);
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finish().to_string()
    }

    #[test]
    fn known_values_come_out() {
        // The last one is from RFC 1321, A.5.
        assert_eq!(of(Algorithm::Adler32, &[b"Wiki", b"pedia"]), "adler32 11e60398");
        assert_eq!(of(Algorithm::Crc32c, &[b"1234", b"56789"]), "crc32c e3069283");
        assert_eq!(of(Algorithm::Md5, &[b"a", b"bc"]), "md5 900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(of(Algorithm::Crc32, &[b"1234", b"56789"]), "crc32 cbf43926");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of(Algorithm::Sha256, &[b"a", b"bc"]), format!("sha256 {abc}"));
        assert!(Checksum::from_hex(Algorithm::Sha256, &abc[1..]).is_ok(), "a zero left out");
    }

    #[test]
    fn what_servers_write_is_read() {
        let checksum: Checksum = "adler32 11e60398".parse().unwrap();
        assert_eq!(checksum.to_string(), "adler32 11e60398");
        let short: Checksum = "Adler32 1e60398\n".parse().unwrap();
        assert_eq!(short.to_string(), "adler32 01e60398");
        for wrong in ["", "adler32", "adler32 ", "adler32 xyz", "adler32 111e60398", "md5 +1"] {
            assert_eq!(
                wrong.parse::<Checksum>().unwrap_err().kind(),
                ErrorKind::Corrupt,
                "{wrong}"
            );
        }
        assert_eq!("sha9 00".parse::<Checksum>().unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(Checksum::from_bytes(Algorithm::Md5, vec![0; 4]).is_err());
    }

    #[test]
    fn what_users_write_has_all_digits() {
        for text in ["adler32:11e60398", "ADLER32:11E60398", "adler:11e60398"] {
            assert_eq!(Checksum::written(text).unwrap().to_string(), "adler32 11e60398");
        }
        let sha1 = "a9993e364706816aba3e25717850c26c9cd0d89d";
        assert_eq!(Checksum::written(&format!("sha1:{sha1}")).unwrap(), {
            let mut hasher = Hasher::new(Algorithm::Sha1);
            hasher.update(b"abc");
            hasher.finish()
        });
        for wrong in ["", "adler32", "adler32:", "adler32:1e60398", "sha9:00", "md5:xyz", ":00"] {
            let error = Checksum::written(wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}");
        }
    }
}
