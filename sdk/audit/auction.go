package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// Violation is a broken rule that signatures or the chain prove.
type Violation struct {
	Who  string // in words, such as "keeper 7x…"
	What string
	// Omitted is the acknowledged bid that the keeper left out, for a proof on chain; nil for other violations.
	Omitted *messages.Bid
}

// Award is one award of an auction, from its transaction.
type Award struct {
	Node, Keeper solana.PublicKey
	Bid, Price   market.PricePerHour
	Score        uint64
	Bar          solana.PublicKey // zero when no bid lost
	BarScore     uint64
	Root         records.Hash
	At           time.Time
	Signature    solana.Signature
	winner       shownBid // the winner's bid as the transaction shows it
	loser        *shownBid
}

// shownBid is a bid that an award transaction proves.
type shownBid struct {
	node  solana.PublicKey
	key   solana.PublicKey
	price messages.BidPrice
	sig   solana.Signature
}

// Auction is one life of a sealed order's auction.
type Auction struct {
	Order       solana.PublicKey
	Customer    solana.PublicKey
	Terms       sealedbid.Terms
	Requirement market.Requirement
	GPUs        uint8
	Duration    uint32
	CloseAt     int64
	RevealUntil int64
	Deadline    int64
	Lives       int
	Awards      []Award
	Steps       []Step
	// Violations are proven; Doubts look wrong and nothing proves them.
	Violations []Violation
	Doubts     []string

	gaps topic // what of it could not be read
}

// Outcome is what the audit comes to.
func (a *Auction) Outcome() Outcome {
	if len(a.Violations) > 0 {
		return Wrong
	}
	return outcomeOf(a.Steps)
}

// OK reports whether no violation is proven and everything is known to add up.
func (a *Auction) OK() bool { return a.Outcome() == Right }

// Keeper is the keeper that made the first award, whose bids the others go by; zero without an award.
func (a *Auction) Keeper() solana.PublicKey {
	if len(a.Awards) == 0 {
		return solana.PublicKey{}
	}
	return a.Awards[0].Keeper
}

func (a *Auction) step(t Tx, name string, c checks, format string, args ...any) {
	a.Steps = append(a.Steps, c.step(t, name, format, args...))
}

// AuditAuction rebuilds an order's last auction from transactions alone, also when its accounts are closed, and checks
// what the award transactions themselves show: signatures, commitments, and the price by the bar. Error: ErrNoHistory
// for an order that had no auction, the source's.
func AuditAuction(ctx context.Context, o Options, order solana.PublicKey) (*Auction, error) {
	txs, err := Read(ctx, o.Source, order, o.Commitment)
	if err != nil {
		return nil, err
	}
	start, lives := -1, 0
	for i := range txs {
		if _, _, ok := find(txs[i:i+1], func(e *bindings.AuctionOpened) bool { return e.Order == order }); ok {
			start = i
			lives++
		}
		if !txs[i].opaque() && txs[i].unreadCall(order, bindings.Instruction_AuctionOpen) {
			start = i
			lives++
		}
	}
	if start < 0 {
		return nil, missingHistory(txs, "order %s had an auction", order)
	}
	txs = txs[start:]
	for i := 1; i < len(txs); i++ { // a later life of the address, without an auction
		if _, _, ok := find(txs[i:i+1], func(e *bindings.OrderCreated) bool { return e.Order == order }); ok {
			txs = txs[:i]
			break
		}
	}
	a := &Auction{Order: order, Lives: lives}
	a.beginning(txs)
	for _, t := range txs {
		a.unread(t)
		for _, e := range t.Events {
			a.event(t, e, o.Domain)
		}
	}
	return a, nil
}

// beginning notes that the order's terms are missing.
func (a *Auction) beginning(txs []Tx) {
	_, _, created := find(txs, func(e *bindings.OrderCreated) bool { return e.Order == a.Order })
	if created || slices.ContainsFunc(txs, func(t Tx) bool { return t.unreadCall(a.Order, bindings.Instruction_OrderCreate) }) {
		return
	}
	a.gaps = ofOrder
	a.Steps = append(a.Steps, Step{Name: "unread", Text: "the order's creation is not with the opening of its auction", Unknown: tooLittle})
}

// unread notes a transaction that could not be read, where it is of the auction.
func (a *Auction) unread(t Tx) {
	var gaps topic
	if t.unreadCall(a.Order, bindings.Instruction_OrderCreate, bindings.Instruction_AuctionOpen) {
		gaps |= ofOrder
	}
	if t.unreadCall(a.Order, bindings.Instruction_AuctionAward) {
		gaps |= ofAuction
	}
	if gaps != 0 {
		a.gaps |= gaps
		a.Steps = append(a.Steps, unreadStep(t))
	}
}

func (a *Auction) event(t Tx, e market.Event, domain records.Domain) {
	switch v := e.Value.(type) {
	case *bindings.OrderCreated:
		if v.Order == a.Order {
			a.created(t, v)
		}
	case *bindings.AuctionOpened:
		if v.Order == a.Order {
			a.CloseAt, a.RevealUntil, a.Deadline = v.CloseAt, v.RevealUntil, v.AwardDeadline
			a.step(t, "opened", checks{}, "commitments until %s, reveals until %s, award until %s", clock(v.CloseAt), clock(v.RevealUntil), clock(v.AwardDeadline))
		}
	case *bindings.AuctionAwarded:
		if v.Order == a.Order {
			a.awarded(t, v, domain)
		}
	case *bindings.AuctionClosed:
		if v.Order == a.Order {
			a.step(t, "closed", checks{}, "the auction's account is closed")
		}
	}
}

// created reads what was ordered, with the requirement from the instruction.
func (a *Auction) created(t Tx, v *bindings.OrderCreated) {
	a.Customer, a.GPUs, a.Duration = v.Customer, v.Gpus, v.DurationSecs
	a.Terms = sealedbid.Terms{Order: a.Order, Nodes: int(v.Nodes), MaxPrice: market.PricePerHour(v.MaxPrice)}
	c := checks{gaps: a.gaps}
	args, ok := orderArgs(t, a.Order)
	c.require(ok, "the transaction does not show the order's requirement")
	if ok {
		a.Requirement, a.Terms.SameSite = args.Requirement, args.Requirement.SameSite != 0
		c.require(args.Mode == market.ModeSealed, "the order is not a sealed one")
	}
	a.step(t, "order", c, "%s, at most %s per GPU-hour", machines(v.Nodes, v.Gpus), dollars(a.Terms.MaxPrice))
}

// orderArgs reads the arguments of an order's creation.
func orderArgs(t Tx, order solana.PublicKey) (*bindings.OrderArgs, bool) {
	for _, ix := range t.Instructions {
		if ix.is(bindings.Instruction_OrderCreate, 0) && len(ix.Data) > 8 && slices.Contains(ix.Accounts, order) {
			args, err := bindings.UnmarshalOrderArgs(ix.Data[8:])
			return args, err == nil
		}
	}
	return nil, false
}

// revealSize is that of a bid's price and salt in the arguments of auction_award.
const revealSize = 8 + 32

// awarded checks an award by what its own transaction proves.
func (a *Auction) awarded(t Tx, v *bindings.AuctionAwarded, domain records.Domain) {
	w := Award{
		Node: v.Node, Keeper: v.Keeper, Bid: market.PricePerHour(v.Bid), Price: market.PricePerHour(v.Price), Score: v.Score, Bar: v.BarNode,
		BarScore: v.BarScore, Root: v.BidsRoot, At: t.Time, Signature: t.Signature,
	}
	of := sealedbid.Auction{Domain: domain, Order: a.Order, CloseAt: a.CloseAt}
	c := checks{gaps: a.gaps}
	c.follows(ofOrder, t.Time.IsZero() || t.Time.Unix() > a.RevealUntil, "it was made before the reveals were over")
	winner, loser, err := awardBids(t, v.Node, of)
	c.follows(ofOrder, err == nil, "%v", err)
	if err == nil {
		w.winner, w.loser = winner, loser
		c.require(winner.price.Price == v.Bid, "the bid is not the one that was shown")
		c.require(loser == nil || loser.node == v.BarNode || len(a.Awards) > 0 && a.Awards[len(a.Awards)-1].Bar == v.BarNode, "the best losing bid is another one than was shown")
	}
	if len(a.Awards) == 0 {
		c.follows(ofAuction|ofOrder, (loser != nil) == !v.BarNode.IsZero(), "the best losing bid was not shown")
	} else {
		first, last := a.Awards[0], a.Awards[len(a.Awards)-1]
		// Who completes the auction names the bar anew, and the worse of the two stands.
		same := last.Bar == v.BarNode && last.BarScore == v.BarScore
		worse := first.Keeper != v.Keeper && !last.Bar.IsZero() && (v.BarNode.IsZero() || loser != nil && v.BarScore >= last.BarScore)
		half := market.Auction{Auction: bindings.Auction{RevealUntil: a.RevealUntil}}
		late := t.Time.IsZero() || t.Time.Unix() > half.CompletableAfter(a.Deadline)
		c.follows(ofAuction|ofOrder, first.Keeper == v.Keeper || late, "another keeper made the first award, and had its time for the others")
		c.require(first.Root == records.Hash(v.BidsRoot), "the root of the bids is not that of the first award")
		c.follows(ofAuction|ofOrder, same || worse, "the best losing bid is not that of the award before, nor a worse one that another keeper has shown")
	}
	c.follows(ofOrder, v.Price >= v.Bid && market.PricePerHour(v.Price) <= a.Terms.MaxPrice, "the price is not between the bid and the order's maximum")
	if v.BarNode.IsZero() {
		c.follows(ofOrder, market.PricePerHour(v.Price) == a.Terms.MaxPrice, "no bid lost, so that the price must be the order's maximum")
	} else {
		c.require(v.Score <= v.BarScore, "the winner's score is not below the best losing one")
		c.follows(ofOrder, priceFollows(v.Bid, v.Score, v.BarScore, v.Price, uint64(a.Terms.MaxPrice)), "the price does not follow from the best losing score")
	}
	a.Awards = append(a.Awards, w)
	bar := "no bid lost, so that the order's maximum is the price"
	if !v.BarNode.IsZero() {
		bar = fmt.Sprintf("the best losing bid, of node %s, scores %d", v.BarNode, v.BarScore)
	}
	a.step(t, "award", c, "by keeper %s to node %s, which bid %s (score %d) and is paid %s USDC per GPU-hour: %s", v.Keeper, v.Node, w.Bid, v.Score, w.Price, bar)
	if v.Keeper != a.Keeper() && a.gaps&ofAuction == 0 {
		a.step(t, "completed", checks{}, "keeper %s stopped after its first award: it has no share of this order's fees", a.Keeper())
	}
}

// awardBids finds the bids that an award proves: the winner's, and the loser's where one is named.
func awardBids(t Tx, node solana.PublicKey, of sealedbid.Auction) (winner shownBid, loser *shownBid, err error) {
	for i, ix := range t.Instructions {
		if !ix.is(bindings.Instruction_AuctionAward, bindings.Place_AuctionAward_Loser+1) || len(ix.Data) != 8+2*revealSize+32 || ix.Accounts[bindings.Place_AuctionAward_Node] != node {
			continue
		}
		if winner, err = signedBid(t, i-1, ix.Accounts[bindings.Place_AuctionAward_Node], ix.Data[8:], of); err != nil {
			return winner, nil, fmt.Errorf("the winner's bid: %w", err)
		}
		if at := ix.Accounts[bindings.Place_AuctionAward_Loser]; at != market.ProgramID { // the program stands for nobody
			l, err := signedBid(t, i-2, at, ix.Data[8+revealSize:], of)
			if err != nil {
				return winner, nil, fmt.Errorf("the best losing bid: %w", err)
			}
			return winner, &l, nil
		}
		return winner, nil, nil
	}
	return winner, nil, fmt.Errorf("the transaction has no such award")
}

// signedBid reads price and salt, and checks that the instruction at a position verifies the node's signature over the
// commitment that they make.
func signedBid(t Tx, at int, node solana.PublicKey, reveal []byte, of sealedbid.Auction) (shownBid, error) {
	r, err := bindings.UnmarshalReveal(reveal[:revealSize])
	if err != nil {
		return shownBid{}, err
	}
	out := shownBid{node: node, price: messages.BidPrice{Price: r.Price, Salt: r.Salt}}
	if at < 0 {
		return out, fmt.Errorf("no signature is shown")
	}
	sigs := signatures(Tx{Instructions: t.Instructions[at : at+1]})
	if len(sigs) != 1 {
		return out, fmt.Errorf("no signature is shown")
	}
	message := records.CommitmentMessage(of.Reveal(node, out.price).Commitment())
	if string(sigs[0].Message) != string(message[:]) {
		return out, fmt.Errorf("what was signed is not the commitment to this price")
	}
	out.key, out.sig = sigs[0].Key, sigs[0].Sig
	return out, of.Check(&messages.Bid{Node: node, Commitment: of.Reveal(node, out.price).Commitment(), Signature: out.sig, Reveal: &out.price}, out.key)
}

// priceFollows reports whether one factor makes the score of the bid and the price of the bar. The factor is
// reputation's and guarantee's and lies between 0.95 and 1.5; the node's account, which has them, may be gone.
func priceFollows(bid, score, bar, price, most uint64) bool {
	for _, guarantee := range []uint16{0, market.BPS} { // the widest range of factors: 1 to 1.5, and 0.95 to 1.45
		for reputation := 0; reputation <= market.BPS; reputation++ {
			s, err := market.Score(market.PricePerHour(bid), uint16(reputation), guarantee)
			if err != nil || s != score {
				continue
			}
			p, err := market.PriceOf(bar, uint16(reputation), guarantee)
			if err == nil && min(uint64(p), most) == price {
				return true
			}
		}
	}
	return false
}
