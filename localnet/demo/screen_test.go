package demo

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/screen"
)

// second is a time of the demo's clock.
func second(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func TestTimeline(t *testing.T) {
	of := chapters()[:4]
	a, b, c := of[0].id, of[1].id, of[2].id
	for name, x := range map[string]struct {
		events []event
		now    float64
		want   []line // of the first three chapters, without number and title
	}{
		"nothing has happened": {nil, 9, []line{{}, {}, {}}},
		"one runs until now":   {[]event{{second(1), a, stateRunning}}, 4, []line{{state: stateRunning, begun: second(1), end: second(4)}, {}, {}}},
		"they overlap": {
			[]event{{second(0), a, stateRunning}, {second(2), b, stateRunning}, {second(3), a, stateDone}, {second(3), c, stateRunning}, {second(5), b, stateDone}},
			8,
			[]line{{state: stateDone, end: second(3)}, {state: stateDone, begun: second(2), end: second(5)}, {state: stateRunning, begun: second(3), end: second(8)}},
		},
		"one fails, which stops another": {
			[]event{{second(1), a, stateRunning}, {second(1), b, stateRunning}, {second(2), a, stateFailed}, {second(2.5), b, stateStopped}},
			7,
			[]line{{state: stateFailed, begun: second(1), end: second(2)}, {state: stateStopped, begun: second(1), end: second(2.5)}, {}},
		},
		"what comes later has not happened": {
			[]event{{second(1), a, stateRunning}, {second(6), a, stateDone}, {second(6), b, stateRunning}},
			5,
			[]line{{state: stateRunning, begun: second(1), end: second(5)}, {}, {}},
		},
		"a chapter that is left out": {
			[]event{{second(1), leasesAudited, stateRunning}}, 5, []line{{}, {}, {}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := timeline(of, x.events, second(x.now))
			require.Len(t, got, len(of))
			for i, want := range x.want {
				want.number, want.title = i+1, of[i].title
				require.Equal(t, want, got[i])
			}
		})
	}
}

// Every chapter has a title that fits, and each is in the list once.
func TestChapters(t *testing.T) {
	seen := map[chapterID]bool{}
	for _, c := range chapters() {
		require.False(t, seen[c.id])
		seen[c.id] = true
		require.NotEmpty(t, c.title)
	}
	require.Len(t, seen, int(leasesAudited)+1)
	require.LessOrEqual(t, titleEnd(timeline(chapters(), nil, 0))+wholeBar+2+secondsWidth, screen.Wide)
	require.LessOrEqual(t, titleEnd(timeline(chapters(), nil, 0))+wholeBar/2+2+secondsWidth, screen.Narrow)
	s := newStory(time.Now())
	s.without(needsVolumes)
	require.Len(t, s.chapters, len(seen)-3)
	s.without(needsContainers)
	require.Len(t, s.chapters, len(seen)-6)
}

func TestWhatALowWindowShows(t *testing.T) {
	lines := []line{
		{number: 1, state: stateDone, end: second(3)},
		{number: 2, state: stateDone, end: second(9)},
		{number: 3, state: stateRunning},
		{number: 4, state: stateDone, end: second(5)},
		{number: 5},
		{number: 6, state: stateRunning},
		{number: 7},
	}
	for room, want := range map[int][]int{9: {1, 2, 3, 4, 5, 6, 7}, 7: {1, 2, 3, 4, 5, 6, 7}, 6: {1, 2, 3, 4, 5, 6}, 5: {1, 2, 3, 4, 6}, 3: {2, 3, 6}, 1: {3}, 0: {}} {
		got := []int{}
		for _, l := range visible(lines, room) {
			got = append(got, l.number)
		}
		require.Equal(t, want, got, "room for %d", room)
	}
}

// A track's chapter ends as its function does.
func TestTracks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newStory(time.Now())
	one, two, three := s.track(), s.track(), s.track()
	one.begin(keepersBond)
	two.begin(machinesRegister)
	three.end(ctx, errors.New("before its first chapter"))
	one.begin(keepersMeasure)
	one.end(ctx, errors.New("no report"))
	cancel()
	two.end(ctx, context.Canceled)
	require.NoError(t, s.during(ctx, customersPay, func() error { return nil }))
	s.finish()
	elapsed, lines, over := s.now()
	require.True(t, over)
	require.Positive(t, elapsed)
	want := map[int]state{2: stateDone, 3: stateStopped, 4: stateDone, 5: stateFailed}
	for _, l := range lines {
		require.Equal(t, want[l.number], l.state, l.title)
	}
}

// scenes are moments of a demo: in its middle, at its end, and with expectations that did not hold.
func scenes() map[string]scene {
	list := chapters()
	var events []event
	for i, c := range list {
		begun := second(float64(i) * 5)
		events = append(events, event{begun, c.id, stateRunning}, event{begun + second(9+float64(i%4)*7), c.id, stateDone})
	}
	until := func(secs float64) (before []event) {
		for _, e := range events {
			if e.at <= second(secs) {
				before = append(before, e)
			}
		}
		return before
	}
	middle := scene{
		machines: 7, usual: second(150), elapsed: second(62), lines: timeline(list, until(62), second(62)), held: 61,
		text: "/home/ada/.local/state/gantry-demo/demo.txt", logs: "/home/ada/.local/state/gantry-demo/logs",
	}
	final := middle
	final.elapsed, final.over, final.ended, final.held, final.snapshots = second(145), true, true, 176, 96
	final.skipped = second(40)
	final.lines = timeline(list, events, final.elapsed)
	final.flow = &flow{deposited: 200_000_000, providers: 98_765, keepers: 1_234, fees: 21, back: 199_899_980}
	failing := final
	failing.lacking = "no containers: they need root"
	failing.held, failing.failed = 170, []string{"the silent node's downtime is on the lease", "it said \"a\x1b[2Jb\nc\""}
	return map[string]scene{"middle": middle, "final": final, "failing": failing}
}

var updateScreens = flag.Bool("update", false, "write the demo's screens anew")

// The screens are as in testdata.
func TestScreens(t *testing.T) {
	for name, s := range scenes() {
		for kind, terminal := range map[string]screen.Terminal{
			"80":        {Width: 80, Height: 24, Unicode: true},
			"80-colour": {Width: 80, Height: 24, Unicode: true, Colour: true},
			"140":       {Width: 140, Height: 50, Unicode: true, Colour: true},
			"60":        {Width: 60, Height: 50, Unicode: true},
			"ascii":     {Width: 140, Height: 50},
		} {
			p := painter{Terminal: terminal, spin: 3}
			lines := p.live(s)
			if s.ended {
				lines = p.final(s)
			}
			got := strings.Join(lines, "\n") + "\n"
			path := filepath.Join("testdata", name+"-"+kind+".txt")
			if *updateScreens {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got, path)
			requireShown(t, terminal, s, lines)
		}
	}
}

// requireShown holds for every screen: chapters fit, a live one fits its window, and colours add nothing but colours.
func requireShown(t *testing.T, terminal screen.Terminal, s scene, lines []string) {
	t.Helper()
	if !s.ended {
		require.Less(t, len(lines), terminal.Height)
	}
	for _, l := range lines {
		if terminal.Width >= screen.Narrow && !strings.Contains(l, "/home/") {
			require.LessOrEqual(t, screen.Width(l), terminal.Width, l)
		}
		if !terminal.Colour {
			require.NotContains(t, l, "\x1b")
		}
		require.NotContains(t, l, "\x1b[2J")
		if !terminal.Unicode {
			for _, r := range l {
				require.Less(t, r, rune(0x80), l)
			}
		}
	}
	if terminal.Colour {
		terminal.Colour = false
		plain := painter{Terminal: terminal, spin: 3}
		without := plain.live(s)
		if s.ended {
			without = plain.final(s)
		}
		require.Len(t, without, len(lines))
		for i := range lines {
			require.Equal(t, screen.Width(without[i]), screen.Width(lines[i]))
		}
	}
}

func TestDurations(t *testing.T) {
	for secs, want := range map[float64]string{0.44: "0.4 s", 1: "1 s", 9.6: "10 s", 120: "120 s"} {
		require.Equal(t, want, seconds(second(secs)))
	}
	for secs, want := range map[float64]string{0.4: "0 s", 32: "32 s", 119.4: "119 s", 120: "2 min", 146: "2 min 26 s"} {
		require.Equal(t, want, duration(second(secs)))
	}
}

func TestMoneyAddsUp(t *testing.T) {
	require.True(t, flow{deposited: 10, providers: 4, keepers: 1, fees: -1, back: 6}.addsUp())
	require.False(t, flow{deposited: 10, providers: 4, keepers: 1, back: 6}.addsUp())
	require.Equal(t, "$200.00", dollars(200_000_000))
	require.Equal(t, "−$0.000021", dollars(-21))
}

// Without a live terminal the text is as it always was, and the file has the same.
func TestAPipeGetsTheText(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	require.False(t, screen.Of(w, func(string) string { return "" }).Live)
	dir := t.TempDir()
	p := &printer{out: w, start: time.Now()}
	path, err := p.keep(dir)
	require.NoError(t, err)
	step := p.begin("3 keepers bond 500 GNT each and are active", "quorum more than 2/3")
	p.note(step, "two\nlines")
	p.table([][]string{{"", "before"}, {"customer 1", "10"}})
	p.plain("done in 3 s")
	require.NoError(t, errors.Join(p.close(nil), w.Close()))
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, " 1  3 keepers bond 500 GNT each and are active                   quorum more than 2/3                           0.0 s\n"+
		" 1    two\n 1    lines\n            before\ncustomer 1      10\ndone in 3 s\n", string(got))
	require.NotContains(t, string(got), "\x1b")
	require.NotContains(t, string(got), "\r")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, got, kept)
}

// terminal is a pseudo-terminal and what was written to it so far, until it is closed.
func terminal(t *testing.T) (tty *os.File, written func() string) {
	t.Helper()
	ptmx, tty, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(ptmx, &pty.Winsize{Rows: 30, Cols: 100}))
	var all bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&all, ptmx) // it ends with an error when the other end is closed
	}()
	return tty, func() string {
		require.NoError(t, tty.Close())
		<-read
		require.NoError(t, ptmx.Close())
		return all.String()
	}
}

const (
	cursorHidden = "\x1b[?25l"
	cursorShown  = "\x1b[?25h"
)

// A demo that cannot begin, and one that is stopped while it begins, give the cursor back.
func TestTheCursorComesBack(t *testing.T) {
	for name, begin := range map[string]func() (context.Context, context.CancelFunc){
		"no such engine": func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
		"stopped": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			tty, written := terminal(t)
			shown := screen.Of(tty, func(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] })
			require.True(t, shown.Live)
			ctx, cancel := begin()
			defer cancel()
			err := Run(ctx, Options{Engine: "none", Dir: t.TempDir(), Out: tty, Screen: &shown, Log: zerolog.Nop()})
			require.Error(t, err)
			out := written()
			require.Equal(t, 1, strings.Count(out, cursorHidden))
			require.True(t, strings.HasSuffix(out, cursorShown), "%q", out)
			require.Contains(t, out, "A Solana node and a market start")
			require.Equal(t, name != "stopped", strings.Contains(out, "open an issue"))
		})
	}
}

// Lines of a log stay above the screen.
func TestALogStandsAboveTheScreen(t *testing.T) {
	tty, written := terminal(t)
	shown := screen.Of(tty, func(string) string { return "" })
	s := startShow(shown, func() scene { return scenes()["middle"] })
	log := s.above(zerolog.New(io.Discard))
	log.Error().Msg("a keeper is gone\x1b[2J")
	s.close()
	s.close()
	out := written()
	require.Contains(t, out, "a keeper is gone")
	require.NotContains(t, out, "\x1b[2J")
	require.True(t, strings.HasSuffix(out, cursorShown))
}
