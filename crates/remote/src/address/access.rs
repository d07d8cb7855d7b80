//! A caller's word about credentials, and about where entries are selected, for one open, as part
//! of the address: so it reaches each connection that is opened for the file, friends and chains
//! included, and survives a pickle.
//!
//! The parameters are those of XRootD's client (`xrd.ztn`, `xrd.gsiusrpxy`, `xrd.k5ccname`,
//! `xrd.wantprot`), and some of farroot. They are never sent. Secrets are not among them: a token
//! that is given as such stays in this process, and the address has its number here. So do the
//! tokens, signatures and passwords of an address that goes to other processes.
//!
//! Only addresses that a caller writes are searched for them, none that servers and files name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use credentials::{Choice, Kind, TokenFrom};
use mutex::{Appended, PerProcess};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};

use crate::display::MEANT;
use crate::error::{Error, ErrorKind, Result};
use crate::proofs::{chance, told_apart};
use crate::selecting::Near;

const TOKEN: &str = "xrd.ztn";
const PROXY: &str = "xrd.gsiusrpxy";
const CACHE: &str = "xrd.k5ccname";
const ORDER: &str = "xrd.wantprot";
const PROFILE: &str = "farroot.s3_profile";
const GIVEN: &str = "farroot.given";
const LEFT_OUT: &str = "farroot.left_out";
const NEAR: &str = "farroot.near";
const LENT: &str = "farroot.lent";
const NAMES: [&str; 9] = [TOKEN, PROXY, CACHE, ORDER, PROFILE, GIVEN, LEFT_OUT, NEAR, LENT];
/// Stands for the password of an address among the names of the parts that are left out.
const PASSWORD: &str = "password";

/// Characters that a parameter's value may hold unescaped.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// The credentials that the caller of one open chose. Those that it left open are searched for in
/// the usual places.
#[derive(Debug, Clone, Default)]
pub struct CallAccess {
    /// Which credentials.
    pub choice: Choice,
    /// Whether any server is trusted, without verification of its name.
    pub insecure: bool,
    /// Names of the parameters that another process has left out of the address.
    pub left_out: Vec<String>,
    /// Where entries are selected; `None` as the settings have it.
    pub near: Option<Near>,
    /// The number of the [`LentToken`] that the token is.
    pub lent: Option<String>,
}

/// A token that another user has lent this process, as long as this value lives: addresses have its
/// number, which means nothing afterwards. A token that a caller gives for good stays in memory
/// until the process ends; a server that has one of each of its clients would be full of them.
#[derive(Debug)]
pub struct LentToken {
    number: String,
}

/// Those of this process, by their numbers.
static LENT_TOKENS: PerProcess<BTreeMap<String, SecretString>> = PerProcess::new();

impl LentToken {
    /// Takes a token.
    pub fn new(token: SecretString) -> Self {
        let number = chance();
        LENT_TOKENS.lock().insert(number.clone(), token);
        LentToken { number }
    }

    /// An address that is opened with this token alone.
    pub fn on(&self, address: &str) -> String {
        with(address, &format!("{LENT}={}", self.number))
    }
}

impl Drop for LentToken {
    fn drop(&mut self) {
        LENT_TOKENS.lock().remove(&self.number);
    }
}

/// Parts that may not be written into an address: a token, the choice not to verify servers, and an
/// address as it was before its secrets were removed.
struct Unwritten {
    token: Option<SecretString>,
    insecure: bool,
    address: Option<SecretString>,
}

/// Of all calls of this process, and of those that it was forked from, each once, with the number
/// that addresses have for it. No other process has the number.
static UNWRITTEN: Appended<(String, Unwritten)> = Appended::new();

impl Unwritten {
    fn is(&self, other: &Self) -> bool {
        let text =
            |one: &Option<SecretString>| one.as_ref().map(|it| it.expose_secret().to_owned());
        self.insecure == other.insecure
            && text(&self.token) == text(&other.token)
            && text(&self.address) == text(&other.address)
    }

    fn number(self) -> String {
        let known = |one: &&(String, Unwritten)| one.1.is(&self);
        if let Some((number, _)) = UNWRITTEN.iter().find(known) {
            return number.clone();
        }
        let number = chance();
        UNWRITTEN.push((number.clone(), self));
        number
    }

    fn of(number: &str) -> Option<&'static Unwritten> {
        UNWRITTEN.iter().find(|(known, _)| known == number).map(|(_, unwritten)| unwritten)
    }
}

impl CallAccess {
    /// Where entries are selected, by the caller's word.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is none.
    pub fn near_named(text: &str) -> Result<Near> {
        let wrong = || Error::new(ErrorKind::InvalidArgument, Near::wrong(text));
        Near::named(text).ok_or_else(wrong)
    }

    /// One address with these parameters.
    pub(super) fn attached(&self, address: &str) -> String {
        with(address, &self.parameters())
    }

    /// The parameters of this choice, which tell its connections from others.
    pub(super) fn parameters(&self) -> String {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let Choice { token, proxy, ccache, s3_profile, order } = &self.choice;
        let (secret, file) = match token {
            _ if self.lent.is_some() => (None, None),
            None => (None, None),
            Some(TokenFrom::Secret(secret)) => (Some(secret.clone()), None),
            Some(TokenFrom::File(file)) => (None, Some(path(file))),
        };
        let order = order
            .as_ref()
            .map(|order| order.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(","));
        let unwritten = Unwritten { token: secret, insecure: self.insecure, address: None };
        let is_said = unwritten.token.is_some() || unwritten.insecure;
        let given = is_said.then(|| unwritten.number());
        let left_out = (!self.left_out.is_empty()).then(|| self.left_out.join(","));
        let said = [
            (TOKEN, file),
            (PROXY, proxy.as_deref().map(path)),
            (CACHE, ccache.clone()),
            (PROFILE, s3_profile.clone()),
            (ORDER, order),
            (GIVEN, given),
            (LEFT_OUT, left_out),
            (NEAR, self.near.as_ref().map(Near::shown)),
            (LENT, self.lent.clone()),
        ];
        let said = said.into_iter().filter_map(|(name, value)| {
            Some(format!("{name}={}", utf8_percent_encode(&value?, PLAIN)))
        });
        said.collect::<Vec<_>>().join("&")
    }

    /// Takes one parameter; whether it is one of these.
    fn take(&mut self, name: &str, value: &str) -> Result<bool> {
        let wrong = |message: String| Error::new(ErrorKind::InvalidArgument, message);
        let value = percent_decode_str(value).decode_utf8();
        let value = value.map_err(|_| wrong(format!("the value of {name} is no text")))?;
        let choice = &mut self.choice;
        match name {
            TOKEN => choice.token = Some(TokenFrom::File(PathBuf::from(&*value))),
            PROXY => choice.proxy = Some(PathBuf::from(&*value)),
            CACHE => choice.ccache = Some(value.into_owned()),
            PROFILE => choice.s3_profile = Some(value.into_owned()),
            ORDER => {
                let names = value.split(',').filter(|name| !name.is_empty());
                let order: std::result::Result<Vec<Kind>, String> = names.map(str::parse).collect();
                choice.order = Some(order.map_err(wrong)?);
            }
            GIVEN => match Unwritten::of(&value) {
                Some(known) => {
                    let token = known.token.clone().map(TokenFrom::Secret);
                    choice.token = token.or(choice.token.take());
                    self.insecure = known.insecure;
                }
                // Of another process: this one verifies the server, and shows it its own
                // credentials.
                None if self.left_out.is_empty() => self.left_out.push("token".into()),
                None => {}
            },
            LEFT_OUT => self.left_out.extend(value.split(',').map(str::to_owned)),
            LENT => {
                let token = LENT_TOKENS.lock().get(&*value).cloned();
                match token {
                    Some(token) => self.choice.token = Some(TokenFrom::Secret(token)),
                    None => self.left_out.push("token".into()),
                }
                self.lent = Some(value.into_owned());
            }
            NEAR => {
                self.near = Some(CallAccess::near_named(&value)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// An address with further parameters; a path on a disk has none.
fn with(address: &str, parameters: &str) -> String {
    let is_remote = address.contains("://") && !address.starts_with("file://");
    if !is_remote || parameters.is_empty() {
        return address.to_owned();
    }
    // The origin for which it is meant stands last.
    let (address, meant) = address.split_at(address.find(MEANT).unwrap_or(address.len()));
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{parameters}{meant}")
}

/// One address without the parameters that are never sent.
pub(super) fn plain(address: &str) -> String {
    let (written, meant) = address.split_at(address.find(MEANT).unwrap_or(address.len()));
    let is_remote = written.contains("://") && !written.starts_with("file://");
    let Some((bare, query)) = written.split_once('?').filter(|_| is_remote) else {
        return address.to_owned();
    };
    let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_owned();
    let is_sent = |parameter: &&str| !NAMES.contains(&&*name(parameter));
    let sent: Vec<&str> = query.split('&').filter(is_sent).collect();
    match sent.is_empty() {
        true => format!("{bare}{meant}"),
        false => format!("{bare}?{}{meant}", sent.join("&")),
    }
}

/// One address without password, tokens and signatures, with a number by which this process finds
/// them again.
pub(super) fn left_out(address: &str) -> String {
    let is_remote = address.contains("://") && !address.starts_with("file://");
    let Some((scheme, rest)) = address.split_once("://").filter(|_| is_remote) else {
        return address.to_owned();
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = place.find('/').unwrap_or(place.len());
    let (authority, path) = place.split_at(host);
    let mut names: Vec<&str> = Vec::new();
    let authority =
        match authority.rsplit_once('@').map(|(user, host)| (user.split_once(':'), host)) {
            Some((Some((user, _)), host)) => {
                names.push(PASSWORD);
                format!("{user}@{host}")
            }
            _ => authority.to_owned(),
        };
    let (query, meant) = query.split_at(query.find(MEANT).unwrap_or(query.len()));
    let (told, proofs) = told_apart(query);
    names.extend(proofs.iter().map(|proof| proof.split('=').next().unwrap_or_default()));
    if names.is_empty() {
        return address.to_owned();
    }
    let whole = Unwritten { token: None, insecure: false, address: Some(address.into()) };
    let names = utf8_percent_encode(&names.join(","), PLAIN).to_string();
    let said = [format!("{LEFT_OUT}={names}"), format!("{GIVEN}={}", whole.number())];
    let told = told.into_iter().filter(|part| !part.is_empty()).map(str::to_owned);
    let query: Vec<String> = told.chain(said).collect();
    format!("{scheme}://{authority}{path}?{}{meant}", query.join("&"))
}

/// The whole address from which secrets were left out when it went to other processes, with the
/// parameters about credentials that were added since; `None` in those processes.
pub(super) fn whole(address: &str) -> Option<String> {
    let (_, query) = address.split_once('?')?;
    let said: Vec<&str> = query.split(['&', '#']).collect();
    let known =
        |one: &&str| Unwritten::of(one.strip_prefix(GIVEN)?.strip_prefix('=')?)?.address.as_ref();
    let known = said.iter().find_map(|one| known(one).map(|whole| (*one, whole.expose_secret())));
    let (number, whole) = known?;
    let is_since = |one: &&&str| {
        let is_said = NAMES.iter().any(|name| one.starts_with(name));
        is_said && **one != number && !one.starts_with(LEFT_OUT) && !whole.contains(**one)
    };
    let since: Vec<&str> = said.iter().filter(is_since).copied().collect();
    Some(with(whole, &since.join("&")))
}

/// The address that a caller has written without its parameters about credentials, and these.
///
/// # Errors
/// `InvalidArgument` for a value that cannot be understood.
pub(super) fn split(text: &str) -> Result<(Cow<'_, str>, Option<Arc<CallAccess>>)> {
    let is_remote = text.contains("://") && !text.starts_with("file://");
    if let Some(whole) = is_remote.then(|| whole(text)).flatten() {
        let split = split(&whole)?;
        return Ok((split.0.into_owned().into(), split.1));
    }
    let (plain, meant) = text.split_at(text.find(MEANT).unwrap_or(text.len()));
    let Some((bare, query)) = plain.split_once('?').filter(|_| is_remote) else {
        return Ok((text.into(), None));
    };
    let mut access = CallAccess::default();
    let mut rest = Vec::new();
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if !access.take(name, value)? {
            rest.push(parameter);
        }
    }
    if rest.len() == query.split('&').count() {
        return Ok((text.into(), None));
    }
    let bare = match rest.is_empty() {
        true => format!("{bare}{meant}"),
        false => format!("{bare}?{}{meant}", rest.join("&")),
    };
    Ok((bare.into(), Some(Arc::new(access))))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use secrecy::ExposeSecret;

    use super::super::{Address, Way, for_others, parse, with_access};
    use super::*;

    fn access(token: Option<TokenFrom>) -> CallAccess {
        let proxy = Some("/tmp/a proxy&".into());
        let order = Some(vec![Kind::X509, Kind::Token]);
        let ccache = Some("FILE:/tmp/cc".to_owned());
        CallAccess {
            choice: Choice { token, proxy, ccache, order, ..Choice::default() },
            ..CallAccess::default()
        }
    }

    #[test]
    fn what_was_said_goes_with_the_address_and_not_to_the_server() {
        let said = access(Some(TokenFrom::File("/run/bt".into())));
        for url in ["root://h//f?x=1", "https://h/f", "roots://h//f?a&b=%26", "http://h/f?"] {
            let address = Address::parse(&with_access(url, &said)).unwrap();
            let plain = Address::parse(url).unwrap();
            assert_eq!(
                address.query().filter(|q| !q.is_empty()),
                plain.query().filter(|q| !q.is_empty())
            );
            assert_eq!(address.to_string(), plain.to_string());
            assert_ne!(address.server_key(), plain.server_key());
            let again = Address::parse(address.as_str()).unwrap();
            let choice = &again.access().unwrap().choice;
            assert!(
                matches!(&choice.token, Some(TokenFrom::File(path)) if path == Path::new("/run/bt"))
            );
            assert_eq!(choice.proxy.as_deref(), Some(Path::new("/tmp/a proxy&")));
            assert_eq!(choice.ccache.as_deref(), Some("FILE:/tmp/cc"));
            assert_eq!(choice.order, Some(vec![Kind::X509, Kind::Token]));
        }
        assert_eq!(with_access("/tmp/f.root", &said), "/tmp/f.root");
        let several = with_access("root://a//f|https://b/f", &said);
        assert_eq!(parse(&several).unwrap().iter().filter(|a| a.access().is_some()).count(), 2);
    }

    #[test]
    fn a_plain_address_has_no_word_of_the_caller() {
        for (written, plain) in [
            ("http://h/f?farroot.near=on", "http://h/f"),
            ("http://h/f?a=1&farroot.near=on&b", "http://h/f?a=1&b"),
            ("http://h/f?a=1", "http://h/f?a=1"),
            ("root://h//f?xrd.wantprot=ztn|root://g//f", "root://h//f|root://g//f"),
            ("/disk/f?farroot.near=on", "/disk/f?farroot.near=on"),
        ] {
            assert_eq!(super::super::plain(written), plain);
        }
        let said = access(Some(TokenFrom::Secret("secret".to_owned().into())));
        assert_eq!(super::super::plain(&with_access("https://h/f?x=1", &said)), "https://h/f?x=1");
    }

    #[test]
    fn a_lent_token_means_nothing_once_it_is_given_back() {
        let lent = LentToken::new("marker-token".into());
        let text = lent.on("https://h/f?x=1");
        assert!(!text.contains("marker") && !format!("{lent:?}").contains("marker"), "{text}");
        let address = Address::parse(&text).unwrap();
        assert!(address.is_lent() && address.query() == Some("x=1"));
        let secret = |address: &Address| match &address.access().unwrap().choice.token {
            Some(TokenFrom::Secret(token)) => Some(token.expose_secret().to_owned()),
            _ => None,
        };
        assert_eq!(secret(&address).as_deref(), Some("marker-token"));
        assert_eq!(address.as_str(), text);
        let other = LentToken::new("marker-token".into());
        let other = Address::parse(&other.on("https://h/f")).unwrap();
        assert_ne!(address.server_key(), other.server_key(), "connections are not shared");
        drop(lent);
        // What is open keeps it, and nothing new gets it.
        assert_eq!(secret(&address).as_deref(), Some("marker-token"));
        let later = Address::parse(&text).unwrap();
        assert!(secret(&later).is_none() && later.access().unwrap().left_out == ["token"]);
    }

    #[test]
    fn a_token_is_not_in_the_address_and_means_nothing_elsewhere() {
        let said = access(Some(TokenFrom::Secret("marker-token".into())));
        let text = with_access("https://h/f", &said);
        assert!(!text.contains("marker"), "{text}");
        assert_eq!(text, with_access("https://h/f", &said));
        let address = Address::parse(&text).unwrap();
        assert!(!format!("{address:?} {}", address.server_key()).contains("marker"));
        let token = address.access().unwrap().choice.token.as_ref();
        assert!(
            matches!(token, Some(TokenFrom::Secret(token)) if token.expose_secret() == "marker-token")
        );
        let other = Address::parse("https://h/f?farroot.given=123456").unwrap();
        let access = other.access().unwrap();
        assert!(access.choice.token.is_none() && access.left_out == ["token"]);
        assert!(Address::parse("https://h/f?xrd.wantprot=sss").is_err());
    }

    /// A pickle of a file had the token in its address.
    #[test]
    fn other_processes_get_no_proof_and_this_one_finds_it_again() {
        for (text, told, names) in [
            ("root://h:1094//f?x=1&authz=marker:a/b", "root://h:1094//f?x=1", "authz"),
            ("https://a:marker@h/f", "https://a@h/f", "password"),
            (
                "https://h/f?X-Amz-Date=1&X-Amz-Signature=marker&id=1",
                "https://h/f?id=1",
                "X-Amz-Date,X-Amz-Signature",
            ),
            ("s3://b/k?farroot.s3_profile=p&sig=marker", "s3://b/k?farroot.s3_profile=p", "sig"),
        ] {
            let others = for_others(text);
            assert!(!others.contains("marker") && others.starts_with(told), "{others}");
            assert_eq!(for_others(&others), others);
            let here = split(&others).unwrap();
            let plain = split(text).unwrap();
            assert_eq!((here.0, here.1.is_some()), (plain.0, plain.1.is_some()));
            let (elsewhere, _) = others.split_once("&farroot.given").unwrap_or((&others, ""));
            let (_, access) = split(elsewhere).unwrap();
            assert_eq!(access.unwrap().left_out, names.split(',').collect::<Vec<_>>());
        }
        for plain in ["/tmp/f?authz=1", "root://h//f?x=1", "https://a@h/f", "f.root"] {
            assert_eq!(for_others(plain), plain);
        }
        let said = access(Some(TokenFrom::Secret("marker".into())));
        let both = with_access(&for_others("https://h/f?sig=marker"), &said);
        for both in [for_others(&both), for_others(&with_access("https://h/f?sig=marker", &said))] {
            let (bare, access) = split(&both).unwrap();
            assert!(bare.ends_with("?sig=marker") && !both.contains("marker"), "{both}");
            assert!(access.unwrap().choice.token.is_some());
        }
        let several = for_others("root://a//f?authz=marker|https://b/f?sig=marker");
        assert!(!several.contains("marker") && parse(&several).unwrap().len() == 2, "{several}");
    }

    #[test]
    fn where_an_address_leads_takes_it_along_and_brings_none() {
        let said = CallAccess { insecure: true, ..CallAccess::default() };
        let from = Address::parse(&with_access("root://h//d/f?x=1", &said)).unwrap();
        let to = from.led_to("root://g//d/f?xrd.ztn=/etc/token", Way::Redirect).unwrap();
        assert!(to.access().unwrap().insecure && to.access().unwrap().choice.token.is_none());
        assert_eq!(to.query(), Some("xrd.ztn=/etc/token"));
        assert!(from.with_query(Some("y=2")).access().is_some());
        assert!(from.beside("g").unwrap().access().is_some());
        assert_eq!(from.child("g").unwrap().query(), Some("x=1"));
        assert!(from.child("g").unwrap().as_str().contains("farroot.given"));
        let mention = from.led_to("root://g//other", Way::Mention).unwrap();
        assert!(mention.access().is_none());
        let friend = from.led_to("root://h//other", Way::Mention).unwrap();
        assert!(friend.access().is_some());
        assert!(from.anonymous().access().is_none());
    }
}
