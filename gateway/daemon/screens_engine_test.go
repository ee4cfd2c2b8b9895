package daemon

import (
	"context"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/clitest"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// A customer finds a gateway, opens a lease to it, pays it, and takes back what was granted.
func TestScreensOfAGateway(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	p := newPriced(t)
	proto := p2p.Protocol{ID: messages.Gateways, MaxRequest: 1 << 10, MaxResponse: 192 << 10, Public: true}
	p2p.Handle(p.hub, proto, func(context.Context, solana.PublicKey, messages.GatewaysRequest) (messages.GatewaysAnswer, error) {
		return messages.GatewaysAnswer{Version: messages.Version, Gateways: []messages.KnownGateway{{Key: p.g.net.Key(), Addrs: p.g.net.Addrs()}}}, nil
	})
	flags := slices.DeleteFunc(slices.Clone(p.args), func(a string) bool { return a == "--json" })
	via := []string{p.lease, "--via", p.via}
	clitest.Draws(t, flags, "gateway list")
	clitest.Draws(t, flags, "gateway open", append(via, "--port", "8080:web")...)
	clitest.Draws(t, flags, "gateway show", via...)
	clitest.Draws(t, flags, "gateway pay", append(via, "--amount", "0.01")...)
	require.EqualValues(t, 10_000, p.received())
	clitest.Draws(t, flags, "gateway close", via...)
}
