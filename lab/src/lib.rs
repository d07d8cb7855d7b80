//! A real wide-area link on one machine.
//!
//! Two or more network namespaces are the hosts. Each has a TUN device whose other end this process
//! holds: it delays, shapes, drops and cuts the packets between them. Everything above the packets
//! is real: the kernel's own TCP on both sides, xrootd, ROOT, and any other client.
//!
//! [`network`] decides, in virtual time and without I/O; `linux` moves the packets and runs
//! programs.
//!
//! The emulation treats packets so:
//!
//! * The MTU is 1500 bytes, so a segment carries 1,448 and a cold connection starts with ten of
//!   them.
//! * The kernel hands over up to 64 kB of a flow at once (segmentation offload) and takes it back
//!   so, as a network card with large receive offload does; the receiver acknowledges such a packet
//!   once. Rates count each segment with its headers. A limited link hands on at most half a
//!   millisecond at a time.
//! * Loss and full queues drop single segments; a large packet is cut for it.
//! * Order is kept within a flow. There is no corruption, duplication or jitter of its own.
//! * A link without a rate carries as much as the CPUs can move, several Gbit/s.
//!
//! This crate does not know ROOT or XRootD, except how to start xrootd.

pub mod network;
pub mod options;
pub mod packet;
pub mod units;

mod chance;

#[cfg(target_os = "linux")]
pub mod linux;
