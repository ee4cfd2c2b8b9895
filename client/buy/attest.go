package buy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// attestProtocol allows time for a slow TPM, and for other customers whose turn comes first.
var attestProtocol = p2p.Protocol{ID: messages.LeaseAttest, MaxRequest: 16 << 10, MaxResponse: messages.MaxMessage, Timeout: time.Minute}

const (
	// attestTries is how often a machine is asked whose line breaks, or that does not see the lease yet, attestPause lies
	// between two tries.
	attestTries = 5
	attestPause = time.Second
	// leastProof is the tier below which a machine proves nothing.
	leastProof = 2
)

// document is the policy that machines must satisfy before they get the job; ok is false for a request without one. Error:
// a [service.Failure].
func (r *Request) document() (d attestation.Document, ok bool, err error) {
	if r.Attest == "" {
		return d, false, nil
	}
	if d, err = attestation.ParseDocument([]byte(r.Attest)); err != nil {
		return d, true, service.OfFlag("attest", err)
	}
	if d.Policy.Reach() < leastProof {
		return d, true, usage("--attest: the policy asks for no proof: it trusts no maker of TPMs, and names no image of a confidential machine",
			"say in it what machines must show; see docs/operate/attest.md")
	}
	return d, true, nil
}

// LeaseAt is the live lease of a customer that a person names: by its address or its machine's, or by the beginning of
// one of them. Error: a [service.Failure].
func LeaseAt(v *view.View, customer solana.PublicKey, text string) (l market.Lease, err error) {
	found := 0
	for _, one := range v.LeasesOfCustomer(customer) {
		if one.State() <= market.LeaseRunning && (strings.HasPrefix(one.Address.String(), text) || strings.HasPrefix(one.Node.String(), text)) {
			l = one
			found++
		}
	}
	switch found {
	case 0:
		return l, refused(fmt.Sprintf("you have no live lease %s, and none on a machine of that address", text),
			"machines prove themselves to customers who have a lease there: order with --attest, and nothing is sent before the proof; see: gantry leases")
	case 1:
		return l, nil
	}
	return l, usage(fmt.Sprintf("%d of your leases are named %s, or are on such a machine", found, text), "write the address of the lease; see: gantry leases")
}

// Attest asks the machine of a lease to prove that it reaches a tier; 0 is the highest that the policy can give. Where the
// machine is refused, the proof says so, and the error is nil.
func (r *Remote) Attest(ctx context.Context, c *chain.Client, now func() time.Time, l market.Lease, d attestation.Document, tier uint8) (attestation.Proof, error) {
	return r.attest(ctx, c, l, attestation.Lease{Document: d, Tier: tier, Now: now})
}

// attest asks what asked says of a lease.
func (r *Remote) attest(ctx context.Context, c *chain.Client, l market.Lease, asked attestation.Lease) (attestation.Proof, error) {
	genesis, err := c.Genesis(ctx)
	if err != nil {
		return attestation.Proof{}, err
	}
	recent, err := c.LatestBlockhash(ctx, c.WaitLevel())
	if err != nil {
		return attestation.Proof{}, err
	}
	asked.Address, asked.Node, asked.Key, asked.Genesis, asked.SlotHash = l.Address, l.Node, l.NodeKey, genesis, recent.Hash
	return asked.Ask(ctx, func(ctx context.Context, req messages.AttestRequest) (messages.AttestAnswer, error) {
		for try := 1; ; try++ {
			answer, err := Call[messages.AttestRequest, messages.AttestAnswer](ctx, r, l.NodeKey, attestProtocol, req)
			if err == nil || errors.Is(err, p2p.ErrVersion) || try == attestTries || wait.For(ctx, attestPause) != nil {
				return answer, err
			}
		}
	})
}

// proves has a lease's machine prove what the customer's policy asks for, before anything of the job leaves this
// computer. A purchase without a policy asks for nothing. Error: *badMachine, after the lease was ended.
func (d *deal) proves(ctx context.Context, l market.Lease) error {
	if d.p.Attest == "" {
		return nil
	}
	if handed, err := d.inGuest(ctx, l); handed || err != nil {
		return err
	}
	policy, err := attestation.ParseDocument([]byte(d.p.Attest))
	if err != nil {
		return err
	}
	d.jobs.Lock()
	_, before := d.sealers[l.Address]
	delete(d.sealers, l.Address) // nothing is sent until it has proved itself anew
	d.jobs.Unlock()
	actx, cancel := context.WithTimeout(ctx, measureTime(&d.mk.Params))
	defer cancel()
	stop := d.b.waiting(Wait{For: WaitProof, Order: d.order})
	asked := attestation.Lease{
		Address: l.Address, Node: l.Node, Document: policy, Job: d.p.Args.JobDigest, Guest: d.p.Guest, Now: func() time.Time { return d.b.service.Clock.Latest(ctx) },
	}
	proof, err := d.remote.attest(actx, d.b.client, l, asked)
	stop()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && l.State() != market.LeaseAwarded: // it may run its job: that this line is broken says nothing of it
		return network(fmt.Sprintf("the machine of lease %s could not be asked to prove itself, and nothing was sent to it: %v", l.Address, err), "try again: gantry resume "+d.order.String(), err)
	case err != nil:
		if proof, err = asked.Refused("it did not answer: " + classify(err).Reason); err != nil {
			return err
		}
	}
	if err := d.storeProof(l, &proof); err != nil {
		return err
	}
	d.b.tell(Attested{Lease: l, Attestation: proof.Summary})
	if why := proof.Err(); why != nil && d.p.Guest && proof.Declined {
		return refusedJob(l, &service.RefusedByNode{Why: proof.Summary.Why})
	} else if why != nil {
		bad := &badMachine{l, "got nothing of the job", why}
		if before || l.State() != market.LeaseAwarded {
			bad.what = "gets nothing more of the job"
		}
		return d.end(ctx, l, bad)
	}
	d.jobs.Lock()
	defer d.jobs.Unlock()
	if d.sealers == nil {
		d.sealers = map[solana.PublicKey]*seal.Sealer{}
	}
	d.sealers[l.Address] = proof.Sealer
	return nil
}

// deploy brings a job to its machine, with what opens its image and its volume. Where the machine has proved itself all of
// it is sealed to the key that it named; one that has lost the key proves itself again. Error: as of Remote.deploy, and
// *badMachine.
func (d *deal) deploy(ctx context.Context, l market.Lease, c *messages.RegistryCredential, v volumeSecrets, revoked int64) (messages.LeaseStatus, error) {
	req := messages.DeployRequest{
		Version: messages.Version, Lease: l.Address, Job: d.r.job, Registry: c, VolumeKey: v.key, Backup: v.backup, RevokedUntil: revoked, Group: d.group(l.Address), Unrecorded: d.p.Unrecorded,
	}
	if handed, err := d.inGuest(ctx, l); handed || err != nil {
		return messages.LeaseStatus{Lease: l.Address, State: messages.LeaseRunning}, err
	}
	keep := d.keepOutputKey(l)
	for tries := 0; ; tries++ {
		d.jobs.Lock()
		sealer := d.sealers[l.Address]
		d.jobs.Unlock()
		if d.p.Attest != "" && sealer == nil {
			return messages.LeaseStatus{}, fmt.Errorf("lease %s: its machine has not proved itself, and gets no job", l.Address)
		}
		st, err := d.remote.deploy(ctx, l, req, sealer, keep)
		var refusal *service.RefusedByNode
		if sealer == nil || !errors.As(err, &refusal) || refusal.Why != messages.SealLost || tries == attestTries {
			return st, err
		}
		if err := d.proves(ctx, l); err != nil {
			return st, err
		}
	}
}

// storeProof stores what a machine has shown beside the purchase.
func (d *deal) storeProof(l market.Lease, p *attestation.Proof) error {
	raw, err := json.Marshal(p.Summary)
	if err != nil {
		return fmt.Errorf("attestation of lease %s: %w", l.Address, err)
	}
	return d.b.folder.SetAttestation(d.order, l.Address, raw, p.Bundle)
}

// Explain adds to what the chain says of an order or a lease what a purchase of a folder knows: what its machine has proved, and that it
// was ended because too few machines of its group ran.
func Explain(f *purchase.Folder, w *service.Why) error {
	key, err := solana.PublicKeyFromBase58(w.Address)
	if err != nil {
		return fmt.Errorf("address %q: %w", w.Address, err)
	}
	if w.Kind == "lease" && w.Attestation == nil {
		if w.Attestation, err = AttestationOf(f, solana.PublicKey{}, key); err != nil {
			return err
		}
	}
	all, _ := f.All() // a list of purchases says which cannot be read
	for i := range all {
		p := &all[i]
		switch {
		case !p.Short.Broken():
		case p.Order == key, w.Reason == service.WhyStopped && slices.Contains(p.Short.Leases, key):
			w.Reason, w.Says = service.WhyIncomplete, p.Short.Says
		}
	}
	return nil
}

// AttestationOf is what the machine of a lease has proved, as a purchase of a folder knows it; nil for nothing. The zero order
// is one that is not known.
func AttestationOf(f *purchase.Folder, order, lease solana.PublicKey) (*service.Attestation, error) {
	raw, err := f.Attestation(order, lease)
	if err != nil || raw == nil {
		return nil, err
	}
	var a service.Attestation
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("%w: attestation of lease %s: %w", purchase.ErrRecord, lease, err)
	}
	return &a, nil
}
