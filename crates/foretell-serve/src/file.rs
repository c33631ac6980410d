//! The page as one file.

use std::path::Path;

use serde_json::json;

use crate::error::ServeError;
use crate::fold::Fold;
use crate::views;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// The script's parts, in the order of their use.
const SCRIPT: [&str; 7] = [
    include_str!("page/state.js"),
    include_str!("page/curves.js"),
    include_str!("page/parameters.js"),
    include_str!("page/table.js"),
    include_str!("page/trial.js"),
    include_str!("page/compare.js"),
    include_str!("page/main.js"),
];

/// The page with the study called `name`, whose log is `log`: one HTML file that needs nothing else.
///
/// # Errors
/// [`ServeError::Study`] if the log cannot be read, or is no study's.
pub fn page(name: &str, log: &Path) -> Result<String, ServeError> {
    let wrong = |problem: String| ServeError::Study { name: name.to_owned(), problem };
    let mut fold = Fold::new(log);
    fold.update().map_err(wrong)?;
    let Some(study) = fold.study() else { return Err(wrong("nothing is recorded yet".to_owned())) };
    let state = views::news(&fold, &mut views::Shown::default());
    let importance = views::importance(name, &fold, study);
    Ok(with(&json!({"study": name, "state": state, "importance": importance}).to_string()))
}

/// The page without a study: it asks the server for them.
pub(crate) fn empty() -> String {
    with("null")
}

/// The page with `data`, which is JSON.
fn with(data: &str) -> String {
    // in a script element only `</` ends it, and `<!--` may confuse it
    let data = data.replace('<', "\\u003c");
    PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", &SCRIPT.concat()).replace("/*DATA*/", &data)
}
