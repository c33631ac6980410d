//! Damage of a single bit, found by the CRC-32 of a line of the event log.

/// The bit, counted from the first byte's lowest, whose flip changes the CRC-32 of `length` bytes by `difference`; `None` if it is
/// no single one. O(length).
///
/// The sum is linear: what a flipped bit adds to it does not depend on the other bits, only on how many bytes follow. For a bit of
/// the last byte, that is the difference of two sums of one byte; each byte that follows passes it through the register once.
pub(crate) fn flipped_bit(length: usize, difference: u32) -> Option<usize> {
    let table: [u32; 256] =
        std::array::from_fn(|byte| crc32fast::hash(&[byte as u8]) ^ crc32fast::hash(&[0]));
    let mut added: [u32; 8] = std::array::from_fn(|bit| table[1 << bit]);
    for byte in (0..length).rev() {
        if let Some(bit) = added.iter().position(|&added| added == difference) {
            return Some(byte * 8 + bit);
        }
        added = added.map(|added| table[(added & 0xFF) as usize] ^ (added >> 8));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::flipped_bit;

    #[test]
    fn each_flipped_bit_is_found() {
        let text = *b"{\"v\":1}";
        for bit in 0..text.len() * 8 {
            let mut flipped = text;
            flipped[bit / 8] ^= 1 << (bit % 8);
            let difference = crc32fast::hash(&text) ^ crc32fast::hash(&flipped);
            assert_eq!(flipped_bit(text.len(), difference), Some(bit));
        }
        assert_eq!(flipped_bit(text.len(), 1), None, "two bits are not one");
    }
}
