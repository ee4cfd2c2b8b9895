package outage

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// restartProtocol is how a node says that its agent starts again: once, before it stops.
var restartProtocol = p2p.Protocol{ID: messages.Restart, MaxRequest: 4 << 10, MaxResponse: 4 << 10, Rate: 1, Burst: 5, Concurrent: 256}

// restartEvery is how often a node's notice counts.
const restartEvery = 10 * time.Minute

// notice is a node's last notice of a restart that counts.
type notice struct{ at, until time.Time }

// Serve has the node of this keeper take notices of restarts.
func (w *Watch) Serve(n *p2p.Node) { p2p.Handle(n, restartProtocol, w.restarting) }

// restarting takes a notice. It moves the time of this keeper's vote, and nothing else: what the node is paid for, and
// what reports say of it, is what it was heard.
func (w *Watch) restarting(_ context.Context, from solana.PublicKey, req messages.RestartNotice) (messages.RestartAnswer, error) {
	out := messages.RestartAnswer{Version: messages.Version}
	if req.Version != messages.Version || req.Secs == 0 || req.Secs > messages.MaxRestartSecs {
		return out, p2p.Refuse(p2p.CodeRefused, "a restart takes between 1 and %d seconds", messages.MaxRestartSecs)
	}
	key := solana.PublicKey(req.Node)
	own := false
	w.o.View.Read(func(v *view.Accounts) {
		n := v.Nodes[key]
		own = n != nil && n.NodeKey == from
	})
	if !own {
		return out, p2p.Refuse(p2p.CodeRefused, "this is another's node")
	}
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.notices[key]; ok && now.Sub(last.at) < restartEvery {
		out.Refused = "one notice in ten minutes counts"
		return out, nil
	}
	// Also of a node that is not asked: its lease may have started a moment ago.
	w.notices[key] = notice{now, now.Add(market.Seconds(uint32(req.Secs)))}
	w.o.Log.Info().Stringer("node", key).Uint16("secs", req.Secs).Msg("the agent of a node starts again")
	return out, nil
}
