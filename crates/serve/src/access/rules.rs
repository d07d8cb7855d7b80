//! Rules about who may read which files: a list, of which the first for a file counts.

use remote::credentials::x509;

use super::denial::Denial;
use super::issuers::Issuer;
use super::place::{PlacePattern, ServedPlace};
use super::visitor::{Proved, Visitor};

/// A rule as an administrator writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessRule {
    /// The files: `root://*.cern.ch//store` of a proxy, `/store` of a folder.
    pub path: String,
    /// Who may read them: `anyone`, `token`, `user:NAME`, `scope:ISSUER`, `group:ISSUER:/GROUP`,
    /// `subject:ISSUER:NAME`, `principal:NAME@REALM`, `realm:REALM`, `dn:/NAME`, `voms:/GROUP`.
    pub read: Vec<String>,
}

/// Who may read the files of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MayRead {
    Anyone,
    /// Who shows a token of the list.
    Listed,
    /// Every user with a password.
    Users,
    User(String),
    /// Who has a token of this issuer (its number) whose scope has the path.
    Scope(usize),
    Group(usize, String),
    Subject(usize, String),
    /// Who has a ticket of Kerberos with this name.
    Principal(String),
    /// Who has a ticket of Kerberos, and is of this realm.
    Realm(String),
    /// Whose certificate has this name.
    Certificate(String),
    /// Whose proxy has this group or role of VOMS.
    VomsGroup(String),
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    place: PlacePattern,
    readers: Vec<MayRead>,
}

/// The rules of a server, ready to be used.
#[derive(Debug, Clone, Default)]
pub struct AccessRules {
    rules: Vec<Rule>,
    /// Without rules of an administrator: who may read all.
    of_all: Option<Vec<MayRead>>,
}

/// The lists of which rules may speak.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReaderLists {
    pub has_tokens: bool,
    pub has_users: bool,
    /// The server takes tickets of Kerberos.
    pub has_tickets: bool,
    /// Certificates of clients are accepted, and groups of VOMS.
    pub has_certificates: bool,
    pub has_voms: bool,
    /// The files are those of a proxy.
    pub is_far: bool,
}

impl AccessRules {
    /// The rules that an administrator has written; without any, clients of the lists may read all,
    /// and where there is no list, all clients.
    ///
    /// # Errors
    /// A text that names the rule and its fault.
    pub fn new(
        written: &[AccessRule],
        issuers: &[Issuer],
        lists: ReaderLists,
    ) -> Result<Self, String> {
        let has_proofs = lists.has_tickets || lists.has_certificates;
        if written.is_empty() && issuers.is_empty() && !has_proofs {
            let ReaderLists { has_tokens, has_users, .. } = lists;
            let listed = [(has_tokens, MayRead::Listed), (has_users, MayRead::Users)];
            let mut readers: Vec<MayRead> =
                listed.into_iter().filter_map(|(is_there, who)| is_there.then_some(who)).collect();
            if readers.is_empty() {
                readers.push(MayRead::Anyone);
            }
            return Ok(AccessRules { rules: Vec::new(), of_all: Some(readers) });
        }
        if written.is_empty() {
            let whom = match (issuers.is_empty(), lists.has_certificates) {
                (false, _) => "tokens of an issuer",
                (true, true) => "certificates of clients",
                (true, false) => "tickets of clients",
            };
            return Err(format!("no rule names the files that {whom} are for"));
        }
        let mut rules: Vec<Rule> = Vec::new();
        for one in written {
            let place = PlacePattern::parse(&one.path, lists.is_far);
            let place = place.map_err(|why| format!("the path of a rule: {why}"))?;
            if let Some(before) = rules.iter().position(|rule| rule.place.covers(&place)) {
                let before = &written[before].path;
                return Err(format!(
                    "the rule for {} never counts, as that for {before} stands before it",
                    one.path
                ));
            }
            let readers = one.read.iter().map(|text| MayRead::parse(text, issuers, lists));
            let readers = readers.collect::<Result<_, _>>();
            let readers = readers.map_err(|why| format!("the rule for {}: {why}", one.path))?;
            rules.push(Rule { place, readers });
        }
        Ok(AccessRules { rules, of_all: None })
    }

    /// Whether a client may read there now (seconds since 1970): the one decision.
    ///
    /// # Errors
    /// Why not.
    pub fn decide(
        &self,
        visitor: &Visitor,
        place: &ServedPlace,
        issuers: &[Issuer],
        now: u64,
    ) -> Result<(), Denial> {
        let readers = match &self.of_all {
            Some(readers) => readers,
            None => {
                let rule = self.rules.iter().find(|rule| rule.place.behind(place).is_some());
                rule.map_or(&[][..], |rule| &rule.readers)
            }
        };
        if readers.iter().any(|reader| reader.is(visitor, place, issuers, now)) {
            return Ok(());
        }
        Err(visitor.denial(now))
    }

    /// Whether anything may be read without a proof.
    pub fn has_public(&self) -> bool {
        let of_rules = self.rules.iter().flat_map(|rule| &rule.readers);
        self.of_all.iter().flatten().chain(of_rules).any(|reader| *reader == MayRead::Anyone)
    }

    /// Whether everything may be read without a proof.
    pub fn are_open(&self) -> bool {
        self.of_all.as_ref().is_some_and(|readers| readers.contains(&MayRead::Anyone))
    }

    /// Whether an administrator has written some.
    pub fn are_written(&self) -> bool {
        self.of_all.is_none()
    }
}

impl MayRead {
    /// Reads a word of a rule.
    ///
    /// # Errors
    /// A text that names the fault.
    pub fn parse(text: &str, issuers: &[Issuer], lists: ReaderLists) -> Result<Self, String> {
        let unknown = || {
            format!(
                "{text:?} is nobody; there are anyone, token, users, user:NAME, scope:ISSUER, \
                 group:ISSUER:/GROUP, subject:ISSUER:NAME, principal:NAME@REALM, realm:REALM, \
                 dn:/NAME and voms:/GROUP"
            )
        };
        let issuer = |name: &str| {
            let none = || format!("{text:?} names {name:?}, and no issuer is called so");
            issuers.iter().position(|issuer| issuer.name == name).ok_or_else(none)
        };
        let two = |rest: &str| {
            let (of, name) = rest.split_once(':').filter(|(_, name)| !name.is_empty())?;
            Some((issuer(of), name.to_owned()))
        };
        let with = |has: bool, list: &str, reader: MayRead| match has {
            true => Ok(reader),
            false => Err(format!("{text:?}, and there is no list {list:?}")),
        };
        let of_tickets = |reader: MayRead| match lists.has_tickets {
            true => Ok(reader),
            false => Err(format!("{text:?}, and no table [kerberos] names a keytab")),
        };
        match text.split_once(':') {
            None if text == "anyone" => Ok(MayRead::Anyone),
            None if text == "token" => with(lists.has_tokens, "token", MayRead::Listed),
            None if text == "users" => with(lists.has_users, "users", MayRead::Users),
            Some(("user", name)) if !name.is_empty() => {
                with(lists.has_users, "users", MayRead::User(name.to_owned()))
            }
            Some(("scope", name)) => Ok(MayRead::Scope(issuer(name)?)),
            Some(("group", rest)) => {
                let (of, name) = two(rest).ok_or_else(unknown)?;
                Ok(MayRead::Group(of?, name))
            }
            Some(("subject", rest)) => {
                let (of, name) = two(rest).ok_or_else(unknown)?;
                Ok(MayRead::Subject(of?, name))
            }
            Some(("principal", name)) if is_principal(name) => {
                of_tickets(MayRead::Principal(name.to_owned()))
            }
            Some(("realm", realm)) if !realm.is_empty() && !realm.contains('@') => {
                of_tickets(MayRead::Realm(realm.to_owned()))
            }
            Some(("dn", name)) if name.starts_with('/') && name.contains('=') => {
                match lists.has_certificates {
                    true => Ok(MayRead::Certificate(x509::comparable(name))),
                    false => Err(format!("{text:?}, and there is no table \"x509\"")),
                }
            }
            Some(("voms", group)) if group.len() > 1 && group.starts_with('/') => {
                match (lists.has_certificates, lists.has_voms) {
                    (false, _) => Err(format!("{text:?}, and there is no table \"x509\"")),
                    (true, false) => Err(format!("{text:?}, and the folder vomsdir is not there")),
                    (true, true) => Ok(MayRead::VomsGroup(x509::plain_group(group).to_owned())),
                }
            }
            _ => Err(unknown()),
        }
    }

    /// Whether a client is one of them now (seconds since 1970).
    pub fn is(&self, visitor: &Visitor, place: &ServedPlace, issuers: &[Issuer], now: u64) -> bool {
        let token = visitor.token(now);
        match self {
            MayRead::Anyone => true,
            MayRead::Listed => matches!(visitor.proved, Proved::Listed),
            MayRead::Users => matches!(visitor.proved, Proved::User(_)),
            MayRead::User(name) => matches!(&visitor.proved, Proved::User(user) if user == name),
            MayRead::Scope(of) => {
                token.filter(|token| token.issuer == issuers[*of].url).is_some_and(|token| {
                    let bases = &issuers[*of].bases;
                    let within = bases.iter().filter_map(|base| base.behind(place));
                    within.into_iter().any(|path| token.reads.iter().any(|to| path.is_within(to)))
                })
            }
            MayRead::Group(of, name) => token.is_some_and(|token| {
                token.issuer == issuers[*of].url && token.groups.contains(name)
            }),
            MayRead::Subject(of, name) => token.is_some_and(|token| {
                token.issuer == issuers[*of].url && token.subject.as_ref() == Some(name)
            }),
            MayRead::Principal(name) => {
                visitor.ticket(now).is_some_and(|client| client.principal == *name)
            }
            MayRead::Realm(realm) => visitor
                .ticket(now)
                .and_then(|client| client.principal.rsplit_once('@'))
                .is_some_and(|(_, of)| of == realm),
            MayRead::Certificate(name) => {
                let proof = visitor.certificate(now);
                proof.is_some_and(|proof| x509::comparable(&proof.subject) == *name)
            }
            MayRead::VomsGroup(name) => {
                visitor.certificate(now).is_some_and(|proof| proof.has_group(name, now))
            }
        }
    }
}

/// `alice@EXAMPLE.ORG`, `host/a.example.org@EXAMPLE.ORG`.
fn is_principal(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, realm)| !name.is_empty() && !realm.is_empty())
}

#[cfg(test)]
pub mod tests {
    use std::sync::Arc;

    use remote::address::Address;
    use remote::credentials::KerberosClient;

    use super::super::denial::{ProofFault, TokenFault};
    use super::super::issuers::IssuerSettings;
    use super::super::place::PathParts;
    use super::super::token::TokenClaims;
    use super::super::x509::{CertificateFault, CertificateProof, GroupFault};
    use super::*;

    const NOW: u64 = 1_800_000_000;
    /// All that a proxy may have.
    pub const ALL: ReaderLists = ReaderLists {
        has_tokens: true,
        has_users: true,
        has_tickets: true,
        has_certificates: true,
        has_voms: true,
        is_far: true,
    };
    const NONE: ReaderLists = ReaderLists {
        has_tokens: false,
        has_users: false,
        has_tickets: false,
        has_certificates: false,
        has_voms: false,
        is_far: true,
    };

    fn issuer(name: &str, base: &[&str]) -> Issuer {
        let settings = IssuerSettings {
            name: name.to_owned(),
            url: format!("https://{name}"),
            audience: vec!["here".to_owned()],
            base: base.iter().map(|base| (*base).to_owned()).collect(),
            keys: None,
        };
        Issuer::new(&settings, true, None).unwrap()
    }

    fn rules(written: &[(&str, &[&str])]) -> Vec<AccessRule> {
        let rule = |(path, read): &(&str, &[&str])| AccessRule {
            path: (*path).to_owned(),
            read: read.iter().map(|who| (*who).to_owned()).collect(),
        };
        written.iter().map(rule).collect()
    }

    fn token(issuer: &str, reads: &[&str], groups: &[&str]) -> Visitor {
        let claims = TokenClaims {
            issuer: format!("https://{issuer}"),
            subject: Some("ada".to_owned()),
            reads: reads.iter().filter_map(|path| PathParts::escaped(path)).collect(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            expires: NOW + 1,
        };
        Visitor { proved: Proved::Token(Box::new(claims)), ..Visitor::default() }
    }

    fn user(name: &str) -> Visitor {
        Visitor { proved: Proved::User(name.to_owned()), ..Visitor::default() }
    }

    fn far(address: &str) -> ServedPlace {
        ServedPlace::of_far(&Address::parse(address).unwrap())
    }

    #[test]
    fn the_first_rule_decides() {
        let issuers = [issuer("a", &["root://h//eos/a", "https://h/a"]), issuer("b", &["*"])];
        let written: &[(&str, &[&str])] = &[
            ("root://h//eos/a/open", &["anyone"]),
            ("root://h//eos/a", &["scope:a", "group:a:/g", "user:ada"]),
            ("root://h", &["subject:b:ada", "token"]),
            ("https://h", &["users", "scope:b"]),
            ("/metrics", &["users"]),
        ];
        let rules = AccessRules::new(&rules(written), &issuers, ALL).unwrap();
        assert!(rules.has_public() && !rules.are_open());
        let nobody = Visitor::default();
        let listed = Visitor { proved: Proved::Listed, ..Visitor::default() };
        let all = token("a", &["/"], &[]);
        let part = token("a", &["/x/y"], &[]);
        let other = token("b", &["/eos/a"], &["/g"]);
        let group = token("a", &[], &["/g"]);
        let ada = user("ada");
        let bob = user("bob");
        let who: [&Visitor; 8] = [&nobody, &listed, &all, &part, &other, &group, &ada, &bob];
        let y = true;
        let n = false;
        for (place, may) in [
            (far("root://h//eos/a/open/f"), [y, y, y, y, y, y, y, y]),
            (far("root://h//eos/a/openf"), [n, n, y, n, n, y, y, n]),
            (far("root://h//eos/a/x/y/f"), [n, n, y, y, n, y, y, n]),
            (far("root://h//eos/a/x/yy"), [n, n, y, n, n, y, y, n]),
            (far("root://h//eos/ab/f"), [n, y, n, n, y, n, n, n]),
            (far("https://h/eos/a/f"), [n, n, n, n, y, n, y, y]),
            (far("https://h/a/f"), [n, n, n, n, n, n, y, y]),
            (far("root://g//eos/a/open/f"), [n, n, n, n, n, n, n, n]),
            (ServedPlace::Figures, [n, n, n, n, n, n, y, y]),
        ] {
            for (number, visitor) in who.iter().enumerate() {
                let decided = rules.decide(visitor, &place, &issuers, NOW);
                let wanted = match (may[number], number) {
                    (true, _) => Ok(()),
                    (false, 0) => Err(Denial::Unknown(None)),
                    (false, _) => Err(Denial::Forbidden(None)),
                };
                assert_eq!(decided, wanted, "{place:?} {number}");
            }
            // A moment later all tokens have expired.
            let late = rules.decide(&all, &place, &issuers, NOW + 1);
            let of_nobody = rules.decide(&nobody, &place, &issuers, NOW);
            let expired = Denial::Unknown(Some(ProofFault::Token(TokenFault::Expired)));
            assert_eq!(late, of_nobody.map_err(|_| expired), "{place:?}");
        }
    }

    #[test]
    fn tickets_are_known_by_their_whole_names() {
        let written: &[(&str, &[&str])] =
            &[("root://h//a", &["principal:ada@A"]), ("root://h//b", &["realm:A"])];
        let rules = AccessRules::new(&rules(written), &[], ALL).unwrap();
        let owner = |principal: &str, left: u64| {
            let client =
                KerberosClient { principal: principal.to_owned(), expires: NOW - 1 + left };
            Visitor { proved: Proved::Ticket(client), ..Visitor::default() }
        };
        let expired = Err(Denial::Unknown(Some(ProofFault::TicketExpired)));
        let forbidden = Err(Denial::Forbidden(None));
        for (visitor, of_name, of_realm) in [
            (owner("ada@A", 2), Ok(()), Ok(())),
            (owner("ada@A", 1), expired.clone(), expired.clone()),
            (owner("ada/admin@A", 2), forbidden.clone(), Ok(())),
            (owner("ada@B", 2), forbidden.clone(), forbidden.clone()),
            // The library writes an @ of a name as `\@`.
            (owner("ada\\@A@B", 2), forbidden.clone(), forbidden.clone()),
            (user("ada@A"), forbidden.clone(), forbidden.clone()),
        ] {
            for (place, wanted) in [("root://h//a/f", of_name), ("root://h//b/f", of_realm)] {
                let decided = rules.decide(&visitor, &far(place), &[], NOW);
                assert_eq!(decided, wanted, "{visitor:?} {place}");
            }
        }
    }

    #[test]
    fn without_rules_the_lists_decide() {
        let open = AccessRules::new(&[], &[], NONE).unwrap();
        assert!(open.are_open() && open.has_public() && !open.are_written());
        let of_users = ReaderLists { has_users: true, ..NONE };
        let listed = AccessRules::new(&[], &[], of_users).unwrap();
        assert!(!listed.are_open() && !listed.has_public() && !listed.are_written());
        for place in [ServedPlace::Figures, far("root://h//f"), ServedPlace::of_folder(b"/f")] {
            assert_eq!(open.decide(&Visitor::default(), &place, &[], NOW), Ok(()));
            assert_eq!(listed.decide(&user("ada"), &place, &[], NOW), Ok(()));
            assert!(listed.decide(&Visitor::default(), &place, &[], NOW).is_err());
        }
    }

    #[test]
    fn a_rule_that_means_nothing_is_an_error() {
        let issuers = [issuer("a", &[])];
        for (written, why) in [
            (&[][..], "no rule names"),
            (&[("*", &["everyone"][..])][..], "is nobody"),
            (&[("*", &["scope:b"])], "no issuer"),
            (&[("*", &["group:a"])], "is nobody"),
            (&[("*", &["group:a:"])], "is nobody"),
            (&[("*", &["user:"])], "is nobody"),
            (&[("*", &["anyone:x"])], "is nobody"),
            (&[("*", &["principal:ada"])], "is nobody"),
            (&[("*", &["principal:@A"])], "is nobody"),
            (&[("*", &["realm:ada@A"])], "is nobody"),
            (&[("*", &["dn:Ada"])], "is nobody"),
            (&[("*", &["dn:/Ada"])], "is nobody"),
            (&[("*", &["voms:cms"])], "is nobody"),
            (&[("*", &["voms:/"])], "is nobody"),
            (&[("root://a*b", &[])], "a * stands alone"),
            (&[("root://h//a/*", &[])], "for a folder"),
            (&[("https://h/a%2Fb", &[])], "its plain name"),
            (&[("*", &["anyone"]), ("root://h//a", &["token"])], "never counts"),
        ] {
            let error = AccessRules::new(&rules(written), &issuers, ALL).unwrap_err();
            assert!(error.contains(why), "{written:?}: {error}");
        }
        for who in ["token", "users", "user:ada"] {
            let error = AccessRules::new(&rules(&[("*", &[who])]), &issuers, NONE).unwrap_err();
            assert!(error.contains("there is no list"), "{error}");
        }
        for who in ["principal:ada@A", "realm:A"] {
            let error = AccessRules::new(&rules(&[("*", &[who])]), &issuers, NONE).unwrap_err();
            assert!(error.contains("no table [kerberos]"), "{error}");
        }
        let without = ReaderLists { has_certificates: false, ..ALL };
        let no_voms = ReaderLists { has_voms: false, ..ALL };
        for (who, lists, why) in [
            ("dn:/CN=Ada", without, "no table"),
            ("voms:/cms", without, "no table"),
            ("voms:/cms", no_voms, "vomsdir is not there"),
        ] {
            let error = AccessRules::new(&rules(&[("*", &[who])]), &issuers, lists).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(AccessRules::new(&rules(&[("*", &["dn:/CN=Ada"])]), &issuers, no_voms).is_ok());
        assert!(AccessRules::new(&[], &[], no_voms).unwrap_err().contains("certificates of"));
    }

    #[test]
    fn certificates_and_groups_are_readers_until_they_end() {
        let written: &[(&str, &[&str])] = &[
            ("root://h//dn", &["dn:/O=x/Email=a@x/CN=Ada"]),
            ("root://h//cms", &["voms:/cms/Role=NULL"]),
            ("root://h//role", &["voms:/cms/Role=p"]),
        ];
        let rules = AccessRules::new(&rules(written), &[], ALL).unwrap();
        let proof = CertificateProof {
            subject: "/O=x/emailAddress=a@x/CN=Ada".to_owned(),
            groups: vec![("/cms".to_owned(), NOW + 1), ("/cms/Role=p".to_owned(), NOW + 1)],
            group_fault: None,
            expires: NOW + 2,
        };
        let certificate = Some(Arc::new(Ok(proof)));
        let ada = Visitor { certificate, ..Visitor::default() };
        let decide = |folder: &str, now| {
            rules.decide(&ada, &far(&format!("root://h//{folder}/f")), &[], now)
        };
        for folder in ["cms", "role"] {
            assert_eq!(decide(folder, NOW), Ok(()));
            let over = Err(Denial::Forbidden(Some(GroupFault::Expired)));
            assert_eq!(decide(folder, NOW + 1), over);
        }
        assert_eq!(decide("dn", NOW + 1), Ok(()));
        assert_eq!(decide("other", NOW), Err(Denial::Forbidden(None)));
        let expired = ProofFault::Certificate(CertificateFault::Expired);
        assert_eq!(decide("dn", NOW + 2), Err(Denial::Unknown(Some(expired))));
    }
}
