package market

import "fmt"

// Relation is what must hold between parameters so that cheating costs more than it brings.
type Relation struct {
	Name       string
	Holds      bool
	Figures    string // both sides, with the numbers of today
	Assumption string // under which Holds is said; empty when it needs none
	Enforced   bool   // the program refuses what breaks it
}

// What the program fixes, as in program/src/constants.rs.
const (
	FinderBPSMax   = 1_000
	EmissionBPSMax = 2_000
	QuorumBPSMin   = 6_667
	QuorumBPSMax   = 8_000
	HarmCoverBPS   = 25_000
	burnedBPS      = 5_000  // of every slash, at least
	buyBackBPSMax  = 20_000 // of stake_price: the most that a buy-back offers for stake
	discountBPSMax = 500    // of a price: what an uptime guarantee is worth when nodes are compared
	revenueShare   = 8      // a broken guarantee costs at least one part in so many of the revenue settled under it
)

// What relations assume about the world. They are printed beside each relation.
const (
	assumedWeight       = 3     // a coalition has at most one part in so many of the voting weight
	assumedGainBPS      = 5_000 // a cheat gains half of the reference price
	assumedDetectedDays = 1     // and is detected once in so many days
)

func percentOf(bps uint64) string { return fmt.Sprintf("%.4g %%", float64(bps)/100) }

// Relations are those between the market's parameters alone.
func Relations(p *Params) []Relation {
	votes := (uint64(p.KeeperBps) - min(uint64(p.AwardBps), uint64(p.KeeperBps)) + assumedWeight - 1) / assumedWeight
	back := uint64(p.EmissionBps)*buyBackBPSMax/BPS + uint64(p.AwardBps) + votes
	breaks := "never"
	if p.EmissionBps > 0 {
		breaks = fmt.Sprintf("at a token price of %.3g × stake_price", float64(BPS-min(uint64(p.AwardBps)+votes, BPS))/float64(p.EmissionBps))
	}
	needed := uint64(p.ReportRetentionSecs) + uint64(p.PeriodSecs) + uint64(p.AppealSecs)
	return []Relation{
		{"half of every slash is burned", true, "b = " + percentOf(burnedBPS), "", true},
		{"a finder's part is small", p.FinderBps <= FinderBPSMax, fmt.Sprintf("f = %s ≤ %s", percentOf(uint64(p.FinderBps)), percentOf(FinderBPSMax)), "", true},
		{
			"a verdict needs more than two thirds, and a few cannot hold it up", p.QuorumBps >= QuorumBPSMin && p.QuorumBps <= QuorumBPSMax,
			fmt.Sprintf("%s ≤ quorum %s ≤ %s", percentOf(QuorumBPSMin), percentOf(uint64(p.QuorumBps)), percentOf(QuorumBPSMax)), "", true,
		},
		{
			"stake stays until a fault can be applied", uint64(p.UnstakeCooldownSecs) >= needed,
			fmt.Sprintf("cool-down %s ≥ retention + period + appeal %s", Seconds(p.UnstakeCooldownSecs), Seconds(uint32(min(needed, 1<<32-1)))), "", p.AllowSimulated == 0,
		},
		{
			"a bond stays while an award can be contested", p.ChallengeSecs <= p.KeeperExitSecs,
			fmt.Sprintf("challenge %s ≤ exit %s", Seconds(p.ChallengeSecs), Seconds(p.KeeperExitSecs)), "", true,
		},
		{"emission follows fees at a distance", p.EmissionBps <= EmissionBPSMax, fmt.Sprintf("e = %s ≤ %s", percentOf(uint64(p.EmissionBps)), percentOf(EmissionBPSMax)), "", true},
		{
			"paying fees to oneself loses", back < BPS,
			fmt.Sprintf("e·m′ + award + (keepers − award)·λ = %s < 100 %%; breaks %s", percentOf(back), breaks),
			"λ ≤ 1/3; the token is worth at most 2 × stake_price, which is what a buy-back offers", true,
		},
		{
			"faults out of reports pay nobody who could cause them", true, "λ·f·σ·S = 0: such faults have no finder",
			"the gain of a rival that goes offline for a period is below the cost of the attack", true,
		},
		{
			"a broken guarantee costs more than it brought", BPS/revenueShare*burnedBPS/BPS >= discountBPSMax,
			fmt.Sprintf("slash × b ≥ 1/%d of revenue × %s = %s ≥ discount %s", revenueShare, percentOf(burnedBPS), percentOf(BPS/revenueShare*burnedBPS/BPS), percentOf(discountBPSMax)),
			"the guarantee brought its whole discount on all revenue", true,
		},
		{
			"a dispute costs its opener what it ties up", true, "deposit = max(min(10 % of what was settled, dispute_deposit), 4 × frozen slash × capital rate × holding time)",
			"the accused's capital costs at most the rate that the program counts with", true,
		},
	}
}

// ModelRelations are those between the parameters and a GPU model.
func ModelRelations(p *Params, m *Model) []Relation {
	stake := float64(m.MinStake) / float64(OneGNT) * float64(p.StakePrice) / float64(OneUSDC) // USD
	price := PricePerHour(m.ReferencePrice)
	slash := stake * float64(p.SlashWorkFailedBps) / BPS
	harm := harmUSD(p, price)
	least := 0.0
	if slash > 0 {
		least = harm / slash
	}
	needed := LeastStakeUSD(p, assumedCheat(price))
	days := 0.0
	if needed > 0 {
		days = stake / needed * assumedDetectedDays
	}
	return []Relation{
		{
			m.ModelName() + ": a slash covers the harm", slash >= harm,
			fmt.Sprintf("σ·S = %.2f USD ≥ 2.5·p·W = %.2f USD; until the token is worth %.2f × stake_price", slash, harm, least),
			"p is the reference price; W is two periods; the token is worth stake_price", true,
		},
		{
			m.ModelName() + ": cheating loses", days >= assumedDetectedDays,
			fmt.Sprintf("S = %.2f USD ≥ (g − c) ÷ (d·σ·b) = %.2f USD; holds down to one detection in %.1f days", stake, needed, days),
			"one detection a day; a cheat saves half of the reference price; σ is slash_bad_work; only what is burned counts", false,
		},
	}
}
