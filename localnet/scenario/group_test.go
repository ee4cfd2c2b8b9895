//go:build e2e

package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/vpn"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/mesh"
)

// The containers of an order over several machines reach each other by name over a private network, and no other order's
// containers. An agent that starts again breaks nothing. A machine that takes over a lease gets its address.
func TestAnOrderOverSeveralMachinesHasANetwork(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	nodes := network.DefaultNodes(3)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Count, nodes[i].Price = "A100", 2, market.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 2, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	now, err := n.Chain.Now(t.Context())
	require.NoError(t, err)
	for _, m := range snapshotOf(t, n).Nodes() {
		require.Less(t, m.RegisteredAt, now, "orders over several machines take none that came in their second")
	}
	mine, other := n.Keys.Customers[0], n.Keys.Customers[1]
	ok(t, n, mine, "credits", "add", "10")
	ok(t, n, other, "credits", "add", "10")
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	rent := func(more ...string) []string {
		args := append([]string{"cluster", "up", "--gpu", "A100", "--nodes", "2", "--max-price", "3", "--duration", "30m", "--allow-simulated", "--network", "none"}, more...)
		return append(args, "--image", image, "--", "/bin/sh", "-c",
			`mkdir /www; echo "rank $GANTRY_NODE_RANK of $GANTRY_NUM_NODES, lease $GANTRY_LEASE" > /www/index.html; httpd -f -p $GANTRY_NODE_IP:8080 -h /www`)
	}
	g := &groupVisit{t: t, n: n, owner: mine}
	attended := make(chan struct{})
	t.Cleanup(func() { <-attended })
	go func() {
		defer close(attended)
		out, err := n.Gantry(t.Context(), mine, rent("--migrate", "--name", "pair")...)
		t.Log(out.Stderr, err)
	}()
	first := g.leases(2)
	slices.SortFunc(first, func(a, b market.Lease) int { return bytes.Compare(a.Address[:], b.Address[:]) })
	g.meet(mine, first[0].Address.String(), first[1].Address.String())
	g.carries(mine, first[0].Address.String(), first[1].Address.String())
	said, err := n.GantryText(t.Context(), mine, "cluster", "exec", "pair", "--", "/bin/sh", "-c", "echo I am $GANTRY_NODE_RANK; echo trouble >&2")
	require.NoError(t, err)
	require.NoError(t, said.Err())
	require.ElementsMatch(t, []string{"node-0: I am 0", "node-1: I am 1"}, strings.Split(strings.TrimSpace(said.Stdout), "\n"))
	require.Contains(t, said.Stderr, "node-1: trouble")
	failed, err := n.GantryText(t.Context(), mine, "cluster", "exec", "pair", "--", "/bin/sh", "-c", "exit $GANTRY_NODE_RANK")
	require.NoError(t, err)
	require.Equal(t, 1, failed.Code, failed.Stderr)

	// The customer's computer joins, and reaches the same containers from outside of them.
	proxy, forward, leave, err := n.Join(t.Context(), mine, "pair", "--forward", "0:node-1:8080")
	require.NoError(t, err)
	g.seen(proxy, forward, first[0].Address.String(), first[1].Address.String())

	// Another order on the same machines has the same addresses, and other containers behind them.
	var out buy.Outcome
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, other, rent("--detach")...).Stdout), &out))
	theirs := []string{out.Leases[0].Address, out.Leases[1].Address}
	slices.SortFunc(theirs, func(a, b string) int {
		x, y := solana.MustPublicKeyFromBase58(a), solana.MustPublicKeyFromBase58(b)
		return bytes.Compare(x[:], y[:])
	})
	g.meet(other, theirs...)
	g.meet(mine, first[0].Address.String(), first[1].Address.String())

	stranger, err := n.Gantry(t.Context(), other, "vpn", first[0].Address.String())
	require.NoError(t, err)
	require.Contains(t, stranger.Stderr, "nor a lease of yours")

	require.NoError(t, n.Kill(g.machine(first[0]))) // its agent starts again, with new keys
	g.seen(proxy, forward, first[0].Address.String(), first[1].Address.String())
	g.meet(mine, first[0].Address.String(), first[1].Address.String())

	began := time.Now()
	require.NoError(t, n.Fail(t.Context(), g.machine(first[1])))
	for _, l := range g.leases(2, first[1]) {
		if l.Address != first[0].Address {
			t.Logf("a member ran on another machine after %.1f s", time.Since(began).Seconds())
			g.meet(mine, first[0].Address.String(), l.Address.String())
			g.seen(proxy, forward, first[0].Address.String(), l.Address.String())
			t.Logf("its network was whole after %.1f s", time.Since(began).Seconds())
			var now buy.Cluster
			require.NoError(t, json.Unmarshal([]byte(ok(t, n, mine, "cluster", "status", "pair").Stdout), &now))
			require.Equal(t, []string{first[0].Address.String(), l.Address.String()}, []string{now.Members[0].Lease, now.Members[1].Lease})
			require.Equal(t, "10.77.0.2", now.Members[1].Address)
		}
	}
	require.NoError(t, leave())
	printed := ok(t, n, mine, "vpn", "--print-config", first[0].Address.String())
	var config vpn.Config
	require.NoError(t, json.Unmarshal([]byte(printed.Stdout), &config))
	require.Equal(t, 2, config.Reached(), printed.Stdout)
	ok(t, n, mine, "cluster", "down", "pair")
	require.Eventually(t, func() bool {
		for _, l := range snapshotOf(t, n).LeasesOfCustomer(mine.Address()) {
			if l.State() == market.LeaseRunning {
				return false
			}
		}
		return true
	}, 30*time.Second, 200*time.Millisecond)
	alone, err := n.Gantry(t.Context(), mine, "cluster", "up", "--gpu", "A100", "--image", image, "--minutes", "1")
	require.NoError(t, err)
	require.Contains(t, alone.Stderr, "a cluster has several machines")
}

// Machines that are added to a cluster are reached by name from containers that ran before, and the other way round. When a member
// fails, the added machine finds the one that takes its place. All end together.
func TestMachinesAreAddedToACluster(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n := likeMachines(t, 4, network.Config{})
	mine := n.Keys.Customers[0]
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	attended := make(chan struct{})
	t.Cleanup(func() { <-attended })
	go func() {
		defer close(attended)
		out, err := n.Gantry(t.Context(), mine, "cluster", "up", "--name", "grows", "--gpu", "A100", "--nodes", "2", "--max-price", "3", "--duration", "30m", "--allow-simulated",
			"--network", "none", "--migrate", "--image", image, "--", "/bin/sh", "-c", `mkdir /www; echo "lease $GANTRY_LEASE" > /www/index.html; httpd -f -p $GANTRY_NODE_IP:8080 -h /www`)
		t.Log(out.Stderr, err)
	}()
	g := &groupVisit{t: t, n: n, owner: mine}
	first := g.leases(2)
	slices.SortFunc(first, func(a, b market.Lease) int { return bytes.Compare(a.Address[:], b.Address[:]) })
	var c buy.Cluster
	began := time.Now()
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, mine, "cluster", "scale", "grows", "--nodes", "3").Stdout), &c))
	t.Logf("a machine was added in %.1f s", time.Since(began).Seconds())
	require.Len(t, c.Members, 3)
	all := []string{first[0].Address.String(), first[1].Address.String(), c.Members[2].Lease}
	require.Equal(t, all[:2], []string{c.Members[0].Lease, c.Members[1].Lease})
	g.reach(mine, all...)

	require.NoError(t, n.Fail(t.Context(), g.machine(first[1])))
	for _, l := range g.leases(3, first[1]) {
		if l.Address.String() != all[0] && l.Address.String() != all[2] {
			all[1] = l.Address.String()
		}
	}
	g.reach(mine, all...)
	ok(t, n, mine, "cluster", "down", "grows")
	for _, l := range snapshotOf(t, n).LeasesOfCustomer(mine.Address()) {
		require.NotEqual(t, market.LeaseRunning, l.State())
	}
}

// groupVisit looks from containers of one order at the others.
type groupVisit struct {
	t     *testing.T
	n     *network.Network
	owner seed.Wallet
}

// leases awaits as many running leases of the owner, without those that are gone.
func (g *groupVisit) leases(count int, gone ...market.Lease) (found []market.Lease) {
	g.t.Helper()
	require.Eventually(g.t, func() bool {
		found = nil
	next:
		for _, l := range snapshotOf(g.t, g.n).LeasesOfCustomer(g.owner.Address()) {
			for _, former := range gone {
				if l.Address == former.Address {
					continue next
				}
			}
			if l.State() == market.LeaseRunning {
				found = append(found, l)
			}
		}
		return len(found) == count
	}, 3*time.Minute, 200*time.Millisecond)
	return found
}

func (g *groupVisit) machine(l market.Lease) string {
	for _, m := range g.n.Nodes {
		if m.Address == l.Node {
			return m.Name
		}
	}
	g.t.Fatal("no such machine")
	return ""
}

// meet requires that the containers of leases reach each other and themselves by their names, in the leases' order, and know their places.
func (g *groupVisit) meet(as seed.Wallet, leases ...string) {
	g.t.Helper()
	g.read(as, func(i int) string { return fmt.Sprintf("rank %d of %d, lease %s\n", i, len(leases), leases[i]) }, leases)
}

// reach requires that the containers of leases reach each other and themselves by their names, in the leases' order.
func (g *groupVisit) reach(as seed.Wallet, leases ...string) {
	g.t.Helper()
	g.read(as, func(i int) string { return fmt.Sprintf("lease %s\n", leases[i]) }, leases)
}

// read requires that each container reads of each what it shows.
func (g *groupVisit) read(as seed.Wallet, shows func(int) string, leases []string) {
	g.t.Helper()
	var last said
	for _, from := range leases {
		for i := range leases {
			want := shows(i)
			require.Eventually(g.t, func() bool {
				out, err := g.n.GantryText(g.t.Context(), as, "exec", from, "--", "/bin/busybox", "timeout", "3",
					"/bin/busybox", "wget", "-q", "-O-", fmt.Sprintf("http://%s:8080/", mesh.Name(i)))
				require.NoError(g.t, err)
				last = said(fmt.Sprint(out.Code, out.Stdout, out.Stderr))
				return out.Code == 0 && out.Stdout == want
			}, time.Minute, 200*time.Millisecond, "%s reaches node-%d: %s", from, i, &last)
		}
	}
}

// carries requires that a file of 64 MiB comes whole from node-0 to node-1, and from node-1 to node-0.
func (g *groupVisit) carries(as seed.Wallet, leases ...string) {
	g.t.Helper()
	run := func(lease, script string) string {
		out, err := g.n.GantryText(g.t.Context(), as, "exec", lease, "--", "/bin/sh", "-c", script)
		require.NoError(g.t, err)
		require.NoError(g.t, out.Err(), out.Stderr)
		return strings.TrimSpace(out.Stdout)
	}
	for i, from := range leases {
		to := leases[(i+1)%len(leases)]
		want := run(from, "dd if=/dev/urandom of=/www/large bs=1M count=64 2>/dev/null; sha256sum < /www/large")
		began := time.Now()
		require.Equal(g.t, want, run(to, fmt.Sprintf("timeout 300 wget -q -O- http://%s:8080/large | sha256sum", mesh.Name(i))))
		g.t.Logf("64 MiB from %s after %.1f s", mesh.Name(i), time.Since(began).Seconds())
	}
}

// seen requires that the customer's computer reaches the containers of leases by their names through a proxy, and node-1 by a forward.
func (g *groupVisit) seen(proxy, forward string, leases ...string) {
	g.t.Helper()
	for i, to := range append(slices.Clone(leases), leases[1]) {
		want := fmt.Sprintf("rank %d of %d, lease %s\n", min(i, 1), len(leases), to)
		tr := &http.Transport{DisableKeepAlives: true}
		target := "http://" + forward
		if i < len(leases) {
			tr.Proxy = http.ProxyURL(&url.URL{Scheme: []string{"socks5h", "http"}[i%2], Host: proxy})
			target = fmt.Sprintf("http://%s:8080/", mesh.Name(i))
		}
		client := http.Client{Transport: tr, Timeout: 5 * time.Second}
		var last said
		require.Eventually(g.t, func() bool {
			res, err := client.Get(target)
			if err != nil {
				last = said(err.Error())
				return false
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			last = said(fmt.Sprint(string(body), err))
			return string(body) == want
		}, time.Minute, 200*time.Millisecond, "the customer's computer reaches %s: %s", target, &last)
	}
}

// said is what a command printed last, for the message of a condition that never held.
type said string

func (s *said) String() string { return string(*s) }
