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
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// landed makes a transaction of one call of the market and its events.
func landed(t *testing.T, slot uint64, in Instruction, events ...any) chain.Landed {
	t.Helper()
	tx := Tx{Slot: slot, Signature: solana.Signature{0xbb, byte(slot)}, Time: time.Unix(1_800_000_000+int64(slot), 0), Instructions: []Instruction{in}}
	for _, e := range events {
		tx.Events = append(tx.Events, market.Event{Value: e})
	}
	return land(t, tx)
}

func (s *leaseHistory) auditLedger(t *testing.T, g ledger, change ...func(*Options)) *Lease {
	t.Helper()
	o := Options{Source: g, Domain: domain, Params: market.DefaultParams(), NodeKey: s.nodeKey.PublicKey()}
	for _, c := range change {
		c(&o)
	}
	l, err := AuditLease(t.Context(), o, s.lease)
	require.NoError(t, err)
	return l
}

// What is missing makes nothing right that is wrong by itself: whoever adds a log that is cut cannot hide a lie by it.
func TestACutLogHidesNoLie(t *testing.T) {
	for name, c := range map[string]struct {
		lie   func(*leaseHistory)
		cut   int
		shows string
	}{
		"paid too much, and the close is cut":     {func(s *leaseHistory) { s.byReceipt.Paid++ }, 8, "the price of the time"},
		"paid too much, and the extension is cut": {func(s *leaseHistory) { s.byReport.Paid++ }, 3, "the price of the time"},
		"a receipt nobody signed, no order":       {func(s *leaseHistory) { s.receiptSignedByNode2 = true }, 0, "the signature of"},
		"a leaf that is another, no award":        {func(s *leaseHistory) { s.applied.DowntimeSecs = 1 }, 1, "the event says something else"},
		"more than signed for, and no settlement": {func(s *leaseHistory) {
			s.receipt.Cumulative, s.leaf.VerifiedSeconds, s.applied.VerifiedSecs = 9, 24, 24
		}, 4, "25 s are paid, but only 24 s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLeaseHistory(t)
			c.lie(s)
			g := s.told(t)
			cuts["truncated at the start"](&g[c.cut])
			l := s.auditLedger(t, g)
			require.Contains(t, problemsOf(l), c.shows)
			require.Equal(t, Wrong, l.Outcome())
		})
	}
}

// A node that keeps too little, or leaves out a transaction, does not make anybody a liar either.
func TestAMissingHistoryIsNotJudged(t *testing.T) {
	gone := func(o *Options) { o.Gone = true }
	account := func(o *Options) {
		o.Lease = &market.Lease{}
		o.Lease.PaidSecs, o.Lease.FeeBps = 25, 1_200
	}
	for name, c := range map[string]struct {
		left    func(ledger) ledger
		account func(*Options)
	}{
		"the order":                {func(g ledger) ledger { return g[1:] }, gone},
		"all before the receipt":   {func(g ledger) ledger { return append(slices.Clone(g[1:2]), g[4:]...) }, gone},
		"the start":                {func(g ledger) ledger { return slices.Delete(slices.Clone(g), 2, 3) }, gone},
		"the close":                {func(g ledger) ledger { return slices.Delete(slices.Clone(g), 8, 9) }, gone},
		"the last settlement":      {func(g ledger) ledger { return slices.Delete(slices.Clone(g), 6, 9) }, account},
		"the votes on the report":  {func(g ledger) ledger { return g[:9] }, gone},
		"a transaction not served": {func(g ledger) ledger { return g }, gone},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLeaseHistory(t)
			g := c.left(s.told(t))
			l := s.auditLedger(t, g, c.account, func(o *Options) {
				if name == "a transaction not served" {
					o.Source = forgetful{g, g[3].Signature}
				}
			})
			require.Empty(t, problemsOf(l))
			require.Equal(t, Unknown, l.Outcome())
			require.True(t, slices.ContainsFunc(l.Steps, func(st Step) bool { return st.Name == "unread" && st.Unknown != "" }))
			require.Equal(t, name == "the last settlement", l.Open)
		})
	}
}

// forgetful lists a transaction and does not show it.
type forgetful struct {
	ledger
	what solana.Signature
}

func (f forgetful) Transaction(ctx context.Context, sig solana.Signature, at chain.Commitment) (chain.Landed, error) {
	if sig == f.what {
		return chain.Landed{}, chain.ErrNotFound
	}
	return f.ledger.Transaction(ctx, sig, at)
}

// Anybody can name a lease in a transaction with a long log. As long as it does not call the market, it says nothing.
func TestAForeignTransactionWithACutLogChangesNothing(t *testing.T) {
	s := newLeaseHistory(t)
	foreign := landed(t, 6, Instruction{Program: pub("spam"), Accounts: []solana.PublicKey{s.lease, s.order, market.ProgramID}})
	foreign.Logs = []string{"Program Spam invoke [1]", "Log truncated"}
	l := s.auditLedger(t, append(s.told(t), foreign))
	require.Equal(t, Right, l.Outcome(), problemsOf(l))
	// Where the node does not show what it called, it may have called the market.
	foreign.Inner = nil
	l = s.auditLedger(t, append(s.told(t), foreign))
	require.Empty(t, problemsOf(l))
	require.Equal(t, Unknown, l.Outcome())
}

// disputed is the ledger of a lease with a dispute: opened, two votes, verdict, before its close.
func (s *leaseHistory) disputed(t *testing.T, d *dispute) ledger {
	t.Helper()
	g := s.told(t)
	at := market.DisputeAddress(s.lease)
	close := g[8]
	close.Slot = 200
	g = slices.Delete(g, 8, 9)
	return append(
		g,
		landed(t, 100, call(bindings.Instruction_DisputeOpen, nil, s.lease, at), d.opened),
		landed(t, 101, call(bindings.Instruction_DisputeVote, nil, at), d.votes[0]),
		landed(t, 102, call(bindings.Instruction_DisputeVote, nil, at), d.votes[1]),
		landed(t, 103, call(bindings.Instruction_DisputeResolve, nil, s.lease, at), d.resolved),
		close,
	)
}

func TestADisputeWithACutLogIsNotJudged(t *testing.T) {
	s := newLeaseHistory(t)
	d := newDispute(s.lease)
	d.resolved.RejectedWeight = d.votes[0].Weight + d.votes[1].Weight
	whole := s.disputed(t, d)
	l := s.auditLedger(t, whole)
	require.Equal(t, Right, l.Outcome(), problemsOf(l))
	for i, kind := range []string{"opening", "vote", "second vote", "verdict"} {
		for name, cut := range cuts {
			t.Run(kind+" "+name, func(t *testing.T) {
				g := slices.Clone(whole)
				cut(&g[9+i])
				l := s.auditLedger(t, g)
				require.Empty(t, problemsOf(l))
				require.Equal(t, Unknown, l.Outcome())
				require.False(t, l.Open)
			})
		}
	}
}

func TestOutputsWithACutLogAreNotJudged(t *testing.T) {
	s := newLeaseHistory(t)
	output, salt := [32]byte{1}, [32]byte{2}
	g := ledger{
		landed(t, 10, call(bindings.Instruction_OrderCreate, nil, pub("payer"), pub("market"), pub("credits"), s.order), s.created),
		landed(t, 11, call(bindings.Instruction_OrderAward, nil, pub("signer"), pub("keeper"), pub("market"), s.order, pub("credits"), s.node, pub("provider"), pub("model"), s.lease), s.awarded),
		landed(t, 12, call(bindings.Instruction_LeaseStart, nil, s.lease), s.started),
		landed(t, 13, call(bindings.Instruction_OutputCommit, nil, s.lease), &bindings.OutputCommitted{Lease: s.lease, Commitment: market.OutputCommitment(domain, s.lease, output, salt)}),
		landed(t, 14, call(bindings.Instruction_OutputReveal, slices.Concat(output[:], salt[:]), s.lease), &bindings.OutputRevealed{Lease: s.lease, Output: output}),
		landed(t, 15, call(bindings.Instruction_OutputResolve, nil, s.order, s.lease), &bindings.OutputsResolved{Order: s.order, Output: output, Accepted: 2, Of: 3}),
	}
	l := s.auditLedger(t, g)
	require.Equal(t, Right, l.Outcome(), problemsOf(l))
	for i := 3; i < len(g); i++ {
		for name, cut := range cuts {
			t.Run(name, func(t *testing.T) {
				g := slices.Clone(g)
				cut(&g[i])
				l := s.auditLedger(t, g)
				require.Empty(t, problemsOf(l))
				require.Equal(t, Unknown, l.Outcome())
				for _, text := range texts(l, "output") {
					require.NotContains(t, text, "never paid")
				}
			})
		}
	}
	// A second run is compared with what is known of the first.
	run, err := ReadRun(t.Context(), g, s.order, chain.Confirmed)
	require.ErrorIs(t, err, ErrNoHistory, "this order is not redundant")
	require.Nil(t, run)
}

// faulted is the ledger of a fault by a leaf, from its opening to its end.
func faulted(t *testing.T) (ledger, *bindings.FaultOpened) {
	t.Helper()
	s := newLeaseHistory(t)
	s.leaf.Flags = records.FlagOffline
	s.applied.Flags = uint16(records.FlagOffline)
	told := s.told(t)
	leaf := told[5].Tx.Message.Instructions[0].Data[8:]
	period := uint64(s.leaf.Period)
	f := &bindings.FaultOpened{
		Fault: market.FaultAddress(s.node, s.lease, period), Node: s.node, Lease: s.lease, Period: period, Flags: s.applied.Flags, Amount: 1_000, ApplicableAt: 1_800_000_010,
	}
	split, err := market.SplitSlash(1_000, market.DefaultParams().FinderBps)
	require.NoError(t, err)
	split = split.WithoutFinder().Claimed(1_000)
	return ledger{
		told[9],
		landed(t, 7, call(bindings.Instruction_FaultOpen, slices.Concat([]byte{0}, leaf), s.node, s.lease, f.Fault), s.applied, f),
		landed(t, 20, call(bindings.Instruction_SlashApply, nil, pub("payer"), pub("market"), pub("vault"), pub("provider"), s.node, s.lease, f.Fault, market.PayoutVaultAddress()),
			&bindings.SlashApplied{Fault: f.Fault, Amount: 1_000, Pool: uint64(split.Pool), Burned: uint64(split.Burned)}),
		landed(t, 21, call(bindings.Instruction_SlashCompensate, nil, f.Fault, s.lease), &bindings.SlashCompensated{Fault: f.Fault, Lease: s.lease, Amount: 100}),
		landed(t, 22, call(bindings.Instruction_SlashClose, nil, f.Fault), &bindings.SlashClosed{Fault: f.Fault, Burned: uint64(split.Pool) - 100}),
	}, f
}

func TestASlashWithACutLogIsNotJudged(t *testing.T) {
	whole, f := faulted(t)
	o := Options{Source: whole, Params: market.DefaultParams()}
	slashes, err := AuditSlash(t.Context(), o, f.Fault)
	require.NoError(t, err)
	require.Len(t, slashes, 1)
	require.Equal(t, Right, slashes[0].Outcome(), "%v", slashes[0].Steps)
	past, err := PastSlashes(t.Context(), o, 0)
	require.NoError(t, err)
	require.Len(t, past.Slashes, 1)
	require.Zero(t, past.Unreadable)

	for i, kind := range []string{"vote", "opening", "slash", "compensation", "close"} {
		for name, cut := range cuts {
			t.Run(kind+" "+name, func(t *testing.T) {
				g := slices.Clone(whole)
				cut(&g[i])
				o := Options{Source: g, Params: market.DefaultParams()}
				for _, address := range []solana.PublicKey{f.Fault, f.Node} {
					slashes, err := AuditSlash(t.Context(), o, address)
					if kind == "opening" {
						require.ErrorIs(t, err, chain.ErrUnreadable, "whether there was one is not known")
						require.NotErrorIs(t, err, ErrNoHistory)
						continue
					}
					require.NoError(t, err)
					require.Len(t, slashes, 1)
					for _, st := range slashes[0].Steps {
						require.Empty(t, st.Problems, st.Name)
					}
					require.Equal(t, Unknown, slashes[0].Outcome())
					if kind == "slash" {
						require.Equal(t, "applied", slashes[0].State, "the instruction says so")
					}
				}
				past, err := PastSlashes(t.Context(), o, 0)
				require.NoError(t, err)
				if kind == "slash" {
					require.Equal(t, 1, past.Unreadable)
				} else {
					require.Zero(t, past.Unreadable)
				}
			})
		}
	}
}

func TestAnAuctionWithACutLogIsNotJudged(t *testing.T) {
	s := newLeaseHistory(t)
	award := call(bindings.Instruction_AuctionAward, nil, pub("signer"), pub("keeper"), pub("market"), s.order, pub("auction"), pub("credits"), s.node, pub("provider"), pub("model"),
		market.ProgramID, market.ProgramID, s.lease)
	whole := ledger{
		landed(t, 1, call(bindings.Instruction_OrderCreate, nil, pub("payer"), pub("market"), pub("credits"), s.order), s.created),
		landed(t, 2, call(bindings.Instruction_AuctionOpen, nil, s.order), &bindings.AuctionOpened{Order: s.order, CloseAt: 10, RevealUntil: 20, AwardDeadline: 30}),
		landed(t, 3, award, s.awarded, &bindings.AuctionAwarded{Order: s.order, Node: s.node}),
	}
	for i := range whole[1:] {
		for name, cut := range cuts {
			g := slices.Clone(whole)
			cut(&g[1+i])
			a, err := AuditAuction(t.Context(), Options{Source: g}, s.order)
			require.NoError(t, err)
			for _, st := range a.Steps {
				require.Empty(t, st.Problems, "%s: %s", name, st.Name)
			}
			require.Equal(t, Unknown, a.Outcome(), name)
			a.Replay(Replay{})
			require.Equal(t, Unknown, a.Outcome(), name)
			require.Contains(t, a.Steps[len(a.Steps)-1].Text, "not known")
		}
	}
	// Bids that look unjust prove nothing about a keeper whose award was not read.
	x := newAuctioned(t)
	x.award(t, 2, 1)
	sets := []sealedbid.Set{x.close(t, x.judged, x.keeper)}
	require.NotEmpty(t, x.replay(sets, []messages.Bid{}...).Violations)
	x.award(t, 2, 1)
	x.audited.gaps = ofAuction
	require.Empty(t, x.replay(sets, []messages.Bid{}...).Violations)
}

// A machine's record counts what it could not read; leaves are in the instructions all the same.
func TestARecordWithACutLog(t *testing.T) {
	s := newLeaseHistory(t)
	g := s.told(t)
	n, err := ReadNode(t.Context(), Options{Source: g}, s.node, 0)
	require.NoError(t, err)
	require.Zero(t, n.Unreadable)
	require.Len(t, n.Periods, 1)
	cuts["truncated at the start"](&g[5])
	cuts["truncated at the start"](&g[1])
	n, err = ReadNode(t.Context(), Options{Source: g}, s.node, 0)
	require.NoError(t, err)
	require.Equal(t, 2, n.Unreadable)
	require.Len(t, n.Periods, 1)
	require.ErrorIs(t, Unread([]Tx{{}, {Unreadable: "cut"}}), chain.ErrUnreadable)
	require.NoError(t, Unread([]Tx{{}}))
}
