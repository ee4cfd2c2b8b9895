//go:build e2e

package scenario

import (
	"archive/tar"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/long"
)

// torchImage is an image of Debian's PyTorch with a shell and the training of testdata/clusters at its root.
func torchImage(t *testing.T) string {
	t.Helper()
	own, env := imagetest.Debian(t, "torch", "usr/lib/python3", "usr/lib/python3.11")
	for i := range own {
		if strings.HasSuffix(own[i].Name, "torch/distributed/elastic/multiprocessing/api.py") {
			// PyTorch 1.13 is older than Python 3.11, in which a loop over flags leaves the zero out.
			own[i] = imagetest.File(own[i].Name, strings.ReplaceAll(own[i].Content, "for s in Std:", "for s in (Std.NONE, *Std):"))
		}
	}
	raw, err := os.ReadFile("testdata/clusters/train.py")
	require.NoError(t, err)
	files := append(imagetest.Busybox(t), imagetest.Entry{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}})
	files = append(files, imagetest.File("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"), imagetest.File("train.py", string(raw)))
	image := imagetest.Image(t, "amd64", v1.Config{Env: env}, imagetest.Layer(t, own...), imagetest.Layer(t, files...))
	tagged, _ := imagetest.Start(t, nil).Push(t, "clusters/torch", image)
	return tagged
}

var trained = regexp.MustCompile(`end of 3 machines, weights (\S+)`)

// PyTorch's DistributedDataParallel trains over the private network of an order, by gloo. When the machine of a member fails, torchrun
// waits for the one that takes the place, and trains anew over all three. All have the same weights at the end.
func TestTorchOverSeveralMachines(t *testing.T) {
	long.Test(t, "PyTorch is unpacked and started, and loses a machine")
	r := rentCluster(t, "train", torchImage(t), "--type", "torch", "--memory", "4000m", "--", "/train.py", "150")
	heard := func(place, times int, text, what string) {
		last := said("")
		began := time.Now()
		require.Eventually(t, func() bool {
			last = said(r.logs(place))
			return strings.Count(string(last), text) == times
		}, 5*time.Minute, time.Second, "%s: %s", what, &last)
		t.Logf("%s after %.1f s", what, time.Since(began).Seconds())
	}
	heard(0, 1, "step 10\n", "the training goes on")
	lost := r.fail(2)
	began := time.Now()
	heard(0, 2, "begin node 0", "the first member has begun anew")
	t.Logf("the training over three machines began %.1f s after one was lost", time.Since(began).Seconds())
	require.NotEqual(t, lost, r.status().Members[2].Lease)
	heard(2, 1, "begin node 2", "the machine that took the place trains")
	var weights []string
	for place := range 3 {
		heard(place, 1, "end of 3 machines", "a member has ended")
		weights = append(weights, trained.FindStringSubmatch(r.logs(place))[1])
	}
	require.Equal(t, []string{weights[0], weights[0], weights[0]}, weights)
}
