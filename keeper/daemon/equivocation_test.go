package daemon

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/gossip"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// dishonest is a keeper's wallet on the network that signs what it likes.
type dishonest struct {
	t      *testing.T
	wallet solana.PrivateKey
	node   *p2p.Node
	topic  *p2p.Topic[messages.StatementsAnswer]
	domain records.Domain
}

// retired is a node that exists, so that statements about it are kept, and that keepers do not ask.
var retired = solana.PublicKey{66}

func newDishonest(t *testing.T, chain *fakeChain, keepers []*replica) *dishonest {
	l := &dishonest{t: t, wallet: newWallet(t), domain: chain.market.Domain}
	var err error
	l.node, err = p2p.New(p2p.Options{Key: l.wallet, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.node.Close()) })
	plain, err := WithoutPeer(l.node.Addrs()[0])
	require.NoError(t, err)
	chain.addKeeper(l.wallet.PublicKey(), plain)
	chain.addRetired(retired)
	l.topic, err = p2p.Join(l.node, p2p.TopicConfig[messages.StatementsAnswer]{
		Name: messages.StatementsTopic(l.domain.String()), MaxSize: gossip.MaxStatements,
		Known:    func(solana.PublicKey) bool { return true },
		Validate: func(context.Context, solana.PublicKey, messages.StatementsAnswer) p2p.Verdict { return p2p.Accept },
		Handle:   func(context.Context, solana.PublicKey, messages.StatementsAnswer) {},
	})
	require.NoError(t, err)
	var peers []p2p.Peer
	for _, r := range keepers {
		peers = append(peers, r.k.node.Self())
	}
	require.NoError(t, l.node.Keep(peers))
	return l
}

// statement signs a statement about a check in a period. Those of another number differ.
func (l *dishonest) statement(p uint64, passed bool, number uint32) messages.SignedStatement {
	st := records.CheckStatement{
		Domain: l.domain, Node: retired, Period: records.Period(p), Kind: records.CheckLiveness, Passed: passed,
		CheckedAt: int64(p)*periodSecs + 1,
	}
	binary.LittleEndian.PutUint32(st.Detail[:], number)
	sig, err := st.Sign(l.wallet)
	require.NoError(l.t, err)
	return statement.Signed{Keeper: l.wallet.PublicKey(), Statement: st, Signature: sig}.Message()
}

// untilForgotten waits until no keeper holds a proof any more, since it is on chain, and the others go on.
func untilForgotten(t *testing.T, chain *fakeChain, keepers []*replica) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, r := range keepers {
			if r.k.proofs.Held() != 0 {
				return false
			}
		}
		return true
	}, waitLimit, 20*time.Millisecond, "the proof is forgotten once it is on chain")
	after := period()
	require.Eventually(t, func() bool {
		for p := range chain.final() {
			if p > after {
				return true
			}
		}
		return false
	}, waitLimit, 20*time.Millisecond, "the others go on")
}

// A keeper answers each of the others differently: none of them got both answers from it, and yet it is expelled, once,
// by a proof that all of them hold. Its statements are not counted, and the others go on.
func TestAKeeperThatTellsEachSomethingElseIsExpelled(t *testing.T) {
	t.Parallel()
	chain, keepers := startAll(t, 3)
	newAgent(t, chain, 1, solana.PublicKey{}, keepers)
	l := newDishonest(t, chain, keepers)
	first := keepers[0].wallet.PublicKey()
	p2p.Handle(l.node, gossip.StatementsProtocol, func(_ context.Context, from solana.PublicKey, req messages.StatementsRequest) (messages.StatementsAnswer, error) {
		return messages.StatementsAnswer{Version: messages.Version, Statements: []messages.SignedStatement{l.statement(req.Period, from == first, 0)}}, nil
	})
	for _, r := range keepers {
		r.run()
		defer r.kill()
	}
	require.Eventually(t, func() bool {
		chain.mu.Lock()
		defer chain.mu.Unlock()
		return len(chain.expelled) == 1
	}, waitLimit, 20*time.Millisecond)
	untilForgotten(t, chain, keepers)
	chain.mu.Lock()
	defer chain.mu.Unlock()
	require.Equal(t, []solana.PublicKey{l.wallet.PublicKey()}, chain.expelled)
}

// However many contradicting statements a keeper floods the others with, they keep a handful, and pass on as few.
func TestAFloodOfEquivocation(t *testing.T) {
	t.Parallel()
	chain, keepers := startAll(t, 2)
	l := newDishonest(t, chain, keepers)
	for _, r := range keepers {
		r.run()
		defer r.kill()
	}
	checks := map[uint64]bool{} // one in each period
	publish := func(from, count uint32) {
		p := period() // statements of earlier ones than the last are not taken
		checks[p] = true
		m := messages.StatementsAnswer{Version: messages.Version}
		for i := from; i < from+count; i++ {
			m.Statements = append(m.Statements, l.statement(p, i%2 == 0, i))
		}
		require.NoError(t, l.topic.Publish(t.Context(), m))
	}
	// Until both take its statements it contradicts nothing: once it is expelled, nobody takes any.
	var takes [2]bool
	require.Eventually(t, func() bool {
		publish(0, 1)
		for i, r := range keepers {
			takes[i] = takes[i] || r.k.pool.Len() > 0
		}
		return takes[0] && takes[1]
	}, waitLimit, 100*time.Millisecond)
	for i := range uint32(20) {
		publish(i*gossip.MaxBatch, gossip.MaxBatch)
	}
	// On a busy computer the whole flood may come after its period, and is not taken: so it goes on.
	require.Eventually(t, func() bool {
		publish(0, 2)
		chain.mu.Lock()
		defer chain.mu.Unlock()
		return len(chain.expelled) == 1
	}, waitLimit, 100*time.Millisecond)
	for _, r := range keepers {
		require.LessOrEqual(t, r.k.pool.Len(), 3*len(checks), "of more than 5,000 statements about %d checks", len(checks))
		require.LessOrEqual(t, r.k.proofs.Held(), 1)
	}
}

// A proof that is not on chain yet is counted, also by the keeper that starts after a kill.
func TestHeldProofsAreCounted(t *testing.T) {
	t.Parallel()
	chain, keepers := startAll(t, 1)
	r := keepers[0]
	l := newDishonest(t, chain, keepers)
	held := func() float64 {
		for _, g := range r.k.gauges() {
			if g.Name == "proofs_held" {
				return g.Read()
			}
		}
		t.Fatal("no such metric")
		return 0
	}
	require.Zero(t, held())
	var pair [2]statement.Signed
	for i := range pair {
		var err error
		pair[i], err = statement.Read(l.statement(5, i == 0, 0))
		require.NoError(t, err)
	}
	_, err := r.k.proofs.Statements(pair[0], pair[1])
	require.NoError(t, err)
	require.EqualValues(t, 1, held())
	require.NoError(t, r.k.Close())
	r.start()
	require.EqualValues(t, 1, held())
	require.NoError(t, r.k.Close())
}

// manifest signs a manifest of a period.
func (l *dishonest) manifest(p uint64, raw string) messages.Manifest {
	m, err := statement.NewManifest(statement.Frame{Domain: l.domain, Period: records.Period(p), Secs: periodSecs}, []byte(raw), 1, l.wallet)
	require.NoError(l.t, err)
	return m.Message()
}

// A keeper that gossips one manifest of each period and hands another to any keeper that asks is expelled, once, and
// the others go on.
func TestAKeeperWithTwoManifestsIsExpelled(t *testing.T) {
	t.Parallel()
	chain, keepers := startAll(t, 3)
	newAgent(t, chain, 1, solana.PublicKey{}, keepers)
	l := newDishonest(t, chain, keepers)
	p2p.Handle(l.node, gossip.ManifestsProtocol, func(_ context.Context, _ solana.PublicKey, req messages.ManifestsRequest) (messages.Manifests, error) {
		return messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{l.manifest(req.Period, "asked")}}, nil
	})
	topic, err := p2p.Join(l.node, p2p.TopicConfig[messages.Manifests]{
		Name: messages.ManifestsTopic(l.domain.String()), MaxSize: gossip.MaxManifest,
		Known:    func(solana.PublicKey) bool { return true },
		Validate: func(context.Context, solana.PublicKey, messages.Manifests) p2p.Verdict { return p2p.Accept },
		Handle:   func(context.Context, solana.PublicKey, messages.Manifests) {},
	})
	require.NoError(t, err)
	for _, r := range keepers {
		r.run()
		defer r.kill()
	}
	expelled := func() []solana.PublicKey {
		chain.mu.Lock()
		defer chain.mu.Unlock()
		return chain.expelled
	}
	require.Eventually(t, func() bool {
		m := messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{l.manifest(period()-1, "gossiped")}}
		require.NoError(t, topic.Publish(t.Context(), m))
		return len(expelled()) > 0
	}, waitLimit, 500*time.Millisecond)
	untilForgotten(t, chain, keepers)
	require.Equal(t, []solana.PublicKey{l.wallet.PublicKey()}, expelled())
}
