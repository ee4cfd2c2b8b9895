package query_test

import (
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// A filter takes the accounts whose field, as it lies on chain, has the value, and no others.
func TestFiltersReadTheFieldsThatTheyName(t *testing.T) {
	key, other := solana.PublicKey{1, 2, 3}, solana.PublicKey{9}
	var node, node2, node3 bindings.Node
	node.NodeKey, node2.Provider, node3.Spec.Model = key, key, 515
	var byNode, byCustomer, byOrder bindings.Lease
	byNode.Node, byCustomer.Customer, byOrder.Order = key, key, key
	var own, open, awarded, closedOrder bindings.Order
	own.Customer = key
	open.Status, open.Requirement.Models = uint8(market.OrderOpen), market.Models(3, 515)
	awarded.Status, awarded.Requirement.Models = uint8(market.OrderAwarded), market.Models(515)
	closedOrder.Status, closedOrder.Requirement.Models = uint8(market.OrderOpen), market.Models(516)
	anyModel := bindings.Order{Status: uint8(market.OrderOpen)}
	var credits bindings.Credits
	credits.SessionKeys[2].Key = key
	var served bindings.Lease
	var fault, faultAt bindings.Fault
	served.Provider, fault.Provider, faultAt.Node = key, key, key
	var keeper bindings.Keeper
	keeper.Signer = key
	type account struct {
		kind  market.Kind
		value any
	}
	all := []account{
		{market.KindNode, node},
		{market.KindNode, node2},
		{market.KindNode, node3},
		{market.KindLease, byNode},
		{market.KindLease, byCustomer},
		{market.KindLease, byOrder},
		{market.KindOrder, own},
		{market.KindOrder, open},
		{market.KindOrder, awarded},
		{market.KindOrder, closedOrder},
		{market.KindCredits, credits},
		{market.KindLease, served},
		{market.KindFault, fault},
		{market.KindFault, faultAt},
		{market.KindKeeper, keeper},
		{market.KindOrder, anyModel},
	}
	for name, c := range map[string]struct {
		filter chain.Filter
		passes []int
	}{
		"nodes":            {query.Kind(market.KindNode), []int{0, 1, 2}},
		"node key":         {query.NodesWithKey(key), []int{0}},
		"provider":         {query.NodesOf(key), []int{1}},
		"another provider": {query.NodesOf(other), nil},
		"model":            {query.NodesOfModel(515), []int{2}},
		"leases at":        {query.LeasesAt(key), []int{3}},
		"leases of":        {query.LeasesOf(key), []int{4}},
		"leases of order":  {query.LeasesOfOrder(key), []int{5}},
		"leases served":    {query.LeasesServedBy(key), []int{11}},
		"faults of":        {query.FaultsOf(key), []int{12}},
		"faults at":        {query.FaultsAt(key), []int{13}},
		"keepers signed":   {query.KeepersSignedBy(key), []int{14}},
		"orders of":        {query.OrdersOf(key), []int{6}},
		"open for any":     {query.OpenOrders(515)[0], []int{15}},
		"open for one":     {query.OpenOrders(515)[1], nil},
		"open for two":     {query.OpenOrders(515)[2], []int{7}},
		"session key":      {query.CreditsNaming(key)[2], []int{10}},
		"other slot":       {query.CreditsNaming(key)[1], nil},
	} {
		var got []int
		for i, a := range all {
			body, err := bin.MarshalBorsh(a.value)
			require.NoError(t, err)
			d := market.Discriminator(a.kind)
			if c.filter.Matches(append(d[:], body...)) {
				got = append(got, i)
			}
		}
		require.Equal(t, c.passes, got, name)
	}
	claim := market.Discriminator(market.KindDevice)
	body := make([]byte, 104)
	copy(body, key[:])
	require.True(t, query.DevicesOf(key).Matches(append(claim[:], body...)))
	body[99] = 1
	require.False(t, query.DevicesOf(key).Matches(append(claim[:], body...)), "of a GPU's own key")
}
