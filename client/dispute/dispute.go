// Package dispute reads disputes, says who may open, answer and vote on one, and brings their sides to the keepers, who pass
// them on.
package dispute

import (
	"context"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

const (
	// AskFor bounds the time for one keeper's answer.
	AskFor = 10 * time.Second
	// tries is how often a keeper is told, and again is the time between them. A keeper sees the dispute a little later
	// than its customer.
	tries = 3
	again = 2 * time.Second
)

// complaintProtocol brings complaints to keepers.
var complaintProtocol = p2p.Protocol{
	ID: messages.ComplaintPut, MaxRequest: messages.MaxComplaint + 1<<10, MaxResponse: 1 << 10, Timeout: AskFor,
}

// Complain brings the complaint about a lease to every keeper of a view, and returns how many took it.
func Complain(ctx context.Context, n *p2p.Node, v *view.View, lease solana.PublicKey, text []byte, log zerolog.Logger) (reached int, err error) {
	req := messages.ComplaintUpload{Version: messages.Version, Lease: lease, Data: text}
	return Tell(ctx, v, log, func(ctx context.Context, keeper solana.PublicKey) error {
		_, err := p2p.Call[messages.ComplaintUpload, messages.Complaint](ctx, n, keeper, complaintProtocol, req)
		return err
	})
}

// Tell brings something to every keeper of a view, and returns how many took it.
func Tell(ctx context.Context, v *view.View, log zerolog.Logger, tell func(context.Context, solana.PublicKey) error) (reached int, err error) {
	var left []solana.PublicKey
	for _, k := range v.Keepers() {
		left = append(left, k.Wallet)
	}
	for try := 0; try < tries && len(left) > 0; try++ {
		if try > 0 {
			if err := wait.For(ctx, again); err != nil {
				return reached, err
			}
		}
		left = slices.DeleteFunc(left, func(k solana.PublicKey) bool {
			ctx, cancel := context.WithTimeout(ctx, AskFor)
			defer cancel()
			if err := tell(ctx, k); err != nil {
				log.Debug().Err(err).Stringer("keeper", k).Msg("keeper does not take what was brought")
				return false
			}
			reached++
			return true
		})
	}
	return reached, nil
}
