package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

func auditCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "audit", Usage: "rebuild a lease's history from the chain and check every amount, signature and proof", ArgsUsage: "LEASE",
		Description: "Works on transactions alone, also after the accounts are closed. Needs no key.",
		Action:      action(s, (*session).auditLease),
		Subcommands: []*cli.Command{
			{Name: "slash", Usage: "rebuild the slashes of a fault, a node or a keeper", ArgsUsage: "FAULT|NODE|KEEPER", Action: action(s, (*session).auditSlash)},
		},
	}}
}

func (s *session) auditLease() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	if _, err := s.Market(); err != nil {
		return err
	}
	key, err := s.Named(args[0], "lease", query.Kind(market.KindLease))
	if err != nil {
		return err
	}
	stop := s.Waiting("the chain's history", "Ctrl-C stops; nothing is changed")
	out, err := s.Service.Audit(s.Context, key)
	stop()
	if err != nil {
		return err
	}
	err = s.Done(out, func(w *terminal.Page) {
		w.Pairs([2]string{"lease", out.Lease}, [2]string{"order", out.Order}, [2]string{"node", out.Node},
			[2]string{"provider", cmp.Or(out.Owner, unread)}, [2]string{"awarded by", cmp.Or(out.Keeper, unread)})
		if out.Lives > 1 {
			fmt.Fprintf(w, "this address was a lease %d times; the last one is shown\n", out.Lives)
		}
		terminal.WriteSteps(w, out.Steps)
		if out.PaidSecs > 0 && out.Outcome != string(audit.Unknown) {
			fmt.Fprintf(w, "%d s × %d × %s / 3600 = %s USDC → provider %s, fee %s (%s %%); refunded %s\n", out.PaidSecs, out.GPUs, out.Price, out.Paid,
				out.Provider, out.Fee, market.Percent(out.FeeBPS), out.Refunded)
		}
		verdict(w, out.Outcome, out.Explorer)
	})
	if err == nil {
		err = judged(out.Outcome)
	}
	return err
}

// unread is said of what no transaction that could be read names.
const unread = "not known: its transaction could not be read"

func verdict(w *terminal.Page, outcome, link string) {
	fmt.Fprintf(w, "%s. explorer: %s\n", service.Verdict(outcome), link)
}

// judged is the failure that an audit ends with; the worst of several counts.
func judged(outcomes ...string) error {
	switch {
	case slices.Contains(outcomes, string(audit.Wrong)):
		return &service.Failure{Code: service.CodeRefused, Reason: "the history does not add up", Advice: "see the problems above", Told: true}
	case slices.Contains(outcomes, string(audit.Unknown)):
		return &service.Failure{
			Code: service.CodeUnknown, Reason: "not all of the history could be read: it is not known whether it adds up",
			Advice: "see the steps marked ? above; another node of the cluster, or an archive node, may show all of it: --url", Told: true,
		}
	}
	return nil
}

func (s *session) auditSlash() error {
	args, err := s.Args("FAULT|NODE|KEEPER")
	if err != nil {
		return err
	}
	if _, err := s.Market(); err != nil {
		return err
	}
	key, err := solana.PublicKeyFromBase58(args[0]) // its account may be closed
	if err != nil {
		v, err := s.Snapshot(command.Only(market.KindNode, market.KindKeeper, market.KindFault))
		if err != nil {
			return err
		}
		nodes := command.Addresses(v.Nodes(), func(n market.Node) solana.PublicKey { return n.Address })
		keepers := command.Addresses(v.Keepers(), func(k market.Keeper) solana.PublicKey { return k.Wallet })
		faults := command.Addresses(v.Faults(), func(f market.Fault) solana.PublicKey { return f.Address })
		if key, err = service.PickAddress(args[0], "fault, node or keeper", slices.Concat(nodes, keepers, faults)); err != nil {
			return err
		}
	}
	stop := s.Waiting("the chain's history", "Ctrl-C stops; nothing is changed")
	out, err := s.Service.AuditSlash(s.Context, key)
	stop()
	if err != nil {
		return err
	}
	outcomes := make([]string, len(out))
	for i := range out {
		outcomes[i] = out[i].Outcome
	}
	err = s.Done(out, func(w *terminal.Page) {
		for _, x := range out {
			who := [2]string{"keeper", x.Keeper}
			if x.Keeper == "" {
				who = [2]string{"node", fmt.Sprintf("%s, period %d", x.Node, x.Period)}
			}
			w.Pairs([2]string{cmp.Or(x.Proof, "fault"), x.Fault}, who, [2]string{"state", x.State})
			terminal.WriteSteps(w, x.Steps)
			verdict(w, x.Outcome, x.Explorer)
		}
	})
	if err == nil {
		err = judged(outcomes...)
	}
	return err
}
