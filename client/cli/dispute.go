package cli

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func disputeCommands(s Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "dispute", Usage: "what a lease did not give, decided by the keepers' votes",
		Subcommands: []*cli.Command{
			{
				Name: "open", Usage: "dispute a lease of yours, once; a deposit waits for the verdict", ArgsUsage: "LEASE",
				Description: "Only the sha256 of the complaint is written to the chain; the file is sent to the keepers, who give it to each other and to " +
					"whoever asks. The deposit is a tenth of what the lease was paid, at most the market's dispute_deposit, and at least what it " +
					"costs to freeze the stake in question. It is lost if a quorum of keepers rejects the dispute; a quarter of it is if they do " +
					"not decide. An upheld dispute slashes the node's stake after an appeal window, and you are compensated from it; what the " +
					"lease was paid is not paid back.",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "kind", Usage: "`KIND` not-delivered (the job did not run as ordered) or bad-output (it ran, its output is wrong)"},
					&cli.StringFlag{Name: "complaint", Usage: "`FILE` that says and shows what is wrong"},
				},
				Action: action(s, (*session).disputeOpen),
			},
			{
				Name: "send", Usage: "send the complaint of an open dispute to the keepers again", ArgsUsage: "LEASE",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "complaint", Usage: "`FILE` whose sha256 is on chain"}},
				Action: action(s, (*session).disputeSend),
			},
			{
				Name: "answer", Usage: "bring your side of a dispute to the keepers, as the provider of the lease; the newest answer counts", ArgsUsage: "LEASE",
				Description: "Signed with --keypair: the provider's wallet, or the machine's own key (node.json of gantry-agent). Nothing is written to the " +
					"chain. Keepers keep it until the dispute is over, pass it on and show it to their operators.",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "answer", Usage: "`FILE` that says and shows your side, at most 64 KiB"}},
				Action: action(s, (*session).disputeAnswer),
			},
			{
				Name: "read", Usage: "both sides of an open dispute: the customer's complaint and the provider's answer, from the keepers", ArgsUsage: "LEASE",
				Description: "The complaint has the sha256 that is on chain, the answer the signature of the machine or its provider. Neither is " +
					"true for that.",
				Action: action(s, (*session).disputeRead),
			},
			{Name: "show", Usage: "open disputes, or a lease's: votes by weight, verdict, time left", ArgsUsage: "[LEASE]", Action: action(s, (*session).disputeShow)},
		},
	}}
}

// disputeJSON is an open dispute as printed.
type disputeJSON struct {
	Address         string   `json:"address"`
	Lease           string   `json:"lease"`
	Node            string   `json:"node"`
	Customer        string   `json:"customer"`
	Kind            string   `json:"kind"`
	ComplaintSHA256 string   `json:"complaintSha256"`
	Deposit         string   `json:"deposit"`
	OpenedAt        int64    `json:"openedAt"`
	ClosesAt        int64    `json:"closesAt"`
	SecondsLeft     int64    `json:"secondsLeft"`
	UpheldWeight    string   `json:"upheldWeight"`
	RejectedWeight  string   `json:"rejectedWeight"`
	TotalWeight     string   `json:"totalWeight"`
	QuorumBPS       uint16   `json:"quorumBps"`
	UpheldBy        []string `json:"upheldBy"` // wallets, or indices of keepers that have left
	RejectedBy      []string `json:"rejectedBy"`
	Verdict         string   `json:"verdict"`
}

func describeDispute(d *market.Dispute, keepers []market.Keeper, now int64) disputeJSON {
	return disputeJSON{
		Address: d.Address.String(), Lease: d.Lease.String(), Node: d.Node.String(), Customer: d.Customer.String(),
		Kind: market.DisputeKind(d.Kind).String(), ComplaintSHA256: hex.EncodeToString(d.EvidenceHash[:]), Deposit: market.USDC(d.Deposit).String(),
		OpenedAt: d.OpenedAt, ClosesAt: d.ClosesAt, SecondsLeft: max(d.ClosesAt-now, 0), UpheldWeight: market.GNT(d.UpheldWeight).String(),
		RejectedWeight: market.GNT(d.RejectedWeight).String(), TotalWeight: market.GNT(d.TotalWeight).String(), QuorumBPS: d.QuorumBps,
		UpheldBy: service.Voters(d.UpheldVoters, keepers), RejectedBy: service.Voters(d.RejectedVoters, keepers), Verdict: d.Verdict().String(),
	}
}

// next says what happens to a dispute next.
func (j disputeJSON) next() string {
	switch {
	case j.Verdict == market.VerdictUpheld.String():
		return "anyone may turn it into a fault, and keepers do; the deposit is free then"
	case j.Verdict == market.VerdictRejected.String():
		return "anyone may close it, and keepers do; the deposit is lost then, half of it to the provider"
	case j.SecondsLeft == 0:
		return "its time is over: anyone may close it, and keepers do; a quarter of the deposit is the provider's then"
	}
	return fmt.Sprintf("%s %% of the weight on one side decides; undecided it ends in %s and costs a quarter of the deposit", market.Percent(j.QuorumBPS), span(j.SecondsLeft))
}

// disputeTx is the result of a transaction about a dispute.
type disputeTx struct {
	Dispute disputeJSON `json:"dispute"`
	Open    bool        `json:"open"` // false when it was closed right after
	Tx      sent        `json:"transaction"`
}

func (s *session) disputeOpen() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	kind, err := market.ParseDisputeKind(s.cli.String("kind"))
	if err != nil {
		return usage("--kind: "+err.Error(), "give not-delivered or bad-output")
	}
	complaint, hash, err := readComplaint(s.cli.String("complaint"))
	if err != nil {
		return err
	}
	mk, _, err := s.open()
	if err != nil {
		return err
	}
	v, l, err := s.ownLease(s.snapshot, args[0], query.Kind(market.KindKeeper))
	if err != nil {
		return err
	}
	n, ok := v.Node(l.Node)
	if !ok {
		return refused(fmt.Sprintf("dispute refused: node %s is not known", l.Node), "try again")
	}
	deposit, err := s.disputable(&mk, &l, &n)
	if err != nil {
		return err
	}
	s.say("a deposit of %s USDC is reserved until the dispute is closed, %s after it is opened at the latest; it is lost if keepers reject it, and a quarter of it if they do not decide",
		deposit, market.Seconds(mk.Params.AppealSecs))
	if err := s.confirm("dispute  lease %s: %s USDC of the credits are reserved as its deposit", l.Address, deposit); err != nil {
		return err
	}
	instruction, err := ix.DisputeOpen(ix.DisputeOpenArgs{Lease: l, Kind: kind, Complaint: hash})
	tx, err := s.sendOne("dispute_open", instruction, err)
	if err != nil {
		return err
	}
	d, err := query.Fetch[market.Dispute](s.ctx, s.client, market.DisputeAddress(l.Address), s.waitLevel())
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	j := describeDispute(&d, v.Keepers(), now)
	reached, err := s.sendComplaint(v, l.Address, complaint)
	if err != nil {
		return err
	}
	return s.done(disputeTx{j, true, tx}, func(w io.Writer) {
		fmt.Fprintf(w, "disputed: %s   deposit %s USDC   closes at %s UTC, in %s   tx %s\n", j.Kind, j.Deposit, when(j.ClosesAt), span(j.SecondsLeft), tx.Signature)
		fmt.Fprintf(w, "%s, sha256 %s,\nreached %d of %d keepers, who pass it on. follow it with: gantry dispute show %s\n",
			s.cli.String("complaint"), j.ComplaintSHA256, reached, len(v.Keepers()), l.Address)
		if reached == 0 {
			fmt.Fprintf(w, "keepers cannot judge what they cannot read: send it again with gantry dispute send %s --complaint FILE\n", l.Address)
		}
	})
}

// disputable says why a lease cannot be disputed, before a transaction is sent, or what the deposit is.
func (s *session) disputable(mk *market.Market, l *market.Lease, n *market.Node) (market.USDC, error) {
	deposit, err := wallet.Deposit(mk, l, n)
	if err != nil {
		return 0, err
	}
	c, _, err := s.credits(l.Customer)
	if err != nil {
		return 0, err
	}
	if c.Free() < deposit {
		return 0, refused(fmt.Sprintf("dispute refused: its deposit is %s USDC, %s free%s", deposit, c.Free(), buy.ReservedBy(c)),
			fmt.Sprintf("add %s with: gantry credits add %s", deposit-c.Free(), deposit-c.Free()))
	}
	return deposit, nil
}

// dispute finds the open dispute of a lease.
func (s *session) dispute(v *view.View, text string) (market.Dispute, error) {
	key, err := pick(text, "disputed lease", addresses(v.Disputes(), func(d market.Dispute) solana.PublicKey { return d.Lease }))
	if err != nil {
		return market.Dispute{}, err
	}
	d, ok := v.DisputeOf(key)
	if ok {
		return d, nil
	}
	l, exists := v.Lease(key)
	switch {
	case !exists:
		return d, refused(fmt.Sprintf("there is no lease %s and no dispute of it (any more)", key), "its history is in: gantry audit "+key.String())
	case l.Disputed == 1:
		return d, refused(fmt.Sprintf("the dispute of lease %s is closed", key), "its outcome: gantry audit "+key.String())
	}
	return d, refused(fmt.Sprintf("lease %s is not disputed", key), "its customer may: gantry dispute open LEASE")
}

func (s *session) disputeShow() error {
	if s.cli.NArg() > 1 {
		return usage(fmt.Sprintf("%q is one argument too many", s.cli.Args().Get(1)), "write: gantry dispute show [LEASE]")
	}
	if _, err := s.market(); err != nil {
		return err
	}
	v, now, err := s.snapshotNow(aboutDispute(s.cli.Args().First()))
	if err != nil {
		return err
	}
	if text := s.cli.Args().First(); text != "" {
		d, err := s.dispute(v, text)
		if err != nil {
			return err
		}
		j := describeDispute(&d, v.Keepers(), now)
		return s.done(j, j.print)
	}
	out := []disputeJSON{}
	for _, d := range v.Disputes() {
		out = append(out, describeDispute(&d, v.Keepers(), now))
	}
	return s.done(out, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no open disputes; past ones are in their leases' histories: gantry audit LEASE")
			return
		}
		rows := make([][]string, len(out))
		for i, j := range out {
			rows[i] = []string{j.Lease, j.Kind, j.Deposit, j.UpheldWeight, j.RejectedWeight, j.TotalWeight, j.Verdict, span(j.SecondsLeft)}
		}
		table(w, "LEASE|KIND|DEPOSIT|UPHELD GNT|REJECTED GNT|OF GNT|VERDICT|TIME LEFT", rows)
	})
}

func (j disputeJSON) print(w io.Writer) {
	pairs(w, [2]string{"lease", j.Lease}, [2]string{"node", j.Node}, [2]string{"customer", j.Customer}, [2]string{"kind", j.Kind},
		[2]string{"complaint sha256", j.ComplaintSHA256}, [2]string{"deposit", j.Deposit + " USDC"},
		[2]string{"upheld", fmt.Sprintf("%s of %s GNT  by %v", j.UpheldWeight, j.TotalWeight, j.UpheldBy)},
		[2]string{"rejected", fmt.Sprintf("%s of %s GNT  by %v", j.RejectedWeight, j.TotalWeight, j.RejectedBy)},
		[2]string{"verdict", j.Verdict}, [2]string{"closes", fmt.Sprintf("%s UTC, in %s", when(j.ClosesAt), span(j.SecondsLeft))}, [2]string{"next", j.next()})
}

func (s *session) keeperVoteDispute() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	uphold := s.cli.Bool("uphold")
	if uphold == s.cli.Bool("reject") {
		return usage("say how to vote", "give --uphold (for the customer) or --reject (against it), one of them")
	}
	_, key, err := s.open()
	if err != nil {
		return err
	}
	k, err := s.signedFor(key.PublicKey())
	if err != nil {
		return err
	}
	wallet := k.Wallet
	v, err := s.snapshot(aboutDispute(args[0]))
	if err != nil {
		return err
	}
	d, err := s.dispute(v, args[0])
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	switch err := d.CanVote(&k, now); {
	case market.Is(err, market.CodeKeeperNotActive) && k.State() != market.KeeperActive:
		return refused(fmt.Sprintf("keeper %s is %s and has no vote", wallet, k.State()), "active keepers vote")
	case market.Is(err, market.CodeKeeperNotActive):
		return refused(fmt.Sprintf("keeper %s became active at %s UTC, not before the dispute was opened at %s UTC", wallet, when(k.ActiveSince), when(d.OpenedAt)),
			"keepers that were active before vote")
	case market.Is(err, market.CodeTooLate):
		return refused(fmt.Sprintf("the vote closed at %s UTC", when(d.ClosesAt)), "anyone may close the dispute now, and keepers do")
	case market.Is(err, market.CodeAlreadyVoted):
		return refused(fmt.Sprintf("keeper %s has voted on this dispute", wallet), "a vote cannot be changed; see: gantry dispute show "+d.Lease.String())
	}
	instruction, err := ix.DisputeVote(ix.DisputeVoteArgs{Keeper: wallet, Signer: key.PublicKey(), Dispute: d.Address, Uphold: uphold})
	tx, err := s.sendOne("dispute_vote", instruction, err)
	if err != nil {
		return err
	}
	after, open, err := query.Find[market.Dispute](s.ctx, s.client, d.Address, s.waitLevel())
	if err != nil {
		return err
	}
	if open {
		d = after
	}
	j := describeDispute(&d, v.Keepers(), now)
	return s.done(disputeTx{j, open, tx}, func(w io.Writer) {
		if !open {
			fmt.Fprintf(w, "voted, and the dispute is closed already: gantry audit %s   tx %s\n", j.Lease, tx.Signature)
			return
		}
		fmt.Fprintf(w, "voted: upheld by %s, rejected by %s of %s GNT: %s   tx %s\n%s\n", j.UpheldWeight, j.RejectedWeight, j.TotalWeight, j.Verdict, tx.Signature, j.next())
	})
}
