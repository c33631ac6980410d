//! The built-in networks of a search: the search space, and the flags of `foretell train` that train one network.

use super::flags::SearchArguments;
use crate::catalogue::named_space;
use crate::failure::Failure;
use foretell::{Direction, ImageShape};
use foretell_nn::{DataKind, DataOptions, DataSpec, NetworkSize, RateSchedule, SearchedSpace, TrainingPlan};
use foretell_search::{ParameterSpace, Space};
use serde_json::Value;

/// The epochs of a whole training on drawn data.
const DRAWN_DATA_EPOCHS: u64 = 10;

/// The built-in networks of a search.
pub(super) struct BuiltIn {
    /// The search space.
    pub(super) space: Space,
    /// The flags of `foretell train`.
    pub(super) flags: Vec<(&'static str, String)>,
    /// The metric that it reports.
    pub(super) metric: &'static str,
    /// A description, with its sizes.
    pub(super) about: String,
    /// The epochs of a whole training by default.
    pub(super) epochs: u64,
}

/// The shape of images, and how many classes they have.
type ImagesAndClasses = (ImageShape, usize);

/// The data, read once here: problems with them are reported before the first trial.
struct LoadedData {
    train: usize,
    validation: usize,
    /// Shape of the images, if these are images.
    images: Option<ImagesAndClasses>,
    about: String,
}

impl BuiltIn {
    /// The networks that the flags ask for.
    pub(super) fn from_arguments(arguments: &SearchArguments) -> Result<Self, Failure> {
        let family = arguments.space.as_deref().unwrap_or("metaqnn");
        let family = foretell_nn::find_space(family).map_err(Failure::input)?;
        let plan = family.plan();
        check_metric(arguments, plan.material.metric_name())?;
        let data: DataSpec =
            arguments.data.as_deref().unwrap_or(plan.drawn).parse().map_err(Failure::input)?;
        let plan = family.plan_on(&data);
        let (size, batch_size, epochs) = choose_sizes(arguments, &data, &plan);
        check_sizes(&size, batch_size)?;
        let loaded = load(arguments, &data, family.name(), &plan)?;
        let space = match family.search_space(&size) {
            SearchedSpace::Layers => network_space(family.name(), loaded.images, &size)?,
            SearchedSpace::Parameters(texts) => {
                Space::Parameters(ParameterSpace::parse(&texts).map_err(Failure::input)?)
            }
        };
        let most = match &space {
            Space::Own(part) => format!(" of at most {} layers", part.settings()["max_depth"]),
            Space::Parameters(_) => String::new(),
        };
        let (about, width) = (family.short_description(), size.width);
        let about = format!(
            "{about}{most} at {width} of the paper's width, on {}, batches of {batch_size}",
            loaded.about
        );
        let mut flags = vec![
            ("space", family.name().to_owned()),
            ("width", width.to_string()),
            ("data", data.to_string()),
            ("train-size", loaded.train.to_string()),
            ("validation-size", loaded.validation.to_string()),
            ("batch-size", batch_size.to_string()),
            ("data-seed", data_seed(arguments).to_string()),
        ];
        if let Some(schedule) = &arguments.schedule {
            let schedule: RateSchedule = schedule.parse().map_err(Failure::input)?;
            flags.push(("schedule", schedule.to_string()));
        }
        Ok(Self { space, flags, metric: plan.material.metric_name(), about, epochs })
    }
}

/// Size of the networks, examples a step and epochs: as told, small on drawn data, or else the paper's.
fn choose_sizes(
    arguments: &SearchArguments,
    data: &DataSpec,
    plan: &TrainingPlan,
) -> (NetworkSize, usize, u64) {
    let drawn = matches!(data, DataSpec::Shapes { .. } | DataSpec::Words);
    let paper = NetworkSize { width: 1.0, max_layers: plan.max_layers };
    let (size, batch_size, epochs) = if drawn {
        (plan.small.size, plan.small.batch_size, DRAWN_DATA_EPOCHS)
    } else {
        (paper, plan.batch_size, plan.epochs as u64)
    };
    let size = NetworkSize {
        width: arguments.width.unwrap_or(size.width),
        max_layers: arguments.max_layers.or(size.max_layers),
    };
    (size, arguments.batch_size.unwrap_or(batch_size), epochs)
}

/// The seed by which data are drawn and split: the study's.
fn data_seed(arguments: &SearchArguments) -> u64 {
    arguments.asked.request.seed.unwrap_or(0)
}

fn check_sizes(size: &NetworkSize, batch_size: usize) -> Result<(), Failure> {
    if !(size.width.is_finite() && size.width > 0.0) {
        let expected = "must be a finite number above 0; 1 is the paper's width";
        return Err(Failure::input(format!("--width {:?}: {expected}", size.width)));
    }
    if batch_size == 0 {
        return Err(Failure::input("--batch-size 0: must be at least 1"));
    }
    Ok(())
}

/// No other metric and no other direction can be asked of the built-in networks.
fn check_metric(arguments: &SearchArguments, metric: &str) -> Result<(), Failure> {
    if let Some(other) = arguments.metric().filter(|&name| name != metric) {
        return Err(Failure::input(format!(
            "unknown metric `{other}`. The built-in networks report {metric}"
        )));
    }
    let (flag, given, wanted) = match metric {
        "val_acc" => ("--minimize", Direction::Minimize, "an accuracy (larger is better)"),
        _ => ("--maximize", Direction::Maximize, "a perplexity (smaller is better)"),
    };
    if arguments.direction() == Some(given) {
        return Err(Failure::input(format!("{flag}: the built-in networks report {wanted}")));
    }
    Ok(())
}

fn load(
    arguments: &SearchArguments,
    data: &DataSpec,
    space: &str,
    plan: &TrainingPlan,
) -> Result<LoadedData, Failure> {
    let options = DataOptions {
        train_size: arguments.train_size,
        validation_size: arguments.validation_size,
        seed: data_seed(arguments),
    };
    match (plan.material, data.is_text()) {
        (DataKind::Images, true) => Err(Failure::input(format!(
            "{space} learns from images, but {data} is text. Choose another data set"
        ))),
        (DataKind::Text, false) => Err(Failure::input(format!(
            "{space} learns from text, but {data} contains images. Choose another data set"
        ))),
        (DataKind::Text, true) => {
            let text = data.load_text(&options).map_err(Failure::input)?;
            let text = text.limit_vocabulary(plan.vocabulary.unwrap_or(usize::MAX));
            let (train, validation) = (text.train.len(), text.validation.len());
            let about = format!("{train} + {validation} tokens of {data} ({} words)", text.words.len());
            Ok(LoadedData { train, validation, images: None, about })
        }
        (DataKind::Images, false) => {
            let loaded = data.load_images(&options).map_err(Failure::input)?;
            let (train, validation) = (loaded.train.len(), loaded.validation.len());
            let (shape, classes) = (loaded.train.shape, loaded.train.classes);
            plan.check_side(space, data, shape).map_err(Failure::input)?;
            let about = format!(
                "{train} + {validation} images of {data} ({}×{}×{}, {classes} classes)",
                shape.channels, shape.height, shape.width
            );
            Ok(LoadedData { train, validation, images: Some((shape, classes)), about })
        }
    }
}

/// The space of networks called `family` for such images, in this size.
fn network_space(
    family: &str,
    images: Option<ImagesAndClasses>,
    size: &NetworkSize,
) -> Result<Space, Failure> {
    let shape =
        |value: fn(&ImagesAndClasses) -> usize| images.as_ref().map(|images| Value::from(value(images)));
    named_space(
        family,
        [
            ("channels", shape(|(shape, _)| shape.channels)),
            ("height", shape(|(shape, _)| shape.height)),
            ("width", shape(|(shape, _)| shape.width)),
            ("classes", shape(|(_, classes)| *classes)),
            ("max_depth", size.max_layers.map(Value::from)),
            ("scale", Some(Value::from(size.width))),
        ],
    )
}
