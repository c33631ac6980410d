//! `foretell replay` from the outside: its JSON, its words, its pictures, its errors.

mod common;

use common::{Tested, ran};
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A wide file of `runs` runs that close in on limits of their own: runs that start ahead end ahead.
fn write_curves(path: &Path, runs: u32, epochs: u32) -> std::io::Result<()> {
    let names: Vec<String> = (1..=epochs).map(|epoch| format!("val_acc_{epoch}")).collect();
    let mut text = format!("lr,{}\n", names.join(","));
    for run in 0..runs {
        let lr = f64::from(1 + run * 37 % runs) / f64::from(runs);
        let value = |epoch: u32| {
            let wiggle = 0.004 * f64::from((run * 7 + epoch * 3) % 11);
            0.3 + 0.5 * lr - 0.2 * (-f64::from(epoch) / 4.0).exp2() + wiggle
        };
        let values: Vec<String> = (1..=epochs).map(|epoch| format!("{:.5}", value(epoch))).collect();
        writeln!(text, "{lr},{}", values.join(",")).expect("text grows");
    }
    fs::write(path, text)
}

fn run_replay(arguments: &[&str]) -> Result<serde_json::Value, Box<dyn Error>> {
    let output = ran(&[&["replay"], arguments, &["--format", "json"]].concat())?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[test]
fn the_json_has_the_fields_that_scripts_depend_on() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("small.csv");
    write_curves(&curves, 60, 12)?;
    let path = curves.to_string_lossy();
    let flags =
        ["--policy", "none,last-value,oracle", "--burn-in", "10", "--orderings", "4", "--sampler", "random"];
    let document = run_replay(
        &[&[&*path], &flags[..], &["--stop-probability", "0.95", "--agreeing-checks", "1,2"]].concat(),
    )?;
    assert_eq!(document["schema"], "foretell.replay/1");
    let rows = document["rows"].as_array().ok_or("rows is no list")?;
    assert_eq!(rows.len(), 5, "none, last-value with one and two checks, oracle, and the default");
    assert_eq!(rows[4]["default"], true);
    for row in rows {
        for field in [
            "offset",
            "nth_best",
            "burn_in",
            "orderings",
            "epochs_spent",
            "epochs_full",
            "speedup_mean",
            "speedup_stderr",
            "speedup_total",
            "speedup_total_stderr",
            "best_kept",
            "best_three_kept",
            "regret_mean",
            "stopped_mean",
        ] {
            assert!(row[field].is_number(), "{field} is missing");
        }
        assert_eq!(row["curves"], "small");
        assert_eq!(row["epochs_full"].as_f64(), Some(720.0));
    }
    assert_eq!((&rows[0]["policy"], &rows[0]["speedup_mean"]), (&"none".into(), &1.0.into()));
    assert_eq!((&rows[1]["predictor"], &rows[1]["stop_probability"]), (&"last-value".into(), &0.95.into()));
    let speedup = |i: usize| rows[i]["speedup_mean"].as_f64();
    assert!(speedup(3) > speedup(1) && speedup(1) > speedup(2) && speedup(2) > Some(1.0), "{rows:?}");
    assert_eq!(rows[3]["best_kept"].as_f64(), Some(1.0), "perfect foresight keeps the best");
    Ok(())
}

#[test]
fn a_file_alone_is_answered_in_words_and_the_same_twice() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 45, 10)?;
    let arguments = ["replay", &*curves.to_string_lossy(), "--draws", "20"];
    let (first, second) = (ran(&arguments)?, ran(&arguments)?);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    assert_eq!(first.stdout, second.stdout);
    let text = String::from_utf8(first.stdout)?;
    for part in [
        "45 completed runs of 10 points",
        "`foretell search` would have saved",
        "the best run kept in",
        "Other settings: with --caution safe",
        "(after 3 completed runs)",
        "half of the orders",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    Ok(())
}

#[test]
fn several_sets_are_summed_up_by_family() -> Tested {
    let folder = tempfile::tempdir()?;
    let sets = ["cnn-small.csv", "cnn_large.csv", "lstm.csv"].map(|name| folder.path().join(name));
    for (i, set) in sets.iter().enumerate() {
        write_curves(set, 24 + 4 * i as u32, 8 + 4 * i as u32)?;
    }
    let paths = sets.each_ref().map(|set| set.to_string_lossy());
    let paths: Vec<&str> = paths.iter().map(|path| &**path).collect();
    let flags = ["--policy", "none,median,oracle", "--burn-in", "5", "--orderings", "3"];
    let document = run_replay(&[&paths[..], &flags[..]].concat())?;
    let families = &document["families"];
    assert_eq!(families["sets"], serde_json::json!({"cnn": ["cnn-small", "cnn_large"], "lstm": ["lstm"]}));
    let rows = document["rows"].as_array().ok_or("rows is no list")?;
    let medians: Vec<f64> = rows
        .iter()
        .filter(|row| row["policy"] == "median")
        .map(|row| 1.0 / row["speedup_total"].as_f64().expect("a number"))
        .collect();
    let left = ((medians[0] + medians[1]) / 2.0 + medians[2]) / 2.0;
    let median = &families["rows"][1];
    assert_eq!(median["policy"], "median");
    assert!((median["speedup_total"].as_f64().ok_or("no number")? - 1.0 / left).abs() < 1e-9, "{median}");
    let text = String::from_utf8(ran(&[&["replay"], &paths[..], &flags[..]].concat())?.stdout)?;
    assert!(text.contains("All 3 sets, of 2 families: cnn (2), lstm."), "{text}");
    Ok(())
}

#[test]
fn f_hyperband_spends_less_than_its_plan_and_shows_the_bound() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 80, 27)?;
    let path = curves.to_string_lossy();
    let flags = ["--scheduler", "f-hyperband", "--predictor", "last-value", "--runs", "5", "--burn-in", "15"];
    let more = ["--reference", "rung,level", "--kappa", "1,0.25", "--orderings", "2"];
    let document = run_replay(&[&[&*path], &flags[..], &more[..]].concat())?;
    let rows = document["rows"].as_array().ok_or("rows is no list")?;
    assert_eq!(rows.len(), 1 + 4 + 4, "none once, srm and oracle with each reference and kappa");
    // 27, 3: 27·1 + 9·2 + 3·6 + 18, 12·3 + 4·6 + 18, 6·9 + 2·18, 4·27: a run with resumed rungs
    assert_eq!(rows[0]["epochs_full"].as_f64(), Some(5.0 * (81.0 + 78.0 + 90.0 + 108.0)));
    for row in &rows[1..] {
        assert!(row["speedup_mean"].as_f64() > Some(1.0), "{row}");
        assert!(row["best_of_run_mean"].is_number() && row["kappa"].is_number());
    }
    for (srm, oracle) in (1..5).zip(5..9) {
        assert_eq!(rows[srm]["reference"], rows[oracle]["reference"]);
        let share = rows[srm]["saving_of_oracle"].as_f64().ok_or("no share of the bound")?;
        assert!((0.0..=1.3).contains(&share), "{share}");
    }
    Ok(())
}

#[test]
fn a_burn_in_that_no_draw_outlasts_is_said_to_stop_nothing() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 40, 9)?;
    let path = curves.to_string_lossy();
    let answer = |burn_in: &str| -> Result<String, Box<dyn Error>> {
        let flags =
            ["--scheduler", "f-hyperband", "--predictor", "last-value", "--runs", "1", "--orderings", "1"];
        let output = ran(&[&["replay", &*path], &flags[..], &["--burn-in", burn_in]].concat())?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    // R = 9, eta = 3: 9 + 5 + 3 configurations
    assert!(answer("17")?.contains("The burn-in of 17 is not below the 17 configurations tried"));
    assert!(!answer("16")?.contains("nothing could be stopped"));
    Ok(())
}

#[test]
fn every_picture_is_drawn() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 60, 27)?;
    let path = curves.to_string_lossy();
    let full: &[&str] = &["--policy", "none,last-value,oracle", "--orderings", "3"];
    let hyperband: &[&str] = &[
        "--scheduler",
        "f-hyperband",
        "--policy",
        "none,oracle",
        "--runs",
        "3",
        "--burn-in",
        "10",
        "--orderings",
        "2",
    ];
    for (figure, flags, part) in [
        ("speedup", full, "stop probability Δ"),
        ("best-so-far", full, "epochs spent"),
        ("fates", full, "stopped wrongly"),
        ("iterations", hyperband, "Hyperband iteration"),
    ] {
        let picture = folder.path().join(format!("{figure}.svg"));
        let to = picture.to_string_lossy();
        let output = ran(&[&["replay", &*path, "--plot", &*to, "--figure", figure], flags].concat())?;
        assert!(output.status.success(), "{figure}: {}", String::from_utf8_lossy(&output.stderr));
        let svg = fs::read_to_string(&picture)?;
        assert!(svg.contains(part) && !svg.contains("NaN"), "{figure}");
    }
    Ok(())
}

#[test]
fn curve_extrapolation_stops_runs_in_both_modes() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 16, 12)?;
    let path = curves.to_string_lossy();
    let flags = [
        "--policy",
        "none,lce,lce-optimistic",
        "--orderings",
        "1",
        "--stop-probability",
        "0.95",
        "--burn-in",
        "3",
    ];
    let output = ran(&[&["replay", &*path, "--format", "json"], &flags[..]].concat())?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let rows = document["rows"].as_array().expect("rows");
    let speedup = |policy: &str| {
        let row = rows.iter().find(|row| row["policy"] == policy).expect("one row a policy");
        (row["speedup_mean"].as_f64().expect("a number"), row["predictor"].clone())
    };
    let (conservative, predictor) = speedup("lce");
    let (optimistic, _) = speedup("lce-optimistic");
    assert_eq!(predictor, "lce");
    assert!(conservative > 1.05 && optimistic >= conservative, "{conservative} {optimistic}");
    Ok(())
}

#[test]
fn runs_are_called_by_their_ids_also_in_pictures() -> Tested {
    let folder = tempfile::tempdir()?;
    let (curves, picture) = (folder.path().join("runs.csv"), folder.path().join("fates.svg"));
    // bold-7 is behind all others until the last epoch
    let row = |run: u32| {
        let end = 0.5 + 0.01 * f64::from(run);
        let (early, end) = if run == 7 { (0.1, 0.99) } else { (end - 0.1, end) };
        format!("bold-{run},{early:.3},{early:.3},{early:.3},{end:.3}\n")
    };
    fs::write(&curves, "run,acc_1,acc_2,acc_3,acc_4\n".to_owned() + &(0..30).map(row).collect::<String>())?;
    let arguments = ["replay", &*curves.to_string_lossy(), "--policy", "median", "--burn-in", "3"];
    let drawn = ["--figure", "fates", "--plot", &*picture.to_string_lossy()];
    let output = ran(&[&arguments[..], &drawn].concat())?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let svg = fs::read_to_string(&picture)?;
    for run in 0..30 {
        assert!(svg.contains(&format!("<title>bold-{run}: ")), "bold-{run} is not there by its name");
    }
    Ok(())
}

#[test]
fn what_was_replayed_is_printed_also_where_nothing_can_be_drawn() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 30, 8)?;
    // no file can have so long a name
    let picture = folder.path().join("a".repeat(300) + ".svg");
    let arguments = ["replay", &*curves.to_string_lossy(), "--policy", "none,oracle", "--orderings", "2"];
    let output = ran(&[&arguments[..], &["--plot", &picture.to_string_lossy()]].concat())?;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout)?.contains("perfect foresight"));
    Ok(())
}

#[test]
fn bad_input_is_one_clear_message_and_exit_code_2() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 30, 12)?;
    let path = curves.to_string_lossy();
    let last: &[&str] = &["--predictor", "last-value"];
    let cases: &[(&[&str], &str)] = &[
        (&["--scheduler", "hyperband", "--eta", "1"], "eta = 1"),
        (&["--scheduler", "hyperband", "--max-resource", "2"], "largest resource 2 is below eta = 3"),
        (&["--scheduler", "f-hyperband", "--kappa", "0"], "--kappa: kappa = 0"),
        (&["--scheduler", "f-hyperband", "--kappa", "1.2"], "--kappa: kappa = 1.2"),
        (&["--stop-probability", "0.4"], "--stop-probability: stop probability 0.4"),
        (&["--stop-probability", "1"], "--stop-probability: stop probability 1"),
        (&["--burn-in", "30"], "burn-in of 30 runs is too long for 30"),
        (&["--max-resource", "13"], "the recorded runs have 12 points"),
        (&["--offset", "-1"], "--offset: offset -1"),
        (&["--agreeing-checks", "0"], "--agreeing-checks"),
        (&["--nth-best", "0"], "nth_best is 0"),
        (&["--figure", "fates"], "Add --plot FILE, or choose best-so-far with --format json"),
        (
            &["--scheduler", "asha", "--rank", "mean", "--policy", "median"],
            "ranking by forecasts needs rungs",
        ),
        (
            &["--figure", "iterations", "--plot", "a.svg"],
            "the scheduler is full. Choose --scheduler hyperband",
        ),
        (&["--first-check", "0"], "--first-check: it is 0, but must be at least 1"),
        (&["--workers", "0"], "--workers: it is 0"),
        (&["--orderings", "4294967296"], "--orderings: 4294967296 is too large. The maximum is 10000"),
        (&["--workers", "9223372036854775807"], "--workers: 9223372036854775807 is too large"),
        (&["--first-check", "18446744073709551615"], "first check 18446744073709551615 is too large"),
        (&["--check-every", "18446744073709551615"], "18446744073709551615 is too large"),
        (&["--draws", "4294967295"], "--draws"),
        (&["--scheduler", "hyperband", "--runs", "18446744073709551615"], "the maximum is 1000000"),
        (&["--plot", "nowhere/a.svg"], "there is no folder nowhere"),
        (&["--target", "0"], "--target 0: no run reports a value up to step 0. Use a --target of at least 1"),
        (&["--target", "1"], "(up to step 1). Choose a later --target"),
        (&["--predictor", "nobody"], "unknown predictor `nobody`"),
        (&["--plot", "picture.pdf"], ".svg or .png"),
    ];
    for (flags, part) in cases {
        let defaults = if flags.contains(&"--predictor") { &[][..] } else { last };
        let output = ran(&[&["replay", &*path], *flags, defaults].concat())?;
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {message}");
        assert!(message.contains(part), "{flags:?}: {message}");
        let errors = message.lines().filter(|line| line.starts_with("error")).count();
        assert!(errors == 1 && output.stdout.is_empty(), "{flags:?}: {message}");
    }
    Ok(())
}

#[test]
fn the_settings_of_search_are_marked_and_a_study_has_the_size_that_was_asked_for() -> Tested {
    let folder = tempfile::tempdir()?;
    let (curves, orders) = (folder.path().join("runs.csv"), folder.path().join("orders.jsonl"));
    write_curves(&curves, 45, 10)?;
    let (path, written) = (curves.to_string_lossy(), orders.to_string_lossy());
    let flags = ["--policy", "srm", "--predictor", "last-value", "--study-size", "20", "--orderings", "3"];
    let document = run_replay(&[&[&*path], &flags[..], &["--write-orders", &*written]].concat())?;
    let rows = document["rows"].as_array().ok_or("rows is no list")?;
    let usual: Vec<_> = rows.iter().filter(|row| row["default"] == true).collect();
    assert_eq!(usual.len(), 1);
    assert_eq!((&usual[0]["caution"], &usual[0]["burn_in"]), (&"balanced".into(), &3.into()));
    assert_eq!((&usual[0]["runs"], &usual[0]["epochs_full"]), (&20.into(), &200.0.into()));
    let lines = fs::read_to_string(&orders)?;
    assert_eq!(lines.lines().count(), 3);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().ok_or("no line")?)?;
    assert_eq!((first["points"].as_u64(), first["scores"].as_array().map(Vec::len)), (Some(10), Some(20)));
    Ok(())
}

#[test]
fn samplers_take_recorded_runs_and_the_best_so_far_is_in_the_json() -> Tested {
    let folder = tempfile::tempdir()?;
    let (curves, picture) = (folder.path().join("small.csv"), folder.path().join("best.svg"));
    write_curves(&curves, 60, 18)?;
    let (path, drawn) = (curves.to_string_lossy(), picture.to_string_lossy());
    let flags = [
        "--sampler",
        "random,tpe,gp",
        "--scheduler",
        "asha",
        "--rungs",
        "1",
        "--rank",
        "mean",
        "--predictor",
        "ridge",
    ];
    let figure = ["--figure", "best-so-far", "--plot", &*drawn];
    let document = run_replay(&[&[&*path][..], &flags, &figure].concat())?;
    let rows = document["rows"].as_array().ok_or("no rows")?;
    assert_eq!(
        rows.iter().map(|row| row["sampler"].as_str()).collect::<Vec<_>>(),
        [Some("random"), Some("tpe"), Some("gp")]
    );
    let early = |row: &serde_json::Value| -> Option<f64> {
        let points = row["best_so_far"].as_array()?;
        let point = points.iter().find(|point| point["epochs"].as_f64() >= Some(150.0))?;
        assert!(point["low"].as_f64() <= point["median"].as_f64() && row["rank"] == "mean");
        point["median"].as_f64()
    };
    assert!(
        early(&rows[1]) > early(&rows[0]) && early(&rows[2]) > early(&rows[0]),
        "{:?}",
        rows.iter().map(early).collect::<Vec<_>>()
    );
    let svg = fs::read_to_string(&picture)?;
    assert!(svg.contains("none, tpe") && svg.contains("none, gp"), "each line has its sampler");
    let table = ran(&[&["replay", &*path][..], &["--sampler", "tpe", "--policy", "none,median"]].concat())?;
    assert!(String::from_utf8_lossy(&table.stdout).contains("sampler"));
    Ok(())
}

/// The policy and the predictor of each row.
type Policies = Vec<(String, Option<String>)>;

#[test]
fn by_default_a_short_table_compares_the_cautions_with_the_usual_peers() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 40, 10)?;
    let path = curves.to_string_lossy();
    let policies = |flags: &[&str]| -> Result<Policies, Box<dyn Error>> {
        let document = run_replay(&[&[&*path, "--orderings", "2"], flags].concat())?;
        let rows = document["rows"].as_array().ok_or("rows is no list")?;
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        Ok(rows.iter().map(|row| (text(&row["policy"]).unwrap_or_default(), text(&row["caution"]))).collect())
    };
    let cautions = |rows: &[(String, Option<String>)]| -> Vec<String> {
        rows.iter().filter_map(|(_, caution)| caution.clone()).collect()
    };
    let rows = policies(&[])?;
    assert_eq!((rows.len(), cautions(&rows)), (7, ["safe", "balanced", "fast"].map(str::to_owned).to_vec()));
    assert_eq!(rows[0].0, "none");
    assert_eq!(rows[4..].iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["median", "asha", "oracle"]);
    let fast = policies(&["--caution", "fast"])?;
    assert_eq!((fast.len(), cautions(&fast)), (6, vec!["fast".to_owned(), "balanced".to_owned()]));
    let chain = policies(&["--policy", "chain", "--caution", "safe,balanced,fast"])?;
    assert_eq!(cautions(&chain), ["safe", "balanced", "fast", "balanced"], "the last one is the default");
    assert!(policies(&["--all", "--predictor", "last-value"])?.len() > 12);
    let text = String::from_utf8(ran(&["replay", &*path, "--orderings", "2"])?.stdout)?;
    for part in ["--caution balanced (default)", "of best 3", "regret", "wrongly", "--all"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(text.lines().filter(|line| line.contains(" %")).all(|line| line.chars().count() < 200), "{text}");
    Ok(())
}

#[test]
fn the_stopping_of_a_study_file_is_replayed() -> Tested {
    let folder = tempfile::tempdir()?;
    let (curves, study) = (folder.path().join("runs.csv"), folder.path().join("study.toml"));
    write_curves(&curves, 40, 10)?;
    let (path, file) = (curves.to_string_lossy(), study.to_string_lossy());
    fs::write(
        &study,
        "command = [\"python\", \"train.py\", \"{lr}\"]\nmetric = \"acc\"\npolicy = \"patience\"\npatience = 1\ntrials = 500\n[param]\nlr = \"log:1e-4:1\"\n",
    )?;
    let document = run_replay(&[&*file, &*path, "--orderings", "3"])?;
    let rows = document["rows"].as_array().ok_or("rows is no list")?;
    let policies: Vec<_> = rows.iter().map(|row| row["policy"].as_str().unwrap_or_default()).collect();
    assert_eq!(policies, ["none", "patience", "oracle"]);
    let named = run_replay(&[
        &*path,
        "--policy",
        "patience",
        "--patience",
        "1",
        "--burn-in",
        "3",
        "--orderings",
        "3",
    ])?;
    assert_eq!(rows[1]["epochs_spent"], named["rows"][0]["epochs_spent"]);
    assert_eq!(rows[1]["burn_in"], 3);
    for (words, part) in [
        (vec![&*file], "Pass recorded curves after"),
        (vec![&*file, &*path, "--policy", "median"], "sets the stopping"),
    ] {
        let output = ran(&[vec!["replay"], words].concat())?;
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(part));
    }
    Ok(())
}

#[test]
fn a_study_file_with_brackets_is_replayed_and_a_flag_changes_its_caution() -> Tested {
    let folder = tempfile::tempdir()?;
    let (curves, study) = (folder.path().join("runs.csv"), folder.path().join("study.toml"));
    write_curves(&curves, 60, 9)?;
    let (path, file) = (curves.to_string_lossy(), study.to_string_lossy());
    let written = |fields: &str| {
        let text = format!(
            "command = [\"train\", \"{{lr}}\"]\nmetric = \"acc\"\n{fields}\n[param]\nlr = \"log:1e-4:1\"\n"
        );
        fs::write(&study, text)
    };
    written("scheduler = \"f-hyperband\"")?;
    let document = run_replay(&[&*file, &*path, "--orderings", "2"])?;
    let rows = document["rows"].as_array().ok_or("rows is no list")?;
    let best = |row: &serde_json::Value| row["best_of_run_mean"].is_number();
    assert_eq!(rows.iter().map(best).collect::<Vec<_>>(), [false, true, true], "none, f-hyperband, oracle");
    written("caution = \"safe\"")?;
    let caution = |flags: &[&str]| -> Result<serde_json::Value, Box<dyn Error>> {
        let document = run_replay(&[&[&*file, &*path, "--orderings", "2"], flags].concat())?;
        Ok(document["rows"][1]["caution"].clone())
    };
    assert_eq!((caution(&[])?, caution(&["--caution", "fast"])?), ("safe".into(), "fast".into()));
    Ok(())
}

/// Curves that cross: whatever starts well ends badly.
fn write_crossing_curves(path: &Path, runs: u32, epochs: u32) -> std::io::Result<()> {
    let names: Vec<String> = (1..=epochs).map(|epoch| format!("val_acc_{epoch}")).collect();
    let mut text = format!("lr,{}\n", names.join(","));
    for run in 0..runs {
        let rank = f64::from(run * 37 % runs) / f64::from(runs);
        let value = |epoch: u32| {
            let part = f64::from(epoch) / f64::from(epochs);
            0.5 + if part < 0.8 { -0.3 * rank } else { 0.3 * rank } + 0.01 * part
        };
        let values: Vec<String> = (1..=epochs).map(|epoch| format!("{:.5}", value(epoch))).collect();
        writeln!(text, "{rank},{}", values.join(",")).expect("text grows");
    }
    fs::write(path, text)
}

#[test]
fn advice_needs_the_default_and_ten_orders_and_shows_both_sides() -> Tested {
    let folder = tempfile::tempdir()?;
    let (curves, crossing) = (folder.path().join("runs.csv"), folder.path().join("crossing.csv"));
    write_curves(&curves, 40, 20)?;
    write_crossing_curves(&crossing, 40, 20)?;
    let answer = |path: &Path, policies: &str, orderings: &str| -> Result<String, Box<dyn Error>> {
        let flags = ["--policy", policies, "--patience", "2", "--orderings", orderings];
        let output = ran(&[&["replay", &*path.to_string_lossy()], &flags[..]].concat())?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    for few in [answer(&curves, "none,patience", "9")?, answer(&curves, "none,i-epoch,oracle", "10")?] {
        assert!(!few.contains("Use"), "{few}");
    }
    let patience = answer(&curves, "none,patience,i-epoch", "10")?;
    let sides = patience.contains("The default: ") && patience.contains("Use: foretell search --patience 2");
    assert!(sides || patience.contains("Use foretell search with its defaults"), "{patience}");
    let lost = answer(&crossing, "asha", "10")?;
    assert!(!lost.contains("with its defaults") || !lost.contains("kept in 0 of"), "{lost}");
    Ok(())
}

#[test]
fn every_command_of_a_row_is_one_that_search_accepts() -> Tested {
    let folder = tempfile::tempdir()?;
    let curves = folder.path().join("runs.csv");
    write_curves(&curves, 40, 12)?;
    let path = curves.to_string_lossy();
    let all = ["--policy", "none,srm,last-value,chain,median,patience,asha,lce,i-epoch,oracle"];
    let few = ["--orderings", "1", "--study-size", "12", "--predictor", "ridge", "--draws", "2"];
    let mut documents = vec![run_replay(&[&[&*path], &few[..4]].concat())?];
    documents.push(run_replay(&[&[&*path], &all[..], &few, &["--patience", "3"]].concat())?);
    documents.push(run_replay(
        &[&[&*path, "--policy", "chain,srm", "--caution", "safe,fast"], &few[..4]].concat(),
    )?);
    let mut commands = std::collections::BTreeSet::new();
    for row in documents.iter().flat_map(|document| document["rows"].as_array().into_iter().flatten()) {
        let is_for_searches =
            !["none", "i-epoch", "oracle"].contains(&row["policy"].as_str().unwrap_or_default());
        assert_eq!(row["command"].is_string(), is_for_searches, "{row}");
        commands.extend(row["command"].as_str().map(str::to_owned));
    }
    assert!(commands.len() > 12, "{commands:?}");
    for command in commands {
        let mut words: Vec<&str> = command.split(' ').skip(1).collect();
        words.extend([
            "--explain",
            "--param",
            "lr=float:0:1",
            "--metric",
            "val_acc",
            "--epochs",
            "12",
            "--",
            "true",
            "{lr}",
        ]);
        let output = ran(&words)?;
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
