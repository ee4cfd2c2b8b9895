package hostile

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/gantry-market/gantry/client/messages"
)

// lyingMachine lets itself be checked and answers wrongly: attempts are the questions of keepers, and what they took of
// the answers is bytes.
func lyingMachine(ctx context.Context, a *attacker, to target, t *tally) {
	h, err := a.host()
	if err != nil {
		return
	}
	defer h.Close()
	h.SetStreamHandler(messages.Challenge, func(s network.Stream) {
		defer func() { _ = s.Reset() }()
		t.attempts.Add(1)
		stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
		defer stop()
		_ = s.SetDeadline(time.Now().Add(15 * time.Second))
		raw := lie()
		n, err := s.Write(raw)
		for err == nil && len(raw) == 0 && ctx.Err() == nil { // an answer without end
			var more int
			more, err = s.Write(junk(64 << 10))
			n += more
		}
		t.bytes.Add(uint64(n))
		if err != nil {
			t.refused.Add(1)
			return
		}
		t.answered.Add(1)
		_ = s.CloseWrite()
		_, _ = s.Read(make([]byte, 1)) // until the keeper is done with it
	})
	for ctx.Err() == nil {
		_ = h.Connect(ctx, to.AddrInfo) // does nothing while it is connected
		sleep(ctx, time.Second)
	}
}

// lie is an answer to any check; empty for one without end.
func lie() []byte {
	r := messages.ChallengeResponse{Version: messages.Version, Nonce: key32()}
	switch rand.IntN(6) {
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
		r.Work = &messages.WorkProof{Size: 256, Root: key32(), Product: junk(512 << 10), Signature: [64]byte(junk(64))}
	case 3:
		r.Evidence = junk(900 << 10)
	case 4:
		return append(binary.LittleEndian.AppendUint32(nil, 900<<10), junk(10)...) // the rest does not come
	default:
		return nil
	}
	return frame(envelope(messages.Version, r))
}
