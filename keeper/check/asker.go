package check

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
)

// ErrRefused is the error of a node that answered that it will not answer.
var ErrRefused = errors.New("node refused the challenge")

// Asker asks nodes.
type Asker interface {
	// Ask sends a challenge to the agent with this key and waits until ctx ends.
	// Errors: ErrRefused; anything else means that there was no answer.
	Ask(ctx context.Context, nodeKey solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error)
}

// Network asks over the market's network.
type Network struct {
	Node *p2p.Node
}

// challengeProtocol is how keepers ask. The timeout is the caller's.
var challengeProtocol = p2p.Protocol{
	ID: messages.Challenge, Version: messages.Version, MaxRequest: 4 << 10, MaxResponse: messages.MaxMessage,
	Timeout: time.Minute,
}

// Ask implements Asker.
func (n Network) Ask(ctx context.Context, nodeKey solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	resp, err := p2p.Call[messages.ChallengeRequest, messages.ChallengeResponse](ctx, n.Node, nodeKey, challengeProtocol, req)
	var refused *p2p.Error
	if errors.As(err, &refused) {
		return resp, errors.Join(ErrRefused, err)
	}
	return resp, err
}
