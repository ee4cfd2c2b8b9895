package govern

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func classesCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "classes", Usage: "the table of GPUs that a market can have as models: memory, ids, data sheets, stakes",
		Description: "Figures are those of data sheets. What a class asks for by measurements is said to be not calibrated until somebody has\n" +
			"measured it on hardware. Stakes are by the parameters that the protocol names, at assumed prices. No cluster is asked.\n" +
			"Propose one with: gantry market model propose ID --class NAME",
		Action: action(s, (*session).classes),
	}
}

func (s *session) classes() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	p := market.DefaultParams()
	all, err := service.Classes(&p)
	if err != nil {
		return err
	}
	return s.Done(all, func(w *terminal.Page) { printClasses(w, all) })
}

func printClasses(w *terminal.Page, all []service.Class) {
	rows := make([][]string, len(all))
	for i, c := range all {
		boards := strings.Join(c.Boards, " ")
		if boards == "" {
			boards = "-"
		}
		rows[i] = []string{
			c.Name, fmt.Sprintf("%d MiB", c.MemoryMiB), strings.Join(c.PCIIDs, " "), boards, fmt.Sprint(c.Int8TOPS), fmt.Sprint(c.GigabytesPerSecond),
			c.Calibration, c.Price, c.Stake,
		}
	}
	w.Table("CLASS|>MEMORY|PCI IDS~4|BOARDS~5|>TOPS (SHEET)~1|>GB/S (SHEET)~2|BY MEASUREMENTS~3|>ASSUMED $/GPU-H|>LEAST STAKE", rows)
	names := make([]string, 0, len(class.GPUs().Unsupported))
	for _, u := range class.GPUs().Unsupported {
		names = append(names, u.Name)
	}
	fmt.Fprintf(w, "\nNot supported yet: AMD's %s: %s.\n", strings.Join(names, ", "), class.GPUs().Unsupported[0].Why)
}

// classArgs reads ID and NAME of a model and, where --class names one, the class that its facts are taken from.
func (s *session) classArgs() (args []string, g *class.GPU, err error) {
	name := s.CLI.String(flagClass)
	if name == "" {
		if args, err = s.Args("ID", "NAME"); err == nil {
			err = service.Unsupported(args[1])
		}
		return args, nil, err
	}
	if args, err = s.Args("ID"); err != nil {
		return nil, nil, err
	}
	if g, err = service.ClassNamed(name); err != nil {
		return nil, nil, err
	}
	return append(args, g.Name), g, nil
}

// flagClass names a class of the table.
const flagClass = "class"

// orClass is a flag's text, or that of the class where the flag is not given.
func (s *session) orClass(name string, g *class.GPU, of func(*class.GPU) string) string {
	if g == nil || s.CLI.IsSet(name) {
		return s.CLI.String(name)
	}
	return of(g)
}
