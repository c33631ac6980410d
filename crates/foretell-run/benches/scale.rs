//! How does a study scale? Records a second, time from report to decision, restart time and memory, by number of trials.
//!
//! `cargo bench -p foretell-run --bench scale -- TRIALSxREPORTS[xOBJECTIVES]…`, such as `100x60 10000x60 10000x60x3`. Eight simulated
//! workers report to a driver whose log is a file; nothing is stopped, so that every trial sends all its reports.

use std::collections::VecDeque;
use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use foretell::Direction;
use foretell_run::{
    Begin, Driver, Event, EventStore, Executor, ExecutorError, Message, MessageKind, Report, Status,
};
use foretell_search::{
    Objective, ParameterSpace, Parts, Record, SamplerSpec, Session, Space, Start, StudySpec,
};

const WORKERS: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).filter(|text| !text.starts_with("--")).collect();
    if let [mode, log, size] = &arguments[..]
        && mode == "restart"
    {
        return restart(Path::new(log), spec(&Size::read(size)?));
    }
    let sizes = if arguments.is_empty() { vec!["100x6".to_owned()] } else { arguments };
    for size in sizes {
        measure(&size, &Size::read(&size)?)?;
    }
    Ok(())
}

/// The size of a study.
struct Size {
    trials: u64,
    reports: u64,
    objectives: usize,
}

impl Size {
    fn read(text: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let mut numbers = text.split('x').map(str::parse::<u64>);
        let mut next = || numbers.next().ok_or("sizes are written 100x60, or 100x60x3 with three objectives");
        let (trials, reports) = (next()??, next()??);
        Ok(Self { trials, reports, objectives: next().map_or(Ok(1), |number| number)? as usize })
    }
}

fn spec(size: &Size) -> StudySpec {
    let others = ["y:min", "lr:min"];
    let parameters = ["lr=log:1e-4:1", "x=float:0:1", "y=float:0:1"];
    let parameters = if size.objectives > 1 { &parameters[..] } else { &parameters[..2] };
    let space = Space::Parameters(ParameterSpace::parse(parameters).expect("a space"));
    let read = |text: &&str| Objective::read(text, &["y", "lr"]).expect("an objective");
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    let several = StudySpec {
        objectives: others.iter().take(size.objectives.saturating_sub(1)).map(read).collect(),
        trials: size.trials,
        max_resource: size.reports,
        shadow: true,
        ..usual
    };
    // proposals from thousands of trials are another question
    let sampler = if size.objectives > 1 { SamplerSpec::Random } else { several.sampler.clone() };
    StudySpec { sampler, ..several }
}

/// Trainings that report in turn.
#[derive(Default)]
struct Simulated {
    running: VecDeque<(Start, u64)>,
}

impl Executor for Simulated {
    fn start(&mut self, start: &Start, _worker: usize) -> Result<Begin, ExecutorError> {
        self.running.push_back((start.clone(), start.from));
        Ok(Begin::Resumed)
    }

    fn stop(&mut self, _trial: u64) {}

    fn messages(&mut self, _wait: Duration) -> Vec<Message> {
        let Some((start, step)) = self.running.pop_front() else { return Vec::new() };
        let trial = start.trial;
        if step >= start.until {
            let kind = MessageKind::Ended {
                status: Status::Exited(0),
                stopped_by_us: false,
                tail: Vec::new(),
                seen: String::new(),
                fault: None,
            };
            return vec![Message { trial, kind }];
        }
        let x = start.configuration["x"].number().unwrap_or_default();
        let value = Some(x * (1.0 - (-0.2 * (step + 1) as f64).exp()));
        self.running.push_back((start, step + 1));
        let report = Report { step: step + 1, value, metrics: serde_json::Map::new() };
        vec![Message { trial, kind: MessageKind::Report(report) }]
    }

    fn discard(&mut self, _trial: u64) {}
}

#[expect(clippy::print_stdout, reason = "a benchmark shows its result")]
fn measure(written: &str, size: &Size) -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("events.jsonl");
    let (store, _) = EventStore::open(&log)?;
    let session = Session::open(spec(size), Parts::default(), store)?;
    let mut driver = Driver::new(session, Simulated::default(), WORKERS, "");
    let (mut arrived, mut latencies, mut records) = (std::collections::BTreeMap::new(), Vec::new(), 0_u64);
    let began = Instant::now();
    driver.run(&AtomicBool::new(false), &mut |_, event| {
        match event {
            Event::Report { trial, .. } => drop(arrived.insert(trial, Instant::now())),
            Event::Recorded(record) => {
                records += 1;
                if let Record::Decided(decision) = record
                    && let Some(arrived) = arrived.remove(&decision.trial)
                {
                    latencies.push(arrived.elapsed());
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    drop(driver);
    latencies.sort_unstable();
    let quantile = |q: f64| latencies.get((q * (latencies.len() as f64 - 1.0)) as usize).copied();
    let micros = |q: f64| quantile(q).unwrap_or_default().as_secs_f64() * 1e6;
    println!(
        "{} trials × {} reports, {} objectives: {records} records, {:.0} records/s; report → decision p50 {:.1} µs, p99 {:.1} µs, largest {:.1} ms; log {:.1} MB",
        size.trials,
        size.reports,
        size.objectives,
        records as f64 / seconds,
        micros(0.5),
        micros(0.99),
        micros(1.0) / 1e3,
        std::fs::metadata(&log)?.len() as f64 / 1e6,
    );
    // in a process of its own, so that its peak is that of the restart alone
    let status = Command::new(env::current_exe()?).arg("restart").arg(&log).arg(written).status()?;
    if status.success() { Ok(()) } else { Err("the restart failed".into()) }
}

#[expect(clippy::print_stdout, reason = "a benchmark shows its result")]
fn restart(log: &Path, spec: StudySpec) -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let (store, _) = EventStore::open(log)?;
    let session = Session::open(spec, Parts::default(), store)?;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "  restart: {seconds:.2} s, done: {}, peak memory {} (of the process, VmHWM)",
        session.is_done(),
        peak().unwrap_or_else(|| "unknown on this system".to_owned())
    );
    Ok(())
}

/// The largest resident size of this process so far.
fn peak() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(format!("{:.0} MB", kilobytes / 1024.0))
}
