//go:build e2e && stress

package scenario

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/gantry-market/gantry/localnet/demo"
	"github.com/gantry-market/gantry/localnet/network"
)

// Something random is killed or cut off at a random moment of the demo, again and again: GANTRY_STRESS says how often.
// Not part of `make test`, because a demo takes most of a minute.
//
//	GANTRY_STRESS=20 go test -tags 'e2e stress' -run Random -timeout 1h -v ./localnet/scenario/
func TestDemoWithRandomAccidents(t *testing.T) {
	times, err := strconv.Atoi(os.Getenv("GANTRY_STRESS"))
	if err != nil || times < 1 {
		times = 3
	}
	victims := []string{"keeper-1", "keeper-2", "keeper-3", "node-1", "node-2", "node-3", "node-4", "node-5", "connection"}
	for i := range times {
		victim := victims[rand.IntN(len(victims))]
		after := time.Duration(rand.IntN(25_000)) * time.Millisecond
		t.Run(strconv.Itoa(i)+"-"+victim+"-"+after.String(), func(t *testing.T) {
			runDemo(t, demo.Options{Relay: true, During: func(ctx context.Context, n *network.Network) error {
				if err := pause(ctx, after); err != nil {
					return err
				}
				if victim != "connection" {
					// A process that has ended already cannot be killed any more.
					if err := n.Kill(victim); err != nil {
						t.Log(err)
					}
					return nil
				}
				if err := n.Cut(); err != nil {
					return err
				}
				_ = pause(ctx, 3*time.Second) // restored all the same
				return n.Restore()
			}})
		})
	}
}
