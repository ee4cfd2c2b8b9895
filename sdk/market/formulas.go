package market

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"time"
)

// Fixed numbers of the protocol, as in program/src/constants.rs.
const (
	BPS = 10_000 // basis points in one
	// SpotNoticeSecs is the notice of an interruptible lease where the market's own is not shorter, and SpotLeastNotices for how
	// many notices it runs at least.
	SpotNoticeSecs   = 120
	SpotLeastNotices = 5
	SecondsPerHour   = 3_600
	MaxGPUs          = 8          // of a node
	MaxKeepers       = 256        // at a time
	MaxOrderModels   = 4          // GPU models that an order names
	MaxOrderNodes    = 64         // of an order
	MaxDurationSecs  = 31_536_000 // of an order: one year
	FullAgeDays      = 180
	FullAgeSecs      = FullAgeDays * 86_400
	LayoutVersion    = 1 // of every account

	ratingSecsPerPaid = 1_000 // seconds to rate, for each second that was paid

	// Bits of Market.Paused.
	PauseOrders uint8 = 1
	PauseAwards uint8 = 2
)

// ErrOverflow is the error of sums that do not fit, as in the program.
var ErrOverflow = errors.New("a sum does not fit its type")

// The functions below are twins of program/src/math: same integers, same rounding, same errors. Shared vectors in
// idl/vectors keep them equal.

// mulDiv returns a × b / d, rounded down, with a 128-bit product.
func mulDiv(a, b, d uint64) (uint64, error) {
	hi, lo := bits.Mul64(a, b)
	if d == 0 || hi >= d {
		return 0, ErrOverflow
	}
	q, _ := bits.Div64(hi, lo, d)
	return q, nil
}

// Cost is price × gpus × seconds / 3600, rounded down.
func Cost(price PricePerHour, gpus uint8, seconds uint32) (USDC, error) {
	n, err := mulDiv(uint64(price), uint64(gpus)*uint64(seconds), SecondsPerHour)
	return USDC(n), err
}

// HeldSecs is for how many seconds an order reserves: those that are ordered, and at least those that a machine may wait for
// the job. It is the twin of Order::held_secs.
func HeldSecs(duration, start uint32) uint32 { return max(duration, start) }

// OrderCost is what an order over several nodes reserves: the cost of one node times nodes.
func OrderCost(price PricePerHour, gpus uint8, seconds uint32, nodes uint8) (USDC, error) {
	one, err := Cost(price, gpus, seconds)
	if err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(uint64(one), uint64(nodes))
	if hi != 0 {
		return 0, ErrOverflow
	}
	return USDC(lo), nil
}

// Share is amount × bps / 10,000, rounded down: fees, and shares of slashed stake.
func Share(amount uint64, bps uint16) (uint64, error) { return mulDiv(amount, uint64(bps), BPS) }

// Fee is the protocol's share of a payment.
func Fee(amount USDC, bps uint16) (USDC, error) {
	n, err := Share(uint64(amount), bps)
	return USDC(n), err
}

// PenaltyBPS is what a lack of reputation adds to a price when nodes are compared.
func PenaltyBPS(reputation uint16) uint16 {
	if reputation >= BPS {
		return 0
	}
	return (BPS - reputation) / 2
}

// DiscountBPS is what a guarantee takes off a price when nodes are compared: a twentieth of the promised uptime.
func DiscountBPS(guarantee uint16) uint16 { return min(guarantee, BPS) / 20 }

func factorBPS(reputation, guarantee uint16) uint64 {
	return BPS + uint64(PenaltyBPS(reputation)) - uint64(DiscountBPS(guarantee))
}

// GuaranteeKept reports whether up seconds of those counted are at least the promised share. Without any counted second
// it is kept.
func GuaranteeKept(up, counted uint64, guarantee uint16) bool {
	hi, lo := bits.Mul64(up, BPS)
	wantHi, want := bits.Mul64(counted, uint64(guarantee))
	return hi > wantHi || hi == wantHi && lo >= want
}

// PriceOf is the highest price at which a node of this reputation and guarantee scores at most score: the inverse of
// Score. It is what the winner of a sealed order is paid, with the best losing score, as long as it is within the
// order's maximum.
func PriceOf(score uint64, reputation, guarantee uint16) (PricePerHour, error) {
	factor := factorBPS(reputation, guarantee)
	// ((score + 1) × 10,000 - 1) / factor; the product needs 78 bits.
	hi, lo := bits.Mul64(score, BPS)
	lo, carry := bits.Add64(lo, BPS-1, 0)
	hi += carry
	if hi >= factor {
		return 0, ErrOverflow
	}
	q, _ := bits.Div64(hi, lo, factor)
	return PricePerHour(q), nil
}

// Score compares asks: the lowest wins, ties go to the higher reputation, then to the smaller sha256(order ‖ node).
// guarantee is what a running guarantee promises, 0 without one.
func Score(price PricePerHour, reputation, guarantee uint16) (uint64, error) {
	return mulDiv(uint64(price), factorBPS(reputation, guarantee), BPS)
}

// ReputationInputs are the figures that a node's reputation is computed from.
type ReputationInputs struct {
	UptimeBPS     uint16
	FeesCompleted uint64 // µUSDC of fees swept from leases that were served as long as they had to be
	FeesFailed    uint64 // what the others weigh: FailureWeight
	RatingSum     uint64 // Σ stars × µUSDC of fees
	RatingWeight  uint64 // Σ µUSDC of fees of leases that were rated
	Days          uint8  // whole days of good periods
	DisputeBPS    uint16 // what lost disputes took off at DisputeLostAt
	DisputeLostAt int64
}

// unratedBPS is what a node without ratings is worth: four stars.
const unratedBPS = 7_500

// standingDisputeBPS is what is left at now of what lost disputes took off: it wears off evenly over half a year.
func standingDisputeBPS(bps uint16, since, now int64) uint16 {
	elapsed := uint64(max(satSub(now, since), 0))
	left := FullAgeSecs - min(elapsed, FullAgeSecs)
	return uint16(min((uint64(bps)*left+FullAgeSecs-1)/FullAgeSecs, BPS))
}

// Reputation weighs uptime 50 %, completion 20 %, ratings 20 % and days that the machine was up 10 %, less what lost
// disputes take off; basis points, rounded down. Time alone makes it no better.
func Reputation(r ReputationInputs, now int64) uint16 {
	uptime := min(uint64(r.UptimeBPS), BPS)
	completion := shareBPS(r.FeesCompleted, r.FeesFailed)
	ratings := ratingBPS(r.RatingSum-min(r.RatingSum, r.RatingWeight), r.RatingWeight)
	age := uint64(min(r.Days, FullAgeDays)) * BPS / FullAgeDays
	weighted := uint16(min((uptime*50+completion*20+ratings*20+age*10)/100, BPS))
	return weighted - min(weighted, standingDisputeBPS(r.DisputeBPS, r.DisputeLostAt, now))
}

// PriorFees is what a node's reputation starts from, µUSDC of fees: those of 500 GPU-hours at 2.40 USDC and 12 %. All of
// it counts as completed, and rated four stars.
const PriorFees = 144_000_000

// failurePart bounds what a failed lease weighs: at least this part of the prior.
const failurePart = 10

// FailureWeight is what a failed lease weighs, by the fee of the time that it was funded for.
func FailureWeight(fee USDC) uint64 { return min(max(uint64(fee), PriorFees/failurePart), PriorFees) }

// shareBPS is (prior + completed) / (prior + completed + failed) in basis points, rounded down.
func shareBPS(completed, failed uint64) uint64 {
	good, over := bits.Add64(PriorFees, completed, 0)
	hi, lo := bits.Mul64(good, BPS)
	whole, wover := bits.Add64(good, failed, 0)
	return min(div128(hi+over*BPS, lo, over+wover, whole), BPS)
}

// ratingBPS is (stars × 10,000 / 4 + prior × unrated) / (prior + weight), rounded down, at most 10,000.
func ratingBPS(stars, weight uint64) uint64 {
	hi, lo := bits.Mul64(stars, BPS/4)
	lo, carry := bits.Add64(lo, PriorFees*unratedBPS, 0)
	whole, over := bits.Add64(weight, PriorFees, 0)
	return min(div128(hi+carry, lo, over, whole), BPS)
}

// div128 divides numbers of two words, rounded down, and gives at most 64 bits.
func div128(hi, lo, dhi, dlo uint64) uint64 {
	if dhi == 0 {
		if hi >= dlo {
			return math.MaxUint64
		}
		q, _ := bits.Div64(hi, lo, dlo)
		return q
	}
	wide := func(hi, lo uint64) *big.Int {
		return new(big.Int).Or(new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64), new(big.Int).SetUint64(lo))
	}
	return new(big.Int).Quo(wide(hi, lo), wide(dhi, dlo)).Uint64() // the divisor has more than 64 bits, the quotient no more
}

// NextUptimeBPS weighs a period's uptime into the running figure: (63 × old + sample) / 64, rounded towards the sample.
func NextUptimeBPS(old uint16, upSecs, periodSecs uint32) uint16 {
	sample := uint64(0)
	if periodSecs > 0 {
		sample = min(uint64(upSecs)*BPS/uint64(periodSecs), BPS)
	}
	up := uint64(0) // rounded towards the sample
	if sample > uint64(old) {
		up = 63
	}
	return uint16(min((uint64(old)*63+sample+up)/64, BPS))
}

// Split is where slashed stake goes. Pool is for the customers that were harmed.
type Split struct{ Burned, Finder, Pool GNT }

// SplitSlash burns at least half, rounded up; of the other half the finder gets its share of the whole and the victims'
// pool the rest.
func SplitSlash(amount GNT, finderBPS uint16) (Split, error) {
	share, err := Share(uint64(amount), finderBPS)
	if err != nil {
		return Split{}, err
	}
	rest := amount / 2
	finder := min(GNT(share), rest)
	return Split{Burned: amount - rest, Finder: finder, Pool: rest - finder}, nil
}

// WithoutFinder is the same without a finder: its part is burned.
func (s Split) WithoutFinder() Split { return Split{Burned: s.Burned + s.Finder, Pool: s.Pool} }

// Claimed is the same where the victims claim at most harm: the rest of their pool is burned.
func (s Split) Claimed(harm GNT) Split {
	pool := min(s.Pool, harm)
	return Split{Burned: s.Burned + s.Pool - pool, Finder: s.Finder, Pool: pool}
}

// HarmInStake turns a customer's harm into stake; price is µUSDC per whole stake token.
func HarmInStake(harm USDC, price uint64) (GNT, error) {
	n, err := mulDiv(uint64(harm), uint64(OneGNT), price)
	return GNT(n), err
}

// Worth is what stake tokens are worth at a price for a whole one, rounded up. Error: ErrOverflow.
func (g GNT) Worth(price USDC) (USDC, error) {
	hi, lo := bits.Mul64(uint64(g), uint64(price))
	if hi >= uint64(OneGNT) {
		return 0, ErrOverflow
	}
	whole, rest := bits.Div64(hi, lo, uint64(OneGNT))
	if rest > 0 {
		whole++
	}
	return USDC(whole), nil
}

// PeriodOf is the period that contains the unix second.
func PeriodOf(now int64, periodSecs uint32) (uint64, error) {
	if now < 0 || periodSecs == 0 {
		return 0, ErrOverflow
	}
	return uint64(now) / uint64(periodSecs), nil
}

// PeriodEnd is the first second after the period.
func PeriodEnd(period uint64, periodSecs uint32) (int64, error) {
	if period == math.MaxUint64 {
		return 0, ErrOverflow
	}
	hi, lo := bits.Mul64(period+1, uint64(periodSecs))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, ErrOverflow
	}
	return int64(lo), nil
}

// Seconds turns a parameter in seconds into a duration.
func Seconds(n uint32) time.Duration { return time.Duration(n) * time.Second }

// satSub is a − b without wrapping.
func satSub(a, b int64) int64 {
	d := a - b
	switch {
	case b > 0 && d > a:
		return math.MinInt64
	case b < 0 && d < a:
		return math.MaxInt64
	}
	return d
}

// satAdd is a + b without wrapping.
func satAdd(a, b int64) int64 {
	s := a + b
	switch {
	case b > 0 && s < a:
		return math.MaxInt64
	case b < 0 && s > a:
		return math.MinInt64
	}
	return s
}
