//! Credentials that a caller names for one call; the others are looked for in the usual places.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use secrecy::SecretString;

/// A kind of credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A bearer token: `ztn` of XRootD, `Authorization: Bearer` of HTTP.
    Token,
    /// An X.509 proxy or certificate: `gsi` of XRootD, a client certificate of HTTPS.
    X509,
    /// A Kerberos ticket: `krb5` of XRootD.
    Kerberos,
    /// An access key of S3.
    S3,
    /// The name of the user, without proof: `unix` and `host` of XRootD.
    Unix,
}

impl Kind {
    /// As farroot's arguments and messages spell it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Token => "token",
            Kind::X509 => "x509",
            Kind::Kerberos => "kerberos",
            Kind::S3 => "s3",
            Kind::Unix => "unix",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    /// Takes XRootD's names of methods, too (`XrdSecPROTOCOL=gsi,krb5`).
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "token" | "ztn" | "bearer" => Ok(Kind::Token),
            "x509" | "gsi" | "proxy" => Ok(Kind::X509),
            "kerberos" | "krb5" => Ok(Kind::Kerberos),
            "s3" => Ok(Kind::S3),
            "unix" | "host" => Ok(Kind::Unix),
            _ => Err(format!(
                "no credential is called {text:?}; there are token (ztn), x509 (gsi), kerberos \
                 (krb5), s3 and unix"
            )),
        }
    }
}

/// A token, or the file that has one.
#[derive(Debug, Clone)]
pub enum TokenFrom {
    /// The token itself.
    Secret(SecretString),
    /// A file with nothing else in it, which is read again for each new connection.
    File(PathBuf),
}

impl PartialEq for TokenFrom {
    fn eq(&self, other: &Self) -> bool {
        use secrecy::ExposeSecret;
        match (self, other) {
            (TokenFrom::Secret(one), TokenFrom::Secret(two)) => {
                one.expose_secret() == two.expose_secret()
            }
            (TokenFrom::File(one), TokenFrom::File(two)) => one == two,
            _ => false,
        }
    }
}

/// The credentials that the caller names; those that are `None` are searched for in the usual
/// places.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    /// The bearer token.
    pub token: Option<TokenFrom>,
    /// A file with a proxy, or with a certificate and its key.
    pub proxy: Option<PathBuf>,
    /// A cache of Kerberos tickets, as `KRB5CCNAME` names one (`FILE:/tmp/x`, `KCM:`).
    pub ccache: Option<String>,
    /// A profile of the files in `~/.aws`.
    pub s3_profile: Option<String>,
    /// Which kinds may be used, the first one first; `None`: any, in the order of the server.
    pub order: Option<Vec<Kind>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_names_of_xrootd_too() {
        for kind in [Kind::Token, Kind::X509, Kind::Kerberos, Kind::S3, Kind::Unix] {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!("gsi".parse(), Ok(Kind::X509));
        assert_eq!("ztn".parse(), Ok(Kind::Token));
        assert_eq!("krb5".parse(), Ok(Kind::Kerberos));
        assert!("sss".parse::<Kind>().unwrap_err().contains("\"sss\""));
    }

    #[test]
    fn a_token_is_not_printed() {
        let choice =
            Choice { token: Some(TokenFrom::Secret("marker-token".into())), ..Choice::default() };
        assert!(!format!("{choice:?}").contains("marker"));
    }
}
