//! Settings of an engine that runs.

use std::sync::Arc;

use crate::Remote;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::network::{Network, Tcp};
use crate::source::slotted::shared;
use crate::{settings, store};

/// What can change while the engine runs, each time as a whole.
pub(crate) struct Settings {
    pub config: Config,
    pub store: Option<store::Store>,
    /// For one-shot requests and uploads; the driver has its own.
    pub network: Arc<dyn Network>,
}

impl Settings {
    pub fn new(config: Config, network: Arc<dyn Network>) -> Arc<Self> {
        let store = store::Store::of(&config);
        let network = shared(network, &config);
        Arc::new(Settings { config, store, network })
    }
}

impl Remote {
    /// The settings as they are now.
    pub fn config(&self) -> Config {
        self.settings().config.clone()
    }

    /// Changes settings of what reads over the operating system's TCP, for what is asked of it from
    /// now on; those of connections, and of what is remembered, for files that are opened from now
    /// on.
    ///
    /// # Errors
    /// `InvalidArgument`, and nothing is changed, where one differs that cannot be changed any
    /// more.
    pub fn configure(&self, config: Config) -> Result<()> {
        let mut settings = self.inner.settings.write();
        let is_fixed = |setting: &&settings::Setting| {
            !setting.is_live && setting.get(&config) != setting.get(&settings.config)
        };
        if let Some(fixed) = settings::SETTINGS.iter().find(is_fixed) {
            let text = format!("{} cannot be changed when reading has begun", fixed.name);
            return Err(Error::new(ErrorKind::InvalidArgument, text).with_advice(
                "set it before the first file is opened, or in a process of its own",
            ));
        }
        let network: Arc<dyn Network> = Arc::new(Tcp::new(config.connect_timeout));
        self.inner.fetcher.configure(config.clone(), network.clone());
        *settings = Settings::new(config, network);
        Ok(())
    }

    /// What is remembered of files between processes, where the settings allow it.
    pub fn store(&self) -> Option<store::Store> {
        self.settings().store.clone()
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.inner.settings.read().clone()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io;
    use std::path::PathBuf;
    use std::time::Duration;

    use futures::future::BoxFuture;
    use parking_lot::Mutex;
    use tokio::time::timeout;

    use super::*;
    use crate::slots::Slots;
    use crate::source::network::Stream;

    /// Refuses connections, and records whether a reader would find a free slot meanwhile.
    struct Noting {
        folder: PathBuf,
        free: Arc<Mutex<Vec<bool>>>,
    }

    impl Network for Noting {
        fn connect(
            &self,
            host: &str,
            port: u16,
        ) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
            let reader = Slots::open(&self.folder, (host, port), 1);
            let free = self.free.clone();
            Box::pin(async move {
                free.lock().push(reader?.take(Duration::ZERO).is_some());
                Err(io::ErrorKind::ConnectionRefused.into())
            })
        }
    }

    /// Regression: connections of one-shot requests and uploads were not counted.
    #[tokio::test]
    async fn connections_of_questions_and_uploads_are_counted() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("farroot");
        let free = Arc::new(Mutex::new(Vec::new()));
        let network = Noting { folder: folder.clone(), free: free.clone() };
        let (runtime_folder, connections_shared) = (Some(folder), 1);
        let config = Config { runtime_folder, connections_shared, ..Config::default() };
        let remote = Remote::start(config, Arc::new(network));
        assert!(remote.checksum("root://h:1//f", None).await.is_err());
        assert_eq!(free.lock().split_off(0), [false], "a checksum");
        let mut upload = remote.create("root://h:1//f", Default::default()).await.unwrap();
        let write = upload.write(0, vec![0; 1 << 20].into(), false);
        let _ = timeout(Duration::from_secs(1), write).await;
        let _ = timeout(Duration::from_secs(60), upload.sync()).await;
        assert!(!free.lock().is_empty() && !free.lock().contains(&true), "an upload: {free:?}");
    }
}
