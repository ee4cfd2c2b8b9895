package audit

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// auditor walks through the events of a lease in order and recomputes each.
type auditor struct {
	o     Options
	roots map[uint64]records.Hash
	award *bindings.LeaseAwarded
	lease *Lease

	duration    uint32 // of the order
	held        uint32 // seconds that the order reserves for
	maxPrice    market.PricePerHour
	funded      uint32      // seconds that the lease is funded for
	granted     market.USDC // all that was ever reserved for it
	reserved    market.USDC
	startedAt   int64
	endedAt     int64
	fundedUntil int64
	settled     []*bindings.LeaseSettled
	verified    uint64
	receipt     uint64
	gaps        topic                   // what is not known of it by now
	reports     map[uint64]unreadReport // by period
	applied     map[uint64]bool         // periods whose leaves were seen

	disputeAndOutput
	unjust
}

func (a *auditor) step(t Tx, name string, c checks, format string, args ...any) {
	s := c.step(t, name, format, args...)
	if a.granted > 0 {
		held := a.reserved - min(a.reserved, a.lease.Fee) // the fee is paid, and leaves the lease when it is closed
		s.Money = &Money{Reserved: held, Paid: a.lease.Paid, Returned: a.lease.Refunded}
	}
	a.lease.Steps = append(a.lease.Steps, s)
}

// checks begins the checks of a step, with what is not known so far.
func (a *auditor) checks() checks { return checks{gaps: a.gaps} }

func (a *auditor) orderCreated(t Tx, v *bindings.OrderCreated) {
	a.lease.Customer, a.lease.GPUs = v.Customer, v.Gpus
	a.duration, a.maxPrice = v.DurationSecs, market.PricePerHour(v.MaxPrice)
	c := a.checks()
	a.held = v.HeldSecs
	c.require(v.HeldSecs >= v.DurationSecs, "it reserves for %d s, and %d s were ordered", v.HeldSecs, v.DurationSecs)
	want, err := market.OrderCost(a.maxPrice, v.Gpus, v.HeldSecs, v.Nodes)
	c.amount(0, "the reservation", v.Reserved, want, err)
	a.step(t, "order", c, "%s for up to %s, at most %s per GPU-hour; %s is reserved", machines(v.Nodes, v.Gpus),
		span(int64(v.DurationSecs)), dollars(a.maxPrice), dollars(v.Reserved))
}

func (a *auditor) awarded(t Tx, v *bindings.LeaseAwarded) {
	c := a.checks()
	c.require(v.Node == a.award.Node && v.Order == a.award.Order, "it names another node or order")
	c.require(market.LeaseAddress(v.Order, v.Node) == a.lease.Address, "the address is not that of this order and node")
	c.follows(ofOrder, market.PricePerHour(v.Price) <= a.maxPrice, "the price is above the order's maximum")
	c.follows(ofOrder, bitsOf(v.GpuMask) == int(a.lease.GPUs), "%d GPUs were set aside, %d ordered", bitsOf(v.GpuMask), a.lease.GPUs)
	want, err := market.Cost(a.lease.Price, a.lease.GPUs, a.held)
	c.amount(ofOrder, "the reservation", v.Reserved, want, err)
	full, err := market.Cost(a.maxPrice, a.lease.GPUs, a.held)
	c.amount(ofOrder, "what was released", v.Released, full-min(full, want), err)
	low, err := market.Score(a.lease.Price, market.BPS, market.BPS)
	c.require(err == nil && v.Score >= low, "the score %d is below the price", v.Score)
	a.reserved, a.granted, a.funded = market.USDC(v.Reserved), want, a.duration
	rest := ""
	if v.Released > 0 {
		rest = fmt.Sprintf(", and %s is free again", dollars(v.Released))
	}
	a.step(t, "award", c, "by keeper %s to machine %s at %s per GPU-hour; %s stays reserved%s", v.Keeper, v.Node, dollars(a.lease.Price), dollars(v.Reserved), rest)
}

// auctioned checks a sealed order's price against the bids that its award names. Whether they were the best ones that
// the keeper had is for the auction's replay.
func (a *auditor) auctioned(t Tx, v *bindings.AuctionAwarded) {
	c := a.checks()
	a.sealed = true
	c.follows(ofOrder, v.Price >= v.Bid && market.PricePerHour(v.Price) <= a.maxPrice, "the price is not between the bid and the order's maximum")
	c.follows(ofAward|ofPrice, market.PricePerHour(v.Price) == a.lease.Price, "the lease has another price")
	by := "no other bid lost, so that the order's maximum is the price"
	if !v.BarNode.IsZero() {
		c.follows(ofOrder, v.Score <= v.BarScore && priceFollows(v.Bid, v.Score, v.BarScore, v.Price, uint64(a.maxPrice)), "the price does not follow from the best losing score")
		by = fmt.Sprintf("the price follows from the best losing bid, of machine %s", v.BarNode)
	}
	a.step(t, "auction", c, "won with a bid of %s per GPU-hour; %s; all bids: gantry auction replay %s", dollars(v.Bid), by, v.Order)
}

// continued is the award of a lease that goes on where a failed one stopped.
func (a *auditor) continued(t Tx, v *bindings.LeaseMigrated) {
	c := a.checks()
	c.require(market.MovedLeaseAddress(v.From, v.Node) == v.To, "the address is not that of this lease and node")
	c.follows(ofOrder, market.PricePerHour(v.Price) <= a.maxPrice, "the price is above the order's maximum")
	c.follows(ofOrder, bitsOf(v.GpuMask) == int(a.lease.GPUs), "%d GPUs were set aside, %d ordered", bitsOf(v.GpuMask), a.lease.GPUs)
	want, err := market.Cost(a.lease.Price, a.lease.GPUs, v.DurationSecs)
	c.amount(ofOrder, "the reservation", v.Reserved, want, err)
	a.duration, a.reserved, a.granted, a.funded = v.DurationSecs, market.USDC(v.Reserved), want, v.DurationSecs
	a.step(t, "award", c, "by keeper %s, which moved the rest of lease %s to machine %s at %s per GPU-hour; %s is reserved",
		v.Keeper, v.From, v.Node, dollars(a.lease.Price), dollars(v.Reserved))
}

func (a *auditor) started(t Tx, v *bindings.LeaseStarted) {
	c := a.checks()
	c.follows(ofOrder|ofAward, v.FundedUntil-v.StartedAt == int64(a.duration), "it is funded for %d s, ordered were %d s", v.FundedUntil-v.StartedAt, a.duration)
	a.startedAt, a.fundedUntil = v.StartedAt, v.FundedUntil
	a.step(t, "start", c, "billed from %s; the money lasts until %s", clock(v.StartedAt), clock(v.FundedUntil))
}

func (a *auditor) extended(t Tx, v *bindings.LeaseExtended) {
	c := a.checks()
	before, err1 := a.owed(a.funded)
	after, err2 := a.owed(a.funded + v.Seconds)
	c.follows(ofReserve, err1 == nil && err2 == nil, "the cost does not fit")
	added := after - min(after, before)
	c.amount(ofReserve, "the reservation", v.Reserved, a.reserved+added, nil)
	c.follows(ofStart|ofFunds, v.FundedUntil == a.fundedUntil+int64(v.Seconds), "it is funded until %s", clock(v.FundedUntil))
	a.funded, a.reserved, a.fundedUntil = a.funded+v.Seconds, market.USDC(v.Reserved), v.FundedUntil
	a.granted += added
	a.step(t, "extend", c, "by %s for %s; the money lasts until %s", span(int64(v.Seconds)), dollars(added), clock(v.FundedUntil))
}

func (a *auditor) leafApplied(t Tx, v *bindings.LeafApplied) {
	c := a.checks()
	found := false
	for _, p := range leafProofs(t) {
		l := p.Leaf
		if l.Lease != a.lease.Address || uint64(l.Period) != v.Period {
			continue
		}
		found = true
		root, final := a.roots[v.Period]
		_, unread := a.reports[v.Period]
		c.open = c.open || unread
		c.require(final || unread, "the report of period %d did not become final", v.Period)
		c.require(!final || p.Root() == root, "the proof does not lead to the final root")
		c.require(l.VerifiedSeconds == v.VerifiedSecs && l.DowntimeSeconds == v.DowntimeSecs && uint16(l.Flags) == v.Flags, "the event says something else than the leaf")
	}
	c.require(found, "the leaf is not in the transaction")
	if len(c.problems) == 0 && !c.open {
		a.lease.Leaves++
	}
	a.verify(v.Period, v.VerifiedSecs)
	shown := "a proof shows that the final report says so"
	if c.open {
		shown = "whether the final report says so is not known"
	}
	flags := ""
	if v.Flags != 0 {
		flags = fmt.Sprintf(", with the flags %s", records.Flags(v.Flags))
	}
	a.step(t, "verified", c, "%s served and %s down in period %d%s; %s", span(int64(v.VerifiedSecs)), span(int64(v.DowntimeSecs)), v.Period, flags, shown)
}

// verify counts the seconds of a period's leaf once.
func (a *auditor) verify(period uint64, secs uint32) {
	if a.applied == nil {
		a.applied = map[uint64]bool{}
	}
	if !a.applied[period] {
		a.applied[period] = true
		a.verified += uint64(secs)
	}
}

func (a *auditor) settlement(t Tx, v *bindings.LeaseSettled) {
	c := a.checks()
	if market.SettleSource(v.Source) == market.SourceReceipt {
		r, err := receiptOf(t, a.lease.Address, a.o.NodeKey, a.lease.Customer)
		c.require(err == nil, "receipt: %v", err)
		if err == nil {
			a.receipt = max(a.receipt, r.Cumulative)
			c.follows(ofStart, r.StartedAt == a.startedAt, "the receipt is of another life of the lease")
		}
	}
	claimed := max(a.receipt, a.verified)
	// A receipt may be brought before the outputs are compared: it is noted, and nothing is paid.
	c.follows(ofOutput, a.payable() || v.Paid == 0 && v.PaidSecs == 0, "the outputs of this redundant job were not compared, or this one lost")
	c.follows(ofClaims, uint64(v.PaidSecs) <= claimed, "%d s are paid, but only %d s are signed for or verified", v.PaidSecs, claimed)
	want, err := a.owed(v.PaidSecs)
	c.amount(ofOrder|ofAward|ofPrice, "the price of the time", v.Paid, want, err)
	c.require(v.PaidSecs >= a.lease.PaidSecs, "paid seconds went back from %d to %d", a.lease.PaidSecs, v.PaidSecs)
	all := market.USDC(v.Paid - min(v.Paid, v.FeeTotal))
	c.amount(ofPaid, "what the provider has received", uint64(a.lease.Provider)+v.ProviderAmount, all, nil)
	paid := market.USDC(v.ProviderAmount)
	if a.gaps&ofPaid != 0 { // the sums of this settlement say what those have paid that could not be read
		paid = all - min(all, a.lease.Provider)
		a.gaps &^= ofPaid
	}
	a.lease.Provider += paid
	a.lease.PaidSecs, a.lease.Paid, a.lease.Fee = v.PaidSecs, market.USDC(v.Paid), market.USDC(v.FeeTotal)
	if v.Paid > 0 {
		a.settled = append(a.settled, v)
	}
	a.reserved -= min(a.reserved, paid)
	a.step(t, "paid", c, "by %s: %d s are paid so far with %s, of which %s is fee; the provider gets %s now", market.SettleSource(v.Source), v.PaidSecs,
		dollars(v.Paid), dollars(v.FeeTotal), dollars(v.ProviderAmount))
}

func (a *auditor) ended(t Tx, v *bindings.LeaseEnded) {
	c := a.checks()
	a.endedAt = v.EndedAt
	c.follows(ofStart|ofFunds, v.EndedAt >= a.startedAt && v.EndedAt <= a.fundedUntil, "the end lies outside the funded time")
	c.follows(ofReserve, market.USDC(v.Released) <= a.reserved, "more was released than was reserved")
	a.reserved -= min(a.reserved, market.USDC(v.Released))
	a.lease.Refunded += market.USDC(v.Released)
	a.step(t, "end", c, "%s at %s, after %s; %s is free again", market.EndReason(v.Reason), clock(v.EndedAt), span(v.EndedAt-a.startedAt), dollars(v.Released))
}

func (a *auditor) aborted(t Tx, v *bindings.LeaseAborted) {
	c := a.checks()
	c.amount(ofReserve, "the refund", v.Released, a.reserved, nil)
	a.lease.Refunded += market.USDC(v.Released)
	a.reserved, a.lease.Open = 0, false
	a.step(t, "abort", c, "the machine never started it; %s is free again", dollars(v.Released))
}

// declined: the node has said, before the start, that it does not serve the lease. The seconds in which it was kept are paid to
// nobody.
func (a *auditor) declined(t Tx, v *bindings.LeaseDeclined) {
	c := a.checks()
	worth, err := market.Cost(a.lease.Price, a.lease.GPUs, v.HeldSecs)
	c.require(err == nil && market.USDC(v.Charged) <= worth, "%s USDC are more than %d s cost", market.USDC(v.Charged).Exact(), v.HeldSecs)
	c.amount(ofReserve, "charge and refund", v.Charged+v.Released, a.reserved, nil)
	a.lease.Refunded += market.USDC(v.Released)
	a.granted -= market.USDC(v.Charged) // neither a fee nor pay
	a.reserved, a.lease.Open = 0, false
	a.step(t, "declined", c, "by the machine: %s; %s for the %d s that it was kept, and %s is free again", market.DeclineReason(v.Reason),
		dollars(v.Charged), v.HeldSecs, dollars(v.Released))
}

func (a *auditor) closed(t Tx, v *bindings.LeaseClosed) {
	c := a.checks()
	c.follows(ofDispute, !a.disputeOpen, "a dispute is open")
	c.follows(ofPaid, v.PaidSecs == a.lease.PaidSecs, "%d s were paid for, not %d", a.lease.PaidSecs, v.PaidSecs)
	c.amount(ofPaid, "what was paid", v.Paid, a.lease.Paid, nil)
	c.amount(ofPaid, "the fee", v.Fee, a.lease.Fee, nil)
	most := a.lostAtMost()
	c.follows(ofOutput|ofStart|ofPaid, market.USDC(v.Lost) <= most, "work that lost was worth %s USDC at most, not %s", most.Exact(), market.USDC(v.Lost).Exact())
	c.amount(ofReserve, "fee, work that lost and rest", v.Fee+v.Lost+v.Released, a.reserved, nil)
	c.require(v.Award <= v.Fee, "the awarding keeper has earned more than the fee")
	lost := a.forfeits()
	c.follows(ofAuction, lost == "" || v.Award == 0, "the awarding keeper has earned %s USDC, though %s", market.USDC(v.Award).Exact(), lost)
	if a.gaps&ofPaid != 0 {
		a.lease.PaidSecs, a.lease.Paid, a.lease.Fee = v.PaidSecs, market.USDC(v.Paid), market.USDC(v.Fee)
		a.lease.Provider = a.lease.Paid - min(a.lease.Paid, a.lease.Fee)
	}
	a.lease.Refunded += market.USDC(v.Released)
	a.granted -= market.USDC(v.Lost) // neither a fee nor pay
	a.reserved, a.lease.Open = 0, false
	earned := fmt.Sprintf("the keeper that awarded the lease has earned %s of the fee", dollars(v.Award))
	if lost != "" {
		earned = "the keeper that awarded the lease has no share of the fee, since " + lost
	}
	if v.Lost > 0 {
		earned += fmt.Sprintf("; its output lost, and the %s that its work was worth is for the buy-back", dollars(v.Lost))
	}
	a.step(t, "close", c, "the fee of %s is collected, %s is free again; %s", dollars(v.Fee), dollars(v.Released), earned)
}

// lostAtMost is the most that the work of the lease may have been worth if its output lost: all the time from its start to its end.
func (a *auditor) lostAtMost() market.USDC {
	if a.payable() || a.endedAt <= a.startedAt {
		return 0
	}
	worth, err := market.Cost(a.lease.Price, a.lease.GPUs, uint32(min(a.endedAt-a.startedAt, int64(a.funded))))
	if err != nil {
		return 0 // the program reserves no more than fits
	}
	return worth
}

// conclude checks what only shows over the whole history.
func (a *auditor) conclude() {
	a.end()
	c := a.checks()
	a.lease.FeeBPS = a.feeBPS(&c)
	total := a.granted
	flows := a.lease.Provider + a.lease.Refunded + a.reserved
	if !a.lease.Open {
		flows += a.lease.Fee
	}
	c.amount(ofReserve, "provider, fee, refund and rest together", uint64(flows), total, nil)
	text := "all that was reserved for the lease is accounted for: %s = %s for the provider + %s fee + %s that came back"
	parts := []any{dollars(total), dollars(a.lease.Provider), dollars(a.lease.Fee), dollars(a.lease.Refunded)}
	switch {
	case outcomeOf(a.lease.Steps) == Unknown && len(c.problems) == 0:
		c.open = true
		text = "not known: not everything could be read. Of %s that is known to be reserved: %s for the provider, %s fee, %s that came back"
	case a.lease.Open:
		text = "all that was reserved for the lease is accounted for: %s = %s for the provider + %s that came back + %s that the lease holds, of which %s is fee"
		parts = []any{dollars(total), dollars(a.lease.Provider), dollars(a.lease.Refunded), dollars(a.reserved), dollars(a.lease.Fee)}
	}
	a.step(Tx{}, "sum", c, text, parts...)
}

// feeBPS finds the fee that the lease was awarded under, and checks every settlement against it. While the account
// exists it says so itself; afterwards it is the parameter in force, or the one in the allowed band that fits.
func (a *auditor) feeBPS(c *checks) uint16 {
	fits := func(bps uint16) bool {
		for _, s := range a.settled {
			fee, err := market.Fee(market.USDC(s.Paid), bps)
			if err != nil || uint64(fee) != s.FeeTotal {
				return false
			}
		}
		return true
	}
	if a.o.Lease != nil {
		c.require(fits(a.o.Lease.FeeBps), "a fee is not %d basis points", a.o.Lease.FeeBps)
		return a.o.Lease.FeeBps
	}
	if fits(a.o.Params.FeeBps) {
		return a.o.Params.FeeBps
	}
	for bps := uint16(1_000); bps <= 1_500; bps++ {
		if fits(bps) {
			return bps
		}
	}
	c.require(false, "no fee in the allowed band explains the settlements")
	return 0
}

func bitsOf(mask uint16) int {
	n := 0
	for ; mask != 0; mask &= mask - 1 {
		n++
	}
	return n
}

func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04:05 UTC") }
