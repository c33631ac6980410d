//! `foretell worker --manifest kubernetes`: workers as a Job, with a Secret for the token and a Service for the search.

use crate::failure::{Failure, Outcome};
use crate::output::print;
use clap::ValueEnum;

/// For what the manifest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A Secret, a Service and a Job.
    Kubernetes,
}

/// What is written in the place of a token that is not in FORETELL_TOKEN.
const NO_TOKEN: &str = "PUT-THE-TOKEN-HERE";

/// Prints the manifest of `workers` workers of the study at `address`, in containers of `image`.
pub(crate) fn print_for(
    kind: Kind,
    address: &str,
    study: Option<&str>,
    image: Option<&str>,
    workers: u16,
) -> Outcome {
    let Kind::Kubernetes = kind;
    let image = image.ok_or_else(|| {
        Failure::input(
            "--manifest kubernetes: name the image that has Foretell and the command, --image IMAGE",
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
            "ADDRESS {address}: write http://foretell:8675, the Service's name and its port"
        ))
    })?;
    let mut words = vec!["worker".to_owned(), format!("http://{place}")];
    words.extend(study.map(str::to_owned));
    words.extend(["--idle-exit".to_owned(), "2m".to_owned()]);
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    Ok(format!(
        r#"# Run the search in a pod with the label app: foretell-search, with --on workers --serve=0.0.0.0:{port}
# and FORETELL_TOKEN from the same Secret. No cluster has run this manifest: it is checked against Kubernetes' schemas.
apiVersion: v1
kind: Secret
metadata:
  name: foretell-token
type: Opaque
stringData:
  token: {token}
---
apiVersion: v1
kind: Service
metadata:
  name: foretell
spec:
  selector:
    app: foretell-search
  ports:
    - port: {port}
      targetPort: {port}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: foretell-workers
spec:
  completionMode: Indexed
  completions: {workers}
  parallelism: {workers}
  backoffLimit: {retries}
  template:
    metadata:
      labels:
        app: foretell-worker
    spec:
      restartPolicy: OnFailure
      terminationGracePeriodSeconds: 60
      containers:
        - name: worker
          image: {image}
          command: ["foretell"]
          args: [{words}]
          env:
            - name: FORETELL_TOKEN
              valueFrom:
                secretKeyRef:
                  name: foretell-token
                  key: token
          resources:
            requests:
              cpu: "1"
          # a GPU for each worker: resources.limits: {{nvidia.com/gpu: 1}}"#,
        token = quoted(token.unwrap_or(NO_TOKEN)),
        retries = workers.saturating_mul(4),
        image = quoted(image),
        words = words.join(", "),
    ))
}

/// A text in YAML: as in JSON.
fn quoted(text: &str) -> String {
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
