//! What `foretell search --budget-epochs` does, over pipes, for `benches/peers/budget_trainings.py`: it prints each job as a line,
//! {"trial", "configuration", "from", "until"}, and reads the values of the epochs after `from` up to `until` (larger is better) as a JSON list
//! from the next line of its input.
//!
//! Usage: `budget_over_pipes BUDGET EPOCHS SEED PARAMETER...`, BUDGET in epochs of all trials, a parameter as in `lr=log:1e-4:1`.

use foretell::{Direction, RunScore};
use foretell_search::{Choice, Input, ParameterSpace, Record, Space, Study, StudySpec};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [budget, epochs, seed, parameters @ ..] = &arguments[..] else {
        println!("usage: budget_over_pipes BUDGET EPOCHS SEED PARAMETER...");
        return Ok(());
    };
    let (budget, max_resource) = (budget.parse()?, epochs.parse()?);
    let space = Space::Parameters(ParameterSpace::parse(parameters)?);
    let Choice { schedule, policy, .. } = Choice::new(&space, max_resource, true);
    let mut study = Study::new(StudySpec {
        schedule,
        policy,
        max_resource,
        trials: budget,
        budget_epochs: Some(budget),
        run_score: RunScore::Best,
        seed: seed.parse()?,
        ..StudySpec::new(space, "score", Direction::Maximize)
    })?;
    let (mut lines, mut out) = (std::io::stdin().lock().lines(), std::io::stdout().lock());
    while let Some(Record::Started { trial, configuration, from, until, .. }) =
        study.step(&Input::WorkerIdle).first().cloned()
    {
        let job = serde_json::json!({ "trial": trial, "configuration": configuration, "from": from, "until": until });
        writeln!(out, "{job}")?;
        out.flush()?;
        let Some(line) = lines.next() else { break };
        let values: Vec<Option<f64>> = serde_json::from_str(&line?)?;
        for (step, value) in (from + 1..=until).zip(values) {
            study.step(&Input::Reported { trial, step, value, metrics: BTreeMap::new() });
        }
        study.step(&Input::Ended { trial, failure: None });
    }
    Ok(())
}
