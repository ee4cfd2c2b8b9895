package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

const flagBeside = "beside-job"

func verifyCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "measure the GPUs of a lease that you have", ArgsUsage: "LEASE",
		Description: "The machine computes for you, as it does for keepers each period, and your command checks samples of the results\n" +
			"and the time. Nothing changes on chain: what a bad machine means for your lease is yours to decide (gantry stop). Without a job\n" +
			"that has the GPUs this takes nothing from you but time.",
		Flags: asSession(&cli.BoolFlag{
			Name:  flagBeside,
			Usage: "measure although the lease's job has the GPUs, for a few seconds and with little memory: the job is slower meanwhile, the figures are lower, and say nothing of the memory's size",
		}),
		Action: action(s, (*session).verify),
	}
}

// measuredJSON is what verify prints.
type measuredJSON struct {
	Lease     string `json:"lease"`
	Node      string `json:"node"`
	Simulated bool   `json:"simulated,omitempty"`
	// Outcome is measured, slow, wrong, refused or unknown.
	Outcome string       `json:"outcome"`
	Why     string       `json:"why,omitempty"`
	GPUs    []figureJSON `json:"gpus,omitempty"`
	// Promised is what the node's record says of each GPU; 0 where it says nothing.
	PromisedOperations float64 `json:"promisedOperations,omitempty"`
	PromisedBandwidth  float64 `json:"promisedBandwidth,omitempty"`
	BesideJob          bool    `json:"besideJob,omitempty"`
}

// figureJSON are the figures of one GPU.
type figureJSON struct {
	GPU        uint8   `json:"gpu"`
	Operations float64 `json:"operations"` // int8, each second
	Bandwidth  float64 `json:"bandwidth"`  // bytes a second under dependent access
	Memory     uint64  `json:"memory"`     // bytes
}

func (s *session) verify() error {
	args, mk, _, err := s.begin("LEASE")
	if err != nil {
		return err
	}
	v, l, err := s.ownLease(s.live, args[0], query.Kind(market.KindKeeper), query.Kind(market.KindModel))
	if err != nil {
		return err
	}
	if l.State() != market.LeaseAwarded && l.State() != market.LeaseRunning {
		return refused(fmt.Sprintf("lease %s is over", l.Address), "see: gantry leases")
	}
	r, err := s.dial(v)
	if err != nil {
		return err
	}
	m, err := measuredLease(v, mk, l)
	if err != nil {
		return err
	}
	m.lease.Beside = s.cli.Bool(flagBeside)
	stop := s.waiting("the machine to compute", "Ctrl-C ends the measurement")
	m.run(s.ctx, r, nil)
	stop()
	if s.ctx.Err() != nil {
		return interrupted("interrupted before anything was known of the machine", "the lease goes on")
	}
	if err := s.done(m.describe(), m.print); err != nil {
		return err
	}
	return m.judged()
}

// measurement is one of a lease's GPUs by its customer.
type measurement struct {
	lease   measure.Lease
	node    string
	promise measure.Promise
	sim     bool

	result measure.Result
	slow   error // ErrSlow of measured figures
}

// measuredLease is what is asked of a lease's GPUs, and held against what they show.
func measuredLease(v *view.View, mk market.Market, l market.Lease) (*measurement, error) {
	n, ok := v.Node(l.Node)
	if !ok {
		return nil, refused(fmt.Sprintf("node %s of the lease does not exist", l.Node), "")
	}
	model, ok := v.Model(n.Spec.Model)
	if !ok {
		return nil, refused(fmt.Sprintf("the GPU model of node %s does not exist", l.Node), "")
	}
	m := &measurement{node: l.Node.String(), sim: n.Spec.Simulated == 1, promise: promiseOf(&n)}
	m.lease = measure.Lease{Domain: mk.Domain, Address: l.Address, Node: l.Node, Key: l.NodeKey}
	for i := range uint8(market.MaxGPUs) {
		if l.GpuMask&(1<<i) != 0 {
			m.lease.GPUs = append(m.lease.GPUs, format.Asked{GPU: i, Profile: market.ProfileOf(model.Profile)})
		}
	}
	return m, nil
}

// promiseOf is what a node's record promises of each of its GPUs: the figures of the class whose terms it has accepted, and its
// own last ones where they are more.
func promiseOf(n *market.Node) measure.Promise {
	return measure.Promise{Operations: 1e9 * float64(max(n.MinOperations, n.Operations)), Bandwidth: 1e6 * float64(max(n.MinBandwidth, n.Bandwidth))}
}

// run measures; began is called when the machine has begun.
func (m *measurement) run(ctx context.Context, r *remote, began func()) {
	m.lease.Began = began
	if err := r.reach(ctx, m.lease.Key); err != nil {
		m.result = measure.Result{Outcome: measure.Unknown, Why: err}
		return
	}
	m.result = measure.New(measure.Options{}).MeasureLease(ctx, r.net, m.lease)
	if m.result.Outcome == measure.Measured {
		m.slow = m.promise.Hold(m.result.Figures)
	}
}

// why is what is wrong with the machine, or nil.
func (m *measurement) why() error {
	if m.result.Outcome == measure.Measured {
		return m.slow
	}
	return m.result.Why
}

func (m *measurement) outcome() string {
	if m.slow != nil {
		return "slow"
	}
	return m.result.Outcome.String()
}

// judged is the error of a command whose machine did not pass.
func (m *measurement) judged() error {
	why := m.why()
	var answer *measure.RefusedError
	switch {
	case why == nil:
		return nil
	case errors.As(why, &answer) && answer.Why == messages.MeasureJob:
		return refused("the lease's job has the GPUs", "measure when it is over, or beside it, which takes memory and time from it: --"+flagBeside)
	case m.slow != nil && m.lease.Beside:
		return refused("the machine is slower than promised beside the job: "+why.Error(), "measure again when the job is over")
	}
	return refused(fmt.Sprintf("the machine of lease %s does not pass: %s", m.lease.Address, why), "end the lease with: gantry stop "+m.lease.Address.String())
}

func (m *measurement) describe() measuredJSON {
	out := measuredJSON{
		Lease: m.lease.Address.String(), Node: m.node, Simulated: m.sim, Outcome: m.outcome(), BesideJob: m.lease.Beside,
		PromisedOperations: m.promise.Operations, PromisedBandwidth: m.promise.Bandwidth,
	}
	if why := m.why(); why != nil {
		out.Why = why.Error()
	}
	for i, f := range m.result.GPUs {
		out.GPUs = append(out.GPUs, figureJSON{GPU: m.lease.GPUs[i].GPU, Operations: f.Operations, Bandwidth: f.Bandwidth, Memory: f.Memory})
	}
	return out
}

// print writes the figures for people.
func (m *measurement) print(w io.Writer) {
	for i, f := range m.result.GPUs {
		fmt.Fprintf(w, "GPU %d   %s\n", m.lease.GPUs[i].GPU, figuresText(f))
	}
	if m.sim {
		fmt.Fprintln(w, "the GPUs are simulated: these are figures of processors")
	}
	if m.promise == (measure.Promise{}) && len(m.result.GPUs) > 0 {
		fmt.Fprintln(w, "the node's record has no figure to hold this against")
	}
}

func figuresText(f format.Figures) string {
	return fmt.Sprintf("%.3g tera-operations (int8) a second, %.3g GB/s of memory, %d MiB resident", f.Operations/1e12, f.Bandwidth/1e9, f.Memory>>20)
}

// measureTime is how long a lease may be measured before it starts: what its machine gives a customer, too.
func measureTime(p *market.Params) time.Duration { return market.Seconds(p.StartDeadlineSecs) / 2 }
