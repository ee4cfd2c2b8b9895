//! A node's account as instructions take it: the framework's own, with an error that says what to do about a node that an
//! older program wrote. Only the path that refuses costs anything.

use core::ops::{Deref, DerefMut};

use anchor_lang::prelude::*;
use anchor_lang::{AccountClose, AccountInitialize, AnchorAccount, CpiHandleMut, Discriminator, Space};

use crate::errors::MarketError;
use crate::state::{Node, NODE_LEN_V1};

pub struct NodeAccount(Account<Node>);

/// What is wrong with an account that does not load.
#[cold]
#[inline(never)]
pub fn explain(view: &AccountView, error: ProgramError) -> ProgramError {
    let older = view.owned_by(&crate::ID)
        && view.data_len() == NODE_LEN_V1
        && view.try_borrow().is_ok_and(|data| data.starts_with(Node::DISCRIMINATOR));
    if older {
        MarketError::UnknownVersion.into()
    } else {
        error
    }
}

impl Deref for NodeAccount {
    type Target = Account<Node>;
    #[inline(always)]
    fn deref(&self) -> &Account<Node> {
        &self.0
    }
}

impl DerefMut for NodeAccount {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Account<Node> {
        &mut self.0
    }
}

impl AnchorAccount for NodeAccount {
    type Data = Account<Node>;
    const MIN_DATA_LEN: usize = <Account<Node> as AnchorAccount>::MIN_DATA_LEN;
    const RELAX_READONLY_CPI_BORROW_FROM_MUT: bool = true;

    #[inline(always)]
    fn load(view: AccountView) -> core::result::Result<Self, ProgramError> {
        Account::<Node>::load(view).map(Self).map_err(|error| explain(&view, error))
    }

    #[inline(always)]
    unsafe fn load_mut(view: AccountView) -> core::result::Result<Self, ProgramError> {
        Account::<Node>::load_mut(view).map(Self).map_err(|error| explain(&view, error))
    }

    #[inline(always)]
    unsafe fn load_mut_after_init(view: AccountView) -> core::result::Result<Self, ProgramError> {
        Account::<Node>::load_mut_after_init(view).map(Self)
    }

    #[inline(always)]
    fn account(&self) -> &AccountView {
        AnchorAccount::account(&self.0)
    }

    #[inline(always)]
    fn cpi_handle(&self) -> CpiHandle<'_> {
        self.0.cpi_handle()
    }

    #[inline(always)]
    fn try_cpi_handle_mut(&mut self) -> core::result::Result<CpiHandleMut<'_>, ProgramError> {
        self.0.try_cpi_handle_mut()
    }
}

impl AccountInitialize for NodeAccount {
    type Params<'a> = <Account<Node> as AccountInitialize>::Params<'a>;

    #[inline(always)]
    fn create_and_initialize<'a>(
        payer: &AccountView,
        account: &AccountView,
        space: usize,
        owner: &Address,
        params: &Self::Params<'a>,
        signer_seeds: Option<&[&[u8]]>,
        payer_signer_seeds: Option<&[&[u8]]>,
    ) -> core::result::Result<Self, ProgramError> {
        Account::<Node>::create_and_initialize(
            payer,
            account,
            space,
            owner,
            params,
            signer_seeds,
            payer_signer_seeds,
        )
        .map(Self)
    }
}

impl AccountClose for NodeAccount {
    fn close(&mut self, destination: AccountView) -> core::result::Result<(), ProgramError> {
        AccountClose::close(&mut self.0, destination)
    }
}

impl Space for NodeAccount {
    const INIT_SPACE: usize = <Account<Node> as Space>::INIT_SPACE;
}

impl Discriminator for NodeAccount {
    const DISCRIMINATOR: &'static [u8] = Node::DISCRIMINATOR;
}

#[cfg(feature = "idl-build")]
impl anchor_lang::IdlAccountType for NodeAccount {
    const __IDL_ACCOUNT_ENTRY: Option<&'static str> =
        <Account<Node> as anchor_lang::IdlAccountType>::__IDL_ACCOUNT_ENTRY;
    const __IDL_TYPE_DEF: Option<&'static str> =
        <Account<Node> as anchor_lang::IdlAccountType>::__IDL_TYPE_DEF;
    fn __idl_account_entry() -> Option<&'static str> {
        <Account<Node> as anchor_lang::IdlAccountType>::__idl_account_entry()
    }
    fn __idl_type_def() -> Option<&'static str> {
        <Account<Node> as anchor_lang::IdlAccountType>::__idl_type_def()
    }
    fn __register_idl_deps(
        accounts: &mut alloc::vec::Vec<&'static str>,
        types: &mut alloc::vec::Vec<&'static str>,
    ) {
        <Account<Node> as anchor_lang::IdlAccountType>::__register_idl_deps(accounts, types);
    }
}
