//! Transfers over 10 Gbit/s to a server that is 100 ms away: parts of the link's rate once they
//! have become no faster. Exact, since time is virtual.

use farroot_sim::fast_link::{
    FastLink, LINUX_FLOW_BYTES, TUNED_FLOW_BYTES, Transfer, Used, columns,
};

/// Long enough for a second behind the ramp-up.
const BYTES: usize = 3 << 29;

fn used(transfer: Transfer, scheme: &'static str, flow_bytes_max: u64) -> Used {
    let link = FastLink { scheme, flow_bytes_max, connections_max: 16 };
    let of_columns = if transfer == Transfer::Columns { BYTES as u64 } else { 1 };
    link.run(transfer, BYTES, &columns(of_columns))
}

/// Flows of untuned hosts have 6 MiB on their way: 0.86 of what the link holds.
#[test]
fn copies_and_columns_fill_the_link_as_far_as_the_buffers_of_flows_allow() {
    for transfer in [Transfer::Copy, Transfer::Columns] {
        let untuned = used(transfer, "root", LINUX_FLOW_BYTES);
        assert!(untuned.share >= 0.97 * untuned.allowed, "{transfer:?}: {untuned:?}");
        let tuned = used(transfer, "root", TUNED_FLOW_BYTES);
        assert!(tuned.share >= 0.98, "{transfer:?}: {tuned:?}");
        assert!(tuned.ramp <= 1.5 && tuned.moved < 1.01, "{transfer:?}: {tuned:?}");
    }
}

/// Regression: a request over HTTP had 4 MiB at the most, which with the pause before it is a third
/// of the link.
#[test]
fn requests_over_http_become_longer_where_their_pauses_are_long() {
    let untuned = used(Transfer::Copy, "http", LINUX_FLOW_BYTES);
    assert!(untuned.share >= 0.63 && untuned.moved < 1.01, "{untuned:?}");
}

/// Regression: a request over HTTP had one range where ranges are longer than 1 MiB, and each range
/// took a round trip: a sixth of the link.
#[test]
fn columns_over_http_have_as_long_requests_as_copies() {
    let tuned = used(Transfer::Columns, "http", TUNED_FLOW_BYTES);
    assert!(tuned.share >= 0.95 && tuned.moved < 1.01, "{tuned:?}");
}

/// Regression: a flow that its buffers limit brings its bytes in bursts, and its rate did not pass
/// for steady. An upload stayed on this one connection.
#[test]
fn an_upload_from_an_untuned_host_gets_further_connections() {
    let untuned = used(Transfer::Upload, "root", LINUX_FLOW_BYTES);
    assert!(untuned.connections == 16, "{untuned:?}");
    assert!(untuned.share >= 0.9 * untuned.allowed, "{untuned:?}");
}
