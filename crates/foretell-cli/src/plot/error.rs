//! Why a figure could not be saved.

use std::path::PathBuf;

/// Why a figure could not be saved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlotError {
    /// The file name ends neither in `.svg` nor in `.png`.
    #[error("cannot write the plot {path}: its name must end in .svg or .png")]
    Extension {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file cannot be placed at this path.
    #[error("cannot write the plot {path}: {reason}")]
    Place {
        /// The file asked for.
        path: PathBuf,
        /// The problem with the path, and a remedy.
        reason: String,
    },
    /// The picture could not be rendered or encoded.
    #[error("cannot make a png of {width} x {height} pixels: {reason}. Save it as .svg instead")]
    Png {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// The encoder's message.
        reason: String,
    },
    /// The file could not be written.
    #[error("cannot write {path}: {source}. Check that its folder exists and is writable")]
    Write {
        /// The file asked for.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
}
