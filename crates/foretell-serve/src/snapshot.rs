//! Large answers, which are in memory once for all who read them, however slowly.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use axum::body::Bytes;

use crate::problem::RequestProblem;

/// The part of a study that a reader has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedPart {
    /// The log that it is of; 0 of none.
    pub(crate) life: u64,
    /// The number of the last record in that part.
    pub(crate) records: u64,
    /// Whether decisions are left out: they are most of the data to send, and a page shows those of one trial at a time.
    pub(crate) is_brief: bool,
    /// The number of points and decisions of each trial it has.
    pub(crate) trials: BTreeMap<usize, (usize, usize)>,
}

/// A whole study as events, as it was at some record.
pub(crate) struct StudySnapshot {
    events: Vec<Bytes>,
    /// What a reader has that has taken it.
    pub(crate) shown: Arc<ReceivedPart>,
}

/// The bytes of one event, or of a document, as long as anybody has to take them.
struct SharedBytes<T>(Arc<T>, fn(&T, usize) -> &[u8], usize);

impl<T> AsRef<[u8]> for SharedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        self.1(&self.0, self.2)
    }
}

impl StudySnapshot {
    /// The events. Each keeps all of the snapshot in memory, so that no second one is made before all readers have taken it.
    pub(crate) fn events(self: &Arc<Self>) -> Vec<Bytes> {
        let events = (0..self.events.len())
            .map(|place| SharedBytes(Arc::clone(self), |all: &Self, place| &all.events[place], place));
        events.map(Bytes::from_owner).collect()
    }
}

/// How many bytes of documents of one study are held for slow readers, before others are refused.
const MAX_HELD_BYTES: usize = 256 << 20;

/// The large answers of a study that somebody is reading.
#[derive(Default)]
pub(crate) struct SnapshotCache {
    /// With decisions, and without.
    whole: [Weak<StudySnapshot>; 2],
    /// By their names, each with the life and the number of records that it is of.
    documents: Vec<CachedDocument>,
}

/// A name, the life and the number of records, and the text while somebody reads it.
type CachedDocument = (String, (u64, u64), Weak<Vec<u8>>);

impl SnapshotCache {
    /// The snapshot that somebody is reading, if it `is_usable`; else the one that `make` makes.
    pub(crate) fn whole(
        &mut self,
        is_brief: bool,
        is_usable: impl FnOnce(&ReceivedPart) -> bool,
        make: impl FnOnce() -> (Vec<Bytes>, ReceivedPart),
    ) -> Arc<StudySnapshot> {
        let slot = &mut self.whole[usize::from(is_brief)];
        if let Some(there) = slot.upgrade().filter(|there| is_usable(&there.shown)) {
            return there;
        }
        let (events, shown) = make();
        let made = Arc::new(StudySnapshot { events, shown: Arc::new(shown) });
        *slot = Arc::downgrade(&made);
        made
    }

    /// The document called `name`: the one of the same records `at` that somebody is reading, or the one that `make` makes.
    pub(crate) fn document(
        &mut self,
        name: &str,
        at: (u64, u64),
        make: impl FnOnce() -> Result<Vec<u8>, RequestProblem>,
    ) -> Result<Bytes, RequestProblem> {
        self.documents.retain(|(_, _, text)| text.strong_count() > 0);
        let there = self.documents.iter().find(|(known, of, _)| known == name && *of == at);
        if let Some(text) = there.and_then(|(_, _, text)| text.upgrade()) {
            return Ok(share_document(text));
        }
        let all = self.documents.iter().filter_map(|(_, _, text)| text.upgrade());
        if all.map(|text| text.len()).sum::<usize>() > MAX_HELD_BYTES {
            return Err(RequestProblem::busy());
        }
        let text = Arc::new(make()?);
        self.documents.push((name.to_owned(), at, Arc::downgrade(&text)));
        Ok(share_document(text))
    }
}

fn share_document(text: Arc<Vec<u8>>) -> Bytes {
    Bytes::from_owner(SharedBytes(text, |text: &Vec<u8>, _| text, 0))
}

#[cfg(test)]
mod tests {
    use super::{MAX_HELD_BYTES, ReceivedPart, SnapshotCache};
    use axum::body::Bytes;

    #[test]
    fn a_snapshot_is_made_once_as_long_as_a_reader_has_any_of_it() {
        let mut snapshots = SnapshotCache::default();
        let make =
            |text: &'static str| move || (vec![Bytes::from_static(text.as_bytes())], ReceivedPart::default());
        let first = snapshots.whole(false, |_| true, make("first")).events();
        let same = snapshots.whole(false, |_| true, make("second")).events();
        assert_eq!((&first[0][..], first[0].as_ptr()), (&b"first"[..], same[0].as_ptr()));
        let brief = snapshots.whole(true, |_| true, make("brief")).events();
        assert_eq!(&brief[0][..], b"brief");
        drop((first, same));
        let later = snapshots.whole(false, |_| true, make("third")).events();
        assert_eq!(&later[0][..], b"third");
        let too_old = snapshots.whole(false, |_| false, make("fourth")).events();
        assert_eq!(&too_old[0][..], b"fourth");
    }

    #[test]
    fn documents_that_nobody_takes_are_limited() {
        let mut snapshots = SnapshotCache::default();
        let large = || Ok(vec![b' '; MAX_HELD_BYTES / 2 + 1]);
        let first = snapshots.document("view", (1, 1), large).expect("there is room");
        let same = snapshots.document("view", (1, 1), || panic!("it is there")).expect("it is there");
        assert_eq!(first.as_ptr(), same.as_ptr());
        let second = snapshots.document("view", (1, 2), large).expect("there is room");
        assert!(snapshots.document("view", (1, 3), large).is_err());
        drop(second);
        assert!(snapshots.document("view", (1, 3), large).is_ok());
    }
}
