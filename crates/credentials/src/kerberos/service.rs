//! A service that accepts tickets, by MIT's library: `krb5_rd_req` takes an AP-REQ as clients of
//! XRootD send it, which GSSAPI refuses because it lacks GSSAPI's checksum.
#![expect(unsafe_code, reason = "the Kerberos library is found at run time and is in C")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use libloading::Library as Shared;
use mutex::PerProcess;

use super::library::shown;

/// The name of MIT's library. Heimdal's has other structures, and other names.
const NAME: &str = "libkrb5.so.3";

/// Longest AP-REQ that is read: tickets of Active Directory have up to 64 KiB.
const REQUEST_BYTES_MAX: usize = 128 << 10;

/// A service of Kerberos: its principal, and the file with its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KerberosService {
    /// `xrootd/host.example.org@EXAMPLE.ORG`.
    pub principal: String,
    /// The keytab, which is read for each ticket: its keys may be replaced at any time.
    pub keytab: PathBuf,
}

/// A client that has shown a ticket for the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KerberosClient {
    /// `alice@EXAMPLE.ORG`.
    pub principal: String,
    /// When the ticket expires, in seconds since 1970.
    pub expires: u64,
}

impl KerberosService {
    /// Looks whether tickets can be accepted: that the library is there, the principal a name,
    /// and the keytab readable.
    ///
    /// # Errors
    /// A text that names the fault and the file.
    pub fn check(&self) -> Result<(), String> {
        let library = Krb5Library::load()?;
        let session = Session::new(library)?;
        if !self.principal.contains('@') {
            return Err(format!(
                "the principal {:?} of Kerberos names no realm: write \
                 xrootd/HOST@REALM",
                self.principal
            ));
        }
        let principal = session.principal(&self.principal)?;
        let path = self.keytab.display();
        std::fs::File::open(&self.keytab).map_err(|error| format!("{path}: {error}"))?;
        let keytab = session.keytab(&self.keytab)?;
        session
            .look_for_key(&keytab, &principal)
            .map_err(|why| format!("{path} has no key of {}: {why}", self.principal))
    }

    /// Who has sent this AP-REQ (RFC 4120, section 5.5.1). It reads the keytab and the library's
    /// cache of replays, so it may block.
    ///
    /// # Errors
    /// The library's words, without anything of the ticket.
    pub fn client_of(&self, request: &[u8]) -> Result<KerberosClient, String> {
        if request.len() > REQUEST_BYTES_MAX {
            return Err("the message is too long for a ticket".to_owned());
        }
        let session = Session::new(Krb5Library::load()?)?;
        let principal = session.principal(&self.principal)?;
        let keytab = session.keytab(&self.keytab)?;
        session.client_of(request, &principal, &keytab)
    }
}

/// `krb5_context`, `krb5_auth_context`, `krb5_principal` or `krb5_keytab`.
type Handle = *mut c_void;

/// `krb5_data`.
#[repr(C)]
struct Data {
    magic: i32,
    length: u32,
    data: *mut c_char,
}

/// `krb5_ticket`.
#[repr(C)]
struct SealedTicket {
    magic: i32,
    server: Handle,
    sealed: Sealed,
    /// Its content, once it is decrypted.
    content: *const Content,
}

/// `krb5_enc_data`.
#[repr(C)]
struct Sealed {
    magic: i32,
    kind: i32,
    version: u32,
    text: Data,
}

/// `krb5_enc_tkt_part`, up to the times.
#[repr(C)]
struct Content {
    magic: i32,
    flags: i32,
    session: *const c_void,
    client: Handle,
    transited: Transited,
    times: Times,
}

/// `krb5_transited`.
#[repr(C)]
struct Transited {
    magic: i32,
    kind: u8,
    contents: Data,
}

/// `krb5_ticket_times`, in seconds since 1970 that the library counts up to 2106.
#[repr(C)]
struct Times {
    authenticated: i32,
    start: i32,
    end: i32,
    renewable: i32,
}

type Init = unsafe extern "C" fn(*mut Handle) -> i32;
type Free = unsafe extern "C" fn(Handle);
type FreeWithin = unsafe extern "C" fn(Handle, Handle);
type Close = unsafe extern "C" fn(Handle, Handle) -> i32;
type New = unsafe extern "C" fn(Handle, *mut Handle) -> i32;
type Parse = unsafe extern "C" fn(Handle, *const c_char, *mut Handle) -> i32;
type Unparse = unsafe extern "C" fn(Handle, Handle, *mut *mut c_char) -> i32;
type FreeName = unsafe extern "C" fn(Handle, *mut c_char);
type ReadRequest = unsafe extern "C" fn(
    Handle,
    *mut Handle,
    *const Data,
    Handle,
    Handle,
    *mut i32,
    *mut Handle,
) -> i32;
type Message = unsafe extern "C" fn(Handle, i32) -> *const c_char;
type FreeMessage = unsafe extern "C" fn(Handle, *const c_char);
/// The entry is a structure of the library, of which only room is needed.
type GetEntry = unsafe extern "C" fn(Handle, Handle, Handle, u32, i32, *mut Entry) -> i32;
type FreeEntry = unsafe extern "C" fn(Handle, *mut Entry) -> i32;

/// Room for a `krb5_keytab_entry`, which has 56 bytes.
#[repr(C, align(16))]
struct Entry([u8; 256]);

/// The functions of the library that are called.
struct Krb5Library {
    init: Init,
    free: Free,
    message: Message,
    free_message: FreeMessage,
    auth_new: New,
    auth_free: Close,
    keytab_open: Parse,
    keytab_close: Close,
    keytab_entry: GetEntry,
    free_entry: FreeEntry,
    parse_name: Parse,
    free_principal: FreeWithin,
    unparse_name: Unparse,
    free_name: FreeName,
    read_request: ReadRequest,
    free_ticket: FreeWithin,
    /// Keeps the functions where they are.
    _shared: Shared,
}

impl Krb5Library {
    /// The library, looked for once in a process.
    fn load() -> Result<&'static Self, String> {
        static LIBRARY: PerProcess<Option<Option<&Krb5Library>>> = PerProcess::new();
        let found = *LIBRARY
            .lock()
            .get_or_insert_with(|| Krb5Library::open().map(|one| &*Box::leak(one.into())));
        found.ok_or_else(|| {
            format!(
                "tickets are accepted by MIT's Kerberos library {NAME}, which is not here: install \
                 libkrb5-3 (Debian) or krb5-libs (RHEL)"
            )
        })
    }

    fn open() -> Option<Self> {
        // SAFETY: the initialisers of this library do nothing but set up its own locks.
        let shared = unsafe { Shared::new(NAME) }.ok()?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the types of the functions are those of MIT's `krb5.h`; the library stays
                // loaded as long as `Krb5Library` lives.
                *unsafe { shared.get($name) }.ok()?
            };
        }
        Some(Krb5Library {
            init: function!(b"krb5_init_context\0"),
            free: function!(b"krb5_free_context\0"),
            message: function!(b"krb5_get_error_message\0"),
            free_message: function!(b"krb5_free_error_message\0"),
            auth_new: function!(b"krb5_auth_con_init\0"),
            auth_free: function!(b"krb5_auth_con_free\0"),
            keytab_open: function!(b"krb5_kt_resolve\0"),
            keytab_close: function!(b"krb5_kt_close\0"),
            keytab_entry: function!(b"krb5_kt_get_entry\0"),
            free_entry: function!(b"krb5_free_keytab_entry_contents\0"),
            parse_name: function!(b"krb5_parse_name\0"),
            free_principal: function!(b"krb5_free_principal\0"),
            unparse_name: function!(b"krb5_unparse_name\0"),
            free_name: function!(b"krb5_free_unparsed_name\0"),
            read_request: function!(b"krb5_rd_req\0"),
            free_ticket: function!(b"krb5_free_ticket\0"),
            _shared: shared,
        })
    }
}

/// A context of the library, for one thread.
struct Session {
    functions: &'static Krb5Library,
    context: Handle,
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the context is the library's, and this is the last use of it.
        unsafe { (self.functions.free)(self.context) };
    }
}

impl Session {
    fn new(functions: &'static Krb5Library) -> Result<Self, String> {
        let mut context = null_mut();
        // SAFETY: the pointer is to a live value that the function fills.
        let code = unsafe { (functions.init)(&mut context) };
        match code {
            0 => Ok(Session { functions, context }),
            code => {
                Err(format!("the Kerberos library cannot be set up (error {code}): see krb5.conf"))
            }
        }
    }

    /// The library's words for a failure.
    fn check(&self, code: i32) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the text is the library's, a text of C, and is copied before it is given back.
        unsafe {
            let text = (self.functions.message)(self.context, code);
            if text.is_null() {
                return Err(format!("error {code}"));
            }
            let words = shown(&CStr::from_ptr(text).to_string_lossy());
            (self.functions.free_message)(self.context, text);
            Err(words)
        }
    }

    fn principal(&self, name: &str) -> Result<LibraryHandle<'_>, String> {
        let name = CString::new(name).map_err(|_| "a principal with a NUL".to_owned())?;
        let mut made = LibraryHandle::new(self, |session, handle| {
            // SAFETY: the principal is the library's, and this is the last use of it.
            unsafe { (session.functions.free_principal)(session.context, handle) };
        });
        let parse = self.functions.parse_name;
        // SAFETY: all pointers are to live values; the function copies the name.
        self.check(unsafe { parse(self.context, name.as_ptr(), &mut made.handle) })?;
        Ok(made)
    }

    fn keytab(&self, path: &Path) -> Result<LibraryHandle<'_>, String> {
        let name = format!("FILE:{}", path.display());
        let name = CString::new(name).map_err(|_| "a path with a NUL".to_owned())?;
        let mut made = LibraryHandle::new(self, |session, handle| {
            // SAFETY: the keytab is the library's, and this is the last use of it.
            unsafe { (session.functions.keytab_close)(session.context, handle) };
        });
        let open = self.functions.keytab_open;
        // SAFETY: as above.
        self.check(unsafe { open(self.context, name.as_ptr(), &mut made.handle) })?;
        Ok(made)
    }

    /// Looks for a key of a service, of any version and cipher.
    fn look_for_key(
        &self,
        keytab: &LibraryHandle<'_>,
        principal: &LibraryHandle<'_>,
    ) -> Result<(), String> {
        let Session { functions, context } = self;
        let mut entry = Entry([0; 256]);
        // SAFETY: all pointers are to live values; the entry has more room than the function fills.
        let code = unsafe {
            (functions.keytab_entry)(*context, keytab.handle, principal.handle, 0, 0, &mut entry)
        };
        self.check(code)?;
        // SAFETY: the function above has filled the entry.
        self.check(unsafe { (functions.free_entry)(*context, &mut entry) })
    }

    fn client_of(
        &self,
        request: &[u8],
        principal: &LibraryHandle<'_>,
        keytab: &LibraryHandle<'_>,
    ) -> Result<KerberosClient, String> {
        let mut auth = LibraryHandle::new(self, |session, handle| {
            // SAFETY: the context is the library's, and this is the last use of it.
            unsafe { (session.functions.auth_free)(session.context, handle) };
        });
        // SAFETY: the pointer is to a live value that the function fills.
        self.check(unsafe { (self.functions.auth_new)(self.context, &mut auth.handle) })?;
        let length = u32::try_from(request.len()).unwrap_or(u32::MAX);
        let data = Data { magic: 0, length, data: request.as_ptr() as *mut c_char };
        let mut ticket = LibraryHandle::new(self, |session, handle| {
            // SAFETY: the ticket is the library's, and this is the last use of it.
            unsafe { (session.functions.free_ticket)(session.context, handle) };
        });
        // SAFETY: all pointers are to live values; the function only reads the request, whose
        // length is at most `REQUEST_BYTES_MAX`.
        let code = unsafe {
            (self.functions.read_request)(
                self.context,
                &mut auth.handle,
                &data,
                principal.handle,
                keytab.handle,
                null_mut(),
                &mut ticket.handle,
            )
        };
        self.check(code)?;
        let read = ticket.handle.cast::<SealedTicket>();
        // SAFETY: the function has made a ticket with its decrypted content, which lives as long as
        // `ticket`.
        let content = unsafe { read.as_ref().and_then(|ticket| ticket.content.as_ref()) };
        let content = content.ok_or("the library has not read the ticket")?;
        let principal = self.name(content.client)?;
        let expires = u64::from(content.times.end.cast_unsigned());
        Ok(KerberosClient { principal, expires })
    }

    /// The text of a principal.
    fn name(&self, principal: Handle) -> Result<String, String> {
        let mut text = null_mut();
        // SAFETY: the principal is the library's; the text that it makes is a text of C, copied
        // before it is given back.
        unsafe {
            self.check((self.functions.unparse_name)(self.context, principal, &mut text))?;
            let name = CStr::from_ptr(text).to_str().map(str::to_owned);
            (self.functions.free_name)(self.context, text);
            name.map_err(|_| "the name of the client is not UTF-8".to_owned())
        }
    }
}

/// A handle that is given back when it is dropped.
struct LibraryHandle<'a> {
    session: &'a Session,
    handle: Handle,
    release: fn(&Session, Handle),
}

impl<'a> LibraryHandle<'a> {
    fn new(session: &'a Session, release: fn(&Session, Handle)) -> Self {
        LibraryHandle { session, handle: null_mut(), release }
    }
}

impl Drop for LibraryHandle<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            (self.release)(self.session, self.handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(keytab: &Path) -> KerberosService {
        KerberosService { principal: "xrootd/h@R".to_owned(), keytab: keytab.to_owned() }
    }

    #[test]
    fn a_service_without_keys_is_refused_before_clients_come() {
        if Krb5Library::load().is_err() {
            eprintln!("SKIPPED: {NAME} is not here; no service was tested");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none");
        assert!(service(&missing).check().unwrap_err().contains("none: No such file"));
        let empty = folder.path().join("empty");
        std::fs::write(&empty, b"\x05\x02").unwrap();
        let why = service(&empty).check().unwrap_err();
        assert!(why.contains("empty has no key of xrootd/h@R"), "{why}");
        let unnamed = KerberosService { principal: "xrootd/h".to_owned(), ..service(&empty) };
        assert!(unnamed.check().unwrap_err().contains("names no realm"));
    }

    #[test]
    fn bytes_that_are_no_request_are_an_error() {
        if Krb5Library::load().is_err() {
            eprintln!("SKIPPED: {NAME} is not here; no request was tested");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let keytab = folder.path().join("keytab");
        std::fs::write(&keytab, b"\x05\x02").unwrap();
        for bytes in [&b""[..], b"\x6e", b"\x6e\x82\xff\xff", &[0x6e; 4096], &[0; 200_000]] {
            assert!(service(&keytab).client_of(bytes).is_err(), "{} bytes", bytes.len());
        }
    }
}
