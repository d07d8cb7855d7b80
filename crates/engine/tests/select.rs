//! Requests of others that select entries: their limits, and files that are not the expected ones.
#![cfg(feature = "select")]

use std::time::Duration;

use farroot_engine::near::{BufferCompression, SelectRequest};
use farroot_engine::{
    AnswerForm, Config, Engine, ErrorKind, Result, SelectBounds, Selected, rows_of_answer,
};

const PLAIN: AnswerForm = AnswerForm {
    compression: BufferCompression::Zstd,
    may_be_coded: false,
    may_begin_early: false,
};

const BOUNDS: SelectBounds = SelectBounds {
    bytes: 1 << 20,
    time: Duration::from_secs(60),
    step_time: Duration::from_secs(60),
    step_bytes: 1 << 20,
};

/// Answers a request about `files` copies of one file; returns the whole stream or text.
fn answered(request: &str, files: usize, bounds: SelectBounds) -> Result<Vec<u8>> {
    answered_in(PLAIN, request, files, bounds)
}

fn answered_in(
    form: AnswerForm,
    request: &str,
    files: usize,
    bounds: SelectBounds,
) -> Result<Vec<u8>> {
    let config = Config { store_folder: None, ..Config::default() };
    let engine = Engine::start(config)?;
    let name = "ntuple_fields.root";
    let path = format!("{}/../rootfile/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    let request = SelectRequest::parse(request.as_bytes())?;
    engine.block_on(async {
        match engine.selected(&request, vec![path; files], bounds, form).await? {
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

/// Buffers that are compressed are not compressed again.
#[test]
fn an_answer_has_the_form_that_suits_its_client() {
    const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let coded = AnswerForm { may_be_coded: true, may_begin_early: true, ..PLAIN };
    let uncompressed = AnswerForm { compression: BufferCompression::None, ..PLAIN };
    let request =
        |more: &str| format!(r#"{{"files": ["/f"], "table": "events", "columns": ["i32"]{more}}}"#);
    let none = r#", "compression": "none""#;
    let answer = |form, more| answered_in(form, &request(more), 1, BOUNDS).expect("answers");
    let plain = answer(PLAIN, none);
    assert_eq!(plain, answer(uncompressed, ""));
    for one in [&plain, &answer(PLAIN, ""), &answer(uncompressed, r#", "compression": "zstd""#)] {
        let rows = rows_of_answer(one, 100, 1 << 20).expect("is a stream");
        assert_eq!(rows, rows_of_answer(&plain, 1, 1 << 20).expect("is a stream"));
        assert!(rows > 0);
    }
    assert!(answer(coded, none).starts_with(&ZSTD));
    assert!(rows_of_answer(&answer(coded, ""), 100, 1 << 20).is_ok());
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

/// Regression: a count with a column that the table lacks was answered.
#[test]
fn a_count_refuses_the_names_that_arrays_refuse() {
    for columns in [
        r#""columns": ["nosuch"]"#,
        r#""columns": ["q"], "define": {"q": "nosuch * 2"}"#,
        r#""columns": ["i32 >"]"#,
        r#""columns": ["i32"]"#,
    ] {
        let asked = |operation: &str| {
            let request = format!(
                r#"{{"files": ["/f"], "table": "events", {columns}, "operation": "{operation}"}}"#
            );
            answered(&request, 1, BOUNDS).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(asked("count"), asked("arrays"), "{columns}");
    }
}

/// Regression: an error of a long formula repeated all of it.
#[test]
fn an_error_shows_the_beginning_of_a_long_formula() {
    for cut in ["i32 > 1 + ".repeat(2000), format!("i32 {}", "é".repeat(20_000))] {
        let request = format!(r#"{{"files": ["/f"], "table": "events", "cut": "{cut}"}}"#);
        let error = answered(&request, 1, BOUNDS).expect_err("no formula");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let text = error.to_string();
        assert!(text.len() < 2500 && text.contains("i32"), "{} bytes: {text}", text.len());
        assert!(text.contains(&format!("({} bytes)", cut.len())), "{text}");
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
