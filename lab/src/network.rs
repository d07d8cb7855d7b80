//! The wide-area network in virtual time: packets and `now` come in, packets come out when they are
//! due.
//!
//! Each host hangs by one access link on a core without limits. A packet crosses two links: up from
//! its source and down to its destination. On each it meets, in this order:
//!
//! ```text
//!   cable cut? -> lost by chance? -> limit of its flow -> limit of the link -> travel time
//!                                     (waits or drops)     (waits or drops)
//! ```
//!
//! The run-loop law holds here too: after every `handle_packet`, call `poll_delivery` until it
//! returns nothing, then sleep until `poll_timeout`. Time is an argument and never goes back.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::chance::Chance;
use crate::options::LinkOptions;
use crate::packet::{Flow, Packet};

/// Time since an epoch of the caller's choosing.
pub type Time = Duration;

/// Flows remembered per direction before those without a backlog are forgotten.
const FLOWS_KEPT: usize = 1024;

/// A limited link hands over at most this much of its time at once, so that the first segments of a
/// large packet do not wait for its last.
const PIECE_TIME: Duration = Duration::from_micros(500);

/// The packets that one direction of an access link has carried and dropped. Packets are counted as
/// on a wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub packets: u64,
    pub bytes: u64,
    /// TCP connections that were begun in this direction.
    pub connections: u64,
    /// Dropped by chance, because a queue was full, and because the cable was cut.
    pub lost: u64,
    pub overflowed: u64,
    pub cut: u64,
}

/// One host: its address, its options, and its link's counters.
#[derive(Debug)]
pub struct Host {
    pub name: String,
    pub address: Ipv4Addr,
    pub options: LinkOptions,
    up: Direction,
    down: Direction,
}

impl Host {
    /// The packets that this host sent.
    pub fn sent(&self) -> Counters {
        self.up.counters
    }

    /// The packets that this host received.
    pub fn received(&self) -> Counters {
        self.down.counters
    }
}

/// All hosts and all packets between them.
#[derive(Debug, Default)]
pub struct Network {
    hosts: Vec<Host>,
    /// Packets on their way, by the time of their next step; the number keeps equal times in order.
    transit: BTreeMap<(Time, u64), Transit>,
    next_number: u64,
}

#[derive(Debug)]
struct Transit {
    packet: Packet,
    source: usize,
    destination: usize,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Enters the source's link.
    Up,
    /// Has passed the limit of its flow there, and meets the limit of the link.
    UpLink,
    /// Enters the destination's link.
    Down,
    DownLink,
    /// Is there.
    Arrive,
}

#[derive(Debug)]
struct Direction {
    chance: Chance,
    link: Limit,
    flows: BTreeMap<Flow, Limit>,
    counters: Counters,
}

/// A limited line: when it has sent all that was given to it.
#[derive(Debug, Clone, Copy, Default)]
struct Limit {
    free_at: Time,
}

impl Network {
    /// Adds a host; the number returned names it in the other calls. `seed` decides which packets
    /// are lost.
    pub fn add_host(
        &mut self,
        name: &str,
        address: Ipv4Addr,
        options: LinkOptions,
        seed: u64,
    ) -> usize {
        self.hosts.push(Host {
            name: name.to_owned(),
            address,
            options,
            up: Direction::new(seed.wrapping_mul(2)),
            down: Direction::new(seed.wrapping_mul(2).wrapping_add(1)),
        });
        self.hosts.len() - 1
    }

    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The options of the host called `name`; a change holds for packets that come from now on.
    pub fn options_mut(&mut self, name: &str) -> Option<&mut LinkOptions> {
        self.hosts.iter_mut().find(|host| host.name == name).map(|host| &mut host.options)
    }

    /// Takes a packet that host number `source` sends. One to an unknown address vanishes.
    pub fn handle_packet(&mut self, now: Time, source: usize, packet: Packet) {
        let wanted = packet.flow().destination;
        let Some(destination) = self.hosts.iter().position(|host| host.address == wanted) else {
            return;
        };
        self.schedule(now, Transit { packet, source, destination, step: Step::Up });
    }

    /// The next packet that has arrived by `now`, and the number of the host to hand it to.
    pub fn poll_delivery(&mut self, now: Time) -> Option<(usize, Packet)> {
        while let Some(entry) = self.transit.first_entry() {
            let at = entry.key().0;
            if at > now {
                return None;
            }
            let transit = entry.remove();
            match transit.step {
                Step::Up | Step::Down => self.enter(at, transit),
                Step::UpLink | Step::DownLink => self.pass_link(at, transit),
                Step::Arrive => return Some((transit.destination, transit.packet)),
            }
        }
        None
    }

    /// When `poll_delivery` will next have something to do.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.transit.first_key_value().map(|((at, _), _)| *at)
    }

    fn schedule(&mut self, at: Time, transit: Transit) {
        self.transit.insert((at, self.next_number), transit);
        self.next_number += 1;
    }

    /// The first half of a link: the cut cable, the chance of loss, the limit of the flow.
    fn enter(&mut self, now: Time, transit: Transit) {
        let (options, direction) = self.direction(&transit);
        let counters = &mut direction.counters;
        if !options.up {
            counters.cut += transit.packet.segments() as u64;
            return;
        }
        counters.packets += transit.packet.segments() as u64;
        counters.bytes += transit.packet.wire_len();
        counters.connections += u64::from(transit.packet.opens_connection());
        let flow = transit.packet.flow();
        let runs = lose(transit.packet, options.loss, &mut direction.chance, &mut counters.lost);
        let passed = match options.flow_rate {
            None => runs.into_iter().map(|packet| (now, packet)).collect(),
            Some(rate) => {
                direction.forget_idle_flows(now);
                let limit = direction.flows.entry(flow).or_default();
                let queue = options.queue_for(rate);
                pass(now, limit, rate, queue, runs, &mut direction.counters.overflowed)
            }
        };
        let step = if transit.step == Step::Up { Step::UpLink } else { Step::DownLink };
        for (at, packet) in passed {
            self.schedule(at, Transit { packet, step, ..transit });
        }
    }

    /// The second half of a link: the limit that all flows share, and the travel time.
    fn pass_link(&mut self, now: Time, transit: Transit) {
        let (options, direction) = self.direction(&transit);
        let delay = options.one_way_delay;
        let packets = VecDeque::from([transit.packet]);
        let passed = match options.rate {
            None => packets.into_iter().map(|packet| (now, packet)).collect(),
            Some(rate) => {
                let queue = options.queue_for(rate);
                let overflowed = &mut direction.counters.overflowed;
                pass(now, &mut direction.link, rate, queue, packets, overflowed)
            }
        };
        let step = if transit.step == Step::UpLink { Step::Down } else { Step::Arrive };
        for (at, packet) in passed {
            self.schedule(at + delay, Transit { packet, step, ..transit });
        }
    }

    fn direction(&mut self, transit: &Transit) -> (LinkOptions, &mut Direction) {
        let up = matches!(transit.step, Step::Up | Step::UpLink);
        let host = &mut self.hosts[if up { transit.source } else { transit.destination }];
        (host.options.clone(), if up { &mut host.up } else { &mut host.down })
    }
}

impl Direction {
    fn new(seed: u64) -> Direction {
        Direction {
            chance: Chance::new(seed),
            link: Limit::default(),
            flows: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    fn forget_idle_flows(&mut self, now: Time) {
        if self.flows.len() > FLOWS_KEPT {
            self.flows.retain(|_, limit| limit.free_at > now);
        }
    }
}

/// The runs of segments that survive, each as one packet.
fn lose(packet: Packet, loss: f64, chance: &mut Chance, lost: &mut u64) -> VecDeque<Packet> {
    if loss <= 0.0 {
        return VecDeque::from([packet]);
    }
    let mut runs = VecDeque::new();
    let mut rest = Some(packet);
    while let Some(packet) = rest {
        let Some(at) = (0..packet.segments()).find(|_| chance.happens(loss)) else {
            runs.push_back(packet);
            break;
        };
        *lost += 1;
        let from_lost = if at == 0 {
            Some(packet)
        } else {
            let (run, tail) = packet.split(at);
            runs.push_back(run);
            tail
        };
        rest = from_lost.and_then(|packet| packet.split(1).1);
    }
    runs
}

/// Sends packets through a limit of `rate` bytes per second: when each piece has left it.
fn pass(
    now: Time,
    limit: &mut Limit,
    rate: u64,
    queue_bytes: u64,
    mut packets: VecDeque<Packet>,
    overflowed: &mut u64,
) -> Vec<(Time, Packet)> {
    let mut passed = Vec::new();
    while let Some(packet) = packets.pop_front() {
        let segments = packet.segments();
        let per_segment = packet.wire_len().div_ceil(segments as u64).max(1);
        let piece_bytes = (u128::from(rate) * PIECE_TIME.as_nanos() / 1_000_000_000) as u64;
        let (piece, rest) = packet.split((piece_bytes / per_segment).max(1) as usize);
        if let Some(rest) = rest {
            packets.push_front(rest);
        }
        match limit.admit(now, rate, queue_bytes, piece.wire_len()) {
            Some(at) => passed.push((at, piece)),
            None => *overflowed += piece.segments() as u64,
        }
    }
    passed
}

impl Limit {
    /// When `len` more bytes will have been sent, or `None` when the queue is full. A line that is
    /// idle takes a packet of any size.
    fn admit(&mut self, now: Time, rate: u64, queue_bytes: u64, len: u64) -> Option<Time> {
        let start = self.free_at.max(now);
        let waiting = (start - now).as_nanos() * u128::from(rate) / 1_000_000_000;
        if waiting > 0 && waiting + u128::from(len) > u128::from(queue_bytes) {
            return None;
        }
        let nanos = u128::from(len) * 1_000_000_000 / u128::from(rate);
        self.free_at = start + Duration::from_nanos(nanos as u64);
        Some(self.free_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::tcp_packet;

    const NEAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
    const FAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
    const MS: Duration = Duration::from_millis(1);

    /// `near` with a perfect link (host 0), `far` with the given options (host 1).
    fn network(settings: &str) -> Network {
        let mut options = LinkOptions::default();
        settings.split_whitespace().for_each(|setting| options.apply(setting).unwrap());
        let mut network = Network::default();
        network.add_host("near", NEAR, LinkOptions::default(), 1);
        network.add_host("far", FAR, options, 2);
        network
    }

    /// A packet from far to near; the first payload byte of its segments is `mark`.
    fn from_far(port: u16, mark: u8, payload_len: usize) -> Packet {
        let payload = vec![mark; payload_len];
        Packet::parse(&tcp_packet(FAR, NEAR, (1094, port), &payload, 1448)).unwrap()
    }

    /// Runs until nothing is under way: arrival time, host, mark, segments.
    fn run(network: &mut Network) -> Vec<(Time, usize, u8, usize)> {
        let mut arrived = Vec::new();
        while let Some(at) = network.poll_timeout() {
            while let Some((host, packet)) = network.poll_delivery(at) {
                arrived.push((at, host, packet.bytes()[50], packet.segments()));
            }
        }
        arrived
    }

    #[test]
    fn delay_alone_moves_a_large_packet_whole() {
        let mut network = network("delay=50ms");
        network.handle_packet(MS, 1, from_far(1, 7, 60_000));
        assert_eq!(network.poll_delivery(50 * MS), None);
        assert_eq!(run(&mut network), [(51 * MS, 0, 7, 42)]);
    }

    #[test]
    fn delays_of_both_hosts_add_up() {
        let mut network = network("delay=50ms");
        network.options_mut("near").unwrap().one_way_delay = 3 * MS;
        network.handle_packet(MS, 1, from_far(1, 7, 100));
        assert_eq!(run(&mut network), [(54 * MS, 0, 7, 1)]);
    }

    #[test]
    fn a_rate_spaces_segments_and_keeps_their_order() {
        // 1488 bytes on the wire at 1.488 MB/s: one segment per millisecond.
        let mut network = network("delay=10ms rate=1488kB/s");
        network.handle_packet(MS, 1, from_far(1, 1, 3 * 1448));
        network.handle_packet(MS, 1, from_far(2, 2, 1448));
        let expected = [(12, 1), (13, 1), (14, 1), (15, 2)];
        assert_eq!(run(&mut network), expected.map(|(at, mark)| (at * MS, 0, mark, 1)));
    }

    #[test]
    fn a_flow_limit_holds_for_each_flow_alone() {
        let mut network = network("flow-rate=1488kB/s");
        network.handle_packet(MS, 1, from_far(1, 1, 2 * 1448));
        network.handle_packet(MS, 1, from_far(2, 2, 2 * 1448));
        let expected = [(2, 1), (2, 2), (3, 1), (3, 2)];
        assert_eq!(run(&mut network), expected.map(|(at, mark)| (at * MS, 0, mark, 1)));
    }

    #[test]
    fn a_full_queue_drops_the_tail() {
        let mut network = network("rate=1488kB/s queue=2976");
        network.handle_packet(MS, 1, from_far(1, 1, 5 * 1448));
        // One is being sent and one waits: at most two in the queue's 2,976 bytes.
        assert_eq!(run(&mut network).len(), 2);
        assert_eq!(network.hosts()[1].sent().overflowed, 3);
        network.handle_packet(9 * MS, 1, from_far(1, 1, 1448));
        assert_eq!(run(&mut network), [(10 * MS, 0, 1, 1)]);
    }

    #[test]
    fn a_gigabit_link_carries_a_gigabit() {
        let mut network = network("delay=50ms rate=1gbit queue=1GB");
        for _ in 0..2000 {
            network.handle_packet(Time::ZERO, 1, from_far(1, 1, 60_816));
        }
        let (last, ..) = *run(&mut network).last().unwrap();
        let wire_bytes = network.hosts()[1].sent().bytes;
        assert_eq!(wire_bytes, 2000 * (60_816 + 42 * 40));
        let ideal = 50.0 * 1e-3 + wire_bytes as f64 / 125e6;
        assert!((last.as_secs_f64() - ideal).abs() < 1e-4, "{last:?}");
    }

    #[test]
    fn loss_takes_single_segments_out_of_large_packets() {
        let mut network = network("loss=1%");
        for _ in 0..500 {
            network.handle_packet(MS, 1, from_far(1, 1, 42 * 1448));
        }
        let arrived: usize = run(&mut network).iter().map(|(.., segments)| segments).sum();
        let lost = network.hosts()[1].sent().lost as usize;
        assert_eq!(arrived + lost, 500 * 42);
        assert!((150..270).contains(&lost), "{lost}");
    }

    #[test]
    fn a_cut_cable_drops_what_is_under_way() {
        let mut network = network("delay=50ms");
        network.options_mut("near").unwrap().up = false;
        network.handle_packet(MS, 1, from_far(1, 1, 3 * 1448));
        assert_eq!(run(&mut network), []);
        assert_eq!(network.hosts()[0].received().cut, 3);
        network.options_mut("near").unwrap().up = true;
        network.handle_packet(60 * MS, 1, from_far(1, 1, 1));
        assert_eq!(run(&mut network).len(), 1);
    }

    #[test]
    fn an_unknown_destination_vanishes() {
        let mut network = network("");
        let stray = tcp_packet(FAR, Ipv4Addr::new(192, 0, 2, 1), (1, 2), b"x", 0);
        network.handle_packet(MS, 1, Packet::parse(&stray).unwrap());
        assert_eq!(network.poll_timeout(), None);
    }
}
