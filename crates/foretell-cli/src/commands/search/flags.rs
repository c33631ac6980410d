//! The flags of `foretell search`, and the study they describe.

use super::workload::Workload;
use crate::curves::DEFAULT_PREDICTOR;
use crate::failure::Failure;
use crate::output::Format;
use foretell::{Direction, StopRule};
use foretell_search::{Space, Stopping, StudySpec};
use std::path::PathBuf;

/// The arguments of `foretell search`. Without any: the quickstart, small MetaQNN networks on images drawn at run time.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The built-in networks to search.
    #[arg(long, default_value = "metaqnn", help_heading = "Built-in networks")]
    pub(super) space: String,
    /// Their images: shapes, shapes:SIDE, cifar10:DIR, mnist:DIR.
    #[arg(long, default_value = "shapes", help_heading = "Built-in networks")]
    pub(super) data: String,
    /// Scales filters and units of the space; 1 is the paper's 64 to 512 filters (quickstart: 0.125).
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) width: Option<f64>,
    /// Train on a class-balanced part of the data, of this size (quickstart: 1000).
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) train_size: Option<usize>,
    /// Validate on a class-balanced part of this size (quickstart: 500).
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) validation_size: Option<usize>,
    /// The most layers a network may have before its softmax (the paper: 18; quickstart: 8).
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) max_layers: Option<usize>,
    /// Images a step of the optimizer (the paper: 128; quickstart: 16).
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) batch_size: Option<usize>,

    /// A parameter of the command, such as `lr=log:1e-4:1`, `layers=int:1:8`, `p=float:0:0.9`, `opt=choice:sgd,adam`.
    #[arg(long = "param", value_name = "NAME=KIND:…", help_heading = "Your own command")]
    pub(super) parameters: Vec<String>,
    /// Where the metric is in the command's output: a field of its JSON reports, or a pattern such as
    /// `val_acc=([\d.]+)`.
    #[arg(long, value_name = "NAME|PATTERN", help_heading = "Your own command")]
    pub(super) metric: Option<String>,
    /// Smaller values of the metric are better.
    #[arg(long, help_heading = "Your own command")]
    pub(super) minimize: bool,
    /// The command that trains one configuration; `{lr}` in it stands for the parameter's value.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Your own command")]
    pub(super) command: Vec<String>,

    /// How many trials in all (quickstart: 24).
    #[arg(long, help_heading = "Search")]
    pub(super) trials: Option<u64>,
    /// How many epochs a whole training takes (the paper: 20; quickstart: 10).
    #[arg(long, help_heading = "Search")]
    pub(super) epochs: Option<u64>,
    /// How many trials run at a time (default: one a core).
    #[arg(long, help_heading = "Search", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) workers: Option<u16>,
    /// The seed of everything that is drawn.
    #[arg(long, default_value_t = 0, help_heading = "Search")]
    pub(super) seed: u64,
    /// The folder that keeps the study; the same command with the same folder goes on where it ended (default: one named
    /// after the study's settings, in foretell-out).
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    pub(super) out: Option<PathBuf>,

    /// How many trials are trained to their end before forecasts begin (the paper: 100; default: a third of the trials,
    /// 100 at most).
    #[arg(long, help_heading = "Stopping")]
    pub(super) burn_in: Option<u64>,
    /// Δ: stop a trial once it is this probable that it will not win; in [0.5, 1).
    #[arg(long, default_value_t = 0.99, help_heading = "Stopping")]
    pub(super) stop_probability: f64,
    /// δ: let trials finish that are forecast to come this close to the best; in units of the metric.
    #[arg(long, default_value_t = 0.0, help_heading = "Stopping")]
    pub(super) offset: f64,
    /// Compare with the n-th best finished trial.
    #[arg(long, default_value_t = 1, help_heading = "Stopping")]
    pub(super) nth_best: usize,
    /// How many checks in a row must agree before a trial is stopped (the paper: 1).
    #[arg(long, default_value_t = 2, help_heading = "Stopping")]
    pub(super) agreeing_checks: u64,
    /// The predictor.
    #[arg(long, default_value = DEFAULT_PREDICTOR, help_heading = "Stopping")]
    pub(super) predictor: String,
    /// Train every trial to its end; make no forecasts.
    #[arg(long, conflicts_with = "shadow", help_heading = "Stopping")]
    pub(super) no_stopping: bool,
    /// Decide and record, but stop nothing: shows what stopping would have cost.
    #[arg(long, help_heading = "Stopping")]
    pub(super) shadow: bool,

    /// The form of the result.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(super) format: Format,
    /// Draw all curves into this file (.svg or .png).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
}

/// The paper's burn-in.
const PAPER_BURN_IN: u64 = 100;

impl Arguments {
    /// Whether this is the quickstart: drawn images and nothing said about sizes.
    fn is_small(&self) -> bool {
        self.command.is_empty() && self.data.starts_with("shapes")
    }

    /// What runs a trial.
    pub(super) fn workload(&self) -> Result<Workload, Failure> {
        if self.command.is_empty() {
            if !self.parameters.is_empty() {
                return Err(Failure::input(
                    "--param needs a command to give the parameters to: write it after `--`",
                ));
            }
            Workload::built_in(self, self.is_small())
        } else {
            Workload::command(self)
        }
    }

    /// The study that the flags describe.
    pub(super) fn spec(&self, workload: &Workload) -> Result<StudySpec, Failure> {
        let trials = self.trials.unwrap_or(24);
        Ok(StudySpec {
            space: workload.space.clone(),
            metric: workload.metric_name.clone(),
            direction: if self.minimize { Direction::Minimize } else { Direction::Maximize },
            max_resource: self.epochs.unwrap_or(if self.is_small() { 10 } else { 20 }),
            trials,
            burn_in: self.burn_in.unwrap_or((trials / 3).clamp(1, PAPER_BURN_IN)),
            stopping: match (self.no_stopping, self.shadow) {
                (true, _) => Stopping::Off,
                (_, true) => Stopping::Shadow,
                _ => Stopping::Live,
            },
            predictor: self.predictor.clone(),
            rule: StopRule {
                stop_probability: self.stop_probability,
                offset: self.offset,
                nth_best: self.nth_best,
            },
            agreeing_checks: self.agreeing_checks,
            seed: self.seed,
            workload: workload.description.clone(),
        })
    }

    /// How many trials run at a time.
    pub(super) fn workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.workers.map_or_else(cores, usize::from)
    }

    /// Where the study is kept. Unless told otherwise a folder named after everything that determines the study but its
    /// number of trials, so that the same command finds it again.
    pub(super) fn directory(&self, spec: &StudySpec) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let kind = match &spec.space {
                Space::Metaqnn(_) => "metaqnn",
                Space::Parameters(_) => "command",
            };
            let identity = StudySpec { trials: 0, burn_in: self.burn_in.unwrap_or(0), ..spec.clone() };
            let text = serde_json::to_string(&identity).unwrap_or_default();
            PathBuf::from("foretell-out").join(format!("{kind}-{:08x}", fingerprint(&text)))
        })
    }
}

/// FNV-1a, folded to 32 bits: a short name for a long text.
fn fingerprint(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}
