package check

import (
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

// Round is the input of a period's plan, apart from the nodes.
type Round struct {
	Period records.Period
	// Drawn: the seed is known. Without it no keeper sits in a committee yet, unless all do.
	Drawn  bool
	Roster *committee.Roster
	Self   solana.PublicKey
	// Secret spreads the checks in time so that no node knows when it is asked next.
	Secret [32]byte
}

// Watched is a node as the planner sees it.
type Watched struct {
	Node solana.PublicKey
	// Leased nodes earn money, and those with an uptime guarantee are slashed by their uptime: every keeper watches
	// them.
	Leased bool
	// Lapses: its tier does soon, so that it is asked for evidence without being drawn.
	Lapses bool
	// Left: its owner has taken it out of work in this period. It is asked for nothing any more, and still known: it is judged by
	// an instant before.
	Left bool
}

// Check is one question that is due.
type Check struct {
	Node solana.PublicKey
	Kind records.CheckKind
	// Point: this keeper does not watch the node; it verifies a failed check of another keeper.
	Point bool
	Due   time.Time
	// Interval is the longest between two such checks of the node, for liveness.
	Interval time.Duration
}

// Planner decides which nodes this keeper checks, how and when. It reads no clock and no randomness: what is due is a
// function of the calls that were made. It is not safe for concurrent use.
//
// In a roster of more than committee.Size keepers, a node without a lease is asked by its committee: liveness every
// Timing.Every by each member, inventory once a period. A node with a lease is asked by every
// keeper, each less often the more there are (Stretch), since what it is paid depends on what more than two thirds of
// the weight have seen. Evidence, which decides the tier, is asked for by every keeper when it is drawn at the instant,
// and the inventory with it. A
// failed check that another keeper signed is verified at once, within that keeper's credit.
type Planner struct {
	timing Timing
	secs   int64
	round  Round
	// instant is the period's, once it is known.
	instant *instant.Instant
	nodes   map[solana.PublicKey]*watch
	queue   queue
	credit  *credit
	seq     uint64
}

// watch is one node's plan.
type watch struct {
	node    solana.PublicKey
	leased  bool
	left    bool
	lapses  bool
	member  bool
	failing bool
	draws   uint32
	live    uint64 // sequence number of the next liveness check in the queue, 0 for none
	// done has a bit for each kind that was asked for once in the period.
	done uint8
	// verified has a bit for each kind of which another keeper's failed check was verified; charged is the keeper that
	// pays for it with its credit.
	verified uint8
	charged  map[records.CheckKind]solana.PublicKey
}

// NewPlanner plans with a timing for periods of so many seconds.
func NewPlanner(t Timing, secs uint32) *Planner {
	return &Planner{timing: t, secs: int64(secs), nodes: map[solana.PublicKey]*watch{}, credit: newCredit()}
}

// Len is how many nodes are known.
func (p *Planner) Len() int { return len(p.nodes) }

// Knows reports whether the plan contains a node.
func (p *Planner) Knows(node solana.PublicKey) bool { return p.nodes[node] != nil }

// Duties counts the nodes that this keeper watches: as a member of their committee, and all.
func (p *Planner) Duties() (member, watched int) {
	for _, w := range p.nodes {
		if w.member {
			member++
		}
		if p.watches(w) {
			watched++
		}
	}
	return member, watched
}

// Begin starts a period, or continues it when its seed has become known.
func (p *Planner) Begin(r Round, now time.Time) {
	fresh := p.round.Roster == nil || p.round.Period != r.Period
	p.round = r
	if fresh {
		p.instant = nil
		p.credit.period(len(p.nodes))
	}
	p.queue = p.queue[:0]
	for _, w := range p.nodes {
		if fresh {
			w.done, w.verified, w.charged = 0, 0, nil
		}
		p.assign(w, now, true)
	}
}

// Instant takes the instant of the running period, and plans the evidence checks of the nodes that are drawn.
func (p *Planner) Instant(i instant.Instant, now time.Time) {
	p.instant = &i
	for _, w := range p.nodes {
		p.evidence(w, now)
	}
}

// evidence plans the evidence check of a node that is drawn, or whose tier lapses soon, within the first half of what is
// left of the period, and the inventory before it: more than half of the weight has to see the devices that go on chain.
func (p *Planner) evidence(w *watch, now time.Time) {
	if p.instant == nil || w.left || p.timing.EvidenceEvery == 0 || p.round.Roster.Index(p.round.Self) < 0 ||
		!w.lapses && !p.instant.DueForEvidence(w.node, p.timing.EvidenceEvery) {
		return
	}
	quarter := max(time.Unix((int64(p.round.Period)+1)*p.secs, 0).Sub(now), 0) / 4
	for at, kind := range []records.CheckKind{records.CheckInventory, records.CheckEvidence} {
		if w.done&(1<<kind) == 0 {
			p.push(w, kind, now.Add(time.Duration(at)*quarter+p.draw(w, quarter)), false)
		}
	}
}

// Sync brings the plan up to date with the nodes that can be asked now. All keepers list them in the same order.
func (p *Planner) Sync(nodes []Watched, now time.Time) {
	seen := make(map[solana.PublicKey]struct{}, len(nodes))
	for _, n := range nodes {
		seen[n.Node] = struct{}{}
		w := p.nodes[n.Node]
		if w == nil {
			w = &watch{node: n.Node, leased: n.Leased, left: n.Left, lapses: n.Lapses}
			p.nodes[n.Node] = w
			p.assign(w, now, false)
			continue
		}
		back := w.left && !n.Left
		w.left, w.lapses = n.Left, n.Lapses
		if back {
			w.leased = n.Leased
			p.assign(w, now, false)
			continue
		}
		if n.Leased != w.leased {
			w.leased = n.Leased
			if p.round.Roster != nil && p.watches(w) { // a lease has begun, or is over
				p.schedule(w, now.Add(p.draw(w, p.timing.Every/2)))
			}
		}
	}
	for key := range p.nodes {
		if _, ok := seen[key]; !ok {
			delete(p.nodes, key)
		}
	}
}

// everyone reports whether all keepers check all nodes.
func (p *Planner) everyone() bool { return p.round.Roster.Everyone() }

// watches reports whether this keeper watches the liveness of a node.
func (p *Planner) watches(w *watch) bool { return !w.left && (w.member || w.leased) }

// Watches reports whether this keeper watches the liveness of a node.
func (p *Planner) Watches(node solana.PublicKey) bool {
	w := p.nodes[node]
	return w != nil && p.watches(w)
}

// assign plans the checks of a node in the period. again is false for a node that is new in the plan.
func (p *Planner) assign(w *watch, now time.Time, again bool) {
	w.live = 0
	if p.round.Roster == nil {
		return
	}
	w.member = (p.round.Drawn || p.everyone()) && p.round.Roster.Sits(w.node, p.round.Self)
	if p.watches(w) {
		spread := p.timing.Every
		if !again || p.everyone() {
			spread /= 4
		}
		p.schedule(w, now.Add(p.draw(w, spread)))
	}
	begin := time.Unix(int64(p.round.Period)*p.secs, 0)
	length := time.Duration(p.secs) * time.Second
	if at := begin.Add(p.draw(w, length/4)); w.member && w.done&(1<<records.CheckInventory) == 0 {
		if at.Before(now) { // the node or this keeper started late
			at = now.Add(p.draw(w, min(p.timing.Every, max(begin.Add(length).Sub(now)/2, 0))))
		}
		p.push(w, records.CheckInventory, at, false)
	}
	p.evidence(w, now)
}

// interval is the time between two liveness checks of a node by this keeper.
func (p *Planner) interval(w *watch) time.Duration {
	longest := p.longest(w)
	return longest - longest*2/11 + p.draw(w, longest*2/11)
}

// Stretch is the factor by which a keeper that is not a member of the committee asks less often, where every keeper
// watches a node: so that all together ask the node as often as a committee would. It is at most 5, since nobody knows
// what happened between two checks.
func Stretch(keepers int) int {
	return min(max((keepers+committee.Size-1)/committee.Size, 1), 5)
}

// draw returns a duration between 0 and most, from the round's secret.
func (p *Planner) draw(w *watch, most time.Duration) time.Duration {
	w.draws++
	var b [76]byte
	copy(b[:], p.round.Secret[:])
	copy(b[32:], w.node[:])
	binary.LittleEndian.PutUint64(b[64:], uint64(p.round.Period))
	binary.LittleEndian.PutUint32(b[72:], w.draws)
	h := sha256.Sum256(b[:])
	return time.Duration(uint64(most) >> 16 * uint64(binary.LittleEndian.Uint16(h[:2])))
}

// schedule sets the next liveness check of a node in place of the one that was planned.
func (p *Planner) schedule(w *watch, at time.Time) {
	p.push(w, records.CheckLiveness, at, false)
	w.live = p.seq
}

// longest is the longest interval between two liveness checks of a node by this keeper.
func (p *Planner) longest(w *watch) time.Duration {
	every := p.timing.Every
	if !w.member && !w.failing {
		every *= time.Duration(Stretch(p.round.Roster.Len()))
	}
	return every + every/10
}

func (p *Planner) push(w *watch, kind records.CheckKind, at time.Time, point bool) {
	p.seq++
	heap.Push(&p.queue, due{Check{Node: w.node, Kind: kind, Point: point, Due: at}, p.seq})
}

// Due removes at most room checks that are due from the queue, the oldest first. Checks for which there was no room
// within half an interval are dropped, so that a keeper with too much to do asks each node less often, and none of them
// late; skipped is their number.
func (p *Planner) Due(now time.Time, room int) (out []Check, skipped int) {
	delay := p.timing.Every / 2
	for len(p.queue) > 0 && !p.queue[0].Due.After(now) {
		next := p.queue[0]
		w := p.nodes[next.Node]
		plain := next.Kind == records.CheckLiveness && !next.Point
		if w == nil || plain && (w.live != next.seq || !p.watches(w)) || w.left ||
			!plain && !next.Point && w.done&(1<<next.Kind) != 0 {
			heap.Pop(&p.queue)
			continue
		}
		late := now.Sub(next.Due) > delay
		if room == len(out) && !late {
			break
		}
		heap.Pop(&p.queue)
		if plain {
			next.Interval = p.longest(w)
			p.schedule(w, now.Add(p.interval(w)))
		}
		if room == len(out) {
			skipped++
			if again := now.Add(delay + p.draw(w, p.timing.Every)); !plain && again.Unix()/p.secs == int64(p.round.Period) {
				p.push(w, next.Kind, again, next.Point)
			}
			continue
		}
		if !next.Point && !plain {
			w.done |= 1 << next.Kind
		}
		out = append(out, next.Check)
	}
	return out, skipped
}

// Result takes the result of a check of this keeper. Nodes that fail are asked every interval, and a keeper whose
// failed check was verified gets its credit back when it was right.
func (p *Planner) Result(node solana.PublicKey, kind records.CheckKind, passed bool, now time.Time) {
	w := p.nodes[node]
	if w == nil {
		return
	}
	if by, ok := w.charged[kind]; ok {
		delete(w.charged, kind)
		p.credit.resolve(by, !passed, len(p.nodes))
	}
	if kind == records.CheckLiveness && w.failing == passed {
		w.failing = !passed
		if p.watches(w) && w.failing {
			p.schedule(w, now.Add(p.interval(w)))
		}
	}
}

// PeerFailure takes another keeper's signed failed check of this period and plans a check of the same kind. It reports
// whether one was planned: once a period for each node and kind, for a node whose committee that keeper sits in or that
// all keepers watch, and within that keeper's credit.
func (p *Planner) PeerFailure(by solana.PublicKey, s records.CheckStatement, now time.Time) bool {
	w := p.nodes[s.Node]
	if w == nil || s.Passed || s.Period != p.round.Period || by == p.round.Self || p.round.Roster == nil || p.everyone() {
		return false
	}
	all := w.leased && s.Kind == records.CheckLiveness
	if !all && !p.round.Roster.Sits(s.Node, by) || p.round.Roster.Index(by) < 0 {
		return false
	}
	switch s.Kind {
	case records.CheckLiveness, records.CheckInventory, records.CheckHealth:
	default:
		return false // checked by all, or at a moment that is over
	}
	bit := uint8(1) << s.Kind
	if w.left || w.verified&bit != 0 || w.member && s.Kind != records.CheckLiveness {
		return false // verified already, or checked by this keeper anyway
	}
	if !p.credit.spend(by) {
		return false
	}
	w.verified |= bit
	if w.charged == nil {
		w.charged = map[records.CheckKind]solana.PublicKey{}
	}
	w.charged[s.Kind] = by
	soon := p.timing.Every / 4
	if p.watches(w) {
		p.schedule(w, now.Add(p.draw(w, soon)))
	} else if bit1 := uint8(1) << records.CheckLiveness; s.Kind == records.CheckLiveness || w.verified&bit1 == 0 {
		// A statement of a keeper that does not watch the node counts only beside one about its liveness.
		w.verified |= bit1
		p.push(w, records.CheckLiveness, now.Add(p.draw(w, soon)), true)
	}
	if s.Kind != records.CheckLiveness {
		p.push(w, records.CheckInventory, now.Add(soon+p.draw(w, soon)), true)
	}
	return true
}
