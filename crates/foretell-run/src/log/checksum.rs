//! CRC-32, the checksum of each line of the event log.

/// The reversed generator polynomial of CRC-32/ISO-HDLC.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// The remainder of each byte value, computed at compile time.
const TABLE: [u32; 256] = table();

/// CRC-32/ISO-HDLC (the one of zip, gzip and PNG) of `bytes`.
///
/// A cyclic redundancy check of 32 bits finds every change of a single bit, every burst of up to 32 bits, and other
/// damage with probability 1 − 2⁻³².
///
/// Source: ISO/IEC 13239; check value `crc32(b"123456789") = 0xCBF43926`.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| TABLE[((crc ^ u32::from(byte)) & 0xFF) as usize] ^ (crc >> 8))
}

/// The bit, counted from the first byte's lowest, whose flip changes the CRC-32 of `length` bytes by `difference`; `None` if it is
/// no single one. O(length).
///
/// The sum is linear: what a flipped bit adds to it does not depend on the other bits, only on how many bytes follow.
pub(crate) fn flipped_bit(length: usize, difference: u32) -> Option<usize> {
    let mut added: [u32; 8] = std::array::from_fn(|bit| TABLE[1 << bit]);
    for byte in (0..length).rev() {
        if let Some(bit) = added.iter().position(|&added| added == difference) {
            return Some(byte * 8 + bit);
        }
        added = added.map(|added| TABLE[(added & 0xFF) as usize] ^ (added >> 8));
    }
    None
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = remainder(byte as u32);
        byte += 1;
    }
    table
}

const fn remainder(byte: u32) -> u32 {
    let mut crc = byte;
    let mut bit = 0;
    while bit < 8 {
        crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
        bit += 1;
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn agrees_with_published_values() {
        let cases: [(&[u8], u32); 4] = [
            (b"", 0),
            (b"123456789", 0xCBF4_3926), // the standard's check value
            (b"a", 0xE8B7_BE43),
            (b"The quick brown fox jumps over the lazy dog", 0x414F_A339),
        ];
        for (bytes, expected) in cases {
            assert_eq!(crc32(bytes), expected, "crc32 of {:?}", String::from_utf8_lossy(bytes));
        }
    }
}
