package market

// DefaultParams are the parameters that the protocol names (docs/protocol/README.md, parameters).
func DefaultParams() Params {
	const hour, day = 3_600, 86_400
	return Params{
		MinBond: 1_000 * uint64(OneGNT), WeightCap: 100_000 * uint64(OneGNT), StakePrice: uint64(OneUSDC),
		EmissionCap: 10_000 * uint64(OneGNT), DisputeDeposit: 5 * uint64(OneUSDC),
		PeriodSecs: hour, AppealSecs: day, ChallengeSecs: hour, UnstakeCooldownSecs: 14 * day,
		KeeperActivationSecs: day, KeeperExitSecs: 14 * day, AwardDeadlineSecs: 60, StartDeadlineSecs: 120,
		MigrationGraceSecs: 60, NoticeSecs: hour, TimelockSecs: 2 * day, RatingSecs: 7 * day,
		ReportRetentionSecs: 7 * day, SettleDeadlinePeriods: 2,
		FeeBps: 1_200, BurnBps: 2_000, KeeperBps: 4_000, TreasuryBps: 4_000, AwardBps: 1_000, QuorumBps: 6_667, FinderBps: 1_000,
		SlashFraudBps: 10_000, SlashBadWorkBps: 5_000, SlashWorkFailedBps: 1_000, SlashOfflineBps: 500,
		SlashGuaranteeBps: 1_000, SlashUnjustAwardBps: 2_000, SlashEquivocationBps: 10_000,
	}
}

// LeastCooldown is the shortest cool-down of stake that the other parameters allow, seconds: a report of the running
// period can be applied, and the appeal after that is over, before stake leaves.
func LeastCooldown(p *Params) uint32 { return p.PeriodSecs + p.ReportRetentionSecs + p.AppealSecs }
