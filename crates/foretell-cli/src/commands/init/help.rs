//! The options in the text that a script prints for `--help`: argparse, click, typer, absl, fire, jsonargparse, tyro, clap, Go.

use super::option::{Opt, Style, Type, plain_name};
use regex::Regex;

/// Words that stand for a value of a type, as click, typer and tyro write them.
const WHOLE: [&str; 5] = ["INTEGER", "INT", "<int>", "INTEGER RANGE", "<integer>"];
const REAL: [&str; 5] = ["FLOAT", "<float>", "FLOAT RANGE", "<float range>", "<number>"];
const TRUTH: [&str; 2] = ["BOOLEAN", "<bool>"];
/// Characters of the boxes that rich draws.
const BOX: [char; 10] = ['│', '┃', '╭', '╮', '╰', '╯', '─', '├', '┤', '*'];

/// The content of a help text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Help {
    pub(super) options: Vec<Opt>,
    /// The names of positional arguments, in order.
    pub(super) positional: Vec<String>,
}

/// An option whose lines are being read.
struct Open {
    option: Opt,
    spec: String,
    text: String,
}

/// Reads the `lines` of a help.
pub(super) fn read(lines: &[String]) -> Help {
    let mut help = Help::default();
    let mut open: Option<Open> = None;
    let mut in_positional = false;
    for line in lines {
        let line = &redrawn(line);
        let plain = line.replace(BOX, " ");
        let trimmed = plain.trim();
        let started = start(&plain);
        if started.is_some() || is_heading(&plain) {
            help.options.extend(open.take().map(finish));
        }
        if is_heading(&plain) || line.contains(['╭', '┌']) {
            let name = trimmed.to_lowercase();
            in_positional = name.starts_with("positional") || name.starts_with("argument");
        } else if let Some(started) = started {
            in_positional = false;
            open = Some(started);
        } else if let Some(open) = &mut open {
            open.text.push(' ');
            open.text.push_str(trimmed);
        } else if in_positional && plain.starts_with("  ") {
            let name = trimmed.split_whitespace().next().filter(|name| !name.starts_with('{'));
            help.positional.extend(name.map(|name| plain_name(name).to_lowercase()));
        }
    }
    help.options.extend(open.map(finish));
    help
}

/// A line with the boxes of rich where they were written with signs: `-- Options ---`, `|  --lr  |`, `-------`.
fn redrawn(line: &str) -> String {
    let inside = line.trim_end().strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    match inside {
        Some(inside) => format!("│{inside}│"),
        None if line.starts_with("-- ") && line.trim_end().ends_with("--") => {
            format!("╭ {}", line.trim_matches(['-', ' ']))
        }
        None => line.to_owned(),
    }
}

/// Whether a line names a group of options: `options:`, `FLAGS`.
fn is_heading(line: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || " _.<>'-".contains(c);
    let flush = !line.starts_with(' ') && !line.is_empty();
    flush
        && (line.trim_end().ends_with(':') || line.trim().chars().all(|c| c.is_uppercase() || c == ' '))
        && line.trim().trim_end_matches(':').chars().all(is_word)
}

/// The option that a line starts: its names, and the text after them.
fn start(line: &str) -> Option<Open> {
    let indented = line.starts_with([' ', '\t']);
    let (mut rest, mut names) = (line.trim_start(), Vec::new());
    if !indented || !rest.starts_with('-') {
        return None;
    }
    let mut spec = String::new();
    while let Some((name, after)) = name_at(rest) {
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
    // typer and tyro write the type in a column of its own
    while let Some(column) = rest.split("  ").next().filter(|column| is_type(column.trim())) {
        spec.push(' ');
        spec.push_str(column.trim());
        rest = rest[column.len()..].trim_start();
    }
    let long =
        names.iter().find(|name| name.starts_with("--")).or(names.iter().find(|name| name.len() > 2))?;
    let mut option = Opt::new(&long.replace("[no]", ""));
    option.is_flag =
        long.contains("[no]") || names.iter().any(|name| name.trim_start_matches('-').starts_with("no-"));
    Some(Open { option, spec, text: rest.to_owned() })
}

/// The name at the start of `text`, and the text after it.
fn name_at(text: &str) -> Option<(String, &str)> {
    let dashes = text.len() - text.trim_start_matches('-').len();
    if !(1..=2).contains(&dashes) {
        return None;
    }
    let rest = &text[dashes..];
    let no = if rest.starts_with("[no]") { 4 } else { 0 };
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let length = rest[no..].find(|c| !is_name(c)).unwrap_or(rest.len() - no);
    let starts = rest[no..].starts_with(|c: char| c.is_alphabetic() || c == '_');
    // jsonargparse's `--list+` appends
    let plus = usize::from(rest[no + length..].starts_with('+'));
    (length > 0 && starts).then(|| (text[..dashes + no + length].to_owned(), &rest[no + length + plus..]))
}

/// Where the next name starts.
fn next_name(text: &str) -> Option<usize> {
    [", -", " / -", "|-", " | -"]
        .iter()
        .filter_map(|sign| text.find(sign).map(|at| at + sign.len() - 1))
        .min()
}

fn is_type(text: &str) -> bool {
    let brackets = text.starts_with(['<', '{']) || text.starts_with('[') && text.contains("<=");
    [&WHOLE[..], &REAL, &TRUTH].iter().any(|words| words.contains(&text))
        || (brackets && !text.contains(' '))
        || text == "TEXT"
        || text == "PATH"
}

/// The option, completed from its text.
fn finish(open: Open) -> Opt {
    let (mut option, text) = (open.option, open.text);
    let spec = open.spec.trim().trim_start_matches('=').trim();
    // absl: `--opt: <sgd|adam>: optimizer`
    let is_absl = spec.starts_with(':') || text.contains("(a comma separated list)");
    let spec = spec.trim_start_matches(':').trim();
    let whole = format!("{spec} {text}");
    option.choices = choices(&whole, spec);
    option.default = default(&whole);
    option.values = type_in(spec, &whole);
    option.range = limits(&whole);
    // fire: `--lr=LR`, and below it `Default: 0.1`
    let is_fire = open.spec.contains('=') && whole.contains("Default:");
    let is_one_word = spec.contains("[ITEM,...]") || is_absl || is_fire;
    let has_list = option.default.as_ref().is_some_and(|default| default.starts_with(['[', '(']));
    option.is_list = match is_one_word {
        true => spec.contains("[ITEM,...]") || whole.contains("comma separated list") || is_fire && has_list,
        false => spec.contains("..."),
    };
    if is_one_word {
        option.style = Style::Joined;
    }
    let says_value = !spec.is_empty() || option.default.is_some() && option.type_of() != Type::Truth;
    option.is_flag = option.is_flag || (!says_value && !is_absl);
    option
}

/// `{sgd,adam}`, `[sgd|adam]`, `<sgd|adam>`, `[possible values: sgd, adam]`, `Literal['sgd', 'adam']`.
fn choices(whole: &str, spec: &str) -> Vec<String> {
    let found = capture(spec, r"\{([^}]+)\}")
        .or_else(|| capture(spec, r"^[\[<]([A-Za-z0-9_.-]+(?:\|[A-Za-z0-9_.-]+)+)[\]>]"))
        .or_else(|| capture(whole, r"\[possible values: ([^\]]+)\]"))
        .or_else(|| capture(whole, r"Literal\[([^\]]+)\]"));
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
        let value = value_at(text[found.end()..].trim_start())?;
        // by default it …
        (is_sure || value.parse::<f64>().is_ok()).then_some(value)
    });
    values.next()
}

/// The value at the start of `text`: in quotes, in brackets, or up to a sign that ends it.
fn value_at(text: &str) -> Option<String> {
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

fn type_in(spec: &str, whole: &str) -> Type {
    let says = |texts: &[&str]| texts.iter().any(|text| whole.contains(text));
    let is = |words: &[&str]| words.iter().any(|word| spec == *word || spec.starts_with(&format!("{word} ")));
    if is(&WHOLE) || says(&["type: int", "[int]", "(an integer", "integer)", "type: List[int]"]) {
        Type::Whole
    } else if is(&REAL) || says(&["type: float", "[float]", "(a number", "a non-negative number"]) {
        Type::Real
    } else if is(&TRUTH) || says(&["type: bool", "[bool]", "type: <class 'bool'>"]) {
        Type::Truth
    } else if says(&["type: str", "Optional[str]"]) {
        Type::Text
    } else {
        Type::Unknown
    }
}

/// `0<=x<=1`, `x>=1`.
fn limits(text: &str) -> Option<(f64, f64)> {
    let found = Regex::new(r"\[?(?:(-?[0-9.]+)<=?)?x(?:(<=?|>=?)(-?[0-9.]+))?").ok()?;
    found.captures_iter(text).find_map(|found| {
        let number = |group: usize| found.get(group).and_then(|text| text.as_str().parse::<f64>().ok());
        let (low, bound) = (number(1), number(3));
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
    use super::{Help, read};
    use crate::commands::init::option::{Opt, Style, Type};

    fn help(text: &str) -> Help {
        read(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    /// Name, default, choices, whether a list, whether a flag.
    fn shown(option: &Opt) -> (&str, Option<&str>, String, bool, bool) {
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
    fn click_and_the_boxes_of_typer_and_tyro() {
        let click = "Options:\n  --lr FLOAT                learning rate  [default: 0.1]\n  -b, --batch-size INTEGER  [default: 32]\n  --opt [sgd|adam]          a long text that is wrapped\n                            over lines [default: sgd]\n  --amp / --no-amp          [default: no-amp]\n  --dropout FLOAT RANGE     [default: 0.1; 0<=x<=1]\n  --verbose\n";
        let typer = "╭─ Options ─────────────────────────────────────────────────╮\n│ --lr                <float>                  learning rate [default: 0.1]  │\n│ --batch-size        <int>                    [default: 32]                 │\n│ --opt               <sgd|adam>               [default: sgd]                │\n│ --amp     --no-amp  <bool>                   [default: no-amp]             │\n│ --dropout           <float range> [0<=x<=1]  [default: 0.1]                │\n│ --verbose                                    [default: False]              │\n╰───────────────────────────────────────────────────────────╯\n";
        // as the reader of printed lines writes them
        let signs = typer.replace(['╭', '╮', '╰', '╯', '─'], "-").replace('│', "|");
        let tyro = "╭─ options ────────────────────────╮\n│ --lr FLOAT                (default: 0.1)  │\n│ --batch-size INT          (default: 32)   │\n│ --opt {sgd,adam}          (default: sgd)  │\n│ --amp, --no-amp           (default: False) │\n│ --dropout FLOAT           (default: 0.1)  │\n│ --hidden [INT [INT ...]]  (default: 64 64) │\n╰──────────────────────────────────╯\n";
        for text in [click, typer, &signs, tyro] {
            let options = help(text).options;
            let found: Vec<_> = options.iter().map(shown).collect();
            let none = String::new;
            assert_eq!(
                found[..3],
                [
                    ("lr", Some("0.1"), none(), false, false),
                    ("batch_size", Some("32"), none(), false, false),
                    ("opt", Some("sgd"), "sgd|adam".to_owned(), false, false)
                ]
            );
            assert!(options[3].is_flag, "{text}");
            assert_eq!(
                (options[4].default.as_deref(), options[4].type_of()),
                (Some("0.1"), Type::Real),
                "{text}"
            );
        }
        assert_eq!(help(click).options[4].range, Some((0.0, 1.0)));
        assert_eq!(help(typer).options[4].range, Some((0.0, 1.0)));
        assert_eq!(help(tyro).options[5].list(), ["64", "64"]);
        assert!(help(tyro).options[5].is_list);
    }

    #[test]
    fn absl_fire_and_jsonargparse() {
        let absl = help("t_absl.py:\n  --[no]amp: mixed precision\n    (default: 'false')\n  --batch_size: batch size\n    (default: '32')\n    (a positive integer)\n  --hidden: widths\n    (default: '64,64')\n    (a comma separated list)\n  --opt: <sgd|adam>: optimizer\n    (default: 'sgd')\n").options;
        let none = String::new;
        assert_eq!(
            absl.iter().map(shown).collect::<Vec<_>>(),
            [
                ("amp", Some("false"), none(), false, true),
                ("batch_size", Some("32"), none(), false, false),
                ("hidden", Some("64,64"), none(), true, false),
                ("opt", Some("sgd"), "sgd|adam".to_owned(), false, false),
            ]
        );
        assert!(absl[1..].iter().all(|option| option.style == Style::Joined));
        let fire = help(
            "POSITIONAL ARGUMENTS\n    DATA\n\nFLAGS\n    -l, --lr=LR\n        Default: 0.1\n    -h, --hidden=HIDDEN\n        Default: (64, 64)\n\nNOTES\n    You can also use flags\n",
        );
        assert_eq!(fire.positional, ["data"]);
        assert_eq!((fire.options[0].default.as_deref(), fire.options[1].list().len()), (Some("0.1"), 2));
        assert!(fire.options[1].is_list && fire.options.iter().all(|option| option.style == Style::Joined));
        let json = help("options:\n  -h, --help            Show this help message and exit.\n  --trainer.barebones {true,false}\n                        (type: bool, default: False)\n  --model.lr LR         the rate (type: float, default: 0.02)\n  --model.hidden [ITEM,...], --model.hidden+ [ITEM,...]\n                        widths (type: List[int], default: [64, 64])\n  --model.opt {sgd,adam}\n                        (type: Literal['sgd', 'adam'], default: sgd)\n  --model.momentum MOMENTUM\n                        (type: Optional[float], default: null)\n").options;
        assert_eq!(json[1].type_of(), Type::Truth);
        assert_eq!(shown(&json[2]), ("model.lr", Some("0.02"), none(), false, false));
        assert_eq!(
            (shown(&json[3]), json[3].style),
            (("model.hidden", Some("[64, 64]"), none(), true, false), Style::Joined)
        );
        assert_eq!(json[4].choices, ["sgd", "adam"]);
        assert!(json[5].is_none());
    }
}
