package chain

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

func cases[T any](t *testing.T, name string) []T {
	raw, err := os.ReadFile("../../../../idl/vectors/" + name + ".json")
	require.NoError(t, err)
	var v struct{ Cases []T }
	require.NoError(t, json.Unmarshal(raw, &v))
	require.NotEmpty(t, v.Cases)
	return v.Cases
}

// The window after a leaf is the program's.
func TestWindowsAreThePrograms(t *testing.T) {
	for _, c := range cases[struct {
		Last       uint64
		Window     uint32
		Period     uint64
		Fresh      bool
		NextLast   uint64 `json:"next_last"`
		NextWindow uint32 `json:"next_window"`
	}](t, "window") {
		if c.Fresh {
			last, window := mark(c.Last, c.Window, c.Period)
			require.Equal(t, c.NextLast, last, "%+v", c)
			require.Equal(t, c.NextWindow, window, "%+v", c)
		}
	}
}

// Settling by a report pays what the program pays.
func TestSettlingIsThePrograms(t *testing.T) {
	lease := solana.PublicKey{9}
	settled := 0
	for _, v := range cases[struct {
		Price        uint64
		Gpus         uint8
		FeeBps       uint16 `json:"fee_bps"`
		StartedAt    int64  `json:"started_at"`
		FundedUntil  int64  `json:"funded_until"`
		EndedAt      int64  `json:"ended_at"`
		ReceiptSecs  uint32 `json:"receipt_secs"`
		VerifiedSecs uint32 `json:"verified_secs"`
		DowntimeSecs uint32 `json:"downtime_secs"`
		PaidSecs     uint32 `json:"paid_secs"`
		Now          int64
		Unsettled    uint32
		Paid         *uint64
	}](t, "settlement") {
		l := &market.Lease{Meta: market.Meta{Address: lease}}
		l.Price, l.Gpus, l.FeeBps, l.StartedAt, l.FundedUntil, l.EndedAt = v.Price, v.Gpus, v.FeeBps, v.StartedAt, v.FundedUntil, v.EndedAt
		l.ReceiptSecs, l.VerifiedSecs, l.DowntimeSecs, l.PaidSecs = v.ReceiptSecs, v.VerifiedSecs, v.DowntimeSecs, v.PaidSecs
		l.Lease.Status, l.Reserved = uint8(market.LeaseRunning), ^uint64(0)
		before, err := l.Owed(v.PaidSecs)
		if err != nil || v.Paid == nil {
			continue // a sum that does not fit: no lease can be awarded at such a price
		}
		l.Paid = uint64(before)
		c := New(&market.Market{})
		c.Now = func() int64 { return v.Now }
		c.Put(lease, l)
		instruction, err := ix.LeaseSettleReport(ix.LeaseSettleReportArgs{Lease: *l})
		require.NoError(t, err)
		require.NoError(t, c.Execute(solana.PublicKey{1}, []solana.Instruction{instruction}))
		after, _ := Find[market.Lease](c, lease)
		require.Equal(t, v.PaidSecs+v.Unsettled, after.PaidSecs)
		require.Equal(t, uint64(after.ProviderTotal()-l.ProviderTotal()), l.Reserved-after.Reserved)
		settled++
	}
	require.Greater(t, settled, 5)
}

// fourKeepers is a chain with keepers of one weight, a while after period 10 of 60 s.
func fourKeepers() (*Chain, []solana.PublicKey) {
	m := &market.Market{}
	m.Params = bindings.Params{PeriodSecs: 60, QuorumBps: 6_667, ReportRetentionSecs: 600}
	c := New(m)
	c.Now = func() int64 { return 11*60 + 5 }
	var wallets []solana.PublicKey
	for i := range 4 {
		k := &market.Keeper{}
		k.Wallet, k.Weight, k.Keeper.Status, k.Index = solana.PublicKey{byte(i + 1)}, 100, uint8(market.KeeperActive), uint16(i)
		c.Put(market.KeeperAddress(k.Wallet), k)
		wallets = append(wallets, k.Wallet)
	}
	return c, wallets
}

func TestVotes(t *testing.T) {
	c, wallets := fourKeepers()
	vote := func(who int, root byte) error {
		instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: wallets[who], Period: 10, Root: [32]byte{root}})
		require.NoError(t, err)
		return c.Execute(wallets[who], []solana.Instruction{instruction})
	}
	refused := func(err error, code bindings.ErrorCode) {
		var pe *txerr.ProgramError
		require.ErrorAs(t, err, &pe)
		require.Equal(t, uint32(code), pe.Code)
	}
	require.NoError(t, vote(0, 1))
	require.NoError(t, vote(0, 1), "again changes nothing")
	refused(vote(0, 2), bindings.ErrorCodeVoteNotHeavier)
	require.NoError(t, vote(1, 1))
	r, ok := Find[market.Report](c, market.ReportAddress(10))
	require.True(t, ok)
	require.Equal(t, market.ReportOpen, r.State(), "half is no quorum")
	require.NoError(t, vote(2, 1))
	require.Equal(t, market.ReportOpen, r.State(), "what was handed out does not change")
	r, _ = Find[market.Report](c, market.ReportAddress(10))
	require.Equal(t, market.ReportFinal, r.State())
	require.NoError(t, vote(3, 2))
	refused(vote(3, 1), bindings.ErrorCodeAlreadyVoted)
	c.Now = func() int64 { return 10 * 60 }
	refused(vote(3, 1), bindings.ErrorCodePeriodNotEnded)
}

// Roots beyond the fourth are kept behind it; the heaviest four come first, as in state/report.rs.
func TestMoreThanFourRoots(t *testing.T) {
	c, wallets := fourKeepers()
	weights := []uint64{300, 200, 200, 100, 100, 100, 100, 200, 100, 900} // as tests/report_tail.rs has them
	for i, weight := range weights {
		k := &market.Keeper{}
		k.Wallet, k.Weight, k.Keeper.Status, k.Index = solana.PublicKey{byte(i + 1)}, weight, uint8(market.KeeperActive), uint16(i)
		c.Put(market.KeeperAddress(k.Wallet), k)
		wallets = append(wallets[:i], k.Wallet)
	}
	address := market.ReportAddress(10)
	vote := func(who int, root byte, want ...byte) {
		before, _ := Find[market.Report](c, address)
		var was []bindings.Candidate
		if before != nil {
			was = slices.Clone(before.Roots())
		}
		instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: wallets[who], Period: 10, Root: [32]byte{root}})
		require.NoError(t, err)
		require.NoError(t, c.Execute(wallets[who], []solana.Instruction{instruction}))
		r, ok := Find[market.Report](c, address)
		require.True(t, ok)
		var roots []byte
		for _, x := range r.Roots() {
			roots = append(roots, x.Root[0])
		}
		require.Equal(t, want, roots)
		if before != nil {
			require.Equal(t, was, before.Roots(), "what was handed out does not change")
		}
	}
	vote(0, 0, 0)
	vote(1, 1, 0, 1)
	vote(2, 2, 0, 1, 2)
	vote(3, 3, 0, 1, 2, 3)
	vote(4, 4, 0, 1, 2, 3, 4)
	vote(5, 5, 0, 1, 2, 3, 4, 5)
	vote(6, 5, 0, 1, 2, 5, 4, 3)
	vote(7, 3, 0, 3, 2, 5, 4, 1)
	vote(8, 2, 0, 3, 2, 5, 4, 1)
	vote(9, 9, 0, 3, 2, 9, 4, 1, 5)
	r, _ := Find[market.Report](c, address)
	require.Equal(t, wallets[9], r.Candidates[3].Proposer)
	require.Equal(t, wallets[3], r.Candidates[1].Proposer)
	require.EqualValues(t, 200, r.Tail[2].Weight)
}

// A vote moves to what then weighs more than what it left did, as tests/report_vote.rs has it.
func TestVotesMove(t *testing.T) {
	c, wallets := fourKeepers()
	vote := func(who int, root byte) error {
		instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: wallets[who], Period: 10, Root: [32]byte{root}})
		require.NoError(t, err)
		return c.Execute(wallets[who], []solana.Instruction{instruction})
	}
	weights := func() map[byte]uint64 {
		r, ok := Find[market.Report](c, market.ReportAddress(10))
		require.True(t, ok)
		out := map[byte]uint64{}
		for _, x := range r.Roots() {
			out[x.Root[0]] = x.Weight / 100
		}
		return out
	}
	require.NoError(t, vote(0, 1))
	require.NoError(t, vote(1, 1))
	require.NoError(t, vote(2, 2))
	require.Error(t, vote(0, 2), "it would be as heavy as what it leaves")
	require.NoError(t, vote(3, 2))
	require.NoError(t, vote(2, 1), "from two to two: three to one")
	require.Equal(t, map[byte]uint64{1: 3, 2: 1}, weights())
	r, _ := Find[market.Report](c, market.ReportAddress(10))
	require.Equal(t, market.ReportFinal, r.State())
	require.Equal(t, byte(1), r.Root[0])
	k, _ := Find[market.Keeper](c, market.KeeperAddress(wallets[2]))
	require.EqualValues(t, 1, k.Votes, "it is one vote")
	require.Error(t, vote(3, 1), "the report is final")
}

// A transaction does all or nothing.
func TestTransactionsAreWhole(t *testing.T) {
	c, wallets := fourKeepers()
	good, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: wallets[0], Period: 10, Root: [32]byte{1}})
	require.NoError(t, err)
	early, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: wallets[0], Period: 11, Root: [32]byte{1}})
	require.NoError(t, err)
	changes := 0
	c.Changed = func(solana.PublicKey, any) { changes++ }
	require.Error(t, c.Execute(wallets[0], []solana.Instruction{good, early}))
	require.Zero(t, changes)
	_, ok := Find[market.Report](c, market.ReportAddress(10))
	require.False(t, ok)
}

// A leaf with a fault opens the fault, costs the stake that its flag costs after the appeal window, and is applied
// once.
func TestFaults(t *testing.T) {
	c, wallets := fourKeepers()
	m := &market.Market{}
	m.Params = bindings.Params{PeriodSecs: 60, QuorumBps: 6_667, ReportRetentionSecs: 600, AppealSecs: 60, SlashWorkFailedBps: 1_000, StakePrice: 1}
	m.TotalWeight = 400
	c.accounts[market.MarketAddress()] = m
	p := &market.Provider{Meta: market.Meta{Address: solana.PublicKey{50}}}
	p.Stake, p.LockedStake = 1_000, 500
	n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{60}}}
	n.Node.Provider, n.RequiredStake, n.Stake, n.Node.Status = p.Address, 500, 500, uint8(market.NodeActive)
	c.Put(p.Address, p)
	c.Put(n.Address, n)
	model := &market.Model{Meta: market.Meta{Address: market.ModelAddress(n.Spec.Model)}}
	c.Put(model.Address, model)
	leaf := records.Leaf{Node: n.Address, Period: 10, Flags: records.FlagWorkFailed}
	tree, err := records.LeafTree([]records.Leaf{leaf})
	require.NoError(t, err)
	for _, w := range wallets[:3] {
		instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: w, Period: 10, Root: tree.Root()})
		require.NoError(t, err)
		require.NoError(t, c.Execute(w, []solana.Instruction{instruction}))
	}
	proof, err := tree.Proof(0)
	require.NoError(t, err)
	given := ix.NewLeafProof(leaf, proof)
	apply, err := ix.ReportApply(given)
	require.NoError(t, err)
	require.Error(t, c.Execute(wallets[0], []solana.Instruction{apply}), "a leaf with a fault does not slip by")
	open, err := ix.FaultOpen(ix.FaultOpenArgs{Payer: wallets[0], Node: *n, OfNode: true, Proof: given})
	require.NoError(t, err)
	require.NoError(t, c.Execute(wallets[0], []solana.Instruction{open}))
	require.Error(t, c.Execute(wallets[1], []solana.Instruction{open}))
	f, ok := Find[market.Fault](c, market.FaultAddress(n.Address, solana.PublicKey{}, 10))
	require.True(t, ok)
	require.EqualValues(t, 50, f.Amount)
	suspended, _ := Find[market.Node](c, n.Address)
	require.Equal(t, market.NodeSuspended, suspended.State())
	slash, err := ix.SlashApply(ix.SlashApplyArgs{Fault: *f})
	require.NoError(t, err)
	require.Error(t, c.Execute(wallets[0], []solana.Instruction{slash}), "in the appeal window")
	c.Now = func() int64 { return f.ApplicableAt }
	require.NoError(t, c.Execute(wallets[0], []solana.Instruction{slash}))
	after, _ := Find[market.Provider](c, p.Address)
	require.EqualValues(t, 950, after.Stake)
	require.EqualValues(t, 450, after.LockedStake)
	require.Zero(t, after.Provider.PendingFaults)
}
