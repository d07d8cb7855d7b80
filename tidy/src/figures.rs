//! Figures in documents come from records, and records say where they come from.
//!
//! Pages for users have their figures in tables that `bench/tables.py` makes. A table begins with a
//! comment that names its records; outside of tables such pages have no time, rate or ratio.

use crate::repository::{files_ending, report, root, text};

const BEGIN: &str = "<!-- table ";
const END: &str = "<!-- end of table -->";
/// Pages of which every figure has a record.
const PAGES: [&str; 1] = ["docs/performance.md"];
/// Pages that have such tables beside other figures.
const WITH_TABLES: [&str; 2] = ["README.md", "docs/performance.md"];
/// Units that make a number a figure.
const UNITS: [&str; 13] = [
    "s",
    "ms",
    "seconds",
    "minutes",
    "times",
    "%",
    "per cent",
    "MB/s",
    "kB/s",
    "GB/s",
    "MB",
    "GB",
    "round trips",
];
/// Facts of its machine that each record names.
const FACTS: [&str; 3] = ["\"date\": \"", "\"commit\": \"", "\"cpu\": \""];

/// Figures outside of tables.
fn loose_figures(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut in_table = false;
    for (index, line) in text.lines().enumerate() {
        in_table = (in_table || line.starts_with(BEGIN)) && line != END;
        if !in_table && has_figure(line) {
            findings.push(format!(
                "{path}:{}: a figure without a record: put it into a table of bench/tables.py",
                index + 1
            ));
        }
    }
    findings
}

/// Whether a number with a unit stands in the line.
fn has_figure(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.iter().enumerate().any(|(at, word)| {
        let word = word.trim_matches(|c: char| matches!(c, '(' | '*' | '`' | '~'));
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
        if unit.len() == word.len() || !word.starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        let rest = words[at + 1..].join(" ");
        let after = if unit.is_empty() { rest.as_str() } else { unit };
        UNITS.iter().any(|unit| {
            let behind = after.strip_prefix(unit);
            behind.is_some_and(|behind| !behind.starts_with(|c: char| c.is_alphanumeric()))
        })
    })
}

/// Tables that name no record, or one that is not there.
fn unrecorded_tables(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(named) = line.strip_prefix(BEGIN) else { continue };
        let names = named.trim_end_matches(" -->").split_once(": ").map_or("", |(_, names)| names);
        for name in names.split(", ") {
            if !root().join(format!("bench/record/{name}.json")).is_file() {
                findings.push(format!("{path}:{}: there is no record `{name}`", index + 1));
            }
        }
    }
    findings
}

/// The facts that a record lacks.
fn lacking_facts(path: &str, text: &str) -> Vec<String> {
    FACTS
        .iter()
        .filter(|fact| !text.contains(**fact))
        .map(|fact| format!("{path}: no {fact}...: bench/machine.py has it"))
        .collect()
}

#[test]
fn figures_have_records() {
    let mut findings = Vec::new();
    for path in PAGES {
        findings.extend(loose_figures(path, &text(path).expect("pages are text")));
    }
    for path in WITH_TABLES {
        findings.extend(unrecorded_tables(path, &text(path).expect("pages are text")));
    }
    let records =
        files_ending(&[".json"]).into_iter().filter(|path| path.starts_with("bench/record/"));
    for path in records {
        findings.extend(lacking_facts(&path, &text(&path).expect("records are text")));
    }
    report(findings);
}

#[test]
fn the_rule_can_fail() {
    let table = "<!-- table headlines: h42, local -->\n| a | 1.05 s |\n<!-- end of table -->\n";
    let good = format!("Reads of 3 columns from 16 connections.\n{table}See h42.\n");
    assert_eq!(loose_figures("x.md", &good), Vec::<String>::new());
    for bad in
        ["It takes 1.05 s.", "(2.4 times as fast)", "**0.3s** here", "95 % of it", "1,387 s,"]
    {
        assert_eq!(loose_figures("x.md", &format!("{table}{bad}\n")).len(), 1, "{bad}");
    }
    assert_eq!(unrecorded_tables("x.md", table), Vec::<String>::new());
    for bad in ["<!-- table headlines: h42, no-such -->", "<!-- table headlines -->"] {
        assert_eq!(unrecorded_tables("x.md", bad).len(), 1, "{bad}");
    }
    let facts = "\"date\": \"2026-11-22\", \"commit\": \"1a2b3c4\", \"cpu\": \"x\"";
    assert_eq!(lacking_facts("x.json", facts), Vec::<String>::new());
    assert_eq!(lacking_facts("x.json", &facts.replace("date", "day")).len(), 1);
}
