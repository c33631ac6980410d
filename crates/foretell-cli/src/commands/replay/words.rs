//! The answer in plain words, and the table below it.

use super::flags::Arguments;
use super::replayed::Replayed;
use super::report::Row;
use crate::output::{metric_difference, table, with_deviation};
use crate::scheduling::SchedulerName;
use foretell::ErrorBudget;

/// A setting is recommended if it kept the best run in at least this share of orderings …
const KEPT: f64 = 0.95;
/// … and stopped at most so many runs an ordering that would have beaten what they were compared with. There are a few
/// such runs in every ordering, but only one best: this tells luck from safety.
const WRONG: f64 = 0.1;

/// What would have been saved, whether the best was kept, and the table of all settings.
pub(super) fn answer(file: &Replayed, arguments: &Arguments) -> String {
    let summary =
        if arguments.scheduler == SchedulerName::Full { full(file) } else { scheduled(file, arguments) };
    format!("{summary}\n\n{}", as_table(&file.rows, best_value(file)))
}

/// The best value there is, by whose size the differences from it are written.
fn best_value(file: &Replayed) -> f64 {
    let history = file.table.history();
    let finals = (0..history.len()).filter_map(|i| history.final_score(i));
    finals.max_by(f64::total_cmp).map_or(f64::NAN, |score| history.value(score))
}

fn is_trusted(row: &Row) -> bool {
    row.best_kept >= KEPT && row.wrong_stops_mean <= WRONG
}

/// Whether the row is of a forecast with the budget that `foretell search` has by default: one for each check.
fn is_for_search(row: &Row) -> bool {
    row.policy == "srm" && row.error_budget == Some(ErrorBudget::PerCheck)
}

/// The setting to use: the fastest forecast that kept the best in (nearly) every ordering and stopped (nearly) nothing
/// wrongly, else the one that kept it most often, of these the one that lost least.
pub(super) fn recommended(rows: &[Row]) -> Option<usize> {
    let forecasts = || (0..rows.len()).filter(|&i| is_for_search(&rows[i]));
    let faster = |&a: &usize, &b: &usize| rows[a].speedup_mean.total_cmp(&rows[b].speedup_mean);
    let safer = |&a: &usize, &b: &usize| {
        let kept = rows[a].best_kept.total_cmp(&rows[b].best_kept);
        kept.then(rows[b].regret_sd_mean.total_cmp(&rows[a].regret_sd_mean))
    };
    forecasts().filter(|&i| is_trusted(&rows[i])).max_by(faster).or_else(|| forecasts().max_by(safer))
}

fn times(row: &Row) -> String {
    format!("{:.1} times less training", row.speedup_mean)
}

fn kept(row: &Row) -> String {
    let orders = (row.best_kept * row.orderings as f64).round();
    format!("the best run kept in {orders} of {} orders", row.orderings)
}

fn setting(row: &Row) -> String {
    let mut flags = Vec::new();
    flags.extend(row.stop_probability.map(|p| format!("--stop-probability {p}")));
    flags.extend(row.agreeing_checks.map(|n| format!("--agreeing-checks {n}")));
    flags.push(format!("--burn-in {}", row.burn_in));
    flags.extend(row.predictor.as_ref().map(|name| format!("--predictor {name}")));
    flags.join(" ")
}

fn full(file: &Replayed) -> String {
    let table = &file.table;
    let orderings = file.rows.first().map_or(0, |row| row.orderings);
    let unfinished = table.history().len() - table.len();
    let mut lines = vec![format!(
        "{}: {} finished runs of {} points, replayed in {orderings} random orders{}.",
        file.curves,
        table.len(),
        table.points(),
        if unfinished > 0 { format!(" ({unfinished} unfinished runs left out)") } else { String::new() },
    )];
    let best = recommended(&file.rows).map(|i| &file.rows[i]);
    if let Some(row) = best {
        let saved = 100.0 * (1.0 - 1.0 / row.speedup_mean);
        lines.push(format!(
            "Early stopping would have saved {saved:.0} % of the training: {:.0} instead of {:.0} epochs, {}, {}.",
            row.epochs_spent,
            row.epochs_full,
            times(row),
            kept(row),
        ));
        lines.push(loss(row, &file.metric, best_value(file)));
        lines.push(at_each_probability(&file.rows, row));
    }
    if let Some(oracle) = file.rows.iter().find(|row| row.policy == "oracle") {
        lines.push(format!(
            "No forecast that keeps every new best could have saved more than {:.1} times: that is perfect foresight after {} full runs.",
            oracle.speedup_mean, oracle.burn_in
        ));
    }
    if let Some(row) = best {
        let advice = if is_trusted(row) { "Use" } else { "The safest tried is" };
        lines.push(format!("{advice}: foretell search {}", setting(row)));
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

fn loss(row: &Row, metric: &str, best: f64) -> String {
    if row.best_kept >= 1.0 {
        return String::new();
    }
    format!(
        "Where the best was lost, the best that was left was worse by at most {} ({metric}); {} on average over all orders.",
        metric_difference(row.regret_max, best, 4),
        metric_difference(row.regret_mean, best, 5)
    )
}

/// The cost at each Δ, for the other flags of the `best` row.
fn at_each_probability(rows: &[Row], best: &Row) -> String {
    let like = |row: &&Row| {
        row.policy == best.policy
            && row.predictor == best.predictor
            && row.agreeing_checks == best.agreeing_checks
            && row.error_budget == best.error_budget
            && row.burn_in == best.burn_in
            && row.nth_best == best.nth_best
            && row.offset.total_cmp(&best.offset).is_eq()
    };
    let one = |row: &Row| {
        let delta = row.stop_probability.unwrap_or(0.0);
        format!("Δ = {delta}: {:.1} times, {}", row.speedup_mean, kept(row))
    };
    let all: Vec<String> = rows.iter().filter(like).map(one).collect();
    format!("At each stop probability: {}.", all.join("; "))
}

fn scheduled(file: &Replayed, arguments: &Arguments) -> String {
    let mut lines = vec![format!(
        "{}: {} with eta = {} up to {} of {} points, on draws from {} recorded runs, {} times.",
        file.curves,
        arguments.scheduler.name(),
        arguments.eta,
        arguments.max_resource.unwrap_or(file.table.points() as u64),
        file.table.points(),
        file.table.len(),
        arguments.orderings,
    )];
    let plan_of = arguments.scheduler.is_hyperband().then(|| {
        foretell_search::plan(arguments.max_resource.unwrap_or(file.table.points() as u64), arguments.eta)
    });
    lines.extend(plan_of.and_then(Result::ok).map(|plan| plan.to_string()));
    let waits = |row: &&Row| !matches!(row.policy, "none" | "i-epoch") && row.burn_in >= row.runs;
    if let Some(row) = file.rows.iter().find(waits).filter(|_| arguments.warm_start == 0) {
        lines.push(format!(
            "A burn-in of {} is no less than the {} configurations tried: nothing could be stopped; lower --burn-in.",
            row.burn_in, row.runs
        ));
    }
    lines.join("\n")
}

/// Δ and what goes with it.
fn rule(row: &Row) -> String {
    let mut parts = Vec::new();
    parts.extend(row.stop_probability.map(|p| format!("{p}{}", budget(row.error_budget))));
    parts.extend(row.agreeing_checks.filter(|&n| n > 1).map(|n| format!("{n} agree")));
    parts.extend((row.offset > 0.0).then(|| format!("δ {}", row.offset)));
    parts.extend((row.nth_best > 1).then(|| format!("{}-th best", row.nth_best)));
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

/// What a budget is called behind a Δ; nothing for the paper's rule.
fn budget(budget: Option<ErrorBudget>) -> &'static str {
    match budget {
        Some(ErrorBudget::PerRun) => " a run",
        Some(ErrorBudget::PerRunEvenly) => " a run, evenly",
        _ => "",
    }
}

fn as_table(rows: &[Row], best: f64) -> String {
    let hyperband = rows.iter().any(|row| row.best_of_run_mean.is_some());
    let number =
        |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |v| format!("{v:.digits$}"));
    let cells = |row: &Row| {
        let rule = rule(row);
        let mut cells = vec![
            row.policy.to_owned(),
            row.predictor.clone().unwrap_or("–".to_owned()),
            rule,
            if row.policy == "none" || row.policy == "i-epoch" {
                "–".to_owned()
            } else {
                row.burn_in.to_string()
            },
            format!("{:.2} ± {:.2}", row.speedup_mean, row.speedup_stderr),
            format!("{:.0}", row.epochs_spent),
            format!("{:.0} %", 100.0 * row.best_kept),
            metric_difference(row.regret_mean, best, 5),
            format!("{:.4}", row.regret_sd_mean),
            format!("{:.0} of {}", row.stopped_mean, row.runs),
            format!("{:.1}", row.wrong_stops_mean),
            row.saving_of_oracle.map_or("–".to_owned(), |share| format!("{:.0} %", 100.0 * share)),
        ];
        if hyperband {
            let reference = match row.reference {
                Some(foretell_search::Reference::Level) => "level",
                Some(foretell_search::Reference::Rung) => "rung",
                None => "–",
            };
            cells.push(reference.to_owned());
            cells.push(number(row.kappa, 2));
            let (mean, stderr) = (row.best_of_run_mean, row.best_of_run_stderr.unwrap_or(f64::NAN));
            cells.push(match mean {
                Some(mean) => with_deviation(mean, stderr),
                None => "– ± –".to_owned(),
            });
        }
        cells
    };
    let mut headings = vec![
        "policy",
        "predictor",
        "Δ",
        "burn-in",
        "speed-up",
        "epochs",
        "best kept",
        "regret",
        "in sd",
        "stopped",
        "wrongly",
        "of oracle's saving",
    ];
    if hyperband {
        headings.extend(["reference", "κ", "best of a run"]);
    }
    table(&headings, &rows.iter().map(cells).collect::<Vec<_>>())
}
