//! Where the choice of layers stands, and what the Q-table knows of it.

use super::error::LayerSpaceError;
use foretell::{ArchitectureError, Layer, LayerSequence};
use std::fmt;
use std::str::FromStr;

/// What may follow a state: a convolution, pooling, global average pooling, fully connected layer or softmax, never
/// a dropout layer (those are put in afterwards, see [`Trajectory::network`](crate::Trajectory::network)).
pub type Action = Layer;

/// Where the choice of layers stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The layer chosen last; none at the start, the softmax at the end.
    pub last: Option<Layer>,
    /// Layers chosen so far.
    pub depth: usize,
    /// Fully connected layers chosen so far.
    pub fully_connected: usize,
    /// The true shorter side of the image, in pixels; 1 once it is flat.
    pub size: usize,
}

/// What the Q-table knows of a [`State`]: the image side only by its bucket.
///
/// Written `depth:last@bucket`, with the count of fully connected layers where there are any: `0:start@8`,
/// `3:C(64,3,1)@4`, `7:FC(128)#2@1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateKey {
    /// Layers chosen so far.
    pub depth: usize,
    /// The layer chosen last; none at the start.
    pub last: Option<Layer>,
    /// Fully connected layers chosen so far.
    pub fully_connected: usize,
    /// The bucket of the image side.
    pub bucket: usize,
}

impl State {
    /// The state after `action`, which must be one of the space's actions here.
    pub(super) fn after(&self, action: Action) -> Self {
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

impl FromStr for StateKey {
    type Err = LayerSpaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let syntax = || ArchitectureError::Syntax { at: text.chars().take(40).collect() };
        let number = |text: &str| text.parse::<usize>().map_err(|_| syntax());
        let (depth, rest) = text.split_once(':').ok_or_else(syntax)?;
        let (rest, bucket) = rest.split_once('@').ok_or_else(syntax)?;
        let (last, fully_connected) = rest.split_once('#').unwrap_or((rest, "0"));
        Ok(Self {
            depth: number(depth)?,
            last: if last == "start" { None } else { Some(read_layer(last)?) },
            fully_connected: number(fully_connected)?,
            bucket: number(bucket)?,
        })
    }
}

/// Reads one layer in layer notation.
pub(crate) fn read_layer(text: &str) -> Result<Layer, LayerSpaceError> {
    let network = if text.starts_with("SM") { format!("[{text}]") } else { format!("[{text}, SM(1)]") };
    let LayerSequence(layers) = network.parse()?;
    match layers[..] {
        [layer, Layer::Softmax { .. }] | [layer @ Layer::Softmax { .. }] => Ok(layer),
        _ => Err(ArchitectureError::Syntax { at: text.chars().take(40).collect() }.into()),
    }
}
