package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	lnet "github.com/libp2p/go-libp2p/core/network"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// A customer whose program no keeper understands is told before an order; one keeper that says so stops nobody.
func TestOneKeeperThatUnderstandsIsEnough(t *testing.T) {
	start := func() *p2p.Node {
		n, err := p2p.New(p2p.Options{Key: solana.NewWallet().PrivateKey, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Close()) })
		return n
	}
	other, same, gone := start(), start(), start()
	next := p2p.Version{Major: messages.Version + 1}
	other.Host().SetStreamHandler(p2p.WireID(messages.Lookup, next), func(s lnet.Stream) { _ = s.Reset() })
	same.ServeLookup(false)
	r := &Remote{Net: start(), wallet: solana.NewWallet().PrivateKey}
	for _, k := range []*p2p.Node{gone, other, same} {
		require.NoError(t, r.Net.Remember(k.Self()))
		r.keepers = append(r.keepers, k.Key())
	}
	require.NoError(t, gone.Close())
	require.NoError(t, r.understood(t.Context()))

	r.keepers = r.keepers[:2]
	err := r.understood(t.Context())
	require.ErrorIs(t, err, p2p.ErrVersion)
	f := classify(network("unreachable", "", err))
	require.Equal(t, service.CodeRefused, f.Code)
	require.Contains(t, f.Reason, "the market's keepers do not understand this program")
	require.Contains(t, f.Reason, "speaks version "+next.String()+" of the messages, this program speaks "+p2p.MessagesVersion().String())
	require.Equal(t, "update this program", f.Advice)

	r.keepers = r.keepers[:1] // none that answers: no reason not to go on
	require.NoError(t, r.understood(t.Context()))
}
