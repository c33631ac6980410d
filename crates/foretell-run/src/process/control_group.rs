//! Control groups (version 2 of Linux's): a trial's processes stay in its group, whatever they do to their environment and session.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::process::group::is_portable;

/// The control group of one start of one trial: nothing else is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    /// The group of the start with this `token`, below that of this process, not made yet; `None` where there are no such groups.
    pub(crate) fn for_token(token: &str) -> Option<Self> {
        if is_portable() {
            return None;
        }
        Some(Self { folder: own_folder()?.join(format!("foretell-{token}")) })
    }

    /// Makes the group for process `pid` and what that has started by now; answers whether that was allowed, else there is no group.
    pub(crate) fn make_for(&self, pid: u32) -> bool {
        let is_made = fs::create_dir(&self.folder).is_ok() && self.add_process(pid);
        if !is_made {
            self.remove();
        }
        is_made
    }

    fn add_process(&self, pid: u32) -> bool {
        let moved = fs::write(self.folder.join("cgroup.procs"), pid.to_string()).is_ok();
        // what it starts from here on is in the group from its beginning
        moved && children_of(pid).into_iter().all(|child| self.add_process(child) || !is_process_there(child))
    }

    /// The processes in the group, and in those below it.
    pub(crate) fn process_ids(&self) -> Vec<u32> {
        processes_in(&self.folder)
    }

    /// Removes the group, once nothing is in it.
    pub(crate) fn remove(&self) {
        remove(&self.folder);
    }
}

fn processes_in(folder: &Path) -> Vec<u32> {
    let listed = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    // processes outside of this one's namespace are listed as 0
    let own = listed.lines().filter_map(|line| line.parse().ok()).filter(|&pid| pid != 0);
    own.chain(child_folders(folder).iter().flat_map(|folder| processes_in(folder))).collect()
}

fn child_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn remove(folder: &Path) {
    child_folders(folder).iter().for_each(|folder| remove(folder));
    // one that stays is empty, and is gone with the next boot
    let _ = fs::remove_dir(folder);
}

/// The children of process `pid`, where the system lists them.
pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let listed = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    listed
        .flat_map(|line| line.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn is_process_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// The folder of this process's own group.
fn own_folder() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    parse_folder(&mounts, &groups)
}

/// The folder of a process's group, by its `mountinfo` and `cgroup`.
fn parse_folder(mounts: &str, groups: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let (root, place) = mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        system.starts_with("cgroup2 ").then_some((fields.next()?, fields.next()?))
    })?;
    let path = Path::new(group).strip_prefix(root).ok()?;
    let is_inside = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    is_inside.then(|| Path::new(place).join(path))
}

#[cfg(test)]
mod tests {
    use super::{ControlGroup, parse_folder};
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn the_folder_of_a_process_is_found_wherever_version_2_is_mounted() {
        let mount = "24 1 0:21 / /proc rw - proc proc rw\n36 25 0:30 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
        let folder = |mounts: &str, group: &str| parse_folder(mounts, group);
        let expected = Path::new("/sys/fs/cgroup/unified/user.slice/a.scope");
        assert_eq!(folder(mount, "4:memory:/x\n0::/user.slice/a.scope\n").as_deref(), Some(expected));
        assert_eq!(folder(mount, "0::/\n").as_deref(), Some(Path::new("/sys/fs/cgroup/unified")));
        let inside = mount.replace("0:30 / ", "0:30 /user.slice ");
        let expected = Path::new("/sys/fs/cgroup/unified/a.scope");
        assert_eq!(folder(&inside, "0::/user.slice/a.scope\n").as_deref(), Some(expected));
        for (mounts, group) in
            [(mount, "4:memory:/x\n"), ("", "0::/a\n"), (mount, "0::/../a\n"), (&inside, "0::/b\n")]
        {
            assert_eq!(folder(mounts, group), None, "{group}");
        }
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "a test that cannot be run here is skipped by name")]
    fn what_a_member_starts_in_a_session_of_its_own_is_a_member() {
        let group = ControlGroup::for_token(&format!("test-{}", std::process::id()));
        let script = "read go; setsid env -i /bin/sleep 600 & wait";
        let mut command = Command::new("sh");
        let mut leader =
            command.args(["-c", script]).stdin(std::process::Stdio::piped()).spawn().expect("sh starts");
        let Some(group) = group.filter(|group| group.make_for(leader.id())) else {
            eprintln!("skipped the test of control groups: none can be made here");
            leader.kill().and_then(|()| leader.wait()).expect("our child");
            return;
        };
        drop(leader.stdin.take());
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while group.process_ids().len() < 2 && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let members = group.process_ids();
        assert!(members.len() >= 2 && members.contains(&leader.id()), "{members:?}");
        members
            .iter()
            .for_each(|&pid| crate::process::group::signal_process(pid, nix::sys::signal::Signal::SIGKILL));
        leader.wait().expect("our child");
        while !group.process_ids().is_empty() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        group.remove();
        assert!(!group.folder.exists());
    }
}
