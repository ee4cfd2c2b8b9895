package check

import (
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// Timing is how often nodes are checked.
type Timing struct {
	Every   time.Duration // liveness of one node
	Timeout time.Duration // of a liveness or inventory answer
	// EvidenceEvery: one of so many nodes is drawn to show evidence at a period's instant; 0 for none.
	EvidenceEvery uint8
	// AtOnce bounds the checks in flight: more memory and connections for more machines that do not answer. 0 stands for DefaultAtOnce.
	AtOnce int
}

// DefaultAtOnce is how many checks are in flight at most unless the operator says otherwise.
const DefaultAtOnce = 256

// slots is how many checks are in flight at most.
func (t Timing) slots() int {
	if t.AtOnce == 0 {
		return DefaultAtOnce
	}
	return t.AtOnce
}

// tick is how often the checker looks for due checks.
func (t Timing) tick() time.Duration { return min(max(t.Every/15, 20*time.Millisecond), time.Second) }

// lapses reports whether a node's tier lapses within half the time that evidence stands: then it is asked in each period,
// and not only when it is drawn, so that it keeps its tier by answering.
func lapses(n *market.Node, begin int64) bool {
	return n.Tier >= 2 && n.EvidenceExpiry < begin+market.EvidenceSecs/2
}

// Checked reports whether nodes of a status are checked.
func Checked(s market.NodeStatus) bool { return s == market.NodeActive || s == market.NodeDraining }

// Free reports whether a node may be asked for what needs its GPUs: an active or draining one without any lease.
func Free(n *market.Node) bool { return Checked(n.State()) && n.LiveLeases == 0 }
