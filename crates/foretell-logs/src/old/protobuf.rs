//! The fields of a protobuf message, as far as logs need them.

/// The content of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WireValue<'a> {
    /// An integer, a flag or an enumeration.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes.
    Fixed32(u32),
    /// A message, a text or a packed list.
    Bytes(&'a [u8]),
}

impl<'a> WireValue<'a> {
    pub(crate) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(crate) fn integer(self) -> Option<i64> {
        match self {
            Self::Varint(value) => Some(value as i64),
            _ => None,
        }
    }

    /// A `double` or a `float`.
    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Self::Fixed64(bits) => Some(f64::from_bits(bits)),
            Self::Fixed32(bits) => Some(f64::from(f32::from_bits(bits))),
            _ => None,
        }
    }
}

/// The message is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DamagedMessage;

/// The fields of a message, in their order.
#[derive(Clone, Debug)]
pub(crate) struct MessageFields<'a> {
    rest: &'a [u8],
}

impl<'a> MessageFields<'a> {
    pub(crate) fn in_message(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn read_varint(&mut self) -> Result<u64, DamagedMessage> {
        let mut value = 0_u64;
        for at in 0..10 {
            let (&byte, rest) = self.rest.split_first().ok_or(DamagedMessage)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DamagedMessage)
    }

    fn take_bytes(&mut self, length: u64) -> Result<&'a [u8], DamagedMessage> {
        let length = usize::try_from(length).map_err(|_| DamagedMessage)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(DamagedMessage)?;
        self.rest = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<(u64, WireValue<'a>), DamagedMessage> {
        let key = self.read_varint()?;
        let field = match key & 7 {
            0 => WireValue::Varint(self.read_varint()?),
            1 => WireValue::Fixed64(u64::from_le_bytes(
                self.take_bytes(8)?.try_into().map_err(|_| DamagedMessage)?,
            )),
            2 => {
                let length = self.read_varint()?;
                WireValue::Bytes(self.take_bytes(length)?)
            }
            5 => WireValue::Fixed32(u32::from_le_bytes(
                self.take_bytes(4)?.try_into().map_err(|_| DamagedMessage)?,
            )),
            _ => return Err(DamagedMessage),
        };
        Ok((key >> 3, field))
    }
}

impl<'a> Iterator for MessageFields<'a> {
    type Item = Result<(u64, WireValue<'a>), DamagedMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            // behind a damaged field nobody knows where the next one begins, so that nothing more is read
            self.rest = &[];
        }
        Some(field)
    }
}

/// The fields of a message, or nothing of a damaged one.
pub(crate) fn all(message: &[u8]) -> Result<Vec<(u64, WireValue<'_>)>, DamagedMessage> {
    MessageFields::in_message(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_a_cut_message_is_damaged() {
        // 1: varint 300, 2: "ab", 3: 1.5 (double), 4: 0.5 (float)
        let mut message = vec![0x08, 0xac, 0x02, 0x12, 2, b'a', b'b', 0x19];
        message.extend(1.5_f64.to_le_bytes());
        message.push(0x25);
        message.extend(0.5_f32.to_le_bytes());
        let fields = all(&message).unwrap();
        assert_eq!(fields.iter().map(|field| field.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!((fields[0].1.integer(), fields[1].1.text()), (Some(300), Some("ab")));
        assert_eq!((fields[2].1.number(), fields[3].1.number()), (Some(1.5), Some(0.5)));
        let cuts = [1, 2, 4, 5, 6, 8, 12, 17];
        assert!(cuts.iter().all(|&cut| all(&message[..cut]).is_err()), "every cut inside a field");
    }
}
