//! The testbed: a chain with mainnet's features, the program, mints, and (unless bare) a market.

use std::path::PathBuf;

use agave_feature_set::FeatureSet;
use anchor_lang::Discriminator;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{Market, Params};
use gantry_market::ID;
use litesvm::LiteSVM;
use solana_account::Account;
use solana_address::Address;
use solana_clock::Clock;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::compute::Compute;
use crate::recorder::Recorder;
use crate::reports::split;
use crate::tokens::{put_mint, token_program};
use crate::{ix, pda};

/// Where clocks start: the first second of a period, so that tests of periods are easy to read.
pub const START: i64 = 1_800_000_000;
/// The tests' cluster.
pub const DOMAIN: [u8; 8] = *b"testnet1";
/// Tokens of each mint there are, more than all actors can hold.
const SUPPLY: u64 = 1_000_000_000_000_000_000;
/// The model that [`Testbed::new`] writes: 10 stake tokens a GPU.
pub const H100: u16 = 1;

pub struct Testbed {
    pub svm: LiteSVM,
    /// Pays fees and nothing else.
    pub payer: Keypair,
    /// Upgrade authority of the program and authority of the market.
    pub authority: Keypair,
    pub guardian: Keypair,
    pub payment_mint: Address,
    pub stake_mint: Address,
    pub treasury: Address,
    pub params: Params,
    pub compute: Compute,
    /// Keeps successes of every instruction, when set.
    pub recorder: Option<Recorder>,
    /// What rent costs, in lamports a byte: each transaction finds the next of these. Without any it never changes.
    pub rents: Vec<u64>,
    keys: u64,
}

/// Parameters that make short tests: a period of 60 seconds, the rest in proportion.
pub fn test_params() -> Params {
    Params {
        min_bond: 1_000_000_000,
        weight_cap: 100_000_000_000,
        stake_price: 1_000_000,
        emission_cap: 1_000_000_000_000,
        dispute_deposit: 5_000_000,
        period_secs: 60,
        appeal_secs: 300,
        challenge_secs: 60,
        unstake_cooldown_secs: 3_960,
        keeper_activation_secs: 120,
        keeper_exit_secs: 600,
        award_deadline_secs: 60,
        start_deadline_secs: 120,
        migration_grace_secs: 20,
        notice_secs: 60,
        timelock_secs: 3_600,
        rating_secs: 600,
        report_retention_secs: 3_600,
        settle_deadline_periods: 2,
        fee_bps: 1_200,
        burn_bps: 2_000,
        keeper_bps: 4_000,
        treasury_bps: 4_000,
        award_bps: 1_000,
        emission_bps: 0,
        quorum_bps: 6_667,
        finder_bps: 1_000,
        slash_fraud_bps: 10_000,
        slash_bad_work_bps: 5_000,
        slash_work_failed_bps: 1_000,
        slash_offline_bps: 500,
        slash_guarantee_bps: 1_000,
        slash_unjust_award_bps: 2_000,
        slash_equivocation_bps: 10_000,
        allow_simulated: 1,
        pad: [0; 3],
    }
}

/// The same for a market whose GPUs are real: as fast as that may be.
pub fn real_params() -> Params {
    Params {
        timelock_secs: 86_400,
        appeal_secs: 21_600,
        challenge_secs: 600,
        unstake_cooldown_secs: 2 * 21_600 + 60,
        report_retention_secs: 21_600,
        allow_simulated: 0,
        ..test_params()
    }
}

/// The binary under test: `GANTRY_PROGRAM_SO`, or the committed one.
pub fn program_path() -> PathBuf {
    match std::env::var_os("GANTRY_PROGRAM_SO") {
        Some(path) => path.into(),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../artifacts/gantry_market.so")),
    }
}

fn program_bytes() -> Vec<u8> {
    let path = program_path();
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}; build it with `make program`", path.display()))
}

/// The feature gates of the tests' chains: mainnet's, or with `GANTRY_FEATURES=all` every one that the runtime knows.
fn chosen_features() -> FeatureSet {
    match std::env::var("GANTRY_FEATURES").as_deref() {
        Ok("all") => FeatureSet::all_enabled(),
        Ok("mainnet") | Err(_) => LiteSVM::mainnet_feature_set(),
        Ok(other) => panic!("GANTRY_FEATURES={other}: want mainnet or all"),
    }
}

/// What `LiteSVM::new` makes, which knows mainnet's gates only.
pub fn chain(features: FeatureSet) -> LiteSVM {
    LiteSVM::default()
        .with_feature_set(features)
        .with_builtins()
        .with_lamports(1_000_000_000_000_000)
        .with_sysvars()
        .with_feature_accounts()
        .with_default_programs()
        .with_sigverify(true)
        .with_blockhash_check(true)
        .with_precompiles()
}

impl Testbed {
    /// Chain, program and mints; no market.
    pub fn bare() -> Self {
        Self::on(chain(chosen_features()))
    }

    /// The same on this chain.
    pub fn on(mut svm: LiteSVM) -> Self {
        svm.add_program(ID, &program_bytes()).expect("program loads");
        let mut testbed = Self {
            svm,
            payer: key(0),
            authority: key(1),
            guardian: key(2),
            payment_mint: key(3).pubkey(),
            stake_mint: key(4).pubkey(),
            treasury: key(5).pubkey(),
            params: test_params(),
            compute: Compute::default(),
            recorder: None,
            rents: vec![],
            keys: 100,
        };
        testbed.set_upgrade_authority(Some(testbed.authority.pubkey()));
        for who in [testbed.payer.pubkey(), testbed.authority.pubkey(), testbed.guardian.pubkey()] {
            testbed.svm.airdrop(&who, 1_000_000_000_000).expect("airdrop");
        }
        put_mint(&mut testbed.svm, testbed.payment_mint, 6, SUPPLY, token_program());
        put_mint(&mut testbed.svm, testbed.stake_mint, 9, SUPPLY, token_program());
        testbed.treasury = testbed.token_account(testbed.payment_mint, testbed.authority.pubkey(), 0);
        testbed.set_now(START);
        testbed.mutate();
        testbed
    }

    /// Switches the mutant of `GANTRY_MUTANT` on, where the program under test was built with mutants.
    fn mutate(&mut self) {
        let Ok(number) = std::env::var("GANTRY_MUTANT") else { return };
        let mut clock = self.svm.get_sysvar::<Clock>();
        clock.leader_schedule_epoch = number.parse().expect("GANTRY_MUTANT is a number");
        self.svm.set_sysvar(&clock);
    }

    /// A testbed with a market and one GPU model.
    pub fn new() -> Self {
        Self::with(test_params())
    }

    pub fn with(params: Params) -> Self {
        Self::bare().open(params)
    }

    /// A testbed whose stake leaves soon, since reports stay for a short time.
    pub fn quick() -> Self {
        Self::with(Params { report_retention_secs: 300, unstake_cooldown_secs: 660, ..test_params() })
    }

    /// A testbed that keeps the first success of every instruction, from the market's creation on.
    pub fn recording() -> Self {
        let mut testbed = Self::bare();
        testbed.recorder = Some(Recorder::default());
        testbed.open(test_params())
    }

    /// Creates the market and one GPU model.
    pub fn open(self, params: Params) -> Self {
        let mut testbed = self;
        testbed.params = params;
        let authority = testbed.authority.insecure_clone();
        testbed.ok(ix::market_init(&testbed), &[&authority]);
        testbed.model(ix::h100());
        testbed
    }

    /// Puts a GPU model into force now: its proposal was made a timelock ago.
    pub fn model(&mut self, args: GpuModelArgs) {
        let (now, authority) = (self.now(), self.authority.insecure_clone());
        self.set_now(now - i64::from(self.params.timelock_secs));
        self.ok(ix::gpu_model_propose(self, args), &[&authority]);
        self.set_now(now);
        self.ok(ix::gpu_model_apply(args.id), &[]);
    }

    /// A copy that goes its own way.
    pub fn fork(&self) -> Self {
        Self {
            svm: self.svm.clone(),
            payer: self.payer.insecure_clone(),
            authority: self.authority.insecure_clone(),
            guardian: self.guardian.insecure_clone(),
            payment_mint: self.payment_mint,
            stake_mint: self.stake_mint,
            treasury: self.treasury,
            params: self.params,
            compute: Compute::default(),
            recorder: None,
            rents: self.rents.clone(),
            keys: self.keys,
        }
    }

    /// Writes the upgrade authority into the program's data account, as the loader would.
    pub fn set_upgrade_authority(&mut self, authority: Option<Address>) {
        let at = ix::program_data();
        let mut account = self.svm.get_account(&at).expect("program data exists");
        account.data[12] = u8::from(authority.is_some());
        account.data[13..45].copy_from_slice(&authority.unwrap_or_default().to_bytes());
        self.svm.set_account(at, account).expect("program data is written");
    }

    pub fn fresh_key(&mut self) -> Keypair {
        self.keys += 1;
        key(self.keys)
    }

    /// Leaves the first keys of the series to those who have them.
    pub fn skip_keys(&mut self, to: u64) {
        self.keys = self.keys.max(to);
    }

    pub fn fresh_address(&mut self) -> Address {
        self.fresh_key().pubkey()
    }

    pub fn now(&self) -> i64 {
        self.svm.get_sysvar::<Clock>().unix_timestamp
    }

    pub fn set_now(&mut self, now: i64) {
        let mut clock = self.svm.get_sysvar::<Clock>();
        clock.unix_timestamp = now;
        clock.slot += 1;
        self.svm.set_sysvar(&clock);
    }

    /// Lets time pass.
    pub fn warp(&mut self, seconds: i64) {
        self.set_now(self.now() + seconds);
    }

    /// Changes what rent costs, where it changes.
    pub fn next_rent(&mut self) {
        let Some(lamports_per_byte) = self.rents.first().copied() else { return };
        self.rents.rotate_left(1);
        let at = Address::from_str_const("SysvarRent111111111111111111111111111111111");
        let mut account = self.svm.get_account(&at).expect("the sysvar exists");
        account.data[..8].copy_from_slice(&lamports_per_byte.to_le_bytes());
        self.svm.set_account(at, account).expect("the sysvar is written");
    }

    /// The report period that contains now.
    pub fn period(&self) -> u64 {
        self.now() as u64 / u64::from(self.params.period_secs)
    }

    /// Moves to the first second after the given period.
    pub fn warp_past_period(&mut self, period: u64) {
        self.set_now(((period + 1) * u64::from(self.params.period_secs)) as i64);
    }

    /// Moves to the first second of the next period.
    pub fn warp_to_next_period(&mut self) {
        self.warp_past_period(self.period());
    }

    pub fn exists(&self, at: &Address) -> bool {
        self.svm.get_account(at).is_some_and(|account| account.lamports > 0)
    }

    pub fn lamports(&self, at: &Address) -> u64 {
        self.svm.get_balance(at).unwrap_or_default()
    }

    /// An account of the program, checked to be of this type.
    pub fn read<T: bytemuck::Pod + Discriminator>(&self, at: &Address) -> T {
        let account = self.svm.get_account(at).unwrap_or_else(|| panic!("{at} does not exist"));
        assert_eq!(account.owner, ID, "{at} is not the program's");
        let (own, _) = split(&account.data).unwrap_or_else(|| panic!("{at} is cut off"));
        let (head, body) = own.split_at(T::DISCRIMINATOR.len());
        assert_eq!(head, T::DISCRIMINATOR, "{at} is of another type");
        bytemuck::pod_read_unaligned(body)
    }

    /// Overwrites an account of the program: for states that only long scenarios lead to.
    pub fn write<T: bytemuck::Pod + Discriminator>(&mut self, at: &Address, value: &T) {
        let mut account = self.svm.get_account(at).expect("account exists");
        let own = split(&account.data).expect("account is whole").0.len();
        account.data.splice(T::DISCRIMINATOR.len()..own, bytemuck::bytes_of(value).iter().copied());
        self.svm.set_account(*at, account).expect("account is written");
    }

    /// Changes an account of the program in place.
    pub fn alter<T: bytemuck::Pod + Discriminator>(&mut self, at: &Address, change: impl FnOnce(&mut T)) {
        let mut value = self.read::<T>(at);
        change(&mut value);
        self.write(at, &value);
    }

    /// A copy of an account under another address: right owner, type and content, wrong seeds.
    pub fn twin(&mut self, of: &Address) -> Address {
        let account = self.svm.get_account(of).expect("account exists");
        let at = self.fresh_address();
        self.svm.set_account(at, account).expect("account is written");
        at
    }

    /// The same bytes in an account that another program owns.
    pub fn forged(&mut self, of: &Address) -> Address {
        let account = self.svm.get_account(of).expect("account exists");
        let at = self.fresh_address();
        let forged = Account { owner: Address::new_from_array([77; 32]), ..account };
        self.svm.set_account(at, forged).expect("account is written");
        at
    }

    pub fn market(&self) -> Market {
        self.read(&pda::market())
    }
}

impl Default for Testbed {
    fn default() -> Self {
        Self::new()
    }
}

/// The n-th key of a fixed series.
pub fn key(n: u64) -> Keypair {
    let mut seed = [0x67; 32];
    seed[..8].copy_from_slice(&n.to_le_bytes());
    Keypair::new_from_array(seed)
}
