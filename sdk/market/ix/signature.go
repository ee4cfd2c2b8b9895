package ix

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Layout of the precompile's data as program/src/signatures.rs requires it.
const (
	edHeader    = 16
	edKey       = edHeader
	edSignature = edKey + 32
	edMessage   = edSignature + 64
)

// VerifySignature makes the runtime check one signature, with all of its parts inside the instruction itself. The
// instruction that relies on it follows at once. Error: ErrInstruction for a message that is too long.
func VerifySignature(key solana.PublicKey, sig solana.Signature, message []byte) (solana.Instruction, error) {
	if len(message) > solana.MaxTransactionSizeV1 {
		return nil, fmt.Errorf("%w: a message of %d bytes fits no transaction", ErrInstruction, len(message))
	}
	const here = 0xffff // "this instruction"
	data := make([]byte, edMessage, edMessage+len(message))
	le := binary.LittleEndian
	data[0] = 1 // signatures
	le.PutUint16(data[2:], edSignature)
	le.PutUint16(data[4:], here)
	le.PutUint16(data[6:], edKey)
	le.PutUint16(data[8:], here)
	le.PutUint16(data[10:], edMessage)
	le.PutUint16(data[12:], uint16(len(message)))
	le.PutUint16(data[14:], here)
	copy(data[edKey:], key[:])
	copy(data[edSignature:], sig[:])
	data = append(data, message...)
	return solana.NewInstruction(market.Ed25519ProgramID, solana.AccountMetaSlice{}, data), nil
}
