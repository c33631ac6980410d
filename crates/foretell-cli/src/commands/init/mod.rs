//! `foretell init -- COMMAND`: writes a study file for a training script, from its parser, the values that it logs and its first output,
//! and proves it by a second run.

mod asked;
mod doubt;
mod earlier;
mod epochs;
mod help;
mod known;
mod logged;
mod loops;
mod metric;
mod option;
mod options;
mod probe;
mod proof;
mod shared_files;
mod source;
mod study_file;
mod values;

use crate::commands::search::STUDY_FILE_NAME;
use crate::failure::{CommandResult, Failure};
use crate::output::{ask, note};
use epochs::EpochCount;
use foretell_run::{HookRecord, HookScope};
use foretell_search::redact_words;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest time for its `--help`.
const HELP_TIMEOUT: Duration = Duration::from_secs(20);

/// The arguments of `foretell init`.
#[derive(clap::Args)]
pub(crate) struct InitArguments {
    /// Study file to write.
    #[arg(long, value_name = "FILE", default_value = STUDY_FILE_NAME)]
    out: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// Run the command for at most this many seconds while reading its output, not counting the time that it imports libraries. The run
    /// ends earlier once it shows two values of the validation or test data.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    seconds: f64,
    /// Read the command's `--help` and its output only, without the hook that asks a Python script for its options and its logged values.
    #[arg(long)]
    no_hook: bool,
    /// Write the file without asking.
    #[arg(long)]
    yes: bool,
    /// Command as you usually run it, for example `python train.py --lr 0.1`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &InitArguments) -> CommandResult {
    let InitArguments { out, command, .. } = arguments;
    if out.exists() && !arguments.force {
        return Err(Failure::input(format!(
            "{}: the file exists. Choose another one with --out, or overwrite it with --force",
            out.display()
        )));
    }
    if !(arguments.seconds > 0.0 && arguments.seconds <= 86_400.0) {
        return Err(Failure::input(format!(
            "--seconds {}: the limit must be above 0 and at most a day",
            arguments.seconds
        )));
    }
    let limit = Duration::from_secs_f64(arguments.seconds);
    let folder = Path::new(".");
    let hook =
        if arguments.no_hook || !HookScope::is_allowed() { HookScope::Off } else { HookScope::Everything };
    note(&format!("running it for at most {} s, to see its options and its values …", arguments.seconds));
    let before = shared_files::list_file_times();
    let sample =
        probe::ProbeRun { command, limit, hook: hook.clone() }.watch(&|sample| is_enough(sample, command))?;
    note_hook_state(&sample, command, &hook);
    let between = shared_files::list_file_times();
    let described = read_command_options(command, &sample, folder, limit)?;
    let found = metric::find(&sample, described.epochs);
    if sample.failed && (found.is_none() || sample.lines.is_empty()) {
        let last = sample.lines.iter().rev().take(5).rev().cloned().collect::<Vec<_>>().join("\n  ");
        let how = if last.is_empty() { "fails without output".to_owned() } else { format!("fails: {last}") };
        let advice = match last.contains("EOFError") {
            true => {
                "The script waits for input (input()), but a trial has none: give it the answer as an option"
            }
            false => "Pass the command as you run it",
        };
        let shown = redact_words(command).join(" ");
        return Err(Failure::input(format!("`{shown}` {how}\n{advice}")));
    }
    if sample.timed_out && found.is_none() {
        note(&format!(
            "no value was seen within {} s; raise --seconds if the first one takes longer",
            arguments.seconds
        ));
    }
    let mut guess = guess(described, found, &sample);
    if !arguments.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        ask_open_questions(&mut guess, &sample)?;
    }
    prove(&mut guess, limit)?;
    let after = shared_files::list_file_times();
    let shared = shared_files::find_shared(&before, &between, &after);
    guess.notes.extend(shared.map(|path| shared_files::advise(&path, &guess.described)));
    guess.add_failure_doubt(&sample);
    guess.earlier = earlier::studies(&guess.described, guess.metric.as_ref(), folder);
    let text = study_file::text(&guess, &sample);
    write_study_file(out, &text, command)?;
    guess.metric.iter().flat_map(|found| &found.whole.notes).for_each(|said| note(said));
    note(&study_file::summary(&guess, out));
    Ok(())
}

/// Runs the command that the study file will hold. Only a number of epochs that is proven to be that of the script's option is passed to it.
fn prove(guess: &mut study_file::StudyGuess, limit: Duration) -> CommandResult {
    if guess.metric.is_some() {
        note("running the command of the study file, to prove it …");
    }
    let once = guess.metric.as_ref().is_some_and(|found| found.once);
    let mut described = guess.described.clone();
    if let Some(epochs) = guess.epochs.number().filter(|_| !once) {
        // the run itself is given them, too
        described.pass_epochs_if_equal(epochs);
        guess.described = described;
    }
    guess.proof = proof::run(guess, limit)?.unwrap_or_default();
    if let Some(epochs) = guess.epochs.number().filter(|_| !once) {
        guess.described.pass_epochs_if_equal(epochs);
    }
    Ok(())
}

/// Writes the study file; one whose command has a secret for its owner alone.
fn write_study_file(out: &Path, text: &str, command: &[String]) -> CommandResult {
    let has_secret = redact_words(command) != command;
    let written = match has_secret {
        true => foretell_run::write_privately(out, text.as_bytes()),
        false => foretell_run::write_output(out, text),
    };
    written.map_err(|error| Failure::midway(format!("{}: {error}", out.display())))?;
    if has_secret {
        note(&format!("{} contains a secret of the command, so only you can read the file", out.display()));
    }
    Ok(())
}

/// Whether the sample shows the metric and the length of a training.
fn is_enough(sample: &probe::OutputSample, command: &[String]) -> bool {
    metric::is_enough(sample)
        && (logged::length(&sample.records).is_some()
            || probe::epochs_in_output(&sample.lines).is_some()
            || asked::options(&sample.records, command)
                .is_some_and(|known| options::read(command, known, Path::new(".")).epochs.is_some()))
}

/// Says if the hook was not loaded where it could have been, and which of its entries do not fit.
fn note_hook_state(sample: &probe::OutputSample, command: &[String], hook: &HookScope) {
    let is_loaded = sample.records.iter().any(|record| matches!(record, HookRecord::Start { .. }));
    let is_python = command.iter().any(|word| word.contains("python") || word.ends_with(".py"));
    if *hook == HookScope::Off {
        note("the hook is turned off, so printed lines are read");
    } else if !is_loaded && is_python {
        note("the hook was not loaded (python -E or -I, a container), so printed lines are read");
    }
    for record in &sample.records {
        if let HookRecord::Trouble { r#where, error } = record {
            note(
                &format!("the hook does not fit a library here ({where}: {error}); its values are not seen", where = r#where),
            );
        }
    }
}

/// The options of the command: as its parser was asked for them, or else by its `--help`.
fn read_command_options(
    command: &[String],
    sample: &probe::OutputSample,
    folder: &Path,
    limit: Duration,
) -> Result<options::CommandOptions, Failure> {
    let mut known = match asked::options(&sample.records, command) {
        Some(known) => known,
        None => {
            note("reading its --help …");
            let asked = [command, &["--help".to_owned()]].concat();
            let run =
                probe::ProbeRun { command: &asked, limit: limit.min(HELP_TIMEOUT), hook: HookScope::Off };
            let help = run.watch(&|_| false)?;
            if help.timed_out {
                note(&format!(
                    "its --help did not end within {:.0} s; raise --seconds if options are missing",
                    run.limit.as_secs_f64()
                ));
            }
            option::KnownOptions::from_text(&help.lines, command, folder)
        }
    };
    if let Some(refused) = known.refused.as_ref().filter(|_| sample.failed) {
        return Err(Failure::input(format!(
            "`{}` fails: {refused}\nPass the command as you run it",
            redact_words(command).join(" ")
        )));
    }
    known.counts_batches = logged::counts_batches(&sample.records);
    (known.length, known.looped) = (logged::length(&sample.records), metric::loop_length(sample));
    Ok(options::read(command, known, folder))
}

/// What is known before anybody is asked.
fn guess(
    described: options::CommandOptions,
    mut found: Option<metric::FoundMetric>,
    sample: &probe::OutputSample,
) -> study_file::StudyGuess {
    if let Some(found) = &mut found {
        // the test run wrote the table to the script's own folder, but a trial writes it to that of the trial
        found.table = found.table.take().map(|table| described.own_path(&table).map_or(table, PathBuf::from));
    }
    let reported = found.as_ref().and_then(|found| metric::completed_epochs(sample, found));
    let (expected, is_logged) =
        found.as_ref().map_or((None, false), |found| (found.expected, found.library.is_some()));
    let announced = expected.filter(|_| !is_logged).or_else(|| probe::epochs_in_output(&sample.lines));
    let library = expected.filter(|_| is_logged);
    let epochs =
        EpochCount::from_signs(reported, library, announced, described.epochs, sample.shows_early_stopping());
    study_file::StudyGuess {
        described,
        metric: found,
        epochs,
        earlier: Vec::new(),
        proof: study_file::CommandProof::default(),
        notes: Vec::new(),
    }
}

fn ask_open_questions(guess: &mut study_file::StudyGuess, sample: &probe::OutputSample) -> CommandResult {
    if let Some(found) = &guess.metric {
        note(&found.read());
        found.doubts.iter().for_each(|doubt| note(&format!("in doubt: {}", doubt.in_words())));
        if !found.others.is_empty() {
            note(&format!("also seen: {}", found.others.join(", ")));
        }
    }
    let shown = guess.metric.as_ref().map(|found| found.source.clone()).unwrap_or_default();
    let metric = ask("which metric to use (a name, or its line with {value} for the number)", &shown)?;
    if metric != shown {
        guess.metric = Some(metric::FoundMetric::from_user_choice(&metric, guess.metric.as_ref(), sample));
        guess.metric.iter().for_each(|found| note(&found.read()));
    }
    if let Some(found) = &mut guess.metric {
        let usual = match (found.is_direction_unknown, found.minimize) {
            (true, _) => "",
            (false, true) => "smaller",
            (false, false) => "larger",
        };
        let mut way = String::new();
        // of an unknown direction there is no default
        while !way.starts_with(['s', 'l']) {
            way = ask("is a larger or a smaller value better", usual)?;
        }
        (found.minimize, found.is_direction_unknown) = (way.starts_with('s'), false);
        if let Some(trainings) = found.trainings.filter(|_| found.library.is_some()) {
            let question = format!("the run trains {trainings} times: use the mean over all, or the first");
            if ask(&question, "first")?.starts_with('m') {
                found.library = found.library.take().map(|library| format!("{library}=mean"));
                guess.epochs = EpochCount::Said(trainings);
            }
        }
        found.doubts.clear(); // a person has decided
    }
    const SHOWN_BY_RUNS: &str = "as runs show";
    let known = guess.epochs.number().map_or(SHOWN_BY_RUNS.to_owned(), |epochs| epochs.to_string());
    loop {
        let answer = ask("epochs of a full trial", &known)?;
        if answer == SHOWN_BY_RUNS {
            return Ok(());
        }
        match answer.parse().ok().filter(|&epochs: &u64| epochs > 0) {
            Some(epochs) if Some(epochs) == guess.epochs.number() => return Ok(()),
            Some(epochs) => {
                guess.epochs = EpochCount::Said(epochs);
                return Ok(());
            }
            None => note("enter a whole number; longer trials are ended there"),
        }
    }
}
