package lease

import (
	"context"
	"reflect"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Member is a lease that runs here and is a member of a group.
type Member struct {
	Lease solana.PublicKey
	Group messages.Group
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

// Members are the leases whose containers run and have a private network.
func (m *Manager) Members() ([]Member, error) {
	running, err := m.o.Store.Leases(store.Running)
	if err != nil {
		return nil, err
	}
	var out []Member
	for _, l := range running {
		if l.Group != nil {
			out = append(out, Member{Lease: solana.PublicKey(l.Address), Group: *l.Group})
		}
	}
	return out, nil
}

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
