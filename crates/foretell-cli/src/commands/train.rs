//! `foretell train`: trains one built-in network by the trial protocol.

use crate::failure::{CommandResult, Failure};
use crate::output::{note, print};
use foretell::{Configuration, FLOPS_KEY, LayerSequence, NETWORK_KEY, Value, WEIGHTS_KEY};
use foretell_nn::{DataKind, DataSpec, EpochReport, RateSchedule, TrainSpec, train_network};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The arguments of `foretell train`. The environment of the trial protocol sets most of them.
#[derive(clap::Args)]
pub(crate) struct TrainArguments {
    /// Space of the network: metaqnn, cuda-convnet, lstm, lstm-400, resnet-tiny, resnet-tiny-3, resnet-39, alexnet.
    #[arg(long, default_value = "metaqnn")]
    space: String,
    /// Parameter of the network, for example `filters=8` (default: those in the file FORETELL_PARAMS).
    #[arg(long = "set", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// Factor for the filters and units of cuda-convnet and alexnet. In the other spaces, sizes are parameters.
    #[arg(long, default_value_t = 1.0)]
    width: f64,
    /// Network in layer notation, for example `[C(64,3,1), P(2,2), FC(128), SM(10)]` (default: `net` in the file FORETELL_PARAMS).
    #[arg(long)]
    net: Option<String>,
    /// Training data: shapes, shapes:SIDE, cifar10:DIR, mnist:DIR, fashion-mnist:DIR, svhn:DIR, tiny-imagenet:DIR, folder:DIR,
    /// folder:SIDE:DIR; for lstm words, text:PATH, characters:PATH (default: the generated data, shapes or words).
    #[arg(long)]
    data: Option<String>,
    /// Number of training images (class-balanced) or tokens (default: all that are not used for validation; shapes: 1000).
    #[arg(long)]
    train_size: Option<usize>,
    /// Number of validation images (class-balanced) or tokens (default: a tenth; shapes: 500).
    #[arg(long)]
    validation_size: Option<usize>,
    /// Seed for sampling the images.
    #[arg(long, default_value_t = 0)]
    data_seed: u64,
    /// Number of epochs of a complete run, for the learning-rate schedule.
    #[arg(long, env = "FORETELL_MAX_RESOURCE", default_value_t = 20)]
    epochs: usize,
    /// Epoch after which to pause (default: the last one).
    #[arg(long, env = "FORETELL_UNTIL")]
    until: Option<usize>,
    /// Batch size.
    #[arg(long, default_value_t = 128)]
    batch_size: usize,
    /// Initial learning rate (default: that of the space; metaqnn: the first of 0.001·0.4^i that learns at all).
    #[arg(long)]
    learning_rate: Option<f64>,
    /// Learning-rate schedule: step, exponential, cosine, constant (default: the schedule of the space).
    #[arg(long)]
    schedule: Option<RateSchedule>,
    /// Seed for weights, order and dropout.
    #[arg(long, env = "FORETELL_SEED", default_value_t = 0)]
    seed: u64,
    /// Folder for checkpoints (default: no checkpoints).
    #[arg(long, env = "FORETELL_CHECKPOINT_DIR")]
    checkpoint_dir: Option<PathBuf>,
    /// Continue from the newest checkpoint (also set by FORETELL_RESUME_FROM).
    #[arg(long)]
    resume: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &TrainArguments) -> CommandResult {
    let _guard = foretell_run::watch_parent();
    let plan = foretell_nn::find_space(&arguments.space).map_err(Failure::input)?.plan();
    let data = arguments.data.as_deref().unwrap_or(plan.drawn);
    let data: DataSpec = data.parse().map_err(Failure::input)?;
    let spec = TrainSpec {
        space: arguments.space.clone(),
        configuration: configuration(arguments)?,
        width: arguments.width,
        train_size: arguments.train_size,
        validation_size: arguments.validation_size,
        data_seed: arguments.data_seed,
        epochs: arguments.epochs,
        until: arguments.until.unwrap_or(arguments.epochs),
        batch_size: arguments.batch_size,
        learning_rate: arguments.learning_rate,
        schedule: arguments.schedule,
        seed: arguments.seed,
        checkpoint_dir: arguments.checkpoint_dir.clone(),
        resume: arguments.resume || std::env::var_os("FORETELL_RESUME_FROM").is_some(),
        ..TrainSpec::new(&LayerSequence(Vec::new()), data)
    };
    let mut broken = None;
    let outcome = train_network(&spec, &mut |report| match print(&report_line(
        report,
        plan.material,
        &spec.configuration,
    )) {
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

/// The report of an epoch; the first one includes the costs of the network that the `configuration` does not contain.
fn report_line(report: &EpochReport, material: DataKind, configuration: &Configuration) -> String {
    let mut line = json!({"foretell": {
        "step": report.epoch,
        "val_acc": report.validation_accuracy,
        "val_loss": report.validation_loss,
        "train_loss": report.train_loss,
        "learning_rate": report.learning_rate,
        "failed_epochs": report.failed_epochs,
        // if every attempt failed, the accuracy of guessing is repeated and nothing is trained
        "trained_epochs": if report.learning_rate.is_some() { report.epoch } else { 0 },
    }});
    if material == DataKind::Text {
        // after divergence there is no loss, and the field is null
        line["foretell"]["val_ppl"] =
            json!(report.validation_loss.map(f64::exp).filter(|ppl| ppl.is_finite()));
    }
    if let Some(cost) = report.cost.filter(|_| !configuration.contains_key(WEIGHTS_KEY)) {
        line["foretell"][WEIGHTS_KEY] = json!(cost.weights);
        line["foretell"][FLOPS_KEY] = json!(cost.multiply_adds);
    }
    line.to_string()
}

/// The parameters of the network: of `--net` and `--set`, or of the file that the trial protocol names.
fn configuration(arguments: &TrainArguments) -> Result<Configuration, Failure> {
    let mut configuration = match std::env::var_os("FORETELL_PARAMS").map(PathBuf::from) {
        Some(path) => {
            let wrong =
                |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
            let text = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
            serde_json::from_str(&text).map_err(|error| wrong(&error))?
        }
        None if arguments.net.is_none() && arguments.parameters.is_empty() => {
            return Err(Failure::input(
                "there is no network. Pass --net or --set, or set FORETELL_PARAMS to a JSON file with the network's parameters",
            ));
        }
        None => Configuration::new(),
    };
    if let Some(net) = &arguments.net {
        configuration.insert(NETWORK_KEY.to_owned(), Value::Text(net.clone()));
    }
    for parameter in &arguments.parameters {
        let (name, value) = parameter.split_once('=').ok_or_else(|| {
            Failure::input(format!("--set `{parameter}`: expected NAME=VALUE, such as filters=8"))
        })?;
        configuration.insert(name.to_owned(), Value::from_cell(value));
    }
    Ok(configuration)
}
