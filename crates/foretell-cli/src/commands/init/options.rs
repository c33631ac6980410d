//! The options of a training script and those worth searching, from its parser or its `--help`, its command line, and its configuration.

use super::known::{self, KindProposal};
use super::option::{KnownOptions, OptionStyle, OptionType, ScriptFlag};
use super::{help, source};
use foretell_run::{CONFIG_PLACEHOLDER, ConfigFile, EPOCHS_PLACEHOLDER, SEED_PLACEHOLDER, TRIAL_DIR};
use std::path::Path;

/// The most parameters that are searched.
const MAX_PARAMETERS: usize = 8;
/// The most parameters of one kind, such as dropouts.
const MAX_SAME_KIND: usize = 2;
/// The most other options that are listed.
const MAX_OTHER_OPTIONS: usize = 16;

/// Options that say how long to train: in epochs, and in iterations.
const EPOCH_OPTION_NAMES: &str = "epochs max_epochs num_epochs n_epochs nepochs num_train_epochs train_epochs training_epochs total_epochs n_epoch num_epoch max_epoch nb_epochs epoch";
const ITERATION_OPTION_NAMES: &str = "max_iters max_steps num_steps total_steps n_iters num_iters num_iterations iterations max_iter \
    total_timesteps train_steps num_boost_round num_boost_rounds boosting_rounds n_estimators num_rounds \
    num_round n_rounds nrounds rounds";
const SEED_OPTION_NAMES: &str = "seed random_seed manual_seed rng_seed seed_everything random_state";
/// Options of papermill that are followed by the name of a parameter and its value.
const PAPERMILL_PARAMETER_FLAGS: [&str; 4] = ["-p", "--parameters", "-r", "--parameters_raw"];
/// Options that say where to write.
const FOLDER_OPTION_NAMES: &str = "output_dir out_dir outdir output_path output_folder logdir log_dir logging_dir save_path save_dir savedir checkpoint_dir \
    checkpoint_path ckpt_dir ckpt_path model_dir default_root_dir run_dir work_dir workdir results_dir result_dir exp_dir experiment_dir save";
/// Words of options that no search is about.
const UNSEARCHED_WORDS: &str = "help version log logging hub eval evaluation save saving ckpt checkpoint resume device gpu gpus cuda mps cpu worker workers dataloader \
    data dataset cache dir path file url host port rank world dist distributed local verbose debug profile test val valid validation wandb project \
    entity name tag id token config print plot interval every freq frequency patience push report eps epsilon backend ddp fsdp deepspeed \
    min warmup end final skip remove tqdm progress dry seed seeds root folder output input download prefetch pin";

/// A parameter to search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SearchedParameter {
    pub(super) name: String,
    /// `log:1e-4:1`.
    pub(super) kind: String,
    /// The value that the script has for it by itself, where it is known.
    pub(super) default: Option<String>,
}

/// An option that might be searched, too.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnsearchedOption {
    pub(super) name: String,
    pub(super) kind: String,
    /// The text to write into the command.
    pub(super) given: String,
}

/// The facts learned about a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CommandOptions {
    /// The command with placeholders for the searched options.
    pub(super) command: Vec<String>,
    pub(super) parameters: Vec<SearchedParameter>,
    pub(super) others: Vec<UnsearchedOption>,
    pub(super) epochs: Option<u64>,
    /// The configuration file that it is given.
    pub(super) config: Option<String>,
    /// The options that are not searched because they change how many values the metric has.
    pub(super) uneven: Vec<String>,
    /// Folders of the script that give way to the trial's own, and these.
    folders: Vec<(String, String)>,
    /// The sub-commands in use, outermost first.
    used: Vec<String>,
    options: Vec<ScriptFlag>,
    /// Where the command gives each of the options.
    places: Vec<Option<OptionPlace>>,
    /// The option for the number of epochs, among them.
    epochs_option: Option<usize>,
}

/// Where a command gives an option: the word of its name, and the words of its values.
#[derive(Clone, Debug, PartialEq)]
struct OptionPlace {
    name: usize,
    values: std::ops::Range<usize>,
}

impl KnownOptions {
    /// From the `help` of a script without a recorded parser, and from the global variables in its source that the command line overrides.
    pub(super) fn from_text(help: &[String], command: &[String], folder: &Path) -> Self {
        let composed = parse_hydra_config(help);
        if !composed.is_empty() {
            return Self { options: composed, ..Self::default() };
        }
        let mut known = help::read(help);
        let sources = command.iter().filter_map(|word| read_source_text(word, folder));
        // a global variable that has the name of an option is the same setting, which would otherwise be searched twice
        for option in sources.flat_map(|text| source::read(&text)) {
            if known.options.iter().all(|there| there.name != option.name) {
                known.options.push(option);
            }
        }
        known
    }
}

/// Reads the options of `command`, whose files are in `folder`.
pub(super) fn read(command: &[String], known: KnownOptions, folder: &Path) -> CommandOptions {
    let KnownOptions { mut options, positional, used, counts_batches, length, looped, .. } = known;
    // the file comes before the words of the command, because a value that the command gives overrides that of the file
    let config = read_config_options(command, folder, &mut options);
    let places = find_option_places(command, &mut options, &positional);
    let mut described =
        CommandOptions { command: command.to_vec(), used, options, places, ..CommandOptions::default() };
    described.set_epochs_option(length, looped);
    described.search(counts_batches);
    let searches_file = described.options.iter().any(|option| {
        let mut parameters = described.parameters.iter();
        option.style == OptionStyle::File && parameters.any(|searched| searched.name == option.name)
    });
    if let Some((at, path)) = config.filter(|_| searches_file) {
        described.command[at] = format!("{{{CONFIG_PLACEHOLDER}}}");
        described.config = Some(path);
    }
    described.place_seed_and_folder();
    described
}

impl CommandOptions {
    /// Finds the option for the length of a training, and its value. The option whose value is the `length` that a library was asked for is
    /// that one, whatever its name, or, where none is named so, the one whose value is the length of the loop that prints the metric.
    fn set_epochs_option(&mut self, length: Option<u64>, looped: Option<u64>) {
        let epochs = self.find_named_option(EPOCH_OPTION_NAMES);
        let iterations = self.find_named_option(ITERATION_OPTION_NAMES);
        let iterations = iterations.filter(|(_, option)| count(option).is_some());
        // 0 is an epoch to start from
        let open = epochs.filter(|(_, option)| option.number() != Some(0.0));
        let chosen = epochs.filter(|(_, option)| count(option).is_some()).or(iterations).or(open);
        let chosen = chosen.map(|(at, option)| (at, count(option)));
        self.epochs = chosen.and_then(|(_, number)| number);
        self.epochs_option = chosen.map(|(at, _)| at);
        let by_loop = looped
            .filter(|looped| self.epochs_option.is_none() && self.find_only_with_value(*looped).is_some());
        if let Some(length) = length.or(by_loop).filter(|length| self.epochs != Some(*length)) {
            (self.epochs, self.epochs_option) = (Some(length), self.find_only_with_value(length));
        }
    }

    /// The first option with one of these names, preferably one that has a number, and one that the command gives.
    fn find_named_option(&self, names: &str) -> Option<(usize, &ScriptFlag)> {
        let named = self.options.iter().enumerate();
        let named = named.filter(|(_, option)| has_name_in(option, names) && !option.is_flag);
        named.min_by_key(|(at, option)| (count(option).is_none(), self.places[*at].is_none()))
    }

    /// The only option with this value that no search is about. Of two, each may mean something else.
    fn find_only_with_value(&self, value: u64) -> Option<usize> {
        let mut equal = (0..self.options.len()).filter(|at| {
            let option = &self.options[*at];
            let is_other = has_name_in(option, SEED_OPTION_NAMES)
                || is_never_searched(option)
                || known::proposal(option, None).is_some();
            count(option) == Some(value) && !option.is_flag && !is_other
        });
        equal.next().filter(|_| equal.next().is_none())
    }

    /// Lets the command be given the epochs of a study that has `number`, if the script takes a number and that is this one.
    pub(super) fn pass_epochs_if_equal(&mut self, number: u64) {
        let is_same = self.epochs.is_none_or(|own| own == number);
        let passed = self.epochs_option.take().filter(|_| is_same);
        if let Some(at) = passed.filter(|&at| self.options[at].style != OptionStyle::File) {
            self.put(at, &format!("{{{EPOCHS_PLACEHOLDER}}}"));
        }
    }

    /// A copy whose option for epochs takes them from the study, and the option's own value; `None` without such an option, or if
    /// it counts iterations, and one or two iterations are no training.
    pub(super) fn with_epochs_option(&self) -> Option<(Self, u64)> {
        let (at, own) = (self.epochs_option?, self.epochs?);
        let option = &self.options[at];
        let counts_epochs = has_name_in(option, EPOCH_OPTION_NAMES) && option.style != OptionStyle::File;
        let mut given = self.clone();
        given.put(at, &format!("{{{EPOCHS_PLACEHOLDER}}}"));
        counts_epochs.then_some((given, own))
    }

    /// The words that give the option whose value names `path`, or a folder above it, a place in the trial's own folder.
    pub(super) fn words_for_path(&self, path: &Path) -> Option<Vec<String>> {
        let mut options = self.options.iter().filter(|option| option.type_of() != OptionType::Truth);
        let option = options.find(|option| {
            let default = option.default.as_deref().unwrap_or_default().trim_end_matches('/');
            !default.is_empty() && !option.is_none() && path.starts_with(default.trim_start_matches("./"))
        })?;
        let name = Path::new(option.default.as_deref()?).file_name()?.to_string_lossy().into_owned();
        Some(option.words_with_value(&format!("{{{TRIAL_DIR}}}/{name}")))
    }

    /// A copy that searches the parameter `name` as `kind`.
    pub(super) fn with_parameter_kind(&self, name: &str, kind: &str) -> Self {
        let mut changed = self.clone();
        for searched in changed.parameters.iter_mut().filter(|searched| searched.name == name) {
            kind.clone_into(&mut searched.kind);
        }
        changed
    }

    /// Leaves out the parameter `name`: the script's own value stays.
    pub(super) fn leave_out_parameter(&mut self, name: &str) {
        self.parameters.retain(|searched| searched.name != name);
        let placeholder = format!("{{{name}}}");
        let own =
            self.options.iter().find(|option| option.name == name).and_then(|option| option.default.clone());
        for word in &mut self.command {
            if let Some(own) = own.as_ref().filter(|_| word.contains(&placeholder)) {
                *word = word.replace(&placeholder, own);
            }
        }
    }

    /// Gives an option the value `text`: in its place, or behind the sub-command that it belongs to.
    fn put(&mut self, at: usize, text: &str) {
        let option = &self.options[at];
        match &self.places[at] {
            Some(place) if place.values.is_empty() => {
                let (name, _) = self.command[place.name].split_once('=').unwrap_or((&option.flag, ""));
                self.command[place.name] = format!("{name}={text}");
            }
            Some(place) => text.clone_into(&mut self.command[place.values.start]),
            None => {
                let (end, words) =
                    (self.end_of_sub_command(option.level.len()), option.words_with_value(text));
                self.insert(end, words);
            }
        }
    }

    /// Where an option behind so many sub-commands is written: at the end of the command behind the last one; else right behind its
    /// sub-command or the script, where no list takes it for an item.
    fn end_of_sub_command(&self, depth: usize) -> usize {
        if depth >= self.used.len() {
            return self.command.len();
        }
        let mut at = script_position(&self.command);
        for name in &self.used[..depth] {
            at = (at + 1..self.command.len()).find(|&at| self.command[at] == *name).unwrap_or(at);
        }
        at + 1
    }

    fn insert(&mut self, at: usize, words: Vec<String>) {
        for place in self.places.iter_mut().flatten().filter(|place| place.name >= at) {
            let values = place.values.start + words.len()..place.values.end + words.len();
            *place = OptionPlace { name: place.name + words.len(), values };
        }
        self.command.splice(at..at, words);
    }

    /// Searches the options that are worth the most, the script's own before those of its libraries; others that can be searched are listed.
    fn search(&mut self, counts_batches: bool) {
        let has_own = self.options.iter().any(|option| !option.is_foreign);
        let mut found: Vec<(KindProposal, usize)> = Vec::new();
        for (at, option) in self.options.iter().enumerate() {
            let is_own = [EPOCH_OPTION_NAMES, SEED_OPTION_NAMES, FOLDER_OPTION_NAMES]
                .iter()
                .any(|names| has_name_in(option, names));
            let is_own = is_own || self.epochs_option == Some(at);
            let proposal = known::proposal(option, self.epochs).filter(|_| !is_own);
            found.extend(proposal.map(|proposal| (proposal, at)));
        }
        if found.is_empty() {
            // no name is a usual one: all numbers and choices
            let all = self.possible(has_own).into_iter().filter(|(_, kind)| kind != "flag");
            found.extend(all.map(|(at, kind)| (KindProposal::unusual(at, kind), at)));
        }
        found.sort_by_key(|(proposal, at)| {
            let option = &self.options[*at];
            let is_foreign = option.is_foreign && has_own;
            (is_foreign, proposal.place, self.places[*at].is_none(), option.name.len(), *at)
        });
        let mut chosen: Vec<(KindProposal, usize)> = Vec::new();
        for (proposal, at) in found {
            let alike = chosen.iter().filter(|(other, _)| other.place == proposal.place).count();
            let is_uneven = counts_batches && proposal.is_batch_size();
            // with another batch size a trial would have another number of values, so trials could not be compared step by step
            if is_uneven {
                self.uneven.push(self.options[at].name.clone());
            }
            if !is_uneven && chosen.len() < MAX_PARAMETERS && alike < MAX_SAME_KIND {
                chosen.push((proposal, at));
            } else {
                self.list(&self.options[at].clone(), proposal.kind);
            }
        }
        for (proposal, at) in &chosen {
            let option = self.options[*at].clone();
            if option.style != OptionStyle::File {
                self.put(*at, &placeholder(&option));
            }
            // a default of None is no value that a first trial could train
            let default = option.default.clone().filter(|_| !option.is_none());
            let default = if option.is_list { Some(known::written_list(&option)) } else { default };
            self.parameters.push(SearchedParameter {
                name: option.name,
                kind: proposal.kind.clone(),
                default,
            });
        }
        for (at, kind) in self.possible(has_own) {
            if chosen.iter().all(|(_, other)| *other != at) {
                self.list(&self.options[at].clone(), kind);
            }
        }
        // after the parameters are known, because only lists that are searched are cut to one word
        self.drop_list_tails();
    }

    /// The options that can be searched, whatever they are named.
    fn possible(&self, has_own: bool) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (at, option) in self.options.iter().enumerate() {
            // `--no-x` turns off the effect of `--x`
            let is_opposite = option
                .name
                .strip_prefix("no_")
                .is_some_and(|name| self.options.iter().any(|other| other.name == name));
            let is_hidden = is_opposite || option.is_foreign && has_own || self.epochs_option == Some(at);
            found.extend(possible(option).filter(|_| !is_hidden).map(|kind| (at, kind)));
        }
        found
    }

    fn list(&mut self, option: &ScriptFlag, kind: String) {
        if self.others.len() < MAX_OTHER_OPTIONS && self.others.iter().all(|other| other.name != option.name)
        {
            let given = if option.style == OptionStyle::File {
                Vec::new()
            } else {
                option.words_with_value(&placeholder(option))
            };
            self.others.push(UnsearchedOption { name: option.name.clone(), kind, given: given.join(" ") });
        }
    }

    /// The first word of a list in the command holds the placeholder; the other words are removed.
    fn drop_list_tails(&mut self) {
        let tails: Vec<usize> = (self.options.iter().zip(&self.places))
            .filter(|(option, _)| self.parameters.iter().any(|searched| searched.name == option.name))
            .filter_map(|(_, place)| place.clone())
            .flat_map(|place| place.values.skip(1))
            .collect();
        for place in self.places.iter_mut().flatten() {
            for at in [&mut place.name, &mut place.values.start, &mut place.values.end] {
                *at -= tails.iter().filter(|tail| **tail < *at).count();
            }
        }
        let mut at = 0;
        self.command.retain(|_| {
            at += 1;
            !tails.contains(&(at - 1))
        });
    }

    /// Gives each trial its own seed and its own folder.
    fn place_seed_and_folder(&mut self) {
        let mut seeded = false;
        for at in 0..self.options.len() {
            let option = &self.options[at];
            // Lightning's default for its seed is True
            let is_truth = option.type_of() == OptionType::Truth && option.name != "seed_everything";
            if option.style == OptionStyle::File || option.is_flag || is_truth {
                continue;
            }
            if !seeded && has_name_in(option, SEED_OPTION_NAMES) {
                self.put(at, &format!("{{{SEED_PLACEHOLDER}}}"));
                seeded = true;
            } else if has_name_in(option, FOLDER_OPTION_NAMES)
                && let Some(folder) = trial_folder_for(option, self.places[at].is_some())
            {
                self.folders.push((option.default.clone().unwrap_or_default(), folder.clone()));
                self.put(at, &folder);
            }
        }
    }

    /// The path of a file that a trial writes, which the test run wrote to `path`: in the trial's folder, if that is where it goes.
    pub(super) fn own_path(&self, path: &Path) -> Option<String> {
        self.folders.iter().find_map(|(default, folder)| {
            let rest = path
                .strip_prefix(default.trim_start_matches("./"))
                .ok()
                .or((default == ".").then_some(path))?;
            Some(Path::new(folder).join(rest).to_string_lossy().into_owned())
        })
    }
}

/// The value of an option, if that is a number of epochs or steps.
fn count(option: &ScriptFlag) -> Option<u64> {
    option.number().filter(|number| *number >= 1.0).map(|number| number as u64)
}

/// The place of the script in a command.
fn script_position(command: &[String]) -> usize {
    let of_module = command.iter().position(|word| word == "-m").map(|at| at + 1);
    let mut words = command.iter();
    let file = words.position(|word| !word.starts_with('-') && Path::new(word).extension().is_some());
    of_module.filter(|&at| at < command.len()).or(file).unwrap_or(0)
}

/// The folder of a trial for the files that the script writes by `option`; `None` if it writes nothing by default.
fn trial_folder_for(option: &ScriptFlag, is_given: bool) -> Option<String> {
    let default = option.default.as_deref().filter(|_| !option.is_none());
    let name = option.words().join("_");
    if default.is_none() && !is_given && name != "default_root_dir" {
        return None;
    }
    let path = Path::new(default.unwrap_or_default());
    let file = path.file_name().filter(|_| path.extension().is_some());
    Some(match file {
        // such as model.pt
        Some(file) => format!("{{{TRIAL_DIR}}}/{}", file.to_string_lossy()),
        None if ["", ".", "./"].contains(&default.unwrap_or_default()) => format!("{{{TRIAL_DIR}}}"),
        None => format!("{{{TRIAL_DIR}}}/output"),
    })
}

/// The placeholder for the values of an option; those of a list are words of their own.
fn placeholder(option: &ScriptFlag) -> String {
    let list = if option.is_list && option.style == OptionStyle::Separate { "*" } else { "" };
    format!("{{{list}{}}}", option.name)
}

/// Whether the name of an option, without the levels above it, is one of a list.
fn has_name_in(option: &ScriptFlag, names: &str) -> bool {
    let name = option.words().join("_");
    names.split_whitespace().any(|other| other == name)
}

/// Whether a word of its name is one that no search is about.
fn is_never_searched(option: &ScriptFlag) -> bool {
    option.words().iter().any(|word| UNSEARCHED_WORDS.split_whitespace().any(|never| never == word))
}

/// A kind for an option that is no known hyperparameter, and none that a search is never about.
fn possible(option: &ScriptFlag) -> Option<String> {
    let is_own = [EPOCH_OPTION_NAMES, ITERATION_OPTION_NAMES, SEED_OPTION_NAMES, FOLDER_OPTION_NAMES]
        .iter()
        .any(|names| has_name_in(option, names));
    if is_never_searched(option) || is_own {
        return None;
    }
    if option.is_flag {
        return Some("flag".to_owned());
    }
    if option.type_of() == OptionType::Truth {
        return None;
    }
    if option.choices.len() > 1 {
        return Some(format!("choice:{}", option.choices.join(",")));
    }
    // half and twice of the script's own value would be no range around 0
    let value = option.number().filter(|value| *value > 0.0)?;
    Some(match option.type_of() {
        OptionType::Whole if value >= 2.0 => {
            format!("int:{}:{}", (value / 2.0).floor().max(1.0), 2.0 * value)
        }
        OptionType::Real if value < 0.01 => format!("log:{}:{}", value / 10.0, 10.0 * value),
        OptionType::Real if value < 1.0 => format!("float:{}:{}", value / 2.0, (2.0 * value).min(1.0)),
        OptionType::Real => format!("float:{}:{}", value / 2.0, 2.0 * value),
        OptionType::Whole | OptionType::Unknown | OptionType::Truth | OptionType::Text => return None,
    })
}

/// The text of a source file that `word` names.
fn read_source_text(word: &str, folder: &Path) -> Option<String> {
    const MAX_SOURCE_BYTES: u64 = 1 << 20;
    let path = folder.join(word);
    let is_source = path
        .extension()
        .is_some_and(|extension| ["py", "sh", "r", "jl"].iter().any(|known| extension == *known));
    (is_source && path.metadata().ok()?.len() < MAX_SOURCE_BYTES)
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
}

/// The entries of a configuration that the `help` of a script in the manner of Hydra shows.
fn parse_hydra_config(help: &[String]) -> Vec<ScriptFlag> {
    let Some(at) = help.iter().position(|line| line.trim() == "== Config ==") else { return Vec::new() };
    let lines = help[at + 1..].iter().take_while(|line| !line.contains("Hydra")).filter(|line| {
        line.trim_start().starts_with("- ") || line.contains(": ") || line.trim_end().ends_with(':')
    });
    let text: Vec<&str> = lines.map(String::as_str).collect();
    let Ok(config) = ConfigFile::from_text(Path::new("config.yaml"), text.join("\n") + "\n") else {
        return Vec::new();
    };
    let options = config.entries().into_iter().map(|(name, value)| ScriptFlag {
        default: Some(value),
        style: OptionStyle::Word,
        flag: name.clone(),
        ..ScriptFlag::new(&name)
    });
    options.collect()
}

/// Looks for a configuration file on the command line (JSON, YAML or TOML), which gives options other defaults, and has entries of its own.
/// Returns the place of its name, and the name.
fn read_config_options(
    command: &[String],
    folder: &Path,
    options: &mut Vec<ScriptFlag>,
) -> Option<(usize, String)> {
    let (at, word, config) = command.iter().enumerate().skip(1).find_map(|(at, word)| {
        let config = ConfigFile::read(&folder.join(word)).ok()?;
        Some((at, word.clone(), config))
    })?;
    for (name, value) in config.entries() {
        match options.iter_mut().find(|option| option.name == name) {
            Some(option) => option.default = Some(value),
            None => options.push(ScriptFlag {
                default: Some(value),
                style: OptionStyle::File,
                flag: name.clone(),
                ..ScriptFlag::new(&name)
            }),
        }
    }
    Some((at, word))
}

/// The name and the value of `word`, if it has both: `--lr=0.1`. A path or a sentence is no name.
fn split_at_equals(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) if !value.is_empty() && !name.is_empty() && !name.contains(['/', ' ']) => {
            (name, Some(value))
        }
        _ => (word, None),
    }
}

/// The places where `command` gives each of the `options`. Options known from the command alone are added. Given values are defaults.
fn find_option_places(
    command: &[String],
    options: &mut Vec<ScriptFlag>,
    positional: &[String],
) -> Vec<Option<OptionPlace>> {
    let mut places: Vec<Option<OptionPlace>> = vec![None; options.len()];
    let script = script_position(command);
    let (mut at, mut bare) = (1, 0);
    while at < command.len() {
        let word = &command[at];
        if let Some((option, place)) = parse_papermill_parameter(command, at) {
            options.push(option);
            places.push(Some(place));
            at += 3;
            continue;
        }
        // a negative number begins as an option does, even though it is a value
        let is_option = word.starts_with('-') && word.parse::<f64>().is_err();
        let (name, joined) = split_at_equals(word);
        if !is_option && joined.is_none() {
            if at > script {
                // a positional argument has the name that the help gives it
                if let Some(own) = positional.get(bare) {
                    let option = ScriptFlag { default: Some(word.clone()), ..ScriptFlag::new(own) };
                    options.push(ScriptFlag { style: OptionStyle::Separate, ..option });
                    places.push(Some(OptionPlace { name: at, values: at..at + 1 }));
                }
                bare += 1;
            }
            at += 1;
            continue;
        }
        // Hydra adds a key that its configuration lacks by a `+` in front, which is no part of the name
        let own = ScriptFlag::new(name.trim_start_matches('+'));
        let found =
            options.iter().position(|option| option.name == own.name && option.style != OptionStyle::File);
        let is_flag = found.is_some_and(|found| options[found].is_flag);
        let is_list = found.is_some_and(|found| options[found].is_list);
        let count = if joined.is_some() || is_flag { 0 } else { count_values(&command[at + 1..], is_list) };
        let values = at + 1..at + 1 + count;
        let value =
            joined.map(str::to_owned).or_else(|| (count > 0).then(|| command[values.clone()].join(" ")));
        if let Some(value) = value {
            let style = match (joined.is_some(), is_option) {
                (true, false) => OptionStyle::Word,
                (true, true) => OptionStyle::Joined,
                _ => OptionStyle::Separate,
            };
            let place = OptionPlace { name: at, values: values.clone() };
            match found {
                Some(found) => {
                    options[found].default = Some(value);
                    options[found].style = style;
                    places[found] = Some(place);
                }
                None => {
                    options.push(ScriptFlag { default: Some(value), flag: name.to_owned(), style, ..own });
                    places.push(Some(place));
                }
            }
        }
        at = values.end;
    }
    places
}

/// The parameter that papermill is given at `at`: `-p lr 0.1`.
fn parse_papermill_parameter(command: &[String], at: usize) -> Option<(ScriptFlag, OptionPlace)> {
    let is_notebook = Path::new(command.first()?).ends_with("papermill");
    let (name, value) = (command.get(at + 1)?, command.get(at + 2)?);
    let option =
        ScriptFlag { default: Some(value.clone()), flag: command[at].clone(), ..ScriptFlag::new(name) };
    let place = OptionPlace { name: at, values: at + 2..at + 3 };
    (is_notebook && PAPERMILL_PARAMETER_FLAGS.contains(&command[at].as_str())).then_some((option, place))
}

/// How many of the `words` after an option are its values.
fn count_values(words: &[String], is_list: bool) -> usize {
    let most = if is_list { words.len() } else { 1 };
    let words = words.iter().take(most);
    words.take_while(|word| !word.starts_with('-') || word.parse::<f64>().is_ok()).count()
}

#[cfg(test)]
mod tests {
    use super::{CommandOptions, KnownOptions, ScriptFlag, read};
    use std::path::Path;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn options_in_help(command: &str, help: &str) -> CommandOptions {
        let help: Vec<String> = help.lines().map(str::to_owned).collect();
        let (command, folder) = (words(command), Path::new("/nowhere"));
        read(&command, KnownOptions::from_text(&help, &command, folder), folder)
    }

    fn kinds(described: &CommandOptions) -> Vec<(&str, &str)> {
        described.parameters.iter().map(|searched| (searched.name.as_str(), searched.kind.as_str())).collect()
    }

    #[test]
    fn values_of_the_command_line_become_placeholders() {
        let mut described = options_in_help(
            "python train.py --lr 0.1 optim.momentum=0.9 --epochs 12 --seed=3 --out-dir runs",
            "",
        );
        assert_eq!(kinds(&described), [("lr", "log:0.0033:1"), ("optim.momentum", "float:0.5:0.99")]);
        assert_eq!(described.epochs, Some(12));
        described.pass_epochs_if_equal(12);
        assert_eq!(
            described.command,
            words(
                "python train.py --lr {lr} optim.momentum={optim.momentum} --epochs {epochs} --seed={seed} --out-dir {trial_dir}/output"
            )
        );
    }

    #[test]
    fn few_known_hyperparameters_are_searched_and_the_others_listed() {
        let help = "options:\n  --lr LR  (default: 0.1)\n  --weight-decay W  (default: 0.0)\n  --batch-size N  (default: 64)\n  --test-batch-size N  (default: 1000)\n  --dropout D  (default: 0.1)\n  --attn-dropout D  (default: 0.1)\n  --emb-dropout D  (default: 0.1)\n  --momentum M  (default: 0.9)\n  --layers N  (default: 4)\n  --width N  (default: 64)\n  --gamma G  (default: 0.7)\n  --label-smoothing S  (default: 0.0)\n  --amp\n  --log-level {a,b}\n  --alpha A  (default: 0.5)\n  --seed S  (default: 1)\n  --epochs N  (default: 5)\n  --save-model\n  --logdir DIR  (default: runs)\n";
        let mut found = options_in_help("python train.py", help);
        let names: Vec<&str> = found.parameters.iter().map(|searched| searched.name.as_str()).collect();
        assert_eq!(
            names,
            ["lr", "weight_decay", "batch_size", "dropout", "emb_dropout", "layers", "width", "momentum"]
        );
        let others: Vec<&str> = found.others.iter().map(|other| other.name.as_str()).collect();
        assert_eq!(others, ["attn_dropout", "label_smoothing", "gamma", "amp", "alpha"]);
        assert_eq!(found.others[3].given, "--amp={amp}");
        found.pass_epochs_if_equal(5);
        let command = found.command.join(" ");
        assert!(
            command.ends_with("--seed {seed} --logdir {trial_dir}/output --epochs {epochs}"),
            "{command}"
        );
    }

    #[test]
    fn a_list_stays_a_list() {
        let help = "options:\n  --hidden HIDDEN [HIDDEN ...]  (default: [64, 64])\n";
        let found = options_in_help("python train.py", help);
        assert_eq!(kinds(&found), [("hidden", "choice:[32,32],[64,64],[128,128]")]);
        assert_eq!(found.command, words("python train.py --hidden {*hidden}"));
        assert_eq!(found.parameters[0].default.as_deref(), Some("[64,64]"));
        let given = options_in_help("python train.py --hidden 8 4 --seed 1", help);
        assert_eq!(given.parameters[0].default.as_deref(), Some("[8,4]"));
        assert_eq!(given.command, words("python train.py --hidden {*hidden} --seed {seed}"));
    }

    #[test]
    fn the_configuration_of_hydra_becomes_words() {
        let help = "t is powered by Hydra.\n\n== Config ==\nOverride anything in the config (foo.bar=value)\n\noptim:\n  name: adam\n  lr: 0.001\n  weight_decay: 0.0\nepochs: 10\nseed: 1\nmodel:\n  hidden:\n  - 64\n  - 64\n  dropout: 0.1\n\n\nPowered by Hydra (https://hydra.cc)\n";
        let mut found = options_in_help("python t.py", help);
        assert_eq!(
            kinds(&found),
            [
                ("optim.lr", "log:0.000033:0.03"),
                ("optim.weight_decay", "log:0.000001:0.1"),
                ("model.dropout", "float:0:0.5")
            ]
        );
        found.pass_epochs_if_equal(10);
        let expected = "python t.py optim.lr={optim.lr} optim.weight_decay={optim.weight_decay} model.dropout={model.dropout} seed={seed} epochs={epochs}";
        assert_eq!(found.command, words(expected));
    }

    #[test]
    fn parameters_of_a_notebook_are_named_behind_their_option() {
        let found = options_in_help("papermill train.ipynb out.ipynb -p lr 0.01 -p epochs 5", "");
        let expected = "papermill train.ipynb out.ipynb -p lr {lr} -p epochs 5";
        assert_eq!((found.command, found.epochs), (words(expected), Some(5)));
    }

    #[test]
    fn an_option_for_epochs_that_counts_something_else_is_left_alone() {
        let mut found = options_in_help("python train.py --epochs 12", "");
        found.pass_epochs_if_equal(6);
        assert_eq!(found.command, words("python train.py --epochs 12"));
    }

    #[test]
    fn a_positional_argument_is_searched_by_its_name() {
        let help = "positional arguments:\n  data\n  width\n\noptions:\n  --lr LR  (default: 0.1)\n";
        let found = options_in_help("python train.py images 64", help);
        assert_eq!(found.command, words("python train.py images {width} --lr {lr}"));
    }

    #[test]
    fn an_option_goes_behind_the_sub_command_that_it_belongs_to() {
        let option = |flag: &str, default: &str, level: &[&str]| ScriptFlag {
            default: Some(default.to_owned()),
            level: level.iter().map(|&word| word.to_owned()).collect(),
            ..ScriptFlag::new(flag)
        };
        let options = vec![
            option("--seed", "1", &[]),
            option("--lr", "0.1", &["train"]),
            option("--epochs", "9", &["train"]),
        ];
        let known = KnownOptions { options, used: words("train"), ..KnownOptions::default() };
        let mut found = read(&words("python tool.py -v train --epochs 9"), known, Path::new("/nowhere"));
        found.pass_epochs_if_equal(9);
        assert_eq!(found.command, words("python tool.py --seed {seed} -v train --epochs {epochs} --lr {lr}"));
    }

    #[test]
    fn the_option_with_the_value_that_the_library_was_asked_for_is_the_one_for_epochs() {
        let option = |flag: &str, default: &str| ScriptFlag {
            default: Some(default.to_owned()),
            ..ScriptFlag::new(flag)
        };
        let options = vec![option("--passes", "7"), option("--lr", "0.1"), option("--epochs", "3")];
        let known = KnownOptions { options, length: Some(7), ..KnownOptions::default() };
        let mut found = read(&words("python t.py"), known, Path::new("/nowhere"));
        found.pass_epochs_if_equal(7);
        assert!(found.command.join(" ").ends_with("--passes {epochs}"), "{:?}", found.command);
    }

    #[test]
    fn options_without_usual_names_are_searched_where_there_are_no_others_but_not_the_length_of_the_loop() {
        let option = |flag: &str, default: &str| ScriptFlag {
            default: Some(default.to_owned()),
            ..ScriptFlag::new(flag)
        };
        let flag = ScriptFlag { is_flag: true, ..ScriptFlag::new("--mirror") };
        let options =
            vec![option("--sharpness", "0.3"), option("--slots", "8"), option("--sweeps", "5"), flag];
        let known = KnownOptions { options, looped: Some(5), ..KnownOptions::default() };
        let mut found = read(&words("python t.py"), known, Path::new("/nowhere"));
        assert_eq!(kinds(&found), [("sharpness", "float:0.15:0.6"), ("slots", "int:4:16")]);
        found.pass_epochs_if_equal(5);
        assert_eq!(found.command.last().map(String::as_str), Some("{epochs}"), "{:?}", found.command);
    }

    #[test]
    fn own_options_come_before_those_of_a_library() {
        let option = |flag: &str, default: &str, is_foreign: bool| ScriptFlag {
            default: Some(default.to_owned()),
            is_foreign,
            ..ScriptFlag::new(flag)
        };
        let options = vec![
            option("--learning-rate", "0.1", true),
            option("--dropout", "0.1", false),
            option("--warmup-ratio", "None", true),
        ];
        let found = read(
            &words("python t.py"),
            KnownOptions { options, ..KnownOptions::default() },
            Path::new("/nowhere"),
        );
        assert_eq!(kinds(&found)[0].0, "dropout");
        assert_eq!(found.parameters.last().and_then(|last| last.default.clone()), None, "None is no value");
    }
}
