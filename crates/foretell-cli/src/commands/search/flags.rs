//! The flags of `foretell search`, and the study they describe.

use super::control::{ControlFlags, duration};
use crate::output::OutputFormat;
use crate::plot::FigureSize;
use crate::request_flags::RequestFlags;
use crate::view::picture::FigureKind;
use foretell_run::RunLimits;
use std::path::PathBuf;
use std::time::Duration;

/// The arguments of `foretell search`. Without any: the quickstart, small MetaQNN networks on images drawn at run time.
#[derive(clap::Args)]
pub(crate) struct SearchArguments {
    /// Study file (TOML) with the command, a table `[param]` with one line per parameter, and any flag of this command as a key, such as
    /// `trials = 40`. Flags on the command line override it.
    #[arg(value_name = "STUDY.toml")]
    pub(super) study: Option<PathBuf>,

    /// Search this parameter, for example `lr=log:1e-4:1`, `layers=int:1:8`, `p=float:0:0.9`, `opt=choice:sgd,adam` or
    /// `momentum=float:0:1 if opt=sgd`. Can be repeated.
    #[arg(long = "param", value_name = "NAME=KIND:…", help_heading = "Your own command")]
    pub(super) parameters: Vec<String>,
    /// Metric to read from the command's output: a name, a line with `{value}` in place of the number (`Test: * Acc@1 {value}`), or a
    /// regular expression (`val_acc=([\d.]+)`).
    #[arg(long, value_name = "NAME|LINE|PATTERN", help_heading = "Your own command")]
    pub(super) metric: Option<String>,
    /// Line that contains the epoch, if the metric's line doesn't, with `{step}` in place of the number (`Epoch: [{step}]`). The metric
    /// must then be a line or a regular expression.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "LINE",
        help_heading = "Your own command",
        requires = "metric"
    )]
    pub(super) step: Option<String>,
    /// Minimize the metric (default: inferred from its name).
    #[arg(long, help_heading = "Your own command", conflicts_with = "maximize")]
    pub(super) minimize: bool,
    /// Maximize the metric (default: inferred from its name).
    #[arg(long, help_heading = "Your own command")]
    pub(super) maximize: bool,
    /// Command that trains one configuration. Each trial replaces `{lr}` with its value of the parameter lr.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Your own command")]
    pub(super) command: Vec<String>,

    /// Search for at most this long, for example 90m or 8h, earlier runs of the search included. Trials that still run at the end are
    /// interrupted, and a larger budget continues them.
    #[arg(long, value_name = "TIME", help_heading = "Search", value_parser = duration)]
    pub(super) budget_time: Option<Duration>,
    /// How many trials to run in parallel (default: one per core; with --gpus one per GPU).
    #[arg(long, help_heading = "Search", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) workers: Option<u16>,
    /// Name the study, which is then stored in foretell-out/NAME. Searching again with this name continues the study, even with other
    /// ranges, another sampler or more epochs.
    #[arg(long, hide_short_help = true, value_name = "NAME", help_heading = "Search", conflicts_with = "out", value_parser = study_name)]
    pub(super) name: Option<String>,
    /// Add a note about the study, which `foretell study ls` shows.
    #[arg(long, hide_short_help = true, value_name = "TEXT", help_heading = "Search")]
    pub(super) note: Option<String>,
    /// Folder of the study. Repeating the command with the same folder continues it (default: a folder in foretell-out, named after the
    /// settings).
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    pub(super) out: Option<PathBuf>,

    /// Don't learn from earlier studies of the same program in the same output folder.
    #[arg(long, hide_short_help = true, help_heading = "Stopping")]
    pub(super) no_lessons: bool,

    /// Print the plan of the search without starting it.
    #[arg(long, help_heading = "Search")]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) asked: RequestFlags,

    /// Search built-in networks instead of parameters: metaqnn (default), cuda-convnet, lstm, lstm-400, resnet-tiny, resnet-tiny-3,
    /// resnet-39 or alexnet. Your own command can train those of metaqnn, with `{net}` in place of the network.
    #[arg(long, hide_short_help = true, help_heading = "Built-in networks")]
    pub(super) space: Option<String>,
    /// Train on this data: shapes (default), shapes:SIDE, cifar10:DIR, mnist:DIR, fashion-mnist:DIR, svhn:DIR, tiny-imagenet:DIR,
    /// folder:DIR (one folder of images per class) or folder:SIDE:DIR; lstm on words (default), text:PATH or characters:PATH.
    #[arg(long, hide_short_help = true, help_heading = "Built-in networks")]
    pub(super) data: Option<String>,
    /// Scale the number of filters, cells and units by this factor. 1 is the width in the paper, for example 64 to 512 filters (quickstart:
    /// 0.125).
    #[arg(long, hide_short_help = true, help_heading = "Built-in networks")]
    pub(super) width: Option<f64>,
    /// Train on this many examples, class-balanced (quickstart: 1000).
    #[arg(long, hide_short_help = true, help_heading = "Built-in networks")]
    pub(super) train_size: Option<usize>,
    /// Validate on this many examples, class-balanced (quickstart: 500).
    #[arg(long, hide = true, help_heading = "Built-in networks")]
    pub(super) validation_size: Option<usize>,
    /// Use at most this many layers before the softmax (paper: 18, on MNIST and SVHN 12; quickstart: 8).
    #[arg(long, hide = true, help_heading = "Built-in networks")]
    pub(super) max_layers: Option<usize>,
    /// Batch size (paper: 128; quickstart: 16).
    #[arg(long, hide = true, help_heading = "Built-in networks")]
    pub(super) batch_size: Option<usize>,

    /// Learning-rate schedule: step, exponential, cosine, constant (default: the schedule of the space).
    #[arg(long, hide = true, help_heading = "Built-in networks")]
    pub(super) schedule: Option<String>,

    #[command(flatten)]
    pub(super) control: ControlFlags,

    /// Output format.
    #[arg(long, hide_short_help = true, value_enum, default_value_t, help_heading = "Output")]
    pub(super) format: OutputFormat,
    /// Plot the study to this file (.svg or .png).
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
    /// Size of the plot in a paper, such as 3.3x2.5in (also cm, mm or px). Text is then 8 points high, and the title is left out.
    #[arg(long, hide_short_help = true, value_name = "SIZE", help_heading = "Output")]
    pub(super) plot_size: Option<FigureSize>,
    /// Also show this metric, for example loss, in each trial's row and below the plotted curves. Can be repeated.
    #[arg(long, hide_short_help = true, value_name = "METRIC", help_heading = "Output")]
    pub(super) watch: Vec<String>,
    /// Which figure to plot (default: curves; with Q-learning q-learning).
    #[arg(long, hide_short_help = true, value_enum, help_heading = "Output")]
    figure: Option<FigureKind>,
}

/// A name becomes a folder's only if it is a plain word.
fn study_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.starts_with(['.', '-']) || !text.chars().all(is_plain) {
        return Err(
            "a name consists of letters, digits, '.', '_' and '-', and starts with neither '.' nor '-'"
                .to_owned(),
        );
    }
    if foretell_run::is_own_file(text) {
        return Err("Foretell keeps a file with this name. Choose another one".to_owned());
    }
    Ok(text.to_owned())
}

impl SearchArguments {
    /// The limits of a run, if earlier ones took the time `before`: those of the control flags, and the budget of time.
    pub(super) fn limits(&self, before: Duration) -> RunLimits {
        let limits = self.control.limits(before);
        RunLimits { time: limits.time.into_iter().chain(self.budget_time).min(), ..limits }
    }

    /// Without the limits of the search: training its best again is not part of it.
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

    /// The figure to draw.
    pub(super) fn figure(&self) -> FigureKind {
        self.figure.unwrap_or(match &self.asked.request.sampler {
            Some(named) if named.name == "q-learning" => FigureKind::QLearning,
            _ => FigureKind::Curves,
        })
    }
}
