//! Trainings that are shorter than --epochs: forecasts of an end that none of them reaches are of something else.

use foretell_search::{Space, Study, StudySpec, Trial, TrialState};

/// The number of trainings of one length that show how long a training is.
const ALIKE: u64 = 2;
/// The number of trainings of different lengths that show how long the longest may be; the burn-in, if that is larger.
const VARIED: u64 = 3;
/// Names of parameters that say how long to train.
const NAMES: [&str; 9] = [
    "epochs",
    "num_epochs",
    "n_epochs",
    "max_epochs",
    "train_epochs",
    "num_train_epochs",
    "max_steps",
    "num_steps",
    "n_steps",
];

/// The lengths of the completed trainings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    count: u64,
    shortest: u64,
    longest: u64,
}

impl Lengths {
    /// Those of `study`; `None` while there are none.
    pub(super) fn seen(study: &Study) -> Option<Self> {
        let whole = study.trials().iter().filter(|trial| matches!(trial.state, TrialState::Completed { .. }));
        whole.map(Trial::trained).fold(None, |all, length| Some(Self::with(all, length)))
    }

    /// `all` and one more.
    pub(super) fn with(all: Option<Self>, length: u64) -> Self {
        let Self { count, shortest, longest } =
            all.unwrap_or(Self { count: 0, shortest: u64::MAX, longest: 0 });
        Self { count: count + 1, shortest: shortest.min(length), longest: longest.max(length) }
    }

    /// The notice if no training has reached the last epoch, once there are enough of them.
    pub(super) fn too_short(self, study: &Study) -> Option<String> {
        let Self { count, shortest, longest } = self;
        let last = study.spec().max_resource;
        let are_alike = shortest == longest;
        let enough = if are_alike { ALIKE } else { study.spec().burn_in.max(VARIED) };
        let is_known = count >= enough || study.is_done();
        if longest >= last || !is_known {
            return None;
        }
        Some(match are_alike {
            true => format!(
                "the first {count} trials ended by themselves after epoch {longest}, before --epochs {last}. Set --epochs {longest}, or let the command train for {last}; until then, forecasts are for epoch {last}"
            ),
            false => format!(
                "none of the first {count} trials reached --epochs {last}: the longest ended by itself after epoch {longest}. Set --epochs {longest}, unless other trials train longer. If a trial ends early, for example by its own early stopping, its score is the value it reached"
            ),
        })
    }
}

/// The notice if the length of a training is one of the searched parameters.
pub(super) fn searched_line(spec: &StudySpec) -> Option<String> {
    let Space::Parameters(space) = &spec.space else { return None };
    let last = spec.max_resource;
    let (name, most) = space.parameters().iter().find_map(|parameter| {
        let name = parameter.name.rsplit('.').next()?;
        NAMES.contains(&name).then_some((parameter.name.as_str(), parameter.kind.largest()?))
    })?;
    Some(if most > last as f64 {
        format!(
            "parameter {name} goes up to {most}, but --epochs {last} ends every trial there. Set --epochs {most}"
        )
    } else if most < last as f64 {
        format!(
            "no trial reaches --epochs {last}, since parameter {name} ends at {most}. Set --epochs {most}"
        )
    } else {
        format!(
            "parameter {name} sets the length of a trial. The score of a trial is the value it reached, and forecasts are for epoch {last}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Lengths, searched_line};
    use foretell_search::{ParameterSpace, Space, Study, StudySpec};

    fn spec(parameter: &str) -> StudySpec {
        let space = ParameterSpace::parse(&["lr=log:0.1:1", parameter]).expect("a space");
        let usual = StudySpec::new(Space::Parameters(space), "acc", foretell::Direction::Maximize);
        StudySpec { max_resource: 20, ..usual }
    }

    #[test]
    fn trainings_that_never_reach_the_end_are_named_with_what_to_write_and_others_are_not() {
        let study = Study::new(spec("a=int:1:2")).expect("a study");
        let said = |lengths: &[u64]| {
            let all = lengths.iter().fold(None, |all, &length| Some(Lengths::with(all, length)));
            all.and_then(|all| all.too_short(&study))
        };
        assert!(
            said(&[15, 15])
                .is_some_and(|text| text.contains("after epoch 15") && text.contains("Set --epochs 15"))
        );
        assert_eq!(
            [said(&[]), said(&[15]), said(&[12, 15]), said(&[20, 12, 15]), said(&[20, 20])],
            [const { None }; 5]
        );
        let varied = said(&[12, 17, 15]).expect("none reached 20");
        assert!(varied.contains("the longest ended by itself after epoch 17. Set --epochs 17"), "{varied}");
    }

    #[test]
    fn epochs_that_are_searched_are_compared_with_the_last_one() {
        let cases = [
            (
                "epochs=int:5:50",
                Some("goes up to 50, but --epochs 20 ends every trial there. Set --epochs 50"),
            ),
            ("trainer.max_epochs=logint:5:10", Some("no trial reaches --epochs 20")),
            ("epochs=choice:5,10,20", Some("forecasts are for epoch 20")),
            ("epochs=choice:few,many", None),
            ("layers=int:1:30", None),
        ];
        for (parameter, expected) in cases {
            let line = searched_line(&spec(parameter));
            assert_eq!(line.is_some(), expected.is_some(), "{parameter}: {line:?}");
            assert!(line.unwrap_or_default().contains(expected.unwrap_or_default()), "{parameter}");
        }
    }
}
