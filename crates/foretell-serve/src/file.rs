//! The page as one file.

use std::path::Path;

use foretell_search::Catalogue;
use foretell_search::colors::{
    PlotBackground, Rgb, WORST_SHARE, best_trial_color, failed_trial_color, trial_color,
};
use serde_json::json;

use crate::error::ServeError;
use crate::fold::StudyFold;
use crate::snapshot::ReceivedPart;
use crate::views;

const PAGE_TEMPLATE: &str = include_str!("page/page.html");
const PAGE_STYLE: &str = include_str!("page/page.css");
/// The script's modules, in the order of their use.
const SCRIPT_MODULES: [&str; 23] = [
    include_str!("page/state.js"),
    include_str!("page/colors.js"),
    include_str!("page/choice.js"),
    include_str!("page/elements.js"),
    include_str!("page/picture.js"),
    include_str!("page/scales.js"),
    include_str!("page/objectives.js"),
    include_str!("page/addresses.js"),
    include_str!("page/columns.js"),
    include_str!("page/filter.js"),
    include_str!("page/tip.js"),
    include_str!("page/curves.js"),
    include_str!("page/dots.js"),
    include_str!("page/best.js"),
    include_str!("page/front.js"),
    include_str!("page/parameters.js"),
    include_str!("page/surface.js"),
    include_str!("page/table.js"),
    include_str!("page/about.js"),
    include_str!("page/trial.js"),
    include_str!("page/downloads.js"),
    include_str!("page/compare.js"),
    include_str!("page/main.js"),
];

/// The page of the study `name`, as one self-contained HTML file. Its log is `log`, and `catalogue` contains its parts.
///
/// # Errors
/// [`ServeError::Study`] if the log cannot be read, or is no study's.
pub fn page(name: &str, log: &Path, catalogue: &Catalogue) -> Result<String, ServeError> {
    let mut fold = StudyFold::new(log, catalogue);
    let updated = fold.update();
    let study = updated.and_then(|()| fold.study().ok_or_else(|| "nothing is recorded yet".to_owned()));
    let study = study.map_err(|problem| ServeError::Study { name: name.to_owned(), problem })?;
    let mut state = Vec::new();
    views::news(&fold, &mut ReceivedPart::default(), &mut |news, _| state.push(news));
    let importance = views::importance(name, &fold, study);
    let surface = views::surface(name, &fold, study, &views::leading_pairs(&fold, study));
    let data = json!({"study": name, "state": state, "importance": importance, "surface": surface});
    Ok(page_with_data(&data.to_string()))
}

/// The number of shades that a trial's result may have.
const SHADE_COUNT: usize = 32;

fn to_hex_color([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The colors of trials, from the worst to the best, as the page's script has them.
fn shade_colors() -> String {
    let [light, dark] = [PlotBackground::White, PlotBackground::Black].map(|background| -> Vec<String> {
        let shares = (0..SHADE_COUNT).map(|i| i as f64 / (SHADE_COUNT - 1) as f64);
        shares.map(|share| to_hex_color(trial_color(share, background))).collect()
    });
    json!({"light": light, "dark": dark, "worst_share": WORST_SHARE}).to_string()
}

/// The style, with the colors of trials that have one of their own.
fn page_style() -> String {
    let [light, dark] = [PlotBackground::White, PlotBackground::Black].map(|background| {
        let [best, failed] =
            [best_trial_color, failed_trial_color].map(|color| to_hex_color(color(background)));
        format!("--best: {best}; --failed: {failed};")
    });
    PAGE_STYLE.replace("/*LIGHT*/", &light).replace("/*DARK*/", &dark)
}

/// The page without a study: it asks the server for them.
pub(crate) fn empty() -> String {
    page_with_data("null")
}

/// The modules as one script, which a page in a file needs: their names are distinct, so imports and exports can go.
fn script() -> String {
    let lines =
        SCRIPT_MODULES.iter().flat_map(|module| module.lines()).filter(|line| !line.starts_with("import "));
    let lines = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    std::iter::once("\"use strict\";").chain(lines).flat_map(|line| [line, "\n"]).collect()
}

/// The page with `data`, which is JSON.
fn page_with_data(data: &str) -> String {
    // in a script element only `</` ends it, and `<!--` may confuse it
    let data = data.replace('<', "\\u003c");
    let script = script().replace("\"/*SHADES*/\"", &shade_colors());
    PAGE_TEMPLATE
        .replace("/*STYLE*/", &page_style())
        .replace("/*SCRIPT*/", &script)
        .replace("/*DATA*/", &data)
}
