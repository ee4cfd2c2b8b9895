package cli

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/records"
)

func faultCommands(s Streams) []*cli.Command {
	return []*cli.Command{
		{
			Name: "fault", Usage: "slashes that wait for their appeal window, or for the claims of those that were harmed",
			Subcommands: []*cli.Command{
				{Name: "list", Usage: "open faults", Action: action(s, (*session).faults)},
				{Name: "apply", Usage: "apply a fault whose appeal window has passed; anyone may", ArgsUsage: "FAULT", Action: action(s, (*session).faultApply)},
				{Name: "compensate", Usage: "have an applied fault compensate a lease; anyone may", ArgsUsage: "FAULT LEASE", Action: action(s, (*session).faultCompensate)},
				{Name: "close", Usage: "burn what nobody claimed of an applied fault; anyone may", ArgsUsage: "FAULT", Action: action(s, (*session).faultClose)},
				{
					Name: "appeal", Usage: "bring a keeper's signed statement that contradicts a fault", ArgsUsage: "FAULT",
					Flags: []cli.Flag{
						&cli.StringFlag{Name: "keeper", Usage: "`WALLET` of the keeper that signed"},
						&cli.StringFlag{Name: "statement", Usage: "the 144 bytes as `HEX`"}, &cli.StringFlag{Name: "signature", Usage: "`BASE58`"},
					},
					Action: action(s, (*session).faultAppeal),
				},
			},
		},
		{
			Name: "report", Usage: "what the keepers agreed on",
			Subcommands: []*cli.Command{{Name: "show", Usage: "a period's votes and root", ArgsUsage: "PERIOD|latest", Action: action(s, (*session).reportShow)}},
		},
	}
}

func (s *session) faults() error {
	if _, err := s.args(); err != nil {
		return err
	}
	v, err := s.snapshot(only(market.KindFault))
	if err != nil {
		return err
	}
	out := []service.Fault{}
	for _, f := range v.Faults() {
		out = append(out, service.DescribeFault(&f))
	}
	return s.done(out, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no open faults; past ones: gantry audit slash NODE")
			return
		}
		rows := make([][]string, len(out))
		for i, f := range out {
			rows[i] = []string{f.Address, f.Node[:6] + "…", fmt.Sprint(f.Period), f.Cause, fmt.Sprint(f.Flags), f.State, f.Amount, f.PoolLeft, when(f.ApplicableAt), f.AppealWeight + " of " + f.TotalWeight}
		}
		table(w, "FAULT|NODE|PERIOD|CAUSE|FLAGS|STATE|SLASH GNT|UNCLAIMED GNT|APPLICABLE (UTC)|APPEAL WEIGHT", rows)
	})
}

func (s *session) fault() (market.Fault, error) {
	args, err := s.args("FAULT")
	if err != nil {
		return market.Fault{}, err
	}
	return s.faultOf(args[0])
}

// faultNow is the fault that the command names, and the cluster's time, unix seconds.
func (s *session) faultNow() (market.Fault, int64, error) {
	f, err := s.fault()
	if err != nil {
		return f, 0, err
	}
	now, err := s.now()
	return f, now, err
}

func (s *session) faultOf(name string) (market.Fault, error) {
	if _, err := s.market(); err != nil {
		return market.Fault{}, err
	}
	key, err := s.named(name, "fault", query.Kind(market.KindFault))
	if err != nil {
		return market.Fault{}, err
	}
	f, ok, err := query.Find[market.Fault](s.ctx, s.client, key, s.client.Commitment())
	if err != nil {
		return f, err
	}
	if !ok {
		return f, refused(fmt.Sprintf("fault %s does not exist (any more)", key), "its history: gantry audit slash "+key.String())
	}
	return f, nil
}

// faultTx is the result of a transaction about a fault.
type faultTx struct {
	Fault service.Fault `json:"fault"`
	Tx    sent          `json:"transaction"`
}

func (s *session) faultApply() error {
	mk, key, err := s.open()
	if err != nil {
		return err
	}
	f, now, err := s.faultNow()
	if err != nil {
		return err
	}
	if f.Applied() {
		return refused("the fault was applied", "what it pays: gantry fault compensate")
	}
	if f.CanApply(now) != nil {
		return refused(fmt.Sprintf("the appeal window is open until %s UTC, %s more", when(f.ApplicableAt), span(f.ApplicableAt-now)), "come back then")
	}
	instruction, err := ix.SlashApply(ix.SlashApplyArgs{Payer: key.PublicKey(), Fault: f, StakeMint: mk.StakeMint})
	tx, err := s.sendOne("slash_apply", instruction, err)
	if err != nil {
		return err
	}
	return s.done(faultTx{service.DescribeFault(&f), tx}, func(w io.Writer) {
		fmt.Fprintf(w, "%s GNT slashed   how it was split: gantry audit slash %s   tx %s\n", market.GNT(f.Amount), f.Address, tx.Signature)
	})
}

func (s *session) faultCompensate() error {
	_, key, err := s.open()
	if err != nil {
		return err
	}
	args, err := s.args("FAULT", "LEASE")
	if err != nil {
		return err
	}
	f, err := s.faultOf(args[0])
	if err != nil {
		return err
	}
	scope, err := s.aboutLease(args[1])
	if err != nil {
		return err
	}
	v, err := s.snapshot(scope)
	if err != nil {
		return err
	}
	l, err := s.lease(v, args[1])
	if err != nil {
		return err
	}
	if err := f.CanCompensate(&l); err != nil {
		return refused(fmt.Sprintf("the fault pays nothing for lease %s: %v", l.Address, err), "gantry fault list")
	}
	instruction, err := ix.SlashCompensate(ix.SlashCompensateArgs{Payer: key.PublicKey(), Fault: f, Lease: l})
	tx, err := s.sendOne("slash_compensate", instruction, err)
	if err != nil {
		return err
	}
	return s.done(faultTx{service.DescribeFault(&f), tx}, func(w io.Writer) {
		fmt.Fprintf(w, "lease %s has its part, in a payout of its customer   tx %s\n", l.Address, tx.Signature)
	})
}

func (s *session) faultClose() error {
	mk, _, err := s.open()
	if err != nil {
		return err
	}
	f, now, err := s.faultNow()
	if err != nil {
		return err
	}
	if f.CanClose(now) != nil {
		return refused("the fault may still be appealed or claimed from", "gantry fault list")
	}
	instruction, err := ix.SlashClose(f, mk.StakeMint)
	tx, err := s.sendOne("slash_close", instruction, err)
	if err != nil {
		return err
	}
	return s.done(faultTx{service.DescribeFault(&f), tx}, func(w io.Writer) {
		fmt.Fprintf(w, "%s GNT burned   tx %s\n", market.GNT(f.PoolLeft), tx.Signature)
	})
}

// signerOf is the key of a keeper with which verify has no error; zero when there is none.
func (s *session) signerOf(keeper solana.PublicKey, verify func(solana.PublicKey) error) (solana.PublicKey, error) {
	k, known, err := query.Find[market.Keeper](s.ctx, s.client, market.KeeperAddress(keeper), s.waitLevel())
	if err != nil || !known {
		return solana.PublicKey{}, err
	}
	for _, key := range k.Liable(s.service.Clock.Latest(s.ctx).Unix()) {
		if verify(key) == nil {
			return key, nil
		}
	}
	return solana.PublicKey{}, nil
}

func (s *session) faultAppeal() error {
	raw, err := hex.DecodeString(s.cli.String("statement"))
	if err != nil {
		return usage("--statement is not hex", "give the 144 bytes that the keeper signed")
	}
	statement, err := records.DecodeStatement(raw)
	if err != nil {
		return usage("--statement: "+err.Error(), "give the 144 bytes that the keeper signed")
	}
	sig, err := solana.SignatureFromBase58(s.cli.String("signature"))
	if err != nil {
		return usage("--signature is not a base58 signature", "")
	}
	keeper, err := address(s.cli.String("keeper"), "keeper's wallet")
	if err != nil {
		return err
	}
	by, err := s.signerOf(keeper, func(key solana.PublicKey) error { return statement.Verify(key, sig) })
	if err != nil {
		return err
	}
	if by.IsZero() {
		return usage("the signature is not the keeper's over this statement", "check --keeper, --statement and --signature")
	}
	f, err := s.fault()
	if err != nil {
		return err
	}
	ixs, err := ix.SlashAppeal(ix.SlashAppealArgs{Fault: f, Keeper: keeper, Signer: by, Statement: statement, Signature: sig})
	if err != nil {
		return err
	}
	tx, err := s.send("slash_appeal", ixs)
	if err != nil {
		return err
	}
	after, open, err := query.Find[market.Fault](s.ctx, s.client, f.Address, s.waitLevel())
	if err != nil {
		return err
	}
	return s.done(faultTx{service.DescribeFault(&f), tx}, func(w io.Writer) {
		if !open {
			fmt.Fprintf(w, "the fault is voided: nothing is slashed   tx %s\n", tx.Signature)
			return
		}
		fmt.Fprintf(w, "counted: %s of %s GNT contradict it, more than a third voids it   tx %s\n", market.GNT(after.AppealWeight), market.GNT(after.TotalWeight), tx.Signature)
	})
}
