//! Clients' own tokens, and what origins have said about them: an origin decides for each token and
//! each file, and its answer counts for a while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;
use remote::address::{Address, LentToken};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::access::Bearer;

/// Answers that are remembered; beyond, the origin is asked each time.
const ANSWERS_MAX: usize = 50_000;
/// Tokens that are kept in memory for the opens to come; beyond, the least recently used goes.
const TOKENS_MAX: usize = 4096;
/// How long a token is kept after its last use.
const TOKEN_KEPT: Duration = Duration::from_secs(15 * 60);
/// How long a refusal counts: the client may get a right at any moment.
const REFUSAL_KEPT: Duration = Duration::from_secs(5);
/// How often old answers are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// A token, or none, and a file of an origin, as a hash.
type Question = [u8; 32];

/// The answers of all origins. Nothing of it is stored.
#[derive(Debug, Default)]
pub struct OriginAnswers {
    answers: Mutex<Remembered>,
    tokens: Mutex<BTreeMap<[u8; 32], KeptToken>>,
}

#[derive(Debug, Default)]
struct Remembered {
    of: BTreeMap<Question, OriginAnswer>,
    looked: Option<Instant>,
}

/// Whether a client may read a file, and how long that counts.
#[derive(Debug, Clone, Copy)]
struct OriginAnswer {
    may_read: bool,
    until: Instant,
}

#[derive(Debug)]
struct KeptToken {
    token: Arc<LentToken>,
    used: Instant,
}

impl OriginAnswers {
    /// The token for addresses, while it is kept.
    pub fn lent(&self, bearer: &Bearer) -> Arc<LentToken> {
        let now = Instant::now();
        let mut tokens = self.tokens.lock();
        if let Some(kept) = tokens.get_mut(&bearer.hash) {
            kept.used = now;
            return kept.token.clone();
        }
        tokens.retain(|_, kept| kept.used + TOKEN_KEPT > now);
        if tokens.len() >= TOKENS_MAX
            && let Some(oldest) = tokens.iter().min_by_key(|(_, kept)| kept.used)
        {
            let oldest = *oldest.0;
            tokens.remove(&oldest);
        }
        let token = Arc::new(LentToken::new(bearer.secret.clone()));
        tokens.insert(bearer.hash, KeptToken { token: token.clone(), used: now });
        token
    }

    /// What the origin has said about a token and a file, as far as that counts.
    pub fn remembered(&self, bearer: Option<&Bearer>, address: &Address) -> Option<bool> {
        let answers = self.answers.lock();
        let answer = answers.of.get(&question(bearer, address))?;
        (Instant::now() < answer.until).then_some(answer.may_read)
    }

    /// The origin has let a client read a file, which counts so long.
    pub fn allowed(&self, bearer: Option<&Bearer>, address: &Address, kept: Duration) {
        self.remember(question(bearer, address), true, kept);
    }

    /// The origin has refused a client.
    pub fn refused(&self, bearer: Option<&Bearer>, address: &Address) {
        self.remember(question(bearer, address), false, REFUSAL_KEPT);
    }

    fn remember(&self, question: Question, may_read: bool, kept: Duration) {
        let now = Instant::now();
        let mut answers = self.answers.lock();
        let Remembered { of, looked } = &mut *answers;
        if of.len() >= ANSWERS_MAX && looked.is_none_or(|looked| looked + LOOK <= now) {
            *looked = Some(now);
            of.retain(|_, answer| now < answer.until);
        }
        if of.len() < ANSWERS_MAX || of.contains_key(&question) {
            of.insert(question, OriginAnswer { may_read, until: now + kept });
        }
    }
}

fn question(bearer: Option<&Bearer>, address: &Address) -> Question {
    let mut hasher = Sha256::new();
    hasher.update(bearer.map_or([0; 32], |bearer| bearer.hash));
    hasher.update(address.anonymous().as_str());
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_for_one_token_and_one_file_and_ends() {
        let answers = OriginAnswers::default();
        let ada = Bearer::new("ada");
        let bob = Bearer::new("bob");
        let file = address("https://h/f");
        answers.allowed(Some(&ada), &file, Duration::from_secs(60));
        answers.refused(Some(&bob), &file);
        assert_eq!(answers.remembered(Some(&ada), &file), Some(true));
        assert_eq!(answers.remembered(Some(&bob), &file), Some(false));
        assert_eq!(answers.remembered(None, &file), None);
        assert_eq!(answers.remembered(Some(&ada), &address("https://h/g")), None);
        tokio::time::advance(REFUSAL_KEPT).await;
        assert_eq!(answers.remembered(Some(&bob), &file), None);
        assert_eq!(answers.remembered(Some(&ada), &file), Some(true));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(answers.remembered(Some(&ada), &file), None);
    }

    #[tokio::test(start_paused = true)]
    async fn neither_tokens_nor_answers_grow_without_end() {
        let answers = OriginAnswers::default();
        let first = answers.lent(&Bearer::new("first"));
        assert!(Arc::ptr_eq(&first, &answers.lent(&Bearer::new("first"))));
        for number in 0..TOKENS_MAX {
            tokio::time::advance(Duration::from_millis(1)).await;
            answers.lent(&Bearer::new(&number.to_string()));
        }
        assert_eq!(answers.tokens.lock().len(), TOKENS_MAX);
        assert!(!Arc::ptr_eq(&first, &answers.lent(&Bearer::new("first"))));
        for number in 0..=ANSWERS_MAX as u64 {
            let mut question = [0; 32];
            question[..8].copy_from_slice(&number.to_be_bytes());
            answers.remember(question, true, Duration::from_secs(60));
        }
        assert_eq!(answers.answers.lock().of.len(), ANSWERS_MAX);
        tokio::time::advance(Duration::from_secs(61)).await;
        answers.remember([1; 32], true, Duration::from_secs(60));
        assert_eq!(answers.answers.lock().of.len(), 1);
    }
}
