//! PEM (RFC 7468): blocks of base64 among any other text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

/// One block.
pub(super) struct Block {
    /// `CERTIFICATE`, `RSA PRIVATE KEY`, ...
    pub label: String,
    /// Whether its headers declare it encrypted (RFC 1421).
    pub encrypted: bool,
    /// The content; `None` where it is no base64.
    pub der: Option<Zeroizing<Vec<u8>>>,
}

/// The blocks of a file, in its order. Text between them is left out, and so is one that does not
/// end.
pub(super) fn blocks(text: &[u8]) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<(String, bool, Zeroizing<Vec<u8>>)> = None;
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let line = line.trim_ascii();
        if let Some(label) = marker(line, b"-----BEGIN ") {
            open = Some((label, false, Zeroizing::new(Vec::with_capacity(text.len()))));
        } else if let Some(label) = marker(line, b"-----END ") {
            if let Some((begun, encrypted, content)) = open.take()
                && begun == label
            {
                let der = STANDARD.decode(content.as_slice()).ok().map(Zeroizing::new);
                found.push(Block { label, encrypted, der });
            }
        } else if let Some((_, encrypted, content)) = &mut open {
            match line.contains(&b':') {
                true => *encrypted |= line.ends_with(b"ENCRYPTED") || line.starts_with(b"DEK"),
                false => content.extend_from_slice(line),
            }
        }
    }
    found
}

fn marker(line: &[u8], begin: &[u8]) -> Option<String> {
    let label = line.strip_prefix(begin)?.strip_suffix(b"-----")?;
    Some(String::from_utf8_lossy(label).into_owned())
}

/// The certificates of a file, as DER, in its order: each PEM block that has one, or all of the
/// file where it is DER itself.
pub fn certificates(text: &[u8]) -> Vec<Vec<u8>> {
    if text.first() == Some(&0x30) {
        return vec![text.to_vec()];
    }
    contents(text, is_certificate)
}

/// The lists of certificates that were taken back, as DER, in the order of the file.
pub(super) fn revocation_lists(text: &[u8]) -> Vec<Vec<u8>> {
    contents(text, |label| label == "X509 CRL")
}

fn contents(text: &[u8], is_wanted: impl Fn(&str) -> bool) -> Vec<Vec<u8>> {
    let wanted = blocks(text).into_iter().filter(|block| is_wanted(&block.label));
    wanted.filter_map(|block| block.der).map(|der| der.to_vec()).collect()
}

/// Whether a block with this label holds a certificate.
pub(super) fn is_certificate(label: &str) -> bool {
    matches!(label, "CERTIFICATE" | "X509 CERTIFICATE" | "TRUSTED CERTIFICATE")
}

/// DER as PEM, as OpenSSL writes it: lines of 64 characters.
pub fn text_of(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    // 48 bytes are 64 characters.
    for line in der.chunks(48) {
        text.push_str(&STANDARD.encode(line));
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_among_other_text_are_found_and_others_survived() {
        let text = b"subject=/CN=a\r\n-----BEGIN CERTIFICATE-----\r\nAQID\r\nBAUG\r\n\
            -----END CERTIFICATE-----\r\njunk\n-----BEGIN CERTIFICATE-----\n!!\n\
            -----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\n\
            Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAQ==\n\
            -----END RSA PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nAQ==\n";
        let blocks = blocks(text);
        let labels: Vec<_> = blocks.iter().map(|block| block.label.as_str()).collect();
        assert_eq!(labels, ["CERTIFICATE", "CERTIFICATE", "RSA PRIVATE KEY"]);
        assert_eq!(blocks[0].der.as_ref().unwrap().as_slice(), [1, 2, 3, 4, 5, 6]);
        assert!(blocks[1].der.is_none());
        assert!(blocks[2].encrypted && !blocks[0].encrypted);
        assert_eq!(certificates(text), [[1, 2, 3, 4, 5, 6]]);
    }

    #[test]
    fn der_becomes_the_same_text_again() {
        let der: Vec<u8> = (0..100).collect();
        let text = text_of("CERTIFICATE", &der);
        assert_eq!(text.lines().nth(1).unwrap().len(), 64);
        assert_eq!(certificates(text.as_bytes()), [der]);
    }
}
