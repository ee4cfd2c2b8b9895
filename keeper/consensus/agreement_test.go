package consensus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

func TestAgreement(t *testing.T) {
	c := newCluster(t, 3)
	for i, p := range c.participants {
		p.observe(100, uint32(i+1))
	}
	stop := c.start()
	defer stop()
	root := c.awaitFinal()
	require.Eventually(t, func() bool { return c.allHold(root) }, 90*time.Second, 5*time.Millisecond)
	require.EqualValues(t, 2, c.participants[0].engine.Set(c.period, root).Leaves[0].UpSeconds, "the median of 1, 2 and 3")
	c.requireOneVoteEach()
}

func TestNextKeeperProposes(t *testing.T) {
	c := newCluster(t, 4)
	for _, p := range c.participants {
		p.observe(100, 4)
	}
	dead := c.proposer(0)
	dead.partitioned = true
	stop := c.start()
	defer stop()
	root := c.awaitFinal()
	require.Eventually(t, func() bool { return c.allHold(root, dead) }, 90*time.Second, 5*time.Millisecond)

	// Back again, it fetches what it missed. Its own statement is not in it, so it does not vote for it.
	dead.set(&dead.partitioned, false)
	require.Eventually(t, func() bool { return c.allHold(root) }, 90*time.Second, 5*time.Millisecond)
	_, err := dead.store.Voted(c.period)
	require.ErrorIs(t, err, store.ErrNotFound)
	c.requireOneVoteEach()
}

func TestGossipIsNotNeeded(t *testing.T) {
	c := newCluster(t, 3)
	for _, p := range c.participants {
		p.observe(100, 4)
		if p != c.proposer(0) {
			p.withoutGossip = true
		}
	}
	stop := c.start()
	defer stop()
	root := c.awaitFinal()
	require.Eventually(t, func() bool { return c.allHold(root) }, 90*time.Second, 5*time.Millisecond)
	c.requireOneVoteEach()
}

func TestNothingToReport(t *testing.T) {
	c := newCluster(t, 3)
	stop := c.start()
	time.Sleep(500 * time.Millisecond)
	stop()
	_, ok := c.final()
	require.False(t, ok)
	require.Empty(t, c.votes)
}

// Who has left or was expelled since a period ended counts in its report all the same, so that those who look at a
// proposal later come to what its first voters came to.
func TestAnExpelledKeeperDoesNotChangeAReport(t *testing.T) {
	c := newCluster(t, 7)
	for i, p := range c.participants {
		p.observe(100, uint32(i%4+1))
	}
	expelled, early := c.participants[0], c.participants[1:5]
	m := c.proposalOf(early[0])
	for _, p := range early {
		p.vote(m)
	}
	var k market.Keeper
	c.view.Read(func(v *view.Accounts) { k = *v.Keepers[expelled.wallet()] })
	k.FormerWeight, k.Weight, k.WeightSince, k.Keeper.Status = k.Weight, 0, int64(c.period+1)*secs+1, uint8(market.KeeperSlashed)
	c.view.Put(k.Address, &k)
	stop := c.start()
	defer stop()
	require.Equal(t, records.Hash(m.Root), c.awaitFinal())
	c.requireOneVoteEach()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Empty(t, c.votes[expelled.wallet()])
}
