//! Reads chunks at equal distances from a file of any kind, and prints how many bytes came.
//!
//! `cargo run --release -p farroot-remote --example chunks -- URL COUNT BYTES STRIDE`

use std::sync::Arc;

use farroot_remote::fetch::{Urgency, Want};
use farroot_remote::source::network::Tcp;
use farroot_remote::{Config, Remote};
use futures::StreamExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, count, bytes, stride] = &arguments[..] else {
        eprintln!("usage: chunks URL COUNT BYTES STRIDE");
        return Ok(());
    };
    let count: u64 = count.parse()?;
    let bytes: u64 = bytes.parse()?;
    let stride: u64 = stride.parse()?;
    let config = Config::from_env()?;
    let network = Arc::new(Tcp::new(config.connect_timeout));
    let file = Remote::start(config, network).open_bytes(address).await?;
    let chunk = |number: u64| Want {
        range: number * stride..number * stride + bytes,
        cost: bytes,
        urgency: Urgency::Demand,
        order: number,
    };
    let mut chunks = file.want((0..count).map(chunk).collect());
    let mut received = 0;
    while let Some(grant) = chunks.next().await {
        received += grant?.bytes.len();
    }
    println!("{{\"payload_bytes\": {received}}}");
    Ok(())
}
