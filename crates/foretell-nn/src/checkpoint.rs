//! Checkpoints: all that is needed to continue training as if it had never stopped.
//!
//! A file `epoch-NNNNNN.checkpoint` is the line `foretell-nn checkpoint/3`, then three blocks. Each block is a length (8 bytes) and
//! that many bytes: a JSON header; the values of all parameters in the order of visits (4 bytes each); the optimizer's steps (8
//! bytes) and its state for each trained parameter, in the same order (4 bytes per value). The CRC-32 (4 bytes) of everything before
//! follows. Numbers are little-endian. Random numbers need no saving: see `stream`. A file is written under another name and renamed
//! when complete, and the last two are kept, so a crash at any moment leaves a readable one.

use crate::error::Error;
use crate::identity::TrainingIdentity;
use crate::layers::parameter::Module;
use crate::optimizer::{Optimizer, OptimizerProgress};
use crate::report::EpochReport;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

const FORMAT_PREFIX: &[u8] = b"foretell-nn checkpoint/";
const FIRST_LINE: &[u8] = b"foretell-nn checkpoint/3\n";
const FILE_EXTENSION: &str = "checkpoint";
const KEPT_CHECKPOINTS: usize = 2;

/// The progress of a training, apart from weights and optimizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckpointHeader {
    /// The training that this is of.
    pub identity: TrainingIdentity,
    /// Number of the current attempt, from 0; none if every attempt failed.
    pub attempt: Option<usize>,
    /// Epochs spent on attempts that failed.
    pub failed_epochs: usize,
    /// One report per epoch, from epoch 1.
    pub reports: Vec<EpochReport>,
}

/// The network and the state of its optimizer. None after every attempt failed.
pub(crate) type LearnerState<N> = (N, Optimizer);

/// Writes the checkpoint of the last epoch of `header` into `directory` and deletes all but the last two.
///
/// # Errors
/// [`Error::File`] if it cannot be written.
pub(crate) fn save<N: Module>(
    directory: &Path,
    header: &CheckpointHeader,
    learner: Option<&LearnerState<N>>,
) -> Result<(), Error> {
    let path = directory.join(format!("epoch-{:06}.{FILE_EXTENSION}", header.reports.len()));
    encode_checkpoint(header, learner)
        .and_then(|bytes| write_complete_file(&path, &bytes))
        .map_err(|source| Error::write(&path, source))?;
    // after the new one is in place, so that there is a whole one at any moment
    for old in list_checkpoints(directory)?.iter().rev().skip(KEPT_CHECKPOINTS) {
        std::fs::remove_file(old).map_err(|source| Error::write(old, source))?;
    }
    Ok(())
}

fn write_complete_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    let unfinished = path.with_extension("unfinished");
    let mut file = std::fs::File::create(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    // only now does it get its name, so that a crash leaves no half of a checkpoint under it
    std::fs::rename(&unfinished, path)
}

/// A checkpoint read back.
pub(crate) struct RestoredCheckpoint<N> {
    /// The progress of the training.
    pub header: CheckpointHeader,
    /// Network and optimizer.
    pub learner: Option<LearnerState<N>>,
    /// Newer checkpoints that were damaged and skipped.
    pub damaged: Vec<PathBuf>,
}

/// Reads the newest checkpoint of `directory` that is whole; `fresh` builds the network and the optimizer to put the states into.
///
/// # Errors
/// [`Error::ForeignCheckpoint`] if it is of a training with another identity, [`Error::OtherCheckpoint`] if another version of
/// this crate wrote it, [`Error::Damaged`] if there are checkpoints but none is whole.
pub(crate) fn load<N: Module>(
    directory: &Path,
    identity: &TrainingIdentity,
    fresh: impl Fn() -> LearnerState<N>,
) -> Result<Option<RestoredCheckpoint<N>>, Error> {
    let mut newest_fault = None;
    let mut damaged = Vec::new();
    for path in list_checkpoints(directory)?.into_iter().rev() {
        let bytes = std::fs::read(&path).map_err(|e| Error::read(&path, e))?;
        // a checkpoint of another version is not damaged, so no older one is continued in its place
        if bytes.starts_with(FORMAT_PREFIX)
            && bytes.len() >= FIRST_LINE.len()
            && !bytes.starts_with(FIRST_LINE)
        {
            return Err(Error::OtherCheckpoint { path });
        }
        let restored = blocks(&bytes).and_then(|[header, weights, state]| {
            let header: CheckpointHeader = serde_json::from_slice(header).map_err(|e| e.to_string())?;
            Ok((header, weights, state))
        });
        match restored {
            Ok((header, weights, state)) => {
                check_identity(&path, &header.identity, identity)?;
                let learner = match header.attempt {
                    Some(_) => Some(
                        learner(fresh(), weights, state).map_err(|reason| Error::Damaged { path, reason })?,
                    ),
                    None => None,
                };
                return Ok(Some(RestoredCheckpoint { header, learner, damaged }));
            }
            Err(reason) => {
                // the newest is reported, because it is the one that would have been continued
                newest_fault.get_or_insert(Error::Damaged { path: path.clone(), reason });
                damaged.push(path);
            }
        }
    }
    newest_fault.map_or(Ok(None), Err)
}

/// Deletes the checkpoints of `directory`, because a training starts again.
///
/// # Errors
/// [`Error::File`] if one cannot be deleted.
pub(crate) fn clear(directory: &Path) -> Result<(), Error> {
    list_checkpoints(directory)?
        .iter()
        .try_for_each(|path| std::fs::remove_file(path).map_err(|source| Error::write(path, source)))
}

/// The checkpoints of `directory`, oldest first; none if there is no such directory.
fn list_checkpoints(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::read(directory, error)),
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == FILE_EXTENSION))
        .collect();
    paths.sort();
    Ok(paths)
}

fn check_identity(path: &Path, found: &TrainingIdentity, expected: &TrainingIdentity) -> Result<(), Error> {
    match found.first_difference(expected) {
        None => Ok(()),
        Some((field, found, expected)) => {
            Err(Error::ForeignCheckpoint { path: path.to_owned(), field, found, expected })
        }
    }
}

fn encode_checkpoint<N: Module>(
    header: &CheckpointHeader,
    learner: Option<&LearnerState<N>>,
) -> std::io::Result<Vec<u8>> {
    let (mut weights, mut state) = (Vec::new(), Vec::new());
    if let Some((network, optimizer)) = learner {
        for parameter in network.parameters() {
            push(&mut weights, &parameter.values.into_values());
        }
        let OptimizerProgress { steps, memories } = optimizer.progress();
        state.extend(steps.to_le_bytes());
        for memory in memories.iter().flatten() {
            push(&mut state, &memory.clone().into_values());
        }
    }
    let mut bytes = FIRST_LINE.to_vec();
    for block in [serde_json::to_vec(header)?, weights, state] {
        bytes.extend((block.len() as u64).to_le_bytes());
        bytes.extend(block);
    }
    bytes.extend(crc32_checksum(&bytes).to_le_bytes());
    Ok(bytes)
}

fn crc32_checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

/// The three blocks of a checkpoint file, or what is wrong with it.
fn blocks(bytes: &[u8]) -> Result<[&[u8]; 3], String> {
    let (body, sum) = bytes.split_last_chunk::<4>().ok_or("the file is empty")?;
    let mut rest =
        body.strip_prefix(FIRST_LINE).ok_or("it does not start like a checkpoint of this version")?;
    if crc32_checksum(body) != u32::from_le_bytes(*sum) {
        return Err("its checksum is wrong".to_owned());
    }
    let mut blocks = [&rest[..0]; 3];
    for block in &mut blocks {
        let (length, after) = rest.split_first_chunk::<8>().ok_or("the length of a block is missing")?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|e| e.to_string())?;
        (*block, rest) = after.split_at_checked(length).ok_or("a block ends early")?;
    }
    Ok(blocks)
}

fn push(bytes: &mut Vec<u8>, values: &[f32]) {
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// The next `count` values of a block.
fn take_floats(block: &mut &[u8], count: usize) -> Result<Vec<f32>, String> {
    let (values, rest) = block.split_at_checked(4 * count).ok_or("a block has too few values")?;
    *block = rest;
    Ok(values.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

fn learner<N: Module>(
    (mut network, optimizer): LearnerState<N>,
    mut weights: &[u8],
    state: &[u8],
) -> Result<LearnerState<N>, String> {
    let mut result = Ok(());
    network.visit(&mut |parameter| match take_floats(&mut weights, parameter.count()) {
        Ok(values) => parameter.set_value_list(values),
        Err(error) => result = Err(error),
    });
    result?;
    let (steps, mut state) =
        state.split_first_chunk::<8>().ok_or("the number of steps of the optimizer is missing")?;
    let steps = u64::from_le_bytes(*steps);
    let optimizer = optimizer.resume_at(steps, &network, |count| take_floats(&mut state, count))?;
    if weights.is_empty() && state.is_empty() {
        return Ok((network, optimizer));
    }
    Err("a block has too many values".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_of_another_format_is_refused_in_one_sentence() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(
            directory.path().join("epoch-000001.checkpoint"),
            b"foretell-nn checkpoint/2\nanything",
        )
        .unwrap();
        let fresh = || -> LearnerState<crate::layers::dense::DenseLayer> { unreachable!("nothing is read") };
        let error = load(directory.path(), &TrainingIdentity::default(), fresh).err().unwrap().to_string();
        assert!(error.ends_with(
            "epoch-000001.checkpoint: another version of Foretell wrote this checkpoint. Continue with that version, or delete the checkpoint to start from scratch"
        ), "{error}");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let header = CheckpointHeader {
            identity: TrainingIdentity::default(),
            attempt: None,
            failed_epochs: 5,
            reports: Vec::new(),
        };
        let whole = encode_checkpoint::<crate::layers::dense::DenseLayer>(&header, None).unwrap();
        assert!(blocks(&whole).is_ok());
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            assert!(blocks(&flipped).is_err(), "bit at byte {at}");
            assert!(blocks(&whole[..at]).is_err(), "cut at byte {at}");
        }
    }
}
