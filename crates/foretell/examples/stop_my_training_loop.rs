//! How do I stop my own training loop when it will not win?
#![allow(clippy::print_stdout, reason = "an example speaks")]

use foretell::{
    Action, Configuration, Curve, Direction, Forecaster, HistoryOptions, PredictorOptions, Run,
    StopCriterion, Value,
};

const EPOCHS: u32 = 20;

/// Stands for one epoch of training: the accuracy after `epoch` epochs with learning rate `lr`.
fn train_one_epoch(lr: f64, epoch: u32) -> f64 {
    let top = 0.9 - 0.15 * (lr.log10() + 2.0).abs();
    top * (1.0 - (-f64::from(epoch) / 5.0).exp())
}

fn configuration(lr: f64) -> Configuration {
    Configuration::from([("lr".to_owned(), Value::Number(lr))])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 1. some trainings run to their end
    let finished: Vec<Run> = (0..12)
        .map(|i| {
            let lr = 10_f64.powf(-4.0 + f64::from(i) * 0.33);
            let accuracy: Vec<f64> = (1..=EPOCHS).map(|epoch| train_one_epoch(lr, epoch)).collect();
            Run {
                id: i.to_string(),
                configuration: configuration(lr),
                curve: Curve::from_epoch_values(&accuracy, Direction::Maximize),
            }
        })
        .collect();

    // 2. learn from them
    let predictor = foretell::make_predictor("svr-rbf", &PredictorOptions::default())?;
    let forecaster = Forecaster::new(&finished, &HistoryOptions::default(), predictor)?;

    // 3. ask after each epoch of the next ones
    for lr in [2e-4, 8e-3, 0.7] {
        let (configuration, mut curve) = (configuration(lr), Curve::default());
        for epoch in 1..EPOCHS {
            curve.push(f64::from(epoch), train_one_epoch(lr, epoch), Direction::Maximize)?;
            let verdict = forecaster.decide(&StopCriterion::default(), &configuration, &curve)?;
            if verdict.action == Action::Stop {
                let forecast = forecaster.forecast(&configuration, &curve)?;
                let mean = forecaster.history().to_value(forecast.mean);
                let sure = verdict.probability * 100.0;
                println!(
                    "lr {lr}: stopped after {epoch} epochs, would end at {mean:.3}, {sure:.1} % sure that it loses"
                );
                break;
            }
        }
    }
    Ok(())
}
