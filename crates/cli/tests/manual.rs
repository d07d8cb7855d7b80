//! Manual pages and completions: one page a verb, which `man` formats without a complaint, and the
//! scripts that the package installs, in the shells that there are.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn farroot() -> Command {
    Command::new(env!("CARGO_BIN_EXE_farroot"))
}

/// Where a wheel takes its files below share/ from.
fn share() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/wheel/data/share")
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).expect("text")
}

/// The verbs of a command, as its help lists them.
fn verbs(command: &[&str]) -> Vec<String> {
    let output = farroot().args(command).arg("--help").output().expect("it runs");
    let help = text(&output.stdout);
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    let listed = listed.lines().take_while(|line| !line.is_empty());
    // Their descriptions go on below, further to the right.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_verb_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("share/man1");
    let output = farroot().arg("man").arg(&made).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let mut wanted = vec!["farroot.1".to_owned()];
    for verb in verbs(&[]) {
        wanted.push(format!("farroot-{verb}.1"));
        let below = if verb == "cache" { verbs(&["cache"]) } else { Vec::new() };
        wanted.extend(below.iter().map(|each| format!("farroot-{verb}-{each}.1")));
    }
    assert!(wanted.len() >= 26, "{wanted:?}");
    let there = std::fs::read_dir(&made)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
    let mut there: Vec<String> = there.collect();
    there.sort();
    wanted.sort();
    assert_eq!(there, wanted);
}

/// Runs a formatter of manual pages; `None` where there is none.
fn formatted(command: &[&str], page: &Path) -> Option<Output> {
    let mut command_line = Command::new(command[0]);
    let command_line = command_line.args(&command[1..]).arg(page).env("MANWIDTH", "80");
    match command_line.env("LC_ALL", "C.UTF-8").output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        output => Some(output.expect("it runs")),
    }
}

/// A text without the letters over which others are printed, to make them bold.
fn not_bold(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '\u{8}' => drop(plain.pop()),
            letter => plain.push(letter),
        }
    }
    plain
}

/// `man` and `mandoc` find nothing to complain of, and lines to be typed keep their quotes.
#[test]
fn the_pages_are_formatted() {
    let pages = share().join("man/man1");
    for page in std::fs::read_dir(&pages).expect("a folder") {
        let page = page.expect("an entry").path();
        for command in [&["man", "--warnings=all", "-l"][..], &["mandoc", "-W", "error"]] {
            let Some(output) = formatted(command, &page) else { continue };
            let said = text(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{}: {said}", page.display());
            let plain = not_bold(&text(&output.stdout));
            assert!(plain.contains("EXAMPLES") || page.ends_with("farroot.1"), "{plain}");
            if page.ends_with("farroot-show.1") {
                assert!(plain.contains("nano.root:Events -c 'Muon_*'"), "{plain}");
            }
        }
    }
}

/// A folder in which `farroot` is this program.
fn on_path() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("farroot");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_farroot"), program).expect("made");
    let others = std::env::var("PATH").expect("it is set");
    let path = format!("{}:{others}", folder.path().display());
    (folder, path)
}

/// The lines that a shell prints; `None` where there is no such shell.
fn run_by(shell: &str, script: &str, path: &str) -> Option<Vec<String>> {
    let home = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(shell);
    let options: &[&str] = match shell {
        "bash" => &["--norc"],
        "zsh" => &["-f"],
        _ => &[],
    };
    command.args(options).args(["-c", script]).env("PATH", path).env("HOME", home.path());
    let output = match command.env("XDG_DATA_DIRS", share()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        output => output.expect("it runs"),
    };
    assert!(output.status.success(), "{shell}: {output:?}");
    Some(text(&output.stdout).lines().map(str::to_owned).collect())
}

/// The words that bash would offer for the last of some words, by the file that is installed.
fn completed(words: &[&str], path: &str) -> Option<Vec<String>> {
    let file = share().join("bash-completion/completions/farroot");
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let current = &words[last];
    let previous = last.checked_sub(1).map_or("''", |at| &words[at]);
    let script = format!(
        "source '{}'\n\
         COMP_WORDS=({})\nCOMP_CWORD={last}\n\
         handler=$(complete -p farroot)\nhandler=${{handler##*-F }}\n\
         \"${{handler%% *}}\" farroot {current} {previous}\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        file.display(),
        words.join(" "),
    );
    run_by("bash", &script, path)
}

#[test]
fn bash_completes_verbs_options_and_values() {
    let (_folder, path) = on_path();
    let completed = |words: &[&str]| completed(words, &path);
    let Some(verbs) = completed(&["farroot", "ca"]) else { return };
    assert_eq!(verbs, ["cat", "cache"]);
    assert_eq!(completed(&["farroot", "cp", "--ver"]).unwrap(), ["--verify"]);
    assert_eq!(completed(&["farroot", "cache", "ev"]).unwrap(), ["evict"]);
    let missing = completed(&["farroot", "merge", "--missing", ""]).unwrap();
    assert_eq!(missing, ["strict", "filter", "union"]);
}

#[test]
fn fish_and_zsh_complete_by_the_files_of_the_package() {
    let (_folder, path) = on_path();
    if let Some(values) = run_by("fish", "complete -C 'farroot merge --missing '", &path) {
        assert_eq!(values, ["filter", "strict", "union"]);
    }
    // Outside of the line editor zsh offers nothing, but its functions are there.
    let script = format!(
        "fpath=('{}' $fpath)\nautoload -Uz compinit && compinit -u -D\n\
         _farroot 2> /dev/null\nprint ${{_comps[farroot]}} ${{+functions[_farroot_commands]}}",
        share().join("zsh/site-functions").display()
    );
    if let Some(said) = run_by("zsh", &script, &path) {
        assert_eq!(said, ["_farroot 1"]);
    }
}

/// No shell is needed to see that there is a script for each.
#[test]
fn every_shell_has_a_script() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = farroot().args(["completions", shell]).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        let script = text(&output.stdout);
        assert!(script.contains("verify") && script.contains("evict"), "{shell}: {script}");
    }
}
