//! Attribute certificates as VOMS servers write them, in a small DER.

use std::ops::Range;

use super::der::{ALGORITHM, element, sequence, signed};
use super::grid::Party;

/// 1.3.6.1.4.1.8005.100.100.
const VOMS: &[u8] = &[0x2b, 6, 1, 4, 1, 0xbe, 0x45, 100, 100];
const TARGETS: &[u8] = &[0x55, 0x1d, 55];

/// The content of an attribute certificate.
#[derive(Debug, Clone)]
pub struct Attributes {
    pub holder: Vec<u8>,
    pub serial: Vec<u8>,
    pub issuer: Vec<u8>,
    pub years: Range<i32>,
    pub address: String,
    pub groups: Vec<String>,
    pub certificates: Vec<Vec<u8>>,
    pub targets: bool,
}

fn identifier(last: u8) -> Vec<u8> {
    element(0x06, &[VOMS, &[last]])
}

/// The content of the extension of a proxy.
pub fn extension(attributes: &[Vec<u8>]) -> Vec<u8> {
    sequence(&[&sequence(&[&attributes.concat()])])
}

impl Attributes {
    /// The certificate, signed by a server.
    pub fn signed(&self, server: &Party) -> Vec<u8> {
        signed(&self.content(), server)
    }

    fn content(&self) -> Vec<u8> {
        let named = |name: &[u8]| sequence(&[&element(0xa4, &[name])]);
        let serial = element(0x02, &[&self.serial]);
        let holder = sequence(&[&element(0xa0, &[&named(&self.holder), &serial])]);
        let issuer = element(0xa0, &[&named(&self.issuer)]);
        let time = |year: i32| element(0x18, &[format!("{year}0101000000Z").as_bytes()]);
        let validity = sequence(&[&time(self.years.start), &time(self.years.end)]);
        let address = element(0xa0, &[&element(0x86, &[self.address.as_bytes()])]);
        let groups: Vec<Vec<u8>> =
            self.groups.iter().map(|group| element(0x04, &[group.as_bytes()])).collect();
        let values = sequence(&[&address, &sequence(&[&groups.concat()])]);
        let attribute = sequence(&[&identifier(4), &element(0x31, &[&values])]);
        let certificates = sequence(&[&sequence(&[&self.certificates.concat()])]);
        let mut extensions = sequence(&[&identifier(10), &element(0x04, &[&certificates])]);
        if self.targets {
            let value = element(0x04, &[&sequence(&[])]);
            let critical = [1, 1, 0xff];
            extensions.extend(sequence(&[&element(0x06, &[TARGETS]), &critical, &value]));
        }
        sequence(&[
            &[2, 1, 1],
            &holder,
            &issuer,
            &sequence(&[ALGORITHM]),
            &[2, 1, 9],
            &validity,
            &sequence(&[&attribute]),
            &sequence(&[&extensions]),
        ])
    }
}
