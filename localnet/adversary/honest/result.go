package honest

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/localnet/bench/soak"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/sdk/market"
)

// Result is what a run saw.
type Result struct {
	Options Options
	Began   time.Time
	Took    time.Duration
	// Periods are those with a final report, Missed those between them without one.
	Periods int
	Missed  []uint64
	// Machines are the honest ones, then the cheats.
	Machines []Machine
	Keepers  []Keeper
	// Kills say which jobs did not run until their end.
	Kills []string
	// Checks of the invariants, and what they found.
	Checks     int
	Violations []string
	// Left was not closed in time.
	Left []string
	// Complaints are warnings and errors in the logs of keepers and honest machines.
	Complaints []soak.Complaint
}

// Machine is what became of one.
type Machine struct {
	Name string
	// Does is what a cheat does; empty for an honest machine.
	Does string
	// Lag is how far its RPC node was behind, Spoiled is what else it met.
	Lag     time.Duration
	Spoiled fault.Counts

	Put, Stake market.GNT
	Status     market.NodeStatus
	Suspended  bool // at some time
	Faults     []string
	// Completed and Failed count leases in its record.
	Completed, Failed uint32
	// ChecksPassed, ChecksTotal and Downtime are of its applied leaves.
	ChecksPassed, ChecksTotal, Downtime uint64

	// Figures counts the periods for which the chain has figures of its GPUs, Taken those in which it had a lease.
	Figures, Taken int
	// Runs are its measurements by how they ended, Refusals its answers that refuse a keeper, by why.
	Runs, Refusals map[string]float64
	Opened         float64
	// Wrong and Evaded are keepers' measurements of it that ended so, and Whys are why.
	Wrong, Evaded int
	Whys          map[string]int

	Leases Leases
	// Stops are why its agent stopped jobs.
	Stops    map[string]int
	Restarts int
}

// Honest reports whether it keeps the rules.
func (m *Machine) Honest() bool { return m.Does == "" }

// Leases counts orders of a machine by what became of their jobs.
type Leases struct {
	// Ordered are all; Unserved were given to no machine or not started in time; Idle were started, their job did not begin,
	// and nothing was paid.
	Ordered, Unserved, Idle int
	// Done jobs printed their end, Funded ones ran until the funded end, Killed ones did neither, though some of their time was
	// paid for or they had begun.
	Done, Funded, Killed int
}

// Keeper is what became of one.
type Keeper struct {
	Name      string
	Lag       time.Duration
	Spoiled   fault.Counts
	Put, Bond market.GNT
	Status    market.KeeperStatus
	// Passed and Failed are its own statements about machines' measurements, Other those that failed about all else. Most
	// keepers see the cheats fail.
	Passed, Failed, Other float64
	Votes                 float64
	Restarts              int
}

// Wrong lists what went wrong, for people; empty when nothing did.
func (r *Result) Wrong() []string {
	var wrong []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	served := 0
	for i := range r.Machines {
		m := &r.Machines[i]
		if !m.Honest() {
			add(m.Stake >= m.Put, "%s %s and has lost nothing of its stake of %s GNT", m.Name, m.Does, m.Put)
			add(len(m.Faults) == 0, "%s %s and has no fault", m.Name, m.Does)
			continue
		}
		add(m.Stake != m.Put, "%s is honest and has %s GNT left of its stake of %s GNT", m.Name, m.Stake, m.Put)
		for _, f := range m.Faults {
			add(true, "%s is honest and has a fault: %s", m.Name, f)
		}
		add(m.Suspended, "%s is honest and was suspended", m.Name)
		add(m.Failed > 0, "%s is honest and %d leases in its record have failed", m.Name, m.Failed)
		add(m.Wrong > 0, "keepers called %d measurements of %s wrong: %s", m.Wrong, m.Name, counts(m.Whys))
		add(m.Evaded > 0, "keepers say that %s evaded %d measurements: %s", m.Name, m.Evaded, counts(m.Whys))
		add(m.Restarts > 0, "the agent of %s crashed %d times", m.Name, m.Restarts)
		served += m.Leases.Done + m.Leases.Funded
	}
	for _, k := range r.Keepers {
		add(k.Bond != k.Put, "%s is honest and has %s GNT left of its bond of %s GNT", k.Name, k.Bond, k.Put)
		add(k.Restarts > 0, "%s crashed %d times", k.Name, k.Restarts)
	}
	for _, k := range r.Kills {
		add(true, "a job was killed: %s", k)
	}
	add(served == 0, "no job ran until its end")
	add(r.Periods == 0, "no report became final")
	add(r.Checks == 0, "the invariants were never checked")
	for _, v := range r.Violations {
		add(true, "%s", v)
	}
	for _, l := range r.Left {
		add(true, "it should have been closed: %s", l)
	}
	return wrong
}
