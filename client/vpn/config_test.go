package vpn

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/tun/netstack"

	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// The configuration works in WireGuard on a port that no machine was told, as in other programs.
func TestAPrintedConfigurationWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	lost := w.add(2, -1)
	lost.silent = true
	c, err := Configure(t.Context(), w.options())
	require.NoError(t, err)
	require.Equal(t, 2, c.Reached())
	var text strings.Builder
	c.Print(&text)
	require.Contains(t, text.String(), "# node-2 (lease "+lost.Lease.String()+") is not reached by this configuration")

	// As another program reads it.
	var key mesh.PrivateKey
	var peers []mesh.Peer
	for line := range strings.Lines(text.String()) {
		name, value, found := strings.Cut(strings.TrimSpace(line), " = ")
		if strings.TrimSpace(line) == "[Peer]" {
			peers = append(peers, mesh.Peer{})
		}
		if !found || strings.HasPrefix(name, "#") {
			continue
		}
		switch name {
		case "PrivateKey":
			b, err := base64.StdEncoding.DecodeString(value)
			require.NoError(t, err)
			key, err = mesh.PrivateKeyFrom(b)
			require.NoError(t, err)
		case "Address":
			require.Equal(t, mesh.KeptVisitor.String()+"/32", value)
		case "PublicKey":
			require.NoError(t, peers[len(peers)-1].Key.UnmarshalText([]byte(value)))
		case "AllowedIPs":
			peers[len(peers)-1].Allowed = []netip.Prefix{netip.MustParsePrefix(value)}
		case "Endpoint":
			peers[len(peers)-1].Endpoint = netip.MustParseAddrPort(value)
		}
	}
	require.Len(t, peers, 2)
	link, stack, err := netstack.CreateNetTUN([]netip.Addr{mesh.KeptVisitor}, nil, c.MTU)
	require.NoError(t, err)
	d, err := mesh.OpenAlone(link, key, zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(d.Close)
	require.NoError(t, d.SetPeers(peers))
	for i := range 2 {
		got, err := get(t, &http.Transport{DialContext: stack.DialContext}, fmt.Sprintf("http://%s:8080/", mesh.Address(i)))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("node-%d to %s/", i, mesh.KeptVisitor), got)
	}
}

// What a machine says gets no line of its own in a configuration.
func TestAMachineWritesNoLineOfTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.members[0].says(func(a *messages.GroupVisitAnswer) {
		*a = messages.GroupVisitAnswer{Refused: "no\n[Peer]\nPublicKey = AAAA"}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	o := w.options()
	members, err := o.Members()
	require.NoError(t, err)
	_, problems := admit(ctx, o, members, mesh.Key{1})
	require.NotNil(t, problems[0])
	c := Config{Peers: []ConfigPeer{{Lease: "x", Unreachable: oneLine(problems[0])}}}
	var text strings.Builder
	c.Print(&text)
	require.NotContains(t, text.String(), "\n[Peer]")
	require.Contains(t, text.String(), "PublicKey = AAAA")
}
