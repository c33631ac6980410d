//! The names and numbers that a line of output shows: `val_acc=0.71`, `loss: 1.2e-3`, `"epoch": 3`, `{'eval_loss': '0.5'}`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// The word that names an epoch, the unit of a step where nothing else is said.
const EPOCH: [&str; 1] = ["epoch"];
/// Words that name a step where no epoch is named.
const STEP: [&str; 6] = ["step", "global_step", "iter", "iteration", "round", "generation"];
/// Words that say how many there are: `Namespace(epochs=10)` names no step.
const COUNT: [&str; 6] = ["epochs", "steps", "global_steps", "iterations", "rounds", "generations"];
/// Words before a name that speak of what was reported before.
const PAST: [&str; 8] = ["best", "final", "highest", "lowest", "previous", "max", "min", "from"];

static PAIR: LazyLock<Regex> = LazyLock::new(|| {
    let name = "[A-Za-z_][A-Za-z0-9_./@-]*";
    let number = r"[-+]?(?:[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[nN][aA][nN]|[iI]nf(?:inity)?|Infinity)|null|None";
    Regex::new(&format!("({name})[\"']?[ \t]*[=:|]?[ \t]*[\"'\\[(#]?({number})"))
        .expect("a regular expression")
});

static BAR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\|[ \t]*([0-9]+)/([0-9]+)[ \t]*\[").expect("a regular expression"));

/// A name and the number beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<'a> {
    /// The name.
    pub name: &'a str,
    /// The number; `None` where it is not finite, null or None.
    pub value: Option<f64>,
    /// Where the name begins, in bytes.
    pub at: usize,
    /// Where the number begins, in bytes.
    pub value_at: usize,
    /// Where the number ends, in bytes.
    pub end: usize,
    /// Whether the word before speaks of what was reported before: `best val_acc 0.9`.
    pub is_past: bool,
}

/// The names and numbers in `line`, from left to right.
///
/// ```
/// use foretell_run::scan::pairs;
/// let found = pairs("Epoch 3/10 - loss: 0.25 val_acc=.71");
/// let names: Vec<_> = found.iter().map(|pair| (pair.name, pair.value)).collect();
/// assert_eq!(names, [("Epoch", Some(3.0)), ("loss", Some(0.25)), ("val_acc", Some(0.71))]);
/// ```
pub fn pairs(line: &str) -> Vec<Pair<'_>> {
    let mut pairs = Vec::new();
    let mut from = 0;
    while let Some(captures) = PAIR.captures_at(line, from) {
        let (Some(name), Some(number)) = (captures.get(1), captures.get(2)) else { break };
        let joins = |c: char| c.is_alphanumeric() || "_./-@".contains(c);
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let inside = line[..name.start()].chars().next_back().is_some_and(joins);
        let goes_on = line[number.end()..].chars().next().is_some_and(is_word);
        // `acc1` alone is a word, not the number 1 beside the name acc
        let apart = line[name.end()..number.start()].chars().next().is_some();
        from = if apart { number.end() } else { name.end() };
        if apart && !inside && !goes_on {
            pairs.push(Pair {
                name: name.as_str(),
                value: number.as_str().parse().ok().filter(|value: &f64| value.is_finite()),
                at: name.start(),
                value_at: number.start(),
                end: number.end(),
                is_past: is_past(&line[..name.start()]),
            });
        }
    }
    pairs
}

fn is_past(before: &str) -> bool {
    let word = before.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    PAST.contains(&word.to_ascii_lowercase().as_str())
}

/// Whether `name` is that of an epoch or a step, or of how many there are: never that of a metric.
pub fn names_step(name: &str) -> bool {
    is_one_of(name, &EPOCH) || is_one_of(name, &STEP) || is_one_of(name, &COUNT)
}

fn is_one_of(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// The epoch that a line names, or else its step. One that is no whole number is none.
pub fn step(pairs: &[Pair<'_>]) -> Option<u64> {
    named_step(pairs).map(|(_, step)| step)
}

/// The epoch that a line names, or else its step, with the name and where it is.
pub(crate) fn named_step<'p, 'a>(pairs: &'p [Pair<'a>]) -> Option<(&'p Pair<'a>, u64)> {
    let named = |words: &[&str]| pairs.iter().find(|pair| is_one_of(pair.name, words) && !pair.is_past);
    let pair = named(&EPOCH).or_else(|| named(&STEP))?;
    Some((pair, crate::report::whole_step(pair.value?)?))
}

/// The epoch that is being trained where a line names a part of one: 1 of `'epoch': 0.37`.
pub(crate) fn epoch_under_way(pairs: &[Pair<'_>]) -> Option<u64> {
    let value = pairs.iter().find(|pair| is_one_of(pair.name, &EPOCH))?.value?;
    if crate::report::whole_step(value).is_some() { None } else { crate::report::whole_step(value.ceil()) }
}

/// `3/10` of a progress bar such as tqdm draws it.
pub fn bar(line: &str) -> Option<(u64, u64)> {
    let captures = BAR.captures(line)?;
    Some((captures.get(1)?.as_str().parse().ok()?, captures.get(2)?.as_str().parse().ok()?))
}

/// `line` without the terminal's escape sequences: colours, and moves of the cursor. Backspaces go, too.
pub fn plain(line: &[u8]) -> Cow<'_, [u8]> {
    if !line.contains(&0x1b) && !line.contains(&0x08) {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match (byte, tail) {
            (0x1b, [b'[', parameters @ ..]) => {
                let end = parameters.iter().position(|byte| (0x40..=0x7e).contains(byte));
                rest = end.map_or(&[], |end| &parameters[end + 1..]);
            }
            (0x1b, [b']', text @ ..]) => {
                let end = text.iter().position(|&byte| byte == 0x07);
                rest = end.map_or(&[], |end| &text[end + 1..]);
            }
            (0x1b, [_, after @ ..]) => rest = after,
            (0x1b | 0x08, _) => {}
            _ => plain.push(*byte),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::{bar, epoch_under_way, pairs, plain, step};

    fn found(line: &str) -> Vec<(&str, Option<f64>)> {
        pairs(line).into_iter().filter(|pair| !pair.is_past).map(|pair| (pair.name, pair.value)).collect()
    }

    #[test]
    fn finds_names_with_their_numbers_as_programs_write_them() {
        type Found<'a> = &'a [(&'a str, Option<f64>)];
        let cases: [(&str, Found<'_>); 13] = [
            ("val_acc=0.71", &[("val_acc", Some(0.71))]),
            (r#"{"epoch": 3, "val_acc": .71}"#, &[("epoch", Some(3.0)), ("val_acc", Some(0.71))]),
            ("{'eval_loss': '1.5e-3', 'epoch': '2.0'}", &[("eval_loss", Some(1.5e-3)), ("epoch", Some(2.0))]),
            ("938/938 - 2s 2ms/step - val_accuracy: 0.97", &[("val_accuracy", Some(0.97))]),
            ("Epoch [3/10], acc 71.5%", &[("Epoch", Some(3.0)), ("acc", Some(71.5))]),
            (
                "2026-11-23 12:00:01 INFO train epoch=3 val/acc=0.5",
                &[("epoch", Some(3.0)), ("val/acc", Some(0.5))],
            ),
            ("loss: nan, acc: -Infinity", &[("loss", None), ("acc", None)]),
            (r#"{"loss": null}"#, &[("loss", None)]),
            ("best val_acc: 0.9", &[]),
            ("resnet18 3x3 lr1e-3", &[]),
            ("45.2it/s, v_num=0, val_acc=0.71]", &[("v_num", Some(0.0)), ("val_acc", Some(0.71))]),
            ("val_acc=0.71abc", &[]),
            ("", &[]),
        ];
        for (line, expected) in cases {
            assert_eq!(found(line), expected, "{line}");
        }
    }

    #[test]
    fn an_epoch_comes_before_a_step_and_a_part_of_one_is_none() {
        assert_eq!(step(&pairs("step 500 epoch 3: loss 1")), Some(3));
        assert_eq!(step(&pairs("step 500: loss 1")), Some(500));
        assert_eq!(step(&pairs("{'loss': 1.0, 'epoch': 0.37, 'step': 40}")), None);
        assert_eq!(step(&pairs("best epoch 3")), None);
        assert_eq!(epoch_under_way(&pairs("{'loss': 1.0, 'epoch': 0.37}")), Some(1));
        assert_eq!(epoch_under_way(&pairs("{'loss': 1.0, 'epoch': 2.0}")), None);
        assert_eq!(bar("train:  30%|###       | 3/10 [00:03<00:07, val_acc=0.71]"), Some((3, 10)));
        assert_eq!(bar("3/10 [00:03]"), None);
    }

    #[test]
    fn how_many_epochs_there_are_is_no_epoch() {
        let lines = [
            "Namespace(lr=0.1, epochs=10)",
            "Epochs: 10",
            "  Num Epochs = 10",
            "{'epochs': 10, 'lr': 0.1}",
            "steps: 10",
            "iterations=100 rounds=7",
        ];
        for line in lines {
            assert_eq!(step(&pairs(line)), None, "{line}");
        }
        assert_eq!(step(&pairs("{epoch: 3, val_acc: 0.7}")), Some(3));
        assert_eq!(found("mIoU: 0.61"), [("mIoU", Some(0.61))]);
    }

    #[test]
    fn colours_and_moves_of_the_cursor_vanish() {
        let cases: [(&[u8], &[u8]); 5] = [
            (b"\x1b[1;32mval_acc\x1b[0m=\x1b[33m0.71\x1b[m", b"val_acc=0.71"),
            (b"\x1b[2K\x1b[1Aloss 1", b"loss 1"),
            (b"\x1b]0;title\x07loss 1", b"loss 1"),
            (b"50\x08\x08loss 1", b"50loss 1"),
            (b"plain \x1b[", b"plain "),
        ];
        for (line, expected) in cases {
            assert_eq!(plain(line), expected, "{}", String::from_utf8_lossy(line));
        }
    }
}
