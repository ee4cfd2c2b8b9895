//! Events, written to the log without an allocation.

use anchor::wincode::{SchemaWrite, TypeMeta};
use anchor::{BorshConfig, Event};

/// The longest event, tag included.
const ROOM: usize = 264;
const TAG: usize = 8;

/// Logs an event that clients read.
#[macro_export]
macro_rules! emit {
    ($event:expr) => {
        $crate::log_event(&$event)
    };
}

/// Bytes of an event, tag included: the same for all of its type.
const fn len_of<E: SchemaWrite<BorshConfig>>(tag: &[u8]) -> usize {
    let TypeMeta::Static { size, .. } = E::TYPE_META else { panic!("an event has no list") };
    assert!(tag.len() == TAG && size <= ROOM - TAG, "an event fits the room for it");
    TAG.saturating_add(size)
}

/// What [`emit!`] does.
#[inline(always)]
pub fn log_event<E: Event + SchemaWrite<BorshConfig, Src = E>>(event: &E) {
    let len = const { len_of::<E>(E::DISCRIMINATOR) };
    let mut buffer = [const { core::mem::MaybeUninit::<u8>::uninit() }; ROOM];
    let (tag, mut body) = buffer.split_at_mut(TAG);
    tag.write_copy_of_slice(E::DISCRIMINATOR);
    if anchor::wincode::config::serialize_into(&mut body, event, anchor::BORSH_CONFIG).is_err() {
        panic!("an event fits the room for it");
    }
    // SAFETY: `len` bytes of the buffer are written.
    anchor::sol_log_data(&[unsafe { core::slice::from_raw_parts(buffer.as_ptr().cast(), len) }]);
}
