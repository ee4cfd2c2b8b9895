package rent

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func TestOutputOfALeaseInWords(t *testing.T) {
	v := view.New(view.Options{})
	l := market.Lease{}
	l.Status = uint8(market.LeaseRunning)
	for state, want := range map[market.OutputState]string{
		market.OutputNone: "", market.OutputWanted: "awaited", market.OutputCommitted: "committed", market.OutputRevealed: "shown",
		market.OutputAccepted: "accepted", market.OutputRejected: "rejected", market.OutputWithheld: "withheld",
	} {
		l.Output = uint8(state)
		j := service.DescribeLease(v, &l, 0)
		require.Equal(t, want, j.Output)
		var b bytes.Buffer
		terminal.WriteLease(terminal.NewPage(&b), &j)
		require.Equal(t, want != "", strings.Contains(b.String(), "output "+want))
	}
}
