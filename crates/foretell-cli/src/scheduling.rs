//! The flags that say who is trained and stopped, and what a run counts with, shared by several commands.

use clap::ValueEnum;
use foretell::{ErrorBudget, RunScore};
use foretell_search::{Caution, KappaOf, Rank, RecordedSampler, Reference};
use std::str::FromStr;

/// Who is trained next, and how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchedulerName {
    /// Every run to its end.
    #[default]
    Full,
    /// Successive halving: one bracket over all runs.
    SuccessiveHalving,
    /// Hyperband, without stopping inside a rung unless a policy is named.
    Hyperband,
    /// Hyperband with stopping inside its rungs.
    FHyperband,
    /// Asynchronous successive halving over all runs.
    Asha,
}

impl SchedulerName {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::SuccessiveHalving => "successive-halving",
            Self::Hyperband => "hyperband",
            Self::FHyperband => "f-hyperband",
            Self::Asha => "asha",
        }
    }

    /// Whether it runs Hyperband's brackets.
    pub(crate) fn is_hyperband(self) -> bool {
        matches!(self, Self::Hyperband | Self::FHyperband)
    }
}

/// How much risk is taken to save training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CautionName {
    /// The best is nearly never lost.
    Safe,
    /// Most of the saving for little risk.
    #[default]
    Balanced,
    /// More saving, and now and then the second best.
    Fast,
}

impl From<CautionName> for Caution {
    fn from(name: CautionName) -> Self {
        match name {
            CautionName::Safe => Self::Safe,
            CautionName::Balanced => Self::Balanced,
            CautionName::Fast => Self::Fast,
        }
    }
}

/// When forecasts are learnt again: `once` for never, or a factor of finished runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Refit(pub(crate) Option<f64>);

impl FromStr for Refit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "once" {
            return Ok(Self(None));
        }
        let factor = text.parse().map_err(|_| "neither a factor above 1, such as 1.25, nor `once`")?;
        Ok(Self(Some(factor)))
    }
}

/// What a run counts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScoreName {
    /// Its last value.
    #[default]
    Last,
    /// The best value it has reached: its best checkpoint is kept.
    Best,
}

impl From<ScoreName> for RunScore {
    fn from(name: ScoreName) -> Self {
        match name {
            ScoreName::Last => Self::Last,
            ScoreName::Best => Self::Best,
        }
    }
}

/// What a run counts with, in words: `val_acc`, or `best val_acc`.
pub(crate) fn measure_name(score: RunScore, metric: &str) -> String {
    match score {
        RunScore::Last => metric.to_owned(),
        RunScore::Best => format!("best {metric}"),
    }
}

/// What Δ promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BudgetName {
    /// Each check may err with 1 − Δ: the paper's rule.
    #[default]
    #[value(name = "per-check", alias = "per-look")]
    Check,
    /// All checks of a run together may, the early ones more.
    #[value(name = "per-run")]
    Run,
    /// All checks of a run together may, each the same.
    #[value(name = "per-run-evenly")]
    RunEvenly,
}

/// In which order recorded runs are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordedSamplerName {
    /// Random orders.
    #[default]
    Random,
    /// The recorded configurations nearest to what tree-structured Parzen estimators propose.
    Tpe,
    /// The recorded configurations nearest to what a Gaussian process proposes.
    Gp,
    /// Both in turn.
    TpeGp,
}

impl RecordedSamplerName {
    /// Its name on the command line.
    pub(crate) fn of(sampler: RecordedSampler) -> &'static str {
        match sampler {
            RecordedSampler::Random => "random",
            RecordedSampler::Tpe => "tpe",
            RecordedSampler::Gp => "gp",
            RecordedSampler::TpeGp => "tpe-gp",
        }
    }
}

impl From<RecordedSamplerName> for RecordedSampler {
    fn from(name: RecordedSamplerName) -> Self {
        match name {
            RecordedSamplerName::Random => Self::Random,
            RecordedSamplerName::Tpe => Self::Tpe,
            RecordedSamplerName::Gp => Self::Gp,
            RecordedSamplerName::TpeGp => Self::TpeGp,
        }
    }
}

/// By what runs are compared at a rung.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankName {
    /// Their value there.
    #[default]
    Value,
    /// The forecast of their end.
    Mean,
    /// The forecast of their end and one standard deviation: those first that may still become the best.
    Upper,
}

impl From<RankName> for Rank {
    fn from(name: RankName) -> Self {
        match name {
            RankName::Value => Self::Value,
            RankName::Mean => Self::Mean,
            RankName::Upper => Self::Upper,
        }
    }
}

/// Whom f-Hyperband compares a run with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceName {
    /// Its rung so far.
    #[default]
    Rung,
    /// All results seen at its level.
    Level,
}

/// Of which runs κ is a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KappaOfName {
    /// Those that go on.
    #[default]
    Next,
    /// All in the rung.
    Rung,
}

impl From<BudgetName> for ErrorBudget {
    fn from(name: BudgetName) -> Self {
        match name {
            BudgetName::Check => Self::PerCheck,
            BudgetName::Run => Self::PerRun,
            BudgetName::RunEvenly => Self::PerRunEvenly,
        }
    }
}

impl From<ReferenceName> for Reference {
    fn from(name: ReferenceName) -> Self {
        match name {
            ReferenceName::Rung => Self::Rung,
            ReferenceName::Level => Self::Level,
        }
    }
}

impl From<KappaOfName> for KappaOf {
    fn from(name: KappaOfName) -> Self {
        match name {
            KappaOfName::Next => Self::Next,
            KappaOfName::Rung => Self::Rung,
        }
    }
}
