//! Prediction of the file that a client opens next: `run_7.root` after `run_5.root` and
//! `run_6.root`. Pure.
//!
//! Files of one dataset mostly differ in a number. After two files in a row the next one is opened
//! before a client asks for it: a guess, which costs an open and a first fill of its columns. After
//! a wrong guess, twice as many files in a row are needed.

use std::collections::VecDeque;

/// Maximum of addresses that are remembered.
const RECENT_MAX: usize = 256;
/// Maximum of files in a row that are needed for a guess.
const NEEDED_MAX: usize = 64;
/// Maximum of digits of a number.
const DIGITS_MAX: usize = 15;

/// The files that clients have opened last, and the outcome of the guesses.
#[derive(Debug)]
pub struct Series {
    /// In the order in which clients opened them.
    recent: VecDeque<String>,
    /// Files in a row that are needed before the next one is guessed.
    needed: usize,
}

impl Default for Series {
    fn default() -> Self {
        Series { recent: VecDeque::new(), needed: 2 }
    }
}

impl Series {
    /// Records that a client opens a file.
    pub fn opened(&mut self, address: &str) {
        self.recent.retain(|recent| recent != address);
        self.recent.push_back(address.to_owned());
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }

    /// Whether the file is one of the 256 that clients opened last.
    pub fn has(&self, address: &str) -> bool {
        self.recent.iter().any(|recent| recent == address)
    }

    /// The address of the file that clients will probably open after this one; `None` where clients
    /// have opened too few files in a row, or the next one already.
    pub fn next(&self, address: &str) -> Option<String> {
        let mut numbers = numbers(address);
        numbers.reverse();
        let is_next = |(start, end): (usize, usize)| {
            let mut before = Some(address.to_owned());
            for _ in 1..self.needed {
                before = before.and_then(|last| self.before(&last, start));
            }
            let next = with_number(address, start..end, 1)?;
            before.filter(|_| !self.has(&next)).map(|_| next)
        };
        numbers.into_iter().find_map(is_next)
    }

    /// Records whether a client has opened a guessed file.
    pub fn guessed(&mut self, is_right: bool) {
        self.needed = if is_right { 2 } else { (2 * self.needed).min(NEEDED_MAX) };
    }

    /// The address with a number one lower at offset `start`, if a client has opened it.
    fn before(&self, address: &str, start: usize) -> Option<String> {
        let (_, end) = numbers(address).into_iter().find(|number| number.0 == start)?;
        let same_length = with_number(address, start..end, -1)?;
        // In front of `10` is `09` or `9`.
        let shorter = address.get(start..end)?.starts_with('1').then(|| {
            let mut shorter = same_length.clone();
            (shorter.remove(start) == '0').then_some(shorter)
        });
        [Some(same_length), shorter.flatten()].into_iter().flatten().find(|name| self.has(name))
    }
}

/// Beginnings and ends of the numbers in a file's name. Empty for an address with a query, whose
/// token may be valid for this file only, and for an address with several locations.
fn numbers(address: &str) -> Vec<(usize, usize)> {
    let name = address.rfind('/').map_or(address.len(), |slash| slash + 1);
    let mut numbers = Vec::new();
    let mut start = None;
    if address.contains(['?', '#', '|']) {
        return numbers;
    }
    for (at, byte) in address.bytes().enumerate().skip(name).chain([(address.len(), b'/')]) {
        match (start, byte.is_ascii_digit()) {
            (None, true) => start = Some(at),
            (Some(first), false) => {
                numbers.extend((at - first <= DIGITS_MAX).then_some((first, at)));
                start = None;
            }
            _ => {}
        }
    }
    numbers
}

/// The address with a number changed by `step`, with at least as many digits.
fn with_number(address: &str, number: std::ops::Range<usize>, step: i64) -> Option<String> {
    let before = address.get(..number.start)?;
    let digits = address.get(number.clone())?;
    let value = digits.parse::<u64>().ok()?.checked_add_signed(step)?;
    let behind = address.get(number.end..)?;
    Some(format!("{before}{value:0width$}{behind}", width = digits.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_of(opened: &[&str]) -> Option<String> {
        let mut series = Series::default();
        opened.iter().for_each(|address| series.opened(address));
        series.next(opened.last()?)
    }

    #[test]
    fn the_next_number_follows_where_the_one_before_was_opened() {
        for (opened, next) in [
            (&["root://a//d/f_5.root", "root://a//d/f_6.root"][..], Some("root://a//d/f_7.root")),
            (&["root://a//d/8.root", "root://a//d/9.root"], Some("root://a//d/10.root")),
            (&["root://a//d/9.root", "root://a//d/10.root"], Some("root://a//d/11.root")),
            (&["root://a//d/09.root", "root://a//d/10.root"], Some("root://a//d/11.root")),
            (&["http://a/0099.root", "http://a/0100.root"], Some("http://a/0101.root")),
            (
                &["root://a//_01.pool.root.1", "root://a//_02.pool.root.1"],
                Some("root://a//_03.pool.root.1"),
            ),
            (&["root://a//0", "root://a//1"], Some("root://a//2")),
            (&["root://a//d/f_6.root"], None),
            (&["root://a//d/f_6.root", "root://a//d/f_6.root"], None),
            (&["root://a//d/f_4.root", "root://a//d/f_6.root"], None),
            (&["root://a//d/f_7.root", "root://a//d/f_6.root"], None),
            (&["root://a//d5/f.root", "root://a//d6/f.root"], None),
            (&["root://a1//f.root", "root://a2//f.root"], None),
            (&["root://a//1.root?authz=x", "root://a//2.root?authz=x"], None),
            (&["root://a//1.root|root://b//1.root", "root://a//1.root|root://b//2.root"], None),
            (&["root://a//1234567890123456", "root://a//1234567890123457"], None),
            (&["root://a//f_2.root", "root://a//f_3.root", "root://a//f_1.root"], None),
            (&["root://a//f_1.root", "root://a//f_3.root", "root://a//f_2.root"], None),
        ] {
            assert_eq!(next_of(opened).as_deref(), next, "{opened:?}");
        }
    }

    #[test]
    fn after_wrong_guesses_more_files_in_a_row_are_needed() {
        let mut series = Series::default();
        let address = |number: usize| format!("root://a//{number}");
        (0..8).for_each(|number| series.opened(&address(number)));
        series.guessed(false);
        assert_eq!(series.next(&address(7)), Some(address(8)), "four in a row are there");
        (0..2).for_each(|_| series.guessed(false));
        assert_eq!(series.next(&address(7)), None, "sixteen are not");
        series.guessed(true);
        assert_eq!(series.next(&address(7)), Some(address(8)));
    }

    #[test]
    fn few_addresses_are_remembered() {
        let mut series = Series::default();
        (0..1000).for_each(|number| series.opened(&format!("root://a//{number}")));
        assert_eq!(series.recent.len(), RECENT_MAX);
    }
}
