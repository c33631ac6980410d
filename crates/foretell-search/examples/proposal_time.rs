//! The time of a proposal after 1,000 trials of ten parameters, for each sampler that learns.

use foretell::{Configuration, Value};
use foretell_search::{
    GpSampling, ParameterSpace, RandomSampling, SamplerSpec, Space, TpeGpSampling, TpeSampling, Worth,
};
use std::time::Instant;

fn main() {
    let mut texts: Vec<String> = (0..8).map(|j| format!("x{j}=float:0:1")).collect();
    texts.extend(["o=choice:a,b,c".to_owned(), "n=int:1:9 if o=a".to_owned()]);
    let space = Space::Parameters(ParameterSpace::parse(&texts).expect("the space is written right"));
    let score = |c: &Configuration| -> f64 {
        c.values().filter_map(Value::as_number).map(|x| -(x - 0.3) * (x - 0.3)).sum()
    };
    for spec in
        [SamplerSpec::from(TpeSampling), SamplerSpec::from(GpSampling), SamplerSpec::from(TpeGpSampling)]
    {
        let mut sampler = spec.sampler(&space, 0).expect("there are no settings");
        let mut drawn = SamplerSpec::from(RandomSampling).sampler(&space, 0).expect("there are no settings");
        for trial in 0..1000 {
            let Some(configuration) = drawn.propose(trial) else { continue };
            sampler.observe_start(trial, &configuration);
            sampler.learn(trial, &configuration, Worth::from_measurement(score(&configuration)));
        }
        let mut times = Vec::new();
        for trial in 1000..1040 {
            let start = Instant::now();
            let Some(configuration) = sampler.propose(trial) else { continue };
            times.push(start.elapsed().as_secs_f64() * 1e3);
            sampler.observe_start(trial, &configuration);
            sampler.learn(trial, &configuration, Worth::from_measurement(score(&configuration)));
        }
        let (first, rest) = (times[0], times[1..].iter().sum::<f64>() / (times.len() - 1) as f64);
        #[expect(clippy::print_stdout, reason = "what the program is for")]
        {
            println!("{spec:?}: {rest:.1} ms a proposal; {first:.1} ms where hyperparameters are found");
        }
    }
}
