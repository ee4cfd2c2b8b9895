//! Events that a transaction wrote to its log.

use anchor_lang::Event;
use litesvm::types::TransactionMetadata;

/// The bytes of every event, in order.
pub fn emitted(meta: &TransactionMetadata) -> Vec<Vec<u8>> {
    meta.logs.iter().filter_map(|line| line.strip_prefix("Program data: ")).map(decode).collect()
}

/// Requires that the transaction emitted exactly this event, with exactly these fields.
pub fn assert_emitted(meta: &TransactionMetadata, event: &impl Event) {
    let wanted = event.data();
    assert!(emitted(meta).contains(&wanted), "event {wanted:?} is missing\n{}", meta.pretty_logs());
}

/// Standard base64, as logs hold it.
fn decode(text: &str) -> Vec<u8> {
    let mut out = vec![];
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => panic!("{other} is not base64"),
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    out
}
