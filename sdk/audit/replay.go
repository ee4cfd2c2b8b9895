package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// Replay is the material with which an auction is replayed.
type Replay struct {
	Domain records.Domain
	// Sets are published by keepers, verified or not.
	Sets []sealedbid.Set
	// Bids are what nodes have stored of their own bids, with the acknowledgements.
	Bids []messages.Bid
	// Nodes finds the accounts that are there now, which may be none: what needs them is then reported as not checked.
	Nodes  sealedbid.Lookup
	Market market.Market
	// Keys are the keepers' keys; nil means their wallets.
	Keys records.Keys
}

func (r Replay) keys() records.Keys {
	if r.Keys == nil {
		return records.Wallets
	}
	return r.Keys
}

// Replay recomputes winner and price from the published bids and finds violations: a keeper that left out or added bids
// or chose against its own bid set, a node that bid twice.
func (a *Auction) Replay(r Replay) {
	of := sealedbid.Auction{Domain: r.Domain, Order: a.Order, CloseAt: a.CloseAt}
	sets := a.readable(r, of)
	if a.gaps != 0 {
		if a.gaps&ofOrder == 0 {
			a.doubleBids(r, of, sets)
		}
		a.conclusion("result", checks{open: true}, "not known whether the keeper chose by its bids: what is said above to be unread may excuse it")
		return
	}
	if len(a.Awards) == 0 {
		a.conclusion("result", checks{}, "no node was awarded; %s were published", count(len(sets), "set of bids", "sets of bids"))
		a.doubleBids(r, of, sets)
		return
	}
	keeper := a.Keeper()
	i := slices.IndexFunc(sets, func(s sealedbid.Set) bool { return s.Keeper == keeper })
	if i < 0 {
		a.Doubts = append(a.Doubts, fmt.Sprintf("the bids that keeper %s awarded by were not found: it does not publish them, or nobody who has them was asked", keeper))
		a.doubleBids(r, of, sets)
		return
	}
	own := &sets[i]
	a.checkSet(r, of, own)
	a.checkChoice(own)
	a.checkJudgements(r, own)
	a.checkOmissions(r, of, own, sets)
	a.doubleBids(r, of, sets)
	text := "no violation is proven"
	if len(a.Violations) > 0 {
		text = count(len(a.Violations), "violation is proven", "violations are proven")
	}
	a.conclusion("result", checks{}, "%s; of %s, %d were revealed", text, count(len(own.Bids), "bid", "bids"), revealed(own.Bids))
}

func (a *Auction) conclusion(name string, c checks, format string, args ...any) {
	a.Steps = append(a.Steps, c.step(Tx{}, name, format, args...))
}

func (a *Auction) violation(who solana.PublicKey, kind string, omitted *messages.Bid, format string, args ...any) {
	a.Violations = append(a.Violations, Violation{Who: kind + " " + who.String(), What: fmt.Sprintf(format, args...), Omitted: omitted})
}

// readable leaves out sets whose signature does not verify: anybody could have made them.
func (a *Auction) readable(r Replay, of sealedbid.Auction) []sealedbid.Set {
	var out []sealedbid.Set
	for i := range r.Sets {
		s := r.Sets[i]
		if err := s.Verify(of, r.keys()); err != nil {
			a.Doubts = append(a.Doubts, fmt.Sprintf("a set of bids of keeper %s is left out: %v", s.Keeper, err))
			continue
		}
		out = append(out, s)
	}
	return out
}

// nodeKey finds the key that a node signs with: from its account, or from an award that shows it.
func (a *Auction) nodeKey(r Replay, node solana.PublicKey) (solana.PublicKey, bool) {
	if r.Nodes != nil {
		if n, _, _, ok := r.Nodes(node); ok {
			return n.NodeKey, true
		}
	}
	for _, w := range a.Awards {
		if w.winner.node == node && !w.winner.key.IsZero() {
			return w.winner.key, true
		}
		if w.loser != nil && w.loser.node == node {
			return w.loser.key, true
		}
	}
	return solana.PublicKey{}, false
}

// checkSet checks the awarding keeper's bids against the chain, the nodes' signatures and the acknowledgements.
func (a *Auction) checkSet(r Replay, of sealedbid.Auction, own *sealedbid.Set) {
	keeper := own.Keeper
	var c checks
	if own.Head.Root != a.Awards[0].Root {
		a.violation(keeper, "keeper", nil, "published other bids than it recorded on chain: the Merkle root of the published ones is %x, on chain stands %x", own.Head.Root[:8], a.Awards[0].Root[:8])
	}
	unknown := 0
	for i := range own.Bids {
		b := &own.Bids[i].Bid
		node := solana.PublicKey(b.Node)
		key, ok := a.nodeKey(r, node)
		if !ok {
			unknown++
			continue
		}
		if err := of.Check(b, key); err != nil {
			a.violation(keeper, "keeper", nil, "published a bid that node %s did not make: %v", node, err)
		}
		for j := range b.Acks {
			_, err := sealedbid.Ack(&b.Acks[j], b.Commitment, r.keys())
			c.require(err == nil, "an acknowledgement of keeper %s for node %s does not verify", solana.PublicKey(b.Acks[j].Keeper), node)
		}
	}
	text := fmt.Sprintf("%s by keeper %s; the Merkle root is the one on chain", count(len(own.Bids), "bid", "bids"), keeper)
	if own.Head.Root != a.Awards[0].Root {
		text = fmt.Sprintf("%s by keeper %s; the Merkle root is NOT the one on chain", count(len(own.Bids), "bid", "bids"), keeper)
	}
	if unknown > 0 {
		text += fmt.Sprintf("; the signatures of %s, whose accounts are closed, were not checked", count(unknown, "node", "nodes"))
	}
	a.conclusion("bids", c, "%s", text)
}

// checkChoice repeats the keeper's choice from its own bid set.
func (a *Auction) checkChoice(own *sealedbid.Set) {
	keeper := own.Keeper
	var bad []string
	for i := range own.Bids {
		if why := wrongScore(&own.Bids[i], a.Terms.MaxPrice); why != "" {
			bad = append(bad, fmt.Sprintf("node %s: %s", solana.PublicKey(own.Bids[i].Bid.Node), why))
		}
	}
	if len(bad) > 0 {
		a.violation(keeper, "keeper", nil, "scored bids against the rules: %s", strings.Join(bad, "; "))
	}
	c := sealedbid.Pick(a.Terms, own.Bids)
	var should, did []string
	for _, i := range c.Winners {
		should = append(should, solana.PublicKey(own.Bids[i].Bid.Node).String())
	}
	for _, w := range a.Awards {
		did = append(did, w.Node.String())
	}
	slices.Sort(should)
	slices.Sort(did)
	partial := len(did) < len(should) && !slices.ContainsFunc(did, func(n string) bool { return !slices.Contains(should, n) })
	switch {
	case partial:
		a.Doubts = append(a.Doubts, fmt.Sprintf("only %d of %d nodes were awarded", len(did), len(should)))
	case !slices.Equal(should, did):
		a.violation(keeper, "keeper", nil, "chose against its own bids: %s should have won, %s did", nodeList(should), nodeList(did))
	}
	bar := solana.PublicKey{}
	if c.Bar >= 0 {
		bar = own.Bids[c.Bar].Bid.Node
	}
	if !partial && slices.Equal(should, did) && bar != a.Awards[0].Bar {
		a.violation(keeper, "keeper", nil, "took another price than its own bids give: the best losing bid is that of %s, not of %s", orNobody(bar), orNobody(a.Awards[0].Bar))
	}
	for _, w := range a.Awards {
		if !partial && w.Keeper != keeper && w.Bar != bar && w.Bar != a.Awards[0].Bar {
			a.violation(w.Keeper, "keeper", nil, "completed the auction at another price than its bids give: the best losing bid is that of %s, not of %s", orNobody(bar), orNobody(w.Bar))
		}
	}
	a.conclusion("choice", checks{}, "by these bids %s wins; the best losing bid is that of %s", nodeList(should), orNobody(bar))
}

// wrongScore says what is wrong about a keeper's score of a bid; empty when nothing is.
func wrongScore(j *messages.JudgedBid, most market.PricePerHour) string {
	code := records.OutcomeCode(j.Code)
	if j.Bid.Reveal == nil {
		if code != records.OutcomeNotRevealed && code != records.OutcomeUnsuitable {
			return "it was not revealed"
		}
		return ""
	}
	price := market.PricePerHour(j.Bid.Reveal.Price)
	switch dear := price == 0 || price > most; {
	case code == records.OutcomeNotRevealed:
		return "it was revealed"
	case dear != (code == records.OutcomeTooDear) && code != records.OutcomeUnsuitable:
		return fmt.Sprintf("a price of %s of at most %s", price, most)
	case dear || code == records.OutcomeUnsuitable:
		return ""
	}
	if score, err := market.Score(price, j.Reputation, j.Guarantee); err != nil || score != j.Score {
		return fmt.Sprintf("the score is %d, not %d", score, j.Score)
	}
	return ""
}

// checkJudgements compares what the bid set says of nodes with the chain, where the chain cannot have changed since.
func (a *Auction) checkJudgements(r Replay, own *sealedbid.Set) {
	if r.Nodes == nil {
		return
	}
	at, checked, open := own.Head.ChosenAt, 0, 0
	awardedAt := at
	if t := a.Awards[0].At; !t.IsZero() {
		awardedAt = max(at, t.Unix())
	}
	for i := range own.Bids {
		j := &own.Bids[i]
		node := solana.PublicKey(j.Bid.Node)
		n, p, m, ok := r.Nodes(node)
		if !ok {
			open++
			continue
		}
		then, held := n.HeldThroughout(a.CloseAt, awardedAt)
		if !held {
			open++
			continue
		}
		checked++
		if rep := then.Reputation(at); j.Bid.Reveal != nil && rep != j.Reputation {
			a.violation(own.Keeper, "keeper", nil, "gave node %s a reputation of %d, the chain shows %d", node, j.Reputation, rep)
		}
		if records.OutcomeCode(j.Code) == records.OutcomeUnsuitable && j.Bid.Reveal != nil && a.suited(r, &then, p, m, at) {
			a.violation(own.Keeper, "keeper", nil, "says that node %s did not satisfy the order; the chain shows that it did all the time", node)
		}
	}
	a.conclusion("nodes", checks{}, "what is said of %s was compared with the chain; of %s it shows too little", count(checked, "node", "nodes"), count(open, "node", "nodes"))
}

// suited reports whether the chain shows that a node could have been awarded from the close on: nothing that the award
// depends on has changed since.
func (a *Auction) suited(r Replay, n *market.Node, p *market.Provider, m *market.Model, at int64) bool {
	free, shown := n.FreeThroughout(a.CloseAt, at)
	held := n.State() == market.NodeActive && n.AvailableSince < a.CloseAt && shown && free >= a.GPUs && n.Unhealthy.Until < a.CloseAt && n.CoveredSince < a.CloseAt && m.Since < a.CloseAt
	o := market.Order{Meta: market.Meta{Address: a.Order}}
	o.Order.Status, o.AwardDeadline, o.MaxPrice, o.GpusPerNode = uint8(market.OrderOpen), a.Deadline, uint64(a.Terms.MaxPrice), a.GPUs
	o.Requirement, o.DurationSecs, o.Mode, o.AuctionClose = a.Requirement, a.Duration, market.ModeSealed, a.CloseAt
	mk := r.Market
	mk.Paused = 0
	return held && market.Biddable(&mk, &o, n, p, m, at) == nil
}

// checkOmissions looks for bids that the awarding keeper acknowledged and left out. A bid that only others acknowledged
// may never have reached it.
func (a *Auction) checkOmissions(r Replay, of sealedbid.Auction, own *sealedbid.Set, sets []sealedbid.Set) {
	type known struct {
		bid messages.Bid
		by  []string
	}
	at := map[[32]byte]*known{}
	var order [][32]byte
	note := func(b messages.Bid, by string) {
		k := at[b.Commitment]
		if k == nil {
			k = &known{bid: b}
			k.bid.Acks = nil
			at[b.Commitment] = k
			order = append(order, b.Commitment)
		}
		k.bid.Acks = append(k.bid.Acks, b.Acks...)
		if k.bid.Reveal == nil {
			k.bid.Reveal = b.Reveal
		}
		k.by = append(k.by, by)
	}
	for i := range sets {
		if sets[i].Keeper == own.Keeper {
			continue
		}
		for j := range sets[i].Bids {
			note(sets[i].Bids[j].Bid, "keeper "+sets[i].Keeper.String())
		}
	}
	for _, b := range r.Bids {
		note(b, "the node itself")
	}
	for _, c := range order {
		k := at[c]
		b := &k.bid
		node := solana.PublicKey(b.Node)
		key, ok := a.nodeKey(r, node)
		if b.Reveal == nil || !ok || of.Check(b, key) != nil {
			continue // not revealed, or not this node's
		}
		if j := own.Find(node); j != nil && j.Bid.Commitment == b.Commitment && j.Bid.Reveal != nil {
			continue
		}
		if ack := validAck(b, own.Keeper, a, r.keys()); ack != nil {
			a.violation(own.Keeper, "keeper", b, "left out the bid of node %s (%s USDC per GPU-hour): it acknowledged the reveal at %s%s",
				node, market.PricePerHour(b.Reveal.Price), clock(ack.ReceivedAt), a.effectOf(own, sets, b))
			continue
		}
		a.Doubts = append(a.Doubts, fmt.Sprintf("the bid of node %s is known by %s and not among those of keeper %s, which did not acknowledge its reveal: it may not have arrived",
			node, strings.Join(k.by, ", "), own.Keeper))
	}
}

// validAck is a keeper's acknowledgement of a bid's reveal within the window.
func validAck(b *messages.Bid, keeper solana.PublicKey, a *Auction, keys records.Keys) *messages.BidAck {
	for i := range b.Acks {
		x := &b.Acks[i]
		if x.Keeper != keeper || x.Stage != uint8(records.AckReveal) || x.ReceivedAt <= a.CloseAt || x.ReceivedAt > a.RevealUntil {
			continue
		}
		if _, err := sealedbid.Ack(x, b.Commitment, keys); err == nil {
			return x
		}
	}
	return nil
}

// effectOf says what the omitted bid would have changed, as another keeper judged it.
func (a *Auction) effectOf(own *sealedbid.Set, sets []sealedbid.Set, b *messages.Bid) string {
	for i := range sets {
		j := sets[i].Find(b.Node)
		if j == nil || sets[i].Keeper == own.Keeper || j.Bid.Commitment != b.Commitment || wrongScore(j, a.Terms.MaxPrice) != "" {
			continue
		}
		with := slices.DeleteFunc(slices.Clone(own.Bids), func(x messages.JudgedBid) bool { return x.Bid.Node == b.Node })
		with = append(with, *j)
		c := sealedbid.Pick(a.Terms, with)
		if slices.Contains(c.Winners, len(with)-1) {
			return "; with it, this node would have won"
		}
		if c.Bar == len(with)-1 {
			var paid []string
			for _, w := range c.Winners {
				if p, err := sealedbid.Price(a.Terms, &with[c.Bar], with[w].Reputation, with[w].Guarantee); err == nil {
					paid = append(paid, p.String())
				}
			}
			return fmt.Sprintf("; with it, the price would have been %s", strings.Join(paid, ", "))
		}
		return "; it would have changed nothing"
	}
	return ""
}

func revealed(bids []messages.JudgedBid) (n int) {
	for i := range bids {
		if bids[i].Bid.Reveal != nil {
			n++
		}
	}
	return n
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func nodeList(nodes []string) string {
	if len(nodes) == 0 {
		return "nobody"
	}
	return "node " + strings.Join(nodes, " and ")
}

func orNobody(node solana.PublicKey) string {
	if node.IsZero() {
		return "nobody"
	}
	return "node " + node.String()
}
