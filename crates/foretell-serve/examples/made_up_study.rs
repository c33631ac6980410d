//! Writes a study of made-up trainings, to try the page at size: the same seed gives the same study.
//!
//! Usage: `made_up_study FOLDER TRIALS [EPOCHS] [SEED] [OBJECTIVES]`. The last eight trials still run. The second objective is a parameter,
//! `width:min`, the third is reported, `latency:min`, and has a limit.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use foretell::{Configuration, Direction, Value};
use foretell_run::EventStore;
use foretell_search::{
    Limit, Objective, ParameterSpace, Session, Space, StudyParts, StudySpec, TrainingEnd, TrainingStart,
};

/// Trials that still run in the end.
const RUNNING: u64 = 8;

/// A saturating curve: its level depends on the rate, the optimizer and a little on the width; its speed on the rate.
fn accuracy(configuration: &Configuration, seed: u32, step: u64) -> f64 {
    let number = |name: &str| configuration.get(name).and_then(Value::as_number).unwrap_or(1.0);
    let off = number("lr").log10() + 2.0;
    let adam = configuration.get("optimizer").and_then(Value::as_text) == Some("adam");
    let level =
        0.93 - 0.07 * off * off - if adam { 0.0 } else { 0.05 } - 0.01 * (number("width").log2() - 7.0).abs();
    let speed = (0.25 + 0.1 * off).clamp(0.05, 0.6);
    // noise without a generator: the digits of a sine
    let noise = ((f64::from(seed) % 1000.0) * 12.9898 + step as f64 * 78.233).sin() * 43_758.545;
    level.max(0.1) * (1.0 - (-(step as f64) * speed).exp()) + 0.01 * (noise - noise.floor() - 0.5)
}

/// Milliseconds for an example.
fn latency(configuration: &Configuration) -> f64 {
    let number = |name: &str| configuration.get(name).and_then(Value::as_number).unwrap_or(1.0);
    0.02 * number("width") * number("depth")
}

fn train(session: &mut Session<EventStore>, start: &TrainingStart, until: u64) -> Result<(), Box<dyn Error>> {
    for step in start.from + 1..=until {
        // one rate in a hundred diverges
        let wild = start.seed.is_multiple_of(100) && step > 3;
        let value = if wild { f64::NAN } else { accuracy(&start.configuration, start.seed, step) };
        let mut metrics = BTreeMap::from([("loss".to_owned(), 1.0 - value)]);
        if !session.study().spec().limits.is_empty() {
            metrics.insert("latency".to_owned(), latency(&start.configuration));
        }
        if session.report(start.trial, step, value, metrics)?.stop {
            break;
        }
    }
    Ok(())
}

fn write(folder: &Path, [trials, epochs, seed, objectives]: [u64; 4]) -> Result<(), Box<dyn Error>> {
    let texts = [
        "lr=log:1e-4:1",
        "optimizer=choice:adam,sgd",
        "width=logint:16:512",
        "dropout=float:0:0.6",
        "depth=int:2:8",
    ];
    let space = Space::Parameters(ParameterSpace::parse(&texts)?);
    let known = space.known_names();
    let others = ["width:min", "latency:min"].into_iter().take(objectives.saturating_sub(1) as usize);
    let objectives =
        others.map(|text| Objective::parse_with_names(text, &known)).collect::<Result<Vec<_>, _>>()?;
    let limits = objectives.iter().skip(1).map(|_| Limit::parse_with_names("latency<=40", &known));
    let limits = limits.collect::<Result<Vec<_>, _>>()?;
    let usual =
        StudySpec { objectives, limits, ..StudySpec::new(space.clone(), "val_acc", Direction::Maximize) };
    let spec = StudySpec { trials, max_resource: epochs, burn_in: (trials / 3).clamp(1, 30), seed, ..usual };
    std::fs::create_dir_all(folder)?;
    let (store, _) = EventStore::open(folder.join("events.jsonl"))?;
    let mut session = Session::open(spec, StudyParts::default(), store)?;
    while let Some(start) = session.ask()? {
        if start.trial + RUNNING >= trials && trials > 2 * RUNNING {
            let until = 1 + (start.trial * 7) % (epochs - 1).max(1);
            train(&mut session, &start, until)?;
            continue;
        }
        train(&mut session, &start, start.until)?;
        let failed = start.trial % 97 == 96;
        let ending = if failed {
            TrainingEnd::Failed("exited with status 1: CUDA out of memory".to_owned())
        } else {
            TrainingEnd::Finished
        };
        session.tell(start.trial, ending)?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, numbers @ ..] = &arguments[..] else {
        println!("usage: made_up_study FOLDER TRIALS [EPOCHS] [SEED] [OBJECTIVES]");
        return Ok(());
    };
    let number = |place: usize, otherwise: u64| numbers.get(place).map_or(Ok(otherwise), |text| text.parse());
    write(Path::new(folder), [number(0, 100)?, number(1, 20)?, number(2, 0)?, number(3, 1)?])
}
