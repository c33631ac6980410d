//! A parameter of the search that sets the length of a trial.

use foretell_search::{Space, StudySpec};

/// Names of parameters that say how long to train.
const LENGTH_PARAMETER_NAMES: [&str; 9] = [
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

/// The notice if the length of a training is one of the searched parameters.
pub(super) fn searched_length_line(spec: &StudySpec) -> Option<String> {
    let Space::Parameters(space) = &spec.space else { return None };
    let last = spec.resource()?;
    let (name, most) = space.parameters().iter().find_map(|parameter| {
        let name = parameter.name.rsplit('.').next()?;
        LENGTH_PARAMETER_NAMES
            .contains(&name)
            .then_some((parameter.name.as_str(), parameter.kind.largest_number()?))
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
    use super::searched_length_line;
    use foretell_search::{ParameterSpace, Space, StudySpec};

    fn spec(parameter: &str) -> StudySpec {
        let space = ParameterSpace::parse(&["lr=log:0.1:1", parameter]).expect("a space");
        let usual = StudySpec::new(Space::Parameters(space), "acc", foretell::Direction::Maximize);
        StudySpec { max_resource: 20, ..usual }
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
            let line = searched_length_line(&spec(parameter));
            assert_eq!(line.is_some(), expected.is_some(), "{parameter}: {line:?}");
            assert!(line.unwrap_or_default().contains(expected.unwrap_or_default()), "{parameter}");
        }
    }
}
