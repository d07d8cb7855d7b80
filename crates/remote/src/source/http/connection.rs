//! Takes the driver's commands and runs their jobs, as many at a time as the transport lets.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc::UnboundedReceiver;

use super::exchange::{EventSender, Exchange};
use super::job::{Job, Question};
use super::server::HttpServer;
use super::transport::Transport;
use crate::error::Result;
use crate::source::{Command, ConnectionEvent, DriverLink, RequestTag, no_clock};

pub async fn run(server: Arc<HttpServer>, link: DriverLink) {
    let DriverLink { connection, mut commands, events } = link;
    let driver = EventSender::new(connection, events);
    let transport = Transport::new(server.clone());
    let exchange = Exchange { server: &server, transport: &transport, driver: &driver };
    let error = work(&exchange, &mut commands).await.err();
    transport.close().await;
    driver.send(ConnectionEvent::Disconnected { error });
}

/// Until the commands end, or the connection does.
async fn work(exchange: &Exchange<'_>, commands: &mut UnboundedReceiver<Command>) -> Result<()> {
    let mut waiting = Vec::new();
    let mut running = FuturesUnordered::new();
    let mut unanswered: BTreeMap<RequestTag, Arc<AtomicBool>> = BTreeMap::new();
    let mut connecting = pin!(exchange.transport.connect());
    let mut connected = false;
    loop {
        tokio::select! {
            result = &mut connecting, if !connected => {
                result?;
                connected = true;
                exchange.driver.send(ConnectionEvent::Connected);
                if let Some(warning) = exchange.server.warning() {
                    exchange.driver.send(ConnectionEvent::Note(warning));
                }
                running.extend(waiting.drain(..).map(|job| exchange.perform(job)));
            }
            command = commands.recv() => {
                let Some(command) = command else { return Ok(()) };
                let Some(job) = take_command(exchange, command, &unanswered) else {
                    continue;
                };
                unanswered.insert(job.request, job.cancelled.clone());
                if connected {
                    running.push(exchange.perform(job));
                } else {
                    waiting.push(job);
                }
            }
            Some(ended) = running.next() => {
                unanswered.remove(&ended?);
            }
        }
    }
}

/// The job of a command; other commands are done at once.
fn take_command(
    exchange: &Exchange<'_>,
    command: Command,
    unanswered: &BTreeMap<RequestTag, Arc<AtomicBool>>,
) -> Option<Job> {
    match command {
        Command::Open { request, file, part } => Some(Job::open(request, file, part)),
        Command::Fetch { request, file, segments } => Some(Job::fetch(request, file, segments)),
        Command::Checksum { request, file, algorithm } => {
            Some(Job::question(request, file, Question::Checksum(algorithm)))
        }
        Command::Cancel { request } => {
            if let Some(cancelled) = unanswered.get(&request) {
                cancelled.store(true, Ordering::Relaxed);
            }
            None
        }
        Command::Close { file } => {
            exchange.server.forget_file(&file);
            None
        }
        Command::List { request, directory, .. } => {
            Some(Job::question(request, directory, Question::Names))
        }
        Command::Clock { request, file } => {
            exchange.driver.send(no_clock(request, &file));
            None
        }
        Command::Locate { request, file } => {
            Some(Job::question(request, file, Question::Locations))
        }
    }
}
