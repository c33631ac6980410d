//! The commented study file.

use super::doubt::{Doubt, LineChoice};
use super::earlier::OfferedStudy;
use super::epochs::EpochCount;
use super::metric::FoundMetric;
use super::options::{CommandOptions, SearchedParameter};
use super::probe::OutputSample;
use foretell::Value;
use foretell_search::ParameterKind;
use std::fmt::Write;
use std::path::Path;

/// The result of a run of the command that a study file holds.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandProof {
    /// A sentence for the study file.
    pub(super) said: String,
    /// The reason why a person should look at the file.
    pub(super) doubt: Option<Doubt>,
}

impl CommandProof {
    pub(super) fn in_doubt(what: String, line: &'static str, advice: &str) -> Self {
        Self { doubt: Some(Doubt::with_advice(what, line, advice.to_owned())), ..Self::default() }
    }
}

/// The facts that were guessed, or answered by the user.
pub(super) struct StudyGuess {
    pub(super) described: CommandOptions,
    pub(super) metric: Option<FoundMetric>,
    pub(super) epochs: EpochCount,
    /// Earlier studies of the script.
    pub(super) earlier: Vec<OfferedStudy>,
    /// The result of a run of the command that the file holds.
    pub(super) proof: CommandProof,
    /// What the runs have shown besides, one sentence each.
    pub(super) notes: Vec<String>,
}

impl StudyGuess {
    /// The file that trials append their values to, as a study file names it.
    pub(super) fn follow(&self) -> Option<String> {
        Some(self.metric.as_ref()?.table.as_ref()?.display().to_string())
    }

    /// A run that ended with an error is in doubt, also if it had reported before.
    pub(super) fn add_failure_doubt(&mut self, sample: &OutputSample) {
        if !sample.failed || self.proof.doubt.is_some() {
            return;
        }
        let last = sample.lines.last().cloned().unwrap_or_default();
        let advice = "Run the command to see why it fails, and correct the script or the command".to_owned();
        let what = format!("the test run ended with an error: {}", last.trim());
        self.proof.doubt = Some(Doubt::with_advice(what, "command", advice));
    }

    /// Whether a trial reports one value, at its end.
    fn reports_once(&self) -> bool {
        self.metric.as_ref().is_some_and(|found| found.once)
    }

    /// The line with the number of epochs, and a comment.
    fn length(&self) -> (String, String) {
        if self.reports_once() {
            let only = self.metric.iter().find_map(|found| found.whole.reports.first());
            return (
                format!("epochs = {}", only.map_or(1, |report| report.step.max(1))),
                "the metric is reported only once, at the end, so there is no curve to stop by".to_owned(),
            );
        }
        (self.epochs.line(), self.epochs.comment())
    }

    /// Why a person should look at the file, and what to write.
    fn doubts(&self) -> Option<String> {
        let of_metric = self.metric.iter().flat_map(|found| &found.doubts);
        let all: Vec<String> = of_metric.chain(&self.proof.doubt).map(Doubt::in_words).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The lines that may replace those of the metric.
    fn choices(&self) -> impl Iterator<Item = &LineChoice> {
        // those of an unknown direction are lines of their own
        let doubts =
            self.metric.iter().filter(|found| !found.is_direction_unknown).flat_map(|found| &found.doubts);
        doubts.flat_map(|doubt| &doubt.choices)
    }
}

/// The file's text.
pub(super) fn text(guess: &StudyGuess, sample: &OutputSample) -> String {
    let mut text = String::from(
        "# A study for `foretell search`. Change what you like; `foretell schema` describes all keys.\n\n",
    );
    let mut line = |words: String| {
        let _ = writeln!(text, "{words}");
    };
    let described = &guess.described;
    let command: Vec<String> = described.command.iter().map(|word| quote_toml(word)).collect();
    line(format!("# {{name}} is replaced with the parameter's value\ncommand = [{}]\n", command.join(", ")));
    if let Some(config) = &described.config {
        line(format!(
            "# {{config}} is replaced with a copy of this file that contains the parameters' values\nconfig = {}\n",
            quote_toml(config)
        ));
    }
    match &guess.metric {
        Some(found) => metric(found, guess, &mut line),
        None => line("# no metric was found: set its name or its line\n# metric = \"val acc: {value}\"\nin-doubt = \"no metric was found (line metric). Write its name or its line, for example metric = 'val acc: {value}', and maximize = true or minimize = true\"\n".to_owned()),
    }
    let once = guess.reports_once();
    let (epochs, said) = guess.length();
    line(format!("{}\n{epochs}\n", to_comment(&said)));
    // a single value at the end is no curve that a rule could stop by
    if once {
        line("no-stopping = true\n".to_owned());
    }
    if let Some(trainings) = guess.metric.as_ref().and_then(|found| found.trainings) {
        let is_sure = guess.metric.as_ref().is_some_and(|found| found.folds.is_some());
        // only trainings that the output announces as folds are folds; otherwise the line is offered, but not in force
        let mark = if is_sure { "" } else { "# " };
        line(format!(
            "# the run trains {trainings} times; with folds, a trial counts with the mean of its folds\n{mark}folds = {trainings}\n"
        ));
    }
    line(trials(described, once));
    guess.notes.iter().for_each(|note| line(to_comment(note)));
    if guess.follow().is_some_and(|file| !file.contains('{')) {
        line("# one at a time, because all trials write to the same file\nworkers = 1\n".to_owned());
    } else {
        line("# number of parallel trials (default: one per core)\n# workers = 2\n".to_owned());
    }
    earlier(&guess.earlier, &mut line);
    parameters(described, sample, &mut line);
    text
}

/// The offer to learn from earlier studies of the script.
fn earlier(studies: &[OfferedStudy], line: &mut impl FnMut(String)) {
    let finished: u64 = studies.iter().map(|study| study.finished).sum();
    let folders: Vec<String> =
        studies.iter().map(|study| quote_toml(&study.folder.display().to_string())).collect();
    if finished > 0 {
        line(format!(
            "# {finished} earlier runs of this script are completed: learn from them, and forecasts start with the first trial\n# learn-from = [{}]\n",
            folders.join(", ")
        ));
    }
}

fn metric(found: &FoundMetric, guess: &StudyGuess, line: &mut impl FnMut(String)) {
    let others = if found.others.is_empty() {
        String::new()
    } else {
        format!("; also seen: {}", found.others.join(", "))
    };
    line(format!("# metric{others}\n# {}", found.read()));
    if !guess.proof.said.is_empty() {
        line(to_comment(&guess.proof.said));
    }
    if let Some(doubts) = guess.doubts() {
        line(to_comment(&format!("IN DOUBT: {doubts}")));
        line(format!(
            "# the search asks before it starts; write what is right, and remove this line\nin-doubt = {}",
            quote_toml(&doubts)
        ));
    }
    for LineChoice { lines, meaning } in guess.choices() {
        line(to_comment(&format!("or: {}   # {meaning}", lines.join("   "))));
    }
    line(format!("metric = {}", quote_toml(&found.source)));
    if let Some(library) = &found.library {
        line(format!("source = {}", quote_toml(library)));
    }
    if found.is_direction_unknown {
        line("# minimize = true   # write one of the two: a smaller value is better\n# maximize = true   # a larger value is better\n".to_owned());
    } else {
        let (way, other) = if found.minimize { ("minimize", "maximize") } else { ("maximize", "minimize") };
        line(format!("{way} = true   # or {other} = true\n"));
    }
    if let Some(table) = guess.follow() {
        line(format!("# file with its values\nfollow = {}\n", quote_toml(&table)));
    }
}

/// The number of trials that is proposed. Savings grow with it: recorded searches of 24, 40, 60 and 100 trials train 1.59, 1.77, 1.96 and 2.31
/// times less than without stopping (docs/explanation/stopping.md).
const PROPOSED_TRIALS: u64 = 60;

/// The line with the number of trials: fewer where the space has fewer configurations.
fn trials(described: &CommandOptions, once: bool) -> String {
    let all = described.parameters.iter().try_fold(1_u64, |all, SearchedParameter { name, kind, .. }| {
        Some(all.saturating_mul(ParameterKind::parse(name, kind).ok()?.value_count()?))
    });
    let trials = all.filter(|all| *all > 0).map_or(PROPOSED_TRIALS, |all| all.min(PROPOSED_TRIALS));
    let training = match once {
        true => String::new(),
        false => format!(
            "; with stopping, they are likely to take the training of {} complete ones",
            trials.div_ceil(2)
        ),
    };
    format!("# total number of trials{training}\ntrials = {trials}\n")
}

fn parameters(described: &CommandOptions, sample: &OutputSample, line: &mut impl FnMut(String)) {
    line(
        "# search space: float:lo:hi, log:lo:hi, int:lo:hi, logint:lo:hi, each with :step or without, choice:a,b,c, flag\n[param]"
            .to_owned(),
    );
    for SearchedParameter { name, kind, .. } in &described.parameters {
        line(format!("{} = {}", to_toml_key(name), quote_toml(kind)));
    }
    if described.parameters.is_empty() {
        line("# no option of the script was found: add yours, and write {lr} into the command, or read the JSON file that\n# the environment variable FORETELL_PARAMS names\n# lr = \"log:1e-4:1\"".to_owned());
    }
    if !described.others.is_empty() {
        line(
            "# also found. To search one of them, remove its #, and add its words to the command:".to_owned(),
        );
    }
    if !described.uneven.is_empty() {
        line(format!("# not searched: {}", uneven(described)));
    }
    for other in &described.others {
        let given = if other.given.is_empty() { String::new() } else { format!("   # {}", other.given) };
        line(format!("# {} = {}{given}", to_toml_key(&other.name), quote_toml(&other.kind)));
    }
    write_first_trial(described, line);
    let shown: Vec<String> =
        sample.lines.iter().rev().take(5).rev().map(|text| to_output_comment(text)).collect();
    if !shown.is_empty() {
        line(format!("\n# the script last printed\n{}", shown.join("\n")));
    }
}

/// Why a batch size is left out.
fn uneven(described: &CommandOptions) -> String {
    let names = described.uneven.join(", ");
    format!(
        "{names}, because the metric is logged every so many steps: with another batch size, a training has more or fewer values"
    )
}

/// The script's own values as the first trial, as far as they are known: the report then shows the gain of the search. A value outside
/// of the searched range gives way to the nearest one.
fn write_first_trial(described: &CommandOptions, line: &mut impl FnMut(String)) {
    let (mut values, mut open) = (Vec::new(), Vec::new());
    for SearchedParameter { name, kind, default } in &described.parameters {
        let own = default.as_ref().map(|text| Value::Text(text.clone()));
        let kind = ParameterKind::parse(name, kind).ok();
        match kind.zip(own.as_ref()).and_then(|(kind, own)| kind.nearest_value(own)) {
            Some(value) => values.push((name, value, default.clone().unwrap_or_default())),
            None => open.push(name.as_str()),
        }
    }
    if !open.is_empty() {
        // a trial with some values of the sampler is not the script's own
        line(format!(
            "\n# the script's own values are not known for {}, so they are not trained first",
            open.join(", ")
        ));
        return;
    }
    if values.is_empty() {
        return;
    }
    line(
        "\n# the defaults of the script, trained first. The report compares the best trial with them"
            .to_owned(),
    );
    line("[[trial]]".to_owned());
    for (name, value, own) in &values {
        let number = own.trim().parse::<f64>().ok();
        let moved =
            value.as_number().zip(number).is_some_and(|(value, number)| value.total_cmp(&number).is_ne());
        let said = if moved { format!("   # the nearest to {own}, the script's own") } else { String::new() };
        match value {
            Value::Number(number) => line(format!("{} = {number}{said}", to_toml_key(name))),
            Value::Text(text) => line(format!("{} = {}", to_toml_key(name), quote_toml(text))),
            Value::Missing => {}
        }
    }
}

/// A sentence as a comment of one line.
fn to_comment(text: &str) -> String {
    format!("# {}", text.replace(|c: char| c.is_control(), " "))
}

/// A line of output as a comment, without signs that a study file cannot hold.
fn to_output_comment(text: &str) -> String {
    format!("#   {}", text.replace(|c: char| c.is_control(), " "))
}

fn quote_toml(text: &str) -> String {
    // in single quotes TOML keeps a backslash, so a path or a pattern stays readable instead of having each one doubled
    if text.contains('\\') && !text.contains('\'') {
        return format!("'{text}'");
    }
    toml::Value::String(text.to_owned()).to_string()
}

fn to_toml_key(name: &str) -> String {
    let is_bare = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if is_bare { name.to_owned() } else { quote_toml(name) }
}

/// The facts found, and the next steps.
pub(super) fn summary(guess: &StudyGuess, out: &Path) -> String {
    let names: Vec<&str> = guess.described.parameters.iter().map(|searched| searched.name.as_str()).collect();
    let parameters = if names.is_empty() {
        "none found: give the script options, such as --lr, or fill in [param]".to_owned()
    } else {
        names.join(", ")
    };
    let metric = match &guess.metric {
        Some(found) => {
            let better = match (found.is_direction_unknown, found.minimize) {
                (true, _) => "either a smaller or a larger value",
                (false, true) => "smaller",
                (false, false) => "larger",
            };
            let proof =
                if guess.proof.said.is_empty() { String::new() } else { format!("\n{}", guess.proof.said) };
            let doubts = guess.doubts().map_or(String::new(), |doubts| format!("\nIN DOUBT: {doubts}"));
            format!("{}, {better} is better\n{}{proof}{doubts}", found.source, found.read())
        }
        None => "none found: fill it in".to_owned(),
    };
    let (epochs, said) = guess.length();
    let epochs = match epochs.strip_prefix("epochs = ") {
        Some(epochs) => epochs.to_owned(),
        None => said.trim_start_matches("epochs of a full trial: ").to_owned(),
    };
    let notes: String = guess.notes.iter().map(|note| format!("note: {note}\n")).collect();
    let others: Vec<&str> = guess.described.others.iter().map(|other| other.name.as_str()).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("not searched: {} (the file explains how to add one)\n", others.join(", "))
    };
    let uneven = match guess.described.uneven.is_empty() {
        true => String::new(),
        false => format!("left out: {}\n", uneven(&guess.described)),
    };
    let finished: u64 = guess.earlier.iter().map(|study| study.finished).sum();
    let earlier = match finished {
        0 => String::new(),
        _ => format!(
            "earlier: {finished} completed runs of this script; to learn from them, use the line learn-from of the file\n"
        ),
    };
    format!(
        "parameters: {parameters}\n{others}{uneven}metric: {metric}\nepochs: {epochs}\n{notes}{earlier}written: {}; review it, then run: foretell search {}",
        out.display(),
        out.display()
    )
}
