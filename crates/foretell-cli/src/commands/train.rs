//! `foretell train`: trains one built-in network by the trial protocol.

use crate::failure::{Failure, Outcome};
use crate::output::{note, print};
use foretell::{Configuration, LayerSequence};
use foretell_nn::{DataSpec, EpochReport, TrainSpec, train};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The arguments of `foretell train`. The environment of the trial protocol sets most of them.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The network in layer notation, such as `[C(64,3,1), P(2,2), FC(128), SM(10)]` (default: `net` of the file FORETELL_PARAMS).
    #[arg(long)]
    net: Option<String>,
    /// The images: shapes, shapes:SIDE, cifar10:DIR or mnist:DIR.
    #[arg(long, default_value = "shapes")]
    data: String,
    /// Number of training images, class-balanced (default: all that are not for validation; shapes: 1000).
    #[arg(long)]
    train_size: Option<usize>,
    /// Number of validation images, class-balanced (default: a tenth; shapes: 500).
    #[arg(long)]
    validation_size: Option<usize>,
    /// Seed of the choice of images.
    #[arg(long, default_value_t = 0)]
    data_seed: u64,
    /// Epochs of the whole training, which set the learning-rate schedule.
    #[arg(long, env = "FORETELL_MAX_RESOURCE", default_value_t = 20)]
    epochs: usize,
    /// The epoch to pause after (default: train to the end).
    #[arg(long, env = "FORETELL_UNTIL")]
    until: Option<usize>,
    /// Images per step of the optimizer.
    #[arg(long, default_value_t = 128)]
    batch_size: usize,
    /// The starting learning rate (default: the first of 0.001·0.4^i that learns at all).
    #[arg(long)]
    learning_rate: Option<f64>,
    /// Seed of weights, order and dropout.
    #[arg(long, env = "FORETELL_SEED", default_value_t = 0)]
    seed: u64,
    /// The folder for checkpoints (default: no checkpoints).
    #[arg(long, env = "FORETELL_CHECKPOINT_DIR")]
    checkpoint_dir: Option<PathBuf>,
    /// Continue from the newest checkpoint (also set by FORETELL_RESUME_FROM).
    #[arg(long)]
    resume: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let _guard = foretell_run::parent_alive_guard();
    let data: DataSpec = arguments.data.parse().map_err(Failure::input)?;
    let spec = TrainSpec {
        train_size: arguments.train_size,
        validation_size: arguments.validation_size,
        data_seed: arguments.data_seed,
        epochs: arguments.epochs,
        until: arguments.until.unwrap_or(arguments.epochs),
        batch_size: arguments.batch_size,
        learning_rate: arguments.learning_rate,
        seed: arguments.seed,
        checkpoint_dir: arguments.checkpoint_dir.clone(),
        resume: arguments.resume || std::env::var_os("FORETELL_RESUME_FROM").is_some(),
        ..TrainSpec::new(network(arguments)?, data)
    };
    let mut broken = None;
    let outcome = train(&spec, &mut |report| match print(&report_line(report)) {
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => {
            broken = Some(failure);
            ControlFlow::Break(())
        }
    });
    if let Some(failure) = broken {
        return Err(failure);
    }
    for path in &outcome.map_err(Failure::input)?.damaged_checkpoints {
        note(&format!("skipped the damaged checkpoint {}", path.display()));
    }
    Ok(())
}

fn report_line(report: &EpochReport) -> String {
    json!({"foretell": {
        "step": report.epoch,
        "val_acc": report.validation_accuracy,
        "val_loss": report.validation_loss,
        "train_loss": report.train_loss,
        "learning_rate": report.learning_rate,
        "failed_epochs": report.failed_epochs,
        // if every attempt failed, the accuracy of guessing is repeated and nothing is trained
        "trained_epochs": if report.learning_rate.is_some() { report.epoch } else { 0 },
    }})
    .to_string()
}

fn network(arguments: &Arguments) -> Result<LayerSequence, Failure> {
    let text = match &arguments.net {
        Some(text) => text.clone(),
        None => network_of_parameters()?,
    };
    text.parse().map_err(|error| Failure::input(format!("network `{text}`: {error}")))
}

fn network_of_parameters() -> Result<String, Failure> {
    let path = std::env::var_os("FORETELL_PARAMS").map(PathBuf::from);
    let path = path.ok_or_else(|| {
        Failure::input("no network; give --net, or set FORETELL_PARAMS to a JSON file with the field `net`")
    })?;
    let wrong = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(&path).map_err(|e| wrong(&e))?;
    let parameters: Configuration = serde_json::from_str(&text).map_err(|e| wrong(&e))?;
    let net = parameters.get(foretell_search::NETWORK).and_then(|value| value.text());
    net.map(str::to_owned).ok_or_else(|| wrong(&"no text field `net`; add one, or give --net"))
}
