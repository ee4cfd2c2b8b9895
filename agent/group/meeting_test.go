package group

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/sdk/messages"
)

// hall is where machines meet. Each of them reaches all others, by a relay where two have no direct connection.
type hall struct {
	mu       sync.Mutex
	machines map[solana.PublicKey]*guest
	broken   map[[2]int]bool // pairs without a direct connection, the smaller place first
}

// guest is a machine with one lease.
type guest struct {
	hall   *hall
	place  int
	key    solana.PublicKey
	member lease.Member
	groups *Manager
}

// meeting starts machines whose leases start together, without a direct connection between broken pairs.
func meetingOf(t *testing.T, count int, broken ...[2]int) []*guest {
	h := &hall{machines: map[solana.PublicKey]*guest{}, broken: map[[2]int]bool{}}
	for _, pair := range broken {
		h.broken[pair] = true
	}
	members := make([]messages.GroupMember, count)
	out := make([]*guest, count)
	for i := range out {
		members[i] = messages.GroupMember{Lease: newKey(t), Node: newKey(t)}
		out[i] = &guest{hall: h, place: i, key: members[i].Node}
	}
	for i, g := range out {
		g.member = lease.Member{Lease: members[i].Lease, Group: messages.Group{Index: uint8(i), Members: members, Together: 1<<count - 1}, Stage: lease.Starts}
		g.groups = New(Options{Net: g, Members: g.members, Log: zerolog.Nop()})
		h.machines[g.key] = g
	}
	for _, g := range out {
		running(t, g.groups.Run)
	}
	return out
}

func (g *guest) members() ([]lease.Member, error) {
	g.hall.mu.Lock()
	defer g.hall.mu.Unlock()
	return []lease.Member{g.member}, nil
}

func (g *guest) is(stage lease.Stage) {
	g.hall.mu.Lock()
	defer g.hall.mu.Unlock()
	g.member.Stage = stage
}

// Hello implements Net.
func (g *guest) Hello(_ context.Context, node solana.PublicKey, req messages.GroupHelloRequest) (messages.GroupHelloAnswer, error) {
	other := g.hall.machines[node]
	if !other.groups.Knows(g.key) {
		return messages.GroupHelloAnswer{}, errors.New("a stranger")
	}
	return other.groups.Hello(g.key, req)
}

// Direct implements Net.
func (g *guest) Direct(node solana.PublicKey) netip.AddrPort {
	other := g.hall.machines[node].place
	if g.hall.broken[[2]int{min(g.place, other), max(g.place, other)}] {
		return netip.AddrPort{}
	}
	return netip.MustParseAddrPort("192.0.2.1:4001")
}

func (g *guest) state() lease.Meeting { return g.groups.Meeting(g.member.Lease) }

func TestMachinesThatStartTogetherWaitForEachOther(t *testing.T) {
	machines := meetingOf(t, 3)
	machines[2].is(lease.Prepares)
	for _, m := range machines[:2] {
		require.Eventually(t, func() bool {
			return m.state().Waits == "waiting for the machine of node-2, which fetches what its job needs"
		}, time.Minute, 10*time.Millisecond, "%+v", m.state())
		require.Zero(t, m.state().Apart, "a machine does not leave because of a slow image")
	}
	machines[2].is(lease.Starts)
	for _, m := range machines {
		require.Eventually(t, func() bool { return m.state() == lease.Meeting{} }, time.Minute, 10*time.Millisecond, "%+v", m.state())
	}
}

func TestAMachineThatDoesNotAnswerIsWaitedFor(t *testing.T) {
	machines := meetingOf(t, 2)
	machines[1].hall.mu.Lock()
	machines[1].member.Group.Members = nil // its customer has not brought the job: it knows no member
	machines[1].member.Group.Together = 0
	machines[1].hall.mu.Unlock()
	require.Eventually(t, func() bool { return !machines[1].groups.Knows(machines[0].key) }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { return machines[0].state().Waits != "" && machines[0].state().Apart == 0 }, time.Minute, 10*time.Millisecond)
}

// Of three or more machines the one leaves that has no direct connection to most of the others; of two the later one.
func TestAMachineWithoutDirectConnectionsLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		count  int
		broken [][2]int
		leave  []int
	}{
		"all reach each other":              {4, nil, nil},
		"two machines":                      {2, [][2]int{{0, 1}}, []int{1}},
		"the first of three":                {3, [][2]int{{0, 1}, {0, 2}}, []int{0}},
		"the last of three":                 {3, [][2]int{{0, 2}, {1, 2}}, []int{2}},
		"one pair of three":                 {3, [][2]int{{0, 2}}, nil},
		"one of five":                       {5, [][2]int{{0, 3}, {1, 3}, {2, 3}, {3, 4}}, []int{3}},
		"a machine turns half of them away": {5, [][2]int{{0, 1}, {0, 2}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machines := meetingOf(t, c.count, c.broken...)
			for i, m := range machines {
				require.Eventually(t, m.asked, time.Minute, 10*time.Millisecond)
				state := m.state()
				require.Equal(t, slices.Contains(c.leave, i), state.Apart > 0, "machine %d: %+v", i, state)
				require.Equal(t, state.Apart > 0, state.Why != "")
			}
		})
	}
}

// Neither a short break of a connection nor a machine that does not answer counts as time without a direct connection.
func TestAMomentWithoutAConnectionIsNoReasonToLeave(t *testing.T) {
	group := messages.Group{Index: 1, Members: make([]messages.GroupMember, 2), Together: 0b11}
	w := &meeting{group: group, seen: map[int]sight{}}
	long := func() time.Time { return time.Now().Add(time.Hour) }
	w.note(0, sight{answers: true, direct: true})
	require.Zero(t, w.state(long()).Apart)
	w.note(0, sight{answers: false, direct: false})
	require.Zero(t, w.state(long()).Apart, "it does not answer any more")
	before := time.Now()
	w.note(0, sight{answers: true, direct: false})
	require.LessOrEqual(t, w.state(time.Now()).Apart, time.Since(before), "the time counts from now on")
	w.note(0, sight{answers: true, direct: false})
	require.Greater(t, w.state(long()).Apart, 59*time.Minute, "it answers through a relay for an hour")
	w.note(0, sight{answers: true, direct: true})
	w.note(0, sight{answers: true, direct: false})
	require.Less(t, w.state(time.Now()).Apart, time.Minute, "it had a direct connection meanwhile")
}

// asked reports whether all others have answered once.
func (g *guest) asked() bool {
	g.groups.mu.Lock()
	w := g.groups.meets[g.member.Lease]
	g.groups.mu.Unlock()
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, place := range w.group.Others() {
		if !w.seen[place].answers {
			return false
		}
	}
	return true
}
