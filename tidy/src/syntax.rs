//! Rust files as syntax: which file a path leads to, and which types a file makes public.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{files, text};
use syn::visit::Visit;
use syn::{Attribute, File, Item, ItemMod, ItemUse, UseTree, Visibility};

/// The names of a path, from the root of the crate: `["read", "tree", "Tree"]`.
type Names = Vec<String>;

/// The source files of one crate.
pub struct Crate {
    modules: BTreeMap<Names, Module>,
}

/// All crates of the checkout, by folder.
pub fn crates() -> BTreeMap<String, Crate> {
    let mut sources: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for path in files().into_iter().filter(|path| path.ends_with(".rs")) {
        if let Some((folder, below)) = path.split_once("/src/") {
            let text = text(&path).expect("source is text");
            sources.entry(folder.to_owned()).or_default().push((below.to_owned(), text));
        }
    }
    let parsed = sources.into_iter().map(|(folder, files)| {
        let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        (folder, Crate::parse(files))
    });
    parsed.collect()
}

/// One file: the module that it is, and the names that paths of others find in it.
struct Module {
    file: String,
    syntax: File,
    /// Types, functions and other items that are written here.
    defined: BTreeSet<String>,
    /// Names that `use` brings here, and the path that each stands for.
    brought: BTreeMap<String, Names>,
    /// Paths of which `use` brings every name.
    globs: Vec<Names>,
}

impl Crate {
    /// Reads the files of a crate, given as path below `src` and text.
    pub fn parse<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Crate {
        let mut modules = BTreeMap::new();
        for (file, text) in files {
            let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            let module = Module {
                file: file.to_owned(),
                defined: defined(&syntax.items),
                syntax,
                brought: BTreeMap::new(),
                globs: Vec::new(),
            };
            modules.insert(module_path(file), module);
        }
        let mut tables = Crate { modules };
        let brought: Vec<_> = tables
            .modules
            .iter()
            .map(|(path, module)| {
                let mut uses = Uses { tables: &tables, at: path.clone(), found: Vec::new() };
                for item in &module.syntax.items {
                    if let Item::Use(item) = item {
                        uses.visit_item_use(item);
                    }
                }
                (path.clone(), uses.found)
            })
            .collect();
        for (path, found) in brought {
            let module = tables.modules.get_mut(&path).expect("a module of this crate");
            for Use { name, path, .. } in found {
                match name {
                    Some(name) => drop(module.brought.insert(name, path)),
                    None => module.globs.push(path),
                }
            }
        }
        tables
    }

    /// Which files each file imports from, its tests aside. A file that only hands a name of one of
    /// its own submodules on (`pub use`) does not import it; who takes it from there imports from
    /// the file that defines it.
    pub fn imports(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut imports = BTreeMap::new();
        for (path, module) in &self.modules {
            let mut uses = Uses { tables: self, at: path.clone(), found: Vec::new() };
            uses.visit_file(&module.syntax);
            let handed_on = |found: &Use| found.public && found.path.starts_with(path);
            let found = uses.found.iter().filter(|found| !handed_on(found));
            let targets = found.filter_map(|found| self.file(&found.path, 0));
            let targets = targets.filter(|target| *target != module.file).collect();
            imports.insert(module.file.as_str(), targets);
        }
        imports
    }

    /// Types that a file shows to others, by name, each with the files that define it.
    pub fn public_types(&self) -> BTreeMap<String, Vec<&str>> {
        let mut types: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for module in self.modules.values() {
            for name in public_types(&module.syntax.items) {
                types.entry(name).or_default().push(&module.file);
            }
        }
        types
    }

    /// Types that a file keeps to itself, by name, each with the files and lines that define it.
    pub fn private_types(&self) -> BTreeMap<String, Vec<(&str, usize)>> {
        let mut types: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
        let modules = self.modules.values();
        for module in modules.filter(|module| !module.file.ends_with("tests.rs")) {
            for name in private_types(&module.syntax.items) {
                let line = name.span().start().line;
                types.entry(name.to_string()).or_default().push((&module.file, line));
            }
        }
        types
    }

    /// The file that a path leads to, names handed on followed to where they are defined.
    fn file(&self, path: &[String], steps: usize) -> Option<&str> {
        let depth = (0..=path.len()).rev().find(|depth| self.modules.contains_key(&path[..*depth]));
        let depth = depth?;
        let module = &self.modules[&path[..depth]];
        let Some(name) = path.get(depth) else { return Some(&module.file) };
        let followed = |target: &Names| {
            let whole: Names = target.iter().chain(&path[depth + 1..]).cloned().collect();
            (steps < 8).then(|| self.file(&whole, steps + 1)).flatten()
        };
        if module.defined.contains(name) {
            return Some(&module.file);
        }
        if let Some(target) = module.brought.get(name) {
            return followed(target);
        }
        let mut globs = module.globs.iter().filter(|glob| {
            self.modules.get(*glob).is_some_and(|module| {
                module.defined.contains(name) || module.brought.contains_key(name)
            })
        });
        match globs.next() {
            Some(glob) => self.file(&[&glob[..], &path[depth..]].concat(), steps + 1),
            None => Some(&module.file),
        }
    }

    fn is_module(&self, path: &[String]) -> bool {
        self.modules.contains_key(path)
    }
}

/// A path that a file writes, from the root of its crate.
struct Use {
    path: Names,
    /// The name that it has here; `None` where every name is brought.
    name: Option<String>,
    public: bool,
}

/// Collects the paths of a file that lead into its own crate.
struct Uses<'a> {
    tables: &'a Crate,
    /// The module that the visitor is in.
    at: Names,
    found: Vec<Use>,
}

impl Uses<'_> {
    /// The path from the root of the crate; `None` for one that leads to another crate.
    fn absolute(&self, path: &[String]) -> Option<Names> {
        let mut base = self.at.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
                return Some([&base[..], rest].concat());
            }
            first => {
                base.push(first.to_owned());
                if !self.tables.is_module(&base) {
                    return None;
                }
            }
        }
        Some([&base[..], &rest[1..]].concat())
    }

    fn walk(&mut self, tree: &UseTree, before: &mut Names, public: bool) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.walk(&path.tree, before, public);
                before.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.walk(tree, before, public));
            }
            UseTree::Name(name) => self.add(before, Some(&name.ident), Some(&name.ident), public),
            UseTree::Rename(name) => {
                self.add(before, Some(&name.ident), Some(&name.rename), public);
            }
            UseTree::Glob(_) => self.add(before, None, None, public),
        }
    }

    fn add(
        &mut self,
        before: &[String],
        last: Option<&syn::Ident>,
        name: Option<&syn::Ident>,
        public: bool,
    ) {
        let last = last.map(ToString::to_string);
        let itself = last.as_deref() == Some("self");
        let path: Names = before.iter().cloned().chain(last.filter(|_| !itself)).collect();
        let name = match itself {
            true => path.last().cloned(),
            false => name.map(ToString::to_string),
        };
        if let Some(path) = self.absolute(&path) {
            self.found.push(Use { path, name, public });
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_for_tests) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.at.push(module.ident.to_string());
        syn::visit::visit_item_mod(self, module);
        self.at.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        self.walk(&item.tree, &mut Vec::new(), public);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if names.len() > 1
            && let Some(path) = self.absolute(&names)
        {
            self.found.push(Use { path, name: None, public: false });
        }
        syn::visit::visit_path(self, path);
    }
}

/// `read/tree/mod.rs` is the module `read::tree`, as `read/tree.rs` is.
fn module_path(file: &str) -> Names {
    let mut names: Names = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, `#[cfg(any(test, ...))]` and `#[test]`.
pub fn is_for_tests(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("test") {
        return true;
    }
    let mut tests = false;
    if attribute.path().is_ident("cfg") {
        let _ = attribute.parse_nested_meta(|meta| {
            tests |= meta.path.is_ident("test");
            Ok(())
        });
    }
    tests
}

/// The name of an item, and who sees it.
fn named(item: &Item) -> Option<(&syn::Ident, &Visibility)> {
    Some(match item {
        Item::Struct(item) => (&item.ident, &item.vis),
        Item::Enum(item) => (&item.ident, &item.vis),
        Item::Union(item) => (&item.ident, &item.vis),
        Item::Trait(item) => (&item.ident, &item.vis),
        Item::Type(item) => (&item.ident, &item.vis),
        Item::Fn(item) => (&item.sig.ident, &item.vis),
        Item::Const(item) => (&item.ident, &item.vis),
        Item::Static(item) => (&item.ident, &item.vis),
        _ => return None,
    })
}

fn defined(items: &[Item]) -> BTreeSet<String> {
    items.iter().filter_map(named).map(|(name, _)| name.to_string()).collect()
}

fn types_of(items: &[Item]) -> impl Iterator<Item = (&syn::Ident, &Visibility)> {
    let is_type = |item: &&Item| {
        matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Union(_) | Item::Trait(_))
    };
    items.iter().filter(is_type).filter_map(named)
}

fn public_types(items: &[Item]) -> Vec<String> {
    let public = types_of(items).filter(|(_, seen)| !matches!(seen, Visibility::Inherited));
    public.map(|(name, _)| name.to_string()).collect()
}

fn private_types(items: &[Item]) -> impl Iterator<Item = &syn::Ident> {
    let private = types_of(items).filter(|(_, seen)| matches!(seen, Visibility::Inherited));
    private.map(|(name, _)| name)
}
