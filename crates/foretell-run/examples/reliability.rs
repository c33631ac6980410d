//! Tests whether a study survives machine failures: hammers, kills, cuts, flips and measures it, and prints a table.
//!
//! `cargo run --release -p foretell-run --example reliability -- full` takes the sizes of the published table
//! (`docs/explanation/reliability.md`), some minutes; without `full` smaller ones, some seconds. It fails if a promise is
//! broken. `scripts/reliability` prints the whole table, including Optuna's storages.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a table is what this is for, and how long it took"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use foretell::Direction;
use foretell_run::{
    Driver, DriverEvent, EventLog, EventLogError, EventStore, LocalProcesses, LocalTrials, LogReader,
    LogSalvage, MessageKind, MetricSource, ReportReader, TrialSetup, TrialSpec, WatchSettings, adopt_orphans,
    read_log,
};
use foretell_search::{
    ForecastRule, LogLosses, MedianRule, ParameterSpace, Record, Session, Space, StopPolicy, Study,
    StudyParts, StudySpec, TrainingEnd, TrainingStart,
};

#[path = "../tests/simulated/mod.rs"]
mod simulated;
use simulated::Simulated;

type Done<T> = Result<T, Box<dyn Error>>;

/// The printed row: the deed, the finding, the promise.
type Row = (&'static str, String, String);

fn main() -> Done<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["report", reports] => return play_trial(reports.parse()?),
        ["victim", folder] => return play_victim(Path::new(folder)),
        _ => {}
    }
    adopt_orphans(true);
    let full = words.iter().any(|word| word == "full");
    let pick = |small: usize, large: usize| if full { large } else { small };
    let tests: [(&str, &dyn Fn() -> Done<Row>); 11] = [
        ("hammer", &|| hammer(pick(8, 64), pick(2, 20), 100)),
        ("claim", &|| claim(pick(500, 10_000), 64)),
        ("kill", &|| kill(pick(10, 1000), pick(50, 500) as u64)),
        ("cut", &|| cut(pick(1 << 10, 1 << 16))),
        ("flip", &|| flip(pick(500, 10_000))),
        ("repair", &|| repair(pick(20, 300))),
        ("replay", &|| replay(pick(20, 60) as u64)),
        ("tree", &process_tree),
        ("scale", &|| scale(pick(500, 10_000) as u64, 100)),
        ("latency", &|| latency(pick(300, 10_000) as u64, 20)),
        ("overhead", &|| overhead(pick(30, 300))),
    ];
    let chosen =
        |name: &str| words.iter().all(|word| word == "full") || words.iter().any(|word| word == name);
    println!("| what | measured | promised |\n|---|---|---|");
    for (_, test) in tests.iter().filter(|(name, _)| chosen(name)) {
        let begun = Instant::now();
        let (what, found, promised) = test()?;
        println!("| {what} | {found} | {promised} |");
        eprintln!("{what}: {:.0} s", begun.elapsed().as_secs_f64());
    }
    let lines = pick(20_000, 1_000_000);
    if chosen("fuzz") {
        fuzz(lines);
        println!("| fuzz | {lines} damaged report lines, no panic | no panic |");
    }
    Ok(())
}

fn check(is_so: bool, what: impl Into<String>) -> Done<()> {
    if is_so { Ok(()) } else { Err(what.into().into()) }
}

fn spec(trials: u64, epochs: u64) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1", "x=float:0:1"]).expect("a space"));
    let usual = StudySpec::new(space, "acc", Direction::Maximize);
    StudySpec { trials, max_resource: epochs, policy: StopPolicy::from(MedianRule), shadow: true, ..usual }
}

fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The value below which a share of the durations lies, in milliseconds.
fn quantile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get((share * times.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(f64::NAN)
}

/// A trial of the hammer: reports as fast as it can, each with its time.
fn play_trial(reports: u64) -> Done<()> {
    let mut out = std::io::stdout().lock();
    for step in 1..=reports {
        let micros = nanoseconds() / 1000;
        writeln!(out, "{{\"foretell\":{{\"step\":{step},\"acc\":0.5,\"sent\":{micros}}}}}")?;
        out.flush()?;
    }
    Ok(())
}

fn setup(folder: &Path, reports: u64, command: Vec<String>) -> TrialSetup {
    TrialSetup {
        directory: folder.to_owned(),
        command,
        metric: MetricSource::Json { field: Some("acc".to_owned()) },
        max_resource: reports,
        environment: BTreeMap::new(),
        space: None,
        watch: WatchSettings::default(),
        gpus: Vec::new(),
        unplaced: Vec::new(),
        config: None,
        working_dir: None,
    }
}

/// Many processes report at once to one study.
fn hammer(processes: usize, trials_each: usize, reports: u64) -> Done<Row> {
    let folder = tempfile::tempdir()?;
    let (store, _) = EventStore::open(folder.path().join("events.jsonl"))?;
    let trials = (processes * trials_each) as u64;
    let session = Session::open(spec(trials, reports), StudyParts::default(), store)?;
    let own = std::env::current_exe()?.display().to_string();
    let command = vec![own, "report".to_owned(), reports.to_string()];
    let executor = LocalTrials::new(setup(folder.path(), reports, command), Duration::from_secs(5));
    let mut driver = Driver::new(session, executor, processes, "reports");
    let (mut times, begun) = (Vec::new(), Instant::now());
    driver.run(&AtomicBool::new(false), &mut |_, event| {
        if let DriverEvent::Recorded(Record::Reported { metrics, .. }) = event {
            let sent = metrics.get("sent").copied().unwrap_or_default();
            times.push((nanoseconds() / 1000) as f64 / 1e3 - sent / 1e3);
        }
        Ok(())
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    drop(driver);
    let (records, _) = read_log::<Record>(folder.path().join("events.jsonl"))?;
    let mut seen = BTreeSet::new();
    let reported = records.iter().filter_map(|record| match record {
        Record::Reported { trial, step, .. } => Some((*trial, *step)),
        _ => None,
    });
    let (mut count, mut doubled) = (0_u64, 0);
    for report in reported {
        count += 1;
        doubled += u64::from(!seen.insert(report));
    }
    let lost = trials * reports - seen.len() as u64;
    check(lost == 0 && doubled == 0, format!("hammer: {lost} reports lost, {doubled} doubled"))?;
    let (rate, p99) = (count as f64 / seconds, quantile(&mut times, 0.99));
    Ok((
        "hammer",
        format!(
            "{processes} processes, {trials} trials, {count} reports: 0 lost, 0 doubled, {rate:.0} reports/s, p99 from print to decision {p99:.1} ms"
        ),
        "0 lost, 0 doubled, ≥ 2,000 reports/s, p99 ≤ 50 ms".to_owned(),
    ))
}

/// Many workers ask at once; each trial is handed out once.
fn claim(trials: usize, workers: usize) -> Done<Row> {
    let folder = tempfile::tempdir()?;
    let (store, _) = EventStore::open(folder.path().join("events.jsonl"))?;
    let session = Mutex::new(Session::open(spec(trials as u64, 3), StudyParts::default(), store)?);
    let (claimed, begun) = (Mutex::new(Vec::new()), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Ok(Some(start)) = session.lock().expect("no thread panics").ask() {
                    claimed.lock().expect("no thread panics").push(start.trial);
                }
            });
        }
    });
    let claimed = claimed.into_inner()?;
    let distinct: BTreeSet<u64> = claimed.iter().copied().collect();
    check(
        claimed.len() == trials && distinct.len() == trials,
        format!("claim: {} of {trials}", distinct.len()),
    )?;
    Ok((
        "claim",
        format!(
            "{trials} trials, {workers} workers: each handed out once, in {:.1} s",
            begun.elapsed().as_secs_f64()
        ),
        "each exactly once".to_owned(),
    ))
}

fn waves(start: &TrainingStart, step: u64) -> f64 {
    (start.trial as f64).sin() + step as f64 / 100.0
}

const VICTIMS_EPOCHS: u64 = 20;

/// Drives the study in `folder` until it is killed, and says what it has acknowledged.
fn play_victim(folder: &Path) -> Done<()> {
    let trials: u64 = std::fs::read_to_string(folder.join("trials"))?.parse()?;
    let (store, _) = EventStore::open(folder.join("events.jsonl"))?;
    let session = Session::open(spec(trials, VICTIMS_EPOCHS), StudyParts::default(), store)?;
    let mut driver = Driver::new(session, Simulated::new(waves), 4, "reports");
    let mut out = std::io::stdout().lock();
    driver.run(&AtomicBool::new(false), &mut |_, event| match event {
        DriverEvent::Recorded(Record::Reported { trial, step, .. }) => {
            writeln!(out, "{trial} {step}").map_err(|error| error.to_string())
        }
        _ => Ok(()),
    })?;
    writeln!(out, "done")?;
    Ok(())
}

/// Kills the process that drives a study, again and again, until the study is done.
fn kill(kills: usize, trials: u64) -> Done<Row> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("trials"), trials.to_string())?;
    let log = folder.path().join("events.jsonl");
    let (mut acknowledged, mut killed, mut is_done) = (BTreeSet::new(), 0, false);
    let reports = trials * VICTIMS_EPOCHS;
    while !is_done {
        let mut victim = Command::new(std::env::current_exe()?)
            .arg("victim")
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()?;
        // each victim lives for so many reports that the study lasts for all the kills
        let left = reports.saturating_sub(acknowledged.len() as u64) as f64;
        let share = left / kills.saturating_sub(killed).max(1) as f64;
        let life = (share * (0.5 + (killed as f64 * 0.618).fract())) as usize;
        let mut is_killed = false;
        let lines = BufReader::new(victim.stdout.take().ok_or("it is piped")?).lines();
        for (line, number) in lines.zip(1..) {
            let Ok(line) = line else { break };
            if line == "done" {
                is_done = true;
            } else if let Some((trial, step)) = line.split_once(' ') {
                acknowledged.insert((trial.parse::<u64>()?, step.parse::<u64>()?));
            }
            if number >= life.max(1) && !is_killed && killed < kills {
                victim.kill()?;
                is_killed = true;
                killed += 1;
            }
        }
        victim.wait()?;
    }
    let (records, dropped) = read_log::<Record>(&log)?;
    let reported = records.iter().filter_map(|record| match record {
        Record::Reported { trial, step, .. } => Some((*trial, *step)),
        _ => None,
    });
    let reported: Vec<(u64, u64)> = reported.collect();
    let kept: BTreeSet<(u64, u64)> = reported.iter().copied().collect();
    let lost = acknowledged.difference(&kept).count();
    let Some(Record::Created { study }) = records.first() else { return Err("no description".into()) };
    let study = Study::resume(study.as_ref().clone(), &records)?;
    let (totals, spent) = (study.progress().trials, study.progress().spent);
    check(
        lost == 0 && dropped.is_none() && reported.len() == kept.len(),
        format!("kill: {lost} reports lost"),
    )?;
    let adds_up = study.is_done() && totals.completed == trials && spent == reports;
    check(adds_up, format!("kill: {totals:?}"))?;
    Ok((
        "kill",
        format!(
            "{killed} kills over {trials} trials: 0 of {} acknowledged reports lost, all trials ended, totals add up",
            acknowledged.len()
        ),
        "nothing lost, no trial left running".to_owned(),
    ))
}

/// The log of a study, of at least `bytes` bytes: its records and its file.
fn study_log(folder: &Path, bytes: usize) -> Done<(Vec<Record>, PathBuf)> {
    let path = folder.join("events.jsonl");
    let (store, _) = EventStore::open(&path)?;
    let mut session = Session::open(spec(10_000, 20), StudyParts::default(), store)?;
    while (std::fs::metadata(&path)?.len() as usize) < bytes {
        let Some(start) = session.ask()? else { break };
        for step in start.from + 1..=start.until {
            let value = (start.trial as f64).sin() + step as f64 / 100.0;
            session.report(start.trial, step, value, BTreeMap::new())?;
        }
        session.tell(start.trial, TrainingEnd::Finished)?;
    }
    drop(session);
    Ok((read_log(&path)?.0, path))
}

/// The log cut at every byte of its end, from behind, each time opened and written as a search does it.
fn cut(bytes: usize) -> Done<Row> {
    let folder = tempfile::tempdir()?;
    let (records, path) = study_log(folder.path(), bytes + 1000)?;
    let whole = std::fs::read(&path)?;
    let newlines = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let ends: Vec<usize> = newlines.map(|(at, _)| at + 1).collect();
    let file = OpenOptions::new().write(true).open(&path)?;
    let mut untouched = whole.len();
    for at in (whole.len() - bytes..whole.len()).rev() {
        // only what the opening before has cut off or written is put back
        if untouched < at {
            file.write_all_at(&whole[untouched..at], untouched as u64)?;
        }
        file.set_len(at as u64)?;
        let mut opened = EventLog::<Record>::open(&path)?;
        let kept = ends.partition_point(|&end| end <= at);
        check(opened.records == records[..kept], format!("cut at byte {at}"))?;
        check(opened.torn_line.is_some() != ends.contains(&at), format!("cut at byte {at} is not said"))?;
        opened.log.append(&records[kept])?;
        check(opened.log.len() == kept as u64 + 1, format!("cut at byte {at}: no more can be written"))?;
        untouched = ends[kept - 1];
    }
    let found = format!(
        "cut at each of the last {bytes} bytes: opens with what was acknowledged, says what it dropped, takes new records"
    );
    Ok(("cut", found, "the same".to_owned()))
}

/// Single bits of a log flipped in memory, each time read as from a file.
fn flip(flips: usize) -> Done<Row> {
    let folder = tempfile::tempdir()?;
    let (records, path) = study_log(folder.path(), 20_000)?;
    let mut log = std::fs::read(&path)?;
    let (mut refused, mut dropped, mut harmless) = (0, 0, 0);
    let mut bit = 12_345_u64;
    for _ in 0..flips {
        bit = bit.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = (bit >> 16) as usize % (log.len() * 8);
        log[place / 8] ^= 1 << (place % 8);
        let mut reader = LogReader::<Record, _>::from_reader("events.jsonl", &log[..]);
        let (mut read, mut error) = (0, None);
        for record in reader.by_ref() {
            match record {
                Ok(record) => {
                    check(records.get(read) == Some(&record), format!("bit {place}: record {read}"))?
                }
                Err(wrong) => error = Some(wrong),
            }
            read += usize::from(error.is_none());
        }
        match error {
            Some(EventLogError::Line { .. }) => refused += 1,
            Some(error) => return Err(error.into()),
            None if reader.torn_line().is_some() => {
                dropped += 1;
                check(read == records.len() - 1, format!("bit {place}: {read} records"))?;
            }
            None => {
                harmless += 1;
                check(read == records.len(), format!("bit {place}: {read} records"))?;
            }
        }
        log[place / 8] ^= 1 << (place % 8);
    }
    let found = format!(
        "{flips} flipped bits: {refused} refused with their line, {dropped} in a dropped last line, {harmless} without effect, 0 read as other data"
    );
    Ok(("flip", found, "found or harmless, no wrong record".to_owned()))
}

/// A log repaired after each of many damages: a line gone, a bit flipped, a page of 4096 bytes zeroed.
fn repair(damages: usize) -> Done<Row> {
    let folder = tempfile::tempdir()?;
    let (records, path) = study_log(folder.path(), 60_000)?;
    let whole = std::fs::read(&path)?;
    let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    let page = 4096;
    let mut kept = BTreeMap::new();
    for number in 0..damages {
        let share = number as f64 / damages as f64;
        let line = (share * lines.len() as f64) as usize;
        let at = (share * (whole.len() - page) as f64) as usize;
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (number % 8);
        let without = [&lines[..line], &lines[line + 1..]].concat().concat();
        let zeroed = [&whole[..at], &vec![0; page], &whole[at + page..]].concat();
        let touched = zeroed_lines(&whole, at, page);
        let ways =
            [("a flipped bit", flipped, 0), ("a line gone", without, 1), ("a zeroed page", zeroed, touched)];
        for (what, damaged, most) in ways {
            std::fs::write(&path, &damaged)?;
            let salvage = LogSalvage::<Record>::open_unlocked(&path)?;
            let (left, refused) = count_after_repair(&salvage)?;
            check(refused == 0, format!("{what}, number {number}: {refused} sound records are not kept"))?;
            let lost = records.len() - left;
            check(
                lost <= most,
                format!("{what}, number {number}: {lost} records are lost, {most} were damaged"),
            )?;
            let worst: &mut usize = kept.entry(what).or_default();
            *worst = lost.max(*worst);
        }
    }
    let worst: Vec<String> = kept.iter().map(|(what, lost)| format!("{what} {lost}")).collect();
    let found = format!(
        "{damages} times each in a log of {} records: every sound record is kept; damaged beyond repair at most: {}",
        records.len(),
        worst.join(", ")
    );
    Ok(("repair", found, "every sound record kept".to_owned()))
}

/// The number of lines with bytes among those `page` from `at` on.
fn zeroed_lines(log: &[u8], at: usize, page: usize) -> usize {
    log[at..at + page - 1].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// The number of records left in a damaged log, and of those that follow from nothing once it is mended.
fn count_after_repair(salvage: &LogSalvage<Record>) -> Done<(usize, usize)> {
    let mut losses = LogLosses::default();
    let mut left = 0;
    for salvaged in salvage.records()? {
        let salvaged = salvaged?;
        losses.see(salvaged.missing, &salvaged.record);
        left += 1;
    }
    let records = salvage.records()?.map(|salvaged| salvaged.map(|salvaged| salvaged.record));
    let mut refused = 0;
    Study::mend(&losses, records, &|_| None, &mut |mended| {
        refused += usize::from(mended.refused.is_some())
    })??;
    Ok((left, refused))
}

/// The fold of every prefix of a log is the study that it was.
fn replay(trials: u64) -> Done<Row> {
    let spec = StudySpec { shadow: false, policy: StopPolicy::from(ForecastRule), ..spec(trials, 12) };
    let mut session = Session::new(spec.clone())?;
    let mut states = Vec::new();
    while let Some(start) = session.ask()? {
        for step in start.from + 1..=start.until {
            let top = start.configuration["x"].as_number().unwrap_or_default();
            let value = top * (1.0 - 0.7_f64.powi(step as i32));
            let stops = session.report(start.trial, step, value, BTreeMap::new())?.stop;
            states.push((session.store().records().len(), format!("{:?}", session.study().progress())));
            if stops {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished)?;
    }
    let records = session.store().records();
    for (length, progress) in &states {
        let study = Study::resume(spec.clone(), &records[..*length])?;
        check(format!("{:?}", study.progress()) == *progress, format!("replay of {length} records"))?;
    }
    let stopped = session.study().progress().trials.stopped;
    let found = format!(
        "{} prefixes of a log of {trials} trials ({stopped} stopped): each gives the study as it was then",
        states.len()
    );
    Ok(("replay", found, "the same at every prefix".to_owned()))
}

/// A trial with eight children, one that ignores SIGTERM, and one in a session of its own.
fn process_tree() -> Done<Row> {
    let folder = tempfile::tempdir()?;
    let script = "for i in 1 2 3 4 5 6 7 8; do sleep 600 & done; sh -c \"trap '' TERM; sleep 600; sleep 600\" & \
                  setsid sleep 600 & echo '{\"foretell\":{\"acc\":1}}'; wait; sleep 600";
    let command = ["sh", "-c", script].map(|word| word.replace('{', "{{").replace('}', "}}")).to_vec();
    let mut processes = LocalProcesses::new(Duration::from_secs(2));
    let spec = TrialSpec {
        trial: 1,
        command,
        parameters: serde_json::Map::new(),
        seed: 1,
        max_resource: 1,
        until: 1,
        directory: folder.path().join("trial"),
        checkpoint_dir: folder.path().join("trial/checkpoints"),
        resume_from: None,
        resumed_at: 0,
        working_dir: None,
        environment: BTreeMap::from([("RELIABILITY".to_owned(), folder.path().display().to_string())]),
        metric: MetricSource::default(),
        watch: WatchSettings::default(),
    };
    processes.start(&spec)?;
    processes.messages().recv_timeout(Duration::from_secs(10))?;
    let mark = format!("RELIABILITY={}", folder.path().display());
    let count = || {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let bears = |path: PathBuf| {
            String::from_utf8_lossy(&std::fs::read(path.join("environ")).unwrap_or_default()).contains(&mark)
        };
        all.filter(|entry| bears(entry.path())).count()
    };
    let (before, begun) = (count(), Instant::now());
    processes.stop(1);
    while !matches!(
        processes.messages().recv_timeout(Duration::from_secs(20))?.kind,
        MessageKind::Ended { .. }
    ) {}
    let (seconds, after) = (begun.elapsed().as_secs_f64(), count());
    check(
        before >= 10 && after == 0 && seconds < 10.0,
        format!("tree: {after} of {before} left after {seconds:.1} s"),
    )?;
    let found = format!(
        "{before} processes, one deaf to SIGTERM, one in a session of its own: all gone {seconds:.1} s after the stop"
    );
    Ok(("process tree", found, "within 10 s".to_owned()))
}

/// The time that a large log takes to open.
fn scale(trials: u64, steps: u64) -> Done<Row> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("events.jsonl");
    let spec = StudySpec { policy: StopPolicy::none(), shadow: false, ..spec(trials, steps) };
    let (store, _) = EventStore::open(&path)?;
    let session = Session::open(spec.clone(), StudyParts::default(), store)?;
    Driver::new(session, Simulated::new(waves), 8, "reports")
        .run(&AtomicBool::new(false), &mut |_, _| Ok(()))?;
    let begun = Instant::now();
    let (store, _) = EventStore::open(&path)?;
    let checked = begun.elapsed().as_secs_f64();
    let session = Session::open(spec, StudyParts::default(), store)?;
    check(session.study().trials().len() as u64 == trials, "scale: trials are missing")?;
    let opened = begun.elapsed().as_secs_f64();
    let size = std::fs::metadata(&path)?.len() as f64 / 1e6;
    let found = format!(
        "{trials} trials × {steps} steps, a log of {size:.0} MB: checked in {checked:.2} s, the study open in {opened:.2} s"
    );
    Ok(("scale", found, "open in ≤ 1 s".to_owned()))
}

/// From report to decision, once there are many trials; with the log on the disk.
fn latency(trials: u64, steps: u64) -> Done<Row> {
    let folder = tempfile::tempdir()?;
    let spec = StudySpec { policy: StopPolicy::from(ForecastRule), ..spec(trials, steps) };
    let (store, _) = EventStore::open(folder.path().join("events.jsonl"))?;
    let session = Session::open(spec, StudyParts::default(), store)?;
    let (times, since) = (Mutex::new(Vec::new()), Mutex::new(Instant::now()));
    let reports = AtomicUsize::new(0);
    let last = (trials * steps) as usize * 9 / 10;
    let mut driver = Driver::new(session, Simulated::new(waves), 8, "reports");
    driver.run(&AtomicBool::new(false), &mut |_, event| {
        match event {
            DriverEvent::Report { .. } => {
                reports.fetch_add(1, Ordering::Relaxed);
                *since.lock().expect("one thread") = Instant::now();
            }
            DriverEvent::Recorded(Record::Decided(_)) if reports.load(Ordering::Relaxed) > last => {
                let passed = since.lock().expect("one thread").elapsed().as_secs_f64() * 1e3;
                times.lock().expect("one thread").push(passed);
            }
            _ => {}
        }
        Ok(())
    })?;
    let mut times = times.into_inner()?;
    let count = times.len();
    let (p50, p99) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    let found = format!(
        "the last {count} decisions of {trials} trials × {steps} steps: p50 {p50:.3} ms, p99 {p99:.3} ms"
    );
    Ok(("report to decision", found, "p99 ≤ 5 ms at 10,000 trials".to_owned()))
}

/// The cost of a trial beyond starting its process.
fn overhead(trials: usize) -> Done<Row> {
    let command = ["sh", "-c", "echo '{\"foretell\":{\"step\":1,\"acc\":0.5}}'"];
    let begun = Instant::now();
    for _ in 0..trials {
        Command::new(command[0]).args(&command[1..]).stdout(Stdio::piped()).output()?;
    }
    let plain = begun.elapsed().as_secs_f64() * 1e3 / trials as f64;
    let folder = tempfile::tempdir()?;
    let (store, _) = EventStore::open(folder.path().join("events.jsonl"))?;
    let session = Session::open(spec(trials as u64, 1), StudyParts::default(), store)?;
    let command = command.map(|word| word.replace('{', "{{").replace('}', "}}")).to_vec();
    let executor = LocalTrials::new(setup(folder.path(), 1, command), Duration::from_secs(5));
    let begun = Instant::now();
    Driver::new(session, executor, 1, "reports").run(&AtomicBool::new(false), &mut |_, _| Ok(()))?;
    let ours = begun.elapsed().as_secs_f64() * 1e3 / trials as f64;
    let found = format!(
        "{trials} trials one after another: {ours:.1} ms each, of which the process alone takes {plain:.1} ms: {:.1} ms of ours",
        ours - plain
    );
    Ok(("overhead a trial", found, "≤ 10 ms of ours".to_owned()))
}

/// Report lines with bytes changed at random.
fn fuzz(lines: usize) {
    let good: [&[u8]; 4] = [
        b"{\"foretell\":{\"step\":3,\"acc\":0.71,\"deep\":{\"a\":[1,2]}}}",
        b"Epoch 3/10 - loss: 0.41 - acc: 0.87 \x1b[32m100%\x1b[0m",
        b"{'acc': '0.5', 'epoch': 1.0}",
        b"epoch,acc\n1,0.5",
    ];
    let mut random = 99_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut reader = ReportReader::new(MetricSource::Json { field: Some("acc".to_owned()) }, 0);
    for number in 0..lines {
        let mut line = good[number % good.len()].to_vec();
        for _ in 0..1 + next() % 4 {
            let place = next() as usize % line.len();
            line[place] = next() as u8;
        }
        let _ = reader.read(&line);
    }
}
