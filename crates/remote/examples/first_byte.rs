//! Opens a file, receives its first byte with that, and prints how long it took.
//!
//! `cargo run --release -p farroot-remote --example first_byte -- URL`

use std::sync::Arc;
use std::time::Instant;

use farroot_remote::source::network::Tcp;
use farroot_remote::{Config, Remote};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: first_byte URL");
        return Ok(());
    };
    let begun = Instant::now();
    let config = Config::from_env()?;
    let network = Arc::new(Tcp::new(config.connect_timeout));
    let mut file = Remote::start(config, network).open_bytes(&address).await?;
    let bytes = file.take_delivered();
    let time_s = begun.elapsed().as_secs_f64();
    assert!(!bytes.is_empty(), "an empty file");
    println!("{{\"time_s\": {time_s}}}");
    Ok(())
}
