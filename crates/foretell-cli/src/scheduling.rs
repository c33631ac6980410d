//! Flags, shared by several commands, that choose which runs are trained and stopped and the score of a run.

use clap::ValueEnum;
use foretell::RunScore;

/// The score of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScoreName {
    /// The last value.
    #[default]
    Last,
    /// The best value so far, if you keep the best checkpoint.
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

/// The score of a run, in words: `val_acc`, or `best val_acc`.
pub(crate) fn measure_name(score: RunScore, metric: &str) -> String {
    match score {
        RunScore::Last => metric.to_owned(),
        RunScore::Best => format!("best {metric}"),
        RunScore::Mean(count) => format!("mean of the last {count} {metric}"),
    }
}
