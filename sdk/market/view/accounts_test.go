package view

import (
	"bytes"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/watch"
)

// event encodes an account as the chain holds it.
func event(t testing.TB, key solana.PublicKey, disc [8]byte, account interface {
	MarshalWithEncoder(*bin.Encoder) error
},
) watch.Event {
	var b bytes.Buffer
	b.Write(disc[:])
	require.NoError(t, account.MarshalWithEncoder(bin.NewBorshEncoder(&b)))
	return watch.Event{Pubkey: key, Owner: market.ProgramID, Lamports: 1, Data: b.Bytes(), Slot: 7}
}

func TestApply(t *testing.T) {
	x := New(Options{})
	changed := x.Changed()
	node := solana.PublicKey{1}
	n := bindings.Node{NodeKey: solana.PublicKey{2}, Version: market.LayoutVersion, Status: uint8(market.NodeActive), Tier: 2, EvidenceExpiry: 100}
	n.Spec.Model = 3
	require.NoError(t, x.Apply(event(t, node, bindings.Account_Node, n)))
	select {
	case <-changed:
	default:
		t.Fatal("no notice of the change")
	}
	require.EqualValues(t, 7, x.Slot())
	x.Read(func(v *Accounts) {
		require.Equal(t, market.NodeActive, v.Nodes[node].State())
		require.Contains(t, v.NodesOfModel[3], node)
		require.EqualValues(t, 2, v.Nodes[node].TierAt(100))
		require.EqualValues(t, 1, v.Nodes[node].TierAt(101), "lapsed")
	})
	n.Status, n.Spec.Model = uint8(market.NodeRetired), 4
	require.NoError(t, x.Apply(event(t, node, bindings.Account_Node, n)))
	x.Read(func(v *Accounts) {
		require.NotContains(t, v.NodesOfModel, uint16(3))
		require.Contains(t, v.NodesOfModel[4], node)
	})
	require.NoError(t, x.Apply(watch.Event{Pubkey: node, Deleted: true}))
	x.Read(func(v *Accounts) {
		require.Empty(t, v.Nodes)
		require.Empty(t, v.NodesOfModel)
		require.Empty(t, v.NodesOfKey)
	})
	// What cannot be read is never served as it was.
	require.NoError(t, x.Apply(event(t, node, bindings.Account_Node, n)))
	require.Error(t, x.Apply(watch.Event{Pubkey: node, Data: []byte("nonsense")}))
	x.Read(func(v *Accounts) { require.Empty(t, v.Nodes) })
}

func TestWeightsAndVotes(t *testing.T) {
	v := NewAccounts()
	for i, k := range []bindings.Keeper{
		{Status: uint8(market.KeeperActive), Weight: 5, ActiveSince: 99, Index: 0},
		{Status: uint8(market.KeeperActive), Weight: 5, ActiveSince: 100, Index: 1},
		{Status: uint8(market.KeeperPending), Index: 2},
		{Status: uint8(market.KeeperExiting), Index: 9},
		{Status: uint8(market.KeeperExiting), ActiveSince: 50, FormerWeight: 6, WeightSince: 100, Index: 10},
		{Status: uint8(market.KeeperSlashed), ActiveSince: 50, FormerWeight: 7, WeightSince: 99, Index: 11},
		{Status: uint8(market.KeeperActive), ActiveSince: 50, FormerWeight: 8, Weight: 3, WeightSince: 100, Index: 12},
	} {
		k.Wallet = solana.PublicKey{byte(i + 1)}
		v.Put(solana.PublicKey{100, byte(i)}, &market.Keeper{Keeper: k})
	}
	require.Equal(t, map[solana.PublicKey]uint64{{1}: 5, {5}: 6, {7}: 8}, v.Weights(100), "active before the period's end, with what they weighed then")
	require.Equal(t, map[solana.PublicKey]uint64{{1}: 5, {2}: 5, {7}: 3}, v.Weights(101))
	require.Len(t, v.ActiveKeepers(), 3)

	r := &market.Report{}
	r.Period, r.CandidateCount = 8, 1
	r.Candidates[0].Root = [32]byte{7}
	r.Candidates[0].Voters[1], r.Voters[1] = 2, 2
	v.Put(solana.PublicKey{50}, r)
	root, ok := v.Voted(8, 9)
	require.True(t, ok)
	require.Equal(t, [32]byte{7}, root)
	_, ok = v.Voted(8, 0)
	require.False(t, ok)
	_, ok = v.Voted(9, 9)
	require.False(t, ok)
}

// After any sequence of changes the links are those of a view built anew.
func TestLinksFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(Options{})
		state := map[solana.PublicKey]any{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := solana.PublicKey{byte(rapid.IntRange(1, 5).Draw(t, "key"))}
			var value any
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				n := &market.Node{Meta: market.Meta{Address: key}}
				n.Spec.Model, n.NodeKey = uint16(rapid.IntRange(1, 2).Draw(t, "model")), solana.PublicKey{byte(rapid.IntRange(1, 2).Draw(t, "agent")), 9}
				value = n
			case 1:
				l := &market.Lease{Meta: market.Meta{Address: key}}
				l.Order = solana.PublicKey{byte(rapid.IntRange(1, 3).Draw(t, "order"))}
				l.Lease.Node = solana.PublicKey{byte(rapid.IntRange(1, 3).Draw(t, "node"))}
				value = l
			case 2:
				value = &market.Device{Meta: market.Meta{Address: key}, Identity: [32]byte{key[0]}, Node: solana.PublicKey{byte(rapid.IntRange(1, 2).Draw(t, "holder"))}}
			}
			x.Put(key, value)
			if value == nil {
				delete(state, key)
			} else {
				state[key] = value
			}
		}
		want := NewAccounts()
		for key, value := range state {
			want.Put(key, value)
		}
		x.Read(func(v *Accounts) {
			require.Equal(t, want, v)
		})
	})
}
