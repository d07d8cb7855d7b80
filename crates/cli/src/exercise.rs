//! `farroot exercise FILE:TREE`: the event loop of an analysis without the analysis.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use clap::{Args, ValueEnum};
use engine::{Config, Engine, Exercise, Form, Learning, Outcome as Exercised};
use remote::address::split_object;
use remote::clock::cpu_time;
use remote::report::size;
use tokio::sync::mpsc;

use crate::outcome::{Failure, Outcome};
use crate::reading::with_config;

/// Read as an analysis does, and say how fast: some branches of each event, all of every so many
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot exercise root://eos.example//store/nano.root:Events --events 100")]
pub struct ExerciseArguments {
    /// FILE:TREE, where FILE is a URL or a path; the tree may be left out where there is only one
    #[arg(value_name = "FILE:TREE")]
    address: String,
    /// Part of the stored bytes whose branches are read in each event
    #[arg(long, value_name = "PART", default_value_t = 0.3)]
    fraction: f64,
    /// Read each N-th event whole; 0: none
    #[arg(long, value_name = "N", default_value_t = 50)]
    prescale: u64,
    /// Events to read, from the first
    #[arg(long, value_name = "N", default_value_t = 1000)]
    events: u64,
    /// Event by event, without naming beforehand the branches that will be read
    #[arg(long)]
    row_wise: bool,
    /// With --row-wise: leave this rule out, to see its effect
    #[arg(long, value_enum, value_name = "RULE", requires = "row_wise")]
    without: Vec<Rule>,
    /// So many at once, each with connections of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: u32,
    /// Figures for programs, one line of JSON a job
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// With the first basket, those of all branches come that hold the first entries
    Startup,
    /// Branches that are read now and then come together, and before their next time
    Together,
    /// Neighbouring ranges of a file are requested together
    Coalescing,
}

/// Reads, and prints the figures.
pub fn run(arguments: &ExerciseArguments) -> Outcome {
    with_config(config(arguments)?, async |engine| {
        let wall = engine.trace().now();
        let cpu = cpu_time();
        let mut jobs = all(arguments, engine).await?;
        let wall = engine.trace().now() - wall;
        let cpu = cpu_time() - cpu;
        jobs.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
        let out = match arguments.json {
            true => lines(&jobs)?,
            false => text(&jobs, wall, cpu),
        };
        std::io::stdout().write_all(out.as_bytes())?;
        Ok(())
    })
}

/// One job on this engine, several on one each, as separate processes would have.
async fn all(arguments: &ExerciseArguments, engine: &Engine) -> Result<Vec<Exercised>, Failure> {
    if arguments.jobs == 1 {
        return Ok(vec![one(arguments, engine).await?]);
    }
    let (sender, mut outcomes) = mpsc::unbounded_channel();
    for _ in 0..arguments.jobs {
        let engine = Engine::start(config(arguments)?)?;
        let sender = sender.clone();
        let exercise = exercise(arguments);
        let address = arguments.address.clone();
        std::thread::spawn(move || {
            let at = split_object(&address);
            let outcome = engine.block_on(exercise.run(&engine, &at.file, at.object));
            // After Ctrl-C the receiver is gone.
            let _ = sender.send(outcome);
        });
    }
    drop(sender);
    let mut jobs = Vec::new();
    while let Some(outcome) = outcomes.recv().await {
        jobs.push(outcome?);
    }
    Ok(jobs)
}

fn config(arguments: &ExerciseArguments) -> engine::Result<Config> {
    let coalescing = !arguments.without.contains(&Rule::Coalescing);
    Ok(Config { coalescing, ..Config::from_env()? })
}

fn exercise(arguments: &ExerciseArguments) -> Exercise {
    let learning = Learning {
        startup: !arguments.without.contains(&Rule::Startup),
        together: !arguments.without.contains(&Rule::Together),
    };
    Exercise {
        fraction: arguments.fraction,
        prescale: arguments.prescale,
        events: arguments.events,
        form: if arguments.row_wise { Form::Events(learning) } else { Form::Columns },
    }
}

async fn one(arguments: &ExerciseArguments, engine: &Engine) -> engine::Result<Exercised> {
    let at = split_object(&arguments.address);
    exercise(arguments).run(engine, &at.file, at.object).await
}

fn lines(jobs: &[Exercised]) -> Result<String, Failure> {
    let mut out = String::new();
    for job in jobs {
        let line = serde_json::to_string(job).map_err(|error| error.to_string())?;
        out.push_str(&line);
        out.push('\n');
    }
    Ok(out)
}

/// `jobs` in the order of the time that they took, at least one.
fn text(jobs: &[Exercised], wall: Duration, cpu: Duration) -> String {
    let middle = &jobs[jobs.len() / 2];
    let wall = wall.as_secs_f64();
    let cpu = cpu.as_secs_f64();
    let mut out = format!(
        "{} events: {} of {} branches ({:.1} % of the bytes) of each, all of {}\n",
        middle.events,
        middle.branches_each,
        middle.branches,
        100.0 * middle.fraction,
        middle.events_whole,
    );
    if jobs.len() > 1 {
        let least = jobs[0].wall_s;
        let most = jobs[jobs.len() - 1].wall_s;
        let received = jobs.iter().map(|job| job.report.bytes_received).sum::<u64>();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{} jobs at once: {least:.3} to {most:.3} s each; {} received, {}/s; the middle one:",
            jobs.len(),
            size(received),
            size((received as f64 / wall) as u64),
        );
    }
    let events: u64 = jobs.iter().map(|job| job.events).sum();
    let _ = writeln!(
        out,
        "wall time {wall:.3} s, {:.0} events/s; CPU time {cpu:.3} s, efficiency {:.0} %",
        events as f64 / wall,
        100.0 * cpu / (wall * jobs.len() as f64),
    );
    let needed = middle.report.bytes_baskets;
    let beyond = middle.report.bytes_received.saturating_sub(needed);
    let part = match needed {
        // A small file comes with its open.
        0 => String::new(),
        needed => format!(" ({:.1} %)", 100.0 * beyond as f64 / needed as f64),
    };
    let _ = writeln!(out, "{} beyond the needed baskets{part}", size(beyond));
    let _ = write!(out, "{}", middle.report);
    out
}
