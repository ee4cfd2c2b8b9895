package group

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// helloFirst is how soon a member that did not answer is asked again; the pause doubles up to helloEvery.
	helloFirst = 250 * time.Millisecond
	// helloEvery is how often each member is told again: it may have started again, and then it has forgotten the key.
	helloEvery = 15 * time.Second
	helloLimit = 5 * time.Second
)

// RefusedError is what the machine of another member says where it does not take a hello.
type RefusedError struct{ Why string }

func (r *RefusedError) Error() string { return r.Why }

// same reports whether two groups have the same members in the same places.
func same(a, b messages.Group) bool { return a.Index == b.Index && slices.Equal(a.Members, b.Members) }

// end is this machine's end of a lease's network.
type end struct {
	o      Options
	lease  solana.PublicKey
	device *mesh.Device
	link   *link
	log    zerolog.Logger
	stop   context.CancelFunc

	mu    sync.Mutex
	group messages.Group
	peers map[messages.GroupMember]mesh.Peer // the members that have said how they are reached
	// visitors are the computers of the customer's, by their addresses.
	visitors map[netip.Addr]visitor
	// again wakes what tells a member.
	again   map[messages.GroupMember]chan struct{}
	changed chan struct{}
}

func newEnd(o Options, l lease.Member, d *mesh.Device, c *link, log zerolog.Logger) *end {
	return &end{o: o, lease: l.Lease, device: d, link: c, log: log, group: l.Group, peers: map[messages.GroupMember]mesh.Peer{}, visitors: map[netip.Addr]visitor{}, again: map[messages.GroupMember]chan struct{}{}, changed: make(chan struct{}, 1)}
}

// run tells the other members, again and again, until ctx ends, and closes the device.
func (e *end) run(ctx context.Context) {
	defer e.device.Close()
	look := time.NewTicker(visitorsEvery)
	defer look.Stop()
	for {
		round, stop := context.WithCancel(ctx)
		var told sync.WaitGroup
		for member, again := range e.others() {
			told.Go(func() { e.tell(round, member, again) })
		}
		e.await(ctx, look.C)
		stop()
		told.Wait()
		if ctx.Err() != nil {
			return
		}
	}
}

// await looks after visitors until the group changes or ctx ends.
func (e *end) await(ctx context.Context, look <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.changed:
			return
		case <-look:
			e.expire(ctx)
		}
	}
}

// failed reports whether the interface failed, as it does when its namespace ends: wireguard-go has closed the device then.
func (e *end) failed() bool {
	select {
	case <-e.device.Done():
		return true
	default:
		return false
	}
}

// others are the other members, with what wakes those that tell them.
func (e *end) others() map[messages.GroupMember]chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.again)
	for i, member := range e.group.Members {
		if i != int(e.group.Index) {
			e.again[member] = make(chan struct{}, 1)
		}
	}
	return maps.Clone(e.again)
}

// set takes over the group as the customer has it now. A member that left its place is forgotten at once, and with it the address
// that it had.
func (e *end) set(g messages.Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if same(e.group, g) {
		return
	}
	former := e.group
	e.group = g
	for member, p := range e.peers {
		if i := e.place(member); i < 0 || !p.Allowed[0].Contains(mesh.Address(i)) {
			delete(e.peers, member)
		}
	}
	_ = e.apply() // it has logged what is wrong
	e.resetTo(former)
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// resetTo ends the container's connections with members of a former group whose places others have now.
func (e *end) resetTo(former messages.Group) {
	for i, member := range former.Members {
		if i == int(e.group.Index) || i < len(e.group.Members) && e.group.Members[i] == member {
			continue
		}
		n, err := e.link.reset(mesh.Address(i))
		if err != nil {
			e.log.Warn().Err(err).Msg("connections with a member that left its place are not reset")
			continue
		}
		e.log.Info().Int("place", i).Int("connections", n).Msg("another machine has the place of a member; connections with the former one are reset")
	}
}

// tell keeps one member informed.
func (e *end) tell(ctx context.Context, member messages.GroupMember, again <-chan struct{}) {
	for pause := helloFirst; ; {
		if err := e.ask(ctx, member); err != nil {
			e.log.Debug().Err(err).Stringer("member", solana.PublicKey(member.Lease)).Msg("a member of the private network does not answer")
			pause = min(2*pause, helloEvery)
		} else {
			pause = helloEvery
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-again:
			t.Stop()
			pause = helloFirst
		case <-t.C:
		}
	}
}

func (e *end) ask(ctx context.Context, member messages.GroupMember) error {
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	ans, err := e.o.Net.Hello(ctx, member.Node, messages.GroupHelloRequest{
		Version: messages.Version, From: e.lease, To: member.Lease, Key: e.device.Public(), Port: e.o.Port.Number(),
	})
	if err != nil {
		return err
	}
	if ans.Refused != "" {
		return &RefusedError{Why: ans.Refused}
	}
	return e.learn(member, ans.Key, ans.Port)
}

// hello answers the machine of another member, which libp2p has shown to be from.
func (e *end) hello(from solana.PublicKey, req messages.GroupHelloRequest) (messages.GroupHelloAnswer, error) {
	member := messages.GroupMember{Lease: req.From, Node: from}
	if req.From == e.lease || !e.has(member) {
		return messages.GroupHelloAnswer{Version: messages.Version, Refused: "the lease is not a member of this group, or not on this machine"}, nil
	}
	if req.Key == [mesh.KeyLen]byte{} { // its lease has not started, and its machine has no key for it
		return messages.GroupHelloAnswer{Version: messages.Version, Ready: true}, nil
	}
	if e.begins(member) {
		// The other side knows this key only once it has the answer, and a handshake before that is lost.
		e.wake(member)
	} else if err := e.learn(member, req.Key, req.Port); err != nil {
		var refused *RefusedError
		if errors.As(err, &refused) {
			return messages.GroupHelloAnswer{Version: messages.Version, Refused: refused.Why}, nil
		}
		return messages.GroupHelloAnswer{}, err
	}
	return messages.GroupHelloAnswer{Version: messages.Version, Key: e.device.Public(), Port: e.o.Port.Number()}, nil
}

// begins reports whether this end begins the handshake with a member: the one that comes first does.
func (e *end) begins(member messages.GroupMember) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int(e.group.Index) < e.place(member)
}

func (e *end) wake(member messages.GroupMember) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case e.again[member] <- struct{}{}:
	default:
	}
}

func (e *end) has(member messages.GroupMember) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.place(member) >= 0
}

func (e *end) place(member messages.GroupMember) int {
	for i, m := range e.group.Members {
		if m == member {
			return i
		}
	}
	return -1
}

// learn takes over how a member is reached.
func (e *end) learn(member messages.GroupMember, key mesh.Key, port uint16) error {
	at := e.o.Net.Direct(member.Node)
	if at.IsValid() && at.Port() == 0 {
		at = netip.AddrPortFrom(at.Addr(), port)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.place(member)
	if i < 0 {
		return nil // the group has changed since
	}
	p := mesh.Peer{Key: key, Allowed: []netip.Prefix{netip.PrefixFrom(mesh.Address(i), mesh.Address(i).BitLen())}}
	if int(e.group.Index) < i {
		p.Endpoint = at
	}
	if old, ok := e.peers[member]; ok && old.Key == p.Key && old.Endpoint == p.Endpoint {
		return nil
	}
	if e.taken(member, key) {
		return &RefusedError{Why: "the key is that of another member"}
	}
	e.peers[member] = p
	return e.apply()
}

// taken reports whether a key is known as that of somebody else. All members know all keys, and a device has one peer for each:
// a member with another's key would take its address and endpoint away.
func (e *end) taken(by messages.GroupMember, key mesh.Key) bool {
	for member, p := range e.peers {
		if member != by && p.Key == key {
			return true
		}
	}
	return e.visits(key) || key == e.device.Public()
}

// apply makes the peers that are known those of the device.
func (e *end) apply() error {
	peers := slices.Collect(maps.Values(e.peers))
	for _, v := range e.visitors {
		peers = append(peers, v.peer)
	}
	err := e.device.SetPeers(peers)
	if err != nil {
		e.log.Warn().Err(err).Msg("the private network could not be changed")
	}
	return err
}
