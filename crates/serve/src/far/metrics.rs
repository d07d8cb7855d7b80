//! A proxy's figures in the text format of Prometheus.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use remote::cache::QuotaTotals;

use super::account::{Account, Figures};

/// The figures as they are now.
#[derive(Debug)]
struct Snapshot(Figures);

/// The text that a scraper reads.
pub fn text(figures: &Figures, account: &Account) -> String {
    let mut registry = Registry::with_prefix("farroot_proxy");
    registry.register_collector(Box::new(Snapshot(figures.clone())));
    let opens = "Seconds from a client's open to its answer, by origin";
    registry.register("open_seconds", opens, account.open_times.clone());
    let reads = "Seconds from a client's read to each piece of its answer, by origin";
    registry.register("read_seconds", reads, account.read_times.clone());
    let mut text = String::new();
    // Writing to a text never fails.
    let _ = encode(&mut text, &registry);
    text
}

/// A family of counters: its name, its description, its label, and the values by label.
type Family<'a> = (&'a str, &'a str, &'a str, Vec<(&'a str, u64)>);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, label, values) in families(&self.0).into_iter().chain([refused(&self.0)]) {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (value, count) in values {
                ConstCounter::new(count).encode(family.encode_family(&[(label, value)])?)?;
            }
        }
        for (name, help, value) in counters(&self.0) {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        for (name, help, value) in gauges(&self.0) {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            gauge(value).encode(metric)?;
        }
        for (name, help, label, values) in gauge_families(&self.0) {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (of, value) in values {
                gauge(value).encode(family.encode_family(&[(label, of)])?)?;
            }
        }
        Ok(())
    }
}

fn gauge(value: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

fn families(figures: &Figures) -> Vec<Family<'_>> {
    let Figures { used, ways, cache, open_errors, opens_ahead: ahead, select, .. } = figures;
    let errors = open_errors.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    vec![
        (
            "delivered_bytes",
            "Bytes that clients were handed, by where they were when asked for",
            "from",
            vec![("hit", ways.hit), ("joined", ways.joined), ("miss", ways.missed)],
        ),
        (
            "origin_bytes",
            "Bytes that came from origins, by what for; predicted_bytes are the rest of them",
            "for",
            vec![
                ("demand", ways.missed),
                ("predicted_used", used.bytes_ahead_used),
                ("predicted_unused", used.bytes_ahead_dropped),
                ("metadata", figures.origin_metadata),
                ("idle", cache.filled_bytes),
                ("nothing", figures.origin_for_nothing()),
            ],
        ),
        (
            "cache_bytes",
            "Bytes that files with a cache were asked for, by where they came from",
            "how",
            vec![
                ("hit", cache.hit_bytes),
                ("joined", cache.joined_bytes),
                ("missed", cache.missed_bytes),
            ],
        ),
        (
            "origin_opens",
            "Opens at origins, for a client or before one asked for the file",
            "for",
            vec![("client", figures.origin_opens), ("ahead", ahead.succeeded)],
        ),
        (
            "cache_opens",
            "Opens that the cache has answered, for a client or before one asked for the file",
            "for",
            vec![("client", figures.cache_opens), ("ahead", ahead.cached)],
        ),
        (
            "opens_ahead",
            "Opens before a client asked for the file, by what became of it; files_ahead are the \
             rest of them",
            "file",
            vec![("used", ahead.used), ("unused", ahead.unused), ("failed", ahead.failed)],
        ),
        (
            "select_entries",
            "Entries that were looked at for clients, by whether they were left",
            "entry",
            vec![
                ("selected", select.selected),
                ("left_out", select.entries.saturating_sub(select.selected)),
            ],
        ),
        (
            "errors",
            "Opens that have failed for a client, by the kind of their error",
            "kind",
            errors,
        ),
    ]
}

fn refused(figures: &Figures) -> Family<'_> {
    let refused = "Bytes that were not cached as a quota of the cache was full";
    let values = of_quotas(figures, |quota| quota.refused_bytes);
    ("cache_quota_refused_bytes", refused, "quota", values)
}

fn gauge_families(figures: &Figures) -> [Family<'_>; 2] {
    let used = "Bytes of the cache on the disk that are charged to a quota";
    let limit = "The limit of a quota of the cache";
    [
        ("cache_quota_bytes", used, "quota", of_quotas(figures, |quota| quota.disk_bytes)),
        ("cache_quota_limit_bytes", limit, "quota", of_quotas(figures, |quota| quota.bytes_max)),
    ]
}

fn of_quotas(figures: &Figures, value: fn(&QuotaTotals) -> u64) -> Vec<(&str, u64)> {
    figures.quotas.iter().map(|quota| (quota.name.as_str(), value(quota))).collect()
}

fn gauges(figures: &Figures) -> [(&'static str, &'static str, u64); 13] {
    let predicted = "Bytes of origins for predictions that are here, not asked for so far";
    let ahead = "Files that are open at origins before a client has asked for them";
    let left_out = "Folders of the cache that are not used, as their disks have failed";
    let full = "Disks of the cache that have less free space than it leaves to others";
    [
        ("predicted_bytes", predicted, figures.predicted_here()),
        ("files_ahead", ahead, figures.opens_ahead.waiting()),
        ("files_open", "Files that are open at origins for clients", figures.files_open),
        ("connections", "Connections of clients", figures.connections),
        ("draining", "1 while the proxy ends", figures.is_draining.into()),
        ("memory_bytes", "Memory of the process", resident_bytes()),
        ("cache_disk_bytes", "Bytes of the cache on the disk", figures.cache_disk_bytes),
        ("cache_limit_bytes", "The cache's limit", figures.cache_bytes_max),
        ("cache_disk_free_bytes", "Free bytes of the cache's disk", figures.cache_free_bytes),
        ("cache_disks_left_out", left_out, figures.cache_disks_left_out),
        ("cache_disks_full", full, figures.cache_disks_full),
        ("cluster_nodes", "Other nodes of the cluster", figures.cluster.nodes),
        ("cluster_nodes_up", "Other nodes of the cluster that answer", figures.cluster.up),
    ]
}

/// 0 where the system does not say.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

fn counters(figures: &Figures) -> [(&'static str, &'static str, u64); 10] {
    let evicted = "Bytes that the cache has removed to make room";
    let damaged = "Records of the cache that differed from the written ones";
    let stored = "Bytes that were added to the cache";
    let select = &figures.select;
    [
        ("opens", "Files that clients have opened", figures.opens),
        ("origin_requests", "Requests to origins", figures.origin_requests),
        ("origin_failures", "Requests to origins that failed", figures.origin_failures),
        ("cache_stored_bytes", stored, figures.cache.stored_bytes),
        ("cache_evicted_bytes", evicted, figures.cache.evicted_bytes),
        ("cache_damaged_records", damaged, figures.cache.damaged),
        ("select_bytes", "Bytes of answers with entries that were selected here", select.bytes),
        (
            "select_milliseconds",
            "Time from requests for entries to the ends of their answers, added up",
            select.milliseconds,
        ),
        ("select_refused", "Requests for entries that were refused", select.refused),
        (
            "cluster_clients_sent",
            "Requests whose clients were sent to another node of the cluster",
            figures.cluster.clients_sent,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use engine::{OpensAhead, Used, Ways};

    use crate::select::SelectFigures;

    use super::*;

    #[test]
    fn the_text_has_every_figure_and_the_sums_close() {
        let used = Used {
            bytes_ahead_fetched: 70,
            bytes_ahead_used: 40,
            bytes_ahead_dropped: 20,
            ..Used::default()
        };
        let ways = Ways { hit: 1, joined: 2, missed: 400 };
        let open_errors = [("NotFound".to_owned(), 3)].into();
        let account = Account::default();
        account.open_times.get_or_create(&[("origin", "root://a".to_owned())]).observe(0.003);
        let figures = Figures {
            opens: 9,
            origin_opens: 2,
            cache_opens: 3,
            opens_ahead: OpensAhead { succeeded: 9, cached: 1, failed: 6, used: 4, unused: 3 },
            files_open: 5,
            used,
            ways,
            origin_bytes: 1000,
            origin_metadata: 8,
            open_errors,
            connections: 7,
            is_draining: true,
            cache_disk_bytes: 11,
            select: SelectFigures {
                entries: 100,
                selected: 7,
                bytes: 11,
                ..SelectFigures::default()
            },
            ..Figures::default()
        };
        let text = text(&figures, &account);
        for line in [
            "farroot_proxy_delivered_bytes_total{from=\"hit\"} 1",
            "farroot_proxy_delivered_bytes_total{from=\"joined\"} 2",
            "farroot_proxy_delivered_bytes_total{from=\"miss\"} 400",
            "farroot_proxy_origin_bytes_total{for=\"demand\"} 400",
            "farroot_proxy_origin_bytes_total{for=\"predicted_used\"} 40",
            "farroot_proxy_origin_bytes_total{for=\"predicted_unused\"} 20",
            "farroot_proxy_origin_bytes_total{for=\"metadata\"} 8",
            "farroot_proxy_origin_bytes_total{for=\"idle\"} 0",
            "farroot_proxy_origin_bytes_total{for=\"nothing\"} 522",
            "farroot_proxy_predicted_bytes 10",
            "farroot_proxy_select_entries_total{entry=\"left_out\"} 93",
            "farroot_proxy_select_bytes_total 11",
            "farroot_proxy_errors_total{kind=\"NotFound\"} 3",
            "farroot_proxy_opens_total 9",
            "farroot_proxy_origin_opens_total{for=\"client\"} 2",
            "farroot_proxy_origin_opens_total{for=\"ahead\"} 9",
            "farroot_proxy_cache_opens_total{for=\"client\"} 3",
            "farroot_proxy_cache_opens_total{for=\"ahead\"} 1",
            "farroot_proxy_opens_ahead_total{file=\"used\"} 4",
            "farroot_proxy_opens_ahead_total{file=\"unused\"} 3",
            "farroot_proxy_opens_ahead_total{file=\"failed\"} 6",
            "farroot_proxy_files_ahead 3",
            "farroot_proxy_files_open 5",
            "farroot_proxy_connections 7",
            "farroot_proxy_draining 1",
            "farroot_proxy_cache_disk_bytes 11",
            "farroot_proxy_open_seconds_bucket{le=\"0.002\",origin=\"root://a\"} 0",
            "farroot_proxy_open_seconds_bucket{le=\"0.004\",origin=\"root://a\"} 1",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}: {text}");
        }
    }

    #[test]
    fn the_text_has_the_figures_of_each_quota() {
        let quota = |name: &str, disk_bytes| QuotaTotals {
            name: name.to_owned(),
            bytes_max: 50,
            disk_bytes,
            refused_bytes: 30,
        };
        let quotas = vec![quota("user:ada", 40), quota("root://h//user", 41)];
        let text = text(&Figures { quotas, ..Figures::default() }, &Account::default());
        for line in [
            "farroot_proxy_cache_quota_bytes{quota=\"user:ada\"} 40",
            "farroot_proxy_cache_quota_bytes{quota=\"root://h//user\"} 41",
            "farroot_proxy_cache_quota_limit_bytes{quota=\"user:ada\"} 50",
            "farroot_proxy_cache_quota_refused_bytes_total{quota=\"user:ada\"} 30",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}: {text}");
        }
    }
}
