package issue

import (
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// A name that is not issued is asked for again, less and less often, by every process together; it counts once.
func TestRequestsThatFailAreSpaced(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	o := Options{
		Directory: "https://acme.test/", HTTP: http.DefaultClient, Dir: t.TempDir(), PerWeek: 1, PerCustomer: 1,
		Names: func() []Name { return []Name{{"a.test", solana.PublicKey{1}}, {"b.test", solana.PublicKey{2}}} },
	}
	var asked []time.Duration
	for begun := now; now.Sub(begun) < 5*24*time.Hour; now = now.Add(time.Minute) {
		i, err := New(o)
		require.NoError(t, err)
		i.now = func() time.Time { return now }
		for n, due := i.next(); due; n, due = i.next() {
			require.Equal(t, "a.test", n.Host)
			require.NoError(t, i.note(request{Host: n.Host, Customer: n.Customer, At: now.Unix()}))
			asked = append(asked, now.Sub(begun))
		}
	}
	require.Equal(t, []time.Duration{0, time.Minute, 3 * time.Minute, 7 * time.Minute}, asked[:4])
	require.Less(t, len(asked), 22)
}

func TestCertificatesAreRenewedBeforeTheyEnd(t *testing.T) {
	from := time.Unix(1_000_000, 0)
	leaf := &x509.Certificate{NotBefore: from, NotAfter: from.Add(90 * 24 * time.Hour)}
	require.Equal(t, from.Add(60*24*time.Hour), renewal(leaf))
}
