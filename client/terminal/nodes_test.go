package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
)

// The table has a cell below each head: the columns for a terminal, all of them when it is wide, and the latency where it was measured.
func TestColumnsOfNodes(t *testing.T) {
	o := service.Offer{Address: "21Si6jxx", Status: "active", Price: "1.26", Reputation: "85.00", Region: "us-west-2"}
	columns := func(wide bool) (heads, cells []string) {
		var b bytes.Buffer
		p := NewPage(&b)
		p.Wide = wide
		WriteNodes(p, []service.Offer{o}, false)
		lines := strings.Split(b.String(), "\n")
		return strings.Fields(lines[0]), strings.Fields(lines[1])
	}
	heads, cells := columns(false)
	require.NotContains(t, heads, "REP")
	require.NotContains(t, heads, "LATENCY")
	require.Equal(t, "STATUS", heads[len(heads)-1])
	require.Equal(t, "active", cells[len(cells)-1])
	heads, cells = columns(true)
	require.Contains(t, heads, "REP")
	require.Contains(t, cells, "85.00")
	o.Latency = &service.Latency{Reached: true, Millis: 2.5}
	heads, cells = columns(false)
	require.Equal(t, "LATENCY", heads[len(heads)-1])
	require.Equal(t, []string{"active", "2.5", "ms"}, cells[len(cells)-3:])
}
