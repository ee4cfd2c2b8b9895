package auction

import (
	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// asPublished is the choice that the first award of an auction was made by: what the set says, not what would be chosen
// now.
func asPublished(c *closed) *closed {
	out := *c
	out.choice = sealedbid.Winners(c.set.Head.Order, c.set.Bids)
	return &out
}

// set reads a kept set.
func (s *Service) set(key store.AuctionKey, keeper solana.PublicKey) (sealedbid.Set, error) {
	parts, err := s.parts(key, keeper)
	if err != nil {
		return sealedbid.Set{}, err
	}
	var a sealedbid.Assembler
	for _, p := range parts {
		if err := a.Add(p); err != nil {
			return sealedbid.Set{}, err
		}
	}
	return a.Set(sealedbid.Auction{Domain: s.o.Domain, Order: key.Order, CloseAt: key.CloseAt}, s.o.Roles.Keys)
}

// compare checks the awarding keeper's bid set: its root is the one on chain, and it contains all revealed bids that
// the keeper acknowledged. It returns those that were left out.
func (s *Service) compare(key store.AuctionKey, award *market.Auction, log zerolog.Logger) []messages.Bid {
	theirs, err := s.set(key, award.Keeper)
	if err != nil {
		log.Warn().Err(err).Msg("the awarding keeper's bid set cannot be read")
		return nil
	}
	if theirs.Head.Root != records.Hash(award.BidsRoot) {
		log.Error().Msg("the awarding keeper published another bid set than it recorded on chain")
	}
	out := Omitted(s.known(key), &theirs)
	for _, o := range out {
		log.Error().Stringer("node", solana.PublicKey(o.Node)).Msg("the awarding keeper acknowledged this node's reveal and left its bid out")
	}
	return out
}

// known are the bids of an auction that this keeper holds, in memory or in its own set.
func (s *Service) known(key store.AuctionKey) []messages.Bid {
	if bids := s.bids(key); len(bids) > 0 {
		return bids
	}
	var out []messages.Bid
	if c, err := s.own(key); err == nil {
		for _, j := range c.set.Bids {
			out = append(out, j.Bid)
		}
	}
	return out
}

// Omitted are the bids whose reveals a keeper acknowledged and that are not in its set. The acknowledgements'
// signatures must have been checked.
func Omitted(known []messages.Bid, set *sealedbid.Set) []messages.Bid {
	var out []messages.Bid
	for _, b := range known {
		if b.Reveal == nil || sealedbid.FindAck(b.Acks, set.Keeper, records.AckReveal) == nil {
			continue
		}
		if j := set.Find(b.Node); j == nil || j.Bid.Commitment != b.Commitment || j.Bid.Reveal == nil {
			out = append(out, b)
		}
	}
	return out
}
