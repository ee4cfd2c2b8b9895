package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/collect"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
)

// TPM is the guest's TPM: package attest/tpm/device.
type TPM interface {
	collect.TPM
	Request(ctx context.Context) (tpm.Request, error)
	Activate(ctx context.Context, credential tpm.Credential) ([]byte, error)
}

// maxKeys is how many sealing keys are kept, the latest: a customer may ask several times before it brings the job.
const maxKeys = 4

// Answerer answers the host. It has a key that is nowhere else, and makes one for each question of a customer.
type Answerer struct {
	tpm     TPM
	sources collect.Sources
	key     *guest.Key
	runner  Runner
	running sync.WaitGroup // the job

	mu   sync.Mutex // one question at a time: devices answer so, and so keys are in order
	keys []*seal.Key
	job  *output
}

// NewAnswerer makes the guest's key.
func NewAnswerer(t TPM, sources collect.Sources, runner Runner) (*Answerer, error) {
	key, err := guest.NewKey()
	if err != nil {
		return nil, err
	}
	sources.TPM, sources.Measured = t, true
	return &Answerer{tpm: t, sources: sources, key: key, runner: runner}, nil
}

var (
	// ErrNoKey: the message was sealed to a key that this guest does not have, or no longer has.
	ErrNoKey = errors.New("this guest has no such key")
	errEmpty = errors.New("the question asks for nothing that this guest knows")
)

// Wait waits until no job runs any more. A job ends with the context of the question that has brought it.
func (a *Answerer) Wait() { a.running.Wait() }

// Answer implements control.Handler.
func (a *Answerer) Answer(ctx context.Context, q control.Question) (control.Answer, error) {
	if q.Output != nil {
		return a.output(ctx, q.Output)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case q.Keys != nil:
		r, err := a.tpm.Request(ctx)
		return control.Answer{Keys: &control.KeysAnswer{AK: r.AK, EK: r.EK, Chain: r.Chain}}, err
	case q.Activate != nil:
		secret, err := a.tpm.Activate(ctx, tpm.Credential{IDObject: q.Activate.IDObject, EncryptedSeed: q.Activate.EncryptedSeed})
		return control.Answer{Secret: secret}, err
	case q.Evidence != nil:
		return a.evidence(ctx, q.Evidence)
	case q.Deploy != nil:
		return a.deploy(ctx, q.Deploy)
	}
	return control.Answer{}, errEmpty
}

// output answers beside other questions: it waits for the job.
func (a *Answerer) output(ctx context.Context, q *control.OutputQuestion) (out control.Answer, err error) {
	a.mu.Lock()
	job := a.job
	a.mu.Unlock()
	if job == nil {
		return out, ErrNoJob
	}
	out.Output, err = job.read(ctx, q.From)
	return out, err
}

// evidence is for who brings the job. Later there is none: a container that the host has brought itself must not run beside a customer's
// proof.
func (a *Answerer) evidence(ctx context.Context, q *control.EvidenceQuestion) (out control.Answer, err error) {
	if a.job != nil {
		return out, ErrHasJob
	}
	key, err := seal.New(seal.Subject{Lease: q.Lease, Job: q.Job})
	if err != nil {
		return out, err
	}
	b, findings, err := collect.Gather(ctx, a.sources, a.key, attest.Challenge{
		GenesisHash: q.Genesis, Program: q.Program, ID: q.ID, Node: q.Node, NodeKey: q.NodeKey, SlotHash: q.SlotHash, Expiry: q.Expiry,
	}, key.Evidence())
	if err != nil {
		return out, err
	}
	for _, f := range findings {
		out.Findings = append(out.Findings, fmt.Sprintf("%s: %s: %s", f.Name, f.State, f.Detail))
	}
	if out.Bundle, err = b.Encode(); err != nil {
		return out, err
	}
	a.keys = append(a.keys, key)
	a.keys = a.keys[max(0, len(a.keys)-maxKeys):]
	return out, nil
}

// Inventory is what the guest sees of itself. It has no GPUs: this version of the guest has no driver for them.
func Inventory(context.Context) (inventory.Inventory, error) {
	i := inventory.Inventory{Version: inventory.Version, Platform: "gantry guest", Cores: runtime.NumCPU(), GPUs: []inventory.GPU{}}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return i, fmt.Errorf("inventory: %w", err)
	}
	i.Kernel = strings.TrimSpace(string(release))
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return i, fmt.Errorf("inventory: %w", err)
	}
	var kib uint64
	if _, err := fmt.Sscanf(string(memory), "MemTotal: %d kB", &kib); err != nil {
		return i, fmt.Errorf("inventory: /proc/meminfo: %w", err)
	}
	i.RAMMiB = kib / 1024
	return i, nil
}
