//! A network as the layers chosen for it, and the dropout that is put into it.

use super::error::LayerSpaceError;
use foretell::{Configuration, Layer, LayerSequence, NETWORK_KEY, Value};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A network as the layers chosen for it: without dropout, ending in the softmax.
///
/// Written and serialized in layer notation, `[C(64,3,1), FC(128), SM(10)]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub(crate) struct Trajectory {
    pub(super) layers: Vec<Layer>,
}

impl Trajectory {
    /// The choices behind a network: its layers without the dropout.
    ///
    /// # Errors
    /// [`LayerSpaceError::Architecture`] if it is no network.
    pub(crate) fn without_dropout(network: &LayerSequence) -> Result<Self, LayerSpaceError> {
        let chosen = network.0.iter().filter(|layer| !matches!(layer, Layer::Dropout { .. }));
        parse_chosen_layers(&LayerSequence(chosen.copied().collect()).to_string())
    }

    /// The layers, the softmax last.
    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The network to train: the layers with MetaQNN's dropout put in.
    ///
    /// A dropout layer comes after every second layer and after every fully connected one, never after global average
    /// pooling or the softmax. The j-th is `D(j,n)`, of rate 0.5·j/n with
    ///
    /// n = ⌊(L − G − F)/2⌋ + F
    ///
    /// | symbol | meaning                                                                             |
    /// |--------|-------------------------------------------------------------------------------------|
    /// | L      | layers, the softmax included                                                        |
    /// | F      | fully connected layers; one more if the softmax follows one                         |
    /// | G      | global average poolings; one more if the softmax follows one                        |
    ///
    /// Counting the last one twice is the released code's: there the terminal state copies the type of the layer
    /// before it. The rates of the paper's networks depend on it, so it is kept; `[C, FC, SM]` has n = 2 but a single
    /// dropout layer, of rate 0.25.
    ///
    /// Source: MetaQNN's released `state_string_utils.py` and `string_to_model.py`.
    pub(crate) fn to_network(&self) -> LayerSequence {
        let count = self.dropout_count();
        let mut network = Vec::with_capacity(self.layers.len() + count);
        let mut index = 0;
        for (i, &layer) in self.layers.iter().enumerate() {
            network.push(layer);
            let ends = matches!(layer, Layer::GlobalAveragePooling { .. } | Layer::Softmax { .. });
            let second = i % 2 == 1 || matches!(layer, Layer::FullyConnected { .. });
            if second && !ends {
                index += 1;
                network.push(Layer::Dropout { index, of: count });
            }
        }
        LayerSequence(network)
    }

    /// n of [`Trajectory::network`].
    fn dropout_count(&self) -> usize {
        let fully_connected = self.count_layers(|layer| matches!(layer, Layer::FullyConnected { .. }));
        let averaged = self.count_layers(|layer| matches!(layer, Layer::GlobalAveragePooling { .. }));
        self.layers.len().saturating_sub(averaged + fully_connected) / 2 + fully_connected
    }

    /// The layers that are `wanted`; one more if the softmax follows one.
    fn count_layers(&self, wanted: fn(&Layer) -> bool) -> usize {
        let before_softmax = self.layers.iter().rev().nth(1).is_some_and(wanted);
        self.layers.iter().filter(|layer| wanted(layer)).count() + usize::from(before_softmax)
    }

    /// The network as a configuration, under the name `net`.
    pub(crate) fn to_configuration(&self) -> Configuration {
        Configuration::from([(NETWORK_KEY.to_owned(), Value::Text(self.to_network().to_string()))])
    }
}

/// Reads layer notation without dropout.
fn parse_chosen_layers(text: &str) -> Result<Trajectory, LayerSpaceError> {
    let LayerSequence(layers) = text.parse()?;
    Ok(Trajectory { layers })
}

impl FromStr for Trajectory {
    type Err = LayerSpaceError;

    /// Reads layer notation; dropout layers are left out.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::without_dropout(&text.parse()?)
    }
}

impl From<Trajectory> for String {
    fn from(trajectory: Trajectory) -> Self {
        trajectory.to_string()
    }
}

/// The layers without dropout, in layer notation.
impl fmt::Display for Trajectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, layer) in self.layers.iter().enumerate() {
            write!(f, "{}{layer}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_is_put_in_as_in_the_released_code() {
        let rows = [
            ("[SM(10)]", "[SM(10)]"),
            ("[GAP(10), SM(10)]", "[GAP(10), SM(10)]"),
            // the fully connected layer counts twice, so the only dropout layer has rate 0.25
            ("[C(64,3,1), FC(128), SM(10)]", "[C(64,3,1), FC(128), D(1,2), SM(10)]"),
            ("[C(64,3,1), SM(10)]", "[C(64,3,1), SM(10)]"),
            ("[C(64,3,1), C(64,3,1), SM(10)]", "[C(64,3,1), C(64,3,1), D(1,1), SM(10)]"),
            ("[C(64,5,1), C(256,3,1), GAP(10), SM(10)]", "[C(64,5,1), C(256,3,1), D(1,1), GAP(10), SM(10)]"),
            // ⌊(5 − 3)/2⌋ + 3 = 4 announced, three put in
            (
                "[C(64,3,1), P(5,3), FC(256), FC(128), SM(10)]",
                "[C(64,3,1), P(5,3), D(1,4), FC(256), D(2,4), FC(128), D(3,4), SM(10)]",
            ),
        ];
        for (chosen, expected) in rows {
            let trajectory: Trajectory = chosen.parse().unwrap();
            assert_eq!(trajectory.to_network().to_string(), expected);
            assert_eq!(Trajectory::without_dropout(&trajectory.to_network()).unwrap(), trajectory);
        }
    }
}
