package provider

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	utilexec "k8s.io/utils/exec"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
	"github.com/gantry-market/gantry/integrations/kubernetes/podspec"
)

// A pod is bought, runs, and ends with the exit code of its job; its output outlives the machine.
func TestAJobSucceedsAndFails(t *testing.T) {
	w := newWorld(t)
	good, bad := w.create(gpuPod("good", corev1.RestartPolicyNever)), w.create(gpuPod("bad", corev1.RestartPolicyNever))
	s := w.until(good, "running", running)
	require.True(t, s.ContainerStatuses[0].Ready)
	w.until(bad, "running", running)
	w.server.change(func() {
		require.True(t, w.server.orders["k8s-uid-good-0"].RunToCompletion)
		require.Equal(t, "10", w.server.orders["k8s-uid-good-0"].Budget)
		w.server.output[w.server.bought["k8s-uid-good-0"]] = "one\ntwo\n"
	})
	w.server.exits(w.lease(good, 0), 0, "")
	w.server.exits(w.lease(bad, 0), 137, "the job used more memory than its limit")
	w.until(good, "succeeded", phase(corev1.PodSucceeded))
	s = w.until(bad, "failed", phase(corev1.PodFailed))
	require.EqualValues(t, 137, s.ContainerStatuses[0].State.Terminated.ExitCode)
	require.Equal(t, reasonMemory, s.ContainerStatuses[0].State.Terminated.Reason)
	w.server.change(func() { clear(w.server.leases) })
	require.Equal(t, "two\n", w.logs(good, api.ContainerLogOpts{Tail: 1}))
	require.NoError(t, w.DeletePod(t.Context(), good))
	require.Eventually(t, func() bool { return errdefs.IsNotFound(w.DeletePod(t.Context(), good)) }, time.Minute, time.Millisecond)
	require.NoFileExists(t, filepath.Join(w.dir, "uid-good.log"))
}

func (w *world) lease(pod *corev1.Pod, attempt int) (lease string) {
	r := record{Pod: pod, Attempt: attempt}
	w.server.change(func() { lease = w.server.bought[r.key()] })
	return lease
}

func (w *world) logs(pod *corev1.Pod, o api.ContainerLogOpts) string {
	w.t.Helper()
	out, err := w.GetContainerLogs(w.t.Context(), pod.Namespace, pod.Name, "main", o)
	require.NoError(w.t, err)
	raw, err := io.ReadAll(out)
	require.NoError(w.t, err)
	require.NoError(w.t, out.Close())
	return string(raw)
}

// A deleted pod's lease is ended, the pod is told to be over, and deleting it again succeeds until it is forgotten.
func TestADeletedPodEndsItsLease(t *testing.T) {
	w := newWorld(t)
	pod := w.create(gpuPod("served", corev1.RestartPolicyAlways))
	w.until(pod, "running", running)
	require.EqualValues(t, 1, w.Held())
	require.NoError(t, w.DeletePod(t.Context(), pod))
	_ = w.DeletePod(t.Context(), pod)
	s := w.until(pod, "over", phase(corev1.PodFailed))
	require.Equal(t, reasonDeleted, s.ContainerStatuses[0].State.Terminated.Reason)
	w.server.change(func() { require.Equal(t, market.EndedByCustomer, w.server.leases["lease-1"].EndReason) })
	require.Eventually(t, func() bool { return errdefs.IsNotFound(w.DeletePod(t.Context(), pod)) }, time.Minute, time.Millisecond)
	left, err := os.ReadDir(w.dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A pod that is deleted while its order waits buys nothing that stays: a lease that the order comes to is ended.
func TestAPodThatIsDeletedWhileItIsBought(t *testing.T) {
	w := newWorld(t)
	w.server.change(func() { w.server.slow = true })
	pod := w.create(gpuPod("early", corev1.RestartPolicyAlways))
	w.until(pod, "buying", waiting(reasonBuying))
	require.Eventually(t, func() bool { n := 0; w.server.change(func() { n = w.server.asked }); return n > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, w.DeletePod(t.Context(), pod))
	w.server.change(func() { w.server.slow = false })
	require.Eventually(t, func() bool { return errdefs.IsNotFound(w.DeletePod(t.Context(), pod)) }, time.Minute, time.Millisecond)
	w.server.change(func() {
		require.Len(t, w.server.leases, 1)
		require.True(t, w.server.leases["lease-1"].Over())
	})
}

// A provider that starts again continues: it buys nothing twice, also where a Secret has changed, and where the server was
// gone when the order was sent.
func TestAProviderThatStartsAgainBuysNothingTwice(t *testing.T) {
	w := newWorld(t)
	pod := gpuPod("kept", corev1.RestartPolicyNever)
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "old"}}
	w.server.change(func() { w.server.slow = true })
	w.create(pod)
	w.until(pod, "buying", waiting(reasonBuying))
	w.end()
	w.server.change(func() { w.server.slow = false })
	w.start()
	pods, err := w.GetPods(t.Context())
	require.NoError(t, err)
	require.Len(t, pods, 1)
	changed := pod.DeepCopy()
	changed.Spec.Containers[0].Env[0].Value = "new"
	require.NoError(t, w.UpdatePod(t.Context(), changed))
	w.until(pod, "running", running)
	w.end()
	w.start()
	require.NoError(t, w.CreatePod(t.Context(), changed))
	w.server.exits("lease-1", 0, "")
	w.until(pod, "succeeded", phase(corev1.PodSucceeded))
	w.server.change(func() {
		require.Len(t, w.server.bought, 1)
		require.Equal(t, "old", w.server.orders["k8s-uid-kept-0"].Env["PASSWORD"])
	})
	info, err := os.Stat(filepath.Join(w.dir, "uid-kept.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// A pod whose name another pod has now is ended, also if nobody has said that it was deleted.
func TestAnotherPodOfTheSameName(t *testing.T) {
	w := newWorld(t)
	first := w.create(gpuPod("set-0", corev1.RestartPolicyAlways))
	w.until(first, "running", running)
	second := gpuPod("set-0", corev1.RestartPolicyAlways)
	second.UID = "uid-second"
	require.NoError(t, w.index.Update(second))
	_, err := w.GetPod(t.Context(), "default", "set-0")
	require.True(t, errdefs.IsNotFound(err), "%v", err)
	require.NoError(t, w.CreatePod(t.Context(), second))
	w.until(second, "running", running)
	require.Eventually(t, func() bool { return w.byUID(first.UID) == nil }, time.Minute, time.Millisecond)
	got, err := w.GetPod(t.Context(), "default", "set-0")
	require.NoError(t, err)
	require.Equal(t, second.UID, got.UID)
}

// What no lease can be says why. A pod of a controller that would make another one at once waits instead of failing.
func TestWhatCannotRunIsRefused(t *testing.T) {
	w := newWorld(t)
	for restart, is := range map[corev1.RestartPolicy]func(corev1.PodStatus) bool{
		corev1.RestartPolicyNever: phase(corev1.PodFailed), corev1.RestartPolicyOnFailure: phase(corev1.PodFailed), corev1.RestartPolicyAlways: waiting(reasonRefused),
	} {
		pod := gpuPod("refused-"+string(restart), restart)
		pod.Spec.InitContainers = []corev1.Container{{Name: "prepare"}}
		w.create(pod)
		s := w.until(pod, "refused", is)
		require.Equal(t, reasonRefused, s.Reason)
		require.Contains(t, s.Message, "init containers (prepare)")
		require.Eventually(t, func() bool { return w.saw("init containers") }, time.Minute, time.Millisecond)
	}
	w.server.change(func() { require.Zero(t, w.server.asked) })
}

// An image that is not there is what kubectl shows for it, and nothing is bought; the market's refusal is said as it is.
func TestOrdersThatAreRefused(t *testing.T) {
	w := newWorld(t)
	says := map[string]*market.Problem{
		"k8s-uid-image-0": {Status: http.StatusConflict, Detail: "image example.org/job:1 is not there, or not public: the registry answers 404"},
		"k8s-uid-full-0":  {Status: http.StatusConflict, Detail: "no machine fits", NextStep: "ask for less"},
		"k8s-uid-wrong-0": {Status: http.StatusUnprocessableEntity, Detail: "validation failed"},
		"k8s-uid-token-0": {Status: http.StatusUnauthorized, Detail: "the token was revoked"},
	}
	w.server.change(func() { w.server.refuse = func(key string) *market.Problem { return says[key] } })
	image, full := w.create(gpuPod("image", corev1.RestartPolicyNever)), w.create(gpuPod("full", corev1.RestartPolicyNever))
	wrong, token := w.create(gpuPod("wrong", corev1.RestartPolicyNever)), w.create(gpuPod("token", corev1.RestartPolicyNever))
	s := w.until(image, "no image", waiting(reasonImageAgain))
	require.Equal(t, corev1.PodPending, s.Phase)
	s = w.until(full, "no machine", waiting(reasonNotServed))
	require.Equal(t, "no machine fits: ask for less", s.ContainerStatuses[0].State.Waiting.Message)
	require.Equal(t, reasonRefused, w.until(wrong, "wrong", phase(corev1.PodFailed)).Reason)
	w.until(token, "no token", waiting(reasonUnreachable))
	for _, pod := range []*corev1.Pod{full, token} { // nothing is under way between two tries
		require.Eventually(t, func() bool { r := w.byUID(pod.UID).get(); return !r.Sent }, time.Minute, time.Millisecond)
	}
	delete(says, "k8s-uid-full-0")
	w.server.change(func() { w.server.refuse = nil })
	w.until(full, "running", running)
}

// A container that is to be started again has another lease, within what the pod's budget leaves.
func TestRestartsAreNewLeasesWithinTheBudget(t *testing.T) {
	w := newWorld(t)
	pod := gpuPod("again", corev1.RestartPolicyOnFailure)
	pod.Annotations = map[string]string{podspec.AnnotationBudget: "0.4"}
	w.create(pod)
	w.until(pod, "running", running)
	w.server.change(func() { w.server.output["lease-1"] = "before\n" })
	w.server.exits("lease-1", 3, "the job ended with status 3")
	s := w.until(pod, "running again", func(s corev1.PodStatus) bool { return running(s) && s.ContainerStatuses[0].RestartCount == 1 })
	require.EqualValues(t, 3, s.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
	w.server.change(func() { require.Equal(t, "0.15", w.server.orders["k8s-uid-again-1"].Budget) })
	require.Equal(t, "before\n", w.logs(pod, api.ContainerLogOpts{Previous: true}))
	w.server.exits("lease-2", 3, "the job ended with status 3")
	s = w.until(pod, "no budget", phase(corev1.PodFailed))
	require.Equal(t, reasonFunds, s.Reason)
	w.server.change(func() { require.Len(t, w.server.bought, 2) })
}

// Ends that are not the job's own have a reason of their own; one is a deadline.
func TestEndsThatAreNotTheJobs(t *testing.T) {
	w := newWorld(t)
	for end, reason := range map[string]string{
		market.EndedFailed: reasonMachine, market.EndedFunds: reasonFunds, market.EndedByProvider: reasonGivenUp, market.EndedByCustomer: reasonStopped,
	} {
		pod := w.create(gpuPod("end-"+reason, corev1.RestartPolicyNever))
		w.until(pod, "running", running)
		w.server.change(func() {
			l := w.server.leases[w.server.bought["k8s-"+string(pod.UID)+"-0"]]
			l.Status, l.EndReason = "ended", end
		})
		require.Equal(t, reason, w.until(pod, "failed", phase(corev1.PodFailed)).Reason)
	}
	pod := gpuPod("late", corev1.RestartPolicyAlways)
	second := int64(1)
	pod.Spec.ActiveDeadlineSeconds = &second
	w.create(pod)
	require.Equal(t, reasonDeadline, w.until(pod, "late", phase(corev1.PodFailed)).Reason)
	require.True(t, w.server.leases[w.lease(pod, 0)].Over())
}

// Output is followed to its end, and what cannot be had is an error.
func TestOutput(t *testing.T) {
	w := newWorld(t)
	pod := w.create(gpuPod("talks", corev1.RestartPolicyNever))
	w.until(pod, "running", running)
	w.server.change(func() { w.server.output["lease-1"] = "a\nb\n" })
	require.Equal(t, "b\nlater\n", w.logs(pod, api.ContainerLogOpts{Tail: 1, Follow: true}))
	require.Equal(t, "a\n", w.logs(pod, api.ContainerLogOpts{LimitBytes: 2}))
	_, err := w.GetContainerLogs(t.Context(), "default", "talks", "main", api.ContainerLogOpts{Timestamps: true})
	require.ErrorContains(t, err, "--timestamps")
	_, err = w.GetContainerLogs(t.Context(), "default", "nobody", "main", api.ContainerLogOpts{})
	require.True(t, errdefs.IsNotFound(err))
	require.Equal(t, "b\nc", lastLines("a\nb\nc", 2))
	require.Equal(t, "a\n", lastLines("a\n", 5))
	require.Empty(t, lastLines("", 3))
}

// A stream is connected with a port of the container, both ways, until that closes its side. What cannot be entered says so.
func TestPortsAndShells(t *testing.T) {
	w := newWorld(t)
	pod := w.create(gpuPod("listens", corev1.RestartPolicyNever))
	w.until(pod, "running", running)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, "got "+line)
			_ = c.Close()
		}
	}()
	w.server.change(func() { w.server.endpoint = l.Addr().String() })
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- w.PortForward(t.Context(), "default", "listens", 8080, theirs) }()
	_, err = io.WriteString(ours, "hello\n")
	require.NoError(t, err)
	raw, err := io.ReadAll(ours)
	require.NoError(t, err)
	require.Equal(t, "got hello\n", string(raw))
	require.NoError(t, <-ended)
	for _, cmd := range [][]string{{"ls"}, {"sh", "-l"}} {
		require.ErrorContains(t, w.RunInContainer(t.Context(), "default", "listens", "main", cmd, &attached{tty: true, in: strings.NewReader("")}), "kubectl exec -it POD -- sh")
	}
	require.ErrorContains(t, w.PortForward(t.Context(), "default", "nobody", 80, theirs), "no pod default/nobody")
}

// attached are the streams of kubectl exec.
type attached struct {
	tty      bool
	in       io.Reader
	out, err bytes.Buffer
}

type closable struct{ io.Writer }

func (closable) Close() error { return nil }

func (a *attached) TTY() bool                   { return a.tty }
func (a *attached) Stdin() io.Reader            { return a.in }
func (a *attached) Stdout() io.WriteCloser      { return closable{&a.out} }
func (a *attached) Stderr() io.WriteCloser      { return closable{&a.err} }
func (a *attached) Resize() <-chan api.TermSize { return nil }

// A command has its outputs and its input, and its exit code is the error that virtual-kubelet looks for.
func TestCommands(t *testing.T) {
	w := newWorld(t)
	pod := w.create(gpuPod("runs", corev1.RestartPolicyNever))
	w.until(pod, "running", running)
	var a attached
	err := w.RunInContainer(t.Context(), "default", "runs", "main", []string{"sh", "-c", "cat; echo out; echo err >&2; exit 3"}, &a)
	exit, is := err.(utilexec.ExitError) //nolint:errorlint // as virtual-kubelet does
	require.True(t, is, "%v", err)
	require.Equal(t, 3, exit.ExitStatus())
	require.Equal(t, "out\n", a.out.String())
	require.Equal(t, "err\n", a.err.String())

	a = attached{in: strings.NewReader("given\n")}
	require.NoError(t, w.RunInContainer(t.Context(), "default", "runs", "main", []string{"cat"}, &a))
	require.Equal(t, "given\n", a.out.String())

	err = w.RunInContainer(t.Context(), "default", "runs", "main", []string{"/there/is/none"}, &attached{})
	_, is = err.(utilexec.ExitError) //nolint:errorlint // as above
	require.False(t, is)
	require.ErrorContains(t, err, "command in pod default/runs")
	require.ErrorContains(t, w.RunInContainer(t.Context(), "default", "nobody", "main", []string{"true"}, &attached{}), "no pod default/nobody")
}

// The node has what is free and what its pods hold, and is not ready while the market is not seen.
func TestTheNode(t *testing.T) {
	w := newWorld(t)
	n := NewNode(NodeOptions{
		Name: "gantry", Address: "127.0.0.1", Pods: 5, Defaults: podspec.Defaults{GPU: "A100", MaxPrice: "2"}, Market: w.o.Market, Held: func() int64 { return 2 },
		Every: time.Millisecond, Log: w.o.Log,
	})
	require.Equal(t, "gpu=A100 price<=2 real", n.terms())
	require.Equal(t, "A100", n.Object().Labels[podspec.LabelGPU])
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan *corev1.Node)
	n.NotifyNodeStatus(ctx, func(o *corev1.Node) {
		select {
		case seen <- o:
		case <-ctx.Done():
		}
	})
	got := <-seen
	require.EqualValues(t, 6, got.Status.Capacity.Name(podspec.GPUs, "").Value())
	require.Equal(t, corev1.ConditionTrue, got.Status.Conditions[0].Status)
	w.server.change(func() { w.server.down = true })
	require.Eventually(t, func() bool { got = <-seen; return got.Status.Conditions[0].Status == corev1.ConditionFalse }, time.Minute, time.Millisecond)
	require.EqualValues(t, 6, got.Status.Capacity.Name(podspec.GPUs, "").Value(), "what is not known is as it was")
	require.Error(t, n.Ping(t.Context()))
	cancel()
	n.Wait()
}

func TestMoney(t *testing.T) {
	for text, want := range map[string]int64{"10": 10_000_000, "0.25": 250_000, "0.0000001": 1, " 2.5 ": 2_500_000} {
		got, err := micros(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "x", "-1", "1e400"} {
		_, err := micros(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "0.15", usdc(150_000))
	require.Equal(t, "10", usdc(10_000_000))
	require.Equal(t, "0", usdc(0))
}
