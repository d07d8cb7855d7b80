//! Diffie-Hellman over the primes that servers choose, and its texts:
//! PEM `DH PARAMETERS`, then `---BPUB---`, the public number in hexadecimal digits, `---EPUB---`.
//!
//! xrootd 5 makes up primes of 512 bits, xrootd 6 has one of 3,072 bits. Whether a prime is prime
//! is not checked: the server's signature vouches for it, and the key protects no more than a
//! chain of certificates and two challenges.

use rsa::BigUint;
use rsa::pkcs8::der::asn1::{SequenceOf, UintRef};
use rsa::pkcs8::der::pem::{self, LineEnding};
use rsa::pkcs8::der::{Encode, Reader, SliceReader};
use secrecy::zeroize::{Zeroize, Zeroizing};

const LABEL: &str = "DH PARAMETERS";
const PEM_END: &str = "-----END DH PARAMETERS-----";
const GROUP_15: &str = include_str!("../../../samples/gsi.group15.pem");
const BEGIN: &str = "---BPUB---";
const END: &str = "---EPUB---";

/// Below, a key is no secret; above, a power takes too long.
const PRIME_BITS: std::ops::RangeInclusive<usize> = 512..=8192;

/// The bytes of a private number: 512 bits, more than twice the strength of a prime of 3,072.
pub const PRIVATE_BYTES: usize = 64;

/// The numbers that both sides share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    prime: BigUint,
    generator: BigUint,
}

/// One side's part: the group and a public number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub group: Group,
    public: BigUint,
}

impl Group {
    /// From numbers, big-endian.
    ///
    /// # Errors
    ///
    /// A prime that is even, of less than 512 or more than 8,192 bits; a generator that generates
    /// nothing.
    pub fn new(prime: &[u8], generator: &[u8]) -> Result<Group, &'static str> {
        let group = Group {
            prime: BigUint::from_bytes_be(prime),
            generator: BigUint::from_bytes_be(generator),
        };
        if !PRIME_BITS.contains(&group.prime.bits()) {
            return Err("a prime of less than 512 or more than 8192 bits");
        }
        if group.prime.to_bytes_le().first().is_none_or(|byte| byte & 1 == 0) {
            return Err("an even prime");
        }
        if !group.holds(&group.generator) {
            return Err("a generator out of range");
        }
        Ok(group)
    }

    /// Group 15 of RFC 3526, with a prime of 3,072 bits, as xrootd 6 has it.
    pub fn of_rfc3526() -> Group {
        Group::of_pem(GROUP_15).expect("a constant")
    }

    /// From PEM `DH PARAMETERS`.
    ///
    /// # Errors
    ///
    /// Another text, or numbers that [`Group::new`] refuses.
    pub fn of_pem(text: &str) -> Result<Group, &'static str> {
        let end = text.find(PEM_END).ok_or("no DH PARAMETERS")? + PEM_END.len();
        let (label, der) = pem::decode_vec(&text.as_bytes()[..end])
            .map_err(|_| "DH PARAMETERS that are not PEM")?;
        if label != LABEL {
            return Err("no DH PARAMETERS");
        }
        parameters_of(&der)
    }

    /// Whether a number is none of 0, 1 and -1, whose powers are known, and below the prime.
    fn holds(&self, number: &BigUint) -> bool {
        let one = BigUint::from(1_u8);
        *number > one && *number < &self.prime - one
    }

    /// The part that belongs to a private number.
    pub fn part(&self, private: &[u8; PRIVATE_BYTES]) -> Part {
        let mut exponent = BigUint::from_bytes_be(private);
        let public = self.generator.modpow(&exponent, &self.prime);
        exponent.zeroize();
        Part { group: self.clone(), public }
    }
}

impl Part {
    /// The secret that both sides have, as long as the prime.
    pub fn secret(&self, private: &[u8; PRIVATE_BYTES]) -> Zeroizing<Vec<u8>> {
        let mut exponent = BigUint::from_bytes_be(private);
        let mut secret = self.public.modpow(&exponent, &self.group.prime);
        exponent.zeroize();
        let digits = Zeroizing::new(secret.to_bytes_be());
        secret.zeroize();
        let length = self.group.prime.bits().div_ceil(8);
        let mut padded = Zeroizing::new(vec![0; length]);
        padded[length - digits.len()..].copy_from_slice(&digits);
        padded
    }

    /// Reads a part as the other side has written it.
    ///
    /// # Errors
    ///
    /// The reason why it is refused: a text of another form, or numbers that no exchange uses.
    pub fn decode(text: &[u8]) -> Result<Part, &'static str> {
        let text = std::str::from_utf8(text).map_err(|_| "a text that is not ASCII")?;
        let (parameters, rest) = text.split_once(BEGIN).ok_or("no public number")?;
        let (digits, _) = rest.split_once(END).ok_or("a public number without end")?;
        let group = Group::of_pem(parameters)?;
        if digits.len() > PRIME_BITS.end() / 4 {
            return Err("a public number out of range");
        }
        let public = BigUint::parse_bytes(digits.as_bytes(), 16)
            .filter(|_| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .ok_or("a public number that is not hexadecimal")?;
        if !group.holds(&public) {
            return Err("a public number out of range");
        }
        Ok(Part { group, public })
    }

    /// Writes the part anew from its numbers: nothing of the other side's text is repeated.
    pub fn encode(&self) -> String {
        let prime = self.group.prime.to_bytes_be();
        let generator = self.group.generator.to_bytes_be();
        let mut numbers = SequenceOf::<UintRef<'_>, 2>::new();
        for number in [&prime, &generator] {
            let number = UintRef::new(number).expect("at most 8192 bits");
            numbers.add(number).expect("two of two");
        }
        let der = numbers.to_der().expect("two short numbers");
        let parameters =
            pem::encode_string(LABEL, LineEnding::LF, &der).expect("a label that is one");
        let digits: String =
            self.public.to_bytes_be().iter().map(|byte| format!("{byte:02X}")).collect();
        format!("{parameters}{BEGIN}{digits}{END}")
    }
}

/// SEQUENCE { prime, generator, length of private numbers (optional) }, PKCS #3.
fn parameters_of(der: &[u8]) -> Result<Group, &'static str> {
    let numbers = SliceReader::new(der).and_then(|mut reader| {
        let found = reader.sequence(|inner| {
            let prime: UintRef<'_> = inner.decode()?;
            let generator: UintRef<'_> = inner.decode()?;
            let _length: Option<UintRef<'_>> =
                if inner.is_finished() { None } else { Some(inner.decode()?) };
            Ok((prime.as_bytes().to_vec(), generator.as_bytes().to_vec()))
        })?;
        reader.finish(found)
    });
    let (prime, generator) = numbers.map_err(|_| "DH PARAMETERS that are not two numbers")?;
    Group::new(&prime, &generator)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As xrootd 5.5.3 has sent it, its signature taken off.
    const RECORDED: &str = "-----BEGIN DH PARAMETERS-----\n\
        MEYCQQCp7dOu51xgwsh0xgHDRZgyAAyLQ94cxupyr4Y3KXvJkUf2UpSBzYFgs6ik\n\
        vFb+2uHdTvo14mVMX6kWhOXrCZl3AgEF\n\
        -----END DH PARAMETERS-----\n\
        ---BPUB---79D921264BBD0512CB09E7A9310CDB10B7BD1B76617C9656BE970B381099D0D0\
        89C11E758370C20C58A4A12DBD8623D0ED9D236113651BE402BF8BB4844915CF---EPUB---";

    #[test]
    fn a_part_is_read_and_written_as_recorded() {
        let part = Part::decode(RECORDED.as_bytes()).unwrap();
        assert_eq!(part.group.prime.bits(), 512);
        assert_eq!(part.group.generator, BigUint::from(5_u8));
        assert_eq!(part.encode(), RECORDED);
        assert_eq!(Part::decode(format!("{RECORDED}tail").as_bytes()), Ok(part));
    }

    #[test]
    fn every_shorter_part_is_refused() {
        for end in 0..RECORDED.len() {
            assert!(Part::decode(&RECORDED.as_bytes()[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn both_sides_have_one_secret_as_long_as_the_prime() {
        let group = Part::decode(RECORDED.as_bytes()).unwrap().group;
        let ours = [7; PRIVATE_BYTES];
        let theirs = [9; PRIVATE_BYTES];
        let secret = group.part(&ours).secret(&theirs);
        assert_eq!(secret, group.part(&theirs).secret(&ours));
        assert_eq!(secret.len(), 64);
    }

    /// One secret in 256 begins with a zero, without which both sides cut other keys from it.
    #[test]
    fn a_short_secret_is_padded_in_front() {
        let prime = [&[0xff][..], &[0; 62], &[0xfb]].concat();
        let group = Group::new(&prime, &[2]).unwrap();
        let mut one = [0; PRIVATE_BYTES];
        one[PRIVATE_BYTES - 1] = 1;
        let part = Part { public: BigUint::from(0x1234_u32), group };
        assert_eq!(*part.secret(&one), [&[0; 62][..], &[0x12, 0x34]].concat());
    }

    #[test]
    fn numbers_that_no_exchange_uses_are_refused() {
        let part = Part::decode(RECORDED.as_bytes()).unwrap();
        let with = |public: BigUint| Part { public, ..part.clone() }.encode();
        let prime = part.group.prime.clone();
        for public in [0_u8.into(), 1_u8.into(), &prime - 1_u8, prime.clone(), prime + 1_u8] {
            let read = Part::decode(with(public).as_bytes());
            assert_eq!(read, Err("a public number out of range"));
        }
        let odd = |bytes: usize| [vec![0xff; bytes - 1], vec![1]].concat();
        assert!(Group::new(&odd(64), &[2]).is_ok());
        assert!(Group::new(&odd(1024), &[2]).is_ok());
        assert_eq!(Group::new(&[0xfe; 64], &[2]), Err("an even prime"));
        for (bytes, generator) in [(63, 2), (1025, 2), (64, 0), (64, 1)] {
            assert!(Group::new(&odd(bytes), &[generator]).is_err());
        }
        for strange in [RECORDED.replace("79D9", "+9D9"), RECORDED.replace("MEYC", "MEYD")] {
            assert!(Part::decode(strange.as_bytes()).is_err(), "{strange}");
        }
    }
}
