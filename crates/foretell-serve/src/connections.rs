//! Counts of open connections, by address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::options::Limits;

/// The connections of a server.
#[derive(Clone)]
pub(crate) struct Connections {
    limits: Limits,
    open: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// One connection; it counts until it is dropped.
pub(crate) struct Connection {
    place: IpAddr,
    of: Connections,
}

impl Connections {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, open: Arc::default() }
    }

    /// Counts one more from `address`; if that is too many, the limit in words.
    pub(crate) fn open(&self, address: IpAddr) -> Result<Connection, String> {
        let place = network(address.to_canonical());
        let mut open = self.counts();
        let Limits { connections, connections_per_address, .. } = self.limits;
        if open.values().sum::<usize>() >= connections {
            return Err(format!("this server accepts at most {connections} connections. Try again later"));
        }
        let own = open.entry(place).or_default();
        if *own >= connections_per_address {
            return Err(format!(
                "this server accepts at most {connections_per_address} connections per address. Close some of yours"
            ));
        }
        *own += 1;
        Ok(Connection { place, of: self.clone() })
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.of.counts();
        if let Some(own) = open.get_mut(&self.place) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.place);
            }
        }
    }
}

/// Whoever has one address of version 6 has its network of 2^64.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}
