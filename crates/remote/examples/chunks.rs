//! Reads chunks at equal distances from a file of any kind, and prints how many bytes came.
//!
//! `cargo run --release -p farroot-engine --example chunks -- URL COUNT BYTES STRIDE`

use engine::{Config, Engine};
use futures::StreamExt;
use remote::fetch::{Urgency, Want};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, count, bytes, stride] = &arguments[..] else {
        eprintln!("usage: chunks URL COUNT BYTES STRIDE");
        return Ok(());
    };
    let (count, bytes, stride): (u64, u64, u64) = (count.parse()?, bytes.parse()?, stride.parse()?);
    let engine = Engine::start(Config::from_env()?)?;
    let received = engine.block_on(async {
        let file = engine.remote().open_bytes(address).await?;
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
        Ok::<_, engine::Error>(received)
    })?;
    println!("{{\"payload_bytes\": {received}}}");
    Ok(())
}
