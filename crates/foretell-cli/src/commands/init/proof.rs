//! The proof of a study file: the final command is started once, with another seed and other values.

use super::doubt::Doubt;
use super::epochs::EpochCount;
use super::metric::{FoundMetric, format_reports};
use super::options::{CommandOptions, SearchedParameter};
use super::probe::{RunFolder, bare_spec};
use super::study_file::{CommandProof, StudyGuess};
use crate::failure::Failure;
use foretell::{Configuration, Value};
use foretell_logs::printed::{MetricSource, Report};
use foretell_run::{
    ConfigFile, HookScope, LocalProcesses, MessageKind, ProcessStatus, TrialSpec, WatchSettings,
};
use foretell_search::{ParameterKind, ParameterSpace, UNKNOWN_RESOURCE};
use serde_json::Map;
use std::path::Path;
use std::time::{Duration, Instant};

/// So many reports show that a trial is read as the sample was.
const MIN_EQUAL_REPORTS: usize = 2;
/// The seed of the run. Trials of a study have others.
const PROOF_SEED: u64 = 20_231;

/// The reports and the end of the run.
#[derive(Default)]
struct ProofRun {
    reports: Vec<Report>,
    end: Option<(ProcessStatus, Vec<String>)>,
}

/// The number of epochs of a run that shows their unit.
const PROOF_EPOCHS: u64 = 2;

/// Starts the command of `guess`, and compares its first values with those of the test run; `None` without a metric. Where the number of epochs is not
/// proven and an option sets it, the run trains two epochs: where it ends shows their unit. Parameters whose other value makes the command fail are
/// given values that work, or left out.
pub(super) fn run(guess: &mut StudyGuess, limit: Duration) -> Result<Option<CommandProof>, Failure> {
    let Some(found) = guess.metric.clone() else { return Ok(None) };
    let (is_proven, follow) = (guess.epochs.number().is_some() || found.once, guess.follow());
    if let Some((described, own)) =
        guess.described.with_epochs_option().filter(|(_, own)| !is_proven && *own > PROOF_EPOCHS)
    {
        let parameters = others(&described.parameters);
        let attempt = ProofAttempt {
            found: &found,
            follow: follow.as_deref(),
            epochs: PROOF_EPOCHS,
            is_whole: true,
            limit,
        };
        if let Some((last, outcome)) = attempt.run_to_end(&described, &parameters)? {
            // with a report per epoch, or an end at this epoch, the option has its effect; otherwise half as many epochs must end at half of the steps
            let is_clear = outcome.reports.len() as u64 == PROOF_EPOCHS || last == PROOF_EPOCHS;
            let shorter = match is_clear {
                true => Some(last / PROOF_EPOCHS),
                false => ProofAttempt { epochs: PROOF_EPOCHS / 2, ..attempt }
                    .run_to_end(&described, &parameters)?
                    .map(|(last, _)| last),
            };
            let proven = shorter.and_then(|shorter| match shorter == last {
                true => Some(EpochCount::Watched { reported: last, options: None }),
                false if shorter * PROOF_EPOCHS == last => EpochCount::from_try(own, PROOF_EPOCHS, last),
                false => None,
            });
            if let Some(epochs) = proven {
                guess.epochs = epochs;
                return Ok(Some(judge(&outcome, &found.whole.reports, &in_words(&parameters))));
            }
        }
    }
    let outcome = prove_parameters(guess, &found, limit)?;
    let parameters = others(&guess.described.parameters);
    Ok(Some(match outcome {
        Ok(outcome) => judge(&outcome, &found.whole.reports, &in_words(&parameters)),
        Err(error) => CommandProof { doubt: Some(doubt_start(&error)), ..CommandProof::default() },
    }))
}

/// A run of the command of a study file.
struct ProofAttempt<'a> {
    found: &'a FoundMetric,
    follow: Option<&'a str>,
    epochs: u64,
    /// Whether it is watched to its end.
    is_whole: bool,
    limit: Duration,
}

impl ProofAttempt<'_> {
    fn run(
        &self,
        described: &CommandOptions,
        parameters: &Map<String, serde_json::Value>,
    ) -> Result<Result<ProofRun, String>, Failure> {
        let folder = RunFolder::new()?;
        let directory = folder.trial();
        let hook = HookScope::for_source(self.found.library.as_deref(), &self.found.source);
        let metric = if hook == HookScope::Off {
            MetricSource::parse(&self.found.source).map_err(Failure::input)?
        } else {
            MetricSource::default()
        };
        let follow = self.follow.map(str::to_owned);
        let outcome = command(described, &directory, parameters).and_then(|command| {
            let spec = TrialSpec {
                parameters: parameters.clone(),
                seed: PROOF_SEED,
                max_resource: self.epochs,
                until: self.epochs,
                metric,
                watch: WatchSettings { hook, follow, ..WatchSettings::default() },
                ..bare_spec(command, &directory)
            };
            watch(&spec, self.limit, self.is_whole)
        });
        Ok(outcome)
    }

    /// The last step and the run, if it completed.
    fn run_to_end(
        &self,
        described: &CommandOptions,
        parameters: &Map<String, serde_json::Value>,
    ) -> Result<Option<(u64, ProofRun)>, Failure> {
        let Ok(outcome) = self.run(described, parameters)? else { return Ok(None) };
        let last = completed_last_step(&outcome, &self.found.whole.reports, self.epochs);
        Ok(last.map(|last| (last, outcome)))
    }

    /// The reason why the command fails, if it does, when only the parameter `name` has another value than the script's own.
    fn failure_with_other(&self, described: &CommandOptions, name: &str) -> Result<Option<String>, Failure> {
        let parameters = other_values_of(&described.parameters, Some(name));
        Ok(match self.run(described, &parameters)? {
            Ok(outcome) => failure(&outcome),
            Err(error) => Some(error),
        })
    }
}

/// The last step of a run of `epochs` epochs if it completed, and its first reports stand where those of the `sample` do.
fn completed_last_step(outcome: &ProofRun, sample: &[Report], epochs: u64) -> Option<u64> {
    let has_completed = outcome.end.as_ref().is_some_and(|(status, _)| *status == ProcessStatus::Exited(0));
    let (first, last) = (outcome.reports.first()?.step, outcome.reports.last()?.step);
    let are_alike = outcome.reports.iter().zip(sample).all(|(one, other)| one.step == other.step);
    // steps that count from 0, unless the first value comes before the training
    let last = if first == 0 && last != epochs { last + 1 } else { last };
    (has_completed && are_alike).then_some(last)
}

/// Runs the command with other values of its parameters. If it fails, each parameter is tried alone: one that makes it fail is given multiples of the
/// script's own value, which divide what the own value divides, or is left out.
fn prove_parameters(
    guess: &mut StudyGuess,
    found: &FoundMetric,
    limit: Duration,
) -> Result<Result<ProofRun, String>, Failure> {
    let epochs = guess.epochs.number().unwrap_or(UNKNOWN_RESOURCE);
    let follow = guess.follow();
    let attempt = ProofAttempt { found, follow: follow.as_deref(), epochs, is_whole: false, limit };
    let outcome = attempt.run(&guess.described, &others(&guess.described.parameters))?;
    let why = match &outcome {
        Ok(outcome) => failure(outcome),
        Err(_) => None,
    };
    let is_known = guess.described.parameters.iter().all(|searched| searched.default.is_some());
    if why.is_none() || !is_known {
        return Ok(outcome);
    }
    // a command that fails with its own values has another fault
    if attempt.failure_with_other(&guess.described, "")?.is_some() {
        return Ok(outcome);
    }
    for searched in guess.described.parameters.clone() {
        let Some(why) = attempt.failure_with_other(&guess.described, &searched.name)? else { continue };
        let multiples = multiples_of_own_value(&searched);
        let changed = multiples.map(|kind| guess.described.with_parameter_kind(&searched.name, &kind));
        let value = others(std::slice::from_ref(&searched)).get(&searched.name).map(ToString::to_string);
        let with = format!("{} = {}", searched.name, value.unwrap_or_default());
        match changed {
            Some(changed) if attempt.failure_with_other(&changed, &searched.name)?.is_none() => {
                guess.described = changed;
            }
            _ => guess.described.leave_out_parameter(&searched.name),
        }
        guess
            .notes
            .push(format!("the command fails with {with} ({why}), so other values are searched, or none"));
    }
    attempt.run(&guess.described, &others(&guess.described.parameters))
}

/// Half and twice of the script's own value, and it.
fn multiples_of_own_value(searched: &SearchedParameter) -> Option<String> {
    let own: u64 = searched.default.as_deref()?.parse().ok().filter(|own| own % 2 == 0)?;
    let kind = format!("choice:{},{own},{}", own / 2, own * 2);
    (own > 1 && searched.kind != kind).then_some(kind)
}

/// The last line of a run that failed.
fn failure(outcome: &ProofRun) -> Option<String> {
    let (status, tail) = outcome.end.as_ref().filter(|(status, _)| *status != ProcessStatus::Exited(0))?;
    let how = match status {
        ProcessStatus::Exited(code) => format!("exit code {code}"),
        ProcessStatus::Signaled(signal) => format!("signal {signal}"),
        ProcessStatus::Unknown => "an unknown status".to_owned(),
    };
    let last = tail.iter().rfind(|line| !line.trim().is_empty()).cloned().unwrap_or_default();
    Some(format!("{how}: {last}"))
}

fn in_words(parameters: &Map<String, serde_json::Value>) -> String {
    parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn doubt_start(error: &str) -> Doubt {
    Doubt::with_advice(
        format!("the command does not start: {error}"),
        "command",
        "Write the command as you run it in a terminal".to_owned(),
    )
}

/// The command of the study file. The copy of its configuration file, if there is one, has the values of `parameters`.
fn command(
    described: &CommandOptions,
    directory: &Path,
    parameters: &Map<String, serde_json::Value>,
) -> Result<Vec<String>, String> {
    let Some(path) = &described.config else { return Ok(described.command.clone()) };
    let config = ConfigFile::read(Path::new(path)).map_err(|error| error.to_string())?;
    config.write_trial_copy(&described.command, directory, parameters).map_err(|error| error.to_string())
}

fn watch(spec: &TrialSpec, limit: Duration, is_whole: bool) -> Result<ProofRun, String> {
    let mut processes = LocalProcesses::new(Duration::from_secs(1));
    processes.start(spec).map_err(|error| error.to_string())?;
    let deadline = Instant::now() + limit;
    let (mut outcome, mut stopped) = (ProofRun::default(), false);
    loop {
        let message = processes.messages().recv_timeout(Duration::from_millis(100));
        match message.map(|message| message.kind) {
            Ok(MessageKind::Report(report)) => outcome.reports.push(report),
            Ok(MessageKind::Settled(reports)) => outcome.reports.extend(reports),
            Ok(MessageKind::Ended { status, tail, .. }) => {
                // the exit code of a run that was stopped is not the script's own
                outcome.end = Some((status, tail)).filter(|_| !stopped);
                return Ok(outcome);
            }
            _ => {}
        }
        let is_enough = !is_whole && outcome.reports.len() >= MIN_EQUAL_REPORTS;
        if !stopped && (is_enough || Instant::now() >= deadline) {
            stopped = processes.stop(spec.trial);
        }
    }
}

/// Compares the run with the `sample`.
fn judge(outcome: &ProofRun, sample: &[Report], parameters: &str) -> CommandProof {
    let with = if parameters.is_empty() { String::new() } else { format!(" with {parameters}") };
    if let Some(how) = failure(outcome) {
        let advice = if how.contains("EOFError") {
            "The script waits for input, but a trial has none: give it the answer as an option"
        } else {
            "Run the command with these values to see why it fails, and correct it, or write other ranges under [param]"
        };
        return CommandProof::in_doubt(
            format!("the command{with} ended with {how}"),
            "command or [param]",
            advice,
        );
    }
    let Some(first) = outcome.reports.first() else {
        return match &outcome.end {
            Some(_) => CommandProof::in_doubt(
                format!("the command{with} ended without a value of the metric"),
                "metric",
                "Write the name or the line of a metric that every run prints, for example metric = \"val acc: {value}\"",
            ),
            None => CommandProof {
                said: format!("a second run{with} started, but reported no value before the time limit"),
                doubt: None,
            },
        };
    };
    let there = sample.first().filter(|there| there.step != first.step);
    if let Some(there) = there {
        return CommandProof::in_doubt(
            format!(
                "the first value of the test run belongs to epoch {}, that of a second run to epoch {}",
                there.step, first.step
            ),
            "metric",
            "Keep the line if the values of different trials can be compared; otherwise write one whose line names the epoch, for example metric = 'epoch (?P<step>\\d+).*acc ([\\d.]+)'",
        );
    }
    let is_same = !parameters.is_empty()
        && outcome.reports.len().min(sample.len()) > 1
        && outcome.reports.iter().zip(sample).all(|(one, other)| one.value == other.value);
    let same = if is_same {
        ". These are the values of the test run: check that the script uses its parameters"
    } else {
        ""
    };
    CommandProof {
        said: format!("a second run{with} was read, too: {}{same}", format_reports(&outcome.reports)),
        doubt: None,
    }
}

/// Values that differ from the script's own, as near to them as the search space allows.
fn others(searched: &[SearchedParameter]) -> Map<String, serde_json::Value> {
    other_values_of(searched, None)
}

/// Values that differ from the script's own, only for the parameter `only` if one is named: the others have the script's own values.
fn other_values_of(searched: &[SearchedParameter], only: Option<&str>) -> Map<String, serde_json::Value> {
    let texts: Vec<String> =
        searched.iter().map(|SearchedParameter { name, kind, .. }| format!("{name}={kind}")).collect();
    let Ok(space) = ParameterSpace::parse(&texts) else { return Map::new() };
    let mut configuration = Configuration::new();
    for SearchedParameter { name, kind, default } in searched {
        let Ok(kind) = ParameterKind::parse(name, kind) else { continue };
        let value = match only.is_none_or(|only| only == name) {
            true => other(&kind, default.as_deref()),
            false => default.as_ref().and_then(|own| kind.nearest_value(&Value::Text(own.clone()))),
        };
        configuration.extend(value.map(|value| (name.clone(), value)));
    }
    space.program_values(&configuration)
}

fn other(kind: &ParameterKind, own: Option<&str>) -> Option<Value> {
    let own = own.and_then(|own| kind.nearest_value(&Value::Text(own.to_owned())));
    if let ParameterKind::Choice { options } = kind {
        return options.iter().find(|option| Some(*option) != own.as_ref()).cloned();
    }
    let number = own.as_ref().and_then(Value::as_number).or(kind.largest_number());
    let near = number.into_iter().flat_map(|own| {
        [round_to_three_digits(0.7 * own), round_to_three_digits(1.4 * own), own + 1.0, own - 1.0, own]
    });
    let texts = ["true", "false"].map(|text| Value::Text(text.to_owned()));
    let all = near.map(Value::Number).chain(texts);
    all.filter_map(|value| kind.nearest_value(&value)).find(|value| Some(value) != own.as_ref())
}

/// To three digits, as a person would write it.
fn round_to_three_digits(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::{ProofRun, judge, others};
    use crate::commands::init::options::SearchedParameter;
    use foretell_logs::printed::Report;
    use foretell_run::ProcessStatus;

    #[test]
    fn other_values_are_near_the_scripts_own() {
        let searched = |name: &str, kind: &str, default: &str| SearchedParameter {
            name: name.to_owned(),
            kind: kind.to_owned(),
            default: Some(default.to_owned()),
        };
        let all = others(&[
            searched("lr", "log:0.001:1", "0.1"),
            searched("opt", "choice:sgd,adam", "sgd"),
            searched("amp", "flag", "false"),
            searched("layers", "int:1:4", "2"),
        ]);
        let text = serde_json::Value::from(all).to_string();
        assert_eq!(text, r#"{"amp":true,"layers":1.0,"lr":0.07,"opt":"adam"}"#.replace("1.0", "1"), "{text}");
    }

    #[test]
    fn a_failure_an_other_epoch_and_silence_are_doubts() {
        let report = |step: u64, value: f64| Report {
            step,
            value: Some(value),
            metrics: std::collections::BTreeMap::new(),
            training: 1,
        };
        let sample = [report(1, 0.2), report(2, 0.3)];
        let ended = |code: i32| Some((ProcessStatus::Exited(code), vec!["error: no --seed".to_owned()]));
        let doubt = |reports: Vec<Report>, end| {
            let proof = judge(&ProofRun { reports, end }, &sample, "lr = 1");
            proof.doubt.map_or(String::new(), |doubt| doubt.in_words())
        };
        assert!(doubt(Vec::new(), ended(2)).contains("exit code 2: error: no --seed"));
        assert!(doubt(Vec::new(), ended(0)).contains("without a value"));
        assert!(doubt(vec![report(0, 0.1)], None).contains("epoch 0"));
        assert_eq!(doubt(vec![report(1, 0.1)], None), "");
        let same = judge(&ProofRun { reports: sample.to_vec(), end: None }, &sample, "lr = 1");
        assert!(same.said.contains("check that the script uses"), "{}", same.said);
    }
}
