//go:build e2e

package scenario

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// An image runs on one machine and fails on another: a search puts the first before those that nobody has tried, and says of the others what is
// known. What its customer wants unrecorded is not known to anybody, and the records outlive the leases.
func TestASearchKnowsWhereAnImageRan(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	params := seed.Params()
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 2, Nodes: network.DefaultNodes(3), Params: &params, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	private, _ := imagetest.Serve(t, "amd64", v1.Config{Env: []string{"OTHER=1"}}, imagetest.Layer(t, imagetest.Busybox(t)...))

	search := func(image string) (offers []service.Offer) {
		require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "search", "--json", "--image", image).Stdout), &offers))
		return offers
	}
	var first []service.Offer
	require.Eventually(t, func() bool { // the keeper learns of each machine's address soon
		first = search(image)
		return len(first) == 3 && !slices.ContainsFunc(first, func(o service.Offer) bool { return o.Image == nil || !o.Image.Answered })
	}, time.Minute, time.Second)
	for _, o := range first {
		require.Empty(t, o.Image.Says, o.Address)
		require.NotEmpty(t, o.Image.Sandbox)
	}

	run := func(status int, args ...string) (node string) {
		args = append([]string{"deploy", "--gpu", "any", "--minutes", "10", "--max-price", "5", "--allow-simulated", "--network", "none", "--verify", "never", "--run-to-completion", "--json"}, args...)
		done, err := n.Gantry(t.Context(), customer, append(args, "--", "/bin/busybox", "sh", "-c", "exit "+string(rune('0'+status)))...)
		require.NoError(t, err)
		var deployed struct{ Leases []struct{ Node string } }
		require.NoError(t, json.NewDecoder(strings.NewReader(done.Stdout)).Decode(&deployed), done.Stdout+done.Stderr) // a failure follows it
		require.Len(t, deployed.Leases, 1, done.Stdout+done.Stderr)
		return deployed.Leases[0].Node
	}
	run(0, "--image", private, "--unrecorded")
	ran := run(0, "--image", image)
	require.Equal(t, first[0].Address, ran, "the best machine gets the order")
	// A longer lease takes the best machine, so that the next order goes to another.
	var long struct{ Leases []struct{ Address string } }
	begun := ok(t, n, customer, "deploy", "--gpu", "any", "--minutes", "10", "--max-price", "5", "--allow-simulated", "--network", "none", "--verify", "never", "--unrecorded", "--detach",
		"--image", private, "--", "/bin/busybox", "sleep", "600")
	require.NoError(t, json.Unmarshal([]byte(begun.Stdout), &long), begun.Stdout)
	failed := run(3, "--image", image)
	ok(t, n, customer, "stop", long.Leases[0].Address)
	require.NotEqual(t, ran, failed)

	var offers []service.Offer
	said := func() map[string]string {
		offers = search(image)
		says := map[string]string{}
		for i := range offers {
			says[offers[i].Address] = offers[i].Image.Says
		}
		return says
	}
	require.Eventually(t, func() bool {
		says := said()
		return len(says) == 3 && says[ran] == "ran here: 1 of 1" && says[failed] == "failed here: 1 of 1"
	}, time.Minute, time.Second, "%v", said())
	require.Equal(t, ran, offers[0].Address)
	for _, o := range offers {
		if o.Address != ran && o.Address != failed {
			require.Equal(t, "ran on driver "+strings.Split(o.Image.Driver, ".")[0]+".x: 1 of 2", o.Image.Says)
		}
		require.Zero(t, o.Image.Unproven)
	}
	for _, o := range search(private) {
		require.Empty(t, o.Image.Says, "what is unrecorded is nobody's business")
	}

	// A purchase says the same before money moves, of the machines that fit; and nothing of an image that is not to be known. A machine on a
	// busy computer may answer too late for one purchase.
	before := func(status int, args ...string) (said string, known *service.ImageRuns) {
		args = append([]string{"deploy", "--gpu", "any", "--minutes", "10", "--max-price", "5", "--allow-simulated", "--network", "none", "--verify", "never", "--run-to-completion", "--json"}, args...)
		done, err := n.Gantry(t.Context(), customer, append(args, "--", "/bin/busybox", "sh", "-c", "exit "+string(rune('0'+status)))...)
		require.NoError(t, err)
		var deployed struct{ Image *service.ImageRuns }
		require.NoError(t, json.NewDecoder(strings.NewReader(done.Stdout)).Decode(&deployed), done.Stdout+done.Stderr)
		return done.Stderr, deployed.Image
	}
	quiet, known := before(0, "--image", image, "--unrecorded")
	require.Nil(t, known)
	require.NotContains(t, quiet, " image    ran on")
	var told string
	require.Eventually(t, func() bool {
		told, known = before(0, "--image", image)
		return known != nil && known.Ran > 0 && known.Tried > known.Ran
	}, 3*time.Minute, time.Second)
	require.False(t, known.Fails)
	require.Contains(t, told, " · image    "+known.Says)
	require.Less(t, strings.Index(told, " image    ran on"), strings.Index(told, " escrow "), told)
	everywhere, _ := imagetest.Serve(t, "amd64", v1.Config{Env: []string{"THIRD=1"}}, imagetest.Layer(t, imagetest.Busybox(t)...))
	require.Eventually(t, func() bool {
		told, known = before(3, "--image", everywhere)
		return known != nil && known.Tried > 0
	}, 3*time.Minute, time.Second)
	require.True(t, known.Fails)
	require.Contains(t, told, " ! image    failed on ")
	require.Contains(t, told, " escrow ", "no warning stops an order")

	served, err := n.StartServe(t.Context(), customer, "5")
	require.NoError(t, err)
	token, err := os.ReadFile(served.TokenFile)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, served.URL+"/v1/offers?image="+url.QueryEscape(image), nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	var found struct {
		Offers []service.Offer
		Image  *service.ImageRuns
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&found))
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, ran, found.Offers[0].Address)
	require.Contains(t, found.Offers[0].Image.Says, "ran here: ")
	require.NotZero(t, found.Image.Ran)
	require.Contains(t, found.Image.Says, "ran on ")
}
