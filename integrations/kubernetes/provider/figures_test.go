package provider

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

// The node answers what its pods use as a kubelet does. A pod whose machine says nothing is left out, and hides no other.
func TestFigures(t *testing.T) {
	w := newWorld(t)
	one, two, silent, over := w.create(gpuPod("one", corev1.RestartPolicyNever)), w.create(gpuPod("two", corev1.RestartPolicyNever)),
		w.create(gpuPod("silent", corev1.RestartPolicyNever)), w.create(gpuPod("over", corev1.RestartPolicyNever))
	for _, pod := range []*corev1.Pod{one, two, silent, over} {
		w.until(pod, "running", running)
	}
	w.server.exits(w.lease(over, 0), 0, "")
	w.until(over, "succeeded", phase(corev1.PodSucceeded))
	at := time.UnixMilli(1_800_000_000_123)
	for pod, u := range map[*corev1.Pod]market.Use{
		one: {CPUSeconds: 1.5, MemoryBytes: 1 << 20, MeasuredAt: at}, two: {CPUSeconds: 20, MemoryBytes: 3 << 20, MeasuredAt: at}, over: {CPUSeconds: 7, MeasuredAt: at},
	} {
		lease := w.lease(pod, 0)
		w.server.change(func() { w.server.uses[lease] = &u })
	}
	answer := httptest.NewRecorder()
	api.HandlePodMetricsResource(w.GetMetricsResource)(answer, httptest.NewRequest(http.MethodGet, "/metrics/resource", nil))
	raw, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	text := string(raw)
	for _, line := range []string{
		"# TYPE container_cpu_usage_seconds_total counter\n",
		`container_cpu_usage_seconds_total{container="main",namespace="default",pod="one"} 1.5 1800000000123` + "\n",
		`container_memory_working_set_bytes{container="main",namespace="default",pod="two"} 3.145728e+06 1800000000123` + "\n",
		`container_start_time_seconds{container="main",namespace="default",pod="one"} `,
		`pod_cpu_usage_seconds_total{namespace="default",pod="two"} 20 1800000000123` + "\n",
		`pod_memory_working_set_bytes{namespace="default",pod="one"} 1.048576e+06 1800000000123` + "\n",
		"node_cpu_usage_seconds_total 21.5 ",
		"node_memory_working_set_bytes 4.194304e+06 ",
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, "silent")
	require.NotContains(t, text, `"over"`)
}

// A node without pods uses nothing, and says so: metrics-server would take the node for gone otherwise.
func TestFiguresOfAnEmptyNode(t *testing.T) {
	w := newWorld(t)
	found, err := w.GetMetricsResource(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "node_cpu_usage_seconds_total", found[0].GetName())
	_, err = w.GetStatsSummary(t.Context())
	require.ErrorContains(t, err, "/metrics/resource")
}
