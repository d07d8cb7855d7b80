//! Credentials of a user, and those that one call names.

use std::path::PathBuf;
use std::time::SystemTime;

use engine::{Config, Error, ErrorKind};
use pyo3::prelude::*;
use remote::address::{self, CallAccess};
use remote::credentials::{Choice, TokenFrom};

use crate::error::exception;

/// An address with its caller's choice of credentials. A token that is given as text stays in this
/// process.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn with_access(
    py: Python<'_>,
    address: &str,
    token: Option<String>,
    token_file: Option<PathBuf>,
    proxy: Option<PathBuf>,
    ccache: Option<String>,
    s3_profile: Option<String>,
    order: Option<Vec<String>>,
    insecure: bool,
    left_out: bool,
    near: Option<&str>,
) -> PyResult<String> {
    let near = near.map(address::CallAccess::near_named).transpose();
    let near = near.map_err(|error| exception(py, &error))?;
    let order = order.map(|names| names.iter().map(|name| name.parse()).collect());
    let order = order
        .transpose()
        .map_err(|wrong: String| exception(py, &Error::new(ErrorKind::InvalidArgument, wrong)))?;
    let token = token.map(|token| TokenFrom::Secret(token.into()));
    let token = token.or(token_file.map(TokenFrom::File));
    let choice = Choice { token, proxy, ccache, s3_profile, order };
    let left_out = if left_out { vec!["token".to_owned()] } else { Vec::new() };
    Ok(address::with_access(address, &CallAccess { choice, insecure, left_out, near, lent: None }))
}

/// An address as it may go to other processes: without secrets, which this process and its forked
/// children find again.
#[pyfunction]
pub fn for_others(address: &str) -> String {
    address::for_others(address)
}

/// An address without its caller's word about credentials and about where entries are selected.
#[pyfunction]
pub fn plain_address(address: &str) -> String {
    address::plain(address)
}

/// The places that are searched for credentials and the credential in each, a line of JSON a place.
#[pyfunction]
pub fn credentials_found(py: Python<'_>) -> PyResult<Vec<String>> {
    let credential_store =
        Config::from_env().map_err(|error| exception(py, &error))?.credential_store;
    // It may read files far away and ask the Kerberos library.
    let found = py.detach(|| credential_store.candidates(SystemTime::now()));
    Ok(found.iter().map(|candidate| candidate.json().to_string()).collect())
}
