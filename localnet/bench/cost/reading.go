package cost

import "fmt"

// reading is what BenchmarkFirstRead of keeper/daemon has measured of so many accounts.
type reading struct {
	accounts, wire          float64 // MB of the answer, the same before and now
	before, after           float64 // seconds of processor time
	peakBefore, peak, holds float64 // MiB: the most in use meanwhile, and what stays
}

// form is what BenchmarkListForms has measured of a list of 40,000 accounts.
type form struct {
	name   string
	wire   float64 // MB
	reader float64 // seconds of processor time; 0 where no program reads it
}

// The figures of both, of 2026-12-01.
var (
	readings = []reading{
		{40_000, 22.06, 0.42, 0.22, 82, 59, 43},
		{1_000_000, 551.4, 12.68, 6.79, 1_802, 1_393, 1_036},
	}
	forms = []form{
		{"base64, as it is asked for", 22.06, 0.087},
		{"addresses alone", 9.16, 0.059},
		{"base64+zstd", 17.26, 0},
		{"base64, the answer by gzip", 6.68, 0.136},
		{"addresses alone, the answer by gzip", 1.49, 0.069},
	}
)

// read says what the first reading of the list takes.
func (p *page) read() {
	p.line("")
	p.line("## The first reading")
	p.line("From nothing until a keeper's watcher, view and matcher have all accounts (`BenchmarkFirstRead` of `keeper/daemon`). The accounts are like those of the")
	p.line("reference market, and come from a server in the same process. What was before is the commit before [0047](../adr/0047-no-kept-accounts.md). Measured on two cores that other")
	p.line("programs kept busy. So the table has processor time, which includes collecting garbage and the server's part. Nothing is kept on disk: 0047 says why.")
	p.table(">accounts", ">MB of the answer", ">before, s", ">now, s", ">most MiB before", ">now", ">MiB that stay")
	for _, r := range readings {
		p.row(count(r.accounts), decimal(r.wire, 1), decimal(r.before, 2), decimal(r.after, 2), count(r.peakBefore), count(r.peak), count(r.holds))
	}
	p.line("")
	p.line("At loads of 20 to 60 the last row took 66 s by the clock before, and takes 27 s. A market of a million machines has ten million accounts. That was not run. Ten times the")
	p.line("last row are 68 s of processor time, most of it on one core. 10 GiB stay, and the answer has 5.5 GB. **So the goal of 60 s for a start is not met at a million machines.**")
	p.line("")
	p.line("The same list of 40,000 accounts as nodes can write it (`BenchmarkListForms`), and the time to read it and keep nothing. gzip is the endpoint's, or that of a")
	p.line("proxy before it: clients ask for it, and use it where it is there.")
	p.table("form", ">MB", ">s")
	for _, f := range forms {
		took := "not read"
		if f.reader > 0 {
			took = fmt.Sprintf("%.3f", f.reader)
		}
		p.row(f.name, decimal(f.wire, 2), took)
	}
}
