package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// invented is a set of statements that is none, as large as one may be, with its manifest.
type invented struct {
	raw      []byte
	manifest messages.Manifest
}

// inventions are the attacker's sets, one a period: two would expel it.
type inventions struct {
	mu  sync.Mutex
	all map[uint64]*invented
}

// lyingKeeper announces the largest set there may be for each period, hands it out, and answers everything else wrongly.
func lyingKeeper(ctx context.Context, a *attacker, to target, t *tally) {
	g := &gossiper{a: a, number: uint64(time.Now().UnixNano())}
	topic := messages.ManifestsTopic(a.Domain.String())
	a.stay(ctx, to, func(h host.Host) {
		made, err := a.invent(a.period() - 1)
		if err == nil {
			_ = g.publish(ctx, h, to, t, topic, messages.Manifests{Version: messages.Version, Manifests: []messages.Manifest{made.manifest}})
		}
	})
}

func (a *attacker) invent(p uint64) (*invented, error) {
	a.sets.mu.Lock()
	defer a.sets.mu.Unlock()
	if made := a.sets.all[p]; made != nil {
		return made, nil
	}
	raw := junk(statement.MaxSet)
	m := records.Manifest{Domain: a.Domain, Period: records.Period(p), Count: 1 << 16, Size: uint32(len(raw)), Digest: sha256.Sum256(raw)}
	sig, err := m.Sign(a.Key)
	if err != nil {
		return nil, err
	}
	made := &invented{raw, messages.Manifest{Keeper: a.Key.PublicKey(), Period: p, Count: m.Count, Size: m.Size, Digest: m.Digest, Signature: sig}}
	if a.sets.all == nil || len(a.sets.all) > 3 {
		a.sets.all = map[uint64]*invented{}
	}
	a.sets.all[p] = made
	return made, nil
}

// serveFalseSets answers what keepers ask each other.
func (a *attacker) serveFalseSets(h host.Host) {
	for _, p := range []string{messages.Statements, messages.ProposalOf, messages.ManifestsOf} {
		h.SetStreamHandler(p2p.WireID(p, p2p.MessagesVersion()), func(s network.Stream) {
			answers := [][]byte{nil, frame(junk(1 << 10)), frame(envelope(messages.Version, junk(900<<10))), binary.LittleEndian.AppendUint32(nil, 900<<10)}
			a.lie(s, answers[rand.IntN(len(answers))])
		})
	}
	h.SetStreamHandler(p2p.WireID(messages.Blobs, p2p.MessagesVersion()), func(s network.Stream) {
		_ = s.SetDeadline(time.Now().Add(5 * time.Second))
		var r messages.BlobRequest
		if err := readRequest(s, &r); err != nil {
			_ = s.Reset()
			return
		}
		a.sets.mu.Lock()
		made := a.sets.all[r.Period]
		a.sets.mu.Unlock()
		if made == nil || int(r.Offset) > len(made.raw) {
			a.lie(s, frame(junk(64)))
			return
		}
		piece := made.raw[r.Offset:min(int(r.Offset)+messages.MaxPiece, len(made.raw))]
		a.lie(s, frame(envelope(messages.Version, messages.Piece{Version: messages.Version, Total: uint32(len(made.raw)), Data: piece})))
	})
}

// readRequest reads a request as it travels.
func readRequest(s io.Reader, into any) error {
	var head [4]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return err
	}
	raw := make([]byte, min(binary.LittleEndian.Uint32(head[:]), 4<<10))
	if _, err := io.ReadFull(s, raw); err != nil {
		return err
	}
	var e []cbor.RawMessage
	if err := cbor.Unmarshal(raw, &e); err != nil || len(e) != 4 {
		return io.ErrUnexpectedEOF
	}
	return p2p.Decode(e[3], into)
}
