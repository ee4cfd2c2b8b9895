package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gagliardetto/solana-go"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Verdict is what a topic's validator says about a message.
type Verdict int

// The verdicts.
const (
	Accept Verdict = iota // deliver and pass on
	Ignore                // neither, without blame: too old, doubled, author not known here yet
	Reject                // neither, and the sender loses standing: no honest peer passes this on
)

// TopicConfig describes a gossip topic with messages of type M.
type TopicConfig[M any] struct {
	Name    string // e.g. "gantry/0102030405060708/statements/1"
	Version uint
	MaxSize int // bytes of a message, default 64 KiB
	// Known reports whether a key takes part; messages written or passed on by
	// others are ignored. nil takes all.
	Known func(solana.PublicKey) bool
	// Validate looks at a message before it is passed on. It must be quick.
	// author wrote and signed the message, whoever passed it on.
	Validate func(ctx context.Context, author solana.PublicKey, m M) Verdict
	// Handle receives what was accepted, one message at a time. Own messages
	// are not delivered.
	Handle func(ctx context.Context, author solana.PublicKey, m M)
	Rate   float64 // messages a second from one author, default 50
	Burst  int     // at once, default 500
}

// Topic is a joined gossip topic.
type Topic[M any] struct {
	n       *Node
	cfg     TopicConfig[M]
	topic   *pubsub.Topic
	sub     *pubsub.Subscription
	authors *limiter
}

// Join subscribes to a topic.
func Join[M any](n *Node, cfg TopicConfig[M]) (*Topic[M], error) {
	if cfg.MaxSize <= 0 {
		cfg.MaxSize = 64 << 10
	}
	if cfg.Rate <= 0 {
		cfg.Rate = 50
	}
	if cfg.Burst <= 0 {
		cfg.Burst = 500
	}
	ps, err := n.pubsub()
	if err != nil {
		return nil, err
	}
	t := &Topic[M]{n: n, cfg: cfg, authors: newLimiter(cfg.Rate, cfg.Burst)}
	if err := ps.RegisterTopicValidator(cfg.Name, t.validate); err != nil {
		return nil, fmt.Errorf("topic %s: %w", cfg.Name, err)
	}
	if t.topic, err = ps.Join(cfg.Name); err != nil {
		return nil, errors.Join(fmt.Errorf("topic %s: %w", cfg.Name, err), ps.UnregisterTopicValidator(cfg.Name))
	}
	if err := t.topic.SetScoreParams(topicScore()); err != nil {
		return nil, fmt.Errorf("topic %s: %w", cfg.Name, err)
	}
	if t.sub, err = t.topic.Subscribe(pubsub.WithBufferSize(4096)); err != nil {
		return nil, errors.Join(fmt.Errorf("topic %s: %w", cfg.Name, err), t.topic.Close(), ps.UnregisterTopicValidator(cfg.Name))
	}
	if !n.spawn(t.run) {
		return nil, ErrClosed
	}
	return t, nil
}

// Close leaves the topic.
func (t *Topic[M]) Close() error {
	t.sub.Cancel()
	ps, err := t.n.pubsub()
	if err != nil {
		return err
	}
	return errors.Join(t.topic.Close(), ps.UnregisterTopicValidator(t.cfg.Name))
}

// Publish sends a message to all. It is delivered to no one here.
func (t *Topic[M]) Publish(ctx context.Context, m M) error {
	b, err := pack(t.cfg.Version, CodeOK, "", m)
	if err != nil {
		return err
	}
	if len(b) > t.cfg.MaxSize {
		return fmt.Errorf("topic %s: %d bytes, at most %d: %w", t.cfg.Name, len(b), t.cfg.MaxSize, ErrTooBig)
	}
	if err := t.topic.Publish(ctx, b); err != nil {
		return fmt.Errorf("topic %s: %w", t.cfg.Name, err)
	}
	return nil
}

// Peers returns how many peers take part in the topic.
func (t *Topic[M]) Peers() int { return len(t.topic.ListPeers()) }

func (t *Topic[M]) run() {
	for {
		msg, err := t.sub.Next(t.n.ctx)
		if err != nil {
			return // the topic or the node is closed
		}
		got, ok := msg.ValidatorData.(accepted[M])
		if !ok || got.author == t.n.key {
			continue
		}
		if t.cfg.Handle != nil {
			t.cfg.Handle(t.n.ctx, got.author, got.m)
		}
	}
}

type accepted[M any] struct {
	author solana.PublicKey
	m      M
}

// validate runs after pubsub has checked the author's signature.
func (t *Topic[M]) validate(ctx context.Context, from peer.ID, msg *pubsub.Message) pubsub.ValidationResult {
	if len(msg.Data) > t.cfg.MaxSize {
		return pubsub.ValidationReject
	}
	author, err := PublicKey(msg.GetFrom())
	if err != nil {
		return pubsub.ValidationReject
	}
	own := author == t.n.key
	if t.cfg.Known != nil && !own {
		relay, err := PublicKey(from)
		if err != nil {
			return pubsub.ValidationReject
		}
		// Ignored rather than rejected: another keeper may have seen the
		// registration of the author before us.
		if !t.cfg.Known(author) || (relay != author && !t.cfg.Known(relay)) {
			return pubsub.ValidationIgnore
		}
	}
	if !own && !t.authors.allow(msg.GetFrom()) {
		return pubsub.ValidationIgnore
	}
	e, err := unpack(msg.Data)
	if err != nil || e.Code != CodeOK || e.Message != "" {
		return pubsub.ValidationReject
	}
	if e.Version != t.cfg.Version {
		return pubsub.ValidationIgnore // a newer or older keeper, not a cheat
	}
	var m M
	if err := Decode(e.Body, &m); err != nil {
		return pubsub.ValidationReject
	}
	if t.cfg.Validate != nil && !own {
		switch t.cfg.Validate(ctx, author, m) {
		case Accept:
		case Ignore:
			return pubsub.ValidationIgnore
		default:
			return pubsub.ValidationReject
		}
	}
	msg.ValidatorData = accepted[M]{author, m}
	return pubsub.ValidationAccept
}

// maxGossip bounds any message of any topic in bytes.
const maxGossip = 4 << 20

// pubsub starts gossip on first use: agents and customers need none.
func (n *Node) pubsub() (*pubsub.PubSub, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	if n.gossip != nil {
		return n.gossip, nil
	}
	ps, err := pubsub.NewGossipSub(n.ctx, n.host,
		pubsub.WithMessageSignaturePolicy(pubsub.StrictSign),
		// Own messages go to every peer of the topic at once, so that few
		// keepers need no mesh to have formed.
		pubsub.WithFloodPublish(true),
		pubsub.WithGossipSubParams(gossipParams()),
		pubsub.WithPeerScore(peerScore()),
		pubsub.WithMaxMessageSize(maxGossip),
		pubsub.WithPeerOutboundQueueSize(1024),
		pubsub.WithValidateQueueSize(1024),
	)
	if err != nil {
		return nil, fmt.Errorf("start gossip: %w", err)
	}
	n.gossip = ps
	return ps, nil
}

// gossipParams fit three to a few hundred keepers: a mesh of four, and a
// heartbeat quick enough that a keeper that has just connected is grafted
// within a second.
func gossipParams() pubsub.GossipSubParams {
	p := pubsub.DefaultGossipSubParams()
	p.D, p.Dlo, p.Dhi, p.Dout, p.Dlazy, p.Dscore = 4, 2, 8, 1, 4, 2
	p.HeartbeatInitialDelay = 50 * time.Millisecond
	p.HeartbeatInterval = 500 * time.Millisecond
	p.HistoryLength, p.HistoryGossip = 20, 6
	return p
}

// peerScore punishes what only a faulty or hostile peer does. It expects no
// number of deliveries: a small or quiet network would punish honest peers.
func peerScore() (*pubsub.PeerScoreParams, *pubsub.PeerScoreThresholds) {
	loop4 := &net.IPNet{IP: net.IPv4(127, 0, 0, 0), Mask: net.CIDRMask(8, 32)}
	loop6 := &net.IPNet{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)}
	score := &pubsub.PeerScoreParams{
		Topics:            map[string]*pubsub.TopicScoreParams{},
		AppSpecificScore:  func(peer.ID) float64 { return 0 },
		AppSpecificWeight: 1,
		// Several keepers may share a data centre's address, hundreds not.
		IPColocationFactorWeight:    -1,
		IPColocationFactorThreshold: 16,
		IPColocationFactorWhitelist: []*net.IPNet{loop4, loop6},
		BehaviourPenaltyWeight:      -1,
		BehaviourPenaltyThreshold:   10,
		BehaviourPenaltyDecay:       pubsub.ScoreParameterDecay(10 * time.Minute),
		DecayInterval:               time.Second,
		DecayToZero:                 0.01,
		RetainScore:                 10 * time.Minute,
	}
	thresholds := &pubsub.PeerScoreThresholds{
		GossipThreshold: -50, PublishThreshold: -100, GraylistThreshold: -200,
	}
	return score, thresholds
}

// topicScore: four invalid messages in a short time silence a peer, ten shut
// it out; it recovers within minutes.
func topicScore() *pubsub.TopicScoreParams {
	return &pubsub.TopicScoreParams{
		SkipAtomicValidation: true, TopicWeight: 1, TimeInMeshQuantum: time.Second,
		InvalidMessageDeliveriesWeight: -4,
		InvalidMessageDeliveriesDecay:  pubsub.ScoreParameterDecay(5 * time.Minute),
	}
}
