//! Connections that take slots, and those that stay free for readers.

use std::time::Duration;

use mutex::Mutex;
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;
use crate::Remote;

/// For each connection whether a reader would find a free slot meanwhile.
type Free = Arc<Mutex<Vec<bool>>>;

/// Records [`Free`], and refuses connections, or connects to servers that send nothing.
struct Noting {
    folder: PathBuf,
    most: u32,
    refuses: bool,
    free: Free,
    /// The far ends of the streams.
    ends: Arc<Mutex<Vec<tokio::io::DuplexStream>>>,
}

impl Network for Noting {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let reader = Slots::open(&self.folder, (host, port), self.most);
        let refuses = self.refuses;
        let free = self.free.clone();
        let ends = self.ends.clone();
        Box::pin(async move {
            free.lock().push(reader?.take(Duration::ZERO).is_some());
            if refuses {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (here, there) = tokio::io::duplex(1);
            ends.lock().push(there);
            Ok(Box::new(here) as Box<dyn Stream>)
        })
    }
}

fn bed(folder: &TempDir, refuses: bool) -> (Arc<dyn Network>, Config, Free) {
    let free = Free::default();
    let most = 1;
    let path = folder.path().join("farroot");
    let ends = Arc::default();
    let noting = Noting { folder: path.clone(), most, refuses, free: free.clone(), ends };
    let config =
        Config { runtime_folder: Some(path), connections_shared: most, ..Config::default() };
    (Arc::new(noting), config, free)
}

/// Regression: connections of one-shot requests and uploads were not counted.
#[tokio::test]
async fn connections_of_questions_and_uploads_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (network, config, free) = bed(&folder, true);
    let remote = Remote::start(config, network);
    assert!(remote.checksum("root://h:1//f", None).await.is_err());
    assert_eq!(free.lock().split_off(0), [false], "a checksum");
    let mut upload = remote.create("root://h:1//f", Default::default()).await.unwrap();
    let write = upload.write(0, vec![0; 1 << 20].into(), false);
    let _ = timeout(Duration::from_secs(1), write).await;
    let _ = timeout(Duration::from_secs(60), upload.sync()).await;
    assert!(!free.lock().is_empty() && !free.lock().contains(&true), "an upload: {free:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_has_a_slot_as_long_as_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let (network, config, free) = bed(&folder, false);
    let network = shared(network, &config);
    let first = network.connect("h", 1).await.unwrap();
    let began = Instant::now();
    let second = network.connect("h", 1).await.unwrap();
    assert!(began.elapsed() >= WAIT_MAX, "without a slot after a while");
    assert!(network.connect("other", 1).await.is_ok());
    drop((first, second));
    let began = Instant::now();
    let _third = network.connect("h", 1).await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(free.lock().len(), 4);
    let none = Slots::open(&folder.path().join("farroot"), ("h", 1), 1).unwrap();
    assert!(none.take(Duration::ZERO).is_none());
}
