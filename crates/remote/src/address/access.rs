//! What the caller of one open says about credentials, as part of the address: so it reaches each
//! connection that is opened for the file, friends and chains included, and survives a pickle.
//!
//! The parameters are those of XRootD's client (`xrd.ztn`, `xrd.gsiusrpxy`, `xrd.k5ccname`,
//! `xrd.wantprot`), and two of farroot. They are never sent. Secrets are not among them: a token
//! that is given as such stays in this process, and the address has its number here.
//!
//! Only what a caller writes is looked at for them; what servers and files name is not.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use credentials::{Choice, Kind, TokenFrom};
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};

use crate::display::MEANT;
use crate::error::{Error, ErrorKind, Result};

const TOKEN: &str = "xrd.ztn";
const PROXY: &str = "xrd.gsiusrpxy";
const CACHE: &str = "xrd.k5ccname";
const ORDER: &str = "xrd.wantprot";
const PROFILE: &str = "farroot.s3_profile";
const GIVEN: &str = "farroot.given";

/// What a parameter's value may hold as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// What the caller of one open says about credentials. What is not said is looked for in the usual
/// places.
#[derive(Debug, Clone, Default)]
pub struct CallAccess {
    /// Which credentials.
    pub choice: Choice,
    /// Whether any server is believed to be the one that it is asked for as.
    pub insecure: bool,
}

/// What may not be written into an address: a token, and that servers are not verified.
#[derive(Clone)]
struct Unwritten {
    token: Option<SecretString>,
    insecure: bool,
}

/// Of all calls of this process, each once; the number in an address is the place in it.
static UNWRITTEN: Mutex<Vec<Unwritten>> = Mutex::new(Vec::new());

impl Unwritten {
    fn is(&self, other: &Self) -> bool {
        let text = |one: &Self| one.token.as_ref().map(|token| token.expose_secret().to_owned());
        self.insecure == other.insecure && text(self) == text(other)
    }

    fn number(self) -> usize {
        let mut all = UNWRITTEN.lock();
        let known = all.iter().position(|one| one.is(&self));
        known.unwrap_or_else(|| {
            all.push(self);
            all.len() - 1
        })
    }
}

impl CallAccess {
    /// One address with what this says.
    pub(super) fn attached(&self, address: &str) -> String {
        with(address, &self.parameters())
    }

    /// What tells connections for which this was said from others.
    pub(super) fn parameters(&self) -> String {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let Choice { token, proxy, ccache, s3_profile, order } = &self.choice;
        let (secret, file) = match token {
            None => (None, None),
            Some(TokenFrom::Secret(secret)) => (Some(secret.clone()), None),
            Some(TokenFrom::File(file)) => (None, Some(path(file))),
        };
        let order = order
            .as_ref()
            .map(|order| order.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(","));
        let unwritten = Unwritten { token: secret, insecure: self.insecure };
        let is_said = unwritten.token.is_some() || unwritten.insecure;
        let given = is_said.then(|| unwritten.number().to_string());
        let said = [
            (TOKEN, file),
            (PROXY, proxy.as_deref().map(path)),
            (CACHE, ccache.clone()),
            (PROFILE, s3_profile.clone()),
            (ORDER, order),
            (GIVEN, given),
        ];
        let said = said.into_iter().filter_map(|(name, value)| {
            Some(format!("{name}={}", utf8_percent_encode(&value?, PLAIN)))
        });
        said.collect::<Vec<_>>().join("&")
    }

    /// Takes one parameter; whether it is one of these.
    fn take(&mut self, name: &str, value: &str) -> Result<bool> {
        let wrong = |what: String| Error::new(ErrorKind::InvalidArgument, what);
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
            GIVEN => {
                let number = value.parse::<usize>().ok();
                let known = number.and_then(|number| UNWRITTEN.lock().get(number).cloned());
                let known = known.ok_or_else(|| {
                    wrong("the token of this address was given to another process".to_owned())
                        .with_advice(
                            "give token= a path, or insecure= in the process that reads: neither a \
                             token nor that servers are not verified goes along with a pickle",
                        )
                })?;
                choice.token = known.token.map(TokenFrom::Secret).or(choice.token.take());
                self.insecure = known.insecure;
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
    // For which origin it is meant stands last.
    let (address, meant) = address.split_at(address.find(MEANT).unwrap_or(address.len()));
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{parameters}{meant}")
}

/// What a caller has written, without parameters about credentials, and these.
///
/// # Errors
/// `InvalidArgument` for a value that cannot be understood.
pub(super) fn split(text: &str) -> Result<(Cow<'_, str>, Option<Arc<CallAccess>>)> {
    let is_remote = text.contains("://") && !text.starts_with("file://");
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

    use super::super::{Address, Way, parse, with_access};
    use super::*;

    fn access(token: Option<TokenFrom>) -> CallAccess {
        let (proxy, order) = (Some("/tmp/a proxy&".into()), Some(vec![Kind::X509, Kind::Token]));
        let ccache = Some("FILE:/tmp/cc".to_owned());
        CallAccess {
            choice: Choice { token, proxy, ccache, order, ..Choice::default() },
            insecure: false,
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
        let other = Address::parse("https://h/f?farroot.given=123456").unwrap_err();
        assert!(other.message().contains("another process"), "{other}");
        assert!(Address::parse("https://h/f?xrd.wantprot=sss").is_err());
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
