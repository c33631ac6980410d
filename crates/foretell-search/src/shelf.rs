//! The entries of a catalogue of one kind.

use crate::part::{NamedSettings, PartError, StudyPart};
use foretell::MISSING_PAPER_CRATE;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Makes a part from its settings: the part, and its settings in full.
type PartMaker<T> = Arc<dyn Fn(&Value) -> Result<(Arc<T>, Value), String> + Send + Sync>;

/// The settings of an entry by name, each with its documentation.
type SettingDocs = &'static [(&'static str, &'static str)];

struct ShelfEntry<T: ?Sized> {
    name: &'static str,
    about: &'static str,
    settings: SettingDocs,
    make: PartMaker<T>,
}

/// The entries of one kind.
pub(crate) struct PartShelf<T: ?Sized> {
    field: &'static str,
    entries: Vec<ShelfEntry<T>>,
}

impl<T: ?Sized> Clone for PartShelf<T> {
    fn clone(&self) -> Self {
        let entry = |entry: &ShelfEntry<T>| ShelfEntry { make: Arc::clone(&entry.make), ..*entry };
        Self { entries: self.entries.iter().map(entry).collect(), ..*self }
    }
}

impl<T: ?Sized> PartShelf<T> {
    /// No entries yet, of parts that the `field` of a request names.
    pub(crate) fn new(field: &'static str) -> Self {
        Self { field, entries: Vec::new() }
    }

    /// Adds an entry, unless there is one of that name.
    pub(crate) fn add(
        &mut self,
        (name, about): (&'static str, &'static str),
        settings: SettingDocs,
        make: impl Fn(&Value) -> Result<(Arc<T>, Value), String> + Send + Sync + 'static,
    ) {
        if !self.names().any(|(known, _)| known == name) {
            self.entries.push(ShelfEntry { name, about, settings, make: Arc::new(make) });
        }
    }

    /// The names, each with a sentence.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.entries.iter().map(|entry| (entry.name, entry.about))
    }

    /// The settings of the entry `name`.
    pub(crate) fn settings(&self, name: &str) -> SettingDocs {
        self.entries.iter().find(|entry| entry.name == name).map_or(&[], |entry| entry.settings)
    }

    /// The refusal of the name `found`.
    fn unknown_name_error(&self, found: &str) -> PartError {
        let known: Vec<&str> = self.names().map(|(name, _)| name).collect();
        let absent = match laboratory(self.field).contains(&found) {
            true => format!("`{found}` {MISSING_PAPER_CRATE}"),
            false => format!("unknown `{found}`"),
        };
        let choices =
            if known.is_empty() { String::new() } else { format!(". Choose one of {}", known.join(", ")) };
        PartError::new(self.field, format!("{absent}{choices}"))
    }

    /// `named`, made; the settings that it leaves open are those of the same name among the `fields` of a request. An entry with one
    /// setting may be given the bare value.
    pub(crate) fn part(
        &self,
        named: &NamedSettings,
        fields: &Map<String, Value>,
    ) -> Result<StudyPart<T>, PartError> {
        let entry = self.entries.iter().find(|entry| entry.name == named.name);
        let entry = entry.ok_or_else(|| self.unknown_name_error(&named.name))?;
        let mut given = named.settings.clone();
        if let ([(only, _)], false) = (entry.settings, given.is_null() || given.is_object()) {
            given = Map::from_iter([((*only).to_owned(), given)]).into();
        }
        for (name, _) in entry.settings {
            if let Some(field) = fields.get(*name)
                && given.get(name).is_none()
            {
                let mut settings = given.as_object().cloned().unwrap_or_default();
                settings.insert((*name).to_owned(), field.clone());
                given = settings.into();
            }
        }
        let (made, settings) = (entry.make)(&given)
            .map_err(|why| PartError::new(self.field, format!("{}: {why}", named.name)))?;
        Ok(StudyPart::new(NamedSettings { name: named.name.clone(), settings }, made))
    }

    /// Makes `part`, if only its description was read.
    pub(crate) fn remake_part(&self, part: &mut StudyPart<T>) -> Result<(), PartError> {
        if part.implementation().is_none() {
            *part = self.part(part.named_settings(), &Map::new())?;
        }
        Ok(())
    }
}

/// The parts that `foretell-paper` brings, by the `field` that names them.
pub(crate) fn laboratory(field: &str) -> &'static [&'static str] {
    match field {
        "policy" => &["lce", "lce-optimistic"],
        "sampler" => &["q-learning"],
        "space" => &["metaqnn"],
        _ => &[],
    }
}
