package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gantry-market/gantry/attest"
)

// Recorder passes collateral on and remembers what was used, to be put into the bundle. It is safe for concurrent use.
type Recorder struct {
	// Sources are asked in order; the first that has a key gives it.
	sources []attest.Collateral

	mu   sync.Mutex
	used map[string][]byte
}

// NewRecorder records what is taken from sources; nil ones are left out.
func NewRecorder(sources ...attest.Collateral) *Recorder {
	r := &Recorder{used: map[string][]byte{}}
	for _, s := range sources {
		if s != nil {
			r.sources = append(r.sources, s)
		}
	}
	return r
}

// Get implements [attest.Collateral]. What was given once is given again, whatever the sources say later.
func (r *Recorder) Get(key string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if data, ok := r.used[key]; ok {
		return bytes.Clone(data), nil
	}
	for _, s := range r.sources {
		data, err := s.Get(key)
		if errors.Is(err, attest.ErrNoCollateral) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r.used[key] = bytes.Clone(data)
		return data, nil
	}
	return nil, fmt.Errorf("%q: %w", key, attest.ErrNoCollateral)
}

// Used returns what was given so far, in the order of the format.
func (r *Recorder) Used() []Collateral {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Collateral, 0, len(r.used))
	for key, data := range r.used {
		out = append(out, Collateral{key, bytes.Clone(data)})
	}
	slices.SortFunc(out, func(x, y Collateral) int { return cmp.Compare(x.Key, y.Key) })
	return out
}
