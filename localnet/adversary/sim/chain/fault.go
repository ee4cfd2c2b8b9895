package chain

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// faultPending and faultApplied are the states of a fault: state/fault.rs.
const (
	faultPending = 1
	faultApplied = 2
)

// costs is what each class of flags costs, for the node or for one lease of it: node_costs and lease_costs in leaf.rs.
func costs(p *market.Params, n *market.Node, l *market.Lease, reference uint64) (out [4]uint64, err error) {
	share := func(stake uint64, bps uint16) (part uint64) {
		if err == nil {
			part, err = market.Share(stake, bps)
		}
		return part
	}
	if l == nil {
		due := func(bps uint16) uint64 { // nothing is mended here, so nothing relapses
			whole := share(n.RequiredStake, bps)
			return whole - min(whole, n.CauseTaken)
		}
		out[0], out[1] = due(p.SlashFraudBps), due(p.SlashWorkFailedBps)
		return out, err
	}
	inStake := func(seconds uint32) uint64 {
		worth, failed := market.Cost(market.PricePerHour(min(l.Price, reference)), l.Gpus, seconds)
		if failed != nil {
			err = failed
			return 0
		}
		stake, failed := market.HarmInStake(worth, p.StakePrice)
		if failed != nil {
			err = failed
		}
		return uint64(stake)
	}
	stake := n.RequiredStake * uint64(l.Gpus) / uint64(n.Spec.Gpus)
	out[2] = max(share(stake, l.SlashBadWorkBps), inStake(l.PaidSecs)*5/2)
	out[3] = min(share(stake, l.SlashOfflineBps), inStake(3600))
	return out, err
}

// cost is what the gravest flag costs.
func cost(flags records.Flags, costs [4]uint64) (out uint64) {
	for i, mask := range []records.Flags{
		records.FlagEvidenceFailed | records.FlagDeviceChanged | records.FlagSpecMismatch | records.FlagSlow, records.FlagWorkFailed, records.FlagBadOutput,
		records.FlagOffline,
	} {
		if flags&mask != 0 {
			out = max(out, costs[i])
		}
	}
	return out
}

// freezes says whether a fault keeps seconds from being paid: Fault::freezes.
func freezes(f *market.Fault) bool {
	return records.Flags(f.Flags)&(market.NodeFlags|records.FlagBadOutput) != 0
}

// faultOpen follows fault_open.rs.
func (t *tx) faultOpen(keys []solana.PublicKey, body []byte) error {
	if a, err := get[market.Fault](t, keys[7]); err == nil && a != nil {
		return bindings.ErrorCodeAlreadyApplied
	}
	if len(body) == 0 {
		return bindings.ErrorCodeInvalidLeaf
	}
	ofNode := body[0] == 1
	leaf, err := t.applyLeaf(keys[2], keys[4], keys[6], body[1:])
	if err != nil {
		return err
	}
	flags := records.Flags(t.flags)
	if flags == 0 {
		return bindings.ErrorCodeNoFault
	}
	if ofNode != (flags&market.NodeFlags != 0) {
		return bindings.ErrorCodeLeafCarriesFault
	}
	m, err := t.market()
	if err != nil {
		return err
	}
	r, err := get[market.Report](t, keys[2])
	if err != nil {
		return err
	}
	p, err := edit[market.Provider](t, keys[3])
	if err != nil {
		return err
	}
	n, err := edit[market.Node](t, keys[4])
	if err != nil {
		return err
	}
	model, err := get[market.Model](t, keys[5])
	if err != nil {
		return err
	}
	var l *market.Lease
	if !ofNode {
		if l, err = edit[market.Lease](t, leaf.Lease); err != nil {
			return err
		}
	}
	f := &market.Fault{Meta: market.Meta{Address: keys[7]}}
	if f.Costs, err = costs(&m.Params, n, l, model.ReferencePrice); err != nil {
		return err
	}
	end := int64(r.Period+1) * int64(m.Params.PeriodSecs)
	f.Fault.Node, f.Fault.Provider, f.RentPayer, f.Kind, f.Status = n.Address, p.Address, keys[0], 1, faultPending
	f.Period, f.OpenedAt, f.ApplicableAt, f.VotersBefore = r.Period, t.now, t.now+int64(m.Params.AppealSecs), end
	f.TotalWeight, f.Flags, f.FinderBps, f.Fault.Version = r.TotalWeight, uint16(flags), m.Params.FinderBps, market.LayoutVersion
	f.WindowFrom, f.WindowUntil, f.ReferencePrice, f.StakePrice = end-int64(m.Params.PeriodSecs), end, model.ReferencePrice, m.Params.StakePrice
	f.ClaimSecs, f.Amount = 2*m.Params.PeriodSecs*uint32(m.Params.SettleDeadlinePeriods), min(cost(flags, f.Costs), n.AvailableStake())
	n.ReservedStake += f.Amount
	if l == nil {
		ofMachine(f, n, flags, end)
	} else {
		ofLease(f, l, flags)
	}
	n.Node.PendingFaults++
	p.Provider.PendingFaults++
	t.set(f.Address, f)
	t.say(Fact{Kind: FaultOpened, Node: n.Address, Lease: f.Fault.Lease, Period: f.Period, Flags: f.Flags, Amount: f.Amount})
	return nil
}

// ofMachine makes it a fault of the node, whose unpaid seconds wait for it.
func ofMachine(f *market.Fault, n *market.Node, flags records.Flags, end int64) {
	const longest = 7 * 86_400
	f.WindowFrom, f.Gpus = max(min(n.GoodSince, f.WindowFrom), end-longest), n.Spec.Gpus
	if n.FrozenFrom == 0 || f.WindowFrom < n.FrozenFrom {
		n.FrozenFrom = f.WindowFrom
	}
	n.CauseTaken += cost(flags, f.Costs)
	n.PendingNodeFaults++
	if n.State() != market.NodeRetired {
		n.Node.Status = uint8(market.NodeSuspended)
	}
}

// ofLease makes it a fault of one lease, which is not paid meanwhile if its output is in doubt.
func ofLease(f *market.Fault, l *market.Lease, flags records.Flags) {
	f.Fault.Lease, f.Gpus = l.Address, l.Gpus
	if flags&records.FlagBadOutput != 0 {
		f.WindowFrom = min(l.StartedAt, f.WindowFrom)
		l.Lease.Frozen++
	}
	l.Lease.PendingFaults++
}

// slashApply follows slash_apply.rs; where the stake goes is not followed.
func (t *tx) slashApply(keys []solana.PublicKey) error {
	f, err := edit[market.Fault](t, keys[6])
	if err != nil {
		return err
	}
	if err := f.CanApply(t.now); err != nil {
		return err
	}
	p, err := edit[market.Provider](t, f.Fault.Provider)
	if err != nil {
		return err
	}
	n, err := edit[market.Node](t, f.Fault.Node)
	if err != nil {
		return err
	}
	p.Provider.PendingFaults--
	n.Node.PendingFaults--
	f.Status, f.ClaimsUntil = faultApplied, t.now+int64(f.ClaimSecs)
	if f.HasLease() {
		l, err := edit[market.Lease](t, f.Fault.Lease)
		if err != nil {
			return err
		}
		if freezes(f) {
			l.Lease.Frozen--
			t.cut(n, l, f.WindowFrom)
		}
	} else {
		if n.PendingNodeFaults--; n.PendingNodeFaults == 0 {
			n.FrozenFrom, n.UnfrozenAt = 0, t.now
		}
		if n.ConvictedFrom == 0 || f.WindowFrom < n.ConvictedFrom {
			n.ConvictedFrom = f.WindowFrom
		}
		if t.now >= n.ClaimsUntil || f.WindowFrom < n.ClaimsFrom {
			n.ClaimsFrom = f.WindowFrom
		}
		n.ClaimsUntil = max(n.ClaimsUntil, f.ClaimsUntil)
		n.Convictions++
		n.Convicted, f.Serial = 1, n.Convictions
	}
	n.ReservedStake -= f.Amount
	taken := min(f.Amount, n.AvailableStake())
	n.Node.Stake -= taken
	p.Stake -= taken
	p.LockedStake -= taken
	p.SlashedTotal += taken
	t.say(Fact{Kind: Slashed, Node: n.Address, Lease: f.Fault.Lease, Period: f.Period, Flags: f.Flags, Amount: taken})
	return nil
}

// cut follows Node::cut in state/freeze.rs.
func (t *tx) cut(n *market.Node, l *market.Lease, from int64) {
	if l.Lease.Cut == 1 || l.StartedAt == 0 {
		return
	}
	n.CutLeases++
	l.Lease.Cut, l.OccupiedUntil = 1, l.EndedAt
	if l.EndedAt == 0 {
		l.OccupiedUntil = min(t.now, l.FundedUntil)
	}
	l.EndedAt = max(min(l.OccupiedUntil, from), l.StartedAt+int64(l.DowntimeSecs)+int64(l.PaidSecs))
	if l.State() == market.LeaseRunning {
		l.Lease.Status = uint8(market.LeaseFailed)
		t.say(Fact{Kind: Failed, Node: n.Address, Lease: l.Address, Period: l.LastReportPeriod})
	}
}

// slashCompensate follows slash_compensate.rs; what the customer gets is not followed.
func (t *tx) slashCompensate(lease, fault solana.PublicKey) error {
	f, err := edit[market.Fault](t, fault)
	if err != nil {
		return err
	}
	l, err := edit[market.Lease](t, lease)
	if err != nil {
		return err
	}
	if err := f.CanCompensate(l); err != nil {
		return err
	}
	if f.HasLease() {
		f.Compensated = 1
		l.Lease.PendingFaults--
		return nil
	}
	last, window := mark(uint64(l.LastFault), l.FaultWindow, uint64(f.Serial))
	l.LastFault, l.FaultWindow = uint32(last), window
	n, err := edit[market.Node](t, f.Fault.Node)
	if err != nil {
		return err
	}
	if n.ConvictedFrom != 0 {
		t.cut(n, l, n.ConvictedFrom)
	}
	return nil
}

// slashClose follows slash_close.rs.
func (t *tx) slashClose(fault solana.PublicKey) error {
	f, err := get[market.Fault](t, fault)
	if err != nil {
		return err
	}
	if err := f.CanClose(t.now); err != nil {
		return err
	}
	if f.HasLease() && f.Compensated == 0 {
		l, err := edit[market.Lease](t, f.Fault.Lease)
		if err != nil {
			return err
		}
		l.Lease.PendingFaults--
	}
	t.set(f.Address, nil)
	return nil
}

// equivocation follows prove_equivocation.rs. The two instructions before it hold the statements or manifests; that
// they are signed is what their builder has checked.
func (t *tx) equivocation(before []solana.Instruction, keeper solana.PublicKey) error {
	m, err := edit[market.Market](t, market.MarketAddress())
	if err != nil {
		return err
	}
	k, err := edit[market.Keeper](t, keeper)
	if err != nil {
		return err
	}
	if k.State() == market.KeeperSlashed {
		return bindings.ErrorCodeWrongKeeperStatus
	}
	lost, err := contradiction(before)
	if err != nil {
		return err
	}
	amount, err := market.Share(k.Bond, m.Params.SlashEquivocationBps)
	if err != nil {
		return err
	}
	k.Bond -= amount
	m.TotalWeight -= k.Weight
	k.FormerWeight, k.Weight, k.WeightSince, k.Keeper.Status = k.Weight, 0, t.now, uint8(market.KeeperSlashed)
	if k.ExitAt == 0 {
		k.ExitAt = t.now + int64(m.Params.KeeperExitSecs)
	}
	lost.Keeper, lost.Amount = k.Wallet, amount
	t.say(lost)
	return nil
}

// contradiction is what two words of a keeper are about; of manifests, no node.
func contradiction(before []solana.Instruction) (Fact, error) {
	if len(before) < 2 {
		return Fact{}, bindings.ErrorCodeInvalidSignature
	}
	var signed []records.CheckStatement
	var listed []records.Manifest
	for _, ix := range before[len(before)-2:] {
		const header = 112 // of the signature's check: what is signed follows
		data, err := ix.Data()
		if err != nil || len(data) < header {
			return Fact{}, bindings.ErrorCodeInvalidSignature
		}
		if st, err := records.DecodeStatement(data[header:]); err == nil {
			signed = append(signed, st)
		}
		if m, err := records.DecodeManifest(data[header:]); err == nil {
			listed = append(listed, m)
		}
	}
	switch {
	case len(signed) == 2 && market.StatementsEquivocate(signed[0], signed[1]):
		return Fact{Kind: KeeperLost, Node: signed[0].Node, Lease: signed[0].Lease, Period: uint64(signed[0].Period)}, nil
	case len(listed) == 2 && market.ManifestsEquivocate(listed[0], listed[1]):
		return Fact{Kind: KeeperLost, Period: uint64(listed[0].Period)}, nil
	}
	return Fact{}, bindings.ErrorCodeNoEquivocation
}
