//! Directories of authorities as grid sites have them, with the leftovers of years.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use farroot_credentials::Authorities;
use farroot_credentials::x509::Certificate;

use crate::grid::Grid;

/// The names of those that are trusted.
fn trusted(authorities: &Authorities) -> Vec<String> {
    let names = authorities.anchors.iter().map(|der| Certificate::parse(der).unwrap().subject);
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn directory(grid: &Grid) -> PathBuf {
    let write =
        |name: &str, content: Vec<u8>| grid.home.write(&format!("ca/{name}"), content, 0o644);
    write("Test.pem", grid.file("ca.pem"));
    for option in ["hash", "subject_hash_old"] {
        let hash = grid.openssl(&format!("x509 -in ca.pem -noout -{option}"));
        let link = grid.home.path(&format!("ca/{}.0", hash.trim()));
        symlink(grid.home.path("ca/Test.pem"), link).unwrap();
    }
    // A copy that is no link.
    write("0badcafe.1", grid.file("ca.pem"));
    grid.root("old", "/CN=Expired", -1);
    write("11111111.0", grid.file("old.pem"));
    grid.openssl("req -x509 -new -key ca.key -sha1 -subj /CN=Sha1 -days 9 -out sha1.pem");
    write("22222222.0", grid.file("sha1.pem"));
    grid.signed("middle", "ca", "authority", "/CN=Intermediate", 9);
    write("33333333.0", grid.file("middle.pem"));
    write("44444444.0", b"garbage".to_vec());
    write("55555555.0", vec![0x30, 0x82, 0xff]);
    write("66666666.0", Vec::new());
    write("77777777.0", grid.file("user.pem"));
    let two = [grid.file("sha1.pem"), b"-----BEGIN CERTIFICATE-----\n".to_vec()].concat();
    write("88888888.0", two);
    for other in ["22222222.r0", "22222222.signing_policy", "Test.info", "Test.crl_url"] {
        write(other, b"not looked at".to_vec());
    }
    symlink("/nowhere", grid.home.path("ca/99999999.0")).unwrap();
    grid.home.path("ca")
}

#[test]
fn a_directory_gives_what_is_good_and_says_what_is_not() {
    let grid = Grid::new();
    let directory = directory(&grid);
    let variables = [("X509_CERT_DIR", directory.to_str().unwrap())];
    let authorities = Authorities::load(&grid.home.environment(&variables));
    let expected = ["/CN=Intermediate", "/CN=Sha1", "/DC=example/O=Grid Tests/CN=Test Authority"];
    assert_eq!(trusted(&authorities), expected);
    let mut skipped: Vec<String> = authorities
        .skipped
        .iter()
        .map(|(path, why)| format!("{} {why}", path.file_name().unwrap().to_str().unwrap()))
        .collect();
    skipped.sort();
    assert_eq!(
        skipped,
        [
            "11111111.0 /CN=Expired has expired",
            "44444444.0 no certificate is in it",
            "55555555.0 it is no X.509 certificate",
            "66666666.0 no certificate is in it",
            "77777777.0 /DC=example/CN=Ada Lovelace is no authority",
            "99999999.0 entity not found",
        ]
    );
    assert!(authorities.grid);
    assert_eq!(authorities.places, [directory]);
}

#[test]
fn usual_places_add_to_the_systems_authorities_and_named_ones_replace_them() {
    let grid = Grid::new();
    let own = "/DC=example/O=Grid Tests/CN=Test Authority".to_owned();
    grid.home.write("home/.globus/certificates/12345678.0", grid.file("ca.pem"), 0o644);
    let both = Authorities::load(&grid.home.environment(&[]));
    if both.places.iter().any(|place| place.starts_with("/etc/grid-security")) {
        return eprintln!("SKIPPED: this machine has a grid directory, which goes before");
    }
    assert!(trusted(&both).contains(&own));
    if both.places.len() > 1 {
        assert!(both.anchors.len() > 1, "the system's");
    }
    // A variable that replaces the system's list leaves the grid's directory.
    let bundle = grid.home.write("bundle", grid.file("user.pem"), 0o644);
    let variables = [("SSL_CERT_FILE", bundle.to_str().unwrap())];
    let replaced = Authorities::load(&grid.home.environment(&variables));
    assert_eq!(trusted(&replaced), [own]);
    // A variable that names the grid's directory replaces all.
    let variables = [("X509_CERT_DIR", "/nowhere/certificates")];
    let missing = Authorities::load(&grid.home.environment(&variables));
    assert!(missing.anchors.is_empty() && !missing.grid);
    assert_eq!(missing.skipped[0].0, PathBuf::from("/nowhere/certificates"));
}

#[test]
fn a_directory_that_changes_is_read_again() {
    let grid = Grid::new();
    grid.home.write("ca/12345678.0", grid.file("ca.pem"), 0o644);
    let directory = grid.home.path("ca");
    let environment = grid.home.environment(&[("X509_CERT_DIR", directory.to_str().unwrap())]);
    let first = Authorities::load(&environment);
    assert!(std::sync::Arc::ptr_eq(&first, &Authorities::load(&environment)));
    grid.root("second", "/CN=Second", 9);
    grid.home.write("ca/23456789.0", grid.file("second.pem"), 0o644);
    assert_eq!(Authorities::load(&environment).anchors.len(), 2);
}
