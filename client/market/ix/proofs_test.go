package ix

import (
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/idl/bindings"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/records"
)

// fraudProofs reads the wrong entries that the program's tests wrote, signed by a key of this test.
func fraudProofs(t *testing.T) []BadWork {
	t.Helper()
	raw, err := os.ReadFile("../../../idl/vectors/bad_work.json")
	require.NoError(t, err)
	var doc struct {
		Cases []struct {
			Claim   string `json:"claim"`
			Opening string
			Column  int
		}
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	var out []BadWork
	for _, c := range doc.Cases {
		claim, err := hex.DecodeString(c.Claim)
		require.NoError(t, err)
		opening, err := hex.DecodeString(c.Opening)
		require.NoError(t, err)
		b := BadWork{Claim: [WorkClaimSize]byte(claim), Opening: opening, Column: c.Column}
		b.Node.Address = solana.PublicKey(claim[16:48])
		b.Node.NodeKey = solana.PublicKeyFromBytes(key.Public().(ed25519.PublicKey))
		b.Signature = solana.SignatureFromBytes(ed25519.Sign(key, claim))
		out = append(out, b)
	}
	require.NotEmpty(t, out)
	return out
}

func TestBadWorkIsBroughtInTwoTransactions(t *testing.T) {
	finder := solana.PublicKey{8}
	for i, b := range fraudProofs(t) {
		ixs, err := b.OpenFraudProof(finder)
		require.NoError(t, err, "case %d", i)
		require.Len(t, ixs, 2)
		require.Equal(t, market.Ed25519ProgramID, ixs[0].ProgramID())
		data, err := ixs[1].Data()
		require.NoError(t, err)
		d := bindings.Instruction_FraudProofOpen
		require.Equal(t, d[:], data[:8])
		require.Equal(t, b.Claim[:], data[8:136])
		require.Equal(t, binary.LittleEndian.Uint32(b.Opening), uint32(binary.LittleEndian.Uint16(data[136:])))
		require.EqualValues(t, b.Column, binary.LittleEndian.Uint16(data[138:]))
		require.Equal(t, b.Opening[8:136], data[140:])

		ix, err := b.Prove(finder)
		require.NoError(t, err)
		data, err = ix.Data()
		require.NoError(t, err)
		d = bindings.Instruction_ProveBadWork
		require.Equal(t, d[:], data[:8])
		require.EqualValues(t, b.Opening[136], binary.LittleEndian.Uint32(data[8:]))
		require.Equal(t, b.Opening[137:], data[12:])

		for _, ixs := range [][]solana.Instruction{ixs, {ix}} {
			tx, err := solana.NewTransaction(ixs, solana.Hash{}, solana.TransactionPayer(finder))
			require.NoError(t, err)
			raw, err := tx.Message.MarshalBinary()
			require.NoError(t, err)
			// One signature, and room for a compute limit and a price.
			require.LessOrEqual(t, 1+64+len(raw)+54, 1232, "case %d", i)
		}
	}
}

func TestBadWorkThatDoesNotBelongTogether(t *testing.T) {
	for name, change := range map[string]func(*BadWork){
		"node":      func(b *BadWork) { b.Node.Address[0]++ },
		"key":       func(b *BadWork) { b.Node.NodeKey[0]++ },
		"signature": func(b *BadWork) { b.Signature[0]++ },
		"claim":     func(b *BadWork) { b.Claim[60]++ },
		"column":    func(b *BadWork) { b.Column += 32 },
		"below":     func(b *BadWork) { b.Column = -1 },
		"empty":     func(b *BadWork) { b.Opening = nil },
		"short":     func(b *BadWork) { b.Opening = b.Opening[:len(b.Opening)-1] },
		"row":       func(b *BadWork) { b.Opening = append([]byte(nil), b.Opening...); b.Opening[3] = 1 },
	} {
		b := fraudProofs(t)[0]
		change(&b)
		_, err := b.OpenFraudProof(solana.PublicKey{8})
		require.ErrorIs(t, err, ErrInstruction, name)
		_, err = b.Prove(solana.PublicKey{8})
		require.ErrorIs(t, err, ErrInstruction, name)
	}
}

func TestEquivocation(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	yes := records.CheckStatement{Domain: records.Domain{1}, Node: solana.PublicKey{2}, Period: 3, Kind: records.CheckWork, Passed: true, CheckedAt: 7}
	say := func(s records.CheckStatement) market.SignedStatement {
		sig, err := s.Sign(key)
		require.NoError(t, err)
		return market.SignedStatement{Statement: s, Signature: sig}
	}
	no := yes
	no.Passed = false
	args := ProveEquivocationArgs{Finder: solana.PublicKey{8}, Keeper: key.PublicKey(), StakeMint: solana.PublicKey{9}, One: say(yes), Other: say(no)}
	ixs, err := ProveEquivocation(args)
	require.NoError(t, err)
	require.Len(t, ixs, 3)
	data, err := ixs[2].Data()
	require.NoError(t, err)
	d := bindings.Instruction_ProveEquivocation
	require.Equal(t, d[:], data)

	for name, change := range map[string]func(*records.CheckStatement){
		"the same result": func(s *records.CheckStatement) { s.Passed = true; s.Measured = 5 },
		"node":            func(s *records.CheckStatement) { s.Node[0]++ },
		"lease":           func(s *records.CheckStatement) { s.Lease[0]++ },
		"period":          func(s *records.CheckStatement) { s.Period++ },
		"kind":            func(s *records.CheckStatement) { s.Kind = records.CheckEvidence },
		"second":          func(s *records.CheckStatement) { s.CheckedAt++ },
		"domain":          func(s *records.CheckStatement) { s.Domain[0]++ },
	} {
		other := no
		change(&other)
		require.False(t, market.StatementsEquivocate(yes, other), name)
		bad := args
		bad.Other = say(other)
		_, err := ProveEquivocation(bad)
		require.ErrorIs(t, err, ErrInstruction, name)
	}
	forged := args
	forged.Other.Signature[0]++
	_, err = ProveEquivocation(forged)
	require.ErrorIs(t, err, records.ErrSignature)
}

func TestTwoManifests(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	one := records.Manifest{Domain: records.Domain{1}, Period: 3, Count: 4, Size: 5, Digest: [32]byte{6}}
	list := func(m records.Manifest) market.SignedManifest {
		sig, err := m.Sign(key)
		require.NoError(t, err)
		return market.SignedManifest{Manifest: m, Signature: sig}
	}
	other := one
	other.Digest[31]++
	args := ProveManifestEquivocationArgs{Finder: solana.PublicKey{8}, Keeper: key.PublicKey(), StakeMint: solana.PublicKey{9}, One: list(one), Other: list(other)}
	ixs, err := ProveManifestEquivocation(args)
	require.NoError(t, err)
	require.Len(t, ixs, 3)
	for i, m := range []records.Manifest{one, other} {
		data, err := ixs[i].Data()
		require.NoError(t, err)
		read, err := records.DecodeManifest(data[len(data)-records.ManifestSize:])
		require.NoError(t, err)
		require.Equal(t, m, read)
	}
	data, err := ixs[2].Data()
	require.NoError(t, err)
	d := bindings.Instruction_ProveEquivocation
	require.Equal(t, d[:], data)
	for name, change := range map[string]func(*records.Manifest){
		"the same": func(m *records.Manifest) { *m = one },
		"period":   func(m *records.Manifest) { m.Period++ },
		"domain":   func(m *records.Manifest) { m.Domain[0]++ },
	} {
		bad := args
		m := other
		change(&m)
		bad.Other = list(m)
		_, err := ProveManifestEquivocation(bad)
		require.ErrorIs(t, err, ErrInstruction, name)
	}
	forged := args
	forged.Other.Signature[0]++
	_, err = ProveManifestEquivocation(forged)
	require.ErrorIs(t, err, records.ErrSignature)
}
