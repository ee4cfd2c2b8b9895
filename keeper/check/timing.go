package check

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/committee"
)

// Timing is how often nodes are checked.
type Timing struct {
	Every     time.Duration // liveness of one node
	Timeout   time.Duration // of a liveness or inventory answer
	WorkEvery uint8         // a work proof is due when a hash byte is divisible by this; 0 for never
	// EvidenceEvery: evidence is due in one of so many periods of a node; 0 for never.
	EvidenceEvery uint8
}

// tick is how often the checker looks for due checks.
func (t Timing) tick() time.Duration { return min(max(t.Every/15, 20*time.Millisecond), time.Second) }

// hash is sha256(node ‖ period u64 LE ‖ extra).
func hash(node solana.PublicKey, p records.Period, extra []byte) [32]byte {
	b := append(make([]byte, 0, 72), node[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(p))
	return sha256.Sum256(append(b, extra...))
}

// WorkDue reports whether the node owes a work proof in the period: sha256(node ‖ period ‖ seed)[0] mod WorkEvery = 0.
// The seed is zero where no committees are drawn.
func (t Timing) WorkDue(seed committee.Seed, node solana.PublicKey, p records.Period) bool {
	return t.WorkEvery != 0 && hash(node, p, seed[:])[0]%t.WorkEvery == 0
}

// EvidenceDue reports whether the node owes evidence in the period: one in EvidenceEvery, at a place of its own.
func (t Timing) EvidenceDue(node solana.PublicKey, p records.Period) bool {
	return t.EvidenceEvery != 0 && (uint64(p)+uint64(hash(node, 0, []byte("evidence"))[0]))%uint64(t.EvidenceEvery) == 0
}

// Checked reports whether nodes of a status are checked.
func Checked(s market.NodeStatus) bool { return s == market.NodeActive || s == market.NodeDraining }

// WorkAllowed reports whether a node may be asked for work: an active or draining one without any lease.
func WorkAllowed(n *market.Node) bool { return Checked(n.State()) && n.LiveLeases == 0 }
