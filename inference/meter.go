package inference

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/market"
)

// Usage is what requests of one deployment and one token have used in an hour.
type Usage struct {
	Deployment string `json:"deployment"`
	Token      string `json:"token" doc:"Id of the token; server is the server's own"`
	Hour       int64  `json:"hour" doc:"When it begins"`
	Requests   uint64 `json:"requests"`
	Failed     uint64 `json:"failed,omitempty" doc:"Requests that ended with an error, or that the client broke off"`
	Retried    uint64 `json:"retried,omitempty" doc:"Tries at another replica"`
	Prompt     uint64 `json:"promptTokens"`
	Completion uint64 `json:"completionTokens"`
	// Counted are requests for which the model server reported no tokens.
	Counted   uint64 `json:"countedHere,omitempty" doc:"Requests of which the model server reported no tokens: each piece of a stream is counted as one, and four bytes of a prompt as one"`
	WaitMS    uint64 `json:"waitMilliseconds" doc:"For a replica, all requests together"`
	FirstMS   uint64 `json:"firstTokenMilliseconds" doc:"From the request to the first token, all requests together"`
	TotalMS   uint64 `json:"totalMilliseconds"`
	MicroCost uint64 `json:"-"`
	Cost      string `json:"cost" doc:"USDC: the replicas' prices for the time of the requests, shared by those that a replica answers at once. Time in which a replica answers none is not in it; leases have all of it"`
}

// flushEvery is how often usage is written. A server that is killed loses what it has measured since; what leases cost is on
// chain.
const flushEvery = time.Second

type usageKey struct {
	deployment, token string
	hour              int64
}

func (k usageKey) bytes() []byte {
	return binary.BigEndian.AppendUint64([]byte(k.deployment+"\x00"+k.token+"\x00"), uint64(k.hour))
}

// parseUsageKey reads what bytes has written.
func parseUsageKey(raw []byte) (k usageKey, ok bool) {
	parts := strings.SplitN(string(raw), "\x00", 3)
	if len(parts) != 3 || len(parts[2]) != 8 {
		return k, false
	}
	return usageKey{parts[0], parts[1], int64(binary.BigEndian.Uint64([]byte(parts[2])))}, true
}

// meter adds up usage.
type meter struct {
	store *Store
	mu    sync.Mutex
	sums  map[usageKey]*Usage
	total map[string]spent // by id of the token
}

// newMeter goes on from what is stored.
func newMeter(s *Store) (*meter, error) {
	m := &meter{store: s, sums: map[usageKey]*Usage{}, total: map[string]spent{}}
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketUsage, func(raw []byte, u stored) {
			if key, ok := parseUsageKey(raw); ok {
				m.total[key.token] = m.total[key.token].plus(u.Prompt+u.Completion, u.MicroCost)
			}
		})
	})
	return m, err
}

// spent is the total use of a token.
type spent struct {
	tokens uint64 // of models
	cost   market.USDC
}

func (s spent) plus(tokens, cost uint64) spent {
	return spent{s.tokens + tokens, s.cost + market.USDC(cost)}
}

// used is the total use of a token.
func (m *meter) used(token string) spent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total[token]
}

// measured is what one request has used.
type measured struct {
	prompt, completion uint64
	counted, failed    bool
	retries            int
	wait, first, total time.Duration
	cost               float64 // micro-USDC
}

func (m *meter) add(deployment, token string, x measured) {
	hour := time.Now().UTC().Truncate(time.Hour).Unix()
	m.mu.Lock()
	defer m.mu.Unlock()
	key := usageKey{deployment, token, hour}
	u := m.sums[key]
	if u == nil {
		u = &Usage{}
		m.sums[key] = u
	}
	u.Requests++
	u.Prompt += x.prompt
	u.Completion += x.completion
	cost := uint64(math.Ceil(x.cost))
	m.total[token] = m.total[token].plus(x.prompt+x.completion, cost)
	u.Retried += uint64(x.retries)
	if x.failed {
		u.Failed++
	}
	if x.counted {
		u.Counted++
	}
	u.WaitMS += uint64(x.wait.Milliseconds())
	u.FirstMS += uint64(x.first.Milliseconds())
	u.TotalMS += uint64(x.total.Milliseconds())
	u.MicroCost += cost
}

// run writes now and then, and a last time when ctx ends.
func (m *meter) run(ctx context.Context) error {
	t := time.NewTicker(flushEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return m.flush()
		case <-t.C:
			if err := m.flush(); err != nil {
				return err
			}
		}
	}
}

// stored is Usage as it is kept: with the sum, without what its key says.
type stored struct {
	Usage
	MicroCost uint64 `json:"microCost"`
}

func (m *meter) flush() error {
	m.mu.Lock()
	sums := m.sums
	m.sums = map[usageKey]*Usage{}
	m.mu.Unlock()
	if len(sums) == 0 {
		return nil
	}
	return m.store.db.Update(func(tx *bolt.Tx) error {
		for key, u := range sums {
			var old stored
			err := boltstore.GetJSON(tx, bucketUsage, key.bytes(), &old)
			if err != nil && !errors.Is(err, boltstore.ErrNotFound) {
				return err
			}
			old.plus(u)
			if err := boltstore.PutJSON(tx, bucketUsage, key.bytes(), old); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *stored) plus(u *Usage) {
	s.Requests += u.Requests
	s.Failed += u.Failed
	s.Retried += u.Retried
	s.Prompt += u.Prompt
	s.Completion += u.Completion
	s.Counted += u.Counted
	s.WaitMS += u.WaitMS
	s.FirstMS += u.FirstMS
	s.TotalMS += u.TotalMS
	s.MicroCost += u.MicroCost
}

// Usage of a deployment, also of one that is deleted, in the last hours; the newest first.
func (s *Service) Usage(deployment string, hours int) ([]Usage, error) {
	if err := s.meter.flush(); err != nil {
		return nil, err
	}
	since := time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(hours-1) * time.Hour).Unix()
	out := []Usage{}
	err := s.o.Store.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketUsage, func(raw []byte, u stored) {
			key, ok := parseUsageKey(raw)
			if !ok || key.deployment != deployment || key.hour < since {
				return
			}
			v := u.Usage
			v.Deployment, v.Token, v.Hour = key.deployment, key.token, key.hour
			v.Cost = market.USDC(u.MicroCost).Exact()
			out = append(out, v)
		})
	})
	slices.SortFunc(out, func(a, b Usage) int {
		if a.Hour != b.Hour {
			return int(b.Hour - a.Hour)
		}
		return strings.Compare(a.Token, b.Token)
	})
	return out, err
}
