package chain

import (
	"encoding/binary"
	"math/bits"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// CreateOrder places an order, as order_create does; the customer's credits are not followed.
func (c *Chain) CreateOrder(o market.Order) error {
	t := &tx{c: c, signer: o.Customer, now: c.Now()}
	m, err := t.market()
	if err != nil {
		return err
	}
	o.Address = market.OrderAddress(o.Customer, o.Nonce)
	cost, err := market.OrderCost(market.PricePerHour(o.MaxPrice), o.GpusPerNode, market.HeldSecs(o.DurationSecs, m.Params.StartDeadlineSecs), o.NodesWanted)
	if err != nil {
		return err
	}
	o.RentPayer, o.Order.Reserved, o.CreatedAt, o.AwardDeadline = o.Customer, uint64(cost), t.now, t.now+int64(m.Params.AwardDeadlineSecs)
	o.StartSecs, o.SettleSecs = m.Params.StartDeadlineSecs, m.Params.PeriodSecs*uint32(m.Params.SettleDeadlinePeriods)
	o.Order.Status, o.Order.Version = uint8(market.OrderOpen), market.LayoutVersion
	c.accounts[o.Address] = &o
	c.Changed(o.Address, &o)
	return nil
}

// orderAward follows order_award.rs and award.rs.
func (t *tx) orderAward(keys []solana.PublicKey, body []byte) error {
	m, err := t.market()
	if err != nil {
		return err
	}
	k, err := get[market.Keeper](t, keys[1])
	if err != nil {
		return err
	}
	o, err := edit[market.Order](t, keys[3])
	if err != nil {
		return err
	}
	n, err := edit[market.Node](t, keys[5])
	if err != nil {
		return err
	}
	p, err := edit[market.Provider](t, keys[6])
	if err != nil {
		return err
	}
	model, err := get[market.Model](t, keys[7])
	if err != nil {
		return err
	}
	if _, err := get[market.Lease](t, keys[8]); err == nil {
		return bindings.ErrorCodeWrongLeaseStatus
	}
	if k.State() != market.KeeperActive {
		return bindings.ErrorCodeKeeperNotActive
	}
	if err := market.Awardable(m, o, n, p, model, t.now); err != nil {
		return err
	}
	score, err := n.Score(t.now, o.LatestEnd())
	if err != nil {
		return err
	}
	if score > binary.LittleEndian.Uint64(body) {
		return bindings.ErrorCodeScoreTooHigh
	}
	return t.award(keys[8], k, o, n, p, &m.Params, score)
}

func (t *tx) award(key solana.PublicKey, k *market.Keeper, o *market.Order, n *market.Node, p *market.Provider, params *market.Params, score uint64) error {
	held, err := market.Cost(market.PricePerHour(o.MaxPrice), o.GpusPerNode, market.HeldSecs(o.DurationSecs, o.StartSecs))
	if err != nil {
		return err
	}
	reserved, err := market.Cost(n.AskFor(o.Interruptible != 0), o.GpusPerNode, market.HeldSecs(o.DurationSecs, o.StartSecs))
	if err != nil {
		return err
	}
	o.Order.Reserved -= uint64(held)
	if o.NodesAwarded == 0 {
		o.Site = n.Spec.Site
	}
	o.NoteAward(n.Address)
	o.NotePart(t.now)
	if o.NodesAwarded == o.NodesWanted {
		o.Order.Status, o.AwardedAt, o.PartsBy = uint8(market.OrderAwarded), t.now, 0
	}
	var mask uint16
	for i := range n.Spec.Gpus {
		if bit := uint16(1) << i; bits.OnesCount16(mask) < int(o.GpusPerNode) && n.GpuMask&bit == 0 {
			mask |= bit
		}
	}
	n.GpuMask |= mask
	n.NoteFree(t.now)
	n.Node.LiveLeases++
	n.OpenLeases++
	o.Order.LiveLeases++
	p.Provider.LiveLeases++
	l := &market.Lease{Meta: market.Meta{Address: key}}
	l.Order, l.Lease.Node, l.Lease.Provider, l.Customer, l.Lease.Keeper = o.Address, n.Address, p.Address, o.Customer, k.Wallet
	l.NodeKey, l.Price, l.Score, l.Reserved = n.NodeKey, uint64(n.AskFor(o.Interruptible != 0)), score, uint64(reserved)
	l.AwardedAt, l.DurationSecs, l.NoticeSecs = t.now, o.DurationSecs, params.NoticeSecs
	l.SettleSecs, l.RatingSecs, l.FeeBps = params.PeriodSecs*uint32(params.SettleDeadlinePeriods), params.RatingSecs, params.FeeBps
	l.GraceSecs, l.AwardBps, l.ChallengeUntil = params.MigrationGraceSecs, params.AwardBps, t.now+int64(params.ChallengeSecs)
	l.SlashOfflineBps, l.SlashBadWorkBps, l.GpuMask, l.Gpus = params.SlashOfflineBps, params.SlashBadWorkBps, mask, o.GpusPerNode
	l.Lease.Status, l.RunToCompletion, l.MayMigrate = uint8(market.LeaseAwarded), o.RunToCompletion, 1-o.NoMigration
	if l.Interruptible = o.Interruptible; l.Interruptible != 0 {
		l.NoticeSecs = min(l.NoticeSecs, market.SpotNoticeSecs)
	}
	l.Lease.Version = market.LayoutVersion
	l.LastFault, l.FaultWindow = n.Convictions, ^uint32(0)
	t.set(key, l)
	t.say(Fact{Kind: Awarded, Node: n.Address, Lease: key, Keeper: k.Wallet, Amount: score})
	return nil
}

// leaseStart follows lease_start.rs.
func (t *tx) leaseStart(nodeKey, order, lease solana.PublicKey) error {
	m, err := t.market()
	if err != nil {
		return err
	}
	o, err := edit[market.Order](t, order)
	if err != nil {
		return err
	}
	l, err := edit[market.Lease](t, lease)
	if err != nil {
		return err
	}
	switch {
	case nodeKey != l.NodeKey:
		return bindings.ErrorCodeUnauthorised
	case l.State() != market.LeaseAwarded:
		return bindings.ErrorCodeWrongLeaseStatus
	case o.State() != market.OrderAwarded && o.State() != market.OrderLapsed:
		return bindings.ErrorCodeWrongOrderStatus
	case t.now > o.AwardedAt+int64(o.StartSecs):
		return bindings.ErrorCodeTooLate
	}
	period, err := market.PeriodOf(t.now, m.Params.PeriodSecs)
	if err != nil {
		return err
	}
	l.StartedAt, l.FundedUntil, l.Lease.Status = t.now, t.now+int64(l.DurationSecs), uint8(market.LeaseRunning)
	l.LastReportPeriod, l.ReportWindow = max(period, 1)-1, ^uint32(0)
	o.Started++
	t.say(Fact{Kind: Started, Node: l.Lease.Node, Lease: lease})
	return nil
}

// leaseSettle follows lease_settle_report.rs and Lease::settle.
func (t *tx) leaseSettle(lease solana.PublicKey) error {
	l, err := edit[market.Lease](t, lease)
	if err != nil {
		return err
	}
	if l.State() < market.LeaseRunning {
		return bindings.ErrorCodeWrongLeaseStatus
	}
	n, err := get[market.Node](t, l.Lease.Node)
	if err != nil {
		n = &market.Node{} // no fault of it is known
	}
	news := l.UnsettledSecs(n.PayableUntil(t.now))
	if news == 0 || l.Frozen > 0 {
		return nil
	}
	before := l.ProviderTotal()
	l.PaidSecs += news
	owed, err := l.Owed(l.PaidSecs)
	if err != nil {
		return err
	}
	l.Paid = uint64(owed)
	payment := uint64(l.ProviderTotal() - before)
	l.Reserved -= payment
	t.say(Fact{Kind: Paid, Node: l.Lease.Node, Lease: lease, Seconds: l.PaidSecs, Amount: payment})
	return nil
}

// leaseEnd follows lease_end.rs for the customer and for strangers.
func (t *tx) leaseEnd(authority, lease solana.PublicKey) error {
	l, err := edit[market.Lease](t, lease)
	if err != nil {
		return err
	}
	n, err := edit[market.Node](t, l.Lease.Node)
	if err != nil {
		return err
	}
	if n.ConvictedFrom != 0 && l.State() == market.LeaseRunning {
		t.cut(n, l, n.ConvictedFrom)
		if authority != l.Customer && l.CanEndByAnyone(n, t.now) != nil {
			return nil
		}
	}
	at, reason, kept := t.now, market.EndedByCustomer, true
	switch err := l.CanEndByAnyone(n, t.now); {
	case l.State() == market.LeaseFailed && (err == nil || authority == l.Customer):
		at, reason, kept = l.EndedAt, market.EndedFailed, false
	case err == nil:
		at, reason = l.FundedUntil, market.EndedUnfunded
	case authority != l.Customer || l.State() != market.LeaseRunning:
		return err
	}
	p, err := edit[market.Provider](t, l.Lease.Provider)
	if err != nil {
		return err
	}
	l.EndedAt, l.EndReason, l.Lease.Status = at, uint8(reason), uint8(market.LeaseEnded)
	most, err := l.Owed(l.BillableSecs(at))
	if err != nil {
		return err
	}
	l.Reserved = uint64(most - l.ProviderTotal())
	before := record(n)
	n.GpuMask &^= l.GpuMask
	n.NoteFree(t.now)
	n.Node.LiveLeases--
	if kept {
		n.JobsCompleted++
	} else {
		n.JobsFailed++
		n.FeesFailed += failureWeight(l)
	}
	keepRecord(n, before, t.now)
	p.Provider.LiveLeases--
	t.say(Fact{Kind: Ended, Node: n.Address, Lease: lease, Seconds: l.PaidSecs})
	return nil
}

// leaseClose follows lease_close.rs.
func (t *tx) leaseClose(authority, order, lease solana.PublicKey) error {
	m, err := t.market()
	if err != nil {
		return err
	}
	l, err := get[market.Lease](t, lease)
	if err != nil {
		return err
	}
	n, err := edit[market.Node](t, l.Lease.Node)
	if err != nil {
		return err
	}
	if err := l.CanClose(authority, n, &m.Params, t.now); err != nil {
		return err
	}
	n.OpenLeases--
	n.CutLeases -= uint16(l.Lease.Cut)
	o, err := edit[market.Order](t, order)
	if err != nil {
		return err
	}
	t.set(lease, nil)
	t.say(Fact{Kind: LeaseClosed, Node: l.Lease.Node, Lease: lease, Seconds: l.PaidSecs, Amount: l.Paid})
	o.Order.LiveLeases--
	t.closeOrder(o)
	return nil
}

func (t *tx) closeOrder(o *market.Order) {
	if o.Order.LiveLeases == 0 && (o.State() == market.OrderAwarded || o.State() == market.OrderExpired) {
		t.set(o.Address, nil)
		t.say(Fact{Kind: OrderClosed})
	}
}

// leaseAbort follows lease_abort.rs.
func (t *tx) leaseAbort(order, lease solana.PublicKey) error {
	m, err := t.market()
	if err != nil {
		return err
	}
	o, err := edit[market.Order](t, order)
	if err != nil {
		return err
	}
	l, err := get[market.Lease](t, lease)
	if err != nil {
		return err
	}
	if err := l.CanAbort(o, t.now); err != nil {
		return err
	}
	n, err := edit[market.Node](t, l.Lease.Node)
	if err != nil {
		return err
	}
	p, err := edit[market.Provider](t, l.Lease.Provider)
	if err != nil {
		return err
	}
	n.GpuMask &^= l.GpuMask
	n.NoteFree(t.now)
	n.Node.LiveLeases--
	n.OpenLeases--
	p.Provider.LiveLeases--
	o.Order.LiveLeases--
	o.NodesAwarded--
	if o.State() != market.OrderExpired {
		before := record(n)
		n.JobsFailed++
		n.FeesFailed += failureWeight(l)
		keepRecord(n, before, t.now)
		n.NoteMissed(o.StartSecs, t.now)
		o.NoteUnserved(n.Address)
		o.Order.Status, o.AwardDeadline = uint8(market.OrderLapsed), t.now+int64(m.Params.AwardDeadlineSecs)
	}
	t.set(lease, nil)
	t.closeOrder(o)
	return nil
}

// orderExpire follows order_expire.rs.
func (t *tx) orderExpire(key solana.PublicKey) error {
	o, err := edit[market.Order](t, key)
	if err != nil {
		return err
	}
	if err := o.CanExpire(t.now); err != nil {
		return err
	}
	o.Order.Reserved, o.Order.Status = 0, uint8(market.OrderExpired)
	t.closeOrder(o)
	return nil
}

// failureWeight is what a failed lease weighs in its node's record.
func failureWeight(l *market.Lease) uint64 {
	secs := l.DurationSecs
	if l.StartedAt != 0 {
		secs = uint32(l.FundedUntil - l.StartedAt)
	}
	owed, err := l.Owed(secs)
	if err != nil {
		return market.PriorFees
	}
	return market.FailureWeight(owed * market.USDC(l.FeeBps) / market.BPS)
}
