package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/statement"
)

// list signs a manifest of a period.
func (l *liar) list(p uint64, raw string) messages.Manifest {
	m, err := statement.NewManifest(statement.Frame{Domain: l.domain, Period: records.Period(p), Secs: periodSecs}, []byte(raw), 1, l.wallet)
	require.NoError(l.t, err)
	return m.Message()
}

// A keeper that gossips one manifest of each period and hands another to whoever asks is expelled, once, and the others go
// on.
func TestAKeeperWithTwoManifestsIsExpelled(t *testing.T) {
	t.Parallel()
	chain, keepers := startAll(t, 3)
	newAgent(t, chain, 1, solana.PublicKey{}, keepers)
	l := newLiar(t, chain, keepers)
	p2p.Handle(l.node, manifestsProtocol, func(_ context.Context, _ solana.PublicKey, req messages.ManifestsRequest) (messages.Manifests, error) {
		return messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{l.list(req.Period, "asked")}}, nil
	})
	topic, err := p2p.Join(l.node, p2p.TopicConfig[messages.Manifests]{
		Name: messages.ManifestsTopic(l.domain.String()), Version: messages.Version, MaxSize: maxManifest,
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
		m := messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{l.list(period()-1, "gossiped")}}
		require.NoError(t, topic.Publish(t.Context(), m))
		return len(expelled()) > 0
	}, 2*time.Minute, 500*time.Millisecond)
	untilForgotten(t, chain, keepers, 2*time.Minute)
	require.Equal(t, []solana.PublicKey{l.wallet.PublicKey()}, expelled())
}
