//! Settings of one host's access link, at the start or while packets fly.

use std::time::Duration;

use crate::units;

/// The access link of one host. Every option holds for both directions: for packets that the host
/// sends and that it receives. Between two hosts the packets cross both access links, so delays add
/// up.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkOptions {
    /// Time a packet travels over this link, one way. A round trip costs it twice.
    pub one_way_delay: Duration,
    /// Bytes per second (IP headers included) that the link carries each way; `None`: no limit.
    pub rate: Option<u64>,
    /// Bytes per second of any one TCP flow (five-tuple) each way; `None`: no limit.
    pub flow_rate: Option<u64>,
    /// Probability that one packet of at most an MTU is lost, each way.
    pub loss: f64,
    /// Bytes that may wait for a limited link or flow; more are dropped. `None`: one
    /// bandwidth-delay product of the limit concerned, at least [`LinkOptions::QUEUE_MIN`].
    pub queue_bytes: Option<u64>,
    /// False: the cable is cut; packets that arrive at either end are dropped.
    pub up: bool,
}

impl Default for LinkOptions {
    fn default() -> Self {
        LinkOptions {
            one_way_delay: Duration::ZERO,
            rate: None,
            flow_rate: None,
            loss: 0.0,
            queue_bytes: None,
            up: true,
        }
    }
}

impl LinkOptions {
    /// The smallest queue that is chosen for a limit, in bytes: room for some bursts of a window.
    pub const QUEUE_MIN: u64 = 256 * 1024;

    /// Bytes that may wait in front of a limit of `rate` bytes per second.
    pub fn queue_for(&self, rate: u64) -> u64 {
        self.queue_bytes.unwrap_or_else(|| {
            let round_trip = self.one_way_delay * 2;
            let product = u128::from(rate) * round_trip.as_nanos() / 1_000_000_000;
            u64::try_from(product).unwrap_or(u64::MAX).max(Self::QUEUE_MIN)
        })
    }

    /// Changes one option from `KEY=VALUE`: `delay=50ms`, `rate=1gbit`, `flow-rate=1MB/s`,
    /// `loss=0.1%`, `queue=4MB`, or the bare words `up` and `down`.
    pub fn apply(&mut self, setting: &str) -> Result<(), String> {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        match key {
            "delay" => self.one_way_delay = units::parse_duration(value)?,
            "rate" => self.rate = units::parse_rate(value)?,
            "flow-rate" => self.flow_rate = units::parse_rate(value)?,
            "loss" => self.loss = units::parse_probability(value)?,
            "queue" => self.queue_bytes = Some(units::parse_bytes(value)?),
            "up" if value.is_empty() => self.up = true,
            "down" if value.is_empty() => self.up = false,
            _ => {
                return Err(format!(
                    "`{setting}` is no option: delay=, rate=, flow-rate=, loss=, queue=, up, down"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_change_only_their_own_option() {
        let mut options = LinkOptions::default();
        for setting in ["delay=50ms", "rate=1gbit", "loss=1%", "queue=1MB", "down"] {
            options.apply(setting).unwrap();
        }
        let expected = LinkOptions {
            one_way_delay: Duration::from_millis(50),
            rate: Some(125_000_000),
            flow_rate: None,
            loss: 0.01,
            queue_bytes: Some(1_000_000),
            up: false,
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn a_wrong_setting_changes_nothing() {
        let mut options = LinkOptions::default();
        for wrong in ["delay=soon", "speed=3", "", "up=yes", "loss=2"] {
            assert!(options.apply(wrong).is_err(), "{wrong}");
        }
        assert_eq!(options, LinkOptions::default());
    }

    #[test]
    fn the_queue_follows_the_product_of_rate_and_round_trip() {
        let mut options =
            LinkOptions { one_way_delay: Duration::from_millis(50), ..LinkOptions::default() };
        assert_eq!(options.queue_for(125_000_000), 12_500_000);
        assert_eq!(options.queue_for(1_000_000), LinkOptions::QUEUE_MIN);
        options.queue_bytes = Some(7);
        assert_eq!(options.queue_for(125_000_000), 7);
    }
}
