//! Bytes that arrive otherwise than they were sent, and that TCP's own checksum has let pass.

use engine::{Config, ErrorKind};
use farroot_sim::link::Link;
use farroot_sim::xrootd_host::Behaviour;
use remote::Checksums;
use xrootd::error::ErrorCode;

use crate::world::{MB, RTT, Stage, link, seconds};

fn stage(links: &[Link], checksums: Checksums) -> Stage {
    let config = Config { checksums, ..Config::default() };
    Stage::with(30 * MB, links, config)
}

/// One bit in so many bytes is wrong; the server offers checksums.
fn damages(every: u64) -> Behaviour {
    Behaviour { offers_checksums: true, damages_every: Some(every), ..Behaviour::default() }
}

/// Pages that came damaged from each of the hosts.
fn damaged_pages(stage: &Stage) -> Vec<u64> {
    stage.engine.report().sources.iter().map(|source| source.damaged_pages).collect()
}

#[test]
fn with_checksums_damaged_pages_are_asked_for_again_and_every_byte_is_right() {
    farroot_sim::run(async {
        let links = [link(RTT, 10 * MB)];
        let sound = stage(&links, Checksums::Always);
        sound.controls[0].lock().offers_checksums = true;
        let undisturbed = sound.read().await.expect("reads");
        assert_eq!(damaged_pages(&sound), [0]);

        for checksums in [Checksums::Always, Checksums::Auto] {
            let stage = stage(&links, checksums);
            *stage.controls[0].lock() = damages(MB);
            let took = stage.read().await.expect("reads; every byte is compared");
            let pages = damaged_pages(&stage)[0];
            assert!((25..40).contains(&pages), "{pages} pages");
            assert!(took < undisturbed + 1.0, "{took:.2} s, undisturbed {undisturbed:.2} s");
            // Only the pages themselves came again.
            assert!(stage.extra_per_mille() < 10, "{}", stage.report());
            assert!(stage.report().contains("pages came damaged"), "{}", stage.report());
        }
    });
}

#[test]
#[should_panic(expected = "byte ")]
fn without_checksums_wrong_bytes_of_uncompressed_data_go_through() {
    farroot_sim::run(async {
        let stage = stage(&[link(RTT, 10 * MB)], Checksums::Never);
        *stage.controls[0].lock() = damages(MB);
        // The reader is the first to compare.
        let _ = stage.read().await;
    });
}

#[test]
fn a_source_that_damages_again_and_again_loses_its_work() {
    farroot_sim::run(async {
        let stage = stage(&[link(RTT, 10 * MB), link(RTT, 5 * MB)], Checksums::Always);
        *stage.controls[0].lock() = damages(20_000);
        stage.controls[1].lock().offers_checksums = true;
        stage.read().await.expect("reads; every byte is compared");
        let bytes = stage.bytes();
        let pages = damaged_pages(&stage);
        assert!(bytes[0] < bytes[1] / 3, "{bytes:?}");
        assert!(pages[0] > 0 && pages[1] == 0, "{pages:?}");
    });
}

#[test]
fn where_no_page_ever_comes_right_one_error_says_so() {
    for hosts in [1, 2] {
        let error = farroot_sim::run(async {
            let stage = stage(&vec![link(RTT, 10 * MB); hosts], Checksums::Always);
            for control in &stage.controls {
                *control.lock() = damages(4000);
            }
            stage.read().await.expect_err("no page is right")
        });
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{text}");
        for part in ["checksums", "root://a:1094", "bytes "] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn a_server_without_checksums_is_read_without_unless_they_are_demanded() {
    let old = Behaviour::default();
    let half = Behaviour {
        offers_checksums: true,
        refuses_checksums: Some(ErrorCode::UNSUPPORTED),
        ..Behaviour::default()
    };
    let older = Behaviour { refuses_checksums: Some(ErrorCode::INVALID_REQUEST), ..half.clone() };
    for behaviour in [old, half, older] {
        farroot_sim::run(async {
            let links = [link(RTT, 10 * MB)];
            let auto = stage(&links, Checksums::Auto);
            *auto.controls[0].lock() = behaviour.clone();
            let took = auto.read().await.expect("reads");
            let never = stage(&links, Checksums::Never);
            let without = never.read().await.expect("reads");
            assert!(took < without + 0.3, "{took:.2} s, without {without:.2} s");
            assert_eq!(auto.engine.report().sources[0].failures, 0);
        });
    }
    farroot_sim::run(async {
        let stage = stage(&[link(RTT, 10 * MB)], Checksums::Always);
        stage.controls[0].lock().refuses_checksums = Some(ErrorCode::INVALID_REQUEST);
        let error = stage.read().await.expect_err("they are demanded");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("FARROOT_CHECKSUMS"), "{error}");
    });
}

#[test]
fn a_link_that_is_mended_is_used_again() {
    farroot_sim::run(async {
        let stage = stage(&[link(RTT, 10 * MB)], Checksums::Always);
        stage.controls[0].lock().offers_checksums = true;
        let damage = async {
            tokio::time::sleep(seconds(0.8)).await;
            *stage.controls[0].lock() = damages(4000);
            tokio::time::sleep(seconds(0.3)).await;
            *stage.controls[0].lock() = Behaviour { damages_every: None, ..damages(1) };
        };
        stage.read_while(damage).await.expect("reads; every byte is compared");
        assert!(damaged_pages(&stage)[0] > 100);
    });
}
