//! A provider registers a machine: spec, ask, and one claim for each of its GPUs.

use anchor_lang::prelude::*;

use crate::constants::{BPS, MAX_GPUS, MAX_ISOLATION, VERSION};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::NodeRegistered;
use crate::instructions::node::claims::{claim_of, create_claim};
use crate::math::evidence::device_root;
use crate::math::periods::period_of;
use crate::math::window::CLOSED;
use crate::seeds;
use crate::state::{Availability, GpuModel, Market, Node, NodeSpec, Provider, NODE_ACTIVE};

/// One device identity for each GPU, ascending, the rest zero.
pub type Devices = [[u8; 32]; MAX_GPUS as usize];

/// The remaining accounts are the device claims, one for each GPU, in the order of `devices`. Those that nobody has are
/// created; those that others have by evidence of tier 2 or 3 cannot be registered; the others are left to who has
/// them, until evidence decides.
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
    require!(price > 0, MarketError::ZeroPrice);
    require!(accounts.gpu_model.in_force(), MarketError::UnsuitableModel);
    let sound = spec.model == accounts.gpu_model.id
        && spec.gpus >= 1
        && spec.gpus <= MAX_GPUS
        && spec.vram_mib > 0
        && spec.interconnect <= 2
        && spec.simulated <= 1
        && spec.isolation <= MAX_ISOLATION;
    require!(sound, MarketError::InvalidSpec);
    require!(spec.simulated <= accounts.market.params.allow_simulated, MarketError::SimulatedNotAllowed);
    Ok(())
}

pub(crate) fn handler(
    ctx: &mut Context<NodeRegister>,
    spec: NodeSpec,
    price: u64,
    devices: Devices,
) -> Result<()> {
    validate(&ctx.accounts, &spec, price)?;
    let now = Clock::get()?.unix_timestamp;
    let claims = ctx.remaining_accounts()?;
    require!(claims.len() == spec.gpus as usize, MarketError::DeviceCountMismatch);
    let node_address = *ctx.accounts.node.address();
    // A simulated GPU proves nothing: tier 0, and no report lifts it.
    let tier = 1u8.saturating_sub(spec.simulated);
    let device_root = device_root(devices.get(..spec.gpus as usize).unwrap_or_default())
        .ok_or(MarketError::WrongDevices)?;
    let mut missing = 0u8;
    for (view, device) in claims.iter().zip(devices.iter()) {
        if !claim(ctx.accounts.wallet.account(), view, device, &node_address, tier, now)? {
            missing = missing.checked_add(1).or_overflow()?;
        }
    }
    let rest_is_zero = devices.iter().skip(spec.gpus as usize).all(|device| *device == [0; 32]);
    require!(rest_is_zero, MarketError::DeviceCountMismatch);

    let accounts = &mut ctx.accounts;
    let required = accounts.gpu_model.min_stake.checked_mul(spec.gpus as u64).or_overflow()?;
    let locked = accounts.provider.locked_stake.checked_add(required).or_overflow()?;
    require!(accounts.provider.stake >= locked, MarketError::InsufficientStake);
    accounts.provider.locked_stake = locked;
    accounts.provider.node_count = accounts.provider.node_count.checked_add(1).or_overflow()?;

    let bump = ctx.bumps.node;
    let provider = *accounts.provider.address();
    let node_key = *accounts.node_key.address();
    let node = &mut accounts.node;
    // What the provider lost with other machines it has lost with this one: a new node is no new start.
    node.disputes_lost = accounts.provider.disputes_lost;
    node.dispute_bps = accounts.provider.dispute_bps;
    node.dispute_lost_at = accounts.provider.dispute_lost_at;
    node.provider = provider;
    node.node_key = node_key;
    node.price = price;
    node.ask_since = now;
    node.available_since = now;
    node.required_stake = required;
    node.stake = required;
    node.covered_since = now;
    node.registered_at = now;
    node.availability = Availability::starting(spec.gpus, now);
    node.good_since = now;
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
    node.claims_missing = missing;
    node.device_root = device_root;
    node.take_terms(&accounts.gpu_model, now);
    node.version = VERSION;
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

/// Claims one device. False when another node has it by no more than a claim: then the machine waits for evidence.
fn claim(
    payer: &AccountView,
    view: &AccountView,
    device: &[u8; 32],
    node: &Address,
    tier: u8,
    now: i64,
) -> Result<bool> {
    match claim_of(view, device, false)? {
        None => create_claim(payer, view, device, false, node, tier, 0).map(|()| true),
        Some(held) if held.tier_at(now) < 2 => Ok(false),
        Some(_) => fail(MarketError::DeviceClaimed),
    }
}
