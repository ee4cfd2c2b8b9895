package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/doctor"
)

// The command on this machine, whatever it has, with a data folder that does not exist and a port where nothing answers.
func TestDoctorOnThisMachine(t *testing.T) {
	a := app()
	var out bytes.Buffer
	a.Writer = &out
	err := a.RunContext(t.Context(), []string{"gantry-agent", "doctor", "--json", "--url", "http://127.0.0.1:1", "--data-dir", filepath.Join(t.TempDir(), "none")})
	require.ErrorIs(t, err, errUnfit)
	require.Equal(t, exitRefused, exitCode(err, false))
	var got struct {
		Errors   int
		Findings []doctor.Finding
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Len(t, got.Findings, len(doctor.Checks()))
	results := map[string]doctor.Result{}
	for i, f := range got.Findings {
		require.Equal(t, doctor.Checks()[i].ID, f.ID)
		require.NotEmpty(t, f.Cause, f)
		require.Equal(t, f.Result == doctor.Warning || f.Result == doctor.Error, f.Fix != "", f)
		results[f.ID] = f.Result
	}
	for _, id := range []string{"rpc", "data-folder", "node-key"} {
		require.Equal(t, doctor.Error, results[id], id)
	}
	require.GreaterOrEqual(t, got.Errors, 3)
}
