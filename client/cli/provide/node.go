package provide

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func nodeCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "node", Usage: "machines (gantry-agent registers them)",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "your nodes", Flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "everybody's"}}, Action: action(s, (*session).nodes)},
			{Name: "show", Usage: "everything about a node", ArgsUsage: "NODE", Action: action(s, (*session).nodeShow)},
			{
				Name: "update", Usage: "set the ask and the status", ArgsUsage: "NODE",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "price", Usage: "`USDC` per GPU-hour"},
					&cli.StringFlag{Name: "spot", Usage: "`PERCENT` of the price for interruptible work, which you may end after a notice of two minutes; 0 for no such work"},
					&cli.StringFlag{Name: "status", Usage: "active, hibernated or draining"},
				},
				Action: action(s, (*session).nodeUpdate),
			},
			{Name: "retire", Usage: "take a node out of the market for good", ArgsUsage: "NODE", Action: action(s, (*session).nodeRetire)},
			{Name: "close", Usage: "close a retired node; its stake is free again", ArgsUsage: "NODE", Action: action(s, (*session).nodeClose)},
		},
	}}
}

func (s *session) nodes() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	scope := command.Only(market.KindNode, market.KindModel)
	if !s.CLI.Bool("all") {
		key, err := s.Wallet()
		if err != nil {
			return err
		}
		scope = view.With([]chain.Filter{query.NodesOf(market.ProviderAddress(key.PublicKey()))})
	}
	v, now, err := s.SnapshotNow(scope)
	if err != nil {
		return err
	}
	all := v.Nodes()
	out := make([]service.Offer, len(all))
	for i := range all {
		m, _ := v.Model(all[i].Spec.Model)
		out[i] = service.DescribeNode(&all[i], &m, now)
	}
	return s.Done(out, func(w *terminal.Page) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no nodes; register one with gantry-agent register")
			return
		}
		terminal.WriteNodes(w, out, false)
	})
}

// node finds a node by address or beginning, with its model.
func (s *session) node(text string) (*view.View, market.Node, error) {
	if _, err := s.Market(); err != nil {
		return nil, market.Node{}, err
	}
	key, err := s.Named(text, "node", query.Kind(market.KindNode))
	if err != nil {
		return nil, market.Node{}, err
	}
	v, err := s.Snapshot(view.With(nil, key))
	if err != nil {
		return nil, market.Node{}, err
	}
	n, ok := v.Node(key)
	if !ok {
		return v, n, service.Refused(fmt.Sprintf("node %s does not exist (any more)", key), "see: gantry node list --all")
	}
	return v, n, nil
}

func (s *session) nodeShow() error {
	args, err := s.Args("NODE")
	if err != nil {
		return err
	}
	v, n, err := s.node(args[0])
	if err != nil {
		return err
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	m, _ := v.Model(n.Spec.Model)
	j := service.DescribeNode(&n, &m, now)
	guarantee := "none"
	if j.Until != 0 {
		guarantee = fmt.Sprintf("%s %% until %s UTC", j.Guarantee, service.When(j.Until))
		if j.Kept != "" {
			guarantee += fmt.Sprintf(", %s %% so far", j.Kept)
		}
	}
	return s.Done(j, func(w *terminal.Page) {
		w.Pairs([2]string{"node", j.Address}, [2]string{"provider", j.Provider}, [2]string{"node key", j.NodeKey},
			[2]string{"runs", runsText(market.Isolation(n.Spec.Isolation))},
			[2]string{"GPUs", fmt.Sprintf("%d×%s, %d free, %d MiB each, %s", j.GPUs, j.Model, j.Free, j.VRAMMiB, j.Link)},
			[2]string{"simulated", terminal.YesNo(j.Simulated)},
			[2]string{"machine", fmt.Sprintf("%d cores, %d MiB RAM, %d GiB disk for leases, CUDA %s, %s", j.CPUCores, j.RAMMiB, j.DiskGiB, cmp.Or(j.CUDA, "not said"), j.Region)},
			[2]string{"status", j.Status}, [2]string{"health", healthText(j.Unhealthy)}, [2]string{"ask", j.Price + " USDC per GPU-hour"}, [2]string{"evidence tier", fmt.Sprint(j.Tier)},
			[2]string{"GPUs that others claim", fmt.Sprint(n.ClaimsMissing)},
			[2]string{"uptime", j.Uptime + " %"}, [2]string{"checks passed", fmt.Sprintf("%d of %d", j.Passed, j.Checks)},
			[2]string{"claimed", fmt.Sprintf("%s TFLOPS fp16 by the model, network %d Mbit/s down and %d up", j.Claimed.TFLOPS, j.Claimed.DownMbps, j.Claimed.UpMbps)},
			[2]string{"GPUs measured", n.FiguresText()}, [2]string{"network measured", networkText(&n)}, [2]string{"jobs", fmt.Sprintf("%d completed and paid (%s USDC of fees), %d failed", j.Completed, j.Fees, j.Failed)},
			[2]string{"rating", j.Rating}, [2]string{"reputation", j.Reputation + " %"}, [2]string{"verified", verified(j.Lacks)},
			[2]string{"stake needed", j.Stake + " GNT"},
			[2]string{"uptime guarantee", guarantee},
			[2]string{"pending faults", fmt.Sprint(j.Faults)}, [2]string{"registered", service.When(j.Registered) + " UTC"})
	})
}

// networkText is what keepers have measured of a node's network.
func networkText(n *market.Node) string {
	if n.DownMbps == 0 && n.UpMbps == 0 {
		return "not yet"
	}
	return fmt.Sprintf("%d Mbit/s down, %d up", n.DownMbps, n.UpMbps)
}

// healthText says whether a report keeps new orders from the machine.
func healthText(until int64) string {
	if until == 0 {
		return "nothing reported"
	}
	return fmt.Sprintf("unhealthy: no new orders until %s UTC, or until a report says otherwise", service.When(until))
}

// verified says whether a node has the mark, and what it lacks otherwise.
func verified(lacks []string) string {
	if len(lacks) == 0 {
		return "yes"
	}
	return "no: " + strings.Join(lacks, "; ")
}

// nodeTx is the result of a transaction about a node.
type nodeTx struct {
	Node string       `json:"node"`
	Tx   service.Sent `json:"transaction"`
}

// nodeAct sends what is built for a node of the wallet, and reports it.
func (s *session) nodeAct(name string, build func(d *operate.Desk, n *market.Node) (operate.Action, error)) error {
	a, tx, err := s.Act(func(d *operate.Desk) (operate.Action, error) {
		_, n, err := s.node(name)
		if err == nil {
			err = d.Owns(&n)
		}
		if err != nil {
			return operate.Action{}, err
		}
		return build(d, &n)
	})
	if err != nil {
		return err
	}
	return s.Done(nodeTx{a.Of.String(), tx}, func(w *terminal.Page) { fmt.Fprintf(w, "node %s %s   tx %s\n", a.Of, a.Did, tx.Signature) })
}

func (s *session) nodeUpdate() error {
	args, err := s.Args("NODE")
	if err != nil {
		return err
	}
	terms, err := operate.ParseTerms(s.CLI.String("price"), s.CLI.String("spot"), s.CLI.String("status"))
	if err != nil {
		return err
	}
	return s.nodeAct(args[0], func(d *operate.Desk, n *market.Node) (operate.Action, error) { return d.SetNode(n, terms) })
}

func (s *session) nodeRetire() error {
	args, err := s.Args("NODE")
	if err != nil {
		return err
	}
	return s.nodeAct(args[0], (*operate.Desk).RetireNode)
}

func (s *session) nodeClose() error {
	args, err := s.Args("NODE")
	if err != nil {
		return err
	}
	return s.nodeAct(args[0], func(d *operate.Desk, n *market.Node) (operate.Action, error) { return d.CloseNode(s.Context, n) })
}

// runsText says what jobs a node takes.
func runsText(i market.Isolation) string {
	switch i {
	case market.Volumes:
		return "containers from images, in a sandbox, with encrypted volumes"
	case market.Sandbox:
		return "containers from images, in a sandbox"
	}
	return "processes only"
}
