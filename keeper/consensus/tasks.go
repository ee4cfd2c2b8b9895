package consensus

import "time"

// task is work for one period that runs beside the engine, or that has to wait for its time. At most one of each kind
// runs for a period.
type task int

const (
	// taskFetchSets fetches sets of statements whose manifests are known.
	taskFetchSets task = iota
	// taskPrefetch lets the first proposer ask all keepers for manifests and sets before its round begins; once a
	// period.
	taskPrefetch
	// taskGather asks all keepers for manifests and sets, then proposes.
	taskGather
	// taskFetchProposals asks for proposals with roots that have votes, and for the leaves of a final report.
	taskFetchProposals
	// taskSendVote sends the vote that the store holds.
	taskSendVote
	// taskMoveVote never runs by itself: its time says for how long our vote stays where it is.
	taskMoveVote
	taskCount
)

// retryDelay is the pause before something that failed is tried again.
const retryDelay = 700 * time.Millisecond

// tasks says for each kind of task whether it runs, and before which time it is not started (again). It is a value: a
// decision gets a copy.
type tasks [taskCount]struct {
	running   bool
	notBefore time.Time
}

// never is the time of a task that is not done again.
var never = time.Unix(1<<40, 0)

func (t *tasks) running(k task) bool { return t[k].running }

// ready reports whether a task may be started now.
func (t *tasks) ready(k task, now time.Time) bool {
	return !t[k].running && !now.Before(t[k].notBefore)
}

func (t *tasks) start(k task) { t[k].running = true }

func (t *tasks) finish(k task) { t[k].running = false }

// delay keeps a task from being started before a time.
func (t *tasks) delay(k task, until time.Time) { t[k].notBefore = until }
