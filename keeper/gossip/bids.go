package gossip

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// Protocols of sealed auctions. A node makes a few requests for each auction.
var (
	commitProtocol  = bidProtocol(messages.BidCommit)
	revealProtocol  = bidProtocol(messages.BidReveal)
	outcomeProtocol = bidProtocol(messages.BidOutcome)
	bidSetProtocol  = p2p.Protocol{
		ID: messages.BidSet, MaxRequest: messages.MaxBidRequest, MaxResponse: 1 << 20, Rate: 2, Burst: 20, Concurrent: 16,
		Public: true, // auditors need not take part in the market
	}
)

func bidProtocol(id string) p2p.Protocol {
	return p2p.Protocol{ID: id, MaxRequest: messages.MaxBidRequest, MaxResponse: messages.MaxBidRequest, Rate: 20, Burst: 100}
}

const (
	// maxBidGossip bounds a message of the bids topic, bytes.
	maxBidGossip = 64 << 10
	// bidPause is how long bids wait to travel with others.
	bidPause = 20 * time.Millisecond
	// fetchLimit bounds the time for another keeper's set.
	fetchLimit = 30 * time.Second
)

// joinBids starts the gossip of bids, and answers nodes.
func (g *Gossip) joinBids() (err error) {
	g.bids, err = p2p.Join(g.o.Node, p2p.TopicConfig[messages.BidGossip]{
		Name: messages.BidsTopic(g.o.Domain.String()), MaxSize: maxBidGossip,
		Known: g.mayGossip, Validate: g.h.Bids.Validate, Handle: g.h.Bids.Handle,
		Rate: 50, Burst: 500, // each may have a hundred signatures to verify
	})
	if err != nil {
		return err
	}
	p2p.Handle(g.o.Node, commitProtocol, g.h.Bids.Commit)
	p2p.Handle(g.o.Node, revealProtocol, g.h.Bids.Reveal)
	p2p.Handle(g.o.Node, outcomeProtocol, g.h.Bids.Outcome)
	p2p.HandleStream(g.o.Node, bidSetProtocol, g.h.Bids.ServeBidSet)
	return nil
}

// PublishBids sends bids to the other keepers. It never blocks: nodes send their bids to every keeper themselves, so
// that a message that is dropped is rarely missed.
func (g *Gossip) PublishBids(m messages.BidGossip) {
	select {
	case g.bidOutbox <- m:
	default:
		g.o.Log.Warn().Msg("keeper does not pass bids on: too many wait")
	}
}

// runBidOutbox passes bids on, those of one auction together, until ctx ends.
func (g *Gossip) runBidOutbox(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-g.bidOutbox:
			if err := wait.For(ctx, bidPause); err != nil {
				return err
			}
			for _, m := range g.gatherBids(m) {
				if err := g.bids.Publish(ctx, m); err != nil && ctx.Err() == nil {
					g.o.Log.Warn().Err(err).Msg("bids were not published")
				}
			}
		}
	}
}

// gatherBids takes the waiting messages and joins those about one auction, in order.
func (g *Gossip) gatherBids(first messages.BidGossip) []messages.BidGossip {
	type key struct {
		order   [32]byte
		closeAt int64
	}
	out := []messages.BidGossip{first}
	last := map[key]int{{first.Order, first.CloseAt}: 0}
	for range messages.MaxGossipBids * 4 {
		select {
		case m := <-g.bidOutbox:
			k := key{m.Order, m.CloseAt}
			if i, ok := last[k]; ok && len(out[i].Bids)+len(m.Bids) <= messages.MaxGossipBids {
				out[i].Bids = append(out[i].Bids, m.Bids...)
				continue
			}
			last[k] = len(out)
			out = append(out, m)
		default:
			return out
		}
	}
	return out
}

// BidSet asks another keeper for its published set.
func (g *Gossip) BidSet(ctx context.Context, key store.AuctionKey, keeper solana.PublicKey) (*sealedbid.Assembler, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	var out sealedbid.Assembler
	req := messages.BidSetRequest{Version: messages.Version, Order: key.Order, CloseAt: key.CloseAt}
	err := p2p.CallStream(ctx, g.o.Node, keeper, bidSetProtocol, req, out.Add)
	return &out, err
}
