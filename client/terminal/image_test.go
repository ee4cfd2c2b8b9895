package terminal

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
)

// fetching is what a machine reports of an image of 11 GiB.
func fetching(of int, phase string, done, still uint64) buy.Fetching {
	i := service.Image{Phase: phase, Total: 11 << 30, Done: done, Rate: 412_000_000, Layers: 14, Finished: 5, Still: uint32(still)}
	switch phase {
	case service.ImageAsking:
		i = service.Image{Phase: phase, Still: uint32(still)}
	case service.ImageUnpacking:
		i.Done, i.Unpacked, i.Rate = i.Total, done, 0
	case service.ImageFailed:
		i.Why = "layer sha256:0af1 is not there, or not for everyone"
	}
	return buy.Fetching{Lease: lease(of), Image: i}
}

func TestStepsOfAnImage(t *testing.T) {
	image := buy.Request{Image: "vllm/vllm-openai:v0.12.1"}
	begun := bought(false)[:5]
	const some = 3_450_000_000
	for name, e := range map[string]buy.Fetching{
		"fetch": fetching(0, service.ImageFetching, some, 0), "fetch-stands": fetching(0, service.ImageFetching, some, 75),
		"unpacks": fetching(0, service.ImageUnpacking, 9<<30, 0), "image-fails": fetching(0, service.ImageFailed, some, 0),
		"fetch-unknown": {Lease: lease(0), Image: service.Image{Phase: service.ImageFetching, Done: some, Rate: 412_000_000}},
	} {
		events := append(begun[:5:5], e)
		screentest.Golden(t, "deploy-"+name, drawn(image, events, len(events)))
	}
	// Once the lease runs, the step says how large the image was. Nothing of the bar is left.
	whole := append(begun[:5:5], fetching(0, service.ImageUnpacking, 9<<30, 0), buy.Running{Lease: lease(0), After: 50 * time.Second})
	screentest.Golden(t, "deploy-fetched", drawn(image, whole, len(whole)))
}

// A template whose program answers a while after its lease runs has a step for that, which stays open when billing begins.
func TestTheStepOfAServer(t *testing.T) {
	r := buy.Request{Image: "vllm/vllm-openai:v0.12.1", Health: &template.Probe{Port: 8000, Path: "/health", Deadline: template.Duration(20 * time.Minute)}}
	screentest.Golden(t, "deploy-serving", drawn(r, bought(false), 6))
	var lines []string
	say := Lines{Say: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }}
	say.Event(buy.Serving{Lease: lease(0), Probe: *r.Health, After: 61250 * time.Millisecond})
	say.Event(buy.NotServing{Lease: lease(0), Probe: *r.Health, Err: errors.New("port 8000 answers /health with status 503")})
	require.Equal(t, []string{
		" ✓ serving  after 61.2 s: port 8000 of 9LZqn6… answers /health",
		" ! serving  not within 20m0s: port 8000 answers /health with status 503; see what the job says: gantry logs " + leases[0].String(),
	}, lines)
}

// Images of several machines are added up; the one that is least far says in which phase they are.
func TestImagesOfSeveralMachines(t *testing.T) {
	r := buy.Request{Image: "a/b", Nodes: 2}
	events := []any{
		buy.Placed{Order: order},
		buy.Awarded{Lease: lease(0), Model: "H100"},
		buy.Awarded{Lease: lease(1), Model: "H100"},
		buy.Wait{For: buy.WaitStart, Order: order},
		fetching(0, service.ImageUnpacking, 1<<30, 0), fetching(1, service.ImageFetching, 2<<30, 0),
	}
	screentest.Golden(t, "deploy-fetch-several", drawn(r, events, len(events)))
}

// Plain lines come for each phase, and of one phase every five seconds at most.
func TestPlainLinesOfAnImageAreFew(t *testing.T) {
	p, now := &Pace{}, time.Unix(1_790_000_000, 0)
	var due []bool
	for _, x := range []struct {
		lease, after int
		phase, why   string
	}{
		{0, 0, "asking", ""},
		{0, 1, "asking", ""},
		{0, 2, "fetching", ""},
		{1, 2, "fetching", ""},
		{0, 4, "fetching", ""},
		{1, 6, "fetching", ""},
		{0, 7, "fetching", ""},
		{0, 8, "failed", "no layer"},
		{0, 9, "asking", ""},
		{0, 15, "failed", "no layer"},
		{0, 16, "failed", "no registry"},
		{0, 17, "asking", ""},
		{0, 18, "fetching", ""},
		{0, 19, "unpacking", ""},
	} {
		e := buy.Fetching{Lease: lease(x.lease), Image: service.Image{Phase: x.phase, Why: x.why}}
		due = append(due, p.due(e, now.Add(time.Duration(x.after)*time.Second)))
	}
	require.Equal(t, []bool{true, false, true, true, false, false, true, true, false, false, true, false, true, true}, due)

	var lines []string
	say := Lines{Say: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }}
	for _, e := range []buy.Fetching{
		fetching(0, service.ImageAsking, 0, 0), fetching(0, service.ImageAsking, 0, 20), fetching(0, service.ImageFetching, 3_450_000_000, 0), fetching(0, service.ImageFetching, 3_450_000_000, 75),
		fetching(0, service.ImageUnpacking, 1, 0), fetching(0, service.ImageFailed, 0, 0), fetching(0, service.ImageReady, 11<<30, 0),
		{Lease: lease(0), Image: service.Image{Phase: service.ImageFetching, Done: 5 << 20, Rate: 1_000_000, Layers: 2}},
	} {
		say.Event(e)
	}
	node := service.Short(lease(0).Node)
	require.Equal(t, []string{
		" · image    " + node + " reports: asks the registry for the image",
		" · image    " + node + " reports: asks the registry for the image, nothing has come for 20s",
		" · image    " + node + " reports: fetched 3.21/11 GiB, 412 MB/s, about 20 s left, 5 of 14 layers unpacked",
		" · image    " + node + " reports: fetched 3.21/11 GiB, nothing has come for 1m15s, 5 of 14 layers unpacked",
		" · image    " + node + " reports: unpacks 11 GiB, 5 of 14 layers",
		" ! image    " + node + " reports: layer sha256:0af1 is not there, or not for everyone; it tries again",
		" · image    " + node + " reports: 11 GiB are there",
		" · image    " + node + " reports: fetched 5 MiB, 1 MB/s, 0 of 2 layers unpacked",
	}, lines)
}

// What is known of an image is said before the order; nothing is said where nobody knows.
func TestWhatIsKnownOfAnImage(t *testing.T) {
	var lines []string
	say := Lines{Say: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }}
	for _, r := range []service.ImageRuns{
		{Asked: 3, Answered: 2}, {Tried: 14, Ran: 12, Says: "ran on 12 of 14 machines"}, {Tried: 14, Owners: 1, Fails: true, Says: "failed on driver 595.x: 14 of 14"},
	} {
		say.Event(buy.ImageKnown{Runs: r})
	}
	require.Equal(t, []string{
		" · image    ran on 12 of 14 machines (of those that fit)",
		" ! image    failed on driver 595.x: 14 of 14 (machines that fit, of 1 owner). It may fail for you too; nobody has recorded why",
	}, lines)
}
