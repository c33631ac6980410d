//! The options of a training script: from its command line, its `--help`, its source, and its configuration file.

use foretell_run::{CONFIG, ConfigFile};
use regex::Regex;
use std::path::Path;

/// What could be learnt of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Described {
    /// The command with placeholders for what is searched.
    pub(super) command: Vec<String>,
    /// Parameters to search, each with its kind.
    pub(super) parameters: Vec<(String, String)>,
    /// The values that the script has for them by itself, where they are known.
    pub(super) defaults: Vec<(String, String)>,
    /// Options that might be searched, too, each with a suggestion.
    pub(super) others: Vec<(String, String)>,
    pub(super) epochs: Option<u64>,
    /// The configuration file that it is given.
    pub(super) config: Option<String>,
}

impl Described {
    /// Searches `option` by `kind`; its default is one to try first.
    fn add(&mut self, option: &Opt, kind: String) {
        let default = option.default.clone().filter(|_| option.choices.is_empty() || option.has_choice());
        self.defaults.extend(default.map(|value| (option.name.clone(), value)));
        self.parameters.push((option.name.clone(), kind));
    }
}

/// An option of the script.
#[derive(Clone, Debug, Default, PartialEq)]
struct Opt {
    /// Without dashes.
    name: String,
    /// How it is written in the command: `--lr`, or `lr=` for Hydra-like words.
    flag: String,
    default: Option<String>,
    choices: Vec<String>,
}

impl Opt {
    /// Whether its default is one of its choices.
    fn has_choice(&self) -> bool {
        self.default.as_ref().is_some_and(|default| self.choices.contains(default))
    }
}

/// Names of options that are no hyperparameters.
const FIXED: [&str; 22] = [
    "seed",
    "epochs",
    "epoch",
    "max_epochs",
    "num_epochs",
    "n_epochs",
    "workers",
    "num_workers",
    "gpu",
    "gpus",
    "device",
    "port",
    "log_interval",
    "rank",
    "world_size",
    "verbose",
    "patience",
    "save_every",
    "steps",
    "max_steps",
    "help",
    "version",
];

/// Reads what `command` can be given; `help` is what it printed for `--help`, files are looked for in `folder`.
pub(super) fn read(command: &[String], help: &[String], folder: &Path) -> Described {
    let mut options = in_help(help);
    let sources = command.iter().filter_map(|word| source(word, folder));
    for option in sources.flat_map(|text| in_source(&text)) {
        match options.iter_mut().find(|there| there.name == option.name) {
            Some(there) => {
                there.default = there.default.take().or(option.default);
                if there.choices.is_empty() {
                    there.choices = option.choices;
                }
            }
            None => options.push(option),
        }
    }
    let mut described = Described { command: command.to_vec(), ..Described::default() };
    take_command_line(&mut described, &mut options);
    if described.parameters.is_empty() {
        take_config_file(&mut described, folder);
    }
    for option in options {
        take_option(&mut described, &option);
    }
    described
}

fn source(word: &str, folder: &Path) -> Option<String> {
    const MOST: u64 = 1 << 20;
    let path = folder.join(word);
    let is_source = path
        .extension()
        .is_some_and(|extension| ["py", "sh", "r", "jl"].iter().any(|known| extension == *known));
    (is_source && path.metadata().ok()?.len() < MOST).then(|| std::fs::read_to_string(path).ok()).flatten()
}

/// The words of the command itself: `--lr 0.1`, `--lr=0.1`, `lr=0.1`.
fn take_command_line(described: &mut Described, options: &mut Vec<Opt>) {
    let mut place = 1;
    while place < described.command.len() {
        let word = described.command[place].clone();
        let next = described.command.get(place + 1).cloned();
        let (name, value, joined) = match word.split_once('=') {
            Some((name, value)) if !value.is_empty() => (name.to_owned(), value.to_owned(), true),
            _ => match next {
                Some(value) if word.starts_with('-') && !value.starts_with('-') => {
                    (word.clone(), value, false)
                }
                _ => {
                    place += 1;
                    continue;
                }
            },
        };
        let plain = plain_name(&name);
        let known = options.iter().position(|option| option.name == plain).map(|place| options.remove(place));
        let choices = known.map(|option| option.choices).unwrap_or_default();
        let option = Opt { name: plain.clone(), flag: name.clone(), default: Some(value.clone()), choices };
        if is_epochs(&plain) {
            described.epochs = value.parse().ok();
        } else if let Some(kind) = kind(&option) {
            let placeholder = format!("{{{plain}}}");
            let at = if joined { place } else { place + 1 };
            described.command[at] = if joined { format!("{name}={placeholder}") } else { placeholder };
            described.add(&option, kind);
        }
        place += if joined { 1 } else { 2 };
    }
}

/// An option that the command does not give.
fn take_option(described: &mut Described, option: &Opt) {
    if is_epochs(&option.name) {
        let default = option.default.as_ref().and_then(|value| value.parse().ok());
        described.epochs = described.epochs.or(default);
    } else if described.parameters.iter().any(|(name, _)| *name == option.name) {
    } else if let Some(kind) = kind(option) {
        described.command.extend([option.flag.clone(), format!("{{{}}}", option.name)]);
        described.add(option, kind);
    } else if !FIXED.contains(&option.name.as_str())
        && let Some(default) = option.default.as_ref().and_then(|value| value.parse::<f64>().ok())
        && default > 0.0
    {
        described.others.push((option.name.clone(), format!("float:{}:{}", default / 4.0, default * 4.0)));
    }
}

fn is_epochs(name: &str) -> bool {
    ["epochs", "max_epochs", "num_epochs", "n_epochs", "num_train_epochs"].contains(&name)
}

fn plain_name(flag: &str) -> String {
    flag.trim_start_matches('-').replace('-', "_")
}

/// A configuration file on the command line (JSON, YAML or TOML): its place is taken by a trial's copy.
fn take_config_file(described: &mut Described, folder: &Path) {
    for place in 1..described.command.len() {
        let word = described.command[place].clone();
        let Ok(config) = ConfigFile::read(&folder.join(&word)) else { continue };
        for (name, value) in config.entries() {
            let last = name.rsplit('.').next().unwrap_or_default();
            if is_epochs(last) {
                described.epochs = described.epochs.or(value.parse().ok());
                continue;
            }
            let option = Opt { name, default: Some(value), ..Opt::default() };
            if let Some(kind) = kind(&option) {
                described.add(&option, kind);
            }
        }
        if described.parameters.is_empty() {
            continue;
        }
        described.command[place] = format!("{{{CONFIG}}}");
        described.config = Some(word);
        return;
    }
}

/// A sensible range for a known hyperparameter.
fn kind(option: &Opt) -> Option<String> {
    let name = option.name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    if option.choices.len() > 1 && !FIXED.contains(&name.as_str()) {
        return Some(format!("choice:{}", option.choices.join(",")));
    }
    let default: Option<f64> = option.default.as_ref().and_then(|value| value.parse().ok());
    let positive = default.filter(|default| *default > 0.0);
    let is = |words: &[&str]| words.iter().any(|word| name == *word || name.ends_with(&format!("_{word}")));
    let log =
        |default: f64, times: f64| format!("log:{}:{}", rounded(default / times), rounded(default * times));
    if is(&["lr", "learning_rate"]) {
        Some(log(positive.unwrap_or(1e-2), 30.0))
    } else if is(&["weight_decay", "wd", "l2", "alpha", "reg"]) && (default.is_some() || name != "alpha") {
        Some(log(positive.unwrap_or(1e-4), 100.0))
    } else if is(&["dropout"]) {
        Some("float:0:0.6".to_owned())
    } else if is(&["momentum"]) {
        Some("float:0.5:0.99".to_owned())
    } else if is(&["batch_size", "bs"]) {
        let size = positive.unwrap_or(64.0).max(4.0);
        Some(format!("choice:{},{},{}", (size / 4.0).round(), size.round(), (size * 4.0).round()))
    } else if is(&["hidden", "units", "width", "hidden_size", "hidden_dim", "dim", "filters", "channels"]) {
        let size = positive.unwrap_or(64.0);
        Some(format!("logint:{}:{}", (size / 4.0).ceil(), (size * 4.0).round()))
    } else if is(&["layers", "num_layers", "n_layers", "depth"]) {
        Some(format!("int:1:{}", (positive.unwrap_or(2.0) * 2.0).round()))
    } else {
        None
    }
}

/// Two significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

/// Options in the way of argparse, click and clap: `--lr LR  rate (default: 0.1)`, `--opt {sgd,adam}`.
fn in_help(lines: &[String]) -> Vec<Opt> {
    let (Some(start), Some(default), Some(choices)) = (
        regex(r"^ +(?:-[A-Za-z0-9],? ?[A-Za-z_0-9<>]*,? )?--([A-Za-z][A-Za-z0-9_.-]*)(.*)$"),
        regex(r"[dD]efault(?:s to|:|=| is)? *:? *([^] ),;]+)"),
        regex(r"\{([^}]+)\}|\[([A-Za-z0-9_.-]+(?:\|[A-Za-z0-9_.-]+)+)\]"),
    ) else {
        return Vec::new();
    };
    let mut options: Vec<Opt> = Vec::new();
    for line in lines {
        let rest = match start.captures(line) {
            Some(found) => {
                let flag = format!("--{}", &found[1]);
                options.push(Opt { name: plain_name(&flag), flag, ..Opt::default() });
                found[2].to_owned()
            }
            None => line.clone(),
        };
        let Some(option) = options.last_mut() else { continue };
        if option.default.is_none() {
            option.default =
                default.captures(&rest).map(|found| found[1].trim_matches(['"', '\'', '.']).to_owned());
        }
        if option.choices.is_empty()
            && let Some(found) = choices.captures(&rest)
        {
            let list = found.get(1).or(found.get(2)).map_or("", |list| list.as_str());
            option.choices = list.split([',', '|']).map(|choice| choice.trim().to_owned()).collect();
        }
    }
    options
}

/// `add_argument("--lr", type=float, default=0.1)` and click's `option`.
fn in_source(text: &str) -> Vec<Opt> {
    let (Some(call), Some(default), Some(choices)) = (
        regex(r#"(?:add_argument|click\.option)\(([^#\n]*(?:\n[^#\n)]*)*)\)"#),
        regex(r#"default *= *["']?([^"',) \n]+)"#),
        regex(r"(?:choices *= *|Choice\()[\[(]([^])]+)[\])]"),
    ) else {
        return Vec::new();
    };
    let Some(flag) = regex(r#"["'](--[A-Za-z][A-Za-z0-9_.-]*)["']"#) else { return Vec::new() };
    // each call by itself: from its name to the next one
    let starts: Vec<usize> = call.find_iter(text).map(|found| found.start()).collect();
    let all = regex(r"add_argument\(|click\.option\(")
        .map(|all| all.find_iter(text).map(|it| it.start()).collect::<Vec<_>>());
    let starts = all.unwrap_or(starts);
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let calls = starts.iter().zip(ends).map(|(&from, to)| {
        let text = &text[from..to];
        text.split("\n\n").next().unwrap_or(text)
    });
    let option = |call: &str| {
        let flag = flag.captures(call)?[1].to_owned();
        let list = choices.captures(call).map(|found| found[1].to_owned()).unwrap_or_default();
        let choices = list.split(',').map(|choice| choice.trim().trim_matches(['"', '\'']).to_owned());
        Some(Opt {
            name: plain_name(&flag),
            flag,
            default: default.captures(call).map(|found| found[1].to_owned()),
            choices: choices.filter(|choice| !choice.is_empty()).collect(),
        })
    };
    calls.filter_map(option).collect()
}

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

#[cfg(test)]
mod tests {
    use super::{in_help, in_source, read};
    use std::path::Path;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read_from_help_and_source() {
        let help = "options:\n  -h, --help   show this\n  --lr LR      rate (default: 0.1)\n  --opt {sgd,adam}\n  -b N, --batch-size N  size [default: 64]";
        let help: Vec<String> = help.lines().map(str::to_owned).collect();
        let options = in_help(&help);
        let shown: Vec<_> =
            options.iter().map(|o| (o.name.as_str(), o.default.as_deref(), o.choices.len())).collect();
        assert_eq!(
            shown,
            [("help", None, 0), ("lr", Some("0.1"), 0), ("opt", None, 2), ("batch_size", Some("64"), 0)]
        );
        let source = "p.add_argument(\"--lr\", type=float, default=0.1)\np.add_argument('--opt', choices=['sgd', 'adam'],\n  default='sgd')\n";
        let options = in_source(source);
        let shown: Vec<_> =
            options.iter().map(|o| (o.name.as_str(), o.default.as_deref(), o.choices.len())).collect();
        assert_eq!(shown, [("lr", Some("0.1"), 0), ("opt", Some("sgd"), 2)]);
    }

    #[test]
    fn a_default_that_is_no_choice_is_none() {
        let help = ["  --lr LR  (default: 0.1)", "  --opt {sgd,adam}  (default: auto)"].map(str::to_owned);
        let described = read(&words("python train.py"), &help, Path::new("/nowhere"));
        assert_eq!(described.defaults, [("lr".to_owned(), "0.1".to_owned())]);
        assert_eq!(described.parameters.len(), 2);
    }

    #[test]
    fn values_of_the_command_line_become_placeholders() {
        let described = read(
            &words("python train.py --lr 0.1 optim.momentum=0.9 --epochs 12 --seed=3"),
            &[],
            Path::new("/nowhere"),
        );
        assert_eq!(
            described.command,
            words("python train.py --lr {lr} optim.momentum={optim.momentum} --epochs 12 --seed=3")
        );
        assert_eq!(described.parameters[0], ("lr".to_owned(), "log:0.0033:3".to_owned()));
        assert_eq!((described.parameters.len(), described.epochs), (2, Some(12)));
    }
}
