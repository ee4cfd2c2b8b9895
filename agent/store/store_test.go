package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

var owner = Owner{Domain: [8]byte{1}, NodeKey: Key{2}}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{Owner: owner})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func fill(t testing.TB, s *Store, count int) []Lease {
	t.Helper()
	for i := 0; i < count; i++ {
		_, err := s.AddLease(Lease{Address: Key{byte(i + 1)}, Order: Key{9}, Customer: Key{8}, AwardedAt: time.Unix(int64(i), 0).UTC()})
		require.NoError(t, err)
		_, err = s.ReserveReceipt(Key{byte(i + 1)}, 1, uint64(i))
		require.NoError(t, err)
	}
	all, err := s.Leases()
	require.NoError(t, err)
	return all
}

func TestEntriesSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "agent.db")
	s := open(t, path)
	want := fill(t, s, 20)
	require.Len(t, want, 20)
	require.NoError(t, s.Close())
	s = open(t, path)
	got, err := s.Leases()
	require.NoError(t, err)
	require.Equal(t, want, got)
	r, err := s.Receipt(Key{3})
	require.NoError(t, err)
	require.EqualValues(t, 2, r.Seconds)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestSecondAgentIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.db")
	open(t, path)
	_, err := Open(path, Options{Owner: owner, LockTimeout: 20 * time.Millisecond})
	require.ErrorIs(t, err, ErrLocked)
}

func TestOtherOwnerAndSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.db")
	s := open(t, path)
	require.NoError(t, s.Close())
	for _, o := range []Owner{{Domain: [8]byte{2}, NodeKey: owner.NodeKey}, {Domain: owner.Domain, NodeKey: Key{3}}} {
		_, err := Open(path, Options{Owner: o})
		require.ErrorIs(t, err, ErrOtherOwner)
		require.ErrorContains(t, err, "it is of node 02")
	}

	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := bolt.Open(foreign, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("x")); return err }))
	require.NoError(t, db.Close())
	_, err = Open(foreign, Options{Owner: owner})
	require.ErrorIs(t, err, ErrSchema)
}

func TestLeaseStates(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "agent.db"))
	a := Key{1}
	l, err := s.AddLease(Lease{Address: a, Order: Key{2}, Customer: Key{3}, State: Closed})
	require.NoError(t, err)
	require.Equal(t, Awarded, l.State)
	again, err := s.AddLease(Lease{Address: a, Order: Key{2}, Customer: Key{3}})
	require.NoError(t, err)
	require.Equal(t, l, again)
	_, err = s.AddLease(Lease{Address: a, Order: Key{4}, Customer: Key{3}})
	require.ErrorIs(t, err, ErrExists)

	l, err = s.Advance(a, Starting, func(l *Lease) error { l.Note, l.Order = "go", Key{99}; return nil })
	require.NoError(t, err)
	require.Equal(t, Key{2}, l.Order, "identity never changes")
	require.Equal(t, "go", l.Note)
	_, err = s.Advance(a, Awarded, nil)
	require.ErrorIs(t, err, ErrTransition)
	_, err = s.Advance(a, Closed, nil)
	require.ErrorIs(t, err, ErrTransition)
	_, err = s.Advance(a, Running, func(*Lease) error { return errors.New("no") })
	require.EqualError(t, err, "no")
	l, err = s.Lease(a)
	require.NoError(t, err)
	require.Equal(t, Starting, l.State, "a failed change changes nothing")
	_, err = s.Advance(a, Running, nil)
	require.NoError(t, err)
	_, err = s.Advance(a, Running, nil)
	require.NoError(t, err)
	require.ErrorIs(t, s.RemoveLease(a), ErrTransition)
	for _, to := range []State{Exited, Ended, Closed} {
		_, err = s.Advance(a, to, nil)
		require.NoError(t, err)
	}
	l, err = s.Lease(a)
	require.NoError(t, err)
	require.Len(t, l.History, 6)
	require.NoError(t, s.RemoveLease(a))
	_, err = s.Lease(a)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = s.Advance(a, Ended, nil)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = s.Update(a, func(*Lease) error { return nil })
	require.ErrorIs(t, err, ErrNotFound)
	_, err = s.Advance(a, State("odd"), nil)
	require.Error(t, err)
}

// Whatever is asked for, the receipts that get through form one rising line.
func TestReceiptsNeverContradict(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.db")
	s := open(t, path)
	next := uint32(0)
	rapid.Check(t, func(rt *rapid.T) {
		next++
		var lease Key
		binary.BigEndian.PutUint32(lease[:], next)
		_, err := s.AddLease(Lease{Address: lease})
		require.NoError(rt, err)
		var signed []Receipt
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			seq, secs := rapid.Uint64Range(0, 6).Draw(rt, "sequence"), rapid.Uint64Range(0, 6).Draw(rt, "seconds")
			r, err := s.ReserveReceipt(lease, seq, secs)
			ok := len(signed) == 0
			if !ok {
				last := signed[len(signed)-1]
				ok = seq > last.Sequence && secs >= last.Seconds || seq == last.Sequence && secs == last.Seconds
			}
			require.Equal(rt, ok, err == nil, "%d %d: %v", seq, secs, err)
			if err != nil {
				require.ErrorIs(rt, err, ErrReceipt)
				continue
			}
			require.Equal(rt, seq, r.Sequence)
			signed = append(signed, r)
		}
	})
}

func TestReceiptSignatures(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "agent.db"))
	_, err := s.ReserveReceipt(Key{1}, 1, 1)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = s.AddLease(Lease{Address: Key{1}})
	require.NoError(t, err)
	_, err = s.ReserveReceipt(Key{1}, 1, 10)
	require.NoError(t, err)
	sig := bytes.Repeat([]byte{1}, 64)
	require.NoError(t, s.SignReceipt(Key{1}, 1, sig, nil, Key{}))
	require.NoError(t, s.SignReceipt(Key{1}, 1, nil, sig, Key{}))
	require.Error(t, s.SignReceipt(Key{1}, 1, sig[:3], nil, Key{}))
	r, err := s.Receipt(Key{1})
	require.NoError(t, err)
	require.Equal(t, sig, r.NodeSignature)
	require.Equal(t, sig, r.CustomerSignature)
	_, err = s.ReserveReceipt(Key{1}, 1, 10)
	require.NoError(t, err)
	again, err := s.Receipt(Key{1})
	require.NoError(t, err)
	require.Equal(t, r, again, "reserving again keeps the signatures")
	_, err = s.ReserveReceipt(Key{1}, 2, 20)
	require.NoError(t, err)
	require.ErrorIs(t, s.SignReceipt(Key{1}, 1, sig, nil, Key{}), ErrReceipt)
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "agent.db"))
	fill(t, s, 4)
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for q := uint64(2); q < 10; q++ {
				_, err := s.ReserveReceipt(Key{byte(i + 1)}, q, 100*q)
				if err == nil {
					_, err = s.Leases(Awarded)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
}

// Any damage is either reported or without consequence; it is never a crash and never other contents.
func TestDamageIsNoticed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.db")
	s := open(t, path)
	want := fill(t, s, 30)
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	files := 0
	check := func(name string, b []byte) (noticed bool) {
		files++
		p := filepath.Join(dir, fmt.Sprintf("bad%d.db", files))
		defer os.Remove(p)
		require.NoError(t, os.WriteFile(p, b, 0o600))
		s, err := Open(p, Options{Owner: owner, LockTimeout: 50 * time.Millisecond})
		if err != nil {
			require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrSchema) || errors.Is(err, ErrOtherOwner), "%s: %v", name, err)
			return true
		}
		defer s.Close()
		got, err := s.Leases()
		require.NoError(t, err, name)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: other contents were read", name)
		}
		return false
	}
	for _, length := range []int{0, 1, 63, 64, 4095, 4096, 8192, 16384, len(whole) / 2, len(whole) - 4096} {
		if length < 16384 {
			require.True(t, check(fmt.Sprintf("cut to %d", length), whole[:length]), "cut to %d", length)
		} else {
			check(fmt.Sprintf("cut to %d", length), whole[:length])
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	noticed := 0
	for k := 0; k < 250; k++ {
		b := bytes.Clone(whole)
		at := rng.IntN(len(b))
		size := min(1<<rng.IntN(13), len(b)-at)
		for i := range b[at : at+size] {
			b[at+i] = byte(rng.Uint32())
		}
		if check(fmt.Sprintf("%d bytes at %d", size, at), b) {
			noticed++
		}
	}
	require.Greater(t, noticed, 25)
	garbage := bytes.Repeat([]byte("not a database "), 4096)
	require.True(t, check("garbage", garbage))
}

// A damaged value in an intact page is caught by the entry's own checksum.
func TestDamagedRecordIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.db")
	s := open(t, path)
	fill(t, s, 3)
	require.NoError(t, s.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Positive(t, bytes.Count(raw, []byte(`"seconds":2`)))
	raw = bytes.ReplaceAll(raw, []byte(`"seconds":2`), []byte(`"seconds":1`))
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	_, err = Open(path, Options{Owner: owner})
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "checksum")
}

// TestMain lets the kill test run this binary as a writer.
func TestMain(m *testing.M) {
	if path := os.Getenv("STORE_TEST_WRITER"); path != "" {
		writer(path)
		return
	}
	os.Exit(m.Run())
}

// writer reserves receipts as fast as it can and announces each after it is safe.
func writer(path string) {
	s, err := Open(path, Options{Owner: owner, LockTimeout: 5 * time.Second})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	if _, err := s.AddLease(Lease{Address: Key{1}}); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	q := uint64(0)
	if r, err := s.Receipt(Key{1}); err == nil {
		q = r.Sequence
	}
	for {
		q++
		if _, err := s.ReserveReceipt(Key{1}, q, 10*q); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(q)
	}
}

func TestKilledWriterForgetsNothing(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "agent.db")
	for round := 0; round < 4; round++ {
		var out bytes.Buffer
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "STORE_TEST_WRITER="+path)
		cmd.Stdout = &out
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(250+30*round) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
		announced, err := strconv.ParseUint(string(lines[len(lines)-1]), 10, 64)
		if err != nil && len(bytes.TrimSpace(out.Bytes())) > 0 {
			t.Fatalf("writer said %q", lines[len(lines)-1])
		}
		s := open(t, path)
		r, err := s.Receipt(Key{1})
		if announced > 0 {
			require.NoError(t, err)
		}
		require.GreaterOrEqual(t, r.Sequence, announced, "an announced receipt was forgotten")
		require.LessOrEqual(t, r.Sequence, announced+1)
		require.NoError(t, s.Close())
	}
	s := open(t, path)
	r, err := s.Receipt(Key{1})
	require.NoError(t, err)
	require.Positive(t, r.Sequence)
}
