//! Counts that may only fall: habits of language, of prose and of Rust, that farroot is losing.
//!
//! `tidy/ratchets.toml` holds a limit for each habit of each area: a crate, a folder of Python, or
//! all documents. A count above its limit fails and shows the newest lines. A count below it is
//! allowed down to three quarters of the limit. Without that margin, two branches that both remove
//! some would have to edit the same line, and the second merge would fail for an improvement.
//! Further down the limit is stale and fails, too: the ignored test
//! `lower_the_limits` writes the counts of the checkout, where they are lower.

mod data;
mod newest;
mod prose;
mod sentences;
mod tuples;
mod types;

use std::collections::BTreeMap;

use crate::repository::{files_ending, report, text};
use crate::syntax::crates;
use data::Limits;
use newest::Added;

/// A line of a file, from 1.
type Site = (String, usize);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Habit {
    LongSentences,
    RepeatedTypes,
    TupleLets,
    TupleParameters,
    What,
}

impl Habit {
    const ALL: [Habit; 5] = [
        Habit::What,
        Habit::TupleParameters,
        Habit::TupleLets,
        Habit::RepeatedTypes,
        Habit::LongSentences,
    ];

    /// The key in `ratchets.toml`.
    fn key(self) -> &'static str {
        match self {
            Habit::What => "what",
            Habit::TupleParameters => "tuple_parameters",
            Habit::TupleLets => "tuple_lets",
            Habit::RepeatedTypes => "repeated_types",
            Habit::LongSentences => "long_sentences",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Habit::What => {
                "\"what\" per 1,000 words: name the noun (\"What is fetched of them at a time\": \
                 \"The unit of fetching: a basket or a page\")"
            }
            Habit::TupleParameters => {
                "parameters that are tuple patterns: two parameters, or a struct with a name"
            }
            Habit::TupleLets => "`let (a, b) = (x, y);`: one `let` for each name",
            Habit::RepeatedTypes => {
                "private types with the name of a type of another module: add its subject to \
                 the name (`State`: `TransferState`)"
            }
            Habit::LongSentences => "sentences beyond 30 words: end the first one earlier",
        }
    }

    /// The limit where `ratchets.toml` has none, as in a new crate. No limit is lower.
    fn lowest_limit(self) -> f64 {
        if self == Habit::What { 1.0 } else { 0.0 }
    }
}

/// How often an area has a habit.
#[derive(Default)]
struct Count {
    sites: Vec<Site>,
    /// The words among which it was found, where it is a rate per 1,000 words.
    words: Option<usize>,
}

impl Count {
    /// Rates are rounded up to a half: removing other words is no offence.
    fn value(&self) -> f64 {
        let sites = self.sites.len() as f64;
        let Some(words) = self.words else { return sites };
        (sites * 1000.0 / words.max(1) as f64 * 2.0).ceil() / 2.0
    }

    /// How far below its limit a count may be.
    fn margin(&self, limit: f64) -> f64 {
        let least = if self.words.is_some() { 2.0 } else { 8.0 };
        f64::max(limit / 4.0, least)
    }
}

type Counts = BTreeMap<(String, Habit), Count>;

/// The area of a file: `crates/remote`, `python/tests`, `sim` or `documents`.
fn area(path: &str) -> String {
    let mut parts = path.split('/');
    let first = parts.next().unwrap_or("");
    match (first, parts.next()) {
        _ if path.ends_with(".md") => "documents".to_owned(),
        ("crates" | "python", Some(second)) if path.matches('/').count() > 1 => {
            format!("{first}/{second}")
        }
        _ => first.to_owned(),
    }
}

/// Counts the habits that one file shows by itself.
fn add_file(counts: &mut Counts, path: &str, text: &str) {
    let area = area(path);
    let mut add = |habit: Habit, lines: Vec<usize>, words: Option<usize>| {
        let count = counts.entry((area.clone(), habit)).or_default();
        count.sites.extend(lines.into_iter().map(|line| (path.to_owned(), line)));
        count.words = words.map(|words| words + count.words.unwrap_or(0));
    };
    let lines = prose::lines(path, text);
    add(Habit::What, prose::whats(&lines), Some(prose::words(&lines)));
    // Dated notes are not edited again.
    if path.ends_with(".md") && !path.starts_with("docs/notes/") {
        add(Habit::LongSentences, sentences::long(&lines), None);
    } else if path.ends_with(".rs") {
        let found = tuples::find(path, text);
        add(Habit::TupleParameters, found.parameters, None);
        add(Habit::TupleLets, found.lets, None);
    }
}

fn counts() -> Counts {
    let mut counts = Counts::new();
    for path in files_ending(&[".rs", ".py", ".pyi", ".md"]) {
        add_file(&mut counts, &path, &text(&path).expect("source is text"));
    }
    for (folder, sources) in crates() {
        let sites = types::repeated(&sources).into_iter();
        let sites = sites.map(|(file, line)| (format!("{folder}/src/{file}"), line)).collect();
        let area = area(&format!("{folder}/src/lib.rs"));
        counts.insert((area, Habit::RepeatedTypes), Count { sites, words: None });
    }
    counts
}

/// The finding about one count, if it is above its limit or far below.
fn finding(key: &(String, Habit), count: &Count, limits: &Limits, added: &Added) -> Option<String> {
    let (area, habit) = key;
    let limit = limits.get(area, *habit);
    let value = count.value();
    if value > limit {
        let newest = added.newest(&count.sites).join("\n    ");
        let advice = habit.advice();
        return Some(format!("{area}: {value} {advice}; the limit is {limit}\n    {newest}"));
    }
    (value + count.margin(limit) < limit).then(|| {
        format!(
            "tidy/ratchets.toml: [{area}] {} = {value}, no longer {limit}: write it by \
             `cargo test -p farroot-tidy lower_the_limits -- --ignored`",
            habit.key()
        )
    })
}

#[test]
fn no_count_rises() {
    let limits = Limits::read();
    let added = Added::default();
    let counts = counts();
    report(counts.iter().filter_map(|(key, count)| finding(key, count, &limits, &added)).collect());
}

#[test]
#[ignore = "writes tidy/ratchets.toml"]
fn lower_the_limits() {
    Limits::read().lowered(&counts()).write();
}

#[test]
fn the_rule_can_fail() {
    let limits = Limits::parse("[\"crates/a\"]\nwhat = 2\ntuple_lets = 40\n");
    let added = Added::parse("+++ b/crates/a/b.rs\n@@ -1,0 +7,2 @@\n");
    let found = |habit: Habit, sites: usize, words: Option<usize>| {
        let sites = (1..=sites).map(|line| ("crates/a/b.rs".to_owned(), line)).collect();
        finding(&("crates/a".to_owned(), habit), &Count { sites, words }, &limits, &added)
    };
    assert_eq!(found(Habit::TupleLets, 40, None), None);
    assert_eq!(found(Habit::TupleLets, 30, None), None);
    assert!(
        found(Habit::TupleLets, 41, None)
            .unwrap()
            .ends_with("    crates/a/b.rs:7\n    crates/a/b.rs:8")
    );
    assert!(found(Habit::TupleLets, 29, None).unwrap().contains("[crates/a] tuple_lets = 29"));
    assert_eq!(found(Habit::What, 2, Some(1000)), None);
    assert!(found(Habit::What, 3, Some(1000)).is_some());
    assert!(found(Habit::RepeatedTypes, 1, None).is_some(), "a habit that was never counted");
}

#[test]
fn areas_are_crates_and_folders() {
    let areas = ["crates/a/tests/main.rs", "python/tests/x.py", "sim/src/lib.rs", "docs/x.md"];
    let areas = areas.map(area);
    assert_eq!(areas, ["crates/a", "python/tests", "sim", "documents"]);
}
