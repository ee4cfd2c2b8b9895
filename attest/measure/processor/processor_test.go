package processor

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/gantry-market/gantry/attest/measure"
)

// small is a profile whose times are over at once: K rounds are made and one batch of walks.
var small = measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 2, WalkMs: 1, Lanes: 8}

// measured is a run of one machine with what its node signed.
type measured struct {
	task   measure.Task
	run    measure.Run
	seen   map[uint32]measure.Hash
	place  measure.Place
	key    [32]byte
	signed measure.Signed
	c      measure.Commitment
}

func measureOne(t testing.TB, p measure.Profile, threads int) measured {
	t.Helper()
	d, err := New(threads)
	if err != nil {
		t.Fatal(err)
	}
	secret := ed25519.NewKeyFromSeed(make([]byte, 32))
	m := measured{seen: map[uint32]measure.Hash{}, key: [32]byte(secret.Public().(ed25519.PublicKey))}
	m.place = measure.Place{Domain: [8]byte{1}, Instant: sha256.Sum256([]byte("instant")), Node: sha256.Sum256([]byte("account"))}
	m.task = measure.NewTask(m.place, 2, p)
	m.run, err = d.Run(context.Background(), m.task, func(round uint32, root measure.Hash) {
		if int(round) != len(m.seen) {
			t.Errorf("round %d ended after %d", round, len(m.seen))
		}
		m.seen[round] = root
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.run.Close() })
	entries := []measure.Entry{m.run.Result().Entry(2, p)}
	m.c = measure.Commit(m.place, entries)
	m.signed = measure.Signed{Commitment: m.c.Bytes(), Signature: ed25519.Sign(secret, m.c.Bytes()), Entries: entries}
	return m
}

// verify is what a member of the committee does with what it got.
func (m measured) verify(t testing.TB, challenge byte) error {
	t.Helper()
	c, err := m.signed.Check(m.place, m.key, []measure.Asked{{GPU: 2, Profile: m.task.Profile}})
	if err != nil {
		return err
	}
	e, roots := m.signed.Entries[0], m.run.Result().Roots
	if err := measure.CheckRoots(e, roots, m.seen); err != nil {
		return err
	}
	v, err := measure.NewVerifier(m.task, measure.NewColumns(m.task.Columns, m.task.Profile.Order), e, roots)
	if err != nil {
		return err
	}
	draw := measure.NewDraw([32]byte{challenge}, 2, c)
	answer, err := measure.Answer(context.Background(), m.run, m.task.Profile, draw)
	if err != nil {
		return err
	}
	if want := measure.AnswerBytes(m.task.Profile, e.Walks, draw); len(answer) != want {
		t.Errorf("an answer of %d bytes, not %d", len(answer), want)
	}
	return v.Verify(context.Background(), draw, answer)
}

// TestAnswersPass: members with draws of their own all find the run right, on one thread and on more than there are lanes.
func TestAnswersPass(t *testing.T) {
	for _, threads := range []int{1, 3, 16} {
		m := measureOne(t, small, threads)
		if got := len(m.run.Result().Roots); got < int(small.Resident) {
			t.Errorf("%d rounds, %d are resident", got, small.Resident)
		}
		for challenge := range byte(4) {
			if err := m.verify(t, challenge); err != nil {
				t.Errorf("%d threads, member %d: %v", threads, challenge, err)
			}
		}
	}
}

// TestOtherShapes: mix bytes of two columns, more rows than columns, longer rows, one slot.
func TestOtherShapes(t *testing.T) {
	for _, p := range []measure.Profile{
		{Order: 1024, Fold: 2, Rows: 2048, ChainMs: 1, Resident: 1, WalkMs: 1, Lanes: 1},
		{Order: 2048, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 2, WalkMs: 1, Lanes: 2},
	} {
		if err := measureOne(t, p, 2).verify(t, 1); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestRecordedRoots: the rounds are those that another program computed from the format's page.
func TestRecordedRoots(t *testing.T) {
	text, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Run struct {
			N, Rows, Lanes, Rounds uint32
			Fold                   uint8
			Nonce                  string
			SeedB                  string `json:"seed_b"`
			Roots                  []string
		}
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	r := v.Run
	task := measure.Task{
		// Until all recorded rounds are made.
		Profile: measure.Profile{Order: r.N, Fold: r.Fold, Rows: r.Rows, ChainMs: 1, Resident: r.Rounds, WalkMs: 1, Lanes: r.Lanes},
		Nonce:   decode(t, r.Nonce), Columns: decode(t, r.SeedB),
	}
	d, err := New(2)
	if err != nil {
		t.Fatal(err)
	}
	run, err := d.Run(context.Background(), task, func(round uint32, root measure.Hash) {
		if int(round) < len(r.Roots) && root != decode(t, r.Roots[round]) {
			t.Errorf("root of round %d: %x, want %s", round, root, r.Roots[round])
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(run.Result().Roots); got < len(r.Roots) || len(r.Roots) < 3 {
		t.Errorf("%d rounds were compared with %d", got, len(r.Roots))
	}
}

func decode(t *testing.T, text string) measure.Hash {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 32 {
		t.Fatalf("%q: %v", text, err)
	}
	return measure.Hash(b)
}

// TestThreadsComputeTheSame: rounds follow from the task, whatever threads make them.
func TestThreadsComputeTheSame(t *testing.T) {
	one, two := measureOne(t, small, 1), measureOne(t, small, 2)
	for r := range small.Resident {
		if one.seen[r] != two.seen[r] {
			t.Errorf("round %d differs", r)
		}
	}
}

func TestEndedContexts(t *testing.T) {
	d, err := New(2)
	if err != nil {
		t.Fatal(err)
	}
	long := small
	long.ChainMs = 1 << 30
	ctx, cancel := context.WithCancel(context.Background())
	task := measure.NewTask(measure.Place{}, 0, long)
	_, err = d.Run(ctx, task, func(round uint32, _ measure.Hash) {
		if round == 1 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("in the chain: %v", err)
	}
	long.ChainMs, long.WalkMs = 1, 1<<30
	ctx, cancel = context.WithCancel(context.Background())
	rounds := uint32(0)
	task = measure.NewTask(measure.Place{}, 0, long)
	_, err = d.Run(ctx, task, func(uint32, measure.Hash) {
		if rounds++; rounds == long.Resident {
			go cancel() // while it walks, or earlier on a busy machine
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("in the walk: %v", err)
	}

	m := measureOne(t, small, 2)
	if _, err := m.run.Leaves(ctx, []measure.LeafAt{{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("leaves: %v", err)
	}
	if _, err := m.run.Walks(ctx, []measure.WalkAt{{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("walks: %v", err)
	}
}

func TestRunsRefuse(t *testing.T) {
	if _, err := New(-1); err == nil {
		t.Error("a device of -1 threads")
	}
	d, err := New(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Run(context.Background(), measure.Task{}, nil); !errors.Is(err, measure.ErrProfile) {
		t.Errorf("no profile: %v", err)
	}
	large := measure.Task{Profile: measure.Profile{Order: 8192, Fold: 4, Rows: 1 << 15, Resident: 50, Lanes: 1}}
	if _, err := d.Run(context.Background(), large, nil); err == nil {
		t.Error("a profile of GPUs was begun")
	}
	m := measureOne(t, small, 1)
	ctx := context.Background()
	for _, at := range []measure.LeafAt{{Round: uint32(len(m.seen))}, {Leaf: small.Leaves()}} {
		if _, err := m.run.Leaves(ctx, []measure.LeafAt{at}); err == nil {
			t.Errorf("leaf %+v was opened", at)
		}
	}
	for _, at := range []measure.WalkAt{{Lane: small.Lanes}, {Walk: m.run.Result().Walks}} {
		if _, err := m.run.Walks(ctx, []measure.WalkAt{at}); err == nil {
			t.Errorf("walk %+v was opened", at)
		}
	}
	if err := m.run.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.run.Leaves(ctx, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("leaves of a closed run: %v", err)
	}
	if _, err := m.run.Walks(ctx, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("walks of a closed run: %v", err)
	}
}
