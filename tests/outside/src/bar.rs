//! The stop rule `bar`.

use foretell_search::{NamedRule, Reason, RuleNeeds, Ruling, StopRule, WatchedTrial};
use serde::{Deserialize, Serialize};

/// Stops a trial that is below a bar.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bar {
    height: f64,
}

impl NamedRule for Bar {
    const NAME: &'static str = "bar";
    const ABOUT: &'static str = "Stop trials below a bar.";
    const SETTING_DOCS: &'static [(&'static str, &'static str)] = &[("height", "Score that a trial must reach.")];
}

impl StopRule for Bar {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds::default()
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        match trial.scores().last() {
            Some(&score) if score < self.height => Ruling::stop(Reason::Own("below the bar".into()), score),
            _ => Ruling::default(),
        }
    }
}
