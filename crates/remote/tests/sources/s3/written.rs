//! Objects that are written to a real server: whole under their keys, or not at all.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use farroot_remote::{Algorithm, CopyOptions, CreateOptions, ErrorKind};

use super::gateway::{Gateway, KEY, REGION, SECRET};
use crate::uploads::{OVER, check, content, files, upload};

const KEYS: Option<(&str, &str)> = Some((KEY, SECRET));

/// Parts that the server keeps of uploads that have not ended.
fn leftovers(bucket: &Path) -> Vec<String> {
    let names = files(bucket).into_keys();
    names.filter(|name| name.contains(".sgwtmp")).collect()
}

/// Waits until the server has something of an upload, or nothing any more.
async fn until(bucket: &Path, has_some: bool) {
    let waiting = async {
        while leftovers(bucket).is_empty() == has_some {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    waited.expect("the server is not told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_written_as_a_whole_or_in_parts() {
    let Some(gateway) = Gateway::start_writable() else { return };
    let remote = gateway.remote(KEYS, Some(REGION));
    for (name, size) in [("w/tiny", 101), ("w/empty", 0), ("w/one", 8 << 20), ("w/a b+%", 40 << 20)]
    {
        let address = format!("s3://bucket/{name}");
        let content = content(size);
        let written = upload(&remote, &address, &content, 700_001, CreateOptions::default()).await;
        check(&written.unwrap(), &content);
        assert!(fs::read(gateway.bucket.join(name)).unwrap() == content, "{address}");
    }
    assert!(leftovers(&gateway.bucket).is_empty(), "{:?}", leftovers(&gateway.bucket));
}

/// Bytes that are announced across the border of two parts, and others further behind, are as they
/// were replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replaced_bytes_of_several_parts_leave_last() {
    let Some(gateway) = Gateway::start_writable() else { return };
    let remote = gateway.remote(KEYS, Some(REGION));
    let content = content(30 << 20);
    let part = 8 << 20;
    let replaced = [0..100, part - 50..part + 50, 3 * part + 7..3 * part + 60];
    let mut upload = remote.create("s3://bucket/patched", OVER).await.unwrap();
    let mut at = 0;
    for range in &replaced {
        upload
            .write(at as u64, Bytes::copy_from_slice(&content[at..range.start]), false)
            .await
            .unwrap();
        upload.write(range.start as u64, vec![0; range.len()].into(), true).await.unwrap();
        at = range.end;
    }
    upload.write(at as u64, Bytes::copy_from_slice(&content[at..]), false).await.unwrap();
    for range in replaced.into_iter().rev() {
        let bytes = Bytes::copy_from_slice(&content[range.clone()]);
        upload.write(range.start as u64, bytes, false).await.unwrap();
    }
    assert!(!gateway.bucket.join("patched").exists());
    check(&upload.finish().await.unwrap(), &content);
    assert!(fs::read(gateway.bucket.join("patched")).unwrap() == content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_is_there_is_replaced_only_when_that_is_wanted() {
    let Some(gateway) = Gateway::start_writable() else { return };
    let remote = gateway.remote(KEYS, Some(REGION));
    let there = gateway.bucket.join("medium.bin");
    let address = "s3://bucket/medium.bin";
    let before = fs::read(&there).unwrap();
    let error = remote.create(address, CreateOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("is there already"), "{error}");
    assert!(fs::read(&there).unwrap() == before);
    for size in [500, 9 << 20] {
        let second = content(size);
        check(&upload(&remote, address, &second, 1 << 20, OVER).await.unwrap(), &second);
        assert!(fs::read(&there).unwrap() == second);
    }
}

/// Two writers of one key: the one that ends first has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_has_come_meanwhile_stays() {
    let Some(gateway) = Gateway::start_writable() else { return };
    let remote = gateway.remote(KEYS, Some(REGION));
    for size in [500, 9 << 20] {
        let address = format!("s3://bucket/race{size}");
        let mut late = remote.create(&address, CreateOptions::default()).await.unwrap();
        late.write(0, vec![1; size].into(), false).await.unwrap();
        let first = content(300);
        upload(&remote, &address, &first, 100, CreateOptions::default()).await.unwrap();
        let error = late.finish().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(fs::read(gateway.bucket.join(format!("race{size}"))).unwrap() == first);
    }
    assert!(leftovers(&gateway.bucket).is_empty(), "{:?}", leftovers(&gateway.bucket));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_of_an_object_that_is_given_up() {
    let Some(gateway) = Gateway::start_writable() else { return };
    let remote = gateway.remote(KEYS, Some(REGION));
    let address = "s3://bucket/given up";
    for is_dropped in [false, true] {
        let mut upload = remote.create(address, CreateOptions::default()).await.unwrap();
        for at in 0..20u64 {
            upload.write(at << 20, vec![1; 1 << 20].into(), false).await.unwrap();
        }
        until(&gateway.bucket, true).await;
        match is_dropped {
            false => upload.abandon().await,
            // The upload is aborted on the server in the background.
            true => drop(upload),
        }
        until(&gateway.bucket, false).await;
        assert!(!gateway.bucket.join("given up").exists());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_copied_to_a_bucket_from_any_region() {
    let Some(gateway) = Gateway::start_writable() else { return };
    let remote = gateway.remote(KEYS, Some("us-west-2"));
    let folder = tempfile::tempdir().unwrap();
    let content = content(20 << 20);
    let source = folder.path().join("f.root");
    fs::write(&source, &content).unwrap();
    let sources = [source.to_string_lossy().into_owned()];
    let target = Path::new("s3://bucket/d/");
    let copied = remote.copy(&sources, target, CopyOptions::default(), &|_| {}).await;
    assert_eq!(copied.unwrap().remove(0).unwrap().size, 20 << 20);
    assert!(fs::read(gateway.bucket.join("d/f.root")).unwrap() == content);
    // Written in parts, and at once: the server's checksum of the whole object is compared.
    let short = folder.path().join("short.root");
    fs::write(&short, &content[..1 << 20]).unwrap();
    let both = [&source, &short].map(|path| path.to_string_lossy().into_owned());
    let verified = CopyOptions { overwrite: true, verify: true, ..CopyOptions::default() };
    for copied in remote.copy(&both, target, verified.clone(), &|_| {}).await.unwrap() {
        assert_eq!(copied.unwrap().checksum.unwrap().algorithm(), Algorithm::Crc32c);
    }
    let back = folder.path().join("back.root");
    let from = ["s3://bucket/d/f.root".to_owned()];
    let copied =
        remote.copy(&from, &back, verified.clone(), &|_| {}).await.unwrap().remove(0).unwrap();
    assert_eq!(copied.checksum.unwrap().algorithm(), Algorithm::Crc32c);
    // An object that was not written over S3 has no checksum.
    fs::write(gateway.bucket.join("other"), &content[..100]).unwrap();
    let from = ["s3://bucket/other".to_owned()];
    let refused = remote.copy(&from, &back, verified, &|_| {}).await.unwrap().remove(0);
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("keeps no checksum of this object"), "{error}");
    let again = remote.copy(&sources, target, CopyOptions::default(), &|_| {}).await;
    let error = again.unwrap().remove(0).unwrap_err();
    assert!(error.to_string().contains("-f replaces it"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_refusal_of_an_object_says_what_is_wrong() {
    let Some(gateway) = Gateway::start_writable() else { return };
    let marker = Some((KEY, "marker-of-a-secret.another"));
    for (keys, address, kind, part) in [
        (marker, "s3://bucket/f", ErrorKind::Unauthenticated, "secret key of"),
        (Some(("AKIDOTHER", SECRET)), "s3://bucket/f", ErrorKind::Unauthenticated, "not know"),
        (None, "s3://bucket/f", ErrorKind::Unauthenticated, "aws configure"),
        (KEYS, "s3://elsewhere/f", ErrorKind::NotFound, "no such bucket"),
        (KEYS, "s3://bucket/", ErrorKind::InvalidArgument, "s3://bucket/key"),
        (KEYS, "s3://bucket/f?versionId=1", ErrorKind::InvalidArgument, "leave versionId out"),
    ] {
        let remote = gateway.remote(keys, Some(REGION));
        for (options, size) in [(CreateOptions::default(), 300), (OVER, 300), (OVER, 9 << 20)] {
            let refused = upload(&remote, address, &content(size), 1 << 20, options).await;
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(part), "{error}");
            for secret in ["marker", "Signature", "AKID"] {
                assert!(!error.to_string().contains(secret), "{error}");
                assert!(!remote.report().to_string().contains(secret), "{}", remote.report());
            }
        }
    }
    assert!(leftovers(&gateway.bucket).is_empty(), "{:?}", leftovers(&gateway.bucket));
}
