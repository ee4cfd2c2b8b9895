package records

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func key(t testing.TB, seed byte) solana.PrivateKey {
	t.Helper()
	return solana.PrivateKey(edKey(seed))
}

func fill(n byte) (k solana.PublicKey) {
	for i := range k {
		k[i] = n
	}
	return k
}

var testDomain = Domain{1, 2, 3, 4, 5, 6, 7, 8}

func sampleStatement() CheckStatement {
	return CheckStatement{
		Domain: testDomain, Node: fill(9), Period: 77, Kind: CheckWork, Passed: true,
		Figures: Figures{3120, 41}, CheckedAt: 1_700_000_000, Lease: fill(3), Detail: [32]byte{5},
	}
}

func sampleLeaf() Leaf {
	return Leaf{
		Node: fill(1), Period: 9, ChecksPassed: 2, ChecksTotal: 3, Tier: 1, Flags: FlagWorkFailed | FlagBadOutput,
		Operations: 3120, UpSeconds: 50, Lease: fill(2), VerifiedSeconds: 40, DowntimeSeconds: 10,
		DeviceRoot: [32]byte{7}, EvidenceHash: [32]byte{8}, Bandwidth: 258, DownMbps: 259, UpMbps: 260,
	}
}

func TestReceiptLayout(t *testing.T) {
	r := Receipt{Domain: testDomain, Lease: fill(0xaa), StartedAt: 0x0506, Sequence: 0x0102, Cumulative: 0x0304}
	b := r.Encode()
	want := hex.EncodeToString([]byte("GANTRYR1")) + "0102030405060708" +
		string(bytes.Repeat([]byte("aa"), 32)) + "0605000000000000" + "0201000000000000" + "0403000000000000"
	require.Equal(t, want, hex.EncodeToString(b[:]))
	got, err := DecodeReceipt(b[:])
	require.NoError(t, err)
	require.Equal(t, r, got)
}

func TestReceiptRefusals(t *testing.T) {
	b := Receipt{Domain: testDomain}.Encode()
	_, err := DecodeReceipt(b[:71])
	require.ErrorIs(t, err, ErrLength)
	_, err = DecodeReceipt(append(b[:], 0))
	require.ErrorIs(t, err, ErrLength)
	b[7] = '2'
	_, err = DecodeReceipt(b[:])
	require.ErrorIs(t, err, ErrTag)
}

func TestReceiptSignatures(t *testing.T) {
	node, customer := key(t, 1), key(t, 2)
	r := Receipt{Domain: testDomain, Lease: fill(1), Sequence: 1, Cumulative: 10}
	sig, err := r.Sign(node)
	require.NoError(t, err)
	require.NoError(t, r.Verify(node.PublicKey(), sig))
	require.ErrorIs(t, r.Verify(customer.PublicKey(), sig), ErrSignature)
	require.ErrorIs(t, r.Verify(solana.PublicKey{}, sig), ErrSignature)
	other := r
	other.Domain[0]++
	require.ErrorIs(t, other.Verify(node.PublicKey(), sig), ErrSignature)
	other = r
	other.Cumulative++
	require.ErrorIs(t, other.Verify(node.PublicKey(), sig), ErrSignature)
}

func TestStatementLayout(t *testing.T) {
	s := sampleStatement()
	b := s.Encode()
	require.Equal(t, "GANTRYS1", string(b[:8]))
	require.Equal(t, testDomain[:], b[8:16])
	require.Equal(t, byte(77), b[48])
	require.Equal(t, byte(3), b[56])
	require.Equal(t, byte(1), b[57])
	require.Equal(t, []byte{0x30, 0x0c, 0, 0}, b[60:64])
	require.Equal(t, byte(41), b[64])
	require.Equal(t, byte(3), b[80])
	require.Equal(t, byte(5), b[112])
	got, err := DecodeStatement(b[:])
	require.NoError(t, err)
	require.Equal(t, s, got)

	live := s
	live.Kind, live.Figures, live.CoveredSeconds = CheckLiveness, Figures{}, 258
	lb := live.Encode()
	require.Equal(t, []byte{2, 1, 0, 0}, lb[68:72])
}

func TestStatementRefusals(t *testing.T) {
	mutate := func(f func(b []byte)) error {
		b := sampleStatement().Encode()
		f(b[:])
		_, err := DecodeStatement(b[:])
		return err
	}
	require.NoError(t, mutate(func([]byte) {}))
	require.ErrorIs(t, mutate(func(b []byte) { b[0] = 'X' }), ErrTag)
	require.ErrorIs(t, mutate(func(b []byte) { b[56] = 0 }), ErrValue)
	require.ErrorIs(t, mutate(func(b []byte) { b[56] = 8 }), ErrValue)
	require.ErrorIs(t, mutate(func(b []byte) { b[57] = 0 }), ErrValue, "figures of a failed check")
	require.NoError(t, mutate(func(b []byte) { b[56] = 7 }), "figures of the network")
	require.ErrorIs(t, mutate(func(b []byte) { b[56] = 1 }), ErrValue, "figures in a liveness check")
	require.ErrorIs(t, mutate(func(b []byte) { b[57] = 2 }), ErrValue)
	require.ErrorIs(t, mutate(func(b []byte) { b[58] = 1 }), ErrReserved)
	require.ErrorIs(t, mutate(func(b []byte) { b[59] = 1 }), ErrReserved)
	require.ErrorIs(t, mutate(func(b []byte) { b[68] = 1 }), ErrValue)
	require.ErrorIs(t, mutate(func(b []byte) { b[79] = 0x80 }), ErrValue)
	require.ErrorIs(t, mutate(func(b []byte) { clear(b[16:48]) }), ErrValue)
	b := sampleStatement().Encode()
	_, err := DecodeStatement(b[:143])
	require.ErrorIs(t, err, ErrLength)
}

func TestStatementSignature(t *testing.T) {
	k := key(t, 4)
	s := sampleStatement()
	sig, err := s.Sign(k)
	require.NoError(t, err)
	require.NoError(t, s.Verify(k.PublicKey(), sig))
	s.Passed = false
	require.ErrorIs(t, s.Verify(k.PublicKey(), sig), ErrSignature)
	s.Kind = 0
	_, err = s.Sign(k)
	require.ErrorIs(t, err, ErrValue)
}

func TestLeafLayout(t *testing.T) {
	l := sampleLeaf()
	b := l.Encode()
	require.Equal(t, byte(9), b[32])
	require.Equal(t, []byte{2, 0, 3, 0, 1, 0, 68, 0, 0x30, 0x0c, 0, 0, 50, 0, 0, 0}, b[40:56])
	require.Equal(t, byte(2), b[56])
	require.Equal(t, []byte{40, 0, 0, 0, 10, 0, 0, 0, 7}, b[88:97])
	require.Equal(t, byte(8), b[128])
	require.Equal(t, []byte{2, 1, 0, 0, 3, 1, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0}, b[160:])
	got, err := DecodeLeaf(b[:])
	require.NoError(t, err)
	require.Equal(t, l, got)
}

func TestLeafRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		f    func(b []byte)
		want error
	}{
		"padding":    {func(b []byte) { b[45] = 1 }, ErrReserved},
		"reserved":   {func(b []byte) { b[172] = 1 }, ErrReserved},
		"passed":     {func(b []byte) { b[40] = 4 }, ErrValue},
		"flags":      {func(b []byte) { b[46] = 128 }, ErrValue},
		"no node":    {func(b []byte) { clear(b[:32]) }, ErrValue},
		"lease secs": {func(b []byte) { clear(b[56:88]) }, ErrValue},
	} {
		t.Run(name, func(t *testing.T) {
			b := sampleLeaf().Encode()
			tc.f(b[:])
			_, err := DecodeLeaf(b[:])
			require.ErrorIs(t, err, tc.want)
		})
	}
	_, err := DecodeLeaf(nil)
	require.ErrorIs(t, err, ErrLength)
}

func TestLeafOrder(t *testing.T) {
	a, b := sampleLeaf(), sampleLeaf()
	b.Lease = fill(3)
	c := sampleLeaf()
	c.Node = fill(0)
	c.Node[31] = 1
	ls := []Leaf{b, a, c}
	require.ErrorIs(t, CheckLeafOrder(ls), ErrOrder)
	SortLeaves(ls)
	require.Equal(t, []Leaf{c, a, b}, ls)
	require.NoError(t, CheckLeafOrder(ls))
	require.ErrorIs(t, CheckLeafOrder([]Leaf{a, a}), ErrOrder)
	b.Period++
	require.ErrorIs(t, CheckLeafOrder([]Leaf{a, b}), ErrValue)
	_, err := LeafTree([]Leaf{b, a})
	require.Error(t, err)
}

func TestFlags(t *testing.T) {
	require.Equal(t, "none", Flags(0).String())
	require.Equal(t, "offline,bad-output", (FlagOffline | FlagBadOutput).String())
	require.Equal(t, "unknown-256", Flags(256).String())
	require.True(t, KnownFlags.Has(FlagUnhealthy))
	for f := Flags(0); f <= KnownFlags; f++ {
		got, err := ParseFlags(f.String())
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
	_, err := ParseFlags("offline,nonsense")
	require.ErrorIs(t, err, ErrValue)
}

func TestPeriods(t *testing.T) {
	const length = 20 * time.Second
	p, err := PeriodAt(time.Unix(59, 999), length)
	require.NoError(t, err)
	require.Equal(t, Period(2), p)
	require.Equal(t, time.Unix(40, 0).UTC(), p.Start(length))
	require.Equal(t, time.Unix(60, 0).UTC(), p.End(length))
	require.True(t, p.Contains(time.Unix(40, 0), length))
	require.False(t, p.Contains(time.Unix(60, 0), length))
	require.Equal(t, 15*time.Second, p.Overlap(time.Unix(45, 0), time.Unix(100, 0), length))
	require.Equal(t, time.Duration(0), p.Overlap(time.Unix(0, 0), time.Unix(40, 0), length))
	for _, bad := range []time.Duration{0, -time.Second, 1500 * time.Millisecond} {
		_, err := PeriodAt(time.Unix(1, 0), bad)
		require.ErrorIs(t, err, ErrValue)
	}
	_, err = PeriodAt(time.Unix(-1, 0), length)
	require.ErrorIs(t, err, ErrValue)
}

func TestDomain(t *testing.T) {
	var h solana.Hash
	copy(h[:], []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	require.Equal(t, testDomain, DomainOf(h))
	d, err := ParseDomain(testDomain.String())
	require.NoError(t, err)
	require.Equal(t, testDomain, d)
	_, err = ParseDomain("01")
	require.ErrorIs(t, err, ErrLength)
	_, err = ParseDomain("zz")
	require.Error(t, err)
	require.True(t, Domain{}.IsZero())
}

func TestMerkleKnown(t *testing.T) {
	a, b, c := LeafHash([]byte("a")), LeafHash([]byte("b")), LeafHash([]byte("c"))
	require.Equal(t, Hash{}, NewTree(nil).Root())
	require.Equal(t, a, NewTree([]Hash{a}).Root())
	require.Equal(t, innerHash(innerHash(a, b), c), NewTree([]Hash{a, b, c}).Root())
	p, err := NewTree([]Hash{a, b, c}).Proof(2)
	require.NoError(t, err)
	require.Equal(t, []Hash{innerHash(a, b)}, p.Siblings)
	_, err = NewTree([]Hash{a}).Proof(1)
	require.ErrorIs(t, err, ErrValue)
}

func TestMerkleProofs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		hashes := make([]Hash, n)
		for i := range hashes {
			hashes[i] = LeafHash([]byte{byte(i), byte(i >> 8)})
		}
		tree := NewTree(hashes)
		i := uint32(rapid.IntRange(0, n-1).Draw(t, "i"))
		p, err := tree.Proof(i)
		require.NoError(t, err)
		require.NoError(t, p.Verify(tree.Root(), hashes[i]))
		require.ErrorIs(t, p.Verify(tree.Root(), LeafHash([]byte("other"))), ErrProof)

		long := p
		long.Siblings = append(append([]Hash{}, p.Siblings...), Hash{})
		require.ErrorIs(t, long.Verify(tree.Root(), hashes[i]), ErrProof)
		if len(p.Siblings) > 0 {
			short := p
			short.Siblings = p.Siblings[1:]
			require.ErrorIs(t, short.Verify(tree.Root(), hashes[i]), ErrProof)
			bad := p
			bad.Siblings = append([]Hash{}, p.Siblings...)
			bad.Siblings[0][0] ^= 1
			require.ErrorIs(t, bad.Verify(tree.Root(), hashes[i]), ErrProof)
			moved := p
			moved.Index = (p.Index + 1) % p.Count
			require.Error(t, moved.Verify(tree.Root(), hashes[i]))
		}
		out := p
		out.Index = p.Count
		require.ErrorIs(t, out.Verify(tree.Root(), hashes[i]), ErrValue)
	})
}

func TestProofPathLeadsToTheRoot(t *testing.T) {
	for n := 1; n <= 33; n++ {
		leaves := make([]Hash, n)
		for i := range leaves {
			leaves[i] = LeafHash([]byte{byte(i)})
		}
		tree := NewTree(leaves)
		for i := range leaves {
			p, err := tree.Proof(uint32(i))
			require.NoError(t, err)
			require.Equal(t, tree.Root(), RootOf(leaves[i], p.Path(), p.Siblings), "leaf %d of %d", i, n)
			if n > 1 {
				require.NotEqual(t, tree.Root(), RootOf(leaves[i], p.Path()^1, p.Siblings), "leaf %d of %d, wrong turn", i, n)
			}
		}
	}
}

func TestEvidenceStatements(t *testing.T) {
	base := CheckStatement{Domain: Domain{1}, Node: solana.PublicKey{1}, Kind: CheckEvidence, CheckedAt: 5, Detail: [32]byte{1}}
	for _, c := range []struct {
		passed   bool
		measured uint32
		ok       bool
		tier     uint8
		changed  bool
	}{
		{true, 0, true, 0, false},
		{true, 3, true, 3, false},
		{true, 4, false, 0, false},
		{true, EvidenceDeviceChanged, false, 0, false},
		{true, EvidenceDeviceChanged | 1, false, 0, false},
		{false, 0, true, 0, false},
		{false, EvidenceDeviceChanged, true, 0, true},
		{false, 2, false, 0, false},
		{false, EvidenceDeviceChanged | 1, false, 0, false},
	} {
		s := base
		s.Passed, s.Figures.First = c.passed, c.measured
		raw := s.Encode()
		got, err := DecodeStatement(raw[:])
		if !c.ok {
			require.ErrorIs(t, err, ErrValue)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, s, got)
		require.Equal(t, c.tier, got.Tier())
		require.Equal(t, c.changed, got.DeviceChanged())
	}
	work := base
	second := base
	second.Passed, second.Figures = true, Figures{1, 1}
	raw := second.Encode()
	_, err := DecodeStatement(raw[:])
	require.ErrorIs(t, err, ErrValue, "evidence has one figure")
	work.Kind, work.Passed, work.Figures.First = CheckWork, true, 3
	require.Zero(t, work.Tier(), "of evidence alone")
}

func TestProposalLayout(t *testing.T) {
	p := Proposal{Domain: testDomain, Period: 9, Round: 3, Manifests: 2, Root: Hash(fill(1)), Seed: fill(2), Digest: fill(4)}
	b := p.Encode()
	repeat := func(x string) string { return strings.Repeat(x, 32) }
	want := hex.EncodeToString([]byte("GANTRYP1")) + "0102030405060708" + "0900000000000000" + "03000000" + "02000000" +
		repeat("01") + repeat("02") + repeat("04")
	require.Equal(t, want, hex.EncodeToString(b[:]))
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	sig, err := p.Sign(key)
	require.NoError(t, err)
	require.NoError(t, p.Verify(key.PublicKey(), sig))
	for _, change := range []func(*Proposal){
		func(p *Proposal) { p.Domain[0]++ }, func(p *Proposal) { p.Period++ }, func(p *Proposal) { p.Round++ },
		func(p *Proposal) { p.Manifests++ }, func(p *Proposal) { p.Root[0]++ }, func(p *Proposal) { p.Seed[0]++ },
		func(p *Proposal) { p.Digest[0]++ },
	} {
		other := p
		change(&other)
		require.ErrorIs(t, other.Verify(key.PublicKey(), sig), ErrSignature)
	}
}
