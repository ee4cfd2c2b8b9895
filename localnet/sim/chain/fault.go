package chain

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
)

// nodeFlags are about the machine itself: FLAGS_NODE in program/src/constants.rs.
const nodeFlags = records.FlagSpecMismatch | records.FlagWorkFailed | records.FlagEvidenceFailed | records.FlagDeviceChanged

// slashBPS is the share of the required stake that flags cost, the gravest counts: SlashTerms in state/fault.rs.
func slashBPS(flags records.Flags, p *market.Params, l *market.Lease) uint16 {
	badWork, offline := p.SlashBadWorkBps, uint16(0)
	if l != nil {
		badWork, offline = l.SlashBadWorkBps, l.SlashOfflineBps
	}
	var bps uint16
	for _, term := range []struct {
		mask records.Flags
		bps  uint16
	}{
		{records.FlagEvidenceFailed | records.FlagDeviceChanged | records.FlagSpecMismatch, p.SlashFraudBps},
		{records.FlagWorkFailed, p.SlashWorkFailedBps},
		{records.FlagBadOutput, badWork},
		{records.FlagOffline, offline},
	} {
		if flags&term.mask != 0 {
			bps = max(bps, term.bps)
		}
	}
	return bps
}

// faultOpen follows fault_open.rs.
func (t *tx) faultOpen(keys []solana.PublicKey, body []byte) error {
	if a, err := get[market.Fault](t, keys[7]); err == nil && a != nil {
		return bindings.ErrorCodeAlreadyApplied
	}
	leaf, err := t.applyLeaf(keys[2], keys[4], keys[5], body)
	if err != nil {
		return err
	}
	flags := records.Flags(t.flags)
	if flags == 0 {
		return bindings.ErrorCodeNoFault
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
	var l *market.Lease
	if keys[5] == leaf.Lease && !leaf.Lease.IsZero() {
		if l, err = edit[market.Lease](t, keys[5]); err != nil {
			return err
		}
	}
	f := &market.Fault{Meta: market.Meta{Address: keys[7]}}
	if f.Amount, err = market.Share(n.RequiredStake, slashBPS(flags, &m.Params, l)); err != nil {
		return err
	}
	f.Fault.Node, f.Fault.Provider, f.RentPayer = n.Address, p.Address, keys[0]
	f.Period, f.ReportedAt, f.ApplicableAt = r.Period, r.FinalisedAt, r.FinalisedAt+int64(m.Params.AppealSecs)
	f.TotalWeight, f.Flags, f.FinderBps, f.Fault.Version = r.TotalWeight, uint16(flags), m.Params.FinderBps, market.LayoutVersion
	if l != nil {
		down, err := l.Owed(leaf.DowntimeSeconds)
		if err != nil {
			return err
		}
		harm, err := market.HarmInStake(market.USDC(l.Paid)+down, m.Params.StakePrice)
		if err != nil {
			return err
		}
		f.Harm, f.Fault.Lease, f.Fault.Customer = uint64(harm), l.Address, l.Customer
		l.Lease.PendingFaults++
	}
	n.Node.PendingFaults++
	if flags&nodeFlags != 0 && n.State() != market.NodeRetired {
		n.Node.Status = uint8(market.NodeSuspended)
	}
	p.Provider.PendingFaults++
	t.set(f.Address, f)
	t.say(Fact{Kind: FaultOpened, Node: n.Address, Lease: f.Fault.Lease, Period: f.Period, Flags: f.Flags, Amount: f.Amount})
	return nil
}

// slashApply follows slash_apply.rs; who gets which share is not followed.
func (t *tx) slashApply(keys []solana.PublicKey) error {
	f, err := get[market.Fault](t, keys[6])
	if err != nil {
		return err
	}
	if err := f.CanApply(t.now); err != nil {
		return err
	}
	p, err := edit[market.Provider](t, keys[2])
	if err != nil {
		return err
	}
	n, err := edit[market.Node](t, keys[4])
	if err != nil {
		return err
	}
	p.Provider.PendingFaults--
	n.Node.PendingFaults--
	if f.HasLease() {
		l, err := edit[market.Lease](t, f.Fault.Lease)
		if err != nil {
			return err
		}
		l.Lease.PendingFaults--
	}
	taken := min(f.Amount, n.AvailableStake())
	n.Node.Stake -= taken
	p.Stake -= taken
	p.LockedStake -= taken
	p.SlashedTotal += taken
	t.set(f.Address, nil)
	t.say(Fact{Kind: Slashed, Node: n.Address, Lease: f.Fault.Lease, Period: f.Period, Flags: f.Flags, Amount: taken})
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
