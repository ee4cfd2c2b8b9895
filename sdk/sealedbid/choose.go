package sealedbid

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"math/bits"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Terms are what a choice depends on, apart from the bids.
type Terms struct {
	Order    solana.PublicKey
	Nodes    int
	SameSite bool
	MaxPrice market.PricePerHour
}

// TermsOf an order.
func TermsOf(o *market.Order) Terms {
	return Terms{
		Order: o.Address, Nodes: int(o.NodesWanted), SameSite: o.Requirement.SameSite != 0, MaxPrice: market.PricePerHour(o.MaxPrice),
	}
}

// Lookup finds what the chain says of a node; ok is false when there is no such node, or its provider or model is gone.
type Lookup func(node solana.PublicKey) (n *market.Node, p *market.Provider, m *market.Model, ok bool)

// Judge says of each bid whether it is in the running, at now (unix seconds), and with what score. Bids in the running
// have code 0 until Decide. A pause of awards says nothing about a bid.
func Judge(paused *market.Market, o *market.Order, bids []messages.Bid, look Lookup, now int64) []messages.JudgedBid {
	mk := Unpaused(paused)
	out := make([]messages.JudgedBid, len(bids))
	for i, b := range bids {
		out[i] = judge(mk, o, b, look, now)
	}
	slices.SortFunc(out, func(a, b messages.JudgedBid) int { return bytes.Compare(a.Bid.Node[:], b.Bid.Node[:]) })
	return out
}

// Unpaused is the market as it is when awards are not paused: bids are made and taken in a pause as well.
func Unpaused(mk *market.Market) *market.Market {
	out := *mk
	out.Paused = 0
	return &out
}

func judge(mk *market.Market, o *market.Order, b messages.Bid, look Lookup, now int64) messages.JudgedBid {
	j := messages.JudgedBid{Bid: b}
	n, p, m, ok := look(b.Node)
	if !ok {
		j.Code = uint8(records.OutcomeUnsuitable)
		return j
	}
	j.Reputation, j.Guarantee, j.Site = n.Reputation(now), n.GuaranteeUntil(o.LatestEnd()), n.Spec.Site
	if b.Reveal == nil {
		j.Code = uint8(records.OutcomeNotRevealed)
		return j
	}
	score, err := market.Score(market.PricePerHour(b.Reveal.Price), j.Reputation, j.Guarantee)
	if err != nil || b.Reveal.Price == 0 || b.Reveal.Price > o.MaxPrice {
		j.Code = uint8(records.OutcomeTooDear)
		return j
	}
	j.Score = score
	if err := market.Biddable(mk, o, n, p, m, now); err != nil {
		j.Code = uint8(records.OutcomeUnsuitable)
		if code, ok := market.CodeOf(err); ok {
			j.Requirement = uint16(code)
		}
	}
	return j
}

// Choice is who wins, as positions in the judged bids.
type Choice struct {
	Winners []int // best first; empty when the order cannot be awarded
	Bar     int   // the best bid that lost against all winners; -1 when there is none
}

// Pick chooses among the bids in the running: those whose codes are 0, won, outbid, of another site or not awarded. It
// is what keepers do, and what auditors do again.
//
// The lowest scores win, ties by the rules of Standing. When the nodes of an order must share a site, the site whose
// best nodes have the least sum of scores wins, equal sums the smaller name; the bar is then the best bid of any site
// behind the last winner, since the program asks every winner to stand before it.
func Pick(t Terms, judged []messages.JudgedBid) Choice {
	none := Choice{Bar: -1}
	if t.Nodes < 1 {
		return none
	}
	running := eligible(judged)
	less := func(a, b int) int { return compare(t.Order, &judged[a], &judged[b]) }
	slices.SortFunc(running, less)
	c := Choice{Winners: running, Bar: -1}
	if t.SameSite && t.Nodes > 1 {
		c.Winners = bestSite(t, judged, running)
	}
	if len(c.Winners) < t.Nodes {
		return none
	}
	c.Winners = slices.Clone(c.Winners[:t.Nodes])
	last := c.Winners[t.Nodes-1]
	for _, i := range running {
		if less(last, i) < 0 {
			c.Bar = i
			break
		}
	}
	return c
}

// bestSite returns the bids in the running at the best site, best first; running is sorted.
func bestSite(t Terms, judged []messages.JudgedBid, running []int) []int {
	at := map[[16]byte][]int{}
	for _, i := range running {
		if site := judged[i].Site; site != [16]byte{} {
			at[site] = append(at[site], i)
		}
	}
	var best []int
	var hi, lo uint64
	var name [16]byte
	for site, here := range at {
		if len(here) < t.Nodes {
			continue
		}
		var h, l, carry uint64
		for _, i := range here[:t.Nodes] {
			l, carry = bits.Add64(l, judged[i].Score, 0)
			h += carry
		}
		if best == nil || cmp.Or(cmp.Compare(h, hi), cmp.Compare(l, lo), bytes.Compare(site[:], name[:])) < 0 {
			best, hi, lo, name = here, h, l, site
		}
	}
	return best
}

// compare orders bids, the best first: the lower score, then the higher reputation, then the smaller sha256(order ‖
// node). It is the twin of beats in program/src/math/bid.rs.
func compare(order solana.PublicKey, a, b *messages.JudgedBid) int {
	if c := cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(b.Reputation, a.Reputation)); c != 0 {
		return c
	}
	x, y := tieBreak(order, a.Bid.Node), tieBreak(order, b.Bid.Node)
	return bytes.Compare(x[:], y[:])
}

func tieBreak(order solana.PublicKey, node [32]byte) [32]byte {
	return sha256.Sum256(append(append(make([]byte, 0, 64), order[:]...), node[:]...))
}

// Decide picks and writes the outcome of each bid in the running.
func Decide(t Terms, judged []messages.JudgedBid) Choice {
	c := Pick(t, judged)
	for i := range judged {
		j := &judged[i]
		if j.Code != 0 {
			continue
		}
		switch {
		case len(c.Winners) == 0:
			j.Code = uint8(records.OutcomeNotAwarded)
		case slices.Contains(c.Winners, i):
			j.Code = uint8(records.OutcomeWon)
		case compare(t.Order, j, &judged[c.Winners[len(c.Winners)-1]]) < 0:
			j.Code = uint8(records.OutcomeOtherSite)
		default:
			j.Code = uint8(records.OutcomeOutbid)
		}
	}
	return c
}

// Price is what a winner of this reputation and guarantee is paid: the bar's score turned back into a price, at most
// the order's maximum; the maximum when there is no bar.
func Price(t Terms, bar *messages.JudgedBid, reputation, guarantee uint16) (market.PricePerHour, error) {
	if bar == nil {
		return t.MaxPrice, nil
	}
	p, err := market.PriceOf(bar.Score, reputation, guarantee)
	return min(p, t.MaxPrice), err
}

// Level is the highest price at which a node would have scored as well as the last winner.
func Level(judged []messages.JudgedBid, c Choice, of *messages.JudgedBid) market.PricePerHour {
	if len(c.Winners) == 0 {
		return 0
	}
	p, err := market.PriceOf(judged[c.Winners[len(c.Winners)-1]].Score, of.Reputation, of.Guarantee)
	if err != nil {
		return 0
	}
	return p
}

// Winners is the choice that the outcomes written in a set say.
func Winners(order solana.PublicKey, judged []messages.JudgedBid) Choice {
	c := Choice{Bar: -1}
	for i := range judged {
		if judged[i].Code == uint8(records.OutcomeWon) {
			c.Winners = append(c.Winners, i)
		}
	}
	slices.SortFunc(c.Winners, func(a, b int) int { return compare(order, &judged[a], &judged[b]) })
	if n := len(c.Winners); n > 0 {
		last := c.Winners[n-1]
		for _, i := range eligible(judged) {
			behind := compare(order, &judged[last], &judged[i]) < 0
			if behind && (c.Bar < 0 || compare(order, &judged[i], &judged[c.Bar]) < 0) {
				c.Bar = i
			}
		}
	}
	return c
}

// eligible are the bids that may win.
func eligible(judged []messages.JudgedBid) []int {
	var out []int
	for i := range judged {
		switch records.OutcomeCode(judged[i].Code) {
		case 0, records.OutcomeWon, records.OutcomeOutbid, records.OutcomeOtherSite, records.OutcomeNotAwarded:
			out = append(out, i)
		}
	}
	return out
}
