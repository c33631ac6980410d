//! Resource usage of trials: memory by `/proc`, GPUs by `nvidia-smi`; measured now and then, and kept in each trial's folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::log::atomic_write::write_atomically;
use crate::log::room::FullDiskWait;
use crate::process::checkpoints::trial_directory;
use crate::process::control_group::ControlGroup;
use crate::process::group::{ProcessIdentity, running_processes};
use crate::process::strays::run_helper;
use crate::regular;
use crate::supervised::{may_panic, spawn_supervised};

/// The file with the measurements of a trial, in the trial's folder.
const USAGE_FILE: &str = "usage.json";
/// A trial is measured after this time, then after twice as long each time, and at last every [`MAX_SAMPLE_INTERVAL`].
const FIRST_SAMPLE_DELAY: Duration = Duration::from_millis(500);
/// Of the measurements in this time the last one is kept.
const MAX_SAMPLE_INTERVAL: Duration = Duration::from_secs(60);
/// A longer answer of `nvidia-smi` is not waited for, and it is not asked again.
const SMI_TIMEOUT: Duration = Duration::from_secs(10);
const BYTES_PER_MIB: u64 = 1 << 20;

/// The resources that one trial has used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Usage {
    /// The most memory that its processes had together, in bytes. Pages that they share count once per process.
    pub peak_memory: u64,
    /// The most memory of GPUs that they had together, in bytes; absent without `nvidia-smi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_gpu_memory: Option<u64>,
    /// The last measurement of each minute. A trial that continues in a new process counts its seconds from 0 again.
    pub samples: Vec<UsageSample>,
}

/// The resources that a trial used at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageSample {
    /// Seconds since its process was started.
    pub seconds: f64,
    /// Memory of its processes, in bytes.
    pub memory: u64,
    /// Memory of GPUs, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_memory: Option<u64>,
    /// The load of its GPUs, in percent: the mean over those that it has memory of, whoever used them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_busy: Option<f64>,
}

impl Usage {
    /// The usage of trial `trial` of the study in `directory`; `None` if nothing was measured, as for a trial of less than half a second.
    pub fn read(directory: &Path, trial: u64) -> Option<Self> {
        Self::read_folder(&trial_directory(directory, trial))
    }

    fn read_folder(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&regular::read(&folder.join(USAGE_FILE)).ok()?).ok()
    }

    /// The average load of its GPUs, in percent.
    pub fn gpu_busy(&self) -> Option<f64> {
        let busy: Vec<f64> = self.samples.iter().filter_map(|sample| sample.gpu_busy).collect();
        (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64)
    }

    /// Takes in a measurement: `peak` is the most memory so far.
    fn add_sample(&mut self, sample: UsageSample, peak: u64) {
        self.peak_memory = self.peak_memory.max(peak).max(sample.memory);
        self.peak_gpu_memory = self.peak_gpu_memory.max(sample.gpu_memory);
        // the last measurement of each minute: the first ones are of a program that still loads its libraries
        self.samples.pop_if(|last| {
            let [last_minute, minute] = [last.seconds, sample.seconds]
                .map(|seconds| (seconds / MAX_SAMPLE_INTERVAL.as_secs_f64()) as u64);
            last_minute == minute && last.seconds <= sample.seconds
        });
        self.samples.push(sample);
    }
}

/// A trial that is measured.
struct MeteredTrial {
    leader: ProcessIdentity,
    control_group: Option<ControlGroup>,
    folder: PathBuf,
    begun: Instant,
    due: Instant,
    wait: Duration,
}

#[derive(Default)]
struct SharedMeter {
    state: Mutex<MeterState>,
    changed: Condvar,
}

#[derive(Default)]
struct MeterState {
    metered: BTreeMap<u64, MeteredTrial>,
    is_closed: bool,
    is_measured: bool,
}

impl SharedMeter {
    fn lock(&self) -> MutexGuard<'_, MeterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Measures the trials of this process, on a thread of its own. Nothing waits for it.
#[derive(Default)]
pub(crate) struct UsageMeter(Arc<SharedMeter>);

impl std::fmt::Debug for UsageMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meter")
    }
}

impl Drop for UsageMeter {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl UsageMeter {
    /// Measures `trial`, which the process `leader` leads, as long as that lives.
    pub(crate) fn start_measuring(
        &self,
        trial: u64,
        leader: ProcessIdentity,
        control_group: Option<ControlGroup>,
        folder: &Path,
        room: &FullDiskWait,
    ) {
        let (begun, folder) = (Instant::now(), folder.to_owned());
        let metered = MeteredTrial {
            leader,
            control_group,
            folder,
            begun,
            due: begun + FIRST_SAMPLE_DELAY,
            wait: FIRST_SAMPLE_DELAY,
        };
        let mut trials = self.0.lock();
        trials.metered.insert(trial, metered);
        if !std::mem::replace(&mut trials.is_measured, true) {
            let (shared, said) = (Arc::clone(&self.0), room.clone());
            // without the thread nothing is measured, and everything else goes well
            let _ = spawn_supervised(
                "usage",
                move || measure_due_trials(&shared),
                move |why| {
                    said.say(&format!(
                        "the memory of trials is not measured from now on, because of a bug: {why}"
                    ));
                },
            );
        }
        drop(trials);
        self.0.changed.notify_all();
    }
}

/// Measures what is due, until there is nothing more to measure for good.
fn measure_due_trials(shared: &SharedMeter) {
    let mut smi = NvidiaSmi::default();
    let mut trials = shared.lock();
    while !trials.is_closed {
        let now = Instant::now();
        let due = trials.metered.values().map(|trial| trial.due).min().unwrap_or(now + MAX_SAMPLE_INTERVAL);
        if now < due {
            let waited = shared.changed.wait_timeout(trials, due - now);
            trials = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        trials.metered.retain(|_, trial| trial.leader.is_alive());
        let mut all: Vec<DueSample> = Vec::new();
        for trial in trials.metered.values_mut().filter(|trial| trial.due <= now) {
            trial.wait = (2 * trial.wait).min(MAX_SAMPLE_INTERVAL);
            trial.due = now + trial.wait;
            all.push(DueSample {
                folder: trial.folder.clone(),
                seconds: (now - trial.begun).as_secs_f64(),
                pids: trial.process_ids(),
            });
        }
        // a start that waits for this lock would wait for `nvidia-smi`, too, which may hang
        drop(trials);
        may_panic("usage");
        if !all.is_empty() {
            let gpus = smi.query_gpus();
            all.iter().for_each(|look| look.measure_and_store(gpus.as_ref()));
        }
        trials = shared.lock();
    }
}

impl MeteredTrial {
    fn process_ids(&self) -> Vec<u32> {
        let group = running_processes().filter(|(_, stat)| stat.group == self.leader.pid).map(|(pid, _)| pid);
        let mut pids: Vec<u32> = group.collect();
        pids.extend(self.control_group.iter().flat_map(ControlGroup::process_ids));
        // a process may be in both groups, and its memory would count twice
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

/// A trial that is due.
struct DueSample {
    folder: PathBuf,
    seconds: f64,
    pids: Vec<u32>,
}

impl DueSample {
    fn measure_and_store(&self, gpus: Option<&GpuUsage>) {
        let memory: Vec<(u64, u64)> = self.pids.iter().filter_map(|&pid| memory_of(pid)).collect();
        if memory.is_empty() {
            return; // it has ended meanwhile
        }
        let sample = UsageSample {
            seconds: self.seconds,
            memory: memory.iter().map(|now| now.0).sum(),
            gpu_memory: gpus.map(|gpus| gpus.memory_of(&self.pids)),
            gpu_busy: gpus.and_then(|gpus| gpus.load_of(&self.pids)),
        };
        let mut usage = Usage::read_folder(&self.folder).unwrap_or_default();
        usage.add_sample(sample, memory.iter().map(|now| now.1).sum());
        if let Ok(text) = serde_json::to_string(&usage) {
            // a full disk keeps what matters more
            let _ = write_atomically(&self.folder.join(USAGE_FILE), text.as_bytes());
        }
    }
}

/// The memory of process `pid` now and at most, in bytes.
fn memory_of(pid: u32) -> Option<(u64, u64)> {
    parse_memory(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn parse_memory(status: &str) -> Option<(u64, u64)> {
    let [now, peak] = ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?)
    });
    Some((now?, peak.or(now)?))
}

/// The GPUs as `nvidia-smi` shows them.
#[derive(Debug, Default, PartialEq)]
struct GpuUsage {
    /// Process, GPU, bytes.
    used: Vec<(u32, String, u64)>,
    /// The load of each GPU, in percent.
    busy: BTreeMap<String, f64>,
}

impl GpuUsage {
    fn parse(apps: &str, gpus: &str) -> Self {
        let used = apps.lines().filter_map(|line| {
            let [pid, gpu, mib] = split_cells(line)?;
            Some((pid.parse().ok()?, gpu, BYTES_PER_MIB * mib.parse::<u64>().ok()?))
        });
        let busy = gpus.lines().filter_map(|line| {
            let [gpu, busy] = split_cells(line)?;
            Some((gpu, busy.parse().ok()?))
        });
        Self { used: used.collect(), busy: busy.collect() }
    }

    fn memory_of(&self, pids: &[u32]) -> u64 {
        self.used.iter().filter(|(pid, ..)| pids.contains(pid)).map(|(.., bytes)| bytes).sum()
    }

    fn load_of(&self, pids: &[u32]) -> Option<f64> {
        let own = self.used.iter().filter(|(pid, ..)| pids.contains(pid)).map(|(_, gpu, _)| gpu);
        let own: std::collections::BTreeSet<&String> = own.collect();
        let busy: Vec<f64> = own.into_iter().filter_map(|gpu| self.busy.get(gpu).copied()).collect();
        (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64)
    }
}

/// The cells of a line of comma-separated values, if there are `N`.
fn split_cells<const N: usize>(line: &str) -> Option<[String; N]> {
    line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>().try_into().ok()
}

/// The program `nvidia-smi`, unless it is known to be of no use.
#[derive(Debug, Default)]
struct NvidiaSmi {
    is_useless: bool,
}

impl NvidiaSmi {
    fn query_gpus(&mut self) -> Option<GpuUsage> {
        if self.is_useless {
            return None;
        }
        let apps = run_query("--query-compute-apps=pid,gpu_uuid,used_memory");
        let gpus = apps.as_ref().and_then(|_| run_query("--query-gpu=uuid,utilization.gpu"));
        self.is_useless = gpus.is_none();
        Some(GpuUsage::parse(&apps?, &gpus?))
    }
}

/// The answer of `nvidia-smi` to `query`; `None` if it is not there, fails, or hangs.
fn run_query(query: &str) -> Option<String> {
    let mut command = Command::new("nvidia-smi");
    command.args([query, "--format=csv,noheader,nounits"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    run_helper(&mut command, |child| {
        let until = Instant::now() + SMI_TIMEOUT;
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() >= until => {
                    child.kill()?;
                    child.wait()?;
                    return Err(io::ErrorKind::TimedOut.into());
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        let mut text = String::new();
        // its answer is a few lines, which fit into the pipe
        child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?.read_to_string(&mut text)?;
        if status.success() { Ok(text) } else { Err(io::ErrorKind::Other.into()) }
    })
    .ok()
}

#[cfg(test)]
mod tests {
    use super::{BYTES_PER_MIB, GpuUsage, Usage, UsageMeter, UsageSample, parse_memory};
    use crate::log::room::FullDiskWait;
    use crate::process::group::ProcessIdentity;
    use crate::supervised::faults;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    #[test]
    fn a_meter_that_panics_says_that_nothing_is_measured_any_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let (sender, said) = channel();
        let sender = Mutex::new(sender);
        let say =
            move |text: &str| sender.lock().expect("no panic").send(text.to_owned()).expect("it is heard");
        let room = FullDiskWait::until_canceled(Arc::default(), say);
        faults::arm("usage", 0);
        let meter = UsageMeter::default();
        meter.start_measuring(1, ProcessIdentity::current(), None, folder.path(), &room);
        let said = said.recv_timeout(Duration::from_secs(60)).expect("it says so");
        assert!(said.contains("not measured") && said.contains("an injected panic in usage"), "{said}");
    }

    #[test]
    fn memory_is_read_from_the_status_of_a_process() {
        let status = "Name:\tpython\nVmPeak:\t  999 kB\nVmHWM:\t   300 kB\nVmRSS:\t   200 kB\n";
        assert_eq!(parse_memory(status), Some((200 * 1024, 300 * 1024)));
        assert_eq!(parse_memory("Name:\tkthread\n"), None);
    }

    #[test]
    fn gpus_are_those_of_the_processes() {
        let apps = "11, GPU-a, 512\n12, GPU-b, 100\n13, GPU-a, 7\nnonsense\n14, GPU-c, [N/A]\n";
        let gpus = GpuUsage::parse(apps, "GPU-a, 80\nGPU-b, 20\nGPU-c, [N/A]\n");
        assert_eq!(gpus.memory_of(&[11, 12]), 612 * BYTES_PER_MIB);
        assert_eq!(gpus.load_of(&[11, 12]), Some(50.0));
        assert_eq!((gpus.memory_of(&[99]), gpus.load_of(&[99])), (0, None));
    }

    #[test]
    fn a_trial_of_under_a_minute_shows_the_load_of_its_gpu() {
        let mut usage = Usage::default();
        usage.add_sample(UsageSample { seconds: 0.5, memory: 1, ..UsageSample::default() }, 1);
        usage.add_sample(UsageSample { seconds: 7.5, gpu_busy: Some(80.0), ..UsageSample::default() }, 1);
        assert_eq!(usage.gpu_busy(), Some(80.0));
    }

    #[test]
    fn peaks_are_of_all_measurements_and_samples_the_last_of_each_minute() {
        let mut usage = Usage::default();
        for (seconds, memory) in [(0.5, 10), (1.5, 30), (59.0, 20), (61.0, 25), (121.5, 5), (0.5, 1)] {
            usage.add_sample(UsageSample { seconds, memory, ..UsageSample::default() }, memory + 1);
        }
        assert_eq!(usage.peak_memory, 31);
        let seconds: Vec<f64> = usage.samples.iter().map(|sample| sample.seconds).collect();
        assert_eq!(seconds, [59.0, 61.0, 121.5, 0.5]);
        let text = serde_json::to_string(&usage).expect("JSON");
        assert!(!text.contains("gpu"), "{text}");
        assert_eq!(serde_json::from_str::<Usage>(&text).expect("usage"), usage);
    }
}
