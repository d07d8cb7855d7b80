//! Servers that answer, but not as they should.

use std::time::Duration;

use farroot_sim::xrootd_host::Behaviour;
use xrootd::error::ErrorCode;

use crate::world::{MB, RTT, Stage, link, seconds};

/// Reads while the first of so many hosts is out of order for a second.
fn read(hosts: usize, disorder: impl Fn(&mut Behaviour)) -> Result<f64, engine::Error> {
    farroot_sim::run(async {
        let stage = Stage::new(30 * MB, &vec![link(RTT, 10 * MB); hosts]);
        let out_of_order = async {
            tokio::time::sleep(seconds(0.8)).await;
            disorder(&mut stage.controls[0].lock());
            tokio::time::sleep(seconds(1.0)).await;
            *stage.controls[0].lock() = Behaviour::default();
        };
        stage.read_while(out_of_order).await
    })
}

#[test]
fn answers_of_wrong_length_are_completed() {
    for hosts in [1, 2] {
        read(hosts, |server| server.shortens_reads = 1000).expect("reads");
        read(hosts, |server| server.lengthens_reads = 1000).expect("reads");
    }
}

#[test]
fn answers_under_another_name_cost_a_connection() {
    for hosts in [1, 2] {
        read(hosts, |server| server.mixes_up_requests = true).expect("reads");
    }
}

#[test]
fn errors_that_pass_are_waited_for_and_others_are_told() {
    let passing = [ErrorCode::OVERLOADED, ErrorCode::IO_ERROR, ErrorCode::FS_ERROR];
    for code in passing {
        assert!(read(1, |server| server.fails_reads = Some(code)).is_ok(), "{code:?}");
    }
    let error = read(1, |server| server.fails_reads = Some(ErrorCode::NOT_AUTHORIZED));
    assert!(error.expect_err("a plain no").to_string().contains("as scripted"));
}

#[test]
fn with_a_second_source_no_error_of_the_first_ends_the_read() {
    let codes = [3001, 3003, 3004, 3005, 3007, 3008, 3010, 3011, 3012, 3018, 3024, 3029, 3034];
    for code in codes {
        assert!(read(2, |server| server.fails_reads = Some(ErrorCode(code))).is_ok(), "{code}");
    }
}

#[test]
fn a_server_that_asks_for_patience_gets_it() {
    let took = farroot_sim::run(async {
        let stage = Stage::new(MB, &[link(RTT, 10 * MB)]);
        stage.controls[0].lock().waits = Some(Duration::from_secs(5));
        stage.read().await.expect("reads")
    });
    assert!((5.0..8.0).contains(&took), "{took:.2} s");
}
