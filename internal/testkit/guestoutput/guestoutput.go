// Package guestoutput has the output of a job in a measured guest, as machines keep it, for tests that read it.
package guestoutput

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
)

// Seal is what a machine keeps of a job that says words and ends; nil for an end that the machine keeps back. keys are those of its
// customer: one of an attempt whose answer was lost, and the right one.
func Seal(t *testing.T, end *control.End, words ...string) (kept []byte, keys [][]byte) {
	t.Helper()
	key, err := seal.New(seal.Subject{})
	require.NoError(t, err)
	sealer, err := seal.Read(key.Evidence(), seal.Subject{})
	require.NoError(t, err)
	_, lost, err := sealer.Converse([]byte("lost"))
	require.NoError(t, err)
	box, reader, err := sealer.Converse([]byte("taken"))
	require.NoError(t, err)
	_, writer, err := key.Converse(box)
	require.NoError(t, err)
	records := []control.Record{{Phase: control.PhaseRun}}
	for _, w := range words {
		records = append(records, control.Record{Output: []byte(w)})
	}
	if end != nil {
		records = append(records, control.Record{End: end})
	}
	kept = []byte(control.SealedOutput)
	for _, r := range records {
		plain, err := r.Encode()
		require.NoError(t, err)
		kept = control.AppendFrame(kept, writer.Seal(plain))
	}
	return kept, [][]byte{lost.Keep(), reader.Keep()}
}
