//! The limits, as `tidy/ratchets.toml` holds them.

use std::collections::BTreeMap;

use super::{Counts, Habit};
use crate::repository::{root, text};

const FILE: &str = "tidy/ratchets.toml";
const HEAD: &str = "\
# Counts that may only fall, by area; tidy/src/ratchets says what each counts. To lower them:
# cargo test -p farroot-tidy lower_the_limits -- --ignored
";

/// The limit of each habit of each area.
pub struct Limits(BTreeMap<(String, Habit), f64>);

impl Limits {
    pub fn read() -> Limits {
        Limits::parse(&text(FILE).expect("the limits are text"))
    }

    pub fn parse(text: &str) -> Limits {
        let mut limits = BTreeMap::new();
        let mut area = String::new();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            if let Some(named) = line.strip_prefix("[\"").and_then(|line| line.strip_suffix("\"]"))
            {
                named.clone_into(&mut area);
                continue;
            }
            let (key, limit) = line.split_once(" = ").unwrap_or_else(|| panic!("{FILE}: {line}"));
            let habit = Habit::ALL.into_iter().find(|habit| habit.key() == key);
            let habit = habit.unwrap_or_else(|| panic!("{FILE}: nothing counts `{key}`"));
            let limit = limit.parse().unwrap_or_else(|error| panic!("{FILE}: {line}: {error}"));
            limits.insert((area.clone(), habit), limit);
        }
        Limits(limits)
    }

    pub fn get(&self, area: &str, habit: Habit) -> f64 {
        let limit = self.0.get(&(area.to_owned(), habit));
        limit.copied().unwrap_or_else(|| habit.lowest_limit())
    }

    /// The limits, each as low as its count. Areas that are gone have none.
    pub fn lowered(&self, counts: &Counts) -> Limits {
        let lower = |((area, habit), count): (&(String, Habit), &super::Count)| {
            let least = count.value().max(habit.lowest_limit());
            ((area.clone(), *habit), least.min(self.get(area, *habit)))
        };
        Limits(counts.iter().map(lower).collect())
    }

    /// The lowest limits, which need no line, are left out.
    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        let mut last = "";
        for ((area, habit), limit) in
            self.0.iter().filter(|((_, habit), limit)| **limit > habit.lowest_limit())
        {
            if area != last {
                text += &format!("\n[\"{area}\"]\n");
            }
            text += &format!("{} = {limit}\n", habit.key());
            last = area;
        }
        text
    }

    pub fn write(&self) {
        std::fs::write(root().join(FILE), self.text()).expect("the checkout can be written to");
    }
}

#[test]
fn limits_only_fall() {
    let limits = Limits::parse("# head\n\n[\"sim\"]\nwhat = 2.5\ntuple_lets = 7\n");
    let count = |sites: usize, words: Option<usize>| super::Count {
        sites: vec![(String::new(), 1); sites],
        words,
    };
    let sim = |habit: Habit| ("sim".to_owned(), habit);
    let counts = Counts::from([
        (sim(Habit::What), count(3, Some(1000))),
        (sim(Habit::TupleLets), count(5, None)),
    ]);
    let text = limits.lowered(&counts).text();
    assert_eq!(text, format!("{HEAD}\n[\"sim\"]\ntuple_lets = 5\nwhat = 2.5\n"));
    assert_eq!(Limits::parse(&text).get("sim", Habit::TupleLets), 5.0);
}
