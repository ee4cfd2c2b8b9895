package network

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/sdk/chain"
)

// startRelays puts a relay before each of the node's two ports, and a proxy that injects faults behind the first, if
// the configuration asks for it.
func (n *Network) startRelays(ctx context.Context) error {
	if !n.cfg.Relay {
		return nil
	}
	var err error
	if n.proxy, err = fault.StartProxy(ctx, n.At.RPC); err != nil {
		return err
	}
	u, err := url.Parse(n.At.WS)
	if err != nil {
		return err
	}
	for _, host := range []string{n.proxy.Addr(), u.Host} {
		r, err := fault.StartRelay(ctx, host)
		if err != nil {
			return err
		}
		n.relays = append(n.relays, r)
	}
	return nil
}

// startProxies puts a proxy before the node for each member that the configuration names.
func (n *Network) startProxies(ctx context.Context) error {
	if len(n.cfg.Spoiled) == 0 {
		return nil
	}
	var err error
	n.past, err = fault.Record(ctx, fault.HistoryOptions{RPC: n.At.RPC, Programs: []solana.PublicKey{bindings.ProgramID, solana.TokenProgramID}})
	if err != nil {
		return fmt.Errorf("network: the node's history: %w", err)
	}
	n.proxies = map[string]*fault.Proxy{}
	for _, name := range n.cfg.Spoiled {
		if n.proxies[name], err = fault.StartProxyOf(ctx, fault.Node{RPC: n.At.RPC, WS: n.At.WS, Past: n.past}); err != nil {
			return err
		}
	}
	return nil
}

// startPublic puts relays before the node's ports at the address that the configuration names.
func (n *Network) startPublic(ctx context.Context) error {
	if n.cfg.KeeperHost == "" {
		return nil
	}
	for _, raw := range []string{n.endpoint().RPC, n.endpoint().WS} {
		u, err := url.Parse(raw)
		if err != nil {
			return err
		}
		r, err := fault.StartRelayAt(ctx, n.cfg.KeeperHost, u.Host)
		if err != nil {
			return err
		}
		n.public = append(n.public, r)
	}
	return nil
}

// endpoint is what keepers and agents are given: the node, or the relay before it.
func (n *Network) endpoint() chain.Endpoint {
	if len(n.relays) == 0 {
		return chain.Endpoint{RPC: n.At.RPC, WS: n.At.WS}
	}
	return chain.Endpoint{RPC: "http://" + n.relays[0].Addr(), WS: "ws://" + n.relays[1].Addr()}
}

// endpointOf is what a keeper or a machine is given: a proxy of its own, where it has one.
func (n *Network) endpointOf(name string) chain.Endpoint {
	if p, ok := n.proxies[name]; ok {
		return chain.Endpoint{RPC: "http://" + p.Addr(), WS: "ws://" + p.Addr()}
	}
	return n.endpoint()
}

// Spoil replaces the faults of the node as a member sees it; no faults end them. The member must be one of Config.Spoiled.
func (n *Network) Spoil(name string, f fault.Faults) error {
	p, ok := n.proxies[name]
	if !ok {
		return fmt.Errorf("network: %s has no proxy of its own; name it in Config.Spoiled", name)
	}
	p.Set(f)
	return nil
}

// SpoiledOf is how often each fault happened to a member.
func (n *Network) SpoiledOf(name string) fault.Counts {
	if p, ok := n.proxies[name]; ok {
		return p.Counts()
	}
	return fault.Counts{}
}

// History is why the node's history cannot be read any more, nil if it can or none is needed.
func (n *Network) History() error {
	if n.past == nil {
		return nil
	}
	return n.past.Err()
}

// Cut breaks the connection of all keepers and agents to the node; the network must have been started with a relay.
func (n *Network) Cut() error {
	if len(n.relays) == 0 {
		return errors.New("network: started without a relay")
	}
	for _, r := range n.relays {
		r.Cut()
	}
	return nil
}

// DropSockets breaks every WebSocket connection of the programs that stay; new ones are accepted at once. The network
// must have been started with a relay.
func (n *Network) DropSockets() error {
	if len(n.relays) == 0 {
		return errors.New("network: started without a relay")
	}
	n.relays[1].Cut()
	return n.relays[1].Restore()
}

// InjectFaults spoils the node's answers to keepers and agents from now on; no faults end it. The network must have
// been started with a relay.
func (n *Network) InjectFaults(f fault.Faults) error {
	if n.proxy == nil {
		return errors.New("network: started without a relay")
	}
	n.proxy.Set(f)
	return nil
}

// InjectedFaults is how often each fault was injected so far.
func (n *Network) InjectedFaults() fault.Counts {
	if n.proxy == nil {
		return fault.Counts{}
	}
	return n.proxy.Counts()
}

// Restore mends what Cut broke.
func (n *Network) Restore() error {
	var errs []error
	for _, r := range n.relays {
		errs = append(errs, r.Restore())
	}
	return errors.Join(errs...)
}

// Travel moves the chain's clock forward, so that every other clock is behind it. Only surfnet can.
func (n *Network) Travel(ctx context.Context, by time.Duration) error {
	return n.TravelTo(ctx, time.Now().Add(by))
}

// TravelTo moves the chain's clock forward to a time. Other engines than surfnet fail with engine.ErrUnsupported.
func (n *Network) TravelTo(ctx context.Context, to time.Time) error { return n.engine.Travel(ctx, to) }
