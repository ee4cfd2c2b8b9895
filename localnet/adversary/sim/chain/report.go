package chain

import (
	"encoding/binary"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// reportVote follows program/src/instructions/report/report_vote.rs and state/report.rs.
func (t *tx) reportVote(wallet solana.PublicKey, body []byte) error {
	m, err := t.market()
	if err != nil {
		return err
	}
	k, err := edit[market.Keeper](t, market.KeeperAddress(wallet))
	if err != nil {
		return err
	}
	period, root := binary.LittleEndian.Uint64(body), [32]byte(body[8:40])
	if err := k.CanVote(&m.Params, period, t.now); err != nil {
		return err
	}
	key := market.ReportAddress(period)
	r, err := edit[market.Report](t, key)
	if err != nil {
		r = &market.Report{Meta: market.Meta{Address: key}}
		r.Period, r.TotalWeight, r.CreatedAt, r.RentPayer = period, m.TotalWeight, t.now, wallet
		r.Report.Status, r.Report.Version = uint8(market.ReportOpen), market.LayoutVersion
		t.set(key, r)
	}
	does, err := vote(r, root, k)
	if err != nil {
		return err
	}
	switch does {
	case again:
		return nil
	case moved:
		t.say(Fact{Kind: Moved, Keeper: wallet, Period: period, Root: root})
	case first:
		if k.LastVotePeriod != 0 && period > k.LastVotePeriod {
			k.Misses += period - k.LastVotePeriod - 1
		}
		k.Votes++
		switch {
		case r.State() != market.ReportFinal:
			k.VotedAt, k.VotedReports = t.now, m.FinalReports+1
		case t.now <= r.FinalisedAt+market.VoteGrace(m.Params.PeriodSecs):
			k.VotedAt, k.VotedReports = t.now, m.FinalReports
		}
		k.LastVotePeriod = max(k.LastVotePeriod, period)
		t.say(Fact{Kind: Voted, Keeper: wallet, Period: period, Root: root})
	}
	if finalise(r, m.Params.QuorumBps, t.now) {
		m.FinalReports++
		t.say(Fact{Kind: Finalised, Period: period, Root: root})
	}
	return nil
}

// ballot is what a vote does.
type ballot int

const (
	first ballot = iota
	moved        // from another root
	again        // nothing: it repeats an earlier one
)

// vote counts a vote.
func vote(r *market.Report, root [32]byte, k *market.Keeper) (ballot, error) {
	at, does := r.Find(root), first
	from := slices.IndexFunc(r.Roots(), func(c bindings.Candidate) bool { return market.Has(c.Voters, k.Index) })
	switch {
	case from >= 0 && from == at:
		return again, nil
	case from >= 0 && (r.State() == market.ReportFinal || k.WeightSince >= r.CreatedAt):
		return again, bindings.ErrorCodeAlreadyVoted
	case from >= 0 && (at < 0 || place(r, at).Weight+k.Weight <= place(r, from).Weight):
		return again, bindings.ErrorCodeVoteNotHeavier
	case from >= 0:
		does = moved
	}
	r.Tail = slices.Clone(r.Tail) // what was handed out does not change
	switch {
	case at >= 0:
	case int(r.CandidateCount) < len(r.Candidates):
		at = int(r.CandidateCount)
		r.CandidateCount++
	default:
		at = len(r.Candidates) + len(r.Tail)
		r.Tail = append(r.Tail, bindings.Candidate{})
	}
	bit := uint8(1) << (k.Index % 8)
	if does == moved {
		left := place(r, from)
		left.Voters[k.Index/8] &^= bit
		left.Weight -= k.Weight
	}
	c := place(r, at)
	if c.Voters == [32]uint8{} {
		c.Root, c.Proposer = root, k.Wallet
	}
	c.Voters[k.Index/8] |= bit
	r.Voters[k.Index/8] |= bit
	c.Weight += k.Weight
	if does == moved || at >= len(r.Candidates) {
		arrange(r)
	}
	return does, nil
}

// arrange lets the heaviest root of the tail change places with the lightest in front if it has come to weigh more.
func arrange(r *market.Report) {
	if len(r.Tail) == 0 {
		return
	}
	// The first of the lightest, and the last of the heaviest, as Rust's min_by_key and max_by_key have it.
	lightest, heaviest := &r.Candidates[0], &r.Tail[0]
	for i := range r.Candidates {
		if r.Candidates[i].Weight < lightest.Weight {
			lightest = &r.Candidates[i]
		}
	}
	for i := range r.Tail {
		if r.Tail[i].Weight >= heaviest.Weight {
			heaviest = &r.Tail[i]
		}
	}
	if lightest.Weight < heaviest.Weight {
		*lightest, *heaviest = *heaviest, *lightest
	}
}

func place(r *market.Report, at int) *bindings.Candidate {
	if at < len(r.Candidates) {
		return &r.Candidates[at]
	}
	return &r.Tail[at-len(r.Candidates)]
}

func finalise(r *market.Report, quorumBPS uint16, now int64) bool {
	if r.State() == market.ReportFinal {
		return false
	}
	for _, c := range r.Candidates[:r.CandidateCount] {
		if c.Weight*market.BPS >= r.TotalWeight*uint64(quorumBPS) {
			r.Root, r.Proposer, r.FinalisedAt = c.Root, c.Proposer, now
			r.Report.Status = uint8(market.ReportFinal)
			return true
		}
	}
	return false
}

func (t *tx) reportClose(key solana.PublicKey) error {
	m, err := t.market()
	if err != nil {
		return err
	}
	r, err := get[market.Report](t, key)
	if err != nil {
		return err
	}
	if err := r.CanClose(&m.Params, t.now); err != nil {
		return err
	}
	t.set(key, nil)
	t.say(Fact{Kind: ReportClosed, Period: r.Period})
	return nil
}

// proof reads the arguments that report_apply and fault_open share.
func proof(body []byte) (leaf records.Leaf, root records.Hash, err error) {
	const fixed = records.LeafSize + 8
	if len(body) < fixed {
		return leaf, root, bindings.ErrorCodeInvalidLeaf
	}
	raw := body[:records.LeafSize]
	path, n := binary.LittleEndian.Uint32(body[records.LeafSize:]), int(binary.LittleEndian.Uint32(body[records.LeafSize+4:]))
	if len(body) != fixed+32*n {
		return leaf, root, bindings.ErrorCodeInvalidProof
	}
	siblings := make([]records.Hash, n)
	for i := range siblings {
		siblings[i] = records.Hash(body[fixed+32*i:])
	}
	if leaf, err = records.DecodeLeaf(raw); err != nil {
		return leaf, root, bindings.ErrorCodeInvalidLeaf
	}
	return leaf, records.RootOf(records.LeafHash(raw), path, siblings), nil
}

// applyLeaf follows program/src/instructions/report/leaf.rs. It returns the flags that open a fault.
func (t *tx) applyLeaf(report, node, lease solana.PublicKey, body []byte) (records.Leaf, error) {
	t.flags = 0
	leaf, root, err := proof(body)
	if err != nil {
		return leaf, err
	}
	m, err := t.market()
	if err != nil {
		return leaf, err
	}
	r, err := get[market.Report](t, report)
	if err != nil {
		return leaf, err
	}
	switch {
	case r.State() != market.ReportFinal:
		return leaf, bindings.ErrorCodeReportNotFinal
	case root != records.Hash(r.Root):
		return leaf, bindings.ErrorCodeInvalidProof
	case uint64(leaf.Period) != r.Period || leaf.Node != node:
		return leaf, bindings.ErrorCodeInvalidLeaf
	}
	n, err := edit[market.Node](t, node)
	if err != nil {
		return leaf, err
	}
	var l *market.Lease
	if !leaf.Lease.IsZero() && lease == leaf.Lease {
		if l, err = edit[market.Lease](t, lease); err != nil {
			return leaf, err
		}
		if l.Lease.Node != leaf.Node || l.StartedAt == 0 {
			return leaf, bindings.ErrorCodeInvalidLeaf
		}
	}
	nodeNew, leaseNew, flags := market.LeafNews(&leaf, n, l, &m.Params)
	if !nodeNew && !leaseNew {
		return leaf, bindings.ErrorCodeAlreadyApplied
	}
	if nodeNew {
		n.LastReportPeriod, n.ReportWindow = mark(n.LastReportPeriod, n.ReportWindow, uint64(leaf.Period))
		t.applyToNode(&leaf, n, &m.Params)
	}
	if leaseNew {
		l.LastReportPeriod, l.ReportWindow = mark(l.LastReportPeriod, l.ReportWindow, uint64(leaf.Period))
		t.applyToLease(&leaf, l, &m.Params)
	}
	t.flags = uint16(flags)
	t.say(Fact{Kind: Applied, Node: node, Lease: leaf.Lease, Period: uint64(leaf.Period), Flags: uint16(leaf.Flags), Seconds: leaf.VerifiedSeconds})
	return leaf, nil
}

// mark notes a period that is new: math/window.rs.
func mark(last uint64, window uint32, period uint64) (uint64, uint32) {
	if period <= last {
		return last, window | 1<<(last-period)
	}
	if period-last < 32 {
		return period, window<<(period-last) | 1
	}
	return period, 1
}

func (t *tx) applyToNode(leaf *records.Leaf, n *market.Node, p *market.Params) {
	before := record(n)
	n.ChecksPassed += uint64(leaf.ChecksPassed)
	n.ChecksTotal += uint64(leaf.ChecksTotal)
	unhealthy, up := leaf.Flags.Has(records.FlagUnhealthy), leaf.UpSeconds
	if unhealthy {
		up /= 2 // such a period counts half
	}
	n.UptimeBps = market.NextUptimeBPS(n.UptimeBps, up, p.PeriodSecs)
	n.DowntimeSecs += uint64(leaf.DowntimeSeconds)
	if reached, _ := n.NoteFigures(leaf, p, t.now); leaf.ChecksPassed > 0 && leaf.Flags&market.NodeFlags == 0 && reached {
		n.UpSecs += uint64(up)
	}
	if uint64(leaf.Period) == n.LastReportPeriod {
		n.NoteHealth(unhealthy, uint64(leaf.Period), p.PeriodSecs, t.now)
		if leaf.EvidenceHash == [32]byte{} {
			n.Tier = min(n.Tier, leaf.Tier)
		} else if n.Spec.Simulated == 0 {
			n.Tier, n.EvidenceExpiry = leaf.Tier, int64(uint64(leaf.Period)+1)*int64(p.PeriodSecs)+market.EvidenceSecs
		}
		if leaf.DeviceRoot != [32]byte{} {
			if n.DeviceRoot == [32]byte{} {
				n.DeviceRoot = leaf.DeviceRoot
			}
			n.DevicesSeen = 0
			if leaf.DeviceRoot == n.DeviceRoot {
				n.DevicesSeen = 1
			}
		}
		if leaf.EvidenceHash != [32]byte{} {
			n.EvidenceHash = leaf.EvidenceHash
		}
	}
	keepRecord(n, before, t.now)
}

func (t *tx) applyToLease(leaf *records.Leaf, l *market.Lease, p *market.Params) {
	l.VerifiedSecs += leaf.VerifiedSeconds
	if leaf.Flags.Has(records.FlagOffline) && leaf.DowntimeSeconds > l.GraceSecs && l.State() == market.LeaseRunning {
		end := int64(uint64(leaf.Period)+1) * int64(p.PeriodSecs)
		paidUntil := l.StartedAt + int64(l.DowntimeSecs) + int64(l.PaidSecs)
		l.Lease.Status, l.EndedAt = uint8(market.LeaseFailed), max(min(end, t.now, l.FundedUntil), paidUntil)
		t.say(Fact{Kind: Failed, Node: l.Lease.Node, Lease: l.Address, Period: uint64(leaf.Period)})
	}
	l.DowntimeSecs += min(leaf.DowntimeSeconds, l.BillableSecs(t.now)-l.PaidSecs)
}

// record is what a node is compared by; keepRecord remembers the one before a change: state/node.rs.
func record(n *market.Node) bindings.ScoreRecord {
	return bindings.ScoreRecord{
		RatingSum: n.RatingSum, RatingWeight: n.RatingWeight, FeesCompleted: n.FeesCompleted, FeesFailed: n.FeesFailed,
		UptimeBps: n.UptimeBps, Tier: n.Tier, Days: n.Days(), Checked: uint8(min(n.ChecksTotal, 1)),
	}
}

func keepRecord(n *market.Node, before bindings.ScoreRecord, now int64) {
	if record(n) != before {
		n.Previous, n.PreviousSince, n.RecordSince = before, n.RecordSince, now
	}
}
