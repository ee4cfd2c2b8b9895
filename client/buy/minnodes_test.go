package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/group"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

func TestWhatIsWrongWithALeastNumberOfNodes(t *testing.T) {
	for says, change := range map[string]func(*Request){
		"--min-nodes is for several machines":               func(r *Request) { r.MinNodes = 1 },
		"--min-nodes is 4, and --nodes is 3":                func(r *Request) { r.Nodes, r.MinNodes = 3, 4 },
		"--min-nodes is for machines that work together":    func(r *Request) { r.Redundancy, r.MinNodes = 3, 2 },
		"--min-nodes is for machines that work together, a": func(r *Request) { r.Rerun, r.MinNodes = solana.PublicKey{1}.String(), 2 },
	} {
		requireUsage(t, whole(change).Check(), says)
	}
	for _, least := range []uint8{0, 1, 3} {
		require.NoError(t, whole(func(r *Request) { r.Nodes, r.MinNodes = 3, least }).Check())
	}
	_, _, b := buyerOf(t)
	_, err := b.Buy(t.Context(), *whole(func(r *Request) { r.Nodes, r.MinNodes, r.Detach = 3, 2, true }))
	requireUsage(t, err, "--min-nodes needs this command")
	one, other := terms{request: Request{MinNodes: 1}}, terms{request: Request{MinNodes: 2}}
	x, err := one.fingerprint()
	require.NoError(t, err)
	y, err := other.fingerprint()
	require.NoError(t, err)
	require.NotEqual(t, x, y, "a repeated command asks for the same")
	added, err := b.copied(&purchase.Purchase{Job: &messages.JobSpec{}, MinNodes: 2, Short: &group.Short{Since: 1}}, 2, 1, 60)
	require.NoError(t, err)
	require.Zero(t, added.MinNodes, "the first purchase counts the machines that are added too")
	require.Nil(t, added.Short)
}

// The reason of a lease that was ended with its group is the group's, and that of one which the customer has stopped before is not.
func TestWhyALeaseOfABrokenGroupEnded(t *testing.T) {
	_, _, b := buyerOf(t)
	p := purchase.Purchase{Order: solana.PublicKey{9}, Short: &group.Short{EndedAt: 5, Leases: []solana.PublicKey{{1}, {3}}, Says: "too few"}}
	held, err := b.folder.Hold(p.Order)
	require.NoError(t, err)
	require.NoError(t, held.Write(p))
	require.NoError(t, held.Release())
	for _, c := range []struct {
		of           byte
		kind, reason string
		want         string
	}{
		{1, "lease", service.WhyStopped, service.WhyIncomplete},
		{2, "lease", service.WhyStopped, service.WhyStopped},
		{3, "lease", service.WhyFailed, service.WhyFailed},
		{9, "order", service.WhyAwarded, service.WhyIncomplete},
		{8, "order", service.WhyAwarded, service.WhyAwarded},
	} {
		w := service.Why{Address: solana.PublicKey{c.of}.String(), Kind: c.kind, Reason: c.reason}
		require.NoError(t, Explain(b.folder, &w))
		require.Equal(t, c.want, w.Reason, "%+v", c)
		require.Equal(t, c.want == service.WhyIncomplete, w.Says == "too few")
	}
	shown := clusterOf([]purchase.Purchase{p}, nil)
	require.Equal(t, []string{service.WhyIncomplete, "too few"}, []string{shown.Reason, shown.Says})
	p.Short.EndedAt, p.Short.Until = 0, 7
	shown = clusterOf([]purchase.Purchase{p}, nil)
	require.EqualValues(t, 7, shown.EndsAt)
	require.Empty(t, shown.Reason)
	p.Stage = purchase.Over
	require.Empty(t, clusterOf([]purchase.Purchase{p}, nil).Says, "it was ended in another way")
}

// A server leaves a group that a command attends, and one that is over. It asks the chain nothing about them.
func TestAServerLeavesGroupsOfOthers(t *testing.T) {
	_, _, b := buyerOf(t)
	c := carrier{Buyer: b}
	p := purchase.Purchase{Order: solana.PublicKey{9}, MinNodes: 2, Short: &group.Short{EndedAt: 5}, Stage: purchase.Handed}
	held, err := b.folder.Hold(p.Order)
	require.NoError(t, err)
	require.NoError(t, held.Write(p))
	require.NoError(t, c.keepOneWhole(t.Context(), nil, nil, p.Order))
	p.Stage = purchase.Over
	require.NoError(t, held.Write(p))
	require.NoError(t, held.Release())
	require.NoError(t, c.keepOneWhole(t.Context(), nil, nil, p.Order))
	p.Stage = purchase.Handed
	held, err = b.folder.Hold(p.Order)
	require.NoError(t, err)
	require.NoError(t, held.Write(p))
	require.NoError(t, held.Release())
	require.Error(t, c.keepOneWhole(t.Context(), nil, nil, p.Order), "this one is its own, and the chain does not answer")
}

// One lease may be all that is left of a group on chain: its purchase is looked at. Records are not read again for leases that stand alone.
func TestWhichLeasesMayBeOfAGroup(t *testing.T) {
	_, _, b := buyerOf(t)
	c, alone, v := carrier{Buyer: b}, map[solana.PublicKey]bool{}, view.New(view.Options{})
	put := func(order byte, status market.LeaseStatus) {
		l := &market.Lease{}
		l.Address, l.Order, l.Customer, l.Status = solana.PublicKey{order, 1}, solana.PublicKey{order}, b.customer, uint8(status)
		v.Put(l.Address, l)
	}
	for _, p := range []purchase.Purchase{
		{Order: solana.PublicKey{1}},
		{Order: solana.PublicKey{2}, MinNodes: 2, Stage: purchase.Handed},
		{Order: solana.PublicKey{3}, Joins: solana.PublicKey{2}},
	} {
		held, err := b.folder.Hold(p.Order)
		require.NoError(t, err)
		require.NoError(t, held.Write(p))
		require.NoError(t, held.Release())
	}
	for _, c2 := range []struct {
		order  byte
		status market.LeaseStatus
		reads  bool
	}{{2, market.LeaseEnded, false}, {1, market.LeaseRunning, true}, {4, market.LeaseRunning, true}, {1, market.LeaseRunning, false}, {2, market.LeaseRunning, true}, {2, market.LeaseEnded, false}, {3, market.LeaseRunning, true}} {
		put(c2.order, c2.status)
		require.Equal(t, c2.reads, c.ofGroups(v, alone) != nil, "%+v", c2)
	}
	require.Equal(t, map[solana.PublicKey]bool{{1}: true, {4}: true}, alone)
}
