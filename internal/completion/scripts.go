package completion

import (
	"fmt"
	"io"
	"strings"
)

const (
	// Flag stands last on a command line that is to be completed.
	Flag = "--generate-bash-completion"
	// Variable names the shell that asks. With it, the word before Flag is the one that is typed, even an empty one.
	Variable = "GANTRY_COMPLETE"
)

// Scripts are what a shell reads to complete gantry, by the shell.
func Scripts() map[string]string {
	return map[string]string{"bash": bash, "zsh": zsh, "fish": fish}
}

// The scripts ask the command itself, and offer files where it knows nothing.
const (
	bash = `_gantry_complete() {
  local IFS=$'\n'
  COMPREPLY=($(GANTRY_COMPLETE=bash "${COMP_WORDS[@]:0:COMP_CWORD}" "${COMP_WORDS[COMP_CWORD]}" --generate-bash-completion 2>/dev/null))
}
complete -o bashdefault -o default -F _gantry_complete gantry
`
	zsh = `#compdef gantry
_gantry_complete() {
  local -a found
  found=("${(@f)$(GANTRY_COMPLETE=zsh "${(@)words[1,CURRENT]}" --generate-bash-completion 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then _describe -V gantry found; else _files; fi
}
compdef _gantry_complete gantry
`
	fish = `function __gantry_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l found (env GANTRY_COMPLETE=fish $words "$word" --generate-bash-completion 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$word"
    end
end
complete -c gantry -f -a '(__gantry_complete)'
`
)

// Candidate is one way to go on.
type Candidate struct{ Value, About string }

// plain are the characters of values that no shell reads as anything else. Names come from others.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.,/:@+="

// Write writes what begins with the word, one in a line, as a shell reads it.
func Write(w io.Writer, shell, word string, all []Candidate) {
	seen := map[string]bool{}
	for _, c := range all {
		if c.Value == "" || seen[c.Value] || !strings.HasPrefix(c.Value, word) || strings.Trim(c.Value, plain) != "" {
			continue
		}
		seen[c.Value] = true
		about := strings.Join(strings.Fields(c.About), " ")
		switch shell {
		case "zsh":
			fmt.Fprintf(w, "%s:%s\n", strings.ReplaceAll(c.Value, ":", `\:`), about)
		case "fish":
			fmt.Fprintf(w, "%s\t%s\n", c.Value, about)
		default:
			fmt.Fprintln(w, c.Value)
		}
	}
}
