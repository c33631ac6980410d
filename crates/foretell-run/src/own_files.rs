//! The names of the files and folders that Foretell itself keeps.

/// The file, in a study's folder, that keeps messages that could not be written.
pub const NOTICES: &str = "notices.log";

/// Files and folders that Foretell writes into the folder of a study, or of studies that are served. A name that begins with one of
/// these and a dot belongs to it: a lock, a copy, a draft.
const OWN: [&str; 16] = [
    "access.json",
    "again",
    "command.json",
    "events.jsonl",
    "trials",
    "q_table.json",
    "curves.svg",
    "orders",
    "leases.json",
    "notes.txt",
    "ray",
    "report.html",
    "slurm",
    "unsent.jsonl",
    "work.json",
    NOTICES,
];

/// Whether `name` is that of a file or a folder that Foretell itself keeps, also on file systems that ignore case.
pub fn is_own_file(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_of =
        |own: &str| name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    OWN.into_iter().any(is_of)
}

#[cfg(test)]
mod tests {
    use super::is_own_file;

    #[test]
    fn own_files_are_known_with_their_locks_and_copies() {
        for name in ["access.json", "Access.JSON", "access.json.next", "events.jsonl.damaged.2", "trials"] {
            assert!(is_own_file(name), "{name}");
        }
        for name in ["trials-2", "digits", "my.events.jsonl", "access"] {
            assert!(!is_own_file(name), "{name}");
        }
    }
}
