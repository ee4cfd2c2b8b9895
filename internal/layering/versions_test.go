package layering

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
)

// A protocol that came with a later minor version than this program's has no id, and cannot be called.
func TestNoProtocolComesLaterThanTheMessages(t *testing.T) {
	since := regexp.MustCompile(`(?:Protocol\{ID: .*Since: +|\bID: messages\..*Since: +|since\()([0-9]+)`)
	found := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range since.FindAllStringSubmatch(string(text), -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			require.LessOrEqual(t, n, messages.Minor, "%s: %s", path, m[0])
			found++
		}
		return err
	}))
	require.Greater(t, found, 8)
}
