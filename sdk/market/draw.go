package market

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// DrawSeed decides which nodes a redundant order gets, among those that suit: whoever owns several nodes cannot arrange
// that most of a job's are its own.
type DrawSeed [32]byte

// drawTag separates these seeds from all other hashes.
const drawTag = "gantry-draw-1"

// DrawTime is the least time of the block whose hash draws the nodes of a redundant order: the first block of the second
// after its creation, so that nobody knew the hash when the order was placed. Under Alpenglow it may be the block that holds the
// order, for the program reads the time of the block before; it is none before that.
func DrawTime(createdAt int64) time.Time { return time.Unix(satAdd(createdAt, 1), 0) }

// NewDrawSeed is sha256(tag ‖ domain ‖ order ‖ block hash).
func NewDrawSeed(domain records.Domain, order solana.PublicKey, block [32]byte) DrawSeed {
	b := append(make([]byte, 0, len(drawTag)+72), drawTag...)
	b = append(b, domain[:]...)
	b = append(b, order[:]...)
	return sha256.Sum256(append(b, block[:]...))
}

// Rank is a node's place in the draw, the smallest first: sha256(seed ‖ node).
func (s DrawSeed) Rank(node solana.PublicKey) [32]byte {
	var b [64]byte
	copy(b[:32], s[:])
	copy(b[32:], node[:])
	return sha256.Sum256(b[:])
}

// Before reports whether a node comes before another in the draw.
func (s DrawSeed) Before(a, b solana.PublicKey) bool {
	x, y := s.Rank(a), s.Rank(b)
	return bytes.Compare(x[:], y[:]) < 0
}

// Draw chooses wanted of the nodes that suit, in the order of their ranks and one of each provider; fewer when there are
// not so many providers. Providers in taken are left out, as they have a node of the order already. With oneSite the
// first node in the draw at whose site there are enough decides the site; nodes without a site are left out.
func (s DrawSeed) Draw(suited []*Node, wanted int, taken map[solana.PublicKey]bool, oneSite bool) []*Node {
	type ranked struct {
		*Node
		rank [32]byte
	}
	order := make([]ranked, len(suited))
	for i, n := range suited {
		order[i] = ranked{n, s.Rank(n.Address)}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(bytes.Compare(a.rank[:], b.rank[:]), bytes.Compare(a.Address[:], b.Address[:]))
	})
	at := func(site *[16]uint8) []*Node {
		var out []*Node
		used := map[solana.PublicKey]bool{}
		for _, n := range order {
			if len(out) < wanted && !taken[n.Provider] && !used[n.Provider] && (site == nil || n.Spec.Site == *site) {
				used[n.Provider] = true
				out = append(out, n.Node)
			}
		}
		return out
	}
	if !oneSite {
		return at(nil)
	}
	var most []*Node
	seen := map[[16]uint8]bool{{}: true}
	for _, n := range order {
		if site := n.Spec.Site; !seen[site] {
			seen[site] = true
			if here := at(&site); len(here) == wanted {
				return here
			} else if len(here) > len(most) {
				most = here
			}
		}
	}
	return most
}

// SuitedThroughout reports whether a node could have been given the order at its standing ask all the time from before
// the order's creation until a unix second, by what its account shows; false also where that is not known any more.
func (o *Order) SuitedThroughout(n *Node, m *Model, until int64) bool {
	since := satSub(o.CreatedAt, AwardViewSecs)
	if n.AskSince >= since {
		return false
	}
	_, ok := scoreThroughout(o, *n, n.AskFor(o.Interruptible != 0), m, o.siteWanted(n.Spec.Site), o.asked(since, until))
	return ok
}
