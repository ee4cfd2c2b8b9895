package demo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// chapterID names a part of the demo that a person can follow.
type chapterID int

const (
	nodeStarts chapterID = iota
	keepersBond
	machinesRegister
	customersPay
	keepersMeasure
	smallJobRuns
	smallJobReplayed
	longLeaseRuns
	marketPauses
	leaseGoesSilent
	silenceIsSlashed
	falseClaimFound
	falseClaimSlashed
	containerVisited
	hostileContained
	containersEnd
	volumeSaved
	machineOff
	outageSlashed
	providersLeave
	customersLeave
	keepersLeave
	sumsAddUp
	leasesAudited
)

// needs is what a chapter asks of this computer.
type needs uint8

const (
	nothing needs = iota
	needsContainers
	needsVolumes
)

// chapter is what a chapter is called, and what it needs.
type chapter struct {
	id    chapterID
	title string
	needs needs
}

// chapters are all of them, in the order in which they usually begin.
func chapters() []chapter {
	return []chapter{
		{nodeStarts, "A Solana node and a market start", nothing},
		{keepersBond, "Keepers put down their bonds", nothing},
		{machinesRegister, "Machines register and stake", nothing},
		{customersPay, "Customers put in money", nothing},
		{keepersMeasure, "Keepers measure every machine", nothing},
		{smallJobRuns, "An auction rents out an A100 for a job", nothing},
		{longLeaseRuns, "A customer rents an H100 and goes away", nothing},
		{leaseGoesSilent, "A rented A100 stops answering", nothing},
		{falseClaimFound, "A false H100 is found by its figures", nothing},
		{containerVisited, "A container is rented and visited", needsContainers},
		{volumeSaved, "A container's volume is saved", needsVolumes},
		{hostileContained, "A hostile container reaches nothing", needsContainers},
		{smallJobReplayed, "The job is paid, its auction replayed", nothing},
		{containersEnd, "Both containers leave no trace", needsContainers},
		{marketPauses, "New orders are paused; a lease still ends", nothing},
		{silenceIsSlashed, "The silent A100 is slashed, money goes back", nothing},
		{falseClaimSlashed, "The false H100 is slashed, with proof", nothing},
		{machineOff, "A machine is off; another continues its job", needsVolumes},
		{outageSlashed, "The machine that was off is slashed", needsVolumes},
		{providersLeave, "Providers leave with their stakes", nothing},
		{customersLeave, "Customers take back what is left", nothing},
		{keepersLeave, "Keepers take back their bonds and leave", nothing},
		{sumsAddUp, "Every balance, fee and rent adds up", nothing},
		{leasesAudited, "Each lease is audited from the chain alone", nothing},
	}
}

// state is how far a chapter is.
type state uint8

const (
	stateWaiting state = iota
	stateRunning
	stateDone
	stateFailed
	stateStopped // broken off, since something else failed or a person stopped the demo
)

// event says that a chapter is in another state from a time on, counted from the beginning of the demo.
type event struct {
	at time.Duration
	id chapterID
	to state
}

// line is a chapter with its place in time. One that runs ends now.
type line struct {
	number     int
	title      string
	state      state
	begun, end time.Duration
}

// timeline is where each chapter stands at a time, after what happened until then. A chapter that never began has no place.
func timeline(of []chapter, events []event, now time.Duration) []line {
	lines := make([]line, len(of))
	at := map[chapterID]*line{}
	for i, c := range of {
		lines[i] = line{number: i + 1, title: c.title}
		at[c.id] = &lines[i]
	}
	for _, e := range events {
		l := at[e.id]
		if l == nil || e.at > now {
			continue
		}
		if l.state == stateWaiting {
			l.begun = e.at
		}
		l.state, l.end = e.to, e.at
	}
	for i := range lines {
		if lines[i].state == stateRunning {
			lines[i].end = now
		}
	}
	return lines
}

// visible are the lines for which a window has room, in their order: what runs or failed first, then what ended last, then what
// comes next.
func visible(lines []line, room int) []line {
	if len(lines) <= room {
		return lines
	}
	rank := func(l line) int {
		switch l.state {
		case stateRunning, stateFailed:
			return 0
		case stateDone, stateStopped:
			return 1
		default:
			return 2
		}
	}
	chosen := slices.Clone(lines)
	slices.SortStableFunc(chosen, func(a, b line) int {
		if c := cmp.Compare(rank(a), rank(b)); c != 0 {
			return c
		}
		return cmp.Compare(b.end, a.end)
	})
	chosen = chosen[:max(room, 0)]
	slices.SortFunc(chosen, func(a, b line) int { return cmp.Compare(a.number, b.number) })
	return chosen
}

// story notes how the chapters go. Its methods may be called from several goroutines.
type story struct {
	mu       sync.Mutex
	start    time.Time
	chapters []chapter
	events   []event
	over     time.Duration // when the last chapter ended; zero until then
}

func newStory(start time.Time) *story { return &story{start: start, chapters: chapters()} }

// without leaves out the chapters that need something that this computer does not have.
func (s *story) without(what needs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chapters = slices.DeleteFunc(s.chapters, func(c chapter) bool { return c.needs >= what && c.needs != nothing })
}

func (s *story) note(id chapterID, to state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event{at: time.Since(s.start), id: id, to: to})
}

// finish stops the demo's clock.
func (s *story) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == 0 {
		s.over = time.Since(s.start)
	}
}

// now is the demo's clock, where the chapters stand, and whether the clock has stopped.
func (s *story) now() (elapsed time.Duration, lines []line, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if elapsed = s.over; elapsed == 0 {
		elapsed = time.Since(s.start)
	}
	return elapsed, timeline(s.chapters, s.events, elapsed), s.over > 0
}

// track is a thread of the story: its chapters come one after the other.
type track struct {
	story   *story
	current chapterID
	open    bool
}

// track begins a thread of the story.
func (s *story) track() *track { return &track{story: s} }

// begin ends the track's chapter and begins the next one.
func (t *track) begin(id chapterID) {
	t.close(stateDone)
	t.current, t.open = id, true
	t.story.note(id, stateRunning)
}

// end ends the track's chapter, if there is one, with what its function returns. The context is the function's.
func (t *track) end(ctx context.Context, err error) {
	switch {
	case err == nil:
		t.close(stateDone)
	case errors.Is(ctx.Err(), context.Canceled):
		t.close(stateStopped)
	default:
		t.close(stateFailed)
	}
}

func (t *track) close(as state) {
	if t.open {
		t.open = false
		t.story.note(t.current, as)
	}
}

// during is a chapter that is as long as a function.
func (s *story) during(ctx context.Context, id chapterID, do func() error) error {
	t := s.track()
	t.begin(id)
	err := do()
	t.end(ctx, err)
	return err
}
