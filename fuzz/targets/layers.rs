//! The notation of layers and parameters: whatever is read is written as it is read again.
#![no_main]

use foretell::LayerSequence;
use foretell_search::Parameter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(layers) = text.parse::<LayerSequence>() {
        assert_eq!(layers.to_string().parse::<LayerSequence>().as_ref(), Ok(&layers));
    }
    let _ = text.parse::<Parameter>();
});
