//! Searches of scripts made at random, with panics in the threads that look after them: each search ends, and every epoch that was
//! printed is accounted for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foretell::Direction;
use foretell_search::{ParameterSpace, Session, Space, Study, StudyParts, StudySpec, TrialState};

use super::{Driver, DriverError, RunOutcome};
use crate::log::event_store::EventStore;
use crate::process::local_trials::{LocalTrials, TrialSetup};
use crate::process::trial::WatchSettings;
use crate::supervised::{faults, spawn_supervised};
use foretell_logs::printed::MetricSource;

const SEARCHES: u64 = 32;
const TRIALS: u64 = 5;
const EPOCHS: u64 = 6;
/// Longer than any search takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The places where a thread may panic; every other search has none.
const PLACES: [&str; 7] = ["read", "follow", "look", "last", "trials", "fitter", "flusher"];

/// Plays a file, line by line: those that begin with `!` to standard error, after those that begin with `~` it waits.
const PLAYER: &str = r#"while IFS= read -r line; do case "$line" in '!'*) printf '%s\n' "${line#!}" >&2;; '~') sleep 0.02;; *'^') printf '%s\r' "${line%^}";; *) printf '%s\n' "$line";; esac; done < "$1""#;

/// Numbers at random (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn fraction(&mut self) -> f64 {
        self.roll(10_000) as f64 / 10_000.0
    }
}

/// The values of one trial as they are printed: rising, falling below 0, large, or with zeros. No two of them are equal unless they are 0.
fn values(dice: &mut Dice) -> Vec<String> {
    let (kind, base, slope) = (dice.roll(4), dice.fraction(), 0.01 + dice.fraction());
    let values = (1..=EPOCHS).map(|epoch| match kind {
        0 => base + slope * epoch as f64,
        1 => base - slope * epoch as f64,
        2 => 100.0 * (base + slope * epoch as f64),
        _ => (base - 0.3 * epoch as f64).max(0.0),
    });
    values.map(|value| format!("{value:.4}")).collect()
}

/// The lines of one trial, in the form of the search: what users' scripts print.
fn lines(form: u64, values: &[String], dice: &mut Dice) -> Vec<String> {
    let mut lines = vec!["Net(".to_owned(), "  (0): Conv2d(3, 64, kernel_size=3)".to_owned(), ")".to_owned()];
    if form == 3 {
        lines.push("epoch,loss,val_acc".to_owned());
    }
    for (epoch, value) in (1..).zip(values) {
        match form {
            0 => lines.push(format!("{{\"foretell\": {{\"step\": {epoch}, \"val_acc\": {value}}}}}")),
            1 => lines.push(format!("epoch {epoch}/{EPOCHS} loss {:.3} val_acc {value}", dice.fraction())),
            2 => lines.extend([
                format!("!Epoch {epoch}/{EPOCHS}"),
                format!("val_acc: {value}"),
                "!lr is 0.1".to_owned(),
            ]),
            3 => lines.push(format!("{epoch},{:.3},{value}", dice.fraction())),
            4 => lines.extend([
                format!("Epoch {epoch}/{EPOCHS}:  50%|#####     | 5/10^"),
                format!(
                    "Epoch {epoch}/{EPOCHS}: 100%|##########| 10/10, loss={:.3}, val_acc={value}",
                    dice.fraction()
                ),
            ]),
            _ => lines.push(format!("准确率 epoch {epoch} val_acc→np.float64({value})")),
        }
        if dice.roll(3) == 0 {
            lines.push("~".to_owned());
        }
    }
    lines
}

fn spec(seed: u64) -> StudySpec {
    let space = Space::Parameters(ParameterSpace::parse(&["k=choice:0,1,2,3,4"]).expect("a space"));
    let usual = StudySpec::new(space, "val_acc", Direction::Maximize);
    StudySpec { max_resource: EPOCHS, trials: TRIALS, burn_in: 2, seed, ..usual }
}

fn driver(folder: &Path, seed: u64) -> Driver<LocalTrials, EventStore> {
    let setup = TrialSetup {
        directory: folder.to_owned(),
        command: ["sh", "play.sh", "out-{k}"].map(str::to_owned).to_vec(),
        metric: MetricSource::parse("val_acc").expect("a name"),
        max_resource: EPOCHS,
        environment: BTreeMap::new(),
        space: None,
        watch: WatchSettings::default(),
        config: None,
        working_dir: Some(folder.to_owned()),
        gpus: Vec::new(),
        unplaced: Vec::new(),
    };
    let (store, _) = EventStore::open(folder.join("events.jsonl")).expect("a log");
    let session = Session::open(spec(seed), StudyParts::default(), store).expect("a study");
    Driver::new(session, LocalTrials::new(setup, Duration::from_secs(1)), 2, "print val_acc")
}

/// Runs the search; one that does not end is canceled.
fn run(driver: &mut Driver<LocalTrials, EventStore>) -> Result<RunOutcome, DriverError> {
    let (cancel, over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (cancels, is_over) = (Arc::clone(&cancel), Arc::clone(&over));
    let watch = spawn_supervised(
        "watch",
        move || {
            let until = Instant::now() + PATIENCE;
            while !is_over.load(Ordering::SeqCst) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            cancels.store(true, Ordering::SeqCst);
        },
        |why| panic!("{why}"),
    )
    .expect("a thread");
    let finish = driver.run(&cancel, &mut |_, _| Ok(()));
    over.store(true, Ordering::SeqCst);
    watch.join().expect("it ends");
    finish
}

/// Compares what is recorded with what the trials print.
fn account(study: &Study, printed: &[Vec<String>], is_faulty: bool, case: &str) {
    let mut whole = 0;
    for (number, trial) in study.trials().iter().enumerate() {
        let k = trial.configuration["k"].as_number().expect("a number") as usize;
        let expected: Vec<f64> = printed[k].iter().map(|value| value.parse().expect("a number")).collect();
        let values: Vec<f64> = trial.curve.scores().to_vec();
        let steps: Vec<f64> = (1..=values.len()).map(|step| step as f64).collect();
        let case = format!("{case}, trial {number} ({:?}): {values:?} of {expected:?}", trial.state);
        assert!(values.len() <= expected.len() && values == expected[..values.len()], "{case}");
        assert_eq!(trial.curve.steps(), steps, "{case}");
        match &trial.state {
            TrialState::Completed { .. } => {
                whole += 1;
                assert_eq!(values.len(), expected.len(), "{case}");
            }
            TrialState::Failed { reason } => {
                assert!(is_faulty && reason.contains("an injected panic"), "{case}")
            }
            TrialState::Stopped { .. } => {}
            _ => assert!(is_faulty, "{case}"),
        }
    }
    assert!(is_faulty || whole > 0, "{case}: the burn-in is trained to its end");
}

#[test]
fn every_search_ends_and_all_printed_epochs_are_accounted_for() {
    for seed in 0..SEARCHES {
        let mut dice = Dice(seed);
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("play.sh"), PLAYER).expect("it is written");
        let form = seed % 6;
        let printed: Vec<Vec<String>> = (0..TRIALS).map(|_| values(&mut dice)).collect();
        for (k, values) in printed.iter().enumerate() {
            let lines = lines(form, values, &mut dice).join("\n") + "\n";
            fs::write(folder.path().join(format!("out-{k}")), lines).expect("it is written");
        }
        let place = (seed % 2 == 1).then(|| PLACES[dice.roll(PLACES.len() as u64) as usize]);
        match place {
            Some(place) => faults::arm(place, dice.roll(8) as i64),
            None => faults::disarm(),
        }
        let case = format!("search {seed}, form {form}, panic {place:?}");
        let mut driver = driver(folder.path(), seed);
        match run(&mut driver) {
            Ok(finish) => assert_eq!(finish, RunOutcome::Done, "{case}"),
            // the error of the command, as that of a trial, says which panic it was
            Err(error) => {
                assert!(place.is_some() && error.to_string().contains("an injected panic"), "{case}: {error}")
            }
        }
        account(driver.session().study(), &printed, place.is_some(), &case);
        let ended = driver.session().study().progress().trials.ended_count();
        drop(driver);
        let (_, survey) = EventStore::open(folder.path().join("events.jsonl")).expect("the log is whole");
        assert!(survey.dropped.is_none() && survey.trials >= ended, "{case}");
    }
}
