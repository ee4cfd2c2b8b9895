package daemon

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/sealedbid"
	"github.com/gantry-market/gantry/keeper/auction"
	"github.com/gantry-market/gantry/keeper/store"
)

// Protocols of sealed auctions. A node makes a few requests for each auction.
var (
	commitProtocol  = bidProtocol(messages.BidCommit)
	revealProtocol  = bidProtocol(messages.BidReveal)
	outcomeProtocol = bidProtocol(messages.BidOutcome)
	bidSetProtocol  = p2p.Protocol{
		ID: messages.BidSet, Version: messages.Version, MaxRequest: messages.MaxBidRequest, MaxResponse: 1 << 20, Rate: 2, Burst: 20, Concurrent: 16,
		Public: true, // auditors need not take part in the market
	}
)

func bidProtocol(id string) p2p.Protocol {
	return p2p.Protocol{ID: id, Version: messages.Version, MaxRequest: messages.MaxBidRequest, MaxResponse: messages.MaxBidRequest, Rate: 20, Burst: 100}
}

const (
	// maxBidGossip bounds a message of the bids topic, bytes.
	maxBidGossip = 64 << 10
	// bidPause is how long bids wait to travel with others.
	bidPause = 20 * time.Millisecond
	// fetchLimit bounds the time for another keeper's set.
	fetchLimit = 30 * time.Second
)

// auctions is the keeper's part in sealed auctions.
type auctions struct {
	k       *Keeper
	service *auction.Service
	awarder *auction.Awarder
	topic   *p2p.Topic[messages.BidGossip]
	outbox  chan messages.BidGossip
}

// openAuctions reads the bids kept, joins the topic and answers nodes.
func (k *Keeper) openAuctions() (*auctions, error) {
	a := &auctions{k: k, outbox: make(chan messages.BidGossip, 4096)}
	log := k.component("auctions")
	var err error
	a.service, err = auction.New(auction.Options{
		View: k.view, Store: k.store, Signer: k.c.Wallet, Domain: k.domain, Publish: a.publish, Damaged: k.damaged, Log: log, Now: k.now,
		Omit: k.c.OmitBidsOf,
	})
	if err != nil {
		return nil, err
	}
	a.awarder, err = auction.NewAwarder(auction.AwarderOptions{
		View: k.view, Bids: a.service, Self: k.publicKey(), Submit: k.submit, Step: 4 * k.timing.AwardStep,
		Observe: k.metrics.Awarded, Fetch: a.fetch, Log: log, Now: k.now,
	})
	if err != nil {
		return nil, err
	}
	a.topic, err = p2p.Join(k.node, p2p.TopicConfig[messages.BidGossip]{
		Name: messages.BidsTopic(k.domain.String()), Version: messages.Version, MaxSize: maxBidGossip,
		Known: k.net.isKeeper, Validate: a.service.Validate, Handle: a.service.Handle,
		Rate: 50, Burst: 500, // each may have a hundred signatures to verify
	})
	if err != nil {
		return nil, err
	}
	p2p.Handle(k.node, commitProtocol, a.service.Commit)
	p2p.Handle(k.node, revealProtocol, a.service.Reveal)
	p2p.Handle(k.node, outcomeProtocol, a.service.Outcome)
	p2p.HandleStream(k.node, bidSetProtocol, a.service.ServeBidSet)
	return a, nil
}

// publish never blocks: nodes tell every keeper themselves, so that what is lost here is rarely missed.
func (a *auctions) publish(m messages.BidGossip) {
	select {
	case a.outbox <- m:
	default:
		a.k.log.Warn().Msg("too many bids to pass on")
	}
}

// runOutbox passes bids on, those of one auction together, until ctx ends.
func (a *auctions) runOutbox(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-a.outbox:
			t := time.NewTimer(bidPause)
			select {
			case <-ctx.Done():
				t.Stop()
				return ctx.Err()
			case <-t.C:
			}
			for _, m := range a.gather(m) {
				if err := a.topic.Publish(ctx, m); err != nil && ctx.Err() == nil {
					a.k.log.Warn().Err(err).Msg("bids were not passed on")
				}
			}
		}
	}
}

// gather takes what waits and joins messages about one auction, in order.
func (a *auctions) gather(first messages.BidGossip) []messages.BidGossip {
	type key struct {
		order   [32]byte
		closeAt int64
	}
	out := []messages.BidGossip{first}
	last := map[key]int{{first.Order, first.CloseAt}: 0}
	for range messages.MaxGossipBids * 4 {
		select {
		case m := <-a.outbox:
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

// fetch asks another keeper for its published set.
func (a *auctions) fetch(ctx context.Context, key store.AuctionKey, keeper solana.PublicKey) (*sealedbid.Assembler, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	var out sealedbid.Assembler
	req := messages.BidSetRequest{Version: messages.Version, Order: key.Order, CloseAt: key.CloseAt}
	err := p2p.CallStream(ctx, a.k.node, keeper, bidSetProtocol, req, out.Add)
	return &out, err
}
