package daemon

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/gateway/certs"
	"github.com/gantry-market/gantry/gateway/front"
	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/jump"
	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/gateway/link"
	"github.com/gantry-market/gantry/gateway/toll"
	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/internal/figures"
	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/clock"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// Gateway is the daemon.
type Gateway struct {
	c       Config
	cluster records.Domain
	view    *view.View // of keepers, and of the gateway's own credits
	clock   *clock.Clock
	net     *p2p.Node
	table   *grants.Table
	book    *toll.Book // nil where nothing is asked
	terms   messages.GatewayTerms
	links   *link.Links
	cert    certificates
	issuer  *certs.Manager // nil with certificates as files
	tls     net.Listener
	ssh     net.Listener // nil without a jump host
	tlsRoom *limit.Room
	sshRoom *limit.Room
	hostKey ssh.Signer
	front   *front.Server
	jump    *jump.Server
	figures *figures.Server
	service *service.Service
	seen    *seen
}

// Open listens and reads what was granted before. Errors: ErrConfig, those of files, addresses and the chain.
func Open(ctx context.Context, c Config) (*Gateway, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	g := &Gateway{c: c, view: view.New(view.Options{Log: c.Log})}
	g.service = service.New(c.Service, g.ready, c.Log)
	if err := g.open(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *Gateway) open(ctx context.Context) error {
	mk, err := query.Load(ctx, g.c.Client, chain.Confirmed)
	if err != nil {
		return err
	}
	genesis, err := g.c.Client.Genesis(ctx)
	if err != nil {
		return err
	}
	g.cluster = records.DomainOf(genesis)
	g.clock = clock.Of(g.c.Client, g.c.Log.With().Str("part", "clock").Logger())
	if err := g.clock.Look(ctx); err != nil {
		return err
	}
	if err := g.listen(ctx); err != nil {
		return err
	}
	if err := g.openCertificates(); err != nil {
		return err
	}
	if g.hostKey, err = hostKey(g.c.Key); err != nil {
		return err
	}
	if err := g.openBook(ctx, g.cluster, mk.PaymentMint); err != nil {
		return err
	}
	l := g.c.Limits
	g.table, err = grants.New(grants.Options{
		Domain: g.cluster, Gateway: g.c.Key.PublicKey(), Dir: filepath.Join(g.c.Data, "grants"), Chain: g.facts, Leases: g.leasesOf, Try: g.tryGrant,
		Customers: g.c.Customers, MostLeases: l.Leases, MostOfOne: l.PerCustomer, PerLease: l.PerLease, Rate: l.Rate, Toll: g.book.Account, Now: g.clock.Now, Log: g.c.Log,
		Turn: g.service.Loop("grants", turnTime).Turn,
	})
	if err != nil {
		return err
	}
	if err := g.openNetwork(chain.ClusterOf(genesis) == chain.ClusterLocal); err != nil {
		return err
	}
	g.links, err = link.New(link.Options{Net: g.net, Keepers: g.keepers, Memory: tunnel.NewMemory(l.Memory), Log: g.c.Log})
	if err != nil {
		return err
	}
	if err := g.openPublic(); err != nil {
		return err
	}
	g.serveCustomers()
	return nil
}

func (g *Gateway) openNetwork(local bool) (err error) {
	o := p2p.Options{
		Key: g.c.Key, Listen: []string{g.c.Listen}, UserAgent: "gantry-gateway", Names: roles.Names{View: g.view}, Known: g.knows, PublicOnly: !local,
		Log: g.c.Log.With().Str("part", "p2p").Logger(),
	}
	if g.c.Announce != "" {
		o.Announce = []string{g.c.Announce}
	}
	if g.net, err = p2p.New(o.ForGateway(g.c.Client.Local())); err != nil {
		return err
	}
	g.c.Log.Info().Str("gateway", g.c.Key.PublicKey().String()).Strs("addresses", g.net.Addrs()).Msg("gateway listens to customers")
	return nil
}

// listen takes the public ports.
func (g *Gateway) listen(ctx context.Context) (err error) {
	var lc net.ListenConfig
	if g.tls, err = lc.Listen(ctx, "tcp", g.c.TLS); err != nil {
		return fmt.Errorf("listen for TLS: %w", err)
	}
	if g.c.SSH != "" {
		if g.ssh, err = lc.Listen(ctx, "tcp", g.c.SSH); err != nil {
			return fmt.Errorf("listen for SSH: %w", err)
		}
	}
	return nil
}

// openPublic makes what serves at them.
func (g *Gateway) openPublic() (err error) {
	l := g.c.Limits
	room := func() *limit.Room {
		return limit.NewRoom(limit.Options{Most: l.Connections, MostOfOne: l.PerAddress, PerSecond: l.NewPerSecond, Burst: max(1, int(5*l.NewPerSecond))})
	}
	g.tlsRoom, g.sshRoom = room(), room()
	g.seen = newSeen(g)
	g.front, err = front.New(front.Options{
		Listener: g.tls, Domain: g.c.Domain, Certificate: g.cert.Get, Find: g.table.ByName, Dial: g.links.Dial, Room: g.tlsRoom, Idle: l.Idle,
		Patience: front.Patience, Seen: g.seen.tls, Log: g.c.Log,
	})
	if err != nil {
		return err
	}
	if g.ssh != nil {
		g.jump, err = jump.New(jump.Options{
			Listener: g.ssh, Domain: g.c.Domain, HostKey: g.hostKey, Knows: g.table.KnowsKey, Find: g.table.BySSHName, Dial: g.links.SSH,
			Room: g.sshRoom, Idle: l.IdleSSH, Seen: g.seen.ssh, Log: g.c.Log,
		})
		if err != nil {
			return err
		}
	}
	if g.c.Figures != "" {
		if g.figures, err = figures.New(figures.Options{Addr: g.c.Figures, WebConfig: g.c.WebConfig, Registry: g.seen.registry, Healthy: g.cert.Wrong, Ready: g.ready}); err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(g.c.Data, "http.addr"), []byte(g.figures.Addr()+"\n")); err != nil {
			return fmt.Errorf("address of the figures: %w", err)
		}
	}
	return nil
}

// hostKey of the jump host. It is derived from the gateway's key, so that it stays.
func hostKey(key solana.PrivateKey) (ssh.Signer, error) {
	seed, err := hkdf.Key(sha256.New, ed25519.PrivateKey(key).Seed(), nil, "gantry-gateway-ssh-1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	return ssh.NewSignerFromSigner(ed25519.NewKeyFromSeed(seed))
}

// Close frees what Open took.
func (g *Gateway) Close() error {
	var errs []error
	for _, l := range []net.Listener{g.tls, g.ssh} {
		if l != nil {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if g.net != nil {
		errs = append(errs, g.net.Close())
	}
	if g.book != nil {
		errs = append(errs, g.book.Close())
	}
	if g.issuer != nil { // the last one: it may wait for the CA
		errs = append(errs, g.issuer.Close())
	}
	return errors.Join(errs...)
}

// turnTime is how long a look at the grants may take: it waits for the chain, one endpoint after the other.
const turnTime = 5 * time.Minute

// Run serves until ctx ends.
func (g *Gateway) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, g.service.Stopping)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.service.Run(ctx) })
	group.Go(func() error {
		credits := market.CreditsAddress(g.c.Key.PublicKey())
		return g.view.Run(ctx, view.Source{Client: g.c.Client, Scope: view.Only([]chain.Filter{query.Kind(market.KindKeeper)}, credits)})
	})
	group.Go(func() error { return g.keepConnections(ctx) })
	group.Go(func() error { return g.clock.Run(ctx) })
	group.Go(func() error { return g.table.Run(ctx) })
	group.Go(func() error { return g.links.Run(ctx) })
	group.Go(func() error { return g.front.Run(ctx) })
	if g.issuer != nil {
		group.Go(func() error { return g.issuer.Run(ctx) })
	}
	if g.jump != nil {
		group.Go(func() error { return g.jump.Run(ctx) })
	}
	if g.figures != nil {
		g.c.Log.Info().Str("at", g.figures.Addr()).Msg("figures are shown")
		group.Go(func() error { return g.figures.Run(ctx) })
	}
	started := g.c.Log.Info().Str("tls", g.tls.Addr().String()).Str("domain", g.c.Domain).Int("leases", len(g.table.All()))
	if g.ssh != nil {
		started = started.Str("ssh", g.ssh.Addr().String())
	}
	started.Msg("gateway serves")
	return group.Wait()
}

// keepers of the market, for looking up machines.
func (g *Gateway) keepers() []solana.PublicKey {
	var out []solana.PublicKey
	for _, p := range g.peers() {
		out = append(out, p.Key)
	}
	return out
}

func (g *Gateway) peers() []p2p.Peer {
	var out []p2p.Peer
	for _, k := range g.view.Keepers() {
		if k.State().Dialled() && k.Addr() != "" {
			out = append(out, p2p.Peer{Key: k.Wallet, As: k.SigningKey(), Addrs: []string{k.Addr()}})
		}
	}
	return out
}

// keepConnections holds a connection to every keeper: they say where machines are, and tell customers where the gateway is.
func (g *Gateway) keepConnections(ctx context.Context) error {
	if err := g.view.Ready(ctx); err != nil {
		return err
	}
	g.service.Ready()
	if _, ok := g.view.CreditsOf(g.c.Key.PublicKey()); !ok {
		g.c.Log.Warn().Str("gateway", g.c.Key.PublicKey().String()).
			Msg("the gateway's key has no credits in this market, and keepers answer it as little as any stranger: give it some with `gantry credits add --keypair`")
	}
	var last []p2p.Peer
	for {
		changed := g.view.Changed()
		now := g.peers()
		if !slices.EqualFunc(now, last, func(a, b p2p.Peer) bool { return a.Key == b.Key && a.As == b.As && slices.Equal(a.Addrs, b.Addrs) }) {
			last = now
			var good []p2p.Peer
			for _, p := range now {
				if err := g.net.Remember(p); err != nil {
					g.c.Log.Debug().Err(err).Str("keeper", p.Key.String()).Msg("the keeper's address on chain cannot be used")
					continue
				}
				good = append(good, p)
			}
			if err := g.net.Keep(good); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// knows reports whether a key may stay connected: of a keeper, or of somebody whom a grant concerns. Others may bring a
// grant meanwhile.
func (g *Gateway) knows(key solana.PublicKey) bool {
	known := false
	g.view.Read(func(v *view.Accounts) { _, known = v.Keepers[key] })
	return known || g.table.Concerns(key)
}

// ready lists what keeps the gateway from serving.
func (g *Gateway) ready() (out []string) {
	if len(g.view.Keepers()) == 0 {
		out = append(out, "no keeper is known: the chain is not followed")
	}
	connected := slices.ContainsFunc(g.keepers(), g.net.Connected)
	if !connected {
		out = append(out, "no keeper is connected: machines behind routers are not found")
	}
	return out
}
