package consensus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// A proposer that leaves out the statements of two honest keepers, and a keeper that has voted for a root that no other
// keeper knows: the two vote for the proposer's root all the same once it must have honest votes, or for that of the
// next proposer.
func TestLeftOutKeepersDoNotUndoAPeriod(t *testing.T) {
	c := newCluster(t, 7)
	for i, p := range c.participants {
		p.observe(100, uint32(i%4+1))
	}
	dishonest := c.proposer(0)
	var others []*participant
	for _, p := range c.participants {
		if p != dishonest {
			others = append(others, p)
		}
	}
	leftOut, lost := others[:2], others[2]
	m := c.proposalOf(dishonest, leftOut...)
	raw, err := p2p.Encode(m)
	require.NoError(t, err)
	require.NoError(t, dishonest.store.Vote(c.period, m.Root, raw))
	require.NoError(t, lost.store.Vote(c.period, records.Hash{1}, raw))
	stop := c.start()
	defer stop()
	require.NotEqual(t, records.Hash{1}, c.awaitFinal())
}

// Three of seven have voted for a root that the others do not know yet; a fourth has opened another, which the others
// know. No keeper follows it: all wait for what a third of the weight has voted for.
func TestWhatAThirdVotedForIsAwaited(t *testing.T) {
	c := newCluster(t, 7)
	for i, p := range c.participants {
		p.observe(100, uint32(i%4+1))
	}
	first := c.participants[:3]
	fourth, others := c.participants[3], c.participants[4:]
	theirs, known := c.proposalOf(first[0], fourth), c.proposalOf(fourth)
	require.NotEqual(t, theirs.Root, known.Root)
	for _, p := range first {
		p.hidingProposals = true
	}
	stop := c.start()
	defer stop()
	for _, p := range first {
		p.vote(theirs)
	}
	for _, p := range others {
		p.engine.HandleProposal(t.Context(), known)
	}
	fourth.vote(known)
	time.Sleep(2 * others[0].engine.o.Timing.Round)
	for _, p := range first {
		p.set(&p.hidingProposals, false)
	}
	require.Equal(t, records.Hash(theirs.Root), c.awaitFinal())
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range others {
		require.NotContains(t, c.votes[p.wallet()], records.Hash(known.Root))
	}
}

// A network that was cut in two while they voted has left four of seven at one root and three at another. Neither is
// two thirds; when it has healed, the three come over, though the root of the four leaves one of them out.
func TestVotesComeTogether(t *testing.T) {
	c := newCluster(t, 7)
	for i, p := range c.participants {
		p.observe(100, uint32(i%4+1))
	}
	four, three := c.participants[:4], c.participants[4:]
	heavy, light := c.proposalOf(four[0], three[0]), c.proposalOf(three[0])
	require.NotEqual(t, heavy.Root, light.Root)
	for _, p := range four {
		p.vote(heavy)
	}
	for _, p := range three {
		p.vote(light)
	}
	stop := c.start()
	defer stop()
	require.Equal(t, records.Hash(heavy.Root), c.awaitFinal())
}

// Equal roots do not keep each other waiting, and two dishonest keepers that move to where they do most harm cannot
// keep the five others apart: each move makes the heaviest heavier.
func TestDishonestKeepersCannotKeepVotesApart(t *testing.T) {
	c := newCluster(t, 7)
	for i, p := range c.participants {
		p.observe(100, uint32(i%4+1))
	}
	one, other, dishonest := c.participants[:3], c.participants[3:5], c.participants[5:]
	a, b := c.proposalOf(one[0]), c.proposalOf(other[0], one[0])
	for _, p := range one {
		p.vote(a)
	}
	for _, p := range other {
		p.vote(b)
	}
	for _, p := range dishonest {
		p.partitioned = true // their engines do nothing
	}
	voteForTheLightest := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range dishonest {
			lightest := a.Root
			if i, j := c.chain.Find(a.Root), c.chain.Find(b.Root); c.chain.Candidates[j].Weight < c.chain.Candidates[i].Weight {
				lightest = b.Root
			}
			// The program refuses what would make the votes more even.
			_ = c.count(p.wallet(), uint64(c.period), lightest)
		}
		r := c.chain
		c.view.Put(market.ReportAddress(uint64(c.period)), &r)
	}
	stop := c.start()
	defer stop()
	require.Eventually(t, func() bool { voteForTheLightest(); _, ok := c.final(); return ok }, 90*time.Second, 5*time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	honest := 0
	for _, p := range c.participants[:5] {
		if c.votes[p.wallet()][c.chain.Root] {
			honest++
		}
	}
	require.GreaterOrEqual(t, honest, 3, "of five votes two at most are dishonest")
}

// A keeper whose store remembers a vote sends that one and no other, whatever is proposed now.
func TestRestartedKeeperKeepsItsVote(t *testing.T) {
	c := newCluster(t, 4)
	for i, p := range c.participants {
		p.observe(100, uint32(i%4+1))
	}
	restarted := c.participants[0]
	m := c.proposalOf(restarted, c.participants[3]) // another root than the others will find
	require.NotEqual(t, c.proposalOf(restarted).Root, m.Root)
	raw, err := p2p.Encode(m)
	require.NoError(t, err)
	require.NoError(t, restarted.store.Vote(c.period, m.Root, raw))
	restarted.hidingProposals = true // or the others could agree to its proposal, which is a sound one
	stop := c.start()
	defer stop()
	root := c.awaitFinal()
	require.NotEqual(t, records.Hash(m.Root), root)
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.votes[restarted.wallet()][m.Root]
	}, 90*time.Second, 5*time.Millisecond)
	c.requireOneVoteEach()
}
