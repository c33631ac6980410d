//! Flags that control trials and the whole search.

use crate::failure::Failure;
use crate::output::{ask, note};
use foretell_run::{HookScope, PRINTED_SOURCE, RunLimits, TRIAL_DIR, WatchSettings};
use foretell_search::StudySpec;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The device files of the drivers of Nvidia, AMD, Windows (WSL) and Intel.
const GPU_DEVICES: [&str; 4] = ["/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/dri"];

/// Where trials run, if not on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RemoteEngine {
    /// On every `foretell worker` that you start
    Workers,
    /// On workers in Slurm jobs.
    Slurm,
    /// On workers in Ray actors.
    Ray,
}

/// Which process owns a study on Slurm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OwnerPlace {
    /// This one.
    #[default]
    Here,
    /// A job.
    Job,
}

/// The flags.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ControlFlags {
    /// Configuration file that your command reads (.json, .yaml, .toml). Each trial gets a copy with its own values, whose path replaces
    /// `{config}` in the command. Parameters are named as in the file, with dots between levels.
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = "Your own command")]
    pub(super) config: Option<PathBuf>,
    /// Read the metric from this file instead of the output. Trials append lines or comma-separated values to it, and its path may contain
    /// `{trial_dir}`.
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = "Your own command")]
    pub(super) follow: Option<String>,
    /// Source of the metric: `printed` (default), or a library whose logged values the hook reads from the running Python script, such as
    /// lightning, keras, transformers, tensorboard, wandb or xgboost. The metric is then the library's name of the series, and printed
    /// lines are not read. `foretell init` lists the sources of a script. If one run trains several times, for example in folds, the first
    /// training is read; with `keras=mean`, each training is an epoch, and its value is the mean over the trainings so far.
    #[arg(long, hide_short_help = true, value_name = "SOURCE", value_parser = source, conflicts_with = "follow", help_heading = "Your own command")]
    pub(super) source: Option<String>,
    /// Do not load the hook. Only a source other than `printed` needs it.
    #[arg(long, hide_short_help = true, help_heading = "Your own command")]
    no_hook: bool,
    /// Doubt about the settings, as `foretell init` writes it into a study file. The search asks before it starts, or refuses without a
    /// terminal. Removing the key confirms the settings.
    #[arg(long, hide = true, value_name = "TEXT", help_heading = "Your own command")]
    in_doubt: Option<String>,
    /// Show the running study in the browser, at this address.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8675", require_equals = true, help_heading = "Output")]
    pub(super) serve: Option<std::net::SocketAddr>,
    /// Run the trials on other machines, as many at a time as --workers sets.
    #[arg(long, hide_short_help = true, value_name = "ENGINE", help_heading = "More machines")]
    pub(super) on: Option<RemoteEngine>,
    /// Pass this option to `sbatch` for each worker, as NAME=VALUE or in full. For example: partition=gpu, time=4:00:00, gres=gpu:1,
    /// account=lab.
    #[arg(long, hide = true, value_name = "OPTION", help_heading = "More machines")]
    pub(super) slurm: Vec<String>,
    /// Pass this option to Ray for each worker, for example address=ray://HOST:10001, cpus=2 or gpus=1.
    #[arg(long, hide = true, value_name = "OPTION", help_heading = "More machines")]
    pub(super) ray: Vec<String>,
    /// Where the owner of a study on Slurm runs: in this process (here), or in a job of its own (job), which requeues itself before its
    /// time limit.
    #[arg(long, hide = true, value_name = "WHERE", default_value = "here", help_heading = "More machines")]
    pub(super) owner: OwnerPlace,
    /// Give a trial to another worker once its own has been silent for this long.
    #[arg(long, hide = true, value_name = "DURATION", value_parser = duration, default_value = "1m", help_heading = "More machines")]
    pub(super) lease: Duration,
    /// Train on these GPUs, for example 0,1. Each worker gets one of them, through CUDA_VISIBLE_DEVICES.
    #[arg(long, value_delimiter = ',', value_name = "IDS", help_heading = "Control")]
    pub(super) gpus: Vec<String>,
    /// Print progress this often when the output is not a terminal.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "60s", hide = true, help_heading = "Output")]
    pub(super) heartbeat: Duration,
    /// Fail a trial that runs longer than this.
    #[arg(long, hide_short_help = true, value_name = "DURATION", value_parser = duration, help_heading = "Control")]
    trial_timeout: Option<Duration>,
    /// Fail a trial that is silent for this many times its mean time between reports. Before its second report, the longest wait of another
    /// trial counts, or 10 min.
    #[arg(long, hide = true, value_name = "TIMES", help_heading = "Control")]
    stall: Option<f64>,
    /// Restart a failed trial from its checkpoint up to this many times.
    #[arg(long, hide_short_help = true, default_value_t = 0, value_name = "N", help_heading = "Control")]
    retries: u32,
    /// End the search after this time, for example 90s, 30m or 8h, earlier runs of the search included. A larger limit continues it.
    #[arg(long, hide_short_help = true, value_name = "DURATION", value_parser = duration, help_heading = "Control")]
    max_time: Option<Duration>,
    /// End the search after this many epochs in total.
    #[arg(long, hide_short_help = true, value_name = "EPOCHS", help_heading = "Control")]
    max_epochs: Option<u64>,
    /// End the search after this many GPU hours, earlier runs of the search included.
    #[arg(long, hide = true, value_name = "HOURS", requires = "gpus", help_heading = "Control")]
    max_gpu_hours: Option<f64>,
}

impl ControlFlags {
    /// The watch on each trial.
    pub(super) fn watch(&self, flushes: bool, hook: HookScope, spec: &StudySpec) -> WatchSettings {
        let once = spec.reported_names().into_iter().collect();
        WatchSettings {
            follow: self.follow.clone(),
            hook,
            timeout: self.trial_timeout,
            stall: self.stall,
            flushes,
            once,
        }
    }

    /// The limits of a run, if earlier ones took the time `before`.
    pub(super) fn limits(&self, before: Duration) -> RunLimits {
        let gpus = u32::try_from(self.gpus.len()).unwrap_or(u32::MAX);
        let hours = |hours: f64| (Duration::from_secs_f64(hours * 3600.0), gpus);
        RunLimits {
            retries: self.retries,
            before,
            time: self.max_time,
            epochs: self.max_epochs,
            gpu_time: self.max_gpu_hours.map(hours),
        }
    }

    /// Drops the limits of the whole search.
    pub(super) fn without_limits(&mut self) {
        (self.max_time, self.max_epochs, self.max_gpu_hours) = (None, None, None);
    }

    /// Asks whether doubtful settings are right; without a terminal, they are refused.
    fn confirm_doubt(&self) -> Result<(), Failure> {
        let Some(doubt) = &self.in_doubt else { return Ok(()) };
        let refused =
            || Failure::input(format!("the study file is in doubt: {doubt}. Then remove the line in-doubt"));
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Err(refused());
        }
        let answer = ask(&format!("in doubt: {doubt}. Search all the same? (yes or no)"), "no")?;
        if answer.starts_with('y') { Ok(()) } else { Err(refused()) }
    }

    /// Refuses a source that needs the hook where that is turned off.
    fn check_source(&self) -> Result<(), Failure> {
        let Some(source) = self.source.as_deref().filter(|source| *source != PRINTED_SOURCE) else {
            return Ok(());
        };
        let off = match (self.no_hook, HookScope::is_allowed()) {
            (true, _) => "--no-hook",
            (false, false) => "FORETELL_HOOK=0",
            (false, true) => return Ok(()),
        };
        Err(Failure::input(format!(
            "--source {source}: the hook reads this source, and {off} turns it off. Remove one of them"
        )))
    }

    /// Refuses settings that cannot work with so many `workers`.
    pub(super) fn check(&self, workers: usize) -> Result<(), Failure> {
        self.check_source()?;
        if let Some(hours) = self.max_gpu_hours.filter(|hours| !(*hours > 0.0 && *hours < 1e9)) {
            return Err(Failure::input(format!("--max-gpu-hours {hours}: must be above 0")));
        }
        if let Some(times) = self.stall.filter(|times| !(*times >= 1.0 && *times < 1e9)) {
            return Err(Failure::input(format!("--stall {times}: must be at least 1, for example 10")));
        }
        no_gpu_twice(&self.gpus)?;
        if !self.gpus.is_empty()
            && self.on.is_none()
            && !GPU_DEVICES.iter().any(|device| Path::new(device).exists())
        {
            note(&format!(
                "--gpus {}: no GPU was found on this machine, so trials may train on the CPU",
                self.gpus.join(",")
            ));
        }
        self.confirm_doubt()?;
        if self.on != Some(RemoteEngine::Slurm) && !self.slurm.is_empty() {
            return Err(Failure::input("--slurm, or [slurm] in the study file, needs --on slurm"));
        }
        if self.on != Some(RemoteEngine::Ray) && !self.ray.is_empty() {
            return Err(Failure::input("--ray, or [ray] in the study file, needs --on ray"));
        }
        if self.on != Some(RemoteEngine::Slurm) && self.owner == OwnerPlace::Job {
            return Err(Failure::input("--owner job needs --on slurm"));
        }
        match &self.follow {
            Some(file) if workers > 1 && !file.contains('{') => Err(Failure::input(format!(
                "--follow {file}: {workers} parallel trials would write to the same file. Set --workers 1, or use one file per trial, with {{{TRIAL_DIR}}} in the command and here"
            ))),
            _ => Ok(()),
        }
    }
}

/// A source that the hook knows, or `printed`.
fn source(text: &str) -> Result<String, String> {
    let (library, way) = text.split_once('=').unwrap_or((text, "mean"));
    let library = library.split('/').next().unwrap_or_default();
    let mut known = vec![PRINTED_SOURCE];
    known.extend(HookScope::sources());
    if !known.contains(&library) || way != "mean" {
        return Err(format!("unknown source. The sources are {}", known.join(", ")));
    }
    Ok(text.to_owned())
}

/// `90s`, `30m`, `8h`, `2d`; a number alone could be any of them.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None if text.trim().parse::<f64>().is_ok() => {
            let text = text.trim();
            return Err(format!("add a unit: {text}s (seconds), {text}m (minutes), {text}h or {text}d"));
        }
        None => (text, "s"),
    };
    let seconds = match unit {
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(format!("unknown unit `{unit}`; write 90s, 30m, 8h or 2d")),
    };
    let number: f64 = number.trim().parse().map_err(|_| "write 90s, 30m, 8h or 2d".to_owned())?;
    let duration = Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())?;
    if duration.is_zero() { Err("must be above 0".to_owned()) } else { Ok(duration) }
}

/// Refuses a GPU that is named twice: two trials would share it.
pub(crate) fn no_gpu_twice(gpus: &[String]) -> Result<(), Failure> {
    let is_double = |(place, gpu): &(usize, &String)| gpus[..*place].contains(gpu);
    match gpus.iter().enumerate().find(is_double) {
        Some((_, gpu)) => Err(Failure::input(format!("--gpus {}: {gpu} is named twice", gpus.join(",")))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;
    use std::time::Duration;

    #[test]
    fn durations_have_units() {
        let cases = [("90 s", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86_400)];
        for (text, seconds) in cases {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(duration("100").unwrap_err(), "add a unit: 100s (seconds), 100m (minutes), 100h or 100d");
        for text in ["", "x", "-1s", "0", "3 weeks", "1e999"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
