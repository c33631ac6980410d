//! Each rule of reading, on the smallest file that shows it.

use foretell::{ColumnDeclarations, Direction, FeatureGroup, Scale, Value};
use foretell_logs::{EmptyEnds, NoteTopic, ReadOptions, RecordedSet, read_runs};
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder with the given files; names ending in `.gz` are compressed.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = std::fs::File::create(folder.path().join(name)).unwrap();
        if name.ends_with(".gz") {
            let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            gz.write_all(text.as_bytes()).unwrap();
            gz.finish().unwrap();
        } else {
            (&file).write_all(text.as_bytes()).unwrap();
        }
    }
    folder
}

fn read_text(name: &str, text: &str, options: &ReadOptions) -> RecordedSet {
    let folder = folder(&[(name, text)]);
    read_runs(&folder.path().join(name), options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn plain(text: &str) -> RecordedSet {
    read_text("runs.csv", text, &ReadOptions::default())
}

fn features(recorded: &RecordedSet) -> Vec<&str> {
    recorded.columns.groups.keys().map(String::as_str).collect()
}

fn notes(recorded: &RecordedSet, topic: NoteTopic) -> Vec<&str> {
    recorded.notes.iter().filter(|note| note.topic == topic).map(|note| note.text.as_str()).collect()
}

const WIDE: &str = "lr,num_layers,set,acc_0,acc_5,acc_10\n0.1,2,c,0.1,0.2,0.3\n0.01,3,c,0.2,0.3,0.4\n";

#[test]
fn a_wide_row_is_a_run_and_its_steps_are_in_the_column_names() {
    let recorded = plain(WIDE);
    assert_eq!((recorded.name.as_str(), recorded.metric.name.as_str()), ("runs", "acc"));
    assert_eq!(recorded.metric.direction, Direction::Maximize);
    assert_eq!(recorded.runs[1].id, "2");
    assert_eq!(recorded.runs[1].curve.steps(), [0.0, 5.0, 10.0]);
    assert_eq!(recorded.runs[1].curve.scores(), [0.2, 0.3, 0.4]);
    assert_eq!(recorded.runs[0].configuration["lr"], Value::Number(0.1));
    assert_eq!(recorded.columns.groups["num_layers"], FeatureGroup::Architecture);
    assert_eq!(recorded.columns.groups["lr"], FeatureGroup::Hyperparameter);
    assert_eq!(notes(&recorded, NoteTopic::Constant), ["1 column dropped as constant: `set`"]);
}

#[test]
fn separators_line_endings_marks_and_compression_make_no_difference() {
    let expected = plain(WIDE).runs;
    let texts = [
        ("a.csv", WIDE.replace('\n', "\r\n")),
        ("a.csv", WIDE.replace('\n', "\r")),
        ("a.csv", format!("\u{feff}{WIDE}")),
        ("a.csv", format!("\n\n{}", WIDE.trim_end())),
        ("a.csv", WIDE.replace(',', ";")),
        ("a.tsv", WIDE.replace(',', "\t")),
        ("a.csv.gz", WIDE.to_owned()),
        ("no-ending", WIDE.to_owned()),
    ];
    for (name, text) in texts {
        assert_eq!(read_text(name, &text, &ReadOptions::default()).runs, expected, "{name}: {text:?}");
    }
}

#[test]
fn ids_that_do_not_tell_the_runs_apart_are_told_with_their_lines() {
    for (ids, why) in
        [(["a", "b", "a"], "`a` is in lines 2 and 4"), (["a", "", "b"], "it is empty in line 3")]
    {
        let recorded = plain(&format!(
            "trial,id,acc_1,acc_2\n1,{},0.1,0.2\n1,{},0.1,0.3\n1,{},0.1,0.4\n",
            ids[0], ids[1], ids[2]
        ));
        let said = format!("column `id` cannot name the runs, which are numbered instead: {why}");
        assert_eq!(notes(&recorded, NoteTopic::Identity), [said]);
        assert_eq!(recorded.runs[2].id, "3");
    }
    let recorded = plain("trial,id,acc_1,acc_2\n4,a,0.1,0.2\n5,a,0.1,0.3\n");
    assert_eq!((recorded.runs[1].id.as_str(), notes(&recorded, NoteTopic::Identity).len()), ("5", 0));
}

#[test]
fn epoch_columns_may_stand_in_any_order_and_have_any_prefix() {
    for (header, metric) in [
        ("val_acc_2,val_acc_10,val_acc_1", "val_acc"),
        ("acc2,acc10,acc1", "acc"),
        ("2,10,1", "value"),
        ("ep 2,ep 10,ep 1", "ep"),
    ] {
        let recorded = plain(&format!("{header}\n0.2,0.9,0.1\n0.3,0.8,0.2\n"));
        assert_eq!(recorded.metric.name, metric);
        assert_eq!(recorded.runs[0].curve.steps(), [1.0, 2.0, 10.0], "{header}");
        assert_eq!(recorded.runs[0].curve.scores(), [0.1, 0.2, 0.9], "{header}");
    }
}

#[test]
fn non_finite_cells_are_gaps_inside_and_divergence_at_the_end_but_empty_ends_are_short_runs() {
    let recorded = plain(
        "lr,acc_1,acc_2,acc_3\n1,0.1,nan,0.3\n2,0.1,,0.3\n3,0.1,inf,-inf\n4,0.1,,\n5,,,\n6,0.1,NaN,\n7,0.1\n",
    );
    let shape = |at: usize| (recorded.runs[at].curve.len(), recorded.runs[at].curve.diverged_at());
    assert_eq!(shape(0), (2, None), "a gap");
    assert_eq!(shape(1), (2, None), "a gap");
    assert_eq!(shape(2), (1, Some(2.0)), "diverged");
    assert_eq!(shape(3), (1, None), "short");
    assert_eq!(shape(4), (0, None), "nothing");
    assert_eq!(shape(5), (1, Some(2.0)), "diverged, then nothing");
    assert_eq!(shape(6), (1, None), "the row itself is short");
    assert_eq!(notes(&recorded, NoteTopic::Unmeasured), ["1 of 7 runs contain no finite value"]);
    assert_eq!(
        notes(&recorded, NoteTopic::Diverged),
        ["2 of 7 runs diverged at step 2: their last values are not finite"]
    );
    let apart = plain("lr,acc_1,acc_2,acc_3\n1,0.1,nan,inf\n2,0.1,0.2,nan\n");
    assert_eq!(
        notes(&apart, NoteTopic::Diverged),
        ["2 of 2 runs diverged at steps 2 to 3: their last values are not finite"]
    );
    assert_eq!(notes(&recorded, NoteTopic::Gaps).len(), 1);
    assert_eq!(notes(&recorded, NoteTopic::Lengths).len(), 2);
}

#[test]
fn the_direction_comes_from_the_option_then_the_name_then_the_data() {
    let falling = "1,296,204,87\n2,300,200,90\n3,280,290,300\n";
    let cases = [
        ("lr,acc_1,acc_2,acc_3", None, Direction::Maximize),
        ("lr,val_loss_1,val_loss_2,val_loss_3", None, Direction::Minimize),
        ("lr,ppl1,ppl2,ppl3", None, Direction::Minimize),
        ("lr,ep_1,ep_2,ep_3", None, Direction::Minimize),
        ("lr,ep_1,ep_2,ep_3", Some(Direction::Maximize), Direction::Maximize),
        ("lr,ppl1,ppl2,ppl3", Some(Direction::Maximize), Direction::Maximize),
        ("lr,ep_3,ep_2,ep_1", None, Direction::Maximize),
    ];
    for (header, direction, expected) in cases {
        let options = ReadOptions { direction, ..ReadOptions::default() };
        let recorded = read_text("a.csv", &format!("{header}\n{falling}"), &options);
        assert_eq!(recorded.metric.direction, expected, "{header}");
        let first = recorded.runs[0].curve.value_at(1.0).unwrap();
        assert!((first < 0.0) == (expected == Direction::Minimize), "{header}: scores are turned");
    }
}

#[test]
fn numbered_hyperparameters_are_no_curve_and_other_metrics_no_configuration() {
    let recorded = plain(
        "beta1,beta2,l1_width,l2_width,train_acc_1,train_acc_2,train_acc_3,val_acc_1,val_acc_2,val_acc_3,final_acc\n\
         0.9,0.99,8,16,0.5,0.6,0.7,0.4,0.5,0.6,0.6\n0.8,0.999,9,17,0.4,0.5,0.6,0.3,0.4,0.5,0.5\n",
    );
    assert_eq!(recorded.metric.name, "val_acc");
    assert_eq!(features(&recorded), ["beta1", "beta2", "l1_width", "l2_width"]);
    assert_eq!(recorded.columns.groups["l2_width"], FeatureGroup::Architecture);
    assert!(notes(&recorded, NoteTopic::Excluded).contains(&"other series left out: `train_acc_`"));
    let options = ReadOptions { metric: Some("train_acc".into()), ..ReadOptions::default() };
    let text = "train_acc_1,train_acc_2,val_acc_1,val_acc_2\n0.5,0.6,0.3,0.4\n";
    assert_eq!(read_text("a.csv", text, &options).runs[0].curve.scores(), [0.5, 0.6]);
}

const MIXED: &str = "config_id,IsTest,random_seed,MaxAccuracy,file_name,lr,optimizer,note,acc_1,acc_2\n\
    a,0,1,0.5,x,0.1,adam,k,0.4,0.5\nb,1,2,0.6,y,0.2,sgd,k,0.5,0.6\n";

#[test]
fn outcomes_and_labels_are_no_features_unless_asked_for() {
    let recorded = plain(MIXED);
    assert_eq!(features(&recorded), ["lr", "optimizer"]);
    assert_eq!(recorded.runs[1].configuration["optimizer"], Value::Text("sgd".into()));
    assert_eq!(recorded.runs[1].id, "b");
    let include = ReadOptions {
        include: vec!["random_seed".into()],
        exclude: vec!["optimizer".into()],
        columns: ColumnDeclarations {
            groups: [("lr".to_owned(), FeatureGroup::Architecture)].into(),
            scales: [("lr".to_owned(), Scale::Linear), ("rl".to_owned(), Scale::Log)].into(),
        },
        ..ReadOptions::default()
    };
    let recorded = read_text("a.csv", MIXED, &include);
    assert_eq!(features(&recorded), ["lr", "random_seed"]);
    assert_eq!(recorded.columns.groups["lr"], FeatureGroup::Architecture);
    assert_eq!(recorded.columns.scales["lr"], Scale::Linear);
    let slip = "there is no column `rl` to put on a scale. The columns are ";
    assert!(notes(&recorded, NoteTopic::Excluded).iter().any(|note| note.starts_with(slip)));
    let all = ReadOptions { keep_all_columns: true, ..ReadOptions::default() };
    assert_eq!(read_text("a.csv", MIXED, &all).columns.groups.len(), 8);
}

#[test]
fn a_text_among_the_numbers_of_a_column_is_said_and_words_for_nothing_are_missing() {
    let table = |cell: &str| {
        plain(&format!("lr,acc_1,acc_2\n0.1,0.1,0.2\n0.2,0.1,0.3\n{cell},0.1,0.4\n0.3,0.1,0.5\n"))
    };
    for text in ["abc", "?", "1e-3x", "inf"] {
        let said = format!(
            "column `lr` contains 3 numbers and the string `{text}` (line 4), so its values are read as categories"
        );
        assert_eq!(notes(&table(text), NoteTopic::Categories), [said]);
    }
    for nothing in ["", "NA", "N/A", "n/a", "-", "none", "null", "nan"] {
        let recorded = table(nothing);
        assert_eq!(recorded.runs[2].configuration["lr"], Value::Missing, "{nothing}");
        assert_eq!(notes(&recorded, NoteTopic::Categories), [""; 0], "{nothing}");
    }
    let mostly_text = plain("size,acc_1,acc_2\nbig,0.1,0.2\n7,0.1,0.3\nmid,0.1,0.4\n");
    assert_eq!(notes(&mostly_text, NoteTopic::Categories), [""; 0], "a category that looks like a number");
    let all = ReadOptions { keep_all_columns: true, ..ReadOptions::default() };
    let named = read_text("a.csv", "id,acc_1,acc_2\n1,0.1,0.2\n2,0.1,0.3\n2b,0.1,0.4\n", &all);
    assert_eq!(notes(&named, NoteTopic::Categories), [""; 0], "a label");
    let set = folder(&[
        ("curves.csv", "id,epoch,loss\na,1,3\nb,1,2\nc,1,1\nd,1,0\n"),
        ("configs.csv", "id,lr\na,0.1\nb,0.2\nc,x\nd,y\n"),
    ]);
    assert_eq!(
        notes(&read_runs(set.path(), &ReadOptions::default()).unwrap(), NoteTopic::Categories),
        [
            "column `lr` contains 2 numbers and 2 strings, the first `x` (run `c`), so its values are read as categories"
        ]
    );
}

#[test]
fn a_single_run_keeps_its_configuration() {
    assert_eq!(features(&plain("lr,acc_1,acc_2\n0.1,0.3,0.4\n")), ["lr"]);
}

#[test]
fn layer_notation_is_architecture_and_other_unique_texts_are_dropped() {
    let mut text = "thing,sentence,acc_1,acc_2\n".to_owned();
    for at in 0..12 {
        text += &format!("\"[C(64,3,1), FC({}), SM(10)]\",sentence {at},0.1,0.{at}\n", at + 1);
    }
    let recorded = plain(&text);
    assert_eq!(features(&recorded), ["thing"]);
    assert_eq!(recorded.columns.groups["thing"], FeatureGroup::Architecture);
    assert_eq!(
        notes(&recorded, NoteTopic::Architecture),
        ["column `thing` contains networks in layer notation (12 of 12 strings)"]
    );
}

const CURVES: &str =
    "config_id,epoch,val_loss,train_acc\nb,2,0.5,0.1\na,1,0.9,0.2\nb,1,0.7,0.3\na,3,0.6,0.4\n";
const CONFIGS: &str = "lr,config_id,seed\n0.1,a,1\n0.2,b,2\n0.3,c,3\n";

#[test]
fn long_rows_are_sorted_by_step_and_joined_with_the_configurations_beside_them() {
    for (curves, configs) in [
        ("curves.csv", "configs.csv"),
        ("curves.csv.gz", "configurations.csv.gz"),
        ("x_curves.csv", "x_config.csv"),
    ] {
        let folder = folder(&[(curves, CURVES), (configs, CONFIGS)]);
        let recorded = read_runs(&folder.path().join(curves), &ReadOptions::default()).unwrap();
        assert_eq!(recorded.metric.name, "val_loss", "{curves}");
        assert_eq!(recorded.runs[0].id, "b");
        assert_eq!(recorded.runs[0].curve.scores(), [-0.7, -0.5]);
        assert_eq!(recorded.runs[1].curve.steps(), [1.0, 3.0]);
        assert_eq!(recorded.runs[1].configuration, [("lr".to_owned(), Value::Number(0.1))].into());
        let joined = format!("configurations of 2 runs joined from `{configs}`; 1 row without a curve");
        assert_eq!(notes(&recorded, NoteTopic::Identity), [joined]);
    }
}

#[test]
fn a_folder_is_read_by_its_curves_and_named_after_itself() {
    let set = folder(&[("curves.csv.gz", CURVES), ("configs.csv", CONFIGS), ("SOURCE.txt", "where from")]);
    let recorded = read_runs(set.path(), &ReadOptions::default()).unwrap();
    assert_eq!(recorded.name, set.path().file_name().unwrap().to_string_lossy());
    assert_eq!(notes(&recorded, NoteTopic::Identity).len(), 1, "no file left aside");
    let two = folder(&[("curves.csv", CURVES), ("configs.csv", CONFIGS), ("other.csv", CONFIGS)]);
    let mut options = ReadOptions::default();
    let ignored = "`curves.csv` is read; other files are not: `other.csv`";
    assert_eq!(notes(&read_runs(two.path(), &options).unwrap(), NoteTopic::Identity)[1], ignored);
    options.configurations = Some(two.path().join("other.csv"));
    assert_eq!(notes(&read_runs(two.path(), &options).unwrap(), NoteTopic::Identity).len(), 1);
    let single = folder(&[("mine.csv", WIDE), ("README.md", "about")]);
    assert_eq!(read_runs(single.path(), &ReadOptions::default()).unwrap().name, "mine");
}

#[test]
fn configurations_may_be_given_or_stand_in_the_same_file() {
    let folder = folder(&[("log.csv", CURVES), ("other.csv", CONFIGS)]);
    let configurations = Some(folder.path().join("other.csv"));
    let given = ReadOptions { configurations, ..ReadOptions::default() };
    assert_eq!(features(&read_runs(&folder.path().join("log.csv"), &given).unwrap()), ["lr"]);
    let not_joined = notes(&read_text("runs.csv", WIDE, &given), NoteTopic::Identity).join("");
    assert!(not_joined.contains("not joined, because only long files"), "{not_joined}");
    let recorded = plain(
        "run,step,lr,acc,lr_now\na,1,0.1,0.3,0.1\na,2,0.1,0.4,0.05\nb,1,0.2,0.3,0.2\nb,2,0.2,0.2,0.1\n",
    );
    assert_eq!(features(&recorded), ["lr"], "lr_now varies within a run: a series");
    assert!(notes(&recorded, NoteTopic::Metric)[0].contains("left out: `lr_now`"));
}

#[test]
fn the_metric_of_a_long_file_is_chosen_in_the_documented_order() {
    let cases = [
        ("val_loss,val_acc,test_acc", "val_acc"),
        ("val_loss,test_acc,train_acc", "test_acc"),
        ("train_acc,val_loss,test_loss", "val_loss"),
        ("loss,acc,train_acc", "acc"),
        ("foo,value,bar", "value"),
    ];
    for (metrics, expected) in cases {
        let recorded = plain(&format!("id,epoch,{metrics}\na,1,1,2,3\na,2,4,5,6\n"));
        assert_eq!(recorded.metric.name, expected, "{metrics}");
    }
    assert_eq!(plain("id,epoch,foo\na,1,1\na,2,2\n").metric.name, "foo", "the only column left");
}

#[test]
fn columns_may_be_named_and_one_run_needs_no_id() {
    let options = ReadOptions {
        metric: Some("b".into()),
        id_column: Some("who".into()),
        step_column: Some("when".into()),
        ..ReadOptions::default()
    };
    let recorded = read_text("a.csv", "who,when,a,b\nx,10,1,2\nx,20,3,4\ny,10,5,6\n", &options);
    assert_eq!(recorded.runs[0].curve.steps(), [10.0, 20.0]);
    assert_eq!(recorded.runs[0].curve.scores(), [2.0, 4.0]);
    let recorded = plain("epoch,loss\n1,2.5\n2,2.0\n");
    assert_eq!((recorded.runs.len(), recorded.runs[0].id.as_str()), (1, "runs"));
}

/// The length of each run, and the step where it diverged.
fn shapes(recorded: &RecordedSet) -> Vec<(usize, Option<f64>)> {
    recorded.runs.iter().map(|run| (run.curve.len(), run.curve.diverged_at())).collect()
}

#[test]
fn empty_ends_of_long_runs_are_divergence_from_two_on_and_a_literal_nan_always_is() {
    let text = "id,epoch,loss\na,1,2\na,2,\na,3,\nb,1,2\nb,2,nan\nc,1,2\nc,2,\nc,3,1\nc,4,\n\
        d,1,2\nd,1,2\nd,2,\nd,2,1.5\ne,1,2\ne,2,\nf,1,2\nf,2,inf\nf,3,\n";
    let recorded = plain(text);
    let expected = [
        (1, Some(2.0)), // never measured again
        (1, Some(2.0)), // nan
        (2, None),      // measured every second epoch
        (2, None),      // a repeated row, and a row that completes another
        (1, None),      // its last epoch is not written yet
        (1, Some(2.0)), // inf, then nothing
    ];
    assert_eq!(shapes(&recorded), expected);
    assert_eq!(
        notes(&recorded, NoteTopic::EmptyEnds),
        [
            "1 of 6 runs end in empty cells: counted as diverged",
            "1 of 6 runs end in empty cells: treated as not measured there, instead of diverged"
        ]
    );
    assert_eq!(notes(&recorded, NoteTopic::Removed), ["1 row left out as repeats of the same run and step"]);
    for (empty_ends, a, e) in
        [(EmptyEnds::Unmeasured, None, None), (EmptyEnds::Diverged, Some(2.0), Some(2.0))]
    {
        let recorded = read_text("runs.csv", text, &ReadOptions { empty_ends, ..ReadOptions::default() });
        let mut expected = expected;
        (expected[0], expected[4]) = ((1, a), (1, e));
        assert_eq!(shapes(&recorded), expected, "{empty_ends:?}");
        assert!(notes(&recorded, NoteTopic::EmptyEnds).is_empty());
    }
}

#[test]
fn an_empty_cell_of_a_running_long_run_is_not_finite_and_those_of_a_wide_row_are_still_to_come() {
    let long = "id,epoch,loss\na,1,2\na,2,\nb,1,2\nb,2,1.5\nb,3,\nb,4,\nc,1,2\nc,2,1\n";
    let wide = "lr,loss_1,loss_2,loss_3\n1,2,,\n2,2,1,\n3,2,nan,\n";
    let read = |text: &str, empty_ends, empty_between| {
        let options = ReadOptions { running: true, empty_ends, empty_between, ..ReadOptions::default() };
        let recorded = read_text("runs.csv", text, &options);
        (shapes(&recorded), notes(&recorded, NoteTopic::EmptyEnds).len())
    };
    let (guessed, told) = (EmptyEnds::Guessed, EmptyEnds::Unmeasured);
    assert_eq!(read(long, guessed, 0), (vec![(1, Some(2.0)), (2, Some(3.0)), (2, None)], 1));
    assert_eq!(read(long, guessed, 1).0, [(1, None), (2, Some(3.0)), (2, None)], "every second epoch");
    assert_eq!(read(long, told, 0), (vec![(1, None), (2, None), (2, None)], 0));
    for empty_ends in [guessed, told, EmptyEnds::Diverged] {
        assert_eq!(read(wide, empty_ends, 0), (vec![(1, None), (2, None), (1, Some(2.0))], 0));
    }
}

#[test]
fn a_table_and_its_long_form_say_the_same_of_empty_ends_if_they_are_told() {
    let wide = "lr,loss_1,loss_2,loss_3\n1,2,,\n2,2,nan,\n3,2,,1\n4,2,1,\n";
    let mut long = "id,epoch,lr,loss\n".to_owned();
    for (at, row) in wide.lines().skip(1).enumerate() {
        let cells: Vec<&str> = row.split(',').collect();
        for epoch in 1..=3 {
            long += &format!("{at},{epoch},{},{}\n", cells[0], cells[epoch]);
        }
    }
    for (empty_ends, end) in [(EmptyEnds::Unmeasured, None), (EmptyEnds::Diverged, Some(3.0))] {
        let options = ReadOptions { empty_ends, ..ReadOptions::default() };
        let curves = |text: &str| -> Vec<foretell::Curve> {
            read_text("runs.csv", text, &options).runs.into_iter().map(|run| run.curve).collect()
        };
        assert_eq!(curves(wide), curves(&long));
        assert_eq!((curves(wide)[1].diverged_at(), curves(wide)[3].diverged_at()), (Some(2.0), end));
    }
    assert_eq!(shapes(&plain(wide))[0], (1, None), "a row that ends early has not diverged");
}

#[test]
fn json_lines_may_lack_what_can_be_told_and_hold_what_python_writes() {
    let text = concat!(
        "{\"id\":\"a\",\"configuration\":{\"lr\":0.1,\"net\":{\"width\":8},\"nesterov\":true},\"values\":[1.5,NaN,1.0]}\n",
        "\n",
        "{\"id\":7,\"configuration\":{\"lr\":0.2,\"net\":{\"width\":16},\"nesterov\":null},\"values\":[2,\"inf\",-Infinity],\"steps\":[0,10,20]}\n",
        "{\"values\":[1.1,null],\"extra\":\"NaN\"}\n",
    );
    let recorded =
        read_text("a.jsonl", text, &ReadOptions { metric: Some("loss".into()), ..ReadOptions::default() });
    let ids: Vec<&str> = recorded.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["a", "7", "4"]);
    assert_eq!(recorded.metric.direction, Direction::Minimize);
    assert_eq!(recorded.runs[0].curve.steps(), [1.0, 3.0]);
    assert_eq!(recorded.runs[1].curve.diverged_at(), Some(10.0));
    assert_eq!(features(&recorded), ["lr", "nesterov", "net.width"]);
    assert_eq!(notes(&recorded, NoteTopic::Excluded), ["fields left out: `extra`"]);
}

const REPEATED: &str = "config_group,lr,acc_1,acc_2\ng,1,0.1,0.2\nh,2,0.3,0.4\ng,3,0.5,0.6\nk,2,0.7,0.8\nm,4,0.7,0.8\nn,5,0,0\no,6,0,0\n";

#[test]
fn repeats_share_a_number_and_can_be_removed() {
    let recorded = plain(REPEATED);
    assert_eq!(recorded.repeats, [0, 1, 0, 1, 1, 5, 6]);
    assert_eq!(
        notes(&recorded, NoteTopic::Repeats),
        ["runs grouped by `config_group`: 6 groups", "3 of 7 runs repeat an earlier one"]
    );
    assert_eq!(notes(&recorded, NoteTopic::Flat), ["2 of 7 runs are constant, and are kept"]);
    let lrs = |recorded: &RecordedSet| -> Vec<f64> {
        recorded.runs.iter().map(|run| run.configuration["lr"].as_number().unwrap()).collect()
    };
    let curves = recorded.clone().without_identical_curves();
    assert_eq!((lrs(&curves), curves.repeats), (vec![1.0, 2.0, 3.0, 2.0, 5.0], vec![0, 1, 0, 1, 4]));
    let unique = recorded.without_repeats();
    assert_eq!((lrs(&unique), unique.repeats), (vec![1.0, 2.0, 5.0, 6.0], vec![0, 1, 2, 3]));
    let options = ReadOptions { deduplicate: true, group_by: Some("lr".into()), ..ReadOptions::default() };
    let recorded = read_text("a.csv", REPEATED, &options);
    assert_eq!(recorded.runs.len(), 4, "lr 1, 2, 3 and the first dead run");
    assert_eq!(recorded.runs[0].configuration.len(), 0, "the grouping column is a label");
}

#[test]
fn a_column_that_is_left_out_still_tells_configurations_apart() {
    let text = "seed,lr,depth,acc_1,acc_2\n0,0.1,3,0.1,0.2\n1,0.2,3,0.1,0.3\n2,0.4,3,0.1,0.4\n3,0.4,3,0.1,0.5\n4,0.1,4,0.2,0.2\n";
    let repeats = |exclude: &[&str]| {
        let exclude = exclude.iter().map(|&name| name.to_owned()).collect();
        read_text("a.csv", text, &ReadOptions { exclude, ..ReadOptions::default() }).repeats
    };
    for exclude in [&[][..], &["lr"], &["seed"], &["lr", "depth"]] {
        assert_eq!(repeats(exclude), [0, 1, 2, 2, 4], "{exclude:?}");
    }
    let by = |column: &str, text: &str| {
        read_text("a.csv", text, &ReadOptions { id_column: Some(column.into()), ..ReadOptions::default() })
            .repeats
    };
    let wide = |column: &str, ids: [&str; 3]| {
        let row = |at: usize| format!("{},3,0.1,0.{}\n", ids[at], at + 2);
        by(column, &format!("{column},depth,acc_1,acc_2\n{}{}{}9,4,0.2,0.3\n", row(0), row(1), row(2)))
    };
    assert_eq!(wide("lr", ["0.1", "0.2", "1"]), [0, 1, 2, 3], "a setting that happens to be unique");
    assert_eq!(wide("nr", ["10", "20", "30"]), [0, 0, 0, 3], "a number of the run");
    assert_eq!(wide("trial", ["0.1", "0.2", "1"]), [0, 0, 0, 3], "named like an id");
    let long = "lr,epoch,depth,loss\n0.1,1,3,3\n0.1,2,3,2\n0.2,1,3,4\n0.2,2,3,2\n0.3,1,4,1\n0.3,2,4,2\n";
    assert_eq!(by("lr", long), [0, 1, 2], "a setting that names the runs of a long file");
}

#[test]
fn reading_needs_no_more_than_the_file() {
    let missing = PathBuf::from("/no/such/file.csv");
    assert!(
        read_runs(&missing, &ReadOptions::default())
            .unwrap_err()
            .to_string()
            .starts_with("/no/such/file.csv: ")
    );
}

/// The steps and values of the one run of a table.
fn one_run(name: &str, text: &str) -> (String, Vec<f64>, Vec<f64>) {
    let recorded = read_text(name, text, &ReadOptions::default());
    assert_eq!(recorded.runs.len(), 1, "{text}");
    let curve = &recorded.runs[0].curve;
    let values = curve.scores().iter().map(|&score| recorded.metric.direction.to_value(score)).collect();
    (recorded.metric.name.clone(), curve.steps().to_vec(), values)
}

#[test]
fn numbered_columns_with_increasing_steps_are_of_one_run() {
    let text = "step,f1_0,f1_1,f1_2,f1_macro\n100,0.1,0.2,0.3,0.4\n200,0.2,0.3,0.4,0.5\n";
    assert_eq!(one_run("r.csv", text), ("f1_macro".to_owned(), vec![100.0, 200.0], vec![0.4, 0.5]));
    let (metric, steps, _) = one_run("r.csv", "epoch,loss_q0,loss_q1,loss_q2\n1,3,4,5\n2,2,3,4\n3,1,2,3\n");
    assert_eq!((metric.as_str(), steps), ("loss_q0", vec![1.0, 2.0, 3.0]));
    let with_id = "run,epoch,acc_1,acc_2,acc_3,acc\na,1,.1,.1,.1,.2\na,2,.1,.1,.1,.3\nb,1,.1,.1,.1,.2\n";
    assert_eq!(plain(with_id).runs.len(), 2);
    // a setting that is named like a step, and differs from run to run
    let wide = "epochs,lr,acc_1,acc_2,acc_3\n20,0.1,0.1,0.2,0.3\n10,0.2,0.1,0.2,0.4\n";
    assert_eq!(plain(wide).runs.len(), 2);
}

#[test]
fn a_table_without_a_heading_is_refused_with_its_first_row() {
    for text in [
        "0.408275,0.000000,0.326620\n0.306700,0.0,0.2\n",
        "1,0.5,0.3\n2,0.6,0.2\n",
        "1,51,60\n2,55,60\n",
        "run1;0.5;1e-3\n",
    ] {
        let folder = folder(&[("r.csv", text)]);
        let error = read_runs(&folder.path().join("r.csv"), &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("the header of the table is missing"), "{error}");
    }
}

#[test]
fn metrics_alone_are_one_run_with_a_row_per_epoch() {
    let expected = |steps: [f64; 2]| ("val_accuracy".to_owned(), steps.to_vec(), vec![0.5, 0.6]);
    for (text, steps) in [
        (",loss,val_loss,accuracy,val_accuracy\n0,1.5,1.6,0.6,0.5\n1,1.1,1.2,0.7,0.6\n", [0.0, 1.0]),
        ("Unnamed: 0,loss,val_loss,val_accuracy\n10,1.5,1.6,0.5\n20,1.1,1.2,0.6\n", [10.0, 20.0]),
        ("loss,val_loss,lr,val_accuracy\n1.5,1.6,0.1,0.5\n1.1,1.2,0.1,0.6\n", [1.0, 2.0]),
    ] {
        assert_eq!(one_run("r.csv", text), expected(steps), "{text}");
    }
    let history = r#"{"loss": [1.5, 1.1], "val_loss": [1.6, 1.2], "val_accuracy": [0.5, 0.6]}"#;
    assert_eq!(one_run("history.json", history), expected([1.0, 2.0]));
    // a setting and a metric: these may be many runs
    let folder = folder(&[("r.csv", "lr,val_acc\n0.1,0.5\n0.2,0.6\n")]);
    assert!(read_runs(&folder.path().join("r.csv"), &ReadOptions::default()).is_err());
}

#[test]
fn percent_signs_and_the_commas_of_numbers_are_read() {
    for (text, expected) in [
        ("epoch,val_acc\n1,51.06%\n2,59.67 %\n", [51.06, 59.67]),
        ("epoch;val_loss\n1;0,512\n2;0,498\n", [0.512, 0.498]),
        ("epoch;val_loss\n1;12,106\n2;9,5\n", [12.106, 9.5]),
        ("epoch,ppl\n1,\"1,234.5\"\n2,\"2,106\"\n", [1234.5, 2106.0]),
    ] {
        assert_eq!(one_run("r.csv", text).2, expected, "{text}");
    }
    let folder = folder(&[("r.csv", "epoch;val_loss\n1;12,106\n2;11,205\n")]);
    let error = read_runs(&folder.path().join("r.csv"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`12,106` in column `val_loss` is ambiguous"), "{error}");
}

#[test]
fn tables_of_one_run_in_folders_of_their_own_are_a_set_of_runs() {
    let table = "Epoch,Train Loss,Val Loss,Val Accuracy\n1,1.5,1.6,0.5\n2,1.1,1.2,0.6\n";
    let top = tempfile::tempdir().unwrap();
    for run in ["a", "b"] {
        std::fs::create_dir(top.path().join(run)).unwrap();
        std::fs::write(top.path().join(run).join("results.csv"), table).unwrap();
    }
    let recorded = read_runs(top.path(), &ReadOptions::default()).unwrap();
    assert_eq!((recorded.runs.len(), recorded.metric.name.as_str()), (2, "Val Accuracy"));
    assert_eq!(recorded.runs[0].curve.steps(), [1.0, 2.0]);
}

#[test]
fn the_downloads_of_tensorboard_are_runs_named_by_their_files() {
    let table =
        |base: f64| format!("Wall time,Step,Value\n1900000001.0,10,{base}\n1900000002.0,20,{}\n", base + 0.1);
    let folder = folder(&[
        ("run-a-tag-val_acc.csv", &table(0.5)),
        ("run-a-tag-val_loss.csv", &table(0.2)),
        ("run-b-tag-val_acc.csv", &table(0.4)),
    ]);
    let recorded = read_runs(folder.path(), &ReadOptions::default()).unwrap();
    let ids: Vec<&str> = recorded.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!((ids, recorded.metric.name.as_str()), (vec!["a", "b"], "val_acc"));
    assert_eq!(recorded.runs[1].curve.steps(), [10.0, 20.0]);
}

#[test]
fn an_evaluation_before_training_is_epoch_0_and_moves_no_other() {
    let row = |epoch: u32| {
        format!(r#"{{"epoch": {epoch}, "eval_accuracy": 0.{}, "step": {}}}"#, epoch + 1, 10 * epoch)
    };
    let rows: Vec<String> = (0..=3).map(row).collect();
    let state = format!(
        r#"{{"best_model_checkpoint": null, "global_step": 30, "max_steps": 30, "num_train_epochs": 3, "log_history": [{}]}}"#,
        rows.join(",")
    );
    let folder = folder(&[("trainer_state.json", &state)]);
    let recorded = read_runs(&folder.path().join("trainer_state.json"), &ReadOptions::default()).unwrap();
    assert_eq!(recorded.runs[0].curve.steps(), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn lines_of_another_metric_or_direction_than_those_asked_for_are_set_aside() {
    let line = |id: &str, metric: &str, direction: &str, value: f64| {
        format!(
            "{{\"id\":\"{id}\",\"metric\":\"{metric}\",\"direction\":\"{direction}\",\"values\":[{value},1]}}\n"
        )
    };
    let text = line("a", "auc", "maximize", 0.5)
        + &line("b", "loss", "minimize", 2.0)
        + &line("c", "auc", "minimize", 3.0);
    let asked = |metric: &str, direction| ReadOptions {
        metric: Some(metric.to_owned()),
        direction: Some(direction),
        ..ReadOptions::default()
    };
    let recorded = read_text("runs.jsonl", &text, &asked("auc", Direction::Maximize));
    assert_eq!((recorded.runs.len(), recorded.declared), (1, Some(Direction::Maximize)));
    assert_eq!(
        notes(&recorded, NoteTopic::SetAside),
        ["2 runs of another metric or direction set aside: `auc` to minimize, `loss` to minimize"]
    );
    let folder = folder(&[("runs.jsonl", &text)]);
    let refused =
        read_runs(&folder.path().join("runs.jsonl"), &asked("loss", Direction::Maximize)).unwrap_err();
    assert!(refused.to_string().contains("none of its runs is of `loss` to maximize, but of"), "{refused}");
}
