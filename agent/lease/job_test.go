package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
)

// A machine that was away for a while claims no time for a job that ended with it.
func TestALostJobEndedWhenItWasLost(t *testing.T) {
	lost, now := time.Unix(1000, 0), time.Unix(1600, 0)
	require.Equal(t, lost, exitOf(runtime.Status{Phase: runtime.Lost, LostAt: lost}, now).At)
	require.Equal(t, now, exitOf(runtime.Status{Phase: runtime.Lost}, now).At)
}
