package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const reports = "../../docs/reports"

// TestPicturesAreWhatTheirTablesGive: a page whose figures have changed needs make plots.
func TestPicturesAreWhatTheirTablesGive(t *testing.T) {
	known := map[string]bool{}
	for _, p := range pictures {
		known[p.name+".svg"] = true
		want, err := p.draw(reports)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		got, err := os.ReadFile(filepath.Join(reports, "images", p.name+".svg"))
		if err != nil {
			t.Error(err)
		} else if string(got) != string(want) {
			t.Errorf("docs/reports/images/%s.svg is not what %s gives: run make plots, and look at it", p.name, p.page)
		}
		text, err := os.ReadFile(filepath.Join(reports, p.page))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(text), "](images/"+p.name+".svg)") {
			t.Errorf("%s does not show images/%s.svg", p.page, p.name)
		}
	}
	files, err := os.ReadDir(filepath.Join(reports, "images"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("no plot draws docs/reports/images/%s", f.Name())
		}
	}
}

// TestAPictureFollowsItsTable: another figure makes another picture, and a table that is not as expected is an error.
func TestAPictureFollowsItsTable(t *testing.T) {
	for _, p := range pictures {
		page, err := os.ReadFile(filepath.Join(reports, p.page))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := p.draw(reports)
		if err != nil {
			t.Fatal(err)
		}
		cell := map[string]string{ // the digit in parentheses is changed
			"attacks": `\| −([1-9])\.\d+ \| always \|`, "gpu-table": `0\.(\d)\d+, 0\.987, 1`, "gpus": `\| 64 \| (\d)\d* \|`,
			"hostile-network": `\| (\d)\d\.\d \| \d\d\.\d \|`, "leases": `gantry ssh. \| s \| \d+ \| 0\.(\d)\d+ \|`, "moves": `\| (\d)\.\d \| \d\.\d \|`,
			"scale-accounts": `\| (\d)\d* \| yes \|`, "scale-machine-hour": `\| (\d),\d{3} \| [\d,]+ \| \d\.\d+ \| \d\.\d \|`,
			"simulation": `\| (\d)\.\d s \(p95 \d+ s\)`, "soak": `job (\d)\.\d s \(median\)`,
		}[p.name]
		at := regexp.MustCompile(cell).FindSubmatchIndex(page)
		if len(at) != 4 {
			t.Fatalf("%s has no cell like %q: choose another one", p.page, cell)
		}
		changed := bytes.Clone(page)
		if digit := at[2]; changed[digit] == '5' {
			changed[digit] = '6'
		} else {
			changed[digit] = '5'
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, p.page), string(changed))
		got, err := p.draw(dir)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
		} else if string(got) == string(committed) {
			t.Errorf("%s stays the same when the marked digit of %q changes in %q", p.name, cell, page[at[0]:at[1]])
		}
		write(t, filepath.Join(dir, p.page), "# A page without tables\n")
		if _, err := p.draw(dir); err == nil {
			t.Errorf("%s is drawn from a page without tables", p.name)
		}
	}
}

// TestPicturesAskNobody: a picture shows the same everywhere, without another file or host, a script or an event.
func TestPicturesAskNobody(t *testing.T) {
	for _, p := range pictures {
		svg, err := p.draw(reports)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("http://www.w3.org/2000/svg", "", "http://www.w3.org/1999/xlink", "").Replace(string(svg))
		for _, no := range []string{"http", "href=", "url(", "<script", "<image", "@import", "NaN", "Inf"} {
			if strings.Contains(text, no) {
				t.Errorf("%s has %q", p.name, no)
			}
		}
		if !strings.Contains(text, "<text ") {
			t.Errorf("%s has no text", p.name)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTables(t *testing.T) {
	r := parse("# A\n\n| not | a table |\n\ntext\n## B\n| what | n |\n| --- | ---: |\n| **x** | 1,200 |\n| `y` | −0.5: more |\n\n### C\n| what | m |\n| --- | --- |\n| z | 2 m 9 s (p95 1 m 4.5 s) |\n")
	b, err := r.table("B", "n")
	if err != nil || len(b.rows) != 2 || len(r.tables) != 2 {
		t.Fatalf("%+v, %v", r.tables, err)
	}
	x, err := b.numbers(b.rows[0], "n")
	if err != nil || x[0] != 1200 || b.rows[0][0] != "x" {
		t.Errorf("%v, %v", x, err)
	}
	if y, err := b.numbers(b.rows[1], "n"); err != nil || y[0] != -0.5 || b.rows[1][0] != "y" {
		t.Errorf("%v, %v", y, err)
	}
	c, err := r.table("C", "m")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := seconds(c.rows[0][1]); err != nil || s != 129 {
		t.Errorf("%v, %v", s, err)
	}
	for _, wrong := range []func() error{
		func() error { _, err := r.table("B", "m"); return err },
		func() error { _, err := r.table("A", "n"); return err },
		func() error { _, err := b.row("z"); return err },
		func() error { _, err := b.numbers(b.rows[0], "what"); return err },
		func() error { _, err := number("–"); return err },
		func() error { _, err := list("1, –"); return err },
		func() error { _, err := seconds("first challenge"); return err },
	} {
		if wrong() == nil {
			t.Error("an error is expected")
		}
	}
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 12: "12", 1000: "1,000", 1234567: "1,234,567", 20464: "20,464", 0.1: "0.1", -100: "−100", -0.1: "−0.1", 1234.5: "1,234.5"} {
		if got := figure(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}
