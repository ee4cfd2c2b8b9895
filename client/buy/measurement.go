package buy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Measurement is one of a lease's GPUs by its customer.
type Measurement struct {
	Lease     measure.Lease
	Node      solana.PublicKey
	Promise   measure.Promise
	Typical   float64 // operations a second of machines of its class; 0 where nobody knows
	Simulated bool

	Result measure.Result
	Slow   error // of measured figures that are below what was promised
}

// MeasurementOf is what is asked of a lease's GPUs, and held against what they show.
func MeasurementOf(v *view.View, mk market.Market, l market.Lease) (*Measurement, error) {
	n, ok := v.Node(l.Node)
	if !ok {
		return nil, refused(fmt.Sprintf("node %s of the lease does not exist", l.Node), "")
	}
	model, ok := v.Model(n.Spec.Model)
	if !ok {
		return nil, refused(fmt.Sprintf("the GPU model of node %s does not exist", l.Node), "")
	}
	m := &Measurement{Node: l.Node, Simulated: n.Spec.Simulated == 1, Promise: promiseOf(&n)}
	if median, ok := class.GPUs().Typical(model.ModelName(), n.MinOperations); ok {
		m.Typical = 1e9 * float64(median)
	}
	m.Lease = measure.Lease{Domain: mk.Domain, Address: l.Address, Node: l.Node, Key: l.NodeKey, Simulated: m.Simulated}
	for i := range uint8(market.MaxGPUs) {
		if l.GpuMask&(1<<i) != 0 {
			m.Lease.GPUs = append(m.Lease.GPUs, format.Asked{GPU: i, Profile: market.ProfileOf(model.Profile)})
		}
	}
	return m, nil
}

// simulatedShare is the part of what was promised, in percent, that a simulated GPU must reach. It is a processor, and other programs
// take a part of the computer's memory bandwidth.
const simulatedShare = 35

// promiseOf is what a node's record promises of each of its GPUs: the figures of the class whose terms it has
// accepted, and its own last ones where they are more.
func promiseOf(n *market.Node) measure.Promise {
	p := measure.Promise{Operations: 1e9 * float64(max(n.MinOperations, n.Operations)), Bandwidth: 1e6 * float64(max(n.MinBandwidth, n.Bandwidth))}
	if n.Spec.Simulated == 1 {
		p.Least = simulatedShare
	}
	return p
}

// Run measures; began is called when the machine has begun.
func (m *Measurement) Run(ctx context.Context, r *Remote, began func()) {
	m.Lease.Began = began
	if err := r.Reach(ctx, m.Lease.Key); err != nil {
		m.Result = measure.Result{Outcome: measure.Unknown, Why: err}
		return
	}
	m.Result = measure.New(measure.Options{}).MeasureLease(ctx, r.Net, m.Lease)
	if m.Result.Outcome == measure.Measured {
		m.Slow = m.Promise.Hold(m.Result.Figures)
	}
}

// Why is what is wrong with the machine, or nil.
func (m *Measurement) Why() error {
	if m.Result.Outcome == measure.Measured {
		return m.Slow
	}
	return m.Result.Why
}

// Outcome is measured, slow, wrong, refused or unknown.
func (m *Measurement) Outcome() string {
	if m.Slow != nil {
		return "slow"
	}
	return m.Result.Outcome.String()
}

// Judge is the error of a measurement that did not pass.
func (m *Measurement) Judge() error {
	why := m.Why()
	var answer *measure.RefusedError
	switch {
	case why == nil:
		return nil
	case errors.As(why, &answer) && answer.Why == messages.MeasureJob:
		return refused("the lease's job has the GPUs", "measure when the job is over, or while it runs with --beside-job, which takes memory and time from it")
	case m.Slow != nil && m.Lease.Beside:
		return refused("the machine is slower than promised while the job runs: "+why.Error(), "measure again when the job is over")
	}
	return refused(fmt.Sprintf("the machine of lease %s does not pass: %s", m.Lease.Address, why), "end the lease with: gantry stop "+m.Lease.Address.String())
}

// measureTime is how long a lease may be measured before it starts: what its machine gives a customer, too.
func measureTime(p *market.Params) time.Duration { return market.Seconds(p.StartDeadlineSecs) / 2 }

// MeasuredLease is what was measured of a lease.
type MeasuredLease struct {
	Lease     string `json:"lease"`
	Node      string `json:"node"`
	Simulated bool   `json:"simulated,omitempty"`
	// Outcome is measured, slow, wrong, refused or unknown.
	Outcome string       `json:"outcome"`
	Why     string       `json:"why,omitempty"`
	GPUs    []GPUFigures `json:"gpus,omitempty"`
	// Promised is what the node's record says of each GPU; 0 where it says nothing.
	PromisedOperations float64 `json:"promisedOperations,omitempty"`
	PromisedBandwidth  float64 `json:"promisedBandwidth,omitempty"`
	BesideJob          bool    `json:"besideJob,omitempty"`
}

// GPUFigures are the figures of one GPU.
type GPUFigures struct {
	GPU        uint8   `json:"gpu"`
	Operations float64 `json:"operations"` // int8, each second
	Bandwidth  float64 `json:"bandwidth"`  // bytes a second under dependent access
	Memory     uint64  `json:"memory"`     // bytes
}

// Describe describes what was measured.
func (m *Measurement) Describe() MeasuredLease {
	out := MeasuredLease{
		Lease: m.Lease.Address.String(), Node: m.Node.String(), Simulated: m.Simulated, Outcome: m.Outcome(), BesideJob: m.Lease.Beside,
		PromisedOperations: m.Promise.Operations, PromisedBandwidth: m.Promise.Bandwidth,
	}
	if why := m.Why(); why != nil {
		out.Why = why.Error()
	}
	for i, f := range m.Result.GPUs {
		out.GPUs = append(out.GPUs, GPUFigures{GPU: m.Lease.GPUs[i].GPU, Operations: f.Operations, Bandwidth: f.Bandwidth, Memory: f.Memory})
	}
	return out
}
