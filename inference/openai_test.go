package inference

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/child"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/sdk/market"
)

// processes sells leases of programs of this machine, which take the flags of llama.cpp's server.
type processes struct {
	t       *testing.T
	program []string
	env     []string

	mu     sync.Mutex
	leases map[string]*process
}

type process struct {
	cmd  *exec.Cmd
	wait func() error
	port string
	over bool
}

// kill ends it as a fault of its machine does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.wait()
}

func (p *processes) Buy(_ context.Context, name string, order json.RawMessage) (string, error) {
	if string(order) == `"none"` {
		return "", errors.New("no node fits")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		return "", err
	}
	args := append(slices.Clone(p.program[1:]), "-hf", "upstream/model", "--host", "127.0.0.1", "--port", port, "--ctx-size", "8192", "--parallel", "4", "--n-gpu-layers", "0")
	if len(p.env) > 0 {
		args = append(args, "--embeddings", "--pooling", "mean")
	}
	cmd := exec.Command(p.program[0], args...)
	cmd.Env = append(os.Environ(), p.env...)
	wait, err := child.Start(cmd)
	if err != nil {
		return "", err
	}
	started := &process{cmd: cmd, wait: wait, port: port}
	p.t.Cleanup(started.kill)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leases[name] = started
	return name, nil
}

func (p *processes) Abandon(ctx context.Context, name string) error { return p.Stop(ctx, name) }

func (p *processes) Stop(_ context.Context, lease string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.leases[lease]; l != nil && !l.over {
		l.over = true
		l.kill()
	}
	return nil
}

func (p *processes) Lease(context.Context, string) (Lease, error) {
	return Lease{PerHour: market.OneUSDC, Until: time.Now().Add(time.Hour)}, nil
}

func (p *processes) Extend(ctx context.Context, _, lease string, _ time.Duration) (Lease, error) {
	return p.Lease(ctx, lease)
}

func (p *processes) Connect(_ context.Context, lease string) (Connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leases[lease], nil
}

func (p *process) Close() error { return nil }
func (p *process) Dial(ctx context.Context, _ uint16) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", "127.0.0.1:"+p.port)
}

// running are the leases that are not over, in the order of their names.
func (p *processes) running() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, l := range p.leases {
		if !l.over {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stockClients is a service with a deployment of a process, which has no model, and with one that never has a replica.
func stockClients(t *testing.T) (python string, w *site) {
	t.Helper()
	python, err := exec.LookPath("openai-python")
	if err != nil {
		t.Skip("SKIPPED: the stock clients of OpenAI and Anthropic, and LiteLLM, are missing: scripts/toolchain.sh openai")
	}
	w = start(t, &processes{t: t, program: []string{imagetest.Program(t, "../localnet/scenario/testdata/modelserver")}, leases: map[string]*process{}})
	w.create(spec("words", func(s *Spec) { s.Min = 1 }))
	w.create(spec("nothing", func(s *Spec) { s.Order, s.Wait = json.RawMessage(`"none"`), time.Second }))
	w.serving("words", 1)
	return python, w
}

// The stock OpenAI client lists models, chats, streams, completes, embeds, makes responses and pictures, has a recording transcribed, and
// gets the errors that it knows.
func TestStockClient(t *testing.T) {
	python, w := stockClients(t)
	out, err := exec.CommandContext(t.Context(), python, "testdata/client.py", w.url, w.token, "words").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "ok\n", string(out))
	require.Eventually(t, func() bool { u := w.used("words"); return u.Requests == 9 && u.Completion >= 3+3+2+2+2+2 }, time.Minute, 10*time.Millisecond)
}

// The stock Anthropic client lists models, and makes messages, plain and as streams. It counts tokens, which uses none.
func TestStockAnthropicClient(t *testing.T) {
	python, w := stockClients(t)
	out, err := exec.CommandContext(t.Context(), python, "testdata/anthropic_client.py", strings.TrimSuffix(w.url, Prefix)+"/anthropic", w.token, "words").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "ok\n", string(out))
	require.Eventually(t, func() bool {
		u := w.used("words")
		return u.Requests == 4 && u.Prompt == 3*3 && u.Completion == 3*3 && u.Counted == 0
	}, time.Minute, 10*time.Millisecond)
}

// LiteLLM does the same, and its router goes on with another deployment where one has no replica.
func TestLiteLLM(t *testing.T) {
	python, w := stockClients(t)
	cmd := exec.CommandContext(t.Context(), python, "testdata/litellm_client.py", w.url, w.token, "words")
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "no_proxy=*") // it fetches nothing
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, strings.HasSuffix(string(out), "ok\n"), string(out))
	require.Eventually(t, func() bool { return w.used("words").Requests == 5 }, time.Minute, 10*time.Millisecond)
}

// llama.cpp's server, with a model that is made here of random weights: as processes of this machine; a test of
// agent/runtime has it in a container. The stock OpenAI client and LiteLLM use it while a replica is killed; no request fails
// that has not begun to answer. Then the deployment goes down to no replica, and comes back when it is asked.
func TestARealModelServer(t *testing.T) {
	python, err := exec.LookPath("model-python")
	if err != nil {
		t.Skip("SKIPPED: llama.cpp's server is missing: scripts/toolchain.sh model")
	}
	stock, err := exec.LookPath("openai-python")
	if err != nil {
		t.Skip("SKIPPED: the stock clients of OpenAI and Anthropic, and LiteLLM, are missing: scripts/toolchain.sh openai")
	}
	const dir = "../localnet/scenario/testdata/llama/"
	model := filepath.Join(t.TempDir(), "model.gguf")
	out, err := exec.CommandContext(t.Context(), python, dir+"model.py", model).CombinedOutput()
	require.NoError(t, err, string(out))
	c := &processes{t: t, program: []string{python, dir + "server.py"}, env: []string{"MODEL=" + model}, leases: map[string]*process{}}
	w := start(t, c)
	w.create(spec("random", func(s *Spec) { s.Min, s.Max, s.Concurrency, s.Deadline, s.Wait = 2, 2, 4, 2*time.Minute, time.Minute }))
	require.Eventually(t, func() bool { st, _, _ := w.Deployment("random"); return st.Serving == 2 }, 2*time.Minute, 50*time.Millisecond)

	cmd := exec.CommandContext(t.Context(), stock, dir+"client.py", w.url, w.token, "random")
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "no_proxy=*") // it fetches nothing
	said := &syncbuf.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "asking") || len(ended) > 0 }, 3*time.Minute, 20*time.Millisecond)
	time.Sleep(2 * time.Second)
	c.mu.Lock()
	for name, l := range c.leases {
		if strings.HasSuffix(name, "/0") {
			l.kill()
		}
	}
	c.mu.Unlock()
	require.NoError(t, <-ended, said.String())
	require.Eventually(t, func() bool {
		st, _, _ := w.Deployment("random")
		return st.Serving == 2 && st.Replicas[len(st.Replicas)-1].ID == 2
	}, 2*time.Minute, 50*time.Millisecond, "the lost replica is replaced")
	used := w.used("random")
	t.Logf("%s: %d requests, %d broken off, %d tokens of prompts and %d of answers, %s USDC", strings.TrimSpace(said.String()), used.Requests, used.Failed, used.Prompt, used.Completion, used.Cost)
	require.LessOrEqual(t, used.Counted, used.Failed, "llama.cpp reports what it has used, unless it is killed")

	_, err = w.Delete("random")
	require.NoError(t, err)
	w.create(spec("rare", func(s *Spec) { s.Max, s.Concurrency, s.Deadline, s.Wait = 1, 4, 2*time.Minute, time.Minute }))
	require.Eventually(t, func() bool { return len(c.running()) == 0 }, time.Minute, 10*time.Millisecond)
	for range 2 {
		began := time.Now()
		status, text, _ := w.chat("rare", "hello", true, 3)
		require.Equal(t, http.StatusOK, status, text)
		t.Logf("from no replica to the answer: %s", time.Since(began).Round(10*time.Millisecond))
		require.Len(t, c.running(), 1)
		require.Eventually(t, func() bool { return len(c.running()) == 0 }, time.Minute, 10*time.Millisecond, "after the idle time")
	}
}
