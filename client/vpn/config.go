package vpn

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// configTime is how long machines may take to let a configuration's key in.
	configTime = 15 * time.Second
	// tryTime is how long they may take to answer it: a packet that is lost is sent again after five seconds.
	tryTime = 8 * time.Second
	// configKeepalive keeps the hole in the router of the computer open.
	configKeepalive = 15 * time.Second
)

// Config is a configuration for other WireGuard programs.
type Config struct {
	PrivateKey string       `json:"privateKey"`
	Address    string       `json:"address"`
	MTU        int          `json:"mtu"`
	Peers      []ConfigPeer `json:"peers"`
}

// ConfigPeer is a member in a configuration.
type ConfigPeer struct {
	Place     int    `json:"place"`
	Host      string `json:"host,omitempty"`
	Lease     string `json:"lease"`
	PublicKey string `json:"publicKey,omitempty"`
	Address   string `json:"address,omitempty"`
	Endpoint  string `json:"endpoint,omitempty"`
	// Unreachable is why other programs do not reach the member; empty where it has answered one.
	Unreachable string `json:"unreachable,omitempty"`
}

// Reached is how many members answer.
func (c *Config) Reached() (n int) {
	for _, p := range c.Peers {
		if p.Unreachable == "" {
			n++
		}
	}
	return n
}

// Configure makes a configuration and tells the machines its key, which takes the place of one that was made before. Each machine is
// tried first, by WireGuard on a port of this computer that no machine knows: one behind a router does not answer it.
func Configure(ctx context.Context, o Options) (Config, error) {
	members, err := o.Members()
	if err != nil {
		return Config{}, err
	}
	trial, err := mesh.NewPrivateKey()
	if err != nil {
		return Config{}, err
	}
	key, err := mesh.NewPrivateKey()
	if err != nil {
		return Config{}, err
	}
	peers, problems := admit(ctx, o, members, trial.Public())
	answered, err := try(ctx, o, trial, peers)
	if err != nil {
		return Config{}, err
	}
	// Another key than the one that was tried: a member refuses handshakes older than the last one, and the clock of the computer that
	// gets the configuration may be behind.
	peers, again := admit(ctx, o, members, key.Public())
	out := Config{
		PrivateKey: base64.StdEncoding.EncodeToString(key.Bytes()), MTU: mesh.MTU,
		Address: netip.PrefixFrom(mesh.KeptVisitor, mesh.KeptVisitor.BitLen()).String(),
	}
	for i, m := range members {
		p := ConfigPeer{Place: m.Place, Lease: m.Lease.String()}
		switch err := errors.Join(problems[i], again[i]); {
		case err != nil:
			p.Unreachable = oneLine(err)
		case !answered[peers[i].Key]:
			p.Unreachable = "it does not answer at " + peers[i].Endpoint.String() + " from a port that it does not know: it stands behind a router or a firewall"
		}
		if peers[i].Endpoint.IsValid() {
			p.Place, p.Host = peers[i].place, mesh.Name(peers[i].place)
			p.PublicKey, p.Endpoint, p.Address = peers[i].Key.String(), peers[i].Endpoint.String(), peers[i].Allowed[0].String()
		}
		out.Peers = append(out.Peers, p)
	}
	slices.SortFunc(out.Peers, func(a, b ConfigPeer) int { return a.Place - b.Place })
	return out, ctx.Err()
}

// oneLine is the text of an error in one line: a machine has a part in it, and must not write lines of a configuration.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// admit has machines let a key in, each at the place of its member.
func admit(ctx context.Context, o Options, members []Member, key mesh.Key) ([]peer, []error) {
	ctx, cancel := context.WithTimeout(ctx, configTime)
	defer cancel()
	peers, problems := make([]peer, len(members)), make([]error, len(members))
	var asked sync.WaitGroup
	for i, m := range members {
		asked.Go(func() {
			for again := true; again; again = wait.For(ctx, visitFirst) == nil {
				answer, err := ask(ctx, o.Machines, m, messages.GroupVisitRequest{Key: key, Kept: true, Begin: true})
				if err == nil {
					peers[i], err = peerOf(o.Machines, m, answer)
				}
				if problems[i] = err; err == nil {
					return
				}
			}
		})
	}
	asked.Wait()
	places, keys := map[int]bool{}, map[mesh.Key]bool{}
	for i, p := range peers {
		if problems[i] == nil && (places[p.place] || keys[p.Key]) {
			peers[i], problems[i] = peer{}, ErrPlace
		}
		places[p.place], keys[p.Key] = true, true
	}
	return peers, problems
}

// try reports which members answer WireGuard from a port of its own.
func try(ctx context.Context, o Options, key mesh.PrivateKey, peers []peer) (map[mesh.Key]bool, error) {
	answered := map[mesh.Key]bool{}
	var all []mesh.Peer
	for _, p := range peers {
		if p.Endpoint.IsValid() {
			all = append(all, p.Peer)
		}
	}
	if len(all) == 0 {
		return answered, nil
	}
	_, t, err := NewStack(mesh.KeptVisitor)
	if err != nil {
		return nil, err
	}
	d, err := mesh.OpenAlone(t, key, o.Log)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := d.SetPeers(all); err != nil {
		return nil, err
	}
	err = wait.Again(ctx, tryTime, visitFirst, func() bool {
		sessions, err := d.Sessions()
		for _, s := range sessions {
			if err == nil && !s.Handshake.IsZero() {
				answered[s.Key] = true
			}
		}
		return len(answered) < len(all)
	})
	return answered, err
}

// Print writes the configuration as wg-quick and WireGuard's apps read it.
func (c *Config) Print(w io.Writer) {
	fmt.Fprintf(w, `# A computer of yours in the private network of your cluster, for wg-quick and WireGuard's apps. Whoever has this file is in it.
# It is for one computer. A new configuration makes it void, and so do the ends of the leases.
# It is made anew after a machine was replaced or its agent has started again: gantry vpn --print-config
# Members can connect to this computer as well: a firewall here decides on it.
[Interface]
PrivateKey = %s
Address = %s
MTU = %d
`, c.PrivateKey, c.Address, c.MTU)
	for _, p := range c.Peers {
		name := p.Host
		if name == "" {
			name = "a member"
		}
		if p.Unreachable != "" {
			fmt.Fprintf(w, "\n# %s (lease %s) is not reached by this configuration, and is by gantry vpn:\n# %s\n", name, p.Lease, p.Unreachable)
			continue
		}
		fmt.Fprintf(w, "\n# %s, lease %s\n[Peer]\nPublicKey = %s\nAllowedIPs = %s\nEndpoint = %s\nPersistentKeepalive = %d\n",
			name, p.Lease, p.PublicKey, p.Address, p.Endpoint, int(configKeepalive.Seconds()))
	}
}
