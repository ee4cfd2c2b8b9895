package jobspec

import (
	"errors"
	"fmt"
)

// ErrJob is what every [Error] is.
var ErrJob = errors.New("no machine runs this job")

// Field is the part of a job that is wrong.
type Field string

// The fields, as messages.JobSpec has them. Whole is none in particular.
const (
	Whole   Field = ""
	Image   Field = "image"
	Command Field = "command"
	Env     Field = "env"
	CPUs    Field = "cpus"
	Memory  Field = "memory"
	Disk    Field = "disk"
	Network Field = "network"
	SSHKeys Field = "ssh-key"
	Volume  Field = "volume"

	Entrypoint Field = "entrypoint"
	User       Field = "user"
	Shm        Field = "shm-size"
)

// Rule is a reason for which no machine runs a job.
type Rule string

// The rules of [Check].
const (
	RuleLimits    Rule = "limits of the message"
	RuleText      Rule = "text"
	RuleCommand   Rule = "command"
	RuleName      Rule = "name of a variable"
	RuleReserved  Rule = "reserved variable"
	RuleSize      Rule = "size of command and environment"
	RuleReference Rule = "reference of the image"
	RuleNetwork   Rule = "network"
	RuleVolume    Rule = "volume"
	RuleKeys      Rule = "SSH keys"
	RuleLimit     Rule = "limit of memory or disk"
	RuleContainer Rule = "what only a container has"
)

// The rules of [CheckManifest], [CheckImage] and [CheckShare].
const (
	RulePlatform   Rule = "platform"
	RuleLayers     Rule = "number of layers"
	RuleLayer      Rule = "layer"
	RuleConfigSize Rule = "size of the image's configuration"
	RuleImageSize  Rule = "size of the image"
	RuleNoCommand  Rule = "command of the image"
	RuleUser       Rule = "user"
	RuleShare      Rule = "share of the machine"
)

// Rules are all rules.
func Rules() []Rule {
	return []Rule{
		RuleLimits, RuleText, RuleCommand, RuleName, RuleReserved, RuleSize, RuleReference, RuleNetwork, RuleVolume, RuleKeys, RuleLimit, RuleContainer,
		RulePlatform, RuleLayers, RuleLayer, RuleConfigSize, RuleImageSize, RuleNoCommand, RuleUser, RuleShare,
	}
}

// Error says what of a job no machine runs.
type Error struct {
	Rule  Rule
	Field Field
	// Why says what is wrong, and Do what helps.
	Why, Do string
}

func (e *Error) Error() string { return e.Why + "; " + e.Do }

// Unwrap is [ErrJob].
func (e *Error) Unwrap() error { return ErrJob }

func wrong(rule Rule, field Field, do, why string, args ...any) error {
	return &Error{Rule: rule, Field: field, Why: fmt.Sprintf(why, args...), Do: do}
}
