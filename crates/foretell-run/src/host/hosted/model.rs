//! Leases as a model: every interleaving of two workers and an owner over a trial of three reports.

use super::{HostError, MetricReading, StudyHost};
use crate::host::leases::Leases;
use foretell::Direction;
use foretell_search::{
    MemoryStore, ParameterSpace, Session, Space, StopPolicy, StudyParts, StudySpec, TrialState,
};
use std::path::Path;
use std::time::Duration;

const EPOCHS: u64 = 3;

/// The state of the checkpoints that the second worker finds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    /// The checkpoint of the last recorded step.
    Recorded,
    /// Nothing: it trains from the beginning.
    Nothing,
    /// One of the end, which is not recorded: it reports nothing.
    End,
}

/// The number of times that each message arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    Once,
    Twice,
    /// Again after the next message.
    AgainLater,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Message {
    Begin(u64),
    Report(u64),
    End,
}

struct Worker {
    name: &'static str,
    /// The amount added to its values, which distinguishes them from those of other workers.
    mark: f64,
    finds: Found,
    key: Option<String>,
    to_send: Vec<Message>,
    has_asked: bool,
    is_refused: bool,
    again: Option<Message>,
    /// The number of epochs it has trained and reported.
    trained: u64,
}

impl Worker {
    fn new(name: &'static str, mark: f64, finds: Found) -> Self {
        Self {
            name,
            mark,
            finds,
            key: None,
            to_send: Vec::new(),
            has_asked: false,
            is_refused: false,
            again: None,
            trained: 0,
        }
    }

    /// Does the next thing that it has to do, if there is any.
    fn act(&mut self, host: &mut StudyHost<MemoryStore>, line: Line) {
        if !self.has_asked {
            let Some(task) = host.ask(Some(self.name)).expect("it is stored") else { return };
            self.has_asked = true;
            self.key = task.lease.map(|(key, _)| key);
            let from = task.start.from;
            let first = match self.finds {
                _ if from == 0 => 0,
                Found::Recorded => from,
                Found::Nothing => {
                    self.to_send.push(Message::Begin(0));
                    0
                }
                Found::End => EPOCHS,
            };
            self.to_send.extend((first + 1..=EPOCHS).map(Message::Report));
            self.to_send.push(Message::End);
            self.to_send.reverse();
            return;
        }
        let Some(message) = self.to_send.pop() else { return };
        self.trained += u64::from(matches!(message, Message::Report(_)));
        self.send(host, message);
        match line {
            Line::Once => {}
            Line::Twice => self.send(host, message),
            Line::AgainLater => {
                if let Some(before) = self.again.replace(message) {
                    self.send(host, before);
                }
            }
        }
    }

    fn send(&mut self, host: &mut StudyHost<MemoryStore>, message: Message) {
        let key = self.key.clone();
        let key = key.as_deref();
        let sent = match message {
            Message::Begin(after) => host.begin_attempt(0, after, Some(1), key).map(|next| next.stop),
            Message::Report(step) => {
                let value = Some(self.mark + 0.1 * step as f64);
                let reading = MetricReading { step, value, ..MetricReading::default() };
                host.report(0, reading, key).map(|next| next.stop)
            }
            Message::End if self.is_refused => return,
            Message::End => host.tell(0, None, key).map(|_| false),
        };
        match sent {
            Ok(false) => {}
            // it ends its training, and says so
            Ok(true) => self.to_send.retain(|message| *message == Message::End),
            // another has its trial: it ends its training, whose reports so far are sent all the same
            Err(HostError::HeldElsewhere { .. }) => self.is_refused = true,
            Err(
                HostError::ConflictingValue { .. }
                | HostError::StepPassed { .. }
                | HostError::TrialEnded { .. },
            ) => {}
            Err(other) => panic!("{}: {message:?}: {other}", self.name),
        }
    }
}

fn spec() -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["x=float:0:1"]).expect("a space"));
    let usual = StudySpec::new(space, "acc", Direction::Maximize);
    StudySpec { trials: 1, max_resource: EPOCHS, policy: StopPolicy::none(), ..usual }
}

fn host(store: MemoryStore, folder: &Path) -> StudyHost<MemoryStore> {
    let session = Session::open(spec(), StudyParts::default(), store).expect("a session");
    let leases = Leases::new(Duration::from_secs(3600)).with_folder(folder);
    StudyHost::new(session).with_leases(leases).expect("a host")
}

/// All orders of `counts[0]` turns of the first, `counts[1]` of the second, ….
fn orders(counts: &mut [usize], order: &mut Vec<usize>, each: &mut dyn FnMut(&[usize])) {
    if counts.iter().all(|&count| count == 0) {
        return each(order);
    }
    for who in 0..counts.len() {
        if counts[who] > 0 {
            counts[who] -= 1;
            order.push(who);
            orders(counts, order, each);
            order.pop();
            counts[who] += 1;
        }
    }
}

/// Lets the first worker (0), the second (1) and the owner (2: the lease expires, 3: it is started again) act in this order.
fn run(order: &[usize], finds: Found, line: Line, folder: &Path) {
    let case = format!("{order:?}, the second finds {finds:?}, {line:?}");
    let _ = std::fs::remove_file(folder.join("leases.json"));
    let mut hosted = host(MemoryStore::default(), folder);
    let mut workers = [Worker::new("a", 1.0, Found::Recorded), Worker::new("b", 2.0, finds)];
    let mut is_known = true;
    for &who in order {
        match who {
            2 => hosted.leases.as_mut().expect("it has leases").expire_lease(0),
            3 => {
                is_known = false;
                hosted = host(hosted.session.store().clone(), folder);
            }
            // the first to ask is the first worker
            1 if !workers[0].has_asked => {}
            _ => workers[who].act(&mut hosted, line),
        }
    }
    for worker in &mut workers {
        while worker.has_asked && !worker.to_send.is_empty() {
            worker.act(&mut hosted, Line::Once);
        }
    }
    let spent = hosted.session.study().progress().spent;
    let trained: u64 = workers.iter().map(|worker| worker.trained).sum();
    assert!(if is_known { spent == trained } else { spent <= trained }, "{spent} of {trained}: {case}");
    // whatever became of them, the trial ends with its whole curve
    let mut last = Worker::new("c", 3.0, Found::Nothing);
    if let Some(leases) = hosted.leases.as_mut() {
        leases.expire_lease(0);
    }
    while !hosted.session.is_done() {
        let before = (last.has_asked, last.to_send.len());
        last.act(&mut hosted, Line::Once);
        let has_acted = before != (last.has_asked, last.to_send.len());
        assert!(has_acted || hosted.session.is_done(), "nobody gets the trial: {case}");
    }
    let trial = hosted.session.study().trial(0).expect("it was begun");
    assert!(matches!(trial.state, TrialState::Completed { .. }), "{:?}: {case}", trial.state);
    assert_eq!(trial.curve.steps(), [1.0, 2.0, 3.0], "{case}");
    let marks: Vec<u64> = trial.curve.scores().iter().map(|score| score.floor() as u64).collect();
    assert!(marks.is_sorted(), "a curve of two trainings that were apart: {marks:?}, {case}");
}

#[test]
fn in_every_order_of_two_workers_and_an_owner_the_curve_is_one_trainings_and_each_epoch_counts_once() {
    let folder = tempfile::tempdir().expect("a folder");
    for finds in [Found::Recorded, Found::Nothing, Found::End] {
        for line in [Line::Once, Line::Twice, Line::AgainLater] {
            orders(&mut [5, 5, 1], &mut Vec::new(), &mut |order| run(order, finds, line, folder.path()));
        }
    }
}

#[test]
fn the_same_holds_where_the_owner_is_started_again_in_between() {
    let folder = tempfile::tempdir().expect("a folder");
    for finds in [Found::Recorded, Found::Nothing] {
        orders(&mut [5, 4, 1, 1], &mut Vec::new(), &mut |order| run(order, finds, Line::Once, folder.path()));
    }
}

#[test]
fn a_worker_that_wakes_up_late_and_goes_on_from_anothers_checkpoint_has_trained_one_epoch() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut hosted = host(MemoryStore::default(), folder.path());
    let ask = |hosted: &mut StudyHost<MemoryStore>, name| {
        let task = hosted.ask(Some(name)).expect("it is stored").expect("there is a trial");
        task.lease.expect("it is leased").0
    };
    let late = ask(&mut hosted, "a");
    hosted.leases.as_mut().expect("it has leases").expire_lease(0);
    let other = ask(&mut hosted, "b");
    let reading = |step| MetricReading { step, value: Some(0.1 * step as f64), ..MetricReading::default() };
    for step in 1..=2 {
        hosted.report(0, reading(step), Some(&other)).expect("it holds the trial");
    }
    let refused = hosted.report(0, reading(2), Some(&late));
    assert!(matches!(refused, Err(HostError::HeldElsewhere { .. })), "{refused:?}");
    assert_eq!(hosted.session.study().progress().spent, 3, "epoch 2 was trained twice");
}
