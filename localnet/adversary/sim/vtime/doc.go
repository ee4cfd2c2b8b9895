// Package vtime runs code that waits in virtual time, one thing at a time, so that the order of everything is a
// function of what was scheduled and of nothing else: no goroutine runs beside another, and no clock is read.
//
// A Loop is a queue of events. A Group is one machine's running work, a schedule.Runner: its tasks are coroutines that
// the loop resumes, and they end when the machine is stopped.
package vtime
