//! `foretell study enqueue`: configurations to try next, also while the study runs.

use crate::failure::{CommandResult, Failure};
use crate::output::print;
use foretell::Configuration;
use foretell_run::{Orders, StoredStudy};
use foretell_search::Queued;
use std::path::Path;

/// Enqueues the configurations in `texts` and in the lines of `file`, after checking all of them.
pub(super) fn run(stored: &StoredStudy, texts: &[String], file: Option<&Path>) -> CommandResult {
    let mut wanted: Vec<(String, Configuration)> = Vec::new();
    for text in texts {
        wanted.push((text.clone(), read(stored, &Queued::Text(text.clone()), text)?));
    }
    if let Some(path) = file {
        wanted.extend(lines(stored, path)?);
    }
    if wanted.is_empty() {
        return Err(Failure::input(
            "a configuration is missing. Pass one, for example lr=0.1,opt=sgd, or use --file. The sampler chooses the values that you leave out",
        ));
    }
    let orders = Orders::for_study(&stored.directory);
    for (text, configuration) in &wanted {
        orders
            .enqueue(configuration, None)
            .map_err(|error| Failure::midway(format!("{text}: it cannot be enqueued: {error}")))?;
    }
    print(&format!(
        "{} to try next. A running search starts them within a second; otherwise the next search with the same command does",
        match wanted.len() {
            1 => "one configuration".to_owned(),
            many => format!("{many} configurations"),
        }
    ))
}

/// The configurations of a file, one per line: a JSON object or `lr=0.1,opt=sgd`.
fn lines(stored: &StoredStudy, path: &Path) -> Result<Vec<(String, Configuration)>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let configurations = lines.map(|(number, line)| {
        let place = format!("{}:{}", path.display(), number + 1);
        let queued = match line.trim_start().starts_with('{') {
            true => serde_json::from_str(line).map(Queued::Values).map_err(|error| {
                Failure::input(format!(
                    "{place}: not a JSON object of values, such as {{\"lr\": 0.1}}: {error}"
                ))
            })?,
            false => Queued::Text(line.trim().to_owned()),
        };
        let configuration = read(stored, &queued, &place)?;
        Ok((place, configuration))
    });
    configurations.collect()
}

/// The configuration that is `queued`, checked; errors name it `what`.
fn read(stored: &StoredStudy, queued: &Queued, what: &str) -> Result<Configuration, Failure> {
    let configuration =
        queued.read(&stored.study.spec().space).map_err(|refusal| Failure::input(refusal.reason))?;
    stored.study.check_enqueue(&configuration).map_err(|error| Failure::input(format!("{what}: {error}")))?;
    Ok(configuration)
}
