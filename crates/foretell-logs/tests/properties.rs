//! Laws: everything written is read back, and no bytes make the reader panic.

use foretell::{Configuration, Curve, Direction, Metric, Run, Value};
use foretell_logs::printed::{MetricSource, ReportReader, final_value, guess_metric};
use foretell_logs::{ReadOptions, read_runs, write_json_lines};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::num::f64::NORMAL.prop_map(Value::Number),
        (-5i32..5).prop_map(|n| Value::Number(f64::from(n))),
        ".{0,8}".prop_map(Value::Text),
        Just(Value::Missing),
    ]
}

fn curve(direction: Direction) -> impl Strategy<Value = Curve> {
    let number = prop_oneof![4 => prop::num::f64::NORMAL, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(-0.0)];
    prop::collection::vec((1u32..50, number), 0..8).prop_map(move |points| {
        let mut curve = Curve::from_epoch_values(&[], direction);
        let mut step = 0.0;
        for (gap, value) in points {
            step += f64::from(gap) / 8.0;
            curve.push(step, value, direction).unwrap();
        }
        curve
    })
}

fn runs(direction: Direction) -> impl Strategy<Value = Vec<Run>> {
    let configuration = prop::collection::btree_map("[a-z_ é\"]{1,6}", value(), 0..4);
    let run = ("[^\\x00]{0,6}", configuration, curve(direction));
    prop::collection::vec(run, 1..6).prop_map(|runs| {
        let named = runs.into_iter().enumerate();
        named
            .map(|(at, (id, configuration, curve))| Run { id: format!("{id}{at}"), configuration, curve })
            .collect()
    })
}

fn both() -> impl Strategy<Value = (Direction, Vec<Run>)> {
    prop_oneof![Just(Direction::Maximize), Just(Direction::Minimize)]
        .prop_flat_map(|direction| (Just(direction), runs(direction)))
}

/// Something like a curve file, so that the bytes get past the header.
fn almost_a_file() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"acc_1,acc_2,lr".to_vec()),
        Just(b"id,epoch,loss".to_vec()),
        Just(b"{\"id\":1,\"values\":[1,NaN".to_vec()),
        Just(b"]}\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b",0.5,".to_vec()),
        Just(b"\"".to_vec()),
        Just(vec![0x1f, 0x8b, 8, 0]),
        Just(b"\r".to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Pieces of output that readers of lines stumble over, one per line; the fuzzer draws from them, too.
const ALPHABET: &str = include_str!("../../../fuzz/alphabet.txt");

/// The output of a script that nobody here knows: wrapped numbers, letters of other scripts, halves of tables and dictionaries.
fn strange_output() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(ALPHABET.lines().collect::<Vec<_>>()).prop_map(str::to_owned);
    let part = prop_oneof![
        6 => piece,
        2 => "[0-9]{1,4}",
        2 => "[=:,. \n\r\t|]",
        1 => "[ -~\u{2500}-\u{25ff}äé轮第]{1,6}",
    ];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

/// What users write behind `--metric`: names, templates, patterns with groups that may find no text.
fn strange_metric() -> impl Strategy<Value = String> {
    let fixed = [
        "val_acc",
        "loss",
        "精度",
        "epoch {step} val_acc {value}",
        "精度{value}",
        r"val_acc=([\d.]+)",
        r"acc=(\S*)",
        r"acc(.*)",
        r"(\d*)",
        r"(?:)()",
        r"epoch (?P<step>\d*).*acc=(\S*)",
        r"(?P<step>\S*)=(.*?)",
        "度(.*)",
        r"[^\x00](.?)",
    ];
    prop_oneof![
        4 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => r"(acc|精度|\w|\.|[=: ])[*?+]?\((\\S|\\d|\.|)[*?+]?\)",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_written_as_json_lines_are_read_back_bit_for_bit((direction, runs) in both()) {
        let file = tempfile::NamedTempFile::new().unwrap();
        write_json_lines(&file, &runs, &Metric::new("some metric", direction)).unwrap();
        let exact = ReadOptions { keep_all_columns: true, ..ReadOptions::default() };
        let recorded = read_runs(file.path(), &exact).unwrap();
        prop_assert_eq!(&recorded.metric.name, "some metric");
        prop_assert_eq!(recorded.metric.direction, direction);
        prop_assert_eq!(format!("{:?}", recorded.runs), format!("{runs:?}"));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in almost_a_file()) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        match read_runs(file.path(), &ReadOptions::default()) {
            Ok(recorded) => prop_assert!(!recorded.runs.is_empty() && recorded.repeats.len() == recorded.runs.len()),
            Err(error) => prop_assert!(error.to_string().contains(": ")),
        }
    }

    #[test]
    fn no_output_makes_the_reader_of_printed_lines_panic(metric in strange_metric(), output in strange_output()) {
        guess_metric(&output);
        final_value(&output.lines().collect::<Vec<_>>());
        let Ok(source) = MetricSource::parse(&metric) else { return Ok(()) };
        let whole = ReportReader::new(source.clone(), 0).read_all(&output);
        prop_assert!(whole.reports.iter().all(|report| report.value.is_none_or(f64::is_finite)));
        let mut live = ReportReader::new(source, 0);
        let mut read: Vec<_> = output.split('\n').flat_map(|line| live.read(line.as_bytes())).collect();
        read.extend(live.flush());
        prop_assert!(read.iter().flatten().all(|report| report.value.is_none_or(f64::is_finite)));
    }

    #[test]
    fn a_wrapped_number_is_read_whatever_stands_before_it(
        (name, arrow) in ("[精度准确率é]{1,4}|val_acc|[a-z]{3,6}精", prop::sample::select(vec!["", "=", ": ", "→", "：", " "])),
        (open, close) in prop::sample::select(vec![
            ("np.float64(", ")"), ("tensor(", ", device='cuda:0')"), ("tensor([", "])"), ("Array(", ", dtype=float32)"),
            ("<tf.Tensor: shape=(), dtype=float32, numpy=", ">"), ("float(", ")"),
        ]),
        values in prop::collection::vec(1u32..9999, 3..6),
    ) {
        // a wrapper is a word of its own: behind a letter of the same script it is part of the name
        prop_assume!(!arrow.is_empty() || !name.ends_with(|c: char| c.is_ascii()));
        let values: Vec<f64> = values.into_iter().map(|value| f64::from(value) / 10_000.0).collect();
        let line = |(epoch, value): (usize, &f64)| format!("epoch {epoch} {name}{arrow}{open}{value}{close}\n");
        let output: String = values.iter().enumerate().map(line).collect();
        let source = MetricSource::parse(&name).expect("a name");
        let read: Vec<_> = ReportReader::new(source, 0).read_all(&output).reports.into_iter().filter_map(|report| report.value).collect();
        prop_assert_eq!(read, values);
    }

    #[test]
    fn the_order_of_long_rows_does_not_matter(order in Just((0..12usize).collect::<Vec<_>>()).prop_shuffle()) {
        let text = |order: &[usize]| {
            let row = |&at: &usize| format!("{},{},{}\n", at / 4, at % 4, at as f64 / 10.0);
            format!("id,epoch,acc\n{}", order.iter().map(row).collect::<String>())
        };
        let sorted_runs = |order: &[usize]| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text(order)).unwrap();
            let mut runs = read_runs(file.path(), &ReadOptions::default()).unwrap().runs;
            runs.sort_by(|a, b| a.id.cmp(&b.id));
            runs
        };
        let straight: Vec<usize> = (0..12).collect();
        prop_assert_eq!(sorted_runs(&order), sorted_runs(&straight));
    }

    #[test]
    fn a_wide_table_says_what_its_cells_say(rows in prop::collection::vec(prop::collection::vec(prop::num::f64::NORMAL, 3), 1..5)) {
        let cells = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let text = format!("acc_1,acc_2,acc_3\n{}\n", rows.iter().map(cells).collect::<Vec<_>>().join("\n"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let recorded = read_runs(file.path(), &ReadOptions::default()).unwrap();
        let scores: Vec<Vec<f64>> = recorded.runs.iter().map(|run| run.curve.scores().to_vec()).collect();
        prop_assert_eq!(scores, rows);
        prop_assert!(recorded.runs.iter().all(|run| run.configuration == Configuration::new()));
    }
}
