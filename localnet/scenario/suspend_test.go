//go:build e2e

package scenario

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// gate stands in front of a bucket and holds requests for chunks when it is told to.
type gate struct{ held atomic.Pointer[held] }

type held struct {
	method      string
	asked, open chan struct{}
}

func (g *gate) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := g.held.Load(); h != nil && r.Method == h.method && strings.Contains(r.URL.Path, "/chunks/") {
			select {
			case h.asked <- struct{}{}:
			default:
			}
			<-h.open
		}
		next.ServeHTTP(w, r)
	})
}

// during runs the client, does something as soon as a request is held, and lets the requests go on.
func (g *gate) during(t *testing.T, method string, client func() (network.Output, error), do func()) network.Output {
	t.Helper()
	h := &held{method: method, asked: make(chan struct{}, 1), open: make(chan struct{})}
	g.held.Store(h)
	type result struct {
		out network.Output
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := client()
		done <- result{out, err}
	}()
	select {
	case <-h.asked:
		do()
	case r := <-done:
		done <- r
		t.Errorf("the client ended before the bucket was asked")
	}
	g.held.Store(nil)
	close(h.open)
	r := <-done
	require.NoError(t, r.err)
	require.NoError(t, r.out.Err())
	return r.out
}

var counted = regexp.MustCompile(`live ([A-Z2-7]+) (\d+)\\n`)

// A container is suspended, its lease ended, and it goes on where it was on another machine. The agents of both machines are
// killed meanwhile, and nothing is lost. What cannot go on is refused before the order.
func TestAContainerGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	needsVolumes(t)
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: network.DefaultNodes(2), Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	g := &gate{}
	bucket := s3test.Start(t, g.around)
	require.NoError(t, n.KeepBucketKeys(customer, s3test.AccessKey, s3test.SecretKey))
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	begun := func(out network.Output) string {
		var d struct{ Leases []struct{ Address string } }
		require.NoError(t, json.Unmarshal([]byte(out.Stdout), &d), out.Stdout)
		require.Len(t, d.Leases, 1)
		return d.Leases[0].Address
	}
	lives := func(lease string) (word string, numbers []int) {
		out, err := n.Gantry(t.Context(), customer, "logs", lease)
		require.NoError(t, err)
		for _, m := range counted.FindAllStringSubmatch(out.Stdout, -1) {
			number, err := strconv.Atoi(m[2])
			require.NoError(t, err)
			word, numbers = m[1], append(numbers, number)
		}
		return word, numbers
	}
	first := begun(ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--network", "none", "--detach",
		"--image", image, "--volume", "data:32MiB", "--backup", "s3://"+s3test.Bucket+"/team", "--backup-endpoint", bucket.URL, "-e", "TOKEN=of-the-customer",
		"--", "hold=16", "live=/data,/"))
	require.Eventually(t, func() bool { _, numbers := lives(first); return len(numbers) > 5 }, time.Minute, 200*time.Millisecond)

	said := g.during(t, http.MethodPut, func() (network.Output, error) { return n.Gantry(t.Context(), customer, "suspend", first) },
		func() { require.NoError(t, n.Kill(n.Nodes[0].Name)) })
	word, before := lives(first)
	found := regexp.MustCompile(`✓ suspended .* snapshot ([0-9a-f]{64})`).FindStringSubmatch(said.Stderr)
	require.Len(t, found, 2, said.Stderr)
	hash := found[1]
	for _, l := range snapshotOf(t, n).Leases() {
		require.Equal(t, market.LeaseEnded, l.State(), "nothing is billed any more")
		require.Equal(t, hash, hex.EncodeToString(l.CheckpointHash[:]))
	}

	back := []string{"deploy", "--gpu", "H100", "--max-price", "5", "--duration", "10m", "--allow-simulated", "--detach", "--backup", "s3://" + s3test.Bucket + "/team", "--backup-endpoint", bucket.URL, "--restore", hash}
	orders := len(snapshotOf(t, n).Orders())
	for want, more := range map[string][]string{
		"continues with its own command": {"--", "who"},
		"--network is another":           {"--network", "internet"},
		"is at /data":                    {"--volume", "data:32MiB:/elsewhere"},
		"--env is another":               {"-e", "A=b"},
		"on one machine":                 {"--nodes", "2"},
		"more than --memory":             {"--memory", "1m"},
	} {
		refused, err := n.Gantry(t.Context(), customer, append(back, more...)...)
		require.NoError(t, err)
		require.NotZero(t, refused.Code)
		require.Contains(t, refused.Stderr, want)
	}
	require.Len(t, snapshotOf(t, n).Orders(), orders, "nothing was ordered")

	second := begun(g.during(t, http.MethodGet, func() (network.Output, error) { return n.Gantry(t.Context(), customer, back...) },
		func() { require.NoError(t, n.Kill(n.Nodes[1].Name)) }))
	var after []int
	var again string
	require.Eventually(t, func() bool { again, after = lives(second); return len(after) > 5 }, time.Minute, 200*time.Millisecond)
	require.Equal(t, word, again, "its memory is what it was")
	require.InDelta(t, before[len(before)-1], after[0], 2, "it goes on where it was")
	ok(t, n, customer, "exec", second, "--", "/bin/job", "get=/count")
	ok(t, n, customer, "stop", second)
	left := 0
	require.Eventually(t, func() bool {
		left = 0
		below(t, n.Dir(), func(path string, _ []byte) {
			if base := filepath.Base(path); base == "volume.img" || base == "state.img" {
				left++
			}
		})
		return left == 0
	}, time.Minute, 200*time.Millisecond)
	below(t, n.Dir(), func(path string, raw []byte) {
		require.False(t, strings.Contains(string(raw), s3test.SecretKey), "%s", path)
	})
}
