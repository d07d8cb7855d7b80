//! Whether the sources of a file have the same checksum, where they keep one.
//!
//! Asked beside the read, once it has lasted for a while: a server may have to read the whole file
//! for its answer. The checksum that a Metalink gives counts, else that of the first source.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use scheduler::{FileId, SourceId, Time};
use url::Url;

use super::Driver;
use super::search::Finding;
use crate::checksum::Checksum;
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::report::size;
use crate::source::network::Network;
use crate::source::question;

/// A server that has to make its checksum is not waited for longer.
const ANSWER_MAX: Duration = Duration::from_secs(120);

/// How far the sources of a file have been compared.
#[derive(Debug, Default)]
pub struct Agreement {
    is_planned: bool,
    asked: BTreeSet<SourceId>,
    /// What all of them must have.
    pub checksum: Option<Checksum>,
}

/// What sources say; the first one's counts where none is known yet.
pub type Said = Vec<(SourceId, Checksum)>;

impl Driver {
    /// A read begins, or goes on: if it lasts, its sources are compared.
    pub(super) fn expect_comparison(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let is_new = file.sources.keys().any(|source| !file.agreement.asked.contains(source));
        let counts = file.sources.len() > 1 || file.agreement.checksum.is_some();
        if file.agreement.is_planned || !is_new || !counts {
            return;
        }
        file.agreement.is_planned = true;
        let at = self.clock.now().saturating_add(self.config.discovery_after);
        self.comparisons.insert((at, id));
    }

    pub(super) fn next_comparison(&self) -> Option<Time> {
        self.comparisons.first().map(|(at, _)| *at)
    }

    /// Begins the comparisons whose time has come.
    pub(super) fn begin_comparisons(&mut self) {
        let now = self.clock.now();
        while self.next_comparison().is_some_and(|at| at <= now) {
            let due = self.comparisons.pop_first();
            due.into_iter().for_each(|(_, file)| self.compare(file));
        }
    }

    /// Asks those that have not been asked.
    fn compare(&mut self, id: FileId) {
        let waits = self.somebody_waits(id);
        let Some(file) = self.files.get_mut(&id) else { return };
        file.agreement.is_planned = waits;
        if !waits {
            return;
        }
        let asked = &mut file.agreement.asked;
        let new = file.sources.iter().filter(|(source, _)| asked.insert(**source));
        let new: Vec<(SourceId, Arc<Url>)> =
            new.map(|(source, (_, file))| (*source, file.url.clone())).collect();
        let known = file.agreement.checksum.clone();
        let (config, network) = (self.config.clone(), self.network.clone());
        let sender = self.finding_sender.clone();
        tokio::spawn(async move {
            let said = ask(new, known, config, network).await;
            let _ = sender.send(Finding::Checksums(id, said));
        });
    }

    /// Sources have said what they have.
    pub(super) fn take_checksums(&mut self, id: FileId, said: Said) {
        let Some(file) = self.files.get_mut(&id) else { return };
        file.agreement.is_planned = false;
        for (source, checksum) in said {
            self.take_checksum(id, source, checksum);
        }
    }

    /// A source has said what it has; the first one counts.
    pub(super) fn take_checksum(&mut self, id: FileId, source: SourceId, checksum: Checksum) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let right = file.agreement.checksum.get_or_insert_with(|| checksum.clone());
        if right.algorithm() == checksum.algorithm() && *right != checksum {
            let text = format!("it has another file under this name, {checksum}, not {right}");
            self.disown(id, source, &text);
        }
    }

    /// A source has another file: nothing of it is used any more.
    pub(super) fn disown(&mut self, id: FileId, source: SourceId, why: &str) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let Some((server, _)) = file.sources.get(&source) else { return };
        let name = self.servers[server].name.to_string();
        file.disowned.insert(source);
        // One byte shows that it can be read, and is nobody's.
        let used = self.trace.received_from(id.0, &name).saturating_sub(1);
        let used = match file.opener.is_some() || used == 0 {
            true => String::new(),
            false => format!("; {} of it have been used", size(used)),
        };
        file.remember(&name, Error::new(ErrorKind::Corrupt, why));
        self.trace.note(Some(id.0), format!("warning: {name} is not used: {why}{used}"));
        self.scheduler.handle_source_failed(self.clock.now(), source);
    }
}

/// The checksums of sources that keep one of the kind that is known, or that the first one keeps.
async fn ask(
    sources: Vec<(SourceId, Arc<Url>)>,
    known: Option<Checksum>,
    config: Config,
    network: Arc<dyn Network>,
) -> Said {
    let mut algorithm = known.map(|known| known.algorithm());
    let mut said = Vec::new();
    for (source, url) in sources {
        let asked = question::checksum(&url, algorithm, &config, network.clone());
        let answer = tokio::time::timeout(ANSWER_MAX, asked).await;
        // One that keeps none has to be believed.
        if let Ok(Ok(checksum)) = answer {
            algorithm = algorithm.or(Some(checksum.algorithm()));
            said.push((source, checksum));
        }
    }
    said
}
