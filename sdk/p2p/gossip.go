package p2p

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"

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
	MaxSize int    // bytes of a message, default 64 KiB
	// Known reports whether a key takes part; messages written or passed on by others are ignored. nil takes all.
	Known func(solana.PublicKey) bool
	// Validate looks at a message before it is passed on. It must be quick. author wrote and signed the message,
	// whoever passed it on.
	Validate func(ctx context.Context, author solana.PublicKey, m M) Verdict
	// Handle receives what was accepted, one message at a time. Own messages are not delivered.
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
	seen    *replays
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
	n.mu.Lock()
	n.known = append(n.known, cfg.Known)
	n.mu.Unlock()
	ps, err := n.pubsub()
	if err != nil {
		return nil, err
	}
	t := &Topic[M]{n: n, cfg: cfg, authors: newLimiter(cfg.Rate, cfg.Burst), seen: newReplays()}
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
	b, err := pack(t.n.version.Major, CodeOK, "", m)
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
			t.handle(got)
		}
	}
}

// handle gives a message to the topic's handler. One that panics has failed for this message only.
func (t *Topic[M]) handle(got accepted[M]) {
	defer func() {
		if p := recover(); p != nil {
			_ = t.n.panicked(t.cfg.Name, got.author, p)
		}
	}()
	t.cfg.Handle(t.n.ctx, got.author, got.m)
}

// judge asks the topic's validator. A message at which it panics is not passed on, and its sender is not blamed: the
// fault is ours.
func (t *Topic[M]) judge(ctx context.Context, author solana.PublicKey, m M) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			_ = t.n.panicked(t.cfg.Name, author, p)
			v = Ignore
		}
	}()
	return t.cfg.Validate(ctx, author, m)
}

type accepted[M any] struct {
	author solana.PublicKey
	m      M
}

// validate runs after pubsub has checked the author's signature.
func (t *Topic[M]) validate(ctx context.Context, from peer.ID, msg *pubsub.Message) pubsub.ValidationResult {
	drop := func(r Reason, result pubsub.ValidationResult) pubsub.ValidationResult {
		t.n.counts.add(r)
		return result
	}
	if len(msg.Data) > t.cfg.MaxSize {
		return drop(ReasonSize, pubsub.ValidationReject)
	}
	author, err := t.n.name(msg.GetFrom())
	if err != nil {
		return drop(ReasonStranger, pubsub.ValidationReject)
	}
	own := msg.GetFrom() == t.n.host.ID()
	if t.cfg.Known != nil && !own {
		relay, err := t.n.name(from)
		if err != nil {
			return drop(ReasonStranger, pubsub.ValidationReject)
		}
		// Ignored rather than rejected: the keeper that passed it on may have seen the registration of the author
		// before us.
		if !t.cfg.Known(author) || (relay != author && !t.cfg.Known(relay)) {
			return drop(ReasonStranger, pubsub.ValidationIgnore)
		}
	}
	if !own {
		// Before the author's budget is used: it is not the author who repeats.
		if seq := msg.GetSeqno(); len(seq) != 8 || !t.seen.add(msg.GetFrom(), binary.BigEndian.Uint64(seq)) {
			return drop(ReasonReplay, pubsub.ValidationIgnore)
		}
		if !t.authors.allow(msg.GetFrom()) {
			return drop(ReasonRate, pubsub.ValidationIgnore)
		}
	}
	e, err := unpack(msg.Data)
	if err != nil || e.Code != CodeOK || e.Message != "" {
		return drop(ReasonEncoding, pubsub.ValidationReject)
	}
	if e.Version != t.n.version.Major { // a newer or older keeper, not a dishonest one; gossip has no answer, so it is logged here
		if t.n.counts.mayWarn(t.cfg.Name, msg.GetFrom()) {
			t.n.log.Warn().Str("topic", t.cfg.Name).Stringer("author", author).Uint("theirs", e.Version).Uint("ours", t.n.version.Major).
				Msg("messages of a peer have another version and are ignored: one side needs an update")
		}
		return drop(ReasonVersion, pubsub.ValidationIgnore)
	}
	var m M
	if err := decodeMessage(e.Body, &m); errors.Is(err, ErrTooBig) {
		return drop(ReasonSize, pubsub.ValidationReject)
	} else if err != nil {
		return drop(ReasonEncoding, pubsub.ValidationReject)
	}
	if t.cfg.Validate != nil && !own {
		switch t.judge(ctx, author, m) {
		case Accept:
		case Ignore:
			return pubsub.ValidationIgnore
		default:
			return drop(ReasonContent, pubsub.ValidationReject)
		}
	}
	msg.ValidatorData = accepted[M]{author, m}
	return pubsub.ValidationAccept
}

// maxGossip bounds any message of any topic in bytes.
const maxGossip = 4 << 20

// topicNames are those of the market; others are not kept track of.
var topicNames = regexp.MustCompile("^gantry/")

// maxTopics bounds the topics that a peer may name in one message.
const maxTopics = 32

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
		// Own messages go to every peer of the topic at once, so that few keepers need no mesh to have formed.
		pubsub.WithFloodPublish(true),
		pubsub.WithGossipSubParams(gossipParams()),
		pubsub.WithPeerScore(n.peerScore()),
		pubsub.WithPeerScoreInspect(n.noteScores, scoresEvery),
		pubsub.WithMaxMessageSize(maxGossip),
		pubsub.WithSubscriptionFilter(pubsub.WrapLimitSubscriptionFilter(pubsub.NewRegexpSubscriptionFilter(topicNames), maxTopics)),
		pubsub.WithPeerOutboundQueueSize(1024),
		pubsub.WithValidateQueueSize(1024),
	)
	if err != nil {
		return nil, fmt.Errorf("start gossip: %w", err)
	}
	n.gossip = ps
	return ps, nil
}
