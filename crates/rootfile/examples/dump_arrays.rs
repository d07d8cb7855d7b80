//! Decodes every branch of every tree in a file and writes the columns to standard output: for
//! each branch a line of JSON that says what follows, then the buffers it names, in host order.
//! The oracle in `tests/oracle` compares them with what uproot reads.
#![allow(clippy::disallowed_methods, reason = "an example reads files")]

use std::io::{self, BufWriter, Write};

use bytes::Bytes;
use rootfile::tree::{BranchId, BranchKind, Tree, interpret};
use rootfile::{Array, Codecs, File, Known, Numbers};
use serde_json::{Value, json};

#[path = "../tests/support/feed.rs"]
mod feed;

#[path = "../tests/support/columns.rs"]
mod columns;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: dump_arrays FILE")?;
    let bytes = Bytes::from(std::fs::read(path)?);
    let mut known = Known::new(Some(bytes.len() as u64));
    let file = feed::until_ready(&bytes, &mut known, File::open)?;
    let mut output = BufWriter::new(io::stdout().lock());
    for directory in
        feed::until_ready(&bytes, &mut known, |known| file.directories(known))?.readable
    {
        for key in directory.keys.iter().filter(|key| file.is_tree(key)) {
            let prefix = if directory.path.is_empty() { "" } else { "/" };
            let path = format!("{}{prefix}{};{}", directory.path, key.name, key.cycle);
            match feed::until_ready(&bytes, &mut known, |known| file.tree(known, &path)) {
                Ok(tree) => dump_tree(&path, &tree, &file, &bytes, &mut output)?,
                Err(error) => {
                    writeln!(output, "{}", json!({ "tree": path, "error": error.to_string() }))?
                }
            }
        }
    }
    output.flush()?;
    Ok(())
}

fn dump_tree(
    path: &str,
    tree: &Tree,
    file: &File,
    bytes: &Bytes,
    output: &mut impl Write,
) -> io::Result<()> {
    let mut codecs = Codecs::new();
    for (index, branch) in tree.branches.iter().enumerate() {
        let id = BranchId(index as u32);
        let mut line = json!({
            "tree": path,
            "branch": index,
            "name": branch.name,
            "group": interpret::is_group(branch),
            "typename": interpret::typename(tree, id, &file.streamers),
        });
        if let BranchKind::Element { branch_type, streamer_type, .. } = &branch.kind {
            line["codes"] = json!([branch_type, streamer_type]);
        }
        match columns::read_branch(tree, id, file, bytes, &mut codecs) {
            Ok(column) => {
                line["form"] = form(&column);
                writeln!(output, "{line}")?;
                write_buffers(&column, output)?;
            }
            Err(error) => {
                line["error"] = error.to_string().into();
                writeln!(output, "{line}")?;
            }
        }
    }
    Ok(())
}

fn form(array: &Array) -> Value {
    match array {
        Array::Numbers { numbers, shape } => {
            json!({ "numbers": numbers.dtype(), "count": numbers.len(), "shape": shape })
        }
        Array::List { offsets, content } => {
            json!({ "list": form(content), "count": offsets.len() })
        }
        Array::Strings { offsets, bytes } => {
            json!({ "strings": bytes.len(), "count": offsets.len() })
        }
        Array::Record { entries, fields, .. } => json!({
            "record": fields.iter().map(|(name, field)| json!([name, form(field)])).collect::<Vec<_>>(),
            "count": entries,
        }),
        Array::Regular { .. } | Array::Option { .. } | Array::Union { .. } => {
            unreachable!("no branch of a tree is one")
        }
    }
}

fn write_buffers(array: &Array, output: &mut impl Write) -> io::Result<()> {
    match array {
        Array::Numbers { numbers, .. } => write_numbers(numbers, output),
        Array::List { offsets, content } => {
            write_numbers(&Numbers::I64(offsets.clone()), output)?;
            write_buffers(content, output)
        }
        Array::Strings { offsets, bytes } => {
            write_numbers(&Numbers::I64(offsets.clone()), output)?;
            output.write_all(bytes)
        }
        Array::Record { fields, .. } => {
            fields.iter().try_for_each(|(_, field)| write_buffers(field, output))
        }
        Array::Regular { .. } | Array::Option { .. } | Array::Union { .. } => {
            unreachable!("no branch of a tree is one")
        }
    }
}

fn write_numbers(numbers: &Numbers, output: &mut impl Write) -> io::Result<()> {
    macro_rules! write_all {
        ($vec:expr) => {
            $vec.iter().try_for_each(|number| output.write_all(&number.to_ne_bytes()))
        };
    }
    match numbers {
        Numbers::Bool(vec) | Numbers::U8(vec) => output.write_all(vec),
        Numbers::I8(vec) => write_all!(vec),
        Numbers::I16(vec) => write_all!(vec),
        Numbers::I32(vec) => write_all!(vec),
        Numbers::I64(vec) => write_all!(vec),
        Numbers::U16(vec) => write_all!(vec),
        Numbers::U32(vec) => write_all!(vec),
        Numbers::U64(vec) => write_all!(vec),
        Numbers::F32(vec) => write_all!(vec),
        Numbers::F64(vec) => write_all!(vec),
    }
}
