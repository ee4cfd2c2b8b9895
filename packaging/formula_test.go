package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// formula runs the script over a list of checksums.
func formula(t *testing.T, sums, url string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "SHA256SUMS")
	require.NoError(t, os.WriteFile(file, []byte(sums), 0o600))
	out, err := exec.CommandContext(t.Context(), "./formula.sh", file, url).CombinedOutput()
	return string(out), err
}

// sumsOf is a list with a checksum of its own for each archive.
func sumsOf(platforms ...string) string {
	var out strings.Builder
	for i, p := range platforms {
		out.WriteString(strings.Repeat(string(rune('a'+i)), 64) + "  gantry-1.2.3+x-" + p + ".tar.gz\n")
	}
	return out.String() + strings.Repeat("f", 64) + "  gantry-agent-1.2.3+x-linux-amd64.tar.gz\n"
}

func TestFormula(t *testing.T) {
	text, err := formula(t, sumsOf("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"), "https://example.com/v1/")
	require.NoError(t, err, text)
	require.Contains(t, text, `version "1.2.3+x"`)
	var words []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && (strings.HasPrefix(f[0], "on_") || f[0] == "url" || f[0] == "sha256") {
			words = append(words, strings.Join(f, " "))
		}
	}
	archive := func(platform, letter string) []string {
		return []string{`url "https://example.com/v1/gantry-1.2.3%2Bx-` + platform + `.tar.gz"`, `sha256 "` + strings.Repeat(letter, 64) + `"`}
	}
	want := []string{"on_macos do", "on_arm do"}
	want = append(append(want, archive("darwin-arm64", "d")...), "on_intel do")
	want = append(append(want, archive("darwin-amd64", "c")...), "on_linux do", "on_arm do")
	want = append(append(want, archive("linux-arm64", "b")...), "on_intel do")
	require.Equal(t, append(want, archive("linux-amd64", "a")...), words)

	if _, err := exec.LookPath("ruby"); err != nil {
		t.Skip("ruby is not installed: the syntax is not checked")
	}
	check := exec.CommandContext(t.Context(), "ruby", "-c")
	check.Stdin = strings.NewReader(text)
	out, err := check.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestFormulaOfAnIncompleteRelease(t *testing.T) {
	whole := []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"}
	out, err := formula(t, sumsOf(whole[:3]...), "https://example.com")
	require.Error(t, err)
	require.Equal(t, 1, strings.Count(out, "error: "))
	require.Contains(t, out, "names no archive of gantry for darwin-arm64")
	out, err = formula(t, sumsOf(append(whole, "linux-amd64")...), "https://example.com")
	require.Error(t, err)
	require.Contains(t, out, "several archives of gantry for linux-amd64")
	for url, says := range map[string]string{"http://example.com": "by https:// only", `https://e.com/"; system("x")`: "characters that a formula cannot have"} {
		out, err = formula(t, sumsOf(whole...), url)
		require.Error(t, err)
		require.Contains(t, out, says)
	}
}
