//! A search whose trials run elsewhere: on other machines, by workers.

use super::StudyRun;
use crate::commands::search::flags::SearchArguments;
use crate::failure::Failure;
use foretell_run::{EventStore, Leases, RemoteTrainings, Work};
use std::path::Path;
use std::time::Duration;

impl StudyRun {
    /// Opens the driver to trials that run elsewhere: see [`Driver::open_to`].
    pub(in crate::commands::search) fn open_to(
        self,
        elsewhere: RemoteTrainings<EventStore>,
    ) -> Result<Self, Failure> {
        let driver = self.driver.with_remote_trainings(elsewhere).map_err(Failure::midway)?;
        Ok(Self { driver, ..self })
    }

    /// The leases of trials that run elsewhere, each for the time `lease`.
    pub(in crate::commands::search) fn leases(&self, lease: Duration) -> Leases {
        Leases::new(lease).with_folder(&self.directory).with_pauses(self.times().pauses())
    }

    /// The instructions that workers elsewhere need to run its trials.
    pub(in crate::commands::search) fn work(&self, arguments: &SearchArguments) -> Result<Work, Failure> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(Failure::midway);
        let (flushes, hook) = (self.workload.is_built_in(), self.workload.hook());
        let watch = arguments.control.watch(flushes, hook, self.study().spec());
        let config = self.workload.config.as_ref();
        Ok(Work {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            mark: Work::new_mark(),
            study: absolute(&self.directory)?,
            folder: std::env::current_dir().map_err(Failure::midway)?,
            command: self.workload.command.clone(),
            is_built_in: self.workload.is_built_in(),
            metric: self.workload.metric_text(),
            step: self.workload.description.get("step").cloned(),
            max_resource: self.study().spec().given_resource(),
            space: Some(self.study().spec().space.clone()),
            follow: watch.follow,
            source: self.workload.description.get("source").cloned(),
            timeout: watch.timeout.map(|time| time.as_secs_f64()),
            stall: watch.stall,
            once: watch.once,
            unplaced: self.workload.unplaced.clone(),
            config: config.map(|config| (config.path().to_owned(), config.text().to_owned())),
            retries: arguments.limits(Duration::ZERO).retries,
            expected_report: self.workload.what_is_missed(),
        })
    }
}
