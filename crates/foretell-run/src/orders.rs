//! What a person orders about the trials of a study that another process, or thread, drives.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use foretell_search::Order;

use crate::no_links;

/// The folder of the orders, in a study's folder.
const FOLDER: &str = "orders";

/// Orders to the process that drives a study: one empty file each, `orders/7.stop` or `orders/7.keep`, beside the log.
///
/// Only the driver writes the log. It looks here ten times a second, records the order, and then removes the file: an order is
/// carried out even if the driver was killed in between, and given twice it changes nothing. While nobody drives the study,
/// an order waits for the next driver.
#[derive(Clone, Debug)]
pub struct Orders {
    folder: PathBuf,
}

impl Orders {
    /// The orders to the study in folder `study`.
    pub fn of(study: &Path) -> Self {
        Self { folder: study.join(FOLDER) }
    }

    /// Orders something about `trial`; what was ordered about it before, and is not carried out yet, is void.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn give(&self, trial: u64, order: Order) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        self.withdraw(trial, opposite(order));
        let file = self.file(trial, order);
        no_links::open(OpenOptions::new().write(true).create(true), &file).map(drop)
    }

    /// The orders that are not carried out yet, by trial.
    pub fn waiting(&self) -> Vec<(u64, Order)> {
        let Ok(files) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut orders: Vec<_> =
            files.flatten().filter_map(|file| parse(file.file_name().to_str()?)).collect();
        orders.sort_unstable();
        orders
    }

    /// Removes an order.
    pub fn withdraw(&self, trial: u64, order: Order) {
        // one that stays is carried out again, which changes nothing
        let _ = fs::remove_file(self.file(trial, order));
    }

    fn file(&self, trial: u64, order: Order) -> PathBuf {
        self.folder.join(format!("{trial}.{}", word(order)))
    }
}

fn word(order: Order) -> &'static str {
    match order {
        Order::Stop => "stop",
        Order::Keep => "keep",
    }
}

fn opposite(order: Order) -> Order {
    match order {
        Order::Stop => Order::Keep,
        Order::Keep => Order::Stop,
    }
}

fn parse(name: &str) -> Option<(u64, Order)> {
    let (trial, order) = name.split_once('.')?;
    let order = [Order::Stop, Order::Keep].into_iter().find(|known| word(*known) == order)?;
    Some((trial.parse().ok()?, order))
}

#[cfg(test)]
mod tests {
    use super::{Order, Orders};

    #[test]
    fn an_order_waits_until_it_is_withdrawn_and_the_last_one_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let orders = Orders::of(folder.path());
        assert_eq!(orders.waiting(), []);
        for (trial, order) in [(12, Order::Stop), (3, Order::Stop), (3, Order::Stop), (3, Order::Keep)] {
            orders.give(trial, order).expect("it is written");
        }
        std::fs::write(folder.path().join("orders/x.stop"), "").expect("it is written");
        assert_eq!(orders.waiting(), [(3, Order::Keep), (12, Order::Stop)]);
        orders.withdraw(3, Order::Keep);
        assert_eq!(orders.waiting(), [(12, Order::Stop)]);
    }
}
