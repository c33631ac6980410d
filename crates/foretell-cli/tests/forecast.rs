//! `foretell forecast` from the outside: running curves in, their ends out.

mod common;

use common::{Tested, ran};
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const EPOCHS: i32 = 12;

/// The loss of the run with learning rate `lr` after `epoch` epochs.
fn loss(lr: f64, epoch: i32) -> f64 {
    0.2 + 4.0 * lr + 2.0 * 0.7_f64.powi(epoch) * (1.0 + lr)
}

fn rates() -> impl Iterator<Item = f64> {
    (1..=30).map(|i| 0.01 * f64::from(i))
}

/// A wide file of runs; cells after `seen` epochs are empty.
fn write_wide(path: &Path, rates: impl Iterator<Item = f64>, seen: i32) -> std::io::Result<()> {
    let names: Vec<String> = (1..=EPOCHS).map(|epoch| format!("val_loss_{epoch}")).collect();
    let mut text = format!("lr,{}\n", names.join(","));
    for lr in rates {
        let cell = |epoch| if epoch <= seen { loss(lr, epoch).to_string() } else { String::new() };
        let cells: Vec<String> = (1..=EPOCHS).map(cell).collect();
        writeln!(text, "{lr},{}", cells.join(",")).expect("text grows");
    }
    fs::write(path, text)
}

fn forecast(history: &Path, running: &Path, more: &[&str]) -> Result<serde_json::Value, Box<dyn Error>> {
    let (history, running) = (history.to_string_lossy(), running.to_string_lossy());
    let arguments = ["forecast", "--history", &history, &running, "--format", "json"];
    let output = ran(&[&arguments[..], more].concat())?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[test]
fn a_running_loss_is_forecast_in_its_own_unit_and_direction() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    write_wide(&finished, rates(), EPOCHS)?;
    write_wide(&running, [0.005, 0.155].into_iter(), 4)?;
    let document = forecast(&finished, &running, &[])?;
    assert_eq!(document["schema"], "foretell.forecast/1");
    assert_eq!(document["target_step"].as_f64(), Some(12.0));
    let best = document["best"].as_f64().ok_or("no best")?;
    assert!(
        best.total_cmp(&loss(0.01, 12)).is_eq(),
        "the best is the smallest loss, as it was recorded: {best}"
    );
    for (row, lr) in document["rows"].as_array().ok_or("no rows")?.iter().zip([0.005, 0.155]) {
        let number = |field: &str| row[field].as_f64().ok_or(format!("no {field}"));
        assert!((number("step")? - 4.0).abs() < 1e-12);
        assert!((number("value")? - loss(lr, 4)).abs() < 1e-9);
        assert!((number("forecast")? - loss(lr, 12)).abs() < 0.08, "{row}");
        assert!(row["interval_90"][0].as_f64() < row["interval_90"][1].as_f64());
    }
    let chance = |i: usize| document["rows"][i]["probability_to_beat_best"].as_f64();
    assert!(chance(0) > chance(1) && chance(1) < Some(0.05), "{chance:?}", chance = [chance(0), chance(1)]);
    Ok(())
}

#[test]
fn the_interval_of_an_accuracy_ends_at_1_and_that_of_a_reward_does_not() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    // they end between 0.55 and 0.99, and the first point does not show where
    let history = |metric: &str| {
        let end = |run: u32| 0.55 + 0.04 * f64::from(run * 7 % 12);
        let rows =
            (0..12).map(|run| format!("0.{},{:.2},{:.2}\n", run * 5 % 12 + 10, end(run) - 0.2, end(run)));
        format!("{metric}_1,{metric}_2,{metric}_3\n{}", rows.collect::<String>())
    };
    let upper = |metric: &str| -> Result<f64, Box<dyn Error>> {
        fs::write(&finished, history(metric))?;
        fs::write(&running, format!("{metric}_1,{metric}_2,{metric}_3\n0.16,,\n"))?;
        let document = forecast(&finished, &running, &[])?;
        let row = &document["rows"][0];
        assert!(row["probability_to_beat_best"].as_f64() > Some(0.01), "{row}");
        row["interval_90"][1].as_f64().ok_or_else(|| row.to_string().into())
    };
    assert!((upper("acc")? - 1.0).abs() < 1e-12);
    assert!(upper("reward")? > 1.0);
    Ok(())
}

#[test]
fn the_best_value_can_be_forecast_in_place_of_the_last() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    // runs that overfit: they peak after three epochs of six, and then fall
    let peak = |run: u32| 0.5 + 0.01 * f64::from(run * 7 % 20);
    let row = |run: u32, seen: usize| {
        let values = [-0.2, -0.1, 0.0, -0.02, -0.05, -0.1].map(|below| format!("{:.3}", peak(run) + below));
        format!("{}{}\n", values[..seen].join(","), ",".repeat(6 - seen))
    };
    let header = "acc_1,acc_2,acc_3,acc_4,acc_5,acc_6\n";
    fs::write(&finished, header.to_owned() + &(0..20).map(|run| row(run, 6)).collect::<String>())?;
    fs::write(&running, format!("{header}0.35,0.45,0.55,0.53,,\n"))?;
    for (flag, best, forecast_of) in [("last", 0.59, 0.45), ("best", 0.69, 0.55)] {
        let document = forecast(&finished, &running, &["--score", flag])?;
        assert_eq!(document["score"], flag);
        assert!((document["best"].as_f64().ok_or("no best")? - best).abs() < 1e-9, "{document}");
        let row = &document["rows"][0];
        let forecast = row["forecast"].as_f64().ok_or("no forecast")?;
        assert!((forecast - forecast_of).abs() < 0.01, "{flag}: {row}");
        let lower = row["interval_90"][0].as_f64().ok_or("no interval")?;
        assert!(flag == "last" || lower >= 0.55, "what was reached cannot be lost: {row}");
    }
    Ok(())
}

#[test]
fn an_earlier_target_is_forecast_from_runs_that_went_on() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.jsonl"));
    write_wide(&finished, rates(), EPOCHS)?;
    let values: Vec<f64> = (1..=3).map(|epoch| loss(0.105, epoch)).collect();
    let line = serde_json::json!({"id": "mine", "configuration": {"lr": 0.105}, "values": values});
    fs::write(&running, line.to_string())?;
    for (target, epoch) in [("6", 6), ("8", 8)] {
        let document = forecast(&finished, &running, &["--target", target])?;
        assert_eq!(document["target_step"].as_f64(), Some(f64::from(epoch)));
        let row = &document["rows"][0];
        assert_eq!(row["run"], "mine");
        let end = row["forecast"].as_f64().ok_or("no forecast")?;
        assert!((end - loss(0.105, epoch)).abs() < 0.08, "at {epoch}: {end} for {}", loss(0.105, epoch));
    }
    Ok(())
}

#[test]
fn a_run_that_is_already_there_needs_no_forecast_and_an_empty_one_gets_none() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.jsonl"));
    write_wide(&finished, rates(), EPOCHS)?;
    let whole: Vec<f64> = (1..=EPOCHS).map(|epoch| loss(0.105, epoch)).collect();
    let done = serde_json::json!({"id": "done", "configuration": {"lr": 0.105}, "values": whole});
    let new = serde_json::json!({"id": "new", "configuration": {"lr": 0.2}, "values": []});
    fs::write(&running, format!("{done}\n{new}\n"))?;
    let document = forecast(&finished, &running, &[])?;
    let rows = &document["rows"];
    let end = rows[0]["forecast"].as_f64().ok_or("no forecast")?;
    assert!((end - loss(0.105, EPOCHS)).abs() < 1e-9 && rows[0]["sd"].as_f64() == Some(0.0));
    assert!(rows[1]["forecast"].is_null());
    assert!(rows[1]["problem"].as_str().is_some_and(|text| text.contains("nothing is observed")));
    Ok(())
}

/// Running runs of all sorts, as JSON lines, in addition to the completed ones of [`write_wide`].
fn write_running(path: &Path) -> std::io::Result<()> {
    let past: Vec<f64> = (1..=EPOCHS + 2).map(|epoch| loss(0.155, epoch)).collect();
    let mut awful = past[..EPOCHS as usize].to_vec();
    awful[EPOCHS as usize - 1] = 1e6;
    let lines = [
        serde_json::json!({"id": "past", "configuration": {"lr": 0.155}, "values": past}),
        serde_json::json!({"id": "lost", "configuration": {"lr": 0.25}, "values": [2.5, 2.1, null, null]}),
        serde_json::json!({"id": "awful", "configuration": {"lr": 0.25}, "values": awful}),
        serde_json::json!({"id": "late", "configuration": {"lr": 0.2}, "values": [1.1], "steps": [20]}),
        serde_json::json!({"id": "zero", "configuration": {"lr": 0.2}, "values": [1.1, 0.0]}),
        serde_json::json!({"id": "between", "configuration": {"lr": 0.2}, "values": [1.9, 1.6], "steps": [1.5, 2.5]}),
    ];
    fs::write(path, lines.map(|line| line.to_string()).join("\n"))
}

#[test]
fn what_is_at_the_target_is_shown_as_recorded_and_what_cannot_come_there_says_why() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.jsonl"));
    write_wide(&finished, rates(), EPOCHS)?;
    write_running(&running)?;
    let document = forecast(&finished, &running, &[])?;
    let rows = &document["rows"];
    let numbers =
        |i: usize| (rows[i]["forecast"].as_f64(), rows[i]["sd"].as_f64(), rows[i]["recorded"].as_bool());
    assert_eq!(numbers(0), (Some(loss(0.155, EPOCHS)), Some(0.0), Some(true)), "not what came later");
    assert_eq!(numbers(2), (Some(1e6), Some(0.0), Some(true)), "not the floor");
    assert_eq!(rows[2]["interval_90"], serde_json::json!([1e6, 1e6]));
    for (i, problem) in
        [(1, "diverged at step 3"), (3, "starts at step 20"), (4, "0 at step 2 has no logarithm")]
    {
        assert_eq!(numbers(i), (None, None, Some(false)), "{}", rows[i]);
        assert!(rows[i]["problem"].as_str().is_some_and(|text| text.starts_with(problem)), "{}", rows[i]);
    }
    assert!(rows[5]["problem"].is_null() && rows[5]["forecast"].is_number());
    // if the best value counts, a diverged run keeps its best so far
    let best = forecast(&finished, &running, &["--score", "best"])?;
    assert_eq!(best["rows"][1]["forecast"].as_f64(), Some(2.1));
    assert_eq!(best["rows"][1]["problem"], "diverged at step 3");
    Ok(())
}

#[test]
fn empty_ends_of_running_runs_are_still_to_come() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    write_wide(&finished, rates(), EPOCHS)?;
    // one of the finished diverged, and its nan were written as nothing
    let lost = format!("0.5,9.0,{}\n", ",".repeat(EPOCHS as usize - 2));
    fs::write(&finished, fs::read_to_string(&finished)? + &lost)?;
    write_wide(&running, [0.155].into_iter(), 4)?;
    for flags in [&[][..], &["--empty-ends", "diverged"]] {
        let document = forecast(&finished, &running, flags)?;
        let row = &document["rows"][0];
        assert!(row["forecast"].is_number() && row["problem"].is_null(), "{flags:?}: {row}");
    }
    Ok(())
}

#[test]
fn the_table_and_the_notes_say_what_was_done_with_running_curves() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.jsonl"));
    write_wide(&finished, rates(), EPOCHS)?;
    write_running(&running)?;
    let arguments = ["forecast", "--history", &finished.to_string_lossy(), &running.to_string_lossy()];
    let output = ran(&arguments)?;
    let (table, notes) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    let said = |run: &str| table.lines().find(|line| line.trim_start().starts_with(run)).unwrap_or_default();
    assert!(said("past").contains(&format!("{:.4} (recorded)", loss(0.155, EPOCHS))), "{table}");
    assert!(said("lost").contains("diverged at step 3"), "{table}");
    assert!(said("awful").contains("1e6 (recorded)"), "{table}");
    for note in [
        "running: 1 of 6 runs diverged at",
        "running: lengths differ",
        "running: 2 of 6 runs have reached step 12, so their recorded values are shown",
        "running: 1 of 6 runs have other steps than the completed runs, so their values are interpolated",
    ] {
        assert!(notes.contains(note), "no {note:?} in\n{notes}");
    }
    Ok(())
}

#[test]
fn the_fan_chart_has_a_panel_for_each_running_curve() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    write_wide(&finished, rates(), EPOCHS)?;
    write_wide(&running, [0.005, 0.155, 0.255].into_iter(), 5)?;
    let figure = folder.path().join("fan.svg");
    forecast(&finished, &running, &["--plot", &figure.to_string_lossy()])?;
    assert_eq!(fs::read_to_string(&figure)?.matches("class=\"run\"").count(), 3);
    // runs without a forecast are not drawn, and the figure names their number
    write_running(&running)?;
    forecast(&finished, &running, &["--plot", &figure.to_string_lossy()])?;
    let svg = fs::read_to_string(&figure)?;
    assert_eq!(svg.matches("class=\"run\"").count(), 3);
    assert!(svg.contains("without a forecast, and not drawn: 3"));
    // no file can have so long a name; the forecasts are printed first
    let figure = folder.path().join("a".repeat(300) + ".svg");
    let arguments = ["forecast", "--history", &finished.to_string_lossy(), &running.to_string_lossy()];
    let output = ran(&[&arguments[..], &["--plot", &figure.to_string_lossy()]].concat())?;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout)?.contains("(recorded)"));
    Ok(())
}

#[test]
fn wrong_usage_and_bad_input_end_in_one_clear_message_and_code_2() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    write_wide(&finished, rates(), EPOCHS)?;
    write_wide(&running, [0.005].into_iter(), 5)?;
    let (finished, running) = (finished.to_string_lossy(), running.to_string_lossy());
    let gone = folder.path().join("gone.csv");
    let gone = gone.to_string_lossy();
    let other = folder.path().join("other.csv");
    fs::write(&other, "acc_1,acc_2\n0.1,0.2\n")?;
    let other = other.to_string_lossy();
    let nowhere = folder.path().join("nowhere").join("fan.svg");
    let nowhere = nowhere.to_string_lossy();
    let cases: [(&[&str], &[&str]); 8] = [
        (
            &["--history", &finished, &running, "--target", "0"],
            &["finished.csv", "--target 0", "at least 1", "the earliest step"],
        ),
        (&["--history", &finished, &other], &["other.csv", "`acc_`", "completed runs is `val_loss`"]),
        (&["--history", &finished, &running, "--plot", &nowhere], &["nowhere", "there is no folder"]),
        (&["--history", &finished, &gone], &["gone.csv"]),
        (&["--history", &gone, &running], &["gone.csv"]),
        (
            &["--history", &finished, &running, "--predictor", "oracle"],
            &["unknown predictor `oracle`", "last-value"],
        ),
        (&["--history", &finished, &running, "--target", "99"], &["finished", "no run reaches step 99"]),
        (&["--history", &finished, &running, "--plot", "fan.pdf"], &["fan.pdf", ".svg or .png"]),
    ];
    for (arguments, expected) in cases {
        let output = ran(&[&["forecast"], arguments].concat())?;
        let message = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        for word in expected {
            assert!(message.contains(word), "{arguments:?} should name `{word}`: {message}");
        }
    }
    Ok(())
}

#[test]
fn running_runs_in_another_unit_or_without_the_columns_are_told() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    let row = |run: u32| format!("0.{},0.3,0.5,0.{}\n", run + 10, run + 60);
    fs::write(&finished, "lr,acc_1,acc_2,acc_3\n".to_owned() + &(0..20).map(row).collect::<String>())?;
    fs::write(&running, "rate,acc_1,acc_2\n0.1,0.3,0.5\n0.2,0.3,50\n")?;
    let arguments = ["forecast", "--history", &finished.to_string_lossy(), &running.to_string_lossy()];
    let output = ran(&[&arguments[..], &["--predictor", "ols", "--format", "json"]].concat())?;
    let notes = String::from_utf8(output.stderr)?;
    assert!(
        notes.contains("running: column lr is missing, although the completed runs contain it"),
        "{notes}"
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let (sound, wrong) = (&document["rows"][0], &document["rows"][1]);
    assert!(sound["forecast"].is_number() && sound["problem"].is_null(), "{sound}");
    assert_eq!(
        wrong["problem"],
        "50 at step 2 is not between 0 and 1, unlike in all completed runs. Check its unit"
    );
    assert!(wrong["forecast"].is_null(), "{wrong}");
    Ok(())
}

/// A long file as pandas writes it, `nan` as nothing: run `a` sound, run `b` with `nan` from epoch 4 on.
fn write_long(path: &Path, epochs: i32) -> std::io::Result<()> {
    let row = |name: &str, lr: f64, epoch: i32| {
        let lost = name == "b" && epoch > 3;
        let value = if lost { String::new() } else { loss(lr, epoch).to_string() };
        format!("{name},{lr},{epoch},{value}\n")
    };
    let rows = (1..=epochs).map(|epoch| row("a", 0.105, epoch) + &row("b", 0.255, epoch));
    fs::write(path, "run,lr,epoch,val_loss\n".to_owned() + &rows.collect::<String>())
}

#[test]
fn a_blank_cell_of_an_epoch_that_has_been_is_a_value_that_is_not_finite() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    write_wide(&finished, rates(), EPOCHS)?;
    for epochs in [4, 6] {
        write_long(&running, epochs)?;
        let document = forecast(&finished, &running, &[])?;
        let (sound, lost) = (&document["rows"][0], &document["rows"][1]);
        assert!(sound["forecast"].is_number(), "{sound}");
        assert_eq!((&lost["problem"], lost["forecast"].is_null()), (&"diverged at step 4".into(), true));
        // the user knows better
        let told = forecast(&finished, &running, &["--empty-ends", "unmeasured"])?;
        assert!(told["rows"][1]["forecast"].is_number(), "{told}");
    }
    let arguments = ["forecast", "--history", &finished.to_string_lossy(), &running.to_string_lossy()];
    let notes = String::from_utf8(ran(&arguments)?.stderr)?;
    assert!(notes.contains("counted as diverged; change this with --empty-ends"), "{notes}");
    Ok(())
}

#[test]
fn a_metric_that_is_reported_now_and_then_is_not_taken_for_lost_between_two_reports() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    // every third epoch has a value
    let rows = |run: u32, epochs: i32| -> String {
        let lr = 0.01 * f64::from(run + 1);
        let value = |epoch| if epoch % 3 == 0 { loss(lr, epoch).to_string() } else { String::new() };
        (1..=epochs).map(|epoch| format!("{run},{lr},{epoch},{}\n", value(epoch))).collect()
    };
    let header = "run,lr,epoch,val_loss\n".to_owned();
    fs::write(&finished, header.clone() + &(0..20).map(|run| rows(run, EPOCHS)).collect::<String>())?;
    fs::write(&running, header + &rows(7, 5))?;
    let document = forecast(&finished, &running, &[])?;
    assert!(document["rows"][0]["forecast"].is_number(), "{document}");
    Ok(())
}

#[test]
fn settings_far_from_those_of_the_finished_runs_are_named_as_extrapolated() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    let row = |run: u32| {
        let lr = 10_f64.powf(-1.0 - f64::from(run % 20) / 10.0);
        format!("{lr},32,o{},name {},0.3,0.{},0.{}\n", run % 2, run % 14, 40 + run, 45 + run)
    };
    let header = "lr,batch,opt,text,acc_1,acc_2,acc_3\n".to_owned();
    fs::write(&finished, header.clone() + &(0..40).map(row).collect::<String>())?;
    fs::write(&running, header + "0.05,32,o1,x,0.3,0.5,\n30,64,o7,x,0.3,0.5,\n")?;
    let arguments = ["forecast", "--history", &finished.to_string_lossy(), &running.to_string_lossy()];
    let output = ran(&[&arguments[..], &["--format", "json", "--predictor", "gp"]].concat())?;
    let notes = String::from_utf8(output.stderr)?;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(document["rows"][0]["extrapolated"], serde_json::json!([]));
    let far = document["rows"][1]["extrapolated"].to_string();
    for word in ["lr = 30, beyond 0.00", "opt = o7, which no", "batch = 64, where all completed runs have 32"]
    {
        assert!(far.contains(word), "no {word:?} in {far}");
    }
    assert!(document["rows"][1]["forecast"].is_number());
    assert!(notes.contains("1 of 2 runs are extrapolated"), "{notes}");
    assert!(notes.contains("column `text` is left out, because it contains 14 different strings"), "{notes}");
    Ok(())
}

#[test]
fn extreme_values_give_finite_forecasts_and_are_named() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    let header = "lr,val_loss_1,val_loss_2,val_loss_3\n".to_owned();
    let row = |run: u32, end: f64| format!("0.{},2.5,1.{},{end:e}\n", 10 + run, 10 + run);
    let ordinary = |run: u32| 1.0 + 0.01 * f64::from(run);
    type End<'a> = &'a dyn Fn(u32) -> f64;
    let cases: [(&str, End<'_>, &str); 6] = [
        (
            "a blow-up",
            &|run| if run == 3 { 1e30 } else { ordinary(run) },
            "1 of 30 completed runs end beyond",
        ),
        ("the largest", &|run| if run == 3 { 1e308 } else { ordinary(run) }, "far from the others"),
        ("a subnormal", &|run| if run == 3 { 5e-324 } else { ordinary(run) }, "far from the others"),
        ("subnormals", &|run| 1e-310 * f64::from(run + 1), ""),
        ("all equal", &|_| 0.5, "all 30 completed runs end at 0.5000, so nothing distinguishes them"),
        ("all zero", &|_| 0.0, "all 30 completed runs end at 0.0000, so nothing distinguishes them"),
    ];
    for (what, end, said) in cases {
        fs::write(&finished, header.clone() + &(0..30).map(|run| row(run, end(run))).collect::<String>())?;
        fs::write(&running, header.clone() + "0.15,2.5,1.15,\n")?;
        for name in ["auto", "gp", "ridge", "svr-rbf", "last-value"] {
            let arguments =
                ["forecast", "--history", &finished.to_string_lossy(), &running.to_string_lossy()];
            let output = ran(&[&arguments[..], &["--format", "json", "--predictor", name]].concat())?;
            let notes = String::from_utf8(output.stderr)?;
            assert!(output.status.success() && !notes.contains("panicked"), "{what} {name}: {notes}");
            assert!(notes.contains(said), "{what} {name}: no {said:?} in {notes}");
            let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
            let row = &document["rows"][0];
            let numbers = [&row["forecast"], &row["sd"], &row["interval_90"][0], &row["interval_90"][1]];
            assert!(numbers.iter().all(|number| number.is_number()), "{what} {name}: {row}");
        }
        let curves = finished.to_string_lossy();
        let arguments = ["evaluate", &curves, "--train", "15", "--repeats", "2", "--observed", "0.4"];
        let output = ran(&[&arguments[..], &["--predictor", "auto,ridge", "--format", "json"]].concat())?;
        assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        for row in document["rows"].as_array().ok_or("no rows")? {
            for field in ["r2_mean", "spearman_mean", "mae_mean", "r2_natural_mean"] {
                assert!(row[field].is_number(), "{what}: {field} of {row}");
            }
        }
    }
    Ok(())
}

#[test]
fn too_few_runs_to_forecast_from_end_in_code_1_and_say_so() -> Tested {
    let folder = tempfile::tempdir()?;
    let (finished, running) = (folder.path().join("finished.csv"), folder.path().join("running.csv"));
    write_wide(&finished, rates().take(1), EPOCHS)?;
    write_wide(&running, [0.005, 0.155].into_iter(), 4)?;
    let arguments = ["forecast", "--history", &finished.to_string_lossy(), &running.to_string_lossy()];
    let output = ran(&[&arguments[..], &["--predictor", "gp"]].concat())?;
    let message = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("finished.csv: no run could be forecast: "), "{message}");
    assert!(message.contains("completed runs, but there are 1"), "{message}");
    Ok(())
}

#[test]
fn a_metric_that_is_not_there_names_the_flag_and_many_steps_are_thinned_not_unshared() -> Tested {
    let folder = tempfile::tempdir()?;
    let finished = folder.path().join("finished.csv");
    write_wide(&finished, rates(), EPOCHS)?;
    let path = finished.to_string_lossy();
    let long = folder.path().join("long.csv");
    fs::write(&long, "run,epoch,val_loss,val_acc\na,1,0.5,0.4\na,2,0.4,0.6\n")?;
    let lines = folder.path().join("runs.jsonl");
    fs::write(&lines, r#"{"id":"a","metric":"loss","values":[2.0,1.0]}"#)?;
    for (file, there) in [(&finished, "val_loss"), (&long, "val_loss"), (&lines, "loss")] {
        let file = file.to_string_lossy();
        let output = ran(&["forecast", "--history", &file, &path, "--metric", "accuracy"])?;
        let message = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("--metric") && message.contains(there), "{message}");
    }
    let row = |run: u32, steps: u32| -> String {
        (1..=steps)
            .map(|step| format!("{run},{step},{}\n", loss(0.01 * f64::from(run), step as i32 / 300)))
            .collect()
    };
    fs::write(
        &long,
        "run,step,val_loss\n".to_owned() + &(1..7).map(|run| row(run, 5000)).collect::<String>(),
    )?;
    let running = folder.path().join("running.csv");
    fs::write(&running, "run,step,val_loss\n".to_owned() + &row(3, 1000))?;
    let output = ran(&["forecast", "--history", &long.to_string_lossy(), &running.to_string_lossy()])?;
    let notes = String::from_utf8(output.stderr)?;
    assert!(
        notes.contains("there are 5000 different steps, more than 2000, so values are interpolated onto 200"),
        "{notes}"
    );
    assert!(!notes.contains("do not share"), "{notes}");
    Ok(())
}
