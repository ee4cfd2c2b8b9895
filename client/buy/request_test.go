package buy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

func whole(change func(*Request)) *Request {
	r := &Request{GPU: "A100", Seconds: 60, Image: "debian:12", Command: []string{"true"}}
	change(r)
	return r
}

func TestRequestsThatCannotBeAreRefused(t *testing.T) {
	require.NoError(t, whole(func(*Request) {}).Check())
	for _, text := range []string{"data", "data:50GiB", "data:/mnt"} {
		require.NoError(t, whole(func(r *Request) { r.Keep, r.Volume = true, text }).Check(), "the bucket knows the rest")
	}
	for want, change := range map[string]func(*Request){
		"no command to run":               func(r *Request) { r.Image, r.Command = "", nil },
		"--gpu is missing":                func(r *Request) { r.GPU = "" },
		"--verify is":                     func(r *Request) { r.Verify = "often" },
		"--inspect is":                    func(r *Request) { r.Inspect = "often" },
		"--count is 9":                    func(r *Request) { r.Count = 9 },
		"--nodes is 65":                   func(r *Request) { r.Nodes = 65 },
		"is not MODEL or MODEL:COUNT":     func(r *Request) { r.GPU = "A100:many" },
		"say two numbers of GPUs":         func(r *Request) { r.GPU, r.Count = "A100:4", 2 },
		"the time is":                     func(r *Request) { r.Seconds = market.MaxDurationSecs + 1 },
		"--max-price is 0":                func(r *Request) { r.MaxPrice = "0" },
		"--max-price":                     func(r *Request) { r.MaxPrice = "cheap" },
		"--registry-credentials":          func(r *Request) { r.Registry = "everything" },
		"--network \"lan\"":               func(r *Request) { r.Network = "lan" },
		"--network is for containers":     func(r *Request) { r.Image, r.Network = "", "none" },
		"--volume is for containers":      func(r *Request) { r.Image, r.Volume = "", "data:1GiB" },
		"its size":                        func(r *Request) { r.Volume = "data:1GB" },
		"--keep is for volumes":           func(r *Request) { r.Keep = true },
		"--keep is for one machine":       func(r *Request) { r.Keep, r.Volume, r.Nodes = true, "data:1GiB", 2 },
		"has no size":                     func(r *Request) { r.Volume = "data" },
		"--backup is for volumes":         func(r *Request) { r.Backup = "s3://b/f" },
		"is not a folder of a bucket":     func(r *Request) { r.Backup, r.Volume = "http://b", "data:1GiB" },
		"--backup-every and --restore":    func(r *Request) { r.BackupEvery = time.Minute },
		"not the hash":                    func(r *Request) { r.Backup, r.Restore = "s3://b/f", "abc" },
		"more than 16 characters":         func(r *Request) { r.Region = strings.Repeat("r", 17) },
		"out of range":                    func(r *Request) { r.MinTier = 4 },
		"--min-tflops":                    func(r *Request) { r.MinTFLOPS = 1_000_001 },
		"--min-tops":                      func(r *Request) { r.MinTOPS = "many" },
		"--min-uptime":                    func(r *Request) { r.MinUptime = "101" },
		"--link":                          func(r *Request) { r.Link = "string" },
		"are for sealed orders":           func(r *Request) { r.AuctionSecs = 30 },
		"cannot be redundant":             func(r *Request) { r.Sealed, r.Redundancy = true, 3 },
		"--auction-secs is 1":             func(r *Request) { r.Sealed, r.AuctionSecs = true, 1 },
		"--reveal-secs is 1":              func(r *Request) { r.Sealed, r.RevealSecs = true, 1 },
		"a sealed order is over at most":  func(r *Request) { r.Sealed, r.Nodes = true, 9 },
		"--redundancy is 2":               func(r *Request) { r.Redundancy = 2 },
		"--redundancy says how many":      func(r *Request) { r.Redundancy, r.Nodes = 3, 2 },
		"a redundant job stays where":     func(r *Request) { r.Redundancy, r.Migrate = 3, true },
		"--min-down is 2000000000 Mbit/s": func(r *Request) { r.MinDown = 2_000_000_000 },
	} {
		err := whole(change).Check()
		require.ErrorContains(t, err, want)
		var f *service.Failure
		require.True(t, errors.As(err, &f), want)
		require.Equal(t, service.CodeUsage, f.Code, want)
	}
}

// A GPU may come with its number, and a request without a time is for an hour.
func TestDefaultsOfARequest(t *testing.T) {
	r := whole(func(r *Request) { r.GPU, r.Seconds = "A100:4", 0 })
	require.NoError(t, r.Check())
	d := r.withDefaults()
	require.Equal(t, "A100", d.GPU)
	require.EqualValues(t, 4, d.Count)
	require.EqualValues(t, 1, d.Nodes)
	require.EqualValues(t, DefaultSecs, d.Seconds)
}

// What a template says holds where the request says nothing.
func TestATemplateFillsWhatIsMissing(t *testing.T) {
	j := template.Job{
		Image: "vllm", Command: []string{"serve"}, Env: map[string]string{"A": "1", "B": "2"}, Network: "internet", Volume: "models:10GiB", GPUs: 2, MemoryGiB: 40, ToEnd: true,
		Ports: []template.Port{{Name: "api", Port: 8000}}, Try: template.Try{GPU: "A100", MaxPrice: "2.00", Minutes: 30},
	}
	var r Request
	require.NoError(t, r.Fill(&j))
	require.Equal(t, Request{
		GPU: "A100", Count: 2, MaxPrice: "2.00", Seconds: 1800, Image: "vllm", Command: j.Command, Env: j.Env, Network: "internet", Volume: "models:10GiB", MinMemory: 40,
		Ports: j.Ports, RunToCompletion: true,
	}, r)
	r = Request{GPU: "H100", Count: 1, Seconds: 60, Image: "mine", Env: map[string]string{"B": "3"}, Network: "none", Volume: "v:1GiB", MinMemory: 80}
	require.NoError(t, r.Fill(&j))
	require.Equal(t, Request{
		GPU: "H100", Count: 1, Seconds: 60, Image: "mine", Command: j.Command, Env: map[string]string{"A": "1", "B": "3"}, Network: "none", Volume: "v:1GiB", MinMemory: 80,
		Ports: j.Ports, RunToCompletion: true,
	}, r)
	require.ErrorContains(t, (&Request{Command: []string{"other"}}).Fill(&j), "a template says what runs")
}

// A suspended container continues as it was: what the request says otherwise is refused, and more room is not.
func TestASuspendedContainerGoesOnAsItWas(t *testing.T) {
	c := snapshot.Container{Image: "debian@sha256:1", Command: []string{"work"}, Memory: 512 << 20}
	c.Volume = messages.Volume{Name: "data", MiB: 1024, Path: "/data"}
	r := Request{Restore: "x"}
	require.NoError(t, r.restore(c))
	require.Equal(t, Request{Image: c.Image, Command: c.Command, Network: "none", Volume: "data:1024MiB:/data"}, r)
	require.NoError(t, (&Request{Volume: "data:2GiB:/data", Share: service.Share{Memory: 1024}}).restore(c))
	for want, r := range map[string]*Request{
		"--image is another":   {Image: "alpine"},
		"--network is another": {Network: "internet"},
		"--env is another":     {Env: map[string]string{"A": "b"}},
		"its own command":      {Command: []string{"play"}},
		"on one machine":       {Nodes: 2},
		"more than --memory":   {Share: service.Share{Memory: 256}},
		"has 1024 MiB":         {Volume: "data:16MiB:/data"},
	} {
		require.ErrorContains(t, r.restore(c), want)
	}
}

// A lease that may move or is extended needs somebody who does that: a command that stays, or a program that attends its purchases.
func TestMovesAndExtensionsNeedSomebody(t *testing.T) {
	b := &Buyer{o: Options{Key: solana.NewWallet().PrivateKey}}
	_, err := b.Buy(t.Context(), Request{GPU: "A100", Command: []string{"true"}, Migrate: true, Detach: true})
	require.ErrorContains(t, err, "--migrate needs somebody")
	_, err = b.Buy(t.Context(), Request{GPU: "A100", Command: []string{"true"}, UntilStopped: true, Detach: true})
	require.ErrorContains(t, err, "--until-stopped needs this command")
}
