package consensus

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	testTiming = Timing{Delay: 10 * time.Second, Round: 20 * time.Second}
	testEnd    = time.Unix(6000, 0)
	rootA      = records.Hash{0xa}
	rootB      = records.Hash{0xb}
	rootC      = records.Hash{0xc}
)

// inRound is a moment in the middle of a round of the period; -1 is the time before the first.
func inRound(n int) time.Time {
	return testEnd.Add(testTiming.Delay + time.Duration(n)*testTiming.Round + testTiming.Round/2)
}

// sevenKeepers returns the facts of the keeper that proposes in some round of a period with seven keepers, none of
// which has voted.
func sevenKeepers(proposesIn uint32) facts {
	c := chainFacts{period: 99, secs: 60, end: testEnd.Unix(), weights: report.Weights{}, active: true}
	for i := range byte(7) {
		c.weights[solana.PublicKey{i + 1}] = 100
	}
	self, _ := report.Proposer(c.period, proposesIn, c.weights)
	return facts{now: inRound(0), timing: testTiming, self: self, chain: c, proposed: -1}
}

// finalFor makes the report final for a root.
func (f facts) finalFor(root records.Hash) facts {
	r := &market.Report{}
	r.Report.Status, r.Root, r.FinalisedAt = uint8(market.ReportFinal), root, f.now.Unix()
	f.chain.report = r
	return f
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		proposesIn uint32 // the round in which this keeper does
		given      func(f facts) facts
		want       decision
	}{
		"a keeper without weight does nothing before the report is final": {0, func(f facts) facts {
			delete(f.chain.weights, f.self)
			f.missing, f.manifestDue = true, true
			return f
		}, decision{phase: phaseObserving}},
		"its own manifest comes first": {0, func(f facts) facts {
			f.manifestDue, f.missing = true, true
			return f
		}, decision{phase: phaseObserving, actions: []action{announceManifest}, again: true}},
		"a keeper that has left fetches sets, so that others can have them": {0, func(f facts) facts {
			f.chain.active, f.missing, f.waiting = false, true, true
			return f
		}, decision{phase: phaseObserving, actions: []action{fetchSets}}},
		"sets are fetched before the first round": {3, func(f facts) facts {
			f.now, f.missing = inRound(-1), true
			return f
		}, decision{phase: phaseCollecting, actions: []action{fetchSets}}},
		"but not while they are being fetched": {3, func(f facts) facts {
			f.now, f.missing = inRound(-1), true
			f.tasks.start(taskFetchSets)
			return f
		}, decision{phase: phaseCollecting}},
		"nor in the pause after a failure": {3, func(f facts) facts {
			f.now, f.missing = inRound(-1), true
			f.tasks.delay(taskFetchSets, f.now.Add(time.Millisecond))
			return f
		}, decision{phase: phaseCollecting}},
		"the first proposer asks early": {0, func(f facts) facts {
			f.now = testEnd.Add(testTiming.Delay / 2)
			return f
		}, decision{phase: phaseCollecting, actions: []action{prefetchSets}}},
		"not too early": {0, func(f facts) facts {
			f.now = testEnd.Add(testTiming.Delay/2 - 1)
			return f
		}, decision{phase: phaseCollecting}},
		"and once": {0, func(f facts) facts {
			f.now = testEnd.Add(testTiming.Delay / 2)
			f.tasks.delay(taskPrefetch, never)
			return f
		}, decision{phase: phaseCollecting}},
		"proposals that wait are checked again before anything is decided": {0, func(f facts) facts {
			f.waiting = true
			return f
		}, decision{phase: phaseObserving, actions: []action{reconsiderProposals}, again: true}},
		"not while sets are being fetched": {3, func(f facts) facts {
			f.waiting = true
			f.tasks.start(taskFetchSets)
			return f
		}, decision{phase: phaseDeciding}},
		"not when sets are fetched from now on": {3, func(f facts) facts {
			f.waiting, f.missing = true, true
			return f
		}, decision{phase: phaseDeciding, actions: []action{fetchSets}}},
		"and not twice in a row": {3, func(f facts) facts {
			f.waiting, f.reconsidered = true, true
			return f
		}, decision{phase: phaseDeciding}},

		"the proposer of the round proposes": {0, func(f facts) facts {
			return f
		}, decision{phase: phaseProposing, actions: []action{gatherAndPropose}}},
		"not while it asks for sets": {0, func(f facts) facts {
			f.tasks.start(taskGather)
			return f
		}, decision{phase: phaseProposing}},
		"nor twice in a round": {0, func(f facts) facts {
			f.proposed = 0
			return f
		}, decision{phase: phaseProposing}},
		"it prefers a sound proposal that came in to one of its own": {0, func(f facts) facts {
			f.first = &rootA
			return f
		}, decision{phase: phaseProposing, actions: []action{castVote}, root: rootA}},
		"no other keeper opens a root": {3, func(f facts) facts {
			f.first = &rootA
			return f
		}, decision{phase: phaseDeciding}},

		"a keeper votes for a sound root that has votes": {3, func(f facts) facts {
			f.candidates = []candidate{{root: rootA, standing: sound}}
			return f
		}, decision{phase: phaseDeciding, actions: []action{castVote}, root: rootA}},
		"it asks for the proposal behind a root that it does not know": {3, func(f facts) facts {
			f.candidates = []candidate{{root: rootA}}
			return f
		}, decision{phase: phaseDeciding, actions: []action{fetchProposals}, roots: []records.Hash{rootA}}},
		"what has votes goes first for a round, for the proposer too": {0, func(f facts) facts {
			f.candidates, f.first = []candidate{{root: rootA}}, &rootB
			return f
		}, decision{phase: phaseDeciding, actions: []action{fetchProposals}, roots: []records.Hash{rootA}}},
		"and not longer": {1, func(f facts) facts {
			f.now, f.candidates, f.first = inRound(1), []candidate{{root: rootA}}, &rootB
			return f
		}, decision{phase: phaseProposing, actions: []action{fetchProposals, castVote}, roots: []records.Hash{rootA}, root: rootB}},
		"unless a third of the weight stands there: it is waited for": {1, func(f facts) facts {
			f.now, f.candidates, f.first = inRound(1), []candidate{{root: rootA, honest: true}, {root: rootB, standing: sound}}, &rootB
			return f
		}, decision{phase: phaseDeciding, actions: []action{fetchProposals}, roots: []records.Hash{rootA}}},
		"one that was refused a moment ago is not asked for": {1, func(f facts) facts {
			f.now, f.candidates = inRound(1), []candidate{{root: rootA, refused: true}}
			return f
		}, decision{phase: phaseProposing, actions: []action{gatherAndPropose}}},
		"the next root is acceptable when the heaviest is not": {3, func(f facts) facts {
			f.candidates = []candidate{{root: rootA, refused: true}, {root: rootB, standing: sound}}
			return f
		}, decision{phase: phaseDeciding, actions: []action{castVote}, root: rootB}},
		"a root that leaves out statements gets no vote in the first rounds": {3, func(f facts) facts {
			f.now, f.candidates = inRound(2), []candidate{{root: rootA, standing: omitting, refused: true}}
			return f
		}, decision{phase: phaseDeciding}},
		"but when honest keepers have voted for it": {3, func(f facts) facts {
			f.now, f.candidates = inRound(2), []candidate{{root: rootA, standing: omitting, refused: true, honest: true}}
			return f
		}, decision{phase: phaseDeciding, actions: []action{castVote}, root: rootA}},
		"and when an honest proposer has had its turn": {3, func(f facts) facts {
			f.now, f.candidates = inRound(4), []candidate{{root: rootA, standing: omitting, refused: true}}
			return f
		}, decision{phase: phaseDeciding, actions: []action{castVote}, root: rootA}},

		"a vote that an earlier store sent binds": {0, func(f facts) facts {
			f.chain.counted, f.chain.voted, f.first = true, rootA, &rootB
			return f
		}, decision{phase: phaseVoted}},
		"a stored vote is sent until the chain counts it": {3, func(f facts) facts {
			f.stored = &rootA
			return f
		}, decision{phase: phaseVoted, actions: []action{sendVote}, root: rootA}},
		"once at a time": {3, func(f facts) facts {
			f.stored = &rootA
			f.tasks.start(taskSendVote)
			return f
		}, decision{phase: phaseVoted}},
		"with pauses": {3, func(f facts) facts {
			f.stored = &rootA
			f.tasks.delay(taskSendVote, f.now.Add(1))
			return f
		}, decision{phase: phaseVoted, root: rootA}},
		"in its round a keeper publishes again what it voted for": {1, func(f facts) facts {
			f.now, f.stored = inRound(1), &rootA
			f.chain.counted, f.chain.voted = true, rootA
			return f
		}, decision{phase: phaseVoted, actions: []action{repeatProposal}, root: rootA}},
		"once": {1, func(f facts) facts {
			f.now, f.stored, f.proposed = inRound(1), &rootA, 1
			f.chain.counted, f.chain.voted = true, rootA
			return f
		}, decision{phase: phaseVoted, root: rootA}},
		"a vote moves to the heaviest root that is acceptable": {3, func(f facts) facts {
			f.stored, f.chain.counted, f.chain.voted = &rootB, true, rootB
			f.candidates = []candidate{{root: rootA, standing: sound}, {root: rootB, standing: sound}}
			return f
		}, decision{phase: phaseVoted, actions: []action{moveVote}, root: rootA}},
		"not before a round is over since it moved": {3, func(f facts) facts {
			f.stored, f.chain.counted, f.chain.voted = &rootB, true, rootB
			f.candidates = []candidate{{root: rootA, standing: sound}, {root: rootB, standing: sound}}
			f.tasks.delay(taskMoveVote, f.now.Add(1))
			return f
		}, decision{phase: phaseVoted, root: rootB}},
		"nor to a lighter one": {3, func(f facts) facts {
			f.stored, f.chain.counted, f.chain.voted = &rootB, true, rootB
			f.candidates = []candidate{{root: rootB, standing: sound}, {root: rootA, standing: sound}}
			return f
		}, decision{phase: phaseVoted, root: rootB}},
		"a vote on its way to a root that is lighter by now stays where it is counted": {3, func(f facts) facts {
			f.stored, f.chain.counted, f.chain.voted = &rootB, true, rootA
			f.candidates = []candidate{{root: rootA}, {root: rootB, standing: sound}}
			return f
		}, decision{phase: phaseVoted, actions: []action{returnVote}, root: rootA}},
		"heavier roots that it does not know are asked for": {3, func(f facts) facts {
			f.stored, f.chain.counted, f.chain.voted = &rootC, true, rootC
			f.candidates = []candidate{{root: rootA, honest: true}, {root: rootB, refused: true}, {root: rootC, standing: sound}}
			return f
		}, decision{phase: phaseVoted, actions: []action{fetchProposals}, roots: []records.Hash{rootA}, root: rootC}},

		"an old period without a turn gives its memory back": {3, func(f facts) facts {
			f.now, f.dormant, f.missing = inRound(turnsBeforeBackoff*7), true, true
			return f
		}, decision{phase: phaseDormant, actions: []action{releaseSets}}},

		"the leaves of a final report are fetched": {3, func(f facts) facts {
			return f.finalFor(rootA)
		}, decision{phase: phaseFinal, actions: []action{fetchProposals}, root: rootA, roots: []records.Hash{rootA}}},
		"by keepers without weight, too; then nothing is left": {3, func(f facts) facts {
			delete(f.chain.weights, f.self)
			f.leavesHeld = true
			return f.finalFor(rootA)
		}, decision{phase: phaseFinal, actions: []action{noteFinal, finishPeriod}, root: rootA}},
		"nothing is left when our vote counts": {3, func(f facts) facts {
			f.leavesHeld, f.chain.counted, f.chain.voted = true, true, rootB
			return f.finalFor(rootA)
		}, decision{phase: phaseFinal, actions: []action{noteFinal, finishPeriod}, root: rootA}},
		"nor when we voted for another root": {3, func(f facts) facts {
			f.leavesHeld, f.stored, f.progress = true, &rootB, leavesStored
			return f.finalFor(rootA)
		}, decision{phase: phaseFinal, actions: []action{finishPeriod}, root: rootA}},
		"a vote for the final root is sent although it decides nothing": {3, func(f facts) facts {
			f.leavesHeld, f.stored, f.progress = true, &rootA, leavesStored
			return f.finalFor(rootA)
		}, decision{phase: phaseFinal, actions: []action{sendVote}, root: rootA}},
		"and cast, when its proposal was checked": {3, func(f facts) facts {
			f.leavesHeld, f.final, f.progress = true, omitting, leavesStored
			return f.finalFor(rootA)
		}, decision{phase: phaseFinal, actions: []action{castVote}, root: rootA}},
		"while it waits for sets, these are fetched": {3, func(f facts) facts {
			f.leavesHeld, f.waiting, f.missing, f.progress = true, true, true, leavesStored
			return f.finalFor(rootA)
		}, decision{phase: phaseFinal, actions: []action{fetchSets}, root: rootA}},
		"and it is checked again": {3, func(f facts) facts {
			f.leavesHeld, f.waiting, f.progress = true, true, leavesStored
			return f.finalFor(rootA)
		}, decision{phase: phaseFinal, actions: []action{reconsiderProposals}, root: rootA}},
		"not for ever": {3, func(f facts) facts {
			f.leavesHeld, f.waiting, f.progress = true, true, leavesStored
			f = f.finalFor(rootA)
			f.now = f.now.Add(lateVoteRounds * f.timing.Round)
			return f
		}, decision{phase: phaseFinal, actions: []action{finishPeriod}, root: rootA}},
		"a finished period is served for a while": {3, func(f facts) facts {
			f.progress, f.now = finished, testEnd.Add(testTiming.Delay+releaseRounds*testTiming.Round-1)
			return f
		}, decision{phase: phaseDone}},
		"then its memory is given back": {3, func(f facts) facts {
			f.progress, f.now = finished, testEnd.Add(testTiming.Delay+releaseRounds*testTiming.Round)
			return f
		}, decision{phase: phaseDone, actions: []action{releaseAll}}},
		"once and for all": {3, func(f facts) facts {
			f.progress, f.now = released, testEnd.Add(24*time.Hour)
			return f
		}, decision{phase: phaseDone}},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.given(sevenKeepers(c.proposesIn))
			before := f.tasks
			d := decide(f)
			require.Equal(t, c.want, d)
			require.Equal(t, before, f.tasks, "the facts are the caller's")
		})
	}
}

// A proposer that has asked all keepers proposes, unless one is late or another proposer was faster.
func TestMayPropose(t *testing.T) {
	const round = 2
	begin := testEnd.Add(testTiming.Delay + round*testTiming.Round)
	f := sevenKeepers(round)
	with := func(weights ...uint64) chainFacts {
		c := f.chain
		c.report = &market.Report{}
		for i, w := range weights {
			c.report.Candidates[i] = bindings.Candidate{Root: [32]byte{byte(i) + 1}, Weight: w}
		}
		c.report.CandidateCount = uint8(len(weights))
		return c
	}
	for name, c := range map[string]struct {
		before, now chainFacts
		complete    bool
		after       time.Duration // since the round began
		may         bool
	}{
		"all keepers answered":                    {f.chain, f.chain, true, 0, true},
		"one keeper did not":                      {f.chain, f.chain, false, testTiming.Round/2 - 1, false},
		"one keeper did not for half a round":     {f.chain, f.chain, false, testTiming.Round / 2, true},
		"another root was opened meanwhile":       {f.chain, with(100), true, 0, false},
		"one had few votes before":                {with(100), with(200), true, 0, true},
		"one that had votes has a third by now":   {with(100), with(234), true, 0, false},
		"votes moved away from a root meanwhile":  {with(100, 100), with(200, 0), true, 0, true},
		"the heaviest counts, wherever it stands": {with(100, 100), with(100, 300), true, 0, false},
	} {
		require.Equal(t, c.may, mayPropose(c.before, c.now, c.complete, begin.Add(c.after), round, testTiming), name)
	}
}

// Each kind of task runs once at a time, and not before its time.
func TestTasks(t *testing.T) {
	now := time.Unix(100, 0)
	var ts tasks
	require.True(t, ts.ready(taskGather, now))
	ts.start(taskGather)
	require.True(t, ts.running(taskGather))
	require.False(t, ts.ready(taskGather, now))
	require.True(t, ts.ready(taskSendVote, now), "the others are not concerned")
	ts.finish(taskGather)
	ts.delay(taskGather, now.Add(1))
	require.False(t, ts.ready(taskGather, now))
	require.True(t, ts.ready(taskGather, now.Add(1)))
	ts.delay(taskGather, never)
	require.False(t, ts.ready(taskGather, now.AddDate(1000, 0, 0)))
}

// Names are for logs; each phase and action has one.
func TestPhasesAndActionsHaveNames(t *testing.T) {
	require.Equal(t, "observing", phaseObserving.String())
	require.Equal(t, "done", phaseDone.String())
	require.Len(t, phaseNames, int(phaseDone)+1)
	require.Equal(t, "release all", releaseAll.String())
	require.Len(t, actionNames, int(releaseAll)+1)
}
