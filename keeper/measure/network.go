package measure

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Network reaches nodes by their keys.
type Network interface {
	// Join hands over items as they come, until item returns an error, which it returns, or the stream or ctx ends.
	Join(ctx context.Context, node solana.PublicKey, req messages.MeasureRequest, item func(messages.MeasureItem) error) error
	Open(ctx context.Context, node solana.PublicKey, req messages.MeasureOpenRequest) (messages.MeasureOpening, error)
	// Renew replaces the connection by a new one, so that a line that has gone bad is not taken for a node that evades.
	Renew(ctx context.Context, node solana.PublicKey) error
}

// Peers is the market's network.
type Peers struct{ Node *p2p.Node }

var _ Network = Peers{}

// A keeper's side of the protocols. How long is waited is the caller's.
var (
	joinProtocol = p2p.Protocol{ID: messages.Measure, MaxRequest: 1 << 10, MaxResponse: messages.MaxMeasureItem, Timeout: time.Minute}
	openProtocol = p2p.Protocol{ID: messages.MeasureOpen, MaxRequest: 1 << 10, MaxResponse: messages.MaxMeasureAnswer + 1<<10, Timeout: time.Minute}
)

// Join implements Network.
func (p Peers) Join(ctx context.Context, node solana.PublicKey, req messages.MeasureRequest, item func(messages.MeasureItem) error) error {
	return p2p.CallStream(ctx, p.Node, node, joinProtocol, req, item)
}

// Open implements Network.
func (p Peers) Open(ctx context.Context, node solana.PublicKey, req messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
	return p2p.Call[messages.MeasureOpenRequest, messages.MeasureOpening](ctx, p.Node, node, openProtocol, req)
}

// Renew implements Network.
func (p Peers) Renew(ctx context.Context, node solana.PublicKey) error {
	return p.Node.Renew(ctx, node)
}

// line reaches one node for one instant.
type line struct {
	network Network
	node    Node
	at      instant.Instant
}

func (l line) Join(ctx context.Context, item func(messages.MeasureItem) error) error {
	return l.network.Join(ctx, l.node.Key, messages.MeasureRequest{
		Version: messages.Version, Node: l.node.Account, Period: uint64(l.at.Period), Tick: uint8(l.at.Tick), Slot: l.at.Slot, BlockHash: l.at.Hash,
	}, item)
}

func (l line) Open(ctx context.Context, gpu uint8, challenge [32]byte) (messages.MeasureOpening, error) {
	return l.network.Open(ctx, l.node.Key, messages.MeasureOpenRequest{
		Version: messages.Version, Node: l.node.Account, Period: uint64(l.at.Period), GPU: gpu, Challenge: challenge,
	})
}

func (l line) Renew(ctx context.Context) error { return l.network.Renew(ctx, l.node.Key) }
