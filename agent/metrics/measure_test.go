package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/measure"
	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

func TestMeasurements(t *testing.T) {
	s := State{Measured: measure.Counts{
		Committed: 3, Opened: 14,
		Ended:   map[messages.MeasureRefusal]uint64{messages.MeasureOver: 3, messages.MeasureLease: 2},
		Refused: map[messages.MeasureRefusal]uint64{messages.MeasureTooMany: 7},
		Last:    measure.Last{Took: 1500 * time.Millisecond, Figures: format.Figures{Operations: 12, Memory: 1 << 24, Bandwidth: 34}},
	}}
	r := NewRegistry(func() (State, bool) { return s, true })
	const want = `
# HELP gantry_agent_measured_memory_bytes Memory that each GPU had resident in the last measurement, the least of them.
# TYPE gantry_agent_measured_memory_bytes gauge
gantry_agent_measured_memory_bytes 1.6777216e+07
# HELP gantry_agent_measurement_openings_total Openings of measurements that keepers were sent.
# TYPE gantry_agent_measurement_openings_total counter
gantry_agent_measurement_openings_total 14
# HELP gantry_agent_measurement_refusals_total Answers that refuse a keeper a measurement or an opening, by why.
# TYPE gantry_agent_measurement_refusals_total counter
gantry_agent_measurement_refusals_total{why="block"} 0
gantry_agent_measurement_refusals_total{why="failed"} 0
gantry_agent_measurement_refusals_total{why="job"} 0
gantry_agent_measurement_refusals_total{why="lease"} 0
gantry_agent_measurement_refusals_total{why="over"} 0
gantry_agent_measurement_refusals_total{why="too_many"} 7
gantry_agent_measurement_refusals_total{why="unready"} 0
# HELP gantry_agent_measurement_seconds How long the last measurement took until it was signed.
# TYPE gantry_agent_measurement_seconds gauge
gantry_agent_measurement_seconds 1.5
# HELP gantry_agent_measurements_committed_total Measurements whose commitment was signed since the agent started.
# TYPE gantry_agent_measurements_committed_total counter
gantry_agent_measurements_committed_total 3
# HELP gantry_agent_measurements_ended_total Measurements since the agent started, by why they ended; over is the good end.
# TYPE gantry_agent_measurements_ended_total counter
gantry_agent_measurements_ended_total{why="block"} 0
gantry_agent_measurements_ended_total{why="failed"} 0
gantry_agent_measurements_ended_total{why="job"} 0
gantry_agent_measurements_ended_total{why="lease"} 2
gantry_agent_measurements_ended_total{why="over"} 3
gantry_agent_measurements_ended_total{why="too_many"} 0
gantry_agent_measurements_ended_total{why="unready"} 0
`
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(want), "gantry_agent_measured_memory_bytes", "gantry_agent_measurement_openings_total",
		"gantry_agent_measurement_refusals_total", "gantry_agent_measurement_seconds", "gantry_agent_measurements_committed_total", "gantry_agent_measurements_ended_total"))
}

// Every refusal that there is has a label of its own.
func TestEveryRefusalHasALabel(t *testing.T) {
	names := map[string]bool{}
	for _, w := range whys {
		names[w.name] = true
	}
	require.Len(t, names, len(whys))
	unknown := messages.MeasureRefusal(0).String()
	for no := messages.MeasureRefusal(1); ; no++ {
		if no.String() == unknown {
			require.Len(t, whys, int(no)-1)
			return
		}
		require.Equal(t, no, whys[no-1].why, fmt.Sprint(no))
	}
}
