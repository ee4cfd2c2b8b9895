package sim

import (
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
)

// conduct is what a machine is like. The truth of a run.
type conduct string

const (
	steady    conduct = "steady"
	flaky     conduct = "flaky"     // away at times
	vanishing conduct = "vanishing" // leaves for good
	dropping  conduct = "dropping"  // stops serving its leases, and says so, while it is there
	shrunken  conduct = "shrunken"  // has fewer GPUs than it says, from some time on
	weak      conduct = "weak"      // its GPUs are slower than their class, from some time on
	selective conduct = "selective" // does not answer some keepers, as many as may be faulty
	sluggish  conduct = "sluggish"  // answers late, within the timeout
)

// conducts with how many of a hundred machines are like that; the rest is steady.
var conducts = []struct {
	conduct conduct
	percent int
}{{flaky, 10}, {vanishing, 3}, {dropping, 3}, {shrunken, 3}, {weak, 3}, {selective, 4}, {sluggish, 4}}

// span is from one moment to another; an open one has no end.
type span struct{ from, to time.Time }

// machine is one node with its agent.
type machine struct {
	place   place
	key     solana.PrivateKey
	account solana.PublicKey
	conduct conduct
	from    time.Time // when it begins to be like that
	away    []span    // when it was not there, in order
	ignores map[place]bool
	devices [][32]byte
	rng     rng
	// endpoint is where it reads the chain.
	endpoint *endpoint
	leases   map[solana.PublicKey]leaseTruth // that it serves or has to
}

// leaseTruth is what the machine knows of a lease of its own.
type leaseTruth struct{ started time.Time }

const (
	gpusPerNode = 2
	modelID     = 1
	modelName   = "A100-SXM4-40GB"
	deviceName  = "NVIDIA A100-SXM4-40GB"
	vramMiB     = 40_960
	// What a GPU of the class reaches, 10⁹ operations and 10⁶ bytes a second.
	minOperations, minBandwidth = 400_000, 1_000_000
)

func (m *machine) spec() market.NodeSpec {
	return market.NodeSpec{Model: modelID, Gpus: gpusPerNode, VramMib: vramMiB, CpuCores: 32, RamMib: 131_072, Region: market.Text16("na")}
}

// up reports whether the machine is there.
func (m *machine) up() bool { return len(m.away) == 0 || !m.away[len(m.away)-1].to.IsZero() }

func (m *machine) leave(now time.Time) {
	if m.up() {
		m.away = append(m.away, span{from: now})
	}
}

func (m *machine) comeBack(now time.Time) {
	if !m.up() {
		m.away[len(m.away)-1].to = now
	}
}

// is reports whether the machine behaves like that by now.
func (m *machine) is(c conduct, now time.Time) bool { return m.conduct == c && !now.Before(m.from) }

// answer is what the agent says, and how long it takes to; ok is false when it says nothing.
func (m *machine) answer(from place, q messages.ChallengeRequest, now time.Time, timeout time.Duration) (r messages.ChallengeResponse, takes time.Duration, ok bool) {
	if !m.up() || m.ignores[from] && !now.Before(m.from) {
		return r, 0, false
	}
	r = messages.ChallengeResponse{Version: messages.Version, Nonce: q.Nonce}
	takes = time.Millisecond + m.rng.exponential(4*time.Millisecond)
	if m.is(sluggish, now) {
		takes += m.rng.between(timeout/4, timeout*3/5)
	}
	switch q.Kind {
	case messages.CheckLiveness:
		r.Liveness = &messages.Liveness{UnixTime: now.Unix()}
		if !m.is(dropping, now) {
			for _, lease := range sortedKeys(m.leases) {
				r.Liveness.Leases = append(r.Liveness.Leases, messages.LeaseStatus{
					Lease: lease, State: messages.LeaseRunning, StartedAt: m.leases[lease].started.Unix(),
				})
			}
		}
	case messages.CheckInventory:
		r.Inventory = m.inventory(now)
	default:
		r.Refused = "this machine answers no such question"
	}
	return r, takes, true
}

func (m *machine) inventory(now time.Time) *messages.Inventory {
	inv := &messages.Inventory{CPUCores: 32, RAMMiB: 131_072, DiskGiB: 2_000, Device: market.DeviceRoot(m.devices)}
	for i, id := range m.devices {
		if i > 0 && m.is(shrunken, now) {
			continue
		}
		inv.GPUs = append(inv.GPUs, messages.GPU{Name: deviceName, Identity: id, VRAMMiB: vramMiB, TempC: 50, PowerW: 250, Driver: "550.90"})
	}
	return inv
}

// measured is what becomes of a measurement, and how long it takes; ok is false when the machine says nothing. With a lease
// the GPU is the customer's.
func (m *machine) measured(from place, named instant.Instant, now time.Time, period time.Duration) (r measure.Result, takes time.Duration, ok bool) {
	sees, no := m.joins(named, uint32(period/time.Second))
	switch {
	case !m.up() || m.ignores[from] && !now.Before(m.from):
		return r, 0, false
	case len(m.leases) > 0:
		return refusal(messages.MeasureLease), time.Millisecond, true
	case no != 0:
		return refusal(no), max(sees, time.Millisecond), true
	}
	speed := float64(1+m.rng.IntN(10))/100 + 1 // of what the class is to reach
	if m.is(weak, now) {
		speed /= 3
	}
	return measure.Result{
		Outcome: measure.Measured, Figures: format.Figures{Operations: minOperations * 1e9 * speed, Bandwidth: minBandwidth * 1e6 * speed},
	}, max(sees, m.rng.between(period/50, period/20)), true
}

// serves is how many seconds of a window the machine really gave a lease, and how often in it it came or went.
func (m *machine) serves(from, to time.Time) (served time.Duration, changes int) {
	if m.conduct == dropping && m.from.Before(to) {
		if m.from.After(from) {
			changes++
		}
		to = m.from
	}
	if !to.After(from) {
		return 0, changes
	}
	served = to.Sub(from)
	for _, s := range m.away {
		end := s.to
		if end.IsZero() || end.After(to) {
			end = to
		}
		begin := s.from
		if begin.Before(from) {
			begin = from
		}
		if end.After(begin) {
			served -= end.Sub(begin)
			changes += boolInt(s.from.After(from)) + boolInt(!s.to.IsZero() && s.to.Before(to))
		}
	}
	return served, changes
}
