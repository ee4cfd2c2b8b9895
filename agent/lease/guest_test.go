package lease

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

var testGateway = solana.PublicKey{77}

// granting is a customer with a running container, which it grants to gateways.
type granting struct {
	t     *testing.T
	m     *Manager
	chain *fakeChain
	key   solana.PrivateKey
}

func newGranting(t *testing.T) *granting {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	job := messages.JobSpec{Version: messages.Version, Image: "registry.test/team/job@sha256:" + strings.Repeat("0", 64), SSHKeys: []string{jobLine(t)}}
	m, chain := rented(t, job)
	_, m.o.Identity, err = ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	chain.mu.Lock()
	chain.session = key.PublicKey()
	chain.mu.Unlock()
	return &granting{t, m, chain, key}
}

func (g *granting) grant() records.Grant {
	now := time.Now()
	return records.Grant{
		Domain: testDomain, Lease: testLease, Gateway: testGateway, IssuedAt: now.UnixMilli(), Expiry: now.Add(time.Hour).UnixMilli(),
		Ports: []records.GrantedPort{{Port: 8888, Name: "notebook"}}, SSHKeys: []records.Hash{sha256.Sum256([]byte("key"))},
	}
}

func (g *granting) sign(grant records.Grant, key solana.PrivateKey) messages.SignedGrant {
	g.t.Helper()
	sig, err := grant.Sign(key)
	require.NoError(g.t, err)
	return messages.SignedGrant{Grant: grant, Signer: key.PublicKey(), Signature: sig}
}

// visit shows a grant; the returned channel gets the connection's end.
func (g *granting) visit(from solana.PublicKey, s messages.SignedGrant, ssh bool) (setup string, ended chan error) {
	g.t.Helper()
	node, gateway := net.Pipe()
	g.t.Cleanup(func() { node.Close(); gateway.Close() })
	ended = make(chan error, 1)
	go func() {
		err := g.m.Guest(g.t.Context(), from, messages.GuestRequest{Version: messages.Version, Grant: s, SSH: ssh}, func() (io.ReadWriter, error) { return node, nil })
		node.Close()
		ended <- err
	}()
	buf := make([]byte, 4096)
	n, err := gateway.Read(buf)
	if err != nil {
		return "", ended
	}
	return string(buf[:n]), ended
}

func (g *granting) refused(from solana.PublicKey, s messages.SignedGrant, ssh bool, why string) {
	g.t.Helper()
	_, ended := g.visit(from, s, ssh)
	var refused *RefusedError
	err := <-ended
	require.True(g.t, errors.As(err, &refused), "%v", err)
	require.Contains(g.t, refused.Why, why)
	require.False(g.t, g.m.Welcome(from) && from != testGateway)
}

func ends(t *testing.T, ended chan error) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the connection goes on")
	}
}

func TestAGatewayReachesWhatItsCustomerHasGranted(t *testing.T) {
	g := newGranting(t)
	signed := g.sign(g.grant(), g.key)
	require.False(t, g.m.Welcome(testGateway))
	setup, ports := g.visit(testGateway, signed, false)
	require.Contains(t, setup, `"ports":[8888]`)
	require.NotContains(t, setup, "ssh-ed25519", "ports give no way to log in")
	require.True(t, g.m.Welcome(testGateway))
	setup, ssh := g.visit(testGateway, signed, true)
	require.Contains(t, setup, "ssh-ed25519")
	require.NotContains(t, setup, "ports")

	// Taken back, both end, and the same grant opens nothing any more; a newer one does.
	require.NoError(t, g.m.Revoke(t.Context(), testCustomer, messages.RevokeRequest{Lease: testLease, Until: signed.Grant.IssuedAt}))
	ends(t, ports)
	ends(t, ssh)
	require.False(t, g.m.Welcome(testGateway))
	g.refused(testGateway, signed, false, "taken the grant back")
	newer := g.grant()
	newer.IssuedAt = signed.Grant.IssuedAt + 1
	_, again := g.visit(testGateway, g.sign(newer, g.key), false)

	// The key that has signed loses its powers.
	g.chain.mu.Lock()
	g.chain.session = solana.PublicKey{}
	g.chain.mu.Unlock()
	ends(t, again)
	g.refused(testGateway, g.sign(newer, g.key), false, "another customer")
}

func TestAGrantOpensNothingElse(t *testing.T) {
	g := newGranting(t)
	good := g.sign(g.grant(), g.key)
	altered := func(change func(*records.Grant)) messages.SignedGrant {
		s := good
		s.Grant.Ports = append([]records.GrantedPort(nil), good.Grant.Ports...)
		change(&s.Grant)
		return s
	}
	signed := func(change func(*records.Grant)) messages.SignedGrant { return g.sign(altered(change).Grant, g.key) }
	stranger, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	for _, c := range []struct {
		what string
		s    messages.SignedGrant
		why  string
	}{
		{"another port", altered(func(r *records.Grant) { r.Ports[0].Port = 22 }), "signature"},
		{"another name", altered(func(r *records.Grant) { r.Ports[0].Name = "login" }), "signature"},
		{"a later end", altered(func(r *records.Grant) { r.Expiry++ }), "signature"},
		{"another lease, not signed", altered(func(r *records.Grant) { r.Lease = solana.PublicKey{9} }), "signature"},
		{"another key", altered(func(r *records.Grant) { r.SSHKeys = []records.Hash{{1}} }), "signature"},
		{"a lease of another node", signed(func(r *records.Grant) { r.Lease = solana.PublicKey{9} }), "no such lease"},
		{"another cluster", signed(func(r *records.Grant) { r.Domain = records.Domain{9} }), "another cluster"},
		{"expired", signed(func(r *records.Grant) { r.IssuedAt, r.Expiry = 1, 2 }), "expired"},
		{"of the future", signed(func(r *records.Grant) { r.IssuedAt += time.Hour.Milliseconds() / 2 }), "future"},
		{"of a stranger", g.sign(good.Grant, stranger), "another customer"},
		{"no port", signed(func(r *records.Grant) { r.Ports = nil }), "no port is granted"},
	} {
		t.Run(c.what, func(t *testing.T) { g.refused(testGateway, c.s, false, c.why) })
	}
	g.refused(solana.PublicKey{78}, good, false, "another gateway")
	g.refused(testGateway, signed(func(r *records.Grant) { r.SSHKeys = nil }), true, "SSH is not granted")
	var refused *RefusedError
	require.ErrorAs(t, g.m.Revoke(t.Context(), stranger.PublicKey(), messages.RevokeRequest{Lease: testLease, Until: 1}), &refused)
	require.Contains(t, refused.Why, "another customer")
	require.ErrorAs(t, g.m.Revoke(t.Context(), testCustomer, messages.RevokeRequest{Lease: testLease, Until: time.Now().Add(time.Hour).UnixMilli()}), &refused)
	setup, _ := g.visit(testGateway, good, false)
	require.NotEmpty(t, setup)

	// Welcome as it is, a gateway's key acts for nobody: not with the job, its output, its shell, nor its receipts.
	_, err = g.m.Status(t.Context(), testGateway, testLease)
	require.ErrorAs(t, err, &refused)
	require.ErrorAs(t, g.m.Logs(t.Context(), testGateway, messages.LogsRequest{Lease: testLease}, nil), &refused)
	require.ErrorAs(t, g.m.Revoke(t.Context(), testGateway, messages.RevokeRequest{Lease: testLease, Until: 1}), &refused)
	refusedShell(t, g.m, testGateway, "of another customer")
}

func TestGatewaysHavePlacesOfTheirOwn(t *testing.T) {
	g := newGranting(t)
	var open []chan error
	for i := range maxGuestLinks {
		grant := g.grant()
		grant.Gateway = solana.PublicKey{100 + byte(i%maxGateways)}
		setup, ended := g.visit(grant.Gateway, g.sign(grant, g.key), false)
		require.NotEmpty(t, setup)
		open = append(open, ended)
	}
	fifth := g.grant()
	g.refused(testGateway, g.sign(fifth, g.key), false, "4 gateways")
	first := g.grant()
	first.Gateway = solana.PublicKey{100}
	_, ended := g.visit(first.Gateway, g.sign(first, g.key), false)
	require.ErrorContains(t, <-ended, "8 streams")
	setup, _ := visit(t, g.m, testCustomer) // the customer's own way is not theirs
	require.NotEmpty(t, setup)

	g.chain.update(func() { g.chain.exists = false })
	for _, e := range open {
		ends(t, e)
	}
	g.refused(testGateway, g.sign(fifth, g.key), false, "over")
}

func TestAGrantEndsWithItsTime(t *testing.T) {
	g := newGranting(t)
	grant := g.grant()
	grant.Expiry = time.Now().Add(4 * time.Second).UnixMilli()
	_, ended := g.visit(testGateway, g.sign(grant, g.key), false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the connection outlives the grant")
	}
	require.False(t, g.m.Welcome(testGateway))
	require.GreaterOrEqual(t, time.Now().UnixMilli(), grant.Expiry)
}

// A lease that goes on for a failed one takes the grant that names its order; no other does.
func TestALeaseThatGoesOnIsGrantedByItsOrder(t *testing.T) {
	g := newGranting(t)
	grant := g.grant()
	grant.Lease = testOrder
	signed := g.sign(grant, g.key)
	g.refused(testGateway, signed, false, "no such lease")
	g.chain.update(func() { g.chain.lease.Continues = 1 })
	setup, ports := g.visit(testGateway, signed, false)
	require.Contains(t, setup, `"ports":[8888]`)
	require.True(t, g.m.Welcome(testGateway))
	stranger, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	g.refused(testGateway, g.sign(grant, stranger), false, "another customer")
	other := grant
	other.Lease = solana.PublicKey{66}
	g.refused(testGateway, g.sign(other, g.key), false, "no such lease")

	require.NoError(t, g.m.Revoke(t.Context(), testCustomer, messages.RevokeRequest{Lease: testLease, Until: grant.IssuedAt}))
	ends(t, ports)
	g.refused(testGateway, signed, false, "taken the grant back")
}

// What its customer took back at the machine before stays void: the job comes with the time.
func TestAJobSaysWhatWasTakenBackBefore(t *testing.T) {
	m, chain, _, _ := newTestManager(t)
	m.o.Now = time.Now
	chain.award(testJob(), false, time.Hour, true)
	req := deployRequest(testJob())
	req.RevokedUntil = time.Now().Add(-time.Minute).UnixMilli()
	_, err := m.Deploy(t.Context(), testCustomer, req)
	require.NoError(t, err)
	stored := func() int64 {
		r, err := m.o.Store.Lease([32]byte(testLease))
		require.NoError(t, err)
		return r.RevokedUntil
	}
	require.Equal(t, req.RevokedUntil, stored())
	again := req
	again.RevokedUntil = 0
	_, err = m.Deploy(t.Context(), testCustomer, again)
	require.NoError(t, err)
	require.Equal(t, req.RevokedUntil, stored())
}

func TestAJobTakesNothingBackOfTheFuture(t *testing.T) {
	m, chain, _, _ := newTestManager(t)
	m.o.Now = time.Now
	chain.award(testJob(), false, time.Hour, true)
	req := deployRequest(testJob())
	req.RevokedUntil = time.Now().Add(time.Hour).UnixMilli()
	_, err := m.Deploy(t.Context(), testCustomer, req)
	require.NoError(t, err)
	r, err := m.o.Store.Lease([32]byte(testLease))
	require.NoError(t, err)
	require.Less(t, r.RevokedUntil, req.RevokedUntil)
	require.NotZero(t, r.RevokedUntil)
}
