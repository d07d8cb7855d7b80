//! A TUN device: the wire of one host, whose other end we hold.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl::{IntegerSetter, Updater, ioctl};

/// The name of the device inside each namespace.
pub const DEVICE: &str = "wan0";

// linux/if_tun.h. A device without packet information but with the offload header.
const TUNSETIFF: u32 = 0x4004_54ca;
const TUNSETOFFLOAD: u32 = 0x4004_54d0;
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
/// The kernel may leave checksums and the cutting of IPv4 TCP segments to us.
const TUN_F_CSUM_AND_TSO4: usize = 0x01 | 0x02;

/// `struct ifreq` as far as TUNSETIFF uses it; the union behind it is 24 bytes long.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// Makes the device in the network namespace of the calling thread. It goes when the file is
/// closed.
pub fn open() -> io::Result<File> {
    let nonblocking = OFlags::NONBLOCK.bits() as i32;
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open("/dev/net/tun")?;
    let mut request = InterfaceRequest {
        name: [0; 16],
        flags: IFF_TUN | IFF_NO_PI | IFF_VNET_HDR,
        rest: [0; 22],
    };
    request.name[..DEVICE.len()].copy_from_slice(DEVICE.as_bytes());
    configure(&file, &mut request)?;
    Ok(file)
}

#[allow(unsafe_code)]
fn configure(file: &File, request: &mut InterfaceRequest) -> io::Result<()> {
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq` (40 bytes), which `InterfaceRequest`
    // mirrors; TUNSETOFFLOAD takes flags as a plain integer. Neither keeps a pointer.
    unsafe {
        ioctl(file, Updater::<TUNSETIFF, InterfaceRequest>::new(request))?;
        ioctl(file, IntegerSetter::<TUNSETOFFLOAD>::new_usize(TUN_F_CSUM_AND_TSO4))?;
    }
    Ok(())
}
