package verify

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/chain"
)

func TestTheThirdOutcomeIsShown(t *testing.T) {
	for _, c := range []struct {
		outcomes []string
		code     int
	}{
		{[]string{"right"}, service.CodeDone}, {[]string{"right", "unknown"}, service.CodeUnknown}, {[]string{"unknown", "wrong"}, service.CodeRefused}, {nil, service.CodeDone},
	} {
		err := judged(c.outcomes...)
		if c.code == service.CodeDone {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, c.code, service.Classify(err).Code)
		require.True(t, service.Classify(err).Told, "--json prints one document")
	}
	require.Equal(t, service.CodeUnknown, service.Classify(chain.ErrUnreadable).Code)
	var b bytes.Buffer
	page := terminal.NewPage(&b)
	terminal.WriteSteps(page, []service.Step{{Name: "unread", Text: "what it did is not known", Outcome: "unknown", Unknown: "the log was cut"}, {Name: "paid", Outcome: "wrong"}, {Name: "end", Outcome: "right"}})
	verdict(page, "unknown", "link")
	out := b.String()
	require.Contains(t, out, "? what it did is not known")
	require.Contains(t, out, "not known: the log was cut")
	require.Contains(t, out, "✗")
	require.Contains(t, out, "✓")
	require.Contains(t, out, "NOT KNOWN whether everything adds up")
	require.NotContains(t, out, "NOT everything adds up")
}
