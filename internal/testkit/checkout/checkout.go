// Package checkout finds the repository that a test runs in.
package checkout

import (
	"os"
	"path/filepath"
	"testing"
)

// Root is the repository's folder. Tests run in the folders of their packages; paths of sources are of no use in a build with
// -trimpath.
func Root(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, err = os.Stat(filepath.Join(root, "go.mod")); err != nil; _, err = os.Stat(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			t.Fatal("the test does not run in a folder of the repository")
		}
		root = filepath.Dir(root)
	}
	return root
}
