// Package vtime runs code that waits in virtual time, one thing at a time. The order of everything depends only on what
// was scheduled: goroutines never run in parallel, and no clock is read.
//
// A Loop is a queue of events. A Group is one machine's running work, a schedule.Runner: its tasks are coroutines that
// the loop resumes, and they end when the machine is stopped.
package vtime
