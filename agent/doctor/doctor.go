// Package doctor says what a provider's machine lacks to serve on the market, why it matters, and what to type. It changes nothing
// that outlasts it: the checks of namespaces and volumes make one in memory and drop it.
package doctor

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Result of a check.
type Result string

// Results. An error keeps the machine from serving, or from being paid; a warning costs it speed, orders or safety.
const (
	OK            Result = "ok"
	Warning       Result = "warning"
	Error         Result = "error"
	NotApplicable Result = "not-applicable"
)

// Finding is what a check found out.
type Finding struct {
	// ID names the check; it never changes.
	ID     string `json:"id"`
	Result Result `json:"result"`
	// Cause is what was seen, in one sentence.
	Cause string `json:"cause"`
	// Fix is the command for Debian and Ubuntu that mends it; empty unless Result is Warning or Error.
	Fix string `json:"fix,omitempty"`
	// Automatic says that setup may run Fix by itself: it installs packages of the sources that the system has, or loads modules of the
	// kernel, and asks for no restart.
	Automatic bool `json:"automatic,omitempty"`
}

// Check looks at one thing. It must be safe beside all others.
type Check struct {
	ID string
	Do func(context.Context, *Machine) Finding
}

// Limit is how long one check may take.
const Limit = 5 * time.Second

// Checks are all checks, in the order in which a person mends what they find.
func Checks() []Check {
	return []Check{
		{"gpu-driver", checkDriver},
		{"gpu-driver-sandbox", checkDriverSandbox},
		{"gpu-cublaslt", checkBLAS},
		{"nvidia-ctk", checkToolkit},
		{"runsc", checkRunsc},
		{"gpu-missing", checkMissing},
		{"gpu-model", checkModel},
		{"gpu-mig", checkMIG},
		{"gpu-fabric", checkFabric},
		{"gpu-recovery", checkRecovery},
		{"gpu-power-limit", checkPower},
		{"gpu-persistence", checkPersistence},
		{"gpu-memory", checkMemoryErrors},
		{"gpu-processes", checkProcesses},
		{"privileges", checkPrivileges},
		{"cgroups", checkCgroups},
		{"network", checkNetwork},
		{"volumes", checkVolumes},
		{"guest", checkGuest},
		{"disk", checkDisk},
		{"memory", checkMemory},
		{"clock-sync", checkClockSync},
		{"rpc", checkRPC},
		{"clock-chain", checkClockChain},
		{"data-folder", checkDataFolder},
		{"node-key", checkNodeKey},
		{"listen", checkListen},
		{"hours", checkHours},
		{"service", checkService},
	}
}

// Run runs checks side by side and returns their findings in the checks' order. One that takes longer than limit, or panics, is an
// error of its own. The driver's calls cannot be interrupted: a check that hangs in one is left behind, and ends with the process.
func Run(ctx context.Context, m *Machine, checks []Check, limit time.Duration) []Finding {
	out := make([]Finding, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { out[i] = c.run(ctx, m, limit) })
	}
	wg.Wait()
	return out
}

func (c Check) run(ctx context.Context, m *Machine, limit time.Duration) Finding {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan Finding, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- bad("run it again and report this", "the check itself failed: %v", r)
			}
		}()
		done <- c.Do(ctx, m)
	}()
	var f Finding
	select {
	case f = <-done:
	case <-ctx.Done():
		select {
		case f = <-done: // it ended because of the deadline, and says where
		case <-time.After(limit / 10):
			f = bad("sudo dmesg --level=err | tail", "no answer within %v", limit)
		}
	}
	f.ID = c.ID
	return f
}

// Count returns the numbers of errors and warnings.
func Count(all []Finding) (errs, warnings int) {
	for _, f := range all {
		switch f.Result {
		case Error:
			errs++
		case Warning:
			warnings++
		}
	}
	return errs, warnings
}

func good(format string, args ...any) Finding {
	return Finding{Result: OK, Cause: fmt.Sprintf(format, args...)}
}

func none(format string, args ...any) Finding {
	return Finding{Result: NotApplicable, Cause: fmt.Sprintf(format, args...)}
}

func poor(fix, format string, args ...any) Finding {
	return Finding{Result: Warning, Cause: fmt.Sprintf(format, args...), Fix: fix}
}

// automatic marks a finding whose fix setup may run.
func automatic(f Finding) Finding {
	f.Automatic = true
	return f
}

func bad(fix, format string, args ...any) Finding {
	return Finding{Result: Error, Cause: fmt.Sprintf(format, args...), Fix: fix}
}
