//! The secrets of a study's command, in a file that only its owner reads. All other files show `***` instead.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use foretell_search::{REDACTED, redact_words, replace_secrets};

use crate::log::atomic_write::write_privately;
use crate::regular;

/// The file, in a study's folder, with the secrets of its command.
pub const SECRETS_FILE: &str = "secrets.json";

/// The values of each option or variable, in the order of the command line.
type SecretValues = BTreeMap<String, Vec<String>>;

/// The `lines` of words with `***` for each secret. The secrets are kept in the folder of the `study`, next to those that it already has.
///
/// # Errors
/// When the file of secrets cannot be written. It is not written if there are none.
pub fn keep_secrets<const N: usize>(study: &Path, lines: [&[String]; N]) -> io::Result<[Vec<String>; N]> {
    let mut found = SecretValues::new();
    for line in lines {
        let mut of_line = SecretValues::new();
        replace_secrets(line, &mut |name, value| {
            of_line.entry(name.to_owned()).or_default().push(value.to_owned());
            REDACTED.to_owned()
        });
        // a line that shows `***` was redacted before, and must not replace the secret that is kept
        of_line.retain(|_, values| !values.iter().any(|value| value == REDACTED));
        for (name, values) in of_line {
            let known = found.entry(name).or_default();
            if values.len() > known.len() {
                *known = values;
            }
        }
    }
    if !found.is_empty() {
        let mut all = read(study).unwrap_or_default();
        all.extend(found);
        write_privately(&study.join(SECRETS_FILE), &serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(lines.map(redact_words))
}

/// A command whose secret this user doesn't have.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path}: this file has no value for `{name}`, or you can't read it. Write the secret into the command instead of {REDACTED}",
    path = path.display()
)]
pub struct MissingSecret {
    /// The option or variable.
    name: String,
    /// The file that should have its value.
    path: PathBuf,
}

/// The `words` with the secrets of the `study` instead of `***`.
///
/// # Errors
/// When the file of secrets has no value for one of them, or this user cannot read it.
pub fn restore_secrets(study: &Path, words: &[String]) -> Result<Vec<String>, MissingSecret> {
    let mut secrets = read(study).unwrap_or_default();
    let mut missing = None;
    let restored = replace_secrets(words, &mut |name, value| match secrets.get_mut(name) {
        _ if value != REDACTED => value.to_owned(),
        Some(values) if !values.is_empty() => values.remove(0),
        _ => {
            missing = Some(name.to_owned());
            value.to_owned()
        }
    });
    match missing {
        None => Ok(restored),
        Some(name) => Err(MissingSecret { name, path: study.join(SECRETS_FILE) }),
    }
}

/// A word for people how a shown command gets its secrets; `None` if it has none.
pub fn secrets_hint(study: &Path, shown: &[String]) -> Option<String> {
    let has_secret = shown.iter().any(|word| word.contains(REDACTED));
    let path = study.join(SECRETS_FILE);
    (has_secret && path.exists()).then(|| {
        format!(
            "replace {REDACTED} with the secret, which is in {} and only its owner can read",
            path.display()
        )
    })
}

fn read(study: &Path) -> Option<SecretValues> {
    serde_json::from_slice(&regular::read(&study.join(SECRETS_FILE)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{SECRETS_FILE, keep_secrets, restore_secrets, secrets_hint};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn secrets_are_kept_for_the_owner_alone_and_are_put_back() {
        let study = tempfile::tempdir().expect("a folder");
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let command = words("t --api-key sesame --api-key=open --lr {lr}");
        let line = words("foretell search -- t --api-key sesame --api-key=open");
        let [shown, _] = keep_secrets(study.path(), [&command, &line]).expect("it is kept");
        assert_eq!(shown.join(" "), "t --api-key *** --api-key=*** --lr {lr}");
        assert_eq!(restore_secrets(study.path(), &shown).expect("all are there"), command);
        let mode = study.path().join(SECRETS_FILE).metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(secrets_hint(study.path(), &shown).is_some_and(|hint| hint.contains(SECRETS_FILE)));
        // what is shown already adds nothing, and takes nothing away
        keep_secrets(study.path(), [&shown]).expect("it is kept");
        assert_eq!(restore_secrets(study.path(), &shown).expect("all are there"), command);
    }

    #[test]
    fn a_missing_secret_is_named() {
        let study = tempfile::tempdir().expect("a folder");
        let error = restore_secrets(study.path(), &["t".to_owned(), "--api-key=***".to_owned()])
            .expect_err("none is kept");
        assert!(error.to_string().contains("no value for `api-key`"), "{error}");
    }

    #[test]
    fn without_secrets_no_file_is_written() {
        let study = tempfile::tempdir().expect("a folder");
        keep_secrets(study.path(), [&["t".to_owned(), "--max-tokens".to_owned(), "9".to_owned()]])
            .expect("nothing to keep");
        assert!(!study.path().join(SECRETS_FILE).exists());
    }
}
