//! Layer sequences: the notation of MetaQNN's networks, read, printed, and counted.
//!
//! Weights are counted without biases, as in 297 of the 1000 released CIFAR-10 networks, those that end in global average pooling. The
//! other released counts agree with a dense head of c × c weights, which is no network.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The name of the configuration value that contains a network in layer notation, as in the paper's released data.
pub const NETWORK_KEY: &str = "net";
/// The name of the configuration value with a network's number of weights ([`NetworkCounts::weights`]).
pub const WEIGHTS_KEY: &str = "weights";
/// The name of the value with a network's multiply-adds per image ([`NetworkCounts::multiply_adds`]).
pub const FLOPS_KEY: &str = "flops";

/// One layer of a [`LayerSequence`]. Dropout is a layer of the notation but not of the depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// `C(filters,kernel,stride)`: convolution with SAME padding, then ReLU.
    Convolution {
        /// Output channels.
        filters: usize,
        /// Side of the square kernel, in pixels.
        kernel: usize,
        /// Step of the kernel, in pixels.
        stride: usize,
    },
    /// `P(kernel,stride)`: max-pooling, output size ⌈(s − kernel + 1)/stride⌉ = ⌊(s − kernel)/stride⌋ + 1.
    Pooling {
        /// Side of the square window, in pixels.
        kernel: usize,
        /// Step of the window, in pixels.
        stride: usize,
    },
    /// `D(i,n)`: the i-th of n dropout layers, rate 0.5·i/n.
    Dropout {
        /// 1-based index of this dropout layer.
        index: usize,
        /// The number of dropout layers the rates are spread over.
        of: usize,
    },
    /// `FC(units)`: fully connected, then ReLU.
    FullyConnected {
        /// Output units.
        units: usize,
    },
    /// `GAP(classes)`: 1×1 convolution to one map a class, ReLU, mean over each map. Then only `SM` may follow.
    GlobalAveragePooling {
        /// The number of classes.
        classes: usize,
    },
    /// `SM(classes)`: the end. A fully connected layer to the classes (nothing after `GAP`), then softmax.
    Softmax {
        /// The number of classes.
        classes: usize,
    },
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Convolution { filters, kernel, stride } => write!(f, "C({filters},{kernel},{stride})"),
            Self::Pooling { kernel, stride } => write!(f, "P({kernel},{stride})"),
            Self::Dropout { index, of } => write!(f, "D({index},{of})"),
            Self::FullyConnected { units } => write!(f, "FC({units})"),
            Self::GlobalAveragePooling { classes } => write!(f, "GAP({classes})"),
            Self::Softmax { classes } => write!(f, "SM({classes})"),
        }
    }
}

/// An error in a layer sequence.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ArchitectureError {
    /// The text is not of the form `[C(64,3,1), P(2,2), SM(10)]`.
    #[error(
        "cannot read `{at}` as a layer. Write C(filters,kernel,stride), P(kernel,stride), D(i,n), FC(units), GAP(classes) or SM(classes)"
    )]
    Syntax {
        /// The part that could not be read.
        at: String,
    },
    /// The sequence does not end in `SM`, or contains a layer at a position where it is not allowed.
    #[error("layer {position}, {layer}: {reason}")]
    Order {
        /// 1-based position in the sequence, dropout included.
        position: usize,
        /// The layer.
        layer: String,
        /// The reason.
        reason: &'static str,
    },
}

/// A network as a sequence of layers, in the notation of the paper's released data.
///
/// ```
/// use foretell::{ImageShape, LayerSequence};
/// let net: LayerSequence = "[C(64,5,1), C(256,3,1), D(1,1), GAP(10), SM(10)]".parse()?;
/// let counts = net.network_counts(ImageShape { channels: 3, height: 32, width: 32 })?;
/// assert_eq!((counts.weights, counts.layers), (154_816, 4));
/// # Ok::<(), foretell::ArchitectureError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayerSequence(pub Vec<Layer>);

/// The shape of an input image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageShape {
    /// Color channels.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
}

/// The size of a network: its weights, layers and multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkCounts {
    /// Multiplicative weights, biases not counted: the paper's `parameter_value_count`.
    pub weights: u64,
    /// All trained numbers, biases counted.
    pub parameters: u64,
    /// Layers without dropout, the final softmax counted: the paper's `depth`.
    pub layers: usize,
    /// Multiply-adds of one forward pass of one image.
    pub multiply_adds: u64,
}

impl FromStr for LayerSequence {
    type Err = ArchitectureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inner = text.trim();
        let inner =
            inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or_else(|| syntax_error(inner))?;
        let mut layers = Vec::new();
        // numbers are separated by commas, too, so layers are told apart by their closing brackets
        for part in inner.split_inclusive(')') {
            let part = part.trim_start_matches([',', ' ']);
            if part.trim().is_empty() {
                continue;
            }
            let (name, arguments) =
                part.strip_suffix(')').and_then(|p| p.split_once('(')).ok_or_else(|| syntax_error(part))?;
            let numbers: Vec<usize> = arguments
                .split(',')
                .map(|n| n.trim().parse().ok().filter(|&n: &usize| n > 0 && n <= 1_000_000))
                .collect::<Option<_>>()
                .ok_or_else(|| syntax_error(part))?;
            layers.push(match (name.trim(), numbers[..].as_ref()) {
                ("C", &[filters, kernel, stride]) => Layer::Convolution { filters, kernel, stride },
                ("P", &[kernel, stride]) => Layer::Pooling { kernel, stride },
                ("D", &[index, of]) if index <= of => Layer::Dropout { index, of },
                ("FC", &[units]) => Layer::FullyConnected { units },
                ("GAP", &[classes]) => Layer::GlobalAveragePooling { classes },
                ("SM", &[classes]) => Layer::Softmax { classes },
                _ => return Err(syntax_error(part)),
            });
        }
        let sequence = Self(layers);
        sequence.check()?;
        Ok(sequence)
    }
}

fn syntax_error(at: &str) -> ArchitectureError {
    ArchitectureError::Syntax { at: at.trim().chars().take(40).collect() }
}

impl fmt::Display for LayerSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, layer) in self.0.iter().enumerate() {
            write!(f, "{}{layer}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

impl LayerSequence {
    fn check(&self) -> Result<(), ArchitectureError> {
        let mut flat = false;
        let mut averaged = false;
        for (i, layer) in self.0.iter().enumerate() {
            let wrong =
                |reason| ArchitectureError::Order { position: i + 1, layer: layer.to_string(), reason };
            let last = i + 1 == self.0.len();
            match layer {
                Layer::Softmax { .. } if !last => return Err(wrong("nothing can follow the softmax")),
                Layer::Softmax { .. } => {}
                _ if last => return Err(wrong("the last layer must be SM(classes)")),
                _ if averaged => return Err(wrong("only SM can follow GAP")),
                Layer::Convolution { .. } | Layer::Pooling { .. } | Layer::GlobalAveragePooling { .. }
                    if flat =>
                {
                    return Err(wrong("needs an image, but a fully connected layer came before"));
                }
                Layer::FullyConnected { .. } => flat = true,
                Layer::GlobalAveragePooling { .. } => averaged = true,
                Layer::Convolution { .. } | Layer::Pooling { .. } | Layer::Dropout { .. } => {}
            }
        }
        if self.0.is_empty() {
            return Err(ArchitectureError::Syntax { at: String::new() });
        }
        Ok(())
    }

    /// Counts weights, parameters and layers for images of shape `input`; counts beyond 2⁶⁴ − 1 stay there.
    ///
    /// # Errors
    /// [`ArchitectureError::Order`] if a pooling window is larger than the remaining image.
    pub fn network_counts(&self, input: ImageShape) -> Result<NetworkCounts, ArchitectureError> {
        self.check()?;
        let (mut channels, mut height, mut width) = (input.channels as u64, input.height, input.width);
        let (mut weights, mut biases, mut layers, mut multiply_adds) = (0_u64, 0_u64, 0, 0_u64);
        let mut averaged = false;
        for (i, layer) in self.0.iter().enumerate() {
            let area = (height * width) as u64;
            let mut add = |inputs: u64, outputs: u64, positions: u64| {
                let products = inputs.saturating_mul(outputs);
                weights = weights.saturating_add(products);
                biases = biases.saturating_add(outputs);
                multiply_adds = multiply_adds.saturating_add(products.saturating_mul(positions));
            };
            match *layer {
                Layer::Convolution { filters, kernel, stride } => {
                    (height, width) = (height.div_ceil(stride), width.div_ceil(stride));
                    let positions = (height * width) as u64;
                    let window = (kernel as u64).saturating_mul(kernel as u64);
                    add(channels.saturating_mul(window), filters as u64, positions);
                    channels = filters as u64;
                }
                Layer::Pooling { kernel, stride } => {
                    if kernel > height.min(width) {
                        return Err(ArchitectureError::Order {
                            position: i + 1,
                            layer: layer.to_string(),
                            reason: "the pooling window is larger than the remaining image",
                        });
                    }
                    height = (height - kernel) / stride + 1;
                    width = (width - kernel) / stride + 1;
                }
                Layer::Dropout { .. } => {}
                Layer::FullyConnected { units } => {
                    add(channels.saturating_mul(area), units as u64, 1);
                    (channels, height, width) = (units as u64, 1, 1);
                }
                Layer::GlobalAveragePooling { classes } => {
                    add(channels, classes as u64, area);
                    averaged = true;
                }
                Layer::Softmax { classes } => {
                    if !averaged {
                        add(channels.saturating_mul(area), classes as u64, 1);
                    }
                }
            }
            layers += usize::from(!matches!(layer, Layer::Dropout { .. }));
        }
        Ok(NetworkCounts { weights, parameters: weights.saturating_add(biases), layers, multiply_adds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CIFAR: ImageShape = ImageShape { channels: 3, height: 32, width: 32 };

    #[test]
    fn counts_too_large_for_a_number_stay_at_the_largest() {
        let net: LayerSequence = "[C(1000000,100000,1), C(1000000,1000000,1), SM(10)]".parse().unwrap();
        let counts = net.network_counts(CIFAR).unwrap();
        assert_eq!((counts.weights, counts.parameters), (u64::MAX, u64::MAX));
    }

    #[test]
    fn counts_agree_with_the_released_counts() {
        // two networks of the paper's release, with their num_params and depth
        let rows = [
            (
                "[C(64,1,1), C(128,1,1), D(1,3), P(2,2), C(64,1,1), D(2,3), C(128,5,1), C(128,3,1), D(3,3), GAP(10), SM(10)]",
                370_112,
                8,
            ),
            ("[C(64,5,1), C(256,3,1), D(1,1), GAP(10), SM(10)]", 154_816, 4),
        ];
        for (net, weights, layers) in rows {
            let sequence: LayerSequence = net.parse().unwrap();
            assert_eq!(sequence.to_string(), net);
            let counts = sequence.network_counts(CIFAR).unwrap();
            assert_eq!((counts.weights, counts.layers), (weights, layers), "{net}");
        }
    }

    #[test]
    fn dense_layers_are_counted_from_the_true_image_size() {
        let net: LayerSequence = "[C(8,3,1), P(2,2), FC(16), D(1,1), SM(10)]".parse().unwrap();
        let counts = net.network_counts(CIFAR).unwrap();
        // 3·9·8 convolution, 16·16·8·16 dense, 16·10 softmax; biases 8 + 16 + 10
        assert_eq!(counts.weights, 216 + 32_768 + 160);
        assert_eq!(counts.parameters, counts.weights + 34);
        assert_eq!(counts.layers, 4);
        assert_eq!(counts.multiply_adds, 216 * 1024 + 32_768 + 160);
    }

    #[test]
    fn impossible_sequences_are_refused_with_their_place() {
        for (text, expected) in [
            ("C(8,3,1)", "cannot read"),
            ("[C(8,3)]", "cannot read `C(8,3)`"),
            ("[C(0,3,1), SM(10)]", "cannot read"),
            ("[C(8,3,1)]", "layer 1, C(8,3,1): the last layer must be SM"),
            ("[FC(8), C(8,3,1), SM(10)]", "layer 2"),
            ("[GAP(10), FC(8), SM(10)]", "only SM can follow GAP"),
            ("[]", "cannot read"),
        ] {
            let error = text.parse::<LayerSequence>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let net: LayerSequence = "[P(5,3), P(5,3), P(5,3), SM(10)]".parse().unwrap();
        assert!(net.network_counts(CIFAR).unwrap_err().to_string().contains("layer 3"));
    }
}
