use super::Scheme::{Http, Https, Local, Pelican, Root, Roots, S3};
use super::*;

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

#[test]
fn what_was_written_is_what_is_shown() {
    for text in [
        "data/f.root",
        "./a b.root",
        "/data/50%.root",
        "file:///data/a%20b.root",
        "root://host//a%20b.root",
        "xroot://me@host:1094//store/f.root",
        "http://host/a b.root",
        "http://[::1]:80/f.root",
    ] {
        assert_eq!(address(text).to_string(), text);
        assert_eq!(address(text).as_str(), text);
    }
}

#[test]
fn secrets_are_not_shown() {
    for (text, shown) in [
        ("root://me:pw@host//f.root", "root://me@host//f.root"),
        ("root://host//f?authz=Bearer%20abc&tried=ds1", "root://host//f?authz=...&tried=ds1"),
        ("http://host/f?access_token=abc", "http://host/f?access_token=..."),
        ("http://host/f?X-Amz-Signature=abc&x=1", "http://host/f?X-Amz-Signature=...&x=..."),
        ("http://host/f?abc", "http://host/f?..."),
        ("root://host//f?xrd.wantprot=unix&tried=ds1", "root://host//f?tried=ds1"),
        ("http://me:secret@host:81/a%20b?authz=secret", "http://me@host:81/a%20b?authz=..."),
    ] {
        assert_eq!(address(text).to_string(), shown);
        assert_eq!(format!("{:?}", address(text)), format!("Address({shown})"));
    }
    let error = Address::parse("root://me:pw@host:x//f?authz=abc").unwrap_err();
    assert!(!error.to_string().contains("pw") && !error.to_string().contains("abc"), "{error}");
}

/// A path of root:// was percent-decoded, so that a file whose name has a % could not be read.
#[test]
fn each_protocol_gets_the_path_as_it_wants_it() {
    for (text, path, name) in [
        ("root://h//a%20b#c.root", "/a%20b#c.root", "a%20b#c.root"),
        ("root://h//a b/../é.root?x=%20", "/a b/../é.root", "é.root"),
        ("root://h/100%", "/100%", "100%"),
        ("http://h/a b/é%.root?x", "/a%20b/%C3%A9%.root", "é%.root"),
        ("http://h/a%23%3Fb%2520.root", "/a%23%3Fb%2520.root", "a#?b%20.root"),
        ("/data/a%20b#c?.root", "/data/a%20b#c?.root", "a%20b#c?.root"),
        ("file:///data/a%20b?.root", "/data/a b?.root", "a b?.root"),
        ("file://localhost/data/f", "/data/f", "f"),
    ] {
        let address = address(text);
        assert_eq!(address.path(), path, "{text}");
        assert_eq!(address.file_name(), name, "{text}");
    }
    assert_eq!(address("root://h//f?a=%20b").query(), Some("a=%20b"));
}

/// The tables of Unicode were a tenth of all crates that a build compiled.
#[test]
fn names_of_servers_are_ascii() {
    for scheme in ["http", "https"] {
        let error = Address::parse(&format!("{scheme}://münchen.de/a.root")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("xn--mnchen-3ya.de"), "{error}");
        let address = Address::parse(&format!("{scheme}://xn--mnchen-3ya.de/ä.root"));
        assert!(address.unwrap().to_string().contains("xn--mnchen-3ya.de"));
    }
}

#[test]
fn what_is_no_address_is_refused() {
    for (text, kind) in [
        ("", ErrorKind::InvalidArgument),
        ("root://", ErrorKind::InvalidArgument),
        ("root://h//a\nb", ErrorKind::InvalidArgument),
        ("http://", ErrorKind::InvalidArgument),
        ("file://host/f", ErrorKind::InvalidArgument),
        ("file://f.root", ErrorKind::InvalidArgument),
        // The fragment is never sent: the file "a" would be read.
        ("http://h/a#b.root", ErrorKind::InvalidArgument),
        ("gopher://host/f", ErrorKind::Unsupported),
        ("s3://", ErrorKind::InvalidArgument),
        ("s3:///key", ErrorKind::InvalidArgument),
        ("s3://a b/key", ErrorKind::InvalidArgument),
        ("s3://AKIA:secret@bucket/key", ErrorKind::InvalidArgument),
        ("pelican:///f", ErrorKind::InvalidArgument),
        ("pelican://me:pw@federation/f", ErrorKind::InvalidArgument),
        ("pelican://federation/a#b.root", ErrorKind::InvalidArgument),
    ] {
        assert_eq!(Address::parse(text).unwrap_err().kind(), kind, "{text:?}");
    }
}

#[test]
fn the_same_place_is_the_same_however_it_is_written() {
    assert_eq!(address("root://h:1094//f"), address("root://h/f"));
    assert_eq!(address("http://h:80/a%20b"), address("HTTP://H/a b"));
    assert_eq!(address("/a/f"), address("file:///a/f"));
    assert_ne!(address("root://h//f"), address("root://h//f?x"));
}

/// Rucio and the sites write `davs://` for files that are read over https.
#[test]
fn one_protocol_has_several_schemes() {
    for (written, scheme, same) in [
        ("davs://h/a b", Https, "https://h:443/a%20b"),
        ("DAVS://h:2880//f?authz=x", Https, "https://h:2880//f?authz=x"),
        ("dav://h/f", Http, "http://h:80/f"),
        ("xroot://h//f", Root, "root://h:1094//f"),
        ("xroots://h//f", Roots, "roots://h:1094//f"),
    ] {
        let address = address(written);
        assert_eq!((address.scheme(), address.as_str()), (scheme, written));
        assert_eq!(address.server_key(), self::address(same).server_key());
        assert_eq!(address.to_http(), self::address(same).to_http());
    }
    assert_eq!(address("davs://me:pw@h/f?x=1").to_string(), "davs://me@h/f?x=...");
    let led = address("davs://me:pw@h/d/f").led_to("g", Way::Redirect).unwrap();
    assert_eq!(led.as_str(), "https://me:pw@h/d/g");
    let led = address("https://me:pw@h/f").led_to("davs://k/f", Way::Redirect).unwrap();
    assert_eq!(led.to_http().unwrap().as_str(), "https://k/f");
}

#[test]
fn a_listed_name_is_a_name() {
    let folder = address("root://h//d/?x=1");
    for name in ["a%20b", "a b#", "é", "a|b", "*", "a:b"] {
        let child = folder.child(name).unwrap();
        assert_eq!(child.as_str(), format!("root://h//d/{name}?x=1"));
        assert_eq!(child.file_name(), name);
        assert_eq!(address(child.as_str()), child);
    }
    for name in ["a?b", "?", "a\nb"] {
        let error = folder.child(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{name:?}");
        assert!(error.message().starts_with(&format!("{name:?}: ")), "{error}");
        assert!(error.url().is_some_and(|url| url.starts_with("root://h:1094//d/")), "{error}");
    }
    assert_eq!(address("root://h//").child("f").unwrap().as_str(), "root://h//f");
}

// ---- addresses that may follow -----------------------------------------------------------------

const WAYS: [Way; 3] = [Way::Redirect, Way::Replica, Way::Mention];
const SCHEMES: [(Scheme, &str); 7] = [
    (Local, "file:///data/f.root"),
    (Root, "root://a//f.root"),
    (Roots, "roots://a//f.root"),
    (Http, "http://a/f.root"),
    (Https, "https://a/f.root"),
    (S3, "s3://a/f.root"),
    (Pelican, "pelican://a/f.root"),
];

/// A server could make farroot read files of the reader's disk: an HTTP redirection to file:// was
/// followed.
#[test]
fn data_servers_are_of_the_site_that_sends_to_them() {
    for (named, to, is_of_site) in [
        ("root://xrd.site.org//f", "root://ds1.site.org:1095//f", true),
        ("root://xrd.site.org//f", "root://ds1.racks.site.org//f", true),
        ("root://xrd.site.org//f", "root://xrd.site.org:9//f", true),
        ("root://xrd.site.org//f", "root://site.org//f", false),
        ("root://xrd.site.org//f", "root://evilsite.org//f", false),
        ("root://xrd.site.org//f", "root://xrd.site.org.evil.example//f", false),
        ("root://site.org//f", "root://other.org//f", false),
        ("root://rl.ac.uk//f", "root://evil.ac.uk//f", false),
        ("root://xrd.rl.ac.uk//f", "root://ds.rl.ac.uk//f", true),
        ("root://192.0.2.1//f", "root://192.0.2.2//f", false),
        ("root://192.0.2.1//f", "root://192.0.2.1:9//f", true),
        ("root://door//f", "root://pool//f", false),
    ] {
        let from = address(named);
        let to = from.led_to(to, Way::Redirect).unwrap();
        assert_eq!(to.is_of_named_site(), is_of_site, "{named} {to}");
        assert!(from.is_of_named_site());
    }
}

#[test]
fn what_may_follow_is_one_table() {
    for (from, own) in SCHEMES {
        let followed = WAYS.map(|way| {
            let may = |(to, text): &(Scheme, &str)| {
                let led = address(own).led_to(text, way);
                led.is_ok_and(|led| led.scheme() == *to)
            };
            SCHEMES.iter().filter(|to| may(to)).map(|(to, _)| *to).collect::<Vec<_>>()
        });
        let remote = vec![Root, Roots, Http, Https];
        let expected = match from {
            Local => {
                let named = [&remote[..], &[S3, Pelican]].concat();
                [vec![], named.clone(), [&[Local], &named[..]].concat()]
            }
            Root => [vec![Root, Roots], remote.clone(), remote],
            Roots => [vec![Roots], vec![Roots, Https], vec![Roots, Https]],
            Http => [vec![Http, Https], remote.clone(), remote],
            Https => [vec![Http, Https], vec![Root, Roots, Https], vec![Root, Roots, Https]],
            S3 => [vec![Https], vec![Https], vec![Root, Roots, Https, S3]],
            Pelican => [vec![Https], vec![Https], vec![Root, Roots, Https, Pelican]],
        };
        assert_eq!(followed, expected, "{from:?}");
    }
}

#[test]
fn the_table_that_is_documented_is_the_one_that_is_used() {
    let rows = include_str!("follow.rs").lines().filter_map(|line| line.strip_prefix("//! |"));
    let rows: Vec<Vec<&str>> =
        rows.map(|row| row.trim_end_matches('|').split('|').map(str::trim).collect()).collect();
    let mut documented = 0;
    for row in &rows[2..] {
        let own = SCHEMES.iter().find(|(from, _)| scheme_name(*from) == row[0]).unwrap().1;
        let way = match row[1] {
            "redirect" => Way::Redirect,
            "replica" => Way::Replica,
            "mention" => Way::Mention,
            other => panic!("{other}"),
        };
        for (cell, (to, text)) in row[2..].iter().zip(SCHEMES) {
            let may = address(own).led_to(text, way).is_ok();
            assert_eq!(may, *cell == "yes", "{row:?} {to:?}");
            documented += 1;
        }
    }
    assert_eq!(documented, SCHEMES.len() * WAYS.len() * SCHEMES.len());
}

fn scheme_name(scheme: Scheme) -> &'static str {
    if scheme == Local { "local" } else { scheme.name() }
}

/// A host that a server calls by a loopback address is the reader's own machine.
#[test]
fn only_this_machine_leads_to_this_machine() {
    let near = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0.0.0.0",
        "169.254.169.254",
        "localhost",
        "LOCALHOST.",
        "x.localhost",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
    ];
    for host in near {
        for scheme in ["root", "http"] {
            let to = format!("{scheme}://{host}:99/f");
            for way in WAYS {
                let led = |from: &str| address(from).led_to(&to, way);
                assert!(led(&format!("{scheme}://far.org/f")).is_err(), "{to} {way:?}");
                assert!(led(&format!("{scheme}://10.1.2.3/f")).is_err(), "{to} {way:?}");
                assert!(led(&format!("{scheme}://localhost/f")).is_ok(), "{to} {way:?}");
                assert!(led(&format!("{scheme}://[::1]:1/f")).is_ok(), "{to} {way:?}");
            }
            assert!(address("/f.meta4").led_to(&to, Way::Replica).is_ok());
        }
    }
    for host in ["10.0.0.1", "192.168.1.1", "[2001:db8::1]", "localhost.org", "host", "1.2.3.4"] {
        let led = address("http://far.org/f").led_to(&format!("http://{host}/f"), Way::Redirect);
        assert!(led.is_ok(), "{host}");
    }
}

#[test]
fn odd_answers_lead_nowhere() {
    let from = address("http://me:pw@a/x/y?token=secret");
    for text in ["", "http://", "http://[", "//", "ftp://b/z", "http://b/z|/etc/passwd", "data:,x"]
    {
        let error = from.led_to(text, Way::Redirect).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{text:?}");
        let shown = error.to_string();
        assert!(!shown.contains("pw") && !shown.contains("secret"), "{shown}");
    }
    let error = from.led_to("ftp://b/z?authz=secret", Way::Redirect).unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn credentials_stay_with_their_server() {
    let from = address("http://me:pw@a/x/y");
    let to =
        |location| from.led_to(location, Way::Redirect).unwrap().to_http().unwrap().to_string();
    assert_eq!(to("z"), "http://me:pw@a/x/z");
    assert_eq!(to("http://a/z"), "http://me:pw@a/z");
    assert_eq!(to("http://a:80/z#part"), "http://me:pw@a/z");
    assert_eq!(to("http://A/z"), "http://me:pw@a/z");
    for elsewhere in ["http://b/z", "http://a:81/z", "https://a/z", "http://a.b/z"] {
        assert_eq!(to(elsewhere), elsewhere);
    }
    assert_eq!(to("//b:81/z"), "http://b:81/z");
    assert_eq!(to("http://you:too@b/z"), "http://you:too@b/z");
}

/// Keys of S3 are any text, of which nothing is encoded.
#[test]
fn an_object_of_s3_has_its_key_as_it_is_written() {
    for (text, bucket, key, version) in [
        ("s3://b/d/a b%20#?.root", "b", "d/a b%20#?.root", None),
        ("S3://b//x/../y", "b", "/x/../y", None),
        ("s3://b", "b", "", None),
        ("s3://tenant:b/", "tenant:b", "", None),
        ("s3://b.c-d/f?versionId=a?b=", "b.c-d", "f", Some("a?b=")),
    ] {
        let address = address(text);
        let object = address.to_s3().unwrap();
        assert_eq!((&*object.bucket, &*object.key), (bucket, key));
        assert_eq!(object.version.as_deref(), version);
        assert_eq!(address.as_str(), text);
    }
    let object = address("s3://b/d/f.root?versionId=7");
    assert_eq!(object.to_string(), "s3://b/d/f.root?versionId=...");
    assert_eq!(object.file_name(), "f.root");
    assert_eq!(object.beside("e/g.root").unwrap().as_str(), "s3://b/d/e/g.root");
    assert_eq!(address("s3://b").child("x").unwrap().as_str(), "s3://b/x");
    assert_eq!(address("s3://b/d").child("x").unwrap(), address("s3://b/d/x"));
    assert!(address("s3://b").child("x?versionId=7").is_err(), "it would be read otherwise");
    assert_ne!(address("s3://b/f").server_key(), address("s3://c/f").server_key());
    let error = Address::parse("s3://AKIA:secret@bucket/key").unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
    assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
}

/// Regression: a friend `../a.root` of a file was requested as `sub/../a.root`, which servers
/// refuse.
#[test]
fn a_name_beside_a_file_may_lead_upwards() {
    for (own, name, there) in [
        ("root://h//d/sub/f.root?x", "../a.root", "root://h//d/a.root"),
        ("root://h//d/sub/f.root", "./x/../../a.root", "root://h//d/a.root"),
        ("root://h//d/f.root", "../../../a.root", "root://h//a.root"),
        ("root://h//d/f.root", "a..root", "root://h//d/a..root"),
        ("http://h/d/sub/f.root", "../a.root", "http://h/d/a.root"),
        ("pelican://h/d/sub/f.root", "../a b", "pelican://h/d/a%20b"),
        ("s3://b/d/sub/f.root", "../a.root", "s3://b/d/a.root"),
        ("s3://b/d/f.root", "../../a.root", "s3://b/a.root"),
        ("s3://b//x/../f.root", "a.root", "s3://b//x/../a.root"),
        ("s3://b/f.root", "a.root", "s3://b/a.root"),
    ] {
        assert_eq!(address(own).beside(name).unwrap(), address(there), "{own} {name}");
    }
}

#[test]
fn a_federation_is_named_or_the_osdf() {
    for (text, meant) in [
        ("osdf:///d/f.root", "https://osg-htc.org/d/f.root"),
        ("osdf://d/f.root", "https://osg-htc.org/d/f.root"),
        ("pelican://osg-htc.org/d/f.root?directread", "https://osg-htc.org/d/f.root?directread"),
        ("Pelican://fed:8444/f", "https://fed:8444/f"),
    ] {
        assert_eq!(address(text).to_pelican().unwrap().as_str(), meant);
        assert_eq!((address(text).scheme(), address(text).to_http()), (Pelican, None));
    }
    assert_eq!(address("osdf:///f"), address("pelican://osg-htc.org/f"));
    assert_eq!(address("osdf:///f").server_key(), "pelican://@osg-htc.org:443");
    let beside = address("pelican://fed/d/f.root?authz=x").beside("g h").unwrap();
    assert_eq!(beside.as_str(), "pelican://fed/d/g%20h");
    let error = Address::parse("pelican:///fed/d/f").unwrap_err();
    assert!(error.to_string().contains("write pelican://fed/d/f,"), "{error}");
}

#[test]
fn what_is_read_with_keys_leads_to_encrypted_places_only() {
    for (from, to, way, may) in [
        ("s3://b/f", "https://h/f", Way::Redirect, true),
        ("s3://b/f", "http://h/f", Way::Redirect, false),
        ("s3://b/f", "https://127.0.0.1/f", Way::Redirect, false),
        ("s3://localhost/f", "https://localhost/f", Way::Redirect, false),
        ("s3://b/f", "s3://c/f", Way::Redirect, false),
        ("s3://b/f", "s3://c/f", Way::Mention, true),
        ("https://h/f", "s3://c/f", Way::Mention, false),
        ("https://h/f", "osdf:///f", Way::Replica, false),
        ("pelican://fed/f", "https://cache:8443/f", Way::Redirect, true),
        ("pelican://fed/f", "https://cache:8443/f", Way::Replica, true),
        ("pelican://fed/f", "http://cache:8000/f", Way::Redirect, false),
        ("pelican://fed/f", "osdf:///g", Way::Mention, true),
        ("/data/f.meta4", "osdf:///g", Way::Replica, true),
    ] {
        assert_eq!(address(from).led_to(to, way).is_ok(), may, "{from} {to} {way:?}");
    }
}

/// Redirections that curl, Go and requests have sent a credential along with to where it was not
/// for: CVE-2018-1000007, -2022-27774, -2022-27776, -2024-45336, -2018-18074, GHSA-5jgv-wc2m-xv99.
#[test]
fn what_the_caller_shows_stays_with_the_origin_that_was_named() {
    let own = address("https://a.org/d/f");
    assert!(own.is_named());
    let led = |way: &[&str]| {
        way.iter().fold(own.clone(), |from, to| from.led_to(to, Way::Redirect).unwrap())
    };
    for (way, is_named) in [
        (&["g"][..], true),
        (&["//a.org/g"], true),
        (&["https://A.ORG:443/g"], true),
        (&["davs://a.org/g"], true),
        (&["https://you@a.org/g"], true),
        (&["https://b.org/f"], false),
        (&["//b.org/f"], false),
        (&["https://a.org:444/f"], false),
        (&["http://a.org/f"], false),
        (&["http://a.org:443/f"], false),
        (&["https://a.org.b.org/f"], false),
        (&["https://x.a.org/f"], false),
        (&["https://a.org@b.org/f"], false),
        (&["https://[2001:db8::1]/f"], false),
        (&["https://b.org/f", "https://b2.org/f"], false),
        (&["https://b.org/f", "/g"], false),
        (&["https://b.org/f", "https://a.org/f"], true),
        (&["https://b.org/f", "https://b2.org/f", "https://a.org/f", "g"], true),
        (&["http://a.org/f", "https://a.org/f"], true),
    ] {
        let to = led(way);
        assert_eq!(to.is_named(), is_named, "{way:?}");
        assert_eq!(to.with_query(Some("x")).is_named(), is_named, "{way:?}");
        assert_eq!(to.beside("x").unwrap().is_named(), is_named, "{way:?}");
        assert_eq!(to.server_key() == own.server_key(), is_named && !way[0].contains("you"));
    }
    assert!(
        !address("http://a.org/f").led_to("https://a.org/f", Way::Redirect).unwrap().is_named()
    );
    let v6 =
        address("https://[2001:db8::1]:443/f").led_to("https://[2001:DB8:0::1]/g", Way::Redirect);
    assert!(v6.unwrap().is_named());
}

#[test]
fn a_root_file_names_no_server_for_the_caller() {
    let leads = |from: &str, way| address(from).led_to("https://a.org/f", way).unwrap().is_named();
    assert!(leads("/local.meta4", Way::Replica));
    assert!(!leads("/local.root", Way::Mention));
    assert!(!leads("https://b.org/f.meta4", Way::Replica));
    assert!(!leads("https://b.org/f.root", Way::Mention));
    assert!(leads("https://a.org/g.root", Way::Mention));
    assert!(!leads("root://a.org//g.root", Way::Mention));
    let led = address("https://b.org/f").led_to("https://a.org/f", Way::Replica).unwrap();
    assert!(led.entrusted().is_named());
    // Engines open an address that a file names by its text.
    for named in ["https://a.org/f", "https://a.org/f#named-by=https://a.org:443"] {
        let led = address("https://b.org/f.root").led_to(named, Way::Mention).unwrap();
        assert_eq!(led.to_string(), "https://a.org/f");
        let again = address(led.as_str());
        assert!(!again.is_named() && again == led && again.to_string() == led.to_string());
        assert!(!again.beside("g").unwrap().is_named());
        assert!(!address(again.beside("g").unwrap().as_str()).is_named());
        assert!(again.led_to("https://b.org/g", Way::Mention).unwrap().is_named());
    }
    assert_eq!(address("root://h//f#named-by=x").path(), "/f#named-by=x");
}
