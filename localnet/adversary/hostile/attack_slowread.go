package hostile

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"

	"github.com/gantry-market/gantry/sdk/messages"
)

// slowReaders asks for what is large and does not read the answers.
func slowReaders(ctx context.Context, a *attacker, to target, t *tally) {
	const held = 64
	var open []network.Stream
	defer func() {
		for _, s := range open {
			_ = s.Reset()
		}
	}()
	p := messages.Logs
	if to.kind == aKeeper {
		p = messages.Statements
	}
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		var raw []byte
		if to.kind == aKeeper {
			raw = frame(envelope(messages.Version, messages.StatementsRequest{Version: messages.Version, Period: a.period() - 3}))
		} else {
			raw = frame(envelope(messages.Version, messages.LogsRequest{Version: messages.Version, Lease: a.Lease}))
		}
		s, err := stream(ctx, h, to, p)
		if err != nil {
			return err
		}
		n, err := s.Write(raw)
		t.bytes.Add(uint64(n))
		if open = append(open, s); len(open) > held {
			_ = open[0].Reset()
			open = open[1:]
		}
		return err
	})
}
