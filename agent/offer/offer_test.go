package offer

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/agent/hours"
	"github.com/gantry-market/gantry/sdk/market"
)

// monday is 2026-11-23, a Monday, 00:00 UTC.
var monday = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// machine is one whose node, clock and GPUs are in memory. What the agent sends takes effect at once, unless refused.
type machine struct {
	t       require.TestingT
	now     time.Time
	node    market.Node
	used    string
	unknown error
	refuse  error
	fault   string
	sent    []market.NodeStatus
	mark    Mark
	o       Options
	*Offer
}

func newMachine(t require.TestingT, dir, text string, pause bool) *machine {
	m := &machine{t: t, now: monday, mark: Mark(filepath.Join(dir, "withdrawn"))}
	m.node.Status = uint8(market.NodeActive)
	schedule, err := hours.Parse(text, "UTC")
	require.NoError(t, err)
	m.o = Options{
		Hours: schedule, Mark: m.mark, Log: zerolog.Nop(), Now: func() time.Time { return m.now },
		Node: func() (market.Node, bool) { return m.node, true }, Fault: func() string { return m.fault },
		Set: func(_ context.Context, _ market.Node, status market.NodeStatus) error {
			m.sent = append(m.sent, status)
			if m.refuse == nil {
				m.node.Status = uint8(status)
			}
			return m.refuse
		},
	}
	if pause {
		m.o.Use = func(context.Context) (string, error) { return m.used, m.unknown }
	}
	m.restart()
	return m
}

// restart is an agent that knows nothing but the file.
func (m *machine) restart() {
	var err error
	m.Offer, err = New(m.o)
	require.NoError(m.t, err)
}

// after lets time pass, and looks as the agent does.
func (m *machine) after(d time.Duration) State {
	for end := m.now.Add(d); m.now.Before(end); {
		m.now = m.now.Add(min(lookEvery, end.Sub(m.now)))
		m.look(context.Background())
	}
	return m.State()
}

func (m *machine) at(clock time.Duration) State {
	m.now = monday.Add(clock)
	m.look(context.Background())
	m.look(context.Background()) // sees what the first has sent
	return m.State()
}

func order(end time.Time) market.Order {
	var o market.Order
	o.AwardDeadline = end.Unix()
	return o
}

func TestHours(t *testing.T) {
	m := newMachine(t, t.TempDir(), "19:00-08:00", false)
	s := m.at(7 * time.Hour)
	require.True(t, s.Offering)
	require.Equal(t, monday.Add(8*time.Hour), s.Until)
	require.Empty(t, m.Withholds(order(monday.Add(8*time.Hour))))
	require.Contains(t, m.Withholds(order(monday.Add(8*time.Hour+time.Second))), "the hours end at 2026-11-23T08:00:00Z")
	require.Empty(t, m.sent)

	s = m.at(8 * time.Hour)
	require.Equal(t, State{Reason: Hours, Text: "outside of the hours 19:00-08:00 (UTC)", Until: monday.Add(19 * time.Hour), Withdrawn: true}, s)
	require.NotEmpty(t, m.Withholds(order(m.now.Add(time.Second))))
	require.Equal(t, market.NodeHibernated, m.node.State())
	m.restart()
	m.at(12 * time.Hour)
	require.Equal(t, []market.NodeStatus{market.NodeHibernated}, m.sent, "once")
	s = m.at(19 * time.Hour)
	require.True(t, s.Offering)
	require.Equal(t, market.NodeActive, m.node.State())
	require.False(t, m.mark.Set())
	require.Len(t, m.sent, 2)

	// Without hours a machine that was taken out comes back.
	m.at(32 * time.Hour)
	require.Equal(t, market.NodeHibernated, m.node.State())
	m.o.Hours = hours.Schedule{}
	m.restart()
	require.True(t, m.at(33*time.Hour).Offering)
}

// A lease goes on to its end: the node drains, so that reports pay for it, and hibernates then.
func TestALeaseGoesOn(t *testing.T) {
	m := newMachine(t, t.TempDir(), "19:00-08:00", false)
	m.at(7 * time.Hour)
	m.node.LiveLeases = 1
	m.at(8 * time.Hour)
	require.Equal(t, market.NodeDraining, m.node.State())
	m.at(9 * time.Hour)
	m.node.LiveLeases = 0
	m.at(10 * time.Hour)
	require.Equal(t, market.NodeHibernated, m.node.State())
	m.node.LiveLeases = 1 // awarded in the moment in which it left
	m.at(11 * time.Hour)
	require.Equal(t, market.NodeDraining, m.node.State())
	m.at(19 * time.Hour)
	require.Equal(t, market.NodeActive, m.node.State())
}

// What the owner has set stays.
func TestTheOwnersStatus(t *testing.T) {
	m := newMachine(t, t.TempDir(), "19:00-08:00", false)
	for _, status := range []market.NodeStatus{market.NodeDraining, market.NodeHibernated, market.NodeSuspended, market.NodeRetired} {
		m.node.Status = uint8(status)
		for h := range time.Duration(48) {
			require.False(t, m.at(h*time.Hour).Offering)
		}
		require.Equal(t, Status, m.at(7*time.Hour).Reason)
		require.Empty(t, m.sent)
	}
	// Set while the agent had taken the node out: the command removes the file.
	m.node.Status = uint8(market.NodeActive)
	m.at(9 * time.Hour)
	require.NoError(t, m.mark.Clear())
	m.at(20 * time.Hour)
	require.Equal(t, market.NodeHibernated, m.node.State())
	require.Equal(t, Status, m.State().Reason)
	// A suspended node stays so, whoever had taken it out.
	require.NoError(t, m.mark.Put())
	m.node.Status = uint8(market.NodeSuspended)
	m.sent = nil
	m.at(20 * time.Hour)
	require.Empty(t, m.sent)
}

func TestAGuaranteeGoesFirst(t *testing.T) {
	m := newMachine(t, t.TempDir(), "19:00-08:00", false)
	m.node.GuaranteedUntil = monday.Add(10 * time.Hour).Unix()
	s := m.at(9 * time.Hour)
	require.Equal(t, Hours, s.Reason)
	require.Contains(t, s.Text, "its guarantee runs until 2026-11-23T10:00:00Z")
	require.Empty(t, m.sent)
	require.NotEmpty(t, m.Withholds(order(m.now)))
	m.at(10 * time.Hour)
	require.Equal(t, market.NodeHibernated, m.node.State())
}

func TestPauseWhenUsed(t *testing.T) {
	m := newMachine(t, t.TempDir(), "", true)
	require.NotEmpty(t, m.Withholds(order(m.now)), "before the first look")
	require.True(t, m.after(lookEvery).Offering)
	m.used = "process 7 computes"
	require.True(t, m.after(lookEvery).Offering, "seen once")
	m.used = ""
	require.True(t, m.after(time.Hour).Offering)
	m.used = "process 7 computes"
	s := m.after(3 * lookEvery)
	require.Equal(t, Used, s.Reason)
	require.Contains(t, s.Text, "process 7")
	require.Equal(t, market.NodeHibernated, m.node.State())
	m.unknown = errors.New("the driver does not answer")
	require.False(t, m.after(time.Hour).Offering, "what cannot be read changes nothing")
	m.unknown, m.used = nil, ""
	s = m.after(lookEvery)
	require.Equal(t, Used, s.Reason)
	m.used = "process 8 computes"
	m.after(DefaultQuiet)
	m.used = ""
	s = m.after(DefaultQuiet - lookEvery)
	require.Equal(t, Used, s.Reason)
	require.Equal(t, m.now.Add(lookEvery), s.Until)
	require.NotEmpty(t, m.Withholds(order(m.now)))
	require.True(t, m.after(3*lookEvery).Offering)
	require.Empty(t, m.Withholds(order(m.now)))
	require.Equal(t, []market.NodeStatus{market.NodeHibernated, market.NodeActive}, m.sent)
}

// A status that the chain refuses is sent again, not at every look.
func TestRefusedStatus(t *testing.T) {
	m := newMachine(t, t.TempDir(), "19:00-08:00", false)
	m.refuse = errors.New("no fee")
	m.at(9 * time.Hour)
	require.Len(t, m.sent, 1)
	m.after(sendAgain)
	require.Len(t, m.sent, 2)
	m.refuse = nil
	m.after(sendAgain)
	require.Equal(t, market.NodeHibernated, m.node.State())
}

// A machine with a GPU that does not answer leaves the market, because a measurement of it would fail, and comes back by itself.
func TestAMachineLeavesWhileAGPUDoesNotAnswer(t *testing.T) {
	f := facts{now: time.Unix(1_000, 0), silent: "GPU 2 does not answer"}
	f.node.Node.Status = uint8(market.NodeActive)
	s, want := decide(f)
	require.Equal(t, market.NodeHibernated, want)
	require.Equal(t, State{Reason: NoAnswer, Text: "GPU 2 does not answer", Withdrawn: true}, s)
	require.NotEmpty(t, withholds(f.state(), f.hours, f.now, f.now.Unix()+1))
	f.node.Node.LiveLeases = 1
	_, want = decide(f)
	require.Equal(t, market.NodeDraining, want, "its leases on the other GPUs run on")
	f.node.Node.Status, f.node.Node.LiveLeases, f.withdrawn, f.silent = uint8(market.NodeHibernated), 0, true, ""
	_, want = decide(f)
	require.Equal(t, market.NodeActive, want)
}

func TestAFaultIsSaid(t *testing.T) {
	m := newMachine(t, t.TempDir(), "", false)
	m.fault = "GPU 0 has fallen off the bus"
	s := m.at(0)
	require.Equal(t, State{Reason: Fault, Text: m.fault}, s)
	require.Empty(t, m.sent)
}

// Whatever happens in which order: a minute later the node is out of the market when it has to be, in it when it may be, and what the
// owner set is as the owner set it.
func TestAnyOrderOfEvents(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, dir, "19:00-08:00", true)
		require.NoError(t, m.mark.Clear())
		owner := market.NodeActive
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			switch rapid.SampledFrom([]string{"time", "use", "leases", "restart", "owner", "refusal"}).Draw(t, "event") {
			case "time":
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 24*60).Draw(t, "minutes")) * time.Minute)
			case "use":
				m.used = rapid.SampledFrom([]string{"", "process 7"}).Draw(t, "used")
			case "leases":
				m.node.LiveLeases = rapid.SampledFrom([]uint16{0, 1}).Draw(t, "leases")
			case "restart":
				m.restart()
			case "owner":
				owner = rapid.SampledFrom([]market.NodeStatus{market.NodeActive, market.NodeDraining, market.NodeHibernated}).Draw(t, "status")
				require.NoError(t, m.mark.Clear())
				m.node.Status = uint8(owner)
			case "refusal":
				m.refuse = errors.New("refused")
				m.after(lookEvery)
				m.refuse = nil
			}
			m.after(time.Minute)
			m.look(t.Context()) // sees what the last look has sent
			s := m.State()
			if owner != market.NodeActive {
				require.Equal(t, owner, m.node.State())
				require.False(t, s.Offering)
				continue
			}
			want := market.NodeActive
			if !m.o.Hours.Open(m.now) || m.used != "" || !m.last.IsZero() && m.now.Before(m.last.Add(DefaultQuiet)) {
				want = market.NodeHibernated
				if m.node.LiveLeases > 0 {
					want = market.NodeDraining
				}
			}
			require.Equal(t, want, m.node.State())
			require.Equal(t, want == market.NodeActive, s.Offering)
			require.Equal(t, want != market.NodeActive, m.mark.Set())
		}
	})
}
