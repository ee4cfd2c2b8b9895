package expose

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Commands read the chain's time one after the other, in whole seconds and some seconds late: a grant is still later
// than what was taken back before, and taken back by what comes after it.
func TestGrantsStayInOrder(t *testing.T) {
	last := time.UnixMilli(1_800_000_000_000)
	require.Equal(t, last, inOrder(last.Add(-3*time.Second), last))
	require.Equal(t, last.Add(time.Second), inOrder(last.Add(time.Second), last))
	require.Equal(t, last.Add(-time.Hour), inOrder(last.Add(-time.Hour), last), "that was by a clock which was wrong")
	require.Equal(t, last, inOrder(last, time.UnixMilli(0)))
}
