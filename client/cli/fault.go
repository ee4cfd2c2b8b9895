package cli

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/query"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/records"
)

func faultCommands(s Streams) []*cli.Command {
	return []*cli.Command{
		{
			Name: "fault", Usage: "slashes that wait for their appeal window",
			Subcommands: []*cli.Command{
				{Name: "list", Usage: "open faults", Action: action(s, (*session).faults)},
				{Name: "apply", Usage: "apply a fault whose appeal window has passed; anyone may", ArgsUsage: "FAULT", Action: action(s, (*session).faultApply)},
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

// faultJSON is a fault as printed.
type faultJSON struct {
	Address      string   `json:"address"`
	Node         string   `json:"node"`
	Provider     string   `json:"provider"`
	Lease        string   `json:"lease,omitempty"`
	Customer     string   `json:"customer,omitempty"`
	Finder       string   `json:"finder"`
	Period       uint64   `json:"period"`
	Flags        []string `json:"flags"`
	Amount       string   `json:"amount"`
	Harm         string   `json:"harm"`
	ReportedAt   int64    `json:"reportedAt"`
	ApplicableAt int64    `json:"applicableAt"`
	AppealWeight string   `json:"appealWeight"`
	TotalWeight  string   `json:"totalWeight"`
}

func describeFault(f *market.Fault) faultJSON {
	out := faultJSON{
		Address: f.Address.String(), Node: f.Node.String(), Provider: f.Provider.String(), Finder: f.Finder.String(), Period: f.Period,
		Flags: records.Flags(f.Flags).Names(), Amount: market.GNT(f.Amount).String(), Harm: market.GNT(f.Harm).String(), ReportedAt: f.ReportedAt,
		ApplicableAt: f.ApplicableAt, AppealWeight: market.GNT(f.AppealWeight).String(), TotalWeight: market.GNT(f.TotalWeight).String(),
	}
	if f.HasLease() {
		out.Lease, out.Customer = f.Lease.String(), f.Customer.String()
	}
	return out
}

func (s *session) faults() error {
	if _, err := s.args(); err != nil {
		return err
	}
	v, err := s.snapshot()
	if err != nil {
		return err
	}
	out := []faultJSON{}
	for _, f := range v.Faults() {
		out = append(out, describeFault(&f))
	}
	return s.done(out, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no open faults; past ones: gantry audit slash NODE")
			return
		}
		rows := make([][]string, len(out))
		for i, f := range out {
			rows[i] = []string{f.Address, f.Node[:6] + "…", fmt.Sprint(f.Period), fmt.Sprint(f.Flags), f.Amount, f.Harm, when(f.ApplicableAt), f.AppealWeight + " of " + f.TotalWeight}
		}
		table(w, "FAULT|NODE|PERIOD|FLAGS|SLASH GNT|HARM GNT|APPLICABLE (UTC)|APPEAL WEIGHT", rows)
	})
}

func (s *session) fault(v *view.View) (market.Fault, error) {
	args, err := s.args("FAULT")
	if err != nil {
		return market.Fault{}, err
	}
	key, err := pick(args[0], "fault", addresses(v.Faults(), func(f market.Fault) solana.PublicKey { return f.Address }))
	if err != nil {
		return market.Fault{}, err
	}
	f, ok := v.Fault(key)
	if !ok {
		return f, refused(fmt.Sprintf("fault %s does not exist (any more)", key), "its history: gantry audit slash "+key.String())
	}
	return f, nil
}

// faultTx is the result of a transaction about a fault.
type faultTx struct {
	Fault faultJSON `json:"fault"`
	Tx    sent      `json:"transaction"`
}

func (s *session) faultApply() error {
	mk, key, err := s.open()
	if err != nil {
		return err
	}
	v, err := s.snapshot()
	if err != nil {
		return err
	}
	f, err := s.fault(v)
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	if f.CanApply(now) != nil {
		return refused(fmt.Sprintf("the appeal window is open until %s UTC, %s more", when(f.ApplicableAt), span(f.ApplicableAt-now)), "come back then")
	}
	instruction, err := ix.SlashApply(ix.SlashApplyArgs{Payer: key.PublicKey(), Fault: f, StakeMint: mk.StakeMint})
	if err != nil {
		return err
	}
	tx, err := s.send("slash_apply", []solana.Instruction{instruction})
	if err != nil {
		return err
	}
	return s.done(faultTx{describeFault(&f), tx}, func(w io.Writer) {
		fmt.Fprintf(w, "%s GNT slashed   how it was split: gantry audit slash %s   tx %s\n", market.GNT(f.Amount), f.Address, tx.Signature)
	})
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
	if err := statement.Verify(keeper, sig); err != nil {
		return usage("the signature is not the keeper's over this statement", "check --keeper, --statement and --signature")
	}
	v, err := s.snapshot()
	if err != nil {
		return err
	}
	f, err := s.fault(v)
	if err != nil {
		return err
	}
	ixs, err := ix.SlashAppeal(ix.SlashAppealArgs{Fault: f, Keeper: keeper, Statement: statement, Signature: sig})
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
	return s.done(faultTx{describeFault(&f), tx}, func(w io.Writer) {
		if !open {
			fmt.Fprintf(w, "the fault is voided: nothing is slashed   tx %s\n", tx.Signature)
			return
		}
		fmt.Fprintf(w, "counted: %s of %s GNT contradict it, more than a third voids it   tx %s\n", market.GNT(after.AppealWeight), market.GNT(after.TotalWeight), tx.Signature)
	})
}
