package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	todolist "github.com/gantry-market/gantry/sdk/market/todo"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "one screen: is the agent up, what does the chain say, what needs doing",
		Flags:  commonFlags(&cli.BoolFlag{Name: "json", Usage: "one JSON document on standard output"}),
		Action: runStatus,
	}
}

// screen is everything that the status screen shows.
type screen struct {
	Running  bool             `json:"running"`
	Agent    *daemon.Status   `json:"agent,omitempty"`
	Node     *market.Node     `json:"node,omitempty"`
	Provider *market.Provider `json:"provider,omitempty"`
	Balance  chain.Lamports   `json:"node_key_lamports"`
	// Payout is what the account that earnings go to holds now.
	Payout market.USDC    `json:"payout_micro_usdc"`
	Leases []market.Lease `json:"leases"`
	Faults []market.Fault `json:"faults"` // open ones of the machine
	ToDo   []string       `json:"to_do"`
}

func runStatus(c *cli.Context) error {
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	log, err := logger(c)
	if err != nil {
		return err
	}
	key, err := chain.LoadKeypair(cfg.NodeKey)
	if err != nil {
		return err
	}
	var r screen
	if s, err := daemon.ReadStatus(cfg.StatusPath()); err == nil {
		r.Agent, r.Running = &s, s.Fresh(time.Now())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("status of the running agent: %w", err)
	}
	client, err := newClient(cfg, log)
	if err != nil {
		return err
	}
	defer client.Close()
	if r.Balance, err = client.Balance(c.Context, key.PublicKey(), chain.Confirmed); err != nil {
		return err
	}
	nodes, err := register.NodesByKey(c.Context, client, key.PublicKey())
	if err != nil {
		return err
	}
	if len(nodes) > 0 {
		r.Node = &nodes[0]
		p, err := query.Fetch[market.Provider](c.Context, client, r.Node.Provider, chain.Confirmed)
		if err != nil {
			return err
		}
		r.Provider = &p
		if r.Payout, err = register.TokenBalance(c.Context, client, p.Payout); err != nil {
			return err
		}
		if r.Leases, err = query.Select[market.Lease](c.Context, client, query.LeasesAt(r.Node.Address), chain.Confirmed); err != nil {
			return err
		}
		if r.Faults, err = query.Select[market.Fault](c.Context, client, query.FaultsAt(r.Node.Address), chain.Confirmed); err != nil {
			return err
		}
	}
	at, err := client.ClusterTime(c.Context, chain.Confirmed)
	if err != nil {
		return err
	}
	r.ToDo = todo(r, at.Unix())
	if c.Bool("json") {
		e := json.NewEncoder(c.App.Writer)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	printStatus(c.App.Writer, r, time.Now(), at)
	return nil
}

// todo says what is wrong and how to correct it.
func todo(r screen, now int64) []string {
	out := []string{}
	if !r.Running && r.Node == nil {
		return append(out, "the machine is not in the market: to join, gantry-agent setup; if it has left, nothing")
	}
	if !r.Running {
		out = append(out, "the agent does not run: gantry-agent run")
	}
	if r.Node == nil {
		return append(out, "the machine is not registered: gantry-agent register")
	}
	if r.Running && r.Agent.Connected < r.Agent.Keepers {
		out = append(out, fmt.Sprintf("connected to %d of %d keepers: is the network up?", r.Agent.Connected, r.Agent.Keepers))
	}
	if r.Running {
		if r.Agent.Clock != "" {
			out = append(out, r.Agent.Clock)
		}
		if r.Agent.Measurement != "" {
			out = append(out, r.Agent.Measurement)
		}
		out = append(out, r.Agent.Network...)
		if i := r.Agent.Idle; i != nil && i.Broken() != "" {
			out = append(out, "the idle job: "+i.Broken()+": gantry-agent idle logs")
		}
		for _, f := range r.Agent.Faults {
			out = append(out, f+": the node does not bid, and keepers are told; once it is repaired: gantry-agent repaired")
		}
		for _, f := range r.Agent.Worn {
			out = append(out, f+": it works on; plan a reset")
		}
	}
	if r.Balance < chain.SOL/200 {
		out = append(out, fmt.Sprintf("the machine's key has %s for fees: send some SOL to %s", r.Balance, r.Node.NodeKey))
	}
	for _, d := range todolist.Of(r.Node, r.Provider, r.Faults, r.Leases, now) {
		if d.Kind == todolist.Withdrawn && r.Running && r.Agent.Offer.Withdrawn && r.Agent.Offer.Reason != offer.Slow {
			continue // the agent brings it back
		}
		out = append(out, d.What+": "+d.Do)
	}
	return out
}

// offers says whether the machine takes new leases, and until when.
func offers(s offer.State, n *market.Node) string {
	text := s.Text
	if s.Offering && n != nil && n.State() != market.NodeActive {
		return fmt.Sprintf("no: the node is %s", n.State())
	}
	if !s.Offering {
		text = "no: " + text
	}
	if !s.Until.IsZero() {
		text += " until " + s.Until.Local().Format("Mon 15:04 MST")
	}
	return text
}

func printStatus(w io.Writer, r screen, now, onChain time.Time) {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, " %-10s "+format+"\n", append([]any{label}, args...)...)
	}
	switch {
	case r.Running:
		sim := ""
		if r.Agent.Simulated {
			sim = " · SIMULATED GPUs"
		}
		line("agent", "up %s · pid %d · %d of %d keepers connected%s", now.Sub(r.Agent.Since).Round(time.Second), r.Agent.PID, r.Agent.Connected, r.Agent.Keepers, sim)
		k := r.Agent.Checks
		line("offers", "%s", offers(r.Agent.Offer, r.Node))
		line("answered", "%d liveness · %d inventory · %d bundles of evidence", k.Liveness, k.Inventory, k.Evidence)
		if i := r.Agent.Idle; i != nil {
			for n, text := range idleLines(*i, r.Agent.Since, now) {
				line([]string{"idle job", ""}[min(n, 1)], "%s", text)
			}
		}
		if i := r.Agent.Images; i != nil {
			line("images", "%d layers · %d of %d MiB, %d used by leases, %d for pulls under way", i.Layers, i.Bytes>>20, i.Limit>>20, i.InUse>>20, i.Pulling>>20)
		}
	case r.Agent != nil:
		line("agent", "not running since %s", r.Agent.At.Format(time.RFC3339))
	default:
		line("agent", "not running")
	}
	if n := r.Node; n != nil {
		line("node", "%s · %s · asks %s USDC per GPU-hour · %d of %d GPUs free", n.Address, n.State(), n.Ask(), n.FreeGPUs(), n.Spec.Gpus)
		line("checks", "%d of %d passed · uptime %.2f %%", n.ChecksPassed, n.ChecksTotal, float64(n.ShownUptime())/100)
		line("measured", "%s", n.FiguresText())
		line("reputation", "%.1f · %d jobs done, %d failed · %d s down in total", float64(n.Reputation(onChain.Unix()))/100, n.JobsCompleted, n.JobsFailed, n.DowntimeSecs)
		line("stake", "%s GNT, %s needed, %s held by faults; %s slashed from the provider so far", market.GNT(n.Stake), market.GNT(n.RequiredStake), market.GNT(n.ReservedStake), market.GNT(r.Provider.SlashedTotal))
	}
	line("fees", "%s left on the machine's key", r.Balance)
	var earned market.USDC
	for _, l := range r.Leases {
		earned += l.ProviderTotal()
		line("lease", "%s · %s · %d GPU at %s · %d s paid · earned %s USDC", l.Address, l.State(), l.Gpus, market.PricePerHour(l.Price), l.PaidSecs, l.ProviderTotal().Exact())
	}
	if r.Provider != nil {
		line("earned", "%s USDC from leases that are not closed yet · payout account %s holds %s USDC", earned.Exact(), r.Provider.Payout, r.Payout.Exact())
	}
	for i, t := range r.ToDo {
		label := ""
		if i == 0 {
			label = "to do"
		}
		line(label, "%s", t)
	}
}
