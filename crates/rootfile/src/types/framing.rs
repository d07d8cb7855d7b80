//! Frames of objects and collections, and the flags that say how they are written. (Source: ROOT,
//! `TBufferFile`, `TObject::Streamer`, `TClonesArray::Streamer`, `TStreamerInfo::ReadBuffer`.)

/// Stands where the name of a class follows (ROOT: `kNewClassTag`).
pub const NEW_CLASS: u32 = 0xffff_ffff;
/// Set in the tag of a class that was named before (ROOT: `kClassMask`).
pub const CLASS_MASK: u32 = 0x8000_0000;
/// Set in a byte count to distinguish it from a version (ROOT: `kByteCountMask`).
pub const BYTE_COUNT: u32 = 0x4000_0000;
/// Added to a position in the buffer to make a reference (ROOT: `kMapOffset`).
pub const MAP_OFFSET: u32 = 2;
/// In a version: members are written one after the other for all objects (ROOT:
/// `kStreamedMemberWise`). Where a byte count would be, the same bit of its upper half.
pub const MEMBERWISE: u16 = 1 << 14;
/// Collections before this version do not say the version of the class they hold.
pub const SAYS_ITEM_VERSION: u16 = 8;
/// In a `TObject`'s bits: a process's number follows (ROOT: `kIsReferenced`).
pub const IS_REFERENCED: u32 = 1 << 4;
/// In a `TClonesArray`'s bits: its objects are written member by member (ROOT: `kBypassStreamer`).
pub const BYPASS_STREAMER: u32 = 1 << 12;
