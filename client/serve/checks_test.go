package serve

import (
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
)

// Checks are counted by the day and hour in which the server saw them grow, also over a restart. What grew while it was away for longer
// than a day is of no day, and what it never saw begins with nothing.
func TestChecksByDayAndHour(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checks.db")
	c, err := OpenChecks(path, [32]byte{1})
	require.NoError(t, err)
	one, two := solana.PublicKey{1}, solana.PublicKey{2}
	look := func(at int64, all ...service.MachineChecks) { require.NoError(t, c.note(at, all)) }
	days := func(m solana.PublicKey, n int) []CheckCount {
		_, last, err := c.span()
		require.NoError(t, err)
		got, err := c.days(last, m, n)
		require.NoError(t, err)
		return got
	}
	require.Empty(t, days(one, 30))

	const day = 20_000 * daySecs
	look(day+3600, service.MachineChecks{Address: one, Passed: 100, Total: 110})
	require.Empty(t, days(one, 30), "the sum that was there before is of no day")
	look(day+7200, service.MachineChecks{Address: one, Passed: 106, Total: 117}, service.MachineChecks{Address: two, Passed: 5, Total: 5})
	look(day+7260, service.MachineChecks{Address: one, Passed: 106, Total: 117}, service.MachineChecks{Address: two, Passed: 5, Total: 5})
	look(day+10800, service.MachineChecks{Address: one, Passed: 112, Total: 123}, service.MachineChecks{Address: two, Passed: 11, Total: 11})
	require.Equal(t, []CheckCount{{day, 12, 13}}, days(one, 30))
	require.Equal(t, []CheckCount{{day, 6, 6}}, days(two, 30))
	_, seen, err := c.span()
	require.NoError(t, err)
	hours, err := c.hours(seen, 24)
	require.NoError(t, err)
	require.Equal(t, []CheckCount{{day + 3600, 0, 0}, {day + 7200, 6, 7}, {day + 10800, 12, 12}}, hours)

	// After a restart it goes on, on the next day.
	require.NoError(t, c.Close())
	c, err = OpenChecks(path, [32]byte{1})
	require.NoError(t, err)
	look(day+daySecs+60, service.MachineChecks{Address: one, Passed: 120, Total: 131})
	require.Equal(t, []CheckCount{{day, 12, 13}, {day + daySecs, 8, 8}}, days(one, 30))
	require.Equal(t, []CheckCount{{day + daySecs, 8, 8}}, days(one, 1))

	// It was away for three days: nobody knows on which of them the checks were.
	look(day+4*daySecs+60, service.MachineChecks{Address: one, Passed: 300, Total: 310})
	require.Len(t, days(one, 30), 2)
	look(day+4*daySecs+3660, service.MachineChecks{Address: one, Passed: 301, Total: 312})
	require.Equal(t, CheckCount{day + 4*daySecs, 1, 2}, days(one, 30)[2])
	first, last, err := c.span()
	require.NoError(t, err)
	require.EqualValues(t, day+3600, first)
	require.EqualValues(t, day+4*daySecs+3660, last)

	// What is older than it is kept for is gone.
	look(day+5*daySecs, service.MachineChecks{Address: one, Passed: 301, Total: 312})
	look(day+93*daySecs, service.MachineChecks{Address: one, Passed: 301, Total: 312})
	require.Len(t, days(one, 500), 1)
	require.NoError(t, c.Close())
	_, err = OpenChecks(path, [32]byte{2})
	require.Error(t, err)
}
