// Package top shows what a lease uses and costs on the whole of a terminal, again and again.
package top

import (
	"context"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gantry-market/gantry/internal/screen"
)

// Watch tells what is seen of a lease again and again, until ctx ends or take returns an error.
type Watch func(ctx context.Context, take func(Seen) error) error

// Show shows a lease on the whole terminal until the person leaves, or watch ends. Next is the command with which the person wants to
// go on, empty for none; nothing is done by itself.
func Show(ctx context.Context, t screen.Terminal, in io.Reader, lease string, watch Watch) (next string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The interrupt that ends ctx ends the program too. One that is typed comes as a key.
	p := tea.NewProgram(model{t: t, lease: lease}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(t.Out), tea.WithoutSignalHandler())
	over := make(chan error, 1)
	go func() {
		err := watch(ctx, func(s Seen) error {
			p.Send(s)
			return ctx.Err()
		})
		p.Send(ended{})
		over <- err
	}()
	last, err := p.Run()
	left := ctx.Err() != nil
	cancel()
	watched := <-over
	m, _ := last.(model)
	switch {
	case left:
		return "", nil // interrupted from outside
	case err != nil:
		return "", fmt.Errorf("the screen: %w", err)
	case m.left:
		return m.next, nil
	}
	return "", watched
}

// Write writes what Show shows once.
func Write(t screen.Terminal, s Seen) error {
	var u usage
	u.take(s)
	_, err := fmt.Fprintln(t.Out, strings.Join(u.render(t, false), "\n"))
	return err
}

// ended is sent when nothing more will be seen.
type ended struct{}

// model is the program's state.
type model struct {
	t     screen.Terminal
	lease string
	usage usage
	left  bool // by the person
	next  string
}

// Init does nothing: what is seen comes by itself.
func (m model) Init() tea.Cmd { return nil }

// Update takes what is seen, and keys.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.t.Width, m.t.Height = msg.Width, msg.Height
	case Seen:
		m.usage.take(msg)
	case ended:
		return m, tea.Quit
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m, nil
}

// key does what a key asks for. Money moves only by a command that asks: the keys leave and name it.
func (m model) key(key string) (tea.Model, tea.Cmd) {
	next, leaves := map[string]string{
		"q": "", "esc": "", "ctrl+c": "", "s": "gantry stop " + m.lease, "e": "gantry extend " + m.lease + " --hours 1", "l": "gantry logs -f " + m.lease,
	}[key]
	switch {
	case leaves:
		m.left, m.next = true, next
		return m, tea.Quit
	case key == "?":
		m.usage.help = !m.usage.help
	}
	return m, nil
}

// View is the whole screen.
func (m model) View() tea.View {
	v := tea.NewView(strings.Join(m.usage.render(m.t, true), "\n"))
	v.AltScreen = true
	return v
}
