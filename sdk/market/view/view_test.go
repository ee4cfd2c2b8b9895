package view

import (
	"context"
	"testing"
	"time"

	"github.com/gantry-market/gantry/sdk/market"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/watch"
)

func TestViewFollowsChangesAndIndexes(t *testing.T) {
	v := New(Options{})
	provider, key := solana.PublicKey{1}, solana.PublicKey{2}
	node := bindings.Node{Provider: provider, NodeKey: key, Price: 5, Version: market.LayoutVersion, Status: 1}
	node.Spec.Gpus = 2
	address := market.NodeAddress(provider, key)
	sub := v.Subscribe(true)
	defer sub.Close()
	require.NoError(t, v.Apply(event(t, address, bindings.Account_Node, node)))
	lease := bindings.Lease{Order: solana.PublicKey{7}, Node: address, Provider: provider, Customer: solana.PublicKey{8}, NodeKey: key, Version: 1}
	require.NoError(t, v.Apply(event(t, solana.PublicKey{9}, bindings.Account_Lease, lease)))

	require.Len(t, v.NodesOf(provider), 1)
	require.Len(t, v.NodesByKey(key), 1)
	require.Empty(t, v.NodesOf(key))
	for _, got := range [][]market.Lease{v.LeasesOfNode(address), v.LeasesOfOrder(solana.PublicKey{7}), v.LeasesOfCustomer(solana.PublicKey{8}), v.LeasesOfProvider(provider)} {
		require.Len(t, got, 1)
		require.Equal(t, solana.PublicKey{9}, got[0].Address)
	}
	n, ok := v.Node(address)
	require.True(t, ok)
	require.Equal(t, market.PricePerHour(5), n.Ask())
	n.Price = 99 // a copy
	again, _ := v.Node(address)
	require.EqualValues(t, 5, again.Price)
	_, ok = v.Lease(address) // an address of another kind
	require.False(t, ok)

	node.Price = 6
	require.NoError(t, v.Apply(event(t, address, bindings.Account_Node, node)))
	require.NoError(t, v.Apply(watch.Event{Pubkey: solana.PublicKey{9}, Deleted: true, Slot: 6}))
	require.Empty(t, v.LeasesOfNode(address))
	require.Empty(t, v.Leases())
	require.Error(t, v.Apply(watch.Event{Pubkey: address, Data: []byte("rubbish!"), Slot: 7})) // not served any more
	require.Empty(t, v.Nodes())
	require.Empty(t, v.NodesOf(provider))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var kinds []market.Kind
	for range 5 {
		c, err := sub.Next(ctx)
		require.NoError(t, err)
		kinds = append(kinds, c.Kind)
	}
	require.Equal(t, []market.Kind{market.KindNode, market.KindLease, market.KindNode, market.KindLease, market.KindNode}, kinds)
	sub.Close()
	_, err := sub.Next(ctx)
	require.ErrorIs(t, err, ErrSubscriptionClosed)
}

func TestWaitForWakesOnEveryChange(t *testing.T) {
	v := New(Options{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- v.WaitFor(ctx, func(v *View) bool { return len(v.Nodes()) == 3 }) }()
	for i := range byte(3) {
		require.NoError(t, v.Apply(event(t, solana.PublicKey{i}, bindings.Account_Node, bindings.Node{Version: market.LayoutVersion})))
	}
	require.NoError(t, <-done)
	short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	require.ErrorIs(t, v.WaitFor(short, func(*View) bool { return false }), context.DeadlineExceeded)
	require.ErrorIs(t, v.Ready(short), context.DeadlineExceeded)
	v.SetReady()
	require.NoError(t, v.Ready(ctx))
}

// A view equals what the events say, however they come.
func TestViewIsTheSumOfItsEvents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := New(Options{})
		want := map[solana.PublicKey]solana.PublicKey{} // lease → node
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			key := solana.PublicKey{rapid.ByteRange(1, 6).Draw(rt, "lease")}
			if rapid.Bool().Draw(rt, "closes") {
				require.NoError(t, v.Apply(watch.Event{Pubkey: key, Deleted: true}))
				delete(want, key)
				continue
			}
			node := solana.PublicKey{100 + rapid.ByteRange(1, 3).Draw(rt, "node")}
			require.NoError(t, v.Apply(event(t, key, bindings.Account_Lease, bindings.Lease{Node: node, Version: 1})))
			want[key] = node
		}
		count := 0
		for n := range byte(5) {
			node := solana.PublicKey{100 + n}
			for _, l := range v.LeasesOfNode(node) {
				if want[l.Address] != node {
					rt.Fatalf("lease %s is indexed under %s", l.Address, node)
				}
				count++
			}
		}
		if count != len(want) || len(v.Leases()) != len(want) {
			rt.Fatalf("%d indexed, %d listed, %d expected", count, len(v.Leases()), len(want))
		}
	})
}

func TestViewOfMoney(t *testing.T) {
	v := New(Options{})
	_, ok := v.Rewards()
	require.False(t, ok)
	v.Put(market.RewardsAddress(), &market.Rewards{Rewards: bindings.Rewards{Pending: 4}})
	r, ok := v.Rewards()
	require.True(t, ok)
	require.EqualValues(t, 4, r.Pending)
	for i, closes := range []int64{30, 10, 20} {
		lease := solana.PublicKey{byte(i + 1)}
		v.Put(market.DisputeAddress(lease), &market.Dispute{Dispute: bindings.Dispute{Lease: lease, ClosesAt: closes}})
	}
	var order []int64
	for _, d := range v.Disputes() {
		order = append(order, d.ClosesAt)
	}
	require.Equal(t, []int64{10, 20, 30}, order)
	d, ok := v.DisputeOf(solana.PublicKey{3})
	require.True(t, ok)
	require.EqualValues(t, 20, d.ClosesAt)
}
