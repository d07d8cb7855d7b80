//! Which servers have many files, as redirectors of XRootD know it (kXR_locate): one connection to
//! each of these, and on it one question a file, all at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;

use super::network::Network;
use super::one_shot::{ASKED_MAX, Conversation};
use super::{Command, ConnectionEvent, FileLocation, FileRef, RequestTag, Role};
use crate::address::Address;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

/// Questions of one connection that wait for their answers.
const WAITING_MAX: usize = 256;

/// What a question to one server came to.
type Answer = Result<Vec<FileLocation>>;

/// One file, by its position, and whom to ask for it.
struct Question {
    file: usize,
    url: Address,
}

/// What is known of one file.
#[derive(Default)]
struct Found {
    servers: Vec<Address>,
    asked: Vec<Address>,
    failure: Option<Error>,
}

impl Found {
    /// Whether a server is to be asked for the file: none twice, and not one after the other
    /// without end.
    fn asks(&mut self, url: &Address) -> bool {
        let is_new = self.asked.len() < ASKED_MAX && !self.asked.contains(url);
        if is_new {
            self.asked.push(url.clone());
        }
        is_new
    }

    /// Takes what a server says; the redirectors that it names are to be asked, too.
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

    /// One redirector that could not be asked counts only where no other has named a server.
    fn into_servers(self) -> Result<Vec<Address>> {
        match self.failure {
            Some(error) if self.servers.is_empty() && error.kind() != ErrorKind::Unsupported => {
                Err(error)
            }
            _ => Ok(self.servers),
        }
    }
}

/// The addresses at which each file can be read, as its own server says; none where that server
/// does not say it.
///
/// # Errors
/// For each file `NotFound`, or why its server could not be asked.
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

/// Asks one server; the answers by file.
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
/// Why the questions whose answers are lacking got none.
async fn converse(
    questions: &[Question],
    answers: &mut [Option<Answer>],
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<()> {
    let Some(Question { url, .. }) = questions.first() else { return Ok(()) };
    let mut left = questions.iter().enumerate().map(|(number, question)| {
        let url = Arc::new(question.url.clone());
        let file = FileRef { tag: number as u32, url, is_opaque: false };
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
        conversation.renew_patience();
        left.next().into_iter().for_each(|question| conversation.ask(question));
    }
    Ok(())
}
