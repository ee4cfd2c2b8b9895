package hostile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/host"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// falseStatements says that honest machines failed, that invented ones did, and lets others say it.
func falseStatements(ctx context.Context, a *attacker, to target, t *tally) {
	g := &gossiper{a: a, number: uint64(time.Now().UnixNano())}
	topic := messages.StatementsTopic(a.Domain.String())
	a.connected(ctx, to, t, 50*time.Millisecond, func(h host.Host) error {
		kind := rand.IntN(4)
		m := messages.StatementsAnswer{Version: messages.Version}
		for range 64 {
			s, err := a.falseStatement(kind)
			if err != nil {
				return err
			}
			m.Statements = append(m.Statements, s)
		}
		return g.publish(ctx, h, to, t, topic, m)
	})
}

func (a *attacker) falseStatement(kind int) (messages.SignedStatement, error) {
	now := time.Now().Unix()
	s := records.CheckStatement{
		Domain: a.Domain, Node: a.Nodes[rand.IntN(len(a.Nodes))], Period: records.Period(a.period()), Kind: records.CheckLiveness, CheckedAt: now,
		Detail: [32]byte{1},
	}
	author := a.Key.PublicKey()
	switch kind {
	case 0: // a machine that does not exist
		s.Node = key32()
	case 1: // many things about a machine that does
		s.Kind, s.Lease = records.CheckHealth, key32()
	case 2: // in the name of an honest keeper
		author = a.Keepers[rand.IntN(len(a.Keepers))].Key
	}
	sig, err := s.Sign(a.Key)
	if err != nil {
		return messages.SignedStatement{}, err
	}
	if kind == 3 && rand.IntN(2) == 0 {
		sig = solana.Signature(junk(64))
	}
	raw := s.Encode()
	return messages.SignedStatement{Version: messages.Version, Keeper: author, Statement: raw[:], Signature: sig}, nil
}
