package sim

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
)

// conduct is what a machine is like. The truth of a run.
type conduct string

const (
	steady    conduct = "steady"
	flaky     conduct = "flaky"     // away at times
	vanishing conduct = "vanishing" // leaves for good
	dropping  conduct = "dropping"  // stops serving its leases, and says so, while it is there
	shrunken  conduct = "shrunken"  // has fewer GPUs than it says, from some time on
	weak      conduct = "weak"      // its work proofs are wrong or late, from some time on
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
	leases  map[solana.PublicKey]leaseTruth // that it serves or has to
}

// leaseTruth is what the machine knows of a lease of its own.
type leaseTruth struct{ started time.Time }

const (
	gpusPerNode = 2
	modelID     = 1
	modelName   = "A100-SXM4-40GB"
	deviceName  = "NVIDIA A100-SXM4-40GB"
	vramMiB     = 40_960
	workOrder   = 32 // the smallest, so that thousands of proofs cost little
	workBound   = 2 * time.Second
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
func (m *machine) answer(from place, keeper solana.PublicKey, q messages.ChallengeRequest, now time.Time, timeout time.Duration) (r messages.ChallengeResponse, takes time.Duration, ok bool) {
	if !m.up() || m.ignores[from] && !now.Before(m.from) {
		return r, 0, false
	}
	r = messages.ChallengeResponse{Version: messages.Version, Nonce: q.Nonce}
	takes = time.Millisecond + m.rng.exponential(4*time.Millisecond)
	if m.is(sluggish, now) && q.Kind != messages.CheckWork {
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
	case messages.CheckWork:
		proof, err := m.prove(keeper, q, now)
		if err != nil {
			r.Refused = err.Error()
			break
		}
		r.Work = proof
		takes += m.rng.between(workBound/10, workBound/4)
		if m.is(weak, now) && m.rng.chance(0.5) {
			takes += workBound
		} else if m.is(weak, now) {
			r.Work.Product[len(r.Work.Product)-1] ^= 1
		}
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

// prove makes the product that a keeper asked for. With a lease the GPU is the customer's.
func (m *machine) prove(keeper solana.PublicKey, q messages.ChallengeRequest, now time.Time) (*messages.WorkProof, error) {
	if len(m.leases) > 0 {
		return nil, errors.New("a lease runs")
	}
	if q.Work == nil {
		return nil, errors.New("no work was asked for")
	}
	seed := work.DeriveSeed(q.Work.SlotHash, m.account, q.Period, q.Work.KeeperSignature)
	proof, err := work.CPU{Workers: 1}.Prove(context.Background(), seed, int(q.Work.Size))
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if _, err := proof.WriteTo(&body); err != nil {
		return nil, err
	}
	c := work.Claim{Domain: domain, Node: m.account, Period: q.Period, Seed: seed, N: q.Work.Size, Root: proof.Root}
	signed := c.Bytes()
	sig, err := m.key.Sign(signed[:])
	if err != nil {
		return nil, err
	}
	return &messages.WorkProof{
		Size: q.Work.Size, Root: proof.Root, Product: body.Bytes(), ElapsedMS: 200, Prover: "simulated", Signature: sig,
	}, nil
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
