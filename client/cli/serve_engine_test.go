package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
)

// served is a running `gantry serve`, a process of its own.
type served struct {
	t       *testing.T
	cmd     *exec.Cmd
	url     string
	token   string
	page    string
	figures string // its figures are there, if it shows any
}

// sessionShell is a shell with a session key of a customer, who names it with a cap.
func sessionShell(t *testing.T, w *testmarket.Testbed, customer solana.PrivateKey, most string) (shell, solana.PrivateKey) {
	t.Helper()
	key := testmarket.Key(t)
	w.Fund(key.PublicKey())
	newShell(t, w, customer).ok(nil, "session", "add", key.PublicKey().String(), "--cap", most)
	path := filepath.Join(t.TempDir(), "session.json")
	require.NoError(t, chain.SaveKeypair(path, key))
	s := newShell(t, w, key)
	s.session, s.env = path, []string{"GANTRY_SESSION=" + path}
	return s, key
}

// serve starts the server and waits until it says where it answers.
func (s shell) serve(args ...string) *served {
	s.t.Helper()
	all := append(append([]string{}, s.args...), "--json", "serve", "--listen", "127.0.0.1:0")
	cmd := exec.Command(os.Args[0], append(all, args...)...)
	cmd.Env = append(append(os.Environ(), asCommand+"=1"), s.env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	v := &served{t: s.t, cmd: cmd}
	s.t.Cleanup(v.kill)
	var doc struct{ URL, Token, Page, Metrics string }
	if err := json.NewDecoder(out).Decode(&doc); err != nil {
		v.kill()
		require.NoError(s.t, err, errs.String())
	}
	v.url, v.token, v.page, v.figures = doc.URL, doc.Token, doc.Page, doc.Metrics
	return v
}

// kill ends the server as kill -9 does.
func (v *served) kill() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
}

// ask sends a request, and decodes its answer.
func (v *served) ask(method, path string, body any, header map[string]string, into any) int {
	v.t.Helper()
	status, raw, err := v.try(method, path, body, header)
	require.NoError(v.t, err)
	if into != nil {
		require.NoError(v.t, json.Unmarshal(raw, into), string(raw))
	}
	return status
}

// try is ask for a server that may be killed meanwhile.
func (v *served) try(method, path string, body any, header map[string]string) (int, []byte, error) {
	var b io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		b = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, v.url+path, b)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, x := range header {
		r.Header.Set(k, x)
	}
	c := http.Client{Timeout: 2 * time.Minute}
	res, err := c.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, raw, err
}

type problem struct {
	Status           int
	Detail, NextStep string
}

// TestServeReads asks the server for what the commands show, and compares.
func TestServeReads(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs = 60, 60
	w.InitMarket(params)
	keeper := w.Keeper()
	provider := w.Provider(100 * market.OneGNT)
	_, node := w.Node(provider, testmarket.A100, 1, 3_600_000)
	customer := w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	newShell(t, w, customer).fails(cli.ExitUsage, "--session is missing", "serve")
	me, _ := sessionShell(t, w, customer, "20")
	me.fails(cli.ExitUsage, "is not on loopback", "serve", "--listen", "0.0.0.0:0")
	v := me.serve()
	require.NotEmpty(t, v.token)
	me.fails(cli.ExitRefused, "server's database", "serve", "--listen", "127.0.0.1:0") // one server for a session key

	var offers struct {
		Offers []map[string]any
		Unfit  map[string]int
	}
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/offers?q="+url.QueryEscape("gpu=a100 price<=3.6"), nil, nil, &offers))
	var found []map[string]any
	me.ok(&found, "search", "gpu=a100 price<=3.6")
	require.Len(t, found, 1)
	require.Equal(t, found, offers.Offers)
	require.Equal(t, node.Address.String(), found[0]["address"])
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/offers?q="+url.QueryEscape("price<3.6"), nil, nil, &offers))
	require.Empty(t, offers.Offers)
	require.Equal(t, map[string]int{"too dear": 1}, offers.Unfit)
	for q, detail := range map[string]string{"colour=red": `search term "colour" is not known`, "gpu=H900": `GPU model "H900" is not known`} {
		var p problem
		require.Equal(t, http.StatusBadRequest, v.ask(http.MethodGet, "/v1/offers?q="+url.QueryEscape(q), nil, nil, &p))
		require.Equal(t, detail, p.Detail)
		require.NotEmpty(t, p.NextStep)
	}

	var mine struct {
		Customer string
		Leases   []map[string]any
	}
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/leases", nil, nil, &mine))
	require.Equal(t, customer.PublicKey().String(), mine.Customer)
	require.NotNil(t, mine.Leases)
	require.Empty(t, mine.Leases)
	job, err := messages.JobSpec{Version: messages.Version, Command: []string{"true"}}.Digest()
	require.NoError(t, err)
	order := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, GPUsPerNode: 1, Nodes: 1, Duration: 600, MaxPrice: 4_000_000, JobDigest: job,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	lease := w.Award(keeper, order, node)
	require.Eventually(t, func() bool { // the server follows the chain
		return v.ask(http.MethodGet, "/v1/leases", nil, nil, &mine) == http.StatusOK && len(mine.Leases) == 1
	}, time.Minute, 10*time.Millisecond)
	var one map[string]any
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/leases/"+lease.Address.String(), nil, nil, &one))
	require.Equal(t, []map[string]any{one}, mine.Leases)
	require.Equal(t, "awarded", one["status"])
	require.Equal(t, "A100-SXM4-40GB", one["model"])

	for path, status := range map[string]int{
		"/v1/leases/" + node.Address.String():                  http.StatusNotFound,
		"/v1/leases/" + testmarket.Key(t).PublicKey().String(): http.StatusNotFound,
	} {
		var p problem
		require.Equal(t, status, v.ask(http.MethodGet, path, nil, nil, &p), path)
		require.Contains(t, p.Detail, "has no lease")
		require.Contains(t, p.NextStep, "gantry audit")
	}
	var p problem
	other := &served{t: t, url: v.url, token: "gantry_wrong"}
	require.Equal(t, http.StatusUnauthorized, other.ask(http.MethodGet, "/v1/leases", nil, nil, &p))

	v.showsProvider(me, provider.PublicKey().String(), node.Address.String(), lease.Address.String())

	var shown, answered any
	me.ok(&shown, "market", "show")
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/market", nil, nil, &answered))
	require.Equal(t, shown, answered)

	v.shows(customer.PublicKey().String(), "40.00", "20.00")
	v.signsIn()

	// What a program asks about jobs needs no page.
	jobPath := "/v1/leases/" + lease.Address.String() + "/job"
	var unreached, without problem
	status := v.ask(http.MethodGet, jobPath, nil, nil, &unreached)

	// The token outlives the server, and its file holds no secret.
	v.kill()
	again := me.serve()
	require.Empty(t, again.token, "a token is printed once")
	again.token = v.token
	require.Equal(t, http.StatusOK, again.ask(http.MethodGet, "/v1/leases", nil, nil, nil))
	again.kill()
	bare := me.serve("--no-page")
	require.Empty(t, bare.page)
	bare.token = v.token
	require.Equal(t, http.StatusNotFound, bare.ask(http.MethodGet, "/", nil, nil, nil))
	require.Equal(t, status, bare.ask(http.MethodGet, jobPath, nil, nil, &without))
	require.Equal(t, unreached, without)
	require.NotEqual(t, http.StatusInternalServerError, status)
	bare.kill()
	for i, arg := range me.args {
		if arg == "--state-dir" {
			require.NoError(t, filepath.WalkDir(me.args[i+1], func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				raw, err := os.ReadFile(path)
				require.NotContains(t, string(raw), v.token, path)
				return err
			}))
		}
	}
	file := filepath.Join(t.TempDir(), "token")
	third := me.serve("--new-token", "--token-file", file)
	require.Empty(t, third.token)
	third.token = v.token
	require.Equal(t, http.StatusUnauthorized, third.ask(http.MethodGet, "/v1/leases", nil, nil, nil))
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	third.token = strings.TrimSpace(string(raw))
	require.Equal(t, http.StatusOK, third.ask(http.MethodGet, "/v1/leases", nil, nil, nil), fmt.Sprint(third.url))
}

var shBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// examples runs the examples of a page as a reader would; none of them may fail.
func (v *served) examples(path string, env ...string) error {
	page, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		return err
	}
	blocks := shBlock.FindAllSubmatch(page, -1)
	if len(blocks) == 0 {
		return fmt.Errorf("%s has no examples", path)
	}
	for _, b := range blocks {
		cmd := exec.Command("sh", "-euc", string(b[1]))
		cmd.Env = append(append(os.Environ(), "GANTRY_SERVER="+v.url, "GANTRY_TOKEN="+v.token, "no_proxy=*"), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", b[1], err, out)
		}
		dec := json.NewDecoder(bytes.NewReader(out))
		for range strings.Count("\n"+string(b[1]), "\ncurl ") {
			var answer map[string]any
			if err := dec.Decode(&answer); err != nil || len(answer) == 0 {
				return fmt.Errorf("%s: %w: %s", b[1], err, out)
			}
		}
	}
	return nil
}
