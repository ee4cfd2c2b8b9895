package soak

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Sample is a keeper's metrics at one moment.
type Sample struct {
	At       time.Time
	families map[string]*dto.MetricFamily
}

// ErrMetrics: a keeper's metrics cannot be read.
var ErrMetrics = errors.New("metrics cannot be read")

// Scrape reads a keeper's metrics. Error: ErrMetrics.
func Scrape(ctx context.Context, url string) (Sample, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Sample{}, fmt.Errorf("%w: %w", ErrMetrics, err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return Sample{}, fmt.Errorf("%w: %w", ErrMetrics, err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	f, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return Sample{}, fmt.Errorf("%w: %w", ErrMetrics, err)
	}
	return Sample{At: time.Now(), families: f}, nil
}

// Value of a counter or gauge, summed over its labels.
func (s Sample) Value(name string) float64 {
	sum := 0.0
	if f := s.families[name]; f != nil {
		for _, m := range f.Metric {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// Count is a counter, summed over those of its labels that are not given.
func (s Sample) Count(name string, labels map[string]string) float64 {
	sum := 0.0
	if f := s.families[name]; f != nil {
		for _, m := range f.Metric {
			fits := 0
			for _, l := range m.Label {
				if want, asked := labels[l.GetName()]; asked && l.GetValue() == want {
					fits++
				}
			}
			if fits == len(labels) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// ByLabel are the values of a counter by one of its labels.
func (s Sample) ByLabel(name, label string) map[string]float64 {
	out := map[string]float64{}
	if f := s.families[name]; f != nil {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == label {
					out[l.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return out
}

// histogram is a cumulative distribution.
type histogram struct {
	count  uint64
	bounds []float64 // upper bounds, seconds
	upTo   []uint64
}

// histogram sums a histogram over its labels.
func (s Sample) histogram(name string) histogram {
	var h histogram
	f := s.families[name]
	if f == nil {
		return h
	}
	for _, m := range f.Metric {
		g := m.GetHistogram()
		h.count += g.GetSampleCount()
		for i, b := range g.Bucket {
			if i == len(h.bounds) {
				h.bounds, h.upTo = append(h.bounds, b.GetUpperBound()), append(h.upTo, 0)
			}
			h.upTo[i] += b.GetCumulativeCount()
		}
	}
	return h
}

// add merges the same histogram of another keeper.
func (h histogram) add(o histogram) histogram {
	if len(h.bounds) == 0 {
		return o
	}
	h.count += o.count
	for i := range o.upTo {
		h.upTo[i] += o.upTo[i]
	}
	return h
}

// quantile is an upper bound of a quantile: the bound of the bucket that it falls into. ok is false when it lies above
// all of them, or nothing was observed.
func (h histogram) quantile(q float64) (d time.Duration, ok bool) {
	for i, n := range h.upTo {
		if float64(n) >= q*float64(h.count) && h.count > 0 {
			return time.Duration(h.bounds[i] * float64(time.Second)), true
		}
	}
	return 0, false
}
