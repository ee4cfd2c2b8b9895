package audit

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// awayAt is the node's last answer in the tests.
const awayAt = 1_800_000_000

// outage is one that three keepers of ten GNT each vote about, and the fault of a lease that leaves the node.
type outage struct {
	votes  [3]*bindings.OutageVoted
	at     [3]int64 // seconds after the last answer
	seen   *bindings.OutageSeen
	failed *bindings.LeaseFailed
	fault  *bindings.FaultOpened
	opened int64
}

func newOutage() *outage {
	node, lease := pub("node"), pub("lease")
	o := &outage{
		at:     [3]int64{5, 6, 9},
		seen:   &bindings.OutageSeen{Node: node, LastAnswer: awayAt, Weight: 30 * uint64(market.OneGNT), TotalWeight: 40 * uint64(market.OneGNT)},
		failed: &bindings.LeaseFailed{Lease: lease, Period: 500_000, EndedAt: awayAt},
		fault: &bindings.FaultOpened{
			Fault: market.OutageFaultAddress(lease), Node: node, Lease: lease, Period: 500_000, Flags: uint16(records.FlagOffline), Amount: 50, ApplicableAt: awayAt + 400,
		},
		opened: 10,
	}
	for i, name := range []string{"keeper 1", "keeper 2", "keeper 3"} {
		o.votes[i] = &bindings.OutageVoted{Node: node, Keeper: pub(name), LastAnswer: awayAt - int64(i), Weight: 10 * uint64(market.OneGNT)}
	}
	return o
}

func (o *outage) audit(t *testing.T) *Slash {
	t.Helper()
	var txs []Tx
	for i, v := range o.votes {
		events := []market.Event{{Value: v}}
		if i == len(o.votes)-1 {
			events = append(events, market.Event{Value: o.seen})
		}
		txs = append(txs, Tx{Slot: uint64(i), Signature: solana.Signature{1, byte(i)}, Time: time.Unix(awayAt+o.at[i], 0), Events: events})
	}
	opened := Tx{Slot: 9, Signature: solana.Signature{2}, Time: time.Unix(awayAt+o.opened, 0), Events: []market.Event{{Value: o.failed}, {Value: o.fault}}}
	s := &Slash{Fault: o.fault.Fault, Node: o.fault.Node, Lease: o.fault.Lease, Flags: records.Flags(o.fault.Flags)}
	s.fromOutage(market.DefaultParams(), opened, o.fault, append(txs, opened))
	return s
}

// The fault of an outage rests on the votes of the keepers' quorum, which are added up again.
func TestAFaultOfAnOutage(t *testing.T) {
	s := newOutage().audit(t)
	require.True(t, s.OK(), "%v", s.Steps)
	require.Contains(t, s.Steps[0].Text, "3 keepers with 30 GNT of 40 had not heard node "+pub("node").String())
	for name, c := range map[string]struct {
		change func(*outage)
		shows  string
	}{
		"two thirds":              {func(o *outage) { o.seen.TotalWeight = 45 * uint64(market.OneGNT) }, "are not a quorum"},
		"a vote counted twice":    {func(o *outage) { o.votes[2].Keeper = o.votes[0].Keeper }, "was counted twice"},
		"a vote that weighs less": {func(o *outage) { o.votes[1].Weight = 1 }, "the votes weigh"},
		"an answer a second ago":  {func(o *outage) { o.votes[1].LastAnswer = awayAt + 2 }, "had heard the node 4 s before"},
		"a later answer": {func(o *outage) {
			o.votes[0].LastAnswer = awayAt - 9
			o.votes[2].LastAnswer = awayAt - 9
			o.votes[1].LastAnswer = awayAt - 8
		}, "the latest last answer"},
		"votes of two windows":    {func(o *outage) { o.at[2], o.opened = 40, 41 }, "the votes weigh"},
		"no quorum":               {func(o *outage) { o.seen.Node = pub("another") }, "had not seen an outage"},
		"too late":                {func(o *outage) { o.opened = o.at[2] + 61 }, "had not seen an outage"},
		"ended before the answer": {func(o *outage) { o.failed.EndedAt = awayAt - 1 }, "ended before the node's last answer"},
		"another lease's end":     {func(o *outage) { o.failed.Lease = pub("another") }, "did not fail in the same transaction"},
		"about something else":    {func(o *outage) { o.fault.Flags = uint16(records.FlagBadOutput) }, "an outage is about silence"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutage()
			c.change(o)
			s := o.audit(t)
			require.Contains(t, joined(s.Steps[0].Problems), c.shows)
		})
	}
}

func joined(lines []string) (out string) {
	for _, l := range lines {
		out += l + "\n"
	}
	return out
}

// Without the node's history nobody can say whether keepers voted.
func TestAFaultOfAnOutageWithoutHistory(t *testing.T) {
	o := newOutage()
	s, err := auditFault(t.Context(), Options{Source: silence{}, Params: market.DefaultParams()}, Tx{Events: []market.Event{{Value: o.failed}, {Value: o.fault}}}, o.fault)
	require.NoError(t, err)
	require.Empty(t, joined(s.Steps[0].Problems))
	require.Equal(t, Unknown, s.Outcome())
	require.Equal(t, "unread", s.Steps[1].Name)
}

// A lease that left its node says so, and where its votes are.
func TestALeaseThatFailedInAnOutage(t *testing.T) {
	o := newOutage()
	a := &auditor{lease: &Lease{}, startedAt: awayAt - 100, fundedUntil: awayAt + 100}
	a.failed(Tx{Events: []market.Event{{Value: o.failed}, {Value: o.fault}}}, o.failed)
	require.Empty(t, a.lease.Steps[0].Problems)
	require.Contains(t, a.lease.Steps[0].Text, "keepers voted that its node was away")
	a.failed(Tx{Events: []market.Event{{Value: o.failed}}}, o.failed)
	require.Contains(t, a.lease.Steps[1].Text, "gone too long in period 500000")
	o.failed.EndedAt = awayAt + 101
	a.failed(Tx{Events: []market.Event{{Value: o.failed}, {Value: o.fault}}}, o.failed)
	require.NotEmpty(t, a.lease.Steps[2].Problems)
}
