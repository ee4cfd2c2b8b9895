package main

import (
	"fmt"
	"maps"

	"github.com/rs/zerolog"
	"github.com/virtual-kubelet/virtual-kubelet/log"
)

// kubeletLog passes on what virtual-kubelet says. What it says of its own steps is for debugging.
type kubeletLog struct {
	to     zerolog.Logger
	fields log.Fields
}

func (l kubeletLog) say(e *zerolog.Event, words ...any) {
	e.Fields(map[string]any(l.fields)).Msg(fmt.Sprint(words...))
}

func (l kubeletLog) Debug(words ...any)            { l.say(l.to.Trace(), words...) }
func (l kubeletLog) Debugf(f string, words ...any) { l.say(l.to.Trace(), fmt.Sprintf(f, words...)) }
func (l kubeletLog) Info(words ...any)             { l.say(l.to.Debug(), words...) }
func (l kubeletLog) Infof(f string, words ...any)  { l.say(l.to.Debug(), fmt.Sprintf(f, words...)) }
func (l kubeletLog) Warn(words ...any)             { l.say(l.to.Warn(), words...) }
func (l kubeletLog) Warnf(f string, words ...any)  { l.say(l.to.Warn(), fmt.Sprintf(f, words...)) }
func (l kubeletLog) Error(words ...any)            { l.say(l.to.Error(), words...) }
func (l kubeletLog) Errorf(f string, words ...any) { l.say(l.to.Error(), fmt.Sprintf(f, words...)) }

// Fatal says it, and leaves the end of the program to main.
func (l kubeletLog) Fatal(words ...any) { l.Error(words...) }

// Fatalf is Fatal with a format.
func (l kubeletLog) Fatalf(f string, words ...any) { l.Errorf(f, words...) }

func (l kubeletLog) WithField(name string, value any) log.Logger {
	return l.WithFields(log.Fields{name: value})
}

func (l kubeletLog) WithFields(fields log.Fields) log.Logger {
	all := maps.Clone(l.fields)
	if all == nil {
		all = log.Fields{}
	}
	maps.Copy(all, fields)
	return kubeletLog{l.to, all}
}

func (l kubeletLog) WithError(err error) log.Logger {
	if err == nil {
		return l
	}
	return l.WithField("error", err.Error())
}
