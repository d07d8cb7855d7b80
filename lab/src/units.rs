//! Durations, rates, sizes and probabilities as people write them on a command line.

use std::time::Duration;

/// Reads `100ms`, `0.5s`, `250us` or a bare `0`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (value, unit) = split_number(text)?;
    let seconds = match unit {
        "s" => value,
        "ms" => value / 1e3,
        "us" => value / 1e6,
        "" if value == 0.0 => 0.0,
        _ => return Err(format!("`{text}` is no duration: write 100ms, 0.5s or 250us")),
    };
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("`{text}`: {error}"))
}

/// Reads `1gbit`, `20mbit`, `100kbit`, `1MB/s`, `500kB/s` as bytes per second; `none` is no limit.
pub fn parse_rate(text: &str) -> Result<Option<u64>, String> {
    if matches!(text, "none" | "unlimited") {
        return Ok(None);
    }
    let (value, unit) = split_number(text)?;
    let bytes_per_unit = match unit {
        "gbit" => 1e9 / 8.0,
        "mbit" => 1e6 / 8.0,
        "kbit" => 1e3 / 8.0,
        "GB/s" => 1e9,
        "MB/s" => 1e6,
        "kB/s" => 1e3,
        "B/s" => 1.0,
        _ => return Err(format!("`{text}` is no rate: write 1gbit, 20mbit, 1MB/s or none")),
    };
    let rate = value * bytes_per_unit;
    if !(1.0..=1e12).contains(&rate) {
        return Err(format!("`{text}` is outside 1 B/s to 1 TB/s"));
    }
    Ok(Some(rate.round() as u64))
}

/// Reads `12.5MB`, `256KiB`, `64kB` or a bare number of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (value, unit) = split_number(text)?;
    let factor = match unit {
        "" | "B" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1048576.0,
        _ => return Err(format!("`{text}` is no size: write 256KiB, 12.5MB or bytes")),
    };
    let bytes = value * factor;
    if bytes > 1e12 {
        return Err(format!("`{text}` is more than 1 TB"));
    }
    Ok(bytes.round() as u64)
}

/// Reads `0.1%` or `0.001` as a probability.
pub fn parse_probability(text: &str) -> Result<f64, String> {
    let (value, unit) = split_number(text)?;
    let probability = match unit {
        "%" => value / 100.0,
        "" => value,
        _ => return Err(format!("`{text}` is no probability: write 0.1% or 0.001")),
    };
    if probability > 1.0 {
        return Err(format!("`{text}` is more than 100%"));
    }
    Ok(probability)
}

/// A non-negative finite number and the unit that follows it.
fn split_number(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let value = number.parse().map_err(|_| format!("`{text}` does not start with a number"))?;
    Ok((value, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(parse_duration("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(parse_duration("0.5 s"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for wrong in ["", "5", "-1ms", "1h", "ms", "1e400s", "1.2.3s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_are_bytes_per_second() {
        assert_eq!(parse_rate("1gbit"), Ok(Some(125_000_000)));
        assert_eq!(parse_rate("1MB/s"), Ok(Some(1_000_000)));
        assert_eq!(parse_rate("none"), Ok(None));
        for wrong in ["0gbit", "5", "1MB", "99999999gbit"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_and_probabilities() {
        assert_eq!(parse_bytes("12.5MB"), Ok(12_500_000));
        assert_eq!(parse_bytes("256KiB"), Ok(262_144));
        assert_eq!(parse_probability("0.1%"), Ok(0.001));
        assert!(parse_bytes("1TB").is_err());
        assert!(parse_probability("101%").is_err());
    }
}
