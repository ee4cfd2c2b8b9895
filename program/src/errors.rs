//! Errors that the program returns. Append only: numbers never move, so that clients of any age agree on them.

use anchor_lang::prelude::*;

#[error_code]
#[derive(Debug, PartialEq, Eq)]
pub enum MarketError {
    #[msg("The signer may not do this")]
    Unauthorised, // 6000
    #[msg("An amount of zero moves nothing")]
    ZeroAmount, // 6001
    #[msg("A sum does not fit its type")]
    Overflow, // 6002
    #[msg("An account breaks its invariant; nothing was changed")]
    InvariantBroken, // 6003
    #[msg("A parameter is outside its allowed range")]
    ParameterOutOfRange, // 6004
    #[msg("No parameter change is pending")]
    NothingPending, // 6005
    #[msg("The timelock of the pending change has not passed")]
    TimelockRunning, // 6006
    #[msg("The length of a period is fixed when the market is created")]
    PeriodIsFixed, // 6007
    #[msg("New orders are paused")]
    OrdersPaused, // 6008
    #[msg("New awards are paused")]
    AwardsPaused, // 6009
    #[msg("The token account has the wrong mint")]
    WrongMint, // 6010
    #[msg("The token account belongs to someone else")]
    WrongTokenOwner, // 6011
    #[msg("More is asked for than is free")]
    InsufficientFunds, // 6012
    #[msg("The stake does not cover what the registered nodes need")]
    InsufficientStake, // 6013
    #[msg("The waiting time has not passed")]
    TooEarly, // 6014
    #[msg("The deadline has passed")]
    TooLate, // 6015
    #[msg("The account still has nodes, leases, orders, stake or funds")]
    StillInUse, // 6016
    #[msg("A fault is pending; wait until it is applied or voided")]
    FaultPending, // 6017
    #[msg("The price must be greater than zero")]
    ZeroPrice, // 6018
    #[msg("The specification is not possible")]
    InvalidSpec, // 6019
    #[msg("Simulated GPUs are not allowed in this market")]
    SimulatedNotAllowed, // 6020
    #[msg("The device accounts do not match the GPUs of the specification")]
    DeviceCountMismatch, // 6021
    #[msg("The device is already registered")]
    DeviceClaimed, // 6022
    #[msg("The node's status does not allow this")]
    WrongNodeStatus, // 6023
    #[msg("The bond is below the minimum")]
    BondTooSmall, // 6024
    #[msg("There are already as many keepers as the market can hold")]
    TooManyKeepers, // 6025
    #[msg("The keeper is not active")]
    KeeperNotActive, // 6026
    #[msg("The keeper's status does not allow this")]
    WrongKeeperStatus, // 6027
    #[msg("The address is too long or empty")]
    InvalidMultiaddr, // 6028
    #[msg("The order's requirement cannot be met by any node")]
    InvalidRequirement, // 6029
    #[msg("The duration is outside its allowed range")]
    InvalidDuration, // 6030
    #[msg("The order's mode is not known")]
    UnknownMode, // 6031
    #[msg("The order's status does not allow this")]
    WrongOrderStatus, // 6032
    #[msg("The node does not satisfy the requirement: model or computing power")]
    UnsuitableModel, // 6033
    #[msg("The node does not satisfy the requirement: too few free GPUs")]
    NotEnoughGpus, // 6034
    #[msg("The node does not satisfy the requirement: memory, interconnect or evidence tier")]
    UnsuitableHardware, // 6035
    #[msg("The node does not satisfy the requirement: region or site")]
    UnsuitableLocation, // 6036
    #[msg("The node does not satisfy the requirement: uptime or reputation")]
    UnsuitableReputation, // 6037
    #[msg("The node asks more than the order pays")]
    PriceTooHigh, // 6038
    #[msg("The lease's status does not allow this")]
    WrongLeaseStatus, // 6039
    #[msg("A signature is missing, or is not of the expected key and message")]
    InvalidSignature, // 6040
    #[msg("The receipt is not newer than the last one")]
    StaleReceipt, // 6041
    #[msg("The receipt claims more seconds than have passed")]
    ReceiptTooLarge, // 6042
    #[msg("Nothing is owed")]
    NothingOwed, // 6043
    #[msg("The lease has claims that are not settled yet")]
    Unsettled, // 6044
    #[msg("The rating must be from 1 to 5, once, for a lease that was paid for")]
    InvalidRating, // 6045
    #[msg("The period has not ended")]
    PeriodNotEnded, // 6046
    #[msg("The keeper has already voted, and this vote does not change any more")]
    AlreadyVoted, // 6047
    #[msg("Not returned any more: a report takes every root that is voted for")]
    TooManyCandidates, // 6048
    #[msg("The report is not final")]
    ReportNotFinal, // 6049
    #[msg("The proof does not lead to the report's root")]
    InvalidProof, // 6050
    #[msg("The leaf is not well formed, or is about another node, lease or period")]
    InvalidLeaf, // 6051
    #[msg("The leaf has been applied, or is too old to be")]
    AlreadyApplied, // 6052
    #[msg("The leaf carries a fault: open it with fault_open")]
    LeafCarriesFault, // 6053
    #[msg("The leaf carries no fault")]
    NoFault, // 6054
    #[msg("The appeal window is still open")]
    AppealWindowOpen, // 6055
    #[msg("The appeal window has closed")]
    AppealWindowClosed, // 6056
    #[msg("The statement does not contradict this fault")]
    IrrelevantStatement, // 6057
    #[msg("The keeper's statement is already counted")]
    AlreadyCounted, // 6058
    #[msg("The account is not the one that the state names")]
    WrongAccount, // 6059
    #[msg("An optional account that this call needs is missing")]
    MissingAccount, // 6060
    #[msg("A session key must be another key than the customer's, and expire in the future")]
    InvalidSessionKey, // 6061
    #[msg("There are already as many session keys as an account can hold")]
    TooManySessionKeys, // 6062
    #[msg("The session key has expired")]
    SessionKeyExpired, // 6063
    #[msg("The session key's cap does not allow this")]
    SessionCapExceeded, // 6064
    #[msg("The lease may not move to another node: its customer forbade it, or no funded time is left")]
    MigrationNotAllowed, // 6065
    #[msg("The machine's GPUs have not been measured since it was last free, or its figures are less than its class or the order asks for")]
    UnsuitableFigures, // 6066
    #[msg("The opened byte is right: nothing is wrong with it")]
    WorkIsRight, // 6067
    #[msg("A proof came before: only what was signed in later periods counts")]
    AlreadyProven, // 6068
    #[msg("The two statements or manifests are no equivocation")]
    NoEquivocation, // 6069
    #[msg("The node scores worse than the keeper expected; choose again")]
    ScoreTooHigh, // 6070
    #[msg("This award cannot be contested, or not any more")]
    NotContestable, // 6071
    #[msg("The node was not free, suitable and strictly better throughout the auction")]
    NotBetter, // 6072
    #[msg("The keeper has rewards to claim before its bond is withdrawn")]
    RewardsUnclaimed, // 6073
    #[msg("The market does not know this kind of dispute")]
    UnknownDispute, // 6074
    #[msg("A lease can be disputed once")]
    AlreadyDisputed, // 6075
    #[msg("A vote on a dispute is 1 for the customer or 0 against")]
    UnknownVote, // 6076
    #[msg("The dispute was upheld; dispute_uphold opens its fault")]
    DisputeUpheld, // 6077
    #[msg("The dispute has not been upheld")]
    DisputeNotUpheld, // 6078
    #[msg("The period named is not the running one")]
    WrongPeriod, // 6079
    #[msg("The lease's output is not in the state that this call needs")]
    WrongOutputState, // 6080
    #[msg("What is revealed is not what was committed to")]
    WrongReveal, // 6081
    #[msg("The order's mode does not allow this")]
    WrongOrderMode, // 6082
    #[msg("The bid does not stand before the best losing one")]
    BidDoesNotWin, // 6083
    #[msg("An uptime guarantee ends between the unstaking cooldown and a year from now, promises 90 to 100 %, and only grows")]
    InvalidGuarantee, // 6084
    #[msg(
        "The node has an uptime guarantee: it stays active until its end, and leaves after guarantee_resolve"
    )]
    GuaranteeRunning, // 6085
    #[msg("The node has no uptime guarantee")]
    NotGuaranteed, // 6086
    #[msg("The node's uptime guarantee is over: send guarantee_resolve, then guarantee again")]
    GuaranteeOver, // 6087
    #[msg(
        "The node does not satisfy the requirement: an uptime guarantee until the latest end that the order can have"
    )]
    UnsuitableGuarantee, // 6088
    #[msg("The node does not hold the claims of all its GPUs: evidence of tier 2 or 3 gets them, with node_set_evidence")]
    DevicesMissing, // 6089
    #[msg("The devices are not those that the node registered, each once and in ascending order")]
    WrongDevices, // 6090
    #[msg("No evidence of tier 2 or 3 stands for these devices: wait for a report that names both")]
    EvidenceTooWeak, // 6091
    #[msg("The claims say already what the evidence is worth, or others have as good evidence")]
    ClaimsStand, // 6092
    #[msg("A vote moves only to a root that then weighs more than the one that it leaves weighed")]
    VoteNotHeavier, // 6093
    #[msg("The keeper has voted lately, has no weight, or too few reports became final since")]
    KeeperNotIdle, // 6094
    #[msg("A report says that the machine is unhealthy: it gets no new orders until one says otherwise")]
    NodeUnhealthy, // 6095
    #[msg("The first award of the auction was made by other bids")]
    OtherBids, // 6096
    #[msg("No outage of the node stands that more than two thirds of the keepers' weight saw, or it began before the lease")]
    NoOutage, // 6097
    #[msg("The commitment is not well formed, is of another cluster, node or instant, or does not hold the entry")]
    InvalidCommitment, // 6098
    #[msg("The entry names neither the profile of the node's model nor the one before it")]
    UnknownProfile, // 6099
    #[msg("The key signs for this keeper already")]
    SignerStands, // 6100
    #[msg("The node declined this order or did not start it: the order goes to another one")]
    NodeDeclined, // 6101
    #[msg("More nodes did not serve this order than it remembers: place a new one")]
    TooManyDeclined, // 6102
    #[msg("A lease is declined with a known reason, and with the digest of the job that was ordered")]
    InvalidDecline, // 6103
    #[msg("The GPUs that the order wants come with fewer cores, less memory, less disk or an older CUDA than it asks for")]
    UnsuitableShare, // 6104
    #[msg("The node takes no interruptible work: it has no spot price")]
    NoSpotPrice, // 6105
    #[msg("A spot price is at most the whole price: 10,000 basis points of it")]
    SpotPriceOutOfRange, // 6106
    #[msg("The node was registered after the order: an order over several nodes goes to nodes that were there before it")]
    NodeTooNew, // 6107
}

/// `Err(error)` as the framework's error: for the arms of a match. Everything else is guarded by the framework's
/// `require!(condition, error)`, or by `ok_or(error)?` where a value is missing.
pub fn fail<T>(error: MarketError) -> Result<T> {
    Err(error.into())
}

/// Turns an overflow into an error.
pub trait OrOverflow<T> {
    fn or_overflow(self) -> Result<T>;
}

impl<T> OrOverflow<T> for Option<T> {
    #[inline(always)]
    fn or_overflow(self) -> Result<T> {
        match self {
            Some(value) => Ok(value),
            None => fail(MarketError::Overflow),
        }
    }
}
