//! The flags of `foretell search`, and the study they describe.

use super::control::{Control, duration};
use crate::output::Format;
use crate::scheduling::{
    BudgetName, CautionName, KappaOfName, RankName, ReferenceName, Refit, SchedulerName, ScoreName,
};
use clap::ValueEnum;
use foretell_run::Limits;
use std::path::PathBuf;
use std::time::Duration;

/// Which configuration is tried next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum SamplerName {
    /// Every configuration independently.
    #[default]
    Random,
    /// Tree-structured Parzen estimators: what resembles good trials (parameters only).
    Tpe,
    /// Expected improvement under a Gaussian process (parameters only).
    Gp,
    /// Both in turn (parameters only).
    TpeGp,
    /// MetaQNN's Q-learning: networks are drawn layer by layer, ever more often by what trained ones were worth.
    QLearning,
}

/// By what trials are stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PolicyName {
    /// Nothing: as --no-stopping.
    None,
    /// Forecasts by --predictor.
    Srm,
    /// The median of the others' running means.
    Median,
    /// So many reports without a new best.
    Patience,
    /// ASHA without pauses: at the rungs R/η² and R/η all but the best 1/η.
    Asha,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureKind {
    /// All learning curves, stopped ones with their forecasts.
    Curves,
    /// Mean score at each ε, and the best so far.
    QLearning,
}

/// The arguments of `foretell search`. Without any: the quickstart, small MetaQNN networks on images drawn at run time.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A file with flags: `trials = 40` for `--trials 40`, `[param]` with a line a parameter, `command = ["python", …]`.
    /// Flags given here take the place of the file's.
    #[arg(value_name = "STUDY.toml")]
    pub(super) study: Option<PathBuf>,

    /// The networks to search: metaqnn (default), cuda-convnet, lstm, resnet-tiny, resnet-39; with a command of your own metaqnn
    /// alone, and it is given each as `{net}`.
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) space: Option<String>,
    /// Their data: shapes (default), shapes:SIDE, cifar10:DIR, mnist:DIR, fashion-mnist:DIR, svhn:DIR, tiny-imagenet:DIR; for lstm
    /// words (default), text:PATH, characters:PATH.
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) data: Option<String>,
    /// Scales filters, cells and units of the space; 1 is the paper's width, such as 64 to 512 filters (quickstart: 0.125).
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

    /// What networks are trained on: cpu, gpu, gpu:1; trials share a GPU (default: cpu; GPUs need a program built with
    /// --features gpu).
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) device: Option<String>,

    /// A parameter of the command, such as `lr=log:1e-4:1`, `layers=int:1:8`, `p=float:0:0.9`, `opt=choice:sgd,adam`,
    /// `momentum=float:0:1 if opt=sgd`.
    #[arg(long = "param", value_name = "NAME=KIND:…", help_heading = "Your own command")]
    pub(super) parameters: Vec<String>,
    /// Where the metric is in the command's output: a field of its JSON reports, or a pattern such as
    /// `val_acc=([\d.]+)`.
    #[arg(long, value_name = "NAME|PATTERN", help_heading = "Your own command")]
    pub(super) metric: Option<String>,
    /// Smaller values of the metric are better (default: by the metric's name).
    #[arg(long, help_heading = "Your own command", conflicts_with = "maximize")]
    pub(super) minimize: bool,
    /// Larger values of the metric are better (default: by the metric's name).
    #[arg(long, help_heading = "Your own command")]
    pub(super) maximize: bool,
    /// The command that trains one configuration; `{lr}` in it stands for the parameter's value.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Your own command")]
    pub(super) command: Vec<String>,

    /// How many trials in all (default: 40; Hyperband's plan says how many, see --runs).
    #[arg(long, help_heading = "Search", conflicts_with = "runs")]
    pub(super) trials: Option<u64>,
    /// What the whole search may consume, in epochs of all trials together: the best sampler, scheduler and policy for it are chosen,
    /// unless they are given.
    #[arg(long, value_name = "EPOCHS", help_heading = "Search", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) budget_epochs: Option<u64>,
    /// How long the search may take, such as 90m, 8h or 30s; chooses like --budget-epochs. Earlier runs of
    /// the same search count. What runs then is interrupted, and goes on with a larger budget.
    #[arg(long, value_name = "TIME", help_heading = "Search", value_parser = duration)]
    pub(super) budget_time: Option<Duration>,
    /// The command keeps no checkpoints: nothing is chosen that pauses trials.
    #[arg(long, help_heading = "Search")]
    pub(super) no_checkpoints: bool,
    /// Try this configuration first, such as `lr=0.1,opt=sgd`, or a network as `[C(64,3,1), SM(10)]`; may be given several times
    /// (in a file: [[trial]]).
    #[arg(long, value_name = "NAME=VALUE,…", help_heading = "Search")]
    pub(super) enqueue: Vec<String>,
    /// R, how many epochs a whole training takes (the paper: 20; quickstart: 10).
    #[arg(long, help_heading = "Search")]
    pub(super) epochs: Option<u64>,
    /// Train so many of the best networks anew when the search has ended, for --retrain-epochs and without stopping; kept in the
    /// folder `retrained` of the study.
    #[arg(long, value_name = "K", help_heading = "Search", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) retrain_best: Option<u64>,
    /// How long the best networks train anew (the paper: 300).
    #[arg(long, value_name = "EPOCHS", help_heading = "Search", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) retrain_epochs: Option<u64>,
    /// How many trials run at a time (default: one a core).
    #[arg(long, help_heading = "Search", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) workers: Option<u16>,
    /// What a trial counts with, and what is forecast.
    #[arg(long, value_enum, default_value_t, help_heading = "Search")]
    pub(super) score: ScoreName,
    /// The seed of everything that is drawn.
    #[arg(long, default_value_t = 0, help_heading = "Search")]
    pub(super) seed: u64,
    /// The folder that keeps the study; the same command with the same folder goes on where it ended (default: one named
    /// after the study's settings, in foretell-out).
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    pub(super) out: Option<PathBuf>,

    /// Which configuration is tried next (default: random; with a budget tpe-gp).
    #[arg(long, value_enum, help_heading = "Search")]
    pub(super) sampler: Option<SamplerName>,
    /// Who is trained next, and how far (default: full; with a budget asha).
    #[arg(long, value_enum, help_heading = "Search")]
    pub(super) scheduler: Option<SchedulerName>,
    /// Print the plan (trials, brackets, rungs, epochs) and run nothing.
    #[arg(long, help_heading = "Search")]
    pub(super) explain: bool,

    /// η of the schedulers with rungs: of how many trials one goes on.
    #[arg(long, default_value_t = 3, help_heading = "Rungs")]
    pub(super) eta: u64,
    /// The most rungs of asha below the end, the last ones (default: as many as η allows; with a budget 2).
    #[arg(long, value_name = "N", help_heading = "Rungs", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rungs: Option<u32>,
    /// By what trials are compared at a rung, with the policies none and asha: forecasts of their end are made by --predictor once
    /// --burn-in trials (default: 5) are trained to it, and asha does not hold trials back at rungs that say nothing of it.
    #[arg(long, value_enum, default_value_t, help_heading = "Rungs")]
    pub(super) rank: RankName,
    /// How often Hyperband's brackets are run.
    #[arg(long, default_value_t = 1, help_heading = "Rungs")]
    pub(super) runs: u64,
    /// κ of f-Hyperband, in (0, 1]: less is bolder.
    #[arg(long, default_value_t = 0.25, help_heading = "Rungs")]
    pub(super) kappa: f64,
    /// Of which trials κ is a share: those that go on, or all in the rung.
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", help_heading = "Rungs")]
    pub(super) kappa_of: KappaOfName,
    /// Whom f-Hyperband compares a trial with: its rung so far (as the paper prints it), or all results seen at its level.
    #[arg(long, value_enum, default_value = "level", help_heading = "Rungs")]
    pub(super) reference: ReferenceName,

    /// How many networks the ε schedule of Q-learning is scaled to (the paper: 2700; default: as many as trials).
    #[arg(long, value_name = "NETWORKS", help_heading = "Q-learning")]
    pub(super) epsilon_trials: Option<u64>,
    /// α: how far a value moves towards its target.
    #[arg(long, default_value_t = 0.01, help_heading = "Q-learning")]
    pub(super) alpha: f64,
    /// γ: weight of the next state's value.
    #[arg(long, default_value_t = 1.0, help_heading = "Q-learning")]
    pub(super) gamma: f64,
    /// Q₀: value of what was never updated.
    #[arg(long, default_value_t = 0.5, help_heading = "Q-learning")]
    pub(super) initial_value: f64,
    /// Networks replayed after each result (the paper: 100; its code: 128).
    #[arg(long, default_value_t = 128, help_heading = "Q-learning")]
    pub(super) replay: usize,

    /// By what trials are stopped (default: srm; with hyperband, successive-halving and asha none).
    #[arg(long, value_enum, help_heading = "Stopping")]
    pub(super) policy: Option<PolicyName>,
    /// How much risk is taken to save training: safe nearly never loses the best trial, fast now and then ends with the second
    /// best (default: balanced).
    #[arg(long, value_enum, conflicts_with = "paper", help_heading = "Stopping")]
    pub(super) caution: Option<CautionName>,
    /// The paper's settings: learn once from 100 trials by svr-rbf, and stop at the first check that is 95 % sure.
    #[arg(long, help_heading = "Stopping")]
    pub(super) paper: bool,
    /// How many trials are trained to their end before any is stopped (default: 3; the paper: 100); with rungs, at each level
    /// (default: 20).
    #[arg(long, help_heading = "Stopping")]
    pub(super) burn_in: Option<u64>,
    /// Runs of earlier searches to learn from, too: recorded curves, or the folder of a study.
    #[arg(long, value_name = "CURVES", help_heading = "Stopping")]
    pub(super) learn_from: Vec<PathBuf>,
    /// Δ: stop a trial once it is this probable that it will not win; in [0.5, 1) (default: by --caution
    /// 0.999, 0.99 or 0.95; with rungs 0.9).
    #[arg(long, help_heading = "Stopping")]
    pub(super) stop_probability: Option<f64>,
    /// δ: let trials finish that are forecast to come this close to the best; in units of the metric.
    #[arg(long, default_value_t = 0.0, help_heading = "Stopping")]
    pub(super) offset: f64,
    /// Compare with the n-th best finished trial.
    #[arg(long, default_value_t = 1, help_heading = "Stopping")]
    pub(super) nth_best: usize,
    /// How many checks in a row must agree before a trial is stopped (the paper: 1; default: 2; with rungs 1).
    #[arg(long, help_heading = "Stopping")]
    pub(super) agreeing_checks: Option<usize>,
    /// What Δ promises: each check, or all checks of a trial together.
    #[arg(long, value_enum, default_value_t, help_heading = "Stopping")]
    pub(super) error_budget: BudgetName,
    /// Learn again when this many times as many trials are finished, such as 1.25, or `once` (default: 1.05; with rungs once).
    #[arg(long, value_name = "FACTOR", help_heading = "Stopping")]
    pub(super) refit: Option<Refit>,
    /// The share of trials that is never stopped: an unbiased audit.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", help_heading = "Stopping")]
    pub(super) exempt: f64,
    /// Policy patience: reports without a new best before a trial is stopped.
    #[arg(long, default_value_t = 5, help_heading = "Stopping")]
    pub(super) patience: usize,
    /// The predictor (default: mean-gain; with rungs auto).
    #[arg(long, help_heading = "Stopping")]
    pub(super) predictor: Option<String>,
    /// Train every trial to its end; make no forecasts.
    #[arg(long, conflicts_with = "shadow", help_heading = "Stopping")]
    pub(super) no_stopping: bool,
    /// Decide and record, but stop nothing: shows what stopping would have cost.
    #[arg(long, help_heading = "Stopping")]
    pub(super) shadow: bool,

    #[command(flatten)]
    pub(super) control: Control,

    /// The form of the result.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(super) format: Format,
    /// Draw the study into this file (.svg or .png).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
    /// What to draw (default: curves; with Q-learning its own figure).
    #[arg(long, value_enum, help_heading = "Output")]
    figure: Option<FigureKind>,
}

impl Arguments {
    /// What a run may take, where earlier ones took the time `before`: by the flags of control, and by the budget of time.
    pub(super) fn limits(&self, before: Duration) -> Limits {
        let limits = self.control.limits(before);
        Limits { time: limits.time.into_iter().chain(self.budget_time).min(), ..limits }
    }

    /// Whether it has a budget, for which the sampler, scheduler and policy are chosen.
    pub(super) fn has_budget(&self) -> bool {
        self.budget_epochs.is_some() || self.budget_time.is_some()
    }

    /// How many trials run at a time.
    pub(super) fn workers(&self) -> usize {
        let gpus = self.control.gpus.len();
        if self.workers.is_none() && gpus > 0 {
            return gpus;
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.workers.map_or_else(cores, usize::from)
    }

    /// What to draw.
    pub(super) fn figure(&self) -> FigureKind {
        self.figure.unwrap_or(match self.sampler.unwrap_or_default() {
            SamplerName::QLearning => FigureKind::QLearning,
            SamplerName::Random | SamplerName::Tpe | SamplerName::Gp | SamplerName::TpeGp => {
                FigureKind::Curves
            }
        })
    }
}
