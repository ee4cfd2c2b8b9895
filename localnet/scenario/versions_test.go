//go:build e2e

package scenario

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// edit replaces one text of a source file.
type edit struct{ file, old, new string }

const optional = "\tLater string `cbor:\"99,keyasint,omitempty\"`\n"

// nextMinor is a next minor version: a field more in requests, answers, gossip and a customer's request, each of them
// always sent, and a protocol that the version before does not have.
var nextMinor = []edit{
	{"sdk/messages/doc.go", fmt.Sprint("Minor   = ", messages.Minor), fmt.Sprint("Minor   = ", messages.Minor+1)},
	{"sdk/messages/challenge.go", "type ChallengeRequest struct {\n", "type ChallengeRequest struct {\n" + optional},
	{"sdk/messages/challenge.go", "type ChallengeResponse struct {\n", "type ChallengeResponse struct {\n" + optional},
	{"sdk/messages/report.go", "type StatementsAnswer struct {\n", "type StatementsAnswer struct {\n" + optional},
	{"sdk/messages/lease.go", "type DeployRequest struct {\n", "type DeployRequest struct {\n" + optional},
	{"agent/challenge/challenge.go", "resp := messages.ChallengeResponse{", `resp := messages.ChallengeResponse{Later: "answer", `},
	{"client/buy/remote.go", "req := messages.DeployRequest{", `req := messages.DeployRequest{Later: "deploy", `},
	{"keeper/gossip/statements.go", "m := messages.StatementsAnswer{", `m := messages.StatementsAnswer{Later: "gossip", `},
	{"keeper/check/asker.go", "\tresp, err := p2p.Call[", `	req.Later = "question"
	later := p2p.Protocol{ID: "/gantry/later", Since: messages.Minor, Timeout: 5 * time.Second}
	_, no := p2p.Call[string, string](ctx, n.Node, nodeKey, later, "later")
	println("LATER", nodeKey.String(), fmt.Sprint(no))
	resp, err := p2p.Call[`},
	{"agent/daemon/handlers.go", "\tdeploy := customers(deployProtocol)\n", `	later := p2p.Protocol{ID: "/gantry/later", Since: messages.Minor}
	p2p.Handle(n, later, func(_ context.Context, _ solana.PublicKey, s string) (string, error) { return s, nil })
	deploy := customers(deployProtocol)
`},
}

// nextMajor is a next major version.
var nextMajor = []edit{{"sdk/messages/doc.go", fmt.Sprint("Version = ", messages.Version), fmt.Sprint("Version = ", messages.Version+1)}}

// The versions of the three builds.
var (
	ours  = p2p.MessagesVersion()
	minor = p2p.Version{Major: ours.Major, Minor: ours.Minor + 1}
	major = p2p.Version{Major: ours.Major + 1, Minor: ours.Minor}
)

// build builds programs with edits of the sources, which stay as they are, and returns the directory.
func build(t *testing.T, edits []edit, programs ...string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir, texts, replace := t.TempDir(), map[string]string{}, map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.file)
		if _, ok := texts[path]; !ok {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			texts[path] = string(raw)
		}
		require.Equal(t, 1, strings.Count(texts[path], e.old), "%s has changed: this edit of it does not apply: %q", e.file, e.old)
		texts[path] = strings.Replace(texts[path], e.old, e.new, 1)
	}
	for path, text := range texts {
		replace[path] = filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		require.NoError(t, os.WriteFile(replace[path], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-overlay", filepath.Join(dir, "overlay.json"), "-o", dir+"/")
	cmd.Args = append(cmd.Args, programs...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// logged reports whether a line of a process's log has all of the texts.
func logged(t *testing.T, n *network.Network, name string, texts ...string) bool {
	raw, err := os.ReadFile(n.LogPath(name))
	require.NoError(t, err)
line:
	for line := range strings.Lines(string(raw)) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue line
			}
		}
		return true
	}
	return false
}

func requireLogged(t *testing.T, n *network.Network, name string, texts ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return logged(t, n, name, texts...) }, time.Minute, 200*time.Millisecond, "%s: %q", name, texts)
}

// Keepers, machines and customers of two minor versions work together: checks pass both ways, leases run, and all vote
// for reports that count the statements of all. One of another major version is refused, and both sides say why.
func TestTwoBuildsWorkTogether(t *testing.T) {
	long.Test(t, "all programs are built twice")
	t.Parallel()
	const gantry, keeper, agent = "./client/cmd/gantry", "./keeper/cmd/gantry-keeper", "./agent/cmd/gantry-agent"
	began := time.Now()
	minorBuild, majorBuild := build(t, nextMinor, gantry, keeper, agent), build(t, nextMajor, gantry, agent)
	t.Logf("two builds took %s", time.Since(began).Round(time.Second))
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 4, Customers: 2, Nodes: network.DefaultNodes(2), Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	keepers, observer := n.Keys.Keepers[:3], n.Keys.Keepers[3]
	newer, older := n.Nodes[0], n.Nodes[1]
	n.UseBuild(keepers[0].Name, minorBuild)
	n.UseBuild(newer.Name, minorBuild)
	n.UseBuild(n.Keys.Customers[1].Name, minorBuild)
	require.NoError(t, n.Launch(t.Context()))
	genesis, err := n.Chain.Genesis(t.Context())
	require.NoError(t, err)
	require.NoError(t, n.Stop(t.Context(), observer.Name)) // now the others are just as many as a report needs
	from := uint64(time.Now().Unix())/uint64(n.Params().PeriodSecs) + 1
	received := listen(t, n, observer, records.DomainOf(genesis))

	// The older client with the newer machine, and the newer with the older.
	for i, gpu := range []string{"A100", "H100"} {
		customer := n.Keys.Customers[i]
		ok(t, n, customer, "credits", "add", "10")
		ok(t, n, customer, deploy("3.00", gpu, "--run-to-completion")...)
	}
	allPass(t, n, received, keepers)
	allVote(t, n, received, keepers, from)

	// What is new is used where both sides have it, and only there.
	requireLogged(t, n, keepers[0].Name, "LATER", newer.Key.Address().String(), "<nil>")
	requireLogged(t, n, keepers[0].Name, "LATER", older.Key.Address().String(), "came with version "+minor.String(), "speaks "+ours.String()+" and needs an update")
	require.False(t, logged(t, n, keepers[0].Name, "LATER", older.Key.Address().String(), "<nil>"))

	// Another major version is refused, and both sides name both versions.
	require.NoError(t, n.Stop(t.Context(), older.Name))
	n.UseBuild(older.Name, majorBuild)
	require.NoError(t, n.StartAgent(t.Context(), older))
	requireLogged(t, n, keepers[1].Name, "speaks version "+major.String(), "this program speaks "+ours.String(), "update this program")
	requireLogged(t, n, older.Name, "speaks version ", "this program speaks "+major.String(), "the peer needs an update")
	customer := n.Keys.Customers[0]
	n.UseBuild(customer.Name, majorBuild)
	orders := len(snapshotOf(t, n).Orders())
	out, err := n.Gantry(t.Context(), customer, deploy("3.00", "A100")...)
	require.NoError(t, err)
	t.Logf("a customer of version %s: %s%s", major, out.Stdout, out.Stderr)
	require.Equal(t, cli.ExitRefused, out.Code)
	for _, text := range []string{"speaks version ", "this program speaks " + major.String(), "the peer needs an update"} {
		require.Contains(t, out.Stdout+out.Stderr, text)
	}
	require.Len(t, snapshotOf(t, n).Orders(), orders, "nothing is ordered that cannot be handed over")
	for dir, v := range map[string]p2p.Version{minorBuild: minor, majorBuild: major} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "gantry"), "--version").CombinedOutput()
		require.NoError(t, err)
		require.Contains(t, string(out), "messages "+v.String())
	}
}

// allPass waits until every keeper has found every machine alive and computing right.
func allPass(t *testing.T, n *network.Network, received *listener, keepers []seed.Wallet) {
	t.Helper()
	passed := func(keeper, node solana.PublicKey, kind records.CheckKind) bool {
		received.mu.Lock()
		defer received.mu.Unlock()
		for k, s := range received.signed {
			if k.Keeper == keeper && k.Node == node && k.Kind == kind && s.Passed {
				return true
			}
		}
		return false
	}
	for _, k := range keepers {
		for _, m := range n.Nodes {
			for _, kind := range []records.CheckKind{records.CheckLiveness, records.CheckWork} {
				require.Eventually(t, func() bool { return passed(k.Address(), m.Address, kind) }, 3*time.Minute, 200*time.Millisecond, "%s, %s, kind %d", k.Name, m.Name, kind)
			}
		}
	}
}

// allVote waits for a final report, of a period from this one on, which all keepers have voted for and which counts the
// statements of all.
func allVote(t *testing.T, n *network.Network, received *listener, keepers []seed.Wallet, from uint64) {
	t.Helper()
	protocol := p2p.Protocol{ID: messages.ProposalOf, MaxResponse: messages.MaxMessage}
	counted := func(r market.Report) bool {
		req := messages.ProposalRequest{Version: messages.Version, Period: r.Period, Root: r.Root}
		p, err := p2p.Call[messages.ProposalRequest, messages.Proposal](t.Context(), received.node, keepers[1].Address(), protocol, req)
		for _, k := range keepers {
			if !slices.ContainsFunc(p.Manifests, func(m messages.Manifest) bool { return solana.PublicKey(m.Keeper) == k.Address() && m.Count > 0 }) {
				return false
			}
		}
		return err == nil
	}
	require.Eventually(t, func() bool {
		v := snapshotOf(t, n)
		return slices.ContainsFunc(v.Reports(), func(r market.Report) bool {
			for _, w := range keepers {
				if k, known := v.Keeper(market.KeeperAddress(w.Address())); !known || !r.Voted(k.Index) {
					return false
				}
			}
			return r.Period >= from && r.State() == market.ReportFinal && counted(r)
		})
	}, 3*time.Minute, 500*time.Millisecond)
}
