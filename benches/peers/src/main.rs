//! Times Foretell, libsvm-rs and smartcore on the arrays in a folder and prints one JSON document.
//!
//! `foretell-peers DIR` reads what `peers.py` wrote there. One thread; times are CPU seconds of that thread.

mod arrays;
mod best_of;
mod clock;
mod ours;
mod peers;

use arrays::Arrays;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: foretell-peers DIR")?;
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let arrays = Arrays::read(directory.as_ref())?;
    let document = json!({
        "one_tau": ours::one_tau(&arrays)?,
        "all_taus": ours::all_taus(&arrays)?,
        "one_fit": ours::one_fit(&arrays)?,
        "forest_search": ours::forest_search(&arrays)?,
        "libsvm_rs": peers::libsvm(&arrays)?,
        "smartcore_forest": peers::smartcore_forest(&arrays)?,
    });
    println!("{document}");
    Ok(())
}
