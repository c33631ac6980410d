//! The report of a replay as one file: the answer, the pictures, the table; nothing that it needs from elsewhere.

use super::answer;
use super::flags::{FigureKind, ReplayArguments};
use super::pictures;
use super::replayed::ReplayedFile;
use crate::plot;

const PAGE_STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.4rem}svg{max-width:100%;height:auto}pre{overflow-x:auto;font-size:.8rem}.note{color:#666;font-size:.85rem}";

/// The page.
pub(super) fn page_html(file: &ReplayedFile, arguments: &ReplayArguments) -> String {
    let answer = answer::summary(file, arguments);
    let paragraphs: Vec<String> = answer.lines().map(|line| format!("<p>{}</p>", with_code(line))).collect();
    let pictures: Vec<String> = [FigureKind::Fates, FigureKind::Speedup]
        .map(|kind| plot::inline_svg(&pictures::draw(kind, file, arguments)))
        .into_iter()
        .collect();
    let notes: Vec<String> =
        file.notes.iter().map(|note| format!("<p class=\"note\">{}</p>", escape_html(note))).collect();
    let title = escape_html(&format!("Savings of early stopping: {}", file.curves));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
<title>{title}</title><style>{PAGE_STYLE}</style></head>\n<body><h1>{title}</h1>\n{}\n{}\n<h2>All settings</h2>\n<pre>{}</pre>\n\
<h2>How the logs were read</h2>\n{}\n<p class=\"note\">Written by foretell {} (foretell replay).</p></body></html>\n",
        paragraphs.join("\n"),
        pictures.join("\n"),
        escape_html(&answer::settings_table(file, arguments)),
        notes.join("\n"),
        env!("CARGO_PKG_VERSION"),
    )
}

/// `line` with text between backticks as code.
fn with_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let part = |(at, part): (usize, &str)| match at % 2 {
        1 => format!("<code>{}</code>", escape_html(part)),
        _ => escape_html(part),
    };
    parts.map(part).collect()
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
