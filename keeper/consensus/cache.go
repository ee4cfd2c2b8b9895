package consensus

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
)

// cache holds the keepers' verified manifests and their sets of statements by period, for ourselves and for peers that
// ask. It is safe for concurrent use.
type manifestCache struct {
	mu      sync.Mutex
	periods map[records.Period]*periodCache
}

type periodCache struct {
	manifests map[report.Ref]statement.Manifest
	of        map[solana.PublicKey]int // manifests of a keeper
	sets      map[report.Ref][]byte
	since     map[report.Ref]time.Time // that a set is here
}

// maxManifests of one keeper and period: the honest have one.
const maxManifests = 3

func (s *manifestCache) period(p records.Period) *periodCache {
	if s.periods == nil {
		s.periods = map[records.Period]*periodCache{}
	}
	q, ok := s.periods[p]
	if !ok {
		q = &periodCache{map[report.Ref]statement.Manifest{}, map[solana.PublicKey]int{}, map[report.Ref][]byte{}, map[report.Ref]time.Time{}}
		s.periods[p] = q
	}
	return q
}

func refOf(m statement.Manifest) report.Ref { return report.Ref{Keeper: m.Keeper, Digest: m.Digest} }

// learn keeps a verified manifest. fresh: it was not known; liar: its keeper has signed another one.
func (s *manifestCache) learn(m statement.Manifest) (fresh, liar bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.period(m.Period)
	if _, ok := q.manifests[refOf(m)]; ok || q.of[m.Keeper] >= maxManifests {
		return false, q.of[m.Keeper] > 1
	}
	q.manifests[refOf(m)] = m
	q.of[m.Keeper]++
	return true, q.of[m.Keeper] > 1
}

// against returns a manifest that a keeper has signed besides this one, of the same period; of several, that with the lowest
// digest.
func (s *manifestCache) against(m statement.Manifest) (found statement.Manifest, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, known := s.periods[m.Period]
	if !known || q.of[m.Keeper] == 0 {
		return found, false
	}
	if old, held := q.manifests[refOf(m)]; held && q.of[m.Keeper] == 1 {
		return old, old.Contradicts(m)
	}
	for _, old := range q.manifests {
		if old.Contradicts(m) && (!ok || bytes.Compare(old.Digest[:], found.Digest[:]) < 0) {
			found, ok = old, true
		}
	}
	return found, ok
}

// knows reports whether exactly this manifest was verified before.
func (s *manifestCache) knows(m statement.Manifest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.periods[m.Period]
	return ok && q.manifests[refOf(m)] == m
}

// put keeps a set that its manifest covers.
func (s *manifestCache) put(m statement.Manifest, raw []byte, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw == nil {
		raw = []byte{} // a keeper that said nothing
	}
	q := s.period(m.Period)
	q.sets[refOf(m)] = raw
	if _, ok := q.since[refOf(m)]; !ok {
		q.since[refOf(m)] = now
	}
}

// set returns a set; nil when it is not held.
func (s *manifestCache) set(p records.Period, r report.Ref) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q, ok := s.periods[p]; ok {
		return q.sets[r]
	}
	return nil
}

// byDigest returns a set whosever it is, for peers that know it by its digest.
func (s *manifestCache) byDigest(p records.Period, digest [32]byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q, ok := s.periods[p]; ok {
		for r, raw := range q.sets {
			if r.Digest == digest {
				return raw
			}
		}
	}
	return nil
}

// manifests lists what is known of a period, in one order.
func (s *manifestCache) manifests(p records.Period) []statement.Manifest {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.periods[p]
	if !ok {
		return nil
	}
	out := make([]statement.Manifest, 0, len(q.manifests))
	for _, m := range q.manifests {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b statement.Manifest) int {
		if c := bytes.Compare(a.Keeper[:], b.Keeper[:]); c != 0 {
			return c
		}
		return bytes.Compare(a.Digest[:], b.Digest[:])
	})
	return out
}

// missing are the manifests without a set.
func (s *manifestCache) missing(p records.Period) []statement.Manifest {
	var out []statement.Manifest
	for _, m := range s.manifests(p) {
		if s.set(p, refOf(m)) == nil {
			out = append(out, m)
		}
	}
	return out
}

// held are the manifests of keepers that signed one only, and whose set is here.
func (s *manifestCache) usable(p records.Period) []statement.Manifest {
	var out []statement.Manifest
	for _, m := range s.manifests(p) {
		s.mu.Lock()
		one := s.periods[p].of[m.Keeper] == 1
		s.mu.Unlock()
		if one && s.set(p, refOf(m)) != nil {
			out = append(out, m)
		}
	}
	return out
}

// usableSince lists what held does, of what is here since before a moment.
func (s *manifestCache) usableSince(p records.Period, before time.Time) []statement.Manifest {
	var out []statement.Manifest
	for _, m := range s.usable(p) {
		s.mu.Lock()
		old := s.periods[p].since[refOf(m)].Before(before)
		s.mu.Unlock()
		if old {
			out = append(out, m)
		}
	}
	return out
}

// from reports whether a keeper's manifest is known and its set is here.
func (s *manifestCache) from(p records.Period, keeper solana.PublicKey) bool {
	for _, m := range s.manifests(p) {
		if m.Keeper == keeper && s.set(p, refOf(m)) != nil {
			return true
		}
	}
	return false
}

// clear forgets the sets of a period.
func (s *manifestCache) clear(p records.Period) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q, ok := s.periods[p]; ok {
		clear(q.sets)
		clear(q.since)
	}
}

// drop forgets periods before the given one.
func (s *manifestCache) drop(before records.Period) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.periods {
		if p < before {
			delete(s.periods, p)
		}
	}
}

// messages are manifests as they travel.
func manifestMessages(all []statement.Manifest) []messages.Manifest {
	out := make([]messages.Manifest, len(all))
	for i, m := range all {
		out[i] = m.Message()
	}
	return out
}
