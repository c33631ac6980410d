//! The secrets of a command line: the values of options and variables whose names say so.

/// The text that stands for a secret wherever a command is shown.
pub const REDACTED: &str = "***";

/// Words that mark a secret anywhere in a name.
pub const SECRET_WORDS: [&str; 8] =
    ["password", "passwords", "passwd", "passphrase", "secret", "secrets", "credential", "credentials"];

/// Words that mark a secret at the end of a name: `api_key` is one, but not `key_dim`, nor `max_tokens`.
pub const LAST_SECRET_WORDS: [&str; 5] = ["key", "apikey", "token", "auth", "pat"];

/// Whether the value of an option or variable with this name is a secret. Only whole words count: not the one in `tokenizer`.
pub fn is_secret_name(name: &str) -> bool {
    let words = split_words(name);
    words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
        || words.last().is_some_and(|word| LAST_SECRET_WORDS.contains(&word.as_str()))
}

/// The words of `--api-key`, `API_KEY` or `apiKey`.
fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || before.is_lowercase() && c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is always one word").extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a value of a secret's name is one: no number, no flag, no searched parameter, no variable of a shell.
fn is_secret_value(value: &str) -> bool {
    let is_flag =
        ["true", "false", "yes", "no", "on", "off", "none", "null"].contains(&value.to_lowercase().as_str());
    let is_searched = value.contains('{') && value.contains('}') && !value.contains("{{");
    !value.is_empty() && !is_flag && !is_searched && !value.starts_with('$') && value.parse::<f64>().is_err()
}

/// The `words` of a command line, in which `replace` has replaced each secret, given its name and value.
pub fn replace_secrets(words: &[String], replace: &mut dyn FnMut(&str, &str) -> String) -> Vec<String> {
    let mut option: Option<&str> = None;
    let mut replaced = Vec::with_capacity(words.len());
    for word in words {
        // another option after `--token` shows that it has no value, so it must not be hidden
        let named = option.take().filter(|_| is_secret_value(word) && !word.starts_with('-'));
        let is_option = word.starts_with('-') && !word.contains('=') && is_secret_name(word);
        replaced.push(match (named, word.split_once('=')) {
            (Some(name), _) => replace(name, word),
            (None, _) if word.contains(char::is_whitespace) => replace_in_line(word, replace),
            (None, Some((name, value))) if is_secret_name(name) && is_secret_value(value) => {
                format!("{name}={}", replace(name.trim_start_matches('-'), value))
            }
            (None, _) => word.clone(),
        });
        option = is_option.then(|| word.trim_start_matches('-'));
    }
    replaced
}

/// A line for a shell, in which each secret is replaced. All else stays as it is, spaces included.
fn replace_in_line(line: &str, replace: &mut dyn FnMut(&str, &str) -> String) -> String {
    let (mut words, mut spaces, mut quote) = (vec![String::new()], Vec::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        if c.is_whitespace() && quote.is_none() {
            spaces.push(c);
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    if spaces.is_empty() {
        // one word in quotes: the quotes go, because they would hide its words forever
        let inner = line.trim_matches(['"', '\'']);
        let is_quoted = inner.len() < line.len() && inner.contains(char::is_whitespace);
        return if is_quoted {
            line.replacen(inner, &replace_in_line(inner, replace), 1)
        } else {
            line.to_owned()
        };
    }
    let gaps = spaces.iter().map(Some).chain([None]);
    replace_secrets(&words, replace)
        .iter()
        .zip(gaps)
        .flat_map(|(word, gap)| word.chars().chain(gap.copied()))
        .collect()
}

/// The `words` of a command line with `***` for each secret.
pub fn redact_words(words: &[String]) -> Vec<String> {
    replace_secrets(words, &mut |_, _| REDACTED.to_owned())
}

/// A command line with `***` for each secret.
pub fn redact_line(line: &str) -> String {
    replace_in_line(line, &mut |_, _| REDACTED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{REDACTED, is_secret_name, redact_line, redact_words, replace_secrets};

    #[test]
    fn names_say_by_whole_words_whether_they_are_secrets() {
        for name in [
            "--api-key",
            "WANDB_API_KEY",
            "hfToken",
            "db.password",
            "aws_secret_access_key",
            "--credentials",
            "+logger.api_key",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "--max-tokens",
            "--key-dim",
            "tokenizer",
            "monkey",
            "--token-type",
            "--keys",
            "author",
            "path",
            "lr",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_replaced_and_all_else_stays() {
        let cases = [
            ("t --api-key X --lr {lr}", "t --api-key *** --lr {lr}"),
            ("t --api-key=X -v", "t --api-key=*** -v"),
            ("env WANDB_API_KEY=X python t.py", "env WANDB_API_KEY=*** python t.py"),
            ("t --password {password} --token 12 --secret", "t --password {password} --token 12 --secret"),
            ("t --token --lr 1", "t --token --lr 1"),
            ("t --use-auth true --key $KEY", "t --use-auth true --key $KEY"),
            ("t logger.token=X  a=b", "t logger.token=***  a=b"),
            ("t --key ***", "t --key ***"),
            ("t https://host/?token=abc", "t https://host/?token=***"),
            ("t --password 'two words' --lr 1", "t --password *** --lr 1"),
        ];
        for (line, redacted) in cases {
            assert_eq!(redact_line(line), redacted);
        }
        let words = ["sh", "-c", "TOKEN=X python t.py --lr {lr}"].map(str::to_owned);
        assert_eq!(redact_words(&words)[2], "TOKEN=*** python t.py --lr {lr}");
    }

    #[test]
    fn a_replaced_secret_can_be_put_back() {
        let words = ["t", "--api-key", "X", "--token=Y", "A_SECRET=Z w"].map(str::to_owned);
        let mut taken = Vec::new();
        let redacted = replace_secrets(&words, &mut |name, value| {
            taken.push((name.to_owned(), value.to_owned()));
            REDACTED.to_owned()
        });
        assert_eq!(
            taken.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["api-key", "token", "A_SECRET"]
        );
        let mut values = taken.into_iter().map(|(_, value)| value);
        assert_eq!(replace_secrets(&redacted, &mut |_, _| values.next().expect("a value")), words);
    }
}
