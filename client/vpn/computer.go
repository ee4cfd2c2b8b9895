package vpn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.zx2c4.com/wireguard/tun"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// lookEvery is how often the list of members is read.
	lookEvery = time.Second
	// visitFirst is how soon a machine that did not let the computer in is asked again; the pause doubles up to visitEvery.
	visitFirst = 250 * time.Millisecond
	// visitEvery is how often each machine is told that the computer is there: it may have started again.
	visitEvery = 5 * time.Second
	visitLimit = 10 * time.Second
)

var (
	// ErrTaken: another computer of the customer's has the place in the network now.
	ErrTaken = errors.New("vpn: another computer has joined in place of this one")
	// ErrInterface: the interface has ended.
	ErrInterface = errors.New("vpn: the interface of the private network has ended")
	// ErrNoMember: the network has no member of this name or address.
	ErrNoMember = errors.New("vpn: no such member")
	// ErrIndirect: the machine is reached through a relay alone.
	ErrIndirect = errors.New("vpn: there is no direct connection to the machine yet")
	// ErrPlace: what a machine says of its lease contradicts another one.
	ErrPlace = errors.New("vpn: the machine names a key or a place of another member")
)

// RefusedError is why a machine does not let the computer in.
type RefusedError struct {
	Why   string
	Taken bool
}

func (r *RefusedError) Error() string { return r.Why }

// Member is a lease of the order that runs.
type Member struct {
	Lease solana.PublicKey
	Node  solana.PublicKey // its machine's key
	// Place is the lease's place in the network; less than 0: its machine says it.
	Place int
}

// Machines are the machines of the leases.
type Machines interface {
	// Visit asks a machine to let the computer in, and connects to it first where need be.
	Visit(ctx context.Context, node solana.PublicKey, req messages.GroupVisitRequest) (messages.GroupVisitAnswer, error)
	// Direct is where a machine's packets come from; see p2p.Node.Direct.
	Direct(node solana.PublicKey) netip.AddrPort
}

// Options of Join. All are required but Log.
type Options struct {
	Machines Machines
	// Members are the leases of the order that run now.
	Members func() ([]Member, error)
	// Say is told what happens to members.
	Say func(format string, args ...any)
	Log zerolog.Logger
}

// Computer is the customer's end of a private network.
type Computer struct {
	o      Options
	device *mesh.Device

	mu    sync.Mutex
	peers map[solana.PublicKey]peer // by lease
	taken map[solana.PublicKey]bool // the leases where another computer has the place
	size  int                       // how many places the network has
}

type peer struct {
	place int
	mesh.Peer
}

// Join makes the computer's end on an interface. Run joins; Close leaves.
func Join(p *mesh.Port, t tun.Device, o Options) (*Computer, error) {
	key, err := mesh.NewPrivateKey()
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	d, err := p.Open(t, key, o.Log)
	if err != nil {
		return nil, err
	}
	return &Computer{o: o, device: d, peers: map[solana.PublicKey]peer{}, taken: map[solana.PublicKey]bool{}}, nil
}

// Close ends the computer's end of the network.
func (c *Computer) Close() { c.device.Close() }

// Run stays in the network until ctx ends. Error: ErrTaken where no machine lets this computer in any more because another one
// has its place; of Options.Members.
func (c *Computer) Run(ctx context.Context) error {
	var visits sync.WaitGroup
	defer visits.Wait()
	running := map[Member]context.CancelFunc{}
	defer func() {
		for _, stop := range running {
			stop()
		}
	}()
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	for first := true; ; first = false {
		members, err := c.o.Members()
		if err != nil {
			return err
		}
		for m, stop := range running {
			if !slices.Contains(members, m) {
				stop()
				delete(running, m)
				c.forget(m.Lease)
			}
		}
		for _, m := range members {
			if running[m] == nil {
				var mctx context.Context
				mctx, running[m] = context.WithCancel(ctx)
				visits.Go(func() { c.visit(mctx, m, first) })
			}
		}
		if c.isTaken(members) {
			return ErrTaken
		}
		look.Reset(lookEvery)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.device.Done():
			return ErrInterface
		case <-look.C:
		}
	}
}

// visit keeps a machine informed. begin takes the place there from another computer, once.
func (c *Computer) visit(ctx context.Context, m Member, begin bool) {
	said := ""
	for pause := visitFirst; ; {
		answer, err := ask(ctx, c.o.Machines, m, messages.GroupVisitRequest{Key: c.device.Public(), Begin: begin})
		if err == nil {
			begin = false
			err = c.learn(ctx, m, answer)
		}
		var refused *RefusedError
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			said, pause = "", visitEvery
		case errors.As(err, &refused) && refused.Taken:
			c.leave(m.Lease)
			return
		default:
			if text := err.Error(); text != said && pause > time.Second { // what passes at once is not told
				said = text
				c.o.Say(" · waits    for lease %s: %v", m.Lease, err)
			}
			pause = min(2*pause, visitEvery)
		}
		if wait.For(ctx, pause) != nil {
			return
		}
	}
}

// ask asks the machine of a member to let a computer in.
func ask(ctx context.Context, machines Machines, m Member, req messages.GroupVisitRequest) (messages.GroupVisitAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, visitLimit)
	defer cancel()
	req.Version, req.Lease = messages.Version, m.Lease
	answer, err := machines.Visit(ctx, m.Node, req)
	if err != nil {
		return answer, err
	}
	if answer.Refused != "" {
		return answer, &RefusedError{Why: printable.Text(answer.Refused), Taken: answer.Taken}
	}
	return answer, nil
}

// peerOf is what an answer says of a member, which has to have a direct connection.
func peerOf(machines Machines, m Member, answer messages.GroupVisitAnswer) (peer, error) {
	at := machines.Direct(m.Node)
	if !at.IsValid() {
		return peer{}, ErrIndirect
	}
	if at.Port() == 0 {
		at = netip.AddrPortFrom(at.Addr(), answer.Port)
	}
	place := m.Place
	if place < 0 {
		place = int(answer.Index)
	}
	if place >= messages.MaxGroup {
		return peer{}, fmt.Errorf("%w: place %d", ErrPlace, place)
	}
	addr := mesh.Address(place)
	return peer{place: place, Peer: mesh.Peer{Key: answer.Key, Allowed: []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}, Endpoint: at}}, nil
}

// learn takes over how a member is reached.
func (c *Computer) learn(ctx context.Context, m Member, answer messages.GroupVisitAnswer) error {
	p, err := peerOf(c.o.Machines, m, answer)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err() // it was forgotten meanwhile
	}
	old, known := c.peers[m.Lease]
	if known && old.place == p.place && old.Key == p.Key && old.Endpoint == p.Endpoint {
		return nil
	}
	for lease, other := range c.peers {
		if lease != m.Lease && (other.place == p.place || other.Key == p.Key) {
			return ErrPlace
		}
	}
	if p.Key == c.device.Public() {
		return ErrPlace
	}
	c.peers[m.Lease], c.size = p, max(c.size, min(int(answer.Members), messages.MaxGroup), p.place+1)
	if err := c.apply(); err != nil {
		return err
	}
	if !known {
		c.o.Say(" · member   %-8s %-12s lease %s", mesh.Name(p.place), mesh.Address(p.place), m.Lease)
	}
	return nil
}

// forget removes a member whose lease does not run any more.
func (c *Computer) forget(lease solana.PublicKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, known := c.peers[lease]
	delete(c.peers, lease)
	delete(c.taken, lease)
	if known {
		_ = c.apply() // it has logged what is wrong
		c.o.Say(" · gone     %-8s lease %s", mesh.Name(p.place), lease)
	}
}

// leave removes a member where another computer has the place.
func (c *Computer) leave(lease solana.PublicKey) {
	c.forget(lease)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[lease] = true
}

// isTaken reports whether another computer has the place at all members. One machine alone could say so of its own.
func (c *Computer) isTaken(members []Member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range members {
		if !c.taken[m.Lease] {
			return false
		}
	}
	return len(members) > 0
}

func (c *Computer) apply() error {
	peers := make([]mesh.Peer, 0, len(c.peers))
	for _, p := range c.peers {
		peers = append(peers, p.Peer)
	}
	err := c.device.SetPeers(peers)
	if err != nil {
		c.o.Log.Warn().Err(err).Msg("the private network could not be changed")
	}
	return err
}

// Places are those of the members that have let the computer in.
func (c *Computer) Places() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var places []int
	for p := range maps.Values(c.peers) {
		places = append(places, p.place)
	}
	slices.Sort(places)
	return places
}

// Resolve is the address of a member by its name or its address. Names of members that are being replaced stay. Error: ErrNoMember.
func (c *Computer) Resolve(host string) (netip.Addr, error) {
	c.mu.Lock()
	size := c.size
	c.mu.Unlock()
	if size == 0 {
		return netip.Addr{}, fmt.Errorf("%w: no machine has let this computer in yet", ErrNoMember)
	}
	if text, named := strings.CutPrefix(strings.ToLower(host), "node-"); named {
		if place, err := strconv.Atoi(text); err == nil && place >= 0 && place < size && text == strconv.Itoa(place) {
			return mesh.Address(place), nil
		}
	} else if addr, err := netip.ParseAddr(host); err == nil {
		for place := range size {
			if mesh.Address(place) == addr {
				return addr, nil
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("%w: %s; there are %s to %s", ErrNoMember, strconv.Quote(host), mesh.Name(0), mesh.Name(size-1))
}
