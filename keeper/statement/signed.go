package statement

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Signed is a statement with the keeper that signed it.
type Signed struct {
	Keeper    solana.PublicKey
	Statement records.CheckStatement
	Signature solana.Signature
}

// Key says what a statement is about. One keeper's statements with one key must be equal.
type Key struct {
	Keeper, Node, Lease solana.PublicKey
	Period              records.Period
	Kind                records.CheckKind
	CheckedAt           int64
}

// Key returns what the statement is about.
func (s Signed) Key() Key {
	return Key{s.Keeper, s.Statement.Node, s.Statement.Lease, s.Statement.Period, s.Statement.Kind, s.Statement.CheckedAt}
}

// Read decodes a statement as it travels. It does not verify the signature.
func Read(m messages.SignedStatement) (Signed, error) {
	if m.Version != messages.Version {
		return Signed{}, fmt.Errorf("statement of version %d: %w", m.Version, records.ErrValue)
	}
	st, err := records.DecodeStatement(m.Statement)
	if err != nil {
		return Signed{}, err
	}
	return Signed{Keeper: solana.PublicKey(m.Keeper), Statement: st, Signature: solana.Signature(m.Signature)}, nil
}

// Verify checks domain and signature, by any of the keeper's keys. Errors: records.ErrDomain, records.ErrSignature.
func (s Signed) Verify(domain records.Domain, keys records.Keys) error {
	if s.Statement.Domain != domain {
		return records.ErrDomain
	}
	_, err := keys.Find(s.Keeper, s.Statement.Period, func(key solana.PublicKey) error { return s.Statement.Verify(key, s.Signature) })
	return err
}

// Message is the statement as it travels.
func (s Signed) Message() messages.SignedStatement {
	enc := s.Statement.Encode()
	return messages.SignedStatement{
		Version: messages.Version, Keeper: s.Keeper, Statement: enc[:], Signature: s.Signature,
	}
}

// Compare orders statements by keeper, then content: one order for everybody.
func Compare(a, b Signed) int {
	if c := bytes.Compare(a.Keeper[:], b.Keeper[:]); c != 0 {
		return c
	}
	x, y := a.Statement.Encode(), b.Statement.Encode()
	return cmp.Or(bytes.Compare(x[:], y[:]), bytes.Compare(a.Signature[:], b.Signature[:]))
}
