//! A file's date of writing, and the number that no other file has.

use remote::clock::seconds_since_1970;
use remote::{Error, ErrorKind, Result};
use time::OffsetDateTime;

/// The variable with the time of builds that are to be reproducible
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
const VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// Values that are the same in all records of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// `fUUID`; 0 where files are to be the same.
    pub uuid: u128,
    /// `fDatime`, in coordinated universal time.
    pub datime: u32,
}

impl Stamp {
    /// Of a file that is written at this moment.
    ///
    /// # Errors
    /// `InvalidArgument` for a variable that holds no number of seconds.
    pub fn new(reproducible: bool) -> Result<Self> {
        if reproducible {
            // As ROOT writes them (`TFile::TestBit(kReproducible)`).
            return Ok(Stamp { uuid: 0, datime: 1 });
        }
        match std::env::var(VARIABLE) {
            Ok(text) => Ok(Stamp { uuid: 0, datime: datime(seconds(&text)?) }),
            Err(_) => Ok(Stamp { uuid: chance()?, datime: datime(seconds_since_1970()) }),
        }
    }
}

fn seconds(text: &str) -> Result<u64> {
    text.trim().parse().map_err(|_| {
        let text = format!("{VARIABLE} is {text:?}, which is no number of seconds since 1970");
        Error::new(ErrorKind::InvalidArgument, text).with_advice("set it to one, or unset it")
    })
}

/// A number by chance (RFC 9562, version 4).
fn chance() -> Result<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let text = format!("the operating system gives no random numbers: {error}");
        Error::new(ErrorKind::Io, text)
    })?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(u128::from_be_bytes(bytes))
}

/// As ROOT packs it (`TDatime`): years from 1995 in 6 bits, then month, day, hour, minute, second.
fn datime(seconds: u64) -> u32 {
    let time = i64::try_from(seconds).ok().map(OffsetDateTime::from_unix_timestamp);
    let Some(Ok(time)) = time else { return u32::MAX };
    let Ok(year @ ..64) = u32::try_from((time.year() - 1995).max(0)) else { return u32::MAX };
    let [month, day] = [u8::from(time.month()), time.day()].map(u32::from);
    let [hour, minute, second] = [time.hour(), time.minute(), time.second()].map(u32::from);
    year << 26 | month << 22 | day << 17 | hour << 12 | minute << 6 | second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_root_packs_them() {
        let packed = |year: u32, month: u32, day: u32, rest: u32| {
            (year - 1995) << 26 | month << 22 | day << 17 | rest
        };
        for (seconds, expected) in [
            (0, packed(1995, 1, 1, 0)),
            (951_782_400, packed(2000, 2, 29, 0)),
            (1_709_251_199, packed(2024, 2, 29, 23 << 12 | 59 << 6 | 59)),
            (1_709_251_200, packed(2024, 3, 1, 0)),
            (1_795_414_245, packed(2026, 11, 23, 6 << 12 | 10 << 6 | 45)),
        ] {
            assert_eq!(datime(seconds), expected, "{seconds}");
        }
        assert_eq!(datime(u64::MAX / 2), u32::MAX);
        assert_eq!(Stamp::new(true).unwrap(), Stamp { uuid: 0, datime: 1 });
        assert_ne!(chance().unwrap(), chance().unwrap());
        assert!(seconds("yesterday").is_err());
    }
}
