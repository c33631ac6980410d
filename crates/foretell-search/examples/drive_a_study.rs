//! How do I drive a study from my own training loop? With four verbs, and no process and no file.

use foretell::Direction;
use foretell_search::{Ending, ParameterSpace, Session, Space, StudySpec};

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let space = Space::Parameters(ParameterSpace::parse(&["lr=log:1e-4:1"])?);
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    let mut session = Session::new(StudySpec { trials: 40, burn_in: 15, ..usual })?;
    while let Some(start) = session.ask()? {
        let lr = start.configuration["lr"].number().unwrap_or_default();
        for epoch in start.from + 1..=start.until {
            // train an epoch here, and measure
            let accuracy = (0.9 - 0.2 * (lr.log10() + 2.0).abs()) * (1.0 - (-0.3 * epoch as f64).exp());
            if session.report(start.trial, epoch, accuracy, Default::default())?.stops() {
                break;
            }
        }
        session.tell(start.trial, Ending::Finished)?;
    }
    let trials = session.study().progress().trials;
    println!("{} of {} trials stopped", trials.stopped, trials.total);
    println!("best: {:?}", session.best().ok_or("no trial was trained to its end")?);
    Ok(())
}
