package image

import (
	"io"
	"math"
	"sync"
	"time"
)

// Phase of a pull.
type Phase string

// The phases, in their order.
const (
	Asking    Phase = "asking"    // the registry is asked what the image is made of
	Fetching  Phase = "fetching"  // bytes of layers come; those that are here are unpacked meanwhile
	Unpacking Phase = "unpacking" // all bytes are here
	Ready     Phase = "ready"     // the image is here
)

const (
	reportEvery = 250 * time.Millisecond
	rateOver    = 5 * time.Second
)

// Progress of a pull. Sizes are bytes of layers as the registry has them. A layer that is in the cache counts as done.
type Progress struct {
	Phase Phase `json:"phase"`
	// Total is 0 until the registry has said what the image is made of.
	Total    int64 `json:"total"`
	Done     int64 `json:"done"`
	Unpacked int64 `json:"unpacked"`
	// Rate is how many bytes a second came over the last seconds.
	Rate       int64 `json:"rate"`
	Layers     int   `json:"layers"`
	LayersDone int   `json:"layers_done"` // unpacked ones
	// Still is how long nothing has changed.
	Still time.Duration `json:"still"`
}

// meter counts what a pull does.
type meter struct {
	mu    sync.Mutex
	p     Progress
	came  int64 // bytes that registries have sent
	moved time.Time
	past  []sample // of came, the oldest first
}

type sample struct {
	at   time.Time
	came int64
}

func newMeter() *meter { return &meter{moved: time.Now()} }

// layers takes what the image is made of.
func (m *meter) layers(sizes ...int64) {
	m.change(func() {
		m.p.Layers = len(sizes)
		for _, size := range sizes {
			if m.p.Total += size; m.p.Total < 0 { // a manifest may say anything
				m.p.Total = math.MaxInt64
			}
		}
	})
}

func (m *meter) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	m.moved = time.Now()
}

// all says that the whole image is here.
func (m *meter) all() {
	m.change(func() {
		m.p.Done, m.p.Unpacked, m.p.LayersDone, m.p.Phase = m.p.Total, m.p.Total, m.p.Layers, Ready
	})
}

// now is the progress at a time.
func (m *meter) now(at time.Time) Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := 0
	for first < len(m.past)-1 && at.Sub(m.past[first].at) > rateOver {
		first++
	}
	m.past = append(m.past[first:], sample{at, m.came})
	p := m.p
	switch {
	case p.Phase == Ready:
	case p.Total == 0:
		p.Phase = Asking
	case p.Done < p.Total:
		p.Phase = Fetching
	default:
		p.Phase = Unpacking
	}
	if first := m.past[0]; p.Phase == Fetching && at.After(first.at) {
		p.Rate = int64(float64(m.came-first.came) / at.Sub(first.at).Seconds())
	}
	if p.Phase != Ready {
		p.Still = max(0, at.Sub(m.moved))
	}
	return p
}

// report tells the progress again and again, and a last time when end is called, which waits. Calls do not overlap.
func (m *meter) report(every time.Duration, to func(Progress)) (end func()) {
	if to == nil {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			to(m.now(time.Now()))
			select {
			case <-stop:
				to(m.now(time.Now()))
				return
			case <-t.C:
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// part is what is counted of one layer: never more than its size.
type part struct {
	m              *meter
	size           int64
	done, unpacked int64 // guarded by m.mu
}

// fetched counts bytes that a registry has sent.
func (l *part) fetched(n int) {
	l.m.change(func() {
		l.m.came += int64(n)
		l.m.p.Done += grow(&l.done, int64(n), l.size)
	})
}

// over says that the layer is unpacked.
func (l *part) over() {
	l.m.change(func() {
		l.m.p.Done += grow(&l.done, l.size, l.size)
		l.m.p.Unpacked += grow(&l.unpacked, l.size, l.size)
		l.m.p.LayersDone++
	})
}

// grow adds to a number up to a limit, and returns how much it has added.
func grow(have *int64, more, most int64) int64 {
	more = min(more, most-*have)
	*have += more
	return more
}

// reading counts what passes as unpacked.
func (l *part) reading(r io.Reader) io.Reader {
	return counting{r, func(n int) { l.m.change(func() { l.m.p.Unpacked += grow(&l.unpacked, int64(n), l.size) }) }}
}

// counting tells how many bytes each read has got.
type counting struct {
	io.Reader
	took func(int)
}

func (c counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if n > 0 {
		c.took(n)
	}
	return n, err
}
