package demo

import (
	"bufio"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/repository"
)

// The recording of the demo shows each chapter that the demo has now, has no long pause, and tells nothing of a computer. `make
// recording` makes it anew, as root on Linux.
func TestTheRecordingIsOfThisDemo(t *testing.T) {
	images := filepath.Join(repository.Root(t), "docs", "images")
	cast, err := os.Open(filepath.Join(images, "demo.cast"))
	require.NoError(t, err)
	defer func() { require.NoError(t, cast.Close()) }()
	lines := bufio.NewScanner(cast)
	lines.Buffer(nil, 1<<20)
	require.True(t, lines.Scan())
	var header struct{ Version, Width, Height int }
	require.NoError(t, json.Unmarshal(lines.Bytes(), &header))
	require.Equal(t, 2, header.Version)
	var all strings.Builder
	last := 0.0
	for lines.Scan() {
		var e []any
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		at := e[0].(float64)
		require.GreaterOrEqual(t, at, last)
		require.LessOrEqual(t, at, last+2.001, "a pause is not cut")
		last = at
		all.WriteString(e[2].(string))
	}
	require.NoError(t, lines.Err())
	picture, err := os.ReadFile(filepath.Join(images, "demo.svg"))
	require.NoError(t, err)
	shown := html.UnescapeString(string(picture))
	for _, c := range chapters() {
		require.Contains(t, all.String(), c.title)
		require.Contains(t, shown, c.title)
	}
	for name, text := range map[string]string{"demo.cast": all.String(), "demo.svg": strings.ReplaceAll(shown, "</", "")} {
		require.Contains(t, text, "expectations held", name)
		for _, folder := range []string{"/root/", "/home/", "/tmp/", "/var/", "/work"} {
			require.NotContains(t, text, folder, name)
		}
	}
}
