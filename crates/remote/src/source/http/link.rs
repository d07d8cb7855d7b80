//! Other locations of a file in the head of an answer: `Link` (RFC 8288) as Metalink/HTTP (RFC
//! 6249) uses it, and the target of a redirection.

use hyper::header::{HeaderMap, LINK};

use super::answer::{Head, judge};
use super::digest;
use super::director::entrusted;
use super::exchange::Exchange;
use super::job::{Job, Outcome};
use crate::address::{Address, Way};
use crate::source::{ConnectionEvent, FileLocation, Role};

/// Links beyond these are left out.
const LINKS_MAX: usize = 32;
/// The priority of a link that names none; lower comes first.
const PRIORITY_LAST: u32 = 999_999;
const METALINK: &str = "application/metalink4+xml";

impl Exchange<'_> {
    /// Asks where else a file is. The target of a redirection is a location, too, which is not
    /// followed.
    pub async fn locations(&self, job: &Job) -> Outcome<()> {
        let _turn = self.transport.turn().await?;
        job.stop_if_cancelled()?;
        if self.server.is_s3(job.url()) {
            return Ok(());
        }
        // Some redirectors answer a HEAD by themselves.
        let request = self.server.get(job.url(), Some("bytes=0-0"))?;
        let response = self.ask(job, &request).await?;
        let mut locations = locations(job.url(), response.headers());
        let judged = judge(&response);
        let headers = response.headers().clone();
        self.discard(job.url(), response).await?;
        if let Head::Redirected(location) = judged?
            && let Ok(url) = self.server.led_to(job.url(), &location)
        {
            let url = entrusted(job.url(), url, &headers);
            locations.insert(0, FileLocation { url, role: Role::Server });
        }
        self.driver.send(ConnectionEvent::Located { request: job.request, locations });
        Ok(())
    }

    /// Sends the facts of the file that the answer to an open has beside its bytes.
    pub fn send_more(&self, job: &Job, headers: &HeaderMap) {
        let request = job.request;
        let locations = locations(job.url(), headers);
        if !locations.is_empty() {
            self.driver.send(ConnectionEvent::Located { request, locations });
        }
        if let Some(checksum) = digest::checksum_in(headers, None) {
            self.driver.send(ConnectionEvent::Checksum { request, checksum });
        }
    }
}

/// Other locations of a file that an answer names, the preferred ones first. Addresses that may not
/// follow this one are left out.
pub fn locations(from: &Address, headers: &HeaderMap) -> Vec<FileLocation> {
    let lines = headers.get_all(LINK).into_iter().filter_map(|line| line.to_str().ok());
    let mut found: Vec<(u32, FileLocation)> =
        lines.flat_map(Links).filter_map(|link| link.place(from)).take(LINKS_MAX).collect();
    found.sort_by_key(|(priority, _)| *priority);
    let entrust = |place: FileLocation| FileLocation {
        url: entrusted(from, place.url, headers),
        role: place.role,
    };
    found.into_iter().map(|(_, place)| entrust(place)).collect()
}

/// The links of one line.
struct Links<'a>(&'a str);

#[derive(Debug)]
struct Link<'a> {
    target: &'a str,
    relations: String,
    media_type: String,
    priority: u32,
}

impl<'a> Iterator for Links<'a> {
    type Item = Link<'a>;

    /// The text after something that is no link is not parsed.
    fn next(&mut self) -> Option<Link<'a>> {
        let start = self.0.trim_start_matches([',', ' ', '\t']);
        let (target, mut rest) = start.strip_prefix('<')?.split_once('>')?;
        let mut link = Link {
            target,
            relations: String::new(),
            media_type: String::new(),
            priority: PRIORITY_LAST,
        };
        while let Some(after) = rest.trim_start().strip_prefix(';') {
            let end = after.find(['=', ';', ',']).unwrap_or(after.len());
            let name = after[..end].trim().to_ascii_lowercase();
            let (value, left) = match after[end..].strip_prefix('=') {
                Some(value) => value_of(value.trim_start())?,
                None => (String::new(), &after[end..]),
            };
            rest = left;
            match &*name {
                "rel" => link.relations = value.to_ascii_lowercase(),
                "type" => link.media_type = value.to_ascii_lowercase(),
                "pri" => link.priority = value.parse().unwrap_or(PRIORITY_LAST),
                _ => {}
            }
        }
        let rest = rest.trim_start();
        self.0 = if rest.starts_with(',') { rest } else { "" };
        Some(link)
    }
}

/// A parameter's value, a token or a quoted string, and the text after it.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        return Some((text[..end].trim().to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            _ => value.push(letter),
        }
    }
    None
}

impl Link<'_> {
    fn place(&self, from: &Address) -> Option<(u32, FileLocation)> {
        let is = |wanted: &str| self.relations.split_ascii_whitespace().any(|rel| rel == wanted);
        let role = match () {
            () if is("duplicate") => Role::Server,
            () if is("describedby") && self.media_type == METALINK => Role::Metalink,
            () => return None,
        };
        let url = from.led_to(self.target, Way::Replica).ok()?;
        Some((self.priority, FileLocation { url, role }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &[&'static str]) -> Vec<(String, Role)> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(LINK, line.parse().unwrap());
        }
        let from = Address::parse("http://man/dir/f.root").unwrap();
        let locations = locations(&from, &headers).into_iter();
        locations.map(|place| (place.url.to_string(), place.role)).collect()
    }

    #[test]
    fn duplicates_come_by_priority() {
        // As in RFC 6249, section 1.1.
        let found = found(&[
            "<http://www2.example.com/example.ext>; rel=duplicate",
            "<root://c//f>; rel=\"duplicate\"; pri=2; geo=de , </b/f>;pri=1;rel=duplicate",
            "<http://example.com/example.ext.meta4>; rel=describedby; \
             type=\"application/metalink4+xml\"",
        ]);
        let urls: Vec<&str> = found.iter().map(|(url, _)| &**url).collect();
        assert_eq!(
            urls,
            [
                "http://man/b/f",
                "root://c//f",
                "http://www2.example.com/example.ext",
                "http://example.com/example.ext.meta4"
            ]
        );
        assert_eq!(found.iter().filter(|(_, role)| *role == Role::Metalink).count(), 1);
    }

    #[test]
    fn other_links_are_passed_over() {
        assert!(found(&["<http://a/>; rel=next", "<b>", "<x.asc>; rel=describedby"]).is_empty());
        let odd =
            found(&["<http://a/f,g;h>; title=\"a \\\"b\\\", <c>; rel=x\"; rel=\"x duplicate\""]);
        assert_eq!(odd, [("http://a/f,g;h".to_owned(), Role::Server)]);
    }

    #[test]
    fn every_beginning_of_a_line_is_read() {
        let line = "<http://a/f>; rel=\"duplicate\"; pri=\"1\\\"\" , <g>; rel=duplicate";
        for end in 0..line.len() {
            assert!(found(&[&line[..end]]).len() <= 2);
        }
        assert_eq!(found(&[line]).len(), 2);
        for wrong in
            ["", "<", "<>", "no link", ",,,", "<a>;rel=\"duplicate", "<http://[>; rel=duplicate"]
        {
            assert!(found(&[wrong]).is_empty(), "{wrong}");
        }
    }

    #[test]
    fn there_is_an_end_to_links() {
        let line: &'static str = Box::leak("<a>;rel=duplicate,".repeat(100).into_boxed_str());
        assert_eq!(found(&[line]).len(), LINKS_MAX);
    }
}
