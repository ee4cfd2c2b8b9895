package lease

import "time"

// decideNotice gives notice of an interruptible lease, and ends it after that: a notice is kept, also when the owner does not want
// the machine back any more. Until then the job runs.
func decideNotice(f Facts, wait *Decision) (d Decision, due bool) {
	l := &f.Account
	switch {
	case l.Interruptible == 0 || l.NoticeAt == 0 && f.Wanted == "":
		return d, false
	case l.NoticeAt == 0:
		return Decision{Action: GiveNotice, Why: f.Wanted}, true
	}
	if over := time.Unix(l.NoticeOver(), 0).Add(clockMargin); f.Now.Before(over) {
		if over.Before(wait.Until) {
			wait.Until = over
		}
		return d, false
	}
	return Decision{Action: EndNoticed, Late: true, Why: "its notice is over"}, true
}
