//! A proxy's figures in the text format of Prometheus.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::account::Figures;

/// The figures as they are now.
#[derive(Debug)]
struct Snapshot(Figures);

/// The text that a scraper reads.
pub fn text(figures: &Figures) -> String {
    let mut registry = Registry::with_prefix("farroot_proxy");
    registry.register_collector(Box::new(Snapshot(figures.clone())));
    let mut text = String::new();
    // Writing to a text never fails.
    let _ = encode(&mut text, &registry);
    text
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Figures { used, cache, open_errors, .. } = &self.0;
        let help = "Bytes that clients have asked for, by where they came from";
        let mut family = encoder.encode_descriptor("bytes", help, None, MetricType::Counter)?;
        let parts = [
            ("metadata", used.bytes_metadata),
            ("predicted", used.bytes_predicted),
            ("demanded", used.bytes_demanded),
        ];
        for (from, bytes) in parts {
            ConstCounter::new(bytes).encode(family.encode_family(&[("from", from)])?)?;
        }
        let help = "Bytes that files with a cache were asked for, by where they came from";
        let mut family =
            encoder.encode_descriptor("cache_bytes", help, None, MetricType::Counter)?;
        let parts = [
            ("hit", cache.hit_bytes),
            ("joined", cache.joined_bytes),
            ("missed", cache.missed_bytes),
        ];
        for (how, bytes) in parts {
            ConstCounter::new(bytes).encode(family.encode_family(&[("how", how)])?)?;
        }
        let help = "Opens at origins that have failed, by the kind of their error";
        let mut family = encoder.encode_descriptor("errors", help, None, MetricType::Counter)?;
        for (kind, count) in open_errors {
            ConstCounter::new(*count).encode(family.encode_family(&[("kind", kind.as_str())])?)?;
        }
        let figures = &self.0;
        let counters = [
            ("delivered_bytes", "Bytes that clients were handed", figures.delivered),
            ("ahead_bytes", "Bytes fetched before they were asked for", used.bytes_ahead),
            ("unused_bytes", "Of these, dropped before they were", used.bytes_unused),
            ("opens", "Files that clients have opened", figures.opens),
            ("origin_opens", "Opens at origins", figures.origin_opens),
            ("origin_requests", "Requests to origins", figures.origin_requests),
            ("origin_failures", "Requests to origins that failed", figures.origin_failures),
            ("origin_bytes", "Bytes that came from origins", figures.origin_bytes),
        ];
        for (name, help, value) in counters {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        let help = "Files that are open at origins";
        let metric = encoder.encode_descriptor("files_open", help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(figures.files_open).unwrap_or(i64::MAX)).encode(metric)
    }
}

#[cfg(test)]
mod tests {
    use engine::Used;

    use super::*;

    #[test]
    fn the_text_has_every_figure() {
        let used =
            Used { bytes_metadata: 1, bytes_predicted: 2, bytes_demanded: 4, ..Used::default() };
        let open_errors = [("NotFound".to_owned(), 3)].into();
        let text =
            text(&Figures { opens: 9, files_open: 5, used, open_errors, ..Figures::default() });
        for line in [
            "farroot_proxy_bytes_total{from=\"metadata\"} 1",
            "farroot_proxy_bytes_total{from=\"predicted\"} 2",
            "farroot_proxy_bytes_total{from=\"demanded\"} 4",
            "farroot_proxy_errors_total{kind=\"NotFound\"} 3",
            "farroot_proxy_opens_total 9",
            "farroot_proxy_files_open 5",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}: {text}");
        }
    }
}
