package rent

import (
	"fmt"
	"net/netip"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/client/vpn"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/mesh"
)

const (
	flagListen  = "listen"
	flagForward = "forward"
	flagTUN     = "tun"
	flagPrint   = "print-config"
)

func vpnCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "vpn", Usage: "join the private network of a cluster with this computer", ArgsUsage: "CLUSTER|LEASE",
		Description: "Serves a proxy on loopback that leads to the machines of the cluster, node-0, node-1 and so on, until Ctrl-C. Programs\n" +
			"use it as ALL_PROXY=socks5h://127.0.0.1:1080 or http_proxy=http://127.0.0.1:1080. It follows machines that are replaced.\n" +
			"Nothing on this computer is reached from there. One computer joins at a time: another one takes its place.\n" +
			"LEASE is one of the cluster's, for clusters that were ordered on another computer.",
		Flags: command.AsSession(
			&cli.StringFlag{Name: flagListen, Value: "127.0.0.1:1080", Usage: "loopback `ADDRESS` and port of the proxy; port 0 takes a free one"},
			&cli.StringSliceFlag{Name: flagForward, Aliases: []string{"L"}, Usage: "`LOCAL:node-N:PORT`: lead a port of this computer to a port of a machine too; repeat for more"},
			&cli.BoolFlag{Name: flagTUN, Usage: "make an interface, " + mesh.Interface + ", instead of a proxy; needs root on Linux"},
			&cli.BoolFlag{Name: flagPrint, Usage: "print a configuration for wg-quick and WireGuard's apps instead, with the machines that they can reach"},
		),
		Action: action(s, (*session).vpn),
	}
}

func (s *session) vpn() error {
	args, err := s.Args("CLUSTER|LEASE")
	if err != nil {
		return err
	}
	settings := vpn.Settings{Interface: s.CLI.Bool(flagTUN), Local: s.Client.Local()}
	for _, text := range s.CLI.StringSlice(flagForward) {
		f, err := vpn.ParseForward(text)
		if err != nil {
			return err
		}
		settings.Forwards = append(settings.Forwards, f)
	}
	settings.Listen, err = netip.ParseAddrPort(s.CLI.String(flagListen))
	if err != nil || !settings.Listen.Addr().IsLoopback() {
		return service.Usage(fmt.Sprintf("--%s is %q, which is not a loopback address and a port", flagListen, s.CLI.String(flagListen)), "write 127.0.0.1:1080 or [::1]:1080: whoever reaches the proxy is in the network")
	}
	network, err := s.privateNetwork(args[0])
	if err != nil {
		return err
	}
	key, err := s.KeyFile()
	if err != nil {
		return err
	}
	var port mesh.Port
	remote, err := buy.Dial(s.Context, buy.Dialling{Client: s.Client, Key: key, ListenUDP: port.ListenUDP, Log: s.Log}, network.View)
	if err != nil {
		return err
	}
	s.OnClose(remote.Close)
	o := vpn.Options{Machines: vpn.Remote{Remote: remote}, Members: network.Members, Say: s.Say, Log: s.Log}
	if s.CLI.Bool(flagPrint) {
		return s.vpnConfig(o, args[0])
	}
	return s.left(vpn.Serve(s.Context, &port, o, settings))
}

// vpnConfig prints a configuration for other programs.
func (s *session) vpnConfig(o vpn.Options, text string) error {
	c, err := vpn.Configure(s.Context, o)
	if err != nil {
		return err
	}
	if c.Reached() == 0 {
		reason := "no machine of the cluster is reached by other WireGuard programs"
		for _, p := range c.Peers {
			reason += fmt.Sprintf("; lease %s: %s", p.Lease, p.Unreachable)
		}
		return service.Refused(reason, "join by this program: gantry vpn "+text)
	}
	return s.Done(c, func(w *terminal.Page) { c.Print(w.Raw()) })
}

// left says why the computer has left the network.
func (s *session) left(err error) error {
	switch {
	case s.Context.Err() != nil:
		return service.Interrupted("this computer has left the private network", "")
	case err != nil:
		return service.Refused(err.Error(), "see: gantry cluster status")
	}
	return nil
}

// privateNetwork follows the order that a text names: as a purchase of this computer, or by one of its leases.
func (s *session) privateNetwork(text string) (*vpn.Network, error) {
	if _, _, err := s.Open(); err != nil {
		return nil, err
	}
	customer, err := s.Customer()
	if err != nil {
		return nil, err
	}
	folder, err := s.Folder()
	if err != nil {
		return nil, err
	}
	v, err := s.Live(s.Mine([]solana.PublicKey{customer}, query.Kind(market.KindKeeper)))
	if err != nil {
		return nil, err
	}
	all, err := s.Purchases()
	if err != nil {
		return nil, err
	}
	order, err := buy.PickPurchase(all, text) // which takes every whole address for an order's
	if err != nil || len(v.LeasesOfOrder(order)) == 0 {
		l, lerr := s.Owned(v, text)
		if lerr != nil {
			return nil, service.Refused(fmt.Sprintf("%q is neither a cluster that was ordered on this computer nor a lease of yours", text), "see: gantry leases, gantry order list")
		}
		order = l.Order
	}
	n := &vpn.Network{View: v, Customer: customer, Order: order, Folder: folder}
	return n, n.Check()
}
