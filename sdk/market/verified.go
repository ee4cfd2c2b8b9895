package market

import (
	"fmt"
	"math/bits"
)

// What the mark "Verified" asks for. It is no field of an account: anyone computes it from the chain's state.
const (
	VerifiedUptimeBPS     = 9_900
	VerifiedCompletionBPS = 9_500
)

// CompletionBPS is the share of a node's leases that it served as long as it had to, by weight: fees that were swept,
// against what failed leases weigh. 0 without any.
func (n *Node) CompletionBPS() uint16 {
	if n.FeesCompleted == 0 {
		return 0
	}
	whole, over := bits.Add64(n.FeesCompleted, n.FeesFailed, 0)
	hi, lo := bits.Mul64(n.FeesCompleted, BPS)
	return uint16(min(div128(hi, lo, over, whole), BPS))
}

// Unverified says what a node lacks for the mark "Verified" at a unix second; nothing when it has it. The mark stands
// for half a year in which the machine was up and passed checks, uptime, completion, no upheld fault in all that time, and fees that nobody gets back:
// whoever wants it for a false machine pays as much for it as an honest one does.
func (n *Node) Unverified(now int64) []string {
	var lacks []string
	half := satSub(now, FullAgeSecs)
	if n.Days() < FullAgeDays {
		lacks = append(lacks, fmt.Sprintf("up for %d of %d days", n.Days(), FullAgeDays))
	}
	if n.ShownUptime() < VerifiedUptimeBPS {
		lacks = append(lacks, fmt.Sprintf("uptime %s of %s", percentOf(uint64(n.ShownUptime())), percentOf(VerifiedUptimeBPS)))
	}
	if n.FeesCompleted < PriorFees {
		lacks = append(lacks, fmt.Sprintf("fees of %s of %s USDC paid", USDC(n.FeesCompleted), USDC(PriorFees)))
	}
	if c := n.CompletionBPS(); c < VerifiedCompletionBPS {
		lacks = append(lacks, fmt.Sprintf("completion %s of %s", percentOf(uint64(c)), percentOf(VerifiedCompletionBPS)))
	}
	if n.FaultedAt > half {
		lacks = append(lacks, "an upheld fault in the last half year")
	}
	if n.DisputeLostAt > half {
		lacks = append(lacks, "a lost dispute in the last half year")
	}
	if st := n.State(); n.Convicted == 1 || st == NodeSuspended || st == NodeRetired {
		lacks = append(lacks, "it is "+st.String())
	}
	return lacks
}

// Verified reports whether the node has the mark at a unix second.
func (n *Node) Verified(now int64) bool { return len(n.Unverified(now)) == 0 }
