package auctions

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// bidSetProtocol asks keepers for published bids.
var bidSetProtocol = p2p.Protocol{
	ID: messages.BidSet, MaxRequest: messages.MaxBidRequest, MaxResponse: 1 << 20, Timeout: AskFor,
}

// AskFor bounds the time for one keeper's answer.
const AskFor = 10 * time.Second

// setsFile holds published bids: canonical CBOR.
type setsFile struct {
	Version uint8                   `cbor:"1,keyasint"`
	Sets    [][]messages.BidSetPart `cbor:"2,keyasint"`
}

// EncodeSets writes published bids, for ReadSets.
func EncodeSets(sets []sealedbid.Set) ([]byte, error) {
	return p2p.Encode(setsFile{Version: 1, Sets: partsOf(sets)})
}

func partsOf(sets []sealedbid.Set) [][]messages.BidSetPart {
	out := make([][]messages.BidSetPart, len(sets))
	for i := range sets {
		out[i] = sets[i].Parts()
	}
	return out
}

// ReadSets reads published bids. Their signatures are checked with the auction.
func ReadSets(raw []byte) ([]sealedbid.Set, error) {
	var f setsFile
	if err := p2p.Decode(raw, &f); err != nil {
		return nil, err
	}
	var out []sealedbid.Set
	for _, parts := range f.Sets {
		set, err := assemble(parts)
		if err != nil {
			return nil, err
		}
		out = append(out, set)
	}
	return out, nil
}

// assemble puts a bid set together from its parts. Its signature is checked later, with the auction.
func assemble(parts []messages.BidSetPart) (sealedbid.Set, error) {
	var a sealedbid.Assembler
	for _, p := range parts {
		if err := a.Add(p); err != nil {
			return sealedbid.Set{}, err
		}
	}
	return a.Unverified()
}

// Ask asks the named keepers, or all, for their bid sets, and for the set of the awarding keeper, which others store too. A
// keeper that does not answer is left out; silent is told of it.
func Ask(ctx context.Context, n *p2p.Node, v *view.View, a *audit.Auction, names []string, silent func(keeper solana.PublicKey), log zerolog.Logger) ([]sealedbid.Set, error) {
	var keepers []solana.PublicKey
	var all []solana.PublicKey
	for _, k := range v.Keepers() {
		all = append(all, k.Wallet)
	}
	for _, name := range names {
		key, err := service.PickAddress(name, "keeper", all)
		if err != nil {
			return nil, err
		}
		keepers = append(keepers, key)
	}
	if len(names) == 0 {
		keepers = all
	}
	awarding := a.Keeper()
	have := map[solana.PublicKey]bool{}
	var sets []sealedbid.Set
	ask := func(keeper, of solana.PublicKey) {
		ctx, cancel := context.WithTimeout(ctx, AskFor)
		defer cancel()
		var parts sealedbid.Assembler
		req := messages.BidSetRequest{Version: messages.Version, Order: a.Order, CloseAt: a.CloseAt, Keeper: of}
		err := p2p.CallStream(ctx, n, keeper, bidSetProtocol, req, parts.Add)
		var set sealedbid.Set
		if err == nil {
			set, err = parts.Unverified()
		}
		if err != nil || set.Keeper != of {
			log.Debug().Err(err).Stringer("keeper", keeper).Msg("keeper does not send its bid set")
			return
		}
		have[of] = true
		sets = append(sets, set)
	}
	for _, k := range keepers {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ask(k, k)
		if !have[k] {
			silent(k)
		}
	}
	for _, k := range all {
		if !awarding.IsZero() && !have[awarding] && k != awarding {
			ask(k, awarding)
		}
	}
	return sets, nil
}

// lookupNodes finds nodes in a snapshot.
func lookupNodes(v *view.View) sealedbid.Lookup {
	return func(node solana.PublicKey) (*market.Node, *market.Provider, *market.Model, bool) {
		n, ok1 := v.Node(node)
		p, ok2 := v.Provider(n.Provider)
		m, ok3 := v.Model(n.Spec.Model)
		return &n, &p, &m, ok1 && ok2 && ok3
	}
}

// BidsOf are the bids in one auction of what a node has stored of its bids: the output of gantry-agent bids --json.
func BidsOf(all []sealedbid.BidHistory, order solana.PublicKey, closeAt int64) ([]messages.Bid, error) {
	var out []messages.Bid
	for i := range all {
		at, b, err := all[i].Bid()
		if err != nil {
			return nil, err
		}
		if at == order && all[i].CloseAt == closeAt {
			out = append(out, b)
		}
	}
	return out, nil
}

// Bid is a bid of the awarding keeper's set.
type Bid struct {
	Node       string `json:"node"`
	Commitment string `json:"commitment"`
	Price      string `json:"price,omitempty"`
	Score      uint64 `json:"score"`
	Reputation uint16 `json:"reputationBps"`
	Outcome    string `json:"outcome"`
	Acks       int    `json:"acknowledgedBy"`
}

func describeBids(a *audit.Auction, sets []sealedbid.Set) []Bid {
	out := []Bid{}
	for i := range sets {
		if sets[i].Keeper != a.Keeper() {
			continue
		}
		for _, j := range sets[i].Bids {
			b := Bid{
				Node: solana.PublicKey(j.Bid.Node).String(), Commitment: fmt.Sprintf("%x", j.Bid.Commitment), Score: j.Score, Reputation: j.Reputation,
				Outcome: sealedbid.Explain(records.Outcome{Code: records.OutcomeCode(j.Code), Requirement: j.Requirement}),
			}
			if j.Bid.Reveal != nil {
				b.Price = market.PricePerHour(j.Bid.Reveal.Price).String()
			}
			by := map[[32]byte]bool{}
			for _, x := range j.Bid.Acks {
				by[x.Keeper] = true
			}
			b.Acks = len(by)
			out = append(out, b)
		}
		break
	}
	return out
}
