//! Measures the link itself, with plain TCP between two hosts of a lab.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Doing, Result};
use super::lab::Lab;
use crate::network::Host;

const PINGS: usize = 50;
const PORT: u16 = 7;

/// Measurements of a link. Times are as a client sees them.
#[derive(Debug, Clone)]
pub struct Check {
    /// Time of TCP's handshake.
    pub connect: Duration,
    /// Times of one byte there and back, sorted.
    pub round_trips: Vec<Duration>,
    /// The bytes that a cold connection had received 1, 2, 3... round trips after its request for
    /// data.
    pub ramp_up_bytes: Vec<u64>,
    /// Bytes per second that the link delivered in the second half of the download, headers
    /// included. (An application may read more in a while: a lost segment's repair frees the bytes
    /// that waited.)
    pub rate: f64,
}

/// Measures between a client on `near` and a server on `far`: round trips, then a download.
pub fn check(lab: &Lab, near: &str, far: &str, download: Duration) -> Result<Check> {
    let server = SocketAddr::from((lab.address(far)?, PORT));
    let listener = lab
        .run_on(far, || TcpListener::bind(server))?
        .doing(|| format!("listening on {server}"))?;
    // The threads end with their connections; only two are taken.
    thread::scope(|scope| {
        scope.spawn(|| {
            for mut stream in listener.incoming().take(2).flatten() {
                scope.spawn(move || serve(&mut stream));
            }
        });
        let delivered = || received_bytes(lab, near);
        let measured = lab.run_on(near, || measure(server, download, delivered))?;
        measured.doing(|| format!("talking to {server}"))
    })
}

/// Sends `b'p'` back; at `b'd'` sends data until the other side has had enough.
fn serve(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 {
        if byte[0] == b'd' {
            let data = vec![0x55; 1 << 20];
            loop {
                stream.write_all(&data)?;
            }
        }
        stream.write_all(&byte)?;
    }
    Ok(())
}

fn received_bytes(lab: &Lab, name: &str) -> u64 {
    let find = |hosts: &[Host]| hosts.iter().find(|host| host.name == name).map(Host::received);
    lab.with_hosts(find).map_or(0, |counters| counters.bytes)
}

fn measure(
    server: SocketAddr,
    download: Duration,
    delivered: impl Fn() -> u64,
) -> io::Result<Check> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(server)?;
    let connect = begun.elapsed();
    stream.set_nodelay(true)?;
    let mut round_trips = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let begun = Instant::now();
        stream.write_all(b"p")?;
        stream.read_exact(&mut [0])?;
        round_trips.push(begun.elapsed());
    }
    round_trips.sort();
    let round_trip = round_trips[PINGS / 2].max(Duration::from_millis(1));

    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    let begun = Instant::now();
    stream.write_all(b"d")?;
    let mut total = 0;
    let mut half = None;
    let mut ramp_up_bytes = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    while begun.elapsed() < download {
        let len = stream.read(&mut buffer)? as u64;
        let now = begun.elapsed();
        // Up to half a round trip after the last byte of a window is still that window's time.
        while ramp_up_bytes.len() < 12 && now > round_trip.mul_f64(ramp_up_bytes.len() as f64 + 1.5)
        {
            ramp_up_bytes.push(total);
        }
        total += len;
        if half.is_none() && now > download / 2 {
            half = Some((now, delivered()));
        }
    }
    let (half_time, half_bytes) = half.unwrap_or_default();
    let rate = (delivered() - half_bytes) as f64 / (begun.elapsed() - half_time).as_secs_f64();
    Ok(Check { connect, round_trips, ramp_up_bytes, rate })
}
