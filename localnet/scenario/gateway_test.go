//go:build e2e

package scenario

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/gagliardetto/solana-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/acmetest"
	"github.com/gantry-market/gantry/internal/child"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/localnet/selfsigned"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

const gatewayDomain = "gw.test"

// pair is a certificate for a name with its key, both as PEM.
type pair struct{ cert, key []byte }

func selfSigned(t *testing.T, name string) pair {
	t.Helper()
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, selfsigned.Write(cert, key, name))
	var p pair
	var err error
	p.cert, err = os.ReadFile(cert)
	require.NoError(t, err)
	p.key, err = os.ReadFile(key)
	require.NoError(t, err)
	return p
}

// runningGateway is a gateway's process.
type runningGateway struct {
	t        *testing.T
	n        *network.Network
	who      seed.Wallet // whose key is its own
	dir      string
	args     []string
	cmd      *exec.Cmd
	done     chan struct{}
	tls, ssh string
}

// gatewayOf starts a gateway with a wallet's key.
func gatewayOf(t *testing.T, n *network.Network, who seed.Wallet, own pair) *runningGateway {
	t.Helper()
	g := &runningGateway{t: t, n: n, who: who, dir: t.TempDir()}
	cert, key := filepath.Join(g.dir, "cert.pem"), filepath.Join(g.dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, own.cert, 0o600))
	require.NoError(t, os.WriteFile(key, own.key, 0o600))
	g.args = []string{
		"run", "--domain", gatewayDomain, "--cert", cert, "--cert-key", key, "--keypair", who.Path, "--url", n.At.RPC, "--ws", n.At.WS,
		"--data", filepath.Join(g.dir, "data"), "--log-json",
	}
	g.start("127.0.0.1:0", "127.0.0.1:0")
	t.Cleanup(g.kill)
	return g
}

func (g *runningGateway) start(tlsAt, sshAt string) {
	g.t.Helper()
	g.cmd = exec.Command(filepath.Join("..", "..", "build", "bin", "gantry-gateway"), append(slices.Clone(g.args), "--tls", tlsAt, "--ssh", sshAt)...)
	said, says := io.Pipe()
	g.cmd.Stderr = says
	wait, err := child.Start(g.cmd)
	require.NoError(g.t, err)
	g.done = make(chan struct{})
	ready := make(chan struct{})
	done := g.done
	go func() { _ = says.CloseWithError(wait()) }()
	go func() {
		defer close(done)
		lines := bufio.NewScanner(said)
		once := sync.OnceFunc(func() { close(ready) })
		for lines.Scan() {
			var line struct{ Message, TLS, SSH string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "gateway serves" {
				g.tls, g.ssh = line.TLS, line.SSH
				once()
			}
			g.t.Log("gateway:", lines.Text())
		}
	}()
	select {
	case <-ready:
	case <-done:
		g.t.Fatal("the gateway ended")
	case <-time.After(time.Minute):
		g.t.Fatal("the gateway does not serve")
	}
}

func (g *runningGateway) kill() {
	if g.t.Failed() { // what its goroutines do is in the log then
		_ = g.cmd.Process.Signal(syscall.SIGQUIT)
		select {
		case <-g.done:
		case <-time.After(5 * time.Second):
		}
	}
	_ = g.cmd.Process.Kill()
	<-g.done
}

// client goes to the gateway whatever name it is asked for, and believes these certificates alone.
func (g *runningGateway) client(believes []byte) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(believes)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", g.tls)
		},
	}
	g.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func fetch(c *http.Client, url string) (code int, body string, err error) {
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

// gatewayVisit is a lease with a site, reached through a gateway.
type gatewayVisit struct {
	*visit
	g        *runningGateway
	own      pair // of the gateway
	site     pair // of the container
	web, end string
	http     *http.Client
}

// A gateway that anybody runs gives a container public addresses; the lease does not depend on it.
func TestAGatewayReachesAContainer(t *testing.T) {
	needsSandbox(t)
	for _, tool := range []string{"ssh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is missing: scripts/toolchain.sh ssh, apt-get install curl", tool)
		}
	}
	v, image := siteAndGateway(t)
	n, customer := v.n, v.owner
	done := ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "30m", "--allow-simulated", "--detach", "--network", "none", "--image", image, "--", "/bin/site")
	var deployed struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	v.lease = deployed.Leases[0].Address
	require.Eventually(t, func() bool {
		return v.gantry("exec", v.lease, "--", "wget", "-q", "-O-", "http://127.0.0.1:8080/").Code == 0
	}, time.Minute, 200*time.Millisecond)

	v.opened()
	v.pages()
	v.passed()
	v.jumps()
	v.foreign()
	v.gatewayDies()
	v.agentDies()
	v.issued()
	v.takenBack()
	v.leaseEnds()
}

// siteAndGateway is a market with a gateway, a customer, and the image of a site.
func siteAndGateway(t *testing.T) (v *gatewayVisit, image string) {
	t.Helper()
	n, customer := newMarket(t)
	operator := n.Keys.Customers[1]
	ok(t, n, operator, "credits", "add", "1") // so that keepers know it
	v = &gatewayVisit{visit: &visit{t: t, n: n, owner: customer, dir: t.TempDir()}, own: selfSigned(t, "*."+gatewayDomain)}
	v.g = gatewayOf(t, n, operator, v.own)
	v.site = selfSigned(t, "*."+gatewayDomain)
	program, err := os.ReadFile(imagetest.Program(t, "github.com/gantry-market/gantry/localnet/scenario/testdata/site"))
	require.NoError(t, err)
	files := append(imagetest.Busybox(t), imagetest.File("bin/site", string(program)), imagetest.File("cert.pem", string(v.site.cert)), imagetest.File("key.pem", string(v.site.key)))
	image, _ = imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, files...))
	v.config = filepath.Join(v.dir, "config")
	return v, image
}

// open grants the gateway everything, by its key alone.
func (v *gatewayVisit) open() (web, end string) {
	t := v.t
	out := v.gantry("--json", "gateway", "open", v.lease, "--via", v.g.who.Address().String(), "--port", "8080:web", "--port", "9", "--tls-port", "8443:end", "--ssh")
	require.Zero(t, out.Code, out.Stderr)
	var opened struct {
		URLs map[string]string
		SSH  []struct {
			Host    string
			Options map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &opened), out.Stdout)
	var config strings.Builder
	for _, b := range opened.SSH {
		fmt.Fprintf(&config, "Host %s\n", b.Host)
		for name, value := range b.Options {
			if name == "HostName" && value == gatewayDomain {
				value = "127.0.0.1" // there is no DNS here
			}
			fmt.Fprintf(&config, "    %s %s\n", name, value)
		}
	}
	require.NoError(t, os.WriteFile(v.config, []byte(config.String()), 0o600))
	v.host = "gantry-" + v.lease + "-gateway"
	require.Len(t, opened.URLs, 3)
	return opened.URLs["8080"], opened.URLs["8443"]
}

func (v *gatewayVisit) opened() {
	t := v.t
	nothing := v.gantry("gateway", "open", v.lease, "--via", v.g.who.Address().String())
	require.Equal(t, 2, nothing.Code)
	require.Contains(t, nothing.Stderr, "nothing is granted")
	bad := v.gantry("gateway", "open", v.lease, "--via", v.g.who.Address().String(), "--port", "8080:Web.Site")
	require.Equal(t, 2, bad.Code)
	require.Contains(t, bad.Stderr, "host name")
	foreign := v.as(v.g.who, "gateway", "open", v.lease, "--via", v.g.who.Address().String(), "--port", "8080")
	require.Equal(t, refusedByMarket, foreign.Code)
	notOne := v.gantry("gateway", "open", v.lease, "--via", v.n.Keys.Keepers[0].Address().String(), "--port", "8080")
	require.Equal(t, refusedByMarket, notOne.Code, notOne.Stderr)
	require.Contains(t, notOne.Stderr, "is not a gateway")
	v.web, v.end = v.open()
	v.http = v.g.client(v.own.cert)
}

// pages are requests whose TLS ends at the gateway.
func (v *gatewayVisit) pages() {
	t := v.t
	code, body, err := fetch(v.http, v.web)
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	require.Contains(t, body, "the page of web-")
	require.Contains(t, body, "for 127.0.0.1")
	resp, err := v.http.Get(v.web)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 2, resp.ProtoMajor)
	require.Equal(t, []string{"c=v"}, resp.Header["Set-Cookie"], "a cookie is for its own name")

	sent := make([]byte, 8<<20)
	_, _ = rand.Read(sent)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			resp, err := v.http.Post(v.web+"echo", "", bytes.NewReader(sent))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d other bytes came back: %v", len(got), err)
			}
		})
	}
	wg.Wait()

	out, err := exec.CommandContext(t.Context(), "curl", "-sS", "--cacert", filepath.Join(v.g.dir, "cert.pem"), "--resolve", v.resolve(v.web), v.web).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "the page of")

	for name, want := range map[string]struct {
		code int
		says string
	}{
		strings.Replace(v.web, "web-", "wab-", 1): {404, "No lease has this address here"},
		strings.Replace(v.web, "web-", "9-", 1):   {502, "Nothing in the container listens on this port"},
	} {
		code, body, err := fetch(v.http, name)
		require.NoError(t, err)
		require.Equal(t, want.code, code)
		require.Contains(t, body, want.says)
	}
	v.upgrades()
}

// upgrades keeps a connection as WebSockets do.
func (v *gatewayVisit) upgrades() {
	t := v.t
	host := strings.TrimSuffix(strings.TrimPrefix(v.web, "https://"), "/")
	name, _, err := net.SplitHostPort(host)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(v.own.cert)
	c, err := tls.Dial("tcp", v.g.tls, &tls.Config{RootCAs: pool, ServerName: name})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	fmt.Fprintf(c, "GET /upgrade HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", host)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	for i := range 3 {
		line := fmt.Sprintf("line %d\n", i)
		_, err := io.WriteString(c, line)
		require.NoError(t, err)
		got, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, line, got)
	}
}

func (v *gatewayVisit) resolve(url string) string {
	return strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/") + ":127.0.0.1"
}

// passed are connections whose TLS ends in the container: its certificate is the only one that is believed.
func (v *gatewayVisit) passed() {
	t := v.t
	c := v.g.client(v.site.cert)
	_, body, err := fetch(c, v.end)
	require.NoError(t, err)
	require.Contains(t, body, "the page of end-")
	resp, err := c.Get(v.end + "zeros/20000000")
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	require.EqualValues(t, 20_000_000, n)
	_, _, err = fetch(v.http, v.end)
	require.ErrorContains(t, err, "certificate", "the gateway's own is not shown here")
}

// jumps are sessions of OpenSSH through the jump host.
func (v *gatewayVisit) jumps() {
	t := v.t
	require.Contains(t, v.run("ssh", v.host, "cat /proc/version; echo $GANTRY_GPU_COUNT"), "gvisor")
	through := v.command("ssh", "-W", "127.0.0.1:8080", v.host)
	through.Stdin = strings.NewReader("GET / HTTP/1.0\r\n\r\n")
	out, err := through.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "the page")

	jump := "gantry-gateway-" + v.g.who.Address().String()
	out, err = v.command("ssh", jump, "ls").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "this is a jump host and has no shell")
	for _, to := range []string{"127.0.0.1:22", v.n.At.RPC[len("http://"):], "ssh-aaaaaaaaaaaaaaaa:22"} {
		out, err = v.command("ssh", "-W", to, jump).CombinedOutput()
		require.Error(t, err, to)
		require.Contains(t, string(out), "no lease has this name here", to)
	}
	other := filepath.Join(v.dir, "other")
	out, err = exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other).CombinedOutput()
	require.NoError(t, err, string(out))
	host, port, err := net.SplitHostPort(v.g.ssh)
	require.NoError(t, err)
	out, err = exec.CommandContext(t.Context(), "ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "IdentitiesOnly=yes", "-i", other, "-p", port, host, "ls").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "Permission denied (publickey)", "nobody logs in whom no grant names")
}

// foreign shows the machine the grant with another key than the gateway's, and altered with its key.
func (v *gatewayVisit) foreign() {
	t := v.t
	raw, err := os.ReadFile(filepath.Join(v.g.dir, "data", "grants", v.lease+".grant"))
	require.NoError(t, err)
	var signed messages.SignedGrant
	require.NoError(t, cbor.Unmarshal(raw, &signed))
	thief, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	require.Contains(t, v.shows(thief, signed), "for another gateway")
	resigned := signed
	resigned.Grant.Gateway, resigned.Signer = thief.PublicKey(), thief.PublicKey()
	resigned.Signature, err = resigned.Grant.Sign(thief)
	require.NoError(t, err)
	require.Contains(t, v.shows(thief, resigned), "another customer")
	altered := signed
	altered.Grant.Gateway = thief.PublicKey()
	altered.Grant.Ports = append(slices.Clone(signed.Grant.Ports), signed.Grant.Ports[0])
	altered.Grant.Ports[3].Port, altered.Grant.Ports[3].Name = 9999, "more"
	require.Contains(t, v.shows(thief, altered), "signature does not verify")
}

// shows brings a machine a grant and returns its refusal.
func (v *gatewayVisit) shows(key solana.PrivateKey, s messages.SignedGrant) string {
	t := v.t
	node, err := p2p.New(p2p.Options{Key: key, Client: true})
	require.NoError(t, err)
	defer node.Close()
	m, err := v.n.Machine(network.DefaultNodes(1)[0].Name)
	require.NoError(t, err)
	keeper := v.n.Keys.Keepers[0].Address()
	// A stranger: keepers do not tell it where machines are, so that it is told here.
	finder, err := p2p.New(p2p.Options{Key: v.owner.Key, Client: true})
	require.NoError(t, err)
	defer finder.Close()
	for _, k := range snapshotOf(t, v.n).Keepers() {
		require.NoError(t, finder.Remember(p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}))
	}
	at, err := finder.Lookup(t.Context(), keeper, m.Key.Address())
	require.NoError(t, err)
	require.NoError(t, node.Connect(t.Context(), at))
	c, answer, err := p2p.Dial[messages.GuestRequest, messages.GuestAnswer](t.Context(), node, m.Key.Address(),
		p2p.Protocol{ID: messages.Guest}, messages.GuestRequest{Version: messages.Version, Grant: s})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NotEmpty(t, answer.Refused)
	return answer.Refused
}

// gatewayDies: the lease runs on, and its customer reaches it directly; the next process goes on with the same grants.
func (v *gatewayVisit) gatewayDies() {
	t := v.t
	tlsAt, sshAt := v.g.tls, v.g.ssh
	v.g.kill()
	direct := v.gantry("exec", v.lease, "--", "echo", "direct")
	require.Equal(t, "direct\n", direct.Stdout, direct.Stderr)
	_, _, err := fetch(v.http, v.web)
	require.Error(t, err)
	v.g.start(tlsAt, sshAt)
	require.Eventually(t, func() bool {
		code, _, err := fetch(v.http, v.web)
		return err == nil && code == 200
	}, time.Minute, 200*time.Millisecond)
	require.Contains(t, v.run("ssh", v.host, "echo again"), "again")
}

// issued: a gateway without certificates as files has them issued, at the port at which visitors come, and once.
func (v *gatewayVisit) issued() {
	t := v.t
	tlsAt, sshAt := v.g.tls, v.g.ssh
	_, port, err := net.SplitHostPort(tlsAt)
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	server := acmetest.New(t, number)
	authority := filepath.Join(v.dir, "acme.pem")
	require.NoError(t, os.WriteFile(authority, server.CA, 0o600))
	v.g.kill()
	at := slices.Index(v.g.args, "--cert")
	v.g.args = append(slices.Delete(slices.Clone(v.g.args), at, at+4), "--acme", server.Directory, "--acme-ca", authority)
	v.http = v.g.client(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Root.Raw}))
	nine := strings.Replace(v.web, "web-", "9-", 1)
	reached := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			web, _, err := fetch(v.http, v.web)
			other, _, err2 := fetch(v.http, nine)
			return errors.Join(err, err2) == nil && web == 200 && other == 502
		}, 4*time.Minute, 200*time.Millisecond, "the two ports without TLS of their own have certificates")
		v.passed()
	}
	v.g.start(tlsAt, sshAt)
	reached()
	asked := server.Orders()
	v.g.kill()
	v.g.start(tlsAt, sshAt)
	reached()
	require.Equal(t, asked, server.Orders())
	require.Contains(t, v.web, v.shown())

	// With a DNS server that takes updates, one certificate is for all.
	key := filepath.Join(v.dir, "tsig.key")
	require.NoError(t, os.WriteFile(key, []byte(server.Key), 0o600))
	v.g.kill()
	v.g.args = append(v.g.args, "--acme-dns", server.DNS, "--acme-dns-key", key, "--acme-dns-resolver", server.DNS)
	v.g.start(tlsAt, sshAt)
	reached()
	require.Equal(t, "*."+gatewayDomain, v.shown())
	require.Equal(t, asked+1, server.Orders())
}

// shown is the name in the certificate that visitors see.
func (v *gatewayVisit) shown() string {
	r, err := v.http.Get(v.web)
	require.NoError(v.t, err)
	require.NoError(v.t, r.Body.Close())
	require.Len(v.t, r.TLS.PeerCertificates[0].DNSNames, 1)
	return r.TLS.PeerCertificates[0].DNSNames[0]
}

// agentDies: the container goes on, and the gateway reaches it again.
func (v *gatewayVisit) agentDies() {
	t := v.t
	require.NoError(t, v.n.Kill(network.DefaultNodes(1)[0].Name))
	require.Eventually(t, func() bool {
		code, _, err := fetch(v.http, v.web)
		return err == nil && code == 200
	}, 2*time.Minute, 500*time.Millisecond)
	require.Eventually(t, func() bool { return v.command("ssh", v.host, "true").Run() == nil }, time.Minute, 500*time.Millisecond)
}

// takenBack: the machine refuses the gateway, which need not know; told, it forgets the names.
func (v *gatewayVisit) takenBack() {
	t := v.t
	closed := v.gantry("gateway", "close", v.lease)
	require.Zero(t, closed.Code, closed.Stderr)
	require.Eventually(t, func() bool {
		code, body, err := fetch(v.http, v.web)
		return err == nil && code == 502 && strings.Contains(body, "taken the grant back")
	}, time.Minute, 200*time.Millisecond)
	require.Error(t, v.command("ssh", v.host, "true").Run())
	web, _ := v.open()
	require.Equal(t, v.web, web, "the names are those of before")
	require.Eventually(t, func() bool { code, _, err := fetch(v.http, v.web); return err == nil && code == 200 }, time.Minute, 200*time.Millisecond)
	told := v.gantry("gateway", "close", v.lease, "--via", v.g.who.Address().String())
	require.Zero(t, told.Code, told.Stderr)
	require.NotContains(t, told.Stderr, "was not told")
	code, _, err := fetch(v.http, v.web)
	require.NoError(t, err)
	require.Equal(t, 404, code)
	v.open()
}

// leaseEnds: what is open ends with the lease, and so do its names.
func (v *gatewayVisit) leaseEnds() {
	t := v.t
	session := v.command("ssh", v.host, "echo here; sleep 1000")
	out, err := session.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, session.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "here\n", line)
	stopped := v.gantry("stop", v.lease)
	require.Zero(t, stopped.Code, stopped.Stderr)
	over := make(chan error, 1)
	go func() { over <- session.Wait() }()
	select {
	case err := <-over:
		require.Error(t, err)
	case <-time.After(2 * time.Minute):
		t.Fatal("the session outlives its lease")
	}
	require.Eventually(t, func() bool {
		code, body, err := fetch(v.http, v.web)
		return err == nil && code == 404 && strings.Contains(body, "No lease")
	}, time.Minute, 200*time.Millisecond)
	late := v.gantry("gateway", "open", v.lease, "--via", v.g.who.Address().String(), "--port", "8080")
	require.Equal(t, refusedByMarket, late.Code)
	require.Contains(t, late.Stderr, "is over")
	files, err := os.ReadDir(filepath.Join(v.g.dir, "data", "grants"))
	require.NoError(t, err)
	require.Empty(t, files)
}
