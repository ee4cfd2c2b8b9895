package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
)

var testKey = func() solana.PrivateKey {
	k, err := solana.NewRandomPrivateKey()
	if err != nil {
		panic(err)
	}
	return k
}()

func options() Options {
	return Options{Keeper: testKey.PublicKey(), Domain: records.Domain{1}, FirstPeriod: 5}
}

func open(t testing.TB, path string) *Store {
	s, err := Open(path, options())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func st(node byte, p records.Period, at int64, passed bool) records.CheckStatement {
	return records.CheckStatement{
		Domain: records.Domain{1}, Node: solana.PublicKey{node}, Period: p, Kind: records.CheckLiveness, Passed: passed, CheckedAt: at,
	}
}

func sign(s records.CheckStatement) (solana.Signature, error) { return s.Sign(testKey) }

func TestNeverTwoStatements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	s := open(t, path)
	require.EqualValues(t, 5, s.FirstPeriod())
	yes, no := st(1, 5, 100, true), st(1, 5, 100, false)
	got, refused, err := s.Sign([]records.CheckStatement{yes, st(2, 5, 100, false), no}, sign)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Len(t, refused, 1)
	require.ErrorIs(t, refused[0].Err, ErrConflict)
	require.Equal(t, no, refused[0].Statement)
	require.NoError(t, got[0].Statement.Verify(testKey.PublicKey(), got[0].Signature))

	require.NoError(t, s.Close())
	s = open(t, path)
	again, refused, err := s.Sign([]records.CheckStatement{yes, no}, never)
	require.NoError(t, err)
	require.Equal(t, got[:1], again)
	require.Len(t, refused, 1)

	have, err := s.Statements(5)
	require.NoError(t, err)
	require.Len(t, have, 2)
	have, err = s.Statements(6)
	require.NoError(t, err)
	require.Empty(t, have)
}

func TestSealedAndEarly(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "k.db"))
	old := st(1, 5, 100, true)
	_, _, err := s.Sign([]records.CheckStatement{old}, sign)
	require.NoError(t, err)
	require.NoError(t, s.Seal(5))
	require.NoError(t, s.Seal(3), "sealing what is sealed changes nothing")
	sealed, err := s.Sealed()
	require.NoError(t, err)
	require.EqualValues(t, 6, sealed)
	got, refused, err := s.Sign([]records.CheckStatement{old, st(2, 5, 101, true), st(2, 4, 1, true), st(2, 6, 130, true)}, sign)
	require.NoError(t, err)
	require.Len(t, got, 2, "the old one and that of the open period")
	require.Len(t, refused, 2)
	require.ErrorIs(t, refused[0].Err, ErrSealed)
	require.ErrorIs(t, refused[1].Err, ErrEarly)
}

func TestAVoteMovesAndIsRemembered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	s := open(t, path)
	_, err := s.Voted(7)
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, s.Vote(7, records.Hash{1}, []byte("proposal")))
	require.NoError(t, s.Vote(7, records.Hash{1}, []byte("the same root again")))
	_, err = s.Proposal(7, records.Hash{2})
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, s.Vote(7, records.Hash{2}, []byte("another")))
	require.NoError(t, s.Close())
	s = open(t, path)
	root, err := s.Voted(7)
	require.NoError(t, err)
	require.Equal(t, records.Hash{2}, root)
	for root, want := range map[records.Hash]string{{1}: "proposal", {2}: "another"} {
		raw, err := s.Proposal(7, root)
		require.NoError(t, err)
		require.Equal(t, want, string(raw))
	}
	require.NoError(t, s.PutProposal(8, records.Hash{3}, []byte("final")))

	n, err := s.Prune(8)
	require.NoError(t, err)
	require.Equal(t, 3, n, "the vote and both proposals")
	_, err = s.Proposal(7, root)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = s.Proposal(8, records.Hash{3})
	require.NoError(t, err)
}

func TestOtherOwnerAndLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	s := open(t, path)
	o := options()
	o.LockTimeout = 1
	_, err := Open(path, o)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, s.Close())
	o = options()
	o.Domain = records.Domain{2}
	_, err = Open(path, o)
	require.ErrorIs(t, err, ErrOwner)
	o = options()
	o.Keeper = solana.PublicKey{9}
	_, err = Open(path, o)
	require.ErrorIs(t, err, ErrOwner)
	require.NoError(t, open(t, path).Close())
}

func TestDamageIsNeverRead(t *testing.T) {
	make := func(t *testing.T) (string, records.CheckStatement) {
		path := filepath.Join(t.TempDir(), "k.db")
		s := open(t, path)
		yes := st(1, 5, 100, true)
		_, _, err := s.Sign([]records.CheckStatement{yes}, sign)
		require.NoError(t, err)
		require.NoError(t, s.Vote(5, records.Hash{1}, nil))
		require.NoError(t, s.Close())
		return path, yes
	}
	t.Run("emptied", func(t *testing.T) {
		path, _ := make(t)
		require.NoError(t, os.Truncate(path, 0))
		_, err := Open(path, options())
		require.ErrorIs(t, err, ErrCorrupt)
	})
	t.Run("overwritten", func(t *testing.T) {
		path, _ := make(t)
		require.NoError(t, os.WriteFile(path, []byte("this is no database, and long enough to be read as one, is it not?"), 0o600))
		_, err := Open(path, options())
		require.Error(t, err)
	})
	t.Run("one entry", func(t *testing.T) {
		path, yes := make(t)
		db, err := bolt.Open(path, 0o600, nil)
		require.NoError(t, err)
		require.NoError(t, db.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucketStatements)
			v := append([]byte{}, b.Get(statementKey(yes))...)
			v[8+57] ^= 1 // passed becomes failed
			return b.Put(statementKey(yes), v)
		}))
		require.NoError(t, db.Close())
		_, err = Open(path, options())
		require.ErrorIs(t, err, ErrCorrupt)
		require.True(t, IsDamage(err))
	})
	t.Run("an entry while it is open", func(t *testing.T) {
		path, yes := make(t)
		s := open(t, path)
		require.NoError(t, s.db.Update(func(tx *bolt.Tx) error {
			return tx.Bucket(bucketStatements).Put(statementKey(yes), []byte("short"))
		}))
		_, _, err := s.Sign([]records.CheckStatement{yes}, sign)
		require.ErrorIs(t, err, ErrCorrupt)
		_, err = s.Statements(5)
		require.ErrorIs(t, err, ErrCorrupt)
		require.NoError(t, s.db.Update(func(tx *bolt.Tx) error { return boltstore.Put(tx, bucketVotes, periodKey(5), []byte{1}) }))
		_, err = s.Voted(5)
		require.ErrorIs(t, err, ErrCorrupt)
	})
}

// Whatever is asked in whatever order, with restarts and packing in between: one statement for a key, one root for a
// period, and nothing new in a sealed period.
func TestPromisesHold(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, rapid.StringMatching(`[a-z]{8}`).Draw(t, "name")+string(rune('a'+n%26))+".db")
		_ = os.Remove(path)
		s, err := Open(path, options())
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		promised := map[string]records.CheckStatement{}
		roots := map[records.Period]records.Hash{}
		sets := map[records.Period]SetRef{}
		sealed := records.Period(0)
		size := rapid.IntRange(1, 4).Draw(t, "statements in a pack")
		s.pack = size
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			p := records.Period(rapid.IntRange(4, 8).Draw(t, "period"))
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0, 1:
				x := st(byte(rapid.IntRange(1, 2).Draw(t, "node")), p, int64(rapid.IntRange(0, 2).Draw(t, "at")), rapid.Bool().Draw(t, "passed"))
				got, _, err := s.Sign([]records.CheckStatement{x}, sign)
				require.NoError(t, err)
				k := string(statementKey(x))
				old, had := promised[k]
				if len(got) == 1 {
					require.True(t, !had || old == x)
					require.True(t, had || (p >= sealed && p >= 5))
					promised[k] = x
				} else {
					require.True(t, (had && old != x) || p < sealed || p < 5)
				}
			case 2:
				root := records.Hash{byte(rapid.IntRange(1, 2).Draw(t, "root"))}
				err := s.Vote(p, root, []byte("p"))
				if p < 5 {
					require.ErrorIs(t, err, ErrEarly)
				} else {
					require.NoError(t, err)
					roots[p] = root
				}
			case 3:
				require.NoError(t, s.Seal(p))
				sealed = max(sealed, p+1)
			case 4:
				require.NoError(t, s.Close())
				s, err = Open(path, options())
				require.NoError(t, err)
				s.pack = size
			case 5:
				_, err := s.Pack()
				require.NoError(t, err)
			case 6:
				ref := SetRef{Count: uint32(rapid.IntRange(1, 2).Draw(t, "count"))}
				err := s.PutManifest(p, ref)
				if old, had := sets[p]; had && old != ref {
					require.ErrorIs(t, err, ErrManifest)
				} else if p < 5 {
					require.ErrorIs(t, err, ErrEarly)
				} else if p >= sealed {
					require.ErrorIs(t, err, ErrOpen)
				} else {
					require.NoError(t, err)
					sets[p] = ref
				}
			}
		}
		for _, x := range promised {
			known, err := s.Knows(x)
			require.NoError(t, err)
			require.True(t, known)
			about, err := s.StatementsAbout(x.Period, x.Node)
			require.NoError(t, err)
			require.True(t, slices.ContainsFunc(about, func(y Signed) bool { return y.Statement == x }))
		}
	})
}
