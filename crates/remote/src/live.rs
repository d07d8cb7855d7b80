//! Settings of an engine that runs.

use std::sync::Arc;

use crate::Remote;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::http::renaming::KnownRenaming;
use crate::source::network::{Network, Tcp};
use crate::source::slotted::shared;
use crate::{settings, store};

/// Settings that can change while the engine runs, each time as a whole.
pub(crate) struct Settings {
    pub config: Config,
    pub store: Option<store::Store>,
    /// For one-shot requests and uploads; the driver has its own.
    pub network: Arc<dyn Network>,
    pub renaming: KnownRenaming,
}

impl Settings {
    pub fn new(config: Config, network: Arc<dyn Network>) -> Arc<Self> {
        let store = store::Store::of(&config);
        let network = shared(network, &config);
        let renaming = KnownRenaming::default();
        Arc::new(Settings { config, store, network, renaming })
    }
}

impl Remote {
    /// The settings as they are now.
    pub fn config(&self) -> Config {
        self.settings().config.clone()
    }

    /// Changes the settings of an engine that reads over the operating system's TCP, for requests
    /// from now on; those of connections and of the store, for files that are opened from now on.
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

    /// The notes about files that are kept between processes, where the settings allow it.
    pub fn store(&self) -> Option<store::Store> {
        self.settings().store.clone()
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.inner.settings.read().clone()
    }
}
