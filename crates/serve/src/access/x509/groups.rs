//! Groups and roles that VOMS servers vouch for.

use std::fmt;
use std::path::Path;

use remote::credentials::x509::{
    AttributeCertificate, ServerNames, Signed, are_same, attribute_certificates, is_plain,
    one_line, plain_group,
};

use super::chain::{Shown, SortedChain, seconds, verify};
use super::trust::{Purpose, ReadTrust};
use super::{CertificateFault, SKEW};

/// The longest file of names of servers that is read.
const NAMES_BYTES_MAX: u64 = 64 << 10;

/// Why groups and roles of a proxy do not count. The words repeat nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupFault {
    Malformed,
    /// They are those of another user.
    Holder,
    /// No file lists the server.
    Server,
    /// The certificate of the server is not accepted.
    Authority,
    Signature,
    /// A group of another organisation than the server's.
    Organisation,
    /// For other servers than this one.
    Target,
    Expired,
    Early,
}

/// The groups of a chain that count now (seconds since 1970), each with its end, and why others do
/// not. Those of the proxy that is the nearest to the client are looked at. Reads files.
pub fn groups(
    chain: &SortedChain<'_>,
    trust: &ReadTrust,
    now: u64,
) -> (Vec<(String, u64)>, Option<GroupFault>) {
    let extension = chain.proxies.iter().find_map(|proxy| proxy.link.attributes.as_ref());
    let Some(extension) = extension else { return (Vec::new(), None) };
    let Some(found) = attribute_certificates(extension) else {
        return (Vec::new(), Some(GroupFault::Malformed));
    };
    let mut groups = Vec::new();
    let mut fault = None;
    for one in &found {
        match groups_of(one, &chain.user, trust, now) {
            Ok(more) => groups.extend(more),
            Err(why) => fault = fault.or(Some(why)),
        }
    }
    (groups, fault)
}

fn groups_of(
    one: &AttributeCertificate,
    user: &Shown<'_>,
    trust: &ReadTrust,
    now: u64,
) -> Result<Vec<(String, u64)>, GroupFault> {
    let user = &user.link;
    // VOMS has the holder's own name where RFC 5755 has that of the holder's authority.
    let is_holder = [&user.subject, &user.issuer].iter().any(|name| are_same(name, &one.holder));
    if !is_holder || user.serial != one.holder_serial {
        return Err(GroupFault::Holder);
    }
    let (from, until) = one.validity;
    if now >= seconds(until) {
        return Err(GroupFault::Expired);
    }
    if seconds(from) > now.saturating_add(SKEW) {
        return Err(GroupFault::Early);
    }
    if one.has_targets || one.has_unknown {
        return Err(GroupFault::Target);
    }
    let server_until = check_server(one, trust, now)?;
    let until = seconds(until).min(server_until);
    let prefix = format!("/{}", one.organisation);
    let is_own = |group: &str| {
        group.strip_prefix(&prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if !one.groups.iter().all(|group| is_own(group)) {
        return Err(GroupFault::Organisation);
    }
    Ok(one.groups.iter().map(|group| (plain_group(group).to_owned(), until)).collect())
}

/// Whether a listed server has signed, and until when its certificate is valid.
fn check_server(
    one: &AttributeCertificate,
    trust: &ReadTrust,
    now: u64,
) -> Result<u64, GroupFault> {
    let chain = SortedChain::of(&one.certificates).map_err(|_| GroupFault::Malformed)?;
    let server = &chain.user.link;
    let is_named = is_plain(&server.subject) && are_same(&server.subject, &one.issuer);
    if !chain.proxies.is_empty() || !is_named {
        return Err(GroupFault::Server);
    }
    let names = listed(trust.vomsdir(), &one.organisation, &one.host);
    let all = [&chain.user].into_iter().chain(&chain.rest);
    let lines: Vec<(String, String)> =
        all.map(|shown| (one_line(&shown.link.subject), one_line(&shown.link.issuer))).collect();
    if !names.is_some_and(|names| names.have(&lines)) {
        return Err(GroupFault::Server);
    }
    trust.check(&chain.user, &chain.rest, Purpose::Any, now).map_err(|fault| match fault {
        CertificateFault::Expired => GroupFault::Expired,
        _ => GroupFault::Authority,
    })?;
    let signed = Signed::parse(&one.der).ok_or(GroupFault::Malformed)?;
    verify(&signed, &server.public_key).map_err(|_| GroupFault::Signature)?;
    Ok(chain.expires())
}

/// The names of a server of an organisation. Both are parts of a path only if they can be no other.
fn listed(folder: &Path, organisation: &str, host: &str) -> Option<ServerNames> {
    let is_name = |name: &str| {
        let mut letters = name.bytes();
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        name.len() <= 255 && !name.starts_with('.') && !name.is_empty() && letters.all(is_letter)
    };
    if !is_name(organisation) || !is_name(host) {
        return None;
    }
    let path = folder.join(organisation).join(format!("{host}.lsc"));
    let facts = std::fs::metadata(&path).ok()?;
    if !facts.is_file() || facts.len() > NAMES_BYTES_MAX {
        return None;
    }
    Some(ServerNames::parse(&std::fs::read_to_string(&path).ok()?))
}

impl fmt::Display for GroupFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GroupFault::Malformed => "the VOMS attributes of the proxy are malformed",
            GroupFault::Holder => "the VOMS attributes of the proxy are those of another user",
            GroupFault::Server => "the VOMS attributes are of a server that is not listed here",
            GroupFault::Authority => "the certificate of the VOMS server is not accepted here",
            GroupFault::Signature => "the signature of the VOMS attributes is wrong",
            GroupFault::Organisation => {
                "the VOMS attributes name a group of another organisation than their server's"
            }
            GroupFault::Target => "the VOMS attributes are for other servers",
            GroupFault::Expired => "the VOMS attributes of the proxy have expired",
            GroupFault::Early => "the VOMS attributes of the proxy are not valid yet",
        })
    }
}
