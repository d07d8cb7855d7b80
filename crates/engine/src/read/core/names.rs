//! Names of branches or fields, and which of them a text means.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::read::predict::history::TableShape;

use super::select::{Glob, is_glob};
use remote::{Error, ErrorKind, Result};
use strsim::levenshtein;

/// A branch or a field by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    /// Its own.
    pub name: String,
    /// Names from the top to here.
    pub path: String,
    /// Position of the one that it is in.
    pub parent: Option<usize>,
}

/// Names of all branches of a tree or of all fields of an RNTuple, each followed by those in it.
#[derive(Debug, Clone)]
pub struct NameList {
    kind: ColumnKind,
    /// The table's own name, which may stand before a column's: `Events.run` is `run`.
    table: String,
    names: Vec<ColumnName>,
    /// Positions by path and by last name, in ascending order. Most columns are found by path:
    /// `by_name` is made for the first one that is not.
    by_path: HashMap<String, Vec<usize>>,
    by_name: OnceLock<HashMap<String, Vec<usize>>>,
}

/// Kinds of named columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Paths have slashes; dots are parts of names.
    Branch,
    /// Paths have dots, and slashes mean the same.
    Field,
}

impl ColumnKind {
    /// The character between the names of a path.
    pub fn separator(self) -> char {
        match self {
            ColumnKind::Branch => '/',
            ColumnKind::Field => '.',
        }
    }

    fn word(self) -> &'static str {
        match self {
            ColumnKind::Branch => "branch",
            ColumnKind::Field => "field",
        }
    }
}

/// The name of an array without its dimensions; `None` where it has none.
fn without_dimensions(name: &str) -> Option<&str> {
    name.strip_suffix(']').and_then(|rest| rest.split_once('[')).map(|(name, _)| name)
}

impl NameList {
    pub fn new(kind: ColumnKind, names: Vec<ColumnName>) -> Self {
        let by_path = positions(names.iter().map(|name| &name.path));
        NameList { kind, table: String::new(), names, by_path, by_name: OnceLock::new() }
    }

    /// The same of a table of this name.
    pub fn of_table(self, name: &str) -> Self {
        NameList { table: name.to_owned(), ..self }
    }

    /// For the access histories of such tables.
    pub(crate) fn shape(&self) -> TableShape {
        TableShape::of(self.names.iter().map(|column| &*column.path))
    }

    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    pub fn all(&self) -> &[ColumnName] {
        &self.names
    }

    /// The text that [`NameList::find`] takes for exactly this one: its path and, of several of one
    /// path, `;2` for the second and so on.
    pub fn address(&self, at: usize) -> String {
        let path = &self.names[at].path;
        match self.by_path[path].iter().position(|known| *known == at) {
            None | Some(0) => path.clone(),
            Some(before) => {
                let mut number = (before + 1).to_string();
                // A name may end in such a number itself.
                while self.by_path.contains_key(&format!("{path};{number}")) {
                    number.insert(0, '0');
                }
                format!("{path};{number}")
            }
        }
    }

    /// The one that a text means: a path or, not after a separator, the first of that last name.
    pub fn find(&self, text: &str) -> Option<usize> {
        self.find_below(text, None)
    }

    /// As [`NameList::find`], with paths from one of them and last names in it.
    pub fn find_below(&self, text: &str, below: Option<usize>) -> Option<usize> {
        self.find_named(text, below)
            .or_else(|| self.find_dotted(text, below))
            .or_else(|| self.find_named(self.behind_table(text)?, below))
    }

    /// As ROOT, a path with dots for the slashes: `event.n` of `event/n`.
    fn find_dotted(&self, text: &str, below: Option<usize>) -> Option<usize> {
        let has_dots = self.kind == ColumnKind::Branch && text.contains('.');
        let path = has_dots.then(|| self.below(text.replace('.', "/"), below))?;
        self.by_path.get(&path)?.first().copied()
    }

    fn below(&self, path: String, below: Option<usize>) -> String {
        match below {
            Some(above) => format!("{}{}{path}", self.names[above].path, self.kind.separator()),
            None => path,
        }
    }

    /// As ROOT, a name without the table's own before it.
    fn behind_table<'a>(&self, text: &'a str) -> Option<&'a str> {
        let behind = text.strip_prefix(&self.table)?.strip_prefix('.')?;
        (!self.table.is_empty()).then_some(behind)
    }

    fn find_named(&self, text: &str, below: Option<usize>) -> Option<usize> {
        let separator = self.kind.separator();
        let spelled = self.spelled(text);
        let path = spelled.trim_matches(separator);
        let full = self.below(path.to_owned(), below);
        let at = |path: &String| self.by_path.get(path).map(|found| found[0]);
        // A name may itself end in a separator.
        let is_trimmed = path.len() < spelled.len();
        let verbatim = is_trimmed.then(|| at(&self.below(spelled.clone(), below))).flatten();
        let exact = verbatim.or_else(|| at(&full)).or_else(|| self.numbered(&full));
        if exact.is_some() || spelled.starts_with(separator) {
            return exact;
        }
        let by_name =
            self.by_name.get_or_init(|| positions(self.names.iter().map(|name| &name.name)));
        let named = by_name.get(path)?;
        named.iter().copied().find(|at| self.is_below(*at, below))
    }

    /// Those that are in one of them, without those within these.
    pub fn children(&self, at: usize) -> impl Iterator<Item = &ColumnName> {
        let behind = self.names[at + 1..].iter();
        let inside = behind.take_while(move |one| one.parent.is_some_and(|parent| parent >= at));
        inside.filter(move |one| one.parent == Some(at))
    }

    /// As ROOT, the array of a name that has its dimensions in the file: `v` of `v[3]`.
    pub fn find_array(&self, name: &str, below: Option<usize>) -> Option<usize> {
        let is_meant = |at: &usize| without_dimensions(&self.names[*at].name) == Some(name);
        (0..self.names.len()).find(|at| is_meant(at) && self.is_below(*at, below))
    }

    /// As ROOT, the one within another that is called as a member of it: `d` or `p.d` in `p`.
    pub fn find_member(&self, at: usize, member: &str) -> Option<usize> {
        let own = self.names[at].name.trim_end_matches('.');
        let behind = self.names[at + 1..].iter();
        let mut inside = behind.take_while(|one| one.parent.is_some_and(|parent| parent >= at));
        let is_meant = |one: &ColumnName| {
            let name = without_dimensions(&one.name).unwrap_or(&one.name);
            let of_own = name.strip_prefix(own).and_then(|rest| rest.strip_prefix('.'));
            name == member || of_own == Some(member)
        };
        inside.position(is_meant).map(|behind| at + 1 + behind)
    }

    /// Those that a glob with `*`, `?` and `[…]` means: by their path or their last name.
    ///
    /// # Errors
    /// `InvalidArgument` for a glob that cannot be read.
    pub fn matching(&self, pattern: &str, below: Option<usize>) -> Result<Vec<usize>> {
        let separator = self.kind.separator();
        let glob = Glob::new(&self.spelled(pattern))?;
        let start = below.map_or(0, |above| self.names[above].path.len() + 1);
        let matches = |at: &usize| {
            let ColumnName { name, path, .. } = &self.names[*at];
            self.is_below(*at, below)
                && (glob.matches(name)
                    || glob.matches(&path[start..])
                    || glob.matches(&format!("{separator}{}", &path[start..])))
        };
        let found: Vec<usize> = (0..self.names.len()).filter(matches).collect();
        match self.behind_table(pattern) {
            Some(behind) if found.is_empty() => self.matching(behind, below),
            _ => Ok(found),
        }
    }

    /// Positions of the names that a text means: one, or all that a glob matches; empty where none
    /// does.
    ///
    /// # Errors
    /// As [`NameList::matching`].
    pub fn resolve_pattern(&self, text: &str, below: Option<usize>) -> Result<Vec<usize>> {
        match self.find_below(text, below) {
            Some(at) => Ok(vec![at]),
            None if is_glob(text) => self.matching(text, below),
            None => Ok(Vec::new()),
        }
    }

    /// As [`NameList::resolve_pattern`], where nothing is an error: a pattern that matches nothing
    /// is a typing error, or a formula. Only `*` stands for all also where there are none.
    ///
    /// # Errors
    /// `NotInFile` with the names that come near.
    pub fn all_of_pattern(&self, text: &str) -> Result<Vec<usize>> {
        let meant = self.resolve_pattern(text, None)?;
        let is_all_of_none = text == "*" && self.names.is_empty();
        match meant.is_empty() && !is_all_of_none {
            true => Err(self.no_such(text, None)),
            false => Ok(meant),
        }
    }

    /// As [`NameList::find`].
    ///
    /// # Errors
    /// `NotInFile` with the names that come near.
    pub fn require(&self, text: &str) -> Result<usize> {
        self.find(text).ok_or_else(|| self.no_such(text, None))
    }

    /// The error for a text that means none of them, with the names that come near.
    pub fn no_such(&self, text: &str, below: Option<usize>) -> Error {
        let start = below.map_or(0, |above| self.names[above].path.len() + 1);
        let inside = (0..self.names.len()).filter(|at| self.is_below(*at, below));
        let all = inside.map(|at| (&*self.names[at].name, &self.names[at].path[start..]));
        no_such(self.kind.word(), all, text)
    }

    fn is_below(&self, at: usize, below: Option<usize>) -> bool {
        let Some(above) = below else { return true };
        std::iter::successors(self.names[at].parent, |at| self.names[*at].parent)
            .any(|parent| parent == above)
    }

    /// `path;2` is the second one of that path.
    fn numbered(&self, path: &str) -> Option<usize> {
        let (path, number) = path.rsplit_once(';')?;
        let number: usize = number.parse().ok()?;
        self.by_path.get(path)?.get(number.checked_sub(1)?).copied()
    }

    fn spelled(&self, text: &str) -> String {
        match self.kind {
            ColumnKind::Branch => text.to_owned(),
            ColumnKind::Field => text.replace('/', "."),
        }
    }
}

fn positions<'a>(texts: impl ExactSizeIterator<Item = &'a String>) -> HashMap<String, Vec<usize>> {
    let mut positions = HashMap::with_capacity(texts.len());
    for (at, text) in texts.enumerate() {
        positions.entry(text.clone()).or_insert_with(Vec::new).push(at);
    }
    positions
}

/// The error for a name that none of several has, with those that come near in their last name or
/// in their path, which are given of each.
pub(crate) fn no_such<'a>(
    kind: &str,
    all: impl Iterator<Item = (&'a str, &'a str)>,
    wanted: &str,
) -> Error {
    let folded = wanted.to_lowercase();
    let apart = |text: &str| levenshtein(&text.to_lowercase(), &folded);
    let mut near: Vec<(usize, &str)> = all
        .map(|(name, path)| (apart(name).min(apart(path)), path))
        .filter(|(distance, _)| *distance <= 2 + wanted.len() / 4)
        .collect();
    near.sort_unstable();
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, path)| path).collect();
    if is_glob(wanted) {
        let text = format!("no {kind} matches the pattern {wanted:?}");
        let shell = "`farroot show` lists what there is; in a formula, `*` stands between columns";
        let python = "`show()` lists what there is; a formula with `*` goes to `define`";
        return Error::new(ErrorKind::NotInFile, text).with_advice_for(shell, python);
    }
    let error = Error::new(ErrorKind::NotInFile, format!("no {kind} is called {wanted:?}"));
    if near.is_empty() {
        error.with_advice_for("`farroot show` lists what there is", "`show()` lists what there is")
    } else {
        error.with_advice(format!("did you mean {}?", near.join(" or ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(kind: ColumnKind, names: &[(&str, Option<usize>)]) -> NameList {
        let mut all: Vec<ColumnName> = Vec::new();
        for (name, parent) in names {
            let path = match parent {
                Some(parent) => format!("{}{}{name}", all[*parent].path, kind.separator()),
                None => (*name).to_owned(),
            };
            all.push(ColumnName { name: (*name).to_owned(), path, parent: *parent });
        }
        NameList::new(kind, all)
    }

    fn branches() -> NameList {
        let inside = Some(3);
        let names = [("run", None), ("Muon_pt", None), ("Muon_eta", None), ("event", None)];
        let more = [("fX", inside), ("fY", inside), ("run", inside), ("run", None)];
        list(ColumnKind::Branch, &[&names[..], &more[..]].concat())
    }

    /// Regression: arrays in split objects, and members of what is in these, were unknown.
    #[test]
    fn members_are_called_as_in_root() {
        let names = [
            ("ev", None),
            ("id", Some(0)),
            ("own[2]", Some(0)),
            ("p", Some(0)),
            ("p.Base", Some(3)),
            ("p.bs[3]", Some(4)),
            ("p.mat[2][2]", Some(3)),
            ("base", Some(0)),
            ("base.bi", Some(7)),
            ("e2.", None),
            ("e2.id", Some(9)),
        ];
        let names = list(ColumnKind::Branch, &names);
        assert_eq!(names.find_array("own", None), Some(2));
        assert_eq!(names.find_array("own", Some(3)), None);
        assert_eq!(names.find_array("id", None), None);
        assert_eq!(names.find_member(3, "bs"), Some(5));
        assert_eq!(names.find_member(3, "mat"), Some(6));
        assert_eq!(names.find_member(3, "bi"), None);
        assert_eq!(names.find_member(0, "base.bi"), Some(8));
        assert_eq!(names.find_member(9, "id"), Some(10));
        let children: Vec<&str> = names.children(3).map(|one| &*one.name).collect();
        assert_eq!(children, ["p.Base", "p.mat[2][2]"]);
    }

    #[test]
    fn paths_come_before_last_names() {
        let names = branches();
        assert_eq!(names.find("event/fY"), Some(5));
        assert_eq!(names.find("fX"), Some(4));
        assert_eq!(names.find("/fX"), None, "a path from the top");
        assert_eq!(names.find("event/run"), Some(6));
        assert_eq!(names.find_below("run", Some(3)), Some(6));
        assert_eq!(names.find_below("Muon_pt", Some(3)), None);
        assert_eq!(names.find("event.fX"), Some(4), "as in ROOT");
        assert_eq!(names.find_below("event.fX", Some(3)), None);
    }

    /// Regression: such a branch could be written, and read by no name.
    #[test]
    fn a_name_may_end_in_a_slash() {
        let names = list(ColumnKind::Branch, &[("x/", None), ("y", None), ("x", None)]);
        assert_eq!(names.find("x/"), Some(0));
        assert_eq!(names.find("x"), Some(2));
        assert_eq!(names.find("y/"), Some(1));
    }

    /// A file may have two branches of one name in one place: by name only the first could be read.
    #[test]
    fn of_several_of_one_path_each_has_an_address() {
        let names = branches();
        let addresses: Vec<String> = (0..8).map(|at| names.address(at)).collect();
        assert_eq!(addresses[0], "run");
        assert_eq!(addresses[7], "run;2");
        for (at, address) in addresses.iter().enumerate() {
            assert_eq!(names.find(address), Some(at));
        }
        assert_eq!(names.find("run;3"), None);
        assert_eq!(names.find("run;0"), None);
    }

    #[test]
    fn globs_match_paths_and_last_names() {
        let names = branches();
        assert_eq!(names.matching("f?", None).unwrap(), [4, 5]);
        assert_eq!(names.matching("event/*", None).unwrap(), [4, 5, 6]);
        assert_eq!(names.matching("/run*", None).unwrap(), [0, 7]);
        assert_eq!(names.matching("*u*", Some(3)).unwrap(), [6]);
        assert_eq!(names.resolve_pattern("nothing*", None).unwrap(), [0; 0]);
    }

    #[test]
    fn the_tables_own_name_may_stand_before_a_columns() {
        let names = branches().of_table("event");
        assert_eq!(names.find("event.Muon_pt"), Some(1));
        assert_eq!(names.find("event.fX"), Some(4));
        assert_eq!(names.matching("event.Muon_*", None).unwrap(), [1, 2]);
        assert_eq!(names.find("other.Muon_pt"), None);
    }

    #[test]
    fn fields_take_slashes_for_dots() {
        let names = list(ColumnKind::Field, &[("hits", None), ("x", Some(0)), ("x", None)]);
        assert_eq!(names.find("hits/x"), Some(1));
        assert_eq!(names.find("x"), Some(2));
        assert_eq!(names.matching("hits/*", None).unwrap(), [1]);
    }

    #[test]
    fn the_error_has_the_names_that_come_near() {
        let error = branches().require("muon_Pt").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotInFile);
        assert!(error.to_string().contains("did you mean Muon_pt"), "{error}");
        let error = branches().require("completely_else").unwrap_err();
        assert!(!error.to_string().contains("did you mean"), "{error}");
    }
}
