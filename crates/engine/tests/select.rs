//! Requests of others that select entries: their limits, and files that are not the expected ones.
#![cfg(feature = "select")]

use std::time::Duration;

use farroot_engine::near::SelectRequest;
use farroot_engine::{Config, Engine, ErrorKind, Result, SelectBounds, Selected};

const BOUNDS: SelectBounds = SelectBounds {
    bytes: 1 << 20,
    time: Duration::from_secs(60),
    step_time: Duration::from_secs(60),
    step_bytes: 1 << 20,
};

/// Answers a request about `files` copies of one file; returns the whole stream or text.
fn answered(request: &str, files: usize, bounds: SelectBounds) -> Result<Vec<u8>> {
    let config = Config { store_folder: None, ..Config::default() };
    let engine = Engine::start(config)?;
    let name = "ntuple_fields.root";
    let path = format!("{}/../rootfile/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    let request = SelectRequest::parse(request.as_bytes())?;
    engine.block_on(async {
        match engine.selected(&request, vec![path; files], bounds).await? {
            Selected::Text(text, _) => Ok(text.into_bytes()),
            Selected::Stream(mut stream) => {
                let mut bytes = Vec::new();
                while let Some(part) = stream.next().await? {
                    bytes.extend(part);
                }
                Ok(bytes)
            }
        }
    })
}

#[test]
fn steps_that_take_too_long_end_a_request() {
    let none = SelectBounds { step_time: Duration::ZERO, ..BOUNDS };
    for operation in [
        r#""columns": ["i32"]"#,
        r#""cut": "i32 > 0", "operation": "count""#,
        r#""operation": "histogram", "axes": [{"column": "i32", "bins": 2, "start": 0, "stop": 9}]"#,
    ] {
        let request = format!(r#"{{"files": ["/f"], "table": "events", {operation}}}"#);
        assert!(!answered(&request, 1, BOUNDS).expect("answers").is_empty(), "{operation}");
        let error = answered(&request, 1, none).expect_err(operation);
        assert_eq!(error.kind(), ErrorKind::LimitReached, "{operation}");
        assert!(error.message().contains("processors"), "{error}");
    }
}

/// Files behind the first were compared while their entries were sent, in an answer without an end.
#[test]
fn a_later_file_that_is_another_one_is_refused_before_the_answer() {
    let request = |last: &str| {
        format!(
            r#"{{"files": ["/f", {{"file": "/f", {last}}}], "table": "events", "columns": ["i32"]}}"#
        )
    };
    for wrong in [r#""num_entries": 7"#, r#""size": 7"#] {
        let error = answered(&request(wrong), 2, BOUNDS).expect_err(wrong);
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    }
    answered(&request(r#""num_entries": 200"#), 2, BOUNDS).expect("the same number");
}
