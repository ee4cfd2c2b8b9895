package market

import "math"

// Cheat is what somebody gains who sells a GPU that is not there, or a lesser one, for each GPU and hour.
type Cheat struct {
	// Gain and Cost are USD: of selling it, and of having another machine compute what is checked.
	Gain, Cost float64
	// Detections is how often it is found, an hour.
	Detections float64
}

// assumedCheat is the cheat that stakes are computed for: it saves half of the price, and is found once a day.
func assumedCheat(price PricePerHour) Cheat {
	return Cheat{Gain: float64(price) / float64(OneUSDC) * assumedGainBPS / BPS, Detections: 1.0 / (24 * assumedDetectedDays)}
}

// LeastStakeUSD is the stake of a GPU, USD at stake_price, from which on a cheat loses: S ≥ (g − c) ÷ (d · σ · b),
// where σ is slash_bad_work and b the part of a slash that is burned. It is +Inf where nothing is found or slashed.
func LeastStakeUSD(p *Params, c Cheat) float64 {
	lost := c.Detections * float64(p.SlashBadWorkBps) / BPS * burnedBPS / BPS
	return max(0, c.Gain-c.Cost) / lost
}

// harmUSD is the harm that a slash must cover at a reference price: that of two periods.
func harmUSD(p *Params, price PricePerHour) float64 {
	const hour = 3_600
	hours := 2 * float64(p.PeriodSecs) / hour
	return float64(HarmCoverBPS) / BPS * (float64(price) / float64(OneUSDC)) * hours
}

// LeastStake is the least stake of a GPU at a reference price, in whole tokens: a cheat as the relations assume it
// loses, and the smallest slash covers the harm of two periods, which the program asks for. ok is false where no stake
// is enough.
func LeastStake(p *Params, price PricePerHour) (stake GNT, ok bool) {
	usd := max(LeastStakeUSD(p, assumedCheat(price)), harmUSD(p, price)/(float64(p.SlashWorkFailedBps)/BPS))
	tokens := math.Ceil(usd/(float64(p.StakePrice)/float64(OneUSDC)) - 1e-9)
	if !(tokens < math.MaxUint64/float64(OneGNT)) {
		return 0, false
	}
	return GNT(max(tokens, 1)) * OneGNT, true
}
