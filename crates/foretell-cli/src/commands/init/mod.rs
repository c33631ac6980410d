//! `foretell init -- COMMAND`: writes a study file for a training script, from its `--help`, its source and its first output.

mod earlier;
mod epochs;
mod help;
mod known;
mod metric;
mod option;
mod options;
mod probe;
mod source;
mod study_file;

use crate::failure::{Failure, Outcome};
use crate::output::note;
use epochs::Epochs;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The arguments of `foretell init`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Study file to write.
    #[arg(long, value_name = "FILE", default_value = "study.toml")]
    out: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// Seconds to run the command while reading its output.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    seconds: f64,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    /// Command as you run it. For example: `python train.py --lr 0.1`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { out, command, .. } = arguments;
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
    let help = [command.as_slice(), &["--help".to_owned()]].concat();
    note("reading its --help …");
    let help = probe::run(&help, limit.min(Duration::from_secs(20)), &|_| false)?;
    let described = describe(command, &help.lines, folder, limit)?;
    note(&format!("running it for at most {} s to read its output …", arguments.seconds));
    let is_known = |lines: &[String]| described.epochs.is_some() || probe::announced(lines).is_some();
    let sample = probe::run(command, limit, &|lines| probe::names_epochs(lines) && is_known(lines))?;
    if sample.failed && sample.lines.is_empty() {
        return Err(Failure::input(format!(
            "`{}` fails without output. Pass the command as you run it",
            command.join(" ")
        )));
    }
    let mut found = metric::find(&sample);
    if found.is_none() && sample.failed {
        return Err(Failure::input(format!(
            "`{}` fails: {}\nPass the command as you run it",
            command.join(" "),
            sample.lines.iter().rev().take(5).rev().cloned().collect::<Vec<_>>().join("\n  ")
        )));
    }
    let reported = found.as_ref().and_then(|found| metric::reported(&sample, found));
    let announced = probe::announced(&sample.lines);
    let epochs = Epochs::from_signs(reported, announced, described.epochs, sample.stopped_early());
    let mut guess = study_file::Guess { described, metric: None, epochs, earlier: Vec::new() };
    let asks = !arguments.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if asks {
        ask_all(&mut guess, &mut found, &sample)?;
    }
    guess.metric = found;
    let once = guess.metric.as_ref().is_some_and(|found| found.once);
    if !once {
        guess.described.pass_epochs(guess.epochs.written().0);
    }
    guess.earlier = earlier::studies(&guess.described, guess.metric.as_ref(), folder);
    let text = study_file::text(&guess, &sample);
    foretell_run::write_output(out, text)
        .map_err(|error| Failure::midway(format!("{}: {error}", out.display())))?;
    guess.metric.iter().flat_map(|found| &found.whole.notes).for_each(|said| note(said));
    note(&study_file::summary(&guess, out));
    Ok(())
}

/// The options of the command, by its `help` and its files; one that Hydra configures is asked for its configuration.
fn describe(
    command: &[String],
    help: &[String],
    folder: &Path,
    limit: Duration,
) -> Result<options::Described, Failure> {
    let hydra = match options::uses_hydra(command, folder) {
        true => {
            let asked = [command, &["--cfg".to_owned(), "job".to_owned()]].concat();
            probe::run(&asked, limit.min(Duration::from_secs(20)), &|_| false)?
        }
        false => probe::Sample::default(),
    };
    let hydra = if hydra.failed { &[][..] } else { &hydra.lines };
    Ok(options::read(command, &options::Asked { help, hydra, folder }))
}

fn ask_all(
    guess: &mut study_file::Guess,
    found: &mut Option<metric::Found>,
    sample: &probe::Sample,
) -> Outcome {
    if let Some(found) = found {
        note(&found.read());
    }
    let shown = found.as_ref().map(|found| found.source.clone()).unwrap_or_default();
    let metric = ask("which metric to use (a name, or its line with {value} for the number)", &shown)?;
    if metric != shown {
        *found = Some(metric::Found::named(&metric, found.as_ref(), sample));
        found.iter().for_each(|found| note(&found.read()));
    }
    if let Some(found) = found {
        let way =
            ask("is a larger or a smaller value better", if found.minimize { "smaller" } else { "larger" })?;
        found.minimize = way.starts_with('s');
    }
    let known = guess.epochs.number().map_or(String::new(), |epochs| epochs.to_string());
    loop {
        let answer = ask("epochs of a full trial", &known)?;
        match answer.parse().ok().filter(|&epochs: &u64| epochs > 0) {
            Some(epochs) if Some(epochs) == guess.epochs.number() => return Ok(()),
            Some(epochs) => {
                guess.epochs = Epochs::Said(epochs);
                return Ok(());
            }
            None => note("enter a whole number; longer trials are ended there"),
        }
    }
}

/// Asks on the terminal; an empty answer is `default`.
pub(super) fn ask(question: &str, default: &str) -> Result<String, Failure> {
    let mut terminal = std::io::stderr();
    write!(terminal, "{question} [{default}]: ").and_then(|()| terminal.flush()).map_err(Failure::midway)?;
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer).map_err(Failure::midway)? == 0 {
        return Err(Failure::midway("there is no answer: --yes asks nothing"));
    }
    let answer = answer.trim();
    Ok(if answer.is_empty() { default } else { answer }.to_owned())
}
