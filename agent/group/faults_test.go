package group

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// wireguard-go closes a device whose interface fails. The lease gets another one when it has an interface again.
func TestAnInterfaceThatFailedIsOpenedAgain(t *testing.T) {
	a, b := pair(t)
	a.agent(t)
	b.agent(t)
	a.reaches(t, 1, "b")
	a.inside(t, func() {
		l, err := netlink.LinkByName(mesh.Interface)
		if err == nil {
			err = netlink.LinkDel(l)
		}
		if err != nil {
			t.Error(err)
		}
	})
	a.connect(t, 0)
	a.reaches(t, 1, "b")
}

func TestAManagerWhoseLeasesCannotBeReadEnds(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a, b := w.machine(t), w.machine(t)
	group(t, a, b)
	a.connect(t, 0)
	broken := errors.New("the store is broken")
	looks := 0
	g := New(Options{
		Port: &a.port, Net: a, Log: zerolog.Nop(),
		Members: func() ([]lease.Member, error) {
			if looks++; looks > 1 {
				return nil, broken
			}
			return []lease.Member{a.member}, nil
		},
		Open: func(string) (int, error) { return network.OpenGroup(a.pid, mesh.Interface) },
	})
	ended := make(chan error, 1)
	go func() { ended <- g.Run(t.Context()) }()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, broken)
	case <-time.After(10 * time.Second):
		t.Fatal("the manager waits for devices that nobody closes")
	}
}

// A member knows the other members' keys. One that says that another's key is its own would take that member's traffic away.
func TestAMemberCannotTakeTheKeyOfAnother(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	honest, evil, a := w.machine(t), w.machine(t), w.machine(t)
	group(t, honest, evil, a)
	honest.connect(t, 0)
	honest.site(t, "honest")
	a.connect(t, 2)
	honest.agent(t)
	a.agent(t)
	a.reaches(t, 0, "honest")
	ask := func(to *machine, key mesh.Key) messages.GroupHelloAnswer {
		ans, err := to.groups.Hello(evil.key, messages.GroupHelloRequest{Version: messages.Version, From: evil.member.Lease, To: to.member.Lease, Key: key})
		require.NoError(t, err)
		return ans
	}
	stolen := ask(honest, mesh.Key{1})
	require.Empty(t, stolen.Refused)
	require.Empty(t, ask(a, mesh.Key{1}).Refused)
	require.NotEmpty(t, ask(a, stolen.Key).Refused)
	require.NotEmpty(t, ask(a, ask(a, mesh.Key{2}).Key).Refused, "the receiver's own key")
	body, err := a.get(t, 0, 5*time.Second)
	require.NoError(t, err)
	require.Contains(t, body, "honest")
}

// A customer may put the members in other places; only a lease's own place stays.
func TestAMemberThatGetsAnotherPlaceGetsItsAddress(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a, b, c := w.machine(t), w.machine(t), w.machine(t)
	group(t, a, b, c)
	a.connect(t, 0)
	b.connect(t, 2) // the place that it gets
	b.site(t, "b")
	a.agent(t)
	b.agent(t)
	require.Eventually(t, func() bool {
		a.groups.mu.Lock()
		defer a.groups.mu.Unlock()
		e, ok := a.groups.ends[a.member.Lease]
		if !ok {
			return false
		}
		s, err := e.device.Sessions()
		return err == nil && len(s) == 1 && !s[0].Handshake.IsZero()
	}, 20*time.Second, 50*time.Millisecond)
	group(t, a, c, b)
	a.reaches(t, 2, "b")
}

// Opening makes no interface: it would have no address, and stand in the way of the one that is made properly.
func TestAnInterfaceThatIsNotThereIsNotOpened(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a := w.machine(t)
	_, err := network.OpenGroup(a.pid, mesh.Interface)
	require.ErrorContains(t, err, mesh.Interface)
	a.connect(t, 0)
	fd, err := network.OpenGroup(a.pid, mesh.Interface)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
}

// New namespaces forward packets where the machine does.
func TestNothingIsForwardedFromAPrivateNetwork(t *testing.T) {
	w := &world{machines: map[solana.PublicKey]*machine{}}
	a := w.machine(t)
	var got []byte
	var err error
	a.inside(t, func() { err = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) })
	require.NoError(t, err)
	a.connect(t, 0)
	a.inside(t, func() { got, err = os.ReadFile("/proc/sys/net/ipv4/conf/" + mesh.Interface + "/forwarding") })
	require.NoError(t, err)
	require.Equal(t, "0\n", string(got))
}
