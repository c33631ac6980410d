//! Reads all runs below some paths, one source after another, and makes curves of one metric of them.

use super::align::{align, common_end, pack, resource};
use super::doubles::{DUPLICATE_REASON, without_doubles};
use super::packed::CurveResource;
use super::recognize::{self, FoundFiles, LogSource};
use super::series::{RunEnd, RunLog, SeriesFilter};
use super::survey::{LeftOut, LogSurvey};
use super::update::{ImportManifest, SourceRead};
use super::{LogFormat, RUN_PART_FOLDERS, lines, mlflow, study, tables, tensorboard, wandb};
use crate::error::Error;
use crate::note::{Note, NoteTopic};
use crate::options::ReadOptions;
use crate::raw::{RawRun, RawRuns};
use crate::table::{count, list};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The progress of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadProgress {
    /// Sources read: files, or folders of one run.
    pub read: usize,
    /// All there are.
    pub of: usize,
    /// Runs found so far.
    pub runs: usize,
}

/// All runs below some paths.
#[derive(Default)]
pub(crate) struct GatheredRuns {
    pub(crate) runs: Vec<RunLog>,
    /// Where each id is.
    places: HashMap<String, usize>,
    pub(crate) left_out: Vec<LeftOut>,
    /// The content of each source; runs of unchanged ones are not among `runs`.
    sources: Vec<SourceRead>,
    /// The ids of the runs of unchanged sources.
    kept: HashSet<String>,
}

/// An earlier import: its sources and its runs.
pub(crate) struct EarlierImport {
    pub(crate) manifest: ImportManifest,
    pub(crate) runs: Vec<RawRun>,
}

/// Whether `path` holds logs of a tool, and no curve file.
pub(crate) fn is_old(path: &Path, options: &ReadOptions) -> Result<bool, Error> {
    if options.format.is_some() {
        return Ok(true);
    }
    let found = recognize::below(path, None)?;
    if path.is_dir() {
        // a folder of curve files may also hold a table of one run
        let named = path.join("curves.csv").exists() || path.join("curves.csv.gz").exists();
        return Ok(!found.sources.is_empty() && !named);
    }
    // a single table of epochs is a curve file of one run
    Ok(found.sources.iter().any(|source| !matches!(source.format, LogFormat::Keras | LogFormat::Table)))
}

/// Whether a file is a table of many runs, or a file of curves.
pub(crate) fn is_table(file: &Path) -> Result<bool, Error> {
    Ok(recognize::kind(file)? == recognize::FileKind::Table)
}

/// Whether there is any log of a tool at `path`.
pub(crate) fn holds_logs(path: &Path, options: &ReadOptions) -> Result<bool, Error> {
    Ok(options.format.is_some() || !recognize::below(path, None)?.sources.is_empty())
}

/// Lists the logs below `paths`: the tools, the runs, the metrics, and the ignored files.
///
/// # Errors
/// [`Error`] if a path cannot be read, or holds no log of a tool.
pub fn survey_logs(
    paths: &[PathBuf],
    options: &ReadOptions,
    watch: &mut dyn FnMut(ReadProgress),
) -> Result<LogSurvey, Error> {
    let wanted = SeriesFilter { metric: options.metric.clone(), ..SeriesFilter::default() };
    let gathered = gather(paths, options, &wanted, None, watch)?;
    Ok(LogSurvey::from_runs(&gathered.runs, &gathered.left_out))
}

/// The curves of one metric of all runs below `paths`, and from which files they are. The runs of files that are as they were
/// `before` are taken from there.
pub(crate) fn read(
    paths: &[PathBuf],
    options: &ReadOptions,
    before: Option<EarlierImport>,
    watch: &mut dyn FnMut(ReadProgress),
) -> Result<(RawRuns, ImportManifest), Error> {
    let file = paths.first().cloned().unwrap_or_default();
    if let Some(before) = before.filter(|before| before.manifest.matches_options(options))
        && let Some(updated) = update(paths, options, before, watch)?
    {
        return Ok(updated);
    }
    let asked = options.step_column.as_deref().and_then(CurveResource::from_name);
    let times = asked == Some(CurveResource::Time);
    let mut wanted = SeriesFilter { metric: options.metric.clone(), times, all: false };
    let mut gathered = gather(paths, options, &wanted, None, watch)?;
    let survey = LogSurvey::from_runs(&gathered.runs, &gathered.left_out);
    let metric = metric(&survey, options, &file)?;
    // each run has kept the points of its own best name only, which may not be the metric that was chosen for all of them
    let mut chosen = gathered.runs.iter().filter_map(|run| run.series.get(&metric));
    if wanted.metric.is_none() && chosen.any(|series| !series.has_points()) {
        wanted.metric = Some(metric.clone());
        gathered = gather(paths, options, &wanted, None, watch)?;
    }
    let (resource, from_0, said) = resource(&gathered.runs, &metric, asked);
    let mut manifest = ImportManifest::new(options, &metric, (resource, from_0));
    manifest.sources = std::mem::take(&mut gathered.sources);
    manifest.doubled = gathered.left_out.iter().any(|left| left.why == DUPLICATE_REASON);
    let mut raw = raw(gathered, &survey, (&metric, resource, from_0), options);
    raw.notes.insert(1, said);
    Ok((raw, manifest))
}

/// Reads the sources that changed since `before`; `None` if all have to be read again.
fn update(
    paths: &[PathBuf],
    options: &ReadOptions,
    before: EarlierImport,
    watch: &mut dyn FnMut(ReadProgress),
) -> Result<Option<(RawRuns, ImportManifest)>, Error> {
    let EarlierImport { mut manifest, runs } = before;
    let Some(resource) = CurveResource::from_name(&manifest.resource) else { return Ok(None) };
    if manifest.doubled {
        // both logs of a training that two tools logged are needed
        return Ok(None);
    }
    let times = resource == CurveResource::Time;
    let wanted = SeriesFilter { metric: Some(manifest.metric.clone()), times, all: false };
    let mut gathered = gather(paths, options, &wanted, Some(&manifest), watch)?;
    // a run of W&B that was resumed continues the run of another file
    let clash =
        gathered.runs.iter().any(|run| may_continue_run(run.format) && gathered.kept.contains(&run.id));
    if clash || gathered.kept.is_empty() {
        return Ok(None);
    }
    let gone = manifest.ids().len();
    manifest.sources = std::mem::take(&mut gathered.sources);
    let kept: Vec<RawRun> =
        runs.into_iter().filter(|run| run.id.as_ref().is_some_and(|id| gathered.kept.contains(id))).collect();
    let text = format!(
        "{} kept, {} new or read again ({gone} before)",
        count(kept.len(), "run"),
        count(gathered.runs.len(), "run"),
    );
    let survey = LogSurvey::from_runs(&gathered.runs, &gathered.left_out);
    let (metric, from_0) = (manifest.metric.clone(), manifest.counted_from_0);
    let mut raw = raw(gathered, &survey, (&metric, resource, from_0), options);
    raw.runs.splice(0..0, kept);
    mark_early_ends(&mut raw, options);
    raw.notes.insert(0, Note::new(NoteTopic::Found, text));
    Ok(Some((raw, manifest)))
}

/// The metric that was asked for, or the one that is preferred.
fn metric(survey: &LogSurvey, options: &ReadOptions, file: &Path) -> Result<String, Error> {
    if survey.metrics.is_empty() {
        let problem = match &survey.left_out[..] {
            [first, ..] => {
                format!("no run with a metric was found. {} is left out: {}", first.what, first.why)
            }
            [] => "no run with a metric was found".to_owned(),
        };
        return Err(Error::Old { file: file.to_owned(), problem });
    }
    let problem = match &options.metric {
        Some(asked) if survey.metrics.iter().any(|metric| metric.name == *asked) => return Ok(asked.clone()),
        Some(asked) => format!("there is no metric `{asked}`"),
        None => match survey.preferred_metric() {
            Some(metric) => return Ok(metric.name.clone()),
            None => "no logged name is that of a known metric".to_owned(),
        },
    };
    Err(Error::Metric { file: file.to_owned(), problem, candidates: list_metrics(survey) })
}

/// The first logged metrics, with the number of runs and the range of each.
fn list_metrics(survey: &LogSurvey) -> String {
    let shown = survey.metrics.iter().take(20).map(|metric| {
        let range =
            metric.range.map_or("no finite value".to_owned(), |(low, high)| format!("{low} … {high}"));
        format!("`{}` ({}, {range})", metric.name, count(metric.runs, "run"))
    });
    let shown: Vec<String> = shown.collect();
    let more = survey.metrics.len().saturating_sub(20);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// Reads all sources below `paths`.
pub(crate) fn gather(
    paths: &[PathBuf],
    options: &ReadOptions,
    wanted: &SeriesFilter,
    before: Option<&ImportManifest>,
    watch: &mut dyn FnMut(ReadProgress),
) -> Result<GatheredRuns, Error> {
    let mut gathered = GatheredRuns::default();
    let places = before.map(ImportManifest::places).unwrap_or_default();
    let mut sources: Vec<LogSource> = Vec::new();
    for path in paths {
        let here = gathered.find(path, options)?;
        if here.is_empty() {
            return Err(Error::Old {
                file: path.clone(),
                problem: "no log of a known tool was found. List the files with `foretell import --list`, or set the tool with `--format`"
                    .to_owned(),
            });
        }
        sources.extend(here);
    }
    // the error of a single source is the answer; among others it is left out, so that one broken log does not hide the rest
    let alone = sources.len() == 1;
    for (at, source) in sources.iter().enumerate() {
        watch(ReadProgress { read: at, of: sources.len(), runs: gathered.runs.len() });
        if let Some(same) = before.and_then(|before| before.find_unchanged(&places, source)) {
            gathered.kept.extend(same.runs.iter().cloned());
            gathered.sources.push(same.clone());
            continue;
        }
        let mut deleted = 0;
        let mut found = Vec::new();
        let read = read_source(source, wanted, &mut |run| {
            match run {
                Some(run) => found.push(run),
                None => deleted += 1,
            }
            Ok(())
        });
        match read {
            Ok(()) => {}
            // runs read before the error may be only a part of the logged ones
            Err(error) if alone => return Err(error),
            Err(error) => {
                found.clear();
                gathered.left_out.push(LeftOut { what: source.name.clone(), why: error.to_string() });
            }
        }
        let left = LeftOut { what: source.name.clone(), why: "deleted in its tool".to_owned() };
        gathered.left_out.extend(std::iter::repeat_n(left, deleted));
        let ids = found.into_iter().filter_map(|run| gathered.add(run, wanted)).collect();
        gathered.sources.push(SourceRead::from_source(source, ids)?);
    }
    let runs = std::mem::take(&mut gathered.runs);
    gathered.runs = without_doubles(runs, &mut gathered.left_out);
    watch(ReadProgress { read: sources.len(), of: sources.len(), runs: gathered.runs.len() });
    Ok(gathered)
}

impl GatheredRuns {
    /// The sources below `path`; other files are left out.
    fn find(&mut self, path: &Path, options: &ReadOptions) -> Result<Vec<LogSource>, Error> {
        let FoundFiles { sources, tables, doubled, deleted, .. } = recognize::below(path, options.format)?;
        let mut leave = |what: &Path, why: &str| {
            self.left_out.push(LeftOut { what: what.display().to_string(), why: why.to_owned() });
        };
        tables.iter().for_each(|table| leave(table, "a table; to read it, pass the file"));
        doubled.iter().for_each(|file| leave(file, "duplicate: another log of the same run is longer"));
        (0..deleted).for_each(|_| leave(path, "deleted in its tool"));
        Ok(sources)
    }

    /// Adds a run. A resumed run of W&B continues that of an earlier file; other runs of the same name are numbered.
    fn add(&mut self, mut run: RunLog, wanted: &SeriesFilter) -> Option<String> {
        if run.series.is_empty() {
            let why = run.damage.unwrap_or_else(|| "no metric was logged".to_owned());
            self.left_out.push(LeftOut { what: run.id, why });
            return None;
        }
        let known = self.places.get(&run.id).copied();
        if let Some(before) = known.and_then(|known| self.runs.get_mut(known))
            && before.format == run.format
            && may_continue_run(run.format)
        {
            before.ended = run.ended;
            before.configuration.extend(run.configuration);
            before.damage = before.damage.take().or(run.damage);
            for (name, series) in run.series {
                match before.series.get_mut(&name) {
                    Some(own) => own.append(series),
                    None => drop(before.series.insert(name, series)),
                }
            }
            pack_unless_all(before, wanted);
            return Some(run.id);
        }
        pack_unless_all(&mut run, wanted);
        let own = run.id.clone();
        let mut number = 1;
        while self.places.contains_key(&run.id) || (number == 1 && self.has_unchanged_run(&run)) {
            number += 1;
            run.id = format!("{own} ({number})");
        }
        let id = run.id.clone();
        self.places.insert(id.clone(), self.runs.len());
        self.runs.push(run);
        Some(id)
    }

    /// Whether a run of an unchanged source has this id.
    fn has_unchanged_run(&self, run: &RunLog) -> bool {
        !may_continue_run(run.format) && self.kept.contains(&run.id)
    }
}

/// Whether several files of this format can be one run: those of a run of W&B that was resumed, and TensorBoard's downloads of several metrics.
fn may_continue_run(format: LogFormat) -> bool {
    matches!(format, LogFormat::Wandb | LogFormat::TensorBoardTable)
}

fn pack_unless_all(run: &mut RunLog, wanted: &SeriesFilter) {
    if !wanted.all {
        pack(run, wanted.times);
    }
}

fn read_source(
    source: &LogSource,
    wanted: &SeriesFilter,
    take: &mut dyn FnMut(Option<RunLog>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(file) = source.files.first() else { return Ok(()) };
    match source.format {
        LogFormat::TensorBoard => take(Some(read_events(source, wanted)?)),
        LogFormat::Wandb => take(Some(wandb::read(file, &source.name, wanted)?)),
        LogFormat::TensorBoardTable => take(Some(tables::read_download(file, &source.name, wanted)?)),
        LogFormat::WandbTable => {
            tables::read_export(file, wanted)?.into_iter().try_for_each(|run| take(Some(run)))
        }
        LogFormat::Mlflow if file.is_dir() => take(mlflow::read(file, wanted)?),
        LogFormat::Mlflow => database(file, wanted, take),
        LogFormat::Optuna if is_text_file(file)? => {
            lines::read_optuna_journal(file, wanted)?.into_iter().try_for_each(|run| take(Some(run)))
        }
        LogFormat::Optuna => database(file, wanted, take),
        LogFormat::Ray if file.extension().is_some_and(|ending| ending == "csv") => {
            take(Some(tables::read_run(file, &source.name, source.format, wanted)?))
        }
        LogFormat::Ray => take(Some(lines::ray(file, &source.name, wanted)?)),
        LogFormat::Lightning | LogFormat::Keras | LogFormat::Table => {
            take(Some(tables::read_run(file, &source.name, source.format, wanted)?))
        }
        LogFormat::Transformers => take(Some(lines::read_transformers(file, &source.name, wanted)?)),
        LogFormat::Foretell => {
            study::read(file, &source.name, wanted)?.into_iter().try_for_each(|run| take(Some(run)))
        }
    }
}

fn is_text_file(file: &Path) -> Result<bool, Error> {
    use std::io::Read;
    let mut first = [0];
    let read = std::fs::File::open(file)
        .map_err(Error::io_at(file))?
        .read(&mut first)
        .map_err(Error::io_at(file))?;
    Ok(read == 1 && first[0] == b'{')
}

#[cfg(feature = "sqlite")]
fn database(
    file: &Path,
    wanted: &SeriesFilter,
    take: &mut dyn FnMut(Option<RunLog>) -> Result<(), Error>,
) -> Result<(), Error> {
    super::sqlite::read(file, wanted, take)
}

#[cfg(not(feature = "sqlite"))]
fn database(
    file: &Path,
    _: &SeriesFilter,
    _: &mut dyn FnMut(Option<RunLog>) -> Result<(), Error>,
) -> Result<(), Error> {
    recognize::kind(file).map(|_| ())
}

/// The event files of one run, those of its parts with names of their own.
fn read_events(source: &LogSource, wanted: &SeriesFilter) -> Result<RunLog, Error> {
    let mut run = RunLog::new(&source.name, LogFormat::TensorBoard);
    let mut plugins: BTreeMap<String, tensorboard::TagPlugins> = BTreeMap::new();
    for file in &source.files {
        let folder =
            file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().to_lowercase();
        let part =
            RUN_PART_FOLDERS.contains(&folder.as_str()) && !source.name.to_lowercase().ends_with(&folder);
        let prefix = if part { format!("{folder}/") } else { String::new() };
        tensorboard::read(file, &prefix, &mut run, plugins.entry(prefix.clone()).or_default(), wanted)?;
    }
    if run.configuration.is_empty()
        && let Some(file) = source.files.first()
    {
        let folder = file.parent().unwrap_or(file);
        run.configuration = super::configuration_nearby(folder);
    }
    Ok(run)
}

/// The curves of a metric, with notes.
fn raw(
    gathered: GatheredRuns,
    survey: &LogSurvey,
    laid: (&str, CurveResource, bool),
    options: &ReadOptions,
) -> RawRuns {
    let GatheredRuns { runs, .. } = gathered;
    let (metric, resource, from_0) = laid;
    let mut raw = RawRuns { metric: metric.to_owned(), ..RawRuns::default() };
    raw.direction = runs.iter().find_map(|run| run.direction);
    let (mut without, mut replaced) = (Vec::new(), 0);
    for mut run in runs {
        let aligned = align(&run, metric, resource, from_0);
        if aligned.steps.is_empty() {
            without.push(run.id);
            continue;
        }
        replaced += aligned.replaced;
        let configuration = std::mem::take(&mut run.configuration);
        raw.runs.push(RawRun {
            id: Some(run.id),
            configuration,
            steps: aligned.steps,
            values: aligned.values,
            ended: run.ended,
            seconds: aligned.seconds,
            ..RawRun::default()
        });
    }
    mark_early_ends(&mut raw, options);
    let mut first = LogSurvey { ends: BTreeMap::new(), ..survey.clone() }.to_string();
    for run in &raw.runs {
        *raw.ends.entry(run.ended).or_default() += 1;
    }
    let early: Vec<String> =
        raw.ends.iter().filter(|(ended, _)| ended.is_early()).map(|(e, n)| format!("{n} {e}")).collect();
    if !without.is_empty() {
        first = format!("{first}; {} left out: no `{metric}`", without.len());
    }
    if !early.is_empty() {
        first = format!("{first}; not used as completed runs: {}", early.join(", "));
    }
    let others = survey.metrics.len().saturating_sub(1);
    raw.others = others;
    if others > 0 {
        first = format!("{first}; `{metric}` is 1 of {} metrics", others + 1);
    }
    raw.notes.push(Note::new(NoteTopic::Found, first));
    if replaced > 0 {
        let text = format!(
            "{} replaced by later values of the same step, or by a restart",
            count(replaced, "value")
        );
        raw.notes.push(Note::new(NoteTopic::Removed, text));
    }
    if others > 0 {
        let names = survey.metrics.iter().map(|found| found.name.as_str()).filter(|name| *name != metric);
        raw.notes.push(Note::new(NoteTopic::Excluded, format!("other metrics left out: {}", list(names))));
    }
    raw.notes.extend(survey.damaged_files().into_iter().map(|text| Note::new(NoteTopic::Removed, text)));
    raw
}

/// Marks the runs that end before the others, where their log does not say how they ended.
fn mark_early_ends(raw: &mut RawRuns, options: &ReadOptions) {
    raw.target = common_end(&raw.runs);
    let Some(target) = raw.target.filter(|_| !options.running) else { return };
    for run in &mut raw.runs {
        if run.ended == RunEnd::Unknown && run.end().is_some_and(|end| end < target) {
            run.ended = RunEnd::Stopped;
        }
    }
}
