//! A real redirector with two data servers, where this machine has XRootD's programs.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farroot_remote::address::Address;
use farroot_remote::fetch::RemoteFile;
use farroot_remote::source::network::{Network, Tcp};
use farroot_remote::source::one_shot;
use farroot_remote::{Config, Remote};

use super::peers::{Process, free_port, own_by_daemon, running_as_root, start, xrd_http};

/// A manager and its servers need seconds to know each other.
const TIMEOUT: Duration = Duration::from_secs(60);
const FILE_BYTES: usize = 16 << 20;

struct Node {
    port: u16,
    processes: Vec<Process>,
}

/// The daemons of one node: cmsd keeps the cluster together, xrootd serves.
fn node(root: &Path, role: &str, name: &str, cluster: u16) -> Option<Node> {
    let own = root.join(name);
    fs::create_dir(&own).unwrap();
    let port = free_port();
    let config = own.join("node.cfg");
    let own_shown = own.display();
    let data = root.join("data");
    let listen =
        if role == "manager" { format!("xrd.port {cluster} if exec cmsd\n") } else { "".into() };
    // On the same port: that is where a redirector of XRootD sends requests by HTTP.
    let http = xrd_http().map_or(String::new(), |library| {
        format!("if exec xrootd\nxrd.protocol http {}\nfi\n", library.display())
    });
    let text = format!(
        "all.role {role}\nall.manager localhost:{cluster}\nall.export / r/o\n\
         all.adminpath {own_shown}\nall.pidpath {own_shown}\noss.localroot {}\n\
         cms.delay startup 1 lookup 1 servers 1\ncms.space linger 0 recalc 15 min 1m 2m\n\
         xrd.port {port} if exec xrootd\n{listen}{http}",
        data.display()
    );
    fs::write(&config, text).unwrap();
    let mut processes = Vec::new();
    // A server's cmsd listens nowhere; its xrootd waits for it.
    for (program, listens) in
        [("cmsd", (role == "manager").then_some(cluster)), ("xrootd", Some(port))]
    {
        let mut command = Command::new(program);
        command.args(["-n", name, "-c"]).arg(&config).arg("-l").arg(own.join(program));
        if running_as_root() {
            own_by_daemon(root);
            command.args(["-R", "daemon"]);
        }
        processes.push(start(&mut command, listens)?);
    }
    Some(Node { port, processes })
}

/// The manager's address of a file, when it knows both servers.
async fn known_at(manager: &Address, network: &Arc<dyn Network>) -> Vec<Address> {
    let begun = Instant::now();
    loop {
        let found = one_shot::locate(manager, &Config::default(), network.clone()).await;
        match found {
            Ok(places) if places.urls.len() == 2 => return places.urls,
            found => assert!(begun.elapsed() < TIMEOUT, "the manager says {found:?}"),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_server_is_found_and_takes_over() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let content: Vec<u8> = (0..FILE_BYTES).map(|at| ((at * 31) >> 8) as u8).collect();
    fs::create_dir(root.join("data")).unwrap();
    fs::write(root.join("data/file.bin"), &content).unwrap();
    let cluster = free_port();
    let node = |role, name| node(root, role, name, cluster);
    let (Some(manager), Some(a), Some(b)) =
        (node("manager", "man"), node("server", "a"), node("server", "b"))
    else {
        return;
    };
    let network: Arc<dyn Network> = Arc::new(Tcp::new(Duration::from_secs(5)));
    let url = format!("root://localhost:{}//file.bin", manager.port);
    let mut urls = known_at(&url.parse().unwrap(), &network).await;
    urls.sort_by_key(Address::port);
    let mut ports: Vec<Option<u16>> = urls.iter().map(Address::port).collect();
    ports.sort();
    let mut expected = [Some(a.port), Some(b.port)];
    expected.sort();
    assert_eq!(ports, expected);
    let remote = Remote::start(Config::default(), network.clone());
    for mut servers in remote.servers(&[url.clone(), url.clone()]).await.unwrap() {
        servers.sort_by_key(|name| name.rsplit(':').next().map(str::to_owned));
        let is_at =
            |(name, url): (&String, &Address)| name.ends_with(&format!(":{}", url.port().unwrap()));
        assert!(servers.len() == 2 && servers.iter().zip(&urls).all(is_at), "{servers:?}");
    }

    // While it still knows both: the second read sees one of them die.
    if xrd_http().is_some() {
        let url = format!("http://localhost:{}/file.bin", manager.port);
        read_until_both_serve(&url, &content, &network).await;
    }
    let (remote, file) = read_until_both_serve(&url, &content, &network).await;
    // The one that the manager chose ends; the rest comes from the other.
    let first = if file.source().ends_with(&format!(":{}", a.port)) { a } else { b };
    drop(first.processes);
    let half = FILE_BYTES as u64 / 2;
    let fetched = file.fetch(&[half..2 * half]).await.unwrap();
    assert!(fetched[0].1 == content[half as usize..], "wrong bytes\n{}", remote.report());
}

/// Reads the first half again and again, until a second server has been found.
async fn read_until_both_serve(
    url: &str,
    content: &[u8],
    network: &Arc<dyn Network>,
) -> (Remote, RemoteFile) {
    let config = Config { discovery_after: Duration::ZERO, ..Config::default() };
    let remote = Remote::start(config, network.clone());
    let file = remote.open_bytes(url).await.unwrap();
    assert_eq!(file.info().size, FILE_BYTES as u64);
    let begun = Instant::now();
    let half = FILE_BYTES as u64 / 2;
    while !remote.report().to_string().contains("also at") {
        let fetched = file.fetch(&[0..half]).await.unwrap();
        assert!(fetched[0].1 == content[..half as usize], "wrong bytes");
        assert!(begun.elapsed() < TIMEOUT, "{}", remote.report());
    }
    (remote, file)
}
