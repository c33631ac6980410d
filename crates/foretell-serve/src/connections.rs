//! Counts of open connections, by address. Those of workers count only for the total: many workers behind one gateway are normal.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::options::ReaderLimits;

/// The connections of a server.
#[derive(Clone)]
pub(crate) struct ConnectionCounter {
    limits: ReaderLimits,
    open: Arc<Mutex<ConnectionCounts>>,
}

/// The connections of readers, and of clients that have not sent a request yet, by address; those of workers.
#[derive(Default)]
struct ConnectionCounts {
    readers: BTreeMap<IpAddr, usize>,
    workers: usize,
}

/// One connection; it counts until it is dropped.
pub(crate) struct CountedConnection {
    place: IpAddr,
    counted: ConnectionCounter,
    is_worker: AtomicBool,
    is_extra: bool,
}

impl ConnectionCounter {
    pub(crate) fn new(limits: ReaderLimits) -> Self {
        Self { limits, open: Arc::default() }
    }

    /// Counts one more from `address`. If this server has no place at all, an error with the limit.
    pub(crate) fn open(&self, address: IpAddr) -> Result<CountedConnection, String> {
        // an address of version 4 may arrive in the form of version 6, and would otherwise be counted as another one
        let place = network_address(address.to_canonical());
        let mut open = self.counts();
        let ReaderLimits { connections, connections_per_address, .. } = self.limits;
        if open.workers + open.readers.values().sum::<usize>() >= connections {
            return Err(format!("this server accepts at most {connections} connections. Try again later"));
        }
        let own = open.readers.entry(place).or_default();
        let is_extra = *own >= connections_per_address;
        *own += 1;
        Ok(CountedConnection { place, counted: self.clone(), is_worker: AtomicBool::new(false), is_extra })
    }

    fn counts(&self) -> MutexGuard<'_, ConnectionCounts> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionCounts {
    fn remove_reader(&mut self, place: IpAddr) {
        if let Some(own) = self.readers.get_mut(&place) {
            *own -= 1;
            if *own == 0 {
                self.readers.remove(&place);
            }
        }
    }
}

impl CountedConnection {
    /// Whether its address had all the connections of readers before. Such a connection is for a worker, who shows it by its first request.
    pub(crate) fn is_extra(&self) -> bool {
        self.is_extra
    }

    /// Checks that an admitted request, of a worker or of a reader, may use this connection. A reader beyond the limit gets it as an error.
    pub(crate) fn admit(&self, of_worker: bool) -> Result<(), String> {
        if of_worker && !self.is_worker.swap(true, Ordering::Relaxed) {
            let mut open = self.counted.counts();
            open.remove_reader(self.place);
            open.workers += 1;
        }
        if self.is_extra && !self.is_worker.load(Ordering::Relaxed) {
            let most = self.counted.limits.connections_per_address;
            return Err(format!(
                "this server accepts at most {most} connections of readers per address. Close some of yours"
            ));
        }
        Ok(())
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let mut open = self.counted.counts();
        match *self.is_worker.get_mut() {
            true => open.workers -= 1,
            false => open.remove_reader(self.place),
        }
    }
}

/// Whoever has one address of version 6 has its network of 2^64.
fn network_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_of_one_address_are_limited_by_the_total_only() {
        let limits = ReaderLimits { connections: 5, connections_per_address: 1, ..ReaderLimits::default() };
        let (connections, gateway) = (ConnectionCounter::new(limits), IpAddr::from([10, 0, 0, 1]));
        let open = |of_worker| {
            let connection = connections.open(gateway)?;
            connection.admit(of_worker).map(|()| connection)
        };
        let reader = open(false).expect("the first reader");
        let workers: Vec<CountedConnection> = (0..3).map(|_| open(true).expect("a place")).collect();
        assert!(open(false).is_err_and(|why| why.contains("1 connections of readers per address")));
        let last = open(true).expect("the fifth");
        assert!(open(true).is_err_and(|why| why.contains("at most 5 connections")));
        drop((reader, last, workers));
        assert!(open(false).is_ok(), "closed connections do not count");
    }
}
