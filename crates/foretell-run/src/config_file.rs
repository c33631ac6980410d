//! A command's own configuration file, of which each trial gets a copy with its parameters' values: JSON, YAML or TOML.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use thiserror::Error;

/// The placeholder for a trial's copy of the command's configuration file.
pub const CONFIG: &str = "config";

/// Why a configuration file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigFileError {
    /// It cannot be read.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Its name does not tell its form.
    #[error("{path}: a configuration file ends in .json, .yaml, .yml or .toml", path = path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// It is no JSON.
    #[error("{path}: {problem}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the decoder said, with line and column.
        problem: String,
    },
    /// A parameter has no place in it.
    #[error(
        "{path} has no entry `{name}` with a value of its own; it has {known}: name the parameter like one of them, levels joined by dots",
        path = path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// The parameter.
        name: String,
        /// The entries there are.
        known: String,
    },
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Yaml,
    Toml,
}

/// A configuration file. What is not a parameter stays as it is, to the letter in YAML and TOML.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigFile {
    path: PathBuf,
    form: Form,
    text: String,
}

/// An entry with a value of its own in YAML or TOML, and where the value stands.
struct Entry {
    name: String,
    from: usize,
    to: usize,
}

impl ConfigFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ConfigFileError`] but [`Missing`](ConfigFileError::Missing).
    pub fn read(path: &Path) -> Result<Self, ConfigFileError> {
        form_of(path)?;
        let text = fs::read_to_string(path)
            .map_err(|source| ConfigFileError::File { path: path.to_owned(), source })?;
        Self::with_text(path, text)
    }

    /// The file at `path`, which was read elsewhere as `text`.
    ///
    /// # Errors
    /// [`ConfigFileError::Unknown`] and [`ConfigFileError::Json`].
    pub fn with_text(path: &Path, text: String) -> Result<Self, ConfigFileError> {
        let form = form_of(path)?;
        let this = Self { path: path.to_owned(), form, text };
        this.json()?;
        Ok(this)
    }

    /// Where it was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of a trial's copy.
    pub fn file_name(&self) -> &'static str {
        match self.form {
            Form::Json => "config.json",
            Form::Yaml => "config.yaml",
            Form::Toml => "config.toml",
        }
    }

    /// All entries with a number or a text, by name (levels joined by dots), each with its value as text.
    pub fn entries(&self) -> Vec<(String, String)> {
        if let Ok(Some(json)) = self.json() {
            let mut found = Vec::new();
            leaves(&json, String::new(), &mut found);
            return found;
        }
        let plain = |entry: Entry| {
            let value = self.text[entry.from..entry.to].trim_matches(['"', '\'']).to_owned();
            let is_plain = !value.is_empty() && !value.starts_with(['[', '{', '|', '>', '&', '*', '-'])
                || value.parse::<f64>().is_ok();
            is_plain.then_some((entry.name, value))
        };
        self.lines().into_iter().filter_map(plain).collect()
    }

    /// The file with the values of `parameters` in the places of their names.
    ///
    /// # Errors
    /// [`ConfigFileError::Missing`] if a parameter has no place in it.
    pub fn with(&self, parameters: &Map<String, Value>) -> Result<String, ConfigFileError> {
        if let Some(mut json) = self.json()? {
            for (name, value) in parameters {
                *place(&mut json, name).ok_or_else(|| self.missing(name))? = value.clone();
            }
            return Ok(format!("{json:#}\n"));
        }
        let entries = self.lines();
        let mut changes = Vec::new();
        for (name, value) in parameters {
            let entry = entries.iter().find(|entry| entry.name == *name);
            let entry = entry.ok_or_else(|| self.missing(name))?;
            changes.push((entry.from, entry.to, self.written(value)));
        }
        changes.sort_by_key(|change| std::cmp::Reverse(change.0));
        let mut text = self.text.clone();
        for (from, to, value) in changes {
            text.replace_range(from..to, &value);
        }
        Ok(text)
    }

    fn missing(&self, name: &str) -> ConfigFileError {
        let known: Vec<String> = self.entries().into_iter().map(|(name, _)| name).collect();
        ConfigFileError::Missing { path: self.path.clone(), name: name.to_owned(), known: known.join(", ") }
    }

    fn json(&self) -> Result<Option<Value>, ConfigFileError> {
        if self.form != Form::Json {
            return Ok(None);
        }
        let parsed = serde_json::from_str(&self.text);
        parsed
            .map(Some)
            .map_err(|error| ConfigFileError::Json { path: self.path.clone(), problem: error.to_string() })
    }

    /// A value as the form writes it. A parameter that does not apply is null, or an empty text in TOML, which has no null.
    fn written(&self, value: &Value) -> String {
        let text = value.to_string();
        match value {
            Value::Null if self.form == Form::Toml => "\"\"".to_owned(),
            // YAML takes 1e-5 for a text, and TOML 1.0e-5 for a number, too
            Value::Number(_) => match text.split_once('e') {
                Some((digits, exponent)) if !digits.contains('.') => {
                    let sign = if exponent.starts_with('-') { "" } else { "+" };
                    format!("{digits}.0e{sign}{exponent}")
                }
                Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
                _ => text,
            },
            _ => text,
        }
    }

    /// The entries of a YAML or TOML file, line by line; lists are passed over.
    fn lines(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut levels: Vec<(usize, String)> = Vec::new();
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            let (begin, indent) = (start, line.len() - line.trim_start().len());
            start += line.len();
            let content = line.trim();
            if content.is_empty() || content.starts_with(['#', '-']) {
                continue;
            }
            if self.form == Form::Toml && content.starts_with('[') {
                let header = content.split('#').next().unwrap_or_default().trim();
                levels = vec![(0, header.trim_matches(['[', ']']).trim().replace('"', ""))];
                continue;
            }
            let Some((key, rest)) = line.split_once(if self.form == Form::Toml { '=' } else { ':' }) else {
                continue;
            };
            if self.form == Form::Yaml {
                levels.retain(|(level, _)| *level < indent);
            }
            let key = key.trim().trim_matches(['"', '\'']).to_owned();
            let names = levels.iter().map(|(_, name)| name.as_str()).chain([key.as_str()]);
            let name = names.collect::<Vec<_>>().join(".");
            let value = without_comment(rest);
            if value.is_empty() && self.form == Form::Yaml {
                levels.push((indent, key));
                continue;
            }
            let from = begin + (line.len() - rest.len()) + (rest.len() - rest.trim_start().len());
            entries.push(Entry { name, from, to: from + value.len() });
        }
        entries
    }
}

/// How the file at `path` is written, by its name.
fn form_of(path: &Path) -> Result<Form, ConfigFileError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(Form::Json),
        Some("yaml" | "yml") => Ok(Form::Yaml),
        Some("toml") => Ok(Form::Toml),
        _ => Err(ConfigFileError::Unknown { path: path.to_owned() }),
    }
}

/// The value in the rest of a line.
fn without_comment(rest: &str) -> &str {
    let text = rest.trim();
    if let Some(quote) = text.chars().next().filter(|first| ['"', '\''].contains(first)) {
        return text[1..].find(quote).map_or(text, |end| &text[..end + 2]);
    }
    if text.starts_with('#') {
        return "";
    }
    text.find(" #").map_or(text, |end| text[..end].trim_end())
}

/// Adds the numbers and texts in `value`, named after their places.
fn leaves(value: &Value, name: String, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                leaves(value, name, found);
            }
        }
        Value::Number(number) => found.push((name, number.to_string())),
        Value::String(text) => found.push((name, text.clone())),
        _ => {}
    }
}

/// The value called `name`: a key, or keys joined by dots.
fn place<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let fields = value.as_object_mut()?;
    if fields.contains_key(name) {
        return fields.get_mut(name);
    }
    let (first, rest) = name
        .match_indices('.')
        .map(|(at, _)| (&name[..at], &name[at + 1..]))
        .find(|(first, _)| fields.contains_key(*first))?;
    place(fields.get_mut(first)?, rest)
}

#[cfg(test)]
mod tests {
    use super::ConfigFile;
    use serde_json::{Map, Value, json};

    fn file(name: &str, text: &str) -> ConfigFile {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        ConfigFile::read(&path).expect("it is readable")
    }

    fn parameters(values: Value) -> Map<String, Value> {
        values.as_object().cloned().expect("an object")
    }

    #[test]
    fn values_are_put_in_their_places_and_the_rest_is_kept() {
        let values = parameters(json!({"optim.lr": 1e-7, "model.act": "gelu", "epochs": 3}));
        let yaml = "# a run\nepochs: 10   # all of them\noptim:\n  lr: 0.1\n  betas: [0.9, 0.99]\nmodel:\n  act: relu\n  layers:\n    - 3\n    - 4\n";
        let expected = yaml.replace("10 ", "3 ").replace("lr: 0.1", "lr: 1.0e-7").replace("relu", "\"gelu\"");
        assert_eq!(file("a.yaml", yaml).with(&values).expect("all are there"), expected);
        let toml = "epochs = 10\n[optim] # the optimizer\nlr = 0.1\nbetas = [0.9, 0.99]\n[model]\nact = \"relu\" # or gelu\n";
        let expected =
            toml.replace("10", "3").replace("lr = 0.1", "lr = 1.0e-7").replace("\"relu\"", "\"gelu\"");
        assert_eq!(file("a.toml", toml).with(&values).expect("all are there"), expected);
        let json = r#"{"epochs": 10, "optim": {"lr": 0.1, "betas": [0.9, null]}, "model": {"act": "relu"}}"#;
        let written: Value =
            serde_json::from_str(&file("a.json", json).with(&values).expect("all are there")).expect("JSON");
        assert_eq!(
            written,
            json!({"epochs": 3, "optim": {"lr": 1e-7, "betas": [0.9, null]}, "model": {"act": "gelu"}})
        );
    }

    #[test]
    fn entries_are_named_by_their_levels() {
        let expected = [("epochs", "10"), ("optim.lr", "0.1"), ("model.act", "relu")];
        let texts = [
            ("a.yaml", "epochs: 10\noptim:\n    lr: 0.1\n    on: [1]\nmodel:\n  act: 'relu'\n"),
            ("a.toml", "epochs = 10\n[optim]\nlr = 0.1\non = [1]\n[model]\nact = 'relu'\n"),
            ("a.json", "{\"epochs\":10,\"optim\":{\"lr\":0.1,\"on\":[1]},\"model\":{\"act\":\"relu\"}}"),
        ];
        for (name, text) in texts {
            let entries = file(name, text).entries();
            let found: Vec<(&str, &str)> =
                entries.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn what_has_no_place_is_named_with_what_has() {
        let values = parameters(json!({"lr": 0.1}));
        for (name, text) in [("a.yaml", "optim:\n  lr: 0.2\n"), ("a.json", "{\"optim\":{\"lr\":0.2}}")] {
            let message = file(name, text).with(&values).expect_err("it is deeper").to_string();
            assert!(message.contains("no entry `lr`") && message.contains("optim.lr"), "{message}");
        }
        let message =
            ConfigFile::read(std::path::Path::new("a.ini")).expect_err("its form is unknown").to_string();
        assert!(message.contains(".toml"), "{message}");
    }
}
