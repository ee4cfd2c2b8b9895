package audit

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// leafProofs reads the leaves that a transaction brought to the program, from report_apply and fault_open.
func leafProofs(t Tx) []ix.LeafProof {
	var out []ix.LeafProof
	for _, instruction := range t.Instructions {
		if instruction.Program != market.ProgramID || len(instruction.Data) < 8 {
			continue
		}
		data := instruction.Data[8:]
		switch [8]byte(instruction.Data[:8]) {
		case bindings.Instruction_FaultOpen:
			if len(data) == 0 {
				continue
			}
			data = data[1:] // whether the fault is of the machine or of the lease
		case bindings.Instruction_ReportApply:
		default:
			continue
		}
		if p, ok := leafProof(data); ok {
			out = append(out, p)
		}
	}
	return out
}

// leafProof reads leaf ‖ path u32 ‖ count u32 ‖ count × 32 bytes.
func leafProof(b []byte) (ix.LeafProof, bool) {
	const head = records.LeafSize + 8
	if len(b) < head {
		return ix.LeafProof{}, false
	}
	leaf, err := records.DecodeLeaf(b[:records.LeafSize])
	n := binary.LittleEndian.Uint32(b[records.LeafSize+4:])
	if err != nil || n > 64 || len(b) != head+int(n)*32 {
		return ix.LeafProof{}, false
	}
	p := ix.LeafProof{Leaf: leaf, Path: binary.LittleEndian.Uint32(b[records.LeafSize:])}
	for i := range int(n) {
		p.Siblings = append(p.Siblings, records.Hash(b[head+32*i:head+32*(i+1)]))
	}
	return p, true
}

// signature is one that the precompile has verified.
type signature struct {
	Key     solana.PublicKey
	Sig     solana.Signature
	Message []byte
}

// signatures reads the Ed25519 instructions of a transaction.
func signatures(t Tx) []signature {
	var out []signature
	for _, instruction := range t.Instructions {
		if instruction.Program != market.Ed25519ProgramID || len(instruction.Data) < 112 {
			continue
		}
		out = append(out, signature{
			Key: solana.PublicKey(instruction.Data[16:48]), Sig: solana.Signature(instruction.Data[48:112]), Message: instruction.Data[112:],
		})
	}
	return out
}

// receiptOf finds the receipt of a lease in a transaction and verifies both signatures again.
func receiptOf(t Tx, lease, node, customer solana.PublicKey) (records.Receipt, error) {
	var found records.Receipt
	by := map[solana.PublicKey]bool{}
	for _, s := range signatures(t) {
		r, err := records.DecodeReceipt(s.Message)
		if err != nil || r.Lease != lease {
			continue
		}
		if !ed25519.Verify(ed25519.PublicKey(s.Key[:]), s.Message, s.Sig[:]) {
			return r, fmt.Errorf("the signature of %s does not verify", s.Key)
		}
		if len(by) > 0 && r != found {
			return r, fmt.Errorf("node and customer signed different receipts")
		}
		found = r
		by[s.Key] = true
	}
	switch {
	case len(by) == 0:
		return found, fmt.Errorf("the transaction has no receipt of this lease")
	case !node.IsZero() && !by[node]:
		return found, fmt.Errorf("the node's signature is missing")
	case !customer.IsZero() && !by[customer] && len(by) < 2:
		return found, fmt.Errorf("the customer's signature is missing")
	case len(by) < 2: // the other may be a session key, which the program has checked
		return found, fmt.Errorf("only one side signed")
	}
	return found, nil
}
