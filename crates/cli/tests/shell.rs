//! The command among others in a shell: signals, pipes, targets, several files, output for
//! programs.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serve::{Config, Server, Shape};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/file")
}

fn file() -> String {
    folder().join("zlib.root").display().to_string()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
    command.env("FARROOT_STORE", "0").args(arguments);
    command
}

fn printed(arguments: &[&str]) -> String {
    let output = command(arguments).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

fn refused(arguments: &[&str]) -> String {
    let output = command(arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Waits for something that comes soon; a test that waits for long has failed.
fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Batch systems end jobs with SIGTERM: the copied bytes were lost, and the exit status did not
/// show it.
#[test]
fn a_copy_that_is_ended_by_a_signal_is_resumed() {
    let there = tempfile::tempdir().expect("a folder");
    let content: Vec<u8> = (0..4_000_000u32).flat_map(|n| n.to_be_bytes()).collect();
    std::fs::write(there.path().join("large"), &content).expect("written");
    let shape = Shape { rate: Some(4_000_000), ..Shape::default() };
    let server = Server::start(Config { shape, ..Config::new(there.path()) }).expect("starts");
    let target = tempfile::tempdir().expect("a folder");
    let copy = target.path().join("copy");
    let source = format!("{}large", server.root_url());
    let arguments = ["cp", &source, &copy.display().to_string()];
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        let part = target.path().join("copy.farroot-part");
        let blocks = || std::fs::metadata(&part).map_or(0, |part| part.blocks());
        let before = blocks();
        let mut child = command(&arguments).stdout(Stdio::null()).spawn().expect("it runs");
        until(|| blocks() > before + 512);
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(child.wait().expect("ends").code(), Some(status));
        assert!(!copy.exists() && part.exists());
    }
    let said = printed(&arguments);
    assert!(said.contains("16.0 MB in ") && said.contains(" from an earlier try"), "{said}");
    assert!(std::fs::read(&copy).expect("is there") == content);
    assert_eq!(std::fs::read_dir(target.path()).expect("a folder").count(), 1);
}

#[test]
fn cp_streams_to_a_pipe() {
    let server = Server::start(Config::new(folder())).expect("starts");
    for source in [file(), format!("{}zlib.root", server.root_url())] {
        let output = command(&["cp", &source, "-"]).output().expect("it runs");
        assert_eq!(output.stdout, std::fs::read(file()).expect("is there"), "{source}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with("copied: 9.50 kB in "), "{said}");
    }
    assert!(refused(&["cp", &file(), &file(), "-"]).contains("one file"));
    // The reader has closed the pipe: no complaint.
    let mut child = command(&["cp", &file(), "-"]).stdout(Stdio::piped()).spawn().expect("it runs");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(0));
}

/// `farroot merge ... | head -1` panicked behind the first line.
#[test]
fn merge_and_skim_end_well_where_no_one_reads_their_lines() {
    let target = tempfile::tempdir().expect("a folder");
    for verb in ["merge", "skim"] {
        let made = target.path().join(format!("{verb}.root")).display().to_string();
        let arguments = match verb {
            "merge" => ["merge", &made, &file()],
            _ => ["skim", &file(), &made],
        };
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command(&arguments).stdout(writer).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{verb}: {said}");
        assert!(Path::new(&made).exists(), "{verb}");
    }
}

/// `farroot serve` whose output was closed ended at once, as if it had done its work, with status 0
/// and without a word.
#[test]
fn serve_fails_where_it_cannot_say_its_address() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let folder = folder().display().to_string();
    let output =
        command(&["serve", &folder, "--port", "0"]).stdout(writer).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write the server's addresses to the output"), "{said}");
}

#[test]
fn cp_says_which_targets_it_cannot_write() {
    let target = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(target.path().join("zlib.root")).expect("made");
    let there = target.path().display().to_string();
    for (target, why) in [
        ("pelican://host/store/f.root", "cannot write to pelican:// addresses"),
        ("/no/such/folder/f.root", "the target's directory is not there"),
        ("/dev/null/f.root", "what should be the target's directory is a file"),
        (&*there, "the target is a directory"),
    ] {
        let said = refused(&["cp", &file(), target]);
        assert!(said.contains(why) && !said.contains("trying again"), "{target}: {said}");
    }
    assert!(refused(&["cp", "-f", &file(), "/proc/f.root"]).contains("cannot be written: "));
}

/// It made a directory that was called `~`.
#[test]
fn a_tilde_is_the_home() {
    let home = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| -> Output {
        let mut command = command(arguments);
        command.env("HOME", home.path()).current_dir(home.path()).output().expect("it runs")
    };
    assert!(run(&["cp", &file(), "~/"]).status.success());
    assert!(run(&["cp", "~/zlib.root", "~/new/"]).status.success());
    let listed = run(&["ls", "~/new/*.root", "~"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("d;1") && listed.contains("new/\n"), "{listed}");
    assert!(!home.path().join("~").exists());
}

#[test]
fn ls_lists_several_files_and_directories() {
    let server = Server::start(Config::new(folder())).expect("starts");
    let names = |text: &str| -> Vec<String> {
        text.lines()
            .skip(1)
            .map(|line| line.split(' ').next().expect("a name").to_owned())
            .collect()
    };
    let local = printed(&["ls", &folder().display().to_string()]);
    assert!(
        local.starts_with("name ") && names(&local).contains(&"zlib.root".to_owned()),
        "{local}"
    );
    let long = printed(&["ls", "-l", &folder().display().to_string()]);
    assert!(long.lines().all(|line| line.ends_with("changed") || line.ends_with(" GMT")), "{long}");
    assert_eq!(names(&long), names(&local));
    let far = printed(&["ls", &server.root_url()]);
    assert_eq!(far, local, "names and sizes, over XRootD, too");
    assert_eq!(printed(&["ls", "-l", &server.root_url()]), long);
    let two = printed(&["ls", &file(), &format!("{}zlib.root", server.http_url())]);
    assert_eq!(two.matches("d;1 ").count(), 2, "{two}");
    assert!(two.starts_with(&format!("{}:\n", file())), "{two}");
    let output = command(&["ls", &file(), "/no/such.root"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("d;1"), "the other one is listed");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("/no/such.root") && said.contains("1 of 2 files"), "{said}");
}

#[test]
fn every_verb_speaks_to_programs() {
    let place = file();
    let keys = json(&printed(&["ls", "-r", "--json", &place]));
    assert_eq!((&keys[1]["name"], &keys[1]["entries"]), (&"d/t".into(), &20.into()), "{keys:?}");
    let files = json(&printed(&["ls", "--json", &folder().display().to_string()]));
    let file = files.iter().find(|file| file["name"] == "zlib.root").expect("is there");
    assert_eq!(file["size"], std::fs::metadata(&place).expect("is there").len());
    assert!(file["modified"].as_u64().is_some_and(|since| since > 1_700_000_000), "{file}");
    let plan = json(&printed(&["plan", "--json", &place, "-c", "n, numbers"]));
    assert_eq!(plan[0]["tables"][0]["columns"][1]["name"], "numbers");
    assert_eq!(plan[0]["stored_bytes"], 672);
    let rows =
        json(&printed(&["cat", "--json", &place, "-c", " numbers , flags", "--entry-stop", "3"]));
    assert_eq!(rows[2].to_string(), r#"{"flags":[true,true,true],"numbers":[2.0,2.125]}"#);
    let target = tempfile::tempdir().expect("a folder");
    let into = target.path().display().to_string();
    let copied = json(&printed(&["cp", "--json", &place, &into]));
    assert_eq!(copied[0]["size"], 9496);
    assert!(Path::new(copied[0]["target"].as_str().expect("a path")).is_file());
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let objects = manifest.join("../../sim/testdata/small_directories.root").display().to_string();
    let object = format!("{objects}:outer_0/inner_0/histogram_03");
    let shown = json(&printed(&["show", "--json", &object]));
    assert_eq!(shown[0]["class"], "TH1C");
    for verb in ["map", "doctor", "exercise", "show"] {
        assert!(!json(&printed(&[verb, "--json", &place])).is_empty());
    }
}

/// The report had 0.000 s for every part of the time, and "1 B of metadata".
#[test]
fn the_report_of_a_copy_is_that_of_what_was_sent() {
    let server = Server::start(Config::new(folder())).expect("starts");
    for origin in [server.root_url(), server.http_url()] {
        let target = tempfile::tempdir().expect("a folder");
        let into = target.path().display().to_string();
        let arguments = ["cp", "--report", &format!("{origin}zlib.root"), &into];
        let output = command(&arguments).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains("9.50 kB received: 9.50 kB of data, 0 B of metadata, 0.0 % more"),
            "{said}"
        );
        assert!(!said.starts_with("0.000 s from"), "{said}");
        let time = |part: &str| -> f64 {
            let line = said.lines().find(|line| line.trim_start().starts_with(part)).expect(part);
            let mut words = line.trim_start()[part.len()..].split_whitespace();
            words.next().and_then(|word| word.parse().ok()).expect("a time")
        };
        assert!(time("connecting") + time("opening") + time("waiting for bytes") > 0.0, "{said}");
    }
}

#[test]
fn operators_of_other_languages_are_explained() {
    for (cut, instead) in [("n > 1 && n < 3", "write &,"), ("n > 1 or n < 3", "write |,")] {
        let said = refused(&["cat", &file(), "--cut", cut]);
        assert!(said.contains(instead) && said.contains("parentheses"), "{said}");
    }
}

/// A name that no one has does not come to be by trying again.
#[test]
fn what_trying_again_does_not_mend_is_not_advised() {
    for address in ["root://no-such-host.invalid//f", "http://no-such-host.invalid/f", "/no/such/f"]
    {
        let said = refused(&["show", address]);
        assert!(!said.contains("trying again"), "{said}");
    }
}

#[test]
fn hints_are_those_of_the_shell() {
    let target = tempfile::tempdir().expect("a folder");
    let into = target.path().display().to_string();
    printed(&["cp", &file(), &into]);
    let said = refused(&["cp", &file(), &into]);
    assert!(said.contains("-f replaces it") && !said.contains("overwrite"), "{said}");
    let said = refused(&["cat", &file(), "-c", "nothing_like_it"]);
    assert!(said.contains("`farroot show` lists"), "{said}");
}
