package audit

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// domain of the cluster whose records the tests audit.
var domain = records.Domain{7}

// dispute is one that two keepers reject with 10 and 20 GNT: the deposit of 5 USDC is lost.
type dispute struct {
	opened   *bindings.DisputeOpened
	votes    [2]*bindings.DisputeVoted
	resolved *bindings.DisputeResolved
	twice    bool
	at       [4]int64 // seconds after the start of the history
}

func newDispute(lease solana.PublicKey) *dispute {
	at := market.DisputeAddress(lease)
	const gnt = uint64(market.OneGNT)
	return &dispute{
		opened: &bindings.DisputeOpened{Dispute: at, Lease: lease, Kind: 2, EvidenceHash: [32]byte{9}, Deposit: 5_000_000, ClosesAt: 1_800_000_100},
		votes: [2]*bindings.DisputeVoted{
			{Dispute: at, Keeper: pub("keeper 1"), Weight: 10 * gnt}, {Dispute: at, Keeper: pub("keeper 2"), Weight: 20 * gnt},
		},
		resolved: &bindings.DisputeResolved{Dispute: at, Lease: lease, ToProvider: 2_500_000, ToBuyBack: 2_500_000, RejectedWeight: 30 * gnt},
		at:       [4]int64{40, 41, 42, 43},
	}
}

// between puts transactions with these events behind the eighth of the history, the lease's end, and leaves its close
// behind them.
func between(s *leaseHistory, t *testing.T, at func(i int) int64, values ...any) []Tx {
	t.Helper()
	txs := s.txs(t)
	last := txs[len(txs)-1]
	txs = txs[:len(txs)-1]
	for i, v := range values {
		txs = append(txs, Tx{
			Slot: uint64(100 + i), Signature: solana.Signature{1, byte(i)}, Time: time.Unix(1_800_000_000+at(i), 0), Events: []market.Event{{Value: v}},
		})
	}
	last.Slot = 200
	return append(txs, last)
}

func (d *dispute) audit(t *testing.T, s *leaseHistory) *Lease {
	t.Helper()
	values := []any{d.opened, d.votes[0], d.votes[1], d.resolved}
	if d.twice {
		values = append(values, d.opened, d.resolved)
	}
	txs := between(s, t, func(i int) int64 { return d.at[min(i, 3)] }, values...)
	return rebuild(Options{Domain: domain, Params: market.DefaultParams(), NodeKey: s.nodeKey.PublicKey()}, s.lease, s.awarded, 1, txs, s.roots)
}

func texts(l *Lease, name string) []string {
	var out []string
	for _, st := range l.Steps {
		if st.Name == name {
			out = append(out, st.Text)
		}
	}
	return out
}

func TestADisputeInALeasesHistory(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*dispute)
		verdict string
	}{
		"rejected": {func(*dispute) {}, "rejected: the deposit of 5.00 USDC is lost, 2.50 of it to the provider; 0 GNT for the customer, 30 against"},
		"upheld": {func(d *dispute) {
			d.votes[0].Uphold, d.votes[1].Uphold = 1, 1
			d.resolved.Upheld, d.resolved.UpheldWeight, d.resolved.RejectedWeight = 1, d.resolved.RejectedWeight, 0
			d.resolved.ToProvider, d.resolved.ToBuyBack = 0, 0
		}, "upheld: the deposit is free again, and a fault is opened; 30 GNT for the customer, 0 against"},
		"undecided": {func(d *dispute) {
			d.votes[0].Uphold = 1
			d.resolved.UpheldWeight, d.resolved.RejectedWeight, d.at[3] = d.votes[0].Weight, d.votes[1].Weight, 100
			d.resolved.ToProvider, d.resolved.ToBuyBack = 1_250_000, 0
		}, "not decided in time: of the deposit of 5.00 USDC 1.25 are lost; 10 GNT for the customer, 20 against"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLeaseHistory(t)
			d := newDispute(s.lease)
			c.change(d)
			l := d.audit(t, s)
			require.Empty(t, problemsOf(l))
			require.True(t, l.OK())
			require.Equal(t, []string{c.verdict}, texts(l, "verdict"))
			require.Len(t, texts(l, "vote"), 2)
			require.Contains(t, texts(l, "dispute")[0], "by the customer: bad-output; deposit $5.00, complaint with sha256 09000000")
		})
	}
}

func TestEveryLieAboutADisputeShows(t *testing.T) {
	other := pub("another dispute")
	for name, c := range map[string]struct {
		change func(*dispute)
		shows  string
	}{
		"of another lease":               {func(d *dispute) { d.opened.Dispute = other }, "dispute: the address is not"},
		"of no kind":                     {func(d *dispute) { d.opened.Kind = 3 }, "dispute: kind 3 is not known"},
		"a second one":                   {func(d *dispute) { d.twice = true }, "dispute: a lease can be disputed once"},
		"a keeper votes twice":           {func(d *dispute) { d.votes[1].Keeper = d.votes[0].Keeper }, "vote: the keeper had voted before"},
		"a vote after the end":           {func(d *dispute) { d.at[2], d.at[3] = 161, 162 }, "vote: the vote came too late"},
		"votes that nobody cast":         {func(d *dispute) { d.resolved.RejectedWeight++ }, "verdict: votes of 0 for and 30 GNT against were seen"},
		"a vote that was left out":       {func(d *dispute) { d.votes[0].Dispute = other }, "verdict: votes of 0 for and 20 GNT against were seen"},
		"less lost than the deposit":     {func(d *dispute) { d.resolved.ToBuyBack-- }, "verdict: the deposit was 5.00 USDC"},
		"closed before its time":         {func(d *dispute) { d.resolved.ToProvider, d.resolved.ToBuyBack = 1_250_000, 0 }, "verdict: it was closed undecided before its time"},
		"won and lost":                   {func(d *dispute) { d.resolved.Upheld = 1 }, "verdict: the deposit was lost although the customer won"},
		"upheld without a vote":          {func(d *dispute) { d.resolved.Upheld = 1 }, "verdict: nobody had voted for the customer"},
		"closed while it was still open": {func(d *dispute) { d.resolved.Lease = other }, "close: a dispute is open"},
		"lost although more upheld it": {func(d *dispute) {
			d.votes[1].Uphold = 1
			d.resolved.UpheldWeight, d.resolved.RejectedWeight = d.votes[1].Weight, d.votes[0].Weight
		}, "verdict: it was not rejected by more weight"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLeaseHistory(t)
			d := newDispute(s.lease)
			c.change(d)
			l := d.audit(t, s)
			require.Contains(t, problemsOf(l), c.shows)
			require.False(t, l.OK())
		})
	}
}

// A vote and its verdict in one slot stay in order, and what the histories share is there once.
func TestWeave(t *testing.T) {
	tx := func(n byte, slot uint64) Tx { return Tx{Slot: slot, Signature: solana.Signature{n}} }
	own := []Tx{tx(1, 1), tx(2, 5), tx(5, 7), tx(6, 9)}
	disputed := []Tx{tx(2, 5), tx(3, 6), tx(4, 7), tx(5, 7)}
	order := func(txs []Tx) (out []byte) {
		for _, t := range txs {
			out = append(out, t.Signature[0])
		}
		return out
	}
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6}, order(merge(mergeDispute(own, disputed))))
	require.Equal(t, []byte{1, 2, 3, 4}, order(merge(mergeDispute(own[:2], disputed[:3]))), "not resolved yet")
	require.Equal(t, []byte{1, 2, 5, 6}, order(merge(mergeDispute(own, nil))))
}

// outputs is a redundant job of three nodes whose outputs agree.
type outputs struct {
	committed *bindings.OutputCommitted
	revealed  *bindings.OutputRevealed
	resolved  *bindings.OutputsResolved
	salt      [32]byte
	hidden    bool   // the reveal's instruction is not in its transaction
	late      bool   // the comparison comes after the payments
	lost      uint64 // of the money that comes back, what the buy-back gets
}

func newOutputs(s *leaseHistory) *outputs {
	o := &outputs{salt: [32]byte{7}}
	output := [32]byte{8}
	o.committed = &bindings.OutputCommitted{Lease: s.lease, Commitment: market.OutputCommitment(domain, s.lease, output, o.salt)}
	o.revealed = &bindings.OutputRevealed{Lease: s.lease, Output: output}
	o.resolved = &bindings.OutputsResolved{Order: s.order, Output: output, Accepted: 2, Of: 3}
	return o
}

// audit puts the output's steps between the lease's extension and its payments.
func (o *outputs) audit(t *testing.T, s *leaseHistory, drop func(any) bool) *Lease {
	t.Helper()
	s.closed.Lost, s.closed.Released = s.closed.Lost+o.lost, s.closed.Released-o.lost
	txs := s.txs(t)
	var ixs []Instruction
	if !o.hidden {
		data := slices.Concat(bindings.Instruction_OutputReveal[:], o.revealed.Output[:], o.salt[:])
		ixs = append(ixs, Instruction{Program: market.ProgramID, Data: data})
	}
	steps := []Tx{
		{Slot: 4, Signature: solana.Signature{1, 1}, Events: []market.Event{{Value: o.committed}}},
		{Slot: 4, Signature: solana.Signature{1, 2}, Events: []market.Event{{Value: o.revealed}}, Instructions: ixs},
		{Slot: 4, Signature: solana.Signature{1, 3}, Events: []market.Event{{Value: o.resolved}}},
	}
	all := slices.Concat(txs[:4], steps, txs[4:])
	if o.late {
		all = slices.Concat(txs[:4], steps[:2], txs[4:8], steps[2:], txs[8:])
	}
	all = slices.DeleteFunc(all, func(t Tx) bool { return drop != nil && drop(t.Events[0].Value) })
	return rebuild(Options{Domain: domain, Params: market.DefaultParams(), NodeKey: s.nodeKey.PublicKey()}, s.lease, s.awarded, 1, all, s.roots)
}

func TestARedundantOutputInALeasesHistory(t *testing.T) {
	s := newLeaseHistory(t)
	l := newOutputs(s).audit(t, s, nil)
	require.Empty(t, problemsOf(l))
	got := texts(l, "output")
	require.Len(t, got, 3)
	require.Contains(t, got[0], "committed: the node has bound itself")
	require.Contains(t, got[1], "shown: sha256 0800")
	require.Equal(t, "accepted: 2 of 3 nodes have shown the same, this one too: it is paid", got[2])

	// One that lost is not paid. What its work was worth is for the buy-back, and the rest of what was held comes back.
	for name, c := range map[string]struct {
		change func(*outputs)
		silent bool
		text   string
	}{
		"outvoted":    {func(o *outputs) { o.resolved.Output = [32]byte{1} }, false, "rejected: 2 of 3 nodes have shown another output: this one is never paid"},
		"no majority": {func(o *outputs) { o.resolved.Output, o.resolved.Accepted = [32]byte{}, 0 }, false, "rejected: no majority of the 3 nodes has shown the same: none is paid"},
		"withheld":    {func(*outputs) {}, true, "withheld: the node did not show the output that it had committed to, 2 of 3 agreed: it is never paid and forfeits stake"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLeaseHistory(t)
			s.closed = &bindings.LeaseClosed{Lease: s.lease, Lost: 25_000, Released: 5_000}
			o := newOutputs(s)
			c.change(o)
			l := o.audit(t, s, func(e any) bool {
				switch e.(type) {
				case *bindings.LeaseSettled:
					return true
				case *bindings.OutputRevealed:
					return c.silent
				}
				return false
			})
			require.Empty(t, problemsOf(l))
			require.Contains(t, texts(l, "output"), c.text)
			require.Equal(t, market.USDC(635_000), l.Refunded)
		})
	}
}

// A receipt that is brought while outputs wait, or after one lost, is noted and pays nothing: the history adds up.
func TestAReceiptOfWorkThatIsNotPaidYet(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := newLeaseHistory(t)
		s.byReceipt = &bindings.LeaseSettled{Lease: s.lease, Source: 1}
		s.closed = &bindings.LeaseClosed{Lease: s.lease, Released: 30_000}
		o := newOutputs(s)
		o.resolved.Output, o.late = [32]byte{1}, late
		l := o.audit(t, s, func(e any) bool { return e == any(s.byReport) })
		require.Empty(t, problemsOf(l), "late: %t", late)
		require.Len(t, texts(l, "paid"), 1)
	}
}

func TestEveryLieAboutAnOutputShows(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*outputs)
		shows  string
	}{
		"another salt":          {func(o *outputs) { o.salt[0]++ }, "output: this is not what the node had committed to"},
		"another output":        {func(o *outputs) { o.revealed.Output[0]++ }, "output: this is not what the node had committed to"},
		"shown nowhere":         {func(o *outputs) { o.hidden = true }, "output: the transaction does not show the output"},
		"a minority":            {func(o *outputs) { o.resolved.Accepted = 1 }, "output: 1 of 3 are not a majority"},
		"paid although it lost": {func(o *outputs) { o.resolved.Output[0]++ }, "paid: the outputs of this redundant job were not compared, or this one lost"},
		"it won, and the customer paid the buy-back": {func(o *outputs) { o.lost = 1 }, "close: work that lost was worth 0.000000 USDC at most, not 0.000001"},
		"paid before it was compared":                {func(o *outputs) { o.late = true }, "paid: the outputs of this redundant job were not compared"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLeaseHistory(t)
			o := newOutputs(s)
			c.change(o)
			l := o.audit(t, s, nil)
			require.Contains(t, problemsOf(l), c.shows)
			require.False(t, l.OK())
		})
	}
}

// silence is a history without any transaction.
type silence struct{}

func (silence) History(context.Context, solana.PublicKey, chain.Commitment, int) ([]chain.SignatureInfo, error) {
	return nil, nil
}

func (silence) Transaction(context.Context, solana.Signature, chain.Commitment) (chain.Landed, error) {
	return chain.Landed{}, chain.ErrAccountNotFound
}

// A fault of an upheld dispute rests on votes: no leaf is asked for. Any other fault still needs one.
func TestAFaultOfADispute(t *testing.T) {
	lease, node := pub("lease"), pub("node")
	fault := &bindings.FaultOpened{
		Fault: market.DisputeFaultAddress(lease), Node: node, Lease: lease, Period: 5, Flags: uint16(records.FlagBadOutput), Amount: 50, ApplicableAt: 1_800_000_000,
	}
	resolved := &bindings.DisputeResolved{Dispute: market.DisputeAddress(lease), Lease: lease, Upheld: 1, UpheldWeight: 30 * uint64(market.OneGNT)}
	audited := func() *Slash {
		t.Helper()
		s, err := auditFault(t.Context(), Options{Source: silence{}}, Tx{Events: []market.Event{{Value: fault}, {Value: resolved}}}, fault)
		require.NoError(t, err)
		return s
	}
	s := audited()
	require.True(t, s.OK(), "%v", s.Steps)
	require.Contains(t, s.Steps[0].Text, "keepers upheld the dispute of lease "+lease.String()+" with 30 GNT against 0")
	resolved.UpheldWeight = 0
	require.False(t, audited().OK())
	resolved.UpheldWeight, resolved.Dispute = 1, pub("another")
	require.False(t, audited().OK())
	resolved.Dispute, fault.Fault = market.DisputeAddress(lease), market.FaultAddress(node, lease, 5)
	require.Contains(t, audited().Steps[0].Problems, "the address is not that of the dispute of this lease")
	fault.Fault = market.DisputeFaultAddress(lease)
	resolved.Dispute, resolved.Upheld = market.DisputeAddress(lease), 0
	require.Contains(t, audited().Steps[0].Problems, "the leaf is not in the transaction")
	resolved.Upheld, fault.Flags = 1, uint16(records.FlagOffline)
	require.Contains(t, audited().Steps[0].Problems, "the leaf is not in the transaction")
}

// The fault of a broken guarantee rests on what was counted, and only if it was not kept.
func TestAFaultOfAGuarantee(t *testing.T) {
	node := pub("node")
	resolved := &bindings.GuaranteeResolved{
		Node: node, Fault: market.GuaranteeFaultAddress(node, 2_000), Since: 1_000, Until: 2_000, GuaranteeBps: 9_500, UpSecs: 940, CountedSecs: 1_000,
	}
	fault := &bindings.FaultOpened{Fault: resolved.Fault, Node: node, Period: 40, Amount: 50, WindowFrom: 1_000, ApplicableAt: 2_400}
	audited := func() *Slash {
		t.Helper()
		s, err := auditFault(t.Context(), Options{Source: silence{}}, Tx{Events: []market.Event{{Value: fault}, {Value: resolved}}}, fault)
		require.NoError(t, err)
		return s
	}
	s := audited()
	require.True(t, s.OK(), "%v", s.Steps)
	require.Contains(t, s.Steps[0].Text, "was up for 940 of 1000 seconds")
	resolved.UpSecs = 950
	require.False(t, audited().OK(), "it was kept")
	resolved.UpSecs, fault.WindowFrom = 940, 1_001
	require.False(t, audited().OK(), "another time")
	fault.WindowFrom, resolved.Until = 1_000, 2_001
	require.False(t, audited().OK(), "another guarantee")
	resolved.Until, fault.Lease = 2_000, pub("lease")
	require.False(t, audited().OK(), "one lease")
	fault.Lease = solana.PublicKey{}
	require.True(t, audited().OK())
}

// Under Alpenglow a block has the time of its end, and what runs in it reads the clock of the block before: a vote in time may
// stand in a block that is later than the end of the votes.
func TestAVoteInTheLastBlockIsInTime(t *testing.T) {
	for _, late := range []int64{1, 4} { // after one slot, and after slots that were skipped
		s := newLeaseHistory(t)
		d := newDispute(s.lease)
		d.at[2], d.at[3] = 100+late, 101+late
		require.Empty(t, problemsOf(d.audit(t, s)), "%d s later", late)
	}
}
