package control_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
)

// A customer notices each record that its carrier leaves out, repeats, exchanges or changes, and an end that is kept back.
func TestACarrierOfTheOutput(t *testing.T) {
	key, err := seal.New(seal.Subject{})
	require.NoError(t, err)
	sealer, err := seal.Read(key.Evidence(), seal.Subject{})
	require.NoError(t, err)
	// carried is what the customer says of records that a carrier has handled.
	carried := func(handle func(records [][]byte) []control.OutputAnswer) (text string, end control.End, err error) {
		box, reader, err := sealer.Converse(nil)
		require.NoError(t, err)
		_, writer, err := key.Converse(box)
		require.NoError(t, err)
		var records [][]byte
		for _, r := range []control.Record{{Phase: control.PhaseRun}, {Output: []byte("one ")}, {Output: []byte("two")}, {End: &control.End{Code: 7}}} {
			plain, err := r.Encode()
			require.NoError(t, err)
			records = append(records, writer.Seal(plain))
		}
		answers := handle(records)
		end, err = control.Follow(t.Context(), func(context.Context, uint64) (control.OutputAnswer, error) {
			if len(answers) == 0 {
				return control.OutputAnswer{}, errors.New("asked again")
			}
			next := answers[0]
			answers = answers[1:]
			return next, nil
		}, reader, func(r control.Record) error {
			text += string(r.Output)
			return nil
		})
		return text, end, err
	}
	text, end, err := carried(func(r [][]byte) []control.OutputAnswer {
		return []control.OutputAnswer{{Records: r[:2]}, {Records: r[2:], Over: true}}
	})
	require.NoError(t, err)
	require.Equal(t, "one two", text)
	require.Equal(t, control.End{Code: 7}, end)
	for name, c := range map[string]struct {
		handle func(r [][]byte) []control.OutputAnswer
		why    error
	}{
		"left out": {func(r [][]byte) []control.OutputAnswer { return []control.OutputAnswer{{Records: r[1:], Over: true}} }, seal.ErrBack},
		"repeated": {func(r [][]byte) []control.OutputAnswer {
			return []control.OutputAnswer{{Records: [][]byte{r[0], r[0]}}}
		}, seal.ErrBack},
		"exchanged": {func(r [][]byte) []control.OutputAnswer {
			return []control.OutputAnswer{{Records: [][]byte{r[0], r[2], r[1], r[3]}}}
		}, seal.ErrBack},
		"the end at once":   {func(r [][]byte) []control.OutputAnswer { return []control.OutputAnswer{{Records: r[3:], Over: true}} }, seal.ErrBack},
		"the end kept back": {func(r [][]byte) []control.OutputAnswer { return []control.OutputAnswer{{Records: r[:3], Over: true}} }, control.ErrCut},
		"nothing more":      {func(r [][]byte) []control.OutputAnswer { return []control.OutputAnswer{{Records: r[:3]}, {}} }, control.ErrCut},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := carried(c.handle)
			require.ErrorIs(t, err, c.why)
		})
	}
}
