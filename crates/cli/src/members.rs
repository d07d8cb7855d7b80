//! An object that is no table, in lines: its members, those of base classes among them, and below
//! each the members of the object that it is.

use std::collections::BTreeSet;

use engine::Array;
use engine::object::{ObjectId, ObjectRef, Objects, Value};

use crate::table::{table, text};

/// Objects in objects are shown so deep, and no more lines than these: a canvas has very many.
const DEPTH_MAX: usize = 3;
const LINES_MAX: usize = 500;
/// Numbers of an array, and characters of a text.
const NUMBERS_MAX: usize = 8;
const TEXT_MAX: usize = 60;

/// The same in one line of JSON.
pub fn json(objects: &Objects) -> String {
    let mut lines = Vec::new();
    list(objects, objects.root(), 0, &mut BTreeSet::new(), &mut lines);
    let member = |[name, value]: [String; 2]| {
        let depth = (name.len() - name.trim_start().len()) / 2;
        serde_json::json!({"name": name.trim_start(), "depth": depth, "value": value})
    };
    let members: Vec<_> = lines.into_iter().take(LINES_MAX).map(member).collect();
    let root = objects.root();
    let class = root.class();
    let version = root.version();
    serde_json::json!({"class": class, "version": version, "members": members}).to_string() + "\n"
}

/// A table of the members.
pub fn shown(objects: &Objects) -> String {
    let mut lines = Vec::new();
    list(objects, objects.root(), 0, &mut BTreeSet::new(), &mut lines);
    let mut listed = table(&["member", "value"]);
    let is_cut = lines.len() > LINES_MAX;
    lines.into_iter().take(LINES_MAX).for_each(|line| listed.add_row(line));
    let root = objects.root();
    let rest = if is_cut { "and more\n" } else { "" };
    format!("{}{rest}{}, version {}\n", text(&listed), root.class(), root.version())
}

fn list(
    objects: &Objects,
    object: ObjectRef<'_>,
    depth: usize,
    seen: &mut BTreeSet<ObjectId>,
    lines: &mut Vec<[String; 2]>,
) {
    if !seen.insert(object.id) {
        return;
    }
    let bases: Vec<ObjectId> = object.bases().collect();
    for (name, value) in object.members() {
        if lines.len() > LINES_MAX {
            return;
        }
        if let Value::Object(id) = value
            && bases.contains(id)
        {
            list(objects, objects.get(*id), depth, seen, lines);
            continue;
        }
        lines.push([format!("{}{name}", "  ".repeat(depth)), one_line(objects, value)]);
        if let Value::Object(id) = value
            && depth < DEPTH_MAX
        {
            list(objects, objects.get(*id), depth + 1, seen, lines);
        }
    }
}

fn one_line(objects: &Objects, value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Lost => "not read".into(),
        Value::Bool(yes) => yes.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => shortened(&String::from_utf8_lossy(text)),
        Value::Numbers(numbers) => {
            let shape = vec![numbers.len().min(NUMBERS_MAX)];
            let first = Array::Numbers { numbers: numbers.clone(), shape }.value(0).to_string();
            match numbers.len() {
                all if all > NUMBERS_MAX => {
                    format!("{}, ...] of {all}", first.trim_end_matches(']'))
                }
                _ => first,
            }
        }
        Value::List(items) => match &items[..] {
            [] => "[]".into(),
            [only] => format!("[{}]", one_line(objects, only)),
            [first, ..] => format!("[{}, ...] of {}", one_line(objects, first), items.len()),
        },
        Value::Map(pairs) | Value::Pairs(pairs) => format!("{} pairs", pairs.len()),
        Value::Object(id) => {
            let object = objects.get(*id);
            let name = match object.string("fName") {
                Ok(name) if !name.is_empty() => format!(" {name}"),
                _ => String::new(),
            };
            let unread = if object.unread().is_some() { " (not read)" } else { "" };
            shortened(&format!("{}{name}{unread}", object.class()))
        }
    }
}

/// A text that fits into a line.
fn shortened(text: &str) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    match line.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
