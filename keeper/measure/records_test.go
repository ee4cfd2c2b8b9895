package measure

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/internal/testkit/clitest"
	asking "github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

// What a keeper states to be wrong can be checked by anyone from what the machine has signed, and by nothing else.
func TestTheRecordOfAWrongMeasurement(t *testing.T) {
	liar := newMachine(t, processors(t), processor.Faulty{}).start(t)
	lie := liar.member(t).asks(t, liar)
	require.Equal(t, Wrong, lie.Outcome, "%v", lie.Why)
	kept, _, err := lie.Record.Encode()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "record")
	require.NoError(t, os.WriteFile(file, kept, 0o600))
	clitest.Draws(t, nil, "evidence measurement", file)

	silent := newMachine(t, processor.Faulty{})
	all := silent.recorded(t, block(period, 0))
	opens := func(o opening) *asking.Record {
		silent.plays(sends(all...), o)
		r := silent.member(t, func(o *Options) { o.Wait = short }).asks(t, silent)
		require.Equal(t, Wrong, r.Outcome)
		return r.Record
	}
	refuses := func(why messages.MeasureRefusal) *asking.Record {
		return opens(func(_ context.Context, req messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
			return silent.signs(t, all, req, messages.MeasureOpening{Refused: why}), nil
		})
	}
	for name, c := range map[string]struct {
		record *asking.Record
		change func(*asking.Record)
		want   asking.Verdict
	}{
		"made-up bytes":                      {lie.Record, func(*asking.Record) {}, asking.Shown},
		"a refusal":                          {refuses(messages.MeasureFailed), func(*asking.Record) {}, asking.Unopened},
		"a refusal of a second draw":         {refuses(messages.MeasureTooMany), func(*asking.Record) {}, asking.NotShown},
		"silence":                            {opens(hangs), func(*asking.Record) {}, asking.NotShown},
		"another answer than was signed":     {lie.Record, func(r *asking.Record) { r.GPUs[1].Opening.Answer[700] ^= 1 }, asking.NotShown},
		"another commitment than was signed": {lie.Record, func(r *asking.Record) { r.Commitment.Signature[5] ^= 1 }, asking.NotShown},
		"other entries than were signed":     {lie.Record, func(r *asking.Record) { r.Commitment.Entries[60] ^= 1 }, asking.NotShown},
		"other roots than were signed":       {lie.Record, func(r *asking.Record) { r.GPUs[1].Roots[3] ^= 1 }, asking.NotShown},
		"another challenge":                  {lie.Record, func(r *asking.Record) { r.GPUs[1].Challenge[3] ^= 1 }, asking.NotShown},
		"another machine":                    {lie.Record, func(r *asking.Record) { r.Key[3] ^= 1 }, asking.NotShown},
	} {
		t.Run(name, func(t *testing.T) {
			raw, _, err := c.record.Encode()
			require.NoError(t, err)
			r, err := asking.DecodeRecord(raw)
			require.NoError(t, err)
			c.change(r)
			v, why, err := r.Check(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, v, "%v", why)
			require.Error(t, why)
		})
	}
	t.Run("another block", func(t *testing.T) {
		r := *lie.Record
		for r.BlockHash[0] = 0; ; r.BlockHash[0]++ {
			if _, _, err := r.Check(t.Context()); err != nil {
				require.ErrorIs(t, err, asking.ErrRecord)
				return
			}
		}
	})
}

// tapped is a network that notes what a machine with one GPU answers.
type tapped struct {
	Peers
	r asking.Record
}

func (n *tapped) Join(ctx context.Context, node solana.PublicKey, req messages.MeasureRequest, item func(messages.MeasureItem) error) error {
	return n.Peers.Join(ctx, node, req, func(m messages.MeasureItem) error {
		switch {
		case m.Roots != nil:
			n.r.GPUs[0].Roots = append(n.r.GPUs[0].Roots, m.Roots.Roots...)
		case m.Commitment != nil:
			n.r.Commitment = *m.Commitment
		}
		return item(m)
	})
}

func (n *tapped) Open(ctx context.Context, node solana.PublicKey, req messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
	o, err := n.Peers.Open(ctx, node, req)
	n.r.GPUs[0].Drawn, n.r.GPUs[0].Challenge, n.r.GPUs[0].Opening = true, req.Challenge, o
	return o, err
}

// A keeper that states an honest machine to be wrong has no record that shows it: what the machine has signed refutes it.
func TestTheRecordOfARightMeasurementRefutesTheKeeper(t *testing.T) {
	m := newMachine(t, processors(t)).start(t)
	profile := small.Bytes()
	peer := peerOf(t)
	require.NoError(t, peer.Connect(t.Context(), m.peer.Self()))
	n := &tapped{Peers: Peers{peer}, r: asking.Record{
		Domain: domain, Node: account, Key: m.key.PublicKey(), GPUs: []asking.RecordGPU{{Profile: profile[:]}},
	}}
	n.r.Of(block(period, 0))
	r := newMember(t, n).asks(t, m)
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
	require.Nil(t, r.Record)
	v, why, err := n.r.Check(t.Context())
	require.NoError(t, err)
	require.Equal(t, asking.Refuted, v, "%v", why)
}

// Of each machine the newest records are kept, under the hash that the statement names.
func TestRecordsAreKept(t *testing.T) {
	m := newMachine(t, processor.Faulty{}).start(t)
	r := m.member(t).asks(t, m)
	require.NotNil(t, r.Record)
	store := Records{Folder: t.TempDir()}
	at := time.Unix(1_800_000_000, 0)
	for i := range recordsOfNode + 5 {
		r.Record.Slot = uint64(i)
		_, err := store.Keep(account, r.Record, at.Add(time.Duration(i)*time.Second))
		require.NoError(t, err)
	}
	files, err := os.ReadDir(filepath.Join(store.Folder, account.String()))
	require.NoError(t, err)
	require.Len(t, files, recordsOfNode)
	raw, err := os.ReadFile(filepath.Join(store.Folder, account.String(), files[0].Name()))
	require.NoError(t, err)
	again, err := asking.DecodeRecord(raw)
	require.NoError(t, err)
	require.EqualValues(t, 5, again.Slot)
}
