//! The settings of a run whose log contains none, from a file next to it and from the names of the file and of its folder.

use super::{json, yaml};
use foretell::{Configuration, Value};
use std::io::Read;
use std::path::Path;

/// Files next to a log, or in its folder, that hold its configuration.
const CONFIGURATION_FILES: [&str; 7] =
    ["params.json", "config.json", "hparams.json", "args.json", "hparams.yaml", "config.yaml", "args.yaml"];

/// Endings of logs that are no part of a setting in their names.
const LOG_EXTENSIONS: [&str; 8] = [".log", ".txt", ".out", ".csv", ".tsv", ".jsonl", ".json", ".err"];

/// A larger file holds no settings.
const MAX_SETTINGS_BYTES: u64 = 1 << 22;

/// The text of a small file; empty if there is none.
pub(crate) fn text(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).map(|file| file.take(MAX_SETTINGS_BYTES).read_to_string(&mut text));
    if matches!(file, Ok(Ok(_))) { text } else { String::new() }
}

/// A run's configuration, as far as it is known: numbers and texts of a file next to its log or in its folder, and `name=value` in its
/// own and its folder's name.
///
/// ```
/// use foretell::Value;
/// let found = foretell_logs::configuration_nearby("/nowhere/opt=sgd/run7_lr=0.1_num_layers=4.log".as_ref());
/// assert_eq!(found["lr"], Value::Number(0.1));
/// assert_eq!(found["opt"], Value::Text("sgd".to_owned()));
/// ```
pub fn find_configuration(log: &Path) -> Configuration {
    let mut configuration = Configuration::new();
    let folder = if log.is_dir() { log } else { log.parent().unwrap_or(Path::new(".")) };
    let own = log.with_extension("json");
    let beside = CONFIGURATION_FILES
        .iter()
        .map(|name| folder.join(name))
        .chain((own != log && !log.is_dir()).then_some(own));
    for path in beside.filter(|path| path != log) {
        let text = text(&path);
        if path.extension().is_some_and(|ending| ending == "yaml") {
            configuration
                .extend(yaml::settings(&text).into_iter().filter(|(name, _)| !name.starts_with("_wandb")));
        } else if let Some(serde_json::Value::Object(fields)) = json::parse(&text) {
            configuration.extend(
                fields.iter().filter_map(|(name, value)| Some((name.clone(), json_to_value(value)?))),
            );
        }
    }
    let names = [folder.file_name(), log.file_name().filter(|_| folder != log)];
    for name in names.into_iter().flatten().map(|name| name.to_string_lossy().into_owned()) {
        configuration.extend(settings_in_name(&name));
    }
    configuration
}

/// The settings in a name such as `run3_lr=0.1_depth=4.log`.
fn settings_in_name(name: &str) -> Configuration {
    let mut configuration = Configuration::new();
    let ending = LOG_EXTENSIONS.into_iter().find_map(|ending| name.strip_suffix(ending));
    let mut rest = ending.unwrap_or(name);
    while let Some((before, after)) = rest.split_once('=') {
        let start = before.rfind([',', ' ', ';', '-', '=']).map_or(0, |at| at + 1);
        let end = after.find('=').map_or(after.len(), |next| {
            // the value ends where the next name begins
            after[..next].find(['_', ',', ' ', ';']).unwrap_or(next)
        });
        let mut key = before[start..].trim_start_matches('_');
        // `run3_lr=0.1`: the number of the run is no part of the setting's name
        while let Some((first, rest)) = key.split_once('_')
            && first.ends_with(|c: char| c.is_ascii_digit())
        {
            key = rest;
        }
        if !key.is_empty() {
            configuration
                .insert(key.to_owned(), text_to_value(after[..end].trim_end_matches(['_', ',', ' ', ';'])));
        }
        rest = &after[end..];
    }
    configuration
}

fn json_to_value(value: &serde_json::Value) -> Option<Value> {
    match value {
        serde_json::Value::Number(number) => number.as_f64().map(Value::Number),
        serde_json::Value::String(text) => Some(text_to_value(text)),
        serde_json::Value::Bool(flag) => Some(text_to_value(&flag.to_string())),
        _ => None,
    }
}

fn text_to_value(text: &str) -> Value {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::Number(number),
        _ => Value::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::find_configuration;
    use foretell::Value;
    use std::path::Path;

    #[test]
    fn settings_are_read_from_names() {
        let found = find_configuration(Path::new("/nowhere/opt=sgd/run7_lr=0.1_num_layers=4_drop=0.5.log"));
        let expected = [("drop", Value::Number(0.5)), ("lr", Value::Number(0.1))];
        for (name, value) in expected {
            assert_eq!(found.get(name), Some(&value), "{name} of {found:?}");
        }
        assert_eq!(found["opt"], Value::Text("sgd".to_owned()));
        assert_eq!(found["num_layers"], Value::Number(4.0));
    }
}
