//! Fixed numbers of the protocol. What governance may change lives in [`crate::state::Params`].

use core::ops::RangeInclusive;

/// Basis points in one.
pub const BPS: u64 = 10_000;
/// Prices are per GPU-hour.
pub const SECONDS_PER_HOUR: u64 = 3_600;
/// Seconds in a day.
pub const DAY: u64 = 86_400;
/// Seconds in a year of 365 days.
pub const YEAR: u64 = 365 * DAY;
/// The most GPUs one node may offer: one bit of `Node::gpu_mask` each, one device claim each at registration.
pub const MAX_GPUS: u8 = 8;
/// The most that a node can say of its jobs: containers in a sandbox, with encrypted volumes.
pub const MAX_ISOLATION: u8 = 2;
/// The most keepers at a time: one bit of a voters' bitmap each.
pub const MAX_KEEPERS: u16 = 256;
/// Candidate roots in the struct of a report, the heaviest ones; further ones lie behind it.
pub const HEAD_CANDIDATES: usize = 4;
/// A keeper without a vote for more than so many final reports, and for the time of as many periods, loses its weight.
pub const IDLE_REPORTS: u64 = 24;
/// The deepest Merkle proof accepted: 2^24 leaves.
pub const MAX_PROOF: usize = 24;
/// The longest waiting time that governance may set: money and stake that wait for a deadline come free within it.
pub const MAX_WAIT_SECS: u32 = 90 * 86_400;
/// Where GPUs are real, time for people to see what comes and to answer: before a parameter change takes effect, before
/// a slash, and after an award. Local networks, which allow simulated GPUs, run faster.
pub const TIMELOCK_SECS_MIN: u32 = 86_400;
pub const APPEAL_SECS_MIN: u32 = 21_600;
pub const CHALLENGE_SECS_MIN: u32 = 600;
/// The notice of an interruptible lease, where the market's own is not shorter still, and for how many notices such a lease
/// runs before one takes effect.
pub const SPOT_NOTICE_SECS: u32 = 120;
pub const SPOT_LEAST_NOTICES: u32 = 5;
/// The longest order: one year.
pub const MAX_DURATION_SECS: u32 = 31_536_000;
/// The most nodes one order may want.
pub const MAX_ORDER_NODES: u8 = 64;
/// The most GPU models that one order may name.
pub const MAX_ORDER_MODELS: usize = 4;
/// The most nodes that may run one redundant job, of which there is an odd number: all its leases fit one transaction.
pub const MAX_REDUNDANCY: u8 = 7;
/// The fewest among which a majority can differ from one cheat.
pub const MIN_REDUNDANCY: u8 = 3;
/// Base units in one whole stake token (9 decimals).
pub const STAKE_UNIT: u64 = 1_000_000_000;
/// The fee must stay in this band, whatever governance proposes.
pub const FEE_BPS_MIN: u16 = 1_000;
pub const FEE_BPS_MAX: u16 = 1_500;
/// A finder never gets more than this share of a slash.
pub const FINDER_BPS_MAX: u16 = 1_000;
/// Slashes of a bond pay at most this share of it to finders in the time that the bond would take to leave.
pub const BOND_PAYOUT_BPS: u16 = 500;
/// An unjust award costs at least so many times what it made the lease dearer in the time to contest it: about one in
/// four is shown, and deterrence takes twice that.
pub const UNJUST_FACTOR: u64 = 8;
/// A dispute's deposit, of what its lease has settled.
pub const DEPOSIT_BPS: u16 = 1_000;
/// What stake earns elsewhere in a year: what freezing it costs its owner.
pub const CAPITAL_BPS: u64 = 2_000;
/// What a lost dispute takes off a reputation at first; over [`FULL_AGE_SECS`] it wears off.
pub const DISPUTE_LOST_BPS: u16 = 2_000;
/// The smallest quorum governance may set: more than two thirds.
pub const QUORUM_BPS_MIN: u16 = 6_667;
/// What a buy-back offers for a stake token, of the governance price: at its start, and from a day later on.
pub const BUY_BACK_FIRST_BPS: u64 = 5_000;
pub const BUY_BACK_LAST_BPS: u64 = 20_000;
/// Emission is never worth more than a fifth of the fees that it follows: paying oneself must not pay.
pub const EMISSION_BPS_MAX: u16 = 2_000;
/// The highest quorum governance may set: above it a few keepers that do not vote could hold up every report.
pub const QUORUM_BPS_MAX: u16 = 8_000;
/// A step of governance multiplies or divides what stake, bonds, emission and slashes follow by this at most.
pub const STEP: u64 = 2;
/// From one step to the next, on a market of real machines: what few steps add up to in a month is bounded, too.
pub const STEP_SECS: u32 = 7 * 86_400;
/// What a slash for a machine that is not what it claims must cover of the harm, at the governance price of stake.
pub const HARM_COVER_BPS: u64 = 25_000;
/// What a machine must reach of its class, basis points: in the mean of its last measured periods to be awarded, and now
/// and then not to be slashed.
pub const FIGURES_BPS: u16 = 7_000;
/// The mean is of so many measured periods.
pub const FIGURE_PERIODS: usize = 6;
/// A machine that reaches too little in so many measured periods in a row is slow. Keepers with a third of the weight have
/// most of a committee of five in 21 % of all draws, so that sixteen in a row come to 10⁻⁷ for a machine and year of hours.
pub const SLOW_PERIODS: u8 = 16;
/// The same where simulated GPUs are allowed: markets to try things out, whose periods are seconds.
pub const SLOW_PERIODS_SIMULATED: u8 = 6;
/// What a node's reputation starts from, µUSDC of fees: those of 500 GPU-hours at 2.40 USDC and 12 %. Completion and
/// ratings move away from it only by fees that cannot come back.
pub const PRIOR_FEES: u64 = 144_000_000;
/// A failed lease weighs the fee of the time that it was funded for, and at least this part of the prior.
pub const FAILURE_PART: u64 = 10;
/// Days of good periods that count in full for reputation, and from which a node may be called verified.
pub const FULL_AGE_DAYS: u8 = 180;
/// Over this time what a lost dispute took off wears off.
pub const FULL_AGE_SECS: u64 = FULL_AGE_DAYS as u64 * DAY;

// Every record that is signed or hashed begins with a tag of its own: docs/protocol/records.md has them all, and a Go
// test compares them with these.
/// First bytes of a receipt that node and customer sign.
pub const RECEIPT_TAG: [u8; 8] = *b"GANTRYR1";
/// First bytes of a check statement that a keeper signs.
pub const STATEMENT_TAG: [u8; 8] = *b"GANTRYS1";
/// First bytes of a manifest, by which a keeper answers for the set of all its statements about a period.
pub const MANIFEST_TAG: [u8; 8] = *b"GANTRYM1";
/// Bytes of a leaf of a measurement's round, and of an entry of its commitment.
pub const MEASURE_LEAF_LEN: usize = 256;
pub const MEASURE_ENTRY_LEN: usize = 145;
/// Bounds of a profile.
pub const MEASURE_ORDERS: RangeInclusive<u32> = 1_024..=16_384;
pub const MEASURE_ROWS: RangeInclusive<u32> = 1_024..=1_048_576;
pub const MEASURE_MAX_LANES: u32 = 1 << 20;
/// The most rounds of a run.
pub const MEASURE_MAX_ROUNDS: u32 = 4_096;
/// The most multiplications of one mix byte.
pub const MEASURE_MAX_GROUP: u32 = 32_768;
/// The longest that rounds, and that walks, may be begun, milliseconds.
pub const MEASURE_MAX_MS: u32 = 60_000;
/// First bytes of what a node hashes to commit to an output.
pub const OUTPUT_TAG: [u8; 8] = *b"GANTRYU1";
/// First bytes of a sealed bid, which is hashed, and of the commitment to it, which the node signs.
pub const BID_TAG: [u8; 8] = *b"GANTRYB1";
pub const BID_COMMITMENT_TAG: [u8; 8] = *b"GANTRYC1";
/// First bytes of a key's consent to sign for a keeper, and all its bytes.
pub const CONSENT_TAG: [u8; 8] = *b"GANTRYH1";
pub const CONSENT_LEN: usize = 56;
/// First bytes of a keeper's acknowledgement that a bid's reveal reached it.
pub const REVEAL_ACK_TAG: [u8; 8] = *b"GANTRYL1";
/// Bytes of a report leaf.
pub const LEAF_LEN: usize = 176;
/// Bytes of a check statement.
pub const STATEMENT_LEN: usize = 144;
/// Bytes of a manifest.
pub const MANIFEST_LEN: usize = 64;
/// `Statement::kind` of a check of the machine's work.
pub const KIND_WORK: u8 = 3;
/// `EquivocationProven::kind` of two manifests; kinds of checks begin with 1.
pub const KIND_MANIFESTS: u8 = 0;

/// Bits of `Market::paused`.
pub const PAUSE_ORDERS: u8 = 1;
pub const PAUSE_AWARDS: u8 = 2;

/// Flags of a report leaf.
pub const FLAG_OFFLINE: u16 = 1;
pub const FLAG_SPEC_MISMATCH: u16 = 2;
pub const FLAG_WORK_FAILED: u16 = 4;
pub const FLAG_EVIDENCE_FAILED: u16 = 8;
pub const FLAG_DEVICE_CHANGED: u16 = 16;
pub const FLAG_UNHEALTHY: u16 = 32;
pub const FLAG_BAD_OUTPUT: u16 = 64;
/// Of faults alone, no leaf has it: none of the last measured periods shows the class, by the figures of applied leaves.
pub const FLAG_SLOW: u16 = 128;
/// Every flag that a leaf may have.
pub const FLAGS_KNOWN: u16 = 127;
/// Flags that say the machine is not what it claims: the node is suspended until the fault is settled.
pub const FLAGS_NODE: u16 =
    FLAG_SPEC_MISMATCH | FLAG_WORK_FAILED | FLAG_EVIDENCE_FAILED | FLAG_DEVICE_CHANGED | FLAG_SLOW;

/// A better ask counts only if all about it held from this long before the order was created: keepers may learn of a
/// change so late.
pub const AWARD_VIEW_SECS: i64 = 30;

/// The seconds after an order's first part in which the missing parts have to be awarded, and `PART_SECS` more for each
/// part. After them anyone may expire the order. Keepers award four parts in a transaction. A transaction that is too slow
/// for this is too slow for an award deadline of a minute as well.
pub const WHOLE_SECS: i64 = 30;
pub const PART_SECS: i64 = 1;

/// For how long a node keeps how many of its GPUs were free, and its worst record: proofs of unjust awards must come so
/// soon.
pub const AVAILABILITY_SECS: i64 = 7_200;
/// For how many periods after its own a report that calls a machine unhealthy counts.
pub const UNHEALTHY_PERIODS: i64 = 2;

/// How long after a report's period the evidence stands that it names. Machines are asked once a day while they are free.
pub const EVIDENCE_SECS: i64 = 2 * DAY as i64;

/// A node with leases that has not answered for so long, by a keeper's vote, is away.
pub const OUTAGE_SECS: i64 = 5;
/// A keeper that has not heard a node for longer leaves it to the report.
pub const OUTAGE_MAX_SECS: i64 = 3_600;
/// How long votes about an outage count, from the first of them on, and how long leases may leave the node after the quorum.
pub const OUTAGE_VOTE_SECS: i64 = 30;
pub const OUTAGE_MOVE_SECS: i64 = 60;
/// How long a node gets no new work after an outage; a period, where that is shorter.
pub const OUTAGE_HOLD_SECS: i64 = 600;

/// The longest that a node gets no new work because it did not start what it was awarded.
pub const MISSED_HOLD_SECS: i64 = DAY as i64;

/// Order modes: the standing ask is the bid, or bids are sealed.
pub const MODE_INSTANT: u8 = 0;
pub const MODE_SEALED: u8 = 1;
/// The most nodes a sealed order may want.
pub const MAX_SEALED_NODES: u8 = 8;
/// How long an auction takes commitments, then reveals, seconds.
pub const AUCTION_SECS_MIN: u32 = 5;
pub const AUCTION_SECS_MAX: u32 = 86_400;
pub const REVEAL_SECS_MIN: u32 = 5;
pub const REVEAL_SECS_MAX: u32 = 3_600;
/// Each second that a lease has paid for gives its customer so many seconds to rate it.
pub const RATING_SECS_PER_PAID: u32 = 1_000;
/// A withheld reveal costs so many times what its lease was worth.
pub const WITHHELD_FACTOR: u64 = 2;
/// No model: ends the list of `Requirement::models`.
pub const ANY_MODEL: u16 = 0;

/// The lowest uptime that a node may guarantee: less would be a better score for next to nothing.
pub const GUARANTEE_BPS_MIN: u16 = 9_000;
/// A broken guarantee costs at least one part in so many of the revenue settled under it: the half that is burned is more
/// than the score's discount of a twentieth.
pub const GUARANTEE_REVENUE_PART: u64 = 8;
/// The longest uptime guarantee, extensions included: one year. Otherwise a provider that broke one could extend it for
/// ever.
pub const MAX_GUARANTEE_SECS: i64 = 31_536_000;

/// A node that fails again within this time after it was mended pays twice as much, and so does one whose GPUs die again:
/// one year.
pub const RELAPSE_SECS: i64 = 31_536_000;
/// What a GPU that died costs for the first time, of the required stake: 1 %.
pub const DEAD_GPU_BPS: u16 = 100;
/// How long the devices of a node with a dead GPU stay with it: 30 days.
pub const DEAD_GPU_SECS: i64 = 30 * DAY as i64;

/// Layout version written into every account.
pub const VERSION: u8 = 1;
