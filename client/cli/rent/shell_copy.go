package rent

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
)

// copy copies between this machine and a container.
func (s *session) copy() error {
	args, err := s.Args("SOURCE", "TARGET")
	if err != nil {
		return err
	}
	fromLease, fromPath, from := cutLease(args[0])
	toLease, toPath, to := cutLease(args[1])
	if from == to {
		return service.Usage("one side must be in a container, the other on this machine", "write: gantry cp FILE LEASE:PATH, or gantry cp LEASE:PATH FILE; a local file with a colon is ./FILE")
	}
	c, err := s.container(fromLease + toLease)
	if err != nil {
		return err
	}
	client, err := s.login(c)
	if err != nil {
		return err
	}
	files, err := container.NewCopier(client, s.Say)
	if err != nil {
		return err
	}
	defer files.Close()
	if to {
		err = files.Send(s.Context, args[0], toPath)
	} else {
		err = files.Fetch(s.Context, fromPath, args[1])
	}
	switch {
	case s.Context.Err() != nil:
		return service.Interrupted("the copy is incomplete", "copy again: files that are there are written anew")
	case err != nil:
		return service.Refused(fmt.Sprintf("not everything was copied: %v", err), "mend what it names and copy again: files that are there are written anew")
	}
	return s.Done(files.Copy, func(w *terminal.Page) {
		fmt.Fprintf(w, "copied %d files, %d bytes\n", files.Copy.Files, files.Copy.Bytes)
	})
}

// cutLease splits LEASE:PATH. What begins with a slash, a dot or a drive of Windows is a file of this machine.
func cutLease(text string) (lease, file string, ok bool) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") || filepath.VolumeName(text) != "" {
		return "", "", false
	}
	lease, file, ok = strings.Cut(text, ":")
	if !ok {
		return "", "", false
	}
	if file == "" {
		file = "." // the home of the container's user
	}
	return lease, file, true
}
