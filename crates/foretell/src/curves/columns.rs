//! Feature groups and scales of configuration columns: as declared, or inferred from their names.

use crate::curves::configuration::FeatureGroup;
use crate::curves::names::words_of_name;
use crate::curves::scale::Scale;
use std::collections::BTreeMap;

/// Declared feature groups and scales of configuration columns. For other columns, both are inferred from names and values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnDeclarations {
    /// The feature group of a column.
    pub groups: BTreeMap<String, FeatureGroup>,
    /// The scale of each declared numeric column. Other columns use log10 if they are positive and span more than a factor of
    /// 20.
    pub scales: BTreeMap<String, Scale>,
}

impl ColumnDeclarations {
    /// The feature group of the column `name`: as declared, or architecture if its text is in layer notation, or as the name tells.
    pub fn feature_group(&self, name: &str, in_layer_notation: bool) -> FeatureGroup {
        match self.groups.get(name) {
            Some(group) => *group,
            None if in_layer_notation => FeatureGroup::Architecture,
            None => group_of_name(name),
        }
    }
}

const HYPERPARAMETER_WORDS: &str = "hp lr rate decay momentum beta beta1 beta2 epsilon eps warmup dropout batch optimizer optim learning \
    epoch epochs clip smoothing regularization penalty annealing schedule scheduler augmentation l1 l2 \
    lambda";
const ARCHITECTURE_WORDS: &str = "ap arch architecture net network backbone genotype model cell cells params param parameters weights \
    macs flops depth layer layers block blocks filter filters width widths kernel kernels stride strides \
    unit units hidden inputs outputs heads head ff ffn dim dims skip skips residual residuals stage \
    stages embedding embed channel channels neurons nodes edges pool pooling conv activation norm \
    normalization batchnorm bn groups cardinality expansion rnn bidirectional";
/// Ends of words such as `maxpoolstride`.
const ARCHITECTURE_WORD_ENDS: [&str; 8] =
    ["layers", "blocks", "filters", "width", "stride", "kernel", "units", "params"];

/// The feature group that a column name suggests: architecture for names about weights, layers or filters, otherwise
/// hyperparameter (`weight_decay` is a hyperparameter).
///
/// ```
/// use foretell::{FeatureGroup, group_of_name};
/// assert_eq!(group_of_name("num_params"), FeatureGroup::Architecture);
/// assert_eq!(group_of_name("l2_width"), FeatureGroup::Architecture);
/// assert_eq!(group_of_name("weight_decay"), FeatureGroup::Hyperparameter);
/// assert_eq!(group_of_name("learning_rate"), FeatureGroup::Hyperparameter);
/// ```
pub fn group_of_name(name: &str) -> FeatureGroup {
    let words = words_of_name(name);
    let architecture = has_listed_word(&words, ARCHITECTURE_WORDS)
        || words.iter().any(|word| ARCHITECTURE_WORD_ENDS.iter().any(|end| word.ends_with(end)));
    // `l1_width`, `l2_filters`: a layer's number, not a penalty
    let of_a_layer = words.split_first().is_some_and(|(first, rest)| {
        first.strip_prefix('l').is_some_and(|number| number.parse::<u32>().is_ok())
            && has_listed_word(rest, ARCHITECTURE_WORDS)
    });
    if (architecture && !has_listed_word(&words, HYPERPARAMETER_WORDS)) || of_a_layer {
        FeatureGroup::Architecture
    } else {
        FeatureGroup::Hyperparameter
    }
}

/// Whether one of `words` is in `list`, whose words are separated by spaces.
fn has_listed_word(words: &[String], list: &str) -> bool {
    words.iter().any(|word| list.split(' ').any(|entry| entry == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_the_papers_split() {
        let architecture = [
            "num_params",
            "NumMACs",
            "depth",
            "num_blocks",
            "num_filters",
            "filter_size",
            "n_inputs",
            "n_layer",
            "net",
            "model_size",
            "ff_num_hidden",
            "num_layers",
            "NumPartialRFLayers",
            "l2_width",
            "l3_stride",
            "l4_residual",
            "FirstLayerWidth",
            "NumSkipConnections",
            "NumStages",
            "kernel_size",
            "num_heads",
            "cell",
        ];
        for name in architecture {
            assert_eq!(group_of_name(name), FeatureGroup::Architecture, "{name}");
        }
        let hyperparameters = [
            "lr",
            "ss",
            "base_lr",
            "weight_decay",
            "batch_size",
            "hp_momentum",
            "l1",
            "l2",
            "beta1",
            "dropout_rate",
            "optimizer",
            "layer_decay",
            "bpe",
            "hp_max_preconditioner_dim",
            "learning_rate",
            "epsilon",
        ];
        for name in hyperparameters {
            assert_eq!(group_of_name(name), FeatureGroup::Hyperparameter, "{name}");
        }
    }
}
