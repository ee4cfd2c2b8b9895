//go:build e2e

package scenario

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// audited is what `gantry audit slash` prints of one slash.
type audited struct {
	Fault, Proof, Keeper, Node, State, Amount string
	OK                                        bool
	Steps                                     []struct{ Text string }
}

func auditSlash(t *testing.T, n *network.Network, address solana.PublicKey) []audited {
	out := ok(t, n, n.Keys.Customers[0], "--json", "audit", "slash", address.String())
	var all []audited
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &all), out.Stdout)
	t.Log(out.Stdout)
	return all
}

// A node that computes wrongly has signed it: one of the keepers proves it in three transactions, which slash half of the stake
// that the node needs at once. No keeper votes, no fault is opened beside it, and the other keepers pay for nothing. The
// keeper whose turn it is may be killed in between.
func TestAWrongMeasurementIsProven(t *testing.T) {
	t.Parallel()
	nodes := network.DefaultNodes(2)
	nodes[1].Wrong = true
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: nodes, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	dishonest, provider := n.Nodes[1], market.ProviderAddress(n.Nodes[1].Owner.Address())

	var required uint64
	killed := false
	require.Eventually(t, func() bool {
		v := snapshotOf(t, n)
		if proofs := v.FraudProofs(); len(proofs) > 0 && !killed {
			for _, k := range n.Keys.Keepers {
				if k.Address() == proofs[0].Finder {
					require.NoError(t, n.Kill(k.Name))
					killed = true
				}
			}
		}
		node, found := v.Node(dishonest.Address)
		if found {
			required = node.RequiredStake
		}
		return found && node.State() == market.NodeSuspended
	}, 90*time.Second, 50*time.Millisecond, "the wrong work is proven")
	t.Logf("killed between accusation and proof: %t", killed)

	history, err := invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{dishonest.Address}, 0)
	require.NoError(t, err)
	_, proven, found := invariants.Find(history, func(e *bindings.WrongCellProven) bool { return e.Node == dishonest.Address })
	require.True(t, found)
	fault := proven.Fault
	_, opened, found := invariants.Find(history, func(e *bindings.FaultOpened) bool { return e.Fault == fault })
	require.True(t, found)
	require.Equal(t, required*uint64(n.Params().SlashBadWorkBps)/10_000, opened.Amount)

	// Some periods later there is no further slash, and the keepers have the rent back that they paid.
	until := uint64(time.Now().Unix())/uint64(n.Params().PeriodSecs) + 4
	require.Eventually(t, func() bool {
		v := snapshotOf(t, n)
		report, ok := v.Report(until)
		return ok && report.State() == market.ReportFinal && len(v.FraudProofs()) == 0
	}, 90*time.Second, 100*time.Millisecond)
	v := snapshotOf(t, n)
	p, _ := v.Provider(provider)
	require.Equal(t, opened.Amount, p.SlashedTotal, "one cause, one slash")
	for _, f := range v.Faults() {
		require.Equal(t, fault, f.Address)
		require.True(t, f.Applied())
	}
	honest, _ := v.Node(n.Nodes[0].Address)
	require.Equal(t, market.NodeActive, honest.State())
	unharmed, _ := v.Provider(market.ProviderAddress(n.Nodes[0].Owner.Address()))
	require.Zero(t, unharmed.SlashedTotal)

	all := auditSlash(t, n, dishonest.Address)
	require.Len(t, all, 1)
	require.Equal(t, "wrong byte of a measurement", all[0].Proof)
	require.True(t, all[0].OK)
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
	t.Log(honest.FiguresText())
	require.Positive(t, honest.Operations, "the honest node's figures are on chain")
	require.Positive(t, honest.Bandwidth)
}

// threeKeepersOneStopped is a market of one machine whose third keeper is stopped: the test acts with its wallet.
func threeKeepersOneStopped(t *testing.T) (*network.Network, seed.Wallet) {
	t.Helper()
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: network.DefaultNodes(1), Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	dishonest := n.Keys.Keepers[2]
	require.NoError(t, n.Stop(t.Context(), dishonest.Name))
	return n, dishonest
}

// inPlaceOf takes a keeper's place on the network, under its key and address.
func inPlaceOf(t *testing.T, n *network.Network, dishonest seed.Wallet) (*p2p.Node, records.Domain) {
	t.Helper()
	domain, err := n.Chain.Domain(t.Context())
	require.NoError(t, err)
	account, found := snapshotOf(t, n).KeeperOf(dishonest.Address())
	require.True(t, found)
	node, err := p2p.New(p2p.Options{Key: dishonest.Key, Listen: []string{account.Addr()}, UserAgent: "dishonest", Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	return node, domain
}

// equivocate takes a keeper's place on the network: it answers a request for a period's statements with a signed
// statement about one check: "passed" for one of the two other keepers and "failed" for the other.
func equivocate(t *testing.T, n *network.Network, dishonest seed.Wallet) {
	t.Helper()
	node, domain := inPlaceOf(t, n, dishonest)
	about, secs, first := n.Nodes[0].Address, int64(n.Params().PeriodSecs), n.Keys.Keepers[0].Address()
	p2p.Handle(node, p2p.Protocol{ID: messages.Statements, MaxResponse: messages.MaxMessage, Rate: 100, Burst: 100},
		func(_ context.Context, from solana.PublicKey, req messages.StatementsRequest) (messages.StatementsAnswer, error) {
			st := records.CheckStatement{
				Domain: domain, Node: about, Period: records.Period(req.Period), Kind: records.CheckLiveness, Passed: from == first,
				CheckedAt: int64(req.Period)*secs + 1,
			}
			sig, err := st.Sign(dishonest.Key)
			raw := st.Encode()
			return messages.StatementsAnswer{Version: messages.Version, Statements: []messages.SignedStatement{
				{Version: messages.Version, Keeper: dishonest.Address(), Statement: raw[:], Signature: sig},
			}}, err
		})
}

// A keeper that signs opposite statements about one check, and gives one to each of the others, loses its whole bond.
func TestEquivocationIsProven(t *testing.T) {
	t.Parallel()
	n, dishonest := threeKeepersOneStopped(t)
	equivocate(t, n, dishonest)
	account := market.KeeperAddress(dishonest.Address())
	require.Eventually(t, func() bool {
		k, ok := snapshotOf(t, n).KeeperOf(dishonest.Address())
		return ok && k.State() == market.KeeperSlashed && k.Bond == 0
	}, 60*time.Second, 100*time.Millisecond, "the contradiction is proven")
	all := auditSlash(t, n, dishonest.Address())
	require.Len(t, all, 1)
	require.Equal(t, "equivocation", all[0].Proof)
	require.Equal(t, account.String(), all[0].Keeper)
	require.True(t, all[0].OK)
	for _, k := range n.Keys.Keepers[:2] {
		other, _ := snapshotOf(t, n).KeeperOf(k.Address())
		require.Equal(t, market.KeeperActive, other.State())
	}
}

// twoManifests takes a keeper's place on the network: it gossips one manifest of each period, and hands another to
// any keeper that asks. The function that it returns gossips that of the period before.
func twoManifests(t *testing.T, n *network.Network, dishonest seed.Wallet) (gossip func()) {
	t.Helper()
	node, domain := inPlaceOf(t, n, dishonest)
	list := func(period uint64, digest byte) messages.Manifests {
		m := records.Manifest{Domain: domain, Period: records.Period(period), Count: 1, Size: 40, Digest: [32]byte{digest}}
		sig, err := m.Sign(dishonest.Key)
		require.NoError(t, err)
		return messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{{
			Keeper: dishonest.Address(), Period: period, Count: m.Count, Size: m.Size, Digest: m.Digest, Signature: sig,
		}}}
	}
	p2p.Handle(node, p2p.Protocol{ID: messages.ManifestsOf, MaxResponse: messages.MaxMessage, Rate: 100, Burst: 100},
		func(_ context.Context, _ solana.PublicKey, req messages.ManifestsRequest) (messages.Manifests, error) {
			return list(req.Period, 1), nil
		})
	topic, err := p2p.Join(node, p2p.TopicConfig[messages.Manifests]{
		Name: messages.ManifestsTopic(domain.String()), MaxSize: 1 << 10,
		Known:    func(solana.PublicKey) bool { return true },
		Validate: func(context.Context, solana.PublicKey, messages.Manifests) p2p.Verdict { return p2p.Accept },
		Handle:   func(context.Context, solana.PublicKey, messages.Manifests) {},
	})
	require.NoError(t, err)
	return func() {
		last := uint64(time.Now().Unix())/uint64(n.Params().PeriodSecs) - 1
		require.NoError(t, topic.Publish(t.Context(), list(last, 2)))
	}
}

// A keeper that signs two manifests of one period loses its whole bond; the finder gets a twentieth of it, and the rest
// is burned.
func TestTwoManifestsAreProven(t *testing.T) {
	t.Parallel()
	n, dishonest := threeKeepersOneStopped(t)
	gossip := twoManifests(t, n, dishonest)
	account := market.KeeperAddress(dishonest.Address())
	require.Eventually(t, func() bool {
		gossip()
		k, ok := snapshotOf(t, n).KeeperOf(dishonest.Address())
		return ok && k.State() == market.KeeperSlashed && k.Bond == 0
	}, 90*time.Second, 500*time.Millisecond, "the two manifests are proven")
	history, err := invariants.ReadAccounts(t.Context(), n.Chain, []solana.PublicKey{account}, 0)
	require.NoError(t, err)
	_, proven, found := invariants.Find(history, func(e *bindings.EquivocationProven) bool { return e.Keeper == account })
	require.True(t, found)
	require.EqualValues(t, market.EquivocatingManifests, proven.Kind)
	require.True(t, proven.Node.IsZero() && proven.Lease.IsZero() && proven.Period > 0)
	require.EqualValues(t, seed.Bond, proven.Amount)
	require.EqualValues(t, seed.Bond/20, proven.FinderShare, "no more leaves a bond by slashes within an exit period")
	require.Equal(t, proven.Amount-proven.FinderShare, proven.Burned)

	all := auditSlash(t, n, dishonest.Address())
	require.Len(t, all, 1)
	require.Equal(t, "manifest equivocation", all[0].Proof)
	require.Equal(t, account.String(), all[0].Keeper)
	require.True(t, all[0].OK)
	for _, k := range n.Keys.Keepers[:2] {
		other, _ := snapshotOf(t, n).KeeperOf(k.Address())
		require.Equal(t, market.KeeperActive, other.State())
		require.EqualValues(t, seed.Bond, other.Bond)
	}
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
}

// A keeper awards an order to the second best node in the customer's own transaction, before any other keeper could:
// the proof slashes a fifth of its bond, and the customer gets the difference in price back.
func TestAnUnjustAwardIsProven(t *testing.T) {
	t.Parallel()
	params := seed.Params()
	params.ChallengeSecs = 8
	nodes := network.DefaultNodes(3) // node-1 and node-3 are of one model, node-1 asks less
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: nodes, Params: &params, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer, unjust := n.Keys.Customers[0], n.Keys.Keepers[2]
	ok(t, n, customer, "credits", "add", "10")
	// The better node must have held its ask for longer than keepers may need to learn of it.
	require.NoError(t, pause(t.Context(), (market.AwardViewSecs+5)*time.Second))

	v := snapshotOf(t, n)
	second, found := v.Node(n.Nodes[2].Address)
	require.True(t, found)
	order := market.Order{Meta: market.Meta{Address: market.OrderAddress(customer.Address(), 1)}}
	order.Customer = customer.Address()
	create, err := ix.OrderCreate(ix.OrderCreateArgs{
		Customer: customer.Address(), Nonce: 1, MaxPrice: 2_000_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
		Requirement: market.Requirement{Models: market.Models(seed.A100), AllowSimulated: 1},
	})
	require.NoError(t, err)
	award, err := ix.OrderAward(ix.OrderAwardArgs{Keeper: unjust.Address(), Order: order, Node: second})
	require.NoError(t, err)
	began := time.Now()
	_, err = n.Sender().Send(t.Context(), customer.Key, []solana.PrivateKey{unjust.Key}, create, award)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		k, ok := snapshotOf(t, n).KeeperOf(unjust.Address())
		return ok && k.Bond == seed.Bond*8/10
	}, 30*time.Second, 50*time.Millisecond, "the unjust award is proven")
	t.Logf("proven after %s", time.Since(began).Round(10*time.Millisecond))

	all := auditSlash(t, n, unjust.Address())
	require.Len(t, all, 1)
	require.Equal(t, "unjust award", all[0].Proof)
	require.True(t, all[0].OK)
	for _, k := range n.Keys.Keepers[:2] {
		other, _ := snapshotOf(t, n).KeeperOf(k.Address())
		require.EqualValues(t, seed.Bond, other.Bond)
	}
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
}
