package hostile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"

	"github.com/gantry-market/gantry/sdk/messages"
)

// falseChecks asks machines for evidence with what does not fit.
func falseChecks(ctx context.Context, a *attacker, to target, t *tally) {
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		r := messages.ChallengeRequest{
			Version: messages.Version, Node: a.Nodes[rand.IntN(len(a.Nodes))], Period: a.period() + uint64(rand.IntN(3)) - 1, Nonce: key32(),
		}
		switch rand.IntN(3) {
		case 0:
			r.Kind = messages.CheckWork // asked for by no one
		case 1:
			r.Kind = messages.CheckEvidence
			r.Evidence = &messages.EvidenceChallenge{GenesisHash: key32(), ID: key32(), SlotHash: key32(), Expiry: 1 << 60, TPMStatement: junk(512)}
		default:
			r.Kind, r.TPM = messages.CheckEvidence, &messages.TPMStep{IDObject: junk(1 << 10), EncryptedSeed: junk(1 << 10)}
		}
		return ask(ctx, h, to, messages.Challenge, frame(envelope(messages.Version, r)), t)
	})
}
