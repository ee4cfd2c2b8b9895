package lease

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

func TestAGroupComesWithTheJobOfAContainer(t *testing.T) {
	members := []messages.GroupMember{{Lease: testLease}, {Lease: [32]byte{7}, Node: [32]byte{8}}}
	req := deployRequest(testJob())
	req.Group = &messages.Group{Members: members}
	g, err := groupOf(req)
	require.NoError(t, err)
	require.Nil(t, g, "a process has no network of its own")

	req.Job.Image = "pytorch@sha256:" + strings.Repeat("0", 64)
	g, err = groupOf(req)
	require.NoError(t, err)
	require.Equal(t, req.Group, g)

	req.Group = &messages.Group{Index: 1, Members: members}
	var refused *RefusedError
	_, err = groupOf(req)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Why, "the group of machines is not valid")
}

func TestAMemberOfAGroupIsReplaced(t *testing.T) {
	m, chain, _, _ := newTestManager(t)
	chain.award(testJob(), false, time.Hour, true)
	entry := newEntry(chain.lease)
	job := store.Job{Command: []string{"true"}}
	entry.Job = &job
	entry.Group = &messages.Group{Members: []messages.GroupMember{{Lease: testLease}, {Lease: [32]byte{7}, Node: [32]byte{8}}}}
	r, err := m.o.Store.AddLease(entry)
	require.NoError(t, err)

	next := &messages.Group{Members: []messages.GroupMember{{Lease: testLease}, {Lease: [32]byte{9}, Node: [32]byte{10}}}}
	require.NoError(t, m.setGroup(r, next))
	r, err = m.o.Store.Lease(r.Address)
	require.NoError(t, err)
	require.Equal(t, next, r.Group)
	require.NoError(t, m.setGroup(r, nil), "a request without a group leaves it")

	var refused *RefusedError
	require.ErrorAs(t, m.setGroup(r, &messages.Group{Members: next.Members[:1]}), &refused)
	grown := &messages.Group{Members: append(slices.Clone(next.Members), messages.GroupMember{Lease: [32]byte{11}, Node: [32]byte{12}})}
	require.NoError(t, m.setGroup(r, grown), "a machine is added")
	require.NoError(t, m.setGroup(r, grown))
	r, err = m.o.Store.Lease(r.Address)
	require.NoError(t, err)
	require.ErrorAs(t, m.setGroup(r, next), &refused, "it loses no place")
	next = grown
	require.ErrorAs(t, m.setGroup(r, &messages.Group{Index: 1, Members: []messages.GroupMember{next.Members[1], next.Members[0]}}), &refused)
	r, err = m.o.Store.Lease(r.Address)
	require.NoError(t, err)
	require.Equal(t, next, r.Group)

	members, err := m.Members()
	require.NoError(t, err)
	require.Equal(t, []Member{{Lease: testLease, Group: *next, Stage: Prepares}}, members)
	for i, s := range []store.State{store.Starting, store.Running} {
		_, err = m.o.Store.Advance(r.Address, s, nil)
		require.NoError(t, err)
		members, err = m.Members()
		require.NoError(t, err)
		require.Equal(t, []Member{{Lease: testLease, Group: *next, Stage: []Stage{Starts, Runs}[i]}}, members)
	}
	_, err = m.o.Store.Update(r.Address, func(l *store.Lease) error { l.Refused = "the sandbox is gone"; return nil })
	require.NoError(t, err)
	members, err = m.Members()
	require.NoError(t, err)
	require.Len(t, members, 1, "a lease that runs keeps its network")
	require.Equal(t, market.LeaseAwarded, chain.lease.State())
}
