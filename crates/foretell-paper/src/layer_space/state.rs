//! The state of the choice of layers, and its key in the Q-table.

use foretell::Layer;
use std::fmt;

/// A choice after a state: a convolution, pooling, global average pooling, fully connected layer or softmax, never
/// a dropout layer (those are put in afterwards, see [`Trajectory::network`](crate::Trajectory::network)).
pub(crate) type Action = Layer;

/// Where the choice of layers stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The layer chosen last; none at the start, the softmax at the end.
    pub(crate) last: Option<Layer>,
    /// Layers chosen so far.
    pub(crate) depth: usize,
    /// Fully connected layers chosen so far.
    pub(crate) fully_connected: usize,
    /// The true shorter side of the image, in pixels; 1 once it is flat.
    pub(crate) size: usize,
}

/// The key of a [`State`] in the Q-table: the image side only by its bucket.
///
/// Written `depth:last@bucket`, with the count of fully connected layers where there are any: `0:start@8`,
/// `3:C(64,3,1)@4`, `7:FC(128)#2@1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StateKey {
    /// Layers chosen so far.
    pub(crate) depth: usize,
    /// The layer chosen last; none at the start.
    pub(crate) last: Option<Layer>,
    /// Fully connected layers chosen so far.
    pub(crate) fully_connected: usize,
    /// The bucket of the image side.
    pub(crate) bucket: usize,
}

impl State {
    /// The state after `action`, which must be one of the space's actions here.
    pub(super) fn after_action(&self, action: Action) -> Self {
        let size = match action {
            Layer::Pooling { kernel, stride } => (self.size - kernel + 1).div_ceil(stride),
            Layer::Convolution { .. } => self.size,
            _ => 1,
        };
        let flat = usize::from(matches!(action, Layer::FullyConnected { .. }));
        Self { last: Some(action), depth: self.depth + 1, fully_connected: self.fully_connected + flat, size }
    }
}

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.depth)?;
        match self.last {
            None => f.write_str("start")?,
            Some(layer) => write!(f, "{layer}")?,
        }
        if self.fully_connected > 0 {
            write!(f, "#{}", self.fully_connected)?;
        }
        write!(f, "@{}", self.bucket)
    }
}
