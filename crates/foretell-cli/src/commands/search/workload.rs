//! The workload of a trial: the built-in networks, or the user's own command.

#[cfg(feature = "nn")]
use super::built_in::BuiltIn;
use super::flags::SearchArguments;
use crate::catalogue::named_space;
use crate::failure::Failure;
use foretell::Direction;
use foretell_logs::direction_of;
pub(crate) use foretell_logs::printed::metric_name_in;
use foretell_run::{
    CONFIG_PLACEHOLDER, ConfigFile, EPOCHS_PLACEHOLDER, HookScope, MetricSource, PARAMS_FILE, PARAMS_JSON,
    PRINTED_SOURCE, SEED_PLACEHOLDER, TRIAL_DIR, fill_placeholders,
};
use foretell_search::{ParameterSpace, Space, StudySpec, redact_words};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The workload of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    /// The search space.
    pub(super) space: Space,
    /// The command, with placeholders.
    pub(super) command: Vec<String>,
    /// Where the metric is in its output.
    pub(super) metric: MetricSource,
    /// The metric's name, if anybody named it.
    pub(super) metric_name: Option<String>,
    /// Whether the metric is known by its reports only, and no direction was given.
    pub(super) unnamed: bool,
    /// The settings that determine the trials in addition to the study's own.
    pub(super) description: BTreeMap<String, String>,
    /// Parameters that no placeholder stands for.
    pub(super) unplaced: Vec<String>,
    /// The command's configuration file.
    pub(super) config: Option<ConfigFile>,
    /// A description, with its sizes.
    pub(super) about: String,
    /// The epochs of a whole training by default.
    pub(super) epochs: Option<u64>,
}

impl Workload {
    /// The user's own command, or the built-in networks where there is none.
    pub(super) fn from_arguments(arguments: &SearchArguments) -> Result<Self, Failure> {
        if !arguments.command.is_empty() {
            return Self::command(arguments);
        }
        if !arguments.parameters.is_empty() || arguments.asked.request.space.is_some() {
            return Err(Failure::input("--param needs a command. Write it after `--`"));
        }
        Self::built_in(arguments)
    }

    /// The user's own command.
    fn command(arguments: &SearchArguments) -> Result<Self, Failure> {
        let space = choose_search_space(arguments)?;
        let is_named = |name: &str| space.names().contains(&name);
        let asks = arguments.command.iter().any(|word| word.contains(&format!("{{{EPOCHS_PLACEHOLDER}}}")));
        if arguments.asked.request.epochs.is_none() && asks && !is_named(EPOCHS_PLACEHOLDER) {
            return Err(Failure::input(
                "the command contains {epochs}, but `epochs` is not set. Set it (--epochs N), or write the number itself in the command",
            ));
        }
        check_placeholders(&arguments.command, &space)?;
        let config = read_config_file(arguments, &space)?;
        let source = arguments.control.source.clone().filter(|source| source != PRINTED_SOURCE);
        if source.is_some() && arguments.metric().is_none() {
            return Err(Failure::input("--source needs --metric, the name of the series"));
        }
        // the metric of a source is a name in a library, and must not be read as a pattern of printed lines
        let metric = match arguments.metric().filter(|_| source.is_none()) {
            Some(text) => {
                MetricSource::parse_with(text, arguments.step.as_deref()).map_err(Failure::input)?
            }
            None => MetricSource::default(),
        };
        let written = arguments.metric().unwrap_or_default().to_owned();
        let is_hooked = source.is_some();
        // with `***` for secrets: the log, the page and the messages show it
        let shown = redact_words(&arguments.command).join(" ");
        let mut description =
            BTreeMap::from([("command".to_owned(), shown.clone()), ("metric".to_owned(), written)]);
        description.extend(arguments.step.clone().map(|step| ("step".to_owned(), step)));
        description.extend(source.map(|source| ("source".to_owned(), source)));
        Ok(Self {
            unplaced: unplaced_parameters(&arguments.command, &space),
            config,
            space,
            command: arguments.command.clone(),
            metric,
            unnamed: arguments.metric().is_none() && arguments.direction().is_none(),
            description,
            about: shown,
            metric_name: arguments.metric().map(if is_hooked { str::to_owned } else { metric_name_in }),
            epochs: None,
        })
    }

    /// A description; for the user's own command, with its metric and direction.
    pub(super) fn describe_for_study(&self, spec: &StudySpec) -> String {
        if self.is_built_in() {
            return self.about.clone();
        }
        let named = direction_of(&spec.metric).filter(|named| *named != spec.direction);
        let doubt = named.map_or(String::new(), |named| {
            let flag = match spec.direction {
                Direction::Minimize => "--minimize",
                Direction::Maximize => "--maximize",
            };
            format!(". Its name suggests that {} is better; if so, remove {flag}", named.better_word())
        });
        format!("{}\nmetric: {}, {} is better{doubt}", self.about, spec.metric, spec.direction.better_word())
    }

    /// The series that the hook reads, if that is the source of the metric.
    pub(super) fn hook(&self) -> HookScope {
        let entry = |name: &str| self.description.get(name).map(String::as_str);
        HookScope::for_source(entry("source"), entry("metric").unwrap_or_default())
    }

    /// Whether it trains the built-in networks.
    pub(super) fn is_built_in(&self) -> bool {
        !self.description.contains_key("command")
    }

    /// The value of `--metric`, given or implied.
    #[cfg(feature = "serve")]
    pub(super) fn metric_text(&self) -> Option<String> {
        match &self.metric {
            MetricSource::Json { field: Some(field) } => Some(field.clone()),
            _ => self.description.get("metric").filter(|text| !text.is_empty()).cloned(),
        }
    }

    /// The lines that a trial that reports nothing would have had to print.
    pub(super) fn what_is_missed(&self) -> String {
        let report = |name: &str| {
            format!(
                "no line was like {{\"foretell\":{{\"step\":1,\"{name}\":0.5}}}} or `{name}=0.5`. Set its name with --metric, or its line, such as '{name}: {{value}}'"
            )
        };
        if let (Some(source), Some(metric)) = (self.description.get("source"), self.description.get("metric"))
        {
            return format!(
                "{source} was not asked to log {metric}, or the hook was not loaded (python -E or -I, a container). Printed lines are not read, because --source is {source}"
            );
        }
        match &self.metric {
            MetricSource::Json { field } => report(field.as_deref().unwrap_or("val_acc")),
            MetricSource::Pattern(_) => {
                format!("no line matched --metric '{}'", self.description["metric"])
            }
        }
    }

    /// The built-in networks.
    #[cfg(feature = "nn")]
    fn built_in(arguments: &SearchArguments) -> Result<Self, Failure> {
        let built_in = BuiltIn::from_arguments(arguments)?;
        let program = std::env::current_exe().map_err(Failure::midway)?.to_string_lossy().into_owned();
        let mut command = vec![program, "train".to_owned()];
        for (flag, value) in &built_in.flags {
            // doubled braces, because a value with a brace would be taken for a placeholder
            command.extend([format!("--{flag}"), value.replace('{', "{{").replace('}', "}}")]);
        }
        Ok(Self {
            space: built_in.space,
            command,
            metric: MetricSource::Json { field: Some(built_in.metric.to_owned()) },
            unnamed: false,
            unplaced: Vec::new(),
            config: None,
            metric_name: Some(built_in.metric.to_owned()),
            description: built_in.flags.into_iter().map(|(flag, value)| (flag.to_owned(), value)).collect(),
            about: built_in.about,
            epochs: Some(built_in.epochs),
        })
    }

    /// Says that there are none.
    #[cfg(not(feature = "nn"))]
    fn built_in(_arguments: &SearchArguments) -> Result<Self, Failure> {
        Err(Failure::input(
            "this binary was built without the built-in networks. Pass your own command after `--`, or build with the feature `nn`",
        ))
    }
}

/// Every placeholder of `command` must be one of the space's names.
fn check_placeholders(command: &[String], space: &Space) -> Result<(), Failure> {
    let names = space.names().into_iter().chain([
        PARAMS_FILE,
        TRIAL_DIR,
        CONFIG_PLACEHOLDER,
        SEED_PLACEHOLDER,
        EPOCHS_PLACEHOLDER,
    ]);
    let parameters: Map<String, Value> = names.map(|name| (name.to_owned(), Value::Null)).collect();
    fill_placeholders(command, &parameters).map(drop).map_err(Failure::input)
}

/// The command's configuration file: it must have a place for each parameter that the command has none for.
fn read_config_file(arguments: &SearchArguments, space: &Space) -> Result<Option<ConfigFile>, Failure> {
    let placeholder = format!("{{{CONFIG_PLACEHOLDER}}}");
    let is_placed = arguments.command.iter().any(|word| word.contains(&placeholder));
    let Some(path) = &arguments.control.config else {
        return match is_placed {
            true => Err(Failure::input(format!(
                "{placeholder} is replaced with a copy of the command's configuration file. Set the file with --config FILE"
            ))),
            false => Ok(None),
        };
    };
    if !is_placed {
        return Err(Failure::input(format!(
            "--config {}: use {placeholder} as the file name in the command, for example --config {placeholder}",
            path.display()
        )));
    }
    let config = ConfigFile::read(path).map_err(Failure::input)?;
    // filled in with any value, so that a parameter without a place in the file is refused before the first trial
    let names = space.names().into_iter().map(|name| (name.to_owned(), Value::from(1)));
    config.with_parameters(&names.collect()).map_err(Failure::input)?;
    Ok(Some(config))
}

/// The parameters of `space` that no placeholder in `command` stands for.
fn unplaced_parameters(command: &[String], space: &Space) -> Vec<String> {
    let holds = |name: &str| {
        [format!("{{{name}}}"), format!("{{*{name}}}")]
            .iter()
            .any(|place| command.iter().any(|word| word.contains(place)))
    };
    match space {
        Space::Parameters(_) if ![PARAMS_JSON, PARAMS_FILE, CONFIG_PLACEHOLDER].into_iter().any(holds) => {
            space.names().into_iter().filter(|name| !holds(name)).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// The search space of the user's own command: its parameters, or networks of a named space.
fn choose_search_space(arguments: &SearchArguments) -> Result<Space, Failure> {
    let written = arguments.asked.request.space.as_ref().filter(|_| arguments.parameters.is_empty());
    match (&arguments.space, arguments.parameters.is_empty() && written.is_none()) {
        (None, false) => match written {
            Some(space) => Ok(space.clone()),
            None => {
                ParameterSpace::parse(&arguments.parameters).map(Space::Parameters).map_err(Failure::input)
            }
        },
        (None, true) => Err(Failure::input(
            "there is nothing to search. Set the parameters of the command, for example --param 'lr=log:1e-4:1', or a space of networks, for example --space metaqnn",
        )),
        (Some(_), false) => Err(Failure::input(
            "--space and --param: a study searches networks or parameters, not both. Remove one of them",
        )),
        (Some(_), true) => {
            let size = [
                ("max_depth", arguments.max_layers.map(Value::from)),
                ("scale", arguments.width.map(Value::from)),
            ];
            named_space(arguments.space.as_deref().unwrap_or_default(), size)
        }
    }
}
