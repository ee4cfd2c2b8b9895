//! What a machine claims to be, and what of it comes with its GPUs.

use anchor_lang::prelude::*;

/// What a machine claims to be. Claims are worth what their evidence tier says.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, AnchorSerialize, AnchorDeserialize, IdlType)]
pub struct NodeSpec {
    /// Region such as `us-west-2`, ASCII, padded with zeroes.
    pub region: [u8; 16],
    /// Site that nodes share when they stand together; zero when not said.
    pub site: [u8; 16],
    /// Per GPU.
    pub vram_mib: u32,
    /// What leases share, each by its GPUs: threads of the processors, memory and disk.
    pub cpu_cores: u32,
    pub ram_mib: u32,
    pub disk_gib: u32,
    pub up_mbps: u32,
    pub down_mbps: u32,
    /// Id of the GPU model.
    pub model: u16,
    pub gpus: u8,
    /// 0 PCIe, 1 NVLink, 2 NVSwitch.
    pub interconnect: u8,
    /// 1 when the GPUs are simulated: such nodes never serve an order that does not ask for them.
    pub simulated: u8,
    /// 0 when jobs are processes of the machine, 1 when they are containers in a sandbox, made from an image, 2 when such
    /// containers may have encrypted volumes too. What is more satisfies what is less.
    pub isolation: u8,
    /// The newest CUDA that the driver has, 100 × major + minor: 1204 is CUDA 12.4; 0 when not said.
    pub cuda: u16,
}

impl NodeSpec {
    /// Whether the share of so many GPUs has at least these cores, MiB of memory and GiB of disk.
    pub fn shares(&self, gpus: u8, [cores, ram_mib, disk_gib]: [u32; 3]) -> bool {
        let enough = |whole: u32, wanted: u32| {
            // Two factors below 2³² and 2⁸.
            (whole as u64).saturating_mul(gpus as u64) >= (wanted as u64).saturating_mul(self.gpus as u64)
        };
        enough(self.cpu_cores, cores) && enough(self.ram_mib, ram_mib) && enough(self.disk_gib, disk_gib)
    }
}
