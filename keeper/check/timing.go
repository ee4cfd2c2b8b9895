package check

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
)

// Timing is how often nodes are checked.
type Timing struct {
	Every     time.Duration // liveness of one node
	Timeout   time.Duration // of a liveness or inventory answer
	WorkEvery uint8         // one of so many nodes is drawn at a period's instant; 0 for none
	// EvidenceEvery: evidence is due in one of so many periods of a node; 0 for never.
	EvidenceEvery uint8
}

// tick is how often the checker looks for due checks.
func (t Timing) tick() time.Duration { return min(max(t.Every/15, 20*time.Millisecond), time.Second) }

// EvidenceDue reports whether the node owes evidence in the period: one in EvidenceEvery, at a place of its own.
func (t Timing) EvidenceDue(node solana.PublicKey, p records.Period) bool {
	if t.EvidenceEvery == 0 {
		return false
	}
	b := binary.LittleEndian.AppendUint64(node.Bytes(), 0) // the place is the same in all periods
	h := sha256.Sum256(append(b, "evidence"...))
	return (uint64(p)+uint64(h[0]))%uint64(t.EvidenceEvery) == 0
}

// Checked reports whether nodes of a status are checked.
func Checked(s market.NodeStatus) bool { return s == market.NodeActive || s == market.NodeDraining }

// Free reports whether a node may be asked for what needs its GPUs: an active or draining one without any lease.
func Free(n *market.Node) bool { return Checked(n.State()) && n.LiveLeases == 0 }
