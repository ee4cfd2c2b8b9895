package govern

import (
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func programCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "program", Usage: "the code that is deployed, the key that may replace it, and whether it is the code that you have built",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "compare", Usage: "`FILE` that you have built, or its sha256: fail unless the code is equal"},
			&cli.StringFlag{Name: "buffer", Usage: "`ADDRESS` of a buffer that is to replace the code: look at that instead"},
		},
		Action: action(s, (*session).program),
	}
}

func (s *session) program() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	address := market.ProgramID
	if buffer := s.CLI.String("buffer"); buffer != "" {
		var err error
		if address, err = solana.PublicKeyFromBase58(buffer); err != nil {
			return service.Usage(fmt.Sprintf("%q is not an address", buffer), "name the buffer's account")
		}
	}
	compare, err := service.Comparison(s.CLI.String("compare"))
	if err != nil {
		return err
	}
	out, err := s.Service.Program(s.Context, address, compare)
	if err != nil {
		return err
	}
	if err := s.Done(out, func(w *terminal.Page) { printProgram(w, &out) }); err != nil {
		return err
	}
	if out.Equal != nil && !*out.Equal {
		return service.Refused(fmt.Sprintf("the code at %s is not %s", address, out.Compared),
			"build the commit that its operators name (docs/operate/operations.md); if it still differs, trust neither the program nor those who deployed it")
	}
	return nil
}

func printProgram(w *terminal.Page, p *service.Program) {
	authority, deployed, hash := p.Authority, fmt.Sprintf("slot %d", p.Slot), p.SHA256
	if authority == "" {
		authority = "nobody: it can never be replaced"
	}
	if p.Slot == 0 {
		deployed = "not deployed: a buffer, or part of the cluster from its beginning"
	}
	if hash == "" {
		hash = "unknown: this is not one ELF file with zeros after it"
	}
	rows := [][2]string{
		{"program", p.Address},
		{"program data", p.Account},
		{"replaced by", authority},
		{"last deployed", deployed},
		{"length", fmt.Sprintf("%d bytes, zeros at the end included", p.Bytes)},
		{"sha256 of the file", hash},
		{"without zeros at its end", p.Trimmed + " (as solana-verify prints it)"},
	}
	if p.Equal != nil {
		verdict := "EQUAL to "
		if !*p.Equal {
			verdict = "DIFFERENT from "
		}
		rows = append(rows, [2]string{"compared", verdict + strings.TrimSpace(p.Compared)})
	}
	w.Pairs(rows...)
}
