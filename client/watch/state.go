package watch

import (
	"bytes"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
)

// regression is how many slots the chain may seem to go back before the watcher discards its state: more than any fork
// or lagging node causes.
const regression = 300

// state is what was emitted to the consumer.
type state struct {
	program solana.PublicKey
	entries map[solana.PublicKey]*entry
	maxSlot uint64
	live    int
	behind  int // snapshots in a row that lay far behind
}

type entry struct {
	slot     uint64
	lamports chain.Lamports
	data     []byte
	deleted  bool // kept until a snapshot passes its slot, so that nothing older revives it
}

func newState(program solana.PublicKey) state {
	return state{program: program, entries: map[solana.PublicKey]*entry{}}
}

// present stores an account's state and emits it if it differs.
func (s *state) present(a chain.Account, emit func(Event)) {
	s.maxSlot = max(s.maxSlot, a.Slot)
	e, known := s.entries[a.Key]
	if known && !e.deleted && e.lamports == a.Lamports && bytes.Equal(e.data, a.Data) {
		e.slot = max(e.slot, a.Slot)
		return
	}
	if !known {
		e = &entry{deleted: true}
		s.entries[a.Key] = e
	}
	if e.deleted {
		s.live++
	}
	*e = entry{slot: a.Slot, lamports: a.Lamports, data: a.Data}
	emit(Event{Pubkey: a.Key, Owner: a.Owner, Lamports: a.Lamports, Data: a.Data, Slot: a.Slot})
}

// absent stores that an account does not exist (any more) at a slot.
func (s *state) absent(key solana.PublicKey, slot uint64, emit func(Event)) {
	s.maxSlot = max(s.maxSlot, slot)
	e, known := s.entries[key]
	if !known || e.deleted {
		return
	}
	*e = entry{slot: slot, deleted: true}
	s.live--
	emit(Event{Pubkey: key, Owner: s.program, Slot: slot, Deleted: true})
}

// newer reports whether a state seen at a slot may replace what is known.
func (s *state) newer(key solana.PublicKey, slot uint64) bool {
	e, known := s.entries[key]
	return !known || slot >= e.slot
}

// applySnapshot emits the differences between a snapshot and what is known. Accounts about which something newer is
// known keep it.
func (s *state) applySnapshot(snap snapshot, emit func(Event)) error {
	if snap.slot+regression < s.maxSlot {
		// Either the node lags far behind, which another snapshot will show, or the cluster was started again.
		if s.behind++; s.behind < 3 {
			return errGap
		}
		for _, e := range s.entries {
			e.slot = 0
		}
		s.maxSlot = 0
	}
	s.behind = 0
	seen := make(map[solana.PublicKey]bool, len(snap.accounts))
	for _, a := range snap.accounts {
		seen[a.Key] = true
		if s.newer(a.Key, snap.slot) {
			s.present(a, emit)
		}
	}
	for key, e := range s.entries {
		switch {
		case seen[key] || e.slot > snap.slot:
		case e.deleted:
			delete(s.entries, key)
		default:
			s.absent(key, snap.slot, emit)
		}
	}
	s.maxSlot = max(s.maxSlot, snap.slot)
	return nil
}

// applyUpdate applies a notification.
func (s *state) applyUpdate(a chain.Account, f chain.Filter, emit func(Event)) error {
	if a.Slot+regression < s.maxSlot {
		return errGap
	}
	s.apply(a, f, emit)
	return nil
}

func (s *state) apply(a chain.Account, f chain.Filter, emit func(Event)) {
	if !s.newer(a.Key, a.Slot) {
		return
	}
	if a.Owner != s.program || a.Lamports == 0 || !f.Matches(a.Data) {
		s.absent(a.Key, a.Slot, emit)
		return
	}
	s.present(a, emit)
}

// reread holds the state of accounts that a transaction wrote.
type reread struct {
	keys     []solana.PublicKey
	accounts []*chain.Account // nil where there is none
	slot     uint64           // of the read, at least that of the transaction
}

func (s *state) applyReread(r reread, f chain.Filter, emit func(Event)) {
	for i, key := range r.keys {
		if a := r.accounts[i]; a != nil {
			// Accounts that never belonged to the program are left out.
			if _, known := s.entries[key]; known || a.Owner == s.program {
				s.apply(*a, f, emit)
			}
		} else if s.newer(key, r.slot) {
			s.absent(key, r.slot, emit)
		}
	}
}
