//! A sampler over pipes, for `benches/peers/samplers.py`: it prints a configuration a line, and reads its score (larger is better; `null`
//! for a failure) from the next line of its input, until that ends.
//!
//! Usage: `ask_and_tell random|tpe|gp|tpe-gp SEED PARAMETER...`, a parameter as in `lr=log:1e-4:1`.

use foretell_search::{
    GpSampling, ParameterSpace, RandomSampling, SamplerSpec, Space, TpeGpSampling, TpeSampling, Worth,
};
use std::io::{BufRead, Write};

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, seed, parameters @ ..] = &arguments[..] else {
        println!("usage: ask_and_tell random|tpe|gp|tpe-gp SEED PARAMETER...");
        return Ok(());
    };
    let spec = match name.as_str() {
        "random" => SamplerSpec::from(RandomSampling),
        "tpe" => SamplerSpec::from(TpeSampling),
        "gp" => SamplerSpec::from(GpSampling),
        "tpe-gp" => SamplerSpec::from(TpeGpSampling),
        other => return Err(format!("no sampler {other}").into()),
    };
    let mut sampler = spec.sampler(&Space::Parameters(ParameterSpace::parse(parameters)?), seed.parse()?)?;
    let (mut scores, mut out) = (std::io::stdin().lock().lines(), std::io::stdout().lock());
    for trial in 0.. {
        let Some(configuration) = sampler.propose(trial) else { break };
        writeln!(out, "{}", serde_json::to_string(&configuration)?)?;
        out.flush()?;
        sampler.observe_start(trial, &configuration);
        let Some(line) = scores.next() else { break };
        match serde_json::from_str(&line?)? {
            Some(score) => sampler.learn(trial, &configuration, Worth::from_measurement(score)),
            None => sampler.observe_failure(trial, &configuration),
        }
    }
    Ok(())
}
