//! Trials as real child processes: their inputs, their messages, and that nothing of them is left.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use foretell_run::{
    LocalProcesses, MessageKind, MetricSource, ProcessIdentity, ProcessStatus, StartError, TrialMessage,
    TrialNotice, TrialSpec,
};
use tempfile::TempDir;

/// Far more than any message needs, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(1);

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn shell(folder: &Path, trial: u64, script: &str) -> TrialSpec {
    let directory = folder.join(format!("trial-{trial}"));
    TrialSpec {
        trial,
        command: ["sh", "-c", &script.replace('{', "{{").replace('}', "}}")].map(String::from).to_vec(),
        parameters: serde_json::Map::new(),
        seed: 7,
        max_resource: 30,
        until: 10,
        checkpoint_dir: directory.join("checkpoints"),
        directory,
        resume_from: None,
        resumed_at: 0,
        working_dir: None,
        environment: BTreeMap::new(),
        metric: MetricSource::default(),
        watch: foretell_run::WatchSettings::default(),
    }
}

/// All messages up to and with the trial's end.
fn to_the_end(executor: &LocalProcesses) -> Vec<MessageKind> {
    let mut kinds = Vec::new();
    loop {
        let TrialMessage { kind, .. } = executor.messages().recv_timeout(PATIENCE).expect("the trial ends");
        let ended = matches!(kind, MessageKind::Ended { .. });
        kinds.push(kind);
        if ended {
            return kinds;
        }
    }
}

fn run(spec: &TrialSpec) -> Vec<MessageKind> {
    let mut executor = LocalProcesses::new(GRACE);
    executor.start(spec).expect("the trial starts");
    to_the_end(&executor)
}

fn reports(kinds: &[MessageKind]) -> Vec<(u64, Option<f64>)> {
    let report = |kind: &MessageKind| match kind {
        MessageKind::Report(report) => Some((report.step, report.value)),
        _ => None,
    };
    kinds.iter().filter_map(report).collect()
}

fn end(kinds: &[MessageKind]) -> (ProcessStatus, bool, Vec<String>) {
    match kinds.last() {
        Some(MessageKind::Ended { status, stopped_by_us, tail, .. }) => {
            (*status, *stopped_by_us, tail.clone())
        }
        other => panic!("the last message is {other:?}"),
    }
}

/// Waits until the file holds `count` lines, and reads them as process ids.
fn wait_for_pids(path: &Path, count: usize) -> Vec<ProcessIdentity> {
    let until = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        let pids: Vec<u32> = text
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n')?.trim().parse().ok())
            .collect();
        if pids.len() >= count {
            return pids.into_iter().map(ProcessIdentity::with_pid).collect();
        }
        assert!(Instant::now() < until, "{count} processes never started: {text:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_trial_gets_its_configuration_every_way_the_protocol_names() {
    let folder = folder();
    let script = r#"echo "args $*"; env | grep '^FORETELL_' ; echo "params $(cat "$FORETELL_PARAMS")"; pwd; echo "$EXTRA"
        test -d "$FORETELL_CHECKPOINT_DIR" && echo made"#;
    let mut spec = shell(folder.path(), 3, script);
    spec.command.extend(["name", "--lr={lr}", "{params_json}", "a b; c"].map(String::from));
    let parameters = serde_json::json!({"lr": 0.1, "layers": [1, 2]});
    spec.parameters = parameters.as_object().expect("an object").clone();
    spec.resume_from = Some(folder.path().join("old"));
    spec.working_dir = Some(folder.path().to_owned());
    spec.environment.insert("EXTRA".to_owned(), "more".to_owned());
    // the token of a server is the user's; a trial's own name is another variable
    spec.environment.insert("FORETELL_TOKEN".to_owned(), "key".to_owned());
    let (status, stopped_by_us, tail) = end(&run(&spec));
    let output = tail.join("\n");
    assert_eq!((status, stopped_by_us), (ProcessStatus::Exited(0), false), "{output}");
    let checkpoints = format!("FORETELL_CHECKPOINT_DIR={}", spec.checkpoint_dir.display());
    let resume = format!("FORETELL_RESUME_FROM={}/old", folder.path().display());
    let working_dir = fs::canonicalize(folder.path()).expect("it is there").display().to_string();
    for line in [
        r#"args --lr=0.1 {"lr":0.1,"layers":[1,2]} a b; c"#,
        "FORETELL_TRIAL=3",
        "FORETELL_SEED=7",
        "FORETELL_TOKEN=key",
        "FORETELL_MAX_RESOURCE=30",
        &checkpoints,
        &resume,
        r#"params {"lr":0.1,"layers":[1,2]}"#,
        &working_dir,
        "more",
        "made",
    ] {
        assert!(tail.iter().any(|found| found == line), "{line:?} is missing in\n{output}");
    }
    let log = fs::read_to_string(spec.directory.join("output.log")).expect("the log is there");
    assert_eq!(log.trim_end(), output);
}

#[test]
fn reports_come_in_order_and_before_the_end() {
    let folder = folder();
    let script = r#"i=1; while [ $i -le 200 ]; do echo "{\"foretell\":{\"step\":$i,\"acc\":0.$i}}"; i=$((i+1)); done; exit 3"#;
    let kinds = run(&shell(folder.path(), 1, script));
    let steps: Vec<u64> = reports(&kinds).into_iter().map(|(step, _)| step).collect();
    assert_eq!(steps, (1..=200).collect::<Vec<u64>>());
    let (status, stopped_by_us, tail) = end(&kinds);
    assert_eq!((status, stopped_by_us, tail.len()), (ProcessStatus::Exited(3), false, 20));
    assert!(tail[19].contains("\"step\":200"));
}

#[test]
fn both_streams_are_one_in_the_order_that_a_person_sees() {
    let folder = folder();
    // the heading of each epoch goes to standard error, its value to standard output
    let script = "for i in 1 2 3 4 5 6; do echo \"epoch $i of 6\" >&2; echo \"validation accuracy 0.$i\"; echo \"lr 0.1\" >&2; done";
    let mut spec = shell(folder.path(), 1, script);
    spec.metric = MetricSource::parse("validation accuracy").expect("a name");
    let kinds = run(&spec);
    let all = kinds.iter().flat_map(|kind| match kind {
        MessageKind::Report(report) => vec![report.clone()],
        MessageKind::Settled(reports) => reports.clone(),
        _ => Vec::new(),
    });
    let all: Vec<_> = all.map(|report| (report.step, report.value)).collect();
    assert_eq!(
        all,
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
            .map(Some)
            .into_iter()
            .enumerate()
            .map(|(i, value)| (i as u64 + 1, value))
            .collect::<Vec<_>>()
    );
    let log = fs::read_to_string(folder.path().join("trial-1/output.log")).expect("it is kept");
    let expected: String =
        (1..=6).map(|i| format!("epoch {i} of 6\nvalidation accuracy 0.{i}\nlr 0.1\n")).collect();
    assert_eq!(log, expected);
    assert_eq!(
        end(&kinds).2.last().map(String::as_str),
        Some("lr 0.1"),
        "the last words are of the one stream"
    );
    let report = r#"'{"foretell":{"acc":0.5}}'"#;
    let kinds = run(&shell(folder.path(), 2, &format!("echo {report} >&2; printf %s {report}")));
    assert_eq!(reports(&kinds), [(1, Some(0.5)), (2, Some(0.5))]);
}

#[test]
fn a_line_cut_by_a_signal_is_not_taken_for_a_number() {
    let folder = folder();
    let mut spec = shell(folder.path(), 1, "echo acc=0.71; printf acc=0.7; kill -9 $$");
    spec.metric = MetricSource::parse(r"acc=([\d.]+)").expect("a pattern");
    let kinds = run(&spec);
    assert_eq!(reports(&kinds), [(1, Some(0.71))]);
    assert_eq!(
        end(&kinds),
        (ProcessStatus::Signaled(9), false, vec!["acc=0.71".to_owned(), "acc=0.7".to_owned()])
    );
}

#[test]
fn an_unusable_report_is_passed_on_with_its_reason() {
    let folder = folder();
    let mut spec = shell(folder.path(), 1, r#"echo '{"foretell":{"step":1,"loss":0.5}}'"#);
    spec.metric = MetricSource::parse("acc").expect("a name");
    let kinds = run(&spec);
    let MessageKind::Noticed(TrialNotice::Unusable { problem, .. }) = &kinds[0] else { panic!("{kinds:?}") };
    assert!(problem.to_string().contains("(fields: loss)"), "{problem}");
    assert_eq!(kinds.len(), 2);
}

#[test]
fn a_hundred_lines_without_a_report_are_told_and_twice_as_many() {
    let folder = folder();
    let print =
        |before: &str| format!("{before}i=0; while [ $i -lt 250 ]; do i=$((i+1)); echo line $i; done");
    let silent = |before: &str| -> Vec<String> {
        let kinds = run(&shell(folder.path(), 1, &print(before)));
        let line = |kind: MessageKind| {
            if let MessageKind::Noticed(TrialNotice::Silent { line, .. }) = kind { Some(line) } else { None }
        };
        kinds.into_iter().filter_map(line).collect()
    };
    assert_eq!(silent(""), ["line 100", "line 200"]);
    assert!(silent(r#"echo '{"foretell":{"step":1,"loss":0.5}}'; "#).is_empty(), "it has reported");
}

#[test]
fn a_trial_that_says_nothing_ends_with_its_last_words() {
    let folder = folder();
    let kinds = run(&shell(folder.path(), 1, "echo 'no module named torch' >&2; exit 1"));
    assert_eq!(kinds.len(), 1);
    assert_eq!(end(&kinds), (ProcessStatus::Exited(1), false, vec!["no module named torch".to_owned()]));
}

#[test]
fn a_command_that_does_not_start_says_which_and_why() {
    let folder = folder();
    let mut executor = LocalProcesses::new(GRACE);
    let spec = |command: &[&str]| TrialSpec {
        command: command.iter().map(|&part| part.to_owned()).collect(),
        ..shell(folder.path(), 1, "")
    };
    let data = folder.path().join("data.txt");
    fs::write(&data, "text").expect("a file is written");
    let not_executable = data.display().to_string();
    let cases = [
        (spec(&["no-such-program", "--lr"]), "`no-such-program`"),
        (spec(&[&not_executable]), "data.txt"),
        (spec(&[]), "is missing"),
        (spec(&["sh", "{rate}"]), "unknown placeholder {rate}"),
        (TrialSpec { working_dir: Some(folder.path().join("nowhere")), ..spec(&["sh"]) }, "nowhere"),
        (TrialSpec { directory: data.clone(), ..spec(&["sh"]) }, "make the folder"),
    ];
    for (spec, expected) in cases {
        let message = executor.start(&spec).expect_err(expected).to_string();
        assert!(message.contains(expected), "{message:?} does not name {expected:?}");
    }
    assert!(executor.running_trials().is_empty());
    assert!(!folder.path().join("trial-1/process.json").exists());
    assert!(executor.messages().try_recv().is_err());
}

#[test]
fn a_number_is_free_again_once_its_trial_has_ended() {
    let folder = folder();
    let mut executor = LocalProcesses::new(GRACE);
    let spec = shell(folder.path(), 5, "echo again; read line < /dev/null; sleep 600");
    executor.start(&spec).expect("the trial starts");
    assert!(matches!(executor.start(&spec), Err(StartError::Running { trial: 5 })));
    assert_eq!(executor.running_trials(), [5]);
    assert!(executor.stop(5) && !executor.stop(6));
    assert!(end(&to_the_end(&executor)).1);
    assert!(!executor.stop(5) && executor.running_trials().is_empty());
    executor.start(&spec).expect("the number is free");
    executor.stop(5);
    to_the_end(&executor);
    let log = fs::read_to_string(spec.directory.join("output.log")).expect("the log is there");
    assert!(log.lines().count() <= 2 && log.lines().all(|line| line == "again"), "{log}");
}

#[test]
fn a_stopped_trial_has_time_to_write_its_checkpoint() {
    let folder = folder();
    let mut executor = LocalProcesses::new(PATIENCE);
    let script = r#"trap 'echo "{\"foretell\":{\"step\":9,\"acc\":1}}"; echo saved; exit 0' TERM
        echo '{"foretell":{"step":1,"acc":0}}'; while :; do sleep 0.1; done"#;
    executor.start(&shell(folder.path(), 1, script)).expect("the trial starts");
    executor.messages().recv_timeout(PATIENCE).expect("the first report");
    executor.stop(1);
    let kinds = to_the_end(&executor);
    assert_eq!(reports(&kinds), [(9, Some(1.0))], "what it reports while it stops is heard, too");
    let (status, stopped_by_us, tail) = end(&kinds);
    assert_eq!((status, stopped_by_us), (ProcessStatus::Exited(0), true));
    // the shell may say after it that its `sleep` was terminated
    assert!(tail.iter().any(|line| line == "saved"), "{tail:?}");
}

#[test]
fn stopping_leaves_no_descendant_however_stubborn() {
    let folder = folder();
    let mut executor = LocalProcesses::new(GRACE);
    let pids = folder.path().join("pids");
    // Eight children, and a grandchild whose parent is gone; the grandchild and its shell ignore SIGTERM.
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8; do sleep 600 & echo $! >> {0}; done
         sh -c 'trap \"\" TERM; sh -c \"echo \\$\\$ >> {0}; while :; do sleep 600; done\" & exit'
         wait",
        pids.display()
    );
    let leader = executor.start(&shell(folder.path(), 1, &script)).expect("the trial starts");
    let family = wait_for_pids(&pids, 9);
    assert!(leader.is_alive() && family.iter().all(|process| process.is_alive()));
    let stopped = Instant::now();
    executor.stop(1);
    let (status, stopped_by_us, _) = end(&to_the_end(&executor));
    let took = stopped.elapsed();
    assert_eq!((status, stopped_by_us), (ProcessStatus::Signaled(15), true));
    let alive: Vec<_> = family.iter().filter(|process| process.is_alive()).collect();
    assert!(alive.is_empty() && !leader.is_alive(), "{alive:?} are left");
    assert!(took >= GRACE, "the stubborn one had its grace period, not {took:?}");
}

#[test]
fn orphans_of_a_trial_that_ends_by_itself_go_with_it() {
    let folder = folder();
    let pids = folder.path().join("pids");
    let script = format!(
        "sh -c 'trap \"\" TERM; echo $$ >> {0}; while :; do sleep 600; done' & while [ ! -s {0} ]; do sleep 0.05; done",
        pids.display()
    );
    let kinds = run(&shell(folder.path(), 1, &script));
    assert_eq!(end(&kinds), (ProcessStatus::Exited(0), false, vec![]));
    assert!(wait_for_pids(&pids, 1).iter().all(|process| !process.is_alive()));
}

#[test]
fn a_daemon_that_holds_the_output_open_does_not_hold_the_trial() {
    let folder = folder();
    let pids = folder.path().join("pids");
    let script = format!(
        "setsid sh -c 'echo $$ > {0}; exec sleep 600' & while [ ! -s {0} ]; do sleep 0.05; done; echo '{{\"foretell\":{{\"acc\":1}}}}'",
        pids.display()
    );
    let kinds = run(&shell(folder.path(), 1, &script));
    assert_eq!(reports(&kinds), [(1, Some(1.0))]);
    assert_eq!(end(&kinds).0, ProcessStatus::Exited(0));
    for daemon in wait_for_pids(&pids, 1) {
        assert!(daemon.is_alive(), "it left the trial's group, so it is not the trial's any more");
        std::process::Command::new("kill").arg(daemon.pid.to_string()).status().expect("kill runs");
    }
}

#[test]
fn a_flood_of_output_neither_blocks_nor_hides_the_reports() {
    let folder = folder();
    let script = r#"head -c 20000000 /dev/zero | tr '\0' x; echo
        yes 'some words of a chatty program' | head -n 400000 >&2
        echo '{"foretell":{"step":1,"acc":0.5}}'"#;
    let kinds = run(&shell(folder.path(), 1, script));
    assert_eq!(reports(&kinds), [(1, Some(0.5))]);
    assert_eq!(end(&kinds).0, ProcessStatus::Exited(0));
}

#[test]
fn more_reports_than_the_channel_holds_wait_and_are_all_heard() {
    let folder = folder();
    let mut spec = shell(folder.path(), 1, "seq 5000");
    spec.metric = MetricSource::parse(r"^(\d+)$").expect("a pattern");
    let mut executor = LocalProcesses::new(GRACE);
    executor.start(&spec).expect("the trial starts");
    std::thread::sleep(Duration::from_millis(500)); // the consumer is slow: the channel fills up
    let values: Vec<f64> =
        reports(&to_the_end(&executor)).into_iter().filter_map(|(_, value)| value).collect();
    assert_eq!(values, (1..=5000).map(f64::from).collect::<Vec<f64>>());
}

#[test]
fn several_trials_at_once_are_told_apart() {
    let folder = folder();
    let mut executor = LocalProcesses::new(GRACE);
    for trial in 1..=6 {
        let script =
            format!(r#"for i in 1 2 3; do echo "{{\"foretell\":{{\"acc\":{trial}}}}}"; sleep 0.05; done"#);
        executor.start(&shell(folder.path(), trial, &script)).expect("the trial starts");
    }
    let mut heard: BTreeMap<u64, usize> = BTreeMap::new();
    let mut ended = 0;
    while ended < 6 {
        let TrialMessage { trial, kind } =
            executor.messages().recv_timeout(PATIENCE).expect("all trials end");
        match kind {
            MessageKind::Report(report) => {
                assert_eq!(report.value, Some(trial as f64));
                *heard.entry(trial).or_default() += 1;
            }
            MessageKind::Ended { .. } => {
                assert_eq!(heard.get(&trial), Some(&3), "the end comes last");
                ended += 1;
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The number of threads of this process.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").expect("Linux says").count()
}

#[test]
fn idle_trials_take_no_threads() {
    let folder = folder();
    let mut executor = LocalProcesses::new(GRACE);
    let before = threads();
    let ready = |trial| shell(folder.path(), trial, "echo '{\"foretell\":{\"acc\":1}}'; exec sleep 600");
    for trial in 1..=64 {
        executor.start(&ready(trial)).expect("the trial starts");
        executor.messages().recv_timeout(PATIENCE).expect("it reports");
    }
    // Other tests may have started threads, but not one for each of these pipes.
    let more = threads() - before;
    assert!(more < 32, "64 trials that print nothing took {more} threads");
    let stopped = Instant::now();
    drop(executor);
    assert!(stopped.elapsed() < PATIENCE, "they end together, not one after the other");
}

#[test]
fn a_trial_that_nobody_hears_is_stopped_all_the_same() {
    let folder = folder();
    let mut executor = LocalProcesses::new(GRACE);
    let mut flood = shell(folder.path(), 1, "trap '' TERM; exec seq 100000000");
    flood.metric = MetricSource::parse(r"^(\d+)$").expect("a pattern");
    let processes = [
        executor.start(&flood).expect("the trial starts"),
        executor.start(&shell(folder.path(), 2, "exec sleep 600")).expect("the trial starts"),
    ];
    std::thread::sleep(Duration::from_millis(300)); // the channel is full
    assert!(executor.stop(1) && executor.stop(2));
    let until = Instant::now() + PATIENCE;
    while processes.iter().any(|process| process.is_alive()) {
        assert!(Instant::now() < until, "a full channel does not keep trials alive");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut values = Vec::new();
    let mut ends = BTreeMap::new();
    while ends.len() < 2 {
        match executor.messages().recv_timeout(PATIENCE).expect("both end") {
            TrialMessage { kind: MessageKind::Report(report), .. } => values.extend(report.value),
            TrialMessage { trial, kind: MessageKind::Ended { stopped_by_us, .. } } => {
                ends.insert(trial, stopped_by_us);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ends, BTreeMap::from([(1, true), (2, true)]));
    let counted: Vec<f64> = (1..=values.len()).map(|value| value as f64).collect();
    assert_eq!(values, counted, "no report is lost or out of order");
}

#[test]
fn one_that_prints_without_end_does_not_keep_others_waiting() {
    let folder = folder();
    let mut executor = LocalProcesses::new(GRACE);
    let mut flood = shell(folder.path(), 1, "exec yes 1");
    flood.metric = MetricSource::parse(r"^(\d+)$").expect("a pattern");
    executor.start(&flood).expect("the trial starts");
    let mut quiet = shell(folder.path(), 2, "sleep 0.3; echo 7");
    quiet.metric = flood.metric.clone();
    executor.start(&quiet).expect("the trial starts");
    let heard = (0..20_000_000).find_map(|_| {
        let message = executor.messages().recv_timeout(PATIENCE).expect("one of them prints");
        (message.trial == 2).then_some(message.kind)
    });
    assert!(matches!(heard, Some(MessageKind::Report(report)) if report.value == Some(7.0)));
}

#[test]
fn dropping_the_executor_ends_its_trials_even_when_nobody_listens() {
    let folder = folder();
    let mut executor = LocalProcesses::new(GRACE);
    let mut flood = shell(folder.path(), 1, "seq 1000000; sleep 600");
    flood.metric = MetricSource::parse(r"^(\d+)$").expect("a pattern");
    let processes = [
        executor.start(&flood).expect("the trial starts"),
        executor
            .start(&shell(folder.path(), 2, "trap '' TERM; while :; do sleep 600; done"))
            .expect("the trial starts"),
    ];
    std::thread::sleep(Duration::from_millis(300));
    drop(executor);
    assert!(processes.iter().all(|process| !process.is_alive()));
    assert!(!folder.path().join("trial-1/process.json").exists());
}

#[test]
fn a_carriage_return_before_a_newline_is_part_of_the_end_of_a_line() {
    let folder = folder();
    let mut spec = shell(folder.path(), 1, r"for v in 5 4 3; do printf 'loss: 0.%d\r\r\n' $v; done");
    spec.metric = MetricSource::parse("loss").expect("a metric");
    let kinds = run(&spec);
    let settled = kinds.iter().flat_map(|kind| match kind {
        MessageKind::Settled(reports) => reports.clone(),
        MessageKind::Report(report) => vec![report.clone()],
        _ => Vec::new(),
    });
    let settled: Vec<_> = settled.map(|report| (report.step, report.value)).collect();
    assert_eq!(settled, [(1, Some(0.5)), (2, Some(0.4)), (3, Some(0.3))]);
}

#[test]
fn the_place_up_to_which_a_followed_file_was_read_is_told_after_its_reports() {
    let folder = folder();
    let path = folder.path().join("m.txt");
    fs::write(&path, "loss: 9.5\n").expect("it is written");
    let script = format!("for v in 5 4; do echo loss: 0.$v >> {}; done", path.display());
    let mut spec = shell(folder.path(), 1, &script);
    spec.metric = MetricSource::parse("loss").expect("a metric");
    spec.watch.follow = Some(path.display().to_string());
    let kinds = run(&spec);
    let read: Vec<(u64, u64)> = kinds
        .iter()
        .filter_map(|kind| match kind {
            MessageKind::Read(position) => Some((position.at, position.after)),
            _ => None,
        })
        .collect();
    assert_eq!((read.first(), read.last()), (Some(&(10, 0)), Some(&(30, 2))), "{kinds:?}");
}
