//! One slot of a worker: a thread that asks for a training, passes on its reports, and obeys the answers.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::http_link::{HttpLink, RequestError};
use super::unsent::UnsentReports;
use crate::fleet::trainer::{AskAnswer, GivenTraining, StudyAnswer, StudyLink, TrainingMessage};
use crate::process::checkpoints::trial_directory;
use crate::supervised::{catch_panic, may_panic};

/// The pauses between tries while the server is away, or has nothing to do: from the first to the last.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// A slot whose training has ended waits at least so long for a server that is away.
const SERVER_AWAY_TIMEOUT: Duration = Duration::from_secs(600);
/// The time for which a worker that is asked to end tries to hand back its training.
const HAND_BACK_TIMEOUT: Duration = Duration::from_secs(8);

/// The wishes of a slot.
#[derive(Debug)]
pub(super) enum SlotRequest {
    /// A training to be started in slot number `.0`.
    Start(usize, GivenTraining),
    /// The training of a trial to be stopped.
    Stop(u64),
    /// The training of a trial is over; whether its checkpoints are of no more use.
    Over(u64, bool),
    /// Something to be said.
    Say(String),
    /// A slot has ended; the text says why, if that is an error.
    Ended(Option<String>),
}

/// One slot.
pub(super) struct WorkerSlot {
    pub(super) number: usize,
    pub(super) link: HttpLink,
    pub(super) heard: Receiver<TrainingMessage>,
    pub(super) wishes: Sender<SlotRequest>,
    /// Whether the worker is to end.
    pub(super) leaving: Arc<AtomicBool>,
    /// The time that a slot without a training stays.
    pub(super) idle_exit: Option<Duration>,
    /// The folder that the trials' folders are in.
    pub(super) directory: PathBuf,
    /// Whether the study's process removes checkpoints.
    pub(super) is_shared: bool,
}

/// A training on its way through a slot.
struct SlotTraining {
    given: GivenTraining,
    /// The messages not passed on yet.
    waiting: VecDeque<TrainingMessage>,
    unsent: UnsentReports,
    /// Since when the server is away.
    away: Option<Instant>,
    /// When the server was last heard.
    answered: Instant,
    /// Whether it was asked to stop.
    is_stopped: bool,
    /// Whether its process was asked for.
    is_started: bool,
}

/// Whether a training continues.
enum TrainingProgress {
    GoesOn,
    Over,
}

impl WorkerSlot {
    /// Trains until there is nothing more to do, the worker is to end, or there was nothing to do for long.
    pub(super) fn run(mut self) {
        let why = self.run_trainings().err();
        self.send_request(SlotRequest::Ended(why));
    }

    fn run_trainings(&mut self) -> Result<(), String> {
        let (mut idle_since, mut pause, mut said) = (Instant::now(), RETRY_PAUSES.0, false);
        while !self.is_leaving() {
            match self.link.ask() {
                Ok(AskAnswer::Task(given)) => {
                    let held = given.clone();
                    catch_panic(|| self.run_training(given))
                        .map_err(|why| self.hand_back_after_panic(&held, &why))?;
                    (idle_since, pause, said) = (Instant::now(), RETRY_PAUSES.0, false);
                    continue;
                }
                Ok(AskAnswer::Done) => return Ok(()),
                Ok(AskAnswer::Nothing) => {}
                // an earlier question of this worker came late: it is asked again by the next number
                Err(RequestError::Refused { field, .. }) if field.as_deref() == Some("turn") => {}
                Err(RequestError::Refused { text, .. }) => return Err(text),
                Err(RequestError::Away(text)) => {
                    if !std::mem::replace(&mut said, true) {
                        self.send_request(SlotRequest::Say(format!(
                            "the server is unreachable ({text}); trying again"
                        )));
                    }
                }
            }
            if self.idle_exit.is_some_and(|most| idle_since.elapsed() >= most) {
                return Ok(());
            }
            self.sleep_unless_leaving(pause);
            pause = (pause * 2).min(RETRY_PAUSES.1);
        }
        Ok(())
    }

    /// Hands back the training of a trial that this slot panicked about, and answers why the slot ends.
    fn hand_back_after_panic(&mut self, held: &GivenTraining, why: &str) -> String {
        let trial = held.trial();
        self.send_request(SlotRequest::Stop(trial));
        // where the server is away, the lease expires
        let _ = self.link.pass_on(held, &TrainingMessage::HandedBack);
        format!(
            "the worker panicked while it passed on the reports of trial {trial} ({why}), and has handed it back. This is a bug: please report it"
        )
    }

    /// Sleeps for `time`, or until the worker is to end.
    fn sleep_unless_leaving(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_leaving() && Instant::now() < until {
            std::thread::sleep(RETRY_PAUSES.0.min(until.saturating_duration_since(Instant::now())));
        }
    }

    fn run_training(&mut self, given: GivenTraining) {
        let (unsent, left) = UnsentReports::in_folder(&trial_directory(&self.directory, given.trial()));
        // what the worker before could not send
        let waiting: VecDeque<TrainingMessage> = left.into_iter().map(TrainingMessage::Report).collect();
        let answered = Instant::now();
        let mut training = SlotTraining {
            given,
            waiting,
            unsent,
            away: None,
            answered,
            is_stopped: false,
            is_started: false,
        };
        if !self.pass_on_unsent(&mut training) {
            return;
        }
        if training.is_stopped || training.given.start.from >= training.given.start.until {
            training.waiting.push_back(TrainingMessage::Finished);
        } else {
            training.is_started = true;
            self.send_request(SlotRequest::Start(self.number, training.given.clone()));
        }
        while let TrainingProgress::GoesOn = self.exchange_messages(&mut training) {}
    }

    /// Passes on messages that the worker before could not send: the training continues after it. Answers if the trial is still held.
    fn pass_on_unsent(&mut self, training: &mut SlotTraining) -> bool {
        let steps = training.waiting.iter().filter_map(|heard| match heard {
            TrainingMessage::Report(reading) => Some(reading.step),
            _ => None,
        });
        let steps = steps.max();
        let reached = steps.unwrap_or(0).max(training.given.start.from);
        while !training.waiting.is_empty() && !self.is_leaving() {
            if let TrainingProgress::Over = self.exchange_messages(training) {
                return false;
            }
        }
        if training.waiting.is_empty() {
            training.given.start.from = reached;
            training.given.start.reported = training.given.start.reported.max(steps);
        } else {
            training.waiting.push_back(TrainingMessage::HandedBack);
        }
        true
    }

    /// Takes in what is heard of the training, and passes the first of it on; shows that it is alive where nothing is heard.
    fn exchange_messages(&mut self, training: &mut SlotTraining) -> TrainingProgress {
        may_panic("slot");
        // a third, so that two renewals may fail before the lease expires
        let renewal = training.given.lease / 3;
        let wait = match (training.away, training.waiting.is_empty()) {
            (Some(since), _) => since.elapsed().clamp(RETRY_PAUSES.0, RETRY_PAUSES.1),
            (None, false) => Duration::ZERO,
            (None, true) => renewal.saturating_sub(training.answered.elapsed()),
        };
        if !self.receive_messages(training, wait) {
            return TrainingProgress::Over;
        }
        let is_due = training.answered.elapsed() >= renewal;
        let heard = match training.waiting.front() {
            Some(heard) => heard,
            None if is_due || training.away.is_some() => &TrainingMessage::Alive,
            None => return TrainingProgress::GoesOn,
        };
        match self.link.pass_on(&training.given, heard) {
            Ok(sent) => self.obey_answer(training, sent),
            // a server that was started again has another token, so that a wrong one is no reason to give up a training
            Err(RequestError::Away(text) | RequestError::Refused { status: 401 | 403, text, .. }) => {
                self.wait_for_server(training, &text)
            }
            Err(RequestError::Refused { text, field, .. }) => {
                let is_report = matches!(training.waiting.front(), Some(TrainingMessage::Report(_)));
                // only this report is wrong: the training continues, because this worker still holds the trial
                if is_report && field.as_deref().is_some_and(|field| ["value", "step"].contains(&field)) {
                    self.send_request(SlotRequest::Say(format!("a report is not recorded: {text}")));
                    training.waiting.pop_front();
                    return TrainingProgress::GoesOn;
                }
                self.abandon_training(training, &text)
            }
        }
    }

    /// Takes in what is heard, and waits up to `wait` for the first; `false` if nobody runs trainings any more.
    fn receive_messages(&self, training: &mut SlotTraining, wait: Duration) -> bool {
        let first = match self.heard.recv_timeout(wait) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        for heard in std::iter::once(first).chain(self.heard.try_iter()) {
            if let TrainingMessage::Report(reading) = &heard {
                // before it is sent: this process may be killed while a server that hangs holds it up
                training.unsent.keep(reading, &training.given.key);
            }
            training.waiting.push_back(heard);
        }
        true
    }

    fn obey_answer(&self, training: &mut SlotTraining, sent: StudyAnswer) -> TrainingProgress {
        if let Some(since) = training.away.take() {
            let seconds = since.elapsed().as_secs();
            self.send_request(SlotRequest::Say(format!("the server is back after {seconds} s")));
        }
        training.answered = Instant::now();
        training.waiting.pop_front();
        if training.waiting.is_empty() {
            training.unsent.clear();
        }
        let trial = training.given.trial();
        match sent {
            StudyAnswer::Stops if !std::mem::replace(&mut training.is_stopped, true) => {
                self.send_request(SlotRequest::Stop(trial));
                TrainingProgress::GoesOn
            }
            StudyAnswer::Stops | StudyAnswer::GoesOn => TrainingProgress::GoesOn,
            StudyAnswer::Ended(state) => {
                // a trial in one of these states may train on, here or elsewhere, or be the best, so that its checkpoints must stay
                let is_of_use = ["paused", "handed_back", "completed", "running"].contains(&state.as_str());
                self.send_request(SlotRequest::Over(trial, !self.is_shared && !is_of_use));
                TrainingProgress::Over
            }
        }
    }

    /// The server is away: reports wait on disk, and the training continues.
    fn wait_for_server(&self, training: &mut SlotTraining, why: &str) -> TrainingProgress {
        let is_first = training.away.is_none();
        let since = *training.away.get_or_insert_with(Instant::now);
        if is_first {
            let trial = training.given.trial();
            self.send_request(SlotRequest::Say(format!(
                "the server is unreachable ({why}); trial {trial} continues, and its reports are stored on disk"
            )));
        }
        let patience = if self.is_leaving() {
            Some(HAND_BACK_TIMEOUT)
        } else {
            self.idle_exit.map(|it| it.max(SERVER_AWAY_TIMEOUT))
        };
        if training.has_ended() && patience.is_some_and(|most| since.elapsed() >= most) {
            self.send_request(SlotRequest::Over(training.given.trial(), false));
            return TrainingProgress::Over;
        }
        TrainingProgress::GoesOn
    }

    /// The trial is not this worker's any more: its training is ended. What it has reported was trained, and is sent to be counted.
    fn abandon_training(&mut self, training: &mut SlotTraining, why: &str) -> TrainingProgress {
        let trial = training.given.trial();
        self.send_request(SlotRequest::Say(format!("trial {trial} is left: {why}")));
        self.send_request(SlotRequest::Stop(trial));
        let is_over = training.has_ended() || !training.is_started;
        training.waiting.pop_front(); // what was refused, if it was not `renew`
        while !is_over && !training.has_ended() && self.receive_messages(training, RETRY_PAUSES.1) {}
        while let Some(heard) = training.waiting.pop_front() {
            if let TrainingMessage::Report(_) = heard
                && let Err(RequestError::Away(_)) = self.link.pass_on(&training.given, &heard)
            {
                break;
            }
        }
        training.unsent.clear();
        self.send_request(SlotRequest::Over(trial, false));
        TrainingProgress::Over
    }

    fn send_request(&self, wish: SlotRequest) {
        // without anybody who fulfills it, the worker has ended
        let _ = self.wishes.send(wish);
    }

    fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst)
    }
}

impl SlotTraining {
    /// Whether its process has ended.
    fn has_ended(&self) -> bool {
        self.waiting.iter().any(TrainingMessage::is_end)
    }
}

#[cfg(test)]
mod tests {
    use super::{SlotRequest, WorkerSlot};
    use crate::fleet::worker::http_link::HttpLink;
    use crate::host::access::ServerAccess;
    use crate::supervised::{faults, spawn_supervised};
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    const GIVEN: &str = r#"{"schema": "foretell.ask/1", "done": false, "start": {"trial": 3, "configuration": {"lr": 0.1}, "seed": 1, "from": 0, "until": 5, "lease": "a-0", "lease_seconds": 60.0}}"#;
    const TOLD: &str = r#"{"schema": "foretell.told/1", "trial": 3, "state": "handed_back", "done": false}"#;

    /// A server that gives a trial to whoever asks, and passes on what it is told.
    fn serve(listener: &TcpListener, told: &Sender<(String, String)>) {
        for client in listener.incoming() {
            let mut client = BufReader::new(client.expect("a connection"));
            let (mut head, mut length) = (String::new(), 0);
            client.read_line(&mut head).expect("a request");
            loop {
                let mut line = String::new();
                client.read_line(&mut line).expect("a header");
                let line = line.trim().to_ascii_lowercase();
                if let Some(bytes) = line.strip_prefix("content-length:") {
                    length = bytes.trim().parse().expect("a length");
                }
                if line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            client.read_exact(&mut body).expect("a body");
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let answer = if path.ends_with("/ask") { GIVEN } else { TOLD };
            let bytes = answer.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\nconnection: close\r\n\r\n{answer}");
            client.get_mut().write_all(answer.as_bytes()).expect("it is answered");
            if told.send((path, String::from_utf8_lossy(&body).into_owned())).is_err() {
                return;
            }
        }
    }

    #[test]
    fn a_slot_that_panics_hands_its_trial_back_and_says_why_it_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (sender, requests) = channel();
        spawn_supervised("server", move || serve(&listener, &sender), |why| panic!("{why}"))
            .expect("a thread");
        let folder = tempfile::tempdir().expect("a folder");
        let access = ServerAccess { addresses: vec![address], token: None, file: None };
        let ((_, heard), (wishes, wished)) = (channel(), channel());
        let slot = WorkerSlot {
            number: 0,
            link: HttpLink::new(access, "study".to_owned(), "worker/0".to_owned()),
            heard,
            wishes,
            leaving: Arc::default(),
            idle_exit: None,
            directory: folder.path().to_owned(),
            is_shared: false,
        };
        faults::arm("slot", 0);
        slot.run();
        let wishes: Vec<SlotRequest> = wished.try_iter().collect();
        assert!(
            matches!(
                wishes.as_slice(),
                [SlotRequest::Start(0, _), SlotRequest::Stop(3), SlotRequest::Ended(Some(_))]
            ),
            "{wishes:?}"
        );
        let Some(SlotRequest::Ended(Some(why))) = wishes.last() else { return };
        assert!(why.contains("an injected panic in slot") && why.contains("trial 3"), "{why}");
        let requests: Vec<(String, String)> = requests.try_iter().collect();
        let is_back = |(path, body): &(String, String)| {
            path == "/api/studies/study/trials/3/tell"
                && body.contains(r#""handed_back":true"#)
                && body.contains(r#""lease":"a-0""#)
        };
        assert_eq!(requests.iter().filter(|request| is_back(request)).count(), 1, "{requests:?}");
    }
}
