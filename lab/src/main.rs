//! `farroot-lab`: one command that runs a client far away from a real server, on one machine.

#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("farroot-lab: needs Linux (network namespaces and TUN devices)");
    std::process::ExitCode::from(2)
}
