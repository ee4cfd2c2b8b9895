package offer

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/agent/hours"
	"github.com/gantry-market/gantry/sdk/market"
)

// Reason is why a machine takes no new leases.
type Reason string

// Reasons.
const (
	// Hours: the time is outside of the hours that the owner has named.
	Hours Reason = "hours"
	// Used: the owner uses a GPU, or did so a moment ago.
	Used Reason = "used"
	// Slow: keepers have measured the machine below its class, several times in a row.
	Slow Reason = "slow"
	// NoAnswer: a GPU does not answer. A measurement would fail, which can cost stake.
	NoAnswer Reason = "no-answer"
	// Fault: a GPU has a fault.
	Fault Reason = "fault"
	// Status: on chain the node is not active, and the agent did not make it so.
	Status Reason = "status"
)

// Reasons are all of them.
func Reasons() []Reason { return []Reason{Hours, Used, Slow, NoAnswer, Fault, Status} }

// leaves reports whether a machine leaves the market for the reason.
func (r Reason) leaves() bool { return r == Hours || r == Used || r == Slow || r == NoAnswer }

// State says whether a machine takes new leases.
type State struct {
	Offering bool `json:"offering"`
	// Reason is empty while it does.
	Reason Reason `json:"reason,omitempty"`
	// Text is for people.
	Text string `json:"text"`
	// Until is when this is expected to change; zero if that is not known.
	Until time.Time `json:"until,omitzero"`
	// Withdrawn: the agent has taken the node out of the market, and brings it back.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// facts are what a decision rests on.
type facts struct {
	now   time.Time
	hours hours.Schedule
	// used says who uses which GPU; empty for nobody. quiet is when the quiet time after it is over.
	used  string
	quiet time.Time
	slow  string // empty unless the machine has to leave because it is measured below its class
	// silent says which GPU does not answer; empty for none.
	silent string
	fault  string
	node   market.Node
	// withdrawn: the agent took the node out of the market.
	withdrawn bool
}

// decide says what is so, and the status that the node has to get; 0 for the one that it has. It is pure.
//
// A node that is out of the market is hibernated, so that keepers leave its GPUs to the owner; while it still has leases it
// drains, because hibernated nodes have no reports, from which leases are paid. What the owner has set stays: only an
// active node is taken out, and only what the agent took out is brought back.
func decide(f facts) (State, market.NodeStatus) {
	s := f.state()
	status := f.node.State()
	if status == market.NodeSuspended || status == market.NodeRetired {
		return State{Reason: Status, Text: "the node is " + status.String() + " on chain"}, 0
	}
	out := s.Reason.leaves()
	want := market.NodeStatus(0)
	switch {
	case out && status == market.NodeActive && f.now.Unix() < f.node.GuaranteedUntil:
		s.Text += fmt.Sprintf("; it bids for nothing, but stays active, and may be awarded instant orders, because its guarantee runs until %s",
			time.Unix(f.node.GuaranteedUntil, 0).UTC().Format(time.RFC3339))
		return s, 0
	case out && (status == market.NodeActive || f.withdrawn):
		want, s.Withdrawn = market.NodeHibernated, true
		if f.node.LiveLeases > 0 {
			want = market.NodeDraining
		}
	case !out && status != market.NodeActive && f.withdrawn:
		want, s.Withdrawn = market.NodeActive, true
		s.Offering, s.Text = false, "the node is being brought back"
	case status != market.NodeActive && s.Reason == "":
		return State{Reason: Status, Text: "the node is " + status.String() + " on chain; back with: gantry-agent update --status active"}, 0
	}
	if want == status {
		want = 0
	}
	return s, want
}

// state is what hours, use and faults say.
func (f facts) state() State {
	change, changes := f.hours.Change(f.now)
	switch {
	case !f.hours.Open(f.now):
		return State{Reason: Hours, Text: "outside of the hours " + f.hours.String(), Until: change}
	case f.used != "":
		return State{Reason: Used, Text: f.used}
	case f.now.Before(f.quiet):
		return State{Reason: Used, Text: "a GPU was used a moment ago", Until: f.quiet}
	case f.slow != "":
		return State{Reason: Slow, Text: f.slow}
	case f.silent != "":
		return State{Reason: NoAnswer, Text: f.silent}
	case f.fault != "":
		return State{Reason: Fault, Text: f.fault}
	case changes:
		return State{Offering: true, Text: "takes new leases", Until: change}
	}
	return State{Offering: true, Text: "takes new leases"}
}

// Withholds says why a machine must not bid for an order whose lease ends at latestEnd, unix seconds, at the latest; empty if it may.
func withholds(s State, h hours.Schedule, now time.Time, latestEnd int64) string {
	if s.Reason.leaves() {
		return s.Text
	}
	end := time.Unix(latestEnd, 0)
	if h.Covers(now, end) {
		return ""
	}
	change, _ := h.Change(now)
	return fmt.Sprintf("its lease may last until %s, and the hours end at %s", end.UTC().Format(time.RFC3339), change.UTC().Format(time.RFC3339))
}
