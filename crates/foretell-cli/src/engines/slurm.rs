//! Workers in jobs of Slurm: arrays of them, as many as there are trials to do.

use super::{EngineError, WorkerEngine};
use crate::failure::Failure;
use crate::output::fingerprint;
use foretell_run::quote_for_shell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Options of `sbatch` that the search sets itself.
const RESERVED_OPTIONS: [&str; 7] = ["array", "job-name", "output", "error", "signal", "open-mode", "chdir"];
/// How long before its time is over a worker is warned: it hands back its trial.
const WARNING_SECONDS: u64 = 60;
/// A worker without a trial ends after this.
const IDLE_EXIT: &str = "60s";
/// The most jobs of an array.
const MAX_ARRAY_JOBS: usize = 1000;
/// The search gives up after this many submissions whose jobs all ended before any was heard from.
const MAX_UNHEARD_SUBMISSIONS: u32 = 3;
/// How long jobs may take to end.
const JOB_END_TIMEOUT: Duration = Duration::from_secs(40);

/// The jobs of one search.
pub(crate) struct SlurmJobs {
    /// The name of all its jobs: the same whenever the study continues.
    name: String,
    /// The folder of their script and their output.
    folder: PathBuf,
    options: Vec<String>,
    study: PathBuf,
    workers: usize,
    /// Submissions since a worker was heard.
    unheard: u32,
    /// Whether the cluster refuses arrays of jobs.
    single: bool,
}

/// A job that waits or runs.
#[derive(Debug, PartialEq, Eq)]
struct SlurmJob {
    id: String,
    runs: bool,
    host: String,
    reason: String,
}

impl SlurmJobs {
    /// The jobs of the study in `directory`, by the options of `sbatch` in `options`: `NAME=VALUE`, or whole lines.
    pub(crate) fn new(directory: &Path, options: &[String], workers: usize) -> Result<Self, Failure> {
        let options = options.iter().map(|option| line_of(option)).collect::<Result<_, _>>()?;
        let study = std::path::absolute(directory).map_err(Failure::midway)?;
        if study.to_string_lossy().contains(['\n', '\r']) {
            return Err(Failure::input(
                "--on slurm: the name of the study's folder contains a line break. Choose another one with --out",
            ));
        }
        let name = format!("foretell-{:08x}", fingerprint(&study.to_string_lossy()));
        Ok(Self { name, folder: study.join("slurm"), options, study, workers, unheard: 0, single: false })
    }

    /// The time limit of its jobs, in words.
    pub(crate) fn limit(options: &[String]) -> String {
        let mut time =
            options.iter().filter_map(|option| option.trim_start_matches('-').strip_prefix("time="));
        match time.next_back() {
            Some(time) => format!("the time limit of the jobs is `time = \"{time}\"` in [slurm]"),
            None => "the jobs have the time limit of their partition, unless [slurm] sets `time`".to_owned(),
        }
    }

    /// The script of a worker.
    fn script(&self) -> Result<String, Failure> {
        let program = std::env::current_exe().map_err(Failure::midway)?.to_string_lossy().into_owned();
        let study = self.study.to_string_lossy().into_owned();
        let words = [program, "worker".to_owned(), study, "--idle-exit".to_owned(), IDLE_EXIT.to_owned()];
        let mut text = self.script_head(if self.single { "%j.log" } else { "%A_%a.log" });
        // the options of the user come last, since the last one counts
        self.options.iter().for_each(|option| _ = writeln!(text, "#SBATCH {option}"));
        _ = writeln!(text, "exec {}", quote_for_shell(&words));
        Ok(text)
    }

    fn script_head(&self, output: &str) -> String {
        // `%` begins a pattern of Slurm
        let folder =
            self.folder.to_string_lossy().replace('%', "%%").replace('\\', "\\\\").replace('"', "\\\"");
        format!(
            "#!/bin/sh\n#SBATCH --job-name={}\n#SBATCH --output=\"{folder}/{output}\"\n#SBATCH --open-mode=append\n#SBATCH --signal=B:USR1@{WARNING_SECONDS}\n#SBATCH --ntasks=1\n",
            self.name
        )
    }

    /// The script of a job that owns the study: it is queued again before its time is over, and continues.
    fn owner_script(&self, words: &[String]) -> String {
        let mut text = self.script_head("owner-%j.log").replace(&self.name, &self.owner_name());
        _ = writeln!(text, "#SBATCH --requeue");
        // only the options that say where a job may run are taken over, because the owner needs none of the workers' GPUs and memory
        let names = ["--partition", "--account", "--qos"];
        let kept = self.options.iter().filter(|option| names.iter().any(|name| option.starts_with(name)));
        kept.for_each(|option| _ = writeln!(text, "#SBATCH {option}"));
        _ = writeln!(
            text,
            "again() {{ kill -USR1 $search; wait $search; scontrol requeue $SLURM_JOB_ID; exit; }}\ntrap again USR1\ntrap 'kill -TERM $search; wait $search; exit' TERM\n{} &\nsearch=$!\nwait $search",
            quote_for_shell(words)
        );
        text
    }

    fn owner_name(&self) -> String {
        self.name.replace("foretell-", "foretell-owner-")
    }

    /// The script and the command that would be submitted.
    pub(crate) fn explain_submission(&self) -> Result<String, Failure> {
        let script = self.folder.join("worker.sh");
        Ok(format!(
            "{}:\n{}\nsubmitted by: sbatch --parsable --array=0-{} {}",
            script.display(),
            self.script()?,
            self.workers.min(MAX_ARRAY_JOBS) - 1,
            script.display()
        ))
    }

    /// Submits a job that owns the study by the command line `words`; answers its number.
    pub(crate) fn submit_owner(&self, words: &[String]) -> Result<String, Failure> {
        let jobs = self.list_jobs_named(&self.owner_name()).map_err(Failure::input)?;
        if let Some(job) = jobs.first() {
            return Err(Failure::input(format!(
                "job {} already owns this study. End it and its workers with `scancel {}`",
                job.id, job.id
            )));
        }
        let script = self.write_script("owner.sh", &self.owner_script(words))?;
        run_program("sbatch", &["--parsable".to_owned(), script]).map_err(Failure::input)
    }

    fn write_script(&self, name: &str, text: &str) -> Result<String, Failure> {
        let path = self.folder.join(name);
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| foretell_run::write_atomically(&path, text.as_bytes()))
            .map_err(|error| Failure::midway(format!("{}: {error}", path.display())))?;
        Ok(path.to_string_lossy().into_owned())
    }

    fn submit_workers(&mut self, count: usize) -> Result<(), EngineError> {
        let script = self.script().and_then(|text| self.write_script("worker.sh", &text));
        let script = script.map_err(|failure| EngineError::Now(failure.message().to_owned()))?;
        let submitted = if self.single {
            let words = ["--parsable".to_owned(), script];
            (0..count.min(MAX_ARRAY_JOBS)).try_for_each(|_| run_program("sbatch", &words).map(drop))
        } else {
            let array = format!("--array=0-{}", count.min(MAX_ARRAY_JOBS) - 1);
            run_program("sbatch", &["--parsable".to_owned(), array, script]).map(drop)
        };
        match submitted {
            // a partition without arrays, or with a small MaxArraySize
            Err(why) if !self.single && why.contains("array") => {
                self.single = true;
                self.submit_workers(count)
            }
            submitted => {
                submitted.map_err(EngineError::Now)?;
                self.unheard += 1;
                Ok(())
            }
        }
    }

    fn jobs(&self) -> Result<Vec<SlurmJob>, String> {
        self.list_jobs_named(&self.name)
    }

    fn list_jobs_named(&self, name: &str) -> Result<Vec<SlurmJob>, String> {
        let words = ["-h", "-r", "-n", name, "-u", &user_id(), "-o", "%i|%T|%N|%r"];
        Ok(parse(&run_program("squeue", &words.map(str::to_owned))?))
    }

    /// The last lines of the newest output of a job.
    fn last_words(&self) -> String {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let logs = files.filter(|file| file.path().extension().is_some_and(|it| it == "log"));
        let newest = logs.max_by_key(|file| file.metadata().and_then(|it| it.modified()).ok());
        let text = newest.map(|file| (file.path(), std::fs::read_to_string(file.path()).unwrap_or_default()));
        let Some((path, text)) = text else {
            return format!(
                "they wrote nothing to {}. Choose a folder that the nodes share with --out",
                self.folder.display()
            );
        };
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(5)..];
        format!("{} ends with:\n  {}", path.display(), last.join("\n  "))
    }
}

impl WorkerEngine for SlurmJobs {
    fn tend(&mut self, wanted: usize, hears: bool) -> Result<String, EngineError> {
        let jobs = self.jobs().map_err(EngineError::Now)?;
        if hears {
            self.unheard = 0;
        }
        if jobs.is_empty() && self.unheard >= MAX_UNHEARD_SUBMISSIONS {
            return Err(EngineError::Ever(format!(
                "the jobs of Slurm ended {MAX_UNHEARD_SUBMISSIONS} times before any worker reached the search; {}",
                self.last_words()
            )));
        }
        if jobs.len() < wanted {
            self.submit_workers(wanted - jobs.len())?;
        } else {
            // only jobs that wait are canceled: a worker that runs would lose its trial, and ends by itself when it gets no other
            let surplus = jobs.iter().filter(|job| !job.runs).take(jobs.len() - wanted);
            let surplus: Vec<String> = surplus.map(|job| job.id.clone()).collect();
            if !surplus.is_empty() {
                run_program("scancel", &surplus).map_err(EngineError::Now)?;
            }
        }
        Ok(describe_jobs(&jobs))
    }

    fn end(&mut self) {
        let begun = Instant::now();
        let words = ["-n".to_owned(), self.name.clone(), "-u".to_owned(), user_id()];
        while begun.elapsed() < JOB_END_TIMEOUT {
            // jobs that have ended meanwhile are no error
            let _ = run_program("scancel", &words);
            std::thread::sleep(Duration::from_secs(1));
            if self.jobs().is_ok_and(|jobs| jobs.is_empty()) {
                return;
            }
        }
    }
}

fn describe_jobs(jobs: &[SlurmJob]) -> String {
    let running = jobs.iter().filter(|job| job.runs).count();
    let hosts: BTreeSet<&str> = jobs.iter().filter(|job| job.runs).map(|job| job.host.as_str()).collect();
    let hosts: Vec<&str> = hosts.into_iter().collect();
    let on = if hosts.is_empty() { String::new() } else { format!(" on {}", hosts.join(", ")) };
    let waiting = jobs.len() - running;
    let reason = jobs.iter().find(|job| !job.runs).map(|job| format!(" ({})", reason_in_words(&job.reason)));
    format!("slurm: {running} jobs running{on}, {waiting} waiting{}", reason.unwrap_or_default())
}

/// The reason why a job waits, in words and in Slurm's own code.
fn reason_in_words(reason: &str) -> String {
    let words = match reason {
        "Resources" => "for free nodes",
        "Priority" => "behind jobs of a higher priority",
        "JobHeldUser" => "held; `scontrol release` lets it go",
        "JobHeldAdmin" => "held by the cluster's administrator",
        "BeginTime" => "for its begin time",
        "Dependency" => "for another job",
        "JobArrayTaskLimit" => "for other jobs of its array",
        "ReqNodeNotAvail" | "PartitionDown" | "NodeDown" => "for nodes that are down or reserved",
        limit if limit.starts_with("QOS") || limit.starts_with("Assoc") || limit.starts_with("Max") => {
            "at a limit of your account, which `sacctmgr show assoc` shows"
        }
        limit if limit.starts_with("Partition") => "beyond a limit of its partition: ask for less",
        _ => return reason.to_owned(),
    };
    format!("{words}: {reason}")
}

/// The jobs that wait or run, from the output of `squeue`.
fn parse(text: &str) -> Vec<SlurmJob> {
    let jobs = text.lines().filter_map(|line| {
        let mut fields = line.trim().splitn(4, '|').map(str::to_owned);
        let (id, state, host, reason) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let runs = ["RUNNING", "CONFIGURING", "SUSPENDED"].contains(&state.as_str());
        let waits = ["PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED"].contains(&state.as_str());
        (runs || waits).then_some(SlurmJob { id, runs, host, reason })
    });
    jobs.collect()
}

/// One option as a line of a script.
fn line_of(option: &str) -> Result<String, Failure> {
    if option.contains(['\n', '\r']) {
        return Err(option_failure(option, "an option is one line"));
    }
    let line = if option.starts_with('-') { option.to_owned() } else { format!("--{option}") };
    let name = line.trim_start_matches('-').split(['=', ' ']).next().unwrap_or_default().replace('_', "-");
    if RESERVED_OPTIONS.contains(&name.as_str()) {
        return Err(option_failure(option, &format!("the search sets --{name} itself. Leave it out")));
    }
    match line.split_once('=') {
        Some((_, value)) if !option.starts_with('-') => Ok(format!("--{name}={value}")),
        None if !option.starts_with('-') => {
            Err(option_failure(option, "write NAME=VALUE, or a whole option such as --exclusive"))
        }
        _ => Ok(line),
    }
}

fn option_failure(option: &str, why: &str) -> Failure {
    Failure::input(format!("[slurm] {option}: {why}"))
}

/// Runs a program of Slurm; answers its output, or its own words of refusal.
fn run_program(program: &str, words: &[String]) -> Result<String, String> {
    let output = Command::new(program).args(words).output().map_err(|error| {
        format!("{program}: {error}. --on slurm needs the programs of Slurm on this machine")
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{program} refuses: {}", if said.is_empty() { output.status.to_string() } else { said }))
}

fn user_id() -> String {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or_else(|_| "root".to_owned(), |it| it.uid().to_string())
}

#[cfg(test)]
mod tests {
    use super::{SlurmJobs, describe_jobs, line_of, parse};

    #[test]
    fn options_are_lines_of_the_script_and_those_of_the_search_are_refused() {
        let cases = [
            ("partition=gpu", "--partition=gpu"),
            ("cpus_per_task=4", "--cpus-per-task=4"),
            ("time=0-02:00:00", "--time=0-02:00:00"),
            ("--constraint=a100&nvlink", "--constraint=a100&nvlink"),
            ("--exclusive", "--exclusive"),
        ];
        for (option, line) in cases {
            assert_eq!(line_of(option).expect(option), line);
        }
        for option in ["array=0-3", "job_name=x", "--output=/tmp/x", "exclusive", "time=1\n#SBATCH --x"] {
            assert!(line_of(option).is_err(), "{option}");
        }
    }

    #[test]
    fn the_time_limit_is_the_one_that_counts() {
        let options = ["time=1:00:00", "gres=gpu:1", "--time=2:00:00"].map(str::to_owned);
        assert!(SlurmJobs::limit(&options).contains("`time = \"2:00:00\"`"));
        assert!(SlurmJobs::limit(&options[1..2]).contains("of their partition"));
    }

    #[test]
    fn jobs_that_wait_or_run_are_counted_and_others_are_not() {
        let jobs = parse(
            "7_0|RUNNING|n1|None\n7_1|RUNNING|n2|None\n7_2|PENDING||Resources\n6|COMPLETING|n1|None\nx",
        );
        assert_eq!(jobs.len(), 3);
        assert_eq!(
            describe_jobs(&jobs),
            "slurm: 2 jobs running on n1, n2, 1 waiting (for free nodes: Resources)"
        );
        assert_eq!(describe_jobs(&[]), "slurm: 0 jobs running, 0 waiting");
    }

    #[test]
    fn the_script_runs_one_worker_and_holds_no_token() {
        let folder = tempfile::tempdir().expect("a folder");
        let slurm = SlurmJobs::new(folder.path(), &["gres=gpu:1".to_owned()], 4).expect("options");
        let script = slurm.script().expect("a script");
        for words in ["#SBATCH --gres=gpu:1\n", "--signal=B:USR1@60", " worker ", "--idle-exit 60s"] {
            assert!(script.contains(words), "{words}: {script}");
        }
        assert!(!script.contains("TOKEN") && !script.contains("token"), "{script}");
        let owner = slurm.owner_script(&["foretell".to_owned(), "search".to_owned(), "a b.toml".to_owned()]);
        assert!(owner.contains("foretell search 'a b.toml' &") && !owner.contains("gres"), "{owner}");
    }
}
