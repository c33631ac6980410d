//! The orders of a person about the trials of a study that another process, or thread, drives.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use foretell::Configuration;
use foretell_search::ManualOrder;
use serde::{Deserialize, Serialize};

use crate::log::atomic_write::write_atomically;
use crate::log::no_links;
use crate::regular;

/// The folder of the orders, in a study's folder.
const ORDERS_FOLDER: &str = "orders";
/// The ending of the file of an enqueued configuration.
const ENQUEUE_EXTENSION: &str = "enqueue";

/// Orders to the process that drives a study, one file each next to the log: `orders/7.stop` or `orders/7.keep`, which are empty, or
/// `orders/TIME.enqueue`, which holds a configuration to try next, as JSON.
///
/// Only the driver writes the log. It looks here ten times a second, records the order, and then removes the file: an order is
/// carried out even if the driver was killed in between, and giving it twice changes nothing. While nobody drives the study,
/// an order waits for the next driver.
#[derive(Clone, Debug)]
pub struct Orders {
    folder: PathBuf,
}

/// An order to try a configuration next.
#[derive(Clone, Debug, PartialEq)]
pub struct EnqueueOrder {
    /// The name of its file.
    pub file: String,
    /// The name under which it is carried out once: that of its sender, or that of its file.
    pub id: String,
    /// The configuration.
    pub configuration: Configuration,
}

/// The file of an order to which its sender gave a name.
#[derive(Serialize, Deserialize)]
struct NamedConfiguration {
    id: String,
    configuration: Configuration,
}

impl Orders {
    /// The orders to the study in folder `study`.
    pub fn for_study(study: &Path) -> Self {
        Self { folder: study.join(ORDERS_FOLDER) }
    }

    /// Orders something about `trial`; what was ordered about it before, and is not carried out yet, is void.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_order(&self, trial: u64, order: ManualOrder) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        self.withdraw_order(trial, opposite_order(order));
        let file = self.order_path(trial, order);
        no_links::open(OpenOptions::new().write(true).create(true), &file).map(drop)
    }

    /// The orders that are not carried out yet, by trial.
    pub fn waiting_orders(&self) -> Vec<(u64, ManualOrder)> {
        let Ok(files) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut orders: Vec<_> =
            files.flatten().filter_map(|file| parse_file_name(file.file_name().to_str()?)).collect();
        orders.sort_unstable();
        orders
    }

    /// Removes an order.
    pub fn withdraw_order(&self, trial: u64, order: ManualOrder) {
        // one that stays is carried out again, which changes nothing
        let _ = fs::remove_file(self.order_path(trial, order));
    }

    /// Orders that `configuration` is tried next. Orders with the same `id` are carried out once.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn enqueue(&self, configuration: &Configuration, id: Option<&str>) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let text = match id {
            Some(id) => serde_json::to_string(&NamedConfiguration {
                id: id.to_owned(),
                configuration: configuration.clone(),
            }),
            None => serde_json::to_string(configuration),
        }?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        // names sort by time; two at once differ by the process, or the next nanosecond is free
        let free =
            (now..now + 1000).find(|nanos| !self.enqueue_path_for_time(*nanos).exists()).unwrap_or(now);
        write_atomically(&self.enqueue_path_for_time(free), text.as_bytes())
    }

    /// The configurations to try next, oldest first. A file without a configuration is left out.
    pub fn waiting_configurations(&self) -> Vec<EnqueueOrder> {
        let Ok(files) = fs::read_dir(&self.folder) else { return Vec::new() };
        let orders = files.flatten().filter_map(|file| {
            let name = file.file_name().to_str()?.strip_suffix(&format!(".{ENQUEUE_EXTENSION}"))?.to_owned();
            let text = regular::read_regular_text(&file.path()).ok()?;
            match serde_json::from_str(&text) {
                Ok(NamedConfiguration { id, configuration }) => {
                    Some(EnqueueOrder { file: name, id, configuration })
                }
                Err(_) => Some(EnqueueOrder {
                    id: name.clone(),
                    file: name,
                    configuration: serde_json::from_str(&text).ok()?,
                }),
            }
        });
        let mut orders: Vec<EnqueueOrder> = orders.collect();
        orders.sort_by(|a, b| a.file.cmp(&b.file));
        orders
    }

    /// Removes the order in `file` to enqueue something.
    pub fn withdraw_enqueued(&self, file: &str) {
        // one that stays is carried out again, which changes nothing
        let _ = fs::remove_file(self.enqueue_path(file));
    }

    fn enqueue_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ENQUEUE_EXTENSION}"))
    }

    fn enqueue_path_for_time(&self, nanos: u128) -> PathBuf {
        self.enqueue_path(&format!("{nanos:020}-{}", std::process::id()))
    }

    fn order_path(&self, trial: u64, order: ManualOrder) -> PathBuf {
        self.folder.join(format!("{trial}.{}", order_extension(order)))
    }
}

fn order_extension(order: ManualOrder) -> &'static str {
    match order {
        ManualOrder::Stop => "stop",
        ManualOrder::Keep => "keep",
    }
}

fn opposite_order(order: ManualOrder) -> ManualOrder {
    match order {
        ManualOrder::Stop => ManualOrder::Keep,
        ManualOrder::Keep => ManualOrder::Stop,
    }
}

fn parse_file_name(name: &str) -> Option<(u64, ManualOrder)> {
    let (trial, order) = name.split_once('.')?;
    let order =
        [ManualOrder::Stop, ManualOrder::Keep].into_iter().find(|known| order_extension(*known) == order)?;
    Some((trial.parse().ok()?, order))
}

#[cfg(test)]
mod tests {
    use super::{ManualOrder, Orders};

    #[test]
    fn an_order_waits_until_it_is_withdrawn_and_the_last_one_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let orders = Orders::for_study(folder.path());
        assert_eq!(orders.waiting_orders(), []);
        for (trial, order) in
            [(12, ManualOrder::Stop), (3, ManualOrder::Stop), (3, ManualOrder::Stop), (3, ManualOrder::Keep)]
        {
            orders.write_order(trial, order).expect("it is written");
        }
        std::fs::write(folder.path().join("orders/x.stop"), "").expect("it is written");
        assert_eq!(orders.waiting_orders(), [(3, ManualOrder::Keep), (12, ManualOrder::Stop)]);
        orders.withdraw_order(3, ManualOrder::Keep);
        assert_eq!(orders.waiting_orders(), [(12, ManualOrder::Stop)]);
    }

    #[test]
    fn configurations_wait_in_the_order_in_which_they_were_given() {
        let folder = tempfile::tempdir().expect("a folder");
        let orders = Orders::for_study(folder.path());
        let rate = |lr: f64| foretell::Configuration::from([("lr".to_owned(), foretell::Value::Number(lr))]);
        for lr in [0.3, 0.1, 0.1, 0.2] {
            orders.enqueue(&rate(lr), None).expect("it is written");
        }
        std::fs::write(folder.path().join("orders/5.enqueue"), "{").expect("it is written");
        let waiting = orders.waiting_configurations();
        let configurations: Vec<_> = waiting.iter().map(|order| order.configuration.clone()).collect();
        assert_eq!(configurations, [rate(0.3), rate(0.1), rate(0.1), rate(0.2)]);
        orders.withdraw_enqueued(&waiting[0].file);
        assert_eq!(orders.waiting_configurations().len(), 3);
        orders.enqueue(&rate(0.4), Some("mine")).expect("it is written");
        let named = orders.waiting_configurations().pop().expect("it is there");
        assert_eq!((named.id.as_str(), named.configuration), ("mine", rate(0.4)));
        assert_eq!(orders.waiting_orders(), []);
    }
}
