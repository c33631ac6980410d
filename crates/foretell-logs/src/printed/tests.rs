//! Whole outputs and streams, as trainings print them.

use super::{MetricSource, ReportProblem, ReportReader};
use proptest::prelude::*;
use std::collections::BTreeMap;

type Point = (u64, Option<f64>);

fn reader(metric: &str) -> ReportReader {
    ReportReader::new(MetricSource::parse(metric).expect("a metric"), 0)
}

/// The reports of a whole output, as (step, value).
fn reports(metric: &str, output: &str) -> Vec<Point> {
    let whole = reader(metric).read_all(output);
    whole.reports.into_iter().map(|report| (report.step, report.value)).collect()
}

/// The points of `output`, read line by line while it is printed.
fn live(metric: &str, output: &str) -> Vec<Point> {
    let mut reader = reader(metric);
    let mut read = Vec::new();
    for line in output.split_inclusive(['\n', '\r']) {
        let plain = line.trim_end_matches(['\n', '\r']).as_bytes();
        read.extend(if line.ends_with('\r') { reader.read_transient(plain) } else { reader.read(plain) });
    }
    read.extend(reader.flush());
    read.into_iter().flatten().map(|report| (report.step, report.value)).collect()
}

fn some(points: &[(u64, f64)]) -> Vec<Point> {
    points.iter().map(|&(step, value)| (step, Some(value))).collect()
}

/// The reports and problems of report lines.
fn read_report_lines(metric: Option<&str>, lines: &[&str]) -> Vec<Result<Point, ReportProblem>> {
    let source =
        metric.map_or_else(MetricSource::default, |text| MetricSource::parse(text).expect("a metric"));
    let mut reader = ReportReader::new(source, 0);
    let reports: Vec<_> = lines.iter().flat_map(|line| reader.read(line.as_bytes())).collect();
    reports.into_iter().map(|report| report.map(|report| (report.step, report.value))).collect()
}

/// A metric, an output, and the points in it.
type Output = (&'static str, &'static str, &'static [(u64, f64)]);

const OUTPUTS: [Output; 27] = [
    (
        "val_acc",
        "[rank 0] epoch 1 val_acc 0.5\n[rank 1] epoch 1 val_acc 0.4\n[rank 1] epoch 2 val_acc 0.55\n[rank 0] epoch 2 val_acc 0.6\n",
        &[(1, 0.5), (2, 0.6)],
    ),
    ("val_acc", "val_acc=0.5\nval_acc=0.6\n", &[(1, 0.5), (2, 0.6)]),
    ("val_acc", "{\"epoch\": 3, \"val_acc\": 0.71}\n", &[(3, 0.71)]),
    ("val_acc", "{'val_acc': '0.5', 'epoch': '2.0'}\n", &[(2, 0.5)]),
    (
        "val_acc",
        "Epoch 1/3\n9/9 - loss: 1.0 - val_acc: 0.5\nEpoch 2/3\n9/9 - val_acc: 0.6\n",
        &[(1, 0.5), (2, 0.6)],
    ),
    ("val_acc", "\x1b[32mepoch 1 val_acc 0.5\x1b[0m\n", &[(1, 0.5)]),
    ("val_acc", "epoch,loss,val_acc\n1,0.9,0.5\n2,0.8,0.6\n", &[(1, 0.5), (2, 0.6)]),
    ("val_acc", "epoch 1 val_acc 0.5\nbest val_acc: 0.5\n", &[(1, 0.5)]),
    ("val_acc", "train_val_acc=0.3\nval_acc_top5=0.9\n", &[]),
    ("val_acc", "{\"foretell\":{\"step\":1,\"val_acc\":0.5}}\nval_acc=0.6\n", &[(1, 0.5)]),
    // a number above the reports is their epoch only if it grows with them
    ("val_acc", "Namespace(lr=0.1, epoch=4)\nval_acc=0.5\nval_acc=0.6\n", &[(1, 0.5), (2, 0.6)]),
    ("val_acc", "epoch: 4\nstep: 400\nval_acc=0.5\nval_acc=0.6\n", &[(1, 0.5), (2, 0.6)]),
    ("val_acc", "epoch: 4\nstep: 400\nval_acc=0.5\n", &[(1, 0.5)]),
    ("val_acc", "epoch 5\nval_acc=0.5\nepoch 10\nval_acc=0.6\nval_acc=0.7\n", &[(5, 0.5), (10, 0.7)]),
    ("val_acc", "Namespace(epoch=9)\nepoch 1\nval_acc=0.5\nepoch 2\nval_acc=0.6\n", &[(1, 0.5), (2, 0.6)]),
    ("val_acc", "Epoch 31/40\nval_acc=0.5\nEpoch 32/40\nval_acc=0.6\n", &[(31, 0.5), (32, 0.6)]),
    // of an epoch that is named in parts the last value counts
    (
        "loss",
        "{'loss': 3.0, 'epoch': 0.5}\n{'loss': 2.0, 'epoch': 0.9}\n{'eval': 1, 'epoch': 1.0}\n{'loss': 1.0, 'epoch': 1.5}\n{'loss': 0.5, 'epoch': 2.0}\n{'loss': 0.4, 'epoch': 2.5}\n",
        &[(1, 2.0), (2, 0.5), (3, 0.4)],
    ),
    ("val_acc", "{epoch: 3, val_acc: 0.7}\n", &[(3, 0.7)]),
    // a sentence that names a stage is no heading of lines that were read before it
    (
        "loss",
        "step 1 | loss: 2.0\nstep 2 | loss: 1.0\nTest images saved to out/\nstep 3 | loss: 0.5\nstep 4 | loss: 0.4\n",
        &[(1, 2.0), (2, 1.0), (3, 0.5), (4, 0.4)],
    ),
    (
        "val_loss",
        "val_loss: 2.5\nEpoch 1\nval_loss: 2.0\nEpoch 2\nval_loss: 1.0\nEpoch 3\nval_loss: 0.5\n",
        &[(0, 2.5), (1, 2.0), (2, 1.0), (3, 0.5)],
    ),
    ("mIoU", "Epoch 1: mIoU: 0.5\nEpoch 2: mIoU: 0.61\n", &[(1, 0.5), (2, 0.61)]),
    // of a bar within an epoch the last value counts
    (
        "acc",
        "Epoch 0:  50%|# | 1/2 [0:1, acc=0.1]\rEpoch 0: 100%|##| 2/2 [0:1, acc=0.2]\rEpoch 1:  50%|# | 1/2 [acc=0.3]\rEpoch 1: 100%|##| 2/2 [acc=0.4]\n",
        &[(0, 0.2), (1, 0.4)],
    ),
    (
        "acc",
        "Epoch 1/2\n1/2 acc: 0.1\r2/2 acc: 0.2 - val_acc: 0.3\n\nEpoch 2/2\n1/2 acc: 0.4\r2/2 acc: 0.5 - val_acc: 0.6\n",
        &[(1, 0.2), (2, 0.5)],
    ),
    (
        "acc",
        "\r  0%|  | 0/3 [0:0]\r 33%|# | 1/3 [0:1, acc=0.1]\r 33%|# | 1/3 [0:1, acc=0.2]\r 67%|# | 2/3 [0:2, acc=0.2]\r100%|##| 3/3 [0:3, acc=0.3]\n",
        &[(1, 0.1), (2, 0.2), (3, 0.3)],
    ),
    (
        "acc",
        "  0%|  | 0/3 [0:0, acc=0.1]\r 33%|# | 1/3 [0:1, acc=0.2]\r 67%|# | 2/3 [0:2, acc=0.3]\r100%|##| 3/3 [0:3, acc=0.3]\n",
        &[(1, 0.1), (2, 0.2), (3, 0.3)],
    ),
    (r"acc=([\d.]+)", "acc=0.1\racc=0.2\n", &[(1, 0.2)]),
    (
        "* Acc@1 {value}",
        "Epoch: [0]\n * Acc@1 50.5 Acc@5 90\nEpoch: [1]\n * Acc@1   60.5 Acc@5 91\n",
        &[(0, 50.5), (1, 60.5)],
    ),
];

#[test]
fn an_output_is_read_alike_as_a_whole_and_line_by_line() {
    for (metric, output, expected) in OUTPUTS {
        assert_eq!(reports(metric, output), some(expected), "whole: {metric} in {output}");
        assert_eq!(live(metric, output), some(expected), "live: {metric} in {output}");
    }
}

#[test]
fn templates_and_steps_are_found_whatever_the_padding_and_the_signs() {
    let template = |metric: &str, step: &str, output: &str| {
        let MetricSource::Pattern(pattern) = MetricSource::parse(metric).expect("a template") else {
            panic!("{metric}")
        };
        let pattern = pattern.with_step(step).expect("a template");
        let whole = ReportReader::new(MetricSource::Pattern(Box::new(pattern)), 0).read_all(output);
        whole.reports.into_iter().map(|report| (report.step, report.value)).collect::<Vec<_>>()
    };
    let imagenet = "Epoch: [0][ 1/10]\n * Acc@1 50.560\nEpoch: [1][ 1/10]\n *  Acc@1    -3.5\n";
    assert_eq!(template("* Acc@1 {value}", "Epoch: [{step}]", imagenet), some(&[(0, 50.56), (1, -3.5)]));
    assert_eq!(
        reports("step {step} of {} loss {value}", "step 1,000 of x loss  -1.5e-3\n"),
        some(&[(1000, -1.5e-3)])
    );
    assert_eq!(reports("val_acc {value}", "train_val_acc 0.5\n"), []);
}

#[test]
fn what_is_chosen_among_several_and_what_begins_again_is_said() {
    let note = |metric: &str, output: &str| reader(metric).read_all(output).notes.join("; ");
    let heads = "epoch 1 | train acc 0.6 | val acc 0.5\nepoch 2 | train acc 0.7 | val acc 0.6\n";
    let said = note("acc", heads);
    assert!(
        said.contains("more than one series is named `acc`: `val acc` is read, not `train acc`"),
        "{said}"
    );
    assert_eq!(reports("acc", heads), some(&[(1, 0.5), (2, 0.6)]));
    let folds = "epoch 1 acc 0.1\nepoch 2 acc 0.2\nepoch 3 acc 0.2\nepoch 1 acc 0.3\nepoch 2 acc 0.4\n";
    assert!(note("acc", folds).contains("2 training runs in sequence"));
    assert_eq!(reports("acc", folds), some(&[(1, 0.3), (2, 0.4)]));
    let resumed = "epoch 1 acc 0.1\nepoch 2 acc 0.2\nepoch 3 acc 0.2\nepoch 2 acc 0.3\nepoch 3 acc 0.4\n";
    assert!(note("acc", resumed).contains("as in a resumed training"));
    assert_eq!(reports("acc", resumed), some(&[(1, 0.1), (2, 0.3), (3, 0.4)]));
    let twice = "acc 0.1\nacc 0.1\nacc 0.2\nacc 0.2\nacc 0.3\nacc 0.3\n";
    assert!(note("acc", twice).contains("printed twice"));
    assert_eq!(
        (reports("acc", twice), live("acc", twice)),
        (some(&[(1, 0.1), (2, 0.2), (3, 0.3)]), some(&[(1, 0.1), (2, 0.2), (3, 0.3)]))
    );
    assert_eq!(note("acc", "epoch 1 acc 0.1\nepoch 2 acc 0.2\n"), "");
}

#[test]
fn a_notation_that_can_be_read_in_two_ways_is_decided_by_the_rest_or_refused() {
    assert_eq!(reports("loss", "epoch 1 loss 1,234\nepoch 2 loss 0,987\n"), some(&[(1, 1.234), (2, 0.987)]));
    assert_eq!(
        reports("reward", "epoch 1 reward 1,234 lr 0.01\nepoch 2 reward 2,345 lr 0.01\n"),
        some(&[(1, 1234.0), (2, 2345.0)])
    );
    let whole = reader("reward").read_all("epoch 1 reward 1,234\nepoch 2 reward 2,345\n");
    assert!(whole.reports.is_empty());
    assert!(
        whole.problems[0].to_string().contains("`1,234` is ambiguous: it may be 1234 or 1.234"),
        "{}",
        whole.problems[0]
    );
}

#[test]
fn what_is_printed_once_goes_with_the_next_report_or_with_the_last() {
    let names = ["latency".to_owned(), "size".to_owned()];
    let latencies = |lines: &[&str]| {
        let mut reader = reader("acc").with_resource(2).with_one_time_values(&names);
        let mut read: Vec<_> = lines.iter().flat_map(|line| reader.read(line.as_bytes())).collect();
        read.extend(reader.flush());
        let shown = |report: super::Report| {
            let metric = |name| report.metrics.get(name).copied();
            (report.step, metric("latency"), metric("size"))
        };
        read.into_iter().flatten().map(shown).collect::<Vec<_>>()
    };
    let epochs = ["epoch 1 acc=0.5", "epoch 2 acc=0.6"];
    let all = |lines: &[&str]| {
        let found = latencies(lines);
        (
            found.iter().map(|point| point.0).collect::<Vec<_>>(),
            found.iter().find_map(|point| point.1),
            found.iter().find_map(|point| point.2),
        )
    };
    assert_eq!(
        all(&["latency: 12.5 ms", epochs[0], "size=7", epochs[1]]),
        (vec![1, 2], Some(12.5), Some(7.0))
    );
    assert_eq!(
        all(&[epochs[0], epochs[1], "saved", "latency=3 size=7", "latency=9"]),
        (vec![1, 2], Some(3.0), Some(7.0))
    );
    assert_eq!(
        all(&["epoch 0 acc=0.5", "epoch 1 acc=0.6", "latency=3 size=7"]),
        (vec![0, 1], Some(3.0), Some(7.0))
    );
    assert_eq!(all(&[epochs[0], epochs[1], "size=7"]), (vec![1, 2], None, Some(7.0)));
    assert_eq!(all(&["acc=0.5 latency=3 size=7", "acc=0.6"]), (vec![1, 2], Some(3.0), Some(7.0)));
}

#[test]
fn reads_report_lines_and_nothing_else() {
    let cases = [
        (r#"{"foretell":{"step":3,"val_acc":0.71}}"#, Some((3, Some(0.71)))),
        (r#"{ "foretell" : {"val_acc": 0.71, "step": 3.0}}"#, Some((3, Some(0.71)))),
        (r#"12:30 INFO {"foretell":{"step":3,"val_acc":0.71}} done"#, Some((3, Some(0.71)))),
        (r#"{"time":5,"foretell":{"step":3,"val_acc":0.71}}"#, Some((3, Some(0.71)))),
        (r#"{"foretell":{"val_acc":0.71}}"#, Some((1, Some(0.71)))),
        (r#"{"foretell":{"step":3,"val_acc":null}}"#, Some((3, None))),
        (r#"{"foretell":{"step":3,"val_acc":"NaN"}}"#, Some((3, None))),
        (r#"{"foretell":{"step":3,"val_acc":"-Infinity"}}"#, Some((3, None))),
        (r#"{"foretell":{"step":3,"val_acc":NaN}}"#, Some((3, None))), // as Python's json prints it
        (r#"{"foretell":{"step":3,"val_acc":-Infinity}}"#, Some((3, None))),
        (r#"{"foretell":{"step":3,"val_acc":0.5,"note":"a \" NaN","loss":NaN}}"#, Some((3, Some(0.5)))),
        ("", None),
        (r#"the word "foretell": no report"#, None),
        (r#"{"foretells":{"loss":1}}"#, None),
        (r#"{"inner":{"a":"foretell"}}"#, None),
    ];
    for (line, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(Ok).collect();
        assert_eq!(read_report_lines(Some("val_acc"), &[line]), expected, "{line}");
    }
}

#[test]
fn keeps_the_other_metrics() {
    let mut reader = reader("acc");
    let line = br#"{"foretell":{"step":1,"acc":0.5,"loss":1.25,"note":"a NaN in quotes","lr":NaN}}"#;
    let report = reader.read(line).remove(0).expect("a report");
    let expected =
        BTreeMap::from([("acc", 0.5), ("loss", 1.25)].map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(report.metrics, expected, "neither texts nor what is not finite");
    for metric in ["acc", r"acc=([\d.]+)"] {
        let whole = super::tests::reader(metric).read_all("epoch=1 acc=0.5 loss=1.25");
        assert_eq!(whole.reports[0].metrics, expected);
    }
}

#[test]
fn a_line_that_should_be_a_report_is_never_passed_over_in_silence() {
    let cases = [
        (Some("acc"), r#"{"foretell":{"step":3,"acc":0.7"#, "not JSON"),
        (Some("acc"), r#"{"foretell":0.7}"#, "not an object"),
        (Some("acc"), r#"{"foretell":{"step":3,"loss":0.7,"lr":1}}"#, "no field `acc` (fields: loss, lr)"),
        (Some("acc"), r#"{"foretell":{"step":3}}"#, "none besides the step"),
        (Some("acc"), r#"{"foretell":{"step":-1,"acc":0.7}}"#, "step `-1`"),
        (Some("acc"), r#"{"foretell":{"step":1.5,"acc":0.7}}"#, "step `1.5`"),
        (Some("acc"), r#"{"foretell":{"step":1,"acc":true}}"#, "`true` is not a number"),
        (Some("acc"), r#"{"foretell":{"step":1,"acc":"high"}}"#, "not a number"),
        (None, r#"{"foretell":{"step":1,"acc":0.5,"loss":1}}"#, "any of acc, loss"),
    ];
    for (metric, line, expected) in cases {
        let reports = read_report_lines(metric, &[line]);
        let [Err(problem)] = &reports[..] else { panic!("{line} gave {reports:?}") };
        assert!(problem.to_string().contains(expected), "{line} gave {problem}");
    }
}

#[test]
fn steps_that_are_not_named_count_up_from_the_last() {
    let lines =
        [r#"{"foretell":{"acc":1}}"#, r#"{"foretell":{"acc":2,"step":7}}"#, r#"{"foretell":{"acc":3}}"#];
    let steps: Vec<_> =
        read_report_lines(None, &lines).into_iter().map(|report| report.expect("a report").0).collect();
    assert_eq!(steps, [1, 7, 8]);
    assert_eq!(live(r"acc=(\d+)", "acc=1\nnothing\nacc=2 acc=3\n"), some(&[(1, 1.0), (2, 2.0), (3, 3.0)]));
    let mut resumed = ReportReader::new(MetricSource::default(), 10);
    assert_eq!(resumed.read(lines[0].as_bytes()).remove(0).expect("a report").step, 11);
}

#[test]
fn a_later_trial_reads_the_series_of_the_first_from_its_first_report_on() {
    let output = "epoch 1 train: acc 0.1 val: acc 0.2\nepoch 2 train: acc 0.3 val: acc 0.4\nepoch 3 train: acc 0.5 val: acc 0.6\n";
    let mut first = reader("acc");
    let read: Vec<_> = output.lines().flat_map(|line| first.read(line.as_bytes())).collect();
    assert_eq!(read.len(), 3, "the series is known once the third epoch begins");
    let kept = serde_json::to_string(first.chosen_series().expect("it is chosen")).expect("it is JSON");
    let mut second = reader("acc").with_chosen_series(serde_json::from_str(&kept).expect("it is read"));
    let report = second.read(output.lines().next().expect("a line").as_bytes()).remove(0).expect("a report");
    assert_eq!((report.step, report.value), (1, Some(0.2)));
}

#[test]
fn what_was_printed_instead_of_the_metric_is_remembered() {
    let mut reader = reader("accuracy");
    for epoch in 1..=3 {
        assert!(reader.read(format!("epoch {epoch}: loss 0.{epoch} acc 0.7").as_bytes()).is_empty());
    }
    assert!(reader.read(b"{'loss': 0.5, 'epoch': 3.25}").is_empty(), "a part of an epoch is no epoch");
    let seen = reader.candidates().expect("no report yet");
    assert_eq!(
        (seen.epochs, seen.format_for_message().as_str()),
        (3, "acc 0.7, 0.7 … 0.7; loss 0.1, 0.2 … 0.5")
    );
}

/// Lines of many kinds, most of them without the metric.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let words = [
        "epoch",
        "Epoch: [",
        "step ",
        "[",
        "]",
        "train",
        "val",
        "Test:",
        "fold 2",
        "loading",
        "best",
        "loss 0.",
        "lr 1e-3",
        " | ",
        ": ",
        ",",
        "acc",
        "x = ",
        "{",
        "}",
        "finished",
        "第",
        "轮",
        "currentStep ",
        "numEpochs ",
        "a  b  c",
        "iteration",
        "ep",
        "up",
        "e",
        " 7",
        "12",
        "0.5",
        "(3/4)",
        "\t",
    ];
    let line =
        prop::collection::vec(prop::sample::select(words.to_vec()), 0..8).prop_map(|words| words.concat());
    prop::collection::vec(line, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    /// After the first report, lines without the metric and without a telling word are passed over.
    #[test]
    fn lines_beside_the_point_change_nothing(lines in lines()) {
        let mut output = "epoch 1 loss 0.9 acc 0.1\nepoch 2 loss 0.8 acc 0.2\nepoch 3 loss 0.7 acc 0.3\n".to_owned();
        for (number, line) in lines.iter().enumerate() {
            output.push_str(line);
            output.push('\n');
            if number % 5 == 4 {
                output.push_str(&format!("acc 0.{number}\n"));
            }
        }
        let points = |reader: ReportReader| reader.read_lines(&output).into_iter().map(|report| (report.step, report.value)).collect::<Vec<_>>();
        prop_assert_eq!(points(reader("acc")), points(reader("acc").with_every_line()), "{}", output);
    }
}

#[test]
fn a_bar_that_keeps_the_value_of_the_epoch_before_is_read_one_epoch_later() {
    // Lightning's rich bar: the value of the test before the first epoch is drawn once, and one epoch is drawn again before its end
    let frame = |epoch: u32, batch: u32, value: f64| {
        format!(
            "\u{1b}[2KEpoch {epoch}/5  ━━━━ {batch}/16 0:00:00 • 0:00:00 96.61it/s train_loss: 0.{batch:02} val_acc: {value:.3}\r"
        )
    };
    let values = [0.533, 0.574, 0.631, 0.68, 0.732, 0.758];
    let mut output = frame(0, 0, 0.578);
    for epoch in 1..6 {
        let before = values[epoch as usize - 1];
        [0, 5, 11, 16].iter().for_each(|&batch| output += &frame(epoch, batch, before));
        if [1, 5].contains(&epoch) {
            output += &frame(epoch, 16, values[epoch as usize]);
        }
    }
    let expected: Vec<Point> = (0..).zip(values).map(|(step, value)| (step, Some(value))).collect();
    assert_eq!(live("val_acc", &output), expected);
    assert_eq!(reports("val_acc", &output), expected);
}

#[test]
fn further_trainings_of_one_output_are_told_apart_while_it_is_printed() {
    let mut reader = reader("acc");
    let mut read = Vec::new();
    for fold in 0..3 {
        (1..=4).for_each(|epoch| {
            read.extend(reader.read(format!("epoch {epoch}/4 acc 0.{fold}{epoch}").as_bytes()))
        });
    }
    read.extend(reader.flush());
    let read: Vec<(u64, u64)> =
        read.into_iter().flatten().map(|report| (report.training, report.step)).collect();
    let expected: Vec<(u64, u64)> = (0..3).flat_map(|fold| (1..=4).map(move |epoch| (fold, epoch))).collect();
    assert_eq!(read, expected);
    assert!(reader.take_notes().is_empty(), "each trial would repeat it");
}

#[test]
fn values_that_were_seen_are_shown_with_their_first_two_and_their_last() {
    let mut reader = reader("f1");
    (1..=5).for_each(|epoch| drop(reader.read(format!("epoch {epoch}: loss {}", 10 - epoch).as_bytes())));
    drop(reader.read(b"top1 0.5"));
    let seen = reader.candidates().expect("no report").format_for_message();
    assert_eq!(seen, "loss 9, 8 … 5; top1 0.5");
}

#[test]
fn a_bar_that_moves_on_before_its_value_is_set_shows_the_value_before_first() {
    let mut output = "E:   0%| | 0/4 [00:01<00:09]\rE:  25%|# | 1/4 [00:01<00:09]".to_owned();
    let values = [0.5, 0.5, 0.7, 0.8];
    for (epoch, value) in (1..).zip(values) {
        let before = if epoch > 1 { values[epoch - 2] } else { value };
        for shown in [before, value] {
            output += &format!("\rE: {epoch}| {epoch}/4 [00:01<00:09, acc={shown:.3}]");
        }
    }
    let expected = some(&[(1, 0.5), (2, 0.5), (3, 0.7), (4, 0.8)]);
    assert_eq!(live("acc", &output), expected);
    assert_eq!(reports("acc", &output), expected);
}

#[test]
fn another_reader_goes_on_after_a_report_that_waits_for_nothing() {
    let mut first = reader("loss");
    let counted = ["loss: 0.9", "loss: 0.8", "loss: 0.7"];
    let read: usize = counted.iter().map(|line| first.read(line.as_bytes()).len()).sum();
    assert!(read == 3 && first.is_resumable() && first.last_step() == 3, "{read}");
    let mut second = ReportReader::new(MetricSource::parse("loss").expect("a metric"), first.last_step())
        .with_chosen_series(first.chosen_series().cloned());
    second.read_header(b"loss: 0.9");
    let read: Vec<u64> = second.read(b"loss: 0.6").into_iter().flatten().map(|report| report.step).collect();
    assert_eq!(read, [4]);
    let mut many = reader("loss");
    (1..=9).for_each(|line| drop(many.read(format!("epoch {} loss: 0.{line}", (line + 2) / 3).as_bytes())));
    assert!(!many.is_resumable(), "the epoch may have another value");
}
