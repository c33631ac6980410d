//! The names of the files and folders that Foretell itself keeps.

/// The file, in a study's folder, that keeps messages that could not be written.
pub const NOTICES_FILE: &str = "notices.log";

/// Files and folders that Foretell writes into the folder of a study, or of studies that are served; further damaged logs have a number.
const OWN_FILES: [&str; 20] = [
    "access.json",
    "again",
    "command.json",
    "events.jsonl",
    "events.jsonl.damaged",
    "events.jsonl.first",
    "events.jsonl.lock",
    "events.jsonl.repaired",
    "trials",
    "q_table.json",
    "curves.svg",
    "orders",
    "leases.json",
    "notes.txt",
    "ray",
    "report.html",
    "secrets.json",
    "slurm",
    "work.json",
    NOTICES_FILE,
];

/// Whether `name` is that of a file or a folder that Foretell itself keeps, also on file systems that ignore case.
pub fn is_own_file(name: &str) -> bool {
    let name = name.to_lowercase();
    OWN_FILES.contains(&name.as_str()) || name.starts_with("events.jsonl.damaged")
}

#[cfg(test)]
mod tests {
    use super::is_own_file;

    #[test]
    fn own_files_are_known_and_those_of_users_are_not() {
        for name in ["access.json", "Access.JSON", "events.jsonl.lock", "events.jsonl.damaged.2", "trials"] {
            assert!(is_own_file(name), "{name}");
        }
        for name in ["trials.csv", "trials-2", "digits", "my.events.jsonl", "report.html.old", "access"] {
            assert!(!is_own_file(name), "{name}");
        }
    }
}
