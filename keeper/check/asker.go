package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// What becomes of a question. The node's channel is authenticated by its key, so that nobody else can cause the first
// two. The node answered right where there is no error.
var (
	// ErrWrong: the node answered something else than it was asked.
	ErrWrong = errors.New("node answered something else")
	// ErrRefused: the node's own handler said that it will not answer.
	ErrRefused = errors.New("node refused the challenge")
	// ErrTransport: there is a connection with the node, and the question or the answer was lost on it, or was turned
	// away before a handler had seen it. That may be the node's doing, or that of strangers who use it up.
	ErrTransport = errors.New("question lost on the way")
	// ErrUnreachable: there is no connection, or no answer came in time.
	ErrUnreachable = errors.New("node does not answer")
)

// Asker asks nodes.
type Asker interface {
	// Ask sends a challenge to the agent with this key and waits until ctx ends.
	// Errors: ErrWrong, ErrRefused, ErrTransport; anything else is ErrUnreachable.
	Ask(ctx context.Context, nodeKey solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error)
}

// Renewer is an Asker that can replace its connection with a node by a new one, so that a line that has gone bad is not
// taken for a node that evades.
type Renewer interface {
	Renew(ctx context.Context, nodeKey solana.PublicKey) error
}

// Network asks over the market's network.
type Network struct {
	Node *p2p.Node
}

// challengeProtocol is how keepers ask. The timeout is the caller's.
var challengeProtocol = p2p.Protocol{
	ID: messages.Challenge, MaxRequest: 4 << 10, MaxResponse: messages.MaxMessage,
	Timeout: time.Minute,
}

// shortAnswer bounds the answers to questions about leases and inventory, bytes. The others hold bundles.
const shortAnswer = 512 << 10

// mostConnections of one key are asked.
const mostConnections = 4

// Ask implements Asker.
func (n Network) Ask(ctx context.Context, nodeKey solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	protocol := challengeProtocol
	if req.Kind == messages.CheckLiveness || req.Kind == messages.CheckInventory {
		protocol.MaxResponse = shortAnswer
	}
	resp, err := p2p.Call[messages.ChallengeRequest, messages.ChallengeResponse](ctx, n.Node, nodeKey, protocol, req)
	if err == nil {
		return resp, nil
	}
	if errors.Is(err, p2p.ErrProtocol) {
		// A copy of the machine may be connected, which stops in a moment: the node answers over another connection.
		if all, _ := p2p.CallEach[messages.ChallengeRequest, messages.ChallengeResponse](ctx, n.Node, nodeKey, protocol, req, mostConnections); len(all) > 0 {
			return all[0], nil
		}
	}
	return resp, fmt.Errorf("%w: %w", n.outcome(ctx, nodeKey, err), err)
}

// outcome says which of the errors above a failed call is.
func (n Network) outcome(ctx context.Context, nodeKey solana.PublicKey, err error) error {
	var refused *p2p.Error
	switch {
	case errors.As(err, &refused):
		switch refused.Code {
		case p2p.CodeRefused, p2p.CodeUnavailable, p2p.CodeNotFound:
			return ErrRefused
		}
		return ErrTransport
	case errors.Is(err, p2p.ErrEncoding), errors.Is(err, p2p.ErrTooBig), errors.Is(err, p2p.ErrProtocol):
		return ErrWrong
	case errors.Is(err, context.DeadlineExceeded): // also where ctx itself does not say so yet
		return ErrUnreachable
	case ctx.Err() == nil && n.Node.Connected(nodeKey):
		return ErrTransport
	}
	return ErrUnreachable
}

// Renew implements Renewer.
func (n Network) Renew(ctx context.Context, nodeKey solana.PublicKey) error {
	return n.Node.Renew(ctx, nodeKey)
}
