//! `foretell search --budget-epochs` over pipes, for `benches/peers/budget_trainings.py`: it prints one line per epoch to train,
//! {"trial", "configuration", "from", "until"}, and reads its value (larger is better) as a JSON list from the next line of its input.
//!
//! Usage: `budget_over_pipes BUDGET EPOCHS SEED PARAMETER...`, BUDGET in epochs of all trials, a parameter as in `lr=log:1e-4:1`.

use foretell::Direction;
use foretell_search::{ParameterSpace, Record, Space, Study, StudyInput, StudyRequest};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [budget, epochs, seed, parameters @ ..] = &arguments[..] else {
        println!("usage: budget_over_pipes BUDGET EPOCHS SEED PARAMETER...");
        return Ok(());
    };
    let request = StudyRequest {
        space: Some(Space::Parameters(ParameterSpace::parse(parameters)?)),
        metric: Some("score".to_owned()),
        direction: Some(Direction::Maximize),
        epochs: Some(epochs.parse()?),
        budget_epochs: Some(budget.parse()?),
        seed: Some(seed.parse()?),
        ..StudyRequest::default()
    };
    let mut study = Study::new(request.resolve(None)?)?;
    let (mut lines, mut out) = (std::io::stdin().lock().lines(), std::io::stdout().lock());
    while let Some(Record::Started { trial, configuration, from, until, .. }) =
        study.step(&StudyInput::WorkerIdle).first().cloned()
    {
        for step in from + 1..=until {
            let job = serde_json::json!({ "trial": trial, "configuration": configuration, "from": step - 1, "until": step });
            writeln!(out, "{job}")?;
            out.flush()?;
            let Some(line) = lines.next() else { return Ok(()) };
            let values: Vec<Option<f64>> = serde_json::from_str(&line?)?;
            let value = values.first().copied().flatten();
            study.step(&StudyInput::Reported { trial, step, value, metrics: BTreeMap::new() });
            if !study.is_running(trial) {
                break;
            }
        }
        study.step(&StudyInput::Ended { trial, failure: None });
    }
    Ok(())
}
