//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// manifestKey is what a keeper signs one manifest of.
type manifestKey struct {
	keeper solana.PublicKey
	period records.Period
}

// listener receives everything that keepers sign, with the wallet of a keeper that does not run, and keeps it.
type listener struct {
	node   *p2p.Node
	domain records.Domain

	mu        sync.Mutex
	signed    map[statement.Key]records.CheckStatement
	manifests map[manifestKey]records.Hash
	wrong     []string
}

func (l *listener) statements(_ context.Context, _ solana.PublicKey, m messages.StatementsAnswer) {
	for _, raw := range m.Statements {
		if s, err := statement.Read(raw); err == nil && s.Verify(l.domain, records.Wallets) == nil {
			l.add(s)
		}
	}
}

func (l *listener) add(s statement.Signed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.signed[s.Key()]; ok && old != s.Statement {
		l.wrong = append(l.wrong, "two statements of "+s.Keeper.String())
	}
	l.signed[s.Key()] = s.Statement
}

func (l *listener) sets(_ context.Context, _ solana.PublicKey, m messages.Manifests) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, raw := range m.Manifests {
		x := statement.ReadManifest(raw)
		if x.Verify(l.domain, records.Wallets) != nil {
			continue
		}
		key := manifestKey{x.Keeper, x.Period}
		if old, ok := l.manifests[key]; ok && old != x.Digest {
			l.wrong = append(l.wrong, "two manifests of "+x.Keeper.String())
		}
		l.manifests[key] = x.Digest
	}
}

func (l *listener) count() (statements, manifests int, wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.signed), len(l.manifests), append([]string(nil), l.wrong...)
}

func listen(t *testing.T, n *network.Network, wallet seed.Wallet, domain records.Domain) *listener {
	key, err := chain.LoadKeypair(wallet.Path)
	require.NoError(t, err)
	node, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	l := &listener{node: node, domain: domain, signed: map[statement.Key]records.CheckStatement{}, manifests: map[manifestKey]records.Hash{}}
	_, err = p2p.Join(node, p2p.TopicConfig[messages.StatementsAnswer]{
		Name: messages.StatementsTopic(domain.String()), MaxSize: 1 << 20, Handle: l.statements,
	})
	require.NoError(t, err)
	_, err = p2p.Join(node, p2p.TopicConfig[messages.Manifests]{
		Name: messages.ManifestsTopic(domain.String()), MaxSize: 1 << 20, Handle: l.sets,
	})
	require.NoError(t, err)
	var peers []p2p.Peer
	for _, k := range snapshotOf(t, n).Keepers() {
		if k.Wallet != key.PublicKey() {
			peers = append(peers, p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}})
		}
	}
	require.NoError(t, node.Keep(peers))
	return l
}

// keeperArgs runs a keeper by hand, with another data folder or more flags.
func keeperArgs(n *network.Network, wallet seed.Wallet, data string, more ...string) []string {
	return append([]string{
		"run", "--url", n.At.RPC, "--ws", n.At.WS, "--keypair", wallet.Path, "--data-dir", data, "--log-json",
		"--listen", p2p.LoopbackListen, "--localnet",
	}, more...)
}

// output runs a keeper until it ends or the time is over, and returns its output.
func output(t *testing.T, life time.Duration, args []string) (string, bool) {
	path, err := network.Binary("gantry-keeper")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), life)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	return out.String(), err != nil && ctx.Err() == nil
}

func killings() int {
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		return 120
	}
	return 15
}

// Keepers that are killed at random moments, again and again, never sign two different statements or manifests, and the
// market goes on. A second process with the same wallet, an older copy of a store, a clock that is wrong and a damaged
// store are reported, and nothing is signed.
func TestKeepersThatBreak(t *testing.T) {
	t.Parallel()
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 4, Customers: 1, Nodes: network.DefaultNodes(2), Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	genesis, err := n.Chain.Genesis(t.Context())
	require.NoError(t, err)
	domain := records.DomainOf(genesis)
	keepers, observer := n.Keys.Keepers[:3], n.Keys.Keepers[3]
	require.NoError(t, n.Stop(t.Context(), observer.Name))
	received := listen(t, n, observer, domain)

	for range killings() {
		victim := keepers[rand.IntN(len(keepers))]
		require.NoError(t, pause(t.Context(), time.Duration(rand.IntN(2500))*time.Millisecond))
		if err := n.Kill(victim.Name); err != nil {
			t.Logf("%s was not running: %v", victim.Name, err)
		}
	}
	before, _, _ := received.count()
	require.Eventually(t, func() bool { now, _, _ := received.count(); return now > before+20 }, time.Minute, 200*time.Millisecond, "the market goes on")

	// One that was killed often starts again after a pause. It has its lock when it signs again.
	first := func() int {
		received.mu.Lock()
		defer received.mu.Unlock()
		signed := 0
		for k := range received.signed {
			if k.Keeper == keepers[0].Address() {
				signed++
			}
		}
		return signed
	}
	had := first()
	require.Eventually(t, func() bool { return first() > had }, time.Minute, 200*time.Millisecond)

	data := func(w seed.Wallet) string { return filepath.Join(n.Dir(), "keepers", w.Name) }
	// A second process, with another data folder.
	out, failed := output(t, 30*time.Second, keeperArgs(n, keepers[0], t.TempDir()))
	require.True(t, failed)
	require.Contains(t, out, "another keeper runs on this machine with the same wallet")

	// A store from before the last votes, on a machine of its own: its lock is not there.
	old := t.TempDir()
	require.NoError(t, n.Stop(t.Context(), keepers[1].Name))
	require.NoError(t, exec.Command("cp", "-r", data(keepers[1])+"/.", old).Run())
	me := func() uint64 {
		for _, k := range snapshotOf(t, n).Keepers() {
			if k.Wallet == keepers[1].Address() {
				return k.LastVotePeriod
			}
		}
		return 0
	}
	last := me()
	require.NoError(t, n.StartKeeper(t.Context(), 1))
	require.Eventually(t, func() bool { return me() > last }, time.Minute, 200*time.Millisecond)
	require.NoError(t, n.Stop(t.Context(), keepers[1].Name))
	out, failed = output(t, 30*time.Second, keeperArgs(n, keepers[1], old))
	require.True(t, failed)
	require.Contains(t, out, "the chain has a vote of this wallet")

	// A clock that is wrong: it runs, says so and signs nothing. It publishes again what it signed before, some of which may not
	// have been heard.
	signed := t.TempDir()
	require.NoError(t, exec.Command("cp", "-r", data(keepers[1])+"/.", signed).Run())
	out, failed = output(t, 12*time.Second, keeperArgs(n, keepers[1], data(keepers[1]), "--simulate-clock-ahead", "9s"))
	require.False(t, failed, out)
	require.Contains(t, out, "nothing is signed until they agree")
	s, err := store.Open(filepath.Join(signed, "keeper.db"), store.Options{Keeper: keepers[1].Address(), Domain: domain})
	require.NoError(t, err)
	received.mu.Lock()
	for k, st := range received.signed {
		if k.Keeper == keepers[1].Address() {
			known, err := s.Knows(st)
			require.NoError(t, err)
			require.True(t, known, "it signed with a wrong clock")
		}
	}
	received.mu.Unlock()
	require.NoError(t, s.Close())

	// Stores are sound and hold what was heard.
	for _, w := range keepers {
		_ = n.Stop(t.Context(), w.Name) // one of them has ended
		s, err := store.Open(filepath.Join(data(w), "keeper.db"), store.Options{Keeper: w.Address(), Domain: domain})
		require.NoError(t, err)
		received.mu.Lock()
		for k, st := range received.signed {
			if k.Keeper == w.Address() {
				known, err := s.Knows(st)
				require.NoError(t, err)
				require.True(t, known, "%s has signed what is not in its store", w.Name)
			}
		}
		received.mu.Unlock()
		require.NoError(t, s.Close())
	}
	// One that is damaged is out, and what to do.
	path := filepath.Join(data(keepers[2]), "keeper.db")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	raw[os.Getpagesize()+20] ^= 1
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	out, failed = output(t, 30*time.Second, keeperArgs(n, keepers[2], data(keepers[2])))
	require.True(t, failed)
	require.Contains(t, out, "nothing is signed with it. Move the file away")
	// A new one takes its place, and says nothing about periods in which the old one may have spoken.
	require.NoError(t, os.Rename(path, path+".damaged"))
	_, failed = output(t, 20*time.Second, keeperArgs(n, keepers[2], data(keepers[2])))
	require.False(t, failed)

	statements, manifests, wrong := received.count()
	require.Empty(t, wrong)
	t.Logf("%d kills; %d statements and %d manifests were heard, none against another", killings(), statements, manifests)
}
