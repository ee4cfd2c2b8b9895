package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const small = "testdata/small.json"

func TestSameInputSameBytes(t *testing.T) {
	first, err := bindings(small, "small")
	require.NoError(t, err)
	for range 5 {
		again, err := bindings(small, "small")
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

// TestItCompiles builds the generated package with a program that uses the error table.
func TestItCompiles(t *testing.T) {
	// Inside the module, so that the generated imports resolve.
	dir, err := os.MkdirTemp("testdata", "generated-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, run([]string{small, filepath.Join(dir, "small"), "small"}))
	use := `package main

import (
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/idl/internal/generate/` + filepath.ToSlash(dir) + `/small"
)

func main() {
	var err error = small.ErrorCodeFirst
	var code small.ErrorCode
	fmt.Println(errors.As(fmt.Errorf("wrapped: %w", err), &code), code, code.Name(), len(small.ErrorCodes()))
	fmt.Println(small.ErrorCode(7), small.ErrorCode(7).Known())
	fmt.Println(small.Instruction_Note, len(small.Seen{}.Inner))
	see, err := small.NewSeeAllInstruction(small.ProgramID, small.ProgramID)
	if err != nil {
		panic(err)
	}
	data, err := see.Data()
	fmt.Println(data, err, small.InstructionName(data), small.InstructionName(data[:7]) == "", small.Place_SeeAll_TheSeen, small.Place_Note_SystemProgram)
	data[0] = 9
	fmt.Println(small.Instruction_SeeAll[0])
}
`
	require.NoError(t, os.Mkdir(filepath.Join(dir, "use"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "use", "main.go"), []byte(use), 0o600))
	out, err := exec.Command("go", "run", "./"+filepath.Join(dir, "use")).CombinedOutput()
	require.NoError(t, err, string(out))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Equal(t, `true First (6000): the "first" thing went wrong First 2`, lines[0])
	require.Equal(t, "unknown program error 7 false", lines[1])
	require.Contains(t, lines[2], " 2")
	require.Equal(t, "[1 2 3 4 5 6 7 8] <nil> see_all true 1 2", lines[3])
	require.Equal(t, "1", lines[4], "an instruction has data of its own")
}

func TestWhatGoCannotExpressIsAnError(t *testing.T) {
	source, err := os.ReadFile(small)
	require.NoError(t, err)
	var idl map[string]any
	require.NoError(t, json.Unmarshal(source, &idl))
	idl["types"] = append(idl["types"].([]any), map[string]any{
		"name": "PodU64", "type": map[string]any{"kind": "type", "alias": "u64"},
	})
	changed, err := json.Marshal(idl)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "alias.json")
	require.NoError(t, os.WriteFile(path, changed, 0o600))
	_, err = bindings(path, "small")
	require.Error(t, err)

	_, err = bindings(filepath.Join(t.TempDir(), "missing.json"), "small")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestStaleFilesGoAndForeignFilesStay(t *testing.T) {
	dir := t.TempDir()
	stale, foreign := filepath.Join(dir, "stale.go"), filepath.Join(dir, "foreign.go")
	require.NoError(t, os.WriteFile(stale, []byte("// Code generated. DO NOT EDIT.\npackage small\n"), 0o600))
	require.NoError(t, os.WriteFile(foreign, []byte("package small\n"), 0o600))
	require.NoError(t, run([]string{small, dir, "small"}))
	require.NoFileExists(t, stale)
	require.FileExists(t, foreign)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "errors.go"), []byte("package small\n"), 0o600))
	require.ErrorContains(t, run([]string{small, dir, "small"}), "not generated")
}
