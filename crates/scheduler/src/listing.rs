//! The list of servers that have something to do for each file.

use crate::ids::FileId;
use crate::message::{FileEnd, WantFailure};
use crate::scheduler::{Listed, Scheduler};

impl Scheduler {
    /// Leaves the tail of an open to others where the server cannot give a suffix.
    fn drop_tail(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let Some(opening) = &mut file.opening else { return };
        let Some((_, server)) = file.sources.best() else { return };
        if self.servers.get(&server).is_some_and(|server| !server.traits.suffix) {
            opening.todo.retain(|part| !matches!(part, FileEnd::Tail(_)));
            self.conclude_open(id, WantFailure::NoSource);
        }
    }

    /// Brings a file's places on the agendas of its servers up to date.
    pub(crate) fn refresh(&mut self, id: FileId) {
        self.drop_tail(id);
        if self.replicated.contains(&id) {
            self.call_up(id);
        }
        let Some(file) = self.files.get_mut(&id) else { return };
        let listed: Vec<Listed> = match file.chunks.first_queued() {
            None => Vec::new(),
            Some(first) => {
                let at = |(_, server)| Listed {
                    server,
                    urgency: first.urgency,
                    order: first.order,
                    queued: file.chunks.queued(),
                };
                file.sources.serving().into_iter().map(at).collect()
            }
        };
        let server = file.sources.best().map(|(_, server)| server);
        let opening = file.opening.as_ref();
        let to_send = opening.is_some_and(|opening| !opening.resting && !opening.todo.is_empty());
        let open_listed = server.filter(|_| to_send);
        let old_open = std::mem::replace(&mut file.open_listed, open_listed);
        if file.listed != listed {
            let old = std::mem::replace(&mut file.listed, listed.clone());
            old.into_iter().for_each(|listed| self.unlist(id, listed));
            listed.into_iter().for_each(|listed| self.list(id, listed));
        }
        if old_open != open_listed {
            if let Some(server) = old_open.and_then(|server| self.servers.get_mut(&server)) {
                server.opens.remove(&id);
            }
            if let Some((at, server)) =
                open_listed.and_then(|at| self.servers.get_mut(&at).map(|server| (at, server)))
            {
                server.opens.insert(id);
                self.awake.insert(at);
            }
        }
    }

    fn list(&mut self, file: FileId, listed: Listed) {
        let Some(server) = self.servers.get_mut(&listed.server) else { return };
        server.agenda.insert((listed.urgency, listed.order, file));
        for (total, bytes) in server.queued.iter_mut().zip(listed.queued) {
            *total += bytes;
        }
        self.awake.insert(listed.server);
    }

    fn unlist(&mut self, file: FileId, listed: Listed) {
        let Some(server) = self.servers.get_mut(&listed.server) else { return };
        server.agenda.remove(&(listed.urgency, listed.order, file));
        for (total, bytes) in server.queued.iter_mut().zip(listed.queued) {
            *total -= bytes;
        }
    }
}
