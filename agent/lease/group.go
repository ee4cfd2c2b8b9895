package lease

import (
	"context"
	"reflect"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Stage is how far a member of a group is.
type Stage int

// The stages.
const (
	// Prepares: what the job needs is being fetched.
	Prepares Stage = iota
	// Starts: the lease could start, and waits for those that start together with it.
	Starts
	// Runs: the container runs.
	Runs
)

// Member is a lease on this machine that is a member of a group.
type Member struct {
	Lease solana.PublicKey
	Group messages.Group
	Stage Stage
}

// groupOf is the group that comes with a job. A job without an image has none. Error: *RefusedError.
func groupOf(req messages.DeployRequest) (*messages.Group, error) {
	if req.Group == nil || req.Job.Image == "" {
		return nil, nil
	}
	if !req.Group.Valid(req.Lease) {
		return nil, refuse("the group of machines is not valid: it must name this lease once, at its index, and at most %d leases", messages.MaxGroup)
	}
	return req.Group, nil
}

// setGroup stores which leases a group has now. A container keeps its place, and its group loses no place: programs in it know both
// from their start. Machines may be added behind.
func (m *Manager) setGroup(r store.Lease, g *messages.Group) error {
	if r.Group == nil || g == nil || reflect.DeepEqual(r.Group, g) {
		return nil
	}
	if g.Index != r.Group.Index || len(g.Members) < len(r.Group.Members) {
		return refuse("the lease is member %d of a group of %d, which loses no place", r.Group.Index, len(r.Group.Members))
	}
	_, err := m.o.Store.Update(r.Address, func(l *store.Lease) error {
		l.Group = g
		return nil
	})
	return err
}

// stages are those of leases by what is stored of them.
var stages = map[store.State]Stage{store.Awarded: Prepares, store.Starting: Starts, store.Running: Runs}

// Members are the leases that have a private network, or will have one when they start.
func (m *Manager) Members() ([]Member, error) {
	leases, err := m.o.Store.Leases(store.Awarded, store.Starting, store.Running)
	if err != nil {
		return nil, err
	}
	var out []Member
	for _, l := range leases {
		if l.Group != nil && (l.Refused == "" || l.State == store.Running) { // what is refused while it runs changes nothing
			out = append(out, Member{Lease: solana.PublicKey(l.Address), Group: *l.Group, Stage: stages[l.State]})
		}
	}
	return out, nil
}

// Meeting is what a machine knows, before a lease starts, of those that start together with it.
type Meeting struct {
	// Waits is whom it waits for, for people; empty where all could start and have a direct connection with this machine.
	Waits string
	// Apart is for how long so many of them have answered without a direct connection that this machine leaves; zero for not.
	// Why says so for people.
	Apart time.Duration
	Why   string
}

// decideMeeting has a lease wait for those that start together with it: at most half of the start deadline, and no longer than
// was ordered. A machine without a direct connection to most of them leaves: the private network would not reach it. done is false where
// the lease may start.
func decideMeeting(f Facts, half time.Time) (d Decision, done bool) {
	left := min(half.Sub(f.Now), f.Order.AwardedAt.Add(f.Order.Duration).Sub(f.Now))
	switch m := f.Meeting; {
	case m.Apart > 0 && m.Apart >= f.Order.StartDeadline/4:
		return Decision{Action: SubmitDecline, Decline: market.DeclinedApart, Why: m.Why}, true
	case m.Waits != "" && left > 0:
		return Decision{Action: Wait, Until: f.Now.Add(min(left, meetEvery)), Why: m.Waits}, true
	}
	return Decision{}, false
}

// meetEvery is how often a lease looks whether the others are there.
const meetEvery = 250 * time.Millisecond

// Visits refuses everybody but the customer of a lease and its session keys. Error: *RefusedError.
func (m *Manager) Visits(ctx context.Context, from, lease solana.PublicKey) error {
	return m.authorise(ctx, from, lease)
}

// Network returns nothing where a caller may enter the private network of a lease whose container runs. Error: *RefusedError.
func (m *Manager) Network(ctx context.Context, from solana.PublicKey, lease [32]byte) error {
	r, err := m.reachable(ctx, from, lease, false)
	if err == nil && r.Group == nil {
		return refuse("the lease has no private network: only orders of containers over several machines do")
	}
	return err
}
