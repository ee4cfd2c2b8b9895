package hostile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/localnet/selfsigned"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	keepers  = 3  // honest
	machines = 3  // honest
	period   = 30 // seconds: long enough for three tries of a question
	port     = 4101
)

// customers of the market, by their place among the wallets.
const (
	buyer = iota
	otherBuyer
	observer
	idleCustomer
	tenant
	operator // of the gateway
	customers
)

// hostile keepers, by their place among the wallets.
const (
	waiting = keepers + iota
	active
	leaving
	expelled
	allKeepers
)

// The last keeper and the last machine are reached over IPv6 only, the others over IPv4 only.
func keeperAddr(i int) string {
	if i == keepers-1 {
		return "2001:4dd0:0:b::1"
	}
	return fmt.Sprintf("11.0.0.%d", 11+i)
}

func machineAddr(i int) string {
	if i == machines-1 {
		return "2001:4dd0:0:c::1"
	}
	return fmt.Sprintf("11.0.0.%d", 21+i)
}

func gatewayAddr() string      { return "11.0.0.31" }
func hostileAddr(i int) string { return fmt.Sprintf("11.0.1.%d", 1+i) }

// hostileAddr6 is one of the addresses that an attacker has in a /64 of its own; each attacker has another /56.
func hostileAddr6(attacker, i int) string {
	return fmt.Sprintf("2001:4dd0:1:%x00::%x", attacker+1, i+1)
}

func multiaddr(ip string) string {
	version := 4
	if isIPv6(ip) {
		version = 6
	}
	return fmt.Sprintf("/ip%d/%s/tcp/%d", version, ip, port)
}

func isIPv6(ip string) bool { return strings.Contains(ip, ":") }

// honestAddrs are the addresses of honest daemons.
func honestAddrs() []string {
	var out []string
	for i := range keepers {
		out = append(out, keeperAddr(i))
	}
	for i := range machines {
		out = append(out, machineAddr(i))
	}
	return append(out, gatewayAddr())
}

// start starts node and market. Honest machines have one model, so that no customer meets the hostile one.
func (s *suite) start(ctx context.Context) (*network.Network, error) {
	params := seed.Params()
	params.PeriodSecs = period
	params.ReportRetentionSecs = 6*period + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	params.AwardDeadlineSecs, params.StartDeadlineSecs = 60, 60
	listen := map[string]string{}
	var nodes []network.NodeSpec
	for i := range machines {
		name := fmt.Sprintf("node-%d", i+1)
		listen[name] = multiaddr(machineAddr(i))
		nodes = append(nodes, network.NodeSpec{Name: name, Provider: i, GPU: "A100", Count: 1, Region: "us-west-2", Price: 1_260_000})
	}
	nodes = append(nodes, network.NodeSpec{Name: "hostile-node", Provider: machines, GPU: "H100", Count: 1, Region: "us-west-2", Price: 2_300_000})
	for i := range keepers {
		listen[fmt.Sprintf("keeper-%d", i+1)] = multiaddr(keeperAddr(i))
	}
	return network.Start(ctx, network.Config{
		Engine: s.o.Engine, Dir: s.o.Dir, Keepers: allKeepers, Customers: customers, Nodes: nodes, Params: &params,
		Listen: listen, KeeperHost: ownAddr, Spoiled: []string{nodes[spoiledMachine].Name}, Log: s.o.Log,
		// Longer than usual: attackers use this computer's processors too.
		KeeperFlags: []string{"--check-interval", "2500ms", "--check-timeout", "2s", "--round-timeout", "2s"},
	})
}

// gather registers everybody, and starts who is honest.
func (s *suite) gather(ctx context.Context) error {
	fmt.Fprintf(s.o.Out, "%s: %d keepers and %d machines are started\n", s.net.EngineKind(), keepers, machines)
	g, gctx := errgroup.WithContext(ctx)
	for i := range keepers {
		g.Go(func() error { return errors.Join(s.net.RegisterKeeper(gctx, i), s.net.StartKeeper(gctx, i)) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, m := range s.net.Nodes {
		if err := s.net.RegisterNode(ctx, m); err != nil {
			return err
		}
		if i < machines {
			if err := s.net.StartAgent(ctx, m); err != nil {
				return err
			}
		}
	}
	for _, c := range s.net.Keys.Customers {
		out, err := s.net.Gantry(ctx, c, "credits", "add", "900")
		if err = errors.Join(err, out.Err()); err != nil {
			return err
		}
	}
	if err := s.startGateway(ctx); err != nil {
		return err
	}
	if err := s.hostileKeepers(ctx); err != nil {
		return err
	}
	lease, err := s.rent(ctx)
	if err != nil {
		return err
	}
	if s.honest, err = newHonest(ctx, s); err != nil {
		return err
	}
	s.sampler = newSampler(s.net)
	return s.addAttackers(ctx, lease)
}

func (s *suite) send(ctx context.Context, by seed.Wallet, err error, all ...solana.Instruction) error {
	if err != nil {
		return err
	}
	_, err = s.net.Sender().Send(ctx, by.Key, nil, all...)
	return err
}

// hostileKeepers bonds keepers of each state.
func (s *suite) hostileKeepers(ctx context.Context) error {
	for i := keepers; i < allKeepers; i++ {
		k, addr := s.net.Keys.Keepers[i], hostileAddr(i-keepers+firstKeeper)
		if i == waiting || i == leaving {
			addr = victimAddr
		}
		i, err := ix.KeeperRegister(ix.KeeperRegisterArgs{
			Wallet: k.Address(), StakeMint: s.net.Keys.StakeMint, Bond: market.GNT(seed.Bond), Multiaddr: multiaddr(addr),
		})
		if err := s.send(ctx, k, err, i); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	_ = wait.For(ctx, 2500*time.Millisecond) // activation delay
	for i := active; i < allKeepers; i++ {
		k := s.net.Keys.Keepers[i]
		one, err := ix.KeeperActivate(k.Address())
		if err := s.send(ctx, k, err, one); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	k := s.net.Keys.Keepers[leaving]
	exit, err := ix.KeeperRequestExit(k.Address())
	if err := s.send(ctx, k, err, exit); err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	return s.expel(ctx, s.net.Keys.Keepers[expelled])
}

// expel proves that a keeper has contradicted itself.
func (s *suite) expel(ctx context.Context, k seed.Wallet) error {
	domain, err := s.net.Chain.Domain(ctx)
	if err != nil {
		return err
	}
	var both [2]market.SignedStatement
	for i := range both {
		st := records.CheckStatement{
			Domain: domain, Node: s.net.Nodes[0].Address, Period: records.Period(time.Now().Unix() / period), Kind: records.CheckLiveness,
			Passed: i == 0, CheckedAt: time.Now().Unix() / period * period,
		}
		sig, err := st.Sign(k.Key)
		if err != nil {
			return err
		}
		both[i] = market.SignedStatement{Statement: st, Signature: sig}
	}
	finder := s.net.Keys.Keepers[0]
	all, err := ix.ProveEquivocation(ix.ProveEquivocationArgs{
		Finder: finder.Address(), Keeper: k.Address(), StakeMint: s.net.Keys.StakeMint, One: both[0], Other: both[1],
	})
	if err := s.send(ctx, finder, err, all...); err != nil {
		return fmt.Errorf("expel %s: %w", k.Name, err)
	}
	return nil
}

// rent makes the hostile tenant one.
func (s *suite) rent(ctx context.Context) (solana.PublicKey, error) {
	w := s.net.Keys.Customers[tenant]
	out, err := s.net.Gantry(ctx, w, "deploy", "--gpu", "A100", "--count", "1", "--max-price", "2", "--duration", "3h", "--allow-simulated",
		"--detach", "--", "sh", "-c", "yes | head -c 4000000; while :; do sleep 1; done")
	if err = errors.Join(err, out.Err()); err != nil {
		return solana.PublicKey{}, err
	}
	if out, err = s.net.Gantry(ctx, w, "leases"); errors.Join(err, out.Err()) != nil {
		return solana.PublicKey{}, errors.Join(err, out.Err())
	}
	var list []struct{ Address string }
	if err := out.Decode(&list); err != nil {
		return solana.PublicKey{}, err
	}
	if len(list) != 1 {
		return solana.PublicKey{}, fmt.Errorf("the tenant has %d leases", len(list))
	}
	return solana.PublicKeyFromBase58(list[0].Address)
}

// peers are honest daemons, as anybody finds them.
func (s *suite) peers() (ofKeepers, ofMachines, ofGateways []p2p.Peer) {
	for i := range keepers {
		ofKeepers = append(ofKeepers, p2p.Peer{Key: s.net.Keys.Keepers[i].Address(), Addrs: []string{multiaddr(keeperAddr(i))}})
	}
	for i := range machines {
		ofMachines = append(ofMachines, p2p.Peer{Key: s.net.Nodes[i].Key.Address(), Addrs: []string{multiaddr(machineAddr(i))}})
	}
	return ofKeepers, ofMachines, []p2p.Peer{{Key: s.net.Keys.Customers[operator].Address(), Addrs: []string{multiaddr(gatewayAddr())}}}
}

// startGateway starts a gateway at an address of its own.
func (s *suite) startGateway(ctx context.Context) error {
	cert, key := filepath.Join(s.o.Dir, "gateway.pem"), filepath.Join(s.o.Dir, "gateway-key.pem")
	if err := selfsigned.Write(cert, key, "*."+gatewayDomain); err != nil {
		return err
	}
	return s.net.StartGateway(ctx, s.net.Keys.Customers[operator], "--domain", gatewayDomain, "--cert", cert, "--cert-key", key, "--listen", multiaddr(gatewayAddr()),
		"--tls", fmt.Sprintf("%s:%d", gatewayAddr(), gatewayTLS), "--ssh", fmt.Sprintf("%s:%d", gatewayAddr(), gatewaySSH))
}
