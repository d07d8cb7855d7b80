//! One packet as a TUN device hands it over, and how to cut it into the segments a wire would
//! carry.
//!
//! With segmentation offload the kernel gives up to 64 kB of a TCP flow as one packet, preceded by
//! a `virtio_net_hdr` with the length of each segment. That makes 1 Gbit/s cheap. Where the link
//! must treat segments apart (one is lost, the queue has room for a few, the rate is low), the
//! packet is split here, with the same header changes that a network card would make.

use std::net::Ipv4Addr;

/// Length of `struct virtio_net_hdr` (virtio 1.2, section 5.1.6; without mergeable buffers).
pub const OFFLOAD_HEADER_LEN: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP_V4: u8 = 1;
const PROTOCOL_TCP: u8 = 6;
const FLAG_FIN: u8 = 0x01;
const FLAG_SYN: u8 = 0x02;
const FLAG_PSH: u8 = 0x08;
const FLAG_ACK: u8 = 0x10;
const FLAG_CWR: u8 = 0x80;

/// The key of a flow: addresses, protocol and ports. Ports are 0 where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub protocol: u8,
    pub source_port: u16,
    pub destination_port: u16,
}

/// An IPv4 packet with its offload header in front; possibly many TCP segments in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Offload header, IP header, and all that follows.
    bytes: Vec<u8>,
    flow: Flow,
    /// IP and TCP header together; 0 for anything that is never split.
    header_len: usize,
    /// Payload bytes of each segment but the last; 0 when this is one segment only.
    segment_len: usize,
}

impl Packet {
    /// Reads a packet from a TUN device. `None` for anything but a whole IPv4 packet.
    pub fn parse(bytes: &[u8]) -> Option<Packet> {
        let ip = bytes.get(OFFLOAD_HEADER_LEN..)?;
        if ip.len() < 20 || ip.len() > usize::from(u16::MAX) || ip[0] >> 4 != 4 {
            return None;
        }
        let ip_header_len = ip_header_len(ip);
        if ip_header_len < 20 || ip.len() < ip_header_len {
            return None;
        }
        let protocol = ip[9];
        let ports =
            ip.get(ip_header_len..ip_header_len + 4).filter(|_| protocol == 6 || protocol == 17);
        let flow = Flow {
            source: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]),
            destination: Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]),
            protocol,
            source_port: ports.map_or(0, |p| be16(p, 0)),
            destination_port: ports.map_or(0, |p| be16(p, 2)),
        };
        let mut packet = Packet { bytes: bytes.to_vec(), flow, header_len: 0, segment_len: 0 };
        if protocol == PROTOCOL_TCP && bytes[1] & 0x7f == GSO_TCP_V4 {
            let tcp_header_len = usize::from(ip.get(ip_header_len + 12)? >> 4) * 4;
            let segment_len = usize::from(u16::from_ne_bytes([bytes[4], bytes[5]]));
            let header_len = ip_header_len + tcp_header_len;
            // The kernel always offloads the checksum too; a split relies on it.
            let offloaded = bytes[0] & NEEDS_CHECKSUM != 0;
            if !offloaded || tcp_header_len < 20 || segment_len == 0 || ip.len() < header_len {
                return None;
            }
            packet.header_len = header_len;
            packet.segment_len = segment_len;
        }
        Some(packet)
    }

    /// The bytes to write to a TUN device.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The flow that this packet belongs to.
    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// How many packets of at most an MTU this is on a wire.
    pub fn segments(&self) -> usize {
        if self.segment_len == 0 {
            return 1;
        }
        self.payload_len().div_ceil(self.segment_len).max(1)
    }

    /// Bytes on the wire: all segments, each with its own IP and TCP header.
    pub fn wire_len(&self) -> u64 {
        let one = (self.bytes.len() - OFFLOAD_HEADER_LEN) as u64;
        one + (self.segments() as u64 - 1) * self.header_len as u64
    }

    /// True for the first packet of a TCP connection.
    pub fn opens_connection(&self) -> bool {
        let ip = &self.bytes[OFFLOAD_HEADER_LEN..];
        let flags = ip.get(ip_header_len(ip) + 13).copied().unwrap_or(0);
        self.flow.protocol == PROTOCOL_TCP && flags & (FLAG_SYN | FLAG_ACK) == FLAG_SYN
    }

    /// Cuts off the first `count` segments; the rest is `None` when nothing remains.
    pub fn split(mut self, count: usize) -> (Packet, Option<Packet>) {
        if count == 0 || count >= self.segments() {
            return (self, None);
        }
        let cut = count * self.segment_len;
        let payload_start = OFFLOAD_HEADER_LEN + self.header_len;
        let mut head = std::mem::take(&mut self.bytes);
        let mut rest = head[..payload_start].to_vec();
        rest.extend_from_slice(&head[payload_start + cut..]);
        head.truncate(payload_start + cut);

        let ip = OFFLOAD_HEADER_LEN;
        let tcp = ip + ip_header_len(&head[ip..]);
        head[tcp + 13] &= !(FLAG_FIN | FLAG_PSH);
        rest[tcp + 13] &= !FLAG_CWR;
        let sequence = be32(&rest, tcp + 4).wrapping_add(cut as u32);
        rest[tcp + 4..tcp + 8].copy_from_slice(&sequence.to_be_bytes());
        let id = be16(&rest, ip + 4).wrapping_add(count as u16);
        rest[ip + 4..ip + 6].copy_from_slice(&id.to_be_bytes());
        (self.part(head), Some(self.part(rest)))
    }

    /// A part of this packet: the same flow and header, with lengths and checksums made right.
    fn part(&self, mut bytes: Vec<u8>) -> Packet {
        let payload_len = bytes.len() - OFFLOAD_HEADER_LEN - self.header_len;
        let (offload, ip) = bytes.split_at_mut(OFFLOAD_HEADER_LEN);
        if payload_len <= self.segment_len {
            offload[1] = GSO_NONE;
            offload[4..6].fill(0);
        }
        let tcp = ip_header_len(ip);
        let total_len = ip.len() as u16;
        ip[2..4].copy_from_slice(&total_len.to_be_bytes());
        ip[10..12].fill(0);
        let checksum = !ones_complement_sum(&ip[..tcp], 0);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        // An offloaded checksum is, until the last device, the sum of the pseudo header alone.
        let pseudo = u32::from(PROTOCOL_TCP) + (ip.len() - tcp) as u32;
        let checksum = ones_complement_sum(&ip[12..20], pseudo);
        ip[tcp + 16..tcp + 18].copy_from_slice(&checksum.to_be_bytes());
        Packet {
            bytes,
            flow: self.flow,
            header_len: self.header_len,
            segment_len: self.segment_len,
        }
    }

    fn payload_len(&self) -> usize {
        self.bytes.len() - OFFLOAD_HEADER_LEN - self.header_len
    }
}

fn ip_header_len(ip: &[u8]) -> usize {
    usize::from(ip[0] & 0x0f) * 4
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

/// The Internet checksum's sum (RFC 1071), not yet inverted. `bytes` of odd length are padded with
/// 0.
fn ones_complement_sum(bytes: &[u8], start: u32) -> u16 {
    let mut sum = u64::from(start);
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A TCP packet as a TUN device with offloads gives it: `segment_len` 0 for a plain one.
    pub(crate) fn tcp_packet(
        from: Ipv4Addr,
        to: Ipv4Addr,
        ports: (u16, u16),
        payload: &[u8],
        segment_len: u16,
    ) -> Vec<u8> {
        let mut bytes = vec![NEEDS_CHECKSUM, if segment_len > 0 { GSO_TCP_V4 } else { GSO_NONE }];
        bytes.extend(40u16.to_ne_bytes());
        bytes.extend(segment_len.to_ne_bytes());
        bytes.extend(20u16.to_ne_bytes());
        bytes.extend(16u16.to_ne_bytes());
        let total = (40 + payload.len()) as u16;
        bytes.extend([0x45, 0]);
        bytes.extend(total.to_be_bytes());
        bytes.extend([0x12, 0x34, 0x40, 0, 64, PROTOCOL_TCP, 0, 0]);
        bytes.extend(from.octets());
        bytes.extend(to.octets());
        bytes.extend(ports.0.to_be_bytes());
        bytes.extend(ports.1.to_be_bytes());
        bytes.extend(1000u32.to_be_bytes());
        bytes.extend(2000u32.to_be_bytes());
        bytes.extend([0x50, FLAG_PSH | FLAG_ACK, 1, 0, 0, 0, 0, 0]);
        bytes.extend(payload);
        bytes
    }

    const NEAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
    const FAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);

    fn big(payload_len: usize) -> Packet {
        let payload: Vec<u8> = (0..payload_len).map(|i| (i % 251) as u8).collect();
        Packet::parse(&tcp_packet(FAR, NEAR, (1094, 40000), &payload, 1448)).unwrap()
    }

    #[test]
    fn wire_length_counts_a_header_for_each_segment() {
        let packet = big(1448 * 3 + 5);
        assert_eq!(packet.segments(), 4);
        assert_eq!(packet.wire_len(), 1448 * 3 + 5 + 4 * 40);
        assert_eq!(packet.flow().source_port, 1094);
    }

    #[test]
    fn split_parts_carry_all_bytes_in_order_with_right_headers() {
        let whole = big(1448 * 3 + 5);
        let payload = whole.bytes()[50..].to_vec();
        let wire_len = whole.wire_len();
        let (head, rest) = whole.split(3);
        let rest = rest.unwrap();
        assert_eq!((head.segments(), rest.segments()), (3, 1));
        assert_eq!(head.wire_len() + rest.wire_len(), wire_len);
        assert_eq!([&head.bytes()[50..], &rest.bytes()[50..]].concat(), payload);
        // Flags: only the last part pushes. Sequence and identification move on.
        assert_eq!((head.bytes()[43], rest.bytes()[43]), (FLAG_ACK, FLAG_ACK | FLAG_PSH));
        assert_eq!(be32(rest.bytes(), 34), 1000 + 3 * 1448);
        assert_eq!(be16(rest.bytes(), 14), 0x1237);
        // The last part is an ordinary packet, and each IP header sums to all ones.
        assert_eq!(rest.bytes()[1], GSO_NONE);
        for part in [&head, &rest] {
            let ip = &part.bytes()[10..];
            assert_eq!(usize::from(be16(ip, 2)), ip.len());
            assert_eq!(ones_complement_sum(&ip[..20], 0), 0xffff);
            let pseudo = 6 + (ip.len() - 20) as u32;
            assert_eq!(be16(ip, 36), ones_complement_sum(&ip[12..20], pseudo));
        }
    }

    #[test]
    fn a_split_at_the_end_or_at_nothing_leaves_the_packet_whole() {
        assert_eq!(big(1000).split(1), (big(1000), None));
        assert_eq!(big(3000).split(0), (big(3000), None));
        assert_eq!(big(3000).split(9), (big(3000), None));
    }

    #[test]
    fn the_first_packet_of_a_connection_is_known_by_its_flags() {
        let mut bytes = tcp_packet(NEAR, FAR, (40000, 1094), b"", 0);
        bytes[43] = FLAG_SYN;
        assert!(Packet::parse(&bytes).unwrap().opens_connection());
        bytes[43] = FLAG_SYN | FLAG_ACK;
        assert!(!Packet::parse(&bytes).unwrap().opens_connection());
    }

    #[test]
    fn anything_cut_short_or_strange_is_refused_or_kept_whole() {
        let bytes = tcp_packet(NEAR, FAR, (1, 2), &[7; 3000], 1448);
        for len in 0..50 {
            assert_eq!(Packet::parse(&bytes[..len]), None, "{len}");
        }
        let mut version_six = bytes.clone();
        version_six[10] = 0x65;
        assert_eq!(Packet::parse(&version_six), None);
        let mut no_segment_len = bytes;
        no_segment_len[4..6].fill(0);
        assert_eq!(Packet::parse(&no_segment_len), None);
    }
}
