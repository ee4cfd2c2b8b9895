package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// A GPU is reported dead once, and only when the driver has called the same one lost all the time.
func TestALostGPUIsReportedAfterAConfirmation(t *testing.T) {
	var lost []string
	var fail, refused error
	status := market.NodeActive
	reports := 0
	w := &deathWatch{
		after: 30 * time.Second, log: zerolog.Nop(),
		lost: func(context.Context) ([]string, error) { return lost, fail },
		node: func() (market.Node, bool) {
			var n market.Node
			n.Node.Status = uint8(status)
			return n, true
		},
		report: func(context.Context, market.Node) error {
			if refused == nil {
				reports, status = reports+1, market.NodeSuspended
			}
			return refused
		},
	}
	now := time.Unix(1_000, 0)
	looks := func(n int) {
		for range n {
			now = now.Add(6 * time.Second)
			w.look(t.Context(), now)
		}
	}
	looks(20)
	require.Zero(t, reports, "nothing is lost")
	lost = []string{"GPU-1"}
	looks(5)
	require.Zero(t, reports, "it is lost for 24 s")
	lost = nil
	looks(1)
	lost = []string{"GPU-1"}
	looks(5)
	require.Zero(t, reports, "it came back in between")
	fail = errors.New("the driver is being loaded")
	looks(10)
	fail = nil
	looks(5)
	require.Zero(t, reports, "the driver did not answer in between")
	lost = []string{"GPU-1", "GPU-2"}
	looks(5)
	require.Zero(t, reports, "another one is lost as well")
	looks(1)
	require.Equal(t, 1, reports)
	looks(20)
	require.Equal(t, 1, reports, "the node is suspended")

	// A machine that slept sees the lost GPU for the first time: time alone confirms nothing.
	status, w.missing, w.looks = market.NodeActive, nil, 0
	looks(1)
	now = now.Add(time.Hour)
	looks(2)
	require.Equal(t, 1, reports)
	// What was not sent is tried again.
	refused = errors.New("no RPC node")
	looks(3)
	require.Equal(t, 1, reports)
	refused = nil
	looks(1)
	require.Equal(t, 2, reports)
	status = market.NodeRetired
	looks(20)
	require.Equal(t, 2, reports)
}
