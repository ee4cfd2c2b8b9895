package hostile

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// The public ports and the domain of the gateway.
const (
	gatewayTLS    = 443
	gatewaySSH    = 2222
	gatewayDomain = "gw.test"
)

// grant is one that is signed well and opens nothing: of a lease that is not there, or of one without a container.
func (a *attacker) grant(to target) messages.SignedGrant {
	key := a.Key
	if len(key) == 0 {
		key, _ = solana.NewRandomPrivateKey() // without one it is not signed
	}
	now := time.Now()
	g := records.Grant{
		Domain: a.Domain, Lease: key32(), Gateway: key.PublicKey(), IssuedAt: now.UnixMilli(), Expiry: now.Add(time.Hour).UnixMilli(),
		Ports: []records.GrantedPort{{Port: 80, Name: "web"}}, SSHKeys: []records.Hash{key32()},
	}
	if to.kind == aGateway {
		if gateway, err := p2p.PublicKey(to.ID); err == nil {
			g.Gateway = gateway
		}
	}
	if a.Role == Tenant {
		g.Lease = a.Lease
	}
	s := messages.SignedGrant{Grant: g, Signer: key.PublicKey()}
	s.Signature, _ = g.Sign(key)
	return s
}

// public connects with one of the public ports of a gateway.
func public(ctx context.Context, to target, port int) (net.Conn, error) {
	host, _, err := net.SplitHostPort(to.tcp)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: time.Second}
	return d.DialContext(ctx, "tcp4", net.JoinHostPort(host, fmt.Sprint(port)))
}

// hold keeps connections open until there are too many, and closes all in the end.
type held struct{ open []net.Conn }

func (h *held) add(c net.Conn) {
	const most = 400
	if h.open = append(h.open, c); len(h.open) > most {
		_ = h.open[0].Close()
		h.open = h.open[1:]
	}
}

func (h *held) close() {
	for _, c := range h.open {
		_ = c.Close()
	}
}

// publicSilence holds connections that say nothing, or begin a handshake and stop.
func publicSilence(ctx context.Context, _ *attacker, to target, t *tally) {
	var h held
	defer h.close()
	begins := [][]byte{nil, {22, 3, 1, 64, 0, 1, 0, 63, 252}, []byte("SSH-2.0-x")}
	for ctx.Err() == nil {
		c, err := public(ctx, to, []int{gatewayTLS, gatewaySSH}[rand.IntN(2)])
		if err == nil {
			h.add(c)
			_, err = c.Write(begins[rand.IntN(len(begins))])
		}
		if ctx.Err() == nil {
			t.took(err)
		}
		_ = wait.For(ctx, 10*time.Millisecond)
	}
}

// publicJunk sends random bytes and waits until it is sent away.
func publicJunk(ctx context.Context, _ *attacker, to target, t *tally) {
	begins := [][]byte{nil, {22, 3, 1, 255, 255}, {22, 3, 1, 64, 0, 1, 255, 255, 255}, []byte("SSH-2.0-x\r\n"), []byte("GET / HTTP/1.1\r\n")}
	for ctx.Err() == nil {
		err := func() error {
			c, err := public(ctx, to, []int{gatewayTLS, gatewaySSH}[rand.IntN(2)])
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(2 * time.Second))
			n, err := c.Write(append(begins[rand.IntN(len(begins))], junk(rand.IntN(64<<10))...))
			t.bytes.Add(uint64(n))
			if err == nil {
				_, err = io.Copy(io.Discard, c)
			}
			return errors.Join(err, errRefused) // there is no answer to junk
		}()
		if ctx.Err() == nil {
			t.took(err)
		}
		_ = wait.For(ctx, 5*time.Millisecond)
	}
}

// publicRequests asks for what is not there and reads no answers, sends headers without end, and logs in with new keys.
func publicRequests(ctx context.Context, a *attacker, to target, t *tally) {
	var h held
	defer h.close()
	for i := 0; ctx.Err() == nil; i++ {
		var err error
		if i%4 == 0 {
			err = login(ctx, to)
		} else {
			err = unread(ctx, to, t, &h, i%4 == 1)
		}
		if ctx.Err() == nil {
			t.took(err)
		}
		_ = wait.For(ctx, 5*time.Millisecond)
	}
}

// unread sends requests, or headers that do not end, and reads no answer.
func unread(ctx context.Context, to target, t *tally, h *held, headers bool) error {
	raw, err := public(ctx, to, gatewayTLS)
	if err != nil {
		return err
	}
	h.add(raw)
	_ = raw.SetDeadline(time.Now().Add(3 * time.Second))
	name := fmt.Sprintf("web-%x.%s", key32(), gatewayDomain)[:40]
	c := tls.Client(raw, &tls.Config{ServerName: name, InsecureSkipVerify: true}) //nolint:gosec // it is attacked, whatever its certificate says
	if err := c.HandshakeContext(ctx); err != nil {
		return err
	}
	text := fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s.%s\r\n\r\n", name[:10], gatewayDomain)
	if headers {
		text = "GET / HTTP/1.1\r\nHost: x\r\nX: " + fmt.Sprintf("%x", junk(512))
	}
	for range 200 {
		n, err := io.WriteString(c, text)
		t.bytes.Add(uint64(n))
		if err != nil {
			return err
		}
		if headers {
			return nil // and no more
		}
	}
	return nil
}

// login tries a new key at the jump host.
func login(ctx context.Context, to target) error {
	raw, err := public(ctx, to, gatewaySSH)
	if err != nil {
		return err
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(3 * time.Second))
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		return err
	}
	_, _, _, err = ssh.NewClientConn(raw, "gateway", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), //nolint:gosec // as above
	})
	return err
}
