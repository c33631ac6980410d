//! The laboratory's parts by name.

use crate::bnn::Bnn;
use crate::layer_space::{LayerSpace, SPACE_NAME};
use crate::lce::{Lce, LceOptions, LceRule, TerminationMode};
use crate::q_learning::QLearningFamily;
use foretell::mask_features;
use foretell_search::{Catalogue, SearchSpace};
use std::sync::Arc;

/// The parts of `foretell-search`, and those of the laboratory.
pub fn full_catalogue() -> Catalogue {
    with_laboratory(Catalogue::default())
}

/// Adds the parts of the laboratory to `catalogue`.
#[must_use]
pub fn with_laboratory(catalogue: Catalogue) -> Catalogue {
    catalogue
        .with_predictor("lce", |options| {
            Box::new(Lce::with_predictor_options(LceOptions::default(), options))
        })
        .with_predictor("lce-domhan2015", |options| {
            Box::new(Lce::with_predictor_options(LceOptions::domhan2015(), options))
        })
        .with_predictor("bnn", |options| {
            mask_features(Box::new(Bnn::default().with_predictor_options(options)), options.features)
        })
        .with_predictor("bnn-plain", |options| {
            mask_features(Box::new(Bnn::without_basis().with_predictor_options(options)), options.features)
        })
        .with_stop_rule(
            "lce",
            "Stop trials that will not win, by extrapolating each curve alone (Domhan et al., conservative).",
            |_| Ok(Arc::new(LceRule { mode: TerminationMode::Conservative })),
        )
        .with_stop_rule(
            "lce-optimistic",
            "Like lce, and also stop trials whose final value is certain (Domhan et al., optimistic).",
            |_| Ok(Arc::new(LceRule { mode: TerminationMode::Optimistic })),
        )
        .with_sampler(
            "q-learning",
            "Q-learning of MetaQNN: build networks layer by layer, from the scores of earlier ones.",
            QLearningFamily,
        )
        .with_space(SPACE_NAME, "Networks as layer sequences: MetaQNN's space.", |settings| {
            LayerSpace::from_settings(settings).map(|space| Arc::new(space) as Arc<dyn SearchSpace>)
        })
}
