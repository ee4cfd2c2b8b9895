package audit

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// oneBlock is a chain with a block each second from a start on.
type oneBlock int64

func (s oneBlock) Last(context.Context) (uint64, error) { return 1_000, nil }

func (s oneBlock) At(_ context.Context, slot uint64) (chain.Block, error) {
	return chain.Block{Slot: slot, Hash: [32]byte{byte(slot), byte(slot >> 8)}, Time: time.Unix(int64(s)+int64(slot), 0)}, nil
}

// noHistory is a chain without transactions.
type noHistory struct{ Source }

func (noHistory) History(context.Context, solana.PublicKey, chain.Commitment, int) ([]chain.SignatureInfo, error) {
	return nil, nil
}

// drawnHistory is a redundant order over three of six nodes, awarded 5 s after its creation as a keeper draws.
type drawnHistory struct {
	o       Options
	order   solana.PublicKey
	nodes   []*market.Node
	chosen  []*market.Node
	seed    market.DrawSeed
	created int64
}

func newDrawnHistory(t *testing.T) *drawnHistory {
	h := &drawnHistory{created: 10_100}
	customer := solana.PublicKey{7}
	h.order = market.OrderAddress(customer, 1)
	m := market.Model{}
	m.Id, m.TflopsX10 = 1, 100
	for i := range byte(6) {
		n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{i + 1}}}
		n.Provider, n.Price, n.NodeKey = solana.PublicKey{100, i}, 500, solana.PublicKey{50, i}
		n.Node.Status, n.Spec.Model, n.Spec.Gpus, n.UptimeBps, n.RegisteredAt = uint8(market.NodeActive), 1, 4, 10_000, 1
		n.AskSince, n.RecordSince, n.AvailableSince, n.CoveredSince = 2, 2, 2, 2
		n.StartAvailability(2)
		h.nodes = append(h.nodes, n)
	}
	blocks := oneBlock(10_000)
	h.o = Options{
		Domain: records.Domain{1}, Blocks: blocks, Source: noHistory{},
		Nodes: func(context.Context) ([]market.Node, map[uint16]market.Model, error) {
			var all []market.Node
			for _, n := range h.nodes {
				all = append(all, *n)
			}
			return all, map[uint16]market.Model{1: m}, nil
		},
	}
	b, err := chain.FirstBlock(t.Context(), blocks, market.DrawTime(h.created))
	require.NoError(t, err)
	require.Equal(t, h.created+1, b.Time.Unix())
	h.seed = market.NewDrawSeed(h.o.Domain, h.order, b.Hash)
	h.chosen = h.seed.Draw(h.nodes, 3, nil, false)
	account := &market.Order{Meta: market.Meta{Address: h.order}}
	account.CreatedAt, account.AwardDeadline = h.created, h.created+60
	h.o.Order = account
	return h
}

// redundantTxs create a redundant order of customer 7 and award it, one second later for each slot.
func redundantTxs(t *testing.T, nonce uint64, job byte, created int64, chosen []*market.Node) []Tx {
	create, err := ix.OrderCreate(ix.OrderCreateArgs{
		Customer: solana.PublicKey{7}, Nonce: nonce, MaxPrice: 1_000, Duration: 600, Nodes: 3, GPUsPerNode: 1, RunToCompletion: true, Redundant: true,
		NoMigration: true, JobDigest: [32]byte{job}, Requirement: market.Requirement{Models: market.Models(1)},
	})
	require.NoError(t, err)
	award := Tx{Time: time.Unix(created+5, 0), Slot: uint64(created + 5)}
	for _, n := range chosen {
		order := market.Order{Meta: market.Meta{Address: market.OrderAddress(solana.PublicKey{7}, nonce)}}
		order.Customer = solana.PublicKey{7}
		in, err := ix.OrderAward(ix.OrderAwardArgs{Keeper: solana.PublicKey{9}, Order: order, Node: *n})
		require.NoError(t, err)
		award.Instructions = append(award.Instructions, asRead(t, in))
	}
	return []Tx{{Time: time.Unix(created, 0), Slot: uint64(created), Instructions: []Instruction{asRead(t, create)}}, award}
}

func (h *drawnHistory) step(t *testing.T) *Step {
	step, err := drawnStep(t.Context(), h.o, redundantTxs(t, 1, 1, h.created, h.chosen), h.order)
	require.NoError(t, err)
	require.NotNil(t, step)
	return step
}

func asRead(t *testing.T, in solana.Instruction) Instruction {
	data, err := in.Data()
	require.NoError(t, err)
	out := Instruction{Program: in.ProgramID(), Data: data}
	for _, a := range in.Accounts() {
		out.Accounts = append(out.Accounts, a.PublicKey)
	}
	return out
}

func TestTheDrawOfARedundantOrderIsRecomputed(t *testing.T) {
	h := newDrawnHistory(t)
	step := h.step(t)
	require.Empty(t, step.Problems)
	require.Contains(t, step.Text, "compared with 6 nodes")

	// A keeper that prefers a node which is not drawn is seen, also when the order's account is gone.
	first := h.chosen[0]
	for _, n := range h.seed.Draw(h.nodes, 6, nil, false)[3:] {
		h.chosen[0] = n
		require.Contains(t, strings.Join(h.step(t).Problems, "\n"), first.Address.String())
	}
	h.chosen[0] = h.seed.Draw(h.nodes, 6, nil, false)[3]
	// A node that did not suit all the time proves nothing: its ask is new, or it had no GPU free.
	first.AskSince = h.created
	require.Empty(t, h.step(t).Problems)
	first.AskSince, first.Availability.Free[0] = 2, 0
	require.Empty(t, h.step(t).Problems)
	first.Availability.Free[0] = 4
	require.NotEmpty(t, h.step(t).Problems)

	// Its provider had a node that comes earlier.
	second := h.chosen[1]
	h = newDrawnHistory(t)
	for _, n := range h.nodes {
		if n.Address == second.Address {
			n.Provider = h.chosen[0].Provider
		}
	}
	h.chosen = h.seed.Draw(h.nodes, 3, nil, false)
	require.NotContains(t, h.chosen, second)
	require.Empty(t, h.step(t).Problems)
	// Two of one provider.
	for _, n := range h.nodes {
		if n.Address == second.Address {
			h.chosen[1] = n
		}
	}
	problems := strings.Join(h.step(t).Problems, "\n")
	require.Contains(t, problems, "are of one provider")
}

// An award that could not be read at all may be the one of a node that seems to be passed over.
func TestADrawWithUnreadAwardsIsNotJudged(t *testing.T) {
	h := newDrawnHistory(t)
	h.chosen[0] = h.seed.Draw(h.nodes, 6, nil, false)[3]
	txs := redundantTxs(t, 1, 1, h.created, h.chosen)
	audited := func(unread Tx) *Step {
		step, err := drawnStep(t.Context(), h.o, append(slices.Clone(txs), unread), h.order)
		require.NoError(t, err)
		return step
	}
	require.Equal(t, Wrong, audited(Tx{Slot: txs[1].Slot}).Outcome())
	require.Equal(t, Unknown, audited(Tx{Slot: txs[1].Slot, Unreadable: "not served"}).Outcome())

	// Whether the outputs were compared is not known either; an instruction shows that an order was opened again.
	resolve := Tx{Unreadable: "cut", Instructions: []Instruction{call(bindings.Instruction_OutputResolve, nil, h.order)}}
	run, ok := runOf(append(txs, resolve), h.order)
	require.True(t, ok)
	require.ErrorIs(t, run.Unread, chain.ErrUnreadable)
	run, ok = runOf(append(txs, resolve, Tx{Events: []market.Event{{Value: &bindings.OutputsResolved{Order: h.order}}}}), h.order)
	require.True(t, ok)
	require.NoError(t, run.Unread)
	run, _ = runOf(append(txs, Tx{Unreadable: "cut", Instructions: []Instruction{call(bindings.Instruction_OrderReopen, nil, h.order)}}), h.order)
	require.True(t, run.reopened)
}

func TestADrawWithoutTheOrdersAccount(t *testing.T) {
	h := newDrawnHistory(t)
	h.o.Order = nil
	require.Empty(t, h.step(t).Problems)
	h.created++ // the block's time is a second later than the clock that the order has its creation from
	require.Empty(t, h.step(t).Problems)

	h.o.Blocks = nil
	step, err := drawnStep(t.Context(), h.o, nil, h.order)
	require.NoError(t, err)
	require.Nil(t, step)
	_, ok := runOf([]Tx{{Events: []market.Event{{Value: &bindings.OrderReopened{Order: h.order}}}}}, h.order)
	require.False(t, ok, "nothing says that it is redundant")
}

// A run is read with its nodes and what they have shown; the nodes of earlier runs of the same job by the same customer are
// known, those of other jobs and of later runs are not.
func TestRunsOfTheSameJobAreKnown(t *testing.T) {
	h := newDrawnHistory(t)
	first := redundantTxs(t, 1, 1, 100, h.nodes[:3])
	resolved := &bindings.OutputsResolved{Order: h.order, Output: [32]byte{5}, Accepted: 2, Of: 3}
	run, ok := runOf(append(first, Tx{Slot: 150, Events: []market.Event{{Value: resolved}}}), h.order)
	require.True(t, ok)
	require.Equal(t, resolved, run.Resolved)
	require.Len(t, run.Nodes, 3)
	require.True(t, run.Has(h.nodes[0].Address, solana.PublicKey{}))
	require.True(t, run.Has(solana.PublicKey{}, h.nodes[2].Provider), "another node of the same provider")
	require.False(t, run.Has(h.nodes[3].Address, h.nodes[3].Provider))

	other := redundantTxs(t, 2, 2, 110, h.nodes[3:4])
	second := redundantTxs(t, 3, 1, 200, h.nodes[4:])
	later := redundantTxs(t, 4, 1, 300, h.nodes[3:4])
	rerun, ok := runOf(second, market.OrderAddress(solana.PublicKey{7}, 3))
	require.True(t, ok)
	want := map[solana.PublicKey]bool{h.nodes[0].Provider: true, h.nodes[1].Provider: true, h.nodes[2].Provider: true}
	require.Equal(t, want, rerun.earlierIn(slices.Concat(first, other, second, later)))
}
