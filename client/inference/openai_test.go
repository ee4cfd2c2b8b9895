package inference

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/internal/imagetest"
)

// processes sells leases of programs of this machine.
type processes struct {
	t       *testing.T
	program string
	port    uint16
}

func (p *processes) Buy(ctx context.Context, name string, order json.RawMessage) (string, error) {
	if string(order) == `"none"` {
		return "", errors.New("no node fits")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p.port = uint16(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		return "", err
	}
	cmd := exec.Command(p.program, "-hf", "upstream/model", "--host", "127.0.0.1", "--port", strconv.Itoa(int(p.port)))
	if err := cmd.Start(); err != nil {
		return "", err
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return "lease", nil
}
func (p *processes) Extend(ctx context.Context, _, lease string, _ time.Duration) (Lease, error) {
	return p.Lease(ctx, lease)
}
func (p *processes) Abandon(context.Context, string) error { return nil }
func (p *processes) Stop(context.Context, string) error    { return nil }
func (p *processes) Lease(context.Context, string) (Lease, error) {
	return Lease{PerHour: market.OneUSDC, Until: time.Now().Add(time.Hour)}, nil
}
func (p *processes) Connect(context.Context, string) (Connection, error) { return p, nil }
func (p *processes) Close() error                                        { return nil }
func (p *processes) Dial(ctx context.Context, _ uint16) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
}

// stockClients is a service with a deployment of a process, which has no model, and with one that never has a replica.
func stockClients(t *testing.T) (python string, w *site) {
	t.Helper()
	python, err := exec.LookPath("openai-python")
	if err != nil {
		t.Skip("SKIPPED: the stock OpenAI client and LiteLLM are missing: scripts/toolchain.sh openai")
	}
	w = start(t, &processes{t: t, program: imagetest.Program(t, "../../localnet/scenario/testdata/modelserver")})
	w.create(spec("words", func(s *Spec) { s.Min = 1 }))
	w.create(spec("nothing", func(s *Spec) { s.Order, s.Wait = json.RawMessage(`"none"`), time.Second }))
	w.serving("words", 1)
	return python, w
}

// The stock OpenAI client lists models, chats, streams, completes and embeds, and gets the errors that it knows.
func TestStockClient(t *testing.T) {
	python, w := stockClients(t)
	out, err := exec.CommandContext(t.Context(), python, "testdata/client.py", w.url, w.token, "words").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "ok\n", string(out))
	require.Eventually(t, func() bool { u := w.used("words"); return u.Requests == 5 && u.Completion >= 3+3+2+2 }, 5*time.Second, 10*time.Millisecond)
}

// LiteLLM does the same, and its router goes on with another deployment where one has no replica.
func TestLiteLLM(t *testing.T) {
	python, w := stockClients(t)
	cmd := exec.CommandContext(t.Context(), python, "testdata/litellm_client.py", w.url, w.token, "words")
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "no_proxy=*") // it fetches nothing
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, strings.HasSuffix(string(out), "ok\n"), string(out))
	require.Eventually(t, func() bool { return w.used("words").Requests == 5 }, 5*time.Second, 10*time.Millisecond)
}
