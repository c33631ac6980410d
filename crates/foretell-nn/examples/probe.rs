//! Probe: NETWORK DATA TRAIN VALID EPOCHS BATCH LR|- 
#![allow(clippy::print_stdout)]
use foretell_nn::{TrainSpec, train};
use std::ops::ControlFlow;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a: Vec<String> = std::env::args().collect();
    let mut spec = TrainSpec::new(a[1].parse()?, a[2].parse()?);
    spec.train_size = Some(a[3].parse()?);
    spec.validation_size = Some(a[4].parse()?);
    spec.epochs = a[5].parse()?;
    spec.until = spec.epochs;
    spec.batch_size = a[6].parse()?;
    spec.learning_rate = a[7].parse().ok();
    spec.seed = a.get(8).map_or(0, |s| s.parse().unwrap());
    let start = std::time::Instant::now();
    let mut curve = vec![];
    let mut tl = vec![];
    let mut first = None;
    let o = train(&spec, &mut |r| { first.get_or_insert(start.elapsed()); curve.push(format!("{:.3}", r.validation_accuracy)); tl.push(format!("{:.2}", r.train_loss.unwrap_or(9.9))); ControlFlow::Continue(()) })?;
    let n = spec.epochs + o.failed_epochs;
    println!("{:6.3} s/epoch (total {:5.1}, first {:4.1}) failed {} lr {:?} acc {} | loss {} | {}", start.elapsed().as_secs_f64() / n as f64, start.elapsed().as_secs_f64(), first.unwrap().as_secs_f64(), o.failed_epochs, o.initial_learning_rate, curve.join(" "), tl.join(" "), a[1]);
    Ok(())
}
