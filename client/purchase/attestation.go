package purchase

import (
	"fmt"
	"path/filepath"

	"github.com/gagliardetto/solana-go"
)

// SetAttestation stores what the machine of an order's lease has proved, JSON, and the evidence; empty for none. When it
// returns nil, a power cut does not undo it.
func (f *Folder) SetAttestation(order, lease solana.PublicKey, known, evidence []byte) error {
	dir := filepath.Join(f.dir, orders, order.String())
	var err error
	if len(evidence) > 0 {
		err = writeFile(dir, "evidence-"+lease.String()+".bundle", evidence)
	}
	if err == nil {
		err = writeFile(dir, fileAttestation(lease), known)
	}
	if err != nil {
		return fmt.Errorf("attestation of lease %s: %w", lease, err)
	}
	return nil
}

// Attestation is what SetAttestation has stored of a lease of an order; nil for nothing. The zero order is one that is not known:
// all are looked through.
func (f *Folder) Attestation(order, lease solana.PublicKey) ([]byte, error) {
	raw, err := f.ofLease(order, fileAttestation(lease))
	if err != nil {
		return nil, fmt.Errorf("attestation of lease %s: %w", lease, err)
	}
	return raw, nil
}

func fileAttestation(lease solana.PublicKey) string {
	return "attestation-" + lease.String() + ".json"
}
