//! Mints and token accounts, written straight into the accounts database.

use anchor_lang::Id;
use litesvm::LiteSVM;
use solana_account::Account;
use solana_address::Address;

use crate::Testbed;

const RENT: u64 = 10_000_000;

pub fn token_program() -> Address {
    anchor_lang::programs::Token::id()
}

pub fn token_2022_program() -> Address {
    anchor_lang::programs::Token2022::id()
}

/// A mint without freeze authority.
pub fn put_mint(svm: &mut LiteSVM, mint: Address, decimals: u8, supply: u64, program: Address) {
    let mut data = vec![0; 82];
    data[0] = 1;
    data[4..36].copy_from_slice(&[9; 32]);
    data[36..44].copy_from_slice(&supply.to_le_bytes());
    data[44] = decimals;
    data[45] = 1;
    put(svm, mint, data, program);
}

pub fn put_token_account(
    svm: &mut LiteSVM,
    at: Address,
    mint: Address,
    owner: Address,
    amount: u64,
    program: Address,
) {
    let mut data = vec![0; 165];
    data[..32].copy_from_slice(mint.as_ref());
    data[32..64].copy_from_slice(owner.as_ref());
    data[64..72].copy_from_slice(&amount.to_le_bytes());
    data[108] = 1;
    put(svm, at, data, program);
}

fn put(svm: &mut LiteSVM, at: Address, data: Vec<u8>, owner: Address) {
    let account = Account { lamports: RENT, data, owner, executable: false, rent_epoch: u64::MAX };
    svm.set_account(at, account).expect("account is written");
}

impl Testbed {
    /// Tokens in a token account; 0 when it does not exist.
    pub fn tokens(&self, account: &Address) -> u64 {
        match self.svm.get_account(account) {
            Some(account) if account.data.len() == 165 => at(&account.data, 64),
            _ => 0,
        }
    }

    /// All tokens of a mint there are.
    pub fn supply(&self, mint: &Address) -> u64 {
        at(&self.svm.get_account(mint).expect("mint exists").data, 36)
    }

    /// Sends tokens to an account from nowhere, as a stranger's gift would arrive.
    pub fn gift(&mut self, account: &Address, amount: u64) {
        let mut found = self.svm.get_account(account).expect("token account exists");
        let balance = at(&found.data, 64) + amount;
        found.data[64..72].copy_from_slice(&balance.to_le_bytes());
        self.svm.set_account(*account, found).expect("account is written");
    }

    /// The issuer of its mint freezes a token account, or lets it go.
    pub fn freeze(&mut self, account: &Address, frozen: bool) {
        let mut found = self.svm.get_account(account).expect("token account exists");
        found.data[108] = if frozen { 2 } else { 1 };
        self.svm.set_account(*account, found).expect("account is written");
    }

    /// A new token account with tokens in it.
    pub fn token_account(&mut self, mint: Address, owner: Address, amount: u64) -> Address {
        let at = self.fresh_address();
        put_token_account(&mut self.svm, at, mint, owner, amount, token_program());
        at
    }

    /// A token account of the right mint bytes and owner, but of another token program.
    pub fn foreign_token_account(&mut self, mint: Address, owner: Address, amount: u64) -> Address {
        let at = self.fresh_address();
        put_token_account(&mut self.svm, at, mint, owner, amount, token_2022_program());
        at
    }
}

/// Finding U 64.
fn at(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().expect("eight bytes"))
}
