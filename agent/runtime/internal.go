package runtime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/sdk/jobspec"
)

// InternalCommand is the hidden subcommand under which the agent's binary must call [InternalMain] before it does
// anything else:
//
//	if len(os.Args) > 1 && os.Args[1] == runtime.InternalCommand {
//		os.Exit(runtime.InternalMain(os.Args[2:]))
//	}
const InternalCommand = "internal-run"

// Stages of InternalCommand.
const (
	stageDetach    = "detach"    // starts the supervisor and leaves it behind
	stageSupervise = "supervise" // lives as long as the job
	stageExec      = "exec"      // limits itself and becomes the job
	stagePull      = "pull"      // fetches the job's image
)

// exitRefused is the exit status of a stage that refuses a job here: no other try would change it, or another machine has the room.
const exitRefused = 3

// self is this very binary, also after its file was replaced by an upgrade.
const self = "/proc/self/exe"

// InternalMain runs a stage ("STAGE DIR") and returns the exit status. It is not meant for people.
func InternalMain(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, InternalCommand+" is used by the agent itself and takes a stage and a directory")
		return 2
	}
	dir := leaseDir(args[1])
	var err error
	switch args[0] {
	case stageDetach:
		err = detach(dir)
	case stageSupervise:
		err = supervise(dir)
	case stagePull:
		err = pull(dir)
	case stageExec:
		return becomeJob(dir)
	default:
		err = fmt.Errorf("unknown stage %q", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, jobspec.ErrJob) || errors.Is(err, image.ErrTooLarge) {
			return exitRefused
		}
		return 1
	}
	return 0
}

// detach starts the supervisor and returns at once, so that the supervisor's parent becomes init: the agent neither has
// to wait for it nor can take it along.
func detach(dir leaseDir) error {
	log, err := os.OpenFile(dir.supervisorLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(self, InternalCommand, stageSupervise, string(dir))
	cmd.Args[0] = "gantry-agent"
	cmd.Env = []string{} // nothing of the agent's: the job could read it in /proc
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("runtime: start supervisor: %w", err)
	}
	return cmd.Process.Release()
}
