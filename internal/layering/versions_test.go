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
	for _, text := range []string{"p2p.Protocol{ID: messages.Line, Since: 8,", "\t\tID: messages.Guest, Since: 8,", "since(8"} {
		m := since.FindStringSubmatch(text)
		require.NotNil(t, m, text)
		require.Equal(t, "8", m[1])
	}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range since.FindAllStringSubmatch(string(text), -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			require.LessOrEqual(t, n, messages.Minor, "%s: %s", path, m[0])
		}
		return err
	}))
}
