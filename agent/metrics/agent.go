package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/gantry-market/gantry/agent/challenge"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/idle"
	"github.com/gantry-market/gantry/agent/line"
	"github.com/gantry-market/gantry/agent/measure"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/internal/alert"
)

// State is what is shown of an agent at one moment.
type State struct {
	// Status is the node's on chain, such as "active".
	Status string
	// Offer says whether the machine takes new leases.
	Offer offer.State
	// Share is what the weakest GPU reached of its class when keepers measured it last, at most 1; nil where the node is held to
	// nothing, or was not measured. SlowPeriods are the measured periods in a row in which that was too little.
	Share       *float64
	SlowPeriods int
	// PendingFaults are faults on chain that hold stake and are not decided.
	PendingFaults int
	// Leases counts those that the agent keeps by state.
	Leases map[string]int
	// Keepers are all on chain, Connected those that have a connection with this node.
	Keepers, Connected int
	// Asked is when a keeper last asked this node; of an agent that was never asked, when it started; of one that woke later, when it did.
	Asked time.Time
	// Questions counts keepers' questions since the start.
	Questions challenge.Counts
	// Measured counts measurements since the start.
	Measured measure.Counts
	// Lines counts checks of the line since the start.
	Lines line.Counts
	// Notices counts notices for people since the start.
	Notices alert.Counts
	// Idle is the owner's job; nil without one.
	Idle *idle.State
	// InFlight are transactions whose outcome is not known yet.
	InFlight int
	// Faults are those of the hardware that stand.
	Faults int
	// ClockOff is what has to be added to this machine's clock to have the chain's.
	ClockOff time.Duration
	// Slot is the newest that the agent has seen.
	Slot uint64
	// DiskFree and ImageBytes are of the data folder's file system and of the images in the cache, bytes.
	DiskFree, ImageBytes uint64
	GPUs                 []GPU
}

// GPU is a device with its readings.
type GPU struct {
	Device  host.GPU
	Reading host.Reading
}

const namespace = "gantry_agent"

// figure is one without a label.
type figure struct {
	desc *prometheus.Desc
	read func(State) float64
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

// plain are the figures without labels.
func plain() []figure {
	return append(lastMeasured(), []figure{
		{describe("offering", "1 while the machine takes new leases."), func(s State) float64 { return truth(s.Offer.Offering) }},
		{describe("slow_periods", "Measured periods in a row in which keepers found the GPUs below 0.7 of their class; a row of sixteen costs stake."), func(s State) float64 { return float64(s.SlowPeriods) }},
		{describe("pending_faults", "Faults on chain that hold this node's stake and are not decided."), func(s State) float64 { return float64(s.PendingFaults) }},
		{describe("keepers", "Keepers on chain."), func(s State) float64 { return float64(s.Keepers) }},
		{describe("keepers_connected", "Keepers that have a connection with this node."), func(s State) float64 { return float64(s.Connected) }},
		{describe("question_age_seconds", "Time since a keeper last asked this node."), func(s State) float64 { return time.Since(s.Asked).Seconds() }},
		{describe("transactions_in_flight", "Transactions whose outcome is not known yet."), func(s State) float64 { return float64(s.InFlight) }},
		{describe("hardware_faults", "Faults of the hardware that stand."), func(s State) float64 { return float64(s.Faults) }},
		{describe("clock_off_seconds", "What has to be added to this machine's clock to have the chain's; 0 within a few seconds."), func(s State) float64 { return s.ClockOff.Seconds() }},
		{describe("chain_slot", "Newest slot that the agent has seen."), func(s State) float64 { return float64(s.Slot) }},
		{describe("disk_free_bytes", "Room on the data folder's file system."), func(s State) float64 { return float64(s.DiskFree) }},
		{describe("image_bytes", "What the images of containers take on the disk."), func(s State) float64 { return float64(s.ImageBytes) }},
	}...)
}

// collector reads the state whenever figures are asked for.
type collector struct {
	read      func() (State, bool)
	figures   []figure
	status    *prometheus.Desc
	withheld  *prometheus.Desc
	leases    *prometheus.Desc
	questions *prometheus.Desc
	missing   *prometheus.Desc
	notices   *prometheus.Desc
	idle      idleJob
	measured  measurements
	gpu       []reading
}

// NewRegistry has an agent's figures. read returns false as long as there is no state to show: the node is not registered yet.
func NewRegistry(read func() (State, bool)) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(read), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func newCollector(read func() (State, bool)) *collector {
	return &collector{
		read: read, figures: plain(),
		status:    describe("node_status", "1 for the node's status on chain.", "status"),
		withheld:  describe("not_offering", "1 for the reason for which the machine takes no new leases, 0 for the others.", "reason"),
		leases:    describe("leases", "Leases that the agent keeps, by state.", "state"),
		questions: describe("questions_total", "Questions of keepers since the agent started, by kind and whether they were answered.", "kind", "answered"),
		missing:   describe("gpu_missing", "1 for a GPU that has fallen off the bus.", "gpu", "simulated"),
		notices:   describe("notices_total", "Notices for people since the agent started, by target and attempt: sent, failed attempts, dropped.", "outcome"),
		idle:      newIdleJob(),
		measured:  newMeasurements(),
		gpu:       readings(),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		to <- f.desc
	}
	to <- c.status
	to <- c.withheld
	to <- c.leases
	to <- c.questions
	to <- c.missing
	to <- c.notices
	c.idle.describe(to)
	c.measured.describe(to)
	for _, r := range c.gpu {
		to <- r.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s, ok := c.read()
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, f := range c.figures {
		gauge(f.desc, f.read(s))
	}
	gauge(c.status, 1, s.Status)
	for _, reason := range offer.Reasons() {
		gauge(c.withheld, truth(s.Offer.Reason == reason), string(reason))
	}
	for state, n := range s.Leases {
		gauge(c.leases, float64(n), state)
	}
	q := s.Questions
	for _, n := range []struct {
		kind, answered string
		count          uint64
	}{
		{"liveness", "yes", q.Liveness},
		{"inventory", "yes", q.Inventory},
		{"evidence", "yes", q.Evidence},
		{"line", "yes", s.Lines.Begun},
		{"line", "no", s.Lines.Declined()},
	} {
		to <- prometheus.MustNewConstMetric(c.questions, prometheus.CounterValue, float64(n.count), n.kind, n.answered)
	}
	for outcome, n := range map[string]uint64{"sent": s.Notices.Sent, "failed": s.Notices.Failed, "dropped": s.Notices.Dropped} {
		to <- prometheus.MustNewConstMetric(c.notices, prometheus.CounterValue, float64(n), outcome)
	}
	c.idle.collect(to, s.Idle)
	c.measured.collect(to, s)
	c.collectGPUs(to, s.GPUs)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Names lists all figures but those of the Go runtime and the process.
func Names() []string {
	found := make(chan *prometheus.Desc)
	go func() { newCollector(nil).Describe(found); close(found) }()
	var names []string
	for d := range found {
		_, name, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ = strings.Cut(name, `"`)
		names = append(names, name)
	}
	return names
}
