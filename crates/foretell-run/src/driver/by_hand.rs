//! What a person orders while a study runs.

use foretell_search::Store;

use super::{Driver, DriverError, Event, Executor, Observer};
use crate::orders::Orders;

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
            let answer = self.host.session.by_hand(trial, order);
            self.publish(observe)?;
            let answer = answer?;
            orders.withdraw(trial, order);
            if let Some(answer) = answer {
                self.carry_out(trial, &answer, observe)?;
            }
        }
        for (name, configuration) in orders.to_enqueue() {
            let enqueued = self.host.session.enqueue(configuration, Some(name.clone()));
            self.publish(observe)?;
            let enqueued = enqueued?;
            orders.withdraw_enqueued(&name);
            if let Err(error) = enqueued {
                self.notify(observe, Event::NotEnqueued { why: &error.to_string() })?;
            }
        }
        Ok(())
    }
}
