package cli

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/audit"
	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// bidSetProtocol asks keepers for published bids.
var bidSetProtocol = p2p.Protocol{
	ID: messages.BidSet, MaxRequest: messages.MaxBidRequest, MaxResponse: 1 << 20, Timeout: askFor,
}

// publishedBids collects the bid sets of keepers, from a file and over the network. A keeper that does not answer is
// reported and does not end the command.
func (s *session) publishedBids(v *view.View, a *audit.Auction) ([]sealedbid.Set, error) {
	var sets []sealedbid.Set
	path := s.cli.String("bids")
	if path != "" {
		raw, err := readFile("bids", path)
		if err != nil {
			return nil, err
		}
		if sets, err = readSets(raw); err != nil {
			return nil, usage(fmt.Sprintf("--bids: %s has no published bids: %v", path, err), "write it with: gantry auction replay ORDER --save FILE")
		}
	}
	names := s.cli.StringSlice("from")
	if path == "" || len(names) > 0 {
		asked, err := s.askKeepers(v, a, names)
		if err != nil {
			return nil, err
		}
		sets = append(sets, asked...)
	}
	if save := s.cli.String("save"); save != "" {
		raw, err := p2p.Encode(setsFile{Version: 1, Sets: partsOf(sets)})
		if err == nil {
			err = os.WriteFile(save, raw, 0o644)
		}
		if err != nil {
			return nil, usage(fmt.Sprintf("--save: %v", err), "")
		}
	}
	return sets, nil
}

// setsFile is what --save writes: canonical CBOR.
type setsFile struct {
	Version uint8                   `cbor:"1,keyasint"`
	Sets    [][]messages.BidSetPart `cbor:"2,keyasint"`
}

func partsOf(sets []sealedbid.Set) [][]messages.BidSetPart {
	out := make([][]messages.BidSetPart, len(sets))
	for i := range sets {
		out[i] = sets[i].Parts()
	}
	return out
}

func readSets(raw []byte) ([]sealedbid.Set, error) {
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

// askKeepers asks the named keepers, or all, for their bid sets, and for the set of the awarding keeper, which others
// store too.
func (s *session) askKeepers(v *view.View, a *audit.Auction, names []string) ([]sealedbid.Set, error) {
	var keepers []solana.PublicKey
	all := addresses(v.Keepers(), func(k market.Keeper) solana.PublicKey { return k.Wallet })
	for _, name := range names {
		key, err := pick(name, "keeper", all)
		if err != nil {
			return nil, err
		}
		keepers = append(keepers, key)
	}
	if len(names) == 0 {
		keepers = all
	}
	r, err := s.dialAny(v)
	if err != nil {
		return nil, err
	}
	awarding := a.Keeper()
	have := map[solana.PublicKey]bool{}
	var sets []sealedbid.Set
	ask := func(keeper, of solana.PublicKey) {
		ctx, cancel := s.askContext()
		defer cancel()
		var parts sealedbid.Assembler
		req := messages.BidSetRequest{Version: messages.Version, Order: a.Order, CloseAt: a.CloseAt, Keeper: of}
		err := p2p.CallStream(ctx, r, keeper, bidSetProtocol, req, parts.Add)
		var set sealedbid.Set
		if err == nil {
			set, err = parts.Unverified()
		}
		if err != nil || set.Keeper != of {
			s.log.Debug().Err(err).Stringer("keeper", keeper).Msg("keeper does not send its bid set")
			return
		}
		have[of] = true
		sets = append(sets, set)
	}
	for _, k := range keepers {
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		ask(k, k)
		if !have[k] {
			s.say(" · keeper %s publishes no bids of this order", k)
		}
	}
	for _, k := range all {
		if !awarding.IsZero() && !have[awarding] && k != awarding {
			ask(k, awarding)
		}
	}
	return sets, nil
}

// dialAny joins the peer-to-peer network to ask keepers: with the wallet if there is one, else with a new key.
func (s *session) dialAny(v *view.View) (*p2p.Node, error) {
	key, err := s.wallet()
	if err != nil {
		if key, err = solana.NewRandomPrivateKey(); err != nil {
			return nil, fmt.Errorf("new key: %w", err)
		}
	}
	public, err := s.client.Public(s.ctx)
	if err != nil {
		return nil, err
	}
	n, err := p2p.New(p2p.Options{Key: key, Client: true, UserAgent: "gantry/" + version.Build, PublicOnly: public, Log: s.log})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = n.Close() })
	n.Know(roles.Names{View: v})
	for _, k := range v.Keepers() {
		if err := n.Remember(p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}); err != nil {
			s.log.Debug().Err(err).Stringer("keeper", k.Wallet).Msg("keeper's address is not usable")
		}
	}
	return n, nil
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

// readAcks reads what a node has stored of its bids in one auction.
func readAcks(path string, order solana.PublicKey, closeAt int64) ([]messages.Bid, error) {
	raw, err := readFile("acks", path)
	if err != nil {
		return nil, err
	}
	var all []sealedbid.BidHistory
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, usage(fmt.Sprintf("--acks: %s: %v", path, err), "write it with: gantry-agent bids --json > FILE")
	}
	var out []messages.Bid
	for i := range all {
		at, b, err := all[i].Bid()
		if err != nil {
			return nil, usage(fmt.Sprintf("--acks: %s: %v", path, err), "")
		}
		if at == order && all[i].CloseAt == closeAt {
			out = append(out, b)
		}
	}
	return out, nil
}

// bidJSON is a bid of the awarding keeper's set as printed.
type bidJSON struct {
	Node       string `json:"node"`
	Commitment string `json:"commitment"`
	Price      string `json:"price,omitempty"`
	Score      uint64 `json:"score"`
	Reputation uint16 `json:"reputationBps"`
	Outcome    string `json:"outcome"`
	Acks       int    `json:"acknowledgedBy"`
}

func describeBids(a *audit.Auction, sets []sealedbid.Set) []bidJSON {
	out := []bidJSON{}
	for i := range sets {
		if sets[i].Keeper != a.Keeper() {
			continue
		}
		for _, j := range sets[i].Bids {
			b := bidJSON{
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
