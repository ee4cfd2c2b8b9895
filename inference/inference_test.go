package inference

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// The first request begins a replica and waits for it; when no one asks for a while, its lease ends.
func TestFromZeroAndBack(t *testing.T) {
	c := newCompute(t)
	w := start(t, c)
	w.create(spec("small", nil))
	bought, _ := c.count()
	require.Zero(t, bought)
	status, text, header := w.chat("small", "hello", true, 3)
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, "text/event-stream", header.Get("Content-Type"))
	require.Empty(t, header.Get("Set-Cookie"))
	require.Contains(t, text, `"content":"w2 "`)
	require.True(t, strings.HasSuffix(text, "data: [DONE]\n\n"), text)
	require.Eventually(t, func() bool { _, stopped := c.count(); return stopped == 1 }, time.Minute, 10*time.Millisecond)
	require.Empty(t, w.serving("small", 0).Replicas)
	status, _, _ = w.chat("small", "hello", false, 3)
	require.Equal(t, http.StatusOK, status)
	bought, _ = c.count()
	require.Equal(t, 2, bought)
	require.Equal(t, `{"secret":"hunter2"}`, c.orders[0])
}

// What goes to a replica has neither the client's token nor its cookies; what comes back has usage only where it was asked for,
// and is measured either way.
func TestWhatGoesOnAndWhatIsMeasured(t *testing.T) {
	for _, reports := range []bool{true, false} {
		c := newCompute(t)
		c.usage = reports
		w := start(t, c)
		w.create(spec("small", func(s *Spec) { s.Min = 1 }))
		w.serving("small", 1)
		_, text, _ := w.chat("small", "hello", true, 4)
		require.NotContains(t, text, "prompt_tokens")
		m := c.server("lease-0")
		m.mu.Lock()
		require.Empty(t, m.last.Get("Authorization"))
		require.Empty(t, m.last.Get("Cookie"))
		require.Equal(t, "upstream/model", m.lastBody["model"])
		require.Equal(t, map[string]any{"include_usage": true}, m.lastBody["stream_options"])
		m.mu.Unlock()
		res, err := w.post("/chat/completions", w.token, map[string]any{
			"model": "small", "stream": true, "stream_options": map[string]any{"include_usage": true}, "max_tokens": 4, "messages": []any{},
		})
		require.NoError(t, err)
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, reports, strings.Contains(string(raw), "prompt_tokens"))
		_, _, _ = w.chat("small", "hello", false, 2)
		var u Usage
		require.Eventually(t, func() bool { u = w.used("small"); return u.Requests == 3 }, time.Minute, 10*time.Millisecond)
		require.Zero(t, u.Failed)
		require.NotEqual(t, "0.000000", u.Cost)
		if reports {
			require.EqualValues(t, 7+7+5, u.Prompt)
			require.EqualValues(t, 4+4+2, u.Completion)
			require.Zero(t, u.Counted)
		} else {
			require.EqualValues(t, 3, u.Counted)
			require.EqualValues(t, 4+4+3, u.Completion, "pieces of streams, and four bytes of an answer")
			require.NotZero(t, u.Prompt)
		}
		w.end()
		require.NotContains(t, w.log.String(), w.token)
		require.NotContains(t, w.log.String(), "hunter2")
		require.NotContains(t, w.log.String(), "hello")
	}
}

// A replica that is killed while it is idle, or before its first token, fails no request while another one serves; and it is
// replaced.
func TestAKilledReplicaFailsNoRequest(t *testing.T) {
	for _, stream := range []bool{true, false} {
		held := make(chan struct{})
		c := newCompute(t)
		c.prepare = func(n int, m *modelServer) {
			if n == 0 {
				m.before = held
			}
		}
		w := start(t, c)
		w.create(spec("small", func(s *Spec) { s.Min, s.Max, s.Concurrency, s.Idle = 2, 2, 64, time.Minute }))
		w.serving("small", 2)

		// Requests wait for their first token at the first replica when it is killed.
		const n = 20
		answers := make(chan string, n)
		for i := range n {
			go func() {
				status, text, _ := w.chat("small", fmt.Sprint("question ", i), stream, 3)
				answers <- fmt.Sprint(status, " ", text)
			}()
		}
		first := c.server("lease-0")
		<-first.arrived
		first.kill()
		for range n {
			require.Contains(t, <-answers, "200 ")
		}
		// The dead one is idle from now on, and no request fails although it was not replaced yet.
		for i := range n {
			status, text, _ := w.chat("small", fmt.Sprint("again ", i), stream, 3)
			require.Equal(t, http.StatusOK, status, text)
		}
		st := w.serving("small", 2)
		require.EqualValues(t, 2, st.Replicas[1].ID, "it was replaced")
		bought, stopped := c.count()
		require.Equal(t, 3, bought)
		require.Equal(t, 1, stopped)

		// One that is killed while it is idle, with kept connections to it.
		c.server("lease-1").kill()
		for i := range n {
			status, text, _ := w.chat("small", fmt.Sprint("idle ", i), stream, 3)
			require.Equal(t, http.StatusOK, status, text)
		}
		w.end()
	}
}

// A request may take longer than its server's deadlines: until its first token, and between two.
func TestLongRequests(t *testing.T) {
	c := newCompute(t)
	c.prepare = func(_ int, m *modelServer) { m.before, m.after = make(chan struct{}), make(chan struct{}) }
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min = 1 }))
	w.serving("small", 1)
	m := c.server("lease-0")
	for _, stream := range []bool{true, false} {
		go func() {
			<-m.arrived
			time.Sleep(700 * time.Millisecond)
			m.before <- struct{}{}
			if stream {
				time.Sleep(700 * time.Millisecond)
				m.after <- struct{}{}
			}
		}()
		status, text, _ := w.chat("small", "hello", stream, 3)
		require.Equal(t, http.StatusOK, status, text)
		require.Equal(t, stream, strings.Contains(text, "[DONE]"), text)
	}
	require.EqualValues(t, 2, m.got.Load(), "none was sent again")
}

// A stream that breaks behind its first token is not begun again: the client is told.
func TestABrokenStreamIsTold(t *testing.T) {
	c := newCompute(t)
	c.prepare = func(_ int, m *modelServer) { m.after = make(chan struct{}) }
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min, s.Max = 2, 2 }))
	w.serving("small", 2)
	answer := make(chan string, 1)
	go func() { _, text, _ := w.chat("small", "hello", true, 3); answer <- text }()
	for _, lease := range []string{"lease-0", "lease-1"} {
		m := c.server(lease)
		go func() { <-m.arrived; time.Sleep(100 * time.Millisecond); m.kill() }()
	}
	text := <-answer
	require.Contains(t, text, "w0 ")
	require.Contains(t, text, `"code":"replica_lost"`)
	require.NotContains(t, text, "[DONE]")
	require.Eventually(t, func() bool { return w.used("small").Failed == 1 }, time.Minute, 10*time.Millisecond)
	require.EqualValues(t, 1, w.used("small").Completion)
}

// A server that is started again goes on with its leases and buys nothing twice, also where it ended within a purchase.
func TestARestartBuysNothingTwice(t *testing.T) {
	c := newCompute(t)
	path := filepath.Join(t.TempDir(), "inference.db")
	w := open(t, path, c)
	w.create(spec("small", func(s *Spec) { s.Min, s.Max, s.Idle = 1, 3, time.Minute }))
	w.serving("small", 1)
	c.mu.Lock()
	c.hold = make(chan struct{})
	c.mu.Unlock()
	w.create(spec("other", func(s *Spec) { s.Min = 1 }))
	<-c.asked
	name := <-c.asked
	require.Contains(t, name, "inference/other/")
	w.end()
	bought, stopped := c.count()
	require.Equal(t, []int{1, 0}, []int{bought, stopped}, "the end of a server ends no lease")

	c.mu.Lock()
	close(c.hold)
	c.hold = nil
	c.mu.Unlock()
	w = open(t, path, c)
	w.serving("small", 1)
	w.serving("other", 1)
	require.Equal(t, name, <-c.asked, "the same purchase goes on")
	bought, stopped = c.count()
	require.Equal(t, []int{2, 0}, []int{bought, stopped})
	status, text, _ := w.chat("small", "hello", true, 3)
	require.Equal(t, http.StatusOK, status, text)

	// Deleted, and ended before its lease could be: the next one does it.
	_, err := w.Delete("small")
	require.NoError(t, err)
	w.end()
	w = open(t, path, c)
	require.Eventually(t, func() bool { _, _, err := w.Deployment("small"); return errors.Is(err, ErrNotFound) }, time.Minute, 10*time.Millisecond)
	_, stopped = c.count()
	require.Equal(t, 1, stopped)
	_, replicas, err := w.store.all()
	require.NoError(t, err)
	require.Empty(t, replicas["small"])
}

// A lease that ends is replaced; one that ends soon and cannot be extended is replaced before it does.
func TestLeasesAreReplaced(t *testing.T) {
	c := newCompute(t)
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min = 1 }))
	w.serving("small", 1)
	c.mu.Lock()
	c.over["lease-0"] = true
	c.mu.Unlock()
	has := func(id uint64) func() bool {
		return func() bool {
			st, _, _ := w.Deployment("small")
			return len(st.Replicas) == 1 && st.Replicas[0].ID == id && st.Serving == 1
		}
	}
	require.Eventually(t, has(1), time.Minute, 10*time.Millisecond)
	c.mu.Lock()
	c.stingy, c.until["lease-1"] = true, time.Now().Add(3*time.Second)
	c.mu.Unlock()
	require.Eventually(t, has(2), time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, strings.Count(w.log.String(), "0.10 USDC needed, 0.00 free"), "it is said once")
	c.mu.Lock()
	defer c.mu.Unlock()
	require.False(t, c.over["lease-2"])
	require.True(t, time.Now().Before(c.until["lease-1"]), "before the money has ended")
}

// A lease that nears its end is extended, once, and its replica stays.
func TestLeasesAreExtended(t *testing.T) {
	c := newCompute(t)
	c.paid = 5 * time.Second // of an hour's lease: it is replaced 4 s before its end, and extended 8 s before
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min = 1 }))
	require.Eventually(t, func() bool {
		st, _, _ := w.Deployment("small")
		return len(st.Replicas) == 1 && st.Replicas[0].Until > time.Now().Add(50*time.Minute).Unix()
	}, time.Minute, 10*time.Millisecond)
	time.Sleep(300 * time.Millisecond) // it is looked at every 50 ms
	st := w.serving("small", 1)
	require.EqualValues(t, 0, st.Replicas[0].ID)
	bought, stopped := c.count()
	require.Equal(t, []int{1, 0}, []int{bought, stopped})
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Len(t, c.extended, 1)
}

// A model server that never serves ends, and the next one waits longer each time. Who asks is told why.
func TestWhatNeverServesDoesNotCostALeaseAMinute(t *testing.T) {
	c := newCompute(t)
	c.prepare = func(_ int, m *modelServer) { m.sick.Store(true) }
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min, s.Deadline, s.Wait = 1, 50*time.Millisecond, time.Second }))
	require.Eventually(t, func() bool { _, stopped := c.count(); return stopped >= 3 }, 30*time.Second, 10*time.Millisecond)
	st, _, err := w.Deployment("small")
	require.NoError(t, err)
	require.Contains(t, st.Reason, "/health answers 503")
	d, err := w.named("small")
	require.NoError(t, err)
	d.mu.Lock()
	failures := d.failures
	d.mu.Unlock()
	require.GreaterOrEqual(t, failures, 3)
	began := time.Now()
	status, text, header := w.chat("small", "hello", true, 3)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "10", header.Get("Retry-After"))
	require.Contains(t, text, "/health answers 503")
	require.Less(t, time.Since(began), 4*time.Second)
}

// A replica that does not serve is asked as often as any other.
func TestASickReplicaIsNotAskedWithoutAPause(t *testing.T) {
	c := newCompute(t)
	c.prepare = func(_ int, m *modelServer) { m.sick.Store(true) }
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min, s.Max, s.Deadline = 1, 1, time.Minute }))
	require.Eventually(t, func() bool { m := c.server("lease-0"); return m != nil && m.checked.Load() > 3 }, time.Minute, 5*time.Millisecond)
	before := c.server("lease-0").checked.Load()
	time.Sleep(time.Second)
	require.Less(t, c.server("lease-0").checked.Load()-before, int64(60), "every 30 ms")
}

// A replica whose machine hangs delays a request for a while, and fails none.
func TestAReplicaThatIsNotReached(t *testing.T) {
	c := newCompute(t)
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min, s.Max, s.Concurrency, s.Idle = 2, 2, 16, time.Minute }))
	w.serving("small", 2)
	c.server("lease-0").kill()
	c.server("lease-0").unreached.Store(true)
	began := time.Now()
	for i := range 8 {
		status, text, _ := w.chat("small", fmt.Sprint("question ", i), true, 2)
		require.Equal(t, http.StatusOK, status, text)
	}
	require.Less(t, time.Since(began), 2*dialWithin)
}

// A purchase that the market refuses is tried again under its own name, and a deployment that is deleted meanwhile leaves
// nothing.
func TestARefusedPurchase(t *testing.T) {
	c := newCompute(t)
	c.refuse = errors.New("no node fits")
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min = 1 }))
	first := <-c.asked
	require.Equal(t, first, <-c.asked)
	require.Eventually(t, func() bool {
		st, _, _ := w.Deployment("small")
		return len(st.Replicas) == 1 && st.Replicas[0].Reason == "no node fits"
	}, time.Minute, time.Millisecond)
	_, err := w.Delete("small")
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, _, err := w.Deployment("small"); return errors.Is(err, ErrNotFound) }, time.Minute, time.Millisecond)

	// Created again under the same name, it goes on with no purchase of the one before.
	c.mu.Lock()
	c.refuse = nil
	c.mu.Unlock()
	w.create(spec("small", func(s *Spec) { s.Min = 1 }))
	w.serving("small", 1)
	for name := range c.bought {
		require.NotEqual(t, first, name)
	}
}

// More requests than a replica answers at once wait, and more replicas begin.
func TestScalesByQueue(t *testing.T) {
	held := make(chan struct{})
	c := newCompute(t)
	c.prepare = func(_ int, m *modelServer) { m.before = held }
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Max, s.Concurrency, s.Wait = 3, 2, 30*time.Second }))
	var all sync.WaitGroup
	results := make(chan int, 12)
	for i := range 12 {
		all.Go(func() { status, _, _ := w.chat("small", fmt.Sprint(i), true, 2); results <- status })
	}
	require.Eventually(t, func() bool {
		st, _, _ := w.Deployment("small")
		return st.Active == 6 && st.Waiting == 6 && st.Serving == 3
	}, 20*time.Second, 5*time.Millisecond)
	close(held)
	all.Wait()
	for range 12 {
		require.Equal(t, http.StatusOK, <-results)
	}
	bought, _ := c.count()
	require.Equal(t, 3, bought)
	require.Eventually(t, func() bool { _, stopped := c.count(); return stopped == 3 }, 20*time.Second, 10*time.Millisecond)
}

// An overloaded replica's answer is not the client's while another one answers.
func TestABusyReplicaIsPassed(t *testing.T) {
	c := newCompute(t)
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min = 2 }))
	w.serving("small", 2)
	c.server("lease-0").status.Store(http.StatusTooManyRequests)
	for i := range 10 {
		status, text, _ := w.chat("small", fmt.Sprint(i), true, 2)
		require.Equal(t, http.StatusOK, status, text)
	}
	c.server("lease-1").status.Store(http.StatusTooManyRequests)
	status, text, _ := w.chat("small", "x", true, 2)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, text, "busy")
	w.serving("small", 2)
	c.server("lease-1").status.Store(http.StatusBadRequest)
	got := c.server("lease-0").got.Load() + c.server("lease-1").got.Load()
	status, _, _ = w.chat("small", "y", true, 2)
	require.Contains(t, []int{http.StatusBadRequest, http.StatusTooManyRequests}, status)
	require.LessOrEqual(t, c.server("lease-0").got.Load()+c.server("lease-1").got.Load(), got+2)
}

// Conversations stay with the replica that has seen their beginning.
func TestPrefixAffinity(t *testing.T) {
	c := newCompute(t)
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min, s.Max, s.Concurrency = 2, 2, 16 }))
	w.serving("small", 2)
	used := map[int64]bool{}
	for i := range 12 {
		var at [2]int64
		for turn := range 4 {
			messages := []any{map[string]any{"role": "system", "content": "be brief"}, map[string]any{"role": "user", "content": fmt.Sprint("question ", i)}}
			for range turn {
				messages = append(messages, map[string]any{"role": "assistant", "content": "yes"}, map[string]any{"role": "user", "content": "and?"})
			}
			before := c.server("lease-0").got.Load()
			res, err := w.post("/chat/completions", w.token, map[string]any{"model": "small", "messages": messages})
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, res.Body)
			require.NoError(t, res.Body.Close())
			at[c.server("lease-0").got.Load()-before]++
		}
		require.Contains(t, at, int64(4), "conversation %d: %v", i, at)
		used[at[0]] = true
	}
	require.Len(t, used, 2, "both replicas are used")
}

func TestRequestsThatAreRefused(t *testing.T) {
	c := newCompute(t)
	w := start(t, c)
	w.create(spec("small", func(s *Spec) { s.Min, s.Wait = 1, time.Second }))
	w.create(spec("other", nil))
	_, narrow, err := w.store.NewToken(Token{Name: "narrow", Deployments: []string{"other"}})
	require.NoError(t, err)
	w.serving("small", 1)
	chat := map[string]any{"model": "small", "messages": []any{}}
	for what, x := range map[string]struct {
		path, token string
		body        map[string]any
		status      int
		code        string
	}{
		"no token":      {"/chat/completions", "", chat, 401, "invalid_api_key"},
		"another token": {"/chat/completions", w.token + "x", chat, 401, "invalid_api_key"},
		"another scope": {"/chat/completions", narrow, chat, 404, "model_not_found"},
		"no model":      {"/chat/completions", w.token, map[string]any{}, 400, "model is missing"},
		"unknown model": {"/chat/completions", w.token, map[string]any{"model": "x"}, 404, "model_not_found"},
		"stream":        {"/chat/completions", w.token, map[string]any{"model": "small", "stream": "yes"}, 400, "stream is not"},
		"streamed":      {"/embeddings", w.token, map[string]any{"model": "small", "stream": true}, 400, "cannot be streamed"},
		"another path":  {"/images/edits", w.token, chat, 404, "there is no POST"},
		"too large":     {"/completions", w.token, map[string]any{"model": "small", "prompt": strings.Repeat("x", maxBody)}, 413, "more than"},
		"the server's":  {"/chat/completions", "the server's", chat, 200, "word"},
		"an embedding":  {"/embeddings", w.token, map[string]any{"model": "small", "input": "x"}, 200, "word"},
		"a completion":  {"/completions", w.token, map[string]any{"model": "small", "prompt": "x"}, 200, "word"},
	} {
		res, err := w.post(x.path, x.token, x.body)
		require.NoError(t, err, what)
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err, what)
		require.NoError(t, res.Body.Close())
		require.Equal(t, x.status, res.StatusCode, "%s: %s", what, raw)
		require.Contains(t, string(raw), x.code, what)
	}
	get := func(path, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(raw)
	}
	_, text := get("/models", w.token)
	var list struct{ Data []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	require.Len(t, list.Data, 2)
	_, text = get("/models", narrow)
	require.NotContains(t, text, "small")
	status, _ := get("/models/small", narrow)
	require.Equal(t, 404, status)
	status, _ = get("/models/other", narrow)
	require.Equal(t, 200, status)
}

// A token with a budget is answered until it has used it, also by a server that is started again.
func TestATokenHasABudget(t *testing.T) {
	c := newCompute(t)
	c.usage = true
	path := filepath.Join(t.TempDir(), "inference.db")
	w := open(t, path, c)
	w.create(spec("small", func(s *Spec) { s.Min = 1 }))
	w.serving("small", 1)
	token, text, err := w.NewToken(Token{Name: "bounded", MaxTokens: 20})
	require.NoError(t, err)
	ask := func() (int, string) {
		res, err := w.post("/chat/completions", text, map[string]any{"model": "small", "messages": []any{}, "max_tokens": 5})
		require.NoError(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(raw)
	}
	for i := range 2 { // of ten tokens each
		status, answer := ask()
		require.Equal(t, http.StatusOK, status, answer)
		require.Eventually(t, func() bool { return w.meter.used(token.ID).tokens == uint64(10*(i+1)) }, time.Minute, time.Millisecond)
	}
	status, answer := ask()
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, answer, `"code":"insufficient_quota"`)
	require.Contains(t, answer, "20 of its 20 tokens")
	w.end()
	w = open(t, path, c)
	w.serving("small", 1)
	status, _ = ask()
	require.Equal(t, http.StatusTooManyRequests, status)
	status, answer, _ = w.chat("small", "x", true, 2) // with another token
	require.Equal(t, http.StatusOK, status, answer)

	// A budget of money: one request costs more.
	token, text, err = w.NewToken(Token{Name: "poor", MaxCost: "0.000001"})
	require.NoError(t, err)
	status, answer = ask()
	require.Equal(t, http.StatusOK, status, answer)
	require.Eventually(t, func() bool { return w.meter.used(token.ID).cost > 0 }, time.Minute, time.Millisecond)
	status, answer = ask()
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, answer, "of its 0.000001 USDC")
	_, _, err = w.NewToken(Token{MaxCost: "much"})
	require.ErrorIs(t, err, market.ErrAmount)
}

func TestDeploymentsAreCreatedOnce(t *testing.T) {
	w := start(t, newCompute(t))
	w.create(spec("small", nil))
	_, fresh, err := w.Create(spec("small", nil))
	require.NoError(t, err)
	require.False(t, fresh)
	_, _, err = w.Create(spec("small", func(s *Spec) { s.Max = 3 }))
	require.ErrorIs(t, err, ErrExists)
	for what, change := range map[string]func(*Spec){
		"a name":         func(s *Spec) { s.Name = "../x" },
		"no replica":     func(s *Spec) { s.Max = 0 },
		"more than most": func(s *Spec) { s.Min = 3 },
		"too many":       func(s *Spec) { s.Max = maxReplicas + 1 },
		"concurrency":    func(s *Spec) { s.Concurrency = 0 },
		"idle":           func(s *Spec) { s.Idle = 0 },
		"no port":        func(s *Spec) { s.Port = 0 },
		"no order":       func(s *Spec) { s.Order = nil },
	} {
		_, _, err := w.Create(spec("new", change))
		require.ErrorIs(t, err, ErrSpec, what)
	}
	_, err = w.Delete("none")
	require.ErrorIs(t, err, ErrNotFound)
}

func TestTokensAreKeptAsHashes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inference.db")
	s := openStore(t, path)
	token, text, err := s.NewToken(Token{Name: "app", Deployments: []string{"small"}})
	require.NoError(t, err)
	found, err := s.Token(text)
	require.NoError(t, err)
	require.Equal(t, token.ID, found.ID)
	require.True(t, found.Admits("small"))
	require.False(t, found.Admits("other"))
	all, err := s.Tokens()
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, s.RemoveToken(token.ID))
	require.ErrorIs(t, s.RemoveToken(token.ID), ErrNotFound)
	_, err = s.Token(text)
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, s.Close())
	require.NotContains(t, readFile(t, path), text)
}
