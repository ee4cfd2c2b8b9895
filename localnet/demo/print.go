package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gagliardetto/solana-go"
)

// printer writes numbered steps, and lines that belong to one. Steps overlap in time, so every line of a step comes out
// in one piece. Its methods may be called from several goroutines.
type printer struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
	step  int
	file  *os.File // nil until keep
}

const (
	stepWidth   = 60
	resultWidth = 44
	shortKey    = 4
)

// textName is the file in the state directory that has all that was printed.
const textName = "demo.txt"

// keep writes all that follows to a file in a directory, too, and returns its path.
func (p *printer) keep(dir string) (path string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path = filepath.Join(dir, textName)
	if p.file, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
		return "", fmt.Errorf("keep the demo's text: %w", err)
	}
	p.out = io.MultiWriter(p.file, p.out)
	return path, nil
}

// close ends the file, if there is one, with why the demo failed.
func (p *printer) close(why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	if why != nil {
		fmt.Fprintln(p.file, "error:", why)
	}
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("keep the demo's text: %w", err)
	}
	return nil
}

// begin prints the next step and returns its number.
func (p *printer) begin(text, result string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step++
	p.line(fmt.Sprintf("%2d  ", p.step), text, result)
	return p.step
}

// note prints lines that belong to a step, with its number when others may have come between.
func (p *printer) note(step int, lines ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range lines {
		for part := range strings.SplitSeq(strings.TrimRight(l, "\n"), "\n") {
			fmt.Fprintf(p.out, "%2d    %s\n", step, part)
		}
	}
}

// plain prints lines of no step.
func (p *printer) plain(lines ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range lines {
		fmt.Fprintln(p.out, l)
	}
}

// table prints rows in columns.
func (p *printer) table(rows [][]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	table(p.out, rows)
}

func (p *printer) line(prefix, text, result string) {
	fmt.Fprintf(p.out, "%s%s  %s %5.1f s\n", prefix, pad(text, stepWidth-1), pad(result, resultWidth), time.Since(p.start).Seconds())
}

// pad fills a text up to a width in characters; a longer one stays as it is.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// short is the beginning of an address or signature, for people.
func short(v fmt.Stringer) string {
	s := v.String()
	if len(s) <= shortKey {
		return s
	}
	return s[:shortKey] + "…"
}

// tx names a transaction.
func tx(sig solana.Signature) string {
	if sig.IsZero() {
		return ""
	}
	return "tx " + short(sig)
}

// table prints rows in columns; the first column is left-aligned, the others right-aligned.
func table(out io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString(cell + pad)
				continue
			}
			b.WriteString("  " + pad + cell)
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
}
