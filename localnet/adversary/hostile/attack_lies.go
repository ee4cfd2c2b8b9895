package hostile

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// lyingMachine lets itself be checked and answers wrongly, on this and all its other connections: attempts are the
// questions of keepers.
func lyingMachine(ctx context.Context, a *attacker, to target, t *tally) {
	a.stay(ctx, to, func(host.Host) {})
}

// stay holds a connection with a target and calls f each second.
func (a *attacker) stay(ctx context.Context, to target, f func(host.Host)) {
	h, err := a.host()
	if err != nil {
		return
	}
	defer h.Close()
	for ctx.Err() == nil {
		_ = h.Connect(ctx, to.AddrInfo) // does nothing while it is connected
		f(h)
		_ = wait.For(ctx, time.Second)
	}
}

// serveLies answers what keepers ask machines, wrongly.
func (a *attacker) serveLies(h host.Host) {
	h.SetStreamHandler(p2p.WireID(messages.Challenge, p2p.MessagesVersion()), func(s network.Stream) { a.lie(s, lie()) })
}

// lie writes a wrong answer; an empty one has no end.
func (a *attacker) lie(s network.Stream, raw []byte) {
	defer func() { _ = s.Reset() }()
	a.lies.attempts.Add(1)
	_ = s.SetDeadline(time.Now().Add(10 * time.Second))
	n, err := s.Write(raw)
	for err == nil && len(raw) == 0 {
		var more int
		more, err = s.Write(junk(64 << 10))
		n += more
	}
	a.lies.bytes.Add(uint64(n))
	if err != nil {
		a.lies.refused.Add(1)
		return
	}
	a.lies.answered.Add(1)
	_ = s.CloseWrite()
	_, _ = io.Copy(io.Discard, s) // until the keeper is done with it
}

// lie is an answer to any check; empty for one without end.
func lie() []byte {
	r := messages.ChallengeResponse{Version: messages.Version, Nonce: key32()}
	switch rand.IntN(5) {
	case 0:
		r.Liveness = &messages.Liveness{UnixTime: time.Now().Unix(), UpSeconds: 1 << 62}
		for range 10_000 {
			r.Liveness.Leases = append(r.Liveness.Leases, messages.LeaseStatus{Lease: key32(), Detail: "invented"})
		}
	case 1:
		r.Inventory = &messages.Inventory{}
		for range 10_000 {
			r.Inventory.GPUs = append(r.Inventory.GPUs, messages.GPU{Name: "\x1b[2J", Identity: key32()})
		}
	case 2:
		r.Evidence = junk(900 << 10)
	case 3:
		return append(binary.LittleEndian.AppendUint32(nil, 900<<10), junk(10)...) // the rest does not come
	default:
		return nil
	}
	return frame(envelope(messages.Version, r))
}
