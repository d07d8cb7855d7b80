//! X.509 certificates and their keys, as a grid user has them: an RFC 3820 proxy in one file, or
//! certificate and key in two.

mod attributes;
mod certificate;
mod chain;
mod der;
mod identity;
mod key;
mod lookup;
mod names;
mod pem;
mod revocation;

pub use attributes::{AttributeCertificate, ServerNames, attribute_certificates, plain_group};
pub use certificate::Certificate;
pub use chain::{ChainLink, LinkKind, ProxyInfo, Signed, key_parts};
pub use identity::Identity;
pub use key::{KeyForm, PublicKey};
pub(crate) use lookup::{find, sources, take};
pub use names::{are_same, comparable, hashes, is_extension, is_plain, one_line};
pub use pem::{certificates, text_of};
pub use revocation::{revocation_lists, revocations};
