package honest

import (
	"fmt"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/localnet/process"
)

// keepBusy starts processes that each keep a processor busy, at the priority of all others, until end is called.
func keepBusy(dir string, count int, log zerolog.Logger) (end func() error, err error) {
	if count == 0 {
		return func() error { return nil }, nil
	}
	sup, err := process.New(filepath.Join(dir, "busy"), log)
	if err != nil {
		return nil, err
	}
	for i := range count {
		if _, err := sup.Start(process.Spec{Name: fmt.Sprintf("busy-%d", i+1), Path: "sh", Args: []string{"-c", "while :; do :; done"}}); err != nil {
			_ = sup.Close() // the first error says it
			return nil, err
		}
	}
	return sup.Close, nil
}
