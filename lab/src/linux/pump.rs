//! The thread that moves packets between the TUN devices, at the times the [`Network`] decides.

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::retry_on_intr;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::network::{Network, Time};
use crate::packet::{OFFLOAD_HEADER_LEN, Packet};

const PACKET_MAX: usize = OFFLOAD_HEADER_LEN + u16::MAX as usize;
/// Packets read from one device before the others get their turn.
const BATCH: usize = 64;
/// Used where real-time scheduling is not allowed: the most that an ordinary thread can have.
const NICENESS: i32 = -20;

const STOP: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

/// A running pump; it stops when dropped.
#[derive(Debug)]
pub struct Pump {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Pump {
    /// Starts moving packets; `devices` are in the order of the network's hosts.
    pub fn start(network: Arc<Mutex<Network>>, devices: Vec<File>) -> io::Result<Pump> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let readable = epoll::EventFlags::IN;
        for (index, device) in devices.iter().enumerate() {
            epoll::add(&poller, device, epoll::EventData::new_u64(index as u64), readable)?;
        }
        epoll::add(&poller, &*stop, epoll::EventData::new_u64(STOP), readable)?;
        epoll::add(&poller, &timer, epoll::EventData::new_u64(TIMER), readable)?;
        let devices = Devices { devices, poller, timer, buffer: vec![0; PACKET_MAX] };
        let thread = std::thread::Builder::new().name("farlab-pump".into()).spawn(move || {
            raise_priority();
            devices.run(&network);
        })?;
        Ok(Pump { stop, thread: Some(thread) })
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Packets shall not be late because other programs keep the CPUs busy, so this thread goes first.
/// Where that is not allowed it runs as any other; `farroot-lab check` shows the jitter.
fn raise_priority() {
    let thread = rustix::thread::gettid().as_raw_pid().to_string();
    let mut real_time = Command::new("chrt");
    real_time.args(["--fifo", "--pid", "10", &thread]).stdout(Stdio::null()).stderr(Stdio::null());
    if !real_time.status().is_ok_and(|status| status.success()) {
        let _ = rustix::process::setpriority_process(None, NICENESS);
    }
}

struct Devices {
    devices: Vec<File>,
    poller: OwnedFd,
    timer: OwnedFd,
    buffer: Vec<u8>,
}

impl Devices {
    fn run(mut self, network: &Mutex<Network>) {
        let epoch = Instant::now();
        let mut timer_at = None;
        let mut events = Vec::with_capacity(16);
        loop {
            events.clear();
            if retry_on_intr(|| epoll::wait(&self.poller, spare_capacity(&mut events), None))
                .is_err()
            {
                return;
            }
            let mut network = network.lock().unwrap_or_else(PoisonError::into_inner);
            for event in &events {
                match event.data.u64() {
                    STOP => return,
                    TIMER => {
                        // Only the expiry matters, not how many there were.
                        let _ = rustix::io::read(&self.timer, &mut [MaybeUninit::uninit(); 8]);
                        timer_at = None;
                    }
                    index => self.receive(epoch, index as usize, &mut network),
                }
            }
            while let Some((host, packet)) = network.poll_delivery(epoch.elapsed()) {
                // A device that is down or full drops the packet, as a wire would.
                let _ = (&self.devices[host]).write(packet.bytes());
            }
            let next = network.poll_timeout();
            if next.is_some() && next != timer_at {
                self.wake_at(epoch, next.unwrap_or_default());
                timer_at = next;
            }
        }
    }

    fn receive(&mut self, epoch: Instant, host: usize, network: &mut Network) {
        for _ in 0..BATCH {
            match (&self.devices[host]).read(&mut self.buffer) {
                Ok(len) => {
                    if let Some(packet) = Packet::parse(&self.buffer[..len]) {
                        network.handle_packet(epoch.elapsed(), host, packet);
                    }
                }
                Err(_) => return,
            }
        }
    }

    fn wake_at(&self, epoch: Instant, at: Time) {
        // A timer of zero would be off.
        let wait = at.saturating_sub(epoch.elapsed()).max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value =
            Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let spec = Itimerspec { it_interval: zero, it_value: value };
        // It can only fail for a wrong descriptor or time, which these are not.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec);
    }
}
