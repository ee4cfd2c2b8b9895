package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// conclude shows what every wallet has now, and checks every sum.
func (d *demo) conclude(ctx context.Context, before invariants.Snapshot, balances map[solana.PublicKey]holding) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	story.begin(sumsAddUp)
	after, err := invariants.Take(ctx, d.net.Chain, d.net.Mints())
	if err != nil {
		return err
	}
	d.noteViolations(d.checker.Check(after))
	counted, err := d.count(ctx, after)
	if err != nil {
		return err
	}
	holders := d.holders()
	history, err := invariants.ReadHistory(ctx, d.net.Chain, append(keyList(holders), d.net.Keys.Faucet.Address()), d.since)
	if err != nil {
		return err
	}
	d.everythingIsClosed(after)

	mints := d.net.Mints()
	burned := before.Supply[mints.Stake] - after.Supply[mints.Stake]
	d.noteViolations(history.Flows().Conservation(after, burned, 0))
	d.noteViolations(rentViolations(history, holders, balances, counted))
	equal(d.expect, after.Supply[mints.Payment], before.Supply[mints.Payment], "no test USDC appeared or vanished")

	d.out.plain("")
	d.out.table(d.balanceTable(balances, counted))
	d.out.plain("", "compute units")
	d.out.table(unitsTable(history.Units()))
	money := d.moneyBetween(balances, counted)
	d.facts.note(func(s *scene) { s.flow = money })
	story.begin(leasesAudited)
	if err := d.audit(ctx); err != nil {
		return err
	}
	if err := d.listTransactions(ctx, history); err != nil {
		return err
	}
	story.end(ctx, nil)
	d.story.finish()
	return d.verdict(before, after, mints, burned)
}

// everythingIsClosed checks that only the market itself, its rewards and its models are left of all accounts.
func (d *demo) everythingIsClosed(s invariants.Snapshot) {
	for what, count := range map[string]int{
		"lease": len(s.Leases), "order": len(s.Orders), "report": len(s.Reports), "fault": len(s.Faults), "node": len(s.Nodes),
		"device claim": len(s.Devices), "provider": len(s.Providers), "credits account": len(s.Credits), "keeper": len(s.Keepers),
	} {
		equal(d.expect, count, 0, "no "+what+" is left open")
	}
	equal(d.expect, len(s.Rent), 2+len(seed.Models()), "the program's accounts at the end (market, rewards and models)")
}

func rentViolations(h invariants.History, holders []holder, before, after map[solana.PublicKey]holding) []invariants.Violation {
	was, is, names := map[solana.PublicKey]chain.Lamports{}, map[solana.PublicKey]chain.Lamports{}, map[solana.PublicKey]string{}
	for _, holder := range holders {
		if !holder.vault {
			was[holder.key], is[holder.key], names[holder.key] = before[holder.key].sol, after[holder.key].sol, holder.name
		}
	}
	return h.RentViolations(was, is, names)
}

func unitsTable(rows []invariants.UnitsRow) [][]string {
	out := [][]string{{"instruction", "calls", "least", "mean", "most"}}
	for _, r := range rows {
		out = append(out, []string{r.Instruction, fmt.Sprint(r.Calls), fmt.Sprint(r.Least), fmt.Sprint(r.Mean), fmt.Sprint(r.Most)})
	}
	return out
}

// audit lets the client rebuild each lease's history from the chain alone, now that the leases are closed, and prints
// the commands with which anyone can.
func (d *demo) audit(ctx context.Context) error {
	d.out.plain("", "audit, while the node runs: scripts/demo.sh surfnet --keep leaves it up, and build/bin has gantry")
	group, groupCtx := errgroup.WithContext(ctx)
	for _, l := range d.audits.list {
		group.Go(func() error {
			out, err := d.net.Gantry(groupCtx, l.customer, l.command...)
			if err != nil {
				return err
			}
			d.expect.that(out.Code == 0, "the audit of "+l.what+" adds up", "%v", out.Err())
			return nil
		})
		d.out.plain(fmt.Sprintf("  gantry %s   # %s", strings.Join(l.command, " "), l.what))
	}
	return group.Wait()
}

// listTransactions writes a file with every transaction of the demo: when, who paid for it, what it did, its link.
func (d *demo) listTransactions(ctx context.Context, h invariants.History) error {
	explorer, err := d.net.Chain.Explorer(ctx)
	if err != nil {
		return err
	}
	names := map[solana.PublicKey]string{}
	for _, holder := range d.holders() {
		names[holder.key] = holder.name
	}
	var b strings.Builder
	for _, t := range h.Transactions {
		calls := make([]string, 0, len(t.Calls))
		for _, c := range t.Calls {
			calls = append(calls, c.Name)
		}
		what := strings.Join(calls, ", ")
		switch {
		case t.Failed:
			what = "refused"
		case what == "":
			what = "transfer"
		}
		fmt.Fprintf(&b, "%s  %-11s  %-40s  %s  %s\n", t.Time.UTC().Format("15:04:05"), names[t.Payer], what, t.Signature, explorer.Tx(t.Signature))
	}
	path := filepath.Join(d.net.Dir(), "transactions.txt")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("list the transactions: %w", err)
	}
	d.out.plain(fmt.Sprintf("  all %d transactions, each with its link: %s", len(h.Transactions), path), "  "+explorer.Address(market.ProgramID))
	return nil
}

// verdict prints the sums and says whether everything held.
func (d *demo) verdict(before, after invariants.Snapshot, mints invariants.Mints, burned uint64) error {
	sum := func(s invariants.Snapshot, mint solana.PublicKey) (total uint64) {
		for _, t := range s.Tokens {
			if t.Mint == mint {
				total += t.Amount
			}
		}
		return total
	}
	check := func(mint solana.PublicKey, burned uint64, name string) string {
		missing := int64(before.Supply[mint]) - int64(sum(after, mint)) - int64(burned)
		equal(d.expect, missing, 0, "balances and what was burned are all "+name+" that was minted")
		mark := "✓"
		if missing != 0 {
			mark = "✗"
		}
		return fmt.Sprintf("%s %s %d", name, mark, missing)
	}
	sums := fmt.Sprintf("sum checks   %s   %s (%s burned)", check(mints.Payment, 0, "USDC"), check(mints.Stake, burned, "GNT"), market.GNT(burned))
	held, failed := d.expect.result()
	d.out.plain("", sums, fmt.Sprintf("invariants   1–8 checked on %d snapshots · %d expectations held, %d did not", d.checker.Checks(), held, len(failed)))
	d.out.plain(fmt.Sprintf("done in %.0f s", time.Since(d.out.start).Seconds()))
	if len(failed) == 0 {
		return nil
	}
	for _, f := range failed {
		d.out.plain("✗ " + f)
	}
	err := fmt.Errorf("%w: %d of %d", ErrExpectations, len(failed), held+len(failed))
	if d.opts.Screen != nil { // it names them
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(failed, "; "))
}
