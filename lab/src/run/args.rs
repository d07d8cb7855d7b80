//! The words of the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use farroot_lab::linux::HostConfig;
use farroot_lab::options::LinkOptions;
use farroot_lab::units;

/// A real wide-area link on one machine: network namespaces, the kernel's own TCP, and a process in
/// between that delays, shapes, drops and cuts.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Serve a directory on the far side and run a client on the near side.
    ///
    /// The client finds the server in FARLAB_ADDRESS, FARLAB_ROOT_URL, FARLAB_HTTP_URL and its
    /// processes in FARLAB_PIDS (and those of each --host in FARLAB_<HOST>_ROOT_URL...), the
    /// round-trip time in FARLAB_RTT_MS and the control socket in FARLAB_CONTROL. The exit code is
    /// the client's; 125 when the lab itself failed.
    Run(RunArguments),
    /// Measure round trips, TCP's ramp-up and the rate of the link itself.
    Check(CheckArguments),
    /// Change a host of a running lab: delay=, rate=, flow-rate=, loss=, queue=, up, down.
    Set {
        #[arg(long, env = "FARLAB_CONTROL")]
        control: PathBuf,
        /// near, far, or the name of a --host.
        host: String,
        #[arg(required = true)]
        options: Vec<String>,
    },
    /// Print the packets that each link of a running lab has carried and dropped, as JSON.
    Stats {
        #[arg(long, env = "FARLAB_CONTROL")]
        control: PathBuf,
    },
}

/// The link between near and far, and further hosts.
#[derive(Debug, Args)]
pub struct LinkArguments {
    /// Round-trip time between near and far: 100ms, 0.
    #[arg(long, default_value = "100ms", value_parser = units::parse_duration)]
    pub rtt: Duration,
    /// Rate of the far host's link, each way: 1gbit, 20MB/s, none.
    #[arg(long, default_value = "1gbit", value_parser = Rate::parse)]
    pub rate: Rate,
    /// Rate of any one TCP flow, each way: 1MB/s, none.
    #[arg(long, default_value = "none", value_parser = Rate::parse)]
    pub flow_rate: Rate,
    /// Packets lost, each way: 0.1%.
    #[arg(long, default_value = "0", value_parser = units::parse_probability)]
    pub loss: f64,
    /// Bytes that may wait in front of a limit [default: rate x round trip, at least 256 KiB].
    #[arg(long, value_parser = units::parse_bytes)]
    pub queue: Option<u64>,
    /// Decides which packets are lost.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// TCP congestion control on all hosts.
    #[arg(long, default_value = "cubic")]
    pub congestion: String,
    /// One more far host, for example `second:delay=20ms,rate=5MB/s`. May be repeated.
    #[arg(long = "host", value_name = "NAME[:OPTIONS]", value_parser = parse_host)]
    pub hosts: Vec<HostConfig>,
}

/// A rate, or none.
#[derive(Debug, Clone, Copy)]
pub struct Rate(Option<u64>);

impl Rate {
    fn parse(text: &str) -> Result<Rate, String> {
        units::parse_rate(text).map(Rate)
    }
}

impl LinkArguments {
    /// The options of the far host; the near host's link is perfect.
    pub fn options(&self) -> LinkOptions {
        LinkOptions {
            one_way_delay: self.rtt / 2,
            rate: self.rate.0,
            flow_rate: self.flow_rate.0,
            loss: self.loss,
            queue_bytes: self.queue,
            up: true,
        }
    }
}

#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub link: LinkArguments,
    /// The directory that each far host serves, read-only. Without it nothing is served.
    #[arg(long)]
    pub serve: Option<PathBuf>,
    /// `xrootd` (root:// and http://) on every far host; `cluster`: a redirector on far, and data
    /// servers on each --host; or a shell command that serves $FARLAB_DIRECTORY on
    /// $FARLAB_ADDRESS:$FARLAB_PORT.
    #[arg(long, default_value = "xrootd")]
    pub server: String,
    /// The port on which a server that is a command listens.
    #[arg(long, default_value_t = 8080)]
    pub server_port: u16,
    /// Write the links' counters to this file at the end, as JSON.
    #[arg(long)]
    pub stats: Option<PathBuf>,
    /// Leave logs and configurations behind, and say where.
    #[arg(long)]
    pub keep: bool,
    /// The client and its arguments.
    #[arg(last = true, required = true)]
    pub client: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    pub link: LinkArguments,
    /// How long to download, in seconds.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,
}

fn parse_host(text: &str) -> Result<HostConfig, String> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let mut options = LinkOptions::default();
    let mut settings = settings.split(',').filter(|setting| !setting.is_empty());
    settings.try_for_each(|setting| options.apply(setting))?;
    Ok(HostConfig { name: name.to_owned(), options })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn half_of_the_round_trip_is_the_far_hosts_delay() {
        let line = ["farroot-lab", "run", "--rtt", "100ms", "--flow-rate", "1MB/s", "--", "true"];
        let Verb::Run(run) = Arguments::parse_from(line).verb else { panic!("not run") };
        let options = run.link.options();
        assert_eq!(options.one_way_delay, Duration::from_millis(50));
        assert_eq!((options.rate, options.flow_rate), (Some(125_000_000), Some(1_000_000)));
    }

    #[test]
    fn further_hosts_have_options_of_their_own() {
        let host = parse_host("second:delay=20ms,rate=5MB/s").unwrap();
        assert_eq!(host.name, "second");
        assert_eq!(host.options.rate, Some(5_000_000));
        assert!(parse_host("second:warp=9").is_err());
    }
}
