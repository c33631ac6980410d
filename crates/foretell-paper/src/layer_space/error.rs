//! Why a description is no layer space, or a network not in one.

use foretell::ArchitectureError;
use thiserror::Error;

/// Why a description is no layer space, or a network not in one.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum LayerSpaceError {
    /// A field of the description cannot be used.
    #[error("layer space: {field} = {value} {reason}")]
    Field {
        /// The field.
        field: &'static str,
        /// Value that was given.
        value: String,
        /// The problem with it, and the remedy.
        reason: &'static str,
    },
    /// The text is no network.
    #[error(transparent)]
    Architecture(#[from] ArchitectureError),
    /// A layer cannot follow the ones before it in this space.
    #[error(
        "layer {position}, {layer}, cannot follow state {state} in this space; see the space's layers and sizes"
    )]
    Unreachable {
        /// 1-based position, dropout not counted.
        position: usize,
        /// The layer.
        layer: String,
        /// The state before it.
        state: String,
    },
}
