package idle

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
)

// State is how the job does.
type State struct {
	// Image is as the settings name it.
	Image string `json:"image,omitempty"`
	// GPUs are those that it has, Since when; none while it does not run.
	GPUs  []int     `json:"gpus,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Why it does not run, with a text for people where there is more to say.
	Why  Reason `json:"why,omitempty"`
	Text string `json:"text,omitempty"`
	// Until is when that changes, of one that runs when it has to be away next; zero where nobody knows.
	Until time.Time `json:"until,omitzero"`
	// Never: it cannot run on this machine.
	Never bool `json:"never,omitempty"`
	// Starts, Failed, Stops by reason and Ran count since the agent started.
	Starts uint64            `json:"starts"`
	Failed uint64            `json:"failed"`
	Stops  map[Reason]uint64 `json:"stops,omitempty"`
	Ran    time.Duration     `json:"ran_ns"`
	// Failures are those in a row, LastFailure why the last one.
	Failures    int    `json:"failures,omitempty"`
	LastFailure string `json:"last_failure,omitempty"`
}

// Runs reports whether the job has GPUs now.
func (s State) Runs() bool { return len(s.GPUs) > 0 }

// Broken says what a person should see to; empty for nothing.
func (s State) Broken() string {
	if s.Never {
		return s.LastFailure
	}
	if s.Failures < TellAfter {
		return ""
	}
	return fmt.Sprintf("it failed %d times in a row: %s", s.Failures, s.LastFailure)
}

// texts are the reasons for people.
var texts = map[Reason]string{
	Leased: "leases have the GPUs", Measured: "keepers may measure the machine now", Withdrawn: "the machine takes no new leases",
	Slow: "the machine was measured below its class while the job ran", Failing: "it failed", Starting: "it is about to start", Ending: "the agent ends",
}

// String says for people what the job does.
func (s State) String() string {
	if s.Runs() {
		return fmt.Sprintf("runs on GPUs %v", s.GPUs)
	}
	text := "waits: " + texts[s.Why]
	if s.Text != "" {
		text += ": " + s.Text
	}
	return text
}

// State is how the job does now; false without one.
func (j *Job) State() (State, bool) {
	if j == nil {
		return State{}, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.state
	s.Stops = maps.Clone(s.Stops)
	if !j.began.IsZero() {
		s.Ran += time.Since(j.began)
	}
	return s, true
}

// say notes why the job is where it is. The caller holds mu.
func (j *Job) say(r look) {
	if j.state.Never {
		return
	}
	j.state.GPUs, j.state.Since, j.state.Why, j.state.Text, j.state.Until = indices(j.mask), j.began, r.why, r.text, r.until
	if j.mask == 0 {
		j.state.Since = time.Time{}
		if r.mask != 0 {
			j.state.Why = Starting
		}
	}
}

// keptBytes is how large the file of earlier output gets before it is begun anew; one older file is kept.
const keptBytes = 4 << 20

// OlderOutput is the file of output before a file.
func OlderOutput(path string) string { return path + ".1" }

// keep appends what a run has printed to the file of earlier output.
func (j *Job) keep(st runtime.Status) (err error) {
	if info, err := os.Stat(j.o.Output); err == nil && info.Size() > keptBytes {
		if err := os.Rename(j.o.Output, OlderOutput(j.o.Output)); err != nil {
			return fmt.Errorf("idle: %w", err)
		}
	}
	printed, err := j.o.Runtime.Logs(context.Background(), ID, runtime.Output, 0, false)
	if err != nil {
		return err
	}
	defer printed.Close()
	f, err := os.OpenFile(j.o.Output, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("idle: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	if _, err := fmt.Fprintf(f, "--- started %s, GPUs %v: %s\n", st.StartedAt.UTC().Format(time.RFC3339), indices(st.Spec.GPUMask), ending(st)); err != nil {
		return fmt.Errorf("idle: %w", err)
	}
	if _, err := io.Copy(f, io.LimitReader(printed, 2*logBytes)); err != nil {
		return fmt.Errorf("idle: %w", err)
	}
	return nil
}
