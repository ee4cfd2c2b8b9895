package consensus

import (
	"time"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/records"
)

// phase is how far a keeper is with the report of a period.
type phase int

const (
	// phaseObserving: this keeper has no vote. It hands out statements and fetches the leaves of the final report.
	phaseObserving phase = iota
	// phaseCollecting: the first round has not begun; statement sets are exchanged.
	phaseCollecting
	// phaseDeciding: rounds run, and this keeper has not voted: it looks for a root that it may vote for.
	phaseDeciding
	// phaseProposing: the same, and it is this keeper's turn to propose.
	phaseProposing
	// phaseVoted: this keeper has voted, and the report is not final.
	phaseVoted
	// phaseDormant: the period had its time without becoming final; other old periods have their turn.
	phaseDormant
	// phaseFinal: the report is final on chain; its leaves are fetched, and a vote is still worth sending.
	phaseFinal
	// phaseDone: nothing is left to do.
	phaseDone
)

var phaseNames = [...]string{"observing", "collecting", "deciding", "proposing", "voted", "dormant", "final", "done"}

func (p phase) String() string { return phaseNames[p] }

// progress is what has happened once and for all.
type progress int

const (
	undecided    progress = iota
	leavesStored          // the report is final and its leaves are held
	finished              // nothing is left to do for it
	released              // and what peers could ask for is forgotten
)

// action is something that the engine does for a period.
type action int

const (
	// announceManifest signs the manifest of our own statements and sends it to all.
	announceManifest action = iota
	// fetchSets fetches the sets of statements that are missing.
	fetchSets
	// prefetchSets asks all keepers for manifests and sets, ahead of our round.
	prefetchSets
	// reconsiderProposals checks the proposals again that wait for sets.
	reconsiderProposals
	// fetchProposals asks peers for the proposals of decision.roots, and for the leaves of a final report.
	fetchProposals
	// gatherAndPropose asks all keepers for manifests and sets, then proposes.
	gatherAndPropose
	// castVote writes down that we vote for decision.root, then sends the vote.
	castVote
	// moveVote is castVote for a keeper that has voted for another root.
	moveVote
	// returnVote gives up a planned move: our vote stays with the root for which the chain counts it.
	returnVote
	// sendVote sends the vote that the store holds.
	sendVote
	// repeatProposal publishes the proposal that we voted for again, for keepers that missed it.
	repeatProposal
	// noteFinal writes down that the report is final and its leaves are here.
	noteFinal
	// finishPeriod writes down that nothing is left to do.
	finishPeriod
	// releaseSets forgets the statement sets of an old period until its turn.
	releaseSets
	// releaseAll forgets what is held of a finished period.
	releaseAll
)

var actionNames = [...]string{
	"announce manifest", "fetch sets", "prefetch sets", "reconsider proposals", "fetch proposals", "gather and propose",
	"cast vote", "move vote", "return vote", "send vote", "repeat proposal", "note final", "finish", "release sets", "release all",
}

func (a action) String() string { return actionNames[a] }

// decision is a phase and what is done in it, in this order.
type decision struct {
	phase   phase
	actions []action
	// root is the one that is voted for; of all actions but fetchProposals.
	root records.Hash
	// roots are those whose proposals are fetched.
	roots []records.Hash
	// again: the actions change the facts, so that another decision follows at once.
	again bool
}

func (d decision) and(actions ...action) decision {
	d.actions = append(d.actions, actions...)
	return d
}

func (d decision) vote(a action, root records.Hash) decision {
	d.root = root
	return d.and(a)
}

const (
	// turnsBeforeBackoff is how many times round all keepers propose before a period without a final report is an old
	// one.
	turnsBeforeBackoff = 4
	// lateVoteRounds is for how many rounds after a report has become final a keeper tries to check it and vote for it.
	lateVoteRounds = 20
	// releaseRounds is for how many rounds after a period peers may ask for its statement sets.
	releaseRounds = 2 * lateVoteRounds
)

// decide says in which phase a period is and what is done now. It is pure: same facts, same decision.
func decide(f facts) decision {
	if f.progress >= finished {
		return decideDone(f)
	}
	if f.chain.isFinal() {
		return decideFinal(f)
	}
	d := decision{phase: phaseObserving}
	if f.chain.weights[f.self] == 0 {
		return d
	}
	if f.dormant {
		return decision{phase: phaseDormant}.and(releaseSets)
	}
	if f.manifestDue {
		d.again = true
		return d.and(announceManifest)
	}
	if f.missing && f.ready(taskFetchSets) {
		f.tasks.start(taskFetchSets)
		d = d.and(fetchSets)
	}
	if !f.chain.active {
		return d // it has left since; others can still have its statements
	}
	round := f.chain.round(f.now, f.timing)
	if round < 0 {
		d.phase = phaseCollecting
		first, ok := report.Proposer(f.chain.period, 0, f.chain.weights)
		if ok && first == f.self && f.ready(taskPrefetch) && !f.now.Before(time.Unix(f.chain.end, 0).Add(f.timing.Delay/2)) {
			d = d.and(prefetchSets)
		}
		return d
	}
	if f.waiting && !f.reconsidered && f.ready(taskFetchSets) {
		d.again = true
		return d.and(reconsiderProposals)
	}
	switch {
	case f.stored != nil:
		return decideVoted(f, d, round)
	case f.chain.counted:
		d.phase = phaseVoted // by an earlier store of this keeper, which it has lost
		return d
	}
	return decideVote(f, d, round)
}

func (f *facts) ready(k task) bool { return f.tasks.ready(k, f.now) }

// proposes reports whether it is our turn in a round.
func (f *facts) proposes(round int64) bool {
	proposer, ok := report.Proposer(f.chain.period, uint32(round), f.chain.weights)
	return ok && proposer == f.self
}

// acceptable reports whether we may vote for a root with votes. One that leaves out statements which we hold is
// acceptable when some of its votes are honest, since insisting would undo the period, and when all that insisting has
// led to is that the keepers are apart.
func (f *facts) acceptable(c candidate, round int64) bool {
	return c.standing == sound || c.standing == omitting && (c.honest || round >= omissionDelay(f.chain.weights))
}

// omissionDelay is for how many rounds a keeper insists that a root has to name what it holds: until an honest proposer
// has had its turn, and one round more for its proposal.
func omissionDelay(w report.Weights) int64 { return int64(len(w)/3) + 2 }

// decideVote votes for an acceptable root that has votes already; when it is our turn, it opens a root.
func decideVote(f facts, d decision, round int64) decision {
	d.phase = phaseDeciding
	var missing []records.Hash
	for _, c := range f.candidates {
		if f.acceptable(c, round) {
			return d.vote(castVote, c.root)
		}
		if !c.refused {
			missing = append(missing, c.root)
		}
		if c.honest {
			// The keepers that voted for it hold the proposal: it comes when the network heals.
			return d.fetch(f, missing)
		}
	}
	d = d.fetch(f, missing)
	if len(missing) > 0 && round == 0 {
		return d // what has votes goes first, for a round
	}
	// Two roots should not be opened at once, since votes that are apart take time to come together: only the proposer
	// of the running round opens one, and the chain says to everyone else which was first. A proposer that shows
	// different proposals to different keepers can vote for one of them only.
	if !f.proposes(round) {
		return d
	}
	d.phase = phaseProposing
	if f.first != nil {
		return d.vote(castVote, *f.first)
	}
	if f.proposed < round && !f.tasks.running(taskGather) {
		d = d.and(gatherAndPropose)
	}
	return d
}

// fetch asks for the proposals of roots, if there are any and it is time.
func (d decision) fetch(f facts, roots []records.Hash) decision {
	if len(roots) > 0 && f.ready(taskFetchProposals) {
		d.roots = roots
		d = d.and(fetchProposals)
	}
	return d
}

// decideVoted keeps our vote at the root that all are to come together at: the first of the candidates that we accept.
// The program lets a vote move to a root that then weighs more than the one it left did, which the first of them always
// does. Whatever the network did to the keepers while they voted, they are at one root soon after it has healed, since
// each move makes the heaviest heavier and the others lighter, and keepers that voted for a root hand out its proposal.
func decideVoted(f facts, d decision, round int64) decision {
	d.phase = phaseVoted
	if f.tasks.running(taskSendVote) {
		return d
	}
	var missing []records.Hash
	for _, c := range f.candidates {
		if c.root == *f.stored || !f.ready(taskMoveVote) {
			break
		}
		if f.chain.counted && c.root == f.chain.voted {
			return d.vote(returnVote, c.root) // it was to move from here to a root that is lighter by now
		}
		if f.acceptable(c, round) {
			return d.vote(moveVote, c.root)
		}
		if !c.refused {
			missing = append(missing, c.root)
		}
	}
	d = d.fetch(f, missing)
	d.root = *f.stored
	if (!f.chain.counted || f.chain.voted != *f.stored) && f.ready(taskSendVote) {
		d = d.and(sendVote)
	}
	if f.proposes(round) && f.proposed < round {
		d = d.and(repeatProposal)
	}
	return d
}

// decideFinal gets hold of the leaves of a final report, and votes for it if it can be checked: a vote counts in the
// keeper's record even when it is not needed any more.
func decideFinal(f facts) decision {
	d := decision{phase: phaseFinal, root: f.chain.report.Root}
	if !f.leavesHeld {
		return d.fetch(f, []records.Hash{d.root})
	}
	if f.progress < leavesStored {
		d = d.and(noteFinal)
	}
	switch {
	case f.chain.counted, !f.chain.active, f.chain.weights[f.self] == 0:
		return d.and(finishPeriod)
	case f.stored != nil && *f.stored != d.root:
		return d.and(finishPeriod) // a vote for another root is pointless now
	case f.stored != nil:
		if f.ready(taskSendVote) {
			d = d.and(sendVote)
		}
		return d
	case f.final != unchecked:
		return d.and(castVote)
	case !f.waiting || !f.now.Before(time.Unix(f.chain.report.FinalisedAt, 0).Add(lateVoteRounds*f.timing.Round)):
		return d.and(finishPeriod)
	}
	if f.ready(taskFetchSets) {
		if f.missing {
			return d.and(fetchSets)
		}
		return d.and(reconsiderProposals)
	}
	return d
}

// decideDone gives back the memory of a period that is finished, once no keeper asks for its statements any more.
func decideDone(f facts) decision {
	d := decision{phase: phaseDone}
	if f.progress < released && !f.now.Before(time.Unix(f.chain.end, 0).Add(f.timing.Delay+releaseRounds*f.timing.Round)) {
		d = d.and(releaseAll)
	}
	return d
}

// isOld reports whether a period had its time and has no final report.
func isOld(c chainFacts, now time.Time, t Timing) bool {
	return len(c.weights) > 0 && c.round(now, t) >= turnsBeforeBackoff*int64(len(c.weights)) && !c.isFinal()
}

// Old periods wait for a network that is cut for long, or for keepers that are down. Their sets of statements are
// large, so that only some are attended to at a time, each for some rounds, until they can be voted on no more.
const (
	oldAtATime   = 4
	roundsOfTurn = 4
)

// attend says which old periods are attended to now. It follows from the chain and the clock, so that all keepers
// attend to the same ones.
func attend(open []chainFacts, now time.Time, t Timing) map[records.Period]bool {
	var old []records.Period
	for _, c := range open {
		if isOld(c, now, t) {
			old = append(old, c.period)
		}
	}
	attended := map[records.Period]bool{}
	at := int(now.UnixNano()/int64(roundsOfTurn*t.Round)) * oldAtATime
	for i := range min(oldAtATime, len(old)) {
		attended[old[(at+i)%len(old)]] = true
	}
	return attended
}

// mayPropose reports whether a proposer that has asked all keepers proposes now. before and now are what the chain
// showed then and shows now; complete says that every keeper answered and its set is here.
func mayPropose(before, now chainFacts, complete bool, at time.Time, round uint32, t Timing) bool {
	// A keeper that is not done yet, or does not answer, gets the first half of the round.
	late := at.Sub(time.Unix(before.end, 0).Add(t.Delay)) - time.Duration(round)*t.Round
	if !complete && late < t.Round/2 {
		return false
	}
	// Asking took time: what was opened on chain meanwhile goes first, and so does what a third has voted for.
	roots := now.roots()
	return len(roots) <= len(before.roots()) && (len(roots) == 0 || !now.honest(roots[0]))
}
