package rent

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// endsWithin is how much longer than the start deadline the end of a cluster is waited for.
const endsWithin = 30 * time.Second

const (
	flagType        = "type"
	flagNoDashboard = "no-dashboard"
	flagProcesses   = "processes"
	flagRestarts    = "restarts"
)

func clusterCommand(s command.Streams) *cli.Command {
	up := deployCommand(s)
	up.Name, up.Usage = "up", "buy machines with a private network, all or none, and run a command on each"
	up.Description = "Takes the flags of gantry deploy; --nodes and --image are needed. In each container the others are node-0, node-1 and\n" +
		"so on, and GANTRY_NODE_RANK says which one it is. With --migrate another machine takes the place of one that fails,\n" +
		"while the command stays. With --type ray, node-0 is Ray's head and the others are its workers; there is no command.\n" +
		"With --type torch the command, such as train.py or python train.py, is run by torchrun on all machines."
	up.Flags = append(
		up.Flags,
		&cli.StringFlag{Name: flagType, Value: buy.ClusterShell, Usage: "what the machines run together: `shell`, the command on each; ray; or torch, the command by torchrun"},
		&cli.BoolFlag{Name: flagNoDashboard, Usage: "with --type ray: start no dashboard, which also takes jobs"},
		&cli.UintFlag{Name: flagProcesses, Usage: "with --type torch: `N` processes on each machine (default: one for each GPU)"},
		&cli.UintFlag{Name: flagRestarts, Usage: fmt.Sprintf("with --type torch: how often the command starts again when it has failed (default: %d)", buy.DefaultRestarts)},
	)
	up.Action = action(s, (*session).clusterUp)
	return &cli.Command{
		Name: "cluster", Usage: "several machines with a private network",
		Subcommands: []*cli.Command{
			up,
			{Name: "status", Usage: "the machines of a cluster", ArgsUsage: "ORDER", Flags: command.AsSession(), Action: action(s, (*session).clusterStatus)},
			{
				Name: "exec", Usage: "run a command on each machine of a cluster", ArgsUsage: "ORDER -- COMMAND…",
				Flags: command.AsSession(identityFlag(), userFlag()), Action: action(s, (*session).clusterExec),
			},
			{
				Name: "scale", Usage: "add machines to a cluster, which get the job of the others", ArgsUsage: "ORDER",
				Description: "The new machines are ordered for the time that is left, at most at the price of the cluster's order, and join its private network behind the\n" +
					"others. To have fewer machines, end the leases of single ones with: gantry stop LEASE",
				Flags: command.AsSession(&cli.UintFlag{Name: "nodes", Required: true, Usage: "add machines until `N` run"}), Action: action(s, (*session).clusterScale),
			},
			{Name: "down", Usage: "end all leases of a cluster; what is not used comes back", ArgsUsage: "ORDER", Flags: command.AsSession(), Action: action(s, (*session).clusterDown)},
		},
	}
}

func (s *session) clusterUp() error {
	return s.buy(func() (buy.Request, error) {
		t, err := s.clusterType()
		if err != nil {
			return buy.Request{}, err
		}
		r, err := s.request()
		if err == nil {
			err = t.Apply(&r)
		}
		return r, err
	})
}

// clusterType is what the flags say of a cluster's type.
func (s *session) clusterType() (buy.ClusterType, error) {
	t := buy.ClusterType{Type: s.CLI.String(flagType), NoDashboard: s.CLI.Bool(flagNoDashboard)}
	processes, restarts := s.CLI.Uint(flagProcesses), s.CLI.Uint(flagRestarts)
	switch {
	case s.CLI.IsSet(flagProcesses) && (processes < 1 || processes > math.MaxUint8):
		return t, service.Usage(fmt.Sprintf("--%s is %d", flagProcesses, processes), "give 1 to 255")
	case s.CLI.IsSet(flagRestarts) && (restarts < 1 || restarts > math.MaxUint16):
		return t, service.Usage(fmt.Sprintf("--%s is %d", flagRestarts, restarts), "give 1 to 1000")
	}
	t.Processes, t.Restarts = uint8(processes), uint16(restarts)
	return t, nil
}

// cluster is the one that an argument names: by its order, or by the purchase's name.
func (s *session) cluster(text string) (buy.Cluster, *view.View, error) {
	if _, _, err := s.Open(); err != nil {
		return buy.Cluster{}, nil, err
	}
	v, now, err := s.SnapshotNow(s.Mine(nil, query.Kind(market.KindKeeper)))
	if err != nil {
		return buy.Cluster{}, nil, err
	}
	all, err := s.Purchases()
	if err != nil {
		return buy.Cluster{}, nil, err
	}
	c, err := buy.PickCluster(all, service.DescribeLeases(v, v.Leases(), now), text)
	return c, v, err
}

func (s *session) clusterStatus() error {
	args, err := s.Args("ORDER")
	if err != nil {
		return err
	}
	c, _, err := s.cluster(args[0])
	if err != nil {
		return err
	}
	return s.clusterDone(&c)
}

// clusterDone shows a cluster.
func (s *session) clusterDone(c *buy.Cluster) error {
	return s.Done(c, func(w *terminal.Page) {
		fmt.Fprintf(w, "%s  order %s  %s\n", c.State, c.Order, cmp.Or(c.Failed, c.Says))
		rows := make([][]string, len(c.Members))
		for i, m := range c.Members {
			rows[i] = []string{m.Host, m.Address, m.Status, m.Lease, m.Node}
		}
		w.Table("HOST|ADDRESS|STATUS|@LEASE|@NODE", rows)
		if c.Type != "" {
			fmt.Fprintf(w, "\ntype  %s\n", c.Type)
		}
		for _, line := range c.ServiceLines() {
			fmt.Fprintln(w, line)
		}
	})
}

// clusterExec runs a command in all containers at once. Each line begins with the name of its member.
func (s *session) clusterExec() error {
	text, argv, err := s.leaseAnd("-- COMMAND…")
	if err != nil {
		return err
	}
	if len(argv) == 0 {
		return service.Usage("there is no command to run", "write it after --, such as: gantry cluster exec "+text+" -- nvidia-smi")
	}
	c, v, err := s.cluster(text)
	if err != nil {
		return err
	}
	r, err := s.Dial(v)
	if err != nil {
		return err
	}
	if len(c.Members) == 0 {
		return service.Refused("the cluster has no machines yet, or none any more: it is "+c.State, "see gantry cluster status "+text)
	}
	var ways []*container.Container
	var names []string
	for i := range c.Members {
		m := &c.Members[i]
		if !m.Running() {
			return service.Refused(fmt.Sprintf("%s does not run: its lease %s is %s", m.Host, m.Lease, m.Status), "see gantry cluster status "+text)
		}
		l, err := s.Owned(v, m.Lease)
		if err != nil {
			return err
		}
		way, err := container.New(r, l, s.identity)
		if err == nil {
			way, err = way.As(s.CLI.String(flagUser))
		}
		if err != nil {
			return err
		}
		ways, names = append(ways, way), append(names, m.Host)
	}
	return container.RunInAll(s.Context, ways, names, container.Quote(argv), container.Streams{Out: s.Output, Err: s.Err})
}

func (s *session) clusterScale() error {
	args, err := s.Args("ORDER")
	if err != nil {
		return err
	}
	if _, _, err := s.Open(); err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	c, err := b.ScaleCluster(s.Context, args[0], int(min(s.CLI.Uint("nodes"), math.MaxUint8)), nil)
	if err != nil {
		return err
	}
	return s.clusterDone(&c.Cluster)
}

// clusterDown ends a cluster. Leases that are awarded start, or come to nothing, within the start deadline: it waits for them.
func (s *session) clusterDown() error {
	args, err := s.Args("ORDER")
	if err != nil {
		return err
	}
	m, _, err := s.Open()
	if err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	c, err := b.EndCluster(s.Context, args[0], market.Seconds(m.Params.StartDeadlineSecs)+endsWithin)
	if err != nil {
		return err
	}
	if err := s.clusterDone(&c); err != nil {
		return err
	}
	if len(c.Left) > 0 {
		return service.Refused("the cluster is not over: "+strings.Join(c.Left, "; "), "end it again: gantry cluster down "+args[0])
	}
	return nil
}
