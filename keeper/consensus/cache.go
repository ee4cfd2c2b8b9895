package consensus

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/records"
)

// manifestCache holds the keepers' verified manifests and the sets of statements that they are of, by period: for
// ourselves and for peers that ask. It is safe for concurrent use.
type manifestCache struct {
	mu      sync.Mutex
	periods map[records.Period]*periodCache
}

type periodCache struct {
	manifests map[report.Ref]statement.Manifest
	count     map[solana.PublicKey]int // of manifests, by keeper; more than one: the keeper equivocates
	sets      map[report.Ref][]byte
	since     map[report.Ref]time.Time // when a set came in
}

// maxManifests of one keeper and period: the honest have one.
const maxManifests = 3

func (c *manifestCache) period(p records.Period) *periodCache {
	if c.periods == nil {
		c.periods = map[records.Period]*periodCache{}
	}
	q, ok := c.periods[p]
	if !ok {
		q = &periodCache{map[report.Ref]statement.Manifest{}, map[solana.PublicKey]int{}, map[report.Ref][]byte{}, map[report.Ref]time.Time{}}
		c.periods[p] = q
	}
	return q
}

func refOf(m statement.Manifest) report.Ref { return report.Ref{Keeper: m.Keeper, Digest: m.Digest} }

// addManifest keeps a verified manifest. fresh: it was not known; equivocates: its keeper has signed another one, too.
func (c *manifestCache) addManifest(m statement.Manifest) (fresh, equivocates bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.period(m.Period)
	if _, ok := q.manifests[refOf(m)]; ok || q.count[m.Keeper] >= maxManifests {
		return false, q.count[m.Keeper] > 1
	}
	q.manifests[refOf(m)] = m
	q.count[m.Keeper]++
	return true, q.count[m.Keeper] > 1
}

// contradicting returns a manifest that a keeper has signed besides this one, of the same period; of several, that with
// the lowest digest.
func (c *manifestCache) contradicting(m statement.Manifest) (found statement.Manifest, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, known := c.periods[m.Period]
	if !known || q.count[m.Keeper] == 0 {
		return found, false
	}
	if old, held := q.manifests[refOf(m)]; held && q.count[m.Keeper] == 1 {
		return old, old.Contradicts(m)
	}
	for _, old := range q.manifests {
		if old.Contradicts(m) && (!ok || bytes.Compare(old.Digest[:], found.Digest[:]) < 0) {
			found, ok = old, true
		}
	}
	return found, ok
}

// hasManifest reports whether exactly this manifest was verified before.
func (c *manifestCache) hasManifest(m statement.Manifest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, ok := c.periods[m.Period]
	return ok && q.manifests[refOf(m)] == m
}

// putSet keeps a set that its manifest covers.
func (c *manifestCache) putSet(m statement.Manifest, raw []byte, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if raw == nil {
		raw = []byte{} // a keeper without statements
	}
	q := c.period(m.Period)
	q.sets[refOf(m)] = raw
	if _, ok := q.since[refOf(m)]; !ok {
		q.since[refOf(m)] = now
	}
}

// set returns a set; nil when it is not held.
func (c *manifestCache) set(p records.Period, r report.Ref) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, ok := c.periods[p]; ok {
		return q.sets[r]
	}
	return nil
}

// byDigest returns a set whosever it is, for peers that know it by its digest.
func (c *manifestCache) byDigest(p records.Period, digest [32]byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, ok := c.periods[p]; ok {
		for r, raw := range q.sets {
			if r.Digest == digest {
				return raw
			}
		}
	}
	return nil
}

// manifests lists what is known of a period, in one order.
func (c *manifestCache) manifests(p records.Period) []statement.Manifest {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, ok := c.periods[p]
	if !ok {
		return nil
	}
	out := make([]statement.Manifest, 0, len(q.manifests))
	for _, m := range q.manifests {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b statement.Manifest) int {
		if order := bytes.Compare(a.Keeper[:], b.Keeper[:]); order != 0 {
			return order
		}
		return bytes.Compare(a.Digest[:], b.Digest[:])
	})
	return out
}

// missing lists the manifests whose set is not here.
func (c *manifestCache) missing(p records.Period) []statement.Manifest {
	var out []statement.Manifest
	for _, m := range c.manifests(p) {
		if c.set(p, refOf(m)) == nil {
			out = append(out, m)
		}
	}
	return out
}

// usable lists the manifests that a proposal may name: of keepers that signed one only, and whose set is here.
func (c *manifestCache) usable(p records.Period) []statement.Manifest {
	var out []statement.Manifest
	for _, m := range c.manifests(p) {
		c.mu.Lock()
		one := c.periods[p].count[m.Keeper] == 1
		c.mu.Unlock()
		if one && c.set(p, refOf(m)) != nil {
			out = append(out, m)
		}
	}
	return out
}

// usableSince lists the usable manifests whose set came in before a moment.
func (c *manifestCache) usableSince(p records.Period, before time.Time) []statement.Manifest {
	var out []statement.Manifest
	for _, m := range c.usable(p) {
		c.mu.Lock()
		old := c.periods[p].since[refOf(m)].Before(before)
		c.mu.Unlock()
		if old {
			out = append(out, m)
		}
	}
	return out
}

// hasSetOf reports whether a set of a keeper's statements is here.
func (c *manifestCache) hasSetOf(p records.Period, keeper solana.PublicKey) bool {
	for _, m := range c.manifests(p) {
		if m.Keeper == keeper && c.set(p, refOf(m)) != nil {
			return true
		}
	}
	return false
}

// clear forgets the sets of a period.
func (c *manifestCache) clear(p records.Period) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, ok := c.periods[p]; ok {
		clear(q.sets)
		clear(q.since)
	}
}

// drop forgets periods before the given one.
func (c *manifestCache) drop(before records.Period) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.periods {
		if p < before {
			delete(c.periods, p)
		}
	}
}
