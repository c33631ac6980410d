//! Recorded runs: from Python's lists or from a file that the command reads.

use crate::convert::{
    configuration, curve, dict, direction, direction_name, groups, invalid, numbers, scales,
};
use foretell::{ColumnDeclarations, Curve, Direction, FeatureGroup, Metric, Run, Scale};
use foretell_logs::{LogFormat, NoteTopic, ReadOptions, RecordedSet, RunEnd, read_runs};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

pyo3::create_exception!(
    _foretell,
    OtherMetric,
    PyValueError,
    "A file records runs of other metrics or directions only."
);

/// Recorded runs, with facts about their metric and columns.
#[pyclass(frozen, module = "foretell._foretell")]
pub(crate) struct Runs {
    pub(crate) runs: Arc<Vec<Run>>,
    pub(crate) metric: Metric,
    pub(crate) columns: ColumnDeclarations,
    /// The step at which completed runs are compared, where the logs say how runs ended.
    pub(crate) target: Option<f64>,
    /// The ids of runs that ended themselves before their last planned step, where the logs say so: their last value is their final one.
    pub(crate) own_ends: BTreeSet<String>,
    notes: Vec<String>,
    /// Those of its notes that every user must see.
    warnings: Vec<String>,
    /// The direction that the logs record themselves, whatever was asked for.
    declared: Option<Direction>,
}

/// A run as Python hands it over: id, configuration, steps, values.
type RunRecord<'py> = (String, Option<Bound<'py, PyDict>>, Option<Bound<'py, PyAny>>, Bound<'py, PyAny>);

#[pymethods]
impl Runs {
    /// Runs from lists: `records` are (id, configuration, steps or None, values). `target` is the last step of a whole run, where that is
    /// known: runs that end before were stopped.
    #[staticmethod]
    #[pyo3(signature = (records, direction, metric, columns=None, target=None))]
    fn from_records(
        records: &Bound<'_, PyList>,
        direction: &str,
        metric: &str,
        columns: Option<&Bound<'_, PyDict>>,
        target: Option<f64>,
    ) -> PyResult<Self> {
        let metric = Metric::new(metric, self::direction(direction)?);
        let runs = records.iter().map(|record| -> PyResult<Run> {
            let (id, config, steps, values): RunRecord<'_> = record.extract()?;
            let steps = steps.as_ref().map(numbers).transpose()?;
            let curve = curve(&numbers(&values)?, steps.as_deref(), metric.direction);
            let curve = curve.map_err(|error| invalid(format!("run `{id}`: {}", text(&error, &record))))?;
            Ok(Run { configuration: configuration(config.as_ref())?, id, curve })
        });
        let runs = runs.collect::<PyResult<_>>()?;
        let columns = declared_columns(columns)?;
        Ok(Self { target, columns, ..Self::from_runs(runs, metric) })
    }

    /// Runs from a file or folder, as the command reads them.
    #[staticmethod]
    #[pyo3(signature = (path, options))]
    fn read(path: PathBuf, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let format = match text_option(options, "format")? {
            Some(name) => Some(LogFormat::from_name(&name).ok_or_else(|| {
                let names: Vec<&str> = LogFormat::ALL.iter().map(|format| format.name()).collect();
                invalid(format!("format {name:?}: unknown tool. Use one of {}", names.join(", ")))
            })?),
            None => None,
        };
        let asked = ReadOptions {
            format,
            metric: text_option(options, "metric")?,
            direction: text_option(options, "direction")?.map(|text| direction(&text)).transpose()?,
            id_column: text_option(options, "id")?,
            step_column: text_option(options, "resource")?,
            configurations: text_option(options, "configurations")?.map(PathBuf::from),
            exclude: list_option(options, "exclude")?,
            include: list_option(options, "include")?,
            columns: declared_columns(Some(options))?,
            deduplicate: true,
            ..ReadOptions::default()
        };
        let RecordedSet { runs, metric, columns, target, notes, ended, declared, .. } =
            read_runs(&path, &asked).map_err(|error| match error {
                foretell_logs::Error::OtherMetric { .. } => OtherMetric::new_err(error.to_string()),
                error => invalid(error),
            })?;
        let warnings = notes.iter().filter(|note| note.topic == NoteTopic::SetAside).map(ToString::to_string);
        let warnings = warnings.collect();
        // logs of other tools may have been cut off where they say nothing; our own lines say it
        let is_certain = path.to_string_lossy().contains(".jsonl");
        let by_itself = runs.iter().zip(&ended).filter(|(_, ended)| is_certain && **ended == RunEnd::Stopped);
        let own_ends = by_itself.map(|(run, _)| run.id.clone()).collect();
        let notes = notes.iter().map(ToString::to_string).collect();
        Ok(Self { columns, target, own_ends, notes, warnings, declared, ..Self::from_runs(runs, metric) })
    }

    /// All runs of several sets. Runs of the same name are told apart by the number of their set.
    #[staticmethod]
    fn joined(sets: Vec<Py<Self>>) -> PyResult<Self> {
        let sets: Vec<&Self> = sets.iter().map(Py::get).collect();
        let Some(first) = sets.first() else { return Err(invalid("no runs")) };
        let mut names = BTreeSet::new();
        let mut joined = Self::from_runs(Vec::new(), first.metric.clone());
        let mut runs = Vec::new();
        for (number, set) in sets.iter().enumerate() {
            if set.metric.direction != first.metric.direction {
                let (other, one) = (&set.metric.name, &first.metric.name);
                return Err(invalid(format!(
                    "the directions differ: `{one}` is to {}, but `{other}` to {}. Choose a common metric with metric=",
                    direction_name(first.metric.direction),
                    direction_name(set.metric.direction)
                )));
            }
            for run in set.runs.iter() {
                let own_end = set.own_ends.contains(&run.id);
                let id = if names.insert(run.id.clone()) {
                    run.id.clone()
                } else {
                    format!("{number}/{}", run.id)
                };
                joined.own_ends.extend(own_end.then(|| id.clone()));
                runs.push(Run { id, ..run.clone() });
            }
            joined.columns.groups.extend(set.columns.groups.clone());
            joined.columns.scales.extend(set.columns.scales.clone());
            joined.target = joined.target.or(set.target);
            joined.notes.extend(set.notes.iter().cloned());
        }
        joined.runs = Arc::new(runs);
        Ok(joined)
    }

    /// The metric's name.
    #[getter]
    fn metric(&self) -> &str {
        &self.metric.name
    }

    /// `maximize` or `minimize`.
    #[getter]
    fn direction(&self) -> &'static str {
        direction_name(self.metric.direction)
    }

    /// The direction that the logs record themselves; `None` if they do not.
    #[getter]
    fn declared(&self) -> Option<&'static str> {
        self.declared.map(direction_name)
    }

    /// The parameters in the configurations, each with the number of runs that have it.
    #[getter]
    fn parameters(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for name in self.runs.iter().flat_map(|run| run.configuration.keys()) {
            *counts.entry(name.clone()).or_default() += 1;
        }
        counts
    }

    /// The notes that every user must see.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Notes on data dropped or found while reading.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn __len__(&self) -> usize {
        self.runs.len()
    }

    /// The runs as plain values, from which [`Runs::from_records`] makes them again.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        let records = PyList::empty(py);
        for run in self.runs.iter() {
            let (steps, values) = points(&run.curve, self.metric.direction);
            records.append((&run.id, dict(py, &run.configuration)?, steps, values))?;
        }
        state.set_item("records", records)?;
        state.set_item("direction", direction_name(self.metric.direction))?;
        state.set_item("metric", &self.metric.name)?;
        let columns = PyDict::new(py);
        for (name, wanted) in [("log_columns", Scale::Log), ("linear_columns", Scale::Linear)] {
            columns.set_item(name, columns_declared_as(&self.columns.scales, wanted))?;
        }
        for (name, wanted) in
            [("architecture", FeatureGroup::Architecture), ("hyperparameters", FeatureGroup::Hyperparameter)]
        {
            columns.set_item(name, columns_declared_as(&self.columns.groups, wanted))?;
        }
        state.set_item("columns", columns)?;
        Ok(state)
    }
}

impl Runs {
    /// Refuses runs of another direction: the worst of them would count as the best.
    pub(crate) fn check_direction(&self, direction: Direction) -> PyResult<()> {
        let own = self.metric.direction;
        match own == direction {
            true => Ok(()),
            false => Err(invalid(format!(
                "history: its metric `{}` has the direction '{}', but this study is to {}. Choose runs of the same direction",
                self.metric.name,
                direction_name(own),
                direction_name(direction)
            ))),
        }
    }

    /// Runs that are there.
    pub(crate) fn from_runs(runs: Vec<Run>, metric: Metric) -> Self {
        Self {
            runs: Arc::new(runs),
            metric,
            columns: ColumnDeclarations::default(),
            target: None,
            own_ends: BTreeSet::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
            declared: None,
        }
    }
}

/// The steps and values of a curve, with its gaps and the step at which it diverged as NaN.
fn points(curve: &Curve, direction: Direction) -> (Vec<f64>, Vec<f64>) {
    let seen =
        curve.steps().iter().zip(curve.scores()).map(|(&step, &score)| (step, direction.to_value(score)));
    let lost = curve.gap_starts().iter().copied().chain(curve.diverged_at()).map(|step| (step, f64::NAN));
    let mut points: Vec<(f64, f64)> = seen.chain(lost).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|b, a| a.0.total_cmp(&b.0).is_eq());
    points.into_iter().unzip()
}

fn declared_columns(options: Option<&Bound<'_, PyDict>>) -> PyResult<ColumnDeclarations> {
    let Some(options) = options else { return Ok(ColumnDeclarations::default()) };
    Ok(ColumnDeclarations {
        groups: groups(list_option(options, "architecture")?, list_option(options, "hyperparameters")?),
        scales: scales(list_option(options, "log_columns")?, list_option(options, "linear_columns")?),
    })
}

fn columns_declared_as<T: PartialEq>(declared: &BTreeMap<String, T>, wanted: T) -> Vec<String> {
    declared.iter().filter(|(_, value)| **value == wanted).map(|(name, _)| name.clone()).collect()
}

fn text_option(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<String>> {
    options.get_item(name)?.filter(|value| !value.is_none()).map(|value| value.extract()).transpose()
}

fn list_option(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<String>> {
    let given = options.get_item(name)?.filter(|value| !value.is_none());
    given.map(|value| value.extract()).transpose().map(Option::unwrap_or_default)
}

fn text(error: &PyErr, near: &Bound<'_, PyAny>) -> String {
    error.value(near.py()).to_string()
}
