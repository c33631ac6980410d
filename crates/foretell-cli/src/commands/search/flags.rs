//! The flags of `foretell search`, and the study they describe.

use super::control::{Control, duration};
use crate::output::Format;
use crate::request_flags::RequestFlags;
use clap::ValueEnum;
use foretell_run::Limits;
use foretell_search::SamplerName;
use std::path::PathBuf;
use std::time::Duration;

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
    /// Study file: `trials = 40` for `--trials 40`, `[param]` with one line per parameter, `command = ["python", …]`.
    /// Flags given here override the file.
    #[arg(value_name = "STUDY.toml")]
    pub(super) study: Option<PathBuf>,

    /// Parameter of the command, such as `lr=log:1e-4:1`, `layers=int:1:8`, `p=float:0:0.9`, `opt=choice:sgd,adam`,
    /// `momentum=float:0:1 if opt=sgd`.
    #[arg(long = "param", value_name = "NAME=KIND:…", help_heading = "Your own command")]
    pub(super) parameters: Vec<String>,
    /// Where the metric is in the command's output: its name, its line with `{value}` in the place of the number, such as
    /// `Test: * Acc@1 {value}`, or a regular expression such as `val_acc=([\d.]+)`.
    #[arg(long, value_name = "NAME|LINE|PATTERN", help_heading = "Your own command")]
    pub(super) metric: Option<String>,
    /// Where the epoch is, if not in the metric's line: a line above it with `{step}` in the place of the number, such as
    /// `Epoch: [{step}]`. The metric is then a line or a pattern.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "LINE",
        help_heading = "Your own command",
        requires = "metric"
    )]
    pub(super) step: Option<String>,
    /// Smaller values of the metric are better (default: by the metric's name).
    #[arg(long, help_heading = "Your own command", conflicts_with = "maximize")]
    pub(super) minimize: bool,
    /// Larger values of the metric are better (default: by the metric's name).
    #[arg(long, help_heading = "Your own command")]
    pub(super) maximize: bool,
    /// Command that trains one configuration; `{lr}` in it stands for the value of the parameter lr.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Your own command")]
    pub(super) command: Vec<String>,

    /// Time that the search may take, such as 90m, 8h or 30s, earlier runs of it included; chooses like --budget-epochs. Trials
    /// that still run are then interrupted; a larger budget continues them.
    #[arg(long, value_name = "TIME", help_heading = "Search", value_parser = duration)]
    pub(super) budget_time: Option<Duration>,
    /// Number of trials to run at a time (default: one per core; with --gpus one per GPU).
    #[arg(long, help_heading = "Search", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) workers: Option<u16>,
    /// Name of the study: it is kept in foretell-out/NAME, and goes on there also with other ranges, another sampler or more epochs.
    #[arg(long, value_name = "NAME", help_heading = "Search", conflicts_with = "out", value_parser = study_name)]
    pub(super) name: Option<String>,
    /// Note about the study, which `foretell study ls` shows.
    #[arg(long, hide_short_help = true, value_name = "TEXT", help_heading = "Search")]
    pub(super) note: Option<String>,
    /// Folder of the study; the same command with the same folder continues it (default: a folder in foretell-out, named after
    /// the settings).
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    pub(super) out: Option<PathBuf>,

    /// Print the plan (parameters, trials, brackets, rungs, epochs) and run nothing.
    #[arg(long, help_heading = "Search")]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) asked: RequestFlags,

    /// Networks to search: metaqnn (default), cuda-convnet, lstm, lstm-400, resnet-tiny, resnet-tiny-3, resnet-39, alexnet; with a command
    /// of your own only metaqnn, and `{net}` in the command stands for the network.
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) space: Option<String>,
    /// Data to train on: shapes (default), shapes:SIDE, cifar10:DIR, mnist:DIR, fashion-mnist:DIR, svhn:DIR, tiny-imagenet:DIR,
    /// folder:DIR (a folder of pictures a class), folder:SIDE:DIR; for lstm words (default), text:PATH, characters:PATH.
    #[arg(long, help_heading = "Built-in networks")]
    pub(super) data: Option<String>,
    /// Factor on the filters, cells and units of the space; 1 is the paper's width, such as 64 to 512 filters (quickstart: 0.125).
    #[arg(long, hide_short_help = true, help_heading = "Built-in networks")]
    pub(super) width: Option<f64>,
    /// Number of training examples, balanced by class (quickstart: 1000).
    #[arg(long, hide_short_help = true, help_heading = "Built-in networks")]
    pub(super) train_size: Option<usize>,
    /// Number of validation examples, balanced by class (quickstart: 500).
    #[arg(long, hide = true, help_heading = "Built-in networks")]
    pub(super) validation_size: Option<usize>,
    /// Largest number of layers before the softmax (the paper: 18, on MNIST and SVHN 12; quickstart: 8).
    #[arg(long, hide = true, help_heading = "Built-in networks")]
    pub(super) max_layers: Option<usize>,
    /// Batch size: images per step of the optimizer (the paper: 128; quickstart: 16).
    #[arg(long, hide = true, help_heading = "Built-in networks")]
    pub(super) batch_size: Option<usize>,

    /// How the learning rate falls over the epochs: step, exponential, cosine, constant (default: the space's own way).
    #[arg(long, hide = true, help_heading = "Built-in networks")]
    pub(super) schedule: Option<String>,

    #[command(flatten)]
    pub(super) control: Control,

    /// Format of the result.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(super) format: Format,
    /// Draw the study into this file (.svg or .png).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
    /// Another metric that trials report, such as loss: shown in each trial's row, and drawn below the curves; can be given again.
    #[arg(long, hide_short_help = true, value_name = "METRIC", help_heading = "Output")]
    pub(super) watch: Vec<String>,
    /// What to draw (default: curves; with Q-learning q-learning).
    #[arg(long, hide_short_help = true, value_enum, help_heading = "Output")]
    figure: Option<FigureKind>,
}

/// A name becomes a folder's only if it is a plain word.
fn study_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.starts_with(['.', '-']) || !text.chars().all(is_plain) {
        return Err(
            "a name has letters, digits, '.', '_' and '-', and begins with neither '.' nor '-'".to_owned()
        );
    }
    Ok(text.to_owned())
}

impl Arguments {
    /// What a run may take, where earlier ones took the time `before`: by the flags of control, and by the budget of time.
    pub(super) fn limits(&self, before: Duration) -> Limits {
        let limits = self.control.limits(before);
        Limits { time: limits.time.into_iter().chain(self.budget_time).min(), ..limits }
    }

    /// Without the limits of the search: what trains its best anew is not part of it.
    pub(super) fn without_limits(&mut self) {
        self.budget_time = None;
        self.control.without_limits();
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
        self.figure.unwrap_or(match self.asked.request.sampler {
            Some(SamplerName::QLearning) => FigureKind::QLearning,
            _ => FigureKind::Curves,
        })
    }
}
