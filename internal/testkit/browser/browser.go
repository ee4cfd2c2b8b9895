// Package browser lets tests do in a browser what a person does on the pages of commands.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-market/gantry/internal/testkit/repository"
)

// scripts is the folder of what runs in a browser, from the root of the repository.
const scripts = "web/testdata/browser"

// Sign connects a wallet on the page to which a link leads, and signs the transactions that come: each has to have one
// of the sentences among its effects, in order. The test is skipped where there is no browser.
func Sign(t testing.TB, link, keyFile string, sentences ...string) {
	t.Helper()
	texts, err := json.Marshal(sentences)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, 2*time.Minute, "signing.mjs", link, keyFile, string(texts))
}

// Run runs a script of the folder, within a time, and returns what it prints. GANTRY_SCREENSHOTS names a folder for
// pictures. The test is skipped where there is no browser.
func Run(t testing.TB, within time.Duration, script string, args ...string) string {
	t.Helper()
	chromium, folder := Find(t)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	args = append([]string{filepath.Join(folder, script), chromium}, args...)
	if pictures := os.Getenv("GANTRY_SCREENSHOTS"); pictures != "" {
		args = append(args, pictures)
	}
	out, err := exec.CommandContext(ctx, "node", args...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Find is the browser of this machine and the folder of the scripts; the test is skipped where there is none.
func Find(t testing.TB) (chromium, folder string) {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	folder = filepath.Join(repository.Root(t), scripts)
	_, noNode := exec.LookPath("node")
	_, noDriver := os.Stat(filepath.Join(folder, "node_modules", "playwright-core"))
	if chromium == "" || noNode != nil || noDriver != nil {
		t.Skip("SKIPPED: a page in a browser needs node and scripts/toolchain.sh browser")
	}
	return chromium, folder
}

// Start runs a command that serves a page, and returns the page's link, and the command's error once it has ended.
func Start(t testing.TB, run func(out io.Writer) error) (link string, ended <-chan error) {
	t.Helper()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(write)
		_ = write.Close()
	}()
	return Link(t, read), done
}

// Link is the first link with a code in what a command writes; the rest is read and passed on to the test's log.
func Link(t testing.TB, from io.Reader) string {
	t.Helper()
	found := make(chan string, 1)
	go func() { // ends with the command
		lines := bufio.NewScanner(from)
		for lines.Scan() {
			t.Log(lines.Text())
			if _, link, ok := strings.Cut(lines.Text(), "http://"); ok && strings.Contains(link, "#code=") {
				select {
				case found <- "http://" + strings.TrimSpace(link):
				default:
				}
			}
		}
		close(found)
	}()
	select {
	case link, ok := <-found:
		if !ok {
			t.Fatal("the command has ended without a link")
		}
		return link
	case <-time.After(time.Minute):
		t.Fatal("the command has printed no link")
	}
	return ""
}
