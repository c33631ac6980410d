//! The value that a training prints last, behind its reports: its result.

use super::line::{LabeledNumber, ParsedLine, parse};
use super::number::DecimalNotation;
use super::text::to_plain_line;

/// The result in the last of these `lines`: the one number that is called the best, or the only number there is.
///
/// `None` if an earlier line has the same form: then each epoch prints such a line, and the last one is no result.
///
/// ```
/// use foretell_logs::printed::final_value;
/// assert_eq!(final_value(&["epoch 3 acc 0.91", "Best acc: 0.93 (epoch 2)"]), Some(0.93));
/// assert_eq!(final_value(&["epoch 2 acc 0.93 best 0.93", "epoch 3 acc 0.91 best 0.93"]), None);
/// ```
pub fn final_value(lines: &[impl AsRef<str>]) -> Option<f64> {
    let lines = lines.iter().map(AsRef::as_ref).filter(|line| !line.trim().is_empty());
    let mut parsed = lines.map(|line| parse(&to_plain_line(line.as_bytes()).text));
    let last = parsed.next_back()?;
    let repeats =
        parsed.any(|line| line.shape() == last.shape() && line.place.is_named() == last.place.is_named());
    let value = result_field(&last)?.reading.value(DecimalNotation::Point);
    (value.is_finite() && !repeats).then_some(value)
}

fn result_field(line: &ParsedLine) -> Option<&LabeledNumber> {
    let mut best = line.fields.iter().filter(|field| field.is_past);
    match (best.next(), best.next(), line.fields.as_slice()) {
        (Some(best), None, _) => Some(best),
        (None, _, [only]) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::final_value;

    #[test]
    fn the_result_is_the_best_or_the_only_number_of_the_last_line() {
        let epochs = ["epoch 1 val_acc 0.5", "epoch 2 val_acc 0.7", "epoch 3 val_acc 0.6"];
        for (last, value) in [
            ("best val_acc: 0.7", Some(0.7)),
            ("Finished. Best val_acc 0.7 at epoch 2", Some(0.7)),
            ("Best acc@1: 70.0%", Some(70.0)),
            ("final accuracy = 0.6", Some(0.6)),
            ("test loss 0.31, test accuracy 0.58", None),
            ("done", None),
        ] {
            let lines: Vec<&str> = epochs.into_iter().chain([last, "", " "]).collect();
            assert_eq!(final_value(&lines), value, "{last}");
        }
        assert_eq!(final_value(&epochs), None, "the line of the last epoch is no result");
        assert_eq!(final_value(&[] as &[&str]), None);
    }
}
