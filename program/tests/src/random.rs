//! A small deterministic generator (splitmix64), so that property tests repeat exactly.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is not zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.u64() % bound
    }

    /// Of any magnitude with equal chance: small numbers and edges matter as much as large ones.
    pub fn magnitude(&mut self) -> u64 {
        match self.below(16) {
            0 => 0,
            1 => u64::MAX,
            _ => {
                let shift = self.below(64);
                self.u64() >> shift
            }
        }
    }

    pub fn u32(&mut self) -> u32 {
        (self.magnitude() & u64::from(u32::MAX)) as u32
    }

    pub fn u16(&mut self) -> u16 {
        (self.u64() & u64::from(u16::MAX)) as u16
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        for byte in &mut out {
            *byte = (self.u64() & 0xff) as u8;
        }
        out
    }
}
