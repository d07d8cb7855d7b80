//! The command as a shell sees it: its output, and its exit code.

use std::path::PathBuf;
use std::process::{Command, Output};

use serve::{Config, Server};

/// A folder with small files as ROOT writes them.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/file")
}

fn file() -> String {
    folder().join("zlib.root").display().to_string()
}

/// A file of directories in directories, with trees and histograms.
fn directories() -> String {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.join("../../sim/testdata/small_directories.root").display().to_string()
}

fn farroot(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
    command.env("FARROOT_STORE", "0").args(arguments).output().expect("it runs")
}

fn printed(arguments: &[&str]) -> String {
    let output = farroot(arguments);
    let text = String::from_utf8(output.stdout).expect("text");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    assert_eq!(error, "", "quiet where all is well");
    text
}

const VALUES: &str = "\
n,numbers,flags,text,texts
0,[],\"[true, false, false]\",0,[]
1,[1],\"[true, true, false]\",1,[]
2,\"[2, 2.125]\",\"[true, true, true]\",2,\"[, x]\"
";
const VALUES_ASKED: [&str; 4] = ["-c", "n,numbers,flags,text*", "--entry-stop", "3"];

#[test]
fn ls_lists_objects() {
    assert_eq!(
        printed(&["ls", "-r", &file()]),
        "\
name   class       entries   stored  content  title
d;1    TDirectory             101 B     60 B  d
d/t;1  TTree            20  3.55 kB  6.86 kB  a tree
"
    );
    assert_eq!(printed(&["ls", &file()]).lines().count(), 2);
}

#[test]
fn show_prints_types_and_sizes() {
    let all = printed(&["show", &format!("{}:d/t", file())]);
    for line in [
        "numbers  float[]                        20        3      32.0 kB   399 B    437 B    1.1",
        "flags    bool[3]                        20        3      32.0 kB   267 B    267 B    1.0",
        "texts    std::vector<std::string>       20        3      32.0 kB   410 B    536 B    1.3",
        "d/t: 20 entries in 3 clusters, 7 branches; 2.45 kB stored, 2.82 kB uncompressed",
    ] {
        assert!(all.lines().any(|have| have == line), "{line} is not in\n{all}");
    }
    assert_eq!(printed(&["show", &file(), "-c", "text*"]).lines().count(), 4);
}

#[test]
fn show_prints_the_members_of_objects() {
    let shown = printed(&["show", &format!("{}:outer_0/inner_0/histogram_03", directories())]);
    let lines: Vec<&str> = shown.lines().collect();
    let members = [("fTitle", "a small histogram"), ("  fNbins", "2"), ("fArray", "[0, 3, 0, 0]")];
    for (name, value) in members {
        let is_it =
            |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.trim_start() == value);
        assert!(lines.iter().any(is_it), "{name} {value} is not in\n{shown}");
    }
    assert_eq!(lines.last(), Some(&"TH1C, version 3"), "{shown}");
    for (wrong, why) in [
        (&["outer_0"][..], "a directory"),
        (&["outer_0/inner_0/histogram_03", "-c", "x"], "another object"),
        (&["outer_0/inner_0/nothing"], "which has tree, histogram_00"),
    ] {
        let place = format!("{}:{}", directories(), wrong[0]);
        let output = farroot(&[&["show", &place], &wrong[1..]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(why), "{error}");
    }
}

/// A file of very many trees named them all.
#[test]
fn which_tree_is_asked_in_few_words() {
    let error = farroot(&["show", &directories()]).stderr;
    let error = String::from_utf8_lossy(&error);
    assert!(error.contains("holds 25 trees: outer_0/inner_0/tree, "), "{error}");
    assert!(error.contains(", …") && !error.contains("outer_4"), "{error}");
}

#[test]
fn map_prints_what_lies_where() {
    let map = printed(&["map", &file()]);
    assert!(map.lines().next().expect("a heading").ends_with("class       name"), "{map}");
    assert!(map.contains("TBasket     d/t;1/numbers\n"), "{map}");
    assert!(
        map.contains("   276  2026-11-20 13:45:07    101 B    1.0  TDirectory  d;1\n"),
        "{map}"
    );
    let json = printed(&["map", &file(), "--json"]);
    assert!(json.starts_with(r#"{"offset":0,"stored_bytes":100,"class":"header""#), "{json}");
    assert_eq!(json.lines().count() + 1, map.lines().count());
}

#[test]
fn check_prints_what_is_wrong_with_a_file() {
    let server = Server::start(Config::new(folder())).expect("starts");
    let far = format!("{}zlib.root", server.root_url());
    assert_eq!(printed(&["check", &file(), &far, &directories()]), "");
    let folder = tempfile::tempdir().expect("a folder");
    let mut bytes = std::fs::read(file()).expect("the file");
    // The number of free stretches, which readers do not look at.
    bytes[27] += 1;
    let wrong = folder.path().join("wrong.root").display().to_string();
    std::fs::write(&wrong, bytes).expect("a folder");
    assert_eq!(printed(&["ls", &wrong]), printed(&["ls", &file()]));
    let text = printed(&["check", &file(), &wrong]);
    assert!(text.starts_with(&format!("{wrong}: byte 24: unusual: ")), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let mut bytes = std::fs::read(file()).expect("the file");
    bytes.truncate(bytes.len() - 1);
    let cut = folder.path().join("cut.root").display().to_string();
    std::fs::write(&cut, bytes).expect("a folder");
    let output = farroot(&["check", &cut]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with(&format!("{cut}: byte ")) && text.contains(": broken: "), "{text}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("farroot: ") && text.contains("broken"), "{text}");
    let output = farroot(&["check", &wrong, "--json"]);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(line["file"], wrong);
    assert!(line["offset"].is_u64() && line["what"].is_string(), "{line}");
    assert_eq!(line["severity"], "unusual");
}

#[test]
fn plan_names_what_a_read_needs() {
    let plan = printed(&["plan", &file(), "-c", "n,numbers", "--entry-stop", "9", "--ranges"]);
    let expected = "\
column   baskets  stored  decoded  first byte  last byte
n              2   192 B    220 B         377       1318
numbers        2   281 B    412 B         473       1458
473 B of 9.50 kB in 4 baskets, 2 ranges where neighbours are joined
";
    assert!(plan.starts_with(expected), "{plan}");
    assert!(plan.ends_with("\n377-614\n1222-1458\n"), "{plan}");
}

#[test]
fn ntuples_are_planned_and_exercised_as_trees_are() {
    let testdata = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../rootfile/testdata");
    let ntuple = format!("{}:events", testdata.join("ntuple_fields.root").display());
    let plan = printed(&["plan", &ntuple, "-c", "i32,hits.x"]);
    let line = plan.lines().find(|line| line.starts_with("i32")).expect("a line");
    assert!(line.split_whitespace().nth(1) == Some("10") && plan.contains(" pages, "), "{plan}");
    let cut = printed(&["cat", &ntuple, "-c", "u8", "--cut", "i32 > 0", "--entry-stop", "103"]);
    assert_eq!(cut, "u8\n151\n152\n");
    let said = printed(&["exercise", &ntuple, "--prescale", "5", "--events", "12"]);
    assert!(said.contains(" each, all of 2\n"), "{said}");
    let rows = ["exercise", &ntuple, "--prescale", "5", "--events", "12", "--row-wise"];
    let rows = printed(&rows);
    assert!(rows.contains(" each, all of 2\n"), "{rows}");
}

/// The json crate is the command's own; this looks only for the text behind a key.
fn value(line: &str, key: &str) -> String {
    let (_, rest) = line.split_once(&format!("\"{key}\":")).expect(key);
    rest.split([',', '}']).next().expect("a value").to_owned()
}

#[test]
fn show_prints_the_same_as_json() {
    let json = printed(&["show", &format!("{}:d/t", file()), "--json"]);
    assert_eq!(json.lines().count(), 1);
    assert!(json.starts_with(r#"{"kind":"TTree","path":"d/t","entries":20,"#), "{json}");
    assert!(json.contains(r#""clusters":[0,8,16]"#), "{json}");
    let (_, numbers) = json.split_once(r#"{"name":"numbers","#).expect("a branch");
    let found = ["typename", "entry", "pieces", "stored_bytes"].map(|key| value(numbers, key));
    assert_eq!(found, [r#""float[]""#, r#""var * float32""#, "3", "399"]);
    let testdata = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../rootfile/testdata");
    let ntuple = format!("{}:events", testdata.join("ntuple_fields.root").display());
    let json = printed(&["show", &ntuple, "--json"]);
    assert!(json.contains(r#""clusters":[0,40,80,120,160]"#), "{json}");
    let (_, hits) = json.split_once(r#"{"name":"hits","#).expect("a field");
    let (_, inner) = json.split_once(r#"{"name":"hits.x","#).expect("a field");
    let pages = |field: &str| value(field, "pieces").parse::<u32>().expect("a number");
    assert!(pages(hits) > pages(inner) && pages(inner) >= 5, "{json}");
    let text = printed(&["show", &ntuple, "-c", "hits*"]);
    assert!(text.lines().next().is_some_and(|line| line.contains("pages")), "{text}");
}

#[test]
fn map_walks_from_key_to_key() {
    let map = printed(&["map", &file(), "--json"]);
    let walk = printed(&["map", &file(), "--walk", "--json"]);
    let gaps = |text: &str| text.lines().filter(|line| value(line, "class") == "\"gap\"").count();
    // Nothing was deleted: the lists name every byte, their own among them.
    assert_eq!((gaps(&map), gaps(&walk)), (0, 0), "{map}");
    let bytes = |text: &str| -> u64 {
        text.lines().map(|line| value(line, "stored_bytes").parse::<u64>().expect("bytes")).sum()
    };
    assert_eq!(bytes(&walk), std::fs::metadata(file()).expect("a file").len());
    // Each basket has a factor of its own, and a time.
    let has_time = |line: &&str| value(line, "written").starts_with("\"2026-11-20 13:45:0");
    let of_baskets =
        |text: &str| text.lines().filter(|line| line.contains("TBasket")).filter(has_time).count();
    assert_eq!((of_baskets(&map), of_baskets(&walk)), (0, 21));
    let factors = |text: &str| {
        let of = text.lines().filter(|line| line.contains("d/t;1/numbers"));
        of.map(|line| value(line, "compression")).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert!(factors(&map) == 1 && factors(&walk) > 1, "{walk}");
}

#[test]
fn map_draws_where_columns_lie_and_what_was_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("map.svg").display().to_string();
    let tree = format!("{}:d/t", file());
    let draw = |more: &[&str]| {
        assert_eq!(printed(&[&["map", &tree, "--svg", &picture][..], more].concat()), "");
        std::fs::read_to_string(&picture).expect("a picture")
    };
    let few = draw(&["-c", "n,numbers"]);
    assert!(few.starts_with("<svg") && few.ends_with("</svg>\n"), "{few}");
    assert!(few.contains(">n: ") && few.contains(">numbers: 399 B in 3 pieces"), "{few}");
    assert!(!few.contains(">flags: "), "{few}");
    assert!(draw(&[]).contains(">flags: "));
    assert!(
        draw(&["-c", "n", "--read"]).contains("fetched 9.50 kB in 1 run"),
        "all of a small file"
    );
}

#[test]
fn cat_prints_the_same_from_disk_and_over_both_protocols() {
    let server = Server::start(Config::new(folder())).unwrap();
    for place in [
        file(),
        format!("{}zlib.root:d/t", server.root_url()),
        format!("{}zlib.root:d/t", server.http_url()),
    ] {
        let arguments = [&["cat", &place][..], &VALUES_ASKED].concat();
        assert_eq!(printed(&arguments), VALUES, "{place}");
    }
}

/// Reading such a file by pyarrow is tested in Python.
#[cfg(feature = "parquet")]
#[test]
fn cat_writes_parquet() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.parquet");
    let arguments = ["cat", &file(), "--parquet", path.to_str().expect("text")];
    assert_eq!(printed(&arguments), "");
    let bytes = std::fs::read(&path).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing beside it");
    let nowhere = folder.path().join("nowhere/t.parquet").display().to_string();
    let output = farroot(&["cat", &file(), "--parquet", &nowhere]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("directory is not there"), "{said}");
}

#[cfg(feature = "parquet")]
#[test]
fn skim_writes_parquet() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.parquet").display().to_string();
    let said = printed(&["skim", &file(), &path, "-c", "n", "--cut", "n > 1"]);
    assert!(said.contains("compressed anew"), "{said}");
    let bytes = std::fs::read(&path).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let again = farroot(&["skim", &file(), &path]);
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && said.contains("-f replaces it"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing beside it");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_parquet_skim_says_how_to_have_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.parquet").display().to_string();
    let output = farroot(&["skim", &file(), &path, "-c", "n"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--features parquet") && said.contains("farroot[arrow]"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_parquet_cat_says_how_to_have_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.parquet").display().to_string();
    let output = farroot(&["cat", &file(), "--parquet", &path]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--features parquet") && said.contains("farroot[arrow]"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn cat_with_a_cut_prints_what_survives() {
    let all = printed(&["cat", &file(), "-c", "n,numbers"]);
    let cut = printed(&["cat", &file(), "-c", "n,numbers", "--cut", "(n > 1) & (n != 3)"]);
    let kept: Vec<&str> = all
        .lines()
        .enumerate()
        .filter(|(row, line)| {
            let n = line.split(',').next().expect("a column").parse::<u32>();
            *row == 0 || n.is_ok_and(|n| n > 1 && n != 3)
        })
        .map(|(_, line)| line)
        .collect();
    assert_eq!(cut.lines().collect::<Vec<_>>(), kept);
    assert!((2..20).contains(&kept.len()), "{cut}");
    for (wrong, why) in [
        ("n >", "ends too early"),
        ("nowhere > 1", "nowhere"),
        ("numbers > 1", "one bool an entry"),
        ("n > 1 & n < 3", "comparisons in a row"),
    ] {
        let output = farroot(&["cat", &file(), "-c", "n", "--cut", wrong]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{wrong}: {said}");
    }
}

#[test]
fn chains_are_shown_planned_and_read() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../rootfile/testdata");
    let chain = format!("{}:series", folder.join("chain.root").display());
    let shown = printed(&["show", &chain]);
    assert!(shown.contains("chain_2.root:events       60"), "{shown}");
    assert!(shown.contains("series: 100 entries in 2 files, 2 branches"), "{shown}");
    assert!(printed(&["show", "--json", &chain]).contains("\"kind\":\"TChain\""));
    let range = ["--entry-start", "38", "--entry-stop", "41"];
    let values = printed(&[&["cat", &chain, "-c", "x,weights.w,xs"], &range[..]].concat());
    let expected = "\
x,weights.w,xs
38,38,\"[38, 38.25]\"
39,39,[]
40,40,[40]
";
    assert_eq!(values, expected);
    let cut = printed(&["cat", &chain, "-c", "x", "--cut", "(w > 88) & (x < 95)"]);
    assert_eq!(cut, "x\n89\n");
    let friend = format!("f={}:weights", folder.join("chain_weights.root").display());
    let arguments = ["--friend", &friend, "-c", "f.w", "--cut", "(f.w > 1) & (x < 4)", "--csv"];
    assert_eq!(printed(&[&["cat", &chain][..], &arguments].concat()), "f.w\n2\n3\n");
    let planned = printed(&["plan", &chain, "-c", "x,w"]);
    assert_eq!(planned.lines().filter(|line| line.contains(".root:")).count(), 4, "{planned}");
    assert!(planned.contains("of 4 trees and RNTuples"), "{planned}");
}

#[test]
fn cat_reports_where_the_time_went_and_draws_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("read.svg");
    let arguments = ["cat", &file(), "-c", "n", "--report", "--timeline"];
    let output = farroot(&[&arguments[..], &[picture.to_str().expect("text")]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["waiting for bytes", "serial round trip", "file://"] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    let drawn = std::fs::read_to_string(&picture).expect("is there");
    assert!(drawn.starts_with("<svg") && drawn.contains("zlib.root"));
}

#[test]
fn exercise_measures_how_fast_an_event_loop_is() {
    let said = printed(&["exercise", &file(), "--prescale", "5", "--events", "12"]);
    let first = said.lines().next().expect("a line");
    assert!(first.starts_with("12 events: ") && first.ends_with("each, all of 2"), "{said}");
    let json = printed(&["exercise", &file(), "--jobs", "2", "--json"]);
    assert_eq!(json.lines().count(), 2, "{json}");
    assert!(json.lines().all(|job| job.starts_with("{\"events\":20,")), "{json}");
    let requests = |without: &[&str]| {
        let exercise = ["exercise", &file(), "--fraction", "1", "--row-wise", "--json"];
        value(&printed(&[&exercise, without].concat()), "requests").parse::<u64>().expect("a count")
    };
    assert!(requests(&["--without", "coalescing"]) > requests(&[]));
    let refused = farroot(&["exercise", &file(), "--fraction", "0"]);
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn doctor_names_the_step_that_fails() {
    let server = Server::start(Config::new(folder())).expect("starts");
    for origin in [server.root_url(), server.http_url()] {
        let well = printed(&["doctor", &format!("{origin}zlib.root")]);
        let steps: Vec<&str> =
            well.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
        let all = ["credentials", "name", "connect", "login", "open", "read", "ranges", "file"];
        // Nothing is shown to a server over http, so none is looked for.
        let is_http = origin.starts_with("http:");
        assert_eq!(steps, all[usize::from(is_http)..], "{well}");
        assert!(well.contains("a ROOT file of"), "{well}");
        assert_eq!(well.contains("offers checksums"), origin.starts_with("root:"), "{well}");
        let missing = farroot(&["doctor", "--json", &format!("{origin}none.root")]);
        assert_eq!(missing.status.code(), Some(1));
        let said = String::from_utf8_lossy(&missing.stdout).into_owned();
        let last = said.lines().last().expect("a line");
        assert!(last.contains("\"open\"") && last.contains("\"is_fault\":true"), "{said}");
        assert!(last.contains("is the path right?"), "{said}");
    }
    drop(server);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let refused = farroot(&["doctor", &format!("root://127.0.0.1:{port}//f")]);
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(said.contains("FAULT: ") && said.contains("nothing listens on this port"), "{said}");
    let unknown = farroot(&["doctor", "root://no-such-host.invalid//f"]);
    let said = String::from_utf8_lossy(&unknown.stdout).into_owned();
    assert!(said.contains("name ") && said.contains("is the name spelt right?"), "{said}");
    assert!(printed(&["doctor", &file()]).contains("a ROOT file of"));
}

/// It called files well of which nothing could be read.
#[test]
fn doctor_looks_at_what_reads_need() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = std::fs::read(file()).expect("is there");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("is written");
        path.to_string_lossy().into_owned()
    };
    let cut = write("cut.root", &whole[..whole.len() - 10]);
    let empty = write("empty.root", b"");
    let text = write("text.root", b"no tree grows here");
    let folder = folder.path().to_string_lossy().into_owned();
    for (path, code, part) in [
        (&cut, 1, "FAULT: the file is cut: "),
        (&empty, 1, "FAULT: the file is empty"),
        (&folder, 1, "FAULT: is a directory"),
        (&text, 0, "not a ROOT file"),
    ] {
        let output = farroot(&["doctor", path]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(part), "{said}");
        assert_eq!(output.status.code(), Some(code), "{said}");
    }
}

#[test]
fn cp_copies_verifies_and_replaces_only_on_demand() {
    let server = Server::start(Config::new(folder())).expect("starts");
    let origin = server.root_url();
    let target = tempfile::tempdir().expect("a folder");
    let into = target.path().display().to_string();
    let path = target.path().join("zlib.root");
    let said = printed(&["cp", "--verify", &format!("{origin}zlib.root"), &into]);
    assert!(said.contains(": adler32 ") && said.contains(", as the server says\n"), "{said}");
    let original = std::fs::read(file()).expect("is there");
    assert_eq!(std::fs::read(&path).expect("is there"), original);
    let again = farroot(&["cp", &format!("{origin}zlib.root"), &into]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("-f"), "{again:?}");
    std::fs::write(&path, "other").expect("writes");
    let there = format!("{origin}zlib.root");
    let local = file();
    let said = printed(&["cp", "-f", &there, "--source", &local, &into]);
    assert!(said.starts_with("copied: 9.50 kB in "), "{said}");
    assert_eq!(std::fs::read(&path).expect("is there"), original);
    // Patterns and several files need a directory.
    let all = format!("{origin}*.root");
    let said = printed(&["cp", "-f", &all, &into]);
    assert!(said.starts_with("copied ") && said.contains(" files: "), "{said}");
    assert!(std::fs::read_dir(target.path()).expect("a folder").count() > 1);
    let missing = farroot(&["cp", "-f", &there, &format!("{origin}no.root"), &into]);
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("no.root") && said.contains("1 of 2 files"), "{said}");
    assert_eq!(missing.status.code(), Some(1));
}

#[test]
fn variables_that_are_misspelt_or_make_no_sense_are_named() {
    let with = |name: &str, value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
        let output = command.env(name, value).args(["ls", &file()]).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = with("FARROOT_READ_TIMOUT", "5");
    let expected = "warning: the variable FARROOT_READ_TIMOUT is no setting; did you mean \
                    FARROOT_READ_TIMEOUT?\n";
    assert_eq!((code, said.as_str()), (Some(0), expected));
    let (code, said) = with("FARROOT_STORE_FOLDER", "cache");
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with("farroot: FARROOT_STORE_FOLDER=\"cache\": it takes an abso"),
        "{said}"
    );
}

/// The store was made in the directory in which the command was started.
#[test]
fn an_empty_variable_is_none() {
    let server = Server::start(Config::new(folder())).expect("starts");
    let home = tempfile::tempdir().expect("a folder");
    let started = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
    command.env("HOME", home.path()).env_remove("XDG_CACHE_HOME").current_dir(started.path());
    for (name, value) in [("FARROOT_STORE_FOLDER", ""), ("FARROOT_MEMORY", " ")] {
        command.env(name, value);
    }
    let output = command.args(["ls", &format!("{}zlib.root", server.root_url())]).output();
    assert!(output.expect("it runs").status.success());
    assert_eq!(std::fs::read_dir(started.path()).expect("a folder").count(), 0);
    assert!(home.path().read_dir().expect("a folder").count() == 1, "the platform's cache folder");
}

#[test]
fn an_error_says_what_and_where() {
    let no_column = farroot(&["cat", &file(), "-c", "Numbers"]);
    assert_eq!(no_column.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&no_column.stdout), "");
    let said = String::from_utf8_lossy(&no_column.stderr).into_owned();
    assert!(said.starts_with("farroot: no branch is called \"Numbers\"; in "), "{said}");
    assert!(said.ends_with("zlib.root; did you mean numbers?\n"), "{said}");
    let no_file = farroot(&["ls", "no/such/file.root"]);
    assert_eq!(no_file.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&no_file.stderr).contains("no/such/file.root"));
    assert_eq!(farroot(&["cat"]).status.code(), Some(2));
    assert_eq!(farroot(&["serve", "no/such/folder"]).status.code(), Some(1));
}

/// A tree whose title clears the screen and whose branch names the window.
fn hostile(folder: &std::path::Path) -> String {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let plain = std::fs::read(manifest.join("../rootfile/testdata/plain.root")).expect("the file");
    let mut hostile = plain.clone();
    for (from, to) in
        [(&b"not compressed"[..], &b"n\x1b[2J\x07\ncressed"[..]), (b"fixed", b"f\x1b]0;")]
    {
        assert_eq!(from.len(), to.len());
        let places = (0..plain.len() - from.len()).filter(|at| plain[*at..].starts_with(from));
        places.for_each(|at| hostile[at..at + to.len()].copy_from_slice(to));
    }
    let path = folder.join("hostile.root");
    std::fs::write(&path, hostile).expect("a folder");
    path.display().to_string()
}

/// Names went to the terminal as they were: a file could clear the screen, or feign lines.
#[test]
fn control_characters_of_names_are_shown_as_what_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = hostile(folder.path());
    let tree = format!("{file}:events");
    let visible = |text: &[u8]| {
        let text = String::from_utf8(text.to_vec()).expect("text");
        assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text:?}");
        text
    };
    assert!(visible(&farroot(&["ls", &file]).stdout).contains(r"n\x1b[2J\x07\ncressed"));
    for arguments in [&["show", &tree][..], &["plan", &tree], &["map", &file]] {
        let text = visible(&farroot(arguments).stdout);
        assert!(text.contains(r"f\x1b]0;"), "{arguments:?}: {text}");
    }
    let error = farroot(&["cat", &tree, "-c", "f\x1b"]).stderr;
    assert!(visible(&error).contains("1b"));
    // Output for programs is unescaped.
    let csv = printed(&["cat", &tree, "--entry-stop", "1"]);
    assert!(csv.lines().next().expect("a head").contains("f\x1b]0;"), "{csv:?}");
}

#[test]
fn auth_lists_what_would_be_shown_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "marker-token").unwrap();
    let mode =
        |mode| std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(mode));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
        command.env_clear().env("HOME", folder.path()).env("KRB5CCNAME", "");
        command.env("BEARER_TOKEN_FILE", &token).env("AWS_ACCESS_KEY_ID", "AKIDNAME");
        command.env("AWS_SECRET_ACCESS_KEY", "marker-key").args(arguments);
        let output = command.output().expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).expect("text");
        assert!(!said.contains("marker"), "{said}");
        (output.status.code(), said)
    };
    mode(0o600).unwrap();
    let (code, said) = run(&["auth"]);
    assert_eq!(code, Some(0), "{said}");
    let row = said.lines().find(|line| line.starts_with("token")).unwrap();
    assert!(row.contains("(from BEARER_TOKEN_FILE)") && row.contains("600"), "{row}");
    assert!(row.ends_with("used"), "{row}");
    assert!(
        said.lines().any(|line| line.starts_with("s3") && line.contains(" ****NAME")),
        "{said}"
    );
    assert!(said.contains("servers are verified by"), "{said}");
    mode(0o644).unwrap();
    let (code, said) = run(&["auth"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("-> chmod 600 {}", token.display())), "{said}");
    let (_, lines) = run(&["auth", "--json"]);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["kind"], &first["state"]), (&"token".into(), &"unusable".into()));
    assert_eq!(first["mode"], "644");
}

/// Credentials are in no event of farroot's own, so those of libraries are left out.
#[test]
fn rust_log_shows_events_of_farroot() {
    let output = |filter| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
        let arguments = ["ls", "-r", &file()];
        command.env("FARROOT_STORE", "0").env("RUST_LOG", filter).args(arguments);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{filter}");
        String::from_utf8(output.stderr).expect("text")
    };
    let is_opening = |line: &str| {
        line.contains("INFO farroot_remote::fetch: opening ") && line.ends_with("zlib.root")
    };
    for filter in ["info", "farroot=info", "warn,farroot_remote::fetch=debug"] {
        let events = output(filter);
        assert!(events.lines().any(is_opening), "{filter}: {events}");
        assert!(events.lines().all(|line| line.contains(" farroot")), "{filter}: {events}");
    }
    for filter in ["", "warn", "h2=trace"] {
        assert_eq!(output(filter), "", "{filter}");
    }
    assert!(output("farroot=loud").starts_with("warning: RUST_LOG is ignored"));
}
