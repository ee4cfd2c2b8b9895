package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/acmetest"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// issued is a gateway whose domain's certificate comes by DNS-01.
type issued struct {
	t    *testing.T
	acme *acmetest.Server
	c    Config
	g    *Gateway
	stop func()
}

// start begins a gateway in the place of the former, whose key file has this text.
func (i *issued) start(ctx context.Context, key string) {
	t := i.t
	if i.stop != nil {
		i.stop()
	}
	require.NoError(t, os.WriteFile(i.c.ACME.DNSKey, []byte(key), 0o600))
	g, err := Open(ctx, i.c)
	require.NoError(t, err)
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- g.Run(running) }()
	i.g = g
	i.stop = func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, g.Close())
		i.stop = nil
	}
}

// shown is the certificate that a visitor of a name sees.
func (i *issued) shown(name string) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	roots.AddCert(i.acme.Root)
	c, err := tls.Dial("tcp", i.g.tls.Addr().String(), &tls.Config{ServerName: name, RootCAs: roots})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0], nil
}

// says is a page of the figures.
func (i *issued) says(path string) string {
	r, err := http.Get("http://" + i.g.figures.Addr() + path)
	require.NoError(i.t, err)
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	require.NoError(i.t, err)
	return string(raw)
}

// figure is the value of one of the gateway's.
func (i *issued) figure(name string) (v float64) {
	for line := range strings.Lines(i.says("/metrics")) {
		if text, ok := strings.CutPrefix(line, "gantry_gateway_"+name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			require.NoError(i.t, err)
			return v
		}
	}
	require.Fail(i.t, "there is no figure", name)
	return 0
}

func TestTheDomainHasOneCertificate(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{Limit: 5 * time.Minute})
	w.InitMarket(testmarket.FastParams())
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that stays when the gateway starts again
	require.NoError(t, err)
	at := l.Addr().(*net.TCPAddr)
	require.NoError(t, l.Close())
	i := &issued{t: t, acme: acmetest.New(t, at.Port)}
	dir := t.TempDir()
	authority := filepath.Join(dir, "acme.pem")
	require.NoError(t, os.WriteFile(authority, i.acme.CA, 0o600))
	i.c = Config{
		Client: w.Client, Key: testmarket.Key(t), Data: filepath.Join(dir, "gateway"), Domain: acmetest.Zone, TLS: at.String(), Listen: p2p.LoopbackListen,
		Figures: "127.0.0.1:0", Limits: DefaultLimits(), Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel),
		ACME: ACME{
			Directory: i.acme.Directory, CA: authority, PerWeek: 1, PerCustomer: 1, DNS: i.acme.DNS, DNSKey: filepath.Join(dir, "tsig.key"), DNSResolvers: []string{i.acme.DNS},
		},
	}
	t.Cleanup(func() {
		if i.stop != nil {
			i.stop()
		}
	})

	// A wrong key: the log and /healthz say what to do.
	i.start(w.Ctx, strings.Replace(i.acme.Key, "gantry", "other", 1))
	require.Eventually(t, func() bool { return strings.Contains(i.says("/healthz"), `does not know the key "other."`) }, time.Minute, 50*time.Millisecond)
	_, err = i.shown("web.gw.test")
	require.Error(t, err)
	require.EqualValues(t, 1, i.figure("certificates_missing"))
	require.Zero(t, i.figure("certificate_expiry_timestamp_seconds"))

	// With the right one, the next request comes when the pause is over.
	var leaf *x509.Certificate
	i.start(w.Ctx, i.acme.Key)
	require.Eventually(t, func() bool {
		leaf, err = i.shown("web.gw.test")
		return err == nil
	}, 4*time.Minute, 100*time.Millisecond)
	require.Equal(t, []string{"*.gw.test"}, leaf.DNSNames)
	require.Zero(t, i.figure("certificates_missing"))
	require.EqualValues(t, leaf.NotAfter.Unix(), i.figure("certificate_expiry_timestamp_seconds"))
	require.NotContains(t, i.says("/healthz"), "not issued")

	// What is in the folder is served at once, and nothing is asked.
	asked := i.acme.Requests()
	i.start(w.Ctx, i.acme.Key)
	again, err := i.shown(fmt.Sprintf("%s.gw.test", strings.Repeat("a", 63)))
	require.NoError(t, err)
	require.Equal(t, leaf.SerialNumber, again.SerialNumber)
	require.Equal(t, asked, i.acme.Requests())
}
