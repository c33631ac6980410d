//! A command's own configuration file (JSON, YAML or TOML). Each trial gets a copy with the values of its parameters.

use std::path::{Path, PathBuf};
use std::{fs, io};

use foretell_logs::{YamlNode, parse_yaml_documents};
use serde_json::{Map, Value};
use thiserror::Error;
use toml_edit::{DocumentMut, Item};

use crate::fleet::executor::ExecutorError;
use crate::log::atomic_write::write_atomically;

mod names;
mod yaml;

use names::levels;

/// The placeholder for a trial's copy of the command's configuration file.
pub const CONFIG_PLACEHOLDER: &str = "config";

/// The reason why a configuration file cannot be used.
#[derive(Debug, Error)]
pub enum ConfigFileError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file's name does not tell the format.
    #[error("{path}: the format of the file is unknown. Use a file that ends in .json, .yaml, .yml or .toml", path = path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The text is no JSON, YAML or TOML.
    #[error("{path}: {problem}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error of the decoder, with line and column.
        problem: String,
    },
    /// A parameter has no place in it.
    #[error(
        "{path} contains no single value `{name}`. Use one of the entries as the parameter's name, with dots between levels: {known}",
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
    /// A parameter has a place that cannot take its value.
    #[error("{path}: the value of `{name}` cannot be set: {problem}", path = path.display())]
    InvalidPlace {
        /// The file.
        path: PathBuf,
        /// The parameter.
        name: String,
        /// The problem with its place.
        problem: &'static str,
    },
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    Json,
    Yaml,
    Toml,
}

/// A configuration file. In YAML and TOML, everything except the parameters stays unchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigFile {
    path: PathBuf,
    form: FileFormat,
    text: String,
}

impl ConfigFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ConfigFileError::File`], and those of [`from_text`](Self::from_text).
    pub fn read(path: &Path) -> Result<Self, ConfigFileError> {
        format_of(path)?;
        let text = crate::regular::read_regular_text(path)
            .map_err(|source| ConfigFileError::File { path: path.to_owned(), source })?;
        Self::from_text(path, text)
    }

    /// The file at `path`, which was read elsewhere as `text`.
    ///
    /// # Errors
    /// [`ConfigFileError::UnknownFormat`] and [`ConfigFileError::Invalid`].
    pub fn from_text(path: &Path, text: String) -> Result<Self, ConfigFileError> {
        let form = format_of(path)?;
        let this = Self { path: path.to_owned(), form, text };
        this.parse_documents()?;
        Ok(this)
    }

    /// Where it was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Writes the copy with the values of `parameters` into the folder of a trial, and returns the `command` with its path.
    ///
    /// # Errors
    /// [`ConfigFileError`], and those of writing.
    pub fn write_trial_copy(
        &self,
        command: &[String],
        directory: &Path,
        parameters: &Map<String, Value>,
    ) -> Result<Vec<String>, ExecutorError> {
        let path = std::path::absolute(directory.join(self.copy_file_name()))?;
        fs::create_dir_all(directory)?;
        write_atomically(&path, self.with_parameters(parameters)?.as_bytes())?;
        // placeholders are filled in later, and braces in the path must not be taken for theirs
        let path = path.to_string_lossy().replace('{', "{{").replace('}', "}}");
        let placeholder = format!("{{{CONFIG_PLACEHOLDER}}}");
        Ok(command.iter().map(|word| word.replace(&placeholder, &path)).collect())
    }

    /// The name of a trial's copy.
    pub fn copy_file_name(&self) -> &'static str {
        match self.form {
            FileFormat::Json => "config.json",
            FileFormat::Yaml => "config.yaml",
            FileFormat::Toml => "config.toml",
        }
    }

    /// All entries with a number or a text, by name (levels joined by dots), each with its value as text.
    pub fn entries(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let documents = self.parse_documents().unwrap_or_default();
        documents.iter().for_each(|document| collect_leaves(document, String::new(), &mut found));
        found
    }

    /// The file with the values of `parameters` in the places of their names. A list's items are named by their numbers, from 0. A parameter
    /// that does not apply keeps the value of the file, as an option that is left out of a command keeps its default.
    ///
    /// # Errors
    /// [`ConfigFileError::Missing`] and [`ConfigFileError::InvalidPlace`].
    pub fn with_parameters(&self, parameters: &Map<String, Value>) -> Result<String, ConfigFileError> {
        let mut documents = self.parse_documents()?;
        let mut values = parameters.clone();
        values.retain(|_, value| !value.is_null());
        for (name, value) in &mut values {
            // true and false are texts among the parameters; a script that reads the text "false" takes it for true
            let flag = value.as_str().and_then(|text| text.to_ascii_lowercase().parse::<bool>().ok());
            if let Some(flag) = flag {
                let old = documents.iter_mut().find_map(|document| find_value(document, name));
                if old.is_some_and(|old| old.is_boolean()) {
                    *value = flag.into();
                }
            }
        }
        match self.form {
            FileFormat::Json => self.json_with_parameters(&values),
            FileFormat::Yaml => yaml::replace_values(&self.text, &self.parse_yaml()?, &values)
                .map_err(|wrong| self.unplaced_error(wrong)),
            FileFormat::Toml => self.toml_with_parameters(&values),
        }
    }

    fn unplaced_error(&self, wrong: yaml::UnplacedParameter) -> ConfigFileError {
        match wrong.problem {
            None => self.missing_error(&wrong.name),
            Some(problem) => {
                ConfigFileError::InvalidPlace { path: self.path.clone(), name: wrong.name, problem }
            }
        }
    }

    fn json_with_parameters(&self, parameters: &Map<String, Value>) -> Result<String, ConfigFileError> {
        let mut json: Value = serde_json::from_str(&self.text).map_err(|error| self.invalid_error(error))?;
        for (name, value) in parameters {
            *find_value(&mut json, name).ok_or_else(|| self.missing_error(name))? = value.clone();
        }
        Ok(format!("{json:#}\n"))
    }

    fn toml_with_parameters(&self, parameters: &Map<String, Value>) -> Result<String, ConfigFileError> {
        let mut document: DocumentMut = self.text.parse().map_err(|error| self.invalid_error(error))?;
        for (name, value) in parameters {
            let item =
                find_toml_item(document.as_item_mut(), name).ok_or_else(|| self.missing_error(name))?;
            let place = item.as_value_mut().ok_or_else(|| self.missing_error(name))?;
            // the spaces and the comment around the old value would go with it
            let decor = place.decor().clone();
            let flag = value
                .as_str()
                .filter(|_| place.is_bool())
                .and_then(|text| text.to_ascii_lowercase().parse::<bool>().ok());
            *place = flag.map_or_else(|| to_toml_value(value), Into::into);
            *place.decor_mut() = decor;
        }
        Ok(document.to_string())
    }

    fn missing_error(&self, name: &str) -> ConfigFileError {
        let known: Vec<String> = self.entries().into_iter().map(|(name, _)| name).collect();
        ConfigFileError::Missing { path: self.path.clone(), name: name.to_owned(), known: known.join(", ") }
    }

    fn invalid_error(&self, error: impl ToString) -> ConfigFileError {
        ConfigFileError::Invalid { path: self.path.clone(), problem: error.to_string() }
    }

    fn parse_yaml(&self) -> Result<Vec<YamlNode>, ConfigFileError> {
        parse_yaml_documents(&self.text).map_err(|problem| self.invalid_error(problem))
    }

    /// The values of its documents; JSON and TOML have one.
    fn parse_documents(&self) -> Result<Vec<Value>, ConfigFileError> {
        Ok(match self.form {
            FileFormat::Json => {
                vec![serde_json::from_str(&self.text).map_err(|error| self.invalid_error(error))?]
            }
            FileFormat::Yaml => self.parse_yaml()?.iter().map(YamlNode::to_json).collect(),
            FileFormat::Toml => {
                let document: DocumentMut = self.text.parse().map_err(|error| self.invalid_error(error))?;
                vec![toml_to_json(document.as_item())]
            }
        })
    }
}

/// The format of the file at `path`, by its name.
fn format_of(path: &Path) -> Result<FileFormat, ConfigFileError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(FileFormat::Json),
        Some("yaml" | "yml") => Ok(FileFormat::Yaml),
        Some("toml") => Ok(FileFormat::Toml),
        _ => Err(ConfigFileError::UnknownFormat { path: path.to_owned() }),
    }
}

/// Adds the numbers and texts in `value`, named after their places.
fn collect_leaves(value: &Value, name: String, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                collect_leaves(value, name, found);
            }
        }
        Value::Number(number) => found.push((name, number.to_string())),
        Value::String(text) => found.push((name, text.clone())),
        _ => {}
    }
}

/// The value called `name`: a key or the number of an item, or several of them joined by dots.
fn find_value<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    if name.is_empty() {
        return Some(value);
    }
    match value {
        Value::Object(fields) => {
            // a key may contain dots itself, so that each dot is tried as the end of a level
            let (first, rest) = levels(name).find(|(first, _)| fields.contains_key(*first))?;
            find_value(fields.get_mut(first)?, rest)
        }
        Value::Array(items) => {
            let (at, rest) =
                levels(name).find_map(|(first, rest)| Some((first.parse::<usize>().ok()?, rest)))?;
            find_value(items.get_mut(at)?, rest)
        }
        _ => None,
    }
}

/// Finds `name` in an item of TOML.
fn find_toml_item<'a>(item: &'a mut Item, name: &str) -> Option<&'a mut Item> {
    if name.is_empty() {
        return Some(item);
    }
    let (first, rest) = levels(name).find(|(first, _)| match first.parse::<usize>() {
        Ok(index) if !item.is_table_like() => item.get(index).is_some(),
        _ => item.get(*first).is_some(),
    })?;
    match first.parse::<usize>() {
        Ok(index) if !item.is_table_like() => find_toml_item(item.get_mut(index)?, rest),
        _ => find_toml_item(item.get_mut(first)?, rest),
    }
}

/// A value in TOML.
fn to_toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.into(),
        _ => "".into(),
    }
}

/// TOML as JSON; dates are texts.
fn toml_to_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table
            .iter()
            .map(|(name, item)| (name.to_owned(), toml_to_json(item)))
            .collect::<Map<_, _>>()
            .into();
    }
    match item {
        Item::Value(toml_edit::Value::String(text)) => text.value().as_str().into(),
        Item::Value(toml_edit::Value::Integer(number)) => (*number.value()).into(),
        Item::Value(toml_edit::Value::Float(number)) => (*number.value()).into(),
        Item::Value(toml_edit::Value::Boolean(flag)) => (*flag.value()).into(),
        Item::Value(toml_edit::Value::Array(_)) | Item::ArrayOfTables(_) => {
            (0..).map_while(|index: usize| item.get(index)).map(toml_to_json).collect()
        }
        other => other.to_string().trim().into(),
    }
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
    fn a_parameter_that_does_not_apply_keeps_the_value_of_the_file() {
        let values = parameters(json!({"opt": "adam", "momentum": null}));
        for (name, text) in [
            ("a.yaml", "opt: sgd\nmomentum: 0.9\n"),
            ("a.toml", "opt = \"sgd\"\nmomentum = 0.9\n"),
            ("a.json", "{\"opt\": \"sgd\", \"momentum\": 0.9}"),
        ] {
            let written = file(name, text).with_parameters(&values).expect("all are there");
            assert!(written.contains("adam") && written.contains("0.9"), "{written}");
        }
    }

    #[test]
    fn values_are_put_in_their_places_and_the_rest_is_kept() {
        let values = parameters(json!({"optim.lr": 1e-7, "model.act": "gelu", "epochs": 3}));
        let yaml = "# a run\nepochs: 10   # all of them\noptim:\n  lr: 0.1\n  betas: [0.9, 0.99]\nmodel:\n  act: relu\n  layers:\n    - 3\n    - 4\n";
        let expected = yaml.replace("10 ", "3 ").replace("lr: 0.1", "lr: 1.0e-7").replace("relu", "\"gelu\"");
        assert_eq!(file("a.yaml", yaml).with_parameters(&values).expect("all are there"), expected);
        let toml = "epochs = 10\n[optim] # the optimizer\nlr = 0.1\nbetas = [0.9, 0.99]\n[model]\nact = \"relu\" # or gelu\n";
        let expected =
            toml.replace("10", "3").replace("lr = 0.1", "lr = 0.0000001").replace("\"relu\"", "\"gelu\"");
        assert_eq!(file("a.toml", toml).with_parameters(&values).expect("all are there"), expected);
        let json = r#"{"epochs": 10, "optim": {"lr": 0.1, "betas": [0.9, null]}, "model": {"act": "relu"}}"#;
        let written: Value =
            serde_json::from_str(&file("a.json", json).with_parameters(&values).expect("all are there"))
                .expect("JSON");
        assert_eq!(
            written,
            json!({"epochs": 3, "optim": {"lr": 1e-7, "betas": [0.9, null]}, "model": {"act": "gelu"}})
        );
    }

    #[test]
    fn the_value_that_is_set_is_the_one_that_a_script_loads() {
        //  file, parameters, the line that changes, with what stands there afterwards
        let cases = [
            ("note: |\n  lr: 5\nlr: 0.1\n", json!({"lr": 2}), "lr: 0.1", "lr: 2"),
            ("gen: &x\n  lr: 0.1\ndisc: &y\n  lr: 0.2\n", json!({"disc.lr": 5.5}), "lr: 0.2", "lr: 5.5"),
            ("gen: &x\n  lr: 0.1\n  b: yes\ndisc: *x\n", json!({"disc.lr": 5}), "*x", "{lr: 5, b: yes}"),
            ("b: &b {lr: 0.1}\nown:\n  <<: *b\n", json!({"own.lr": 5}), "*b", "{lr: 5}"),
            ("lr: &l 0.1 # rate\nwd: *l\n", json!({"wd": 1e-7}), "*l", "1.0e-7"),
            ("lr: &l 0.1 # rate\nwd: *l\n", json!({"lr": 3}), "0.1", "3"),
            ("opt: {name: adam, lr: 0.1, b: [0.9, 0.99]}\n", json!({"opt.lr": 2}), "0.1", "2"),
            ("opt: {name: adam, b: [0.9, 0.99]}\n", json!({"opt.b.1": 2}), "0.99", "2"),
            ("layers:\n- width: 3\n- width: 4\n", json!({"layers.1.width": 9}), "4", "9"),
            ("layers:\n- opt:\n    lr: 4\n", json!({"layers.0.opt.lr": 9}), "4", "9"),
            ("'a.b': 1\n\"c d\": 2\n", json!({"a.b": 7, "c d": 2}), "1", "7"),
            ("lr: 0.1\nlr: 0.2\n", json!({"lr": 3}), "0.2", "3"),
            ("a: 1\n---\nlr: 2 # two\n", json!({"lr": 3}), "2 #", "3 #"),
            ("drop:   # none\nn: 1\n", json!({"drop": 0.5}), "drop:", "drop: 0.5"),
            ("drop: &d\nn: 1\n", json!({"drop": 0.5}), "&d", "&d 0.5"),
            ("lr: !!float 1\n", json!({"lr": 0.5}), "float 1", "float 0.5"),
            ("amp: no\n", json!({"amp": "true"}), "no", "true"),
            ("lr:\n  - 1\n  - 2\nn: 1\n", json!({"lr": 3}), "- 1\n  - 2", "3"),
            ("é: 'ü'\nlr: 0.1\n", json!({"lr": 2}), "0.1", "2"),
        ];
        for (text, values, old, new) in cases {
            let written = file("a.yaml", text)
                .with_parameters(&parameters(values))
                .unwrap_or_else(|error| panic!("{text}{error}"));
            let at = text.rfind(old).expect("it is in the text");
            let expected = format!("{}{new}{}", &text[..at], &text[at + old.len()..]);
            assert_eq!(written, expected, "{text}");
        }
        let toml = "note = \"\"\"\nlr = 5\n\"\"\"\nlr = 0.1 # rate\na.b = [1, 2]\n[[c]]\nx = {y = true}\n";
        let values = parameters(json!({"lr": 2, "a.b.1": 3, "c.0.x.y": "false"}));
        let expected = toml.replace("0.1", "2").replace("[1, 2]", "[1, 3]").replace("true", "false");
        assert_eq!(file("a.toml", toml).with_parameters(&values).expect("all are there"), expected);
    }

    #[test]
    fn a_value_that_would_be_read_as_another_is_refused() {
        let cases =
            [("lr: 1\n---\nlr: 2\n", "several documents"), ("lr: !!str 1\n", "would read another value")];
        for (text, expected) in cases {
            let error = file("a.yaml", text)
                .with_parameters(&parameters(json!({"lr": 3})))
                .expect_err(text)
                .to_string();
            assert!(error.contains("`lr`") && error.contains(expected), "{text}{error}");
        }
        for (name, text) in [("a.yaml", "a: [1\nb: 2\n"), ("a.toml", "a = \n"), ("a.json", "{")] {
            let error =
                ConfigFile::from_text(name.as_ref(), text.to_owned()).expect_err("a mistake").to_string();
            assert!(error.contains("line"), "{error}");
        }
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
            let message = file(name, text).with_parameters(&values).expect_err("it is deeper").to_string();
            assert!(message.contains("no single value `lr`") && message.contains("optim.lr"), "{message}");
        }
        let message =
            ConfigFile::read(std::path::Path::new("a.ini")).expect_err("its form is unknown").to_string();
        assert!(message.contains(".toml"), "{message}");
    }
}
