package records

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root of the repository.
const root = "../.."

func (r Tagged) row() string {
	size := "varies"
	if r.Size > 0 {
		size = fmt.Sprint(r.Size)
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s |", r.Tag, r.Name, size, r.Layout, r.Signer, r.Domain, r.Checked)
}

func (l Label) row() string { return fmt.Sprintf("| `%s` | %s | %s |", l.Label, l.What, l.Where) }

// The documented tables are the tables of this package, row by row.
func TestTagsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs/protocol/records.md"))
	require.NoError(t, err)
	var found, want []string
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "| `GANTRY") || strings.HasPrefix(line, "| `gantry-") {
			found = append(found, strings.TrimSuffix(line, "\n"))
		}
	}
	for _, r := range AllTagged {
		want = append(want, r.row())
	}
	for _, l := range AllLabels {
		want = append(want, l.row())
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(found, "\n"), "docs/protocol/records.md must have these rows")
}

func TestTagsAreDistinct(t *testing.T) {
	for i, r := range AllTagged {
		require.Regexp(t, `^GANTRY[A-Z][0-9]$`, r.Tag)
		if i > 0 {
			require.Less(t, AllTagged[i-1].Tag[:TagSize-1], r.Tag[:TagSize-1], "one letter for one record, sorted")
		}
	}
	for i, l := range AllLabels {
		for j, other := range AllLabels {
			require.False(t, i != j && strings.HasPrefix(other.Label, l.Label), "%s begins with %s", other.Label, l.Label)
		}
		require.True(t, i == 0 || AllLabels[i-1].Label < l.Label, "%s: sorted", l.Label)
	}
}

// The sizes in the table are those of the encodings.
func TestTagsHaveTheirSizes(t *testing.T) {
	sizes := map[string]int{
		TagBidSet: BidSetHeadSize, TagBid: BidSize, TagBidCommitment: CommitmentSize, TagCommitmentAck: AckSize, TagRevealAck: AckSize,
		TagManifest: ManifestSize, TagOutcome: OutcomeSize, TagProposal: ProposalSize, TagReceipt: ReceiptSize, TagStatement: StatementSize,
		TagAnswer: AnswerSize, TagStart: StartSize,
	}
	for _, r := range AllTagged {
		if size, here := sizes[r.Tag]; here {
			require.Equal(t, size, r.Size, r.Name)
		}
	}
}

// Every constant of the program is in the table with its value, and every record that the table says the program reads
// is a constant there.
func TestTagsAreTheProgramsConstants(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "program/src/constants.rs"))
	require.NoError(t, err)
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)pub const (\w+_TAG): \[u8; (\d+)\] =\s*\*b"([^"]*)";`).FindAllStringSubmatch(string(raw), -1) {
		require.Equal(t, "8", m[2], m[1])
		found[m[1]] = m[3]
	}
	want := map[string]string{}
	for _, r := range AllTagged {
		require.Equal(t, r.Constant != "", strings.HasPrefix(r.Checked, "program"), r.Name)
		if r.Constant != "" {
			want[r.Constant] = r.Tag
		}
	}
	require.Equal(t, want, found)
}

// A tag is written in one place for each language: here, in the package of attest that makes the record, and in the
// program's constants. Labels are written where the table says.
func TestTagsAreWrittenOnce(t *testing.T) {
	tag, numbered := regexp.MustCompile(`b?"(GANTRY[A-Z][A-Z0-9])"`), regexp.MustCompile(`"(gantry-[a-z0-9-]+-[0-9]+)"`)
	label := regexp.MustCompile(`"(gantry-[a-z0-9-]+)"`)
	places := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, _ := filepath.Rel(root, path)
		if e.IsDir() {
			if slices.Contains([]string{".git", "build", "target", "program/tests", "shared"}, filepath.ToSlash(at)) {
				return filepath.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(path)
		if (ext != ".go" && ext != ".rs") || strings.HasSuffix(path, "_test.go") || at == filepath.FromSlash("sdk/records/tags.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		note := func(text string) {
			if dir := filepath.ToSlash(filepath.Dir(at)); !slices.Contains(places[text], dir) {
				places[text] = append(places[text], dir)
			}
		}
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for _, m := range tag.FindAllStringSubmatch(line, -1) {
				note(m[1])
			}
			for _, m := range label.FindAllStringSubmatch(line, -1) {
				if numbered.MatchString(m[0]) || slices.ContainsFunc(AllLabels, func(l Label) bool { return l.Label == m[1] }) {
					note(m[1])
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	for _, r := range AllTagged {
		var want []string
		for _, place := range strings.Split(r.Checked, ", ") {
			switch {
			case place == "program":
				want = append(want, "program/src")
			case strings.HasPrefix(place, "attest/"):
				want = append(want, place)
			}
		}
		require.ElementsMatch(t, want, places[r.Tag], "%s is written in other places", r.Tag)
		delete(places, r.Tag)
	}
	for _, l := range AllLabels {
		require.Subset(t, append(places[l.Label], "internal/testkit/testmarket"), strings.Split(l.Where, ", "), l.Label)
		delete(places, l.Label)
	}
	require.Empty(t, places, "tags and labels that are not in the table")
}
