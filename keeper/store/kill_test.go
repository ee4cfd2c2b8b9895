package store

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/client/records"
)

// The test program runs itself as a keeper that does nothing but guarantee: it signs and votes at random, seals and packs
// now and then, and writes what it has promised to its output, as a keeper would to the network.
const (
	childStore = "GANTRY_TEST_STORE" // its file; set in the child only
	childSeed  = "GANTRY_TEST_SEED"
	childLimit = "GANTRY_TEST_FILE_LIMIT" // bytes that a file may have
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childStore); path != "" {
		if err := guarantee(path); err != nil {
			fmt.Println("error", err)
			os.Exit(3)
		}
	}
	os.Exit(m.Run())
}

// guarantee signs and votes until it is killed. Errors of the disk are printed and do not end it.
func guarantee(path string) error {
	if limit, err := strconv.ParseUint(os.Getenv(childLimit), 10, 64); err == nil {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: unix.RLIM_INFINITY}); err != nil {
			return err
		}
	}
	seed, err := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(os.Getenv("GANTRY_TEST_KEY"))
	if err != nil {
		return err
	}
	key := solana.PrivateKey(raw)
	s, err := Open(path, Options{Keeper: key.PublicKey(), Domain: records.Domain{1}, FirstPeriod: 5, LockTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	s.pack = 5
	sealed, err := s.Sealed()
	if err != nil {
		return err
	}
	open := max(sealed, 5) // the periods from here on are
	rnd := rand.New(rand.NewPCG(seed, 1))
	out := bufio.NewWriter(os.Stdout)
	for {
		var batch []records.CheckStatement
		for range 1 + rnd.IntN(8) {
			batch = append(batch, st(byte(1+rnd.IntN(3)), max(open, 7)-2+records.Period(rnd.IntN(8)), int64(rnd.IntN(200)), rnd.IntN(2) == 0))
		}
		signed, _, err := s.Sign(batch, func(x records.CheckStatement) (solana.Signature, error) { return x.Sign(key) })
		if err != nil {
			fmt.Fprintln(out, "failed", err)
			if IsDamage(err) {
				return err
			}
		}
		for _, x := range signed {
			enc := x.Statement.Encode()
			fmt.Fprintf(out, "signed %x %x\n", enc[:], x.Signature[:])
		}
		voted, root := records.Period(5+rnd.IntN(40)), records.Hash{byte(rnd.IntN(4)), 1}
		if err := s.Vote(voted, root, make([]byte, rnd.IntN(3000))); err == nil {
			fmt.Fprintf(out, "voted %d %x\n", voted, root[:])
		} else {
			fmt.Fprintln(out, "failed", err)
		}
		// What a set is changes with the code that writes it: the book must not.
		p, ref := max(open, 9)-4+records.Period(rnd.IntN(4)), SetRef{Count: uint32(rnd.IntN(4)), Digest: [32]byte{1}}
		if err := s.PutManifest(p, ref); err == nil {
			fmt.Fprintf(out, "manifest %d %x\n", p, ref.encode())
		} else if !errors.Is(err, ErrManifest) && !errors.Is(err, ErrOpen) {
			fmt.Fprintln(out, "failed", err)
		}
		if rnd.IntN(30) == 0 {
			if err := sealAndPack(s, open); err != nil {
				fmt.Fprintln(out, "failed", err)
			} else {
				open++
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// world is everybody who hears what the keeper says.
type world struct {
	said   map[string]records.CheckStatement
	roots  map[records.Period]records.Hash
	sets   map[string]string // of manifests, by period
	heard  int
	failed []string
}

func newWorld() *world {
	return &world{said: map[string]records.CheckStatement{}, roots: map[records.Period]records.Hash{}, sets: map[string]string{}}
}

// hear takes whole lines; a kill may cut the last one.
func (w *world) hear(t *testing.T, key solana.PublicKey, line string) {
	f := strings.Fields(line)
	if len(f) < 2 {
		return
	}
	switch f[0] {
	case "signed":
		raw, err := hex.DecodeString(f[1])
		require.NoError(t, err)
		s, err := records.DecodeStatement(raw)
		require.NoError(t, err)
		sig, err := hex.DecodeString(f[2])
		require.NoError(t, err)
		require.NoError(t, s.Verify(key, solana.SignatureFromBytes(sig)))
		k := string(statementKey(s))
		if old, ok := w.said[k]; ok {
			require.Equal(t, old, s, "two different statements about one thing")
		}
		w.said[k] = s
	case "voted":
		p, err := strconv.ParseUint(f[1], 10, 64)
		require.NoError(t, err)
		raw, err := hex.DecodeString(f[2])
		require.NoError(t, err)
		w.roots[records.Period(p)] = records.Hash(raw)
	case "manifest":
		if len(f) < 3 || len(f[2]) < 2*setRefSize {
			return // cut
		}
		if old, ok := w.sets[f[1]]; ok {
			require.Equal(t, old, f[2], "two manifests of period %s", f[1])
		}
		w.sets[f[1]] = f[2]
	default:
		w.failed = append(w.failed, line)
	}
	w.heard++
}

// listen runs a child on the file, kills it, and hears what it said. Its life is counted from its start, or from its first
// word: a busy machine may take long to start it.
func (w *world) listen(t *testing.T, path string, seed uint64, speaks bool, life time.Duration, env ...string) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childStore+"="+path, fmt.Sprint(childSeed, "=", seed), "GANTRY_TEST_KEY="+hex.EncodeToString(testKey))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r := bufio.NewReader(out)
	if speaks {
		_, _ = r.Peek(1) // if it says nothing, it has ended
	}
	kill := time.AfterFunc(life, func() { _ = cmd.Process.Signal(syscall.SIGKILL) }) // it may have ended
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		w.hear(t, testKey.PublicKey(), line)
	}
	kill.Stop()
	_ = cmd.Wait() // it was killed
}

// votesIn compares the votes with the store's. One may be in the store that was not heard: the last before the kill.
func (w *world) votesIn(t *testing.T, s *Store) {
	var unheard []records.Period
	for p := range records.Period(50) {
		root, err := s.Voted(p)
		heard, ok := w.roots[p]
		if err != nil {
			require.ErrorIs(t, err, ErrNotFound)
			require.False(t, ok, "heard and not in the store")
			continue
		}
		if !ok || root != heard {
			unheard = append(unheard, p)
			w.roots[p] = root
		}
	}
	require.LessOrEqual(t, len(unheard), 1, "votes that were forgotten or were not cast")
}

func kills() int {
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		return 1000
	}
	return 25
}

// A process that is killed at any moment, again and again on the same file, never says two different things, and always
// finds its file sound.
func TestKilledAtAnyMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	w := newWorld()
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	for i := range kills() {
		w.listen(t, path, rnd.Uint64(), i%2 == 0, time.Duration(rnd.IntN(250))*time.Millisecond)
		require.Empty(t, w.failed)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue // killed before there was a file
		}
		s, err := Open(path, options())
		require.NoError(t, err, "after kill %d", i)
		asked := 0
		for _, x := range w.said { // in no order
			if asked++; asked > 5000 && i < kills()-1 {
				break
			}
			known, err := s.Knows(x)
			require.NoError(t, err)
			require.True(t, known, "said and not in the store")
		}
		w.votesIn(t, s)
		require.NoError(t, s.Close())
	}
	s := open(t, path)
	t.Logf("%d packs, %d statements of open periods", countRecords(t, s, bucketPacks), countRecords(t, s, bucketStatements))
	require.NoError(t, s.Close())
	t.Logf("%d kills, %d promises heard, %d statements, %d roots, %d manifests", kills(), w.heard, len(w.said), len(w.roots), len(w.sets))
	require.NotEmpty(t, w.said)
}
