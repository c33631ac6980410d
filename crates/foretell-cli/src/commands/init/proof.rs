//! The proof of a study file: the final command is started once, with another seed and other values.

use super::metric::shown;
use super::options::{Described, Searched};
use super::probe::{bare_spec, temporary};
use super::study_file::{Guess, Proof};
use crate::failure::Failure;
use foretell::{Configuration, Value};
use foretell_logs::printed::{MetricSource, Report};
use foretell_run::{ConfigFile, Hook, LocalProcesses, MessageKind, Status, TrialSpec, Watch};
use foretell_search::{ParameterKind, ParameterSpace};
use serde_json::Map;
use std::path::Path;
use std::time::{Duration, Instant};

/// So many reports show that a trial is read as the sample was.
const ENOUGH: usize = 2;
/// The seed of the run. Trials of a study have others.
const OTHER_SEED: u64 = 20_231;

/// The reports and the end of the run.
#[derive(Default)]
struct Outcome {
    reports: Vec<Report>,
    end: Option<(Status, Vec<String>)>,
}

/// Starts the command of `guess`, and compares its first values with those of the test run; `None` without a metric.
pub(super) fn run(guess: &Guess, limit: Duration) -> Result<Option<Proof>, Failure> {
    let Some(found) = &guess.metric else { return Ok(None) };
    let parameters = others(&guess.described.parameters);
    let text =
        parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ");
    let directory = temporary("proof");
    let hook = Hook::for_source(found.library.as_deref(), &found.source);
    let metric = if hook == Hook::Off {
        MetricSource::parse(&found.source).map_err(Failure::input)?
    } else {
        MetricSource::default()
    };
    let epochs = guess.epochs.written().0;
    let watch_it = |command: Vec<String>| {
        let spec = TrialSpec {
            parameters: parameters.clone(),
            seed: OTHER_SEED,
            max_resource: epochs,
            until: epochs,
            metric,
            watch: Watch { hook, follow: guess.follow(), ..Watch::default() },
            ..bare_spec(command, &directory)
        };
        watch(&spec, limit)
    };
    let outcome = command(&guess.described, &directory, &parameters).and_then(watch_it);
    // files that cannot be removed only take room
    let _ = std::fs::remove_dir_all(directory.parent().unwrap_or(&directory));
    Ok(Some(match outcome {
        Ok(outcome) => judge(&outcome, &found.whole.reports, &text),
        Err(error) => {
            Proof { doubt: Some(format!("the command does not start: {error}")), ..Proof::default() }
        }
    }))
}

/// The command of the study file. The copy of its configuration file, if there is one, has the values of `parameters`.
fn command(
    described: &Described,
    directory: &Path,
    parameters: &Map<String, serde_json::Value>,
) -> Result<Vec<String>, String> {
    let Some(path) = &described.config else { return Ok(described.command.clone()) };
    let config = ConfigFile::read(Path::new(path)).map_err(|error| error.to_string())?;
    config.write_for(&described.command, directory, parameters).map_err(|error| error.to_string())
}

fn watch(spec: &TrialSpec, limit: Duration) -> Result<Outcome, String> {
    let mut processes = LocalProcesses::new(Duration::from_secs(1));
    processes.start(spec).map_err(|error| error.to_string())?;
    let deadline = Instant::now() + limit;
    let (mut outcome, mut stopped) = (Outcome::default(), false);
    loop {
        let message = processes.messages().recv_timeout(Duration::from_millis(100));
        match message.map(|message| message.kind) {
            Ok(MessageKind::Report(report)) => outcome.reports.push(report),
            Ok(MessageKind::Settled(reports)) => outcome.reports.extend(reports),
            Ok(MessageKind::Ended { status, tail, .. }) => {
                outcome.end = Some((status, tail)).filter(|_| !stopped);
                return Ok(outcome);
            }
            _ => {}
        }
        if !stopped && (outcome.reports.len() >= ENOUGH || Instant::now() >= deadline) {
            stopped = processes.stop(spec.trial);
        }
    }
}

/// Compares the run with the `sample`.
fn judge(outcome: &Outcome, sample: &[Report], parameters: &str) -> Proof {
    let with = if parameters.is_empty() { String::new() } else { format!(" with {parameters}") };
    let doubt = |text: String| Proof { doubt: Some(text), ..Proof::default() };
    if let Some((status, tail)) = outcome.end.as_ref().filter(|(status, _)| *status != Status::Exited(0)) {
        let how = match status {
            Status::Exited(code) => format!("exit code {code}"),
            Status::Signaled(signal) => format!("signal {signal}"),
            Status::Unknown => "an unknown status".to_owned(),
        };
        let last = tail.iter().rfind(|line| !line.trim().is_empty()).cloned().unwrap_or_default();
        return doubt(format!("the command{with} ended with {how}: {last}"));
    }
    let Some(first) = outcome.reports.first() else {
        return match &outcome.end {
            Some(_) => doubt(format!("the command{with} ended without a value of the metric")),
            None => Proof {
                said: format!("a second run{with} started, but reported no value before the time limit"),
                doubt: None,
            },
        };
    };
    let there = sample.first().filter(|there| there.step != first.step);
    if let Some(there) = there {
        return doubt(format!(
            "the first value of the test run belongs to epoch {}, that of a second run to epoch {}",
            there.step, first.step
        ));
    }
    let pairs = || outcome.reports.iter().zip(sample);
    let is_same =
        !parameters.is_empty() && pairs().count() > 1 && pairs().all(|(one, other)| one.value == other.value);
    let same = if is_same {
        ". These are the values of the test run: check that the script uses its parameters"
    } else {
        ""
    };
    Proof {
        said: format!("a second run{with} was read, too: {}{same}", shown(&outcome.reports)),
        doubt: None,
    }
}

/// Values that differ from the script's own, as near to them as the search space allows.
fn others(searched: &[Searched]) -> Map<String, serde_json::Value> {
    let texts: Vec<String> =
        searched.iter().map(|Searched { name, kind, .. }| format!("{name}={kind}")).collect();
    let Ok(space) = ParameterSpace::parse(&texts) else { return Map::new() };
    let mut configuration = Configuration::new();
    for Searched { name, kind, default } in searched {
        let Ok(kind) = ParameterKind::parse(name, kind) else { continue };
        configuration.extend(other(&kind, default.as_deref()).map(|value| (name.clone(), value)));
    }
    space.written(&configuration)
}

fn other(kind: &ParameterKind, own: Option<&str>) -> Option<Value> {
    let own = own.and_then(|own| kind.nearest(&Value::Text(own.to_owned())));
    let differs = |value: &Value| Some(value) != own.as_ref();
    if let ParameterKind::Choice { options } = kind {
        return options.iter().find(|option| differs(option)).cloned();
    }
    let number = own.as_ref().and_then(Value::number).or(kind.largest());
    let near = number
        .into_iter()
        .flat_map(|own| [rounded(0.7 * own), rounded(1.4 * own), own + 1.0, own - 1.0, own]);
    let texts = ["true", "false"].map(|text| Value::Text(text.to_owned()));
    let all = near.map(Value::Number).chain(texts);
    all.filter_map(|value| kind.nearest(&value)).find(differs)
}

/// To three digits, as a person would write it.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::{Outcome, judge, others};
    use crate::commands::init::options::Searched;
    use foretell_logs::printed::Report;
    use foretell_run::Status;

    #[test]
    fn other_values_are_near_the_scripts_own() {
        let searched = |name: &str, kind: &str, default: &str| Searched {
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
        let ended = |code: i32| Some((Status::Exited(code), vec!["error: no --seed".to_owned()]));
        let doubt = |reports: Vec<Report>, end| {
            judge(&Outcome { reports, end }, &sample, "lr = 1").doubt.unwrap_or_default()
        };
        assert!(doubt(Vec::new(), ended(2)).contains("exit code 2: error: no --seed"));
        assert!(doubt(Vec::new(), ended(0)).contains("without a value"));
        assert!(doubt(vec![report(0, 0.1)], None).contains("epoch 0"));
        assert_eq!(doubt(vec![report(1, 0.1)], None), "");
        let same = judge(&Outcome { reports: sample.to_vec(), end: None }, &sample, "lr = 1");
        assert!(same.said.contains("check that the script uses"), "{}", same.said);
    }
}
