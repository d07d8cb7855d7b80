//! A choice of the place where entries are selected.

/// Where the entries of remote files are selected that a caller reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Near {
    /// Here: all bytes that decide are fetched.
    #[default]
    Never,
    /// At the file's own server where that is expected to take less time, else here. Servers that
    /// have not said that they select are not asked.
    Auto,
    /// At the file's own server, which runs `farroot serve --select` or `farroot proxy --select`.
    AtServer,
    /// At a proxy, by its address: `http://HOST:PORT` or `https://HOST:PORT`.
    At(String),
}

impl Near {
    /// `off`, `on`, `auto`, or the address of a proxy.
    pub fn named(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Near::Never),
            "on" => Some(Near::AtServer),
            "auto" => Some(Near::Auto),
            _ => {
                let (scheme, rest) = text.split_once("://")?;
                let host = rest.strip_suffix('/').unwrap_or(rest);
                let is_host = !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']);
                let is_http = matches!(scheme, "http" | "https");
                (is_http && is_host).then(|| Near::At(format!("{scheme}://{host}")))
            }
        }
    }

    /// As [`Near::named`] takes it.
    pub fn shown(&self) -> String {
        match self {
            Near::Never => "off".to_owned(),
            Near::AtServer => "on".to_owned(),
            Near::Auto => "auto".to_owned(),
            Near::At(proxy) => proxy.clone(),
        }
    }

    /// The message about a text that is none.
    pub(crate) fn wrong(text: &str) -> String {
        format!(
            "near is True, False, \"auto\" or the address of a proxy as https://HOST:PORT, not \
             {text:?}"
        )
    }
}
