package records

import (
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func testGrant() Grant {
	return Grant{
		Domain: Domain{1}, Lease: solana.PublicKey{2}, Gateway: solana.PublicKey{3}, IssuedAt: 1, Expiry: 2,
		Ports: []GrantedPort{{Port: 80, Name: "a"}, {Port: 443, Name: "b-2", TLS: true}}, SSHKeys: []Hash{{1}, {2}},
	}
}

func TestAGrantIsSignedAsAWhole(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	g := testGrant()
	sig, err := g.Sign(key)
	require.NoError(t, err)
	require.NoError(t, g.Verify(key.PublicKey(), sig))
	raw, err := g.Encode()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(raw), TagGrant))

	sent, err := cbor.Marshal(g)
	require.NoError(t, err)
	var got Grant
	require.NoError(t, cbor.Unmarshal(sent, &got))
	require.Equal(t, g, got)
	require.NoError(t, got.Verify(key.PublicKey(), sig), "what was sent is what was signed")

	for name, change := range map[string]func(*Grant){
		"domain": func(g *Grant) { g.Domain[7]++ }, "lease": func(g *Grant) { g.Lease[31]++ }, "gateway": func(g *Grant) { g.Gateway[31]++ },
		"issued": func(g *Grant) { g.Expiry, g.IssuedAt = 9, 2 }, "expiry": func(g *Grant) { g.Expiry++ }, "port": func(g *Grant) { g.Ports[0].Port++ },
		"name": func(g *Grant) { g.Ports[0].Name = "c" }, "tls": func(g *Grant) { g.Ports[0].TLS = true }, "fewer ports": func(g *Grant) { g.Ports = g.Ports[:1] },
		"key": func(g *Grant) { g.SSHKeys[0] = Hash{0, 1} }, "fewer keys": func(g *Grant) { g.SSHKeys = nil },
	} {
		other := testGrant()
		change(&other)
		require.ErrorIs(t, other.Verify(key.PublicKey(), sig), ErrSignature, name)
	}
}

func TestGrantsThatMeanNothingAreRefused(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	for name, change := range map[string]func(*Grant){
		"no cluster": func(g *Grant) { g.Domain = Domain{} }, "no lease": func(g *Grant) { g.Lease = solana.PublicKey{} }, "no gateway": func(g *Grant) { g.Gateway = solana.PublicKey{} },
		"ends before": func(g *Grant) { g.Expiry = g.IssuedAt }, "nothing": func(g *Grant) { g.Ports, g.SSHKeys = nil, nil }, "port 0": func(g *Grant) { g.Ports[0].Port = 0 },
		"order": func(g *Grant) { g.Ports[0], g.Ports[1] = g.Ports[1], g.Ports[0] }, "twice": func(g *Grant) { g.Ports[1].Port = g.Ports[0].Port },
		"one name": func(g *Grant) { g.Ports[1].Name = g.Ports[0].Name }, "keys": func(g *Grant) { g.SSHKeys = []Hash{{2}, {1}} }, "key twice": func(g *Grant) { g.SSHKeys = []Hash{{1}, {1}} },
		"many ports": func(g *Grant) { g.Ports = make([]GrantedPort, MaxGrantedPorts+1) }, "many keys": func(g *Grant) { g.SSHKeys = make([]Hash, MaxGrantedSSHKeys+1) },
	} {
		g := testGrant()
		change(&g)
		_, err := g.Sign(key)
		require.ErrorIs(t, err, ErrValue, name)
	}
	for _, name := range []string{"", "A", "a.b", "-a", "a-", "a_b", "ä", "a b", "xn/", "xn--80ak6aa92e", "ab--c", strings.Repeat("a", MaxGrantedName+1)} {
		require.False(t, ValidGrantedName(name), name)
	}
	for _, name := range []string{"a", "8888", "a-b", "a--b", "abc--d", strings.Repeat("a", MaxGrantedName)} {
		require.True(t, ValidGrantedName(name), name)
	}
}
