//! The request to a server that selects entries: JSON, and the formulas in it.

use engine::near::SelectRequest;

use crate::Target;

pub const TARGET: Target =
    Target { name: "request", run, seeds, rounds: 20_000, memory: (1 << 20, 2_000) };

pub fn run(data: &[u8]) {
    let Ok(request) = SelectRequest::parse(data) else { return };
    let written = request.written().expect("a request that was read is written");
    let again = SelectRequest::parse(&written).expect("and read again");
    // A number that is none is not equal to itself.
    assert_eq!(again.written().expect("is written"), written);
    if let Some(cut) = &request.cut {
        let _ = cut.cut();
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let arrays = r#"{"files": ["/a.root", {"file": "/b.root", "table": "t", "size": 7}],
        "columns": ["x", {"name": "y", "as_bytes": true, "keep": ["z"]}], "entries": [0, 10],
        "cut": "(x > 1.5) & ~(abs(y) < 2 * z)", "define": {"z": "x + 1"}, "skipped": false}"#;
    let exact = r#"{"version": 1, "files": ["/f"], "table": "t", "cut": {"columns":
        [{"name": "x"}], "formula": {"text": "a > 0", "meanings": [{"text": "x * 2",
        "of_root": true, "meanings": [0]}]}}, "operation": "count"}"#;
    let histogram = r#"{"files": ["/f"], "operation": "histogram", "weight": "w", "axes":
        [{"column": "x", "bins": 5, "start": 0, "stop": 1e3}, {"column": "y", "edges": [1, 2]}]}"#;
    vec![arrays.into(), exact.into(), histogram.into()]
}

#[test]
fn the_seeds_are_read() {
    for seed in seeds() {
        let request = SelectRequest::parse(&seed).unwrap();
        assert!(request.cut.is_none_or(|cut| cut.cut().is_ok()));
    }
}
