//! The command with four parts of its own: `flat`, `ladder`, `bar` and `words`.

mod bar;

use bar::Bar;
use foretell::{
    Configuration, FitError, Forecast, Model, Predictor, RunQuery, TrainingSet, Value, check_training,
};
use foretell_search::{Catalogue, Sampler, SearchSpace, Space, Worth};
use rand::{Rng, RngExt};
use serde_json::Value as Json;
use std::process::ExitCode;
use std::sync::Arc;

/// Forecasts the mean of what completed runs came to.
struct Flat;

struct FlatModel(Forecast, Vec<Forecast>);

impl Predictor for Flat {
    fn name(&self) -> &'static str {
        "flat"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 1, training)?;
        let targets = &training.targets;
        let forecast = Forecast::gaussian(targets.iter().sum::<f64>() / targets.len() as f64, 0.1);
        Ok(Box::new(FlatModel(forecast.clone(), vec![forecast; targets.len()])))
    }
}

impl Model for FlatModel {
    fn forecast(&self, _: &RunQuery<'_>) -> Forecast {
        self.0.clone()
    }

    fn held_out(&self) -> &[Forecast] {
        &self.1
    }
}

/// Tries the numbers 0, 1, 2, … of the one parameter of the space.
struct Ladder(String);

impl Sampler for Ladder {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        Some(Configuration::from([(self.0.clone(), Value::Number(trial as f64))]))
    }

    fn observe_start(&mut self, _: u64, _: &Configuration) {}

    fn learn(&mut self, _: u64, _: &Configuration, _: Worth) {}

    fn observe_failure(&mut self, _: u64, _: &Configuration) {}
}

fn ladder(_: &Json, space: &Space, _seed: u64) -> Result<Box<dyn Sampler>, String> {
    match space.names()[..] {
        [name] => Ok(Box::new(Ladder(name.to_owned()))),
        _ => Err("it needs a space of one parameter".to_owned()),
    }
}

/// Words of three letters.
struct Words;

impl SearchSpace for Words {
    fn names(&self) -> Vec<&str> {
        vec!["word"]
    }

    fn sample(&self, rng: &mut dyn Rng) -> Configuration {
        let word = (0..3).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect();
        Configuration::from([("word".to_owned(), Value::Text(word))])
    }

    fn check(&self, configuration: &Configuration) -> Result<(), String> {
        match configuration.get("word").and_then(Value::as_text) {
            Some(word) if word.len() == 3 => Ok(()),
            _ => Err("a word has three letters".to_owned()),
        }
    }
}

fn main() -> ExitCode {
    let catalogue = Catalogue::default()
        .with_predictor("flat", |_| Box::new(Flat))
        .with_sampler("ladder", "Try 0, 1, 2 and so on.", ladder)
        .with_rule::<Bar>()
        .with_space("words", "Words of three letters.", |_| Ok(Arc::new(Words)));
    let words: Vec<_> = std::env::args_os().collect();
    ExitCode::from(foretell_cli::run_with_catalogue(&words, &catalogue))
}
