//! Messages on their way through a channel that may be full: none is lost, none overtakes another, and nobody waits.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

use crate::process::message::TrialMessage;

/// The sending end of a bounded channel, and the messages that found no room in it.
pub(crate) struct Outbox {
    channel: SyncSender<TrialMessage>,
    waiting: VecDeque<TrialMessage>,
}

impl Outbox {
    pub(crate) fn new(channel: SyncSender<TrialMessage>) -> Self {
        Self { channel, waiting: VecDeque::new() }
    }

    /// Sends `message`, or keeps it until there is room. It is dropped if nobody receives any more.
    pub(crate) fn send(&mut self, message: TrialMessage) {
        self.waiting.push_back(message);
        self.flush();
    }

    /// Sends the messages for which there is room now.
    pub(crate) fn flush(&mut self) {
        while let Some(message) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(message)) = self.channel.try_send(message) {
                self.waiting.push_front(message);
                return;
            }
        }
    }

    /// Whether messages wait for room: then nothing more should be read that may bring further ones.
    pub(crate) fn is_full(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Outbox;
    use crate::process::message::{MessageKind, TrialMessage};
    use std::sync::mpsc::sync_channel;

    fn message(trial: u64) -> TrialMessage {
        TrialMessage { trial, kind: MessageKind::Chosen(String::new()) }
    }

    #[test]
    fn what_finds_no_room_waits_and_keeps_its_place() {
        let (sender, receiver) = sync_channel(2);
        let mut outbox = Outbox::new(sender);
        (1..=5).for_each(|trial| outbox.send(message(trial)));
        assert!(outbox.is_full());
        let mut heard = Vec::new();
        while let Ok(message) = receiver.try_recv() {
            heard.push(message.trial);
            outbox.flush();
        }
        assert_eq!(heard, [1, 2, 3, 4, 5]);
        assert!(!outbox.is_full());
    }

    #[test]
    fn nothing_waits_for_a_receiver_that_is_gone() {
        let (sender, receiver) = sync_channel(1);
        let mut outbox = Outbox::new(sender);
        (1..=3).for_each(|trial| outbox.send(message(trial)));
        drop(receiver);
        outbox.flush();
        assert!(!outbox.is_full());
    }
}
