package sim

import (
	"time"

	"github.com/gantry-market/gantry/localnet/adversary/sim/vtime"
)

// place is somebody on the network: keepers first, then nodes.
type place int

// Traffic counts what somebody sent and received, in messages and bytes.
type Traffic struct {
	MessagesOut uint64 `json:"messages_out"`
	MessagesIn  uint64 `json:"messages_in"`
	BytesOut    uint64 `json:"bytes_out"`
	BytesIn     uint64 `json:"bytes_in"`
}

func (t *Traffic) add(o Traffic) {
	t.MessagesOut += o.MessagesOut
	t.MessagesIn += o.MessagesIn
	t.BytesOut += o.BytesOut
	t.BytesIn += o.BytesIn
}

// Overheads, bytes: what a message costs on the wire beside its content. A stream's message has Noise and yamux frames
// and TCP/IP headers; a gossiped one a signature, a key, a topic and a number in addition.
const (
	streamOverhead = 100
	gossipOverhead = 260
)

// network carries messages between places, late, and loses some. Nothing is carried across a cut.
type network struct {
	loop    *vtime.Loop
	rng     rng
	loss    float64
	x, y    []float64 // where each is, in a square whose side takes 60 ms to cross
	slow    []time.Duration
	cut     func(a, b place) bool
	traffic []Traffic
	note    func(from, to place, bytes int) // for the trace

	neighbours [][]place // of each keeper, for gossip
	lost       uint64
}

const (
	nearest  = 3 * time.Millisecond
	across   = 60 * time.Millisecond
	resend   = 200 * time.Millisecond // before a lost packet of a stream is sent again, doubling
	degree   = 6                      // GossipSub's D
	maxAgain = 5
)

func newNetwork(l *vtime.Loop, d rng, loss float64, keepers, nodes int) *network {
	n := &network{
		loop: l, rng: d, loss: loss, slow: make([]time.Duration, keepers+nodes), traffic: make([]Traffic, keepers+nodes),
		neighbours: make([][]place, keepers), cut: func(place, place) bool { return false }, note: func(place, place, int) {},
	}
	for range keepers + nodes {
		n.x, n.y = append(n.x, d.Float64()), append(n.y, d.Float64())
	}
	n.mesh(keepers)
	return n
}

// mesh joins each keeper with others: a ring, so that all are joined, and random chords up to the degree.
func (n *network) mesh(keepers int) {
	order := n.rng.Perm(keepers)
	linked := map[[2]place]bool{}
	link := func(a, b place) {
		if a == b || linked[[2]place{a, b}] {
			return
		}
		linked[[2]place{a, b}], linked[[2]place{b, a}] = true, true
		n.neighbours[a], n.neighbours[b] = append(n.neighbours[a], b), append(n.neighbours[b], a)
	}
	for i, k := range order {
		link(place(k), place(order[(i+1)%keepers]))
	}
	for k := range keepers {
		for try := 0; try < 20 && len(n.neighbours[k]) < min(degree, keepers-1); try++ {
			link(place(k), place(n.rng.IntN(keepers)))
		}
	}
}

// delay draws how long one message takes.
func (n *network) delay(a, b place) time.Duration {
	dx, dy := n.x[a]-n.x[b], n.y[a]-n.y[b]
	base := nearest + time.Duration((dx*dx+dy*dy)/2*float64(across))
	return base + n.rng.exponential(base/6+time.Millisecond) + n.slowness(a) + n.slowness(b)
}

func (n *network) slowness(p place) time.Duration {
	if n.slow[p] == 0 {
		return 0
	}
	return n.rng.between(n.slow[p]/2, n.slow[p]*3/2)
}

// send carries one message of a stream: a lost packet makes it late. arrive is never called when there is a cut, at the
// departure or at the arrival.
func (n *network) send(from, to place, bytes int, arrive func()) {
	n.depart(from, to, bytes+streamOverhead)
	d := n.delay(from, to)
	for again := 0; again < maxAgain && n.rng.chance(n.loss); again++ {
		d += resend << again
		n.lost++
	}
	n.carry(from, to, bytes+streamOverhead, d, arrive)
}

func (n *network) depart(from, to place, bytes int) {
	n.traffic[from].MessagesOut++
	n.traffic[from].BytesOut += uint64(bytes)
}

func (n *network) carry(from, to place, bytes int, d time.Duration, arrive func()) {
	if n.cut(from, to) {
		return
	}
	n.loop.After(d, func() {
		if n.cut(from, to) {
			return
		}
		n.traffic[to].MessagesIn++
		n.traffic[to].BytesIn += uint64(bytes)
		n.note(from, to, bytes)
		arrive()
	})
}

// gossip spreads a message from a keeper to all that it reaches: whoever hears it for the first time passes it on,
// unless take refuses it. A hop may be lost, and may come twice.
func (n *network) gossip(from place, bytes int, take func(to place) bool) {
	bytes += gossipOverhead
	seen := make([]bool, len(n.neighbours))
	seen[from] = true
	var spread func(at, except place)
	spread = func(at, except place) {
		for _, to := range n.neighbours[at] {
			if to == except {
				continue
			}
			n.depart(at, to, bytes)
			copies := 1 + boolInt(n.rng.chance(n.loss/4))
			for range copies {
				if n.rng.chance(n.loss) {
					n.lost++
					continue
				}
				n.carry(at, to, bytes, n.delay(at, to), func() {
					if !seen[to] {
						seen[to] = true
						if take(to) {
							spread(to, at)
						}
					}
				})
			}
		}
	}
	spread(from, from)
}
