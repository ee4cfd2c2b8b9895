package txform

import (
	"bytes"
	"errors"
	"fmt"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// ErrMessage is the error of bytes that are not a transaction's message.
var ErrMessage = errors.New("not the message of a transaction")

// Message reads what the keys of a transaction sign. Whoever decides by it whether to sign can rely on it: it is written
// as messages are, so that nothing stands behind it and no field has a second meaning; its indices lead to its addresses;
// and it is within the limits of its version. Error: ErrMessage.
func Message(raw []byte) (*solana.Message, error) {
	var m solana.Message
	if err := m.UnmarshalWithDecoder(bin.NewBinDecoder(raw)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if again, err := m.MarshalBinary(); err != nil || !bytes.Equal(again, raw) {
		return nil, fmt.Errorf("%w: it is not encoded as usual", ErrMessage)
	}
	if err := m.Sanitize(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	size := len(raw) + solana.SignatureLength*int(m.Header.NumRequiredSignatures)
	if m.GetVersion() != solana.MessageVersionV1 {
		size++ // the number of signatures, which version 1 has in its head alone
	}
	if most := chain.MaxTransactionBytes(m.GetVersion()); size > most {
		return nil, fmt.Errorf("%w: with its signatures it has %d bytes, at most %d are possible", ErrMessage, size, most)
	}
	return &m, nil
}
