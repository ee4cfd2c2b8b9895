package offer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// limit is how many slow periods in a row cost stake.
const limit = 16

// measured is a machine that keepers measure: a node of a class, and its file.
func measured(t *testing.T, hours string) *machine {
	dir := t.TempDir()
	m := newMachine(t, dir, hours, false)
	m.node.MinOperations, m.node.MinBandwidth = 1000, 1000
	m.o.Slow, m.o.SlowLimit = SlowFile(filepath.Join(dir, "slow")), func() uint8 { return limit }
	m.restart()
	return m
}

// periods are reports with a share of the class, in basis points: what Node.NoteFigures makes of leaves.
func (m *machine) periods(n int, share uint16) {
	for range n {
		m.node.MeasuredPeriod++
		copy(m.node.Shares[1:], m.node.Shares[:len(m.node.Shares)-1])
		m.node.Shares[0], m.node.SharesLen = share, min(m.node.SharesLen+1, uint8(len(m.node.Shares)))
		if m.node.SlowPeriods++; share >= market.FiguresBPS {
			m.node.SlowPeriods = 0
		}
		require.Less(m.t, m.node.SlowPeriods, uint8(limit), "the stake is slashed")
		m.after(time.Minute)
	}
}

// actives is what the owner does by command: it removes the mark first.
func (m *machine) actives() {
	require.NoError(m.t, m.mark.Clear())
	m.after(time.Minute)
	m.node.Status = uint8(market.NodeActive)
	m.after(time.Minute)
}

// A machine that overheats loses work, and no stake: it leaves after half of the row, and each time that its owner brings it back
// unmended after half of what is left.
func TestASlowMachineLeavesBeforeItCostsStake(t *testing.T) {
	m := measured(t, "")
	m.periods(7, 6_999)
	require.True(t, m.State().Offering)
	require.Empty(t, m.sent)
	m.periods(1, 6_500)
	s := m.State()
	require.Equal(t, Slow, s.Reason)
	require.True(t, s.Withdrawn)
	require.Contains(t, s.Text, "8 measured periods in a row were below 70 % of its class, the last at 65.0 %; at 16 it costs stake")
	require.Contains(t, s.Text, "gantry-agent update --status active")
	require.Equal(t, market.NodeHibernated, m.node.State())
	require.NotEmpty(t, m.Withholds(order(m.now)))
	m.after(time.Hour)
	m.restart()
	m.after(time.Hour)
	require.Equal(t, market.NodeHibernated, m.node.State(), "it does not come back by itself")
	require.Len(t, m.sent, 1)

	for _, row := range []uint8{12, 14, 15} {
		m.actives()
		require.Equal(t, market.NodeActive, m.node.State(), "what the owner sets stays")
		m.restart()
		m.after(time.Minute)
		require.True(t, m.State().Offering)
		for m.node.State() == market.NodeActive {
			m.periods(1, 100)
		}
		require.Equal(t, row, m.node.SlowPeriods)
	}
}

// One good period ends the row, and with it what is remembered.
func TestAMendedMachineStays(t *testing.T) {
	m := measured(t, "")
	m.periods(8, 1)
	m.actives()
	m.periods(1, 10_000)
	require.True(t, m.State().Offering)
	require.NoFileExists(t, string(m.o.Slow))
	m.periods(7, 1)
	require.True(t, m.State().Offering)
	m.periods(1, 1)
	require.Equal(t, Slow, m.State().Reason)
}

// What the program forgets while the machine is out, as new terms do, brings it back: nothing stands against it any more.
func TestWhatIsForgottenBringsItBack(t *testing.T) {
	m := measured(t, "")
	m.periods(8, 1)
	m.node.ForgetShares()
	m.after(time.Minute)
	require.Equal(t, market.NodeActive, m.node.State())
	require.NoFileExists(t, string(m.o.Slow))
}

// A crash between the steps of leaving, and hours that have taken the machine out before, change nothing.
func TestSlowAndOtherReasons(t *testing.T) {
	m := measured(t, "19:00-08:00")
	m.at(7 * time.Hour)
	m.node.SlowPeriods, m.node.MeasuredPeriod = 7, 7
	m.at(8 * time.Hour)
	require.Equal(t, Hours, m.State().Reason)
	m.node.SlowPeriods, m.node.MeasuredPeriod = 8, 8 // the report of the last period in the hours
	m.at(18 * time.Hour)
	m.at(19 * time.Hour)
	require.Equal(t, Slow, m.State().Reason, "the hours begin, and it stays out")
	require.Equal(t, market.NodeHibernated, m.node.State())
	m.actives()
	require.Equal(t, market.NodeActive, m.node.State(), "the first word of the owner counts")

	m.refuse = os.ErrDeadlineExceeded
	m.periods(4, 1) // at twelve it has to leave, and cannot
	require.Equal(t, market.NodeActive, m.node.State())
	m.restart()
	m.refuse = nil
	m.after(time.Minute)
	require.Equal(t, market.NodeHibernated, m.node.State())
	m.actives()
	require.Equal(t, market.NodeActive, m.node.State())
}

// Leases go on, and a guarantee goes first.
func TestASlowMachineKeepsItsPromises(t *testing.T) {
	m := measured(t, "")
	m.node.LiveLeases = 1
	m.periods(8, 1)
	require.Equal(t, market.NodeDraining, m.node.State())
	m.node.LiveLeases = 0
	m.after(time.Minute)
	require.Equal(t, market.NodeHibernated, m.node.State())

	m = measured(t, "")
	m.node.GuaranteedUntil = m.now.Add(1000 * time.Hour).Unix()
	m.periods(8, 1)
	require.Equal(t, market.NodeActive, m.node.State())
	require.Contains(t, m.State().Text, "guarantee")
}

// Where nothing is known, nothing happens: of the limit, of a model without thresholds, or where the owner wants it so.
func TestMachinesThatStay(t *testing.T) {
	for name, change := range map[string]func(*machine){
		"not calibrated":   func(m *machine) { m.node.MinOperations, m.node.MinBandwidth = 0, 0 },
		"the owner's wish": func(m *machine) { m.o.SlowLimit = nil },
		"a file of nonsense": func(m *machine) {
			require.NoError(t, os.WriteFile(string(m.o.Slow), []byte("{"), 0o600))
			m.node.MinOperations, m.node.MinBandwidth = 0, 0
		},
	} {
		m := measured(t, "")
		change(m)
		m.restart()
		m.periods(15, 1)
		require.True(t, m.State().Offering, name)
		require.Empty(t, m.sent, name)
	}
	m := measured(t, "")
	m.periods(8, 1)
	m.o.SlowLimit = func() uint8 { return 0 }
	m.restart()
	m.after(time.Minute)
	require.True(t, m.mark.Set(), "a limit that is not known yet ends nothing")
}

func TestWhenASlowMachineLeaves(t *testing.T) {
	for _, c := range []struct {
		note  slow
		limit uint8
		want  uint8
	}{
		{slow{}, 16, 8},
		{slow{}, 6, 3},
		{slow{8, true}, 16, 12},
		{slow{12, true}, 16, 14},
		{slow{15, true}, 16, 16},
		{slow{3, true}, 6, 5},
		{slow{20, true}, 16, 20}, // the limit was lowered meanwhile
	} {
		require.Equal(t, c.want, leavesAt(c.note, c.limit), "%+v", c)
	}
}
