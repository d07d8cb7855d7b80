//! Commands that a user can type against each cause, so that errors, `farroot doctor` and `farroot
//! auth` give the same hints.

/// A new proxy; who its collaboration is the user knows.
pub const MAKE_PROXY: &str = "voms-proxy-init -voms YOUR_VO -rfc -valid 192:00";

/// A new token; from where depends on the site.
pub const FETCH_TOKEN: &str = "fetch a new token, for example with htgettoken or oidc-token";

/// A clock that is wrong, here or there.
pub const SET_CLOCK: &str =
    "compare the clocks (date -u), and set this one: timedatectl set-ntp true";

/// The authorities of the grid, of which most are in no list of a system.
pub const GET_AUTHORITIES: &str = "name the directory or the file with its authority in \
     X509_CERT_DIR or SSL_CERT_FILE; those of the grid come by conda install -c conda-forge \
     ca-policy-lcg, and where there is CVMFS they are in \
     /cvmfs/grid.cern.ch/etc/grid-security/certificates";

/// Another token, for a path that one of this scope does not open. Sites may count paths from
/// another folder than `/`, so this is a hint.
pub fn another_token(scope: &[String], path: &str) -> String {
    let folder = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let fetch = format!("htgettoken --scopes=storage.read:/{folder}");
    match scope.is_empty() {
        true => format!(
            "it allows nothing by itself, so its issuer or its audience has to be one that the \
             site knows; or fetch one with a scope: {fetch}"
        ),
        false => format!(
            "it allows {}, and the path is {path}: fetch one with the scope, audience or issuer \
             that the site wants: {fetch}",
            scope.join(" ")
        ),
    }
}

/// A ticket of a realm, where that is known.
pub fn get_ticket(realm: Option<&str>) -> String {
    format!("kinit USER@{}", realm.unwrap_or("REALM"))
}
