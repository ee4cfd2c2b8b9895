package provider

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"google.golang.org/protobuf/proto"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

const (
	// fresh is how old a sample may be that the market's server has kept; it keeps one each ten seconds.
	fresh = 30 * time.Second
	// figuresWithin is how long a machine may take to say what a lease uses: metrics-server waits ten seconds for all.
	figuresWithin = 5 * time.Second
	// asked is how many machines are asked at once.
	asked = 16
)

// GetStatsSummary returns NotFound: metrics-server reads GetMetricsResource.
func (p *Provider) GetStatsSummary(context.Context) (*stats.Summary, error) {
	return nil, errdefs.NotFound("the node has no summary of what pods use: see /metrics/resource, or gantry top")
}

// figure is what a pod's container uses.
type figure struct {
	r record
	market.Use
}

// GetMetricsResource is what containers use, by the names that a kubelet has for it, from which kubectl top has its figures. A pod whose
// machine does not say it is left out.
func (p *Provider) GetMetricsResource(ctx context.Context) ([]*dto.MetricFamily, error) {
	all := p.figures(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cpu := family("container_cpu_usage_seconds_total", "Cumulative cpu time consumed by the container in core-seconds", dto.MetricType_COUNTER)
	memory := family("container_memory_working_set_bytes", "Current working set of the container in bytes", dto.MetricType_GAUGE)
	start := family("container_start_time_seconds", "Start time of the container since unix epoch in seconds", dto.MetricType_GAUGE)
	podCPU := family("pod_cpu_usage_seconds_total", "Cumulative cpu time consumed by the pod in core-seconds", dto.MetricType_COUNTER)
	podMemory := family("pod_memory_working_set_bytes", "Current working set of the pod in bytes", dto.MetricType_GAUGE)
	nodeCPU := family("node_cpu_usage_seconds_total", "Cumulative cpu time consumed by the node in core-seconds", dto.MetricType_COUNTER)
	nodeMemory := family("node_memory_working_set_bytes", "Current working set of the node in bytes", dto.MetricType_GAUGE)
	var seconds, bytes float64
	for _, f := range all {
		pod := labels("namespace", f.r.Pod.Namespace, "pod", f.r.Pod.Name)
		container := append(labels("container", f.r.Pod.Spec.Containers[0].Name), pod...)
		used := float64(f.MemoryBytes)
		cpu.add(container, f.CPUSeconds, f.MeasuredAt)
		memory.add(container, used, f.MeasuredAt)
		podCPU.add(pod, f.CPUSeconds, f.MeasuredAt)
		podMemory.add(pod, used, f.MeasuredAt)
		if began, runs := startOf(&f.r); runs {
			start.add(container, float64(began.UnixNano())/float64(time.Second), time.Time{})
		}
		seconds, bytes = seconds+f.CPUSeconds, bytes+used
	}
	now := time.Now()
	nodeCPU.add(nil, seconds, now)
	nodeMemory.add(nil, bytes, now)
	var out []*dto.MetricFamily
	for _, m := range []*metrics{cpu, memory, start, podCPU, podMemory, nodeCPU, nodeMemory} {
		if len(m.Metric) > 0 {
			out = append(out, m.MetricFamily)
		}
	}
	return out, nil
}

// figures asks what the containers that run use, several at once.
func (p *Provider) figures(ctx context.Context) (all []figure) {
	ctx, cancel := context.WithTimeout(ctx, figuresWithin)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	room := make(chan struct{}, asked)
	for _, r := range p.records() {
		if r.Lease == "" || !r.Started || r.Done || r.Deleted {
			continue
		}
		wg.Go(func() {
			select {
			case room <- struct{}{}:
				defer func() { <-room }()
			case <-ctx.Done():
				return
			}
			u, err := p.o.Market.Use(ctx, r.Lease, fresh)
			if err != nil {
				p.o.Log.Debug().Err(err).Str("pod", nameOf(r.Pod)).Msg("what a pod uses is not known")
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, figure{r, u})
		})
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b figure) int { return strings.Compare(nameOf(a.r.Pod), nameOf(b.r.Pod)) })
	return all
}

// startOf is when a pod's container began.
func startOf(r *record) (at time.Time, runs bool) {
	for _, c := range r.Pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			return c.State.Running.StartedAt.Time, true
		}
	}
	return at, false
}

// metrics are those of one name.
type metrics struct{ *dto.MetricFamily }

func family(name, help string, kind dto.MetricType) *metrics {
	return &metrics{&dto.MetricFamily{Name: proto.String(name), Help: proto.String(help), Type: kind.Enum()}}
}

// add adds a value of a time; the zero time is now.
func (m *metrics) add(of []*dto.LabelPair, value float64, at time.Time) {
	one := &dto.Metric{Label: of}
	if m.GetType() == dto.MetricType_COUNTER {
		one.Counter = &dto.Counter{Value: proto.Float64(value)}
	} else {
		one.Gauge = &dto.Gauge{Value: proto.Float64(value)}
	}
	if !at.IsZero() {
		one.TimestampMs = proto.Int64(at.UnixMilli())
	}
	m.Metric = append(m.Metric, one)
}

func labels(pairs ...string) (out []*dto.LabelPair) {
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, &dto.LabelPair{Name: proto.String(pairs[i]), Value: proto.String(pairs[i+1])})
	}
	return out
}
