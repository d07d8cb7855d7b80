//! Times, rates and paths as people write them.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use remote::{expanded, parse_bytes};

/// Reads the path of a file; a shell leaves the `~` of `--option=~/f` as it is.
pub fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| expanded(&path))
}

/// Reads `100ms`, `0.1s`, `250us`.
///
/// # Errors
/// An error for the terminal.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time: write 100ms or 0.1s");
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| c.is_alphabetic()).ok_or_else(wrong)?;
    let scale = match trimmed[split..].trim() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(wrong()),
    };
    let number: f64 = trimmed[..split].trim().parse().map_err(|_| wrong())?;
    match Duration::try_from_secs_f64(number * scale) {
        Ok(time) if time <= Duration::from_secs(60) => Ok(time),
        Ok(_) => Err(format!("{text:?} is longer than a minute")),
        Err(_) => Err(wrong()),
    }
}

/// Reads `50MB/s`, `1Gbit/s`, `300 kB/s`; bytes per second.
///
/// # Errors
/// An error for the terminal.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a rate: write 50MB/s or 1Gbit/s");
    let amount = text.trim().strip_suffix("/s").ok_or_else(wrong)?.trim();
    let rate = match amount.strip_suffix("bit") {
        Some(bits) => parse_bytes(bits).map_err(|_| wrong())? / 8,
        None => parse_bytes(amount).map_err(|_| wrong())?,
    };
    if rate >= 1000 { Ok(rate) } else { Err(format!("{text:?} is below 1 kB/s")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_write_them() {
        assert_eq!(parse_time("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(parse_time("0.1 s"), Ok(Duration::from_millis(100)));
        assert_eq!(parse_time("250us"), Ok(Duration::from_micros(250)));
        for wrong in ["", "100", "ms", "-1ms", "2h", "61s", "NaNs", "infs"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_read_as_people_write_them() {
        assert_eq!(parse_rate("50MB/s"), Ok(50_000_000));
        assert_eq!(parse_rate("1Gbit/s"), Ok(125_000_000));
        assert_eq!(parse_rate("300 kB/s"), Ok(300_000));
        for wrong in ["", "50", "50MB", "MB/s", "0B/s", "-1MB/s"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }
}
