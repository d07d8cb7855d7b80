//! The list of verbs, options and settings that stay after 1.0 (docs/promises.md) is that of this
//! command: a change of it shows in a commit.

use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory};
use remote::settings::SETTINGS;

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/promises/shell.txt")
}

/// `-f, --force`, `--missing <MISSING>: strict, filter, union`.
fn option(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let mut text = [short, long].into_iter().flatten().collect::<Vec<_>>().join(", ");
    if arg.get_action().takes_values() {
        for name in arg.get_value_names().unwrap_or_default() {
            text.push_str(&format!(" <{name}>"));
        }
        let values = arg.get_possible_values();
        let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
        if !names.is_empty() {
            text.push_str(&format!(": {}", names.join(", ")));
        }
    }
    text
}

fn add(command: &mut Command, lines: &mut Vec<String>) {
    let usage = command.render_usage().to_string();
    lines.push(usage.trim_start_matches("Usage: ").trim().to_owned());
    let options = command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
    let mut options: Vec<String> = options.map(|arg| format!("    {}", option(arg))).collect();
    options.sort();
    lines.extend(options.into_iter().filter(|line| !line.ends_with("--help")));
    for verb in command.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
        add(verb, lines);
    }
}

fn promised() -> String {
    let mut lines = vec!["# Verbs and their options".to_owned()];
    let mut command = crate::Command::command();
    command.build();
    add(&mut command, &mut lines);
    lines.push("\n# Settings: keywords of farroot.config, variables, values".to_owned());
    let setting = SETTINGS.iter();
    lines.extend(setting.map(|one| format!("{}, {}: {}", one.name, one.variable(), one.takes())));
    lines.join("\n") + "\n"
}

#[test]
fn verbs_options_and_settings_are_those_that_are_promised() {
    let there = std::fs::read_to_string(page()).unwrap_or_default();
    let now = promised();
    let gone: Vec<&str> = there.lines().filter(|line| !now.lines().any(|l| l == *line)).collect();
    let new: Vec<&str> = now.lines().filter(|line| !there.lines().any(|l| l == *line)).collect();
    let advice = "cargo test -p farroot-cli write_the_promises -- --ignored";
    assert!(now == there, "gone: {gone:#?}\nnew: {new:#?}\nwhere that is meant: {advice}");
}

#[test]
#[ignore = "writes docs/promises/shell.txt"]
fn write_the_promises() {
    std::fs::write(page(), promised()).expect("written");
}
