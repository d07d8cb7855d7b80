//! The servers that have each of many files, by kXR_locate: one connection to each server, and on
//! it one request a file, up to 256 at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;

use super::network::Network;
use super::one_shot::Conversation;
use super::{Command, ConnectionEvent, FileLocation, FileRef, RequestTag, Role};
use crate::address::{Address, FileUse};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

/// Maximum of unanswered requests on one connection.
const WAITING_MAX: usize = 256;
/// Maximum of servers in the search for one file: a federation's redirector names those of its
/// regions, and these name those of their sites.
const ASKED_MAX: usize = 32;

/// The locations that a server names, or its error.
type Answer = Result<Vec<FileLocation>>;

/// One file, by its position, at the address of the server to ask.
struct Question {
    file: usize,
    url: Address,
}

/// The known locations of one file.
#[derive(Default)]
struct Found {
    servers: Vec<Address>,
    asked: Vec<Address>,
    failure: Option<Error>,
}

impl Found {
    /// Whether to ask a server for the file: not twice, and at most [`ASKED_MAX`] servers. Records
    /// a server for the search, and the error where there are more.
    fn asks(&mut self, url: &Address) -> bool {
        if self.asked.contains(url) {
            return false;
        }
        if self.asked.len() == ASKED_MAX {
            let text = format!("more than {ASKED_MAX} redirectors are named for this file");
            let error = Error::new(ErrorKind::LimitReached, text)
                .with_url(url.to_string())
                .with_advice("name a redirector that is nearer to the file's servers");
            // Instead of an earlier error: a server beyond them may have the file.
            self.failure = Some(error);
            return false;
        }
        self.asked.push(url.clone());
        true
    }

    /// Adds the servers, or the error, of an answer. Returns the redirectors to ask next.
    fn take(&mut self, answer: Answer) -> Vec<Address> {
        let places = answer.unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            Vec::new()
        });
        let mut redirectors = Vec::new();
        for FileLocation { url, role } in places {
            match role {
                Role::Server if !self.servers.contains(&url) => self.servers.push(url),
                Role::Manager => redirectors.push(url),
                Role::Server | Role::Metalink => {}
            }
        }
        redirectors
    }

    /// The servers of the file, or none where kXR_locate is not supported.
    ///
    /// # Errors
    /// The first error of a server, where no other one has named a server.
    fn into_servers(self) -> Result<Vec<Address>> {
        match self.failure {
            Some(error) if self.servers.is_empty() && error.kind() != ErrorKind::Unsupported => {
                Err(error)
            }
            _ => Ok(self.servers),
        }
    }
}

/// The addresses at which each file can be read, as the server of its address names them; none
/// where that server does not support kXR_locate.
///
/// # Errors
/// For each file `NotFound`, or the error of the request; `LimitReached` where no server is named
/// and more than [`ASKED_MAX`] redirectors are.
pub async fn locate_all(
    files: Vec<Address>,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Vec<Result<Vec<Address>>> {
    let mut found: Vec<Found> = files.iter().map(|_| Found::default()).collect();
    let mut questions: Vec<Question> =
        files.into_iter().enumerate().map(|(file, url)| Question { file, url }).collect();
    while !questions.is_empty() {
        let mut by_server: BTreeMap<String, Vec<Question>> = BTreeMap::new();
        for question in questions.drain(..).filter(|one| found[one.file].asks(&one.url)) {
            by_server.entry(question.url.server_key()).or_default().push(question);
        }
        let asked = by_server.into_values().map(|of_server| ask(of_server, config, network));
        for (file, answer) in join_all(asked).await.into_iter().flatten() {
            let redirectors = found[file].take(answer).into_iter();
            questions.extend(redirectors.map(|url| Question { file, url }));
        }
    }
    found.into_iter().map(Found::into_servers).collect()
}

/// Asks one server. Returns an answer to each request, with the file's position.
async fn ask(
    questions: Vec<Question>,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Vec<(usize, Answer)> {
    let mut answers: Vec<Option<Answer>> = questions.iter().map(|_| None).collect();
    let lost = converse(&questions, &mut answers, config, network).await.err();
    let lost = lost.unwrap_or_else(|| Error::new(ErrorKind::Connection, "a question was lost"));
    let answered = questions.iter().zip(answers);
    answered
        .map(|(question, answer)| (question.file, answer.unwrap_or_else(|| Err(lost.clone()))))
        .collect()
}

/// # Errors
/// The error of the connection, for the requests that are still unanswered.
async fn converse(
    questions: &[Question],
    answers: &mut [Option<Answer>],
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<()> {
    let Some(Question { url, .. }) = questions.first() else { return Ok(()) };
    let mut left = questions.iter().enumerate().map(|(number, question)| {
        let url = Arc::new(question.url.clone());
        let file = FileRef { tag: number as u32, url, file_use: FileUse::Decoded };
        Command::Locate { request: RequestTag(number as u64), file }
    });
    let first: Vec<Command> = left.by_ref().take(WAITING_MAX).collect();
    let mut conversation = Conversation::begin(url, first, config, network.clone())?;
    let mut named: BTreeMap<RequestTag, Vec<FileLocation>> = BTreeMap::new();
    let mut unanswered = questions.len();
    while unanswered > 0 {
        let (request, answer) = match conversation.next().await? {
            ConnectionEvent::Located { request, locations } => {
                named.entry(request).or_default().extend(locations);
                continue;
            }
            ConnectionEvent::Done { request } => {
                (request, Ok(named.remove(&request).unwrap_or_default()))
            }
            ConnectionEvent::Redirected { request, url } => {
                (request, Ok(vec![FileLocation { url, role: Role::Manager }]))
            }
            ConnectionEvent::Failed { request, error } => (request, Err(error)),
            _ => continue,
        };
        answers[request.0 as usize] = Some(answer);
        unanswered -= 1;
        conversation.renew_deadline();
        left.next().into_iter().for_each(|question| conversation.ask(question));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(role: Role, hosts: std::ops::Range<usize>) -> Answer {
        let place = |host| {
            let url = Address::parse(&format!("root://host{host}//f")).unwrap();
            FileLocation { url, role }
        };
        Ok(hosts.map(place).collect())
    }

    /// Regression: the search ended after four servers, and a file whose servers only a fifth one
    /// knows had none, without an error.
    #[test]
    fn a_file_with_more_redirectors_than_are_asked_has_an_error_that_says_so() {
        let mut found = Found::default();
        let redirectors = found.take(places(Role::Manager, 0..ASKED_MAX + 1));
        let asked = redirectors.iter().filter(|url| found.asks(url)).count();
        assert_eq!(asked, ASKED_MAX);
        assert!(!found.asks(&redirectors[0]), "not twice");
        found.take(Err(Error::new(ErrorKind::Unsupported, "no kXR_locate")));
        let error = found.into_servers().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitReached, "{error}");
        assert!(error.to_string().contains("more than 32 redirectors"), "{error}");
    }

    #[test]
    fn servers_that_are_named_count_more_than_redirectors_that_were_not_asked() {
        let mut found = Found::default();
        let redirectors = found.take(places(Role::Manager, 0..ASKED_MAX + 1));
        assert!(!redirectors.iter().all(|url| found.asks(url)));
        assert!(found.take(places(Role::Server, 100..102)).is_empty());
        assert_eq!(found.into_servers().unwrap().len(), 2);
    }
}
