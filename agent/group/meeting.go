package group

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// askEvery is how often a member is asked that cannot start yet, or has no direct connection with this machine.
const askEvery = time.Second

// meeting asks the machines of the leases that start together with one of this machine. It lasts until that lease runs.
type meeting struct {
	net   Net
	lease solana.PublicKey
	group messages.Group
	ready atomic.Bool // this machine's lease could start
	stop  context.CancelFunc

	mu   sync.Mutex
	seen map[int]sight // by place
}

// sight is what a member's machine has shown, when it was asked last.
type sight struct {
	answers bool
	ready   bool
	direct  bool
	relayed time.Time // since when it answers without a direct connection; zero for not
}

// meet begins to ask those that start together with a lease, and begins anew where they are others than before.
func (m *Manager) meet(ctx context.Context, l lease.Member, meetings *sync.WaitGroup) {
	w, ok := m.meets[l.Lease]
	if ok && (!same(w.group, l.Group) || w.group.Together != l.Group.Together) {
		w.stop()
		ok = false
	}
	if !ok {
		w = &meeting{net: m.o.Net, lease: l.Lease, group: l.Group, seen: map[int]sight{}}
		mctx, cancel := context.WithCancel(ctx)
		w.stop, m.meets[l.Lease] = cancel, w
		for _, place := range l.Group.Others() {
			meetings.Go(func() { w.ask(mctx, place) })
		}
	}
	w.ready.Store(l.Stage == lease.Starts)
}

// Meeting is how far those are that start together with a lease.
func (m *Manager) Meeting(of solana.PublicKey) lease.Meeting {
	m.mu.Lock()
	w, ok := m.meets[of]
	m.mu.Unlock()
	if !ok {
		return lease.Meeting{Waits: "the other machines of the order are asked next"}
	}
	return w.state(time.Now())
}

// ask asks a member until it could start and has a direct connection with this machine, or ctx ends.
func (w *meeting) ask(ctx context.Context, place int) {
	member := w.group.Members[place]
	for !w.met(place) && ctx.Err() == nil {
		one, cancel := context.WithTimeout(ctx, helloLimit)
		ans, err := w.net.Hello(one, member.Node, messages.GroupHelloRequest{Version: messages.Version, From: w.lease, To: member.Lease})
		cancel()
		ready := ans.Ready || ans.Key != [mesh.KeyLen]byte{} // an older agent names its key alone, once its lease runs
		w.note(place, sight{answers: err == nil, ready: ready, direct: w.net.Direct(member.Node).IsValid()})
		_ = wait.For(ctx, askEvery) // the loop looks at ctx
	}
}

func (w *meeting) met(place int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.seen[place]
	return s.ready && s.direct
}

// note keeps what a member's machine shows now. Time without an answer is no time without a direct connection.
func (w *meeting) note(place int, s sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.answers && !s.direct {
		if s.relayed = w.seen[place].relayed; s.relayed.IsZero() {
			s.relayed = time.Now()
		}
	}
	w.seen[place] = s
}

// state is what a machine knows now. It leaves where more than half of the others have answered without a direct connection. Of two
// machines the later one leaves.
func (w *meeting) state(now time.Time) lease.Meeting {
	w.mu.Lock()
	defer w.mu.Unlock()
	others := w.group.Others()
	var out lease.Meeting
	var apart []time.Duration // longest first
	for _, place := range others {
		s := w.seen[place]
		switch {
		case s.ready && s.direct:
			continue
		case !s.answers:
			out.Waits = fmt.Sprintf("waiting for the machine of %s, which does not answer yet", mesh.Name(place))
		case !s.direct:
			apart = append(apart, now.Sub(s.relayed))
			out.Waits = fmt.Sprintf("waiting for a direct connection with the machine of %s", mesh.Name(place))
		default:
			out.Waits = fmt.Sprintf("waiting for the machine of %s, which fetches what its job needs", mesh.Name(place))
		}
	}
	slices.Sort(apart)
	slices.Reverse(apart)
	leaves := len(others) / 2 // so many of them do not make it leave
	if len(others) == 1 && int(w.group.Index) < others[0] {
		leaves = 1
	}
	if len(apart) > leaves {
		out.Apart = max(apart[leaves], time.Nanosecond)
		out.Why = fmt.Sprintf("this machine has a direct connection with %d of the %d other machines of the order, and a private network needs them", len(others)-len(apart), len(others))
	}
	return out
}
