package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	flagVia     = "via"
	flagTLSPort = "tls-port"
	flagSSH     = "ssh"
	flagFor     = "for"
	// forever is until when a grant lasts that ends with its lease.
	forever = int64(1) << 52
)

func gatewayCommands(s Streams) []*cli.Command {
	via := func() cli.Flag {
		return &cli.StringFlag{Name: flagVia, Required: true, Usage: "`GATEWAY`: its key, or its address with its identity (/dns/gw.example.org/tcp/4102/p2p/12D3…)"}
	}
	return []*cli.Command{{
		Name: "gateway", Usage: "let a gateway give a lease a public address",
		Subcommands: []*cli.Command{
			{
				Name: "open", Usage: "grant a gateway ports of a lease's container, or its SSH server", ArgsUsage: "LEASE",
				Description: "Anybody may run a gateway. It reaches what you grant it and nothing else, until you take it back or the lease ends.\n" +
					"What passes it is encrypted to the container with --tls-port and --ssh; with --port TLS ends at the gateway.\n" +
					"Opening again replaces what was granted before.",
				Flags: asSession(via(),
					&cli.StringSliceFlag{Name: "port", Usage: "`PORT[:NAME]` at which the container speaks HTTP; repeat for more"},
					&cli.StringSliceFlag{Name: flagTLSPort, Usage: "`PORT[:NAME]` at which the container speaks TLS itself; repeat for more"},
					&cli.BoolFlag{Name: flagSSH, Usage: "the SSH server, for your own key"},
					&cli.StringSliceFlag{Name: flagSSHKey, Usage: "public key `FILE` that may pass as well; repeat for more"},
					&cli.DurationFlag{Name: flagFor, Usage: "`TIME` after which the grant ends (default: with the lease)"},
					&cli.StringFlag{Name: flagIdentity, Aliases: []string{"i"}, Usage: "private key `FILE` to log in with (default: the key that gantry has made)"},
				),
				Action: action(s, (*session).gatewayOpen),
			},
			{
				Name: "show", Usage: "what a gateway asks for relaying, and what is left of what was paid", ArgsUsage: "LEASE",
				Flags:  asSession(via()),
				Action: action(s, (*session).gatewayShow),
			},
			{
				Name: "pay", Usage: "pay a gateway in advance for what it relays", ArgsUsage: "LEASE",
				Description: "The amount goes from your wallet to the gateway's, which lets it be used up by all your leases there. Nothing on chain makes\n" +
					"the gateway relay, or gives a rest back: pay little at a time. A command that was interrupted is finished by the next one.",
				Flags: []cli.Flag{
					via(),
					&cli.StringFlag{Name: flagAmount, Required: true, Usage: "`USDC` that you pay"},
					&cli.StringFlag{Name: flagMaxPrice, Usage: "the most `USDC` for a GiB"},
				},
				Action: action(s, (*session).gatewayPay),
			},
			{
				Name: "close", Usage: "take back what was granted to gateways", ArgsUsage: "LEASE",
				Description: "The lease's machine refuses every grant of the lease that was made so far, of all gateways. If the lease moves, the command\n" +
					"that brings its job to the next machine says so there, if it runs with the same --state-dir.",
				Flags:  asSession(&cli.StringFlag{Name: flagVia, Usage: "tell this `GATEWAY` too, so that its names end at once"}),
				Action: action(s, (*session).gatewayClose),
			},
		},
	}}
}

var (
	revokeProtocol       = since(1, buy.ToNode(messages.Revoke))
	gatewayOpenProtocol  = since(1, p2p.Protocol{ID: messages.GatewayOpen, MaxRequest: 8 << 10, MaxResponse: 16 << 10, Timeout: container.EnterTime})
	gatewayCloseProtocol = since(1, p2p.Protocol{ID: messages.GatewayClose, MaxRequest: 8 << 10, MaxResponse: 16 << 10})
)

// since is a protocol that came with a minor version of the messages.
func since(minor uint, p p2p.Protocol) p2p.Protocol {
	p.Since = minor
	return p
}

// opened is what a gateway has answered.
type opened struct {
	Lease   string            `json:"lease"`
	Gateway string            `json:"gateway"`
	Until   int64             `json:"until,omitempty"` // unix seconds; with the lease if missing
	URLs    map[uint16]string `json:"urls,omitempty"`  // by port
	SSH     []hostBlock       `json:"ssh,omitempty"`   // blocks for ~/.ssh/config, of which the last is the lease
	// Stays says that the names lead to the next machine if the lease moves.
	Stays bool `json:"stays,omitempty"`
	// Terms of a gateway that asks a price.
	Terms *termsJSON `json:"terms,omitempty"`
}

// gatewayOpen signs a grant and brings it to a gateway.
func (s *session) gatewayOpen() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	grant, err := s.grantedByFlags()
	if err != nil {
		return err
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	at, err := s.gateway(c.Remote())
	if err != nil {
		return err
	}
	domain, err := s.client.Domain(s.ctx)
	if err != nil {
		return err
	}
	key, err := s.keyFile()
	if err != nil {
		return err
	}
	grant.Domain, grant.Lease, grant.Gateway = domain, c.Lease().Address, at
	if grant.IssuedAt, grant.Expiry, err = s.grantTimes(c.Lease()); err != nil {
		return err
	}
	out := opened{Lease: c.Lease().Address.String(), Gateway: at.String(), Until: until(grant), URLs: map[uint16]string{}}
	sig, err := grant.Sign(key)
	if err != nil {
		return usage(err.Error(), "")
	}
	signed := messages.SignedGrant{Grant: grant, Signer: key.PublicKey(), Signature: sig}
	moves, err := s.signMoves(grant, c.Lease(), key)
	if err != nil {
		return err
	}
	answer, err := p2p.Call[messages.GatewayOpenRequest, messages.GatewayOpenAnswer](s.ctx, c.Remote().Net, at, gatewayOpenProtocol,
		messages.GatewayOpenRequest{Version: messages.Version, Grant: signed, Moves: moves})
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return refused(fmt.Sprintf("%s is not a gateway", at), "look at the key or address after --via")
	case err != nil:
		return network(err.Error(), "try again", err)
	case answer.Refused != "":
		return refused("the gateway refuses: "+answer.Refused, "")
	case len(answer.URLs) != len(grant.Ports), slices.ContainsFunc(answer.URLs, func(u string) bool { return !plainURL(u) }), len(grant.SSHKeys) > 0 && answer.SSHAddress == "":
		return network("the gateway's answer does not fit what was granted", "choose another gateway", nil)
	}
	out.Stays, out.Terms = answer.Moves, newTerms(answer.Terms)
	for i, p := range grant.Ports {
		out.URLs[p.Port] = answer.URLs[i]
	}
	if err := s.publish(c.Lease(), purchase.Names{Issued: grant.IssuedAt, Until: grant.Expiry, URLs: out.URLs}); err != nil {
		return err
	}
	if len(grant.SSHKeys) > 0 {
		if out.SSH, err = s.jumpBlocks(c, at, answer); err != nil {
			return err
		}
	}
	return s.done(out, func(w io.Writer) {
		for _, p := range grant.Ports {
			fmt.Fprintf(w, "port %-6d %s\n", p.Port, out.URLs[p.Port])
		}
		if out.Stays {
			fmt.Fprintln(w, "if the machine fails and the lease moves to another, the addresses lead there")
		}
		for _, b := range out.SSH {
			b.print(w)
		}
		if out.Terms != nil {
			out.Terms.print(w)
		}
	})
}

// signMoves grants the same to the leases that go on for a failed one, so that the names stay when its customer is away;
// nil where none can, or where several leases of the order could.
func (s *session) signMoves(grant records.Grant, l market.Lease, key solana.PrivateKey) ([]byte, error) {
	if l.MayMigrate == 0 {
		return nil, nil
	}
	order, err := query.Fetch[market.Order](s.ctx, s.client, l.Order, s.client.Commitment())
	if err != nil {
		return nil, err
	}
	if order.NodesWanted != 1 {
		return nil, nil
	}
	grant.Lease = l.Order
	sig, err := grant.Sign(key)
	return sig[:], err
}

// grantedByFlags is what the flags grant, without whom and for which lease.
func (s *session) grantedByFlags() (g records.Grant, err error) {
	for _, flag := range []string{"port", flagTLSPort} {
		for _, text := range s.cli.StringSlice(flag) {
			number, name, named := strings.Cut(text, ":")
			if !named {
				name = number
			}
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil || n == 0 {
				return g, usage(fmt.Sprintf("--%s: %q is not a port", flag, number), "write PORT or PORT:NAME, such as 8888:notebook")
			}
			if !records.ValidGrantedName(name) {
				return g, usage(fmt.Sprintf("--%s: %q cannot be part of a host name", flag, name),
					fmt.Sprintf("use lower-case letters, digits and hyphens between them, at most %d", records.MaxGrantedName))
			}
			g.Ports = append(g.Ports, records.GrantedPort{Port: uint16(n), Name: name, TLS: flag == flagTLSPort})
		}
	}
	slices.SortFunc(g.Ports, func(a, b records.GrantedPort) int { return int(a.Port) - int(b.Port) })
	if s.cli.Bool(flagSSH) || len(s.cli.StringSlice(flagSSHKey)) > 0 {
		lines, err := s.jobKeys()
		if err != nil {
			return g, err
		}
		for _, line := range lines {
			key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
			if err != nil {
				return g, err
			}
			g.SSHKeys = append(g.SSHKeys, sha256.Sum256(key.Marshal()))
		}
		slices.SortFunc(g.SSHKeys, func(a, b records.Hash) int { return bytes.Compare(a[:], b[:]) })
		g.SSHKeys = slices.Compact(g.SSHKeys)
	}
	if len(g.Ports) == 0 && len(g.SSHKeys) == 0 {
		return g, usage("nothing is granted", "name a port (--port 8888), or --ssh")
	}
	return g, nil
}

// gateway connects with the gateway that --via names.
func (s *session) gateway(r *buy.Remote) (solana.PublicKey, error) {
	text := s.cli.String(flagVia)
	if key, err := solana.PublicKeyFromBase58(text); err == nil {
		ctx, cancel := context.WithTimeout(s.ctx, container.EnterTime)
		defer cancel()
		if err := r.Reach(ctx, key); err != nil {
			return key, network(fmt.Sprintf("gateway %s is not reachable: no keeper of the market knows where it is", key), "name its address after --via", err)
		}
		return key, nil
	}
	peer, err := p2p.ParsePeer(text)
	if err != nil {
		return peer.Key, usage(fmt.Sprintf("--via %q is neither a key nor an address with an identity", text), "write what the gateway's operator has published, such as /dns/gw.example.org/tcp/4102/p2p/12D3…")
	}
	ctx, cancel := context.WithTimeout(s.ctx, container.EnterTime)
	defer cancel()
	if err := errors.Join(r.Net.Remember(peer), r.Net.Connect(ctx, peer)); err != nil {
		return peer.Key, network(fmt.Sprintf("gateway %s is not reachable", text), "try again, or choose another", err)
	}
	return peer.Key, nil
}

// jumpBlocks are the blocks of OpenSSH's configuration by which a lease is reached through a gateway. Both host keys are
// known from streams that only their owners can have: the gateway's, and the machine's own.
func (s *session) jumpBlocks(c *container.Container, gateway solana.PublicKey, a messages.GatewayOpenAnswer) ([]hostBlock, error) {
	host, port, err := net.SplitHostPort(a.SSHAddress)
	_, perr := strconv.ParseUint(port, 10, 16)
	if errors.Join(err, perr) != nil || !plainHost(host) || !plainHost(a.SSHName) {
		return nil, network("the gateway's SSH address cannot be read", "choose another gateway", errors.Join(err, perr))
	}
	jumpKey, err := ssh.ParsePublicKey(a.SSHHostKey)
	if err != nil {
		return nil, network("the gateway names a host key that cannot be read", "choose another gateway", err)
	}
	keys, err := s.sshKeys()
	if err != nil {
		return nil, err
	}
	lease := c.Lease().Address
	conn, own, err := c.Stream(s.ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(conn.Close(), keys.Learn(lease, own), keys.Learn(gateway, jumpKey)); err != nil {
		return nil, err
	}
	inner, err := s.sshOptions(lease)
	if err != nil {
		return nil, err
	}
	jump, err := s.sshOptions(gateway)
	if err != nil {
		return nil, err
	}
	name := container.Alias(lease) + "-gateway"
	through := "gantry-gateway-" + gateway.String()
	direct := func(o option) bool { return o.name == "ProxyCommand" }
	jump = append([]option{{"HostName", host}, {"Port", port}}, slices.DeleteFunc(jump, direct)...)
	inner = append([]option{{"HostName", a.SSHName}, {"ProxyJump", through}}, slices.DeleteFunc(inner, direct)...)
	return []hostBlock{newHostBlock(through, "", jump), newHostBlock(name, lease.String(), inner)}, nil
}

// plainHost reports whether a text is a host name or an IP address, and nothing that ssh or a shell would obey.
func plainHost(text string) bool {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	}
	return net.ParseIP(text) != nil || text != "" && text[0] != '-' && strings.IndexFunc(text, odd) < 0
}

// plainURL reports whether a text is the address of a host that speaks HTTPS.
func plainURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && plainHost(u.Hostname()) && u.Path == "/" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

// gatewayClose has the machine refuse what was granted, and tells the gateway.
func (s *session) gatewayClose() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	f, err := s.grantsOf(c.Lease().Customer)
	if err != nil {
		return err
	}
	now, err := s.grantTime(c.Lease(), false)
	if err != nil {
		return err
	}
	until := now.UnixMilli()
	if err := f.Revoke(c.Lease().Order, until); err != nil { // before the machine is told, which may be gone before it answers
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, container.EnterTime)
	defer cancel()
	answer, err := buy.Call[messages.RevokeRequest, messages.RevokeAnswer](ctx, c.Remote(), c.Lease().NodeKey, revokeProtocol,
		messages.RevokeRequest{Version: messages.Version, Lease: c.Lease().Address, Until: until})
	switch {
	case err != nil:
		return network(fmt.Sprintf("the machine of lease %s does not answer, so that grants stay valid: %v", c.Lease().Address, err), "try again", err)
	case answer.Refused != "":
		return refused((&service.RefusedByNode{Why: answer.Refused}).Error(), "")
	}
	if s.cli.String(flagVia) != "" {
		at, err := s.gateway(c.Remote())
		if err != nil {
			return err
		}
		told, err := p2p.Call[messages.GatewayCloseRequest, messages.GatewayCloseAnswer](ctx, c.Remote().Net, at, gatewayCloseProtocol,
			messages.GatewayCloseRequest{Version: messages.Version, Lease: c.Lease().Address})
		if err == nil && told.Refused != "" {
			err = errors.New(told.Refused)
		}
		if err != nil {
			s.say(" ! gateway  %s was not told (%v); the machine refuses it all the same", at, err)
		}
	}
	return s.done(map[string]string{"lease": c.Lease().Address.String()}, func(w io.Writer) {
		fmt.Fprintf(w, "the machine of lease %s lets no gateway in any more\n", c.Lease().Address)
	})
}
