package watch

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// regression is how many slots an answer may lie behind what was seen: more than any fork causes. What is older is of a
// node that lags.
const regression = 300

// state is what was emitted to the consumer.
type state struct {
	program solana.PublicKey
	scope   Scope
	// mu is for entries. Run's goroutine alone changes them, and holds it for that; others hold it to read.
	mu      sync.RWMutex
	entries map[solana.PublicKey]*entry
	fixed   map[solana.PublicKey]bool // the scope's single accounts
	led     map[solana.PublicKey]int  // how many accounts lead to an address
	// dropped are those that nothing leads to any more, and again those of them that something leads to once more. Their
	// subscription may never have ended, so that nobody else reads them.
	dropped map[solana.PublicKey]bool
	again   []solana.PublicKey
	maxSlot uint64
	live    int
	// incomplete: the last snapshot lacks accounts that are there.
	incomplete bool
}

type entry struct {
	slot     uint64
	lamports chain.Lamports
	data     []byte
	leads    []solana.PublicKey
	deleted  bool // kept until a snapshot passes its slot, so that nothing older revives it
}

func newState(program solana.PublicKey, scope Scope) state {
	return state{program: program, scope: scope, entries: map[solana.PublicKey]*entry{}, led: map[solana.PublicKey]int{}, dropped: map[solana.PublicKey]bool{}}
}

// wanted lists the single accounts to listen to: those that others lead to, which may not be there yet, and those that
// are there, whose closing only their own subscription tells.
func (s *state) wanted() map[solana.PublicKey]bool {
	out := make(map[solana.PublicKey]bool, len(s.entries)+len(s.led))
	for key := range s.fixed {
		out[key] = true
	}
	for key := range s.led {
		out[key] = true
	}
	for key, e := range s.entries {
		if !e.deleted {
			out[key] = true
		}
	}
	return out
}

// follows reports whether an account of the program is of the scope.
func (s *state) follows(key solana.PublicKey, data []byte) bool {
	return s.fixed[key] || s.led[key] > 0 || s.scope.passes(data)
}

// lead replaces what an account leads to. Accounts that nothing leads to any more leave the scope.
func (s *state) lead(e *entry, to []solana.PublicKey, emit func(Event)) {
	from := e.leads
	e.leads = to
	for _, key := range to {
		s.led[key]++
		if s.dropped[key] {
			delete(s.dropped, key)
			s.again = append(s.again, key)
		}
	}
	for _, key := range from {
		if s.led[key]--; s.led[key] > 0 {
			continue
		}
		delete(s.led, key)
		s.dropped[key] = true
		if l, known := s.entries[key]; known && !l.deleted && !s.follows(key, l.data) {
			s.absent(key, l.slot, emit)
		}
	}
}

// unread are the accounts to be read because something leads to them once more. It returns each once.
func (s *state) unread() []solana.PublicKey {
	out := s.again
	s.again = nil
	return out
}

// present stores an account's state and emits it if it differs.
func (s *state) present(a chain.Account, emit func(Event)) {
	s.maxSlot = max(s.maxSlot, a.Slot)
	e := s.entries[a.Key]
	if e != nil && !e.deleted && e.lamports == a.Lamports && bytes.Equal(e.data, a.Data) {
		e.slot = max(e.slot, a.Slot)
		return
	}
	if e == nil || e.deleted {
		s.live++
	}
	s.mu.Lock()
	if e == nil {
		e = &entry{}
		s.entries[a.Key] = e
	}
	e.slot, e.lamports, e.data, e.deleted = a.Slot, a.Lamports, a.Data, false
	s.mu.Unlock()
	emit(Event{Pubkey: a.Key, Owner: a.Owner, Lamports: a.Lamports, Data: a.Data, Slot: a.Slot})
	s.lead(e, s.scope.leads(a), emit)
}

// same returns what is known of an account where that is the same as what was read, so that a list is not held twice. Any goroutine may
// call it.
func (s *state) same(key solana.PublicKey, data []byte) []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.entries[key]; e != nil && len(e.data) > 0 && bytes.Equal(e.data, data) {
		return e.data
	}
	return data
}

// rewind forgets that anything was seen after a slot.
func (s *state) rewind(slot uint64) {
	s.maxSlot = min(s.maxSlot, slot)
	for _, e := range s.entries {
		e.slot = min(e.slot, slot)
	}
}

// absent stores that an account does not exist (any more) at a slot.
func (s *state) absent(key solana.PublicKey, slot uint64, emit func(Event)) {
	s.maxSlot = max(s.maxSlot, slot)
	e, known := s.entries[key]
	if !known || e.deleted {
		return
	}
	s.mu.Lock()
	e.slot, e.lamports, e.data, e.deleted = slot, 0, nil, true
	s.mu.Unlock()
	s.live--
	emit(Event{Pubkey: key, Owner: s.program, Slot: slot, Deleted: true})
	s.lead(e, nil, emit)
}

// newer reports whether a state seen at a slot may replace what is known.
func (s *state) newer(key solana.PublicKey, slot uint64) bool {
	e, known := s.entries[key]
	return !known || slot >= e.slot
}

// applySnapshot emits the differences between a snapshot and what is known. Accounts about which something newer is
// known keep it. Accounts that the snapshot lacks stay as they are: it returns the doubts about them. Error: errGap.
func (s *state) applySnapshot(snap snapshot, emit func(Event)) (map[solana.PublicKey]doubt, error) {
	if snap.slot+regression < s.maxSlot {
		return nil, fmt.Errorf("%w: %s answers from slot %d, %d was seen before; nothing is changed until it has caught up, and another --url may be further",
			errGap, names(snap.by), snap.slot, s.maxSlot)
	}
	s.fixed = map[solana.PublicKey]bool{}
	for _, key := range s.scope.addresses() {
		s.fixed[key] = true
	}
	clear(s.dropped) // a bound: their subscriptions have ended by now
	if len(s.entries) == 0 {
		s.mu.Lock()
		s.entries = make(map[solana.PublicKey]*entry, len(snap.accounts))
		s.mu.Unlock()
	}
	gone := map[solana.PublicKey]bool{} // listed without a lamport
	for _, a := range snap.accounts {
		if s.owns(&a) {
			s.apply(a, emit)
		} else {
			gone[a.Key] = true
		}
	}
	lacks := map[solana.PublicKey]doubt{}
	for key, e := range s.entries {
		switch {
		case (snap.seen[key] && !gone[key]) || e.slot > snap.slot:
		case e.deleted:
			s.mu.Lock()
			delete(s.entries, key)
			s.mu.Unlock()
		default:
			lacks[key] = doubt{slot: snap.slot, list: snap.by}
		}
	}
	s.maxSlot = max(s.maxSlot, snap.slot)
	return lacks, nil
}

// owns reports whether an account is there and of the program.
func (s *state) owns(a *chain.Account) bool {
	return a != nil && a.Owner == s.program && a.Lamports > 0
}

// apply takes an account of the program. One that is no longer of the scope leaves it.
func (s *state) apply(a chain.Account, emit func(Event)) {
	if !s.newer(a.Key, a.Slot) {
		return
	}
	if !s.follows(a.Key, a.Data) {
		s.absent(a.Key, a.Slot, emit)
		return
	}
	s.present(a, emit)
}

// reread holds the state of accounts of which something was announced, or that were in doubt.
type reread struct {
	keys     []solana.PublicKey
	accounts []*chain.Account // nil where there is none
	slot     uint64           // of the read, at least that of the announcement
	by       string           // the endpoint that answered
	// sure: of the accounts that are nil two answers say so. about are the doubts that it settles.
	sure  bool
	about map[solana.PublicKey]doubt
}

// applyReread takes what was read and returns the doubts about accounts that were there and are not, of which one
// answer is not enough. missed counts those that a list lacks although they are there.
func (s *state) applyReread(r reread, emit func(Event)) (lacks map[solana.PublicKey]doubt, missed int) {
	lacks = map[solana.PublicKey]doubt{}
	for i, key := range r.keys {
		a := r.accounts[i]
		e, known := s.entries[key]
		switch {
		case s.owns(a):
			if r.about[key].list != nil && s.follows(key, a.Data) {
				missed++
			}
			s.apply(*a, emit)
		case !known || e.deleted || !s.newer(key, r.slot):
		case r.sure:
			s.absent(key, r.slot, emit)
		default:
			lacks[key] = doubt{slot: r.slot, by: r.by}
		}
	}
	return lacks, missed
}
