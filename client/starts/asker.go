package starts

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Bounds are how many machines are asked, and how long that may take.
type Bounds struct {
	// Most is how many machines are asked, the best first.
	Most int
	// One is how long one machine may take, All all of them, and Proof the chain.
	One, All, Proof time.Duration
	// Past is how many closed leases are looked for in the chain's history.
	Past int
}

var (
	// Search is for somebody who looks for a machine.
	Search = Bounds{Most: 64, One: 8 * time.Second, All: 20 * time.Second, Proof: 20 * time.Second, Past: 128}
	// Purchase is for an order that waits for the answer: all are asked at once.
	Purchase = Bounds{Most: atOnce, One: 3 * time.Second, All: 3 * time.Second, Proof: 3 * time.Second, Past: 32}
)

const (
	// atOnce is how many machines are asked at a time, pastAtOnce how many closed leases are looked for.
	atOnce, pastAtOnce = 16, 8
	// keptAwards is how many awards are kept: they do not change.
	keptAwards = 4096
)

// protocol is the customer's side of what machines serve.
var protocol = p2p.Protocol{ID: messages.Starts, MaxRequest: 1 << 10, MaxResponse: messages.MaxStartsAnswer, Timeout: 5 * time.Second}

// Chain is what is read of the chain. *chain.Client implements it.
type Chain interface {
	audit.Source
	Accounts(ctx context.Context, keys []solana.PublicKey, at chain.Commitment) ([]*chain.Account, error)
	Commitment() chain.Commitment
}

// Asker asks machines. It is safe for concurrent use.
type Asker struct {
	net    *p2p.Node
	reach  func(ctx context.Context, node solana.PublicKey) error
	chain  Chain
	domain records.Domain
	awards *lru.Cache[solana.PublicKey, audit.Bought]
}

// New asks as a peer; reach connects it to a machine.
func New(net *p2p.Node, reach func(ctx context.Context, node solana.PublicKey) error, c Chain, domain records.Domain) *Asker {
	awards, _ := lru.New[solana.PublicKey, audit.Bought](keptAwards) // its only error is of a number that is not positive
	return &Asker{net: net, reach: reach, chain: c, domain: domain, awards: awards}
}

// Offers returns offers with what is known of an image on the first of them; see [service.WithStarts]. It leaves those that it is given
// as they are. Errors: the chain's.
func (a *Asker) Offers(ctx context.Context, image records.Hash, offers []service.Offer, in Bounds) ([]service.Offer, error) {
	first := offers[:min(len(offers), in.Most)]
	answers := a.ask(ctx, image, first, in)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	asked := service.Machines{}
	var claims []claim
	for i := range first {
		o, is := &first[i], service.ImageStarts{}
		if answer := answers[i]; answer != nil {
			is.Answered = true
			is.Driver, is.Sandbox = answer.Driver, answer.Sandbox
			mine, bad := a.claims(image, o, answer)
			claims, is.Unproven = append(claims, mine...), bad
		}
		asked[o.Address] = is
	}
	votes, err := a.votes(ctx, claims, asked, in)
	if err != nil {
		return nil, err
	}
	return service.WithStarts(offers, image, asked, votes), nil
}

// ask asks machines; nil for one that has not answered in time, or with something else.
func (a *Asker) ask(ctx context.Context, image records.Hash, offers []service.Offer, in Bounds) []*messages.StartsAnswer {
	ctx, cancel := context.WithTimeout(ctx, in.All)
	defer cancel()
	out := make([]*messages.StartsAnswer, len(offers))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range offers {
		g.Go(func() error {
			key, err := solana.PublicKeyFromBase58(offers[i].NodeKey)
			if err == nil {
				out[i] = a.one(ctx, key, image, in.One)
			}
			return nil
		})
	}
	_ = g.Wait() // no call has an error
	return out
}

func (a *Asker) one(ctx context.Context, node solana.PublicKey, image records.Hash, within time.Duration) *messages.StartsAnswer {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if a.reach(ctx, node) != nil {
		return nil
	}
	answer, err := p2p.Call[messages.StartsRequest, messages.StartsAnswer](ctx, a.net, node, protocol, messages.StartsRequest{Version: messages.Version, Image: image})
	if err != nil || messages.Check(answer) != nil {
		return nil
	}
	now := records.Start{}.On(answer.Driver, answer.Sandbox)
	answer.Driver, answer.Sandbox = now.Driver, now.Sandbox // they are shown on terminals
	return &answer
}

// claim is a record that its machine has signed. Whether there was such a lease is open.
type claim struct {
	offer *service.Offer
	start records.Start
	turn  int // of its machine's claims, the newest is 0
}

// claims are the records of an answer that are about this image, this machine and this cluster and signed by the machine's key. bad counts the
// others.
func (a *Asker) claims(image records.Hash, o *service.Offer, answer *messages.StartsAnswer) (out []claim, bad int) {
	key, err := solana.PublicKeyFromBase58(o.NodeKey)
	if err != nil {
		return nil, len(answer.Starts)
	}
	seen := map[solana.PublicKey]bool{}
	for _, signed := range answer.Starts {
		s, err := records.DecodeStart(signed.Start)
		if err != nil || s.Domain != a.domain || s.Image != image || s.Node.String() != o.Address || s.Model != o.ModelID || seen[s.Lease] ||
			s.Verify(key, signed.Signature) != nil {
			bad++
			continue
		}
		seen[s.Lease] = true
		out = append(out, claim{offer: o, start: s})
	}
	slices.SortStableFunc(out, func(a, b claim) int { return b.start.At.Compare(a.start.At) })
	for i := range out {
		out[i].turn = i
	}
	return out, bad
}

// votes are the claims whose lease the chain has, or has had, on the machine that claims it, of a customer other than its owner. The others
// are counted as unproven.
func (a *Asker) votes(ctx context.Context, claims []claim, asked service.Machines, in Bounds) (out []service.StartVote, err error) {
	ctx, cancel := context.WithTimeout(ctx, in.Proof)
	defer cancel()
	awards, err := a.awardsOf(ctx, claims, in.Past)
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		award, ok := awards[c.start.Lease]
		own, err := solana.PublicKeyFromBase58(c.offer.Provider)
		if !ok || err != nil || award.Node != c.start.Node || award.Credits == market.CreditsAddress(own) {
			is := asked[c.offer.Address]
			is.Unproven++
			asked[c.offer.Address] = is
			continue
		}
		out = append(out, service.StartVote{
			Node: c.offer.Address, Provider: c.offer.Provider, Customer: award.Credits, Model: c.offer.Model, Start: c.start,
		})
	}
	return out, nil
}

// awardsOf finds the awards of leases: those that are open by their accounts, those that are closed in the chain's history. Each machine has its
// turn, so that one that invents leases uses up no other's.
func (a *Asker) awardsOf(ctx context.Context, claims []claim, mostPast int) (map[solana.PublicKey]audit.Bought, error) {
	claims = slices.Clone(claims)
	slices.SortStableFunc(claims, func(a, b claim) int { return a.turn - b.turn })
	found := map[solana.PublicKey]audit.Bought{}
	var open []solana.PublicKey
	for _, c := range claims {
		lease := c.start.Lease
		if award, known := a.awards.Get(lease); known {
			found[lease] = award
		} else if !slices.Contains(open, lease) {
			open = append(open, lease)
		}
	}
	if len(open) == 0 {
		return found, nil
	}
	accounts, err := a.chain.Accounts(ctx, open, a.chain.Commitment())
	if err != nil {
		return nil, err
	}
	var past []solana.PublicKey
	for i, account := range accounts {
		if account == nil {
			past = append(past, open[i])
		} else if l, err := query.Decode[market.Lease](open[i], *account); err != nil {
			past = append(past, open[i])
		} else {
			found[open[i]] = audit.Bought{Order: l.Order, Node: l.Node, Provider: l.Provider, Credits: market.CreditsAddress(l.Customer)}
		}
	}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(pastAtOnce)
	for _, lease := range past[:min(len(past), mostPast)] {
		g.Go(func() error {
			award, err := audit.FindAward(ctx, a.chain, lease, a.chain.Commitment())
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				found[lease] = award
			}
			return nil
		})
	}
	_ = g.Wait() // what cannot be read does not count
	for lease, award := range found {
		a.awards.Add(lease, award)
	}
	return found, nil
}
