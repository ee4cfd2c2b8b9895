package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
)

// Page is what a command prints for a person. On a terminal, tables and lines fit its window. A pipe gets every column and every line as it is.
type Page struct {
	// Wide: all columns, and whole addresses, however wide the window is.
	Wide bool
	// Mask changes texts before they are laid out: golden screens have fixed addresses and times. Nil changes nothing.
	Mask func(string) string

	at   screen.Terminal
	line string // the last line, as long as it has no end
	less bool   // a table has columns that were left out
	err  error
}

// NewPage is a page in a pipe or a file.
func NewPage(w io.Writer) *Page {
	return &Page{at: screen.Terminal{Out: w, Unicode: true}}
}

// NewScreen is a page on a terminal.
func NewScreen(t screen.Terminal) *Page { return &Page{at: t} }

// screen is the terminal that the page is on. drawn: a person looks at it, so that bars and colours help.
func (p *Page) screen() (t screen.Terminal, drawn bool) {
	t = p.at
	if p.Wide {
		t.Width = 0
	}
	return t, t.Live
}

// ascii are this program's own signs on a terminal that shows ASCII alone.
var ascii = strings.NewReplacer("×", "x", "…", "~", "→", ">", "✓", "+", "✗", "x", "·", "-", "–", "-")

// masked is a text as it is laid out.
func (p *Page) masked(text string) string {
	if p.Mask != nil {
		text = p.Mask(text)
	}
	if !p.at.Unicode {
		text = ascii.Replace(text)
	}
	return text
}

// text is a text that others may have written, as a part of a line.
func (p *Page) text(s string) string { return p.masked(printable.Text(s)) }

// Write writes lines. On a terminal they break between words.
func (p *Page) Write(b []byte) (int, error) {
	at, drawn := p.screen()
	lines := strings.Split(p.line+string(b), "\n")
	p.line = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		line = p.masked(printable.Lines(line))
		if !drawn || at.Width <= 0 {
			p.say(line + "\n")
			continue
		}
		line, tx, sent := strings.Cut(line, transaction)
		p.say(strings.Join(screen.Words(line, at.Width), "\n") + "\n")
		if sent {
			p.say(at.Say(screen.Dim, strings.TrimLeft(transaction, " ")) + tx + "\n")
		}
	}
	return len(b), p.err
}

// transaction begins what says by which transaction something happened. On a terminal it is a line of its own.
const transaction = "   tx "

// Raw writes lines as they are: for what is copied into files.
func (p *Page) Raw() io.Writer { return raw{p} }

type raw struct{ p *Page }

func (r raw) Write(b []byte) (int, error) {
	r.p.say(r.p.masked(printable.Lines(string(b))))
	return len(b), r.p.err
}

// Whole: nothing is left out for a person's sake, as in a pipe.
func (p *Page) Whole() bool { return p.Wide || !p.at.Live }

// lines are a text as the window breaks it behind so many columns.
func (p *Page) lines(text string, behind int) []string {
	if at, drawn := p.screen(); drawn && at.Width > 0 {
		return screen.Words(text, at.Width-behind)
	}
	return []string{text}
}

// say writes text as it is.
func (p *Page) say(text string) {
	_, err := io.WriteString(p.at.Out, text)
	p.err = cmp.Or(p.err, err)
}

// Hint writes a line that helps to go on, where a person looks.
func (p *Page) Hint(text string) {
	at, drawn := p.screen()
	if !drawn {
		return
	}
	for _, line := range p.lines(p.masked(text), 0) {
		p.say(at.Say(screen.Dim, line) + "\n")
	}
}

// Close writes what is left of the last line. Error: that of the first write that failed.
func (p *Page) Close() error {
	if p.line != "" {
		p.say(p.masked(printable.Lines(p.line)))
		p.line = ""
	}
	if p.less {
		p.Hint("more columns: -o wide")
	}
	if p.err != nil {
		return fmt.Errorf("write the result: %w", p.err)
	}
	return nil
}

// Table writes rows in columns. A cell is one line, also if its text is a peer's. Heads are separated by "|". A head that begins with "@" is of
// addresses whose beginnings commands take, with ">" of cells that are right-aligned, with "+" of a column that only -o wide shows. With "~N" at
// its end the column goes where the window has no room, the largest N first.
func (p *Page) Table(heads string, rows [][]string) {
	var columns []screen.Column
	shown := make([][]string, len(rows))
	for i, head := range strings.Split(heads, "|") {
		c, wide := column(head)
		if wide && !p.Wide {
			continue
		}
		columns = append(columns, c)
		for r := range rows {
			shown[r] = append(shown[r], p.text(rows[r][i]))
		}
	}
	p.table(columns, shown)
}

// table writes rows whose cells may have colours.
func (p *Page) table(columns []screen.Column, rows [][]string) {
	at, _ := p.screen()
	less, err := at.Table(columns, rows)
	p.less, p.err = p.less || less, cmp.Or(p.err, err)
}

// column is what a head says of its column.
func column(head string) (c screen.Column, wide bool) {
	for ; head != ""; head = head[1:] {
		switch head[0] {
		case '@':
			c.Address = true
		case '>':
			c.Right = true
		case '+':
			wide = true
		default:
			text, drop, _ := strings.Cut(head, "~")
			c.Head = text
			c.Drop, _ = strconv.Atoi(drop)
			return c, wide
		}
	}
	return c, wide
}

// Mark is a mark, in its colour where there are colours.
func (p *Page) Mark(m screen.Mark) string { return p.at.Mark(m) }

// Hang writes a text behind the beginning of its line, which may have colours. On a terminal it continues below itself.
func (p *Page) Hang(begin, text string) { p.hang(p.masked(begin), p.text(text)) }

// HangAll is Hang for a text of which nothing may be left out, however long it is.
func (p *Page) HangAll(begin, text string) {
	p.hang(p.masked(begin), p.masked(printable.Lines(strings.ReplaceAll(text, "\n", " "))))
}

func (p *Page) hang(begin, text string) {
	width := screen.Width(begin)
	p.say(strings.TrimRight(begin+strings.Join(p.lines(text, width), "\n"+strings.Repeat(" ", width)), " ") + "\n")
}

// Pairs writes "name  value" lines. A value is one line, also if its text is a peer's; on a terminal it continues below itself.
func (p *Page) Pairs(rows ...[2]string) {
	width := 0
	for _, r := range rows {
		width = max(width, screen.Width(r[0]))
	}
	for _, r := range rows {
		p.Hang(p.at.Say(screen.Dim, screen.Pad(r[0], width))+"   ", r[1])
	}
}
