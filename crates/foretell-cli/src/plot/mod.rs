//! Figures as SVG or PNG files: plain numbers and strings in, a file out, no fonts or libraries of the system needed.
//!
//! Every kind of figure is a plain struct with a `draw` that returns a [`Figure`], a list of shapes; [`save`] writes
//! that as SVG or PNG, by the extension. Text is set in Noto Sans, which is built in: the PNG has the outlines, the
//! SVG has text of the same measured width.
//!
//! The way of the data: numbers → `scale` (value to pixel) → `panel` (one pair of axes) → `page` (title, key, panels)
//! → [`Figure`] → `svg` or `png`.

mod accuracy;
mod bands;
mod calibration;
mod color;
mod error;
mod fan;
mod fates;
mod figure;
mod font;
mod front;
mod hyperband;
mod incumbent;
mod labels;
mod page;
mod panel;
mod png;
mod q_learning;
mod recorded;
mod scale;
mod scatter;
mod search;
mod size;
mod speedup;
mod svg;
mod watched;

pub(crate) use accuracy::{AccuracyFigure, AccuracyPanel, AccuracyPoint, AccuracySeries};
pub(crate) use calibration::{CalibrationFigure, CalibrationSeries};
pub(crate) use error::PlotError;
pub(crate) use fan::{FanFigure, FanRun};
pub(crate) use fates::{FatesFigure, RecordedFate, RecordedRun};
pub(crate) use figure::Figure;
pub(crate) use front::{FrontFigure, FrontPoint};
pub(crate) use hyperband::{HyperbandFigure, HyperbandSeries};
pub(crate) use incumbent::{BestSoFarFigure, BestSoFarSeries};
pub(crate) use q_learning::{EpsilonStage, QLearningFigure};
pub(crate) use recorded::{CurveOutcome, CurvePanel, DrawnCurve, RecordedCurvesFigure};
pub(crate) use scatter::{ScatterFigure, ScatterPoint};
pub(crate) use search::{SearchFate, SearchFigure, SearchForecast, SearchTrial};
pub(crate) use size::FigureSize;
pub(crate) use speedup::{SpeedupFigure, SpeedupPoint, SpeedupSeries};
pub(crate) use watched::WatchedMetric;

use std::path::Path;

/// A figure as the text of an SVG that stands inside a page.
pub(crate) fn inline_svg(figure: &Figure) -> String {
    let text = svg::encode(figure);
    text.find("<svg").map_or(String::new(), |start| text[start..].to_owned())
}

/// Writes a figure to `path`, as SVG or PNG by its extension (in upper or lower case).
///
/// # Errors
/// [`PlotError::Extension`] for another extension, [`PlotError::Write`] when the file cannot be written,
/// [`PlotError::Png`] when the picture cannot be encoded.
pub(crate) fn save(path: &Path, figure: &Figure) -> Result<(), PlotError> {
    let bytes = match extension(path).as_str() {
        "svg" => svg::encode(figure).into_bytes(),
        "png" => png::encode(figure)?,
        _ => return Err(PlotError::Extension { path: path.to_owned() }),
    };
    foretell_run::write_output(path, bytes)
        .map_err(|source| PlotError::Write { path: path.to_owned(), source })
}

/// Whether [`save`] knows the extension of `path`; ask before a long computation, better [`check_place`].
///
/// # Errors
/// [`PlotError::Extension`] for anything but `.svg` and `.png`.
pub(crate) fn check(path: &Path) -> Result<(), PlotError> {
    match extension(path).as_str() {
        "svg" | "png" => Ok(()),
        _ => Err(PlotError::Extension { path: path.to_owned() }),
    }
}

/// Whether [`save`] can write `path`: the conditions of [`check`], and a folder for it. A command that makes a folder before it draws
/// names that as `to_be_made`.
///
/// # Errors
/// As [`check`], and [`PlotError::Place`] if the folder is not there, or `path` is a folder itself.
pub(crate) fn check_place(path: &Path, to_be_made: Option<&Path>) -> Result<(), PlotError> {
    check(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let reason = if path.is_dir() {
        "it is a folder. Use a file in it".to_owned()
    } else if to_be_made == Some(folder) {
        return Ok(());
    } else if !folder.exists() {
        format!("there is no folder {}. Create it, or choose another", folder.display())
    } else if !folder.is_dir() {
        format!("{} is a file, not a folder. Choose another", folder.display())
    } else {
        return Ok(());
    };
    Err(PlotError::Place { path: path.to_owned(), reason })
}

fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Figure {
        let series = vec![CalibrationSeries { predictor: "gp".into(), points: vec![(0.5, 0.4), (0.9, 0.8)] }];
        CalibrationFigure { title: "calibration".into(), subtitle: "two points".into(), series }.draw()
    }

    #[test]
    fn writes_svg_and_png_by_the_extension() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let (svg, png) = (folder.path().join("a.svg"), folder.path().join("a.PNG"));
        save(&svg, &figure())?;
        save(&png, &figure())?;
        let text = std::fs::read_to_string(svg)?;
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        let picture = tiny_skia::Pixmap::decode_png(&std::fs::read(png)?)?;
        assert_eq!((picture.width(), picture.height()), (1600, 1280));
        assert!(picture.pixels().iter().any(|p| p.red() < 100 && p.blue() > 150), "no blue line is drawn");
        Ok(())
    }

    #[test]
    fn refuses_other_extensions_before_anything_is_written() {
        for name in ["figure.pdf", "figure", ".svg"] {
            let message = save(Path::new(name), &figure()).expect_err("not a picture").to_string();
            assert!(message.contains(name) && message.contains(".svg or .png"), "{message}");
            assert!(check(Path::new(name)).is_err());
        }
        assert!(check(Path::new("a/b.Svg")).is_ok());
    }

    #[test]
    fn refuses_a_place_that_no_file_can_have_before_anything_is_computed()
    -> Result<(), Box<dyn std::error::Error>> {
        let here = tempfile::tempdir()?;
        let (file, folder) = (here.path().join("file"), here.path().join("folder.svg"));
        std::fs::write(&file, "")?;
        std::fs::create_dir(&folder)?;
        for (path, part) in [
            (here.path().join("gone").join("a.svg"), "gone. Create it"),
            (file.join("a.svg"), "file is a file, not a folder"),
            (folder.clone(), "it is a folder"),
        ] {
            let message = check_place(&path, None).expect_err("no place for a file").to_string();
            assert!(message.contains(part) && message.contains(&path.display().to_string()), "{message}");
        }
        assert!(check_place(&folder.join("a.png"), None).is_ok());
        assert!(check_place(Path::new("a.png"), None).is_ok(), "the folder one stands in");
        let gone = here.path().join("gone");
        assert!(check_place(&gone.join("a.svg"), Some(&gone)).is_ok(), "it will be there");
        Ok(())
    }

    #[test]
    fn says_which_file_cannot_be_written() -> Result<(), Box<dyn std::error::Error>> {
        let path = tempfile::tempdir()?.path().join("no such folder").join("a.svg");
        let message = save(&path, &figure()).expect_err("the folder is missing").to_string();
        assert!(
            message.contains("no such folder") && message.contains("Check that its folder exists"),
            "{message}"
        );
        Ok(())
    }
}
