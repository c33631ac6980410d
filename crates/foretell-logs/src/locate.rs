//! Finds the files of a set: the curves in a folder, and the configurations in the same folder.

use crate::error::Error;
use crate::table::list;
use std::path::{Path, PathBuf};

const CURVE_EXTENSIONS: [&str; 7] = [".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json", ".txt"];
const CONFIGURATION_STEMS: [&str; 4] = ["configs", "configurations", "config", "configuration"];

/// The curve file of `path`, which is `path` itself or the one in that folder; and the other tables of the folder.
pub(crate) fn locate(path: &Path) -> Result<(PathBuf, Vec<PathBuf>), Error> {
    if !path.is_dir() {
        return Ok((path.to_owned(), Vec::new()));
    }
    let mut names = names_in(path)?;
    names.sort();
    let tables: Vec<&String> = names
        .iter()
        .filter(|name| {
            let stem = stem(name);
            stem != **name && !name.to_lowercase().ends_with(".txt") && !CONFIGURATION_STEMS.contains(&stem)
        })
        .collect();
    let named: Vec<&String> =
        tables.iter().copied().filter(|name| stem(name).eq_ignore_ascii_case("curves")).collect();
    match (named.as_slice(), tables.as_slice()) {
        ([name], _) | ([], [name]) => {
            let others = tables.iter().filter(|other| *other != name).map(|other| path.join(other));
            Ok((path.join(name), others.collect()))
        }
        ([], []) => {
            let files =
                if names.is_empty() { "no file".to_owned() } else { list(names.iter().map(String::as_str)) };
            Err(Error::NoCurveFile { folder: path.to_owned(), files })
        }
        ([], many) | (many, _) => Err(Error::ManyCurveFiles {
            folder: path.to_owned(),
            files: list(many.iter().map(|name| name.as_str())),
        }),
    }
}

fn names_in(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io_at(folder))? {
        let entry = entry.map_err(Error::io_at(folder))?;
        if entry.path().is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// The file name without `.gz` and without the ending of its format.
fn stem(name: &str) -> &str {
    let lower = name.to_lowercase();
    let plain = if lower.ends_with(".gz") { &name[..name.len() - 3] } else { name };
    let ending = CURVE_EXTENSIONS.iter().find(|ending| plain.to_lowercase().ends_with(**ending));
    ending.map_or(name, |ending| plain.get(..plain.len() - ending.len()).unwrap_or(name))
}

/// Whether the file is named like a table or a file of curves.
pub(crate) fn has_table_name(file: &Path) -> bool {
    let name = file_name(file);
    stem(&name) != name && !name.to_lowercase().ends_with(".txt")
}

/// Endings of files that hold the output of a training.
const OUTPUT_EXTENSIONS: [&str; 8] =
    [".log", ".txt", ".out", ".err", ".stdout", ".jsonl", ".ndjson", ".json"];
/// Files of settings and of lists of packages, which no training printed.
const SETTINGS_STEMS: [&str; 9] =
    ["params", "config", "configs", "hparams", "args", "settings", "requirements", "readme", "license"];
/// Deeper folders are not searched.
const MAX_FOLDER_DEPTH: usize = 24;

/// The files in and below `folder` that can contain printed output of trainings, sorted by name.
pub fn printed_logs_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    add_output_files(folder, MAX_FOLDER_DEPTH, &mut files);
    files.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
    files
}

fn add_output_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = file_name(&path).to_lowercase();
        let is_link = path.symlink_metadata().is_ok_and(|data| data.is_symlink());
        if name.starts_with('.') {
        } else if path.is_dir() {
            // a link may lead back to a folder above, so that the search would not end
            if !is_link && depth > 0 {
                add_output_files(&path, depth - 1, files);
            }
        } else if let Some(stem) = OUTPUT_EXTENSIONS.iter().find_map(|ending| name.strip_suffix(ending))
            && !SETTINGS_STEMS.contains(&stem)
        {
            files.push(path);
        }
    }
}

/// Names in the order in which people count: `run_2` before `run_10`.
pub(crate) fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    split_at_numbers(a).cmp(&split_at_numbers(b)).then_with(|| a.cmp(b))
}

/// The words of `text`, each with the number behind it.
fn split_at_numbers(text: &str) -> Vec<(&str, u64)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let after = &rest[word..];
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        parts.push((&rest[..word], after[..digits].parse().unwrap_or(0)));
        rest = &after[digits..];
    }
    parts
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The name of the set: the file's stem, or its folder's name for `curves.csv`.
pub(crate) fn set_name(curves: &Path) -> String {
    let name = file_name(curves);
    let stem = stem(&name);
    let folder = curves.parent().map(file_name).filter(|folder| !folder.is_empty());
    match folder {
        Some(folder) if stem.eq_ignore_ascii_case("curves") => folder,
        _ => stem.to_owned(),
    }
}

/// The configurations that belong to long curves: `configs.csv` for `curves.csv`, `a_configs.csv` for `a_curves.csv`;
/// plain or `.gz`, and with any of the usual spellings.
pub(crate) fn configurations_nearby(curves: &Path) -> Option<PathBuf> {
    let name = file_name(curves);
    let stem = stem(&name);
    let folder = curves.parent()?;
    let stems =
        CONFIGURATION_STEMS.iter().map(|word| stem.replace("curves", word)).filter(|other| other != stem);
    let endings = [".csv", ".csv.gz", ".tsv", ".tsv.gz"];
    let mut paths = stems.flat_map(|stem| endings.map(|ending| folder.join(format!("{stem}{ending}"))));
    paths.find(|path| path.is_file())
}
