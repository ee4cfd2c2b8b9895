package hostile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"

	"github.com/gantry-market/gantry/sdk/line"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// lineTransfers has machines move bytes for checks of their lines: by invented blocks that draw them, in other periods and
// directions, with blocks that are sent before the answer, and with nothing after it.
func lineTransfers(ctx context.Context, a *attacker, to target, t *tally) {
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		s, err := stream(ctx, h, to, messages.Line)
		if err != nil {
			return err
		}
		defer func() { _ = s.Reset() }()
		stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
		defer stop()
		_ = s.SetDeadline(time.Now().Add(3 * time.Second))
		raw := frame(envelope(messages.Version, a.lineRequest()))
		if rand.IntN(2) == 0 {
			raw = append(raw, junk(2*line.Block)...)
		}
		n, err := s.Write(raw)
		t.bytes.Add(uint64(n))
		if err != nil {
			return err
		}
		return answer(s)
	})
}

// lineRequest is well formed, and names a block that is not there and that draws a node which the attacker knows, most of the time.
func (a *attacker) lineRequest() messages.LineRequest {
	node := key32()
	if len(a.Nodes) > 0 {
		node = a.Nodes[rand.IntN(len(a.Nodes))]
	}
	p := a.period() + uint64(rand.IntN(3)) - 1
	r := messages.LineRequest{
		Version: messages.Version, Node: node, Period: p, Tick: uint8(rand.IntN(instant.Ticks)), Slot: 1, BlockHash: key32(),
		Direction: messages.LineDirection(1 + rand.IntN(3)),
	}
	if rand.IntN(4) == 0 {
		return r
	}
	r.Tick = instant.Ticks - 1 // whatever its block is, it would be the instant
	for range 200 {
		at, here := instant.Draw(a.Domain, records.Period(p), int(r.Tick), r.Slot, r.BlockHash, time.Time{})
		if here && at.DrawsLine(node, a.PeriodSecs) {
			break
		}
		r.BlockHash = key32()
	}
	return r
}
