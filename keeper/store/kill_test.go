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

	"github.com/gantry-market/gantry/sdk/records"
)

// The test program runs itself as a keeper that does nothing but promise: it signs and votes at random, seals and packs
// now and then, and writes what it has promised to its output, as a keeper would to the network.
const (
	childStore = "GANTRY_TEST_STORE" // its file; set in the child only
	childSeed  = "GANTRY_TEST_SEED"
	childLimit = "GANTRY_TEST_FILE_LIMIT" // bytes that a file may have
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childStore); path != "" {
		if err := promise(path); err != nil {
			fmt.Println("error", err)
			os.Exit(3)
		}
	}
	os.Exit(m.Run())
}

// promise signs and votes until it is killed. Errors of the disk are printed and do not end it.
func promise(path string) error {
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
		// What a set is changes with the code that writes it; what the store has does not.
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

// peers is what the network received from the keeper.
type peers struct {
	signed   map[string]records.CheckStatement
	roots    map[records.Period]records.Hash
	sets     map[string]string // of manifests, by period
	received int
	failed   []string
}

func newPeers() *peers {
	return &peers{signed: map[string]records.CheckStatement{}, roots: map[records.Period]records.Hash{}, sets: map[string]string{}}
}

// receive takes whole lines; a kill may cut the last one.
func (w *peers) receive(t *testing.T, key solana.PublicKey, line string) {
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
		if old, ok := w.signed[k]; ok {
			require.Equal(t, old, s, "two different statements about one thing")
		}
		w.signed[k] = s
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
	w.received++
}

// run starts a child on the file, kills it, and reads its output. Its life is counted from its start, or with prints
// from its first output: a busy machine may take long to start it.
func (w *peers) run(t *testing.T, path string, seed uint64, prints bool, life time.Duration, env ...string) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childStore+"="+path, fmt.Sprint(childSeed, "=", seed), "GANTRY_TEST_KEY="+hex.EncodeToString(testKey))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r := bufio.NewReader(out)
	if prints {
		_, _ = r.Peek(1) // if it prints nothing, it has ended
	}
	kill := time.AfterFunc(life, func() { _ = cmd.Process.Signal(syscall.SIGKILL) }) // it may have ended
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		w.receive(t, testKey.PublicKey(), line)
	}
	kill.Stop()
	_ = cmd.Wait() // it was killed
}

// votesIn compares the votes with the store's. One may be in the store that was not received: the last before the kill.
func (w *peers) votesIn(t *testing.T, s *Store) {
	var missed []records.Period
	for p := range records.Period(50) {
		root, err := s.Voted(p)
		received, ok := w.roots[p]
		if err != nil {
			require.ErrorIs(t, err, ErrNotFound)
			require.False(t, ok, "received and not in the store")
			continue
		}
		if !ok || root != received {
			missed = append(missed, p)
			w.roots[p] = root
		}
	}
	require.LessOrEqual(t, len(missed), 1, "votes that were forgotten or were not cast")
}

func kills() int {
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		return 1000
	}
	return 25
}

// A process that is killed at any moment, again and again on the same file, never publishes two different statements
// about one thing, and always finds its file sound.
func TestKilledAtAnyMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	w := newPeers()
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	for i := range kills() {
		w.run(t, path, rnd.Uint64(), i%2 == 0, time.Duration(rnd.IntN(250))*time.Millisecond)
		require.Empty(t, w.failed)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue // killed before there was a file
		}
		s, err := Open(path, options())
		require.NoError(t, err, "after kill %d", i)
		asked := 0
		for _, x := range w.signed { // in no order
			if asked++; asked > 5000 && i < kills()-1 {
				break
			}
			known, err := s.Knows(x)
			require.NoError(t, err)
			require.True(t, known, "published and not in the store")
		}
		w.votesIn(t, s)
		require.NoError(t, s.Close())
	}
	s := open(t, path)
	t.Logf("%d packs, %d statements of open periods", countEntries(t, s, bucketPacks), countEntries(t, s, bucketStatements))
	require.NoError(t, s.Close())
	t.Logf("%d kills, %d promises received, %d statements, %d roots, %d manifests", kills(), w.received, len(w.signed), len(w.roots), len(w.sets))
	require.NotEmpty(t, w.signed)
}
