//! Each possible problem of a file is reported with its line, its column and a remedy.

use foretell_logs::{ReadOptions, read_runs};
use std::io::Write;

/// The error for a file `f` with these bytes, its folder left out.
fn message(bytes: &[u8], options: &ReadOptions) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    std::fs::write(&file, bytes).unwrap();
    let error = read_runs(&file, options).map(|recorded| recorded.runs.len()).unwrap_err();
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn a_broken_table_is_told_by_line_and_column() {
    let cases: [(&[u8], &str); 25] = [
        (b"", "f: the file is empty"),
        (b"\n \n", "f: the file is empty"),
        (b"lr,acc_1,acc_2\n", "f: the file contains a header but no run"),
        (b"lr,acc_1,acc_2\n1,0.5,0.6\n2,0.5,abc\n", "f:3: `abc` in column `acc_2` is not a number"),
        (b"lr,acc_1,acc_2\r\n1,0.5,0.6\r\n\r\n2,x,1\r\n", "f:4: `x` in column `acc_1` is not a number"),
        (b"t,acc_1,acc_2\n\"a\nb\",0.5,0.6\n\n\"c\nd\",0.5,?", "f:5: `?` in column `acc_2` is not a number"),
        (
            b"opt,acc_1,acc_2\na,0.5,0.6\n\n\"b,0.5,0.6\nc,0.5,0.6\nd,0.5,0.6\n",
            "f:4: the quote that opens field 1 is never closed. Close or remove it",
        ),
        (b"lr,acc_1,acc_2\n1,0.5,0.6\n2,0.5,\"0.6", "f:3: the quote that opens field 3"),
        (b"t,o,acc_1\n\"a\nb\",\"c,0.6\n\nd,e,0.6\n", "f:3: the quote that opens field 2"),
        (b"\"lr,acc_1,acc_2\n1,0.5,0.6\n", "f:1: the quote that opens field 1"),
        (b"id,epoch,loss\r\na,1,0.5\r\n\"a,2,0.4\r\n", "f:3: the quote that opens field 1"),
        (b"t,acc_1\nx,1\n\"a\n\",x", "f:3: `x` in column `acc_1` is not a number"),
        (b"lr,acc_1,acc_2\n1,0.5,0.6,0.7\n", "f:2: the number of fields is 4 here, but 3 in the header"),
        (b"acc_1,acc_2,lr\n0.5,0.6\n", "f:2: the number of fields is 2 here, but 3 in the header"),
        (b"lr,acc_1,acc_2\n1\n", "f:2: the number of fields is 1 here, but 3 in the header"),
        (
            b"a,b,c\n1,2,3\n",
            "f:1: no curves found, because the table contains neither epoch columns (`acc_0`, `acc_1`, …) nor an id and a step column (`config_id`, `epoch`). Its columns are `a`, `b`, `c`",
        ),
        (b"lr,acc_1,lr,acc_2\n1,2,3,4\n", "f:1: columns 1 and 3 are both named `lr`"),
        (b"lr,acc_1,acc_01\n1,2,3\n", "f:1: columns 2 and 3 are both step 1"),
        (b"lr,\xff,acc_1\n1,2,3\n", "f:1: the name of column 2 is not UTF-8"),
        (b"opt,acc_1,acc_2\nadam,0.5,0.6\n\xe9,0.5,0.6\n", "f:3: column `opt` is not UTF-8"),
        (b"id,epoch,loss\na,1,0.5\na,one,0.4\n", "f:3: `one` in column `epoch` is not a finite number"),
        (b"id,epoch,loss\na,1,0.5\n,2,0.4\n", "f:3: column `id` is empty"),
        (
            b"id,epoch,loss\na,1,0.5\na,2,0.4\nb,1,0.6\na,1,0.7\n",
            "f:5: the value of run `a` at step 1 is 0.7, but 0.5 in line 2",
        ),
        (b"id,epoch,loss\na,1\n", "f:2: the number of fields is 2 here, but 3 in the header"),
        (
            b"id,epoch,foo,bar\na,1,2,3\n",
            "f: no column name is that of a known metric. Choose one of `foo`, `bar` as the metric",
        ),
    ];
    for (bytes, expected) in cases {
        let said = message(bytes, &ReadOptions::default());
        assert!(
            said.starts_with(expected),
            "{:?}:\n  said     {said}\n  expected {expected}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn broken_json_lines_are_told_by_line() {
    let good = "{\"id\":\"a\",\"metric\":\"loss\",\"direction\":\"minimize\",\"values\":[1,2]}\n";
    let cases = [
        ("{\"id\":\"b\",\"values\":[1,2]", "f:2: column 24: EOF while parsing an object"),
        ("{\"id\":\"b\",\"values\":[1,2] x}", "f:2: column 26: expected `,` or `}`"),
        ("[1,2]", "f:2: found a list instead of an object"),
        (
            "[\n{\"id\":\"b\",\"values\":[1,2]}\n]",
            "f:2: the file contains a JSON list. Write one object per line",
        ),
        ("{\"id\":\"b\"}", "f:2: the field `values` is missing"),
        ("{\"id\":\"b\",\"values\":3}", "f:2: `values` is a number, not a list"),
        ("{\"id\":\"b\",\"values\":[1,\"x\"]}", "f:2: `values[1]` is \"x\", not a number or null"),
        (
            "{\"id\":\"b\",\"values\":[1,2],\"steps\":[1]}",
            "f:2: the numbers of steps (1) and values (2) differ",
        ),
        ("{\"id\":\"b\",\"values\":[1,2],\"steps\":[2,1]}", "f:2: step 1 follows step 2"),
        ("{\"id\":\"b\",\"values\":[1,2],\"steps\":[2,null]}", "f:2: step NaN follows step 2"),
        ("{\"id\":[],\"values\":[1]}", "f:2: `id` is a list, not a string or a number"),
        (
            "{\"id\":\"b\",\"configuration\":[],\"values\":[1]}",
            "f:2: `configuration` is a list, not an object",
        ),
        ("{\"id\":\"a\",\"values\":[1]}", "f:2: id `a` was already used in line 1"),
        (
            "{\"id\":\"b\",\"metric\":\"acc\",\"values\":[1]}",
            "f:2: the metric of the run in line 2 is `acc`, not `loss` as before. Choose one of them",
        ),
        (
            "{\"id\":\"b\",\"direction\":\"maximize\",\"values\":[1]}",
            "f:2: `direction` differs from that of the lines before",
        ),
        ("{\"id\":\"b\",\"direction\":\"up\",\"values\":[1]}", "f:2: `direction` is \"up\", not"),
    ];
    for (line, expected) in cases {
        let said = message(format!("{good}{line}\n").as_bytes(), &ReadOptions::default());
        assert!(said.starts_with(expected), "{line}:\n  said     {said}\n  expected {expected}");
    }
    let said = message(b"{\"values\":[1]}\n{\"values\":[\xff]}\n", &ReadOptions::default());
    assert!(said.starts_with("f:2: the line is not UTF-8"), "{said}");
}

#[test]
fn a_column_that_is_not_there_is_told_with_those_that_are() {
    let wide = b"lr,acc_1,acc_2\n1,0.5,0.6\n";
    let long = b"id,epoch,loss,train_acc\na,1,0.5,0.1\n";
    let some = |name: &str| Some(name.to_owned());
    let options = ReadOptions::default;
    let cases: [(&[u8], ReadOptions, &str); 7] = [
        (
            wide,
            ReadOptions { metric: some("loss"), ..options() },
            "f: no epoch columns start with `loss`. Choose one of `acc_` as the metric",
        ),
        (
            long,
            ReadOptions { metric: some("val"), ..options() },
            "f: there is no metric `val`. Choose one of `loss`, `train_acc` as the metric",
        ),
        (
            long,
            ReadOptions { id_column: some("x"), ..options() },
            "f:1: there is no column `x` (id column). Choose one of `id`, `epoch`, `loss`, `train_acc`",
        ),
        (
            long,
            ReadOptions { step_column: some("x"), ..options() },
            "f:1: there is no column `x` (step column)",
        ),
        (wide, ReadOptions { id_column: some("x"), ..options() }, "f:1: there is no column `x` (id column)"),
        (
            wide,
            ReadOptions { group_by: some("x"), ..options() },
            "f:1: there is no column `x` (group by). Choose one of `lr`",
        ),
        (
            b"k,acc_1,acc_2\na,1,2\na,3,4\n",
            ReadOptions { id_column: some("k"), ..options() },
            "f:3: id `a` was already used in line 2",
        ),
    ];
    for (bytes, options, expected) in cases {
        let said = message(bytes, &options);
        assert!(said.starts_with(expected), "  said     {said}\n  expected {expected}");
    }
}

/// A long file of `runs` runs, `r1` to …, of three rows, each of its own `lr`; `cell` gives that of a (run, epoch).
fn settings(runs: usize, cell: impl Fn(usize, usize) -> String) -> String {
    let mut text = "id,epoch,lr,acc\n".to_owned();
    for (run, epoch) in (1..=runs).flat_map(|run| (1..=3).map(move |epoch| (run, epoch))) {
        text += &format!("r{run},{epoch},{},0.{run}{epoch}\n", cell(run, epoch));
    }
    text
}

#[test]
fn a_setting_that_changes_within_a_run_is_told_with_both_lines_and_a_series_is_none() {
    let odd = |runs: usize, value: &'static str| {
        settings(
            runs,
            move |run, epoch| {
                if (run, epoch) == (3, 2) { value.to_owned() } else { format!("0.{}", run + 10) }
            },
        )
    };
    for (value, said) in [("0.5", "0.5"), ("x", "x"), ("", "empty")] {
        assert_eq!(
            message(odd(10, value).as_bytes(), &ReadOptions::default()),
            format!(
                "f:9: `lr` of run `r3` is {said}, but 0.13 in line 8, although it is constant in 9 of 10 runs. Correct the cell, or exclude the column"
            )
        );
    }
    let repeats_and_notes = |text: &str, options: &ReadOptions| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let recorded = read_runs(file.path(), options).unwrap();
        let notes: Vec<String> = recorded.notes.iter().map(|note| note.text.clone()).collect();
        (recorded.repeats, notes.join("\n"))
    };
    let few = repeats_and_notes(&odd(4, "0.5"), &ReadOptions::default()).1;
    let said = "column `lr` is left out because it varies within 1 of 4 runs: in run `r3`, it is 0.5 in line 9, but 0.13 in line 8";
    assert!(few.contains(said), "{few}");
    let excluded = ReadOptions { exclude: vec!["lr".into()], ..ReadOptions::default() };
    let (repeats, notes) = repeats_and_notes(&odd(10, "0.5"), &excluded);
    assert!(notes.contains("excluded as requested: `lr`"), "{notes}");
    assert_eq!(repeats, (0..10).collect::<Vec<_>>());
    let others = [
        (odd(10, "0.130"), false),
        (settings(10, |run, epoch| format!("{}", run * epoch)), true),
        (settings(10, |run, epoch| format!("{}", u8::from(run == 3 && epoch > 1))), true),
        (odd(10, "0.5").replace(",lr,", ",host,"), true),
    ];
    for (text, series) in others {
        let notes = repeats_and_notes(&text, &ReadOptions::default()).1;
        assert_eq!(notes.contains("other series left out"), series, "{text}{notes}");
        assert!(!notes.contains("varies within"), "{notes}");
    }
}

#[test]
fn damaged_gzip_is_told_with_the_last_good_line() {
    let mut text = "lr,acc_1,acc_2\n".to_owned();
    (0..20_000).for_each(|at| text += &format!("{at},0.{},0.{}\n", at * 7 % 1000, at * 13 % 1000));
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let whole = gz.finish().unwrap();
    let said = message(&whole[..whole.len() / 2], &ReadOptions::default());
    let line: u64 = said.split(':').nth(1).unwrap().parse().unwrap();
    assert!((5_000..15_000).contains(&line), "{said}");
    assert!(said.contains("the gzip data after this line are damaged or incomplete"), "{said}");
    assert!(message(&whole[..6], &ReadOptions::default()).contains("gzip"));
    let mut flipped = whole.clone();
    let end = flipped.len() - 6;
    flipped[end] ^= 0xff;
    assert!(message(&flipped, &ReadOptions::default()).contains("gzip"), "the checksum is looked at");
}

#[test]
fn a_second_file_is_blamed_by_its_own_name() {
    let curves = "id,epoch,loss\na,1,0.5\n";
    let cases = [
        ("name,lr\na,1\n", "configs.csv:1: there is no column `id` (id column). Choose one of `name`, `lr`"),
        ("id,lr\na,1\nb,2\na,3\n", "configs.csv:4: id `a` was already used in line 2"),
        ("id,lr\na\n", "configs.csv:2: the number of fields is 1 here, but 2 in the header"),
        ("", "configs.csv: the file is empty"),
    ];
    for (configs, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("curves.csv"), curves).unwrap();
        std::fs::write(folder.path().join("configs.csv"), configs).unwrap();
        let said = read_runs(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(said.contains(expected), "  said     {said}\n  expected {expected}");
    }
}

#[test]
fn configurations_must_say_what_the_curves_say() {
    let said = |column: &str, configs: &str, options: &ReadOptions| {
        let folder = tempfile::tempdir().unwrap();
        let curves = format!("id,epoch,{column},acc\na,1,0.1,0.5\nb,1,0.2,0.6\nc,1,,0.7\n");
        std::fs::write(folder.path().join("curves.csv"), curves).unwrap();
        std::fs::write(folder.path().join("configs.csv"), configs).unwrap();
        read_runs(folder.path(), options).map_err(|error| error.to_string())
    };
    let differs = "id,lr\na,0.10\nb,0.3\n";
    let error = said("lr", differs, &ReadOptions::default()).unwrap_err();
    let expected = "configs.csv:3: `lr` of run `b` is 0.3, but 0.2 in line 3 of curves.csv. Make them equal, or remove the column from one of the files";
    assert!(error.ends_with(expected), "{error}");
    let same = said("lr", "id,lr\na,0.10\nc,0.3\n", &ReadOptions::default()).unwrap();
    let lrs = same.runs.iter().map(|run| run.configuration["lr"].to_string()).collect::<Vec<_>>();
    assert_eq!(lrs, ["0.1", "0.2", "0.3"], "what one file lacks is in the other");
    assert!(said("seed", "id,seed\na,1\nb,0.3\n", &ReadOptions::default()).is_ok(), "a label");
    let excluded = ReadOptions { exclude: vec!["lr".into()], ..ReadOptions::default() };
    assert!(said("lr", differs, &excluded).is_ok());
}

#[test]
fn a_folder_needs_exactly_one_file_of_curves() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
    let said = |folder: &std::path::Path| read_runs(folder, &ReadOptions::default()).unwrap_err().to_string();
    assert!(said(folder.path()).contains(
        "no curve file in this folder (found: `notes.txt`). Pass a file, or a folder with one .csv"
    ));
    std::fs::write(folder.path().join("a.csv"), "x").unwrap();
    std::fs::write(folder.path().join("b.jsonl.gz"), "x").unwrap();
    assert!(
        said(folder.path())
            .contains("several files could contain the curves: `a.csv`, `b.jsonl.gz`. Pass the one to read")
    );
}

#[test]
fn a_file_that_is_not_there_and_columns_that_are_not_there_are_named() {
    let missing = read_runs("nowhere/curves.csv".as_ref(), &ReadOptions::default())
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(missing.starts_with("nowhere/curves.csv: there is no such file or folder. Check"), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.csv");
    std::fs::write(&file, "lr,width,acc_1,acc_2\n1,2,0.5,0.6\n2,3,0.5,0.7\n").unwrap();
    let options = ReadOptions {
        exclude: vec!["lr".into(), "rl".into()],
        include: vec!["widht".into()],
        ..ReadOptions::default()
    };
    let notes: Vec<String> =
        read_runs(&file, &options).unwrap().notes.into_iter().map(|note| note.text).collect();
    for expected in
        ["no column `rl` to exclude. The columns are `lr`, `width`", "no column `widht` to include"]
    {
        assert!(notes.iter().any(|note| note.contains(expected)), "{notes:?}");
    }
}

#[test]
fn an_epoch_of_the_curves_is_no_id() {
    let bytes = b"lr,acc_1,acc_2,loss_1,loss_2\n1,0.5,0.6,2,1\n2,0.4,0.6,3,1\n";
    for (column, series) in [("acc_1", "acc"), ("loss_2", "loss")] {
        let options = ReadOptions { id_column: Some(column.to_owned()), ..ReadOptions::default() };
        let said = message(bytes, &options);
        let expected =
            format!("f:1: the id column `{column}` is an epoch of `{series}`, so it cannot name the runs");
        assert!(said.starts_with(&expected), "{said}");
    }
}
