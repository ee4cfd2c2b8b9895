// Package twins answers an agent that wants to know whether it is alone (package agent/alone explains why). The keeper
// asks all processes that have the agent's node key. It logs nodes that have several processes.
package twins

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Options of Serve; all are required.
type Options struct {
	Domain records.Domain
	// IsNode says whether a key is that of a registered node.
	IsNode func(solana.PublicKey) bool
	Log    zerolog.Logger
}

// The protocols, as agents have them.
var (
	bootProtocol  = p2p.Protocol{ID: messages.Boot, MaxRequest: 4 << 10, MaxResponse: 4 << 10, Timeout: 3 * time.Second}
	bootsProtocol = p2p.Protocol{ID: messages.Boots, MaxRequest: 4 << 10, MaxResponse: 8 << 10, Timeout: 5 * time.Second, Rate: 1, Burst: 10, Concurrent: 64, PerPeer: 2}
)

// Serve has a keeper answer nodes.
func Serve(n *p2p.Node, o Options) {
	p, logged := bootsProtocol, &log{last: map[solana.PublicKey]time.Time{}}
	p.May = o.IsNode
	p2p.Handle(n, p, func(ctx context.Context, from solana.PublicKey, req messages.BootsRequest) (messages.BootsAnswer, error) {
		out := messages.BootsAnswer{Version: messages.Version}
		all, err := p2p.CallEach[messages.BootRequest, messages.BootAnswer](ctx, n, from, bootProtocol, messages.BootRequest{Version: messages.Version, Nonce: req.Nonce}, messages.MaxBoots)
		if err != nil && len(all) == 0 {
			return out, err
		}
		ids := map[records.BootID]bool{}
		for _, b := range all {
			r := records.Boot{Domain: o.Domain, Nonce: req.Nonce, ID: b.Boot, UpMillis: b.UpMillis}
			if r.Verify(from, b.Signature) == nil && !ids[b.Boot] {
				ids[b.Boot] = true
				out.Boots = append(out.Boots, b)
			}
		}
		if len(ids) > 1 && logged.mayLog(from, time.Now()) {
			o.Log.Warn().Stringer("node_key", from).Int("processes", len(ids)).Msg("several agents run with the key of one node: the later ones are told to stop")
		}
		return out, nil
	})
}

// logEvery is how often one node is logged.
const logEvery = 10 * time.Minute

// log remembers which nodes were logged lately. Only registered nodes come here.
type log struct {
	mu   sync.Mutex
	last map[solana.PublicKey]time.Time
}

func (l *log) mayLog(node solana.PublicKey, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.last[node]) < logEvery {
		return false
	}
	l.last[node] = now
	return true
}
