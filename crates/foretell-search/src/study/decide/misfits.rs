//! Trials that ran out of memory, and the configurations that they rule out.

use crate::parameter::{Parameter, ParameterKind};
use crate::space::Space;
use crate::study::{Study, TrialState};
use foretell::{Configuration, Value};

/// Two numbers that are no farther apart than this fraction of their scale are near.
const NEAR_FRACTION: f64 = 0.25;

/// Words of systems and libraries for a training that does not fit into memory, in lowercase. The kernel ends the process that needs the
/// most memory by signal 9, which shells, containers and Slurm show as exit code 137.
const MEMORY_MESSAGES: [&str; 10] = [
    "exit code 137",
    "ended by signal 9",
    "out of memory",
    "outofmemory",
    "memoryerror",
    "cannot allocate memory",
    "oom when allocating",
    "resource_exhausted",
    "_status_alloc_failed",
    "std::bad_alloc",
];

impl TrialState {
    /// Whether it failed because it did not fit into memory, as its exit code or its last output shows.
    pub fn is_out_of_memory(&self) -> bool {
        let Self::Failed { reason } = self else { return false };
        let reason = reason.to_lowercase();
        MEMORY_MESSAGES.iter().any(|message| reason.contains(message))
    }
}

/// Whether `name` calls a parameter a size of batches: `batch_size`, `per_device_train_batch_size`, `bs`.
fn is_batch_name(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    // `batch_norm` is a layer, and `num_batches` a number of steps
    (name.contains("batch") && !name.contains("norm") && !name.contains("batches"))
        || words.any(|word| word == "bs")
}

/// The configurations that did not fit into memory.
#[derive(Default)]
pub(super) struct MemoryMisfits {
    parameters: Vec<Parameter>,
    failed: Vec<Configuration>,
}

impl Study {
    /// The configurations whose trials ran out of memory. O(trials).
    pub(super) fn misfits(&self) -> MemoryMisfits {
        let trials = self.trials.iter().filter(|trial| trial.state.is_out_of_memory());
        let failed: Vec<Configuration> = trials.map(|trial| trial.configuration.clone()).collect();
        let parameters = match &self.spec.space {
            Space::Parameters(space) if !failed.is_empty() => space.parameters().to_vec(),
            Space::Parameters(_) | Space::Own(_) => Vec::new(),
        };
        MemoryMisfits { parameters, failed }
    }

    /// The parameters whose names call them sizes of batches.
    pub fn batch_parameters(&self) -> Vec<&str> {
        self.spec.space.searched_names().into_iter().filter(|name| is_batch_name(name)).collect()
    }
}

impl MemoryMisfits {
    pub(super) fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }

    /// Whether `configuration` ran out of memory, or is near one that did and has larger batches.
    pub(super) fn rules_out(&self, configuration: &Configuration) -> bool {
        self.failed.iter().any(|failed| failed == configuration || self.is_larger(configuration, failed))
    }

    /// Whether `configuration` is near `failed`, but for its larger batches.
    fn is_larger(&self, configuration: &Configuration, failed: &Configuration) -> bool {
        let mut has_larger = false;
        for Parameter { name, kind, .. } in &self.parameters {
            let [own, other] = [configuration, failed].map(|of| of.get(name).unwrap_or(&Value::Missing));
            match (own.as_number(), other.as_number()) {
                // a smaller batch may fit where a larger one did not, so only larger ones are ruled out
                (Some(own), Some(other)) if is_batch_name(name) && own >= other => has_larger |= own > other,
                _ if !is_near(kind, own, other) || is_batch_name(name) && own != other => return false,
                _ => {}
            }
        }
        has_larger
    }
}

/// Whether two values of `kind` are the same option, or numbers that are near on its scale.
fn is_near(kind: &ParameterKind, a: &Value, b: &Value) -> bool {
    match (kind.bounds(), a.as_number(), b.as_number()) {
        (Some(bounds), Some(a), Some(b)) => (bounds.share(a) - bounds.share(b)).abs() <= NEAR_FRACTION,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_space::ParameterSpace;

    #[test]
    fn memory_is_recognized_by_exit_code_and_message() {
        for (reason, expected) in [
            ("exit code 137", true),
            ("ended by signal 9", true),
            (
                "exit code 1; last output:\n  torch.OutOfMemoryError: CUDA out of memory. Tried to allocate",
                true,
            ),
            (
                "exit code 1; last output:\n  numpy._core._exceptions._ArrayMemoryError: Unable to allocate",
                true,
            ),
            ("exit code 1; last output:\n  RuntimeError: CUBLAS_STATUS_ALLOC_FAILED when calling", true),
            ("exit code 1; last output:\n  OSError: [Errno 12] Cannot allocate memory", true),
            ("exit code 1; last output:\n  ValueError: shapes do not match", false),
            ("ended by signal 15", false),
        ] {
            let state = TrialState::Failed { reason: reason.to_owned() };
            assert_eq!(state.is_out_of_memory(), expected, "{reason}");
        }
        assert!(!TrialState::Running.is_out_of_memory());
    }

    #[test]
    fn the_batch_is_the_parameter_whose_name_says_so() {
        for name in
            ["batch", "batch_size", "train.batch-size", "per_device_train_batch_size", "bs", "batchSize"]
        {
            assert!(is_batch_name(name), "{name}");
        }
        for name in ["batch_norm", "num_batches", "absorb", "lr", "batchnorm"] {
            assert!(!is_batch_name(name), "{name}");
        }
    }

    #[test]
    fn a_misfit_rules_out_itself_and_neighbors_with_larger_batches() {
        let texts = ["lr=log:1e-4:1", "batch=int:1:512", "net=choice:small,large", "w=int:1:9 if net=large"];
        let space = ParameterSpace::parse(&texts).unwrap();
        let failed = space.read_configuration("lr=0.01,batch=128,net=large,w=5").unwrap();
        let misfits = MemoryMisfits { parameters: space.parameters().to_vec(), failed: vec![failed] };
        for (text, expected) in [
            ("lr=0.01,batch=128,net=large,w=5", true),
            ("lr=0.02,batch=256,net=large,w=5", true),
            ("lr=0.02,batch=256,net=large,w=4", true),
            ("lr=0.02,batch=128,net=large,w=5", false),
            ("lr=0.02,batch=64,net=large,w=5", false),
            ("lr=1,batch=256,net=large,w=5", false),
            ("lr=0.01,batch=256,net=large,w=1", false),
            ("lr=0.01,batch=256,net=small", false),
        ] {
            let mut configuration = space.read_configuration(text).unwrap();
            if text.contains("small") {
                configuration.insert("w".to_owned(), Value::Missing);
            }
            assert_eq!(misfits.rules_out(&configuration), expected, "{text}");
        }
    }
}
