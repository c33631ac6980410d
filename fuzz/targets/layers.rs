//! The notation of layers, parameters and states: whatever is read is written as it is read again.
#![no_main]

use foretell::LayerSequence;
use foretell_paper::{StateKey, Trajectory};
use foretell_search::Parameter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(layers) = text.parse::<LayerSequence>() {
        assert_eq!(layers.to_string().parse::<LayerSequence>().as_ref(), Ok(&layers));
    }
    let _ = text.parse::<Parameter>();
    let _ = text.parse::<StateKey>();
    let _ = text.parse::<Trajectory>();
});
