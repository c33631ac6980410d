//! The orders of a person while a study runs.

use foretell_search::Store;

use super::{Driver, DriverError, DriverEvent, EventObserver};
use crate::fleet::executor::Executor;
use crate::host::hosted::HostError;
use crate::host::orders::{EnqueueOrder, Orders};

impl<E: Executor, S: Store> Driver<E, S> {
    /// Carries out what a person [orders](Orders).
    #[must_use]
    pub fn with_orders(self, orders: Orders) -> Self {
        Self { orders: Some(orders), ..self }
    }

    /// Records and carries out what was ordered. An order is withdrawn only once it is recorded.
    pub(super) fn obey(&mut self, observe: &mut EventObserver<'_>) -> Result<(), DriverError> {
        let Some(orders) = self.orders.clone() else { return Ok(()) };
        for (trial, order) in orders.waiting_orders() {
            let ordered = self.host.carry_out_order(trial, order);
            self.publish_news(observe)?;
            match ordered {
                Err(HostError::Store(error)) => return Err(error.into()),
                // what has ended needs no order
                _ => orders.withdraw_order(trial, order),
            }
        }
        for EnqueueOrder { file, id, configuration } in orders.waiting_configurations() {
            let enqueued = self.host.enqueue_once(configuration, Some(id));
            self.publish_news(observe)?;
            match enqueued {
                Err(HostError::Store(error)) => return Err(error.into()),
                Err(error) => {
                    self.notify_observer(observe, DriverEvent::NotEnqueued { why: &error.to_string() })?
                }
                Ok(()) => {}
            }
            orders.withdraw_enqueued(&file);
        }
        Ok(())
    }
}
