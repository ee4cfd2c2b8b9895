package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// victim is the machine that takes no part in the market and has never asked for a connection.
const victim = "victim"

// victimPort is where attackers say that they listen.
const victimPort = 4101

// runVictim counts who connects, and what is sent.
func runVictim(ctx context.Context, d time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{Port: victimPort})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var t tally
	var wg sync.WaitGroup
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		t.attempts.Add(1)
		fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), c.RemoteAddr())
		wg.Go(func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			n, _ := io.Copy(io.Discard, c) // whatever comes, until the other side or the deadline ends it
			t.bytes.Add(uint64(n))
		})
	}
	wg.Wait()
	return json.NewEncoder(out).Encode(map[string]Count{victim: t.count()})
}
