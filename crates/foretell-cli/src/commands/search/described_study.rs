//! The study that the flags and the file describe, and where it is kept.

use super::flags::SearchArguments;
use super::workload::Workload;
use crate::catalogue::catalogue;
use crate::output::fingerprint;
use foretell::Direction;
use foretell_search::{Space, StudyRequest, StudySpec};
use std::path::{Path, PathBuf};

/// The default folder of studies.
pub(crate) const DEFAULT_STUDIES_FOLDER: &str = "foretell-out";

impl SearchArguments {
    /// The request of the flags and the file, with the settings that `workload` adds.
    pub(super) fn request(&self, workload: &Workload) -> StudyRequest {
        StudyRequest {
            space: Some(workload.space.clone()),
            metric: workload.metric_name.clone(),
            direction: self.direction(),
            ends_by_time: self.budget_time.is_some(),
            workload: workload.description.clone(),
            ..self.asked.request.clone()
        }
    }

    /// The runs to learn from.
    pub(super) fn learn_from(&self) -> Vec<PathBuf> {
        self.asked.request.learn_from.iter().flatten().map(PathBuf::from).collect()
    }

    /// The metric that trials report: a name or a pattern, or the first objective.
    pub(super) fn metric(&self) -> Option<&str> {
        let first = || self.asked.request.first_objective().map(|(name, _)| name);
        self.metric.as_deref().or_else(first)
    }

    /// The direction, if the user set it.
    pub(super) fn direction(&self) -> Option<Direction> {
        match (self.minimize, self.maximize) {
            (true, _) => Some(Direction::Minimize),
            (_, true) => Some(Direction::Maximize),
            _ => {
                self.asked.request.direction.or(self.asked.request.first_objective().and_then(|(_, way)| way))
            }
        }
    }

    /// Where the study is kept. Unless told otherwise a folder named after everything that determines the study but its
    /// number of trials, so that the same command finds it again.
    pub(super) fn directory(&self, spec: &StudySpec) -> PathBuf {
        let studies = Path::new(DEFAULT_STUDIES_FOLDER);
        let named = self.name.as_ref().map(|name| studies.join(name));
        self.out.clone().or(named).unwrap_or_else(|| {
            let kind = match &spec.space {
                _ if !self.command.is_empty() => "command",
                Space::Parameters(_) => self.space.as_deref().unwrap_or("parameters"),
                Space::Own(part) => part.name(),
            };
            let mut text = self.identity(spec).identity();
            text.extend(self.asked.request.learn_from.iter().flatten().map(String::as_str));
            studies.join(format!("{kind}-{:08x}", fingerprint(&text)))
        })
    }

    /// The study without what its number of trials determines, because the number may be raised later.
    fn identity(&self, spec: &StudySpec) -> StudySpec {
        let asked = &self.asked.request;
        let named = asked.sampler.as_ref();
        let sampler =
            named.and_then(|named| catalogue().resolve_sampler(named, &asked.fields(), 0, None).ok());
        StudySpec {
            burn_in: asked.burn_in.unwrap_or(0),
            sampler: sampler.unwrap_or_else(|| spec.sampler.clone()),
            ..spec.regardless_of_length()
        }
    }

    /// The budget, if there is one.
    pub(super) fn budget_line(&self) -> Option<String> {
        let epochs = self.asked.request.budget_epochs.map(|epochs| format!("{epochs} epochs"));
        let time = self.budget_time.map(|time| format!("{time:?}"));
        let parts: Vec<String> = epochs.into_iter().chain(time).collect();
        (!parts.is_empty()).then(|| format!("budget: {}", parts.join(" or ")))
    }
}
