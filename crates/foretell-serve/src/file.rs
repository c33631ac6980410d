//! The page as one file.

use std::path::Path;

use serde_json::{Value, json};

use crate::error::ServeError;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The page with the records of the study called `name`, whose log is `log`: one HTML file that needs nothing else.
///
/// # Errors
/// [`ServeError::Log`] if the log cannot be read.
pub fn page(name: &str, log: &Path) -> Result<String, ServeError> {
    let (records, _) = foretell_run::read_log::<Value>(log)?;
    Ok(with(&json!({"study": name, "records": records})))
}

/// The page without records: it asks the server for them.
pub(crate) fn empty() -> String {
    with(&Value::Null)
}

fn with(data: &Value) -> String {
    // in a script element only `</` ends it, and `<!--` may confuse it
    let data = data.to_string().replace('<', "\\u003c");
    PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT).replace("/*DATA*/", &data)
}
