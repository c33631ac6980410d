//! The options in a script's source: calls of argparse and click, flags of absl, and global variables that the command line overrides.

use super::option::{Opt, Style, Type};
use foretell_search::split_at_commas;

/// Calls that define an option; the place of its name among their arguments.
const CALLS: [&str; 5] = ["add_argument(", "click.option(", "@option(", "typer.Option(", "flags.DEFINE_"];
/// Signs of a script whose global variables the command line overrides, as nanoGPT's does.
const GLOBALS: [&str; 3] = ["configurator", "globals()[", "globals().update"];

/// The options that a source in Python defines; of other languages those that look alike.
pub(super) fn read(text: &str) -> Vec<Opt> {
    let calls = CALLS
        .iter()
        .flat_map(|call| text.match_indices(call))
        .map(|(at, call)| (at, &text[at + call.len()..], call));
    let mut found: Vec<(usize, Opt)> = calls
        .filter_map(|(at, rest, call)| {
            Some((at, if call.starts_with("flags") { absl(rest)? } else { option(arguments(rest)?)? }))
        })
        .collect();
    found.sort_by_key(|(at, _)| *at);
    let mut options: Vec<Opt> = found.into_iter().map(|(_, option)| option).collect();
    if GLOBALS.iter().any(|sign| text.contains(sign)) {
        options.extend(globals(text));
    }
    options
}

/// Whether Hydra composes the configuration of a script.
pub(super) fn uses_hydra(text: &str) -> bool {
    text.contains("hydra.main")
}

/// The arguments of a call whose text after the opening parenthesis is `rest`.
fn arguments(rest: &str) -> Option<&str> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, letter) in rest.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth > 0 => depth -= 1,
            (None, ')') => return Some(&rest[..at]),
            _ => {}
        }
    }
    None
}

/// An option of argparse or click by the arguments of the call.
fn option(arguments: &str) -> Option<Opt> {
    let arguments = split_at_commas(arguments);
    let flags = arguments.iter().filter_map(|argument| unquoted(argument)).flat_map(|flag| flag.split('/'));
    let flags: Vec<&str> = flags.map(str::trim).filter(|flag| flag.starts_with('-')).collect();
    let mut option = Opt::new(flags.iter().find(|flag| flag.starts_with("--")).or(flags.first())?);
    let keyword = |name: &str| {
        let value = |argument: &&str| {
            argument
                .split_once('=')
                .filter(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
        };
        arguments.iter().find_map(value)
    };
    option.default = keyword("default").filter(|text| is_literal(text)).map(|text| plain(&text));
    let values = keyword("type").unwrap_or_default();
    option.values = match values.as_str() {
        "int" | "click.INT" => Type::Whole,
        "float" | "click.FLOAT" => Type::Real,
        "str" | "click.STRING" => Type::Text,
        other if other.contains("bool") || other.contains("BOOL") => Type::Truth,
        _ => Type::Unknown,
    };
    let listed = keyword("choices").or_else(|| values.contains("Choice(").then(|| values.clone()));
    option.choices = listed.map(|list| items(&list)).unwrap_or_default();
    let action = keyword("action").unwrap_or_default();
    option.is_flag = ["store_true", "store_false", "BooleanOptionalAction", "store_const"]
        .iter()
        .any(|word| action.contains(word))
        || keyword("is_flag").is_some_and(|text| text == "True")
        || flags.iter().any(|flag| flag.trim_start_matches('-').starts_with("no-") && flags.len() > 1);
    let count = keyword("nargs").unwrap_or_default();
    option.is_list = !count.is_empty() && count != "1" && !count.contains('?');
    Some(option)
}

/// `DEFINE_float('lr', 0.1, 'rate')` of absl, by its text after `DEFINE_`.
fn absl(rest: &str) -> Option<Opt> {
    let (kind, rest) = rest.split_once('(')?;
    let arguments = split_at_commas(arguments(rest)?);
    let mut option = Opt::new(&format!("--{}", unquoted(arguments.first()?)?));
    option.default = arguments.get(1).filter(|text| is_literal(text)).map(|text| plain(text));
    option.values = match kind {
        "integer" => Type::Whole,
        "float" => Type::Real,
        "bool" | "boolean" => Type::Truth,
        _ => Type::Text,
    };
    option.choices = arguments.get(2).filter(|_| kind == "enum").map(|list| items(list)).unwrap_or_default();
    option.is_flag = option.values == Type::Truth;
    option.style = Style::Joined;
    Some(option)
}

/// The assignments of literals at the beginning of lines, up to where the command line is read.
fn globals(text: &str) -> Vec<Opt> {
    let before = GLOBALS.iter().filter_map(|sign| text.find(sign)).min().unwrap_or(text.len());
    let assignment = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.split(" #").next().unwrap_or_default().trim();
        let name = name.trim_end();
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        (is_name && is_literal(value)).then(|| {
            let is_text = unquoted(value).is_some();
            Opt {
                default: Some(plain(value)),
                values: if is_text { Type::Text } else { Type::Unknown },
                style: Style::Joined,
                ..Opt::new(&format!("--{name}"))
            }
        })
    };
    let mut options: Vec<Opt> = text[..before].lines().filter_map(assignment).collect();
    options.iter_mut().for_each(|option| option.values = option.type_of());
    options
}

/// Whether a value stands for itself: a number, a text, a truth value, a list of these.
fn is_literal(text: &str) -> bool {
    let text = text.trim();
    unquoted(text).is_some()
        || text.parse::<f64>().is_ok()
        || ["True", "False", "None"].contains(&text)
        || text.starts_with(['[', '(']) && items(text).iter().all(|item| item.parse::<f64>().is_ok())
}

fn items(list: &str) -> Vec<String> {
    let inner = list.find(['[', '(']).map_or(list, |at| &list[at + 1..]);
    let inner = inner.split([']', ')']).next().unwrap_or_default().trim_start_matches(['[', '(']);
    let items = split_at_commas(inner).into_iter().map(plain);
    items.filter(|item| !item.is_empty()).collect()
}

fn plain(text: &str) -> String {
    unquoted(text).unwrap_or(text).to_owned()
}

fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim();
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::commands::init::option::{Opt, Style, Type};

    #[test]
    fn calls_of_argparse_and_click_are_read_over_lines() {
        let source = "p.add_argument('--lr', type=float,\n    default=.1, help='the rate (of learning), a number')\np.add_argument(\"-b\", \"--batch-size\", default=64, type=int)\np.add_argument('--opt', choices=['sgd', 'adam'], default='sgd')\np.add_argument('--hidden', type=int, nargs='+', default=[64, 64])\np.add_argument('--amp', action='store_true')\np.add_argument('--n', default=count())\n@click.option('--fast/--slow', default=True)\n@click.option('--kind', type=click.Choice(['a', 'b']), default='a')\n";
        let options = read(source);
        let shown = |option: &Opt| {
            (
                option.name.clone(),
                option.default.clone().unwrap_or_default(),
                option.choices.join("|"),
                option.is_list,
                option.is_flag,
            )
        };
        let row = |name: &str, default: &str, choices: &str, list: bool, flag: bool| {
            (name.to_owned(), default.to_owned(), choices.to_owned(), list, flag)
        };
        assert_eq!(
            options.iter().map(shown).collect::<Vec<_>>(),
            [
                row("lr", ".1", "", false, false),
                row("batch_size", "64", "", false, false),
                row("opt", "sgd", "sgd|adam", false, false),
                row("hidden", "[64, 64]", "", true, false),
                row("amp", "", "", false, true),
                row("n", "", "", false, false),
                row("fast", "True", "", false, false),
                row("kind", "a", "a|b", false, false),
            ]
        );
        assert_eq!((options[0].values, options[1].values), (Type::Real, Type::Whole));
    }

    #[test]
    fn globals_count_where_the_command_line_overrides_them() {
        let source = "import x\nlearning_rate = 6e-4 # max\nn_layer = 12\ndecay_lr = True\nout_dir = 'out'\nname = f'{x}'\nexec(open('configurator.py').read())\nafter = 3\n";
        let options = read(source);
        let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
        assert_eq!(names, ["learning_rate", "n_layer", "decay_lr", "out_dir"]);
        assert!(options.iter().all(|option| option.style == Style::Joined));
        assert_eq!(
            [options[0].values, options[1].values, options[2].values],
            [Type::Real, Type::Whole, Type::Truth]
        );
        assert_eq!(read("lr = 3\nprint(lr)\n"), []);
    }
}
