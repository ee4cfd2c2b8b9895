package daemon

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// offerProtocol tells everybody what the gateway asks. It reads memory alone.
var offerProtocol = p2p.Protocol{
	ID: messages.GatewayOffer, MaxRequest: 1 << 10, MaxResponse: 4 << 10, Timeout: 5 * time.Second, Rate: 5, Burst: 20, Concurrent: 64, PerPeer: 2, Public: true,
}

// showOffer says what the gateway asks, and whether the caller may have a place.
func (g *Gateway) showOffer(_ context.Context, from solana.PublicKey, _ messages.GatewayOfferRequest) (messages.GatewayOfferAnswer, error) {
	return messages.GatewayOfferAnswer{
		Version: messages.Version, Cluster: g.cluster, Domain: g.c.Domain, Price: uint64(g.c.Price.PerGiB), Free: g.c.Price.Free, SSH: g.ssh != nil,
		Full: !g.table.Takes(from),
	}, nil
}
