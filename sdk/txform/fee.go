package txform

import (
	"encoding/binary"
	"math"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// The programs whose signatures the runtime checks and charges for. The first byte of their data is how many there are.
var (
	ed25519Program   = solana.MustPublicKeyFromBase58("Ed25519SigVerify111111111111111111111111111")
	secp256r1Program = solana.MustPublicKeyFromBase58("Secp256r1SigVerify1111111111111111111111111")
)

// Signatures counts the signatures that a transaction pays for: its own, and those that the runtime checks for programs.
func Signatures(m *solana.Message) int {
	n := int(m.Header.NumRequiredSignatures)
	for _, i := range m.Instructions {
		if len(i.Data) == 0 || int(i.ProgramIDIndex) >= len(m.AccountKeys) {
			continue
		}
		switch m.AccountKeys[i.ProgramIDIndex] {
		case ed25519Program, solana.Secp256k1ProgramID, secp256r1Program:
			n += int(i.Data[0])
		}
	}
	return n
}

// Fee is what a transaction that bounds its compute units costs: signatures, and what it offers for priority. A price beyond all
// numbers is the largest number.
func Fee(m *solana.Message) chain.Lamports {
	base := chain.SignatureFee * chain.Lamports(Signatures(m))
	return base + min(priority(m), math.MaxUint64-base)
}

func priority(m *solana.Message) chain.Lamports {
	if m.GetVersion() == solana.MessageVersionV1 {
		if fee := m.TransactionConfig.PriorityFee; fee != nil {
			return chain.Lamports(*fee)
		}
		return 0
	}
	var units uint32
	var price chain.MicroLamports
	for _, i := range m.Instructions {
		if int(i.ProgramIDIndex) >= len(m.AccountKeys) || m.AccountKeys[i.ProgramIDIndex] != solana.ComputeBudget {
			continue
		}
		switch d := []byte(i.Data); {
		case len(d) >= 5 && d[0] == setUnitLimit:
			units = binary.LittleEndian.Uint32(d[1:])
		case len(d) >= 9 && d[0] == setUnitPrice:
			price = chain.MicroLamports(binary.LittleEndian.Uint64(d[1:]))
		}
	}
	return price.Cost(units)
}
