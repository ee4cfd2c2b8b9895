package sizing

import (
	"fmt"
	"io"
	"time"
)

// Result of a run.
type Result struct {
	Period  time.Duration
	Markets []Market
}

// Market is what the daemons of one market used.
type Market struct {
	Machines int
	// Jobs is how many were bought and run meanwhile, one after the other.
	Jobs int
	Took time.Duration
	Uses []Use
}

// Use is what the processes of a kind used, each for itself.
type Use struct {
	Kind string
	// Processes are how many were measured. Shared: they are one, which is all machines, and the figures are of one machine.
	Processes int
	Shared    bool
	// CPU is in seconds a second; Resident, the most, and Disk, at the end, are in bytes, Read and Written in bytes a second, by system
	// calls, of sockets and files.
	CPU, Resident, Disk, Read, Written Spread
}

// Spread is the least and the most of a figure.
type Spread struct {
	Least, Most float64
	known       bool
}

func (s *Spread) add(v float64) {
	if !s.known {
		*s = Spread{v, v, true}
		return
	}
	s.Least, s.Most = min(s.Least, v), max(s.Most, v)
}

// text is the spread in a unit.
func (s Spread) text(unit float64, format string) string {
	least, most := fmt.Sprintf(format, s.Least/unit), fmt.Sprintf(format, s.Most/unit)
	if least == most {
		return most
	}
	return least + "–" + most
}

// Markdown writes a table for docs/operate/sizing.md.
func (r Result) Markdown(out io.Writer) error {
	_, err := fmt.Fprintf(out, "| market | daemon | processes | processor, %% of a core | resident, MiB | data folder, MiB | read, KiB/s | written, KiB/s |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	if err != nil {
		return err
	}
	for _, m := range r.Markets {
		for _, u := range m.Uses {
			processes := fmt.Sprint(u.Processes)
			if u.Shared {
				processes = fmt.Sprintf("1 for %d", m.Machines)
			}
			_, err := fmt.Fprintf(out, "| %d machines, %d jobs in %s | %s | %s | %s | %s | %s | %s | %s |\n", m.Machines, m.Jobs, m.Took.Round(time.Second), u.Kind, processes,
				u.CPU.text(0.01, "%.1f"), u.Resident.text(1<<20, "%.0f"), u.Disk.text(1<<20, "%.1f"), u.Read.text(1<<10, "%.1f"), u.Written.text(1<<10, "%.1f"))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
