package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// leaseHistory is a recorded history of a lease that adds up: 600 s of one GPU at 3.60 an hour ordered at most 4.00,
// extended by 60 s, 10 s paid by a receipt, 25 s in all by a report, ended after 30 s, closed.
type leaseHistory struct {
	order, node, lease   solana.PublicKey
	nodeKey, customer    solana.PrivateKey
	receipt              records.Receipt
	leaf                 records.Leaf
	created              *bindings.OrderCreated
	awarded              *bindings.LeaseAwarded
	started              *bindings.LeaseStarted
	extended             *bindings.LeaseExtended
	byReceipt, byReport  *bindings.LeaseSettled
	applied              *bindings.LeafApplied
	ended                *bindings.LeaseEnded
	closed               *bindings.LeaseClosed
	roots                map[uint64]records.Hash
	leaveOutReceipt      bool
	receiptSignedByNode2 bool
}

func pub(name string) solana.PublicKey { return sha256.Sum256([]byte(name)) }

func newLeaseHistory(t *testing.T) *leaseHistory {
	t.Helper()
	s := &leaseHistory{order: pub("order"), node: pub("node")}
	s.lease = market.LeaseAddress(s.order, s.node)
	var err error
	s.nodeKey, err = solana.NewRandomPrivateKey()
	require.NoError(t, err)
	s.customer, err = solana.NewRandomPrivateKey()
	require.NoError(t, err)
	const start = 1_800_000_000
	s.created = &bindings.OrderCreated{Order: s.order, Customer: s.customer.PublicKey(), Reserved: 666_666, MaxPrice: 4_000_000, Nodes: 1, Gpus: 1, DurationSecs: 600, HeldSecs: 600}
	s.awarded = &bindings.LeaseAwarded{Lease: s.lease, Order: s.order, Node: s.node, Keeper: pub("keeper's wallet"), Price: 3_600_000, GpuMask: 1, Reserved: 600_000, Released: 66_666, Score: 3_870_000}
	s.started = &bindings.LeaseStarted{Lease: s.lease, StartedAt: start, FundedUntil: start + 600}
	s.extended = &bindings.LeaseExtended{Lease: s.lease, Seconds: 60, Reserved: 660_000, FundedUntil: start + 660}
	s.byReceipt = &bindings.LeaseSettled{Lease: s.lease, Source: 1, PaidSecs: 10, Paid: 10_000, ProviderAmount: 8_800, FeeTotal: 1_200}
	s.applied = &bindings.LeafApplied{Node: s.node, Lease: s.lease, Period: 360_000_001, VerifiedSecs: 25}
	s.byReport = &bindings.LeaseSettled{Lease: s.lease, Source: 2, PaidSecs: 25, Paid: 25_000, ProviderAmount: 13_200, FeeTotal: 3_000}
	s.ended = &bindings.LeaseEnded{Lease: s.lease, Reason: 1, EndedAt: start + 30, Released: 660_000 - 30_000}
	s.closed = &bindings.LeaseClosed{Lease: s.lease, Fee: 3_000, Released: 5_000, Paid: 25_000, PaidSecs: 25}
	s.receipt = records.Receipt{Domain: records.Domain{1}, Lease: s.lease, StartedAt: start, Sequence: 1, Cumulative: 10}
	s.leaf = records.Leaf{Node: s.node, Period: 360_000_001, ChecksPassed: 5, ChecksTotal: 5, UpSeconds: 5, Lease: s.lease, VerifiedSeconds: 25}
	return s
}

// txs lays the history out as transactions, proofs and signatures included.
func (s *leaseHistory) txs(t *testing.T) []Tx {
	t.Helper()
	other := records.Leaf{Node: pub("another node"), Period: s.leaf.Period}
	leaves := []records.Leaf{s.leaf, other}
	records.SortLeaves(leaves)
	tree, err := records.LeafTree(leaves)
	require.NoError(t, err)
	at := uint32(0)
	if leaves[1] == s.leaf {
		at = 1
	}
	proof, err := tree.Proof(at)
	require.NoError(t, err)
	if s.roots == nil {
		s.roots = map[uint64]records.Hash{uint64(s.leaf.Period): tree.Root()}
	}
	encoded := s.leaf.Encode()
	data := append(bindings.Instruction_ReportApply[:], encoded[:]...)
	data = binary.LittleEndian.AppendUint32(data, proof.Path())
	data = binary.LittleEndian.AppendUint32(data, uint32(len(proof.Siblings)))
	for _, sib := range proof.Siblings {
		data = append(data, sib[:]...)
	}
	var sigs []Instruction
	if !s.leaveOutReceipt {
		for _, k := range []solana.PrivateKey{s.nodeKey, s.customer} {
			signer := k
			if s.receiptSignedByNode2 {
				signer = s.nodeKey
			}
			sig, err := s.receipt.Sign(signer)
			require.NoError(t, err)
			message := s.receipt.Encode()
			instruction, err := ix.VerifySignature(k.PublicKey(), sig, message[:])
			require.NoError(t, err)
			d, err := instruction.Data()
			require.NoError(t, err)
			sigs = append(sigs, Instruction{Program: market.Ed25519ProgramID, Data: d})
		}
	}
	tx := func(n uint64, value any, ixs ...Instruction) Tx {
		return Tx{Slot: n, Signature: solana.Signature{byte(n)}, Time: time.Unix(1_800_000_000+int64(n), 0), Events: []market.Event{{Value: value}}, Instructions: ixs}
	}
	return []Tx{
		tx(1, s.created), tx(2, s.awarded), tx(3, s.started), tx(4, s.extended), tx(5, s.byReceipt, sigs...),
		tx(6, s.applied, Instruction{Program: market.ProgramID, Data: data}), tx(7, s.byReport), tx(8, s.ended), tx(9, s.closed),
	}
}

func (s *leaseHistory) audit(t *testing.T) *Lease {
	t.Helper()
	txs := s.txs(t)
	return rebuild(Options{Params: market.DefaultParams(), NodeKey: s.nodeKey.PublicKey()}, s.lease, s.awarded, 1, txs, s.roots)
}

func problemsOf(l *Lease) string {
	var out []string
	for _, st := range l.Steps {
		for _, p := range st.Problems {
			out = append(out, st.Name+": "+p)
		}
	}
	return strings.Join(out, "\n")
}

func TestAStoryThatAddsUp(t *testing.T) {
	l := newLeaseHistory(t).audit(t)
	require.Empty(t, problemsOf(l))
	require.True(t, l.OK())
	require.False(t, l.Open)
	require.Equal(t, market.USDC(22_000), l.Provider)
	require.Equal(t, market.USDC(3_000), l.Fee)
	require.Equal(t, market.USDC(635_000), l.Refunded)
	require.EqualValues(t, 1_200, l.FeeBPS)
	require.Equal(t, 1, l.Leaves)
	require.Equal(t, "sum", l.Steps[len(l.Steps)-1].Name)
	require.Len(t, l.Steps, 10)
}

// Every amount, signature and proof is looked at: whatever is changed shows.
func TestEveryLieShows(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*leaseHistory)
		shows  string
	}{
		"order reserved too much":      {func(s *leaseHistory) { s.created.Reserved++ }, "order: the reservation is 0.666667"},
		"awarded above the maximum":    {func(s *leaseHistory) { s.created.MaxPrice, s.created.Reserved = 3_000_000, 500_000 }, "award: the price is above"},
		"award released too little":    {func(s *leaseHistory) { s.awarded.Released-- }, "award: what was released"},
		"too many GPUs":                {func(s *leaseHistory) { s.awarded.GpuMask = 3 }, "award: 2 GPUs were set aside"},
		"score below the price":        {func(s *leaseHistory) { s.awarded.Score = 1 }, "award: the score"},
		"funded too short":             {func(s *leaseHistory) { s.started.FundedUntil-- }, "start: it is funded for 599 s"},
		"extension too dear":           {func(s *leaseHistory) { s.extended.Reserved += 5 }, "extend: the reservation"},
		"paid more than the price":     {func(s *leaseHistory) { s.byReceipt.Paid++ }, "paid: the price of the time"},
		"provider got more":            {func(s *leaseHistory) { s.byReceipt.ProviderAmount++ }, "paid: what the provider has received"},
		"paid without a receipt":       {func(s *leaseHistory) { s.leaveOutReceipt = true }, "paid: receipt: the transaction has no receipt"},
		"customer's signature forged":  {func(s *leaseHistory) { s.receiptSignedByNode2 = true }, "paid: receipt: the signature of"},
		"receipt of another life":      {func(s *leaseHistory) { s.receipt.StartedAt-- }, "paid: the receipt is of another life"},
		"paid more than signed for":    {func(s *leaseHistory) { s.receipt.Cumulative = 9 }, "10 s are paid, but only 9 s"},
		"report verified less":         {func(s *leaseHistory) { s.leaf.VerifiedSeconds, s.applied.VerifiedSecs = 24, 24 }, "25 s are paid, but only 24 s"},
		"leaf not in the final report": {func(s *leaseHistory) { s.roots = map[uint64]records.Hash{360_000_001: {1}} }, "verified: the proof does not lead"},
		"report never final":           {func(s *leaseHistory) { s.roots = map[uint64]records.Hash{} }, "did not become final"},
		"event differs from the leaf":  {func(s *leaseHistory) { s.applied.DowntimeSecs = 1 }, "verified: the event says something else"},
		"ended after the funds":        {func(s *leaseHistory) { s.ended.EndedAt += 10_000 }, "end: the end lies outside"},
		"too much came back":           {func(s *leaseHistory) { s.ended.Released += 10_000 }, "close: fee, work that lost and rest"},
		"fee kept at the close":        {func(s *leaseHistory) { s.closed.Fee += 7; s.closed.Released -= 7 }, "close: the fee"},
		"money vanished at the close":  {func(s *leaseHistory) { s.closed.Released -= 1 }, "sum: provider, fee, refund"},
		"fee outside the band": {func(s *leaseHistory) {
			s.byReceipt.FeeTotal, s.byReceipt.ProviderAmount = 3_000, 7_000
			s.byReport.FeeTotal, s.byReport.ProviderAmount = 7_500, 10_500
			s.closed.Fee, s.closed.Released = 7_500, 5_000
		}, "sum: no fee in the allowed band"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLeaseHistory(t)
			c.change(s)
			l := s.audit(t)
			require.Contains(t, problemsOf(l), c.shows)
			require.False(t, l.OK())
		})
	}
}

func TestAnAbortedLease(t *testing.T) {
	s := newLeaseHistory(t)
	txs := append(s.txs(t)[:2], Tx{Slot: 3, Events: []market.Event{{Value: &bindings.LeaseAborted{Lease: s.lease, Released: 600_000, NodeFailed: 1}}}})
	l := rebuild(Options{Params: market.DefaultParams()}, s.lease, s.awarded, 1, txs, nil)
	require.Empty(t, problemsOf(l))
	require.Equal(t, market.USDC(600_000), l.Refunded)
	txs[2].Events[0].Value.(*bindings.LeaseAborted).Released = 1
	require.Contains(t, problemsOf(rebuild(Options{}, s.lease, s.awarded, 1, txs, nil)), "abort: the refund")
}

func TestADeclinedLease(t *testing.T) {
	s := newLeaseHistory(t)
	declined := &bindings.LeaseDeclined{Lease: s.lease, Order: s.order, Reason: uint8(market.DeclinedJob), HeldSecs: 3, Charged: 3_000, Released: 597_000}
	txs := append(s.txs(t)[:2], Tx{Slot: 3, Events: []market.Event{{Value: declined}}})
	audited := func() *Lease {
		return rebuild(Options{Params: market.DefaultParams()}, s.lease, s.awarded, 1, txs, nil)
	}
	require.Empty(t, problemsOf(audited()))
	require.Equal(t, market.USDC(597_000), audited().Refunded)
	declined.Released--
	require.Contains(t, problemsOf(audited()), "charge and refund")
	declined.Charged, declined.Released = 3_001, 596_999
	require.Contains(t, problemsOf(audited()), "more than 3 s cost")
}

func TestLeafProofsAreReadStrictly(t *testing.T) {
	s := newLeaseHistory(t)
	tx := s.txs(t)[5]
	require.Len(t, leafProofs(tx), 1)
	good := tx.Instructions[0].Data
	for n := range len(good) {
		tx.Instructions[0].Data = good[:n]
		require.Empty(t, leafProofs(tx), "cut to %d bytes", n)
	}
	tx.Instructions[0].Data = append(append([]byte{}, good...), 0)
	require.Empty(t, leafProofs(tx))
}

func FuzzLeafProof(f *testing.F) {
	f.Add(make([]byte, 184))
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, b []byte) { leafProof(b) })
}
