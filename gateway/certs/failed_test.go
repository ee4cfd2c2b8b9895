package certs

import (
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// A customer grants a name and takes it back while the CA checks it. Nobody asks for that name again, so that the gateway would say for
// ever that it is broken, and be started again and again by what watches it.
func TestANameThatIsTakenBackIsNoFailure(t *testing.T) {
	name := Name{"web.gw.test", customers[0]}
	granted := []Name{name}
	m, err := New(Options{
		Domain: "gw.test", Directory: "https://127.0.0.1:1/directory", Dir: filepath.Join(t.TempDir(), "certificates"), Visitors: &net.TCPAddr{Port: 443},
		Names: func() []Name { return granted }, PerWeek: 1, PerCustomer: 1, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	require.NoError(t, m.asked.take(name, true, m.now())) // the CA is asked, and not again at once
	require.NoError(t, m.event(t.Context(), "cert_failed", map[string]any{"identifier": name.Host, "error": errors.New("no answer at port 443")}))
	m.look(t.Context())
	require.Len(t, m.Wrong(), 1)
	require.Contains(t, m.Wrong()[0], "no answer at port 443")
	granted = nil
	m.look(t.Context())
	require.Empty(t, m.Wrong())
}
