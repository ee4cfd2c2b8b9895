package hostile

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sound is a result in which everything is as it must be.
func sound() *Result {
	r := &Result{For: time.Minute, Attacks: map[string]Count{}, Use: map[string][phases]Use{}, Periods: 6}
	for _, x := range attacks() {
		r.Attacks[x.name] = Count{Attempts: 100, Answered: 50, Refused: 50}
	}
	u := Use{Resident: 50 << 20, Files: 20, Goroutines: 100, Log: 1000, Disk: 1 << 20, Took: time.Minute}
	r.Use["keeper-1"] = [phases]Use{Quiet: u, Attacked: u, After: u}
	r.Checks, r.Jobs = Checks{Passed: 10, Periods: 9, Seen: 9}, Jobs{Placed: 3, Done: 3}
	r.Newcomers, r.Copies, r.Bombs = Newcomers{Came: 20}, Copies{Came: 3}, 20
	return r
}

func TestWhatIsWrong(t *testing.T) {
	require.Empty(t, sound().Wrong())
	asked := sound()
	asked.Attacks["lying keeper"] = Count{Attempts: 3, Answered: 3}
	require.Empty(t, asked.Wrong(), "it waits for honest keepers to ask it")
	use := func(change func(*Use)) func(*Result) {
		return func(r *Result) {
			u := r.Use["keeper-1"]
			change(&u[Attacked])
			r.Use["keeper-1"] = u
		}
	}
	for name, c := range map[string]struct {
		change func(*Result)
		want   string
	}{
		"an attack that did nothing": {func(r *Result) { r.Attacks["junk"] = Count{} }, `attack "junk" achieved nothing`},
		"one that hardly tried":      {func(r *Result) { r.Attacks["junk"] = Count{Attempts: 9, Refused: 9} }, `attack "junk" achieved nothing: 9`},
		"one that was hardly asked":  {func(r *Result) { r.Attacks["lying keeper"] = Count{Attempts: 2, Answered: 2} }, `attack "lying keeper" achieved nothing: 2`},
		"nobody attacked":            {func(r *Result) { r.Attacks = nil }, "nobody attacked"},
		"memory":                     {use(func(u *Use) { u.Resident *= 3 }), "150.0 MiB resident, 50.0 MiB when quiet"},
		"descriptors":                {use(func(u *Use) { u.Files += mostFiles + 1 }), "descriptors"},
		"goroutines":                 {use(func(u *Use) { u.Goroutines += mostGoroutines + 1 }), "goroutines"},
		"log":                        {use(func(u *Use) { u.Log += mostLog + 1 }), "bytes of log a minute"},
		"disk":                       {use(func(u *Use) { u.Disk += mostDisk + 1 }), "of files"},
		"a daemon that ended":        {func(r *Result) { r.Ended = []string{"node-1"} }, "node-1 ended"},
		"a failed check":             {func(r *Result) { r.Checks.Failed = []string{"work of node-1"} }, "failed check: work of node-1"},
		"an honest machine unseen":   {func(r *Result) { r.Checks.Seen = 8 }, "seen by 8 of 9"},
		"a missed report":            {func(r *Result) { r.Missed = []uint64{7} }, "without a report: [7]"},
		"a fault":                    {func(r *Result) { r.Faults = []string{"x"} }, "fault of an honest machine"},
		"a job":                      {func(r *Result) { r.Jobs.Errors = []string{"no"} }, "job: no"},
		"no job":                     {func(r *Result) { r.Jobs = Jobs{} }, "no job was done"},
		"a newcomer":                 {func(r *Result) { r.Newcomers.Turned = []string{"node-3: no place"} }, "newcomer turned away: node-3: no place"},
		"a copy":                     {func(r *Result) { r.Copies.Served = []string{"it serves"} }, "a copy of a machine did not stop: it serves"},
		"no copy":                    {func(r *Result) { r.Copies.Came = 0 }, "no copy of a machine came"},
		"no bombs":                   {func(r *Result) { r.Bombs = 0 }, "by 0 bombs"},
		"no newcomer":                {func(r *Result) { r.Newcomers.Came = 0 }, "no newcomer came"},
		"reflection":                 {func(r *Result) { r.Reflected.Attempts = reflectedMost + 1 }, "takes no part got"},
	} {
		r := sound()
		c.change(r)
		wrong := r.Wrong()
		require.Len(t, wrong, 1, name)
		require.Contains(t, wrong[0], c.want, name)
	}
}

func TestMarkdownNamesEveryAttack(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sound().Markdown(&b))
	for _, x := range attacks() {
		require.Contains(t, b.String(), "| "+x.name+" |")
	}
}
