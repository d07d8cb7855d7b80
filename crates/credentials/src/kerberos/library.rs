//! The Kerberos library of the system, by the interface of RFC 2744 (GSSAPI, C bindings).
//!
//! It calls C, as [`super::service`] does: no other file of this crate has unsafe code.
#![expect(unsafe_code, reason = "the Kerberos library is found at run time and is in C")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use std::time::Duration;

use libloading::Library as Shared;
use mutex::PerProcess;
use nix::unistd::geteuid;
use zeroize::Zeroize;

use super::Secret;
use crate::{Reason, files};

/// Under which names the library is found: MIT's, Heimdal's, Apple's.
const NAMES: [&str; 4] = [
    "libgssapi_krb5.so.2",
    "libgssapi.so.3",
    "libgssapi_krb5.2.dylib",
    "/System/Library/Frameworks/GSS.framework/GSS",
];

/// All versions of the format of caches in files begin with it.
const CACHE_FIRST_BYTE: u8 = 5;

/// The file that a cache's name says; `None` for caches of other kinds.
fn file_of(cache: &str) -> Option<&Path> {
    let path = cache.strip_prefix("FILE:").unwrap_or(cache);
    path.starts_with('/').then(|| Path::new(path))
}

// Apple packs these to two bytes on its older processors.
#[repr(C)]
#[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), repr(packed(2)))]
struct Buffer {
    length: usize,
    value: *mut c_void,
}

#[repr(C)]
#[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), repr(packed(2)))]
struct ObjectId {
    length: u32,
    elements: *const u8,
}

// SAFETY: both are constants; nothing writes through the pointer.
unsafe impl Sync for ObjectId {}

/// `GSS_KRB5_NT_PRINCIPAL_NAME`, 1.2.840.113554.1.2.2.1.
static PRINCIPAL: ObjectId =
    ObjectId { length: 10, elements: c"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01".as_ptr().cast() };
/// The mechanism Kerberos 5, 1.2.840.113554.1.2.2.
static KERBEROS: ObjectId =
    ObjectId { length: 9, elements: c"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02".as_ptr().cast() };

/// A name, a context or a credential of the library.
type Handle = *mut c_void;

type ImportName =
    unsafe extern "C" fn(*mut u32, *const Buffer, *const ObjectId, *mut Handle) -> u32;
type Release = unsafe extern "C" fn(*mut u32, *mut Handle) -> u32;
type ReleaseBuffer = unsafe extern "C" fn(*mut u32, *mut Buffer) -> u32;
type DisplayName = unsafe extern "C" fn(*mut u32, Handle, *mut Buffer, *mut *const ObjectId) -> u32;
type DisplayStatus =
    unsafe extern "C" fn(*mut u32, u32, i32, *const ObjectId, *mut u32, *mut Buffer) -> u32;
type InitContext = unsafe extern "C" fn(
    *mut u32,
    Handle,
    *mut Handle,
    Handle,
    *const ObjectId,
    u32,
    u32,
    *const c_void,
    *const Buffer,
    *mut *const ObjectId,
    *mut Buffer,
    *mut u32,
    *mut u32,
) -> u32;
type DeleteContext = unsafe extern "C" fn(*mut u32, *mut Handle, *mut Buffer) -> u32;
/// A set of mechanisms is a count and a pointer, as `Buffer` is.
type AcquireCredential = unsafe extern "C" fn(
    *mut u32,
    Handle,
    u32,
    *const Buffer,
    i32,
    *mut Handle,
    *mut Buffer,
    *mut u32,
) -> u32;
type InquireCredential =
    unsafe extern "C" fn(*mut u32, Handle, *mut Handle, *mut u32, *mut i32, *mut Buffer) -> u32;
type CacheName = unsafe extern "C" fn(*mut u32, *const c_char, *mut *const c_char) -> u32;

/// The functions of the library that are called.
pub(super) struct Library {
    import_name: ImportName,
    release_name: Release,
    release_credential: Release,
    release_buffer: ReleaseBuffer,
    display_name: DisplayName,
    display_status: DisplayStatus,
    init_context: InitContext,
    delete_context: DeleteContext,
    acquire_credential: AcquireCredential,
    inquire_credential: InquireCredential,
    cache_name: Option<CacheName>,
    /// Keeps the functions where they are.
    _shared: Shared,
}

impl Library {
    /// The library, looked for once in a process.
    pub(super) fn load() -> Result<&'static Self, Reason> {
        static LIBRARY: PerProcess<Option<Option<&Library>>> = PerProcess::new();
        let open = || NAMES.iter().find_map(|name| Library::open(name));
        let found =
            *LIBRARY.lock().get_or_insert_with(|| open().map(|one| &*Box::leak(one.into())));
        found.ok_or_else(|| Reason::NoLibrary(NAMES[..2].join(" or ")))
    }

    fn open(name: &str) -> Option<Self> {
        // SAFETY: the initialisers of these libraries do nothing but set up their own locks.
        let shared = unsafe { Shared::new(name) }.ok()?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the types of the functions are those of RFC 2744, appendix A, and of
                // `gssapi_krb5.h`; the library stays loaded as long as `Library` lives.
                unsafe { shared.get($name) }.ok().map(|function| *function)
            };
        }
        Some(Library {
            import_name: function!(b"gss_import_name\0")?,
            release_name: function!(b"gss_release_name\0")?,
            release_credential: function!(b"gss_release_cred\0")?,
            release_buffer: function!(b"gss_release_buffer\0")?,
            display_name: function!(b"gss_display_name\0")?,
            display_status: function!(b"gss_display_status\0")?,
            init_context: function!(b"gss_init_sec_context\0")?,
            delete_context: function!(b"gss_delete_sec_context\0")?,
            acquire_credential: function!(b"gss_acquire_cred\0")?,
            inquire_credential: function!(b"gss_inquire_cred\0")?,
            cache_name: function!(b"gss_krb5_ccache_name\0"),
            _shared: shared,
        })
    }

    /// The first message to a service, in GSS's frame.
    pub(super) fn initial_token(
        &self,
        principal: &str,
        cache: Option<&str>,
    ) -> Result<Secret, Reason> {
        let _cache = self.choose(cache)?;
        let mut name = Owned::new(self.release_name);
        let text = Buffer { length: principal.len(), value: principal.as_ptr() as *mut c_void };
        let mut minor = 0;
        // SAFETY: all pointers are to live values of the types that the function takes; it copies
        // the text.
        let major = unsafe { (self.import_name)(&mut minor, &text, &PRINCIPAL, &mut name.handle) };
        self.check(major, minor)?;
        let mut context: Handle = null_mut();
        let mut token = Buffer { length: 0, value: null_mut() };
        // SAFETY: as above. The function takes null for credential, bindings, input and the values
        // that are not wanted as the usual ones.
        let major = unsafe {
            (self.init_context)(
                &mut minor,
                null_mut(),
                &mut context,
                name.handle,
                &KERBEROS,
                0,
                0,
                null(),
                null(),
                null_mut(),
                &mut token,
                null_mut(),
                null_mut(),
            )
        };
        let checked = self.check(major, minor);
        let message = self.take(token);
        // SAFETY: the context is the library's, or null, which the function takes too.
        unsafe { (self.delete_context)(&mut minor, &mut context, null_mut()) };
        checked.map(|()| message)
    }

    /// Whose tickets the cache has, and how long they live.
    pub(super) fn owner(&self, cache: Option<&str>) -> Result<(String, Duration), Reason> {
        let _cache = self.choose(cache)?;
        let mut credential = Owned::new(self.release_credential);
        let kerberos = &raw const KERBEROS as *mut c_void;
        let mechanisms = Buffer { length: 1, value: kerberos };
        let mut minor = 0;
        const INITIATE: i32 = 1;
        // SAFETY: all pointers are to live values of the types that the function takes.
        let major = unsafe {
            (self.acquire_credential)(
                &mut minor,
                null_mut(),
                u32::MAX,
                &mechanisms,
                INITIATE,
                &mut credential.handle,
                null_mut(),
                null_mut(),
            )
        };
        self.check(major, minor)?;
        let mut name = Owned::new(self.release_name);
        let mut seconds = 0;
        // SAFETY: as above; the credential is one of the library.
        let major = unsafe {
            (self.inquire_credential)(
                &mut minor,
                credential.handle,
                &mut name.handle,
                &mut seconds,
                null_mut(),
                null_mut(),
            )
        };
        self.check(major, minor)?;
        let mut text = Buffer { length: 0, value: null_mut() };
        // SAFETY: as above; the name is one of the library.
        let major = unsafe { (self.display_name)(&mut minor, name.handle, &mut text, null_mut()) };
        let owner = String::from_utf8_lossy(&self.take(text)).into_owned();
        self.check(major, minor)?;
        Ok((shown(&owner), Duration::from_secs(seconds.into())))
    }

    /// Chooses a cache for this thread, until the result is dropped; `None`: the usual one.
    ///
    /// A cache in a file is looked at before, also the usual one, which is in a folder of all
    /// users: the library waits for ever for the writer of a pipe there, reads what another user
    /// has put there, and ends the process where the usual one is no cache (MIT's 1.20).
    fn choose(&self, cache: Option<&str>) -> Result<Chosen, Reason> {
        let usual = if cache.is_none() { self.usual_cache() } else { None };
        let cache = cache.or_else(|| usual.as_deref().filter(|name| file_of(name).is_some()));
        let Some(cache) = cache else { return Ok(Chosen(None)) };
        if let Some(path) = file_of(cache) {
            match files::first_byte(path, geteuid().as_raw())? {
                Some(CACHE_FIRST_BYTE) => {}
                // The library says that nothing is there.
                None if usual.is_some() => return Ok(Chosen(None)),
                None => {}
                Some(_) => return Err(Reason::Malformed("no cache of tickets".to_owned())),
            }
        }
        let malformed = |_| Reason::Malformed("the name of the cache is none".to_owned());
        let name = CString::new(cache).map_err(malformed)?;
        let Some(function) = self.cache_name else {
            return Err(Reason::Kerberos("this library takes no named cache".to_owned()));
        };
        let mut minor = 0;
        // SAFETY: the library copies the name.
        let major = unsafe { function(&mut minor, name.as_ptr(), null_mut()) };
        let chosen = Chosen(Some(function));
        self.check(major, minor).map(|()| chosen)
    }

    /// The name of the cache that the library takes where none is chosen.
    fn usual_cache(&self) -> Option<String> {
        let mut minor = 0;
        let mut name: *const c_char = null();
        // SAFETY: null chooses no cache; the name is one of the library, which is copied before its
        // next call in this thread.
        let major = unsafe { (self.cache_name?)(&mut minor, null(), &mut name) };
        if major != 0 || name.is_null() {
            return None;
        }
        // SAFETY: it is a text of C.
        Some(unsafe { CStr::from_ptr(name) }.to_str().ok()?.to_owned())
    }

    /// A copy of the bytes of the library, whose own are wiped and given back.
    fn take(&self, mut buffer: Buffer) -> Secret {
        let length = buffer.length;
        let value = buffer.value;
        if value.is_null() {
            return Secret::default();
        }
        // SAFETY: the library gave this buffer, which it no longer writes to.
        let bytes = unsafe { std::slice::from_raw_parts_mut(value.cast::<u8>(), length) };
        let copy = Secret::new(bytes.to_vec());
        bytes.zeroize();
        let mut minor = 0;
        // SAFETY: the buffer is the library's, and is not used after this.
        unsafe { (self.release_buffer)(&mut minor, &mut buffer) };
        copy
    }

    /// The library's own words for a failure.
    fn check(&self, major: u32, minor: u32) -> Result<(), Reason> {
        // The upper half has the errors; GSS_S_CONTINUE_NEEDED is in the lower one.
        if major & 0xffff_0000 == 0 {
            return Ok(());
        }
        // RFC 2744, section 3.9.1: GSS_S_CREDENTIALS_EXPIRED, for which MIT's has no words.
        const EXPIRED: u32 = 11 << 16;
        if major & 0x00ff_0000 == EXPIRED {
            return Err(Reason::Kerberos("the ticket has expired".to_owned()));
        }
        const OF_MECHANISM: i32 = 2;
        const OF_GSS: i32 = 1;
        let words = self.words(minor, OF_MECHANISM);
        let words = words.or_else(|| self.words(major, OF_GSS));
        Err(Reason::Kerberos(words.unwrap_or_else(|| format!("error {major:#x}"))))
    }

    fn words(&self, code: u32, kind: i32) -> Option<String> {
        if code == 0 {
            return None;
        }
        let mut minor = 0;
        let mut more = 0;
        let mut text = Buffer { length: 0, value: null_mut() };
        // SAFETY: all pointers are to live values of the types that the function takes.
        unsafe { (self.display_status)(&mut minor, code, kind, &KERBEROS, &mut more, &mut text) };
        let words = shown(&String::from_utf8_lossy(&self.take(text)));
        (!words.is_empty()).then_some(words)
    }
}

/// The words of the library, as one line without a full stop.
pub(super) fn shown(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control()).take(400).collect();
    text.trim().trim_end_matches('.').to_owned()
}

/// A handle that is given back when it is dropped.
struct Owned {
    handle: Handle,
    release: Release,
}

impl Owned {
    fn new(release: Release) -> Self {
        Owned { handle: null_mut(), release }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            let mut minor = 0;
            // SAFETY: the handle is the library's, and this is the last use of it.
            unsafe { (self.release)(&mut minor, &mut self.handle) };
        }
    }
}

/// While it lives this thread has its own cache.
struct Chosen(Option<CacheName>);

impl Drop for Chosen {
    fn drop(&mut self) {
        if let Some(function) = self.0 {
            let mut minor = 0;
            // SAFETY: a null name is the usual cache again.
            unsafe { function(&mut minor, null(), null_mut()) };
        }
    }
}
