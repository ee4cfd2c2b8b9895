//! Brings a node's account from an older layout to the present one. Nothing that it says changes; what is new is empty.
//!
//! Anyone may send it, since it decides nothing: whoever is in a hurry (its owner, or a customer whose lease waits for it)
//! pays the rent of the new bytes. The rent is the node's from then on, and goes where all of it goes, to the provider's
//! wallet, when the node closes: an account that remembered who paid for 48 bytes would need more of them for that.

use anchor_lang::prelude::*;
use anchor_lang::{realloc_account, Discriminator, Space};

use crate::constants::NODE_VERSION;
use crate::errors::{fail, MarketError};
use crate::events::NodeMigrated;
use crate::state::{Node, NODE_LEN_V1, NODE_NEW_FROM, NODE_VERSION_AT};

#[derive(Accounts)]
pub struct NodeMigrate {
    #[account(mut)]
    pub payer: Signer,
    /// A node of an older layout.
    #[account(mut)]
    pub node: UncheckedAccount,
    pub system_program: Program<System>,
}

/// The account is a node of the layout that its version says, and that is an older one.
fn validate(node: &AccountView) -> Result<()> {
    if !node.owned_by(&crate::ID) {
        return Err(ProgramError::IllegalOwner);
    }
    let data = node.try_borrow()?;
    require!(data.starts_with(Node::DISCRIMINATOR), MarketError::WrongAccount);
    match (data.get(NODE_VERSION_AT), data.len()) {
        (Some(1), NODE_LEN_V1) => Ok(()),
        (Some(&NODE_VERSION), len) if len == Account::<Node>::INIT_SPACE => {
            fail(MarketError::AlreadyMigrated)
        }
        _ => fail(MarketError::UnknownVersion),
    }
}

pub(crate) fn handler(ctx: &mut Context<NodeMigrate>) -> Result<()> {
    let accounts = &mut ctx.accounts;
    let mut view = *accounts.node.account();
    validate(&view)?;
    realloc_account(&mut view, Account::<Node>::INIT_SPACE, accounts.payer.account(), true)?;
    {
        let mut data = view.try_borrow_mut()?;
        if let Some(new) = data.get_mut(NODE_NEW_FROM..) {
            new.fill(0);
        }
        if let Some(version) = data.get_mut(NODE_VERSION_AT) {
            *version = NODE_VERSION;
        }
    }
    emit!(NodeMigrated { node: *view.address(), version: NODE_VERSION });
    Account::<Node>::load(view)?.invariant()
}
