package command

import (
	"bytes"
	"os"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
)

// A pipe sees steps as plain lines, without an escape sequence; so does a terminal of which a document is asked.
func TestPipesSeePlainLines(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	env := func(name string) string { return map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}[name] }
	for name, s := range map[string]*Session{
		"pipe":    {Terminal: true, Streams: Streams{OnErr: screen.Of(w, env), OnOut: screen.Of(w, env)}},
		"json":    {Terminal: true, Format: terminal.FormatJSON, Streams: Streams{OnErr: screen.Terminal{Live: true, Out: w}, OnOut: screen.Terminal{Live: true, Out: w}}},
		"unasked": {Streams: Streams{OnErr: screen.Terminal{Live: true, Out: w}}},
	} {
		var out bytes.Buffer
		s.Err, s.Log, s.Context = printable.Writer(&out), zerolog.Nop(), t.Context()
		s.ShowSteps()
		require.Nil(t, s.steps, name)
		_, drawn := s.Screen()
		require.False(t, drawn, name)
		s.Plan(&buy.Request{})
		s.Event(buy.Placed{Order: solana.PublicKey{1}, Reserved: 9_600_000, Signature: "5ig"})
		s.WaitingFor(buy.Wait{For: buy.WaitAward})()
		s.EndSteps(nil)
		require.Equal(t, " ✓ escrow   9.60 USDC reserved        tx 5ig\n", out.String(), name)
	}
}
