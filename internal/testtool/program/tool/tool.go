// Package tool has the code with which both programs of this module begin. These programs are other people's software
// that tests and the demo need. They are in a separate module to keep its dependencies out of programs that import the
// SDK. Package testtool builds and starts them.
package tool

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Part is what a program does for one first argument.
type Part func(args []string, in io.Reader, out io.Writer) error

// Main runs the part that the first argument names. usage has a line for each.
func Main(name, usage string, parts map[string]Part) {
	var err error
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		err = fmt.Errorf("want %s; got %q", usage, strings.Join(os.Args[1:], " "))
	} else {
		err = parts[os.Args[1]](os.Args[2:], os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Serve says where a server is and answers commands until their end.
func Serve(in io.Reader, out io.Writer, where any, answer func(command string) (string, error)) error {
	if err := json.NewEncoder(out).Encode(where); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		text, err := answer(lines.Text())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return lines.Err()
}
