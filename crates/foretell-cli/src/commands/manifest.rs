//! `foretell worker --manifest kubernetes`: workers as a Job, with a Secret for the token and a Service for the search.

use crate::failure::{CommandResult, Failure};
use crate::output::print;
use clap::ValueEnum;

/// The platform of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManifestKind {
    /// A Secret, a Service and a Job.
    Kubernetes,
}

/// The manifest with the names of its values.
const MANIFEST_TEMPLATE: &str = include_str!("manifest.yaml");
/// The placeholder for a token that is not in FORETELL_TOKEN.
const TOKEN_PLACEHOLDER: &str = "PUT-THE-TOKEN-HERE";

/// Prints the manifest of `workers` workers of the study at `address`, in containers of `image`.
pub(crate) fn print_manifest(
    kind: ManifestKind,
    address: &str,
    study: Option<&str>,
    image: Option<&str>,
    workers: u16,
) -> CommandResult {
    let ManifestKind::Kubernetes = kind;
    let image = image.ok_or_else(|| {
        Failure::input(
            "--manifest kubernetes requires --image IMAGE, an image that contains Foretell and the command",
        )
    })?;
    let token = std::env::var("FORETELL_TOKEN").ok().filter(|token| !token.is_empty());
    print(&manifest(address, study, image, workers, token.as_deref())?)
}

fn manifest(
    address: &str,
    study: Option<&str>,
    image: &str,
    workers: u16,
    token: Option<&str>,
) -> Result<String, Failure> {
    let place = address.strip_prefix("http://").unwrap_or(address).trim_end_matches('/');
    let port = place.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    let port = port.ok_or_else(|| {
        Failure::input(format!(
            "ADDRESS {address} has no port. Use the name and the port of the Service, for example http://foretell:8675"
        ))
    })?;
    let mut words = vec!["worker".to_owned(), format!("http://{place}")];
    words.extend(study.map(str::to_owned));
    words.extend(["--idle-exit".to_owned(), "2m".to_owned()]);
    let words: Vec<String> = words.iter().map(|word| quote_yaml(word)).collect();
    let values = [
        ("@PORT@", port.to_string()),
        ("@TOKEN@", quote_yaml(token.unwrap_or(TOKEN_PLACEHOLDER))),
        ("@WORKERS@", workers.to_string()),
        ("@RETRIES@", workers.saturating_mul(4).to_string()),
        ("@IMAGE@", quote_yaml(image)),
        ("@WORDS@", words.join(", ")),
    ];
    let template = MANIFEST_TEMPLATE.trim_end().to_owned();
    Ok(values.iter().fold(template, |text, (name, value)| text.replace(name, value)))
}

/// A text in YAML: as in JSON.
fn quote_yaml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::manifest;

    #[test]
    fn the_manifest_names_address_study_and_image_and_the_token_only_in_the_secret() {
        let text = manifest("http://foretell:8675", Some("rates"), "lab/train:1", 8, Some("secret"));
        let text = text.expect("an address");
        for words in [
            r#"args: ["worker", "http://foretell:8675", "rates", "--idle-exit", "2m"]"#,
            "completions: 8\n  parallelism: 8",
            r#"image: "lab/train:1""#,
            "kind: Service",
            "targetPort: 8675",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(text.matches("\"secret\"").count(), 1);
        assert!(manifest("foretell", None, "i", 1, None).is_err());
    }
}
