//! The study that the flags and the file describe, and where it is kept.

use super::flags::SearchArguments;
use super::workload::Workload;
use crate::catalogue::catalogue;
use crate::curves::DEFAULT_PREDICTOR;
use crate::output::fingerprint;
use foretell::{Direction, StopCriterion};
use foretell_search::{Refit, SamplerSpec, Space, StudyRequest, StudySpec};
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
            let asked = self.asked.request.sampler.as_ref();
            if asked.is_some_and(|asked| asked.name == "random") {
                text.push_str("random");
            }
            text.extend(self.asked.request.learn_from.iter().flatten().map(String::as_str));
            studies.join(format!("{kind}-{:08x}", fingerprint(&text)))
        })
    }

    /// The study, with the first version's defaults for settings that no flag sets, by which older studies are found.
    fn identity(&self, spec: &StudySpec) -> StudySpec {
        let asked = &self.asked.request;
        let mut identity = StudySpec { burn_in: asked.burn_in.unwrap_or(0), ..spec.regardless_of_length() };
        // the settings that a sampler derives from the number of trials do not count: the number may be raised later
        if let Some(named) = &asked.sampler
            && let Ok(sampler) = catalogue().resolve_sampler(named, &asked.fields(), 0, None)
        {
            identity.sampler = sampler;
        }
        if asked.sampler.is_none() && spec.sampler == SamplerSpec::usual(&spec.space) {
            identity.sampler = SamplerSpec::default();
        }
        if asked.caution.is_none() && asked.paper != Some(true) {
            let (stop_probability, agreeing_checks) =
                if spec.schedule.is_full() { (0.99, 2) } else { (0.9, 1) };
            identity.criterion = StopCriterion {
                stop_probability: asked.stop_probability.unwrap_or(stop_probability),
                agreeing_checks: asked.agreeing_checks.unwrap_or(agreeing_checks),
                ..spec.criterion
            };
            identity.predictor = asked.predictor.clone().unwrap_or_else(|| DEFAULT_PREDICTOR.to_owned());
            identity.refit = asked.refit.and_then(Refit::growth);
        }
        identity
    }

    /// The budget, if there is one.
    pub(super) fn budget_line(&self) -> Option<String> {
        let epochs = self.asked.request.budget_epochs.map(|epochs| format!("{epochs} epochs"));
        let time = self.budget_time.map(|time| format!("{time:?}"));
        let parts: Vec<String> = epochs.into_iter().chain(time).collect();
        (!parts.is_empty()).then(|| format!("budget: {}", parts.join(" or ")))
    }
}
