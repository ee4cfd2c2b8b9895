//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	teamKeepers = 1
	teamDeposit = 150 * market.OneUSDC
)

// teamServer is a `gantry serve` that may be killed, with a budget of its own and one of a team.
type teamServer struct {
	t        *testing.T
	n        *network.Network
	customer seed.Wallet
	state    string // folder
	tokens   map[string]string
	relay    *sendRelay
	watch    *storeWatch
	log      *os.File

	mu   sync.Mutex
	cmd  *exec.Cmd
	dead bool
	url  string
}

// failpoint is a moment: a number of transactions or writes from when it is armed, or a time.
type failpoint struct {
	sends  int
	before bool // the transaction does not reach the cluster
	stores int
	after  time.Duration
}

// newTeamServer starts the server of the first customer, with a cap for each budget; all but main are a team's, with a
// deployer of the budget's name.
func newTeamServer(t *testing.T, n *network.Network, caps map[string]market.USDC) *teamServer {
	s := &teamServer{t: t, n: n, customer: n.Keys.Customers[0], state: filepath.Join(n.Dir(), "server"), tokens: map[string]string{}}
	ok(t, n, s.customer, "credits", "add", teamDeposit.String())
	var team struct{ Budgets []struct{ Name, Key string } }
	s.team(&team, "show") // makes the server's key
	keys, err := filepath.Glob(filepath.Join(s.state, "serve", "*", "*.json"))
	require.NoError(t, err)
	require.Len(t, keys, 1)
	for name, most := range caps {
		key := keys[0]
		if name != "main" {
			var b struct{ Key string }
			s.team(&b, "budget", "add", name)
			key = b.Key
			s.team(nil, "member", "set", "deployer-"+name, "--role", "deployer", "--budget", name)
			var x struct{ Token string }
			s.team(&x, "token", "add", "deployer-"+name, "ci-"+name)
			s.tokens[name] = x.Token
		}
		ok(t, n, s.customer, "session", "add", key, "--cap", most.String(), "--expires", "24h", "--fund", "2")
	}
	// A key that was named in the second of an order is not given back what the order has held beyond its price.
	time.Sleep(1100 * time.Millisecond)
	s.log, err = os.Create(filepath.Join(n.Dir(), "logs", "team-server.log"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.log.Close() })
	s.relay = newSendRelay(t, n.At.RPC)
	s.watch = newStoreWatch(t, s.state)
	s.start()
	t.Cleanup(s.kill)
	return s
}

// gantry runs a command on the server's folder.
func (s *teamServer) gantry(args ...string) network.Output {
	out, err := s.n.GantryRaw(s.t.Context(), "server", append([]string{"--json", "--yes", "--keypair", "/nowhere.json", "--url", s.n.At.RPC, "--ws", s.n.At.WS, "--state-dir", s.state}, args...)...)
	require.NoError(s.t, err)
	return out
}

// team runs `gantry team` on the server's folder.
func (s *teamServer) team(into any, args ...string) {
	s.t.Helper()
	words := 1
	if len(args) > 1 && args[0] != "log" && args[0] != "show" {
		words = 2
	}
	all := append([]string{"team"}, args[:words]...)
	all = append(append(all, "--customer", s.customer.Address().String()), args[words:]...)
	out := s.gantry(all...)
	require.NoError(s.t, out.Err())
	if into != nil {
		require.NoError(s.t, json.Unmarshal([]byte(out.Stdout), into), out.Stdout)
	}
}

// start starts the server and waits until it answers. Its own token is made at the first start.
func (s *teamServer) start(more ...string) {
	s.t.Helper()
	path, err := network.Binary("gantry")
	require.NoError(s.t, err)
	args := append([]string{
		"--json", "--verbose", "--keypair", "/nowhere.json", "--url", s.relay.server.URL, "--ws", s.n.At.WS, "--state-dir", s.state,
		"serve", "--customer", s.customer.Address().String(), "--listen", "127.0.0.1:0",
	}, more...)
	home := filepath.Join(s.n.Dir(), "homes", "server")
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.Stderr = s.log
	stdout, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	s.mu.Lock()
	s.cmd, s.dead = cmd, false
	s.mu.Unlock()
	var doc struct{ URL, Token string }
	require.NoError(s.t, json.NewDecoder(stdout).Decode(&doc), "see %s", s.log.Name())
	s.url = doc.URL
	if doc.Token != "" {
		s.tokens["main"] = doc.Token
	}
}

// kill ends the server as kill -9 does, and waits for its end.
func (s *teamServer) kill() {
	s.arm(failpoint{})
	s.strike()
	_ = s.cmd.Wait() // it was killed
}

func (s *teamServer) strike() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dead {
		s.dead = s.cmd.Process.Kill() == nil
	}
}

func (s *teamServer) killed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// arm has the server killed at a moment; the moment of nothing disarms it.
func (s *teamServer) arm(at failpoint) {
	s.relay.arm(at.sends, at.before, s.strike)
	s.watch.arm(at.stores, s.strike)
	if at.after > 0 {
		cmd := s.cmd
		time.AfterFunc(at.after, func() {
			s.mu.Lock()
			same := s.cmd == cmd
			s.mu.Unlock()
			if same {
				s.strike()
			}
		})
	}
}

// ask sends a request with a token.
func (s *teamServer) ask(method, path, token, key string, body any) (int, []byte, error) {
	var b io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(s.t, err)
		b = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, b)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	res, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, raw, err
}

// left is what is left of each budget, as the server says from the chain.
func (s *teamServer) left() map[string]market.USDC {
	s.t.Helper()
	var doc struct{ Budgets []struct{ Name, Left string } }
	status, raw, err := s.ask(http.MethodGet, "/v1/team/budgets", s.tokens["main"], "", nil)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, status, "%s", raw)
	require.NoError(s.t, json.Unmarshal(raw, &doc))
	out := map[string]market.USDC{}
	for _, b := range doc.Budgets {
		out[b.Name], err = market.ParseUSDC(b.Left)
		require.NoError(s.t, err)
	}
	return out
}

// logged checks the log, and returns the Idempotency-Keys in it.
func (s *teamServer) logged() map[string]bool {
	s.t.Helper()
	s.team(nil, "log", "--check")
	var all struct {
		Changes []struct {
			Key string `json:"idempotencyKey"`
		}
	}
	s.team(&all, "log", "--limit", "100000")
	keys := map[string]bool{}
	for _, l := range all.Changes {
		if l.Key != "" {
			keys[l.Key] = true
		}
	}
	return keys
}

// sendRelay passes requests on to the cluster, and counts transactions.
type sendRelay struct {
	server *httptest.Server

	mu     sync.Mutex
	sends  int
	at     int
	before bool
	strike func()
}

func newSendRelay(t *testing.T, rpc string) *sendRelay {
	target, err := url.Parse(rpc)
	require.NoError(t, err)
	r := &sendRelay{}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // the server was killed
	}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		before, after := r.sent(raw)
		if before != nil {
			before()
			return
		}
		out := req.Clone(context.WithoutCancel(req.Context())) // a transaction goes on to the cluster when its sender is gone
		out.Body = io.NopCloser(bytes.NewReader(raw))
		if after == nil {
			proxy.ServeHTTP(w, out)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), out)
		after()
	}))
	t.Cleanup(r.server.Close)
	return r
}

// sent counts a request, and says what is to be done before or after it.
func (r *sendRelay) sent(raw []byte) (before, after func()) {
	if !bytes.Contains(raw, []byte(`"sendTransaction"`)) {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sends++
	if r.at == 0 || r.sends != r.at {
		return nil, nil
	}
	if r.before {
		return r.strike, nil
	}
	return nil, r.strike
}

func (r *sendRelay) arm(n int, before bool, strike func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.before, r.strike = 0, before, strike
	if n > 0 {
		r.at = r.sends + n
	}
}

func (r *sendRelay) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sends
}

// storeWatch counts changes of files below a folder, as the kernel tells them.
type storeWatch struct {
	t  *testing.T
	fd int

	mu     sync.Mutex
	dirs   map[int32]string
	stores int
	at     int
	strike func()
}

const storeEvents = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_MOVED_TO | unix.IN_DELETE

func newStoreWatch(t *testing.T, root string) *storeWatch {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	require.NoError(t, err)
	w := &storeWatch{t: t, fd: fd, dirs: map[int32]string{}}
	w.add(root)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		w.run(stop)
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
		_ = unix.Close(fd)
	})
	return w
}

// add watches a folder and those in it. What is in a new folder already is a change that the kernel has not told.
func (w *storeWatch) add(dir string) {
	wd, err := unix.InotifyAddWatch(w.fd, dir, storeEvents)
	if err != nil {
		return // it is gone
	}
	w.mu.Lock()
	w.dirs[int32(wd)] = dir
	w.mu.Unlock()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			w.add(filepath.Join(dir, e.Name()))
		}
	}
}

func (w *storeWatch) run(stop <-chan struct{}) {
	buf := make([]byte, 64<<10)
	for {
		select {
		case <-stop:
			return
		default:
		}
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(fds, 200); n == 0 {
			continue
		}
		n, err := unix.Read(w.fd, buf)
		if err != nil {
			continue
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			wd, mask, length := int32(binary.NativeEndian.Uint32(buf[at:])), binary.NativeEndian.Uint32(buf[at+4:]), int(binary.NativeEndian.Uint32(buf[at+12:]))
			name := string(bytes.TrimRight(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+length], "\x00"))
			at += unix.SizeofInotifyEvent + length
			w.change()
			if mask&unix.IN_ISDIR != 0 && mask&unix.IN_CREATE != 0 {
				w.mu.Lock()
				dir := w.dirs[wd]
				w.mu.Unlock()
				w.add(filepath.Join(dir, name))
			}
		}
	}
}

func (w *storeWatch) change() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stores++; w.at != 0 && w.stores == w.at {
		w.strike()
	}
}

func (w *storeWatch) arm(n int, strike func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.strike = 0, strike
	if n > 0 {
		w.at = w.stores + n
	}
}

func (w *storeWatch) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stores
}
