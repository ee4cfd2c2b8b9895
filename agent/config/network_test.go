package config

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/network"
)

func TestTheNetworkOfContainers(t *testing.T) {
	o, err := LeaseNetwork{}.Options()
	require.NoError(t, err)
	require.Zero(t, o)
	o, err = LeaseNetwork{Pool: "10.9.0.0/20", DNS: []string{"9.9.9.9"}, Deny: []string{"11.0.0.1/8"}, ClosedPorts: "25, 6667", Mbit: 100}.Options()
	require.NoError(t, err)
	require.Equal(t, network.Options{
		Pool: netip.MustParsePrefix("10.9.0.0/20"), DNS: []netip.Addr{netip.MustParseAddr("9.9.9.9")},
		Deny: []netip.Prefix{netip.MustParsePrefix("11.0.0.0/8")}, ClosedPorts: []uint16{25, 6667}, Mbit: 100,
	}, o)
	o, err = LeaseNetwork{ClosedPorts: "none"}.Options()
	require.NoError(t, err)
	require.NotNil(t, o.ClosedPorts)
	require.Empty(t, o.ClosedPorts)
	for _, l := range []LeaseNetwork{{Pool: "10.9.0.0"}, {DNS: []string{"dns.example"}}, {Deny: []string{"lan"}}, {ClosedPorts: "mail"}, {ClosedPorts: "65536"}} {
		_, err := Config{RPC: "http://127.0.0.1:8899", Wallet: "w", DataDir: t.TempDir(), Network: l}.Complete()
		require.ErrorIs(t, err, ErrConfig, "%+v", l)
	}
}
