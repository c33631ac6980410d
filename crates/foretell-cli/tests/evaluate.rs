//! `foretell evaluate` from the outside: its JSON, its figures, its errors.

mod common;

use common::{Tested, foretell, ran};
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// All predictors.
const ALL: &str = "auto,gp,svr-rbf,svr-linear,random-forest,ols,ridge,last-value";

/// A wide file of `runs` runs that halve their error every three epochs, down to a floor that the learning rate sets.
fn write_curves(path: &Path, runs: u32) -> std::io::Result<()> {
    let epochs = 12;
    let names: Vec<String> = (1..=epochs).map(|epoch| format!("val_acc_{epoch}")).collect();
    let mut text = format!("lr,num_layers,{}\n", names.join(","));
    for run in 0..runs {
        let (lr, layers) = (0.001 * f64::from(1 + run * 7 % 40), 2 + run % 5);
        let limit = 0.6 + 8.0 * lr - 0.01 * f64::from(layers);
        let value =
            |epoch: u32| limit - 0.4 * (-f64::from(epoch) / 3.0).exp2() + 0.002 * f64::from(run * epoch % 7);
        let values: Vec<String> = (1..=epochs).map(|epoch| format!("{:.4}", value(epoch))).collect();
        writeln!(text, "{lr},{layers},{}", values.join(",")).expect("text grows");
    }
    fs::write(path, text)
}

/// The curves in `benches/curves` are of networks that Foretell trained itself; no choice in its predictors was made by them.
#[test]
fn the_default_leads_on_curves_that_it_was_not_made_by() -> Tested {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/curves");
    let sets = ["cifar10-random", "cifar10-q-learning", "shapes-q-learning"];
    let files = sets.map(|set| folder.join(format!("{set}.jsonl.gz")).to_string_lossy().into_owned());
    let mut arguments = vec!["evaluate"];
    arguments.extend(files.iter().map(String::as_str));
    arguments.extend(["--predictor", ALL, "--observed", "0.1,0.3,0.5", "--train", "20"]);
    arguments.extend(["--repeats", "10", "--format", "json"]);
    let output = ran(&arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let rows = document["rows"].as_array().ok_or("rows is no list")?;
    let mut leads = Vec::new();
    for set in sets {
        for observed in [0.1, 0.3, 0.5] {
            let here = |row: &&serde_json::Value| row["curves"] == set && row["observed"] == observed;
            let r2 = |row: &serde_json::Value| row["r2_mean"].as_f64().unwrap_or(f64::NEG_INFINITY);
            let (auto, others): (Vec<_>, Vec<_>) =
                rows.iter().filter(here).partition(|row| row["predictor"] == "auto");
            let best = others.iter().map(|row| r2(row)).fold(f64::NEG_INFINITY, f64::max);
            assert_eq!((auto.len(), others.len()), (1, 7), "{set} at {observed}");
            leads.push(r2(auto[0]) - best);
            assert!(r2(auto[0]) > best - 0.02, "{set} at {observed}: auto {} for {best}", r2(auto[0]));
        }
    }
    assert!(leads.iter().filter(|&&lead| lead > 0.0).count() >= 7, "auto leads by {leads:?}");
    Ok(())
}

#[test]
fn the_json_has_the_fields_that_scripts_depend_on() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("small.csv");
    write_curves(&curves, 60)?;
    let path = curves.to_string_lossy();
    let arguments = ["evaluate", &path, "--predictor", "last-value,svr-rbf", "--observed", "0.25,0.5"];
    let rest = ["--train", "30", "--repeats", "3", "--draws", "30", "--format", "json"];
    let output = ran(&[&arguments[..], &rest].concat())?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(document["schema"], "foretell.evaluate/1");
    let rows = document["rows"].as_array().ok_or("rows is no list")?;
    assert_eq!(rows.len(), 4);
    let row = &rows[1];
    for (field, expected) in
        [("curves", "small"), ("predictor", "svr-rbf"), ("features", "ts,ap,hp"), ("score", "last")]
    {
        assert_eq!(row[field], expected);
    }
    for (field, expected) in [("observed", 0.25), ("tau", 3.0), ("train", 30.0), ("repeats", 3.0)] {
        assert_eq!(row[field].as_f64(), Some(expected), "{field}");
    }
    for field in ["r2_mean", "r2_stderr", "spearman_mean", "mae_mean", "fit_seconds", "predict_seconds"] {
        assert!(row[field].is_number(), "{field} is missing");
    }
    for level in ["0.5", "0.8", "0.9", "0.95"] {
        let covered = row["coverage"][level].as_f64().ok_or("no coverage")?;
        assert!((0.0..=1.0).contains(&covered), "{level}");
    }
    let (last, fitted) = (rows[0]["r2_mean"].as_f64(), row["r2_mean"].as_f64());
    assert!(fitted > last && fitted > Some(0.9), "svr-rbf {fitted:?}, last-value {last:?}");
    Ok(())
}

#[test]
fn figures_lie_beside_the_file_asked_for() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("small.csv");
    write_curves(&curves, 40)?;
    let path = curves.to_string_lossy();
    for (observed, file, expected) in [
        ("0.25", "one.svg", &["one.svg", "one-calibration.svg"][..]),
        ("0.25,0.5", "two.png", &["two.png", "two-scatter.png", "two-calibration.png"][..]),
    ] {
        let figure = folder.path().join(file);
        let figure = figure.to_string_lossy();
        let arguments = ["evaluate", &path, "--predictor", "last-value", "--train", "20", "--repeats", "2"];
        let output = ran(&[&arguments[..], &["--observed", observed, "--plot", &figure]].concat())?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for name in expected {
            assert!(fs::metadata(folder.path().join(name))?.len() > 1000, "{name} is empty");
        }
    }
    let scatter = fs::read_to_string(folder.path().join("one.svg"))?;
    assert_eq!(scatter.matches("class=\"point\"").count(), 20, "a point a tested run of the first split");
    assert_eq!(fs::read_dir(folder.path())?.count(), 6);
    Ok(())
}

#[test]
fn wrong_usage_and_bad_input_end_in_one_clear_message_and_code_2() -> Tested {
    let folder = tempfile::tempdir()?;
    let (good, bad) = (folder.path().join("good.csv"), folder.path().join("bad.csv"));
    write_curves(&good, 20)?;
    fs::write(&bad, "lr,acc_1,acc_2,acc_3\n0.1,0.2,0.3,0.4\n0.2,0.3,soon,0.5\n")?;
    let (good, bad) = (good.to_string_lossy(), bad.to_string_lossy());
    let gone = folder.path().join("gone.csv");
    let gone = gone.to_string_lossy();
    // arguments, and the words that the message must contain
    let there = folder.path().to_string_lossy();
    let nowhere = format!("{there}/nowhere/a.svg");
    let (one, zero) = (folder.path().join("one.csv"), folder.path().join("zero.csv"));
    fs::write(&one, "lr,acc_1,acc_2,acc_3\n0.1,0.2,0.3,0.4\n")?;
    fs::write(&zero, "lr,loss_1,loss_2\n0.1,2,1\n0.2,3,0\n0.3,3,2\n")?;
    let (one, zero) = (one.to_string_lossy(), zero.to_string_lossy());
    let empty = folder.path().join("empty");
    fs::create_dir(&empty)?;
    let empty = empty.to_string_lossy();
    let cases: [(&[&str], &[&str]); 21] = [
        (&[&good, "--target", "0.5"], &["good.csv", "--target 0.5", "at least 1", "the earliest step"]),
        (&[&good, "--target", "13"], &["good.csv", "--target 13", "at most 12", "the last step"]),
        (&[&good, "--target", "soon"], &["--target", "soon", "a step of the curves"]),
        (
            &[&good, "--train", "5", "--target", "1"],
            &["good.csv", "0.25 of 1 points is 0", "step 1", "--observed or --target"],
        ),
        (&[&good, "--train", "0"], &["--train", "'0'", "1 or more"]),
        (&[&one], &["one.csv", "there are 1", "Read more runs"]),
        (
            &[&zero, "--log-scale"],
            &["zero.csv", "--log-scale", "run `2` reports 0 at step 2", "Remove the flag"],
        ),
        (&[&good, "--plot", &nowhere], &["nowhere/a.svg", "there is no folder", "Create it"]),
        (&[&good, "--plot", &there], &[&there, ".svg or .png"]),
        (&[&good, "--metric", "nope"], &["good.csv", "`nope`", "`val_acc_`"]),
        (&[&empty], &["empty", "(found: no file)", "folder with one .csv"]),
        (&[&good, "--predictor", "oracle"], &["unknown predictor `oracle`", "last-value", "svr-rbf"]),
        (&[&good, "--observed", "1.5"], &["1.5", "between 0 and 1"]),
        (&[&good, "--observed", "0.5,0"], &["between 0 and 1"]),
        (&[&good, "--train", "10", "--observed", "0.01"], &["good", "0.01 of 12 points is 0"]),
        (&[&good, "--train", "19"], &["good", "19 runs", "needs 21", "there are 20", "--train"]),
        (&[&gone], &["gone.csv"]),
        (&[&bad], &["bad.csv", "3", "acc_2", "soon"]),
        (&[&good, "--plot", "figure.pdf"], &["figure.pdf", ".svg or .png"]),
        (
            &[&good, "--log-columns", "lr", "--linear-columns", "num_layers,lr"],
            &["--log-columns", "--linear-columns", "`lr`"],
        ),
        (
            &[&good, "--architecture", "lr", "--hyperparameters", "lr"],
            &["--architecture", "--hyperparameters", "`lr`"],
        ),
    ];
    cases.iter().try_for_each(|(arguments, expected)| is_refused(arguments, expected))
}

/// Checks that `evaluate` refuses `arguments` with one error that contains each of `expected`.
fn is_refused(arguments: &[&str], expected: &[&str]) -> Tested {
    let output = ran(&[&["evaluate", "--repeats", "1"], arguments].concat())?;
    let message = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    for word in expected {
        assert!(message.contains(word), "{arguments:?} should name `{word}`: {message}");
    }
    let errors = message.lines().filter(|line| line.starts_with("error:")).count();
    assert_eq!(errors, 1, "{arguments:?}: {message}");
    Ok(())
}

#[test]
fn a_target_before_the_longest_runs_end_is_said() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("ragged.csv");
    let row = |run: u32| {
        let end = if run < 6 { "0.9" } else { "" };
        format!("0.{},0.{},{end}\n", run * 7 % 10 + 10, run * 7 % 10 + 20)
    };
    std::fs::write(&curves, "acc_1,acc_2,acc_3\n".to_owned() + &(0..20).map(row).collect::<String>())?;
    let said = |more: &[&str]| -> Result<String, Box<dyn Error>> {
        let path = curves.to_string_lossy();
        let arguments = ["evaluate", &path, "--predictor", "last-value", "--train", "3", "--observed", "0.5"];
        Ok(String::from_utf8(ran(&[&arguments[..], more].concat())?.stderr)?)
    };
    let noted = said(&["--keep-repeats"])?;
    let expected = "forecasting step 2, which 20 of 20 runs reach; 6 reach 3";
    assert!(noted.contains(expected), "{noted}");
    assert!(!said(&["--keep-repeats", "--target", "3"])?.contains("forecasting step"), "it was asked for");
    Ok(())
}

#[test]
fn columns_are_what_they_are_declared_to_be() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 40)?;
    let curves = curves.to_string_lossy();
    let start =
        ["evaluate", &curves, "--train", "20", "--repeats", "1", "--predictor", "ridge", "--format", "json"];
    let r2 = |more: &[&str]| -> Result<(f64, String), Box<dyn Error>> {
        let output = ran(&[&start[..], more].concat())?;
        let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let notes = String::from_utf8(output.stderr)?;
        Ok((document["rows"][0]["r2_mean"].as_f64().ok_or(notes.clone())?, notes))
    };
    // the learning rate decides where a run ends; without it nothing but the layers is seen
    let (blind, notes) = r2(&["--features", "ap"])?;
    assert!(notes.contains("transformed to log10: lr\n"), "{notes}");
    let (seeing, _) = r2(&["--features", "ap", "--architecture", "lr,rate"])?;
    assert!(blind < 0.2 && seeing > 0.7, "{blind} {seeing}");
    let (linear, notes) = r2(&["--features", "ap", "--architecture", "lr", "--linear-columns", "lr"])?;
    assert!(
        !notes.contains("log10") && linear > 0.99,
        "final scores are linear in the rate: {linear} {notes}"
    );
    let (_, notes) = r2(&["--log-columns", "num_layers,rate"])?;
    assert!(notes.contains("transformed to log10: lr, num_layers\n"), "{notes}");
    assert!(notes.contains("there is no column `rate` to put on a scale"), "{notes}");
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_numbers_whatever_the_threads() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("small.csv");
    write_curves(&curves, 40)?;
    let measured = |threads: &str| -> Result<Vec<serde_json::Value>, Box<dyn Error>> {
        let output =
            foretell(folder.path(), &["evaluate", "small.csv", "--predictor", "svr-rbf", "--draws", "20"])
                .args(["--train", "20", "--repeats", "4", "--seed", "7", "--format", "json"])
                .env("RAYON_NUM_THREADS", threads)
                .output()?;
        let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let row = &document["rows"][0];
        Ok(["r2_mean", "r2_stderr", "mae_mean", "coverage"].map(|field| row[field].clone()).to_vec())
    };
    assert_eq!(measured("1")?, measured("4")?);
    Ok(())
}

/// The notes of an evaluation that goes well, and its table.
fn run_evaluation(path: &Path, more: &[&str]) -> Result<(String, String), Box<dyn Error>> {
    let path = path.to_string_lossy();
    let arguments = ["evaluate", &path, "--predictor", "last-value", "--train", "5", "--repeats", "2"];
    let output = ran(&[&arguments[..], more].concat())?;
    let notes = String::from_utf8(output.stderr)?;
    assert!(output.status.success(), "{notes}");
    Ok((notes, String::from_utf8(output.stdout)?))
}

#[test]
fn runs_without_a_value_of_their_own_at_the_target_are_counted() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("ragged.csv");
    let row = |run: u32| format!("0.{},0.{},{}\n", run + 10, run + 20, if run < 14 { "0.9" } else { "" });
    fs::write(&curves, "acc_10,acc_20,acc_30\n".to_owned() + &(0..20).map(row).collect::<String>())?;
    let (notes, _) = run_evaluation(&curves, &["--observed", "0.5"])?;
    assert!(
        notes.contains("ragged: 6 of 20 runs end before step 30, so forecasts do not learn from them\n"),
        "{notes}"
    );
    assert!(notes.contains("6 of 20 runs end in empty cells"), "{notes}");
    assert!(notes.contains("; change this with --empty-ends"), "{notes}");
    let (notes, _) = run_evaluation(&curves, &["--observed", "0.5", "--target", "15"])?;
    assert!(notes.contains("20 of 20 runs have no value at step 15, so it is interpolated"), "{notes}");
    let (notes, _) = run_evaluation(&curves, &["--observed", "0.5", "--empty-ends", "diverged"])?;
    assert!(notes.contains("6 of 20 runs diverged at"), "{notes}");
    assert!(!notes.contains("do not learn from"), "{notes}");
    Ok(())
}

#[test]
fn runs_of_one_setting_are_forecast_from_those_of_another() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("two.csv");
    // runs of the one schedule end where they are, those of the other a tenth higher
    let row = |run: u32| {
        let (schedule, rise) = if run < 12 { ("step", 0) } else { ("cosine", 100) };
        format!("{schedule},{run},0.{0},0.{0},0.{1}\n", 100 + 7 * run, 100 + 7 * run + rise)
    };
    let rows = (0..24).map(row).collect::<String>();
    fs::write(&curves, "schedule,size,acc_1,acc_2,acc_3\n".to_owned() + &rows)?;
    let mae = |setting: &str| -> Result<f64, Box<dyn Error>> {
        let more = ["--observed", "0.7", "--train-where", "schedule=step", "--test-where", setting];
        let (_, json) = run_evaluation(&curves, &[&more[..], &["--format", "json"]].concat())?;
        let json: serde_json::Value = serde_json::from_str(&json)?;
        json["rows"][0]["mae_mean"].as_f64().ok_or_else(|| "no error in the row".into())
    };
    assert!(mae("schedule=step")? < 1e-9);
    assert!((mae("schedule=cosine")? - 0.1).abs() < 1e-9);
    let path = curves.to_string_lossy();
    let output = ran(&["evaluate", &path, "--train", "5", "--test-where", "schedule=linear"])?;
    let message = String::from_utf8(output.stderr)?;
    assert!(
        message.contains("--test-where schedule=linear: no such run")
            && message.contains("Known values are cosine, step"),
        "{message}"
    );
    let output = ran(&["evaluate", &path, "--train", "5", "--train-where", "schedule"])?;
    assert!(String::from_utf8(output.stderr)?.contains("expected NAME=VALUE"));
    Ok(())
}

#[test]
fn runs_without_configuration_columns_repeat_nothing() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("long.csv");
    let rows = (0..20).flat_map(|run| {
        (1..=8).map(move |epoch| format!("r{run},{epoch},{:.3}\n", 0.01 * f64::from(run * 3 + epoch)))
    });
    fs::write(&curves, "id,epoch,val_acc\n".to_owned() + &rows.collect::<String>())?;
    let (notes, _) = run_evaluation(&curves, &[])?;
    assert!(!notes.contains("repeat") && !notes.contains("removed"), "{notes}");
    // nor do those that a second file does not name
    fs::write(folder.path().join("configs.csv"), "id,lr\nr0,0.1\nr1,0.2\n")?;
    fs::rename(&curves, folder.path().join("curves.csv"))?;
    let (notes, _) = run_evaluation(&folder.path().join("curves.csv"), &[])?;
    assert!(notes.contains("configurations of 2 runs joined"), "{notes}");
    assert!(!notes.contains("repeat") && !notes.contains("removed"), "{notes}");
    Ok(())
}

#[test]
fn errors_of_tiny_losses_are_no_zeros() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("tiny.csv");
    let row = |run: i32| {
        let value = |epoch: i32| format!("{:e}", 1e-6 * (1.0 + 0.1 * f64::from(run)) * 0.8_f64.powi(epoch));
        (1..=8).map(value).collect::<Vec<_>>().join(",") + "\n"
    };
    let names: Vec<String> = (1..=8).map(|epoch| format!("loss_{epoch}")).collect();
    fs::write(&curves, names.join(",") + "\n" + &(0..20).map(row).collect::<String>())?;
    let (_, table) = run_evaluation(&curves, &[])?;
    assert!(table.contains("e-7") && !table.contains(" 0.0000 "), "{table}");
    Ok(())
}

#[test]
fn what_cannot_be_meant_is_said() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 20)?;
    let (notes, _) = run_evaluation(&curves, &["--minimize"])?;
    assert!(
        notes.contains(
            "metric `val_acc`: smaller is better, as requested, although its name suggests that larger is"
        ),
        "{notes}"
    );
    let long = folder.path().join("long.csv");
    let rows = (0..16).map(|row| format!("{},{},{},0.{}\n", row / 2, row % 8 / 4, row % 2, row + 10));
    fs::write(&long, "who,seed,epoch,acc\n".to_owned() + &rows.collect::<String>())?;
    let (notes, _) = run_evaluation(&long, &["--id", "who", "--observed", "0.5"])?;
    assert!(!notes.contains("all rows form one run"), "{notes}");
    let (notes, _) = run_evaluation(&curves, &["--configurations", "more.csv"])?;
    assert!(notes.contains("`more.csv` is not joined, because only long files"), "{notes}");
    Ok(())
}

#[test]
fn what_was_computed_is_printed_also_where_nothing_can_be_drawn() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 20)?;
    let figure = folder.path().join("a.svg");
    // where the second of the figures should lie is a folder
    fs::create_dir(folder.path().join("a-calibration.svg"))?;
    let arguments = ["evaluate", &*curves.to_string_lossy(), "--predictor", "last-value", "--train", "10"];
    let output = ran(&[&arguments[..], &["--plot", &figure.to_string_lossy()]].concat())?;
    let message = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("a-calibration.svg"), "{message}");
    assert!(String::from_utf8(output.stdout)?.contains("last-value"));
    Ok(())
}
