//! The page as one file.

use std::path::Path;

use serde_json::json;

use crate::error::ServeError;
use crate::{records, views};

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

/// The page with the records of the study called `name`, whose log is `log`: one HTML file that needs nothing else.
///
/// # Errors
/// [`ServeError::Log`] if the log cannot be read.
pub fn page(name: &str, log: &Path) -> Result<String, ServeError> {
    let records = records::all(log)?;
    // records that are no study have curves, but no model of their parameters
    let importance = views::importance(name, log).unwrap_or_default();
    let (name, importance) = (json!(name), json!(importance));
    Ok(with(&format!(r#"{{"study":{name},"records":{records},"importance":{importance}}}"#)))
}

/// The page without records: it asks the server for them.
pub(crate) fn empty() -> String {
    with("null")
}

/// The page with `data`, which is JSON.
fn with(data: &str) -> String {
    // in a script element only `</` ends it, and `<!--` may confuse it
    let data = data.replace('<', "\\u003c");
    PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", &SCRIPT.concat()).replace("/*DATA*/", &data)
}
