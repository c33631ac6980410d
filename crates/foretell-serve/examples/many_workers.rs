//! The cost of a study with many workers: reports per second, the time from a report to its decision, memory, and a restart.
//!
//! ```sh
//! ulimit -n 8192
//! cargo run --release -p foretell-serve --example many_workers -- 1000 20000 60
//! ```
//!
//! The numbers are workers, trials and epochs. All workers are threads of this process, each with a connection of its own to a real
//! server on loopback, behind which a driver owns the study, as in `foretell search --on workers`. Trainings take no time.
#![allow(clippy::disallowed_methods, reason = "an example whose thread dies ends")]

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use foretell_run::{
    Driver, EventStore, Executor, ExecutorError, HostDoor, Leases, RemoteTrainings, RunOutcome, StartPoint,
    TrialMessage,
};
use foretell_search::{ParameterSpace, Session, Space, StudyParts, StudyRequest, StudySpec, TrainingStart};
use foretell_serve::{ReaderLimits, ServeOptions, Server};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// No trainings in this process.
struct Nowhere;

impl Executor for Nowhere {
    fn start(&mut self, _start: &TrainingStart, _worker: usize) -> Result<StartPoint, ExecutorError> {
        Err("trials run on workers".into())
    }

    fn stop(&mut self, _trial: u64) {}

    fn take_messages(&mut self, _wait: Duration) -> Vec<TrialMessage> {
        Vec::new()
    }

    fn discard_checkpoints(&mut self, _trial: u64) {}
}

/// One connection.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn new(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    fn post(&mut self, path: &str, body: &Value) -> Outcome<Value> {
        let body = body.to_string();
        let request = format!(
            "POST /api/studies/s/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

/// Trains until there is nothing more to do; answers how long each report took.
fn work(address: SocketAddr, name: &str) -> Outcome<Vec<Duration>> {
    let (mut client, mut times, mut turn) = (Client::new(address)?, Vec::new(), 0);
    loop {
        let asked = client.post("ask", &json!({"worker": name, "turn": turn}))?;
        turn += 1;
        let start = &asked["start"];
        if start.is_null() {
            if asked["done"] == true {
                return Ok(times);
            }
            thread::sleep(Duration::from_millis(500));
            continue;
        }
        let (trial, lease) = (&start["trial"], &start["lease"]);
        let lr = start["configuration"]["lr"].as_f64().unwrap_or(0.1);
        let until = start["until"].as_u64().unwrap_or_default();
        for step in start["from"].as_u64().unwrap_or_default() + 1..=until {
            let value = lr * (1.0 - 0.9_f64.powi(step as i32));
            let begun = Instant::now();
            let report = json!({"step": step, "value": value, "lease": lease});
            let answer = client.post(&format!("trials/{trial}/report"), &report)?;
            times.push(begun.elapsed());
            if answer["stop"] == true {
                break;
            }
        }
        client.post(&format!("trials/{trial}/tell"), &json!({"lease": lease}))?;
    }
}

fn spec(trials: u64, epochs: u64) -> Outcome<StudySpec> {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"])?);
    let request = StudyRequest {
        space: Some(space),
        metric: Some("val_acc".to_owned()),
        trials: Some(trials),
        epochs: Some(epochs),
        ..StudyRequest::default()
    };
    // every trial completes, and is proposed at once: the way of a report is measured
    let fields = json!({"sampler": "random", "stopping": false});
    let more = StudyRequest::from_fields(fields.as_object().ok_or("no object")?)?;
    Ok(more.with_overrides(&request).resolve(None)?)
}

fn drive(folder: &Path, spec: StudySpec, workers: usize) -> Outcome<Vec<Duration>> {
    let (store, _) = EventStore::open(folder.join("events.jsonl"))?;
    let session = Session::open(spec, StudyParts::default(), store)?;
    let (door, calls) = HostDoor::<EventStore>::new();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let limits = ReaderLimits::default().for_workers(workers);
    let server =
        Server::bind(ServeOptions { door: Some(door), limits, ..ServeOptions::new(folder, loopback) })?;
    let address = server.address();
    thread::spawn(move || server.run());
    let leases = Leases::new(Duration::from_secs(60)).with_folder(folder);
    let elsewhere = RemoteTrainings { calls, leases, own_workers: 0, patience: Box::new(|| Duration::ZERO) };
    let mut driver = Driver::new(session, Nowhere, 1, "").with_remote_trainings(elsewhere)?;
    let start = |worker: usize| {
        let small = thread::Builder::new().stack_size(256 << 10);
        small.spawn(move || work(address, &format!("worker {worker}")))
    };
    let started: Vec<_> = (0..workers).map(start).collect::<Result<_, _>>()?;
    let finish = driver.run(&AtomicBool::new(false), &mut |_, _| Ok(()))?;
    assert_eq!(finish, RunOutcome::Done, "every trial has ended");
    let mut times = Vec::new();
    for worker in started {
        times.extend(worker.join().map_err(|_| "a worker panicked")??);
    }
    Ok(times)
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or("unknown".to_owned(), |text| text.trim().to_owned())
}

#[expect(clippy::print_stdout, reason = "an example prints what it has measured")]
fn main() -> Outcome<()> {
    let number =
        |place: usize, usual: u64| std::env::args().nth(place).map_or(Ok(usual), |text| text.parse::<u64>());
    let (workers, trials, epochs) = (number(1, 20)?, number(2, 60)?, number(3, 10)?);
    let folder = std::env::temp_dir().join(format!("many-workers-{}", std::process::id()));
    let study = folder.join("s");
    std::fs::create_dir_all(&study)?;
    let begun = Instant::now();
    let mut times = drive(&study, spec(trials, epochs)?, workers as usize)?;
    let took = begun.elapsed();
    times.sort_unstable();
    let quantile = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{workers} workers, {trials} trials, {} reports in {:.1} s", times.len(), took.as_secs_f64());
    println!("{:.0} reports/s", times.len() as f64 / took.as_secs_f64());
    println!("report to decision: p50 {:.1?}, p99 {:.1?}", quantile(0.5), quantile(0.99));
    println!("memory at most: {} (server, driver and all workers)", memory());
    let log = study.join("events.jsonl");
    println!("log: {:.1} MB", std::fs::metadata(&log)?.len() as f64 / 1e6);
    let begun = Instant::now();
    let (store, _) = EventStore::open(&log)?;
    let session = Session::open(spec(trials, epochs)?, StudyParts::default(), store)?;
    println!("restart: {:.2} s, {} trials", begun.elapsed().as_secs_f64(), session.study().trials().len());
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
