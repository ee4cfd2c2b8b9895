package consensus

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/records"
)

// Two of seven keepers are faulty, in several ways; the report becomes final and says what the honest keepers saw.
func TestTwoOfSevenAreFaulty(t *testing.T) {
	for name, corrupt := range map[string]func(c *cluster, faulty []*participant){
		"partitioned": func(c *cluster, faulty []*participant) {
			for _, p := range faulty {
				p.partitioned = true
			}
		},
		"without gossip": func(c *cluster, faulty []*participant) {
			for _, p := range faulty {
				p.withoutGossip = true
			}
		},
		"withholding what they signed": func(c *cluster, faulty []*participant) {
			for _, p := range faulty {
				p.withholding = true
			}
		},
		"one partitioned, one withholding": func(c *cluster, faulty []*participant) {
			faulty[0].partitioned = true
			faulty[1].withholding = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 7)
			// The first two proposers are the faulty ones.
			faulty := []*participant{c.proposer(0), c.proposer(1)}
			for _, p := range c.participants {
				if p == faulty[0] || p == faulty[1] {
					p.observe(100, 1) // not what the others saw
				} else {
					p.observe(100, 4)
				}
			}
			corrupt(c, faulty)
			stop := c.start()
			defer stop()
			root := c.awaitFinal()
			require.Eventually(t, func() bool { return c.allHold(root, faulty...) }, 90*time.Second, 5*time.Millisecond)
			for _, p := range c.participants {
				if p != faulty[0] && p != faulty[1] {
					require.EqualValues(t, 4, p.engine.Set(c.period, root).Leaves[0].UpSeconds)
				}
			}
			// A keeper that voted for a root that no other could check moves to that of the others, if there is time.
			c.mu.Lock()
			for _, p := range faulty {
				delete(c.votes, p.wallet())
			}
			c.mu.Unlock()
			c.requireOneVoteEach()
		})
	}
}

// A proposer whose leaves do not follow from the statements gets no honest vote; the next one's report becomes final.
func TestProposerWithWrongLeavesIsPassedOver(t *testing.T) {
	c := newCluster(t, 4)
	for _, p := range c.participants {
		p.observe(100, 4)
	}
	dishonest := c.proposer(0)
	dishonest.set(&dishonest.partitioned, true) // it does not do what an engine would
	stop := c.start()
	defer stop()
	m := c.proposalOf(dishonest)
	m.Root[0] ^= 1
	m, err := report.Resign(m, domain, 0, dishonest.key)
	require.NoError(t, err)
	for _, p := range c.participants {
		if p != dishonest {
			p.engine.HandleProposal(t.Context(), m)
		}
	}
	root := c.awaitFinal()
	require.NotEqual(t, records.Hash(m.Root), root)
	c.requireOneVoteEach()
}

// A proposer that sends one half of the others one proposal and the other half another, and then is silent, does not
// divide them: no root is opened before the next proposer opens one.
func TestEquivocatingProposerDoesNotDivideTheOthers(t *testing.T) {
	c := newCluster(t, 4)
	for i, p := range c.participants {
		p.observe(100, uint32(i+1))
	}
	dishonest := c.proposer(0)
	dishonest.partitioned = true
	stop := c.start()
	defer stop()
	one, other := c.proposalOf(dishonest), c.proposalOf(dishonest, dishonest)
	require.NotEqual(t, one.Root, other.Root)
	for i, p := range c.participants {
		switch {
		case p == dishonest:
		case i%2 == 0:
			p.engine.HandleProposal(t.Context(), one)
		default:
			p.engine.HandleProposal(t.Context(), other)
		}
	}
	root := c.awaitFinal()
	require.Eventually(t, func() bool { return c.allHold(root, dishonest) }, 90*time.Second, 5*time.Millisecond)
	c.requireOneVoteEach()
}

// A keeper that signs another manifest for every peer is not counted: honest proposers leave it out.
func TestEquivocatingKeeperIsLeftOut(t *testing.T) {
	c := newCluster(t, 4)
	for _, p := range c.participants {
		p.observe(100, 4)
	}
	equivocating := c.proposer(3)
	equivocating.partitioned = true
	var mu sync.Mutex
	caught := map[*participant]bool{} // the participants that hold both manifests
	for _, p := range c.participants {
		p.engine.o.Equivocation = func(one, other statement.Manifest) {
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, equivocating.wallet(), one.Keeper)
			require.True(t, one.Contradicts(other))
			require.NoError(t, errors.Join(one.Verify(domain, records.Wallets), other.Verify(domain, records.Wallets)))
			caught[p] = true
		}
	}
	stop := c.start()
	defer stop()
	f := statement.Frame{Domain: domain, Period: c.period, Secs: secs}
	for i, p := range c.participants {
		if p == equivocating {
			continue
		}
		raw, n := statement.EncodeSet(f, []records.CheckStatement{{
			Domain: domain, Node: solana.PublicKey{100}, Period: c.period, Kind: records.CheckLiveness,
			CoveredSeconds: uint32(i), CheckedAt: int64(c.period) * secs,
		}})
		m, err := statement.NewManifest(f, raw, n, equivocating.key)
		require.NoError(t, err)
		p.engine.cache.putSet(m, raw, c.now()) // it hands out each set to one keeper
		p.engine.HandleManifest(t.Context(), m.Message())
	}
	root := c.awaitFinal()
	require.Eventually(t, func() bool { return c.allHold(root, equivocating) }, 90*time.Second, 5*time.Millisecond)
	for _, p := range c.participants {
		if p != equivocating {
			require.EqualValues(t, 4, p.engine.Set(c.period, root).Leaves[0].UpSeconds)
		}
	}
	c.requireOneVoteEach()
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, caught, "a proposer asks all keepers")
	require.False(t, caught[equivocating])
}

// A proposer that leaves out an honest keeper, whose statements all others hold, gets no vote but its own.
func TestProposerThatLeavesOutAnHonestKeeper(t *testing.T) {
	c := newCluster(t, 7)
	for _, p := range c.participants {
		p.observe(100, 4)
	}
	dishonest, victim := c.proposer(0), c.proposer(6)
	dishonest.partitioned = true
	stop := c.start()
	defer stop()
	for _, p := range c.participants { // until all hold the victim's statements, and for long enough
		if p != dishonest {
			require.Eventually(t, func() bool {
				return p == victim || len(p.engine.cache.usableSince(c.period, c.now().Add(-p.engine.o.Timing.grace()))) >= 6
			}, 90*time.Second, time.Millisecond)
		}
	}
	m := c.proposalOf(dishonest, victim)
	for _, p := range c.participants {
		if p != dishonest {
			p.engine.HandleProposal(t.Context(), m)
		}
	}
	root := c.awaitFinal()
	var named bool
	for _, p := range c.participants {
		if kept, err := p.engine.storedProposal(c.period, root); err == nil {
			for _, x := range kept.Manifests {
				named = named || solana.PublicKey(x.Keeper) == victim.wallet()
			}
		}
	}
	require.True(t, named)
	c.requireOneVoteEach()
}

// A proposer that sends fifty proposals for its round has one of them checked.
func TestOneProposalOfARoundIsChecked(t *testing.T) {
	c := newCluster(t, 4)
	for _, p := range c.participants {
		p.observe(100, 4)
	}
	dishonest := c.proposer(0)
	dishonest.partitioned = true
	stop := c.start()
	defer stop()
	for _, p := range c.participants {
		if p != dishonest {
			require.Eventually(t, func() bool { return len(p.engine.cache.usable(c.period)) >= 3 }, 90*time.Second, time.Millisecond)
		}
	}
	m := c.proposalOf(dishonest, dishonest)
	for i := range 50 {
		m.Root[0], m.Root[1] = 0xff, byte(i)
		signed, err := report.Resign(m, domain, 0, dishonest.key)
		require.NoError(t, err)
		for _, p := range c.participants {
			if p != dishonest {
				p.engine.HandleProposal(t.Context(), signed)
			}
		}
	}
	c.awaitFinal()
	for _, p := range c.participants {
		require.LessOrEqual(t, p.refused.Load(), int32(1))
	}
	c.requireOneVoteEach()
}
