package hostile

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Result is what a run saw.
type Result struct {
	For time.Duration `json:"for"`
	// Attacks are what attackers achieved, by the attack's name, all roles together.
	Attacks map[string]Count `json:"attacks"`
	// Reflected is what came to the machine that takes no part.
	Reflected Count `json:"reflected"`
	// Use of each honest daemon by phase.
	Use map[string][phases]Use `json:"use"`
	// Ended are daemons that ended by themselves.
	Ended []string `json:"ended,omitempty"`

	Checks          Checks   `json:"checks"`
	Jobs, QuietJobs Jobs     `json:"-"`
	Periods         int      `json:"periods"`                          // under attack
	Missed          []uint64 `json:"periods_without_report,omitempty"` // of them
	Unread          int      `json:"periods_of_which_not_all_keepers_statements_were_read"`
	Faults          []string `json:"faults_of_honest_machines,omitempty"`

	Newcomers Newcomers `json:"newcomers"` // under attack
	Copies    Copies    `json:"copies"`    // of an honest machine, under attack
	Bombs     uint64    `json:"bombs"`     // answers of one honest machine's RPC endpoint
}

// Checks are what honest keepers said of honest machines under attack.
type Checks struct {
	Passed int      `json:"passed"`
	Failed []string `json:"failed,omitempty"`
	// Periods are those of all honest pairs of keeper and machine; Seen are those of them with a passed liveness check.
	Periods int `json:"periods"`
	Seen    int `json:"seen"`
}

// Jobs are what honest customers had run.
type Jobs struct {
	Placed  int           `json:"placed"`
	Done    int           `json:"done"`
	Longest time.Duration `json:"longest"`
	Errors  []string      `json:"errors,omitempty"`
}

// The bounds, beside twice the quiet memory. Attackers have eleven address groups, and 128 connections from one are admitted.
const (
	// leastAttempts is what an attack must have tried to be one, leastAsked how often one that waits to be asked: honest keepers
	// ask a lying one some times a period, and a short run has few periods.
	leastAttempts  = 10
	leastAsked     = 3
	memoryTimes    = 2
	mostFiles      = 11 * 128                     // more than when quiet
	mostGoroutines = 11 * 1000                    // more than when quiet
	mostLog        = 16 << 10                     // bytes a minute more than when quiet
	mostDisk       = 32 << 20                     // bytes more than when quiet
	seenShare      = 95                           // percent of the pairs of keeper and machine with a passed liveness check in a period
	reflectedMost  = 5 * (keepers + machines + 1) // connections a minute to a machine that takes no part: five of each daemon
)

// Wrong lists what is not as it must be.
func (r *Result) Wrong() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, x := range attacks() {
		c, tried := r.Attacks[x.name]
		least := uint64(leastAttempts)
		if x.always {
			least = leastAsked
		}
		if tried && (c.Attempts < least || c.Answered+c.Refused == 0) {
			say("the attack %q achieved nothing: %d attempts", x.name, c.Attempts)
		}
	}
	if len(r.Attacks) == 0 {
		say("nobody attacked")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Use)) {
		quiet, attacked := r.Use[name][Quiet], r.Use[name][Attacked]
		if attacked.Resident > memoryTimes*quiet.Resident {
			say("%s: %s resident, %s when quiet", name, mib(attacked.Resident), mib(quiet.Resident))
		}
		if attacked.Files > quiet.Files+mostFiles {
			say("%s: %d descriptors, %d when quiet", name, attacked.Files, quiet.Files)
		}
		if attacked.Goroutines > quiet.Goroutines+mostGoroutines {
			say("%s: %d goroutines, %d when quiet", name, attacked.Goroutines, quiet.Goroutines)
		}
		if attacked.aMinute(attacked.Log) > quiet.aMinute(quiet.Log)+mostLog {
			say("%s: %.0f bytes of log a minute, %.0f when quiet", name, attacked.aMinute(attacked.Log), quiet.aMinute(quiet.Log))
		}
		if attacked.Disk > quiet.Disk+mostDisk {
			say("%s: %s of files, %s when quiet", name, mib(uint64(attacked.Disk)), mib(uint64(quiet.Disk)))
		}
	}
	for _, name := range r.Ended {
		say("%s ended", name)
	}
	for _, f := range r.Checks.Failed {
		say("failed check: %s", f)
	}
	if r.Checks.Seen*100 < r.Checks.Periods*seenShare {
		say("honest machines were seen by %d of %d pairs of keeper and period", r.Checks.Seen, r.Checks.Periods)
	}
	if len(r.Missed) > 0 {
		say("periods without a report: %v", r.Missed)
	}
	for _, f := range r.Faults {
		say("fault of an honest machine: %s", f)
	}
	for _, e := range r.Jobs.Errors {
		say("job: %s", e)
	}
	for _, n := range r.Newcomers.Turned {
		say("newcomer turned away: %s", n)
	}
	for _, c := range r.Copies.Served {
		say("a copy of a machine did not stop: %s", c)
	}
	if r.Copies.Came == 0 {
		say("no copy of a machine came")
	}
	if r.Bombs < leastAttempts {
		say("the RPC endpoint of a machine answered by %d bombs", r.Bombs)
	}
	if r.Newcomers.Came == 0 {
		say("no newcomer came")
	}
	if r.Jobs.Done == 0 {
		say("no job was done")
	}
	if limit := reflectedMost * r.For.Minutes(); float64(r.Reflected.Attempts) > limit {
		say("the machine that takes no part got %d connections, at most %.0f are", r.Reflected.Attempts, limit)
	}
	return out
}

func (u Use) aMinute(n int64) float64 {
	if u.Took <= 0 {
		return 0
	}
	return float64(n) / u.Took.Minutes()
}

func mib(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
