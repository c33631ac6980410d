//! The words that a name is made of.

/// Splits `parameter_value_count`, `NumParams` or `num-params` into lower-case words.
///
/// ```
/// assert_eq!(foretell::words_of_name("_val-acc "), ["val", "acc"]);
/// assert_eq!(foretell::words_of_name("NumMACs"), ["num", "macs"]);
/// ```
pub fn words_of_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_lower = false;
    for letter in name.chars() {
        let boundary = !letter.is_alphanumeric() || (before_lower && letter.is_uppercase());
        if boundary && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().expect("never empty").extend(letter.to_lowercase());
        }
        before_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_signs_and_capitals() {
        let cases: [(&str, &[&str]); 4] = [
            ("num_params", &["num", "params"]),
            ("NumMACs", &["num", "macs"]),
            ("lr", &["lr"]),
            ("_val-acc ", &["val", "acc"]),
        ];
        for (name, expected) in cases {
            assert_eq!(words_of_name(name), expected, "{name}");
        }
    }
}
