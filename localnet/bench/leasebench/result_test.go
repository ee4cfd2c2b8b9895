package leasebench

import (
	"bytes"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestThePageHasEveryFigure(t *testing.T) {
	r := Result{Started: time.Unix(0, 0), Engine: "surfnet", Tables: []Table{
		{Title: "One", Rows: []Row{{What: "peer", Unit: "s", Values: []float64{3, 1, 2}}, {What: "ours", Unit: "s", Values: []float64{4, 8}}}},
		{Title: "Rates", Rows: []Row{{What: "fast", Unit: "Mbit/s", Values: []float64{19_700.4}}}},
		{Title: "Nothing", Skipped: []string{"iperf3 is not installed"}},
	}}
	var b bytes.Buffer
	require.NoError(t, r.Markdown(&b))
	for _, want := range []string{
		"1970-01-01 00:00 UTC, engine surfnet: ", "| peer | s | 3 | 2 | 1 | 3 | – |", "| ours | s | 2 | 6 | 4 | 8 | 3.000 × peer |",
		"| fast | Mbit/s | 1 | 19700 | 19700 | 19700 | – |", "### Nothing\n\nNot measured: iperf3 is not installed.",
	} {
		require.Contains(t, b.String(), want)
	}
	require.Zero(t, Row{}.median())
}

func TestFiguresOfIperf(t *testing.T) {
	rate, err := mbits(exec.CommandContext(t.Context(), "echo", `{"end": {"sum_sent": {"bits_per_second": 9e9}, "sum_received": {"bits_per_second": 2.5e8}}}`))
	require.NoError(t, err)
	require.InDelta(t, 250, rate, 0.001)
	_, err = mbits(exec.CommandContext(t.Context(), "false"))
	require.ErrorContains(t, err, "iperf3")
	_, err = mbits(exec.CommandContext(t.Context(), "echo", "no JSON"))
	require.ErrorContains(t, err, "no JSON")
}
