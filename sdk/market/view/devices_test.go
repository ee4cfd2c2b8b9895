package view

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestRegisteredDevices(t *testing.T) {
	x := New(Options{})
	node, other := solana.PublicKey{1}, solana.PublicKey{2}
	ids := [][32]byte{{9}, {4}}
	put := func(missing uint8) {
		n := &market.Node{Meta: market.Meta{Address: node}}
		n.Spec.Gpus, n.ClaimsMissing, n.DeviceRoot = 2, missing, market.DeviceRoot(ids)
		x.Put(node, n)
	}
	claim := func(id [32]byte, holder solana.PublicKey) {
		at := market.DeviceAddress(id)
		x.Put(at, &market.Device{Meta: market.Meta{Address: at}, Node: holder, Identity: id})
	}
	registered := func() (out [][32]byte, known bool) {
		x.Read(func(v *Accounts) { out, known = v.Registered(v.Nodes[node]), v.ClaimsKnown(v.Nodes[node]) })
		return out, known
	}
	put(0)
	claim(ids[0], node)
	got, known := registered()
	require.Nil(t, got, "one of two is not here yet")
	require.False(t, known)
	claim(ids[1], node)
	got, known = registered()
	require.ElementsMatch(t, ids, got)
	require.True(t, known)

	// Another node takes one: what is missing nobody knows before the node shows it.
	claim(ids[1], other)
	put(1)
	got, known = registered()
	require.Nil(t, got)
	require.True(t, known)
	x.Shown(node, [][32]byte{{9}, {5}})
	got, _ = registered()
	require.Nil(t, got, "others than it registered")
	x.Shown(node, ids)
	got, _ = registered()
	require.Equal(t, ids, got)
	x.Read(func(v *Accounts) {
		holder, ok := v.HolderOf(ids[1])
		require.True(t, ok)
		require.Equal(t, other, holder)
		_, ok = v.HolderOf([32]byte{77})
		require.False(t, ok)
	})
	// With its claims back it is known by them again.
	claim(ids[1], node)
	put(0)
	got, _ = registered()
	require.ElementsMatch(t, ids, got)
	x.Shown(node, ids)
	x.Read(func(v *Accounts) { require.Empty(t, v.shown) })
	put(1)
	x.Shown(node, ids)
	x.Put(node, nil)
	x.Read(func(v *Accounts) { require.Empty(t, v.shown, "a node that is gone") })
}
