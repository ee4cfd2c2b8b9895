package rfc2136

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/libdns/libdns"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// bind starts BIND as the primary server of a zone in which one key may change one name.
func bind(t *testing.T) (address string) {
	t.Helper()
	named, err := exec.LookPath("named")
	if err != nil {
		if named, err = exec.LookPath("/usr/sbin/named"); err != nil {
			t.Skip("SKIPPED: named is missing: apt-get install bind9")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().(*net.TCPAddr)
	require.NoError(t, l.Close())
	dir := t.TempDir()
	for name, text := range map[string]string{
		"zone": "$TTL 60\n@ IN SOA ns hostmaster 1 60 60 60 60\n@ IN NS ns\nns IN A 127.0.0.1\n",
		"conf": fmt.Sprintf(`options {
	directory %[1]q; listen-on port %[2]d { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none; session-keyfile none;
	recursion no; dnssec-validation no;
};
controls { };
key "gantry" { algorithm hmac-sha256; secret %[3]q; };
zone "gw.test" { type primary; file "zone"; update-policy { grant gantry name _acme-challenge.gw.test. TXT; }; };
`, dir, at.Port, secret),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command(named, "-f", "-c", filepath.Join(dir, "conf"))
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		_, err := dns.Exchange(new(dns.Msg).SetQuestion("gw.test.", dns.TypeSOA), at.String())
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	return at.String()
}

func values(t *testing.T, address string) (out []string) {
	t.Helper()
	r, err := dns.Exchange(new(dns.Msg).SetQuestion("_acme-challenge.gw.test.", dns.TypeTXT), address)
	require.NoError(t, err)
	for _, rr := range r.Answer {
		out = append(out, rr.(*dns.TXT).Txt...)
	}
	return out
}

func TestBINDTakesUpdates(t *testing.T) {
	address := bind(t)
	key := Key{"gantry.", dns.HmacSHA256, secret}
	p := New(address, key)
	record := func(name, value string) []libdns.Record {
		return []libdns.Record{libdns.RR{Type: "TXT", Name: name, Data: value}}
	}
	for _, value := range []string{"one", "two"} {
		done, err := p.AppendRecords(t.Context(), "gw.test.", record("_acme-challenge", value))
		require.NoError(t, err)
		require.Len(t, done, 1)
	}
	require.ElementsMatch(t, []string{"one", "two"}, values(t, address))
	_, err := p.DeleteRecords(t.Context(), "gw.test.", record("_acme-challenge", "one"))
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, values(t, address))

	for says, c := range map[string]struct {
		key        Key
		zone, name string
	}{
		"does not know the key \"other.\" (BADKEY)": {Key{"other.", dns.HmacSHA256, secret}, "gw.test.", "_acme-challenge"},
		"is another (BADSIG)":                       {Key{"gantry.", dns.HmacSHA256, "b3RoZXI="}, "gw.test.", "_acme-challenge"},
		"refuses updates of www.gw.test.":           {key, "gw.test.", "www"},
		"is not the primary server of this zone":    {key, "example.org.", "_acme-challenge"},
	} {
		_, err := New(address, c.key).AppendRecords(t.Context(), c.zone, record(c.name, "three"))
		require.ErrorIs(t, err, ErrUpdate)
		require.ErrorContains(t, err, says)
	}
	require.Equal(t, []string{"two"}, values(t, address))
	_, err = p.AppendRecords(t.Context(), "gw.test.", []libdns.Record{libdns.RR{Type: "A", Name: "www", Data: "127.0.0.1"}})
	require.ErrorContains(t, err, "not a TXT record")
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	_, err := New("127.0.0.1:1", Key{"gantry.", dns.HmacSHA256, secret}).AppendRecords(t.Context(), "gw.test.", []libdns.Record{libdns.RR{Type: "TXT", Name: "a", Data: "b"}})
	require.ErrorIs(t, err, ErrUpdate)
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.Equal(t, "ns.example.org:53", New("ns.example.org", Key{}).server)
}
