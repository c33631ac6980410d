//! `foretell reproduce` from the outside, on small files that look like the released ones.

mod common;

use common::{Tested, ran};
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// ResNets of 1 to 17 blocks, as the released file has them: a constant learning rate, some dead runs.
fn write_resnets(folder: &Path) -> std::io::Result<()> {
    write_so_many_resnets(folder, 102)
}

fn write_many_resnets(folder: &Path) -> std::io::Result<()> {
    write_so_many_resnets(folder, 180)
}

fn write_so_many_resnets(folder: &Path, runs: u32) -> std::io::Result<()> {
    let points = 16;
    let names: Vec<String> = (0..points).map(|epoch| format!("acc_{epoch}")).collect();
    let mut text = format!("base_model,num_blocks,num_filters,filter_size,lr,ss,{}\n", names.join(","));
    for run in 0..runs {
        let (blocks, filters, side) = (1 + run % 17, 2 + run * 5 % 21, 3 + 2 * (run % 3));
        let limit = 0.2 + 0.01 * f64::from(blocks) + 0.008 * f64::from(filters);
        let value = |epoch: u32| {
            let noise = 0.003 * f64::from(run * (epoch + 3) % 11);
            if run % 50 == 49 { 0.0 } else { limit * (1.0 - 0.8_f64.powi(epoch as i32 + 1)) + noise }
        };
        let values: Vec<String> = (0..points).map(|epoch| format!("{:.4}", value(epoch))).collect();
        writeln!(text, "resnet,{blocks},{filters},{side},0.1,{},{}", 35000 * (1 + run % 2), values.join(","))
            .expect("text grows");
    }
    fs::write(folder.join("deep_resnets_tinyimagenet.csv"), text)
}

/// Networks whose size never varies, as of the cuda-convnet files.
fn write_cuda_convnets(folder: &Path) -> std::io::Result<()> {
    let names: Vec<String> = (1..=12).map(|epoch| format!("acc_{epoch}")).collect();
    let mut text = format!("num_params,depth,lr,lambda,{}\n", names.join(","));
    for run in 0..60_u32 {
        let lr = 0.001 * f64::from(1 + run * 7 % 50);
        let limit = 0.5 + 6.0 * lr;
        let value = |epoch: i32| limit * (1.0 - 0.7_f64.powi(epoch)) + 0.002 * f64::from(run % 5);
        let values: Vec<String> = (1..=12).map(|epoch| format!("{:.4}", value(epoch))).collect();
        writeln!(text, "89578,5,{lr},{},{}", 0.01 * f64::from(run * 11 % 60), values.join(","))
            .expect("text grows");
    }
    fs::write(folder.join("cudaconvnet_cifar10.csv"), text)
}

/// LSTMs; every tenth ends badly.
fn write_lstms(folder: &Path) -> std::io::Result<()> {
    let names: Vec<String> = (0..12).map(|epoch| format!("ep_{epoch}")).collect();
    let mut text = format!("base_model,n_layer,n_inputs,{}\n", names.join(","));
    for run in 0..60_u32 {
        let (layers, inputs) = (2 + run % 4, 10 + 20 * run);
        let end = if run % 10 == 0 { 150.0 } else { 65.0 } + f64::from(inputs) / 100.0;
        let values: Vec<String> =
            (0..12).map(|epoch| format!("{:.2}", end + 300.0 * 0.5_f64.powi(epoch))).collect();
        writeln!(text, "lstm,{layers},{inputs},{}", values.join(",")).expect("text grows");
    }
    fs::write(folder.join("lstm_ptb.csv"), text)
}

/// One empty file and one that is no table, next to a good one.
#[test]
fn files_that_cannot_be_read_are_named_and_do_not_end_the_others() -> Tested {
    let folder = tempfile::tempdir()?;
    write_cuda_convnets(folder.path())?;
    fs::write(folder.path().join("metaqnn_svhn.csv"), "")?;
    fs::write(folder.path().join("alexnet_imagenet.csv"), "\u{1}\u{2},,,\nno numbers")?;
    let document = reproduce(folder.path(), &["--only", "table-1"])?;
    assert!(document["rows"].as_array().is_some_and(|rows| !rows.is_empty()));
    let unreadable = document["unreadable"].to_string();
    assert!(
        unreadable.contains("metaqnn_svhn.csv") && unreadable.contains("alexnet_imagenet.csv"),
        "{unreadable}"
    );
    fs::remove_file(folder.path().join("cudaconvnet_cifar10.csv"))?;
    let output = ran(&["reproduce", &folder.path().to_string_lossy()])?;
    let message = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("can be read") && message.contains("metaqnn_svhn.csv"), "{message}");
    Ok(())
}

const QUICK: [&str; 8] = ["--train", "30", "--repeats", "2", "--seeds", "1", "--draws", "10"];

fn reproduce(folder: &Path, more: &[&str]) -> Result<serde_json::Value, Box<dyn Error>> {
    let folder = folder.to_string_lossy();
    let arguments = [&["reproduce", &folder, "--format", "json"][..], &QUICK, more].concat();
    let output = ran(&arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn rows<'a>(
    document: &'a serde_json::Value,
    of: impl Fn(&serde_json::Value) -> bool + 'a,
) -> Vec<&'a serde_json::Value> {
    document["rows"].as_array().into_iter().flatten().filter(|row| of(row)).collect()
}

/// How many runs each preparation of each file leaves.
fn runs_of_sets(document: &serde_json::Value) -> Vec<Option<u64>> {
    document["sets"].as_array().into_iter().flatten().map(|set| set["runs"].as_u64()).collect()
}

#[test]
fn each_published_cell_stands_beside_ours_with_the_difference_in_standard_errors() -> Tested {
    let folder = tempfile::tempdir()?;
    write_resnets(folder.path())?;
    let document = reproduce(folder.path(), &["--only", "table-1"])?;
    assert_eq!(document["schema"], "foretell.reproduce/1");
    let linear = rows(&document, |row| row["predictor"] == "svr-linear");
    assert_eq!(linear.len(), 4, "a row a preparation");
    for row in linear {
        let number = |field: &str| row[field].as_f64().ok_or(format!("no {field}: {row}"));
        assert_eq!((number("published_mean")?, number("published_stderr")?), (0.918, 0.011));
        assert_eq!((number("observed")?, number("tau")?), (0.25, 4.0));
        let between = number("r2_stderr")?.hypot(0.011);
        let difference = (number("r2_mean")? - 0.918) / between;
        assert!((difference - number("difference_in_standard_errors")?).abs() < 1e-6);
    }
    Ok(())
}

#[test]
fn cells_are_counted_over_seeds_and_an_interrupted_reproduction_continues() -> Tested {
    let folder = tempfile::tempdir()?;
    write_resnets(folder.path())?;
    let (data, kept) = (folder.path().to_string_lossy(), folder.path().join("rows.jsonl"));
    let arguments =
        ["reproduce", &data, "--only", "table-1", "--train", "30", "--repeats", "2", "--draws", "10"];
    let run = |more: &[&str]| -> Result<(serde_json::Value, String), Box<dyn Error>> {
        let resume = kept.to_string_lossy();
        let seeds = ["--seeds", "3", "--format", "json", "--resume", &resume];
        let output = ran(&[&arguments[..], &seeds, more].concat())?;
        let text = String::from_utf8(output.stderr)?;
        assert!(output.status.success(), "{text}");
        Ok((serde_json::from_slice(&output.stdout)?, text))
    };
    let (first, progress) = run(&[])?;
    assert!(progress.contains("svr-rbf") && progress.contains("published 91.80"), "{progress}");
    let row = &first["rows"][0];
    assert_eq!((row["repeats"].as_u64(), row["by_seed"].as_array().map(Vec::len)), (Some(6), Some(3)));
    assert_eq!(first["summary"]["by_seed"].as_array().map(Vec::len), Some(3));
    let text = fs::read_to_string(&kept)?;
    let rows = text.lines().count();
    fs::write(&kept, &text[..text.len() - 20])?;
    let (second, progress) = run(&[])?;
    assert!(progress.contains(&format!("{} rows measured before", rows - 1)), "{progress}");
    assert_eq!(second["rows"][0], first["rows"][0]);
    assert_eq!(
        fs::read_to_string(&kept)?.lines().count(),
        rows,
        "the row that was cut off is measured again"
    );
    Ok(())
}

#[test]
fn scores_are_taken_as_they_are_and_compressed_ones_stand_apart() -> Tested {
    let folder = tempfile::tempdir()?;
    write_lstms(folder.path())?;
    let mut text = fs::read_to_string(folder.path().join("lstm_ptb.csv"))?;
    let diverging: Vec<String> = (0..12).map(|epoch| format!("{}", 300 + 400 * epoch)).collect();
    writeln!(text, "lstm,5,1400,{}", diverging.join(","))?;
    fs::write(folder.path().join("lstm_ptb.csv"), text)?;
    let document = reproduce(folder.path(), &["--only", "table-1"])?;
    let sets = document["sets"].as_array().ok_or("no sets")?;
    let count = |compressed| sets.iter().filter(move |set| set["compressed"] == compressed).count();
    assert!(count(false) == 3 && count(true) >= 1, "{sets:?}");
    assert!(rows(&document, |row| row["compressed"] == true).len() >= 4);
    Ok(())
}

#[test]
fn a_part_without_a_file_is_named() -> Tested {
    let folder = tempfile::tempdir()?;
    write_cuda_convnets(folder.path())?;
    let document = reproduce(folder.path(), &["--only", "depth"])?;
    assert_eq!(document["not_applicable"], serde_json::json!(["depth"]));
    Ok(())
}

#[test]
fn what_is_missing_is_named() -> Tested {
    let folder = tempfile::tempdir()?;
    write_cuda_convnets(folder.path())?;
    let document = reproduce(folder.path(), &["--only", "table-2"])?;
    let missing: Vec<&str> =
        document["missing"].as_array().into_iter().flatten().filter_map(|m| m.as_str()).collect();
    assert_eq!(missing.len(), 7);
    assert!(missing.contains(&"alexnet_imagenet.csv") && !missing.contains(&"cudaconvnet_cifar10.csv"));
    // the size never varies: there is nothing to fit AP alone on
    let alone = rows(&document, |row| row["features"] == "ap");
    assert!(
        alone[0]["r2_mean"].is_null() && alone[0]["published_mean"].as_f64() == Some(0.011),
        "{}",
        alone[0]
    );
    assert!(alone[0]["note"].as_str().is_some_and(|note| note.contains("no AP column varies")));
    assert!(rows(&document, |row| row["features"] == "hp")[0]["r2_mean"].as_f64() > Some(0.8));
    Ok(())
}

#[test]
fn shallow_networks_are_learned_from_and_deep_ones_forecast() -> Tested {
    let folder = tempfile::tempdir()?;
    write_resnets(folder.path())?;
    let document = reproduce(folder.path(), &["--only", "depth"])?;
    let deep = rows(&document, |row| row["depth"] == 62.0 && row["predictor"] == "svr-rbf");
    assert_eq!(deep.len(), 4);
    // 6·blocks + 2 > 62 leaves 11 to 17 blocks: 42 of 102 runs, two of them dead
    for name in ["weights, depth", "as released"] {
        let row = deep.iter().find(|row| row["preparation"] == name).ok_or(name)?;
        assert_eq!(row["tested_mean"].as_f64(), Some(40.0), "{row}");
        assert!(row["note"].as_str().is_some_and(|note| note.contains("40 deeper networks")), "{row}");
    }
    // blocks 1 to 4 are 24 runs: too few to learn from 30
    for row in rows(&document, |row| row["depth"] == 32.0) {
        assert!(row["note"].as_str().is_some_and(|note| note.contains("too few")), "{row}");
    }
    // two dead runs are left out, and half of the runs have each schedule
    assert_eq!(runs_of_sets(&document), [Some(100), Some(51), Some(51), Some(100)]);
    Ok(())
}

#[test]
fn runs_that_end_badly_are_left_out_where_a_preparation_says_so() -> Tested {
    let folder = tempfile::tempdir()?;
    write_lstms(folder.path())?;
    let document = reproduce(folder.path(), &["--only", "table-2"])?;
    assert_eq!(runs_of_sets(&document), [Some(60), Some(60), Some(54)]);
    let text = document["sets"][2].to_string();
    assert!(text.contains("6 runs that do not end below 100 removed"), "{text}");
    // the end follows from the inputs
    let alone = rows(&document, |row| row["features"] == "ap" && row["preparation"] == "ends below 100");
    assert!(alone[0]["r2_mean"].as_f64() > Some(0.5), "{}", alone[0]);
    Ok(())
}

#[test]
fn figures_and_tables_come_together() -> Tested {
    let folder = tempfile::tempdir()?;
    write_cuda_convnets(folder.path())?;
    let figures = folder.path().join("new").join("figures");
    let (data, out) = (folder.path().to_string_lossy(), figures.to_string_lossy());
    let arguments =
        [&["reproduce", &data, "--only", "observed", "--observed", "0.25,0.5", "--out", &out][..], &QUICK];
    let output = ran(&arguments.concat())?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.contains("25 %")
            && text.contains("last-value")
            && text.contains("not there: metaqnn_cifar10.csv")
    );
    let accuracy = fs::read_to_string(figures.join("observed.svg"))?;
    assert!(accuracy.contains("svr-rbf") && accuracy.contains("last-value"));
    assert!(figures.join("scatter-cudaconvnet_cifar10.svg").is_file());
    // where a figure should lie is a folder: the tables are there all the same
    fs::remove_file(figures.join("observed.svg"))?;
    fs::create_dir(figures.join("observed.svg"))?;
    let output = ran(&arguments.concat())?;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr)?.contains("observed.svg"));
    assert_eq!(String::from_utf8(output.stdout)?, text);
    Ok(())
}

#[test]
fn early_stopping_is_simulated_in_searches_and_in_hyperband() -> Tested {
    let folder = tempfile::tempdir()?;
    write_resnets(folder.path())?;
    let few = reproduce(folder.path(), &["--only", "stopping"])?;
    assert!(few["replays"].as_array().is_some_and(Vec::is_empty), "98 runs are fewer than the burn-in");
    write_many_resnets(folder.path())?;
    let out = folder.path().join("figures");
    let document =
        reproduce(folder.path(), &["--only", "stopping,hyperband", "--out", &out.to_string_lossy()])?;
    let all = document["replays"].as_array().ok_or("no replays")?;
    let number = |row: &serde_json::Value, field: &str| row[field].as_f64().unwrap_or(f64::NAN);
    let searches: Vec<_> = all.iter().filter(|row| row["part"] == "stopping").collect();
    let extrapolation = searches.iter().filter(|row| row["predictor"] == "lce");
    assert_eq!(extrapolation.clone().count(), 3 * 2 * 2, "three rules, two burn-ins, two Δ");
    assert_eq!(searches.len(), 2 * 3 * 4 + 3 * 2 * 2, "two predictors besides, three variants, four Δ");
    for row in &searches {
        assert!(number(row, "speedup_mean") >= 1.0 && number(row, "best_kept") >= 0.0, "{row}");
    }
    // only extrapolation, which learns from no other run, begins with the second one
    for row in extrapolation {
        assert!([1.0, 100.0].contains(&number(row, "burn_in")) && row["policy"].is_string(), "{row}");
    }
    let hyperband: Vec<_> = all.iter().filter(|row| row["part"] == "hyperband").collect();
    assert_eq!(hyperband.len(), 1 + 2 * 2 * (2 * 2 + 1));
    let best = |of: &dyn Fn(&serde_json::Value) -> bool| {
        hyperband.iter().filter(|row| of(row)).map(|row| number(row, "speedup_mean")).fold(0.0, f64::max)
    };
    assert!((best(&|row| row["variant"] == "none") - 1.0).abs() < 1e-12);
    assert!(best(&|row| row["variant"] == "oracle") >= best(&|row| row["variant"] == "cold"));
    for figure in ["speedup", "iterations", "trajectory"] {
        let drawn = fs::read_to_string(out.join(format!("{figure}-deep_resnets_tinyimagenet.svg")))?;
        assert!(drawn.contains("class=\"series\"") && !drawn.contains("NaN"), "{figure}");
    }
    Ok(())
}

#[test]
fn a_folder_without_released_files_is_refused_with_their_names() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_string_lossy();
    let output = ran(&["reproduce", &path])?;
    let message = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains(&*path)
            && message.contains("lstm_ptb.csv")
            && message.contains("cudaconvnet_svhn.csv")
    );
    let gone = folder.path().join("gone");
    let message = String::from_utf8(ran(&["reproduce", &gone.to_string_lossy()])?.stderr)?;
    assert!(message.contains("gone: there is no such folder"), "{message}");
    Ok(())
}
