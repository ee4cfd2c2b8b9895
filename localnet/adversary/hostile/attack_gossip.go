package hostile

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"google.golang.org/protobuf/proto"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
)

// gossiper writes what no gossip of ours would.
type gossiper struct {
	a      *attacker
	topics []string
	number uint64
	last   []byte // a packet that was sent before
}

// gossipFlood sends packets of gossip that are of no use to anybody.
func gossipFlood(ctx context.Context, a *attacker, to target, t *tally) {
	d := a.Domain.String()
	g := &gossiper{a: a, number: uint64(time.Now().UnixNano()), topics: []string{
		messages.StatementsTopic(d), messages.ProposalsTopic(d), messages.ManifestsTopic(d), messages.EquivocationsTopic(d), messages.BidsTopic(d),
	}}
	a.connected(ctx, to, t, 10*time.Millisecond, func(h host.Host) error {
		s, err := open(ctx, h, to, pubsub.GossipSubID_v11)
		if err != nil {
			return err
		}
		defer s.Close()
		for range 20 { // on one stream, as gossip does
			raw, err := g.packet(h)
			if err != nil {
				return err
			}
			n, err := s.Write(raw)
			t.bytes.Add(uint64(n))
			if err != nil {
				return err
			}
			_ = wait.For(ctx, 5*time.Millisecond)
		}
		return nil
	})
}

func (g *gossiper) packet(h host.Host) ([]byte, error) {
	topic := g.topics[rand.IntN(len(g.topics))]
	rpc := &pb.RPC{}
	switch rand.IntN(6) {
	case 0:
		yes := true
		for i := range 64 {
			name := fmt.Sprintf("gantry/%x/%d", g.a.Domain, i)
			rpc.Subscriptions = append(rpc.Subscriptions, &pb.RPC_SubOpts{Subscribe: &yes, Topicid: &name})
		}
	case 1:
		ids := make([]string, 500)
		for i := range ids {
			ids[i] = string(junk(34))
		}
		rpc.Control = &pb.ControlMessage{Ihave: []*pb.ControlIHave{{TopicID: &topic, MessageIDs: ids}}, Iwant: []*pb.ControlIWant{{MessageIDs: ids}}}
	case 2:
		for _, t := range g.topics {
			rpc.Control = &pb.ControlMessage{Graft: []*pb.ControlGraft{{TopicID: &t}}, Prune: []*pb.ControlPrune{{TopicID: &t}}}
		}
	case 3:
		if g.last != nil {
			return g.last, nil
		}
		fallthrough
	default:
		size := 256
		if rand.IntN(20) == 0 {
			size = 1 << 20
		}
		m, err := g.message(h, topic, junk(size))
		if err != nil {
			return nil, err
		}
		rpc.Publish = []*pb.Message{m}
	}
	raw, err := proto.Marshal(rpc)
	if err != nil {
		return nil, err
	}
	out := append(binary.AppendUvarint(nil, uint64(len(raw))), raw...)
	if rpc.Publish != nil {
		g.last = out
	}
	return out, nil
}

// message is a signed message of gossip.
func (g *gossiper) message(h host.Host, topic string, data []byte) (*pb.Message, error) {
	g.number++
	m := &pb.Message{From: []byte(h.ID()), Data: data, Seqno: binary.BigEndian.AppendUint64(nil, g.number), Topic: &topic}
	raw, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	var key crypto.PrivKey = h.Peerstore().PrivKey(h.ID())
	m.Signature, err = key.Sign(append([]byte(pubsub.SignPrefix), raw...))
	return m, err
}

// publish sends a message on a stream of gossip.
func (g *gossiper) publish(ctx context.Context, h host.Host, to target, t *tally, topic string, body any) error {
	m, err := g.message(h, topic, envelope(messages.Version, body))
	if err != nil {
		return err
	}
	rpc := &pb.RPC{Publish: []*pb.Message{m}}
	raw, err := proto.Marshal(rpc)
	if err != nil {
		return err
	}
	s, err := open(ctx, h, to, pubsub.GossipSubID_v11)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.Write(append(binary.AppendUvarint(nil, uint64(len(raw))), raw...))
	t.bytes.Add(uint64(n))
	return err
}
