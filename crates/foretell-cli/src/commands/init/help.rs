//! The options in the text that a script prints for `--help`, where no parser was recorded: argparse, click, clap, Go.

use super::option::{KnownOptions, OptionType, ScriptFlag, plain_name};
use regex::Regex;

/// Words that stand for a value of a type.
const WHOLE_NUMBER_WORDS: [&str; 3] = ["INTEGER", "INT", "INTEGER RANGE"];
const REAL_NUMBER_WORDS: [&str; 2] = ["FLOAT", "FLOAT RANGE"];

/// An option whose lines are being read.
struct OpenOption {
    option: ScriptFlag,
    spec: String,
    text: String,
}

/// Reads the `lines` of a help.
pub(super) fn read(lines: &[String]) -> KnownOptions {
    let mut help = KnownOptions::default();
    let mut open: Option<OpenOption> = None;
    let mut in_positional = false;
    for line in lines {
        let trimmed = line.trim();
        let started = parse_option_start(line);
        if started.is_some() || is_heading(line) {
            help.options.extend(open.take().map(finish));
        }
        if is_heading(line) {
            let name = trimmed.to_lowercase();
            in_positional = name.starts_with("positional") || name.starts_with("argument");
        } else if let Some(started) = started {
            in_positional = false;
            open = Some(started);
        } else if let Some(open) = &mut open {
            open.text.push(' ');
            open.text.push_str(trimmed);
        } else if in_positional && line.starts_with("  ") {
            let name = trimmed.split_whitespace().next().filter(|name| !name.starts_with('{'));
            help.positional.extend(name.map(|name| plain_name(name).to_lowercase()));
        }
    }
    help.options.extend(open.map(finish));
    help
}

/// Whether a line names a group of options: `options:`, `FLAGS`.
fn is_heading(line: &str) -> bool {
    let flush = !line.starts_with(' ') && !line.is_empty();
    flush
        && (line.trim_end().ends_with(':') || line.trim().chars().all(|c| c.is_uppercase() || c == ' '))
        && line.trim().trim_end_matches(':').chars().all(|c| c.is_alphanumeric() || " _.<>'-".contains(c))
}

/// The option that a line starts: its names, and the text after them.
fn parse_option_start(line: &str) -> Option<OpenOption> {
    let indented = line.starts_with([' ', '\t']);
    let (mut rest, mut names) = (line.trim_start(), Vec::new());
    if !indented || !rest.starts_with('-') {
        return None;
    }
    let mut spec = String::new();
    while let Some((name, after)) = parse_name(rest) {
        names.push(name);
        // the text between two names is the values that the first takes
        let gap = after.find("  ").unwrap_or(after.len());
        let (values, more) = match next_name(&after[..gap]) {
            Some(at) => after.split_at(at),
            None => (&after[..gap], &after[gap..]),
        };
        spec.push_str(values.trim_end_matches([',', '/', ' ']));
        rest = more.trim_start_matches([',', '/', ' ']);
        if !rest.starts_with('-') {
            break;
        }
    }
    let long =
        // a long name may have a single dash, as Go's flags do
        names.iter().find(|name| name.starts_with("--")).or(names.iter().find(|name| name.len() > 2))?;
    let mut option = ScriptFlag::new(long);
    option.is_flag = names.iter().any(|name| name.trim_start_matches('-').starts_with("no-"));
    Some(OpenOption { option, spec, text: rest.to_owned() })
}

/// The name at the start of `text`, and the text after it.
fn parse_name(text: &str) -> Option<(String, &str)> {
    let dashes = text.len() - text.trim_start_matches('-').len();
    if !(1..=2).contains(&dashes) {
        return None;
    }
    let rest = &text[dashes..];
    let length = rest.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(rest.len());
    let starts = rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (length > 0 && starts).then(|| (text[..dashes + length].to_owned(), &rest[length..]))
}

/// Where the next name starts.
fn next_name(text: &str) -> Option<usize> {
    [", -", " / -", "|-", " | -"]
        .iter()
        .filter_map(|sign| text.find(sign).map(|at| at + sign.len() - 1))
        .min()
}

/// The option, completed from its text.
fn finish(open: OpenOption) -> ScriptFlag {
    let (mut option, text) = (open.option, open.text);
    let spec = open.spec.trim().trim_start_matches('=').trim();
    let whole = format!("{spec} {text}");
    option.choices = choices(&whole, spec);
    option.default = default(&whole);
    option.values = parse_type(spec);
    option.range = parse_limits(&whole);
    option.is_list = spec.contains("...");
    let says_value = !spec.is_empty() || option.default.is_some() && option.type_of() != OptionType::Truth;
    option.is_flag |= !says_value;
    option
}

/// `{sgd,adam}`, `[sgd|adam]`, `<sgd|adam>`, `[possible values: sgd, adam]`.
fn choices(whole: &str, spec: &str) -> Vec<String> {
    let found = capture(spec, r"\{([^}]+)\}")
        .or_else(|| capture(spec, r"^[\[<]([A-Za-z0-9_.-]+(?:\|[A-Za-z0-9_.-]+)+)[\]>]"))
        .or_else(|| capture(whole, r"\[possible values: ([^\]]+)\]"));
    let list = found.unwrap_or_default();
    list.split([',', '|'])
        .map(|choice| choice.trim().trim_matches(['"', '\'']).to_owned())
        .filter(|choice| !choice.is_empty())
        .collect()
}

/// The value behind the word default, up to where it ends.
fn default(text: &str) -> Option<String> {
    let sign = Regex::new(r"[dD]efaults?(?: value)?(?:: ?| ?= ?| is | to | )").ok()?;
    let mut values = sign.find_iter(text).filter_map(|found| {
        let is_sure = found.as_str().trim_end().ends_with([':', '=']) || found.as_str().ends_with("to ");
        let value = parse_value(text[found.end()..].trim_start())?;
        // by default it …
        (is_sure || value.parse::<f64>().is_ok()).then_some(value)
    });
    values.next()
}

/// The value at the start of `text`: in quotes, in brackets, or up to a sign that ends it.
fn parse_value(text: &str) -> Option<String> {
    let value = match text.chars().next()? {
        quote @ ('"' | '\'' | '`') => text[1..].split(quote).next()?.to_owned(),
        open @ ('[' | '(') => {
            let close = if open == '[' { ']' } else { ')' };
            text[..=text.find(close)?].to_owned()
        }
        _ => {
            let end = text.find([')', ']', ';']).unwrap_or(text.len());
            let value = text[..end].split(", ").next().unwrap_or_default().trim_end_matches(['.', ',']);
            // a list without brackets, or the first word of a sentence
            let words: Vec<&str> = value.split_whitespace().collect();
            let are_numbers = words.iter().all(|word| word.parse::<f64>().is_ok());
            if are_numbers { words.join(" ") } else { (*words.first()?).to_owned() }
        }
    };
    (!value.is_empty()).then_some(value)
}

fn parse_type(spec: &str) -> OptionType {
    if starts_with_word_of(spec, &WHOLE_NUMBER_WORDS) {
        OptionType::Whole
    } else if starts_with_word_of(spec, &REAL_NUMBER_WORDS) {
        OptionType::Real
    } else if spec == "BOOLEAN" {
        OptionType::Truth
    } else {
        OptionType::Unknown
    }
}

fn starts_with_word_of(spec: &str, words: &[&str]) -> bool {
    words.iter().any(|word| spec == *word || spec.starts_with(&format!("{word} ")))
}

/// `0<=x<=1`, `x>=1`.
fn parse_limits(text: &str) -> Option<(f64, f64)> {
    let found = Regex::new(r"\[?(?:(-?[0-9.]+)<=?)?x(?:(<=?|>=?)(-?[0-9.]+))?").ok()?;
    found.captures_iter(text).find_map(|found| {
        let [low, bound] = [1, 3].map(|group| found.get(group)?.as_str().parse::<f64>().ok());
        let sign = found.get(2).map_or("", |sign| sign.as_str());
        match (low, bound) {
            (None, None) => None,
            (low, Some(bound)) if sign.starts_with('<') => Some((low.unwrap_or(f64::NEG_INFINITY), bound)),
            (None, Some(bound)) => Some((bound, f64::INFINITY)),
            (Some(low), _) => Some((low, f64::INFINITY)),
        }
    })
}

fn capture(text: &str, pattern: &str) -> Option<String> {
    Regex::new(pattern).ok()?.captures(text).map(|found| found[1].to_owned())
}

#[cfg(test)]
mod tests {
    use super::{KnownOptions, read};
    use crate::commands::init::option::{OptionType, ScriptFlag};

    fn help(text: &str) -> KnownOptions {
        read(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    /// Name, default, choices, whether a list, whether a flag.
    fn shown(option: &ScriptFlag) -> (&str, Option<&str>, String, bool, bool) {
        (&option.name, option.default.as_deref(), option.choices.join("|"), option.is_list, option.is_flag)
    }

    #[test]
    fn argparse() {
        let text = "usage: t.py [-h] [--lr LR]\n\npositional arguments:\n  data\n  width                 the width\n\noptions:\n  -h, --help            show this help message and exit\n  --batch-size N        input batch size for training (default: 64)\n  --lr LR               learning rate (default: 1.0)\n  --dry-run             quickly check a single pass\n  --hidden HIDDEN [HIDDEN ...]\n                        widths (default: [64, 64])\n  --amp, --no-amp\n  --opt {sgd,adam}, -o {sgd,adam}\n  --learning_rate LEARNING_RATE, --learning-rate LEARNING_RATE\n                        The initial learning rate for the optimizer. (default:\n                        5e-05)\n  --bf16 [BF16]         Enable it. By default it is off. (default: False)\n";
        let help = help(text);
        let found: Vec<_> = help.options.iter().map(shown).collect();
        let none = String::new;
        assert_eq!(
            found,
            [
                ("help", None, none(), false, true),
                ("batch_size", Some("64"), none(), false, false),
                ("lr", Some("1.0"), none(), false, false),
                ("dry_run", None, none(), false, true),
                ("hidden", Some("[64, 64]"), none(), true, false),
                ("amp", None, none(), false, true),
                ("opt", None, "sgd|adam".to_owned(), false, false),
                ("learning_rate", Some("5e-05"), none(), false, false),
                ("bf16", Some("False"), none(), false, false),
            ]
        );
        assert_eq!(help.positional, ["data", "width"]);
    }

    #[test]
    fn click() {
        let found = help("Options:\n  --lr FLOAT                learning rate  [default: 0.1]\n  -b, --batch-size INTEGER  [default: 32]\n  --opt [sgd|adam]          a long text that is wrapped\n                            over lines [default: sgd]\n  --amp / --no-amp          [default: no-amp]\n  --dropout FLOAT RANGE     [default: 0.1; 0<=x<=1]\n  --verbose\n").options;
        let shown: Vec<_> = found.iter().map(shown).collect();
        let none = String::new;
        assert_eq!(
            shown[..3],
            [
                ("lr", Some("0.1"), none(), false, false),
                ("batch_size", Some("32"), none(), false, false),
                ("opt", Some("sgd"), "sgd|adam".to_owned(), false, false)
            ]
        );
        assert!(found[3].is_flag);
        assert_eq!((found[4].default.as_deref(), found[4].type_of()), (Some("0.1"), OptionType::Real));
        assert_eq!(found[4].range, Some((0.0, 1.0)));
    }
}
