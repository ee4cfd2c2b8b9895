package ix

import (
	"testing"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

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
		"the same result": func(s *records.CheckStatement) { s.Passed = true; s.Figures.First = 5 },
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
