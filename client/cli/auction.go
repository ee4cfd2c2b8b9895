package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/audit"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func auctionCommands(s Streams) []*cli.Command {
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

// auctionJSON is an auction as printed.
type auctionJSON struct {
	Order       string   `json:"order"`
	State       string   `json:"state"`
	CloseAt     int64    `json:"closeAt"`
	RevealUntil int64    `json:"revealUntil"`
	Deadline    int64    `json:"awardDeadline,omitempty"`
	Completable int64    `json:"completableAfter,omitempty"` // by any keeper, while the first one leaves awards out
	Stopped     bool     `json:"stopped,omitempty"`          // another keeper had to complete it
	MaxPrice    string   `json:"maxPricePerGpuHour,omitempty"`
	Keeper      string   `json:"keeper,omitempty"`
	BidsRoot    string   `json:"bidsRoot,omitempty"`
	Winners     []string `json:"winners"`
	Bar         string   `json:"bestLosingNode,omitempty"`
	BarScore    uint64   `json:"bestLosingScore,omitempty"`
	AwardedAt   int64    `json:"awardedAt,omitempty"`
	Challenge   int64    `json:"challengeUntil,omitempty"`
}

// auctionState says where an auction is.
func auctionState(a *market.Auction, orderOpen bool, now int64) string {
	switch {
	case a.WinnerCount > 0 && orderOpen:
		return "awarded in part"
	case a.WinnerCount > 0:
		return "awarded"
	case !orderOpen:
		return "over without an award"
	case now <= a.CloseAt:
		return "nodes commit to their bids"
	case now <= a.RevealUntil:
		return "nodes reveal their bids"
	}
	return "a keeper awards"
}

func (s *session) auctionShow() error {
	order, v, err := s.auctionOrder()
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	a, ok := v.AuctionOf(order)
	if !ok {
		return refused(fmt.Sprintf("order %s has no auction (any more)", order), "what happened in it: gantry auction replay "+order.String())
	}
	o, open := v.Order(order)
	out := auctionJSON{
		Order: order.String(), CloseAt: a.CloseAt, RevealUntil: a.RevealUntil, Winners: []string{},
		State: auctionState(&a, open && o.State() == market.OrderOpen, now),
	}
	if open {
		out.Deadline, out.MaxPrice, out.Stopped = o.AwardDeadline, market.PricePerHour(o.MaxPrice).String(), o.Stopped == 1
		if a.WinnerCount > 0 && o.State() == market.OrderOpen {
			out.Completable = a.CompletableAfter(o.AwardDeadline)
		}
	}
	if a.WinnerCount > 0 {
		out.Keeper, out.BidsRoot, out.AwardedAt, out.Challenge = a.Keeper.String(), fmt.Sprintf("%x", a.BidsRoot), a.AwardedAt, a.ChallengeUntil
		if !a.BarNode.IsZero() {
			out.Bar, out.BarScore = a.BarNode.String(), a.BarScore
		}
		for _, w := range a.Winners[:min(int(a.WinnerCount), len(a.Winners))] {
			out.Winners = append(out.Winners, w.String())
		}
	}
	return s.done(out, func(w io.Writer) {
		fmt.Fprintf(w, "order %s   %s\n", out.Order, out.State)
		fmt.Fprintf(w, " commitments until  %s UTC\n reveals until      %s UTC\n", when(out.CloseAt), when(out.RevealUntil))
		if out.Deadline > 0 {
			fmt.Fprintf(w, " award until        %s UTC, at most %s USDC per GPU-hour\n", when(out.Deadline), out.MaxPrice)
		}
		if out.Keeper == "" {
			return
		}
		fmt.Fprintf(w, " awarded            %s UTC by keeper %s\n", when(out.AwardedAt), out.Keeper)
		if out.Completable > 0 {
			fmt.Fprintf(w, " the rest           until %s UTC by the same keeper, then by any\n", when(out.Completable))
		}
		if out.Stopped {
			fmt.Fprintln(w, " stopped            by that keeper, which has no share of the fees; another one made the other awards")
		}
		for _, n := range out.Winners {
			fmt.Fprintf(w, " winner             node %s\n", n)
		}
		if out.Bar == "" {
			fmt.Fprintln(w, " price              the order's maximum, since no bid lost")
		} else {
			fmt.Fprintf(w, " price              by the best losing bid, of node %s, score %d\n", out.Bar, out.BarScore)
		}
		fmt.Fprintf(w, " root of all bids   %s\n check it with: gantry auction replay %s\n", out.BidsRoot, out.Order)
	})
}

// auctionOrder reads the ORDER argument; the order may be closed.
func (s *session) auctionOrder() (solana.PublicKey, *view.View, error) {
	args, err := s.args("ORDER")
	if err != nil {
		return solana.PublicKey{}, nil, err
	}
	v, err := s.snapshot(aboutAuction(args[0]))
	if err != nil {
		return solana.PublicKey{}, nil, err
	}
	if key, err := solana.PublicKeyFromBase58(args[0]); err == nil {
		return key, v, nil
	}
	key, err := pick(args[0], "auction", addresses(v.Auctions(), func(a market.Auction) solana.PublicKey { return a.Order }))
	return key, v, err
}

// replayJSON is a replayed auction as printed.
type replayJSON struct {
	Order      string          `json:"order"`
	Keeper     string          `json:"keeper,omitempty"`
	OK         bool            `json:"ok"`
	Outcome    string          `json:"outcome"` // right, wrong or unknown
	Lives      int             `json:"lives"`
	Awards     []awardJSON     `json:"awards"`
	Bids       []bidJSON       `json:"bids"`
	Violations []violationJSON `json:"violations"`
	Doubts     []string        `json:"doubts"`
	Steps      []service.Step  `json:"steps"`
	Proof      *sent           `json:"proof,omitempty"`
}

type awardJSON struct {
	Node  string `json:"node"`
	Bid   string `json:"bid"`
	Price string `json:"price"`
	Score uint64 `json:"score"`
	Tx    string `json:"transaction"`
}

type violationJSON struct {
	Who  string `json:"who"`
	What string `json:"what"`
}

func (s *session) auctionReplay() error {
	order, _, err := s.auctionOrder()
	if err != nil {
		return err
	}
	o, explorer, err := s.service.AuditOptions(s.ctx)
	if err != nil {
		return err
	}
	mk, err := s.market()
	if err != nil {
		return err
	}
	stop := s.waiting("the chain's history", "Ctrl-C stops; nothing is changed")
	a, err := audit.AuditAuction(s.ctx, o, order)
	stop()
	if errors.Is(err, audit.ErrNoHistory) {
		return refused(fmt.Sprintf("%s is not a sealed order, as far as this node remembers", order), "check the address; an archive node remembers everything: --url")
	}
	if err != nil {
		return err
	}
	v, err := s.snapshot(biddersOf(order))
	if err != nil {
		return err
	}
	r := audit.Replay{Domain: mk.Domain, Market: mk, Nodes: lookupNodes(v), Keys: roles.Names{View: v}.Keys}
	if r.Sets, err = s.publishedBids(v, a); err != nil {
		return err
	}
	for _, path := range s.cli.StringSlice("acks") {
		bids, err := readAcks(path, order, a.CloseAt)
		if err != nil {
			return err
		}
		r.Bids = append(r.Bids, bids...)
	}
	a.Replay(r)
	out := replayJSON{
		Order: order.String(), OK: a.OK(), Outcome: string(a.Outcome()), Lives: a.Lives, Awards: []awardJSON{}, Bids: describeBids(a, r.Sets), Violations: []violationJSON{},
		Doubts: append([]string{}, a.Doubts...), Steps: service.DescribeSteps(a.Steps, explorer),
	}
	if !a.Keeper().IsZero() {
		out.Keeper = a.Keeper().String()
	}
	for _, w := range a.Awards {
		out.Awards = append(out.Awards, awardJSON{w.Node.String(), w.Bid.String(), w.Price.String(), w.Score, w.Signature.String()})
	}
	for _, c := range a.Violations {
		out.Violations = append(out.Violations, violationJSON{c.Who, c.What})
	}
	var proof error
	if s.cli.Bool("prove") {
		out.Proof, proof = s.proveOmitted(v, mk, a)
	}
	err = s.done(out, func(w io.Writer) { printReplay(w, &out) })
	if err == nil && proof != nil {
		return proof
	}
	if err == nil && a.Outcome() == audit.Unknown {
		return judged(out.Outcome)
	}
	if err == nil && !out.OK {
		err = &failure{Code: ExitViolation, Reason: "the auction broke the rules", Advice: "the violations and who committed them are above", Told: true}
	}
	return err
}

func printReplay(w io.Writer, out *replayJSON) {
	fmt.Fprintf(w, "auction of order %s\n", out.Order)
	if out.Lives > 1 {
		fmt.Fprintf(w, "this address had %d auctions; the last one is shown\n", out.Lives)
	}
	printSteps(w, out.Steps)
	if len(out.Bids) > 0 {
		rows := make([][]string, len(out.Bids))
		for i, b := range out.Bids {
			rows[i] = []string{b.Node, b.Price, fmt.Sprint(b.Score), b.Outcome, fmt.Sprint(b.Acks)}
		}
		table(w, "NODE|BID $/GPU-H|SCORE|OUTCOME|ACKNOWLEDGED BY", rows)
	}
	for _, d := range out.Doubts {
		fmt.Fprintf(w, "  ? %s\n", d)
	}
	for _, c := range out.Violations {
		fmt.Fprintf(w, "  ✗ VIOLATION: %s %s\n", c.Who, c.What)
	}
	if out.Proof != nil {
		fmt.Fprintln(w, proofLine(out.Proof))
	}
	switch out.Outcome {
	case string(audit.Right):
		fmt.Fprintln(w, "no violation is proven.")
	case string(audit.Unknown):
		fmt.Fprintln(w, "NOT KNOWN whether there is a violation: some of it could not be read.")
	}
}

// askFor bounds the time for one keeper's answer.
const askFor = 10 * time.Second

func (s *session) askContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, askFor)
}

// readFile reads a file that a flag names.
func readFile(flag, path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, usage(fmt.Sprintf("--%s: %v", flag, err), "")
	}
	return raw, nil
}
