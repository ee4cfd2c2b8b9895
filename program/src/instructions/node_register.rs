//! A provider registers a machine: spec, ask, and one claim for each of its GPUs.

use anchor_lang::prelude::*;

use crate::constants::{BPS, MAX_GPUS, NODE_VERSION, VERSION};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::NodeRegistered;
use crate::math::periods::period_of;
use crate::math::window::CLOSED;
use crate::planted::planted;
use crate::seeds;
use crate::state::{DeviceClaim, GpuModel, Market, Node, NodeSpec, Provider, NODE_ACTIVE};

/// One device identity for each GPU, the rest zero.
pub type Devices = [[u8; 32]; MAX_GPUS as usize];

/// The remaining accounts are the device claims to create, one for each GPU, in the order of `devices`.
#[derive(Accounts)]
pub struct NodeRegister {
    #[account(mut)]
    pub wallet: Signer,
    /// The machine's own key signs too, so that nobody registers another's machine.
    pub node_key: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = provider.wallet == *wallet.address() @ MarketError::Unauthorised)]
    pub provider: Account<Provider>,
    pub gpu_model: Account<GpuModel>,
    #[account(
        init,
        payer = wallet,
        seeds = [seeds::NODE, provider.address().as_ref(), node_key.address().as_ref()],
        bump
    )]
    pub node: Account<Node>,
    pub system_program: Program<System>,
}

fn validate(accounts: &NodeRegister, spec: &NodeSpec, price: u64) -> Result<()> {
    if price == 0 {
        return fail(MarketError::ZeroPrice);
    }
    let sound = spec.model == accounts.gpu_model.id
        && spec.gpus >= 1
        && spec.gpus <= MAX_GPUS
        && spec.vram_mib > 0
        && spec.interconnect <= 2
        && spec.simulated <= 1
        && spec.pad == [0; 3];
    if !sound {
        return fail(MarketError::InvalidSpec);
    }
    if spec.simulated > accounts.market.params.allow_simulated {
        return fail(MarketError::SimulatedNotAllowed);
    }
    Ok(())
}

pub fn handler(ctx: &mut Context<NodeRegister>, spec: NodeSpec, price: u64, devices: Devices) -> Result<()> {
    validate(&ctx.accounts, &spec, price)?;
    let now = Clock::get()?.unix_timestamp;
    let claims = ctx.remaining_accounts()?;
    if claims.len() != spec.gpus as usize {
        return fail(MarketError::DeviceCountMismatch);
    }
    let node_address = *ctx.accounts.node.address();
    // A simulated GPU proves nothing: tier 0, and no report lifts it.
    let tier = 1u8.saturating_sub(spec.simulated);
    for (claim, device) in claims.iter().zip(devices.iter()) {
        create_claim(ctx.accounts.wallet.account(), claim, device, &node_address, tier)?;
    }
    if devices.iter().skip(spec.gpus as usize).any(|device| *device != [0; 32]) {
        return fail(MarketError::DeviceCountMismatch);
    }

    let accounts = &mut ctx.accounts;
    let required = accounts.gpu_model.min_stake.checked_mul(spec.gpus as u64).or_overflow()?;
    let committed = accounts.provider.committed.checked_add(required).or_overflow()?;
    if accounts.provider.stake < committed {
        return fail(MarketError::InsufficientStake);
    }
    accounts.provider.committed = committed;
    accounts.provider.node_count = accounts.provider.node_count.checked_add(1).or_overflow()?;

    let bump = ctx.bumps.node;
    let provider = *accounts.provider.address();
    let node_key = *accounts.node_key.address();
    let node = &mut accounts.node;
    node.provider = provider;
    node.node_key = node_key;
    node.price = price;
    node.ask_since = now;
    node.available_since = now;
    node.required_stake = required;
    node.registered_at = now;
    node.record_since = now;
    node.previous_since = now;
    // Reports of periods before this life of the address do not concern it.
    node.last_report_period = period_of(now, accounts.market.params.period_secs)?;
    node.report_window = CLOSED;
    node.bad_work_period = node.last_report_period;
    node.spec = spec;
    node.uptime_bps = BPS as u16;
    node.status = NODE_ACTIVE;
    node.tier = tier;
    node.version = NODE_VERSION;
    node.bump = bump;
    emit!(NodeRegistered {
        node: node_address,
        provider,
        model: spec.model,
        gpus: spec.gpus,
        price,
        simulated: spec.simulated,
    });
    node.invariant()
}

/// Creates the claim of one device, or says that it is taken.
fn create_claim(
    payer: &AccountView,
    claim: &AccountView,
    device: &[u8; 32],
    node: &Address,
    tier: u8,
) -> Result<()> {
    let (address, bump) = find_program_address(&[seeds::DEVICE, device], &crate::ID);
    if *claim.address() != address || *device == [0; 32] {
        return fail(MarketError::WrongAccount);
    }
    if planted!(14, claim.owned_by(&crate::ID), false) {
        return Ok(());
    }
    if claim.owned_by(&crate::ID) {
        return fail(MarketError::DeviceClaimed);
    }
    let space =
        DeviceClaim::DISCRIMINATOR.len().checked_add(core::mem::size_of::<DeviceClaim>()).or_overflow()?;
    create_account_signed(payer, claim, space, &crate::ID, &[seeds::DEVICE, device, &[bump]])?;
    let mut target = *claim;
    let mut data = target.try_borrow_mut()?;
    let record = DeviceClaim {
        node: *node,
        device: *device,
        rent_payer: *payer.address(),
        tier,
        version: VERSION,
        bump,
        reserved: [0; 5],
    };
    let (head, body) = match data.split_at_mut_checked(DeviceClaim::DISCRIMINATOR.len()) {
        Some(parts) => parts,
        None => return fail(MarketError::InvariantBroken),
    };
    head.copy_from_slice(DeviceClaim::DISCRIMINATOR);
    body.copy_from_slice(bytemuck::bytes_of(&record));
    Ok(())
}
