//! Type codes of streamer elements (ROOT: `TVirtualStreamerInfo::EReadWrite`).

pub const BASE: i32 = 0;
/// Added to a basic type's code for a fixed array, and for one counted by another member.
pub const ARRAY: i32 = 20;
pub const COUNTED: i32 = 40;
pub const CHAR: i32 = 1;
pub const SHORT: i32 = 2;
pub const INT: i32 = 3;
pub const LONG: i32 = 4;
pub const FLOAT: i32 = 5;
pub const COUNTER: i32 = 6;
pub const CHAR_STAR: i32 = 7;
pub const DOUBLE: i32 = 8;
pub const DOUBLE32: i32 = 9;
pub const LEGACY_CHAR: i32 = 10;
pub const UCHAR: i32 = 11;
pub const USHORT: i32 = 12;
pub const UINT: i32 = 13;
pub const ULONG: i32 = 14;
pub const BITS: i32 = 15;
pub const LONG64: i32 = 16;
pub const ULONG64: i32 = 17;
pub const BOOL: i32 = 18;
pub const FLOAT16: i32 = 19;
/// An object in place: with `TObject` as base, and without.
pub const OBJECT: i32 = 61;
pub const ANY: i32 = 62;
/// A pointer that is never null (`//->`): written as an object in place.
pub const OBJECT_HELD: i32 = 63;
pub const ANY_HELD: i32 = 68;
/// A pointer: null, an object with its class, or a reference to one read before.
pub const OBJECT_POINTER: i32 = 64;
pub const ANY_POINTER: i32 = 69;
pub const ANY_POINTER_NO_VIRTUAL: i32 = 70;
pub const STRING: i32 = 65;
pub const TOBJECT: i32 = 66;
pub const TNAMED: i32 = 67;
pub const STL_POINTER: i32 = 71;
pub const STL: i32 = 300;
pub const STL_STRING: i32 = 365;
/// A class's own streamer, and a counted array of objects.
pub const STREAMER: i32 = 500;
pub const STREAM_LOOP: i32 = 501;
/// Not in the file at all.
pub const ARTIFICIAL: i32 = 1000;
/// A `TObject` that the class leaves out of the file.
pub const NOTHING: i32 = -1;
/// Ours, for versions of `TBranch` from before streamer infos: added to a basic type's code
/// for an array with its length in front.
pub const PREFIXED: i32 = -100;
/// Ours: offsets of baskets, of four or eight bytes as the byte in front says.
pub const BASKET_SEEKS: i32 = -200;
/// Ours, for classes that ROOT writes by hand: added to a basic type's code for an array with
/// nothing in front, and strings of the kind.
pub const BARE: i32 = -300;
pub const BARE_STRINGS: i32 = BARE + STRING;
