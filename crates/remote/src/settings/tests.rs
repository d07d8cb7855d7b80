//! Tests of the list of settings.

use super::*;

fn from(variables: &[(&str, &str)]) -> Result<Config> {
    let mut config = Config::default();
    apply(&mut config, variables.iter().map(|(name, value)| (name.into(), value.into())))?;
    Ok(config)
}

fn refused(name: &str, value: &str) -> String {
    from(&[(name, value)]).expect_err(value).to_string()
}

#[test]
fn each_setting_is_what_was_set_and_changes_no_other() {
    let plain = Config::default();
    for setting in &SETTINGS {
        let text = match setting.name {
            "checksums" => "always",
            "near" => "https://proxy:1094",
            "cache_mode" => "whole",
            "cache_check" => "trust=12h",
            "cache_form" => "both",
            "cache_local" => "network",
            "auth" => "x509,token",
            "token_file" | "x509_proxy" => "/var/file",
            _ if setting.kind() == Kind::Switch => "off",
            _ if setting.kind() == Kind::Folder => "/var/cache",
            _ if setting.kind() == Kind::Bytes => "7 kB",
            _ => "7",
        };
        let config = from(&[(&setting.variable(), text)]).expect(setting.name);
        for other in &SETTINGS {
            let is_changed = other.get(&config) != other.get(&plain);
            let expected = other.name == setting.name;
            assert_eq!(is_changed, expected, "{} by {}", other.name, setting.name);
        }
        assert!(!setting.effect.is_empty() && !setting.takes().is_empty());
    }
}

#[test]
fn a_cache_may_have_several_folders() {
    let config = from(&[("FARROOT_CACHE_FOLDER", "/a b:/c:d:/e")]).unwrap();
    let folders: Vec<&Path> = config.cache.folders().collect();
    assert_eq!(folders, ["/a b", "/c:d", "/e"].map(Path::new));
    let setting = Setting::named("cache_folder").unwrap();
    assert_eq!(setting.get(&config), Value::Folder(Some("/a b:/c:d:/e".into())));
    let one = from(&[("FARROOT_CACHE_FOLDER", "/a")]).unwrap();
    assert_eq!(one.cache.folders().count(), 1);
    refused("FARROOT_CACHE_FOLDER", "a:/b");
}

#[test]
fn connections_begin_together_up_to_sixteen() {
    let mut config = Config::default();
    let connections = Setting::named("connections").unwrap();
    for (most, initial) in [(3, 3), (64, 16), (16, 16)] {
        connections.set(&mut config, Value::Number(most)).unwrap();
        let now = (u64::from(config.connections_max), config.connections_initial);
        assert_eq!(now, (most, initial));
    }
}

/// `FARROOT_STORE_FOLDER=''` made the store in the directory in which the program was started;
/// so did a relative path, in another one for each.
#[test]
fn what_is_empty_is_not_set_and_what_is_relative_is_refused() {
    for setting in &SETTINGS {
        for empty in ["", "  "] {
            assert_eq!(from(&[(&setting.variable(), empty)]).unwrap(), Config::default());
        }
    }
    for relative in ["cache", "./cache", "../cache", "~alice/cache"] {
        let error = refused("FARROOT_STORE_FOLDER", relative);
        assert!(
            error.contains("FARROOT_STORE_FOLDER=") && error.contains("absolute path"),
            "{error}"
        );
    }
    let home = etcetera::home_dir().unwrap();
    let config = from(&[("FARROOT_STORE_FOLDER", "~/farroot cache")]).unwrap();
    assert_eq!(config.store_folder, Some(home.join("farroot cache")));
}

#[test]
fn what_makes_no_sense_is_refused_by_the_variables_name() {
    for (name, value) in [
        ("FARROOT_MEMORY", "much"),
        ("FARROOT_MEMORY", "0"),
        ("FARROOT_CONNECTIONS", "0"),
        ("FARROOT_CONNECTIONS", "1000"),
        ("FARROOT_CONNECTIONS", "-1"),
        ("FARROOT_CONNECT_TIMEOUT", "0"),
        ("FARROOT_CONNECT_TIMEOUT", "-1"),
        ("FARROOT_RETRY_TIMEOUT", "NaN"),
        ("FARROOT_READ_TIMEOUT", "1e9"),
        ("FARROOT_DISCOVERY", "sometimes"),
        ("FARROOT_CHECKSUMS", "sometimes"),
        ("FARROOT_CACHE_MODE", "some"),
        ("FARROOT_CACHE_CHECK", "trust=long"),
        ("FARROOT_CACHE_FORM", "fast"),
        ("FARROOT_S3_PROFILE", "a\u{1b}b"),
        ("FARROOT_AUTH", "password"),
        ("FARROOT_X509_PROXY", "proxy"),
        ("FARROOT_REDIRECT_CREDENTIALS", "https://host"),
        ("FARROOT_REDIRECT_CREDENTIALS", "*"),
        ("FARROOT_REDIRECT_CREDENTIALS", "."),
    ] {
        let error = refused(name, value);
        assert!(error.starts_with(&format!("{name}=")) && error.contains("it takes"), "{error}");
    }
}

#[test]
fn credentials_follow_to_the_hosts_of_the_list_alone() {
    let config = from(&[("FARROOT_REDIRECT_CREDENTIALS", "a.org, .B.org")]).unwrap();
    for (host, may) in [
        ("a.org", true),
        ("A.org", true),
        ("x.a.org", false),
        ("a.org.evil", false),
        ("evila.org", false),
        ("b.org", false),
        ("x.b.org", true),
        ("x.y.b.org", true),
        ("xb.org", false),
    ] {
        assert_eq!(config.may_follow(host), may, "{host}");
    }
    assert!(!Config::default().may_follow("a.org"));
    let mut config = config;
    let setting = Setting::named("redirect_credentials").unwrap();
    setting.set(&mut config, Value::Text(String::new())).unwrap();
    assert!(!config.may_follow("a.org"));
}

#[test]
fn misspelt_variables_are_named_with_the_nearest() {
    let names =
        ["FARROOT_MEMROY", "FARROOT_COLOUR_OF_PLOTS", "FARROOT_CORPUS", "FARROOT_STORE", "HOME"];
    let said = misspelt(names.into_iter().map(OsString::from));
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("FARROOT_COLOUR_OF_PLOTS is no setting, and"), "{said:?}");
    assert!(
        said[1].contains("FARROOT_MEMROY is no setting; did you mean FARROOT_MEMORY?"),
        "{said:?}"
    );
    assert!(Setting::named("memroy").unwrap_err().to_string().contains("did you mean memory?"));
}

/// A variable that the documentation did not list was found by none.
#[test]
fn the_documentation_has_this_table() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    let page = std::fs::read_to_string(page).expect("docs/settings.md");
    assert!(page.contains(&table()), "the table in docs/settings.md is to be\n{}", table());
}
