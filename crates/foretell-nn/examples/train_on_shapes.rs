//! Accuracy of a network on drawn shapes, and the time per epoch.
//!
//! `cargo run --release -p foretell-nn --example train_on_shapes -- '[C(32,5,1), P(2,2), FC(64), SM(10)]'`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use foretell_nn::{TrainSpec, train_network};
use std::ops::ControlFlow;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let network = std::env::args().nth(1).unwrap_or_else(|| "[C(16,3,1), P(2,2), FC(32), SM(10)]".to_owned());
    let mut spec = TrainSpec::new(&network.parse()?, "shapes".parse()?);
    (spec.train_size, spec.validation_size) = (Some(1000), Some(500));
    (spec.epochs, spec.until, spec.batch_size) = (10, 10, 16);
    let start = Instant::now();
    let outcome = train_network(&spec, &mut |epoch| {
        println!("epoch {:2}: {:.3} of the validation images right", epoch.epoch, epoch.validation_accuracy);
        ControlFlow::Continue(())
    })?;
    let epochs = outcome.reports.len() + outcome.failed_epochs;
    println!(
        "{:.3} s an epoch, {} on failed attempts",
        start.elapsed().as_secs_f64() / epochs as f64,
        outcome.failed_epochs
    );
    Ok(())
}
