package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
)

// HistoryOptions configure a History. RPC is required.
type HistoryOptions struct {
	// RPC is the node's URL.
	RPC string
	// Programs are those whose accounts are recorded, all of them. An account of any other owner is recorded from the
	// first request for it on; until then its present state is shown.
	Programs []solana.PublicKey
	// Every is the time between two looks at the node, default 400 ms.
	Every time.Duration
	// Keep is how far back the history reaches, default 2 minutes.
	Keep time.Duration
}

const (
	historyEvery = 400 * time.Millisecond
	historyKeep  = 2 * time.Minute
	// askedFor is how long an account is recorded after the last request for it.
	askedFor = 5 * time.Minute
	// perRead is a node's limit of accounts in a read.
	perRead = 100
)

// History is what a node has shown for some time, so that proxies can show it as it was. Its methods may be called from
// several goroutines.
type History struct {
	o      HistoryOptions
	node   *upstream
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	moments []*moment // oldest first, never empty
	singles map[string]time.Time
	err     error // of the last look
}

// Record looks at a node until Close. It returns after the first look.
func Record(ctx context.Context, o HistoryOptions) (*History, error) {
	if o.Every <= 0 {
		o.Every = historyEvery
	}
	if o.Keep <= 0 {
		o.Keep = historyKeep
	}
	h := &History{o: o, node: newUpstream(o.RPC), singles: map[string]time.Time{}}
	h.want(solana.SysVarClockPubkey.String())
	if err := h.look(ctx); err != nil {
		h.node.close()
		return nil, err
	}
	ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.wg.Go(func() { h.run(ctx) })
	return h, nil
}

// Close ends the recording.
func (h *History) Close() {
	h.cancel()
	h.wg.Wait()
	h.node.close()
}

// Err is why the last look at the node failed, nil if it did not.
func (h *History) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

func (h *History) run(ctx context.Context) {
	tick := time.NewTicker(h.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := h.look(ctx)
		h.mu.Lock()
		h.err = err
		h.mu.Unlock()
	}
}

// want has a single account recorded for some time.
func (h *History) want(keys ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range keys {
		h.singles[k] = time.Now()
	}
}

// wanted lists the single accounts to look at.
func (h *History) wanted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	clock := solana.SysVarClockPubkey.String()
	maps.DeleteFunc(h.singles, func(k string, asked time.Time) bool { return k != clock && time.Since(asked) > askedFor })
	return slices.Sorted(maps.Keys(h.singles))
}

// at is the newest moment that is as old as this, the oldest if all are newer.
func (h *History) at(t time.Time) *moment {
	return h.newest(func(m *moment) bool { return !m.taken.After(t) })
}

// upTo is the newest moment whose accounts are of this slot at most, the oldest if all are of later ones.
func (h *History) upTo(slot uint64) *moment {
	return h.newest(func(m *moment) bool { return m.slot <= slot })
}

func (h *History) newest(fits func(*moment) bool) *moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range slices.Backward(h.moments) {
		if fits(m) {
			return m
		}
	}
	return h.moments[0]
}

// look reads all that is recorded, the slots last: so that no account is newer than them.
func (h *History) look(ctx context.Context) error {
	m := &moment{taken: time.Now(), slot: ^uint64(0), programs: map[string]map[string]*account{}, singles: map[string]*account{}}
	before := h.last()
	for _, p := range h.o.Programs {
		if err := h.lookAtProgram(ctx, m, before, p.String()); err != nil {
			return err
		}
	}
	for keys := range slices.Chunk(h.wanted(), perRead) {
		if err := h.lookAtSingles(ctx, m, before, keys); err != nil {
			return err
		}
	}
	for i, level := range levels {
		conf := map[string]string{"commitment": level}
		if err := h.node.call(ctx, &m.hash[i], "getLatestBlockhash", conf); err != nil {
			return err
		}
		if err := h.node.call(ctx, &m.height[i], "getBlockHeight", conf); err != nil {
			return err
		}
		if err := h.node.call(ctx, &m.slots[i], "getSlot", conf); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moments = append(h.moments, m)
	for len(h.moments) > 1 && time.Since(h.moments[1].taken) > h.o.Keep {
		h.moments = h.moments[1:]
	}
	return nil
}

func (h *History) last() *moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.moments) == 0 {
		return &moment{}
	}
	return h.moments[len(h.moments)-1]
}

// recorded are the parameters of what is recorded.
var recorded = map[string]any{"encoding": "base64", "commitment": confirmed, "withContext": true}

func (h *History) lookAtProgram(ctx context.Context, m, before *moment, program string) error {
	var got struct {
		Context slotContext `json:"context"`
		Value   []struct {
			Pubkey  string          `json:"pubkey"`
			Account json.RawMessage `json:"account"`
		} `json:"value"`
	}
	if err := h.node.call(ctx, &got, "getProgramAccounts", program, recorded); err != nil {
		return err
	}
	all := make(map[string]*account, len(got.Value))
	for _, v := range got.Value {
		a, err := newAccount(v.Account, before.programs[program][v.Pubkey])
		if err != nil {
			return fmt.Errorf("account %s: %w", v.Pubkey, err)
		}
		all[v.Pubkey] = a
	}
	m.programs[program] = all
	m.slot = min(m.slot, got.Context.Slot)
	return nil
}

func (h *History) lookAtSingles(ctx context.Context, m, before *moment, keys []string) error {
	var got struct {
		Context slotContext       `json:"context"`
		Value   []json.RawMessage `json:"value"`
	}
	if err := h.node.call(ctx, &got, "getMultipleAccounts", keys, map[string]any{"encoding": "base64", "commitment": confirmed}); err != nil {
		return err
	}
	if len(got.Value) != len(keys) {
		return fmt.Errorf("getMultipleAccounts: %d answers to %d keys", len(got.Value), len(keys))
	}
	for i, raw := range got.Value {
		a, err := newAccount(raw, before.singles[keys[i]])
		if err != nil {
			return fmt.Errorf("account %s: %w", keys[i], err)
		}
		m.singles[keys[i]] = a
	}
	m.slot = min(m.slot, got.Context.Slot)
	return nil
}

// upstream is the real node.
type upstream struct {
	url    string
	client *http.Client
}

func newUpstream(url string) *upstream {
	return &upstream{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

func (u *upstream) close() { u.client.CloseIdleConnections() }

// post passes a body on.
func (u *upstream) post(ctx context.Context, method string, body []byte) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, method, u.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header.Set("Content-Type", "application/json")
	return u.client.Do(out)
}

// lookTimeout bounds one question of the proxy's own.
const lookTimeout = 10 * time.Second

// call asks the node on the proxy's own behalf. Errors: *refusal, those of the connection.
func (u *upstream) call(ctx context.Context, into any, method string, params ...any) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	res, err := u.post(ctx, http.MethodPost, body)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer res.Body.Close()
	var a struct {
		Result json.RawMessage `json:"result"`
		Error  *refusal        `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return fmt.Errorf("%s: status %d: %w", method, res.StatusCode, err)
	}
	if a.Error != nil {
		return fmt.Errorf("%s: the node refuses: %w", method, a.Error)
	}
	if err := json.Unmarshal(a.Result, into); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}
