//! The orders of a person while a study runs.

use foretell_search::Store;

use super::{Driver, DriverError, Event, Observer};
use crate::fleet::executor::Executor;
use crate::host::hosted::HostError;
use crate::host::orders::{Orders, ToEnqueue};

impl<E: Executor, S: Store> Driver<E, S> {
    /// The same driver, which carries out what a person [orders](Orders).
    #[must_use]
    pub fn with_orders(self, orders: Orders) -> Self {
        Self { orders: Some(orders), ..self }
    }

    /// Records and carries out what was ordered. An order is withdrawn only once it is recorded.
    pub(super) fn obey(&mut self, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        let Some(orders) = self.orders.clone() else { return Ok(()) };
        for (trial, order) in orders.waiting() {
            let ordered = self.host.order(trial, order);
            self.publish(observe)?;
            match ordered {
                Err(HostError::Store(error)) => return Err(error.into()),
                // what has ended needs no order
                _ => orders.withdraw(trial, order),
            }
        }
        for ToEnqueue { file, id, configuration } in orders.to_enqueue() {
            let enqueued = self.host.enqueue_by(configuration, Some(id));
            self.publish(observe)?;
            match enqueued {
                Err(HostError::Store(error)) => return Err(error.into()),
                Err(error) => self.notify(observe, Event::NotEnqueued { why: &error.to_string() })?,
                Ok(()) => {}
            }
            orders.withdraw_enqueued(&file);
        }
        Ok(())
    }
}
