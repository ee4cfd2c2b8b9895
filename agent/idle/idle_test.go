package idle

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

// A machine with an idle job is measured like any other: at no instant of thirty hours does the job run or do keepers wait for it, and the
// job has most of the time. The same holds while the chain does not answer, for less of it.
func TestTheJobIsAwayWheneverTheMachineIsMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		blind bool
		least float64
	}{
		"as a rule": {false, 0.90}, "the chain does not answer": {true, 0.74},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(t, hour, nil)
				m.blind, m.run.ending = c.blind, time.Minute // it does not listen to SIGTERM
				end := m.goes(t)
				began, measured := time.Now(), 0
				first := records.Period(began.Unix()/int64(hour)) + 1
				for p := first; p < first+30; p++ {
					tick := instant.Tick(p, instantOf(p, hour), hour)
					time.Sleep(time.Until(tick))
					synctest.Wait()
					require.False(t, m.run.alive(), "period %d", p)
					time.Sleep(time.Duration(p%20) * time.Second) // keepers may begin that late
					asked := time.Now()
					require.NoError(t, m.Aside(t.Context(), func(context.Context) error {
						require.Zero(t, time.Since(asked), "nobody waits for the job")
						for range 47 {
							require.False(t, m.run.alive())
							time.Sleep(time.Second)
						}
						measured++
						return nil
					}))
				}
				m.until(t, true, time.Minute)
				s, _ := m.State()
				share := s.Ran.Seconds() / time.Since(began).Seconds()
				t.Logf("it ran %.1f %% of %v, started %d times, stopped %v", 100*share, time.Since(began).Round(time.Minute), s.Starts, s.Stops)
				require.Equal(t, 30, measured)
				require.Greater(t, share, c.least)
				end()
				require.False(t, m.run.alive(), "it ends with its agent")
			})
		})
	}
}

// Nothing of a lease begins before the job is gone, and no job is started while one has its GPUs. GPUs without a lease stay the job's.
func TestTheJobGivesWayToLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, hour, nil)
		m.run.ending = time.Hour
		end := m.goes(t)
		m.until(t, true, 5*time.Minute)
		require.EqualValues(t, 0b1111, m.run.runs[0].GPUMask)
		m.set(func() { m.leased = 0b0011 })
		began := time.Now()
		require.NoError(t, m.Yield(t.Context(), 0b0011))
		require.LessOrEqual(t, time.Since(began), leaseGrace+time.Second)
		t.Logf("a job that does not listen was gone after %v", time.Since(began))
		m.until(t, true, 5*time.Minute)
		last := m.run.runs[len(m.run.runs)-1]
		require.EqualValues(t, 0b1100, last.GPUMask)
		require.Equal(t, []string{"GPU-2", "GPU-3"}, last.GPUUUIDs)
		require.Equal(t, 8.0, last.Limits.CPUs, "no more than the part of its GPUs")
		require.EqualValues(t, 2048, last.Limits.MemoryMiB)
		require.True(t, last.Limits.Background)

		m.set(func() { m.leased = 0b1111 })
		require.NoError(t, m.Yield(t.Context(), 0b1111))
		starts := len(m.run.starts)
		time.Sleep(10 * time.Hour)
		require.Len(t, m.run.starts, starts)
		m.set(func() { m.leased = 0 })
		freed := time.Now()
		m.until(t, true, 5*time.Minute)
		require.GreaterOrEqual(t, time.Since(freed), restTime)
		end()
	})
}

// A job that takes a number of GPUs has the last ones, because leases get the first; with fewer free it does not run.
func TestAJobOfSomeGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, hour, func(o *Options) { o.Count = 2 })
		end := m.goes(t)
		m.until(t, true, 5*time.Minute)
		require.EqualValues(t, 0b1100, m.run.runs[0].GPUMask)
		m.set(func() { m.leased = 0b0011 })
		synctest.Wait()
		require.NoError(t, m.Yield(t.Context(), 0b0011), "it has others")
		require.True(t, m.run.alive())
		m.set(func() { m.leased = 0b0111 })
		require.NoError(t, m.Yield(t.Context(), 0b0111))
		time.Sleep(time.Hour)
		require.False(t, m.run.alive())
		end()
	})
	o := func(o *Options) { o.Count = 5 }
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, hour, nil)
		opts := m.o
		o(&opts)
		_, err := New(opts)
		require.ErrorIs(t, err, runtime.ErrSpec)
		opts.Count, opts.Spec.Limits.MemoryMiB = 1, 2048
		_, err = New(opts)
		require.ErrorContains(t, err, "memory_gib 2, and the part of the machine that its GPUs are has 1")
	})
}

// A job whose processes do not die blocks its own GPUs only, after a restart of the agent too. The owner gets a notice.
func TestAJobThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := runtime.Spec{LeaseID: ID, Command: []string{"an earlier setting"}, GPUMask: 0b1000}
		m := newMachine(t, hour, func(o *Options) { o.Count = 1 })
		m.run.spec, m.run.hangs, m.run.at, m.run.deadline = &left, true, time.Now(), time.Now().Add(time.Hour)
		end := m.goes(t)
		synctest.Wait()
		require.NoError(t, m.Yield(t.Context(), 0b0111), "leases of other GPUs do not wait")
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		require.ErrorIs(t, m.Yield(short, 0b1000), context.DeadlineExceeded)
		cancel()
		time.Sleep(time.Minute)
		s, _ := m.State()
		require.Contains(t, s.Broken(), "it cannot be ended, and keeps its GPUs from leases")
		m.run.mu.Lock()
		m.run.hangs = false
		m.run.mu.Unlock()
		require.NoError(t, m.Yield(t.Context(), 0b1111))
		require.False(t, m.run.alive())
		end()
	})
}

// A lease that comes while the image is fetched does not wait for that.
func TestAPullEndsForALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, hour, nil)
		m.run.pulling = time.Hour
		end := m.goes(t)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		require.Equal(t, 1, m.run.pulls, "measurements do not end it")
		m.set(func() { m.leased = 1 })
		began := time.Now()
		require.NoError(t, m.Yield(t.Context(), 1))
		require.Zero(t, time.Since(began))
		synctest.Wait()
		s, _ := m.State()
		require.Zero(t, s.Failures)
		end()
	})
}

// One that fails again and again is started less often, and a person is told. One that works again is no trouble any more.
func TestAJobThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, hour, nil)
		m.run.endsIn = time.Second
		end := m.goes(t)
		m.until(t, true, 5*time.Minute)
		time.Sleep(12 * time.Hour)
		s, _ := m.State()
		for end := time.Now().Add(5 * time.Minute); s.Why == Measured && time.Now().Before(end); s, _ = m.State() {
			time.Sleep(time.Second) // the job waits for keepers at this moment, whether it fails or not
		}
		require.Contains(t, s.Broken(), "it ended with status 3 after 1")
		require.Equal(t, Failing, s.Why)
		require.Less(t, len(m.run.starts), 12*7)
		m.run.mu.Lock()
		m.run.endsIn = 0
		m.run.mu.Unlock()
		time.Sleep(2 * time.Hour)
		s, _ = m.State()
		require.Empty(t, s.Broken())
		kept, err := os.ReadFile(m.o.Output)
		require.NoError(t, err)
		require.Contains(t, string(kept), "printed\n")
		end()
	})
}

// Outside of the market, and for a day after the machine was measured to be slow, the job does not run.
func TestTheJobStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, hour, nil)
		end := m.goes(t)
		m.until(t, true, 5*time.Minute)
		m.set(func() { m.withheld = "outside of the hours" })
		m.until(t, false, 3*time.Second)
		time.Sleep(time.Hour)
		require.False(t, m.run.alive())
		s, _ := m.State()
		require.Equal(t, "waits: the machine takes no new leases: outside of the hours", s.String())
		m.set(func() { m.withheld, m.period = "", 7 })
		m.until(t, true, 5*time.Minute)
		m.set(func() { m.period, m.share = 8, 0.95 })
		time.Sleep(time.Minute)
		m.until(t, true, 5*time.Minute)
		m.set(func() { m.period, m.share = 9, 0.85 })
		m.until(t, false, 5*time.Second)
		starts := len(m.run.starts)
		time.Sleep(23 * time.Hour)
		require.Len(t, m.run.starts, starts)
		m.until(t, true, 2*time.Hour)
		end()
	})
}

// The next agent adopts the job of its settings and ends any other job. Leases wait until it has done so.
func TestAnAgentThatWasKilled(t *testing.T) {
	for name, c := range map[string]struct {
		other bool
		stops uint64
	}{"the same job": {false, 0}, "another job": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				killed := newMachine(t, hour, nil)
				end := killed.goes(t)
				killed.until(t, true, 5*time.Minute)
				time.Sleep(70 * time.Second) // the next agent does not know what the moment before was
				require.True(t, killed.run.alive())
				left := *killed.run.spec
				end()
				m := newMachine(t, hour, func(o *Options) {
					if c.other {
						o.Spec.Command = []string{"other work"}
					}
				})
				m.run.spec, m.run.deadline = &left, time.Now().Add(time.Minute)
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				require.ErrorIs(t, m.Yield(short, 1), context.DeadlineExceeded, "nobody has looked yet")
				cancel()
				end = m.goes(t)
				synctest.Wait()
				s, _ := m.State()
				require.Equal(t, c.stops, s.Stops[Starting])
				require.True(t, m.run.alive())
				require.Len(t, m.run.starts, int(c.stops))
				require.Equal(t, m.o.Spec.Command, m.run.spec.Command)
				m.set(func() { m.leased = 0b1111 })
				require.NoError(t, m.Yield(t.Context(), 0b1111))
				require.False(t, m.run.alive())
				end()
			})
		})
	}
}

// Without an agent, the supervisor ends the job before the next moment at which keepers may measure the machine.
func TestTheJobEndsWithoutAnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, hour, nil)
		end := m.goes(t)
		began := records.Period(time.Now().Unix() / int64(hour))
		time.Sleep(10 * time.Hour)
		end()
		require.Greater(t, len(m.run.starts), 20)
		for i, at := range m.run.starts {
			ends := at.Add(m.run.runs[i].Limits.Wall)
			for p := began; p < began+12; p++ {
				for k := range instantOf(p, hour) + 1 {
					tick := instant.Tick(p, k, hour)
					require.False(t, at.Before(tick) && ends.After(tick.Add(-leadTime+2*time.Second)), "a job of %v until %v, and a moment at %v", at, ends, tick)
				}
			}
		}
	})
}

// What cannot run here is said once, and holds nothing.
func TestAJobThatThisMachineCannotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, hour, nil)
		m.run.refuses = errors.New("it has no runsc")
		end := m.goes(t)
		require.NoError(t, m.Yield(t.Context(), 1))
		synctest.Wait()
		s, _ := m.State()
		require.Equal(t, "it has no runsc", s.Broken())
		end()
	})
}

// A machine without such a job waits for nothing.
func TestWithoutAJob(t *testing.T) {
	var j *Job
	require.NoError(t, j.Yield(t.Context(), 1))
	require.NoError(t, j.Aside(t.Context(), func(context.Context) error { return nil }))
	_, ok := j.State()
	require.False(t, ok)
}

// Whatever the length of a period, and whenever it is asked, no tick that may be the instant lies outside of a window.
func TestEveryMomentIsInAWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secs := rapid.Uint32Range(5, 7200).Draw(t, "seconds")
		p := records.Period(rapid.Uint64Range(1, 1<<20).Draw(t, "period"))
		k := rapid.IntRange(0, instant.Ticks-1).Draw(t, "tick")
		early := time.Duration(rapid.Int64Range(0, int64(secs)*int64(time.Second)).Draw(t, "early"))
		var w moments
		tick := instant.Tick(p, k, secs)
		from, until := w.window(tick.Add(-early), secs)
		require.True(t, from.Before(until))
		require.False(t, from.After(tick.Add(-w.lead())), "the job runs into the tick")
		from, until = w.window(tick, secs)
		require.False(t, tick.Before(from) || !tick.Before(until), "the tick is no moment")
	})
}
