//! Checkpoints: everything a training needs to continue as if it had never stopped.
//!
//! A file `epoch-NNNNNN.checkpoint` is the line `foretell-nn checkpoint/2`, then three blocks, each a length (8 bytes,
//! little-endian) and that many bytes: a JSON header, the weights, the optimizer's state (both in burn's own record
//! format); then the CRC-32 (4 bytes, little-endian) of everything before. Random numbers need no saving: see
//! `stream`. A file is written under another name and renamed when complete, and the last two are kept, so a crash
//! at any moment leaves a readable one.

use crate::error::Error;
use crate::identity::Identity;
use crate::report::EpochReport;
use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::store::ModuleRecord;
use burn::tensor::Bytes;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

const FIRST_LINE: &[u8] = b"foretell-nn checkpoint/2\n";
const EXTENSION: &str = "checkpoint";
const KEPT: usize = 2;

/// The progress of a training, apart from weights and optimizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Which training this is.
    pub identity: Identity,
    /// Number of the current attempt, from 0; none if every attempt failed.
    pub attempt: Option<usize>,
    /// Epochs spent on attempts that failed.
    pub failed_epochs: usize,
    /// One report per epoch, from epoch 1.
    pub reports: Vec<EpochReport>,
}

/// The network and the state of its optimizer. None after every attempt failed.
pub(crate) type Learner<N> = (N, ModuleOptimizer);

/// Writes the checkpoint of the last epoch of `header` into `directory` and deletes all but the last two.
///
/// # Errors
/// [`Error::File`] if it cannot be written.
pub(crate) fn save<N: Module>(
    directory: &Path,
    header: &Header,
    learner: Option<&Learner<N>>,
) -> Result<(), Error> {
    let path = directory.join(format!("epoch-{:06}.{EXTENSION}", header.reports.len()));
    let failed = |source| Error::write(&path, source);
    let bytes = encode(header, learner).map_err(failed)?;
    std::fs::create_dir_all(directory).map_err(failed)?;
    let unfinished = path.with_extension("unfinished");
    let mut file = std::fs::File::create(&unfinished).map_err(failed)?;
    file.write_all(&bytes).and_then(|()| file.sync_data()).map_err(failed)?;
    std::fs::rename(&unfinished, &path).map_err(failed)?;
    for old in list(directory)?.iter().rev().skip(KEPT) {
        std::fs::remove_file(old).map_err(|source| Error::write(old, source))?;
    }
    Ok(())
}

/// A checkpoint read back.
pub(crate) struct Restored<N> {
    /// The progress of the training.
    pub header: Header,
    /// Its network and optimizer.
    pub learner: Option<Learner<N>>,
    /// Newer checkpoints that were damaged and skipped.
    pub damaged: Vec<PathBuf>,
}

/// Reads the newest checkpoint of `directory` that is whole; `fresh` builds the network and the optimizer to put the states into.
///
/// # Errors
/// [`Error::ForeignCheckpoint`] if it is of a training with another identity, [`Error::Damaged`] if there are
/// checkpoints but none is whole.
pub(crate) fn load<N: Module>(
    directory: &Path,
    identity: &Identity,
    fresh: impl Fn() -> Learner<N>,
) -> Result<Option<Restored<N>>, Error> {
    let mut newest_fault = None;
    let mut damaged = Vec::new();
    for path in list(directory)?.into_iter().rev() {
        let bytes = std::fs::read(&path).map_err(|e| Error::read(&path, e))?;
        let restored = blocks(&bytes).and_then(|[header, weights, state]| {
            let header: Header = serde_json::from_slice(header).map_err(|e| e.to_string())?;
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
                return Ok(Some(Restored { header, learner, damaged }));
            }
            Err(reason) => {
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
    list(directory)?
        .iter()
        .try_for_each(|path| std::fs::remove_file(path).map_err(|source| Error::write(path, source)))
}

/// The checkpoints of `directory`, oldest first; none if there is no such directory.
fn list(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::read(directory, error)),
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
        .collect();
    paths.sort();
    Ok(paths)
}

fn check_identity(path: &Path, found: &Identity, expected: &Identity) -> Result<(), Error> {
    match found.first_difference(expected) {
        None => Ok(()),
        Some((field, found, expected)) => {
            Err(Error::ForeignCheckpoint { path: path.to_owned(), field, found, expected })
        }
    }
}

fn encode<N: Module>(header: &Header, learner: Option<&Learner<N>>) -> std::io::Result<Vec<u8>> {
    let (weights, state) = match learner {
        Some((network, optimizer)) => (
            network.clone().into_record().into_bytes().map_err(std::io::Error::other)?.to_vec(),
            optimizer.into_bytes().map_err(std::io::Error::other)?.to_vec(),
        ),
        None => (Vec::new(), Vec::new()),
    };
    let mut bytes = FIRST_LINE.to_vec();
    for block in [serde_json::to_vec(header)?, weights, state] {
        bytes.extend((block.len() as u64).to_le_bytes());
        bytes.extend(block);
    }
    bytes.extend(checksum(&bytes).to_le_bytes());
    Ok(bytes)
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

/// The three blocks of a checkpoint file, or what is wrong with it.
fn blocks(bytes: &[u8]) -> Result<[&[u8]; 3], String> {
    let (body, sum) = bytes.split_last_chunk::<4>().ok_or("the file is empty")?;
    let mut rest =
        body.strip_prefix(FIRST_LINE).ok_or("it does not begin like a checkpoint of this version")?;
    if checksum(body) != u32::from_le_bytes(*sum) {
        return Err("its checksum is wrong".to_owned());
    }
    let mut blocks = [&rest[..0]; 3];
    for block in &mut blocks {
        let (length, after) = rest.split_first_chunk::<8>().ok_or("a block has no length")?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|e| e.to_string())?;
        (*block, rest) = after.split_at_checked(length).ok_or("a block ends early")?;
    }
    Ok(blocks)
}

fn learner<N: Module>(
    (network, optimizer): Learner<N>,
    weights: &[u8],
    state: &[u8],
) -> Result<Learner<N>, String> {
    let record =
        ModuleRecord::from_bytes(Bytes::from_bytes_vec(weights.to_vec())).map_err(|e| e.to_string())?;
    let network = network.try_load_record(record).map_err(|e| e.to_string())?;
    let state = Bytes::from_bytes_vec(state.to_vec());
    Ok((network, optimizer.from_bytes(state).map_err(|e| e.to_string())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let header =
            Header { identity: Identity::default(), attempt: None, failed_epochs: 5, reports: Vec::new() };
        let whole = encode::<crate::layers::dense::Dense>(&header, None).unwrap();
        assert!(blocks(&whole).is_ok());
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            assert!(blocks(&flipped).is_err(), "bit at byte {at}");
            assert!(blocks(&whole[..at]).is_err(), "cut at byte {at}");
        }
    }
}
