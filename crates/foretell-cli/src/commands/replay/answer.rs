//! The answer in plain words, and the table below it.

use super::flags::ReplayArguments;
use super::recommend::{MeasuredResult, Recommendation, recommend_setting};
use super::replayed::ReplayedFile;
use super::report::{FrontRow, SettingRow, SettingTotals};
use crate::output::{human_duration, metric_difference, table, with_deviation};
use foretell::ErrorBudget;
use foretell_search::{NamedSampler, RandomSampling};

/// The saving, whether the best was kept, and the table of all settings.
pub(super) fn text(file: &ReplayedFile, arguments: &ReplayArguments) -> String {
    format!("{}\n\n{}", summary(file, arguments), settings_table(file, arguments))
}

/// The saving, and whether the best was kept.
pub(super) fn summary(file: &ReplayedFile, arguments: &ReplayArguments) -> String {
    if arguments.scheduler() == foretell_search::SchedulerName::Full {
        full_summary(file, arguments)
    } else {
        scheduler_summary(file, arguments)
    }
}

/// All settings, a row each.
pub(super) fn settings_table(file: &ReplayedFile, arguments: &ReplayArguments) -> String {
    match arguments.is_short() {
        true => short_table(&file.rows, best_value(file)),
        false => full_table(&file.rows, best_value(file)),
    }
}

/// The best value there is, by whose size the differences from it are written.
fn best_value(file: &ReplayedFile) -> f64 {
    let history = file.table.history();
    let finals = (0..history.len()).filter_map(|i| history.final_score(i));
    finals.max_by(f64::total_cmp).map_or(f64::NAN, |score| history.to_value(score))
}

fn speedup_words(row: &SettingRow) -> String {
    format!("{:.1} times less training", row.totals.speedup_total)
}

fn kept_words(row: &SettingRow) -> String {
    if let Some(front) = row.front {
        let (kept, volume) = (100.0 * front.kept, 100.0 * front.hypervolume_kept);
        return format!("{kept:.1} % of the front kept, {volume:.1} % of its hypervolume");
    }
    let orders = (row.best_kept * row.orderings as f64).round();
    let three = (row.totals.best_three_kept * row.orderings as f64).round();
    let other = if three > orders { format!(" and one of the best three in {three}") } else { String::new() };
    // near ties make the count alone misleading
    let regret = match orders < row.orderings as f64 {
        true => format!(" at a mean regret of {:.2} standard deviations", row.regret_sd_mean),
        false => String::new(),
    };
    format!("the best run kept in {orders} of {} orders{other}{regret}", row.orderings)
}

fn full_summary(file: &ReplayedFile, arguments: &ReplayArguments) -> String {
    let mut lines = vec![what_was_replayed(file)];
    let study = arguments.study_file().map(|path| format!(" {}", path.display()));
    // the first setting stops nothing, and the second is that of the study file
    let usual = if study.is_some() { Some(1) } else { file.usual() };
    if let Some(row) = usual.and_then(|i| file.rows.get(i)) {
        let saved = 100.0 * (1.0 - 1.0 / row.totals.speedup_total);
        lines.push(format!(
            "`foretell search{}` would have saved {saved:.0} % of the training: {:.0} instead of {:.0} epochs, {}, {}.",
            study.as_deref().unwrap_or_default(),
            row.epochs_spent,
            row.epochs_full,
            speedup_words(row),
            kept_words(row),
        ));
        lines.extend(saved_hours(file));
        lines.push(regret_text(row, &file.metric, best_value(file)));
    }
    let other = |row: &SettingRow| {
        let caution = row.caution.filter(|_| !row.default)?;
        Some(format!("with --caution {caution} {}, {}", speedup_words(row), kept_words(row)))
    };
    let others: Vec<String> = file.rows.iter().filter_map(other).collect();
    if !others.is_empty() {
        lines.push(format!("Other settings: {}.", others.join("; ")));
    }
    if let Some(oracle) = file.rows.iter().find(|row| row.variant.is_bound()) {
        lines.push(format!(
            "Upper bound with perfect foresight: {:.1} times less training (after {} completed runs).",
            oracle.totals.speedup_total, oracle.burn_in
        ));
    }
    // the recommendation compares how often the best run was kept, which a front does not have, and a study file has chosen already
    if file.table.objectives().is_empty() && study.is_none() {
        lines.extend(recommend_setting(file).map(|chosen| recommendation_text(file, &chosen)));
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

/// The time that this would have saved, by the times in the logs.
fn saved_hours(file: &ReplayedFile) -> Option<String> {
    let outcome = &file.outcomes[file.usual()?];
    let grid = file.table.grid();
    let end = *grid.last()?;
    let (mut whole, mut saved, mut timed, mut all) = (0.0, 0.0, 0_usize, 0_usize);
    for trial in outcome.orderings.iter().flat_map(|ordering| &ordering.trace.trials) {
        all += 1;
        // a log may lack times, so the hours cover only the runs that have them, and the text names the fraction of these runs
        let Some(seconds) = file.seconds.get(file.table.index(trial.run)).copied().flatten() else {
            continue;
        };
        timed += 1;
        let stopped = trial.stopped_at.filter(|_| !trial.finished).and_then(|at| grid.get(at as usize - 1));
        whole += end * seconds;
        saved += stopped.map_or(0.0, |at| (end - at) * seconds);
    }
    let orders = outcome.orderings.len().max(1) as f64;
    let some = if timed < all {
        let share = 100.0 * timed as f64 / all as f64;
        format!(" (of the {share:.0} % of the runs whose logs have times)")
    } else {
        String::new()
    };
    (timed > 0 && whole > 0.0).then(|| {
        format!(
            "By the times in the logs, this is {} of {} of training{some}.",
            human_duration(saved / orders),
            human_duration(whole / orders)
        )
    })
}

fn what_was_replayed(file: &ReplayedFile) -> String {
    let table = &file.table;
    let unfinished = table.history().len() - table.len();
    let first = file.rows.first();
    let size = first.and_then(|row| row.study_size.map(|_| format!(" of {} runs each", row.runs)));
    format!(
        "{}: {} completed runs of {} points, replayed in {} {}{}{}.",
        file.curves,
        table.len(),
        table.points(),
        first.map_or(0, |row| row.orderings),
        match first.map(|row| row.sampler.as_str()) {
            None | Some(RandomSampling::NAME) => "random orders".to_owned(),
            Some(sampler) => format!("orders of the sampler {sampler}"),
        },
        size.unwrap_or_default(),
        match unfinished {
            0 => String::new(),
            1 => " (1 unfinished run left out)".to_owned(),
            _ => format!(" ({unfinished} unfinished runs left out)"),
        },
    )
}

/// The recommended setting: its saving and its losses beside those of the default, in orders that did not choose it.
fn recommendation_text(file: &ReplayedFile, chosen: &Recommendation) -> String {
    let (row, there, usual) = (&file.rows[chosen.row], &chosen.elsewhere, &chosen.usual);
    let measured = |measured: &MeasuredResult| {
        let MeasuredResult { speedup, kept, orders, .. } = measured;
        format!("{speedup:.1} times less training, and the best run kept in {kept} of {orders} orders")
    };
    let is_better =
        !row.default && (there.beats(usual) || !usual.suits_as_default() && there.suits_as_default());
    if is_better && let Some(command) = &row.command {
        return format!(
            "Chosen on half of the orders, and measured on the other half: {}. The default: {}.\nUse: {command}",
            measured(there),
            measured(usual)
        );
    }
    if usual.suits_as_default() {
        let tried = file.rows.iter().filter(|row| row.variant.is_for_searches()).count();
        return format!(
            "None of {tried} settings, chosen on half of the orders, does better on the other half. Use foretell search with its defaults."
        );
    }
    format!(
        "The default loses the best of these runs too often: {}. None of the settings tried does better, because these curves don't show early how they end.\nUse: foretell search --no-stopping",
        measured(usual)
    )
}

/// The regret: first over the orders that lost the best run, then over all orders.
fn regret_text(row: &SettingRow, metric: &str, best: f64) -> String {
    if let Some(front) = row.front {
        return format!(
            "The front contains {:.1} runs on average. As many epochs spent on random runs would have kept {:.1} % of it.",
            front.size_mean,
            100.0 * front.kept_at_random
        );
    }
    let Some((worse, in_sd)) = row.totals.regret_where_lost.zip(row.totals.regret_sd_where_lost) else {
        return String::new();
    };
    format!(
        "In the orders that lost the best run, the best remaining run was worse by {} on average ({metric}; {in_sd:.2} standard deviations of the final values), and by {} at most. The mean over all orders is {}.",
        metric_difference(worse, best, 4),
        metric_difference(row.regret_max, best, 4),
        metric_difference(row.regret_mean, best, 5)
    )
}

fn scheduler_summary(file: &ReplayedFile, arguments: &ReplayArguments) -> String {
    let mut lines = vec![format!(
        "{}: {} with eta = {} up to {} of {} points, on samples from {} recorded runs, repeated {} times.",
        file.curves,
        arguments.scheduler().name(),
        arguments.chosen::<u64>("eta"),
        arguments.max_resource.unwrap_or(file.table.points() as u64),
        file.table.points(),
        file.table.len(),
        arguments.orderings,
    )];
    let plan_of = arguments.scheduler().is_hyperband().then(|| {
        foretell_search::plan(
            arguments.max_resource.unwrap_or(file.table.points() as u64),
            arguments.chosen("eta"),
        )
    });
    lines.extend(plan_of.and_then(Result::ok).map(|plan| plan.to_string()));
    let waits = |row: &&SettingRow| row.variant.has_rule() && row.burn_in >= row.runs as u64;
    if let Some(row) = file.rows.iter().find(waits).filter(|_| arguments.warm_start == 0) {
        lines.push(format!(
            "The burn-in of {} is not below the {} configurations tried, so nothing could be stopped. Lower --burn-in.",
            row.burn_in, row.runs
        ));
    }
    lines.join("\n")
}

/// A fraction and its standard error.
pub(super) fn percent(share: f64, error: f64) -> String {
    format!("{:.0} ± {:.0} %", 100.0 * share, 100.0 * error)
}

/// A regret in standard deviations, and its standard error.
pub(super) fn deviations((regret, error): (f64, f64)) -> String {
    format!("{regret:.2} ± {error:.2}")
}

/// Δ and its settings.
pub(super) fn rule(row: &SettingRow) -> String {
    let mut parts = Vec::new();
    parts.extend(row.stop_probability.map(|p| format!("{p}{}", budget(row.error_budget))));
    parts.extend(row.agreeing_checks.filter(|&n| n > 1).map(|n| format!("{n} agree")));
    parts.extend((row.offset > 0.0).then(|| format!("δ {}", row.offset)));
    parts.extend((row.nth_best > 1).then(|| format!("{}-th best", row.nth_best)));
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

/// The name of a budget after a Δ; nothing for the paper's rule.
fn budget(budget: Option<ErrorBudget>) -> &'static str {
    match budget {
        Some(ErrorBudget::PerRun) => " a run",
        Some(ErrorBudget::PerRunEvenly) => " a run, evenly",
        Some(ErrorBudget::PerCheck) | None => "",
    }
}

/// The runs that f-Hyperband compares with, its κ, and the best of a run.
fn hyperband_cells(row: &SettingRow) -> [String; 3] {
    let reference = match row.reference {
        Some(foretell_search::Reference::Level) => "level",
        Some(foretell_search::Reference::Rung) => "rung",
        None => "–",
    };
    let best =
        row.best_of_run_mean.map(|mean| with_deviation(mean, row.best_of_run_stderr.unwrap_or(f64::NAN)));
    let kappa = row.kappa.map_or("–".to_owned(), |kappa| format!("{kappa:.2}"));
    [reference.to_owned(), kappa, best.unwrap_or("– ± –".to_owned())]
}

/// The fraction of the front that was kept, and the fraction that a random choice at the same cost keeps.
fn front_cells(front: &FrontRow) -> [String; 4] {
    let shares = [front.kept, front.kept_at_random, front.hypervolume_kept, front.hypervolume_kept_at_random];
    shares.map(|share| format!("{:.1} %", 100.0 * share))
}

/// A heading and its cell, given the best value.
type TableColumn = (&'static str, fn(&SettingRow, f64) -> String);

/// The columns that every table has.
const COMMON_COLUMNS: [TableColumn; 15] = [
    ("policy", |row, _| row.policy.clone()),
    ("predictor", |row, _| row.predictor.clone().unwrap_or("–".to_owned())),
    ("Δ", |row, _| rule(row)),
    ("burn-in", |row, _| match row.variant.has_rule() {
        true => row.burn_in.to_string(),
        false => "–".to_owned(),
    }),
    ("speed-up", |row, _| {
        format!("{:.2} ± {:.2}", row.totals.speedup_total, row.totals.speedup_total_stderr)
    }),
    ("to target", |row, _| format!("{:.2}", row.totals.speedup_to_target)),
    ("epochs", |row, _| format!("{:.0}", row.epochs_spent)),
    ("best kept", |row, _| percent(row.best_kept, row.totals.best_kept_stderr)),
    ("of best 3", |row, _| percent(row.totals.best_three_kept, row.totals.best_three_kept_stderr)),
    ("regret", |row, best| metric_difference(row.regret_mean, best, 5)),
    ("in sd", |row, _| format!("{:.3} ± {:.3}", row.regret_sd_mean, row.totals.regret_sd_stderr)),
    ("where lost", |row, _| {
        let SettingTotals { regret_sd_where_lost: mean, regret_sd_where_lost_stderr: error, .. } =
            &row.totals;
        mean.zip(*error).map_or("–".to_owned(), deviations)
    }),
    ("stopped", |row, _| format!("{:.0} of {}", row.stopped_mean, row.runs)),
    ("wrongly", |row, _| format!("{:.1}", row.wrong_stops_mean)),
    ("of oracle's saving", |row, _| {
        row.saving_of_oracle.map_or("–".to_owned(), |share| format!("{:.0} %", 100.0 * share))
    }),
];

/// The columns of the short table.
const SHORT_TABLE_COLUMNS: [&str; 8] =
    ["speed-up", "to target", "epochs", "best kept", "of best 3", "regret", "stopped", "wrongly"];

/// What one row each is called in the short table: the caution of a search, or the policy.
fn short_name(row: &SettingRow) -> String {
    match row.caution {
        Some(caution) if row.default => format!("--caution {caution} (default)"),
        Some(caution) => format!("--caution {caution}"),
        None => row.policy.clone(),
    }
}

/// The columns by which a person chooses a setting.
fn short_table(rows: &[SettingRow], best: f64) -> String {
    let columns: Vec<&TableColumn> =
        COMMON_COLUMNS.iter().filter(|(name, _)| SHORT_TABLE_COLUMNS.contains(name)).collect();
    let mut headings = vec!["stopping"];
    headings.extend(columns.iter().map(|(name, _)| *name));
    let has_front = rows.iter().any(|row| row.front.is_some());
    headings.extend(if has_front { &FRONT_HEADINGS[..] } else { &[] });
    let cells = |row: &SettingRow| {
        let cells = columns.iter().map(|(_, cell)| cell(row, best));
        let front = row.front.iter().flat_map(front_cells);
        std::iter::once(short_name(row)).chain(cells).chain(front).collect()
    };
    let shown = table(&headings, &rows.iter().map(cells).collect::<Vec<Vec<String>>>());
    format!("{shown}\nAll settings of all stop rules: --all")
}

/// The headings of [`front_cells`].
const FRONT_HEADINGS: [&str; 4] = ["front kept", "at random", "hypervolume", "at random"];

/// A row of the table, with the columns that only some tables need.
fn cells(row: &SettingRow, best: f64, hyperband: bool, samplers: bool) -> Vec<String> {
    let mut cells: Vec<String> = COMMON_COLUMNS.iter().map(|(_, cell)| cell(row, best)).collect();
    cells.extend(row.front.iter().flat_map(front_cells));
    if hyperband {
        cells.extend(hyperband_cells(row));
    }
    if samplers {
        cells.insert(0, row.sampler.clone());
    }
    cells
}

fn full_table(rows: &[SettingRow], best: f64) -> String {
    let hyperband = rows.iter().any(|row| row.best_of_run_mean.is_some());
    let samplers = rows.iter().any(|row| row.sampler != "random");
    let mut headings: Vec<&str> = COMMON_COLUMNS.iter().map(|(name, _)| *name).collect();
    if rows.iter().any(|row| row.front.is_some()) {
        headings.extend(FRONT_HEADINGS);
    }
    if hyperband {
        headings.extend(["reference", "κ", "best of a run"]);
    }
    if samplers {
        headings.insert(0, "sampler");
    }
    let rows: Vec<_> = rows.iter().map(|row| cells(row, best, hyperband, samplers)).collect();
    table(&headings, &rows)
}
