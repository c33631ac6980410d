//! Global variables in a script's source that the command line overrides.

use super::option::{OptionStyle, OptionType, ScriptFlag};
use foretell_search::split_at_commas;

/// Signs of a script whose global variables the command line overrides, as nanoGPT's does.
const OVERRIDDEN_GLOBALS_SIGNS: [&str; 3] = ["configurator", "globals()[", "globals().update"];

/// The assignments of literals at the beginning of lines, up to where the command line is read.
pub(super) fn read(text: &str) -> Vec<ScriptFlag> {
    let Some(before) = OVERRIDDEN_GLOBALS_SIGNS.iter().filter_map(|sign| text.find(sign)).min() else {
        return Vec::new();
    };
    let assignments = text[..before].lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.split(" #").next().unwrap_or_default().trim();
        let name = name.trim_end();
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        (is_name && is_literal(value)).then(|| {
            let is_text = strip_quotes(value).is_some();
            ScriptFlag {
                default: Some(plain(value)),
                values: if is_text { OptionType::Text } else { OptionType::Unknown },
                style: OptionStyle::Joined,
                ..ScriptFlag::new(&format!("--{name}"))
            }
        })
    });
    let mut options: Vec<ScriptFlag> = assignments.collect();
    options.iter_mut().for_each(|option| option.values = option.type_of());
    options
}

/// Whether a value stands for itself: a number, a text, a truth value, a list of these.
fn is_literal(text: &str) -> bool {
    let text = text.trim();
    strip_quotes(text).is_some()
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
    strip_quotes(text).unwrap_or(text).to_owned()
}

fn strip_quotes(text: &str) -> Option<&str> {
    let text = text.trim();
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::commands::init::option::{OptionStyle, OptionType};

    #[test]
    fn globals_count_where_the_command_line_overrides_them() {
        let source = "import x\nlearning_rate = 6e-4 # max\nn_layer = 12\ndecay_lr = True\nout_dir = 'out'\nname = f'{x}'\nexec(open('configurator.py').read())\nafter = 3\n";
        let options = read(source);
        let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
        assert_eq!(names, ["learning_rate", "n_layer", "decay_lr", "out_dir"]);
        assert!(options.iter().all(|option| option.style == OptionStyle::Joined));
        assert_eq!(
            [options[0].values, options[1].values, options[2].values],
            [OptionType::Real, OptionType::Whole, OptionType::Truth]
        );
        assert_eq!(read("lr = 3\nprint(lr)\n"), []);
    }
}
