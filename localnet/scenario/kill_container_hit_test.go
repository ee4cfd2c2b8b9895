//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// hit is one kill.
type hit struct {
	at     time.Time
	moment string
	what   string // was killed
	lease  string // whose moment it was; empty for none
	node   string
	away   time.Duration
}

func (h hit) String() string {
	return fmt.Sprintf("%s %s %s of lease %s on %s, away %s", h.at.Format("15:04:05.000"), h.moment, h.what, h.lease, h.node, h.away)
}

// target is a lease on a machine, whose moment has come.
type target struct{ lease, node string }

// What is killed. A machine is everything on it: agent, supervisors, sandboxes.
const (
	hitAgent      = "agent"
	hitSupervisor = "supervisor"
	hitSandbox    = "sandbox"
	hitPull       = "pull"
	hitMachine    = "machine"
	hitGateway    = "gateway"
	hitRegistry   = "registry"
	hitBucket     = "bucket"
	hitCommand    = "command"
)

var hitKinds = []string{hitAgent, hitSupervisor, hitSandbox, hitPull, hitMachine, hitGateway, hitRegistry, hitBucket, hitCommand}

// containerMoment is a moment in the life of a lease, and who may be killed then.
type containerMoment struct {
	name    string
	victims []string
	of      func(k *containerRun, l market.Lease, folder string) bool
	// rare moments are waited for a few times, while nothing else is killed; the machine is then away until its leases move.
	rare bool
}

const (
	// rareWait is how long a rare moment is waited for: a snapshot of the volume, for example, which is made once a minute.
	rareWait = 2 * time.Minute
	// rareWaits is how often.
	rareWaits = 5
)

var containerMoments = []containerMoment{
	{name: "pull", victims: []string{hitAgent, hitPull, hitMachine, hitRegistry, hitCommand, hitGateway}, of: func(_ *containerRun, l market.Lease, folder string) bool {
		return l.State() == market.LeaseAwarded && is(folder) && !is(folder, "container.json")
	}},
	{name: "start", victims: []string{hitAgent, hitSupervisor, hitSandbox, hitMachine, hitBucket, hitCommand}, of: func(k *containerRun, l market.Lease, folder string) bool {
		d, _ := k.of(l.Address.String())
		return is(folder, "container.json") && !is(folder, "exit.json") && d.began < 0
	}},
	{name: "run", victims: hitKinds, of: func(k *containerRun, l market.Lease, folder string) bool {
		d, _ := k.of(l.Address.String())
		return l.State() == market.LeaseRunning && d.began >= 0 && !is(folder, "exit.json")
	}},
	{name: "moved volume", victims: []string{hitMachine}, rare: true, of: func(k *containerRun, l market.Lease, folder string) bool { // it has something to go on from
		d, _ := k.of(l.Address.String())
		return l.State() == market.LeaseRunning && l.CheckpointHash != [32]byte{} && k.stays(d.purchase) && !d.over && !is(folder, "exit.json")
	}},
	{name: "snapshot", victims: []string{hitAgent, hitSupervisor, hitSandbox, hitMachine, hitBucket, hitCommand}}, // when the bucket is written to
	{name: "move", victims: []string{hitAgent, hitMachine, hitRegistry, hitBucket, hitCommand, hitGateway}, of: func(k *containerRun, l market.Lease, folder string) bool {
		d, _ := k.of(l.Address.String())
		return l.State() == market.LeaseFailed && l.CanMigrate() || l.Continues == 1 && l.State() <= market.LeaseRunning && d.began < 0
	}},
	{name: "end", victims: []string{hitAgent, hitSupervisor, hitMachine, hitBucket, hitCommand}, of: func(k *containerRun, l market.Lease, _ string) bool {
		d, _ := k.of(l.Address.String())
		return d.over
	}},
}

func is(parts ...string) bool {
	_, err := os.Stat(filepath.Join(parts...))
	return err == nil
}

// hitAll kills until as much was killed as wanted, now and then twice at once.
func (k *containerRun) hitAll(ctx context.Context, rng *rand.Rand) error {
	for done := 0; done < k.all; {
		if err := pause(ctx, time.Duration(500+rng.IntN(3500))*time.Millisecond); err != nil {
			return err
		}
		m := containerMoments[rng.IntN(len(containerMoments))]
		at, hit := k.awaitMoment(ctx, m, rng)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		moment, victims := m.name, m.victims
		if !hit { // it did not come
			moment, victims = anyMoment, hitKinds
			at = k.anyTarget(rng)
		}
		if err := pause(ctx, time.Duration(rng.IntN(400))*time.Millisecond); err != nil {
			return err
		}
		for range 1 + rng.IntN(4)/3 {
			if k.hit(victims[rng.IntN(len(victims))], moment, at, hit && m.rare, rng) {
				done++
			}
		}
	}
	k.lose(rng)
	return nil
}

// lose switches a machine off that never comes back, one with a lease if there is one.
func (k *containerRun) lose(rng *rand.Rand) {
	at := k.anyTarget(rng)
	if k.n.KillFor(at.node, forever) != nil {
		return
	}
	k.acts.Lock()
	defer k.acts.Unlock()
	k.lost = at.node
	k.hits = append(k.hits, hit{at: time.Now(), moment: anyMoment, what: hitMachine, lease: at.lease, node: at.node, away: forever})
}

// awaitMoment waits for a lease whose moment has come.
func (k *containerRun) awaitMoment(ctx context.Context, m containerMoment, rng *rand.Rand) (target, bool) {
	wait := momentWait / 2
	if m.rare && k.waited < rareWaits {
		wait = rareWait
		k.waited++
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if m.of == nil {
		select {
		case <-k.storing: // of the time before
		default:
		}
		select {
		case <-k.storing:
			return k.saving(rng), true
		case <-ctx.Done():
			return target{}, false
		}
	}
	for {
		var found []target
		for _, l := range k.view.Leases() {
			at := target{l.Address.String(), k.agentOf(l.Node)}
			if m.of(k, l, k.folder(at)) {
				found = append(found, at)
			}
		}
		if len(found) > 0 {
			return found[rng.IntN(len(found))], true
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return target{}, false
		}
	}
}

func (k *containerRun) folder(at target) string {
	return filepath.Join(k.n.DataDir(at.node), "jobs", at.lease)
}

// saving is a lease whose job is not over on the chain, rather one whose supervisor has not gone.
func (k *containerRun) saving(rng *rand.Rand) target {
	var found []target
	for _, l := range k.view.Leases() {
		at := target{l.Address.String(), k.agentOf(l.Node)}
		if is(k.folder(at), "run.json") && !is(k.folder(at), "exit.json") {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		return k.anyTarget(rng)
	}
	return found[rng.IntN(len(found))]
}

func (k *containerRun) anyTarget(rng *rand.Rand) target {
	leases := k.view.Leases()
	if len(leases) == 0 {
		return target{node: k.n.Nodes[rng.IntN(len(k.n.Nodes))].Name}
	}
	l := leases[rng.IntN(len(leases))]
	return target{l.Address.String(), k.agentOf(l.Node)}
}

// hit kills something, and reports whether there was something to kill. A machine that is long away loses its leases.
func (k *containerRun) hit(what, moment string, at target, long bool, rng *rand.Rand) bool {
	h := hit{at: time.Now(), moment: moment, what: what, lease: at.lease, node: at.node}
	var done bool
	switch what {
	case hitAgent:
		done = kill(k.agentPids(at.node), rng)
	case hitSupervisor, hitSandbox, hitPull:
		done = at.lease != "" && kill(k.pidsOf(at, what), rng)
	case hitMachine:
		if long {
			h.away = longestAway
		} else if rng.IntN(2) == 0 {
			h.away = time.Duration(rng.Int64N(int64(longestAway)))
		}
		done = k.n.KillFor(at.node, h.away) == nil
	case hitGateway:
		done = k.n.Kill("gateway") == nil
	case hitRegistry:
		h.away = time.Duration(rng.Int64N(int64(longestAway)))
		done = k.n.KillFor("registry", h.away) == nil
	case hitBucket:
		h.away = time.Duration(rng.Int64N(int64(longestAway)))
		k.toBucket.Cut()
		time.AfterFunc(h.away, func() { _ = k.toBucket.Restore() }) // closed at the end of the test
		done = true
	case hitCommand:
		k.mu.Lock()
		for _, name := range k.customersOf(at) {
			if c, ok := k.running[name]; ok && !done {
				done = c.kill()
			}
		}
		k.mu.Unlock()
	}
	if done {
		k.mu.Lock()
		if k.moments[moment] == nil {
			k.moments[moment] = map[string]int{}
		}
		k.moments[moment][what]++
		k.mu.Unlock()
		k.acts.Lock()
		k.hits = append(k.hits, h)
		k.acts.Unlock()
	}
	return done
}

// customersOf is a lease's customer; all where there is none.
func (k *containerRun) customersOf(at target) (names []string) {
	var own string
	for _, l := range k.view.Leases() {
		if l.Address.String() == at.lease {
			own = l.Customer.String()
		}
	}
	for _, c := range k.n.Keys.Customers[:diaryCustomers] {
		if own == "" || c.Address().String() == own {
			names = append(names, c.Name)
		}
	}
	return names
}

// kill ends one of some processes.
func kill(pids map[int]bool, rng *rand.Rand) bool {
	if len(pids) == 0 {
		return false
	}
	skip := rng.IntN(len(pids))
	for pid := range pids {
		if skip == 0 {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
		skip--
	}
	return false
}

func (k *containerRun) agentPids(node string) map[int]bool {
	dir := []byte("--data-dir\x00" + k.n.DataDir(node) + "\x00")
	found, _ := processes(func(_, cmdline []byte) bool {
		path, rest, _ := bytes.Cut(cmdline, []byte{0})
		return bytes.HasSuffix(path, []byte("gantry-agent")) && bytes.HasPrefix(rest, []byte("run\x00")) && bytes.Contains(cmdline, dir)
	})
	return found
}

// pidsOf are a lease's processes of a kind.
func (k *containerRun) pidsOf(at target, what string) map[int]bool {
	folder := k.folder(at)
	found, _ := processes(func(_, cmdline []byte) bool {
		if !bytes.Contains(cmdline, []byte(folder)) {
			return false
		}
		line := string(cmdline)
		switch {
		case strings.Contains(line, "internal-run\x00supervise\x00"):
			return what == hitSupervisor
		case strings.Contains(line, "internal-run\x00pull\x00"):
			return what == hitPull
		case strings.Contains(line, "runsc"):
			return what == hitSandbox
		}
		return false
	})
	return found
}

// tell shows the kills, for who explains a failure.
func (k *containerRun) tell(wanted bool) {
	if !wanted {
		return
	}
	k.acts.Lock()
	defer k.acts.Unlock()
	for i, h := range k.hits {
		k.t.Logf("kill %d: %s", i+1, h)
	}
}
