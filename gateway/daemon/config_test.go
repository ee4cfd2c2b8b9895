package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
)

func testConfig() Config {
	return Config{
		Client: &chain.Client{}, Key: make(solana.PrivateKey, 64), Data: "data", Domain: "GW.example.org.", TLS: ":443",
		Certificate: "c", CertificateKey: "k", Limits: DefaultLimits(),
	}
}

func TestSettingsAreChecked(t *testing.T) {
	good := testConfig()
	require.NoError(t, good.check())
	require.Equal(t, "gw.example.org", good.Domain)
	for says, change := range map[string]func(*Config){
		"way to the chain": func(c *Config) { c.Client = nil }, "is not a domain": func(c *Config) { c.Domain = "*.example.org" },
		"--cert and --cert-key for": func(c *Config) { c.Certificate = "" }, "either --acme": func(c *Config) { c.ACME.Directory = "https://acme.example.org/" },
		"new names in a week": func(c *Config) {
			c.Certificate, c.CertificateKey, c.ACME = "", "", ACME{Directory: "https://acme.example.org/", PerWeek: 1}
		},
		"need --acme": func(c *Config) { c.ACME.DNS = "ns.example.org" },
		"the server that takes updates": func(c *Config) {
			c.Certificate, c.CertificateKey, c.ACME = "", "", ACME{Directory: "https://acme.example.org/", PerWeek: 1, PerCustomer: 1, DNSKey: "f"}
		},
		"tsig-keygen": func(c *Config) {
			c.Certificate, c.CertificateKey, c.ACME = "", "", ACME{Directory: "https://acme.example.org/", PerWeek: 1, PerCustomer: 1, DNS: "ns.example.org"}
		},
		"neither the URL": func(c *Config) {
			c.Certificate, c.CertificateKey, c.ACME = "", "", ACME{Directory: "other", PerWeek: 1, PerCustomer: 1}
		}, "address to listen on": func(c *Config) { c.TLS = "" },
		"limit of memory": func(c *Config) { c.Limits.Memory = 0 }, "limit of connections of one lease": func(c *Config) { c.Limits.PerLease = -1 },
		"need a --price":  func(c *Config) { c.Price.Free = 1 },
		"new connections": func(c *Config) { c.Limits.NewPerSecond = 0 },
	} {
		c := testConfig()
		change(&c)
		err := c.check()
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, says)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	require.Equal(t, 8443, publicPort(8443, l))
	require.Equal(t, l.Addr().(*net.TCPAddr).Port, publicPort(0, l))
}

// writePair writes a certificate for names that ends at a time.
func writePair(t *testing.T, c *Config, until time.Time, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(until.Unix()), DNSNames: names, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.Certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(c.CertificateKey, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
}

func TestACertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	c := &Config{Certificate: filepath.Join(dir, "c"), CertificateKey: filepath.Join(dir, "k"), Domain: "gw.test", Log: zerolog.Nop()}
	_, err := newCertificate(c)
	require.ErrorIs(t, err, os.ErrNotExist)
	writePair(t, c, time.Now().Add(time.Hour), "gw.test")
	_, err = newCertificate(c)
	require.ErrorContains(t, err, "is not for *.gw.test")
	writePair(t, c, time.Now().Add(time.Hour), "*.gw.test")
	f, err := newCertificate(c)
	require.NoError(t, err)
	first, err := f.Get(nil)
	require.NoError(t, err)
	require.Empty(t, f.Wrong())
	ends, missing := f.State()
	require.Equal(t, first.Leaf.NotAfter, ends)
	require.Zero(t, missing)

	changed := func(at time.Time) { // whatever the clock of the file system shows
		require.NoError(t, os.Chtimes(c.Certificate, at, at))
		f.looked = time.Time{}
	}
	writePair(t, c, time.Now().Add(-time.Hour), "*.gw.test")
	changed(time.Now().Add(time.Minute))
	second, err := f.Get(nil)
	require.NoError(t, err)
	require.NotEqual(t, first.Leaf.SerialNumber, second.Leaf.SerialNumber)
	require.Equal(t, []string{"the certificate has expired"}, f.Wrong())

	require.NoError(t, os.WriteFile(c.Certificate, []byte("half a file"), 0o600))
	changed(time.Now().Add(2 * time.Minute))
	third, err := f.Get(nil)
	require.NoError(t, err)
	require.Same(t, second, third, "the earlier one stays")
}

func TestAJumpHostKeepsItsKey(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	one, err := hostKey(key)
	require.NoError(t, err)
	again, err := hostKey(key)
	require.NoError(t, err)
	require.Equal(t, one.PublicKey().Marshal(), again.PublicKey().Marshal())
	public := key.PublicKey()
	require.NotContains(t, string(one.PublicKey().Marshal()), string(public[:]))
}
