package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/auctions"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

func auctionCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "auction", Usage: "sealed auctions",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "an order's auction as the chain shows it now", ArgsUsage: "ORDER", Action: action(s, (*session).auctionShow)},
			{
				Name: "replay", Usage: "recompute winner and price from the chain and the published bids, and show who broke the rules", ArgsUsage: "ORDER",
				Description: "Works also after order, auction and leases are closed. Asks every keeper for the bids that it saw; --bids reads them\n" +
					"from a file that --save wrote. --acks adds what a node has stored of its bids (gantry-agent bids --json). Exit code 6: a violation is proven.",
				Flags: []cli.Flag{
					&cli.StringSliceFlag{Name: "from", Usage: "ask this `KEEPER` only; repeat for several"},
					&cli.StringFlag{Name: "bids", Usage: "read published bids from `FILE`, and ask nobody unless --from is given"},
					&cli.StringFlag{Name: "save", Usage: "write the published bids to `FILE`"},
					&cli.BoolFlag{Name: "prove", Usage: "send the proof of an unjust award, while the award can be challenged; needs a wallet"},
					&cli.StringSliceFlag{Name: "acks", Usage: "`FILE` with the bids that a node has stored; repeat for several"},
				},
				Action: action(s, (*session).auctionReplay),
			},
		},
	}}
}

func (s *session) auctionShow() error {
	order, v, err := s.auctionOrder()
	if err != nil {
		return err
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	out, err := auctions.Describe(v, order, now)
	if err != nil {
		return err
	}
	return s.Done(out, func(w *terminal.Page) { terminal.WriteAuction(w, &out) })
}

func (s *session) auctionReplay() error {
	order, _, err := s.auctionOrder()
	if err != nil {
		return err
	}
	o, explorer, err := s.Service.AuditOptions(s.Context)
	if err != nil {
		return err
	}
	mk, err := s.Market()
	if err != nil {
		return err
	}
	stop := s.Waiting("the chain's history", "Ctrl-C stops; nothing is changed")
	a, err := audit.AuditAuction(s.Context, o, order)
	stop()
	if errors.Is(err, audit.ErrNoHistory) {
		return service.Refused(fmt.Sprintf("%s is not a sealed order, as far as this node remembers", order), "check the address; an archive node remembers everything: --url")
	}
	if err != nil {
		return err
	}
	v, err := s.Snapshot(auctions.Bidders(order))
	if err != nil {
		return err
	}
	sets, err := s.publishedBids(v, a)
	if err != nil {
		return err
	}
	acknowledged, err := s.acknowledgedBids(order, a.CloseAt)
	if err != nil {
		return err
	}
	a.Replay(auctions.Rules(mk, v, sets, acknowledged))
	out := auctions.DescribeReplay(a, sets, explorer)
	var proof error
	if s.CLI.Bool("prove") {
		out.Proof, proof = s.proveOmitted(v, mk, a)
	}
	err = s.Done(out, func(w *terminal.Page) { terminal.WriteReplay(w, &out) })
	if err == nil && proof != nil {
		return proof
	}
	if err == nil && a.Outcome() == audit.Unknown {
		return judged(out.Outcome)
	}
	if err == nil && !out.OK {
		err = &service.Failure{Code: service.CodeViolation, Reason: "the auction broke the rules", Advice: "the violations and who committed them are above", Told: true}
	}
	return err
}

// maxBidsFile bounds the files of bids, bytes.
const maxBidsFile = 64 << 20

// publishedBids collects the bid sets of keepers, from a file and over the network. A keeper that does not answer is
// reported and does not end the command.
func (s *session) publishedBids(v *view.View, a *audit.Auction) ([]sealedbid.Set, error) {
	var sets []sealedbid.Set
	path := s.CLI.String("bids")
	if path != "" {
		raw, err := service.ReadFile(path, maxBidsFile)
		if err != nil {
			return nil, service.OfFlag("bids", err)
		}
		if sets, err = auctions.ReadSets(raw); err != nil {
			return nil, service.Usage(fmt.Sprintf("--bids: %s has no published bids: %v", path, err), "write it with: gantry auction replay ORDER --save FILE")
		}
	}
	names := s.CLI.StringSlice("from")
	if path == "" || len(names) > 0 {
		n, err := s.DialAny(v)
		if err != nil {
			return nil, err
		}
		asked, err := auctions.Ask(s.Context, n, v, a, names, func(keeper solana.PublicKey) { s.Say(" · keeper %s publishes no bids of this order", keeper) }, s.Log)
		if err != nil {
			return nil, err
		}
		sets = append(sets, asked...)
	}
	if save := s.CLI.String("save"); save != "" {
		raw, err := auctions.EncodeSets(sets)
		if err == nil {
			err = os.WriteFile(save, raw, 0o644)
		}
		if err != nil {
			return nil, service.Usage(fmt.Sprintf("--save: %v", err), "")
		}
	}
	return sets, nil
}

// acknowledgedBids reads what nodes have stored of their bids in one auction.
func (s *session) acknowledgedBids(order solana.PublicKey, closeAt int64) (out []messages.Bid, err error) {
	for _, path := range s.CLI.StringSlice("acks") {
		raw, err := service.ReadFile(path, maxBidsFile)
		if err != nil {
			return nil, service.OfFlag("acks", err)
		}
		var all []sealedbid.BidHistory
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, service.Usage(fmt.Sprintf("--acks: %s: %v", path, err), "write it with: gantry-agent bids --json > FILE")
		}
		bids, err := auctions.BidsOf(all, order, closeAt)
		if err != nil {
			return nil, service.Usage(fmt.Sprintf("--acks: %s: %v", path, err), "")
		}
		out = append(out, bids...)
	}
	return out, nil
}

// proveOmitted sends the proof of an omitted bid, which slashes the bond of the awarding keeper.
func (s *session) proveOmitted(v *view.View, mk market.Market, a *audit.Auction) (*service.Sent, error) {
	key, err := s.Wallet()
	if err != nil {
		return nil, err
	}
	now, err := s.Now()
	if err != nil {
		return nil, err
	}
	ixs, err := auctions.Prove(v, mk, a, key.PublicKey(), now)
	if err != nil {
		return nil, err
	}
	tx, err := s.Send("prove_omitted_bid", ixs)
	if err != nil {
		return nil, err
	}
	return &tx, nil
}

// auctionOrder reads the ORDER argument; the order may be closed.
func (s *session) auctionOrder() (order solana.PublicKey, v *view.View, err error) {
	args, err := s.Args("ORDER")
	if err != nil {
		return order, nil, err
	}
	if v, err = s.Snapshot(auctions.Scope(args[0])); err != nil {
		return order, nil, err
	}
	order, err = auctions.Find(v, args[0])
	return order, v, err
}
