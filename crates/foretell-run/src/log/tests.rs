//! Tests of the event log: crashes at every byte, flips of every bit, failures of every write.

use std::io;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::file::Displacement;
use super::line::LineProblem;
use super::salvage::SalvagedRecord;
use super::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Event {
    trial: u64,
    what: String,
    value: Option<f64>,
}

fn event(trial: u64) -> Event {
    Event { trial, what: format!("report\n\u{e9} \"{trial}\""), value: Some(0.1 + trial as f64) }
}

fn events(count: u64) -> Vec<Event> {
    (1..=count).map(event).collect()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn open(path: &Path) -> OpenedLog<Event> {
    EventLog::open(path).expect("the log opens")
}

fn encode<R: Serialize>(record: &R) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::new();
    encode_into(&mut line, STAMP, record).map(|()| line)
}

const STAMP: LineStamp = LineStamp { number: 1, run: 1, time: 1_763_908_529_123 };

/// The bytes of a log that holds `records`.
fn bytes_of(records: &[Event]) -> Vec<u8> {
    let mut lines = Vec::new();
    for (number, record) in (1..).zip(records) {
        encode_into(&mut lines, LineStamp { number, ..STAMP }, record).expect("an event encodes");
    }
    lines
}

#[test]
fn reads_back_what_was_written() {
    let folder = folder();
    let path = folder.path().join("study/events.jsonl");
    let mut opened = open(&path);
    assert!(opened.records.is_empty() && opened.log.is_empty());
    for record in events(5) {
        opened.log.append(&record).expect("there is room");
    }
    opened.log.sync().expect("the device works");
    drop(opened);
    let again = open(&path);
    assert_eq!(again.records, events(5));
    assert_eq!((again.log.len(), again.torn_line), (5, None));
}

#[test]
fn an_appended_record_is_in_the_file_before_append_returns() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut log = open(&path).log;
    for count in 1..=3 {
        log.append(&event(count)).expect("there is room");
        let (records, dropped) = read_log::<Event>(&path).expect("readable while it is written");
        assert_eq!((records, dropped), (events(count), None));
    }
}

#[test]
fn a_second_writer_is_refused_with_the_holder_named_even_through_a_linked_folder() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let first = open(&path);
    let link = folder.path().join("link/events.jsonl");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).expect("a link is made");
    for name in [&path, &link] {
        let refusal = EventLog::<Event>::open(name).expect_err("the log is held").to_string();
        assert!(refusal.contains(&format!("process {}", std::process::id())), "{refusal}");
    }
    drop(first);
    open(&link);
}

#[test]
fn a_log_that_is_a_link_is_refused_and_what_it_points_to_is_left_alone() {
    let folder = folder();
    let (path, victim) = (folder.path().join("events.jsonl"), folder.path().join("victim"));
    std::fs::write(&victim, "a line without end").expect("a file is written");
    std::os::unix::fs::symlink(&victim, &path).expect("a link is made");
    let refusals = [
        EventLog::<Event>::open(&path).map(drop).expect_err("it is a link"),
        LogSalvage::<Event>::open_locked(&path).map(drop).expect_err("it is a link"),
    ];
    for refusal in refusals {
        assert!(refusal.to_string().contains("symbolic link"), "{refusal}");
    }
    assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "a line without end");
}

#[test]
fn removing_the_file_that_names_the_writer_lets_no_second_one_in() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut first = open(&path).log;
    first.append(&event(1)).expect("there is room");
    std::fs::remove_file(with_suffix(&path, ".lock")).expect("it is there");
    let refusal = EventLog::<Event>::open(&path).expect_err("it is held");
    assert!(matches!(refusal, EventLogError::Lock(_)), "{refusal}");
    first.append(&event(2)).expect("the first goes on");
    drop(first);
    assert_eq!(open(&path).records, events(2));
}

#[test]
fn cut_at_any_byte_it_reopens_with_a_prefix_and_takes_new_records() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let whole = bytes_of(&events(4));
    let ends: Vec<usize> = (0..=4).map(|count| bytes_of(&events(count)).len()).collect();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).expect("a file is written");
        let kept = ends.iter().filter(|&&end| end <= cut).count() - 1;
        let mut opened = open(&path);
        assert_eq!(opened.records, events(kept as u64), "cut at byte {cut}");
        let torn = (cut - ends[kept]) as u64;
        assert_eq!(opened.torn_line.as_ref().map_or(0, |dropped| dropped.bytes), torn, "cut at byte {cut}");
        opened.log.append(&event(99)).expect("there is room");
        drop(opened);
        let mut expected = events(kept as u64);
        expected.push(event(99));
        let again = open(&path);
        assert_eq!(
            (again.records, again.torn_line),
            (expected, None),
            "cut at byte {cut}, written and reopened"
        );
    }
}

#[test]
fn no_flipped_bit_goes_unnoticed() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let whole = bytes_of(&events(3));
    let mut refused = 0;
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).expect("a file is written");
        match EventLog::<Event>::open(&path) {
            Err(EventLogError::Line { line, .. }) => {
                assert!(line <= 3, "bit {bit}: line {line}");
                assert_eq!(
                    std::fs::read(&path).expect("readable"),
                    bytes,
                    "bit {bit}: a refused log is left alone"
                );
                refused += 1;
            }
            Err(error) => panic!("bit {bit}: {error}"),
            // Only the case of a checksum's hexadecimal digit can change without a change of meaning.
            Ok(opened) => assert_eq!((opened.records, opened.torn_line), (events(3), None), "bit {bit}"),
        }
    }
    assert!(refused > 7 * whole.len(), "refused {refused}");
}

/// Only the beginning of one line is torn. Whatever else stands at the end may have been acknowledged records.
#[test]
fn damage_at_the_end_is_not_taken_for_a_torn_line() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let whole = bytes_of(&events(9));
    let (two, three) = (bytes_of(&events(2)).len(), bytes_of(&events(3)).len());
    let zeroed = |range: std::ops::Range<usize>| {
        let mut bytes = whole.clone();
        bytes[range].fill(0);
        bytes
    };
    let with = |end: &[u8]| [&whole[..three], end].concat();
    let cases = [
        (zeroed(three - 1..whole.len() - 1), "the lines from 3 on are one"),
        (zeroed(two..whole.len()), "all after line 2 is zero"),
        (zeroed(three + 9..whole.len() - 20), "one line begins as it should and ends as another"),
        (zeroed(whole.len() - 1..whole.len()), "the last newline is zero"),
        (with(&[0; 4096]), "zeros at the end"),
        (with(b"rubbish"), "rubbish without a newline"),
        (with(b"\n"), "an empty line"),
        (with(b"{\"v\":2,\"crc\":\"00000000\",\"seq\":4\n"), "a part of a line with a newline"),
        (with(&whole[bytes_of(&events(5)).len()..whole.len() - 9]), "lines are missing before a torn one"),
        (with(&[&whole[three..three + 50], &whole[..9]].concat()), "two parts of lines"),
    ];
    for (damaged, name) in cases {
        std::fs::write(&path, &damaged).expect("a file is written");
        let error = EventLog::<Event>::open(&path).expect_err(name);
        assert!(error.to_string().contains("--repair"), "{name}: {error}");
        assert_eq!(std::fs::read(&path).expect("readable"), damaged, "{name}: a refused log is left alone");
        let salvage = LogSalvage::<Event>::open_locked(&path).expect("nobody writes it");
        assert!(!salvage.unsound_lines().is_empty(), "{name}");
        let aside = salvage.write_repaired(&as_it_is()).expect("there is room");
        assert_eq!(std::fs::read(aside).expect("readable"), damaged, "{name}: a copy is kept");
    }
}

#[test]
fn damage_before_the_last_line_names_file_line_and_remedy() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let text = String::from_utf8(bytes_of(&events(3))).expect("JSON is UTF-8");
    let damaged = text.replacen("\"trial\":2", "\"trial\":7", 1);
    std::fs::write(&path, &damaged).expect("a file is written");
    let message = EventLog::<Event>::open(&path).expect_err("the log is damaged").to_string();
    let first = format!("first {} bytes", bytes_of(&events(1)).len());
    for part in ["events.jsonl", "line 2", "checksum", "1 records before", &first, "Restore"] {
        assert!(message.contains(part), "{part:?} is missing in {message:?}");
    }
}

#[test]
fn a_lost_newline_does_not_make_an_acknowledged_record_part_of_the_torn_end() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut bytes = bytes_of(&events(3));
    bytes[bytes_of(&events(2)).len() - 1] ^= 1;
    std::fs::write(&path, &bytes).expect("a file is written");
    let error = EventLog::<Event>::open(&path).expect_err("two records stand in one line");
    assert!(
        matches!(error, EventLogError::Line { line: 2, problem: LineProblem::JoinedRecords, .. }),
        "{error}"
    );
}

#[test]
fn a_record_of_another_program_is_never_dropped() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let stranger = encode(&"no event").expect("a string encodes");
    std::fs::write(&path, &stranger).expect("a file is written");
    let error = EventLog::<Event>::open(&path).expect_err("it is no event");
    assert!(
        matches!(error, EventLogError::Line { line: 1, problem: LineProblem::Record { .. }, .. }),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).expect("readable"), stranger);
}

/// A file in memory whose n-th write takes `taken` bytes and whose next `failures` operations then fail.
struct Faulty {
    contents: Arc<Mutex<Vec<u8>>>,
    writes_before: usize,
    taken: usize,
    failures: usize,
    kind: io::ErrorKind,
}

impl Faulty {
    fn fails(&mut self) -> io::Result<()> {
        if self.writes_before == 0 && self.taken == 0 && self.failures > 0 {
            self.failures -= 1;
            return Err(self.kind.into());
        }
        Ok(())
    }
}

impl LogFile for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.fails()?;
        let short = self.writes_before == 0 && self.taken > 0;
        let count = if short { self.taken.min(bytes.len()) } else { bytes.len() };
        if short {
            self.taken = 0;
        }
        self.writes_before = self.writes_before.saturating_sub(1);
        self.contents.lock().expect("no test thread panicked").extend(&bytes[..count]);
        Ok(count)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.fails()?;
        self.contents.lock().expect("no test thread panicked").truncate(length as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.fails()
    }

    fn displacement_at(&self, _path: &Path, _length: u64, _torn: bool) -> Option<Displacement> {
        None
    }
}

fn faulty_log(faulty: Faulty) -> EventLog<Event> {
    EventLog {
        path: PathBuf::from("events.jsonl"),
        file: Box::new(faulty),
        end: LogPosition::START,
        run: 1,
        stamp: None,
        torn: false,
        _lock: None,
        _record: PhantomData,
    }
}

/// The records that opening a file with these contents would give.
fn records_of_file(folder: &TempDir, contents: &[u8]) -> Vec<Event> {
    let path = folder.path().join("copy.jsonl");
    std::fs::write(&path, contents).expect("a file is written");
    read_log(&path).expect("the log is readable").0
}

#[test]
fn whichever_write_fails_nothing_acknowledged_is_lost_and_writing_goes_on() {
    let folder = folder();
    let line = bytes_of(&events(1)).len();
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::Other] {
        for writes_before in 0..6 {
            for taken in [0, 1, line / 2, line - 1] {
                // One failure: the write's. Two: mending fails, too. Five: several appends in a row fail.
                for failures in [1, 2, 5] {
                    let contents = Arc::new(Mutex::new(Vec::new()));
                    let case = format!("{kind}, {writes_before} writes, {taken} bytes, {failures} failures");
                    let file = Faulty { contents: contents.clone(), writes_before, taken, failures, kind };
                    let mut log = faulty_log(file);
                    let mut acknowledged = Vec::new();
                    let mut refusals = 0;
                    for record in events(12) {
                        match log.append(&record) {
                            Ok(()) => acknowledged.push(record.clone()),
                            Err(EventLogError::Write { acknowledged: count, .. }) => {
                                assert_eq!(count, acknowledged.len() as u64, "{case}");
                                refusals += 1;
                            }
                            Err(error) => panic!("{case}: {error}"),
                        }
                        let now = contents.lock().expect("no test thread panicked").clone();
                        assert_eq!(
                            records_of_file(&folder, &now),
                            acknowledged,
                            "{case}, after trial {}",
                            record.trial
                        );
                    }
                    assert!((1..=5).contains(&refusals), "{case}: {refusals} refusals");
                    assert_eq!(acknowledged.len() + refusals, 12, "{case}");
                }
            }
        }
    }
}

#[test]
fn a_full_disk_is_called_by_its_name() {
    let cases = [
        (io::ErrorKind::StorageFull, "is full", "Free some space"),
        (io::ErrorKind::QuotaExceeded, "quota", "Free some space"),
        (io::ErrorKind::Other, "cannot write", "Check the device"),
    ];
    for (kind, what, advice) in cases {
        let contents = Arc::new(Mutex::new(Vec::new()));
        let mut log = faulty_log(Faulty { contents, writes_before: 2, taken: 0, failures: 1, kind });
        for record in events(2) {
            log.append(&record).expect("there is room");
        }
        let message = log.append(&event(3)).expect_err("the third write fails").to_string();
        for part in [what, advice, "events.jsonl", "2 acknowledged"] {
            assert!(message.contains(part), "{part:?} is missing in {message:?}");
        }
        log.append(&event(3)).expect("the failure is over");
    }
}

#[test]
fn a_real_full_device_refuses_and_says_so() {
    let Ok(full) = OpenOptions::new().append(true).open("/dev/full") else { return };
    let path = PathBuf::from("/dev/full");
    let mut log = EventLog::<Event> { file: Box::new(full), path, ..faulty_log(never_failing()) };
    let message = log.append(&event(1)).expect_err("the device is always full").to_string();
    assert!(message.contains("is full"), "{message}");
}

fn never_failing() -> Faulty {
    let contents = Arc::new(Mutex::new(Vec::new()));
    Faulty { contents, writes_before: 0, taken: 0, failures: 0, kind: io::ErrorKind::Other }
}

#[test]
fn a_failed_sync_is_reported_and_does_not_unwrite() {
    let faulty = Faulty { writes_before: 1, failures: 1, ..never_failing() };
    let contents = faulty.contents.clone();
    let mut log = faulty_log(faulty);
    log.append(&event(1)).expect("there is room");
    let message = log.sync().expect_err("the device refuses").to_string();
    assert!(message.contains("1 records are written"), "{message}");
    assert_eq!(records_of_file(&folder(), &contents.lock().expect("no test thread panicked")), events(1));
}

#[test]
fn a_record_that_would_be_read_back_as_another_is_refused_by_its_value_and_not_written() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut log = open(&path).log;
    log.append(&event(1)).expect("there is room");
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let bad = Event { value: Some(value), ..event(2) };
        let message = log.append_all(&[event(2), bad]).expect_err("JSON has no such number").to_string();
        assert!(message.contains(&format!("value: Some({value:?}) }} would be read back as")), "{message}");
    }
    log.append(&event(3)).expect("the log goes on");
    drop(log);
    assert_eq!(open(&path).records, [event(1), event(3)]);
}

/// Is written as an object, and read as a number.
#[derive(Debug, PartialEq)]
struct OneWay;

impl Serialize for OneWay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("a", 1)])
    }
}

impl<'de> Deserialize<'de> for OneWay {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(|_| Self)
    }
}

#[test]
fn a_record_that_its_own_reader_refuses_is_not_written() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut log = EventLog::<OneWay>::open(&path).expect("the log opens").log;
    let error = log.append(&OneWay).expect_err("it cannot be read back");
    assert!(matches!(error, EventLogError::Unreadable { .. }), "{error}");
    assert_eq!(fs::metadata(&path).expect("it is there").len(), 0);
}

#[test]
fn a_log_is_read_from_any_record_on() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut log = open(&path).log;
    let mut positions = vec![LogPosition::START];
    for record in events(4) {
        log.append(&record).expect("there is room");
        positions.push(log.end_position());
    }
    for (from, &position) in positions.iter().enumerate() {
        let mut reader = log.read_from(position).expect("a record begins there");
        let read: Vec<Event> = reader.by_ref().collect::<Result<_, _>>().expect("the log is good");
        assert_eq!((read.as_slice(), reader.position()), (&events(4)[from..], log.end_position()));
        let saved = serde_json::to_string(&position).expect("a position is JSON");
        assert_eq!(serde_json::from_str::<LogPosition>(&saved).expect("it is readable"), position);
    }
    for bytes in [1, log.end_position().bytes - 1, log.end_position().bytes + 1, u64::MAX] {
        let error = log.read_from(LogPosition { records: 1, bytes }).expect_err("inside or beyond");
        assert!(error.to_string().contains(&format!("byte {bytes}")), "{error}");
    }
}

#[test]
fn a_log_is_read_no_further_than_to_its_last_acknowledged_record() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut log = open(&path).log;
    log.append(&event(1)).expect("there is room");
    let mut file = OpenOptions::new().append(true).open(&path).expect("it is there");
    io::Write::write_all(&mut file, b"{\"v\":1,\"crc\":\"0").expect("there is room");
    let mut reader = log.read_from(LogPosition::START).expect("it opens");
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!(reader.torn_line(), None);
    let mut reader = LogReader::<Event>::open(&path, LogPosition::START).expect("it opens");
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!(reader.torn_line().map(|dropped| (dropped.line, dropped.bytes)), Some((2, 15)));
}

#[test]
fn a_line_of_a_newer_program_is_not_called_damaged() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let cases = [
        (encode(&"no event").expect("a string encodes"), "this program cannot read it: invalid type"),
        (b"{\"v\":9,\"crc\":\"00000000\",\"record\":7}\n".to_vec(), "format version is 9"),
    ];
    for (line, expected) in cases {
        std::fs::write(&path, [bytes_of(&events(1)), line].concat()).expect("a file is written");
        let message = EventLog::<Event>::open(&path).expect_err(expected).to_string();
        for part in ["line 2", expected, "newer foretell", "was not changed"] {
            assert!(message.contains(part), "{part:?} is missing in {message:?}");
        }
        assert!(!message.contains("restore") && !message.contains("at line"), "{message}");
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let value = any::<Option<f64>>().prop_map(|value| value.filter(|value| value.is_finite()));
    (any::<u64>(), any::<String>(), value).prop_map(|(trial, what, value)| Event { trial, what, value })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_and_number_comes_back_as_it_was(what in any::<String>(), value in any::<f64>(), trial: u64) {
        let record = Event { trial, what, value: Some(value).filter(|value| value.is_finite()) };
        let line = encode(&record).expect("an event encodes");
        prop_assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        prop_assert_eq!(decode_line::<Event>(&line), Ok((Some(STAMP), record)));
    }

    #[test]
    fn any_records_in_any_batches_come_back_and_a_cut_loses_only_the_end(
        batches in prop::collection::vec(prop::collection::vec(any_event(), 0..4), 0..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let folder = folder();
        let path = folder.path().join("events.jsonl");
        let mut log = open(&path).log;
        let mut ends = vec![0];
        for batch in &batches {
            log.append_all(batch).expect("there is room");
        }
        let written = batches.concat();
        for count in 1..=written.len() {
            ends.push(bytes_of(&written[..count]).len() as u64);
        }
        prop_assert_eq!(log.end_position(), LogPosition { records: written.len() as u64, bytes: ends[written.len()] });
        drop(log);
        let (records, dropped) = read_log::<Event>(&path).expect("readable");
        prop_assert_eq!((&records, dropped), (&written, None));

        let at = cut.index(ends[written.len()] as usize + 1) as u64;
        OpenOptions::new().write(true).open(&path).expect("it is there").set_len(at).expect("it is cut");
        let kept = ends.iter().filter(|&&end| end <= at).count() - 1;
        let mut seen = Vec::new();
        let (mut log, dropped) =
            EventLog::<Event>::open_each(&path, |record, _| seen.push(record)).expect("a torn end is no error");
        prop_assert_eq!(&seen[..], &written[..kept]);
        prop_assert_eq!(dropped.map_or(0, |dropped| dropped.bytes), at - ends[kept]);
        log.append_all(&written).expect("there is room");
        let again = log.read_from(LogPosition::START).expect("it opens").collect::<Result<Vec<_>, _>>();
        prop_assert_eq!(again.expect("the log is good"), [&written[..kept], &written[..]].concat());
    }
}

/// The lines of a log of five records.
fn five_lines() -> Vec<Vec<u8>> {
    bytes_of(&events(5)).split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

#[test]
fn a_line_taken_out_doubled_or_moved_is_found_and_named() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let pick = |places: &[usize]| places.iter().flat_map(|&place| five_lines()[place].clone()).collect();
    let cases: [(Vec<u8>, &str, &str); 6] = [
        (pick(&[0, 1, 3, 4]), "line 3: its sequence number is 4 instead of 3", "line 3 was removed"),
        (pick(&[0, 3, 4]), "line 2: its sequence number is 4 instead of 2", "2 lines before it were removed"),
        (pick(&[0, 1, 1, 2, 3, 4]), "line 3: its sequence number is 2", "a copy of line 2"),
        (pick(&[0, 2, 1, 3, 4]), "line 2: its sequence number is 3", "was removed or moved"),
        (pick(&[0, 1, 2, 3, 4, 4]), "line 6: its sequence number is 5", "a copy of line 5"),
        (pick(&[1, 2]), "line 1: its sequence number is 2", "line 1 was removed"),
    ];
    for (bytes, first, second) in cases {
        std::fs::write(&path, &bytes).expect("a file is written");
        let message = EventLog::<Event>::open(&path).expect_err("it is not whole").to_string();
        for part in [first, second, "study doctor", "--repair"] {
            assert!(message.contains(part), "{part:?} is missing in {message:?}");
        }
        assert_eq!(std::fs::read(&path).expect("readable"), bytes, "a refused log is left alone");
    }
}

#[test]
fn lines_without_numbers_may_only_come_first() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let old = |record: &Event| {
        let text = serde_json::to_string(record).expect("an event encodes");
        format!("{{\"v\":1,\"crc\":\"{:08x}\",\"record\":{text}}}\n", crc32fast::hash(text.as_bytes()))
    };
    std::fs::write(&path, old(&event(1)) + &old(&event(2))).expect("a file is written");
    let mut opened = open(&path);
    assert_eq!((opened.records, opened.log.run_number()), (events(2), 1));
    opened.log.append(&event(3)).expect("there is room");
    drop(opened.log);
    let mut reader = LogReader::<Event>::open(&path, LogPosition::START).expect("it opens");
    assert_eq!(reader.nth(1).expect("a record").expect("good"), event(2));
    assert_eq!(reader.last_stamp(), None);
    assert_eq!(reader.next().expect("a record").expect("good"), event(3));
    assert_eq!(reader.last_stamp().map(|stamp| (stamp.number, stamp.run)), Some((3, 1)));
    let text = std::fs::read_to_string(&path).expect("readable") + &old(&event(4));
    std::fs::write(&path, text).expect("a file is written");
    let message = EventLog::<Event>::open(&path).expect_err("it was put there").to_string();
    assert!(message.contains("line 4: it contains no sequence number"), "{message}");
}

#[test]
fn each_opening_that_writes_has_a_number_and_times_do_not_fall() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    for record in events(3) {
        drop(open(&path)); // an opening that writes nothing leaves no number
        open(&path).log.append(&record).expect("there is room");
    }
    let mut reader = LogReader::<Event>::open(&path, LogPosition::START).expect("it opens");
    let mut stamps = Vec::new();
    while reader.next().is_some() {
        stamps.extend(reader.last_stamp());
    }
    assert_eq!(stamps.iter().map(|stamp| stamp.run).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(stamps.iter().all(|stamp| stamp.time > 1_700_000_000_000 && stamp.time <= unix_milliseconds()));
}

#[test]
fn a_log_that_is_deleted_replaced_cut_or_written_under_its_writer_is_noticed_before_the_next_write() {
    type Change = fn(&Path);
    let ways: [(Change, &str); 4] = [
        (|path| std::fs::remove_file(path).expect("it is there"), "was deleted"),
        (
            |path| {
                let text = std::fs::read(path).expect("readable");
                std::fs::remove_file(path).expect("it is there");
                std::fs::write(path, text).expect("a file is written");
            },
            "was replaced by another file",
        ),
        (|path| std::fs::write(path, "").expect("it is there"), "was truncated by another program"),
        (
            |path| {
                let mut file = OpenOptions::new().append(true).open(path).expect("it is there");
                io::Write::write_all(&mut file, b"another line\n").expect("there is room");
            },
            "was written by another program",
        ),
    ];
    for (change, how) in ways {
        let folder = folder();
        let path = folder.path().join("events.jsonl");
        let mut log = open(&path).log;
        log.append(&event(1)).expect("there is room");
        change(&path);
        let before = std::fs::read(&path).ok();
        let message = log.append(&event(2)).expect_err(how).to_string();
        assert!(message.contains(how) && message.contains("1 records were acknowledged"), "{message}");
        assert_eq!(std::fs::read(&path).ok(), before, "what is there now is left alone");
    }
}

#[test]
fn what_is_sound_in_a_damaged_log_is_kept_to_the_letter_and_the_rest_put_aside() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut lines = five_lines();
    lines.swap(1, 2); // moved: both are kept
    lines.insert(4, lines[3].clone()); // doubled: one is kept
    lines[5][60] ^= 1; // damaged beyond one bit: lost
    lines[5][70] ^= 2;
    lines.push(lines[0][..20].to_vec()); // torn
    let damaged = lines.concat();
    std::fs::write(&path, &damaged).expect("a file is written");
    let salvage = LogSalvage::<Event>::open_locked(&path).expect("nobody writes it");
    let refusal = EventLog::<Event>::open(&path).expect_err("it is locked");
    assert!(matches!(refusal, EventLogError::Lock(_)), "{refusal}");
    let kept: Vec<Event> = salvaged_records(&salvage).into_iter().map(|salvaged| salvaged.record).collect();
    assert_eq!(kept, events(4));
    let unsound: Vec<_> =
        salvage.unsound_lines().iter().map(|unsound| (unsound.line, unsound.treatment)).collect();
    use LineTreatment::{Kept, LeftOut};
    assert_eq!(unsound, [(2, Kept), (3, Kept), (5, LeftOut), (6, LeftOut), (7, LeftOut)]);
    let aside = salvage.write_repaired(&as_it_is()).expect("there is room");
    drop(salvage);
    assert_eq!(aside, folder.path().canonicalize().expect("a path").join("events.jsonl.damaged"));
    assert_eq!(std::fs::read(&aside).expect("readable"), damaged);
    assert_eq!(std::fs::read(&path).expect("readable"), five_lines()[..4].concat());
    assert_eq!(open(&path).records, events(4));
    let again = LogSalvage::<Event>::open_locked(&path).expect("nobody writes it");
    assert!(again.unsound_lines().is_empty());
    let without_first = LogRepair { left_out: [0].into(), ..as_it_is() };
    let second = again.write_repaired(&without_first).expect("there is room");
    drop(again);
    assert!(second.ends_with("events.jsonl.damaged.2"), "{second:?}");
    assert_eq!(open(&path).records, &events(4)[1..], "numbered anew");
}

fn salvaged_records(salvage: &LogSalvage<Event>) -> Vec<SalvagedRecord<Event>> {
    salvage.records().expect("readable").collect::<Result<_, _>>().expect("readable")
}

fn as_it_is() -> LogRepair<Event> {
    LogRepair { inserted: Default::default(), left_out: Default::default() }
}

/// The log with this damage, repaired without anything that is inserted, and the lines of what was found.
fn repair_damaged_log(damaged: &[u8]) -> (Vec<Event>, Vec<(usize, LineTreatment)>) {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let mut log = open(&path).log;
    log.append_all(&events(5)).expect("there is room"); // leaves a copy of the first line
    drop(log);
    std::fs::write(&path, damaged).expect("a file is written");
    let salvage = LogSalvage::<Event>::open_locked(&path).expect("nobody writes it");
    let found = salvage.unsound_lines().iter().map(|unsound| (unsound.line, unsound.treatment)).collect();
    salvage.write_repaired(&as_it_is()).expect("there is room");
    drop(salvage);
    (open(&path).records, found)
}

#[test]
fn repair_puts_any_flipped_bit_right_and_loses_no_record() {
    let whole = bytes_of(&events(5));
    for bit in (0..whole.len() * 8).step_by(7) {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (records, found) = repair_damaged_log(&damaged);
        assert_eq!(records, events(5), "bit {bit}: {found:?}");
    }
}

#[test]
fn repair_takes_away_what_an_editor_has_added() {
    let text = String::from_utf8(bytes_of(&events(5))).expect("JSON is UTF-8");
    for damaged in [
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
        format!("\u{feff}{text}").replace('\n', "\r\n"),
    ] {
        let (records, found) = repair_damaged_log(damaged.as_bytes());
        assert_eq!(records, events(5));
        assert!(
            !found.is_empty() && found.iter().all(|(_, fate)| *fate == LineTreatment::Corrected),
            "{found:?}"
        );
    }
}

#[test]
fn repair_takes_the_first_line_from_its_copy_and_keeps_all_after_a_zeroed_page() {
    let lines = five_lines();
    let rest = lines[1..].concat();
    let zeros = [vec![0; lines[0].len()], rest.clone()].concat();
    let half = [vec![0; lines[0].len() + 40], rest[40..].to_vec()].concat();
    for (damaged, kept) in
        [(zeros, vec![1, 2, 3, 4, 5]), (rest, vec![1, 2, 3, 4, 5]), (half, vec![1, 3, 4, 5])]
    {
        let (records, _) = repair_damaged_log(&damaged);
        assert_eq!(records.iter().map(|record| record.trial).collect::<Vec<_>>(), kept);
    }
}

#[test]
fn a_repaired_log_has_what_is_inserted_in_its_place_and_says_how_many_are_missing() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let lines = five_lines();
    std::fs::write(&path, [&lines[0][..], &lines[3], &lines[4]].concat()).expect("a file is written");
    let salvage = LogSalvage::<Event>::open_locked(&path).expect("nobody writes it");
    let missing: Vec<_> = salvaged_records(&salvage).iter().map(|salvaged| salvaged.missing).collect();
    assert_eq!(missing, [0, 2, 0]);
    let repair = LogRepair { inserted: [(1, events(3)[1..].to_vec())].into(), left_out: Default::default() };
    salvage.write_repaired(&repair).expect("there is room");
    drop(salvage);
    assert_eq!(open(&path).records, events(5));
}

#[test]
fn a_version_digit_that_was_flipped_is_damage_and_another_version_is_not() {
    let folder = folder();
    let path = folder.path().join("events.jsonl");
    let flipped =
        String::from_utf8(bytes_of(&events(3))).expect("JSON is UTF-8").replacen("{\"v\":2", "{\"v\":3", 1);
    std::fs::write(&path, flipped).expect("a file is written");
    let message = EventLog::<Event>::open(&path).expect_err("it is damaged").to_string();
    assert!(message.contains("--repair") && !message.contains("newer"), "{message}");
}
