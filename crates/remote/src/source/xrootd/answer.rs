//! Answers of a server, as the driver takes them.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use xrootd::client::{Answer, Event, RequestId};
use xrootd::error::{RequestError, SessionError};
use xrootd::message::dirlist::Entry;
use xrootd::message::query::SELECTS_KEY;
use xrootd::message::stat::{StatFlags, StatInfo};

use super::redirect::redirected;
use super::session::{Purpose, Session};
use super::{XrootdServer, locate, pages};
use crate::checksum::Checksum;
use crate::error::{Error, ErrorKind, Result};
use crate::source::{
    ConnectionEvent, DriverLink, FileInfo, FileRef, ListedName, RequestTag, Server, no_clock,
};

impl XrootdServer {
    /// Passes on the outcome of a request.
    pub(super) fn answer(&self, session: &mut Session, link: &DriverLink, event: Event) {
        match event {
            Event::Opened { request, stat, .. } => {
                let (file, request) = match session.requests.remove(&request) {
                    Some(Purpose::Open { request, file }) => (file, Some(request)),
                    Some(Purpose::OpenForFetch { file }) => (file, None),
                    _ => return,
                };
                match stat {
                    // It was requested together with the open.
                    _ if session.asks_stat(file.tag) => {}
                    Some(stat) => self.identify(session, link, &file, request, &stat),
                    None => session.ask_stat(file, request),
                }
            }
            Event::Data { request, offset, bytes, .. } => {
                if let Some(Purpose::Read { request, file, .. }) = session.requests.get(&request) {
                    let request = *request;
                    let file = file.tag;
                    session.send(link, file, ConnectionEvent::Data { request, offset, bytes });
                }
            }
            Event::Damaged { request, range, .. } => {
                if let Some(Purpose::Read { request, file, .. }) = session.requests.get(&request) {
                    let request = *request;
                    let file = file.tag;
                    self.pages.damaged(file, range.clone());
                    session.send(link, file, ConnectionEvent::Damaged { request, range });
                }
            }
            Event::Done { request } => {
                if let Some((request, file)) = session.finish(request) {
                    session.send(link, file, ConnectionEvent::Done { request });
                }
            }
            // The server has not looked at it, as the end of the connection says, too.
            Event::Failed {
                error: RequestError::Session(SessionError::AuthenticationFirst { .. }),
                ..
            } => {}
            Event::Failed { request, error } => self.failed(session, link, request, &error),
            Event::Redirected { request, target } => {
                let failed = |file: &FileRef| {
                    let text = "the server does not say what the file is that it has opened";
                    Error::new(ErrorKind::Io, text)
                        .retryable(true)
                        .with_url(file.url.to_string())
                        .with_source(&*self.name)
                };
                if session.fail_stat(link, request, failed) {
                    return;
                }
                session.lost_file(request);
                if let Some((request, file)) = session.finish_with_file(request) {
                    link.send(match redirected(&file.url, &self.by_name(target)) {
                        Ok(url) => ConnectionEvent::Redirected { request, url },
                        Err(error) => ConnectionEvent::Failed { request, error },
                    });
                }
            }
            Event::Answer { request, answer } => self.plain_answer(session, link, request, answer),
            _ => {}
        }
    }

    /// Passes on that a request has failed.
    fn failed(
        &self,
        session: &mut Session,
        link: &DriverLink,
        request: RequestId,
        error: &RequestError,
    ) {
        let failed =
            |file: &FileRef| self.request_error(error, &file.url).with_url(file.url.to_string());
        if session.fail_stat(link, request, failed) {
            return;
        }
        session.lost_file(request);
        let unknown = pages::is_unknown(error) && session.is_checked(request);
        if unknown && self.pages.do_without() && session.read_unchecked(request) {
            return;
        }
        if let Some((request, file)) = session.finish_with_file(request) {
            let error = match unknown {
                true => pages::not_offered().with_source(&*self.name),
                false => self.request_error(error, &file.url),
            };
            let error = error.with_url(file.url.to_string());
            session.drop_held(request);
            link.send(ConnectionEvent::Failed { request, error });
        }
    }

    /// The identity of a file has been received.
    fn identify(
        &self,
        session: &mut Session,
        link: &DriverLink,
        file: &FileRef,
        request: Option<RequestTag>,
        stat: &StatInfo,
    ) {
        match file_info(stat) {
            Ok(info) => session.identified(link, file, info, request),
            Err(error) => {
                let error = error.with_url(file.url.to_string()).with_source(&*self.name);
                session.fail_file(link, file, request, &error);
            }
        }
    }

    /// Passes on the answer to a request that reads no file.
    fn plain_answer(
        &self,
        session: &mut Session,
        link: &DriverLink,
        request: RequestId,
        answer: Answer,
    ) {
        match session.requests.remove(&request) {
            Some(Purpose::Limits) => {
                self.learn(&session.client);
                if let Answer::Config(values) = &answer {
                    let selects = |(key, value): &(String, Option<String>)| {
                        key == SELECTS_KEY && value.is_some()
                    };
                    let selects = values.iter().any(selects);
                    self.selects.fetch_or(selects, Ordering::Relaxed);
                }
                link.send(ConnectionEvent::Traits(self.traits()));
            }
            Some(Purpose::Stat { request, file }) => {
                if let Answer::Stat(stat) = answer {
                    self.identify(session, link, &file, request, &stat);
                }
            }
            Some(Purpose::Check { file, id }) => {
                let now = match answer {
                    Answer::Stat(stat) => file_info(&stat).ok(),
                    _ => None,
                };
                session.checked(&file, id, now);
            }
            Some(Purpose::List { request, .. }) => {
                session.tags.remove(&request);
                if let Answer::Entries(entries) = answer {
                    let entries = entries.into_iter().map(listed).collect();
                    link.send(ConnectionEvent::Listed { request, entries });
                }
                link.send(ConnectionEvent::Done { request });
            }
            Some(Purpose::Locate { request, file }) => {
                session.tags.remove(&request);
                if let Answer::Locations(found) = answer {
                    let locations =
                        found.iter().filter_map(|place| locate::place(&file.url, place));
                    link.send(ConnectionEvent::Located { request, locations: locations.collect() });
                }
                link.send(ConnectionEvent::Done { request });
            }
            Some(Purpose::Clock { request, file }) => {
                session.tags.remove(&request);
                match time_of_day(&answer) {
                    Some(at) => {
                        link.send(ConnectionEvent::Clock { request, at });
                        link.send(ConnectionEvent::Done { request });
                    }
                    None => link.send(no_clock(request, &file)),
                }
            }
            Some(Purpose::Checksum { request, file }) => {
                session.tags.remove(&request);
                link.send(match checksum_of(&answer) {
                    Ok(checksum) => {
                        link.send(ConnectionEvent::Checksum { request, checksum });
                        ConnectionEvent::Done { request }
                    }
                    Err(error) => {
                        let url = file.url.to_string();
                        let error = error.with_url(url).with_source(&*self.name);
                        ConnectionEvent::Failed { request, error }
                    }
                });
            }
            _ => {}
        }
    }
}

fn file_info(stat: &StatInfo) -> Result<FileInfo> {
    FileInfo::new(stat.size, Some(stat.mtime), Some(stat.id.clone()))
}

/// An entry of a directory. Sizes of directories are those of their own entries.
fn listed(entry: Entry) -> ListedName {
    let Entry { name, stat } = entry;
    let Some(stat) = stat else { return ListedName::of_name(name) };
    let is_directory = stat.flags.intersects(StatFlags::DIRECTORY);
    let seconds = u64::try_from(stat.mtime).ok().map(Duration::from_secs);
    ListedName {
        name,
        is_directory: Some(is_directory),
        size: (!is_directory).then_some(stat.size),
        modified: seconds.and_then(|seconds| UNIX_EPOCH.checked_add(seconds)),
    }
}

/// The server's time, in seconds: `<statistics tod="1700000000" ver="v5.5.3" ...`.
fn time_of_day(answer: &Answer) -> Option<SystemTime> {
    let Answer::Text(text) = answer else { return None };
    let (_, rest) = text.split_once("<statistics ")?.1.split_once("tod=\"")?;
    let seconds = rest.split_once('"')?.0.parse().ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn checksum_of(answer: &Answer) -> Result<Checksum> {
    match answer {
        Answer::Text(text) => text.parse(),
        _ => Err(Error::new(ErrorKind::Corrupt, "the server answers no checksum")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_listed_where_the_server_says_them() {
        let of = |text: Option<&str>| {
            let stat = text.map(|text| StatInfo::decode(text.as_bytes()).unwrap());
            listed(Entry { name: "a".to_owned(), stat })
        };
        let file = of(Some("7 100 16 1700000000"));
        assert_eq!((file.is_directory, file.size), (Some(false), Some(100)));
        assert_eq!(file.modified, Some(UNIX_EPOCH + Duration::from_secs(1_700_000_000)));
        let directory = of(Some("7 4096 19 -1"));
        assert_eq!((directory.is_directory, directory.size), (Some(true), None));
        assert_eq!(directory.modified, None);
        assert_eq!(of(None), ListedName::of_name("a".to_owned()));
    }

    #[test]
    fn the_time_there_is_read_from_a_summary() {
        let text = |text: &str| time_of_day(&Answer::Text(text.to_owned()));
        let summary = "<statistics tod=\"1700000000\" ver=\"v5.5.3\" src=\"h:1094\"></statistics>";
        assert_eq!(text(summary), Some(UNIX_EPOCH + Duration::from_secs(1_700_000_000)));
        for end in 0..summary.find(" ver").unwrap() {
            assert_eq!(text(&summary[..end]), None);
        }
        let far = format!("<statistics tod=\"{}\"", u64::MAX);
        assert!(text(&far).is_none() && text("<statistics tod=\"-1\"").is_none());
        assert_eq!(time_of_day(&Answer::Pong), None);
    }
}
