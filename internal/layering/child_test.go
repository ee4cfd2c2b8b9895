package layering

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernel's signal at the end of a parent comes when the parent's thread ends. These files keep the thread for as long as the
// process runs; all others start such a process by internal/child.
func TestProcessesThatEndWithTheirParent(t *testing.T) {
	threads := map[string]bool{
		"agent/runtime/supervisor.go":         true, // its process has one thread for this, from its start to its end
		"attest/tpm/swtpm/parent_linux.go":    true,
		"internal/child/child.go":             true,
		"internal/child/child_test.go":        true, // shows the fault
		"internal/layering/child_test.go":     true,
		"internal/testkit/nettest/nettest.go": true,
		"localnet/machine/again.go":           true,
		"localnet/machine/run.go":             true, // the process that it starts is its thread's
		"localnet/machine/try.go":             true,
	}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := strings.CutPrefix(filepath.ToSlash(path), "../../")
		if strings.Contains(string(text), "Pdeathsig") {
			require.True(t, threads[name], "%s starts a process that ends with a thread: use internal/child", name)
			delete(threads, name)
		}
		return err
	}))
	require.Empty(t, threads, "these start none any more")
}
