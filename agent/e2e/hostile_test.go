package e2e_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// A customer who asks for output and does not read it leaves no line in the agent's log, however often.
func TestCustomersWhoDoNotReadFillNoLog(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	a.start()
	spec := job("head -c 8000000 /dev/zero; while :; do sleep 0.1; done")
	l := w.order(a.node, spec, 600, false)
	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	w.until(l.Address, "it runs", running)
	w.untilStatus(a, l.Address, 20*time.Second, func(st messages.LeaseStatus) bool { return st.OutputBytes >= 8_000_000 })
	enough := errors.New("enough")
	for asked := 0; asked < 30; asked++ {
		err := p2p.CallStream(t.Context(), w.customer, a.key, request(messages.Logs), messages.LogsRequest{Version: messages.Version, Lease: l.Address},
			func(messages.LogChunk) error { return enough })
		if p2p.IsCode(err, p2p.CodeRateLimited) { // what is on its way counts, also where nobody reads it
			asked--
			time.Sleep(time.Second)
			continue
		}
		require.ErrorIs(t, err, enough)
	}
	require.Never(t, func() bool { return strings.Contains(a.out.String(), "request failed") }, time.Second, 50*time.Millisecond)
}

// A keeper that was never active has named an address that is not its own: no machine dials it.
func TestAddressesOfWaitingKeepersAreNotDialled(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	k := w.keys.Keepers[1]
	i, err := ix.KeeperRegister(ix.KeeperRegisterArgs{
		Wallet: k.Address(), StakeMint: w.keys.StakeMint, Bond: market.GNT(seed.Bond), Multiaddr: "/ip4/127.0.0.1/tcp/" + port,
	})
	w.send(k, i, err)
	a := w.newAgent(0)
	a.start()
	require.NoError(t, l.SetDeadline(time.Now().Add(3*time.Second)))
	_, err = l.Accept()
	require.ErrorContains(t, err, "i/o timeout")
}
