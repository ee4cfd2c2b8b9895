package p2p

import (
	"maps"
	"net"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
)

// gossipParams fit three to a few hundred keepers: a mesh of four, and a heartbeat quick enough that a keeper that has
// just connected is grafted within a second.
func gossipParams() pubsub.GossipSubParams {
	p := pubsub.DefaultGossipSubParams()
	p.D, p.Dlo, p.Dhi, p.Dout, p.Dlazy, p.Dscore = 4, 2, 8, 1, 4, 2
	p.HeartbeatInitialDelay = 50 * time.Millisecond
	p.HeartbeatInterval = 500 * time.Millisecond
	p.HistoryLength, p.HistoryGossip = 20, 6
	return p
}

// peerScore punishes what only a faulty or hostile peer does. It expects no number of deliveries: a small or quiet
// network would punish honest peers.
func (n *Node) peerScore() (*pubsub.PeerScoreParams, *pubsub.PeerScoreThresholds) {
	loop4 := &net.IPNet{IP: net.IPv4(127, 0, 0, 0), Mask: net.CIDRMask(8, 32)}
	loop6 := &net.IPNet{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)}
	score := &pubsub.PeerScoreParams{
		Topics:            map[string]*pubsub.TopicScoreParams{},
		AppSpecificScore:  n.standing,
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

// strangerScore is below every threshold: nothing of a stranger is read.
const strangerScore = -1000

// standing is the score of a peer before it has done anything. It is computed again at every message, so that a peer
// that registers is heard at once.
func (n *Node) standing(id peer.ID) float64 {
	key, err := n.name(id)
	if err != nil {
		return strangerScore
	}
	n.mu.Lock()
	known := slices.Clone(n.known)
	n.mu.Unlock()
	for _, f := range known {
		if f == nil || f(key) {
			return 0
		}
	}
	if len(known) == 0 {
		return 0
	}
	return strangerScore
}

// Scores returns the gossip score of each peer: 0 is good, below -200 nothing of a peer is read.
func (n *Node) Scores() map[solana.PublicKey]float64 {
	n.scoreMu.Lock()
	defer n.scoreMu.Unlock()
	return maps.Clone(n.scores)
}

// scoresEvery is how often Scores is renewed.
const scoresEvery = time.Second

func (n *Node) noteScores(all map[peer.ID]float64) {
	out := make(map[solana.PublicKey]float64, len(all))
	for id, s := range all {
		if key, err := n.name(id); err == nil {
			out[key] = s
		}
	}
	n.scoreMu.Lock()
	n.scores = out
	n.scoreMu.Unlock()
}

// topicScore: four invalid messages in a short time silence a peer, ten shut it out; it recovers within minutes.
func topicScore() *pubsub.TopicScoreParams {
	return &pubsub.TopicScoreParams{
		SkipAtomicValidation: true, TopicWeight: 1, TimeInMeshQuantum: time.Second,
		InvalidMessageDeliveriesWeight: -4,
		InvalidMessageDeliveriesDecay:  pubsub.ScoreParameterDecay(5 * time.Minute),
	}
}
