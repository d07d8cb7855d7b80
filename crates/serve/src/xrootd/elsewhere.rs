//! Changes of far files: a proxy writes nothing, and sends its clients to the origin.

use std::io;

use remote::address::{Address, Scheme};
use remote::{Error, ErrorKind};
use xrootd::message::Request;
use xrootd::response::Redirect;
use xrootd::server::Tag;
use xrootd::url::Url;

use super::Connection;
use super::answer::Outcome;
use crate::far::failure;
use crate::files::Name;

const DIRECTLY: &str = "write to the file's own server, without this proxy in the address";

impl Connection {
    /// Starts sending the client of a proxy to the origin for a change; whether the request was
    /// one.
    pub(super) fn is_done_elsewhere(&mut self, tag: Tag, request: &Request) -> bool {
        let path = changed_path(request).filter(|_| self.files.are_far());
        let Some(path) = path.map(str::to_owned) else { return false };
        self.is_changing = true;
        let files = self.files.clone();
        let asking = self.asking();
        let is_move = matches!(request, Request::Mv(_));
        self.work.spawn(async move {
            let guest = asking.guest(&path).await;
            let found = files.to_write(&guest, Name::of_xrootd(&path)).await;
            Outcome::Elsewhere { tag, is_move, found }
        });
        true
    }

    pub(super) fn finish_elsewhere(&mut self, tag: Tag, is_move: bool, found: io::Result<Address>) {
        self.is_changing = false;
        match found.and_then(|address| self.redirection(is_move, &address)) {
            Ok(target) => self.server.answer_redirect(tag, &target),
            Err(error) => self.refuse(tag, &error),
        }
    }

    /// The origin as a client is sent there, which shows its own credentials: the query, too, is
    /// the client's own, and goes with it.
    fn redirection(&self, is_move: bool, address: &Address) -> io::Result<Redirect> {
        let refused =
            |text: &str| failure(Error::new(ErrorKind::Unsupported, text).with_advice(DIRECTLY));
        if !matches!(address.scheme(), Scheme::Root | Scheme::Roots) {
            return Err(refused("through a proxy only files of XRootD servers are written"));
        }
        if is_move {
            return Err(refused("through a proxy files get no other names"));
        }
        if !self.takes_urls {
            return Err(refused("this proxy writes nothing, and its client follows no addresses"));
        }
        let url = Url::parse(address.with_query(None).as_str())
            .map_err(|_| refused("no address of an XRootD server"))?;
        let mut target = Redirect::to_host(&url.host, url.port, None);
        target.url = Some(url);
        Ok(target)
    }
}

/// The path that a request changes; of one that has a handle, the file is open here for reading.
fn changed_path(request: &Request) -> Option<&str> {
    match request {
        Request::Open(open) if open.options.writes() => Some(&open.path),
        Request::Truncate(cut) if !cut.path.is_empty() => Some(&cut.path),
        Request::Mv(names) => Some(&names.from),
        Request::Rm(rm) => Some(&rm.path),
        Request::Rmdir(rm) => Some(&rm.path),
        Request::Mkdir(make) => Some(&make.path),
        _ => None,
    }
}
