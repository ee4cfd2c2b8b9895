package vtime

import "time"

// Loop is the queue of what is to happen. It belongs to one goroutine.
type Loop struct {
	now     int64 // unix nanoseconds
	seq     uint64
	queue   []event // a binary heap
	current *routine
	events  uint64
}

type event struct {
	at  int64
	seq uint64 // in the order of scheduling, among those of one moment
	do  func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// NewLoop begins at a moment.
func NewLoop(start time.Time) *Loop { return &Loop{now: start.UnixNano()} }

// Now is the virtual time.
func (l *Loop) Now() time.Time { return time.Unix(0, l.now).UTC() }

// Events is how many have happened.
func (l *Loop) Events() uint64 { return l.events }

// At schedules do for a moment; for one that has passed, now.
func (l *Loop) At(t time.Time, do func()) { l.push(max(t.UnixNano(), l.now), do) }

// After schedules do for later.
func (l *Loop) After(d time.Duration, do func()) { l.push(l.now+max(0, int64(d)), do) }

// Every calls do from the first moment on, until it returns false.
func (l *Loop) Every(first time.Time, d time.Duration, do func() bool) {
	l.At(first, func() {
		if do() {
			l.Every(l.Now().Add(d), d, do)
		}
	})
}

// Run lets everything happen that is scheduled up to a moment, which it becomes. It stops early when stop says so.
func (l *Loop) Run(until time.Time, stop func() bool) {
	end := until.UnixNano()
	for len(l.queue) > 0 && l.queue[0].at <= end && !stop() {
		e := l.pop()
		l.now = e.at
		l.events++
		e.do()
	}
	l.now = max(l.now, end)
}

func (l *Loop) push(at int64, do func()) {
	l.seq++
	q := append(l.queue, event{at, l.seq, do})
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q[i].before(q[up]) {
			break
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
	l.queue = q
}

func (l *Loop) pop() event {
	q := l.queue
	top, last := q[0], len(q)-1
	q[0], q[last] = q[last], event{}
	q = q[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(q) && q[child].before(q[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
	l.queue = q
	return top
}
