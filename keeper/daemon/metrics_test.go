package daemon

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/server"
)

// The keeper's README names every metric that it has.
func TestMetricsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, name := range server.NewMetrics((&Keeper{}).gauges()...).Names() {
		short := strings.TrimPrefix(name, "gantry_keeper_")
		require.NotEqual(t, name, short)
		require.Regexp(t, "`"+short+"[`{]", string(raw), "keeper/README.md does not name it")
	}
}
