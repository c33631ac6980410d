//! How do I search from my own Rust program, with a typed space and a stop rule of my own?

use foretell_search::{
    MemoryStore, Parameter, ParameterKind, ParameterSpace, Reason, RuleNeeds, Ruling, Session, Space,
    StopRule, StudyParts, StudyRequest, TrainingEnd, WatchedTrial,
};
use std::sync::Arc;

/// Stops a trial that is below a bar from its fifth step on.
struct Bar(f64);

impl StopRule for Bar {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds { burn_in: true, ..RuleNeeds::default() }
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        match trial.scores().last() {
            Some(&score) if trial.step() >= 5 && score < self.0 => {
                Ruling::stop(Reason::Own("below the bar".to_owned()), score)
            }
            _ => Ruling::default(),
        }
    }
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kind = ParameterKind::Log { lo: 1e-4, hi: 1.0, step: None };
    let rate = Parameter { name: "lr".to_owned(), kind, active_if: None };
    let request = StudyRequest {
        space: Some(Space::Parameters(ParameterSpace::new(vec![rate])?)),
        metric: Some("val_acc".to_owned()),
        trials: Some(30),
        epochs: Some(20),
        ..StudyRequest::default()
    };
    // what is left open gets the defaults of every other door
    let spec = request.resolve(None)?;
    let parts = StudyParts { stop_rule: Some(Arc::new(Bar(0.5))), ..StudyParts::default() };
    let mut session = Session::open(spec, parts, MemoryStore::default())?;
    while let Some(start) = session.ask()? {
        let lr = start.configuration["lr"].as_number().unwrap_or_default();
        for epoch in start.from + 1..=start.until {
            // train an epoch here, and measure
            let accuracy = (0.9 - 0.2 * (lr.log10() + 2.0).abs()) * (1.0 - (-0.3 * epoch as f64).exp());
            if session.report(start.trial, epoch, accuracy, Default::default())?.stop {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished)?;
    }
    let trials = session.study().progress().trials;
    println!("{} of {} trials stopped", trials.stopped, trials.total);
    println!("best: {:?}", session.best().ok_or("no trial was trained to its end")?);
    Ok(())
}
