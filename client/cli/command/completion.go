package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
)

// The scripts ask the command itself for what may follow.
const (
	bashCompletion = `_gantry_complete() {
  local cur opts
  COMPREPLY=()
  cur="${COMP_WORDS[COMP_CWORD]}"
  if [[ "$cur" == "-"* ]]; then
    opts=$("${COMP_WORDS[@]:0:$COMP_CWORD}" "$cur" --generate-bash-completion)
  else
    opts=$("${COMP_WORDS[@]:0:$COMP_CWORD}" --generate-bash-completion)
  fi
  COMPREPLY=($(compgen -W "$opts" -- "$cur"))
}
complete -o bashdefault -o default -F _gantry_complete gantry
`
	zshCompletion = `#compdef gantry
_gantry_complete() {
  local -a opts
  local cur=${words[-1]}
  if [[ "$cur" == "-"* ]]; then
    opts=("${(@f)$(${words[@]:0:#words[@]-1} ${cur} --generate-bash-completion)}")
  else
    opts=("${(@f)$(${words[@]:0:#words[@]-1} --generate-bash-completion)}")
  fi
  _describe 'values' opts
}
compdef _gantry_complete gantry
`
)

// CompletionCommands print the completion scripts of shells.
func CompletionCommands(s Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "completion", Usage: "print a shell's completion script", ArgsUsage: "bash|zsh|fish",
		Description: "bash: source <(gantry completion bash)      zsh: source <(gantry completion zsh)\nfish: gantry completion fish | source",
		Action: func(c *cli.Context) error {
			switch shell := c.Args().First(); shell {
			case "bash":
				fmt.Fprint(s.Out, bashCompletion)
			case "zsh":
				fmt.Fprint(s.Out, zshCompletion)
			case "fish":
				script, err := c.App.ToFishCompletion()
				if err != nil {
					return fmt.Errorf("fish completion: %w", err)
				}
				fmt.Fprint(s.Out, script)
			default:
				return service.Usage(fmt.Sprintf("%q is not a shell with a completion script", shell), "write bash, zsh or fish")
			}
			return nil
		},
	}}
}
